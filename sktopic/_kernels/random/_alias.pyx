"""Building alias tables, and drawing from one in Python."""

import numpy as np

from libc.stdint cimport int32_t, uint64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._rng cimport Stream, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef double build_alias(
    const double* weight, Py_ssize_t n, double* threshold, int32_t* alias, int32_t* work
) noexcept nogil:
    """Fill threshold and alias from weights >= 0 and return their sum; work has n entries.

    Cell i holds entry i below its threshold and entry alias[i] above. With a sum of zero all entries are
    equally likely.
    """
    cdef double total = 0.0, scale
    cdef Py_ssize_t i, n_small = 0, first_large = n
    cdef int32_t small, large
    for i in range(n):
        total += weight[i]
    scale = n / total if total > 0.0 else 0.0
    for i in range(n):
        threshold[i] = weight[i] * scale if total > 0.0 else 1.0
        alias[i] = <int32_t>i
        if threshold[i] < 1.0:  # small ones fill work from the left, the others from the right
            work[n_small] = <int32_t>i
            n_small += 1
        else:
            first_large -= 1
            work[first_large] = <int32_t>i
    while n_small > 0 and first_large < n:
        n_small -= 1
        small = work[n_small]
        large = work[first_large]
        alias[small] = large
        threshold[large] = (threshold[large] + threshold[small]) - 1.0
        if threshold[large] < 1.0:
            first_large += 1
            work[n_small] = large
            n_small += 1
    while n_small > 0:  # left by rounding
        n_small -= 1
        threshold[work[n_small]] = 1.0
    while first_large < n:
        threshold[work[first_large]] = 1.0
        first_large += 1
    return total


def alias_table(const double[::1] weight):
    """threshold (n,) float64 and alias (n,) int32 of the weights."""
    cdef Py_ssize_t n = weight.shape[0]
    arrays = np.empty(n), np.empty(n, dtype=np.int32)
    cdef double[::1] threshold = arrays[0]
    cdef int32_t[::1] alias = arrays[1], work = np.empty(n, dtype=np.int32)
    build_alias(&weight[0], n, &threshold[0], &alias[0], &work[0])
    return arrays


def alias_draws(const double[::1] threshold, const int32_t[::1] alias, uint64_t key, Py_ssize_t n_draws):
    """Draws from a table, int32 of shape (n_draws,)."""
    cdef Stream stream
    cdef Py_ssize_t i
    draws_array = np.empty(n_draws, dtype=np.int32)
    cdef int32_t[::1] draws = draws_array
    seed_stream(&stream, key)
    for i in range(n_draws):
        draws[i] = draw_alias(&threshold[0], &alias[0], threshold.shape[0], &stream)
    return draws_array


def build_alias_tables(
    const int32_t[::1] words,
    const real[:, ::1] rows,
    const double[::1] alpha,
    double[:, ::1] threshold,
    int32_t[:, ::1] alias,
):
    """Build the alias tables of alpha_k phi_kw of some words.

    Parameters
    ----------
    words : rows that get a table                                                                  IN
    rows, alpha : as in _table_indicators.sweep_tables                                            IN
    threshold, alias : (words, n_topics) the tables                                  OUT
    """
    cdef Py_ssize_t i, k, n_topics = rows.shape[1], done = 0
    cdef double[::1] weight = np.empty(n_topics)
    cdef int32_t[::1] work = np.empty(n_topics, dtype=np.int32)
    with nogil:
        for i in range(words.shape[0]):
            for k in range(n_topics):
                weight[k] = alpha[k] * rows[words[i], k]
            build_alias(&weight[0], n_topics, &threshold[i, 0], &alias[i, 0], &work[0])
            count_work(&done, 8 * n_topics)
