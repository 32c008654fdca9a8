"""Alias tables (the twin of _kernels.random._alias)."""

import numpy as np

from tests.reference.sums import sum_in_order


def alias_table(weight):
    """threshold and alias: small cells are filled up, last one first, by the large one found last."""
    n, total = len(weight), sum_in_order(weight)
    threshold = np.array(weight) * (n / total) if total > 0 else np.ones(n)
    alias = np.arange(n)
    small = [i for i in range(n) if threshold[i] < 1]
    large = [i for i in range(n) if threshold[i] >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        alias[i] = j
        threshold[j] = (threshold[j] + threshold[i]) - 1
        if threshold[j] < 1:
            small.append(large.pop())
    threshold[small + large] = 1.0
    return threshold, alias


def probabilities(threshold, alias):
    """What a table draws each entry with."""
    p = np.array(threshold, dtype=float)
    np.add.at(p, alias, 1 - np.asarray(threshold))
    return p / len(p)


def draw_alias(threshold, alias, stream):
    u = stream.uniform() * len(threshold)
    i = min(int(u), len(threshold) - 1)
    return i if u - i < threshold[i] else int(alias[i])
