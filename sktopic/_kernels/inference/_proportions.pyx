"""Topic proportions of sampled documents, and what they predict for held-out words."""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.topics._rows cimport add_cell
from sktopic._kernels.topics._sparse_rows cimport SparseRows, addresses_of


def sampled_proportions(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const int64_t[::1] column_indptr,
    const int32_t[::1] column_topic,
    const real[::1] values,
    const double[::1] fixed,
    const real[:, ::1] rows,
    const double[::1] prior,
    int n_sweeps,
    lists=None,
):
    """Posterior mean of theta of each document, Rao-Blackwellised over the counted sweeps.

    theta_k = (alpha_k + E n_k) / (sum alpha + N) with E n_k from what _sparse_gibbs.sweep_documents returned
    (its arguments and results under the same names). A document without words gets the prior mean.
    Returns theta (n_documents, n_topics) float64, rows summing to one.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, cell, _cell, k, j
    cdef Py_ssize_t value = 0, first_column, n_columns, done = 0
    cdef int64_t base = indptr[0]
    cdef double share, total, rest, even
    cdef int64_t e
    cdef SparseRows sparse
    cdef bint is_sparse = lists is not None
    if is_sparse:
        sparse = addresses_of(lists)
    theta_array = np.zeros((n_documents, n_topics), dtype=np.float64)
    cdef double[:, ::1] theta = theta_array
    cdef double* out
    with nogil:
        for d in range(n_documents):
            out = &theta[d, 0]
            first_column = column_indptr[d]
            n_columns = column_indptr[d + 1] - first_column
            rest = even = 0.0
            for cell in range(indptr[d] - base, indptr[d + 1] - base):
                share = fixed[cell] / n_sweeps
                if is_sparse:
                    rest += share * sparse.rest[cell_word[cell]]
                    even += share * sparse.even[cell_word[cell]]
                    for e in range(sparse.start[cell_word[cell]], sparse.start[cell_word[cell] + 1]):
                        out[sparse.topic[e]] += share * (<const real*>sparse.value)[e]
                    count_work(&done, n_columns + 64)
                    continue
                add_cell(share, &rows[cell_word[cell], 0], n_topics, out)
                count_work(&done, n_topics + n_columns)
            total = 0.0
            if is_sparse:
                for k in range(n_topics):
                    out[k] += rest * sparse.shares[k] + even * sparse.units[k]
            for k in range(n_topics):
                out[k] = prior[k] * (1.0 + out[k])
            for _cell in range(indptr[d + 1] - indptr[d]):
                for j in range(n_columns):
                    out[column_topic[first_column + j]] += values[value] / n_sweeps
                    value += 1
            for k in range(n_topics):
                total += out[k]
            for k in range(n_topics):
                out[k] /= total
    return theta_array


def log_predictive(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const double[:, ::1] theta,
    const double[:, ::1] rows,
):
    """Return sum_w c_w log(sum_k theta_k phi_kw) of each document, in nats (n_documents,).

    theta (n_documents, n_topics); rows (n_words, n_topics) phi itself, not scaled.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, cell, k
    cdef Py_ssize_t done = 0
    cdef int64_t base = indptr[0]
    cdef double p, total
    result_array = np.empty(n_documents, dtype=np.float64)
    cdef double[::1] result = result_array
    cdef const double* row
    with nogil:
        for d in range(n_documents):
            total = 0.0
            for cell in range(indptr[d] - base, indptr[d + 1] - base):
                row = &rows[cell_word[cell], 0]
                p = 0.0
                for k in range(n_topics):
                    p += theta[d, k] * row[k]
                total += cell_count[cell] * log(p)
                count_work(&done, n_topics)
            result[d] = total
    return result_array
