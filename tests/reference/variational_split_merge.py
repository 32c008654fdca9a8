"""Cells of topics and their mixing (twin of _kernels.hdp._variational_split_merge)."""

import numpy as np
from scipy.special import digamma, gammaln

TRACE = 1e-14


def dirichlet_terms(column, topic_word_prior):
    """The sum of log Gamma(column + topic_word_prior) - column * psi(column + topic_word_prior), and psi."""
    psi = digamma(column + topic_word_prior)
    return (gammaln(column + topic_word_prior) - column * psi).sum(), psi


def list_cells(indptr, cell_word, cell_count, share, expectation, rows, topic, present):
    document = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows = np.asarray(rows[:, topic], dtype=np.float64)
    tokens = share * np.asarray(expectation[:, topic], dtype=np.float64)[document] * rows[cell_word]
    cell = np.flatnonzero((tokens > TRACE * cell_count) & (present[document] > 0))
    return cell, document[cell], tokens[cell]
