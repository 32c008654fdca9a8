"""Adding expected counts to topic statistics, densely (the twin of _kernels.topics._statistics)."""

from itertools import pairwise

import numpy as np


def variational_counts(cell_word, cell_document, expectation, share, rows):
    """The expected counts (n_cells, n_topics) that the factors of the variational step stand for."""
    return share[:, None] * expectation[cell_document].astype(np.float64) * rows[cell_word]


def add_counts(words, expected, factor, statistics):
    """Add factor times the expected counts (n_cells, n_topics) of cells to a CountsTarget in place."""
    if len(words.cell_weight):
        expected = words.cell_weight[:, None] * expected
    sums = np.zeros((len(words.target_row), expected.shape[1]))
    np.add.at(sums, np.repeat(np.arange(len(sums)), np.diff(words.word_indptr)), expected[words.word_cell])
    for total, (first, last) in zip(statistics.totals, pairwise(words.part_bounds)):
        total += factor * sums[first:last].sum(axis=0)
    statistics.store[words.target_row] += factor * sums
    if len(statistics.averaged):
        statistics.averaged[words.target_row] += factor * sums * statistics.average_weight
