"""Riemannian Langevin steps of topics (the twin of _kernels.lda._langevin)."""

import numpy as np

from tests.reference.rng import combine, uniforms


def normals(key, m):
    """2 m standard normal numbers by Box and Muller: m radii, then m angles; all cosines come first."""
    u, v = uniforms(key, 2 * m).reshape(2, m)
    r = np.sqrt(-2.0 * np.log1p(-u))
    return np.concatenate([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)])


def langevin_step(
    first_part, last_part, part_bounds, theta, batch, topic_word_prior, pull_down, step, key, totals
):
    """Move the words of some parts in place and fill those parts of totals
    (Patterson and Teh, 2013)."""
    n_topics = theta.shape[1]
    for p in range(first_part, last_part):
        words = range(part_bounds[p], part_bounds[p + 1])
        for w in words:
            n = batch.factor * batch.counts[batch.row[w]] if batch.row[w] >= 0 else 0.0
            noise = normals(combine(key, w), (n_topics + 1) // 2)[:n_topics]
            drift = topic_word_prior + n - theta[w] * pull_down
            theta[w] = np.abs(theta[w] + step / 2 * drift + np.sqrt(step * theta[w]) * noise)
        totals[p] = theta[list(words)].sum(axis=0)
