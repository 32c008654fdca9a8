"""OPE with the whole gradient in every iteration (the twin of _kernels.lda._ope)."""

import numpy as np

from tests.reference.rng import Stream


def draw_choices(keys, n_topics, n_iter, p):
    start, choices = [], []
    for key in keys:
        stream = Stream(int(key))
        theta = np.array([1.0 + stream.uniform() for _ in range(n_topics)])
        start.append(theta / theta.sum())
        choices.append([t == 0 or stream.uniform() < p for t in range(n_iter)])
    shape = len(keys), n_iter
    return np.array(start).reshape(len(keys), n_topics), np.array(choices, dtype=np.uint8).reshape(shape)


def maximize(words, counts, prior, start, choices, p):
    """theta, and the vertices, of one document; words (n_cells, n_topics) are its topic rows."""
    theta, a, b, vertices = start, 0, 0, []
    for t, likelihood in enumerate(choices, start=1):
        a, b = a + likelihood, b + 1 - likelihood
        gradient = a / p * (counts / (words @ theta)) @ words + b / (1 - p) * (prior - 1) / theta
        vertices.append(int(np.argmax(gradient)))
        step = 1 / (t + 1)
        theta = (1 - step) * theta + step * (np.arange(len(theta)) == vertices[-1])
    return theta, vertices
