"""Draws from Dirichlet distributions: Gamma draws, divided by their sum.

Gamma draws are those of Marsaglia and Tsang (2000), and stay logarithms until the largest is known: a draw of
shape 0.001 is often below the smallest double.
"""

from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport uint64_t

from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef inline double next_normal(Stream* stream) noexcept nogil:
    """A standard normal number, by Marsaglia's polar method (one of the two that a pair gives)."""
    cdef double x, y, square
    while True:
        x = 2.0 * next_uniform(stream) - 1.0
        y = 2.0 * next_uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * sqrt(-2.0 * log(square) / square)


cdef inline double next_log_gamma(Stream* stream, double shape) noexcept nogil:
    """The logarithm of a Gamma draw of scale one. One of shape a < 1 is that of a + 1 times U^(1 / a)."""
    cdef double boost = 0.0, d, c, x, v
    if shape == 0.0:
        return -INFINITY
    if shape < 1.0:
        boost = log(1.0 - next_uniform(stream)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = next_normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if log(1.0 - next_uniform(stream)) < 0.5 * x * x + d - d * v + d * log(v):
            return log(d) + log(v) + boost


def draw_dirichlets(const double[:, ::1] parameters, const uint64_t[::1] keys, double[:, ::1] theta):
    """Draw once from the Dirichlet distribution of each row.

    Parameters
    ----------
    parameters : (n, n_topics) >= 0 and finite, not all of a row zero                             IN
    keys : (n,) stream of each row                                                                IN
    theta : (n, n_topics) rows sum to one                                                         OUT
    """
    cdef Py_ssize_t n = parameters.shape[0], n_topics = parameters.shape[1], i, k, done = 0
    cdef double largest, total
    cdef Stream stream
    with nogil:
        for i in range(n):
            seed_stream(&stream, keys[i])
            for k in range(n_topics):
                theta[i, k] = next_log_gamma(&stream, parameters[i, k])
            largest = theta[i, 0]
            for k in range(1, n_topics):
                largest = max(largest, theta[i, k])
            total = 0.0
            for k in range(n_topics):
                theta[i, k] = exp(theta[i, k] - largest)
                total += theta[i, k]
            for k in range(n_topics):
                theta[i, k] /= total
            count_work(&done, 64 * n_topics)
