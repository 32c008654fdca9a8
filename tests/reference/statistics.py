"""Adding expected counts to topic statistics, densely (the twin of _kernels.topics._statistics)."""

from itertools import pairwise

import numpy as np


def variational_counts(cell_word, cell_document, expectation, share, rows):
    """The expected counts (n_cells, n_topics) that the factors of the variational step stand for."""
    return share[:, None] * expectation[cell_document].astype(np.float64) * rows[cell_word]


def weighted(expected, cell_weight):
    """The expected counts of cells (n_cells, n_topics) times the weights of these; (0,) stands for ones."""
    return expected if len(cell_weight) == 0 else cell_weight[:, None] * expected


def sums_by_word(expected, cell_word, n_words):
    """The expected counts of cells (n_cells, n_topics), added up for each word."""
    sums = np.zeros((n_words, expected.shape[1]))
    np.add.at(sums, cell_word, expected)
    return sums


def add_counts(sums, part_bounds, factor, target_row, target, totals, averaged, average_weight):
    """Add factor times the sums (n_words, n_topics) to target and averaged, and per part to totals."""
    for p, (first, last) in enumerate(pairwise(part_bounds)):
        totals[p] += factor * sums[first:last].sum(axis=0)
    target[target_row] += factor * sums
    if len(averaged):
        averaged[target_row] += factor * sums * average_weight
