"""Dirichlet-multinomial regression with known topic counts (the twin of sktopic.lda._covariate_prior)."""

import numpy as np
from scipy.linalg import block_diag
from scipy.special import gammaln, polygamma, psi


def prior_of(coefficients, x):
    """exp(x . lambda_k) of a document, with x behind a 1 for the intercept."""
    return np.exp(np.clip(coefficients @ [1.0, *x], np.log(1e-6), np.log(1e4)))


def log_likelihood(coefficients, covariates, counts):
    """Sum over documents of the log probability of topics (counts), given the length."""
    total = 0.0
    for x, n in zip(covariates, counts):
        alpha = prior_of(coefficients, x)
        total += gammaln(alpha.sum()) - gammaln(alpha.sum() + n.sum())
        total += (gammaln(alpha + n) - gammaln(alpha)).sum()
    return total


def statistics(coefficients, covariates, counts, weights):
    """The means of what CovariateStatistics sums, by name."""
    n_topics, n = coefficients.shape
    sums = {"gradient": np.zeros((n_topics, n)), "total_coupling": np.zeros((n, n))}
    sums |= {name: np.zeros((n_topics, n, n)) for name in ("curvature", "information", "coupling")}
    sums["squares"] = np.zeros(n_topics)
    for covariate, n_k, w in zip(covariates, counts, weights / weights.sum()):
        x, alpha = np.array([1.0, *covariate]), prior_of(coefficients, covariate)
        a, length = alpha.sum(), n_k.sum()
        square = w * np.outer(x, x)
        c = polygamma(1, a) - polygamma(1, a + length)
        sums["total_coupling"] += c * a**2 * square
        for k in range(n_topics):
            y = alpha[k] * (psi(alpha[k] + n_k[k]) - psi(alpha[k]))
            mu = alpha[k] * (psi(a + length) - psi(a))
            sums["gradient"][k] += w * (y - mu) * x
            sums["curvature"][k] += (y + mu) / 2 * square
            sums["information"][k] += max(mu - y + squared_chances(alpha[k], y), 0.0) * square
            sums["coupling"][k] += c * alpha[k] * a * square
            sums["squares"][k] += w * ((y - mu) ** 2 + c * alpha[k] ** 2)
    return sums


def squared_chances(alpha, y):
    """The sum over tokens of the squared probability of opening a table, given that of the probability, y."""
    if y <= 1.0:
        return y
    # With one token, y is 1 but for rounding, and the second term is none.
    later = polygamma(1, alpha + 1) - np.exp(-psi(alpha + 1) - (y - 1) / alpha)
    return 1.0 + alpha**2 * max(later, 0.0)


class Regression:
    """Newton steps toward the maximum of the likelihood of topics and the Gaussian prior of coefficients."""

    def __init__(self, prior, n_covariates, scale, intercept_scale):
        n_topics = len(prior)
        self.coefficients = np.zeros((n_topics, 1 + n_covariates))
        self.coefficients[:, 0] = np.log(prior)
        self.precision = np.array([intercept_scale, *[scale] * n_covariates]) ** -2.0
        self.mean = np.array([np.log(n_topics**-0.55), *[0.0] * n_covariates])
        self.averages, self.largest = None, np.zeros(n_covariates)

    def update(self, covariates, counts, rho, n_documents, weights=None):
        """A step of size rho with the documents of a batch, none of which is empty."""
        weights = np.ones(len(counts)) if weights is None else weights
        batch, n = statistics(self.coefficients, covariates, counts, weights), weights.sum()
        if self.averages is None:
            self.averages, self.inverse_size = batch, 1.0 / (10 * n)
        self.averages = {name: (1 - rho) * self.averages[name] + rho * batch[name] for name in batch}
        self.inverse_size = (1 - rho) ** 2 * self.inverse_size + rho**2 / n
        self.size = min(n_documents, 1.0 / self.inverse_size)
        self.largest = np.maximum(self.largest, np.abs(covariates).max(axis=0))
        slope = batch["gradient"] + self.precision * (self.mean - self.coefficients) / self.size
        damping = rho * block_diag(*batch["curvature"])
        step = rho * np.linalg.solve(self.information() + damping, slope.ravel()).reshape(slope.shape)
        for k, each in enumerate(step):
            step[k] /= max(1.0, 2.0 * np.abs(each * [1.0, *self.largest]).max())
        self.coefficients = self.coefficients + step

    def information(self):
        """The mean information of all coefficients of all topics, with that of the prior."""
        found = self.averages
        information = zip(found["information"], found["squares"])
        blocks = [known * min(squares / known[0, 0], 1.0) for known, squares in information]
        coupling = np.concatenate(found["coupling"])
        matrix = block_diag(*blocks) - coupling @ np.linalg.solve(found["total_coupling"], coupling.T)
        return matrix + np.diag(np.tile(self.precision, len(self.coefficients))) / self.size

    def standard_errors(self):
        variances = np.diag(np.linalg.inv(self.information())) / self.size
        return np.sqrt(variances).reshape(self.coefficients.shape)
