"""Minka's fixed point for a Dirichlet, and draws (the twin of _dirichlet and _dirichlet_draws)."""

import math

import numpy as np
from scipy.special import polygamma, psi

from tests.reference.rng import Stream

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


def normal(stream):
    """Marsaglia's polar method."""
    while True:
        x, y = 2.0 * stream.uniform() - 1.0, 2.0 * stream.uniform() - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


def log_gamma(stream, shape):
    """Marsaglia and Tsang (2000), for shapes below one with the boost of their section 6."""
    boost = 0.0
    if shape == 0.0:
        return -math.inf
    if shape < 1.0:
        boost = math.log(1.0 - stream.uniform()) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    while True:
        x = normal(stream)
        v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
        if v > 0.0 and math.log(1.0 - stream.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
            return math.log(d * v) + boost


def draw_dirichlets(parameters, keys):
    """One draw a row."""
    theta = np.empty(parameters.shape)
    for row, alpha, key in zip(theta, parameters, keys):
        stream = Stream(key)
        row[:] = [log_gamma(stream, shape) for shape in alpha]
        row[:] = np.exp(row - row.max())
        row /= row.sum()
    return theta
