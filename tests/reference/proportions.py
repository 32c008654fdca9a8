"""Topic proportions and predictive likelihood (the twin of _kernels.inference._proportions)."""

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
