"""Draws from weights whose sums over blocks of topics are kept."""

from libc.stdint cimport int32_t

# Topics in a block; fill_ratios of _vector.h knows it too.
cdef enum:
    BLOCK = 16


cdef inline int32_t find_block(
    const double* block, int32_t last, int32_t changed, double change, double* u
) noexcept nogil:
    """The block at which the cumulative sum passes u, at the latest the last; u becomes what is left of it.

    changed, change : a block whose sum does not know of a change yet, or -1
    """
    cdef int32_t b = 0
    cdef double total
    while b < last:
        total = block[b]
        if b == changed:
            total += change
        if u[0] < total:
            break
        u[0] -= total
        b += 1
    return b
