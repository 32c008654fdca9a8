"""Memoized inference for the direct-assignment HDP in plain NumPy (the twin of hdp._memoized)."""

import numpy as np
from scipy.special import xlogy

from tests.reference import direct_assignment


def keep_shares(indptr, cell_word, cell_count, rows, expectation, smallest):
    """Shares phi of topics in cells without the small ones, as tokens (n_cells, n_topics)."""
    document = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    weight = expectation[document].astype(float) * rows[cell_word].astype(float)
    phi = weight / weight.sum(axis=1, keepdims=True)
    phi[phi < smallest] = 0.0
    return cell_count[:, None] * phi / phi.sum(axis=1, keepdims=True)


def mixing(tokens, pairs):
    """What the entropy of cells with these tokens (n_cells, n_topics) loses, for each pair of topics."""
    a, b = tokens[:, pairs[:, 0]], tokens[:, pairs[:, 1]]
    return xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b)


def bound(X, phi, sample_weight, weights, alpha, gamma, eta):
    """The bound of a corpus from the shares phi (n_documents, n_features, n_topics) of all its documents."""
    tokens = X[..., None] * phi
    beta = np.append(weights, 1.0 - weights.sum())
    theta = np.hstack([tokens.sum(axis=1) + alpha * weights, np.full((len(X), 1), alpha * beta[-1])])
    lam = eta + np.einsum("d,dwk->kw", sample_weight, tokens)
    documents = direct_assignment.doc_terms(X, phi, theta, lam, beta, alpha)
    topics = direct_assignment.topic_terms(lam, eta).sum()
    return sample_weight @ documents + topics + direct_assignment.sticks_term(beta, gamma)
