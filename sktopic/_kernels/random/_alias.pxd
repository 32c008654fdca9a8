"""Alias tables: draws from a distribution over n entries in constant time (Walker, 1977; Vose, 1991)."""

from libc.stdint cimport int32_t

from sktopic._kernels.random._rng cimport Stream, next_uniform


cdef double build_alias(
    const double* weight, Py_ssize_t n, double* threshold, int32_t* alias, int32_t* work
) noexcept nogil


cdef inline int32_t draw_alias(
    const double* threshold, const int32_t* alias, Py_ssize_t n, Stream* stream
) noexcept nogil:
    """An entry, with probability proportional to its weight: one uniform chooses the cell and the side."""
    cdef double u = next_uniform(stream) * n
    cdef Py_ssize_t i = <Py_ssize_t>u
    if i >= n:  # the product may round up
        i = n - 1
    return <int32_t>i if u - i < threshold[i] else alias[i]
