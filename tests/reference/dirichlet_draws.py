"""Draws from Dirichlet distributions (the twin of _kernels.random._dirichlet_draws)."""

import math

import numpy as np

from tests.reference.rng import Stream


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
