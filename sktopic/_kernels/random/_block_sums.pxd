"""Draws from weights whose sums over blocks of topics are kept."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real

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


cdef inline int32_t draw_fixed(
    const real* row, const real* cumulative, const double* prior, int32_t n_topics, real u
) noexcept nogil:
    """Draw from alpha_k phi_kw, u in [0, 1): the block by its cumulative sums, then a scan inside it."""
    cdef int32_t b = 0, k, stop, half, n = (n_topics - 1) // BLOCK
    while n > 0:  # of the blocks from b on, the first n may end at or below u
        half = n // 2
        if cumulative[b + half] <= u:
            b += half + 1
            n -= half + 1
        else:
            n = half
    if b > 0:
        u -= cumulative[b - 1]
    k = b * BLOCK
    stop = min(k + BLOCK, n_topics) - 1
    u -= <real>(prior[k] * row[k])
    while u >= 0 and k < stop:
        k += 1
        u -= <real>(prior[k] * row[k])
    return k
