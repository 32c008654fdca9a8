"""Topics of a batch cell by cell, to see what the bound would gain if two were one.

Mean-field inference gives the cell (document, word) with count n the expected tokens c_k = n phi_k of topic
k. Most are nothing: lists hold the cells where a topic has more than a trace.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int8_t, int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._vector cimport fill_digamma_row
from sktopic._kernels.threads._interrupt cimport count_work

# A topic's share of a cell below which its contribution is lost in rounding.
cdef double TRACE = 1e-14


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log(x) if x > 0.0 else 0.0


def dirichlet_terms(const double[::1] column, double topic_word_prior, double[::1] log_phi):
    """Terms of a Dirichlet posterior with parameters column + topic_word_prior.

    Parameters
    ----------
    column : (n_features,) expected tokens                                                         IN
    topic_word_prior : eta
    log_phi : (n_features,) psi of the parameters                                                 OUT

    Returns
    -------
    The sum of log Gamma(column + topic_word_prior) - column * psi(column + topic_word_prior).
    """
    cdef double total
    with nogil:
        total = fill_digamma_row(&column[0], topic_word_prior, column.shape[0], &log_phi[0])
    return total


def list_cells(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const double[::1] share,
    const real[:, ::1] expectation,
    const real[:, ::1] rows,
    Py_ssize_t topic,
    const int8_t[::1] present,
):
    """The cells that have a topic.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows : of a batch (see _variational.update_documents)          IN
    share, expectation : as returned by it                                                        IN
    topic : k
    present : (n_documents,) whether to look at a document                                        IN

    Returns
    -------
    cell, document (n,) int32, tokens (n,) float64 : c_k of these cells, ascending.
    """
    cdef Py_ssize_t d, i, n = 0, done = 0
    cdef double c
    cell_array = np.empty(cell_word.shape[0], dtype=np.int32)
    document_array = np.empty(cell_word.shape[0], dtype=np.int32)
    tokens_array = np.empty(cell_word.shape[0])
    cdef int32_t[::1] cell = cell_array, document = document_array
    cdef double[::1] tokens = tokens_array
    with nogil:
        for d in range(indptr.shape[0] - 1):
            if not present[d]:
                continue
            count_work(&done, 8 * (indptr[d + 1] - indptr[d]))
            for i in range(indptr[d], indptr[d + 1]):
                c = share[i] * <double>expectation[d, topic] * <double>rows[cell_word[i], topic]
                if c > TRACE * cell_count[i]:
                    cell[n] = <int32_t>i
                    document[n] = <int32_t>d
                    tokens[n] = c
                    n += 1
    return cell_array[:n].copy(), document_array[:n].copy(), tokens_array[:n].copy()


def pairs_mixing(
    cells,
    const double[::1] share,
    const real[:, ::1] expectation,
    const real[:, ::1] rows,
    const double[:, ::1] tokens,
    double fewest,
    const int64_t[:, ::1] pairs,
    Py_ssize_t first,
    Py_ssize_t last,
):
    """What the entropy of the tokens' topics loses in each document when two topics become one.

    Parameters
    ----------
    cells : DocumentCells                                                                         IN
    share, expectation, rows : as in list_cells                                                   IN
    tokens : (n_documents, n_topics) of the topics in the documents                               IN
    fewest : tokens of both in a document, up to which nothing is lost
    pairs : (n_pairs, 2) topics                                                                   IN
    first, last : documents, from the one up to the other

    Returns
    -------
    mixing (last - first, n_pairs) float64 : sums over cells of
        (c1 + c2) log(c1 + c2) - c1 log c1 - c2 log c2
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef Py_ssize_t d, i, p, a, b, n, done = 0
    cdef double c1, c2
    mixing_array = np.zeros((last - first, pairs.shape[0]))
    cdef double[:, ::1] mixing = mixing_array
    cdef Py_ssize_t[::1] present = np.empty(pairs.shape[0], dtype=np.intp)
    with nogil:
        for d in range(first, last):
            n = 0
            for p in range(pairs.shape[0]):
                if tokens[d, pairs[p, 0]] > fewest and tokens[d, pairs[p, 1]] > fewest:
                    present[n] = p
                    n += 1
            for i in range(indptr[d], indptr[d + 1]):
                for a in range(n):
                    p = present[a]
                    b = pairs[p, 0]
                    c1 = share[i] * <double>expectation[d, b] * <double>rows[cell_word[i], b]
                    if c1 > TRACE * cell_count[i]:
                        b = pairs[p, 1]
                        c2 = share[i] * <double>expectation[d, b] * <double>rows[cell_word[i], b]
                        if c2 > TRACE * cell_count[i]:
                            mixing[d - first, p] += x_log_x(c1 + c2) - x_log_x(c1) - x_log_x(c2)
                count_work(&done, 4 * n)
            count_work(&done, pairs.shape[0])
    return mixing_array
