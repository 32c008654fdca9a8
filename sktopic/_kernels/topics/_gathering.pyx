"""Gathering the topic rows of a batch's words from a word-major store."""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._vector cimport fill_geometric_row
from sktopic._kernels.random._block_sums cimport BLOCK
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team, n_blocks
from sktopic._kernels.topics._rows cimport fill_row, multiply_row

BLOCK_SIZE = BLOCK


# Words that a thread takes at a time.
cdef enum:
    AT_ONCE = 32


cdef struct Gathering:
    # Arguments of gather_topics or, where there is a norm, of gather_geometric.
    const double* store
    const int32_t* words
    const double* scale
    const double* offset
    const double* norm
    const double* prior
    const void* weight  # the prior in the precision of the rows
    void* rows
    void* cumulative
    double* log_norm
    double* scratch
    Py_ssize_t n_words
    Py_ssize_t n_topics
    bint single  # whether rows are of single precision
    bint finite  # the result; threads only ever clear it


def gather_topics(
    const double[:, ::1] store,
    const int32_t[::1] words,
    const double[::1] scale,
    const double[::1] offset,
    const double[::1] prior,
    real[:, ::1] rows,
    real[:, ::1] cumulative,
    double[::1] log_norm,
    Team team not None,
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
    cdef Gathering given
    cdef real[::1] weight = np.asarray(prior, dtype=np.float32 if real is float else np.float64)
    given.norm = given.scratch = NULL
    return gather(&given, store, words, scale, offset, prior, weight, rows, cumulative, log_norm, team)


cdef bint gather(
    Gathering* given,
    const double[:, ::1] store,
    const int32_t[::1] words,
    const double[::1] scale,
    const double[::1] offset,
    const double[::1] prior,
    real[::1] weight,
    real[:, ::1] rows,
    real[:, ::1] cumulative,
    double[::1] log_norm,
    Team team,
) except -1:
    given.finite = True
    given.n_words, given.n_topics = words.shape[0], store.shape[1]
    if given.n_words == 0:
        return True
    given.store, given.words = &store[0, 0], &words[0]
    given.scale, given.offset, given.prior, given.weight = &scale[0], &offset[0], &prior[0], &weight[0]
    given.rows, given.cumulative, given.log_norm = &rows[0, 0], &cumulative[0, 0], &log_norm[0]
    given.single = real is float
    with nogil:
        team.run(<Task>gather_piece, given, n_blocks(given.n_words, AT_ONCE))
    return given.finite


cdef int gather_piece(Gathering* given, Py_ssize_t piece, Py_ssize_t member) except -1 nogil:
    cdef Py_ssize_t first = piece * AT_ONCE, last = min(first + AT_ONCE, given.n_words)
    cdef double* scratch = NULL
    if given.norm != NULL:
        scratch = given.scratch + member * (3 * given.n_topics + GAP)
    if given.single:
        gather_words(given, first, last, <float*>given.rows, <float*>given.cumulative, scratch)
    else:
        gather_words(given, first, last, <double*>given.rows, <double*>given.cumulative, scratch)
    return 0


cdef int gather_words(
    Gathering* given, Py_ssize_t first, Py_ssize_t last, real* rows, real* cumulative, double* scratch
) except -1 nogil:
    cdef Py_ssize_t n_topics = given.n_topics, stride = (n_topics + BLOCK - 1) // BLOCK, i, done = 0
    cdef const double* source
    for i in range(first, last):
        source = given.store + given.words[i] * n_topics
        if given.norm == NULL:
            given.log_norm[i] = gather_row(
                source, given.store + given.words[min(i + 1, given.n_words - 1)] * n_topics,
                given.scale, given.offset, given.prior, <const real*>given.weight, n_topics,
                rows + i * n_topics, cumulative + i * stride,
            )
            count_work(&done, 4 * n_topics)
        else:
            given.log_norm[i] = gather_geometric_row(
                source, given, scratch, rows + i * n_topics, cumulative + i * stride
            )
            count_work(&done, 16 * n_topics)
        if not given.log_norm[i] < INFINITY:
            given.finite = False
    return 0


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
    normalize(row, cumulative, n_topics, total)
    return log(total) if unit == 1.0 else log(unit) + log(total)


cdef void normalize(real* row, real* cumulative, Py_ssize_t n_topics, double total) noexcept nogil:
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
    Team team not None,
):
    """The same with phi[w] = exp(psi(store[w] * scale + offset) - norm): geometric instead of arithmetic
    means under Dirichlet posteriors, if norm holds psi of the posteriors' sums.

    Entries below e^-80 times a row's largest count as that. The other arguments are those of gather_topics.
    """
    cdef Gathering given
    cdef real[::1] weight = np.asarray(prior, dtype=np.float32 if real is float else np.float64)
    cdef double[:, ::1] scratch = np.empty((team.size, 3 * store.shape[1] + GAP))
    given.norm, given.scratch = &norm[0], &scratch[0, 0]
    return gather(&given, store, words, scale, offset, prior, weight, rows, cumulative, log_norm, team)


cdef double gather_geometric_row(
    const double* source, Gathering* given, double* scratch, real* row, real* cumulative
) noexcept nogil:
    """One row of gather_geometric; returns its log_norm. scratch : (3 * n_topics,)"""
    cdef Py_ssize_t n_topics = given.n_topics, k
    cdef double top, total
    for k in range(n_topics):
        scratch[k] = source[k] * given.scale[k] + given.offset[k]
    top = fill_geometric_row(scratch, given.norm, n_topics, scratch + n_topics, scratch + 2 * n_topics)
    for k in range(n_topics):
        row[k] = <real>scratch[2 * n_topics + k]
    total = sum_blocks(row, given.prior, n_topics, cumulative)
    normalize(row, cumulative, n_topics, total)
    return top + log(total)
