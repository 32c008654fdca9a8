"""The most probable topics of each cell (the twin of _kernels.inference._top_topics)."""

import numpy as np


def choose_topics(weights, n_chosen):
    """Topics and probabilities, (n_cells, n_chosen)."""
    weights = weights.astype(np.float64)
    topics = np.argsort(-weights, axis=1, kind="stable")[:, :n_chosen]
    return topics, np.take_along_axis(weights, topics, axis=1) / weights.sum(axis=1, keepdims=True)
