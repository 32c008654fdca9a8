"""Maximum likelihood for a Dirichlet from the mean logarithms of its draws (Minka, 2000)."""

from libc.math cimport fabs

from sktopic._kernels.numbers._special cimport digamma, inverse_digamma, trigamma
from sktopic._kernels.numbers._vector cimport sum_digamma_row
from sktopic._kernels.threads._interrupt cimport count_work

# Bounds that keep a prior usable whatever the statistics say.
cdef double SMALLEST = 1e-6
cdef double LARGEST = 1e4


cdef inline double clipped(double alpha) noexcept nogil:
    return min(max(alpha, SMALLEST), LARGEST)


def fit_dirichlet(const double[::1] mean_log, double[::1] alpha, int max_iter, double tol):
    """Iterate alpha_k <- psi^-1(psi(sum alpha) + mean_log_k), Minka's fixed point, in place.

    alpha (n_topics,), > 0, is the start and receives the result (IN/OUT), each entry kept inside
    [1e-6, 1e4]; stops when no entry changes by more than tol times itself. Returns the number of
    iterations.
    """
    cdef Py_ssize_t n = alpha.shape[0], k
    cdef int iteration
    cdef double total, updated, change
    for iteration in range(max_iter):
        total = 0.0
        for k in range(n):
            total += alpha[k]
        total = digamma(total)
        change = 0.0
        for k in range(n):
            updated = clipped(inverse_digamma(total + mean_log[k]))
            change = max(change, fabs(updated - alpha[k]) / updated)
            alpha[k] = updated
        if change < tol:
            return iteration + 1
    return max_iter


def fit_symmetric_dirichlet(double mean_log, Py_ssize_t n, double alpha, int max_iter, double tol):
    """The same fixed point with all n entries equal: a <- psi^-1(psi(n a) + mean_log); returns a."""
    cdef double updated
    cdef int _iteration
    for _iteration in range(max_iter):
        updated = clipped(inverse_digamma(digamma(n * alpha) + mean_log))
        if fabs(updated - alpha) < tol * updated:
            return updated
        alpha = updated
    return alpha


def sum_digamma(
    Py_ssize_t first, Py_ssize_t last, const double[:, ::1] store, const double[::1] scale, double offset
):
    """Return the sum of psi(store[w, k] * scale[k] + offset) over rows first to last and all columns."""
    cdef Py_ssize_t w, done = 0
    cdef double total = 0.0
    with nogil:
        for w in range(first, last):
            total += sum_digamma_row(&store[w, 0], &scale[0], offset, store.shape[1])
            count_work(&done, 8 * store.shape[1])
    return total


def special_functions(double x):
    """Return digamma(x), trigamma(x) and inverse_digamma(x) of the kernels, for the tests."""
    return digamma(x), trigamma(x), inverse_digamma(x)
