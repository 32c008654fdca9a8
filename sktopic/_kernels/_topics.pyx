"""Gathering the topic rows of a batch's words from a word-major store."""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t

from sktopic._kernels._interrupt cimport count_work
from sktopic._kernels._block_sums cimport BLOCK
from sktopic._kernels._precision cimport real
from sktopic._kernels._topic_rows cimport fill_row, multiply_row
from sktopic._kernels._vector cimport fill_geometric_row

BLOCK_SIZE = BLOCK


def gather_topics(
    const double[:, ::1] store,
    const int32_t[::1] words,
    const double[::1] scale,
    const double[::1] offset,
    const double[::1] prior,
    real[:, ::1] rows,
    real[:, ::1] cumulative,
    double[::1] log_norm,
):
    """Compute phi[w] = store[w] * scale + offset for some words, scaled to phi @ prior = 1.

    Parameters
    ----------
    store : (n_features, n_topics)                                                                IN
    words : (n_words,) rows of the store                                                          IN
    scale, offset, prior : (n_topics,)                                                            IN
    rows : (n_words, n_topics) phi[w] / (phi[w] @ prior)                                          OUT
    cumulative : (n_words, ceil(n_topics / 16)) cumulative sums over blocks of 16 of rows * prior  OUT
    log_norm : (n_words,) log(phi[w] @ prior)                                                 OUT

    Returns
    -------
    Whether no log_norm is NaN or plus infinity.

    A word of probability zero in every topic says nothing about topics: its row is 1 / sum(prior)
    everywhere and its log_norm minus infinity. Where that of a word is NaN or infinity, the topics are
    not finite and its row is of no use.
    """
    cdef Py_ssize_t n_topics = store.shape[1], n_words = words.shape[0], i, done = 0
    cdef bint finite = True
    cdef real[::1] weight = np.asarray(prior, dtype=np.float32 if real is float else np.float64)
    with nogil:
        for i in range(n_words):
            log_norm[i] = gather_row(
                &store[words[i], 0], &store[words[min(i + 1, n_words - 1)], 0],
                &scale[0], &offset[0], &prior[0], &weight[0], n_topics,
                &rows[i, 0], &cumulative[i, 0],
            )
            finite &= log_norm[i] < INFINITY
            count_work(&done, 4 * n_topics)
    return finite


cdef double sum_blocks(const real* row, const double* prior, Py_ssize_t n, real* cumulative) noexcept nogil:
    """Fill the cumulative block sums of row * prior and return the total; four lanes, in a fixed order."""
    cdef Py_ssize_t k = 0, b = 0, stop
    cdef double total = 0.0, s0, s1, s2, s3
    while k < n:
        stop = min(k + BLOCK, n)
        s0 = s1 = s2 = s3 = 0.0
        while k + 4 <= stop:
            s0 += prior[k] * row[k]
            s1 += prior[k + 1] * row[k + 1]
            s2 += prior[k + 2] * row[k + 2]
            s3 += prior[k + 3] * row[k + 3]
            k += 4
        while k < stop:
            s0 += prior[k] * row[k]
            k += 1
        total += (s0 + s1) + (s2 + s3)
        cumulative[b] = <real>total
        b += 1
    return total


cdef double gather_row(
    const double* source,
    const double* following,
    const double* scale,
    const double* offset,
    const double* prior,
    const real* weight,
    Py_ssize_t n_topics,
    real* row,
    real* cumulative,
) noexcept nogil:
    """One row of gather_topics; returns its log_norm. following : source of the next row; weight : prior"""
    cdef Py_ssize_t k
    cdef double unit = 1.0, largest = 0.0, total
    total = fill_row(source, following, scale, offset, weight, n_topics, row, cumulative)
    if total != total:  # NaN
        return total
    if not total > 1e-30:  # the row may have left the range of float32: take its largest entry out
        for k in range(n_topics):
            largest = max(largest, source[k] * scale[k] + offset[k])
        unit = largest
        for k in range(n_topics):
            row[k] = <real>((source[k] * scale[k] + offset[k]) / largest) if largest > 0.0 else <real>1.0
        total = sum_blocks(row, prior, n_topics, cumulative)
    normalise(row, cumulative, n_topics, total)
    return log(total) if unit == 1.0 else log(unit) + log(total)


cdef void normalise(real* row, real* cumulative, Py_ssize_t n_topics, double total) noexcept nogil:
    """Divide a row and its block sums by the total."""
    multiply_row(row, n_topics, <real>(1.0 / total))
    multiply_row(cumulative, (n_topics + BLOCK - 1) // BLOCK, <real>(1.0 / total))


def gather_geometric(
    const double[:, ::1] store,
    const int32_t[::1] words,
    const double[::1] scale,
    const double[::1] offset,
    const double[::1] norm,
    const double[::1] prior,
    real[:, ::1] rows,
    real[:, ::1] cumulative,
    double[::1] log_norm,
):
    """The same with phi[w] = exp(psi(store[w] * scale + offset) - norm): geometric instead of arithmetic
    means under Dirichlet posteriors, if norm holds psi of the posteriors' sums.

    Entries below e^-80 times a row's largest count as that. The other arguments are those of gather_topics.
    """
    cdef Py_ssize_t n_topics = store.shape[1], n_words = words.shape[0], i, k, done = 0
    cdef double top, total
    cdef bint finite = True
    cdef double[:, ::1] scratch = np.empty((3, n_topics), dtype=np.float64)
    with nogil:
        for i in range(n_words):
            for k in range(n_topics):
                scratch[0, k] = store[words[i], k] * scale[k] + offset[k]
            top = fill_geometric_row(&scratch[0, 0], &norm[0], n_topics, &scratch[1, 0], &scratch[2, 0])
            for k in range(n_topics):
                rows[i, k] = <real>scratch[2, k]
            total = sum_blocks(&rows[i, 0], &prior[0], n_topics, &cumulative[i, 0])
            normalise(&rows[i, 0], &cumulative[i, 0], n_topics, total)
            log_norm[i] = top + log(total)
            finite &= log_norm[i] < INFINITY
            count_work(&done, 16 * n_topics)
    return finite
