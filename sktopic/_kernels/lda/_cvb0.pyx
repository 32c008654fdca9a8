"""The document step of stochastic collapsed variational Bayes of order zero (Foulds et al., 2013).

The state of a document of n tokens is N, how many of them each topic is expected to have. A visit of a word
with count m takes gamma_k proportional to phi_kw (N_k + alpha_k) and moves N as m steps of size rho towards
n gamma would:

    N <- (1 - rho)^m N + (1 - (1 - rho)^m) n gamma.

Visit t = 1, 2, ... of a document has rho = (offset + t)^-decay. Kept is N + alpha, whose sum never changes.
"""

import numpy as np

from libc.math cimport expm1, log1p, pow
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._vector cimport visit_word, weigh_cells
from sktopic._kernels.threads._interrupt cimport count_work


def collapse_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    const double[::1] prior,
    Py_ssize_t n_passes,
    double offset,
    double decay,
):
    """Visit all words of each document n_passes times, starting from N_k = n / n_topics.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows, prior : as in _sparse_gibbs.sweep_documents (any row factor)     IN

    Returns
    -------
    weights (n_documents, n_topics) float64 : N + alpha;
    share (n_cells,) float64 : the expected count of a cell under topic k is
        share[cell] * weights[document, k] * rows[word, k]: gamma of every word from the final N.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, k, t, i, n, longest = 0
    cdef Py_ssize_t done = 0
    cdef int64_t base = indptr[0], first
    cdef double length, rho
    cdef const double* count
    for d in range(n_documents):
        longest = max(longest, indptr[d + 1] - indptr[d])
    dtype = np.float32 if real is float else np.float64
    weights_array = np.empty((n_documents, n_topics), dtype=np.float64)
    share_array = np.empty(cell_word.shape[0], dtype=np.float64)
    cdef double[:, ::1] weights = weights_array
    cdef double[::1] share = share_array
    # log(1 - rho) of each visit.
    cdef double[::1] log_kept = np.empty(n_passes * longest, dtype=np.float64)
    cdef real[:, ::1] scratch = np.empty((2, n_topics), dtype=dtype)
    with nogil:
        for t in range(log_kept.shape[0]):
            rho = pow(offset + (t + 1), -decay)
            log_kept[t] = log1p(-rho)
        for d in range(n_documents):
            first = indptr[d] - base
            n = indptr[d + 1] - indptr[d]
            count = &cell_count[first] if n > 0 else NULL
            length = 0.0
            for i in range(n):
                length += count[i]
            for k in range(n_topics):
                weights[d, k] = length / n_topics + prior[k]
            if n == 0:
                count_work(&done, n_topics)
                continue
            for t in range(n_passes * n):
                i = t % n
                visit_word(
                    &rows[cell_word[first + i], 0], &prior[0], -expm1(count[i] * log_kept[t]), length,
                    n_topics, &weights[d, 0],
                )
                count_work(&done, 2 * n_topics)
            for k in range(n_topics):
                scratch[0, k] = <real>weights[d, k]
            weigh_cells(
                n, &cell_word[first], count, &rows[0, 0], n_topics, &scratch[0, 0], &scratch[1, 0],
                &share[first], &done,
            )
    return weights_array, share_array
