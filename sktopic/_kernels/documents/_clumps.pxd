"""How a real count becomes tokens ("clumps"); the one place that knows the rule."""

from libc.stdint cimport int32_t

cdef enum:
    MAX_CLUMPS = 64


cdef inline int32_t n_clumps(double count, int32_t most=MAX_CLUMPS) noexcept nogil:
    """Unit clumps and one of the remaining weight up to 64, or most; beyond that, 64 equal ones, or most."""
    cdef int32_t whole
    if count > most:
        return most
    whole = <int32_t>count  # ceil would be a call into the C library on some machines
    return whole + (whole < count)


cdef inline double clump_weight(double count, int32_t n, int32_t i, int32_t most=MAX_CLUMPS) noexcept nogil:
    """The weight of clump i of the n clumps of a cell; the weights sum to the count."""
    if count > most:
        return count / most
    return 1.0 if i < n - 1 else count - (n - 1)
