"""Blocks of results whose size is known only when they are full: documents by topics that turned up."""

from libc.stdint cimport int32_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove, memset

from sktopic._kernels._slots cimport real


cdef struct Columns:
    # The topics that kept sweeps met in one document: columns of its block. Unlike slots they stay.
    int32_t n
    int32_t* topic       # topic of a column
    int32_t* position    # column of a topic, or -1
    int32_t* of_slot     # column of a slot


cdef inline void name_column(Columns* columns, int32_t topic, int32_t slot) noexcept nogil:
    """Set the column of a slot, opening one if its topic has none."""
    if columns.position[topic] < 0:
        columns.position[topic] = columns.n
        columns.topic[columns.n] = topic
        columns.n += 1
    columns.of_slot[slot] = columns.position[topic]


cdef inline void clear_columns(Columns* columns) noexcept nogil:
    cdef int32_t j
    for j in range(columns.n):
        columns.position[columns.topic[j]] = -1
    columns.n = 0


cdef struct Buffer:
    # A growing array of bytes, owned by one call of the kernel.
    char* data
    size_t used
    size_t room


cdef inline int reserve(Buffer* buffer, size_t more) noexcept nogil:
    """Make room for more bytes; -1 when there is no memory."""
    cdef size_t room
    cdef char* data
    if buffer.used + more > buffer.room:
        room = max(2 * buffer.room, buffer.used + more)
        data = <char*>realloc(buffer.data, room)
        if data == NULL:
            return -1
        buffer.data = data
        buffer.room = room
    return 0


cdef inline int append(Buffer* buffer, const void* data, size_t size) noexcept nogil:
    if reserve(buffer, size) != 0:
        return -1
    if size > 0:  # the place of no bytes may be NULL, which memcpy must not see
        memcpy(buffer.data + buffer.used, data, size)
        buffer.used += size
    return 0


cdef object to_array(Buffer* buffer, object dtype)


cdef inline void restride(
    real* block, Py_ssize_t n_rows, Py_ssize_t n, Py_ssize_t old, Py_ssize_t new
) noexcept nogil:
    """Move the first n entries of each row from one row length to another, in place; zero the rest."""
    cdef Py_ssize_t i
    if new > old:
        for i in range(n_rows - 1, -1, -1):
            memmove(block + i * new, block + i * old, n * sizeof(real))
            memset(<void*>(block + i * new + n), 0, (new - n) * sizeof(real))
    elif new < old:
        for i in range(1, n_rows):
            memmove(block + i * new, block + i * old, n * sizeof(real))
