"""Mean-field inference for the HDP (the twin of _kernels.hdp._variational), and its bound.

For one document: counts (n_cells,), log_rows (n_cells, K) the E[log beta] of its words, log_weights (K,),
zeta (n_cells, T), varphi (T, K), a and b (T - 1,).
"""

import numpy as np
from scipy.special import betaln, gammaln, psi, softmax, xlogy

from tests.reference.documents import cells_of
from tests.reference.variational import responsibilities


def gather_log_topics(store, words, weight, offset, norm):
    """log_rows, rows."""
    log_rows = psi(weight * store[words] + offset) - norm
    below = log_rows - log_rows.max(axis=1, keepdims=True)
    return log_rows, np.exp(np.maximum(below, -80.0))


def start(counts, rows, prior, n_atoms, n_iter):
    """zeta of atoms that stand for the topics with the largest gamma of LDA's mean-field inference."""
    gamma = prior + counts.sum() / len(prior)
    for _ in range(n_iter):
        gamma = prior + counts @ responsibilities(rows, gamma)
    topics = np.argsort(-gamma, kind="stable")[:n_atoms]
    zeta = np.zeros((len(counts), n_atoms))
    zeta[:, : len(topics)] = responsibilities(rows, gamma)[:, topics]
    return zeta / zeta.sum(axis=1, keepdims=True)


def best_varphi(counts, log_rows, log_weights, zeta):
    return softmax(log_weights + (counts[:, None] * zeta).T @ log_rows, axis=1)


def best_sticks(counts, zeta, concentration):
    mass = counts @ zeta
    after = np.cumsum(mass[::-1])[::-1]
    return 1.0 + mass[:-1], concentration + after[1:]


def log_shares(a, b):
    """E[log pi]."""
    rest = np.cumsum(psi(b) - psi(a + b))
    return np.append(psi(a) - psi(a + b), 0.0) + np.concatenate([[0.0], rest])


def best_zeta(log_rows, varphi, a, b):
    return softmax(log_shares(a, b) + log_rows @ varphi.T, axis=1)


def by_mass(counts, zeta):
    """The atoms in descending order of their tokens."""
    return zeta[:, np.argsort(-(counts @ zeta), kind="stable")]


def stick_terms(a, b, concentration):
    """E[log p(v)] - E[log q(v)] of each stick."""
    log_taken, log_left = psi(a) - psi(a + b), psi(b) - psi(a + b)
    log_p = np.log(concentration) + (concentration - 1.0) * log_left
    return log_p - ((a - 1.0) * log_taken + (b - 1.0) * log_left - betaln(a, b))


def document_bound(counts, log_rows, log_weights, concentration, zeta, varphi, a, b):
    """E[log p(c, pi, z, w)] - E[log q(c, pi, z)], for any values of the parameters."""
    atoms = (varphi * log_weights).sum() - xlogy(varphi, varphi).sum()
    tokens = counts @ (zeta @ log_shares(a, b) - xlogy(zeta, zeta).sum(axis=1))
    words = counts @ (zeta * (log_rows @ varphi.T)).sum(axis=1)
    return atoms + tokens + words + stick_terms(a, b, concentration).sum()


def topics_bound(lambda_, eta):
    """E[log p(beta)] - E[log q(beta)], lambda_ (K, n_features)."""
    total, n_features = lambda_.sum(axis=1), lambda_.shape[1]
    log_beta = psi(lambda_) - psi(total)[:, None]
    p = len(lambda_) * (gammaln(n_features * eta) - n_features * gammaln(eta)) + ((eta - 1) * log_beta).sum()
    q = gammaln(total).sum() - gammaln(lambda_).sum() + ((lambda_ - 1) * log_beta).sum()
    return p - q


def ascend(counts, log_rows, log_weights, concentration, zeta, max_iter, tol):
    """Coordinate ascent from zeta; returns zeta, varphi, a, b and the bound after each iteration."""
    bounds = []
    for _ in range(max_iter):
        zeta = by_mass(counts, zeta)
        varphi = best_varphi(counts, log_rows, log_weights, zeta)
        a, b = best_sticks(counts, zeta, concentration)
        zeta = best_zeta(log_rows, varphi, a, b)
        bounds.append(document_bound(counts, log_rows, log_weights, concentration, zeta, varphi, a, b))
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tol * abs(bounds[-2]):
            break
    return zeta, varphi, a, b, bounds


def proportions(varphi, a, b):
    share = a / (a + b)
    pi = np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)])
    return pi @ varphi


def start_documents(indptr, cell_word, cell_count, rows, prior, n_atoms, n_iter):
    zeta = np.zeros((len(cell_word), n_atoms))
    for d in range(len(indptr) - 1):
        cells = list(cells_of(indptr, d))
        if cells:
            zeta[cells] = start(
                cell_count[cells], rows[cell_word[cells]].astype(float), prior, n_atoms, n_iter
            )
    return zeta


def update_documents(
    indptr, cell_word, cell_count, log_rows, log_weights, lowest, concentration, zeta, max_iter, tol
):
    """zeta is changed in place; lowest is not used."""
    shape = len(indptr) - 1, zeta.shape[1], len(log_weights)
    varphi, sticks, theta = np.zeros(shape), np.zeros((shape[0], 2, shape[1])), np.zeros(shape[::2])
    bound, n_iter = np.zeros(shape[0]), np.zeros(shape[0], dtype=np.int32)
    for d in range(shape[0]):
        cells = list(cells_of(indptr, d))
        if not cells:
            continue
        given = cell_count[cells], log_rows[cell_word[cells]], log_weights, concentration
        zeta[cells], varphi[d], a, b, bounds = ascend(*given, zeta[cells], max_iter, tol)
        sticks[d] = np.append(a, 1.0), np.append(b, 0.0)
        theta[d], bound[d], n_iter[d] = proportions(varphi[d], a, b), bounds[-1], len(bounds)
    return varphi, sticks, theta, bound, n_iter


def atom_counts(cell_document, cell_count, zeta, varphi):
    """Expected counts of the cells, (n_cells, K)."""
    return cell_count[:, None] * np.einsum("it,itk->ik", zeta, varphi[cell_document])
