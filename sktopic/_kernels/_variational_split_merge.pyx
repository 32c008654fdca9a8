"""Topics of a batch cell by cell, to see what the bound would gain if two were one, or one were two.

Mean-field inference gives the cell (document, word) with count n the expected tokens c_k = n phi_k of topic
k. Most are nothing: lists hold the cells where a topic has more than a trace.
"""

import numpy as np

from libc.math cimport exp, fabs, log, log1p
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels._interrupt cimport count_work
from sktopic._kernels._precision cimport real
from sktopic._kernels._special cimport digamma
from sktopic._kernels._vector cimport fill_digamma_row

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
    const char[::1] present,
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


def pair_mixing(
    const int32_t[::1] cell1,
    const double[::1] tokens1,
    const int32_t[::1] cell2,
    const double[::1] tokens2,
    const int32_t[::1] document1,
    double[::1] mixing,
):
    """What the entropy of the tokens' topics loses in each document when two topics become one.

    Parameters
    ----------
    cell1, tokens1, cell2, tokens2 : lists of the two topics, as of list_cells                    IN
    document1 : of the first list                                                                 IN
    mixing : (n_documents,) to which are added the sums over cells of
        (c1 + c2) log(c1 + c2) - c1 log c1 - c2 log c2                                        IN/OUT
    """
    cdef Py_ssize_t i = 0, j = 0, done = 0
    with nogil:
        while i < cell1.shape[0] and j < cell2.shape[0]:
            count_work(&done, 16)
            if cell1[i] < cell2[j]:
                i += 1
            elif cell1[i] > cell2[j]:
                j += 1
            else:
                mixing[document1[i]] += (
                    x_log_x(tokens1[i] + tokens2[j]) - x_log_x(tokens1[i]) - x_log_x(tokens2[j])
                )
                i += 1
                j += 1


cdef inline double softplus(double x) noexcept nogil:
    return (x if x > 0.0 else 0.0) + log1p(exp(-fabs(x)))


def divide_cells(
    const int32_t[::1] document,
    const int32_t[::1] word,
    const double[::1] tokens,
    const double[::1] difference,
    double prior1,
    double prior2,
    double start,
    int max_iter,
    double tol,
    double[::1] mixing,
):
    """Divide a topic's tokens among two topics: mean field with everything else held fixed.

    The first gets the share sigmoid(difference_w + psi(theta1) - psi(theta2)) of a cell, where theta = prior
    + tokens of the document. The tokens of both together stay what they are.

    Parameters
    ----------
    document, word, tokens : of the topic's cells, documents ascending                            IN
    difference : (n_words,) E[log phi] of the first topic minus that of the second                IN
    prior1, prior2 : parameters of the document's proportions for the two
    start : share of the first in each document at the start
    max_iter, tol : iterations over a document, at most, and until theta changes by less
    mixing : (n_documents,) to which is added what the two would lose by pair_mixing           IN/OUT

    Returns
    -------
    first (n,) float64 : tokens of the first topic in each cell
    """
    cdef Py_ssize_t n = document.shape[0], begin = 0, end, i, done = 0
    cdef int _iteration
    cdef double total, theta1, theta2, ahead, part, changed, x
    first_array = np.empty(n)
    cdef double[::1] first = first_array
    with nogil:
        while begin < n:
            end = begin
            total = 0.0
            while end < n and document[end] == document[begin]:
                total += tokens[end]
                end += 1
            part = start * total
            for _iteration in range(max_iter):
                theta1 = prior1 + part
                theta2 = prior2 + (total - part if total > part else 0.0)
                ahead = digamma(theta1) - digamma(theta2)
                changed = part
                part = 0.0
                for i in range(begin, end):
                    first[i] = tokens[i] / (1.0 + exp(-(difference[word[i]] + ahead)))
                    part += first[i]
                changed = fabs(part - changed)
                count_work(&done, 16 * (end - begin) + 64)
                if changed < tol:
                    break
            for i in range(begin, end):
                x = difference[word[i]] + ahead
                # -q log q - (1 - q) log(1 - q) with q = sigmoid(x)
                mixing[document[begin]] += first[i] * softplus(-x) + (tokens[i] - first[i]) * softplus(x)
            begin = end
    return first_array
