"""Running the pieces of a kernel in the threads of a team."""

# A piece of a kernel: its arguments, the number of the piece, and that of the thread (the calling one is 0).
ctypedef int (*Task)(void* given, Py_ssize_t piece, Py_ssize_t member) except -1 nogil

# Entries that lie between what two threads write to, so that they share no line of a cache.
cdef enum:
    GAP = 32

cdef struct Shared

cdef class Team:
    cdef Shared* shared
    cdef int process

    cdef int run(self, Task task, void* given, Py_ssize_t n_pieces) except -1 nogil


cdef inline Py_ssize_t n_blocks(Py_ssize_t n, Py_ssize_t size) noexcept nogil:
    """How many pieces of some size n entries make."""
    return (n + size - 1) // size
