"""Topic proportions, predictive likelihood and top topics (the twin of _proportions and _top_topics in
sktopic._kernels.inference)."""

import numpy as np

from tests.reference.documents import cells_of


def sampled_proportions(indptr, expected, prior, n_sweeps):
    """(alpha_k + E n_k) / (sum alpha + N), E n_k from the sums of gibbs.sweep_documents."""
    counts = [expected[list(cells_of(indptr, d))].sum(axis=0) / n_sweeps for d in range(len(indptr) - 1)]
    theta = prior + np.array(counts)
    return theta / theta.sum(axis=1, keepdims=True)


def log_predictive(indptr, cell_word, cell_count, theta, rows):
    """sum_w c_w log(theta_d @ phi_w) of each document."""
    result = []
    for d in range(len(indptr) - 1):
        cells = list(cells_of(indptr, d))
        result.append(cell_count[cells] @ np.log(rows[cell_word[cells]] @ theta[d]))
    return np.array(result)


def choose_topics(weights, n_chosen):
    """Topics and probabilities, (n_cells, n_chosen)."""
    weights = weights.astype(np.float64)
    topics = np.argsort(-weights, axis=1, kind="stable")[:, :n_chosen]
    return topics, np.take_along_axis(weights, topics, axis=1) / weights.sum(axis=1, keepdims=True)
