"""Stochastic CVB0 of one document, visit by visit (the twin of _kernels.lda._cvb0)."""

import numpy as np


def collapse(words, counts, prior, n_passes, offset, decay):
    """N + alpha, and the expected counts of the cells; words (n_cells, n_topics) are topic rows."""
    length, t = counts.sum(), 0
    n = np.full(len(prior), length / len(prior))
    for _ in range(n_passes):
        for row, m in zip(words, counts):
            t += 1
            kept = (1 - (offset + t) ** -decay) ** m
            gamma = row * (n + prior)
            n = kept * n + (1 - kept) * length * gamma / gamma.sum()
    gamma = words * (n + prior)
    return n + prior, counts[:, None] * gamma / gamma.sum(axis=1, keepdims=True)
