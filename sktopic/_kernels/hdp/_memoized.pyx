"""Shares of topics in the cells of documents, of which small ones are dropped, and what is summed over them.

Mean field gives every topic a share of every cell, but for some of them a trace. Cells here have a list of
topics each, with the expected tokens c_k = n phi_k of these; the phi_k of a cell sum to one.
"""

import numpy as np

from libc.math cimport lgamma, log
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._special cimport digamma, trigamma
from sktopic._kernels.numbers._vector cimport weigh_cells
from sktopic._kernels.threads._interrupt cimport count_work


cdef inline double x_log_x(double x) noexcept nogil:
    return x * log(x) if x > 0.0 else 0.0


cdef Py_ssize_t list_present(
    const real* e, const real* sums, Py_ssize_t n, double least, int32_t* present
) noexcept nogil:
    """The topics that have as many tokens in a document; their number."""
    cdef Py_ssize_t k, n_present = 0
    for k in range(n):
        if <double>e[k] * <double>sums[k] >= least:
            present[n_present] = <int32_t>k
            n_present += 1
    return n_present


cdef Py_ssize_t keep_largest(
    const real* e,
    const real* row,
    const int32_t* present,
    Py_ssize_t n_present,
    double count,
    double smallest,
    double* weight,
    int32_t* topic,
    double* tokens,
) noexcept nogil:
    """Divide the count of a cell among the topics with a share of at least ``smallest``; their number."""
    cdef Py_ssize_t i, n = 0
    cdef double total = 0.0, kept = 0.0
    for i in range(n_present):
        weight[i] = <double>e[present[i]] * <double>row[present[i]]
        total += weight[i]
    for i in range(n_present):
        if weight[i] >= smallest * total:
            topic[n] = present[i]
            tokens[n] = weight[i]
            kept += weight[i]
            n += 1
    for i in range(n):
        tokens[i] = count * (tokens[i] / kept)
    return n


def keep_shares(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    const real[:, ::1] expectation,
    double smallest,
):
    """The shares of topics in cells that are large enough; those of a cell are scaled to sum to one.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows : as of _variational.update_documents                      IN
    expectation : (n_documents, n_topics), as returned by it                                       IN
    smallest : share below which a topic is dropped, at most 1 / n_topics

    Returns
    -------
    size (n_cells,) int64 : topics of each cell
    topic (n,) int32, tokens (n,) float64 : those of all cells, ascending in each
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1]
    cdef Py_ssize_t d, i, n, first, n_cells, n_present, done = 0, most = 0
    cdef int64_t base = indptr[0]
    cdef double least
    for d in range(n_documents):
        most = max(most, indptr[d + 1] - indptr[d])
    dtype = np.float32 if real is float else np.float64
    size_array = np.zeros(cell_word.shape[0], dtype=np.int64)
    topic_array, tokens_array = np.empty(most * n_topics, dtype=np.int32), np.empty(most * n_topics)
    cdef int64_t[::1] size = size_array
    cdef int32_t[::1] topic = topic_array, present = np.empty(n_topics, dtype=np.int32)
    cdef double[::1] tokens = tokens_array, share = np.empty(most), weight = np.empty(n_topics)
    cdef real[::1] sums = np.empty(n_topics, dtype=dtype)
    topics, all_tokens = [np.empty(0, dtype=np.int32)], [np.empty(0)]
    for d in range(n_documents):
        first, n_cells, n = indptr[d] - base, indptr[d + 1] - indptr[d], 0
        if n_cells == 0:
            continue
        with nogil:
            weigh_cells(
                n_cells, &cell_word[first], &cell_count[first], &rows[0, 0], n_topics,
                &expectation[d, 0], &sums[0], &share[0], &done,
            )
            least = cell_count[first]
            for i in range(n_cells):
                least = min(least, cell_count[first + i])
            # A topic with less in the whole document has no share as large in any cell.
            n_present = list_present(
                &expectation[d, 0], &sums[0], n_topics, 0.5 * smallest * least, &present[0]
            )
            count_work(&done, 2 * n_cells * n_present)
            for i in range(n_cells):
                size[first + i] = keep_largest(
                    &expectation[d, 0], &rows[cell_word[first + i], 0], &present[0], n_present,
                    cell_count[first + i], smallest, &weight[0], &topic[n], &tokens[n],
                )
                n += size[first + i]
        topics.append(topic_array[:n].copy())
        all_tokens.append(tokens_array[:n].copy())
    return size_array, np.concatenate(topics), np.concatenate(all_tokens)


def mix_pairs(
    const int64_t[::1] bounds,
    const int32_t[::1] topic,
    const double[::1] tokens,
    const double[::1] cell_weight,
    const int32_t[:, ::1] pair,
    double[::1] mixing,
):
    """What the entropy of the tokens' topics loses if two topics become one, for some pairs.

    Parameters
    ----------
    bounds : (n_cells + 1,) of the topics of each cell                                             IN
    topic, tokens : as of keep_shares                                                              IN
    cell_weight : (n_cells,) as how many each cell counts; (0,): as one                            IN
    pair : (n_topics, n_topics) number of the pair of two topics, or -1                            IN
    mixing : (n_pairs,) to which are added the sums over cells of
        (c1 + c2) log(c1 + c2) - c1 log c1 - c2 log c2                                        IN/OUT
    """
    cdef Py_ssize_t cell, i, j, done = 0
    cdef int32_t p
    cdef double m
    cdef bint weighted = cell_weight.shape[0] > 0
    with nogil:
        for cell in range(bounds.shape[0] - 1):
            count_work(&done, (bounds[cell + 1] - bounds[cell]) ** 2)
            for i in range(bounds[cell], bounds[cell + 1]):
                for j in range(i + 1, bounds[cell + 1]):
                    p = pair[topic[i], topic[j]]
                    if p >= 0:
                        m = x_log_x(tokens[i] + tokens[j]) - x_log_x(tokens[i]) - x_log_x(tokens[j])
                        mixing[p] += cell_weight[cell] * m if weighted else m


def sum_gains(
    const int32_t[::1] topic,
    const double[::1] tokens,
    const double[::1] weight,
    const double[::1] prior,
    int order,
):
    """Sums of f(prior + tokens) - f(prior) by topic, where f is log Gamma or one of its derivatives.

    Parameters
    ----------
    topic, tokens : (n,)                                                                           IN
    weight : (n,) as how often each counts; (0,): once                                             IN
    prior : (n_topics,)                                                                            IN
    order : 0 for log Gamma, 1 for its derivative, 2 for the second

    Returns
    -------
    gains (n_topics,) float64
    """
    cdef Py_ssize_t i, k, done = 0
    cdef double x
    cdef bint weighted = weight.shape[0] > 0
    gains_array, before_array = np.zeros(prior.shape[0]), np.empty(prior.shape[0])
    cdef double[::1] gains = gains_array, before = before_array
    with nogil:
        for k in range(prior.shape[0]):
            before[k] = derivative(prior[k], order)
        for i in range(topic.shape[0]):
            count_work(&done, 64)
            k = topic[i]
            x = derivative(prior[k] + tokens[i], order) - before[k]
            gains[k] += weight[i] * x if weighted else x
    return gains_array


cdef inline double derivative(double x, int order) noexcept nogil:
    """log Gamma(x), or its first or second derivative."""
    if order == 0:
        return lgamma(x)
    return digamma(x) if order == 1 else trigamma(x)
