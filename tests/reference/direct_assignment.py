"""The evidence lower bound of the direct-assignment HDP, term by term (the twin of hdp._direct_assignment).

beta and theta have an entry more than there are topics, for all that are out of reach.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, logsumexp, xlogy


def log_topics(lam):
    """E[log phi] (n_topics, n_features)."""
    return digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))


def log_proportions(theta):
    """E[log pi] (n_documents, n_topics + 1)."""
    return digamma(theta) - digamma(theta.sum(axis=1, keepdims=True))


def doc_terms(X, phi, theta, lam, beta, alpha):
    """The documents' parts; phi (n_documents, n_features, n_topics) are shares of a word's tokens."""
    e_f, e_pi = log_topics(lam).T, log_proportions(theta)
    words = (X[..., None] * (phi * (e_f + e_pi[:, None, :-1]) - xlogy(phi, phi))).sum(axis=(1, 2))
    norms = (
        gammaln(alpha) - gammaln(alpha * beta).sum() - gammaln(theta.sum(axis=1)) + gammaln(theta).sum(axis=1)
    )
    return words + norms + ((alpha * beta - theta) * e_pi).sum(axis=1)


def topic_terms(lam, eta):
    """E[log p(phi_k)] - E[log q(phi_k)]."""
    n_features, e_f = lam.shape[1], log_topics(lam)
    prior = gammaln(n_features * eta) - n_features * gammaln(eta) + (eta - 1) * e_f.sum(axis=1)
    return prior - gammaln(lam.sum(axis=1)) + (gammaln(lam) - (lam - 1) * e_f).sum(axis=1)


def sticks_term(beta, gamma):
    """log p(beta), the density of the sticks."""
    return (len(beta) - 1) * np.log(gamma) + (gamma - 1) * np.log(beta[-1])


def elbo(X, phi, theta, lam, beta, alpha, gamma, eta, scale):
    documents = doc_terms(X, phi, theta, lam, beta, alpha).sum()
    return scale * documents + topic_terms(lam, eta).sum() + sticks_term(beta, gamma)


def gradient_profile(tokens, beta, alpha, scale):
    """Of the documents' part in beta, with theta = alpha beta + tokens; the rest gets none."""
    gains = digamma(alpha * beta[:-1] + tokens) - digamma(alpha * beta[:-1])
    return np.append(scale * alpha * gains.sum(axis=0), 0.0)


def logit_gradient(gradient, beta, gamma):
    """In the logits of the sticks, prior included, from that in beta."""
    n = len(beta) - 1
    left = 1.0 - np.concatenate([[0.0], np.cumsum(beta[:n])])[:n]
    v = beta[:n] / left
    after = np.array([(beta[k + 1 :] * gradient[k + 1 :]).sum() for k in range(n)])
    return (1 - v) * beta[:n] * gradient[:n] - v * after - (gamma - 1) * v


def best_documents(X, log_f, beta, alpha):
    """phi and theta by coordinate ascent from equal shares; log_f (n_topics, n_features) are log topics."""
    f, n_topics = log_f.T, len(log_f)
    lengths = X.sum(axis=1, keepdims=True)
    theta = np.hstack([alpha * beta[:-1] + lengths / n_topics, np.full((len(X), 1), alpha * beta[-1])])
    before = 0.0 * theta
    while np.any(np.abs(theta - before) > 1e-13 * theta):
        before = theta.copy()
        logits = f + log_proportions(theta)[:, None, :-1]
        phi = np.exp(logits - logits.max(axis=2, keepdims=True))
        phi /= phi.sum(axis=2, keepdims=True)
        theta[:, :-1] = alpha * beta[:-1] + (X[..., None] * phi).sum(axis=1)
    return phi, theta


def restricted_split(X, phi, lam, beta, best, k, rho, alpha, eta, scale):
    """Parts of topic k by restricted iteration (Bryant and Sudderth, 2012, section 3.1).

    phi : shares from the E-step; lam, beta : before the update; best : beta-hat of the batch

    Returns phi (2, n_documents, n_features), lambda (2, n_features) and beta (2,) of the parts.
    """
    phi_k = phi[..., k]
    lam_hat = eta + scale * (X * phi_k).sum(axis=0)
    # Initial parts: lambda' = (1 - rho) lambda, lambda'' = rho lambda-hat, and the weights likewise.
    log_f = log_topics(np.array([(1 - rho) * lam[k], rho * lam_hat]))
    weights = np.array([(1 - rho) * beta[k], rho * best[k]])
    omega = weights / weights.sum()
    theta_k = alpha * weights.sum() + (X * phi_k).sum(axis=1)
    # E-step: equations 3 and 4, document by document. The parts share what the topic had.
    parts = np.empty((2, *X.shape))
    for j in range(len(X)):
        theta, before = omega * theta_k[j], np.zeros(2)
        while np.abs(theta - before).max() > 1e-12:
            logits = log_f + digamma(theta)[:, None]
            parts[:, j] = phi_k[j] * np.exp(logits - logsumexp(logits, axis=0))
            before, theta = theta, alpha * weights + (X[j] * parts[:, j]).sum(axis=1)
    # M-step: equations 6 and 7, from the topic before the update and from the prior.
    start = np.array([lam[k], np.full(len(lam_hat), eta)])
    lam_parts = (1 - rho) * start + rho * (eta + scale * (X * parts).sum(axis=1))
    tokens = (X * parts).sum(axis=2)

    def lost(share):
        prior = alpha * best[k] * np.array([share, 1 - share])[:, None]
        return -(gammaln(prior + tokens) - gammaln(prior)).sum()

    share = minimize_scalar(lost, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}).x
    best_parts = best[k] * np.array([share, 1 - share])
    return parts, lam_parts, (1 - rho) * np.array([beta[k], 0.0]) + rho * best_parts
