"""Topic rows of a batch's words (the twin of _kernels.topics._gathering)."""

import numpy as np
from scipy.special import psi

BLOCK_SIZE = 16


def normalized(phi, prior):
    """rows = phi / (phi @ prior), and the cumulative sums over blocks of 16 of rows * prior."""
    rows = phi / phi.max(axis=1, keepdims=True)  # so that no product with the prior underflows
    rows = rows / (rows @ prior)[:, None]
    blocks = np.add.reduceat(rows * prior, np.arange(0, len(prior), BLOCK_SIZE), axis=1)
    return rows, np.cumsum(blocks, axis=1)


def gather_topics(store, words, scale, offset, prior):
    """Return rows, cumulative and log_norm instead of filling them."""
    phi = store[words] * scale + offset
    with np.errstate(divide="ignore"):
        log_norm = np.log(phi @ prior)
    impossible = ~phi.any(axis=1)
    return *normalized(np.where(impossible[:, None], 1.0, phi), prior), log_norm


def gather_geometric(store, words, scale, offset, norm, prior):
    """The same for phi = exp(psi(store * scale + offset) - norm), at least e^-80 of a row's largest."""
    log_phi = psi(store[words] * scale + offset) - norm
    largest = log_phi.max(axis=1, keepdims=True)
    phi = np.exp(np.maximum(log_phi - largest, -80.0))
    return *normalized(phi, prior), largest[:, 0] + np.log(phi @ prior)
