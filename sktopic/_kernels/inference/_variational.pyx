"""The document step by variational inference with topics and prior held fixed.

Equations 11 and 12 of Dupuy and Bach (2017): zeta_wk is proportional to phi_kw exp psi(gamma_k) and
gamma_k = alpha_k + sum_w c_w zeta_wk. Rows may carry any positive factor of their own.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._vector cimport fill_exp_digamma, weigh_cells
from sktopic._kernels.threads._interrupt cimport count_work


cdef void fill_expectation(
    const double* gamma, Py_ssize_t n, double* exponent, double* scratch, real* e
) noexcept nogil:
    """e_k = exp(psi(gamma_k) - max psi), at least about e^-60: the common factor cancels, and a topic far
    from the document still takes the words that no other topic has."""
    cdef Py_ssize_t k
    fill_exp_digamma(gamma, n, exponent, scratch)
    for k in range(n):
        e[k] = <real>scratch[k]


cdef double update_gamma(
    const double* prior, const real* e, const real* sums, Py_ssize_t n, double* gamma
) noexcept nogil:
    """Equation 12; returns the mean absolute change."""
    cdef Py_ssize_t k
    cdef double change = 0.0, updated
    for k in range(n):
        updated = prior[k] + <double>e[k] * sums[k]
        change += fabs(updated - gamma[k])
        gamma[k] = updated
    return change / n


def update_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    prior,
    double[:, ::1] gamma,
    int max_iter,
    double tol,
):
    """Iterate gamma of each document until its mean absolute change falls below tol, or max_iter times.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows, prior : as in _dense_gibbs.sweep_documents (any row factor)      IN
    gamma : (n_documents, n_topics) Dirichlet parameters of each document's proportions          IN/OUT

    Returns
    -------
    expectation (n_documents, n_topics), share (n_cells,) float64 : the expected count of a cell under
    topic k is share[cell] * expectation[document, k] * rows[word, k], from the final gamma;
    changes (n_documents,) float64 : mean absolute change of gamma in the last iteration.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, k, first, n_cells
    cdef int64_t base = indptr[0]
    cdef Py_ssize_t done = 0
    cdef int _iteration
    cdef real* e
    cdef const double[:, ::1] priors = np.atleast_2d(prior)
    cdef const double* own_prior
    cdef Py_ssize_t prior_step = n_topics if prior.ndim == 2 else 0
    dtype = np.float32 if real is float else np.float64
    expectation_array = np.empty((n_documents, n_topics), dtype=dtype)
    share_array = np.empty(cell_word.shape[0], dtype=np.float64)
    changes_array = np.zeros(n_documents, dtype=np.float64)
    cdef real[:, ::1] expectation = expectation_array
    cdef double[::1] share = share_array, changes = changes_array
    cdef real[::1] sums = np.empty(n_topics, dtype=dtype)
    cdef double[:, ::1] scratch = np.empty((2, n_topics), dtype=np.float64)
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            n_cells = indptr[d + 1] - indptr[d]
            e = &expectation[d, 0]
            own_prior = &priors[0, 0] + d * prior_step
            if n_cells == 0:
                for k in range(n_topics):
                    gamma[d, k] = own_prior[k]
            fill_expectation(&gamma[d, 0], n_topics, &scratch[0, 0], &scratch[1, 0], e)
            count_work(&done, 8 * n_topics)
            if n_cells == 0:
                continue
            for _iteration in range(max_iter + 1):
                weigh_cells(
                    n_cells, &cell_word[first], &cell_count[first], &rows[0, 0], n_topics,
                    e, &sums[0], &share[first], &done,
                )
                if _iteration == max_iter or (_iteration > 0 and changes[d] < tol):
                    break
                changes[d] = update_gamma(own_prior, e, &sums[0], n_topics, &gamma[d, 0])
                fill_expectation(&gamma[d, 0], n_topics, &scratch[0, 0], &scratch[1, 0], e)
                count_work(&done, 8 * n_topics)
    return expectation_array, share_array, changes_array
