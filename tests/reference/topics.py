"""Topic rows of a batch's words (the twin of sktopic._kernels._topics)."""

import numpy as np

BLOCK_SIZE = 16


def gather_topics(store, words, scale, offset, prior):
    """Return rows, cumulative and evidence instead of filling them."""
    phi = store[words] * scale + offset
    evidence = phi @ prior
    impossible = ~phi.any(axis=1)
    rows = np.where(impossible[:, None], 1.0, phi)
    rows = rows / rows.max(axis=1, keepdims=True)  # so that no product with the prior underflows
    rows = rows / (rows @ prior)[:, None]
    blocks = np.add.reduceat(rows * prior, np.arange(0, len(prior), BLOCK_SIZE), axis=1)
    return rows, np.cumsum(blocks, axis=1), evidence
