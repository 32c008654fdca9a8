"""Choosing hidden words (the twin of _kernels.documents._completion)."""

import numpy as np

from tests.reference.documents import clumps_of
from tests.reference.rng import Stream


def hide_tokens(indptr, cell_count, keys, hidden_fraction):
    """Hide clumps one after the other with probability (still to hide) / (still to come)."""
    hidden = np.zeros(len(cell_count))
    n_left = np.zeros(len(cell_count), dtype=int)
    for d in range(len(indptr) - 1):
        stream = Stream(keys[d])
        clumps = clumps_of(indptr, cell_count, d)
        n = len(clumps)
        to_hide = n if n < 2 else max(1, round(hidden_fraction * n))
        for i, (cell, weight) in enumerate(clumps):
            if stream.uniform() * (n - i) < to_hide:
                hidden[cell] += weight
                to_hide -= 1
            else:
                n_left[cell] += 1
    hidden[n_left == 0] = np.asarray(cell_count)[n_left == 0]
    return hidden
