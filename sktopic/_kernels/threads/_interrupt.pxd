"""Letting Ctrl-C into kernels that run long."""

# Operations between two looks: some ten milliseconds.
cdef enum:
    OFTEN = 1 << 25

cdef int* stop_with(int* flag) noexcept nogil

cdef int look() except -1 nogil


cdef inline int count_work(Py_ssize_t* done, Py_ssize_t more) except -1 nogil:
    """Count operations of a nanosecond or so; look whenever there have been many."""
    done[0] += more
    if done[0] < OFTEN:
        return 0
    done[0] = 0
    return look()
