"""Minka's fixed point for a Dirichlet (the twin of _kernels.topics._dirichlet)."""

import numpy as np
from scipy.special import polygamma, psi

SMALLEST, LARGEST = 1e-6, 1e4


def inverse_psi(y):
    """The x > 0 with psi(x) = y, by Newton from the start of Minka (2000), appendix C."""
    with np.errstate(over="ignore"):  # np.where computes both branches
        x = np.where(y >= -2.22, np.exp(y) + 0.5, -1.0 / (np.minimum(y, -2.22) + np.euler_gamma))
    for _ in range(8):
        x = x - (psi(x) - y) / polygamma(1, x)
    return x


def fit_dirichlet(mean_log, alpha, max_iter, tol):
    """Iterate alpha in place; return the number of iterations."""
    for iteration in range(max_iter):
        updated = np.clip(inverse_psi(psi(alpha.sum()) + mean_log), SMALLEST, LARGEST)
        change = np.max(np.abs(updated - alpha) / updated)
        alpha[:] = updated
        if change < tol:
            return iteration + 1
    return max_iter


def fit_symmetric_dirichlet(mean_log, n, alpha, max_iter, tol):
    """The same for n equal entries."""
    alphas = np.full(n, alpha)
    fit_dirichlet(np.full(n, mean_log), alphas, max_iter, tol)
    return alphas[0]


def sum_digamma(first, last, store, scale, offset):
    """The sum of psi(store * scale + offset) over some rows and all columns."""
    return psi(store[first:last] * scale + offset).sum()
