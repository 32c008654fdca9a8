"""Updates of truncation-free inference for the HDP, as printed (the twin of hdp._truncation_free_method)."""

import numpy as np


def update(lam, a, b, counts, tables, rho, scale, eta, alpha):
    """Equation 18 and the steps that follow it.

    lam (n_topics, n_features), a and b (n_topics,) are of the topics that there were; counts (n_topics',
    n_features) and tables (n_topics',) are those of the batch, in which there may be topics more.
    """
    n_new = len(tables) - len(a)
    lam = np.vstack([lam, np.full((n_new, lam.shape[1]), eta)])
    a, b = np.append(a, np.ones(n_new)), np.append(b, np.full(n_new, alpha))
    after = np.array([tables[k + 1 :].sum() for k in range(len(tables))])
    hats = eta + scale * counts, 1.0 + scale * tables, alpha + scale * after
    return tuple((1.0 - rho) * old + rho * hat for old, hat in zip((lam, a, b), hats))


def mean_weights(a, b):
    """Expected weights under sticks of Beta(a, b)."""
    stick = a / (a + b)
    return np.array([stick[k] * np.prod(1.0 - stick[:k]) for k in range(len(a))])
