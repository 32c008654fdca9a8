"""The document step by variational inference with topics and prior held fixed.

Equations 11 and 12 of Dupuy and Bach (2017): zeta_wk is proportional to phi_kw exp psi(gamma_k) and
gamma_k = alpha_k + sum_w c_w zeta_wk. Rows may carry any positive factor of their own.
"""

import numpy as np

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels._slots cimport real
from sktopic._kernels._special cimport digamma


cdef inline void fill_expectation(
    const double* gamma, Py_ssize_t n, double* log_scratch, real* e
) noexcept nogil:
    """e_k = exp(psi(gamma_k) - max psi), at least e^-60: the common factor cancels, nothing underflows, and
    a topic far from the document still takes the words that no other topic has."""
    cdef Py_ssize_t k
    cdef double largest = -1e308
    for k in range(n):
        log_scratch[k] = digamma(gamma[k])
        largest = max(largest, log_scratch[k])
    for k in range(n):
        e[k] = <real>exp(max(log_scratch[k] - largest, -60.0))


cdef inline double dot(const real* a, const real* b, Py_ssize_t n) noexcept nogil:
    """The inner product, in eight lanes and a fixed order, and never zero."""
    cdef real s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0
    cdef Py_ssize_t k = 0
    while k + 8 <= n:
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
        s4 += a[k + 4] * b[k + 4]
        s5 += a[k + 5] * b[k + 5]
        s6 += a[k + 6] * b[k + 6]
        s7 += a[k + 7] * b[k + 7]
        k += 8
    while k < n:
        s0 += a[k] * b[k]
        k += 1
    return <double>(((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))) + 1e-300


def update_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    const double[::1] prior,
    double[:, ::1] gamma,
    int max_iter,
    double tol,
):
    """Iterate gamma of each document until its mean absolute change falls below tol, or max_iter times.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows, prior : as in _gibbs.sweep_documents (any row factor)     IN
    gamma : (n_documents, n_topics) Dirichlet parameters of each document's proportions          IN/OUT

    Returns
    -------
    expectation (n_documents, n_topics), share (n_cells,) float64 : the expected count of a cell under
    topic k is share[cell] * expectation[document, k] * rows[word, k], from the final gamma;
    changes (n_documents,) float64 : mean absolute change of gamma in the last iteration.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, k, cell, first, last
    cdef int64_t base = indptr[0]
    cdef int _iteration
    cdef double change, updated
    cdef real ratio
    cdef real* e
    cdef const real* row
    dtype = np.float32 if real is float else np.float64
    expectation_array = np.empty((n_documents, n_topics), dtype=dtype)
    share_array = np.empty(cell_word.shape[0], dtype=np.float64)
    changes_array = np.zeros(n_documents, dtype=np.float64)
    cdef real[:, ::1] expectation = expectation_array
    cdef double[::1] share = share_array, changes = changes_array
    cdef real[::1] sums = np.empty(n_topics, dtype=dtype)
    cdef double[::1] log_scratch = np.empty(n_topics, dtype=np.float64)
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            last = indptr[d + 1] - base
            e = &expectation[d, 0]
            if first == last:
                for k in range(n_topics):
                    gamma[d, k] = prior[k]
            fill_expectation(&gamma[d, 0], n_topics, &log_scratch[0], e)
            if first == last:
                continue
            for _iteration in range(max_iter):
                for k in range(n_topics):
                    sums[k] = 0
                for cell in range(first, last):
                    row = &rows[cell_word[cell], 0]
                    ratio = <real>(cell_count[cell] / dot(e, row, n_topics))
                    for k in range(n_topics):
                        sums[k] += ratio * row[k]
                change = 0.0
                for k in range(n_topics):
                    updated = prior[k] + <double>e[k] * sums[k]
                    change += fabs(updated - gamma[d, k])
                    gamma[d, k] = updated
                fill_expectation(&gamma[d, 0], n_topics, &log_scratch[0], e)
                changes[d] = change / n_topics
                if changes[d] < tol:
                    break
            for cell in range(first, last):
                share[cell] = cell_count[cell] / dot(e, &rows[cell_word[cell], 0], n_topics)
    return expectation_array, share_array, changes_array
