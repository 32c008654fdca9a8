"""Mean-field inference of documents with topics held fixed (the twin of _kernels.inference._variational)."""

import numpy as np
from scipy.special import psi

from tests.reference.documents import cells_of


def responsibilities(phi, gamma):
    """zeta_wk proportional to phi_kw exp psi(gamma_k), for words by rows: equation 11.

    No factor is taken below e^-60 of the largest: a topic far from the document still takes the words that
    no other topic has.
    """
    zeta = phi * np.exp(np.maximum(psi(gamma) - psi(gamma).max(axis=-1, keepdims=True), -60.0))
    return zeta / zeta.sum(axis=1, keepdims=True)


def update_documents(indptr, cell_word, cell_count, rows, prior, gamma, max_iter, tol):
    """Iterate gamma in place; return expected counts (n_cells, n_topics) and changes (n_documents,)."""
    rows = np.asarray(rows, dtype=np.float64)
    expected = np.zeros((len(cell_word), rows.shape[1]))
    priors = np.broadcast_to(prior, gamma.shape)  # of each document, or the same of all
    changes = np.zeros(len(indptr) - 1)
    for d in range(len(indptr) - 1):
        cells = list(cells_of(indptr, d))
        phi, counts = rows[cell_word[cells]], cell_count[cells][:, None]
        if not cells:
            gamma[d] = priors[d]
            continue
        for _ in range(max_iter):
            updated = priors[d] + (counts * responsibilities(phi, gamma[d])).sum(axis=0)  # equation 12
            changes[d] = np.abs(updated - gamma[d]).mean()
            gamma[d] = updated
            if changes[d] < tol:
                break
        expected[cells] = counts * responsibilities(phi, gamma[d])
    return expected, changes


def mean_field(counts, topics, prior, max_iter=20_000, tol=1e-12, gamma=None):
    """gamma (n_documents, n_topics) and the expected counts (n_topics, n_words) of all documents, from dense
    counts and topics (n_topics, n_words) that need not be normalized: equations 11 and 12."""
    if gamma is None:
        gamma = prior + counts.sum(axis=1, keepdims=True) / len(topics) * np.ones(len(topics))
    for _ in range(max_iter):
        theta = np.exp(psi(gamma))
        updated = prior + theta * ((counts / (theta @ topics)) @ topics.T)
        change, gamma = np.abs(updated - gamma).mean(axis=1).max(), updated
        if change < tol:
            break
    theta = np.exp(psi(gamma))
    return gamma, topics * (theta.T @ (counts / (theta @ topics)))
