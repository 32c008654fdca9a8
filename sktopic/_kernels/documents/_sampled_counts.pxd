"""Counts of the cells of documents in the topics that turned up, of which the number is known at the end."""

from libc.stdint cimport int32_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove, memset


cdef struct Columns:
    # The topics that counted sweeps met in one document: columns of its counts, which stay.
    int32_t n
    int32_t* topic       # topic of a column
    int32_t* position    # column of a topic, or -1
    int32_t* of_entry     # column of an entry


cdef inline void name_column(Columns* columns, int32_t topic, int32_t entry) noexcept nogil:
    """Set the column of an entry, opening one if its topic has none."""
    if columns.position[topic] < 0:
        columns.position[topic] = columns.n
        columns.topic[columns.n] = topic
        columns.n += 1
    columns.of_entry[entry] = columns.position[topic]


cdef inline void clear_columns(Columns* columns) noexcept nogil:
    cdef int32_t j
    for j in range(columns.n):
        columns.position[columns.topic[j]] = -1
    columns.n = 0


cdef struct Buffer:
    # A growing array of bytes, owned by one call of the kernel.
    char* data
    size_t used
    size_t capacity


cdef inline int reserve(Buffer* buffer, size_t more) noexcept nogil:
    """Let the buffer hold more bytes; -1 when there is no memory."""
    cdef size_t capacity
    cdef char* data
    if buffer.used + more > buffer.capacity:
        capacity = max(2 * buffer.capacity, buffer.used + more)
        data = <char*>realloc(buffer.data, capacity)
        if data == NULL:
            return -1
        buffer.data = data
        buffer.capacity = capacity
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
    char* rows, Py_ssize_t n_rows, size_t n, size_t old, size_t new
) noexcept nogil:
    """Move the first n bytes of each row from one row length to another, in place; zero the rest."""
    cdef Py_ssize_t i
    if new > old:
        for i in range(n_rows - 1, -1, -1):
            memmove(rows + i * new, rows + i * old, n)
            memset(rows + i * new + n, 0, new - n)
    elif new < old:
        for i in range(1, n_rows):
            memmove(rows + i * new, rows + i * old, n)


# The counts of one document: behind what the buffer has, a row a cell, a number of some size for each column.

cdef inline Py_ssize_t begin_counts(
    Buffer* buffer, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t n_topics, size_t size
) noexcept nogil:
    """Reserve rows of zeros for more columns than there are; returns how many, or -1 without memory."""
    cdef Py_ssize_t stride = min(n_topics, (2 * n_columns + 16) // 8 * 8)
    if reserve(buffer, n_rows * stride * size) != 0:
        return -1
    memset(buffer.data + buffer.used, 0, n_rows * stride * size)
    return stride


cdef inline Py_ssize_t widen_counts(
    Buffer* buffer, Py_ssize_t n_rows, Py_ssize_t stride, Py_ssize_t n_topics, size_t size
) noexcept nogil:
    """Let rows have twice the columns, at most n_topics; returns how many, or -1 without memory."""
    cdef Py_ssize_t wider = min(n_topics, 2 * stride)
    if reserve(buffer, n_rows * wider * size) != 0:
        return -1
    restride(buffer.data + buffer.used, n_rows, stride * size, stride * size, wider * size)
    return wider


cdef inline void end_counts(
    Buffer* buffer, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t stride, size_t size
) noexcept nogil:
    """Let rows have the columns that there are, and the buffer go on behind them."""
    restride(
        buffer.data + buffer.used, n_rows, n_columns * size, stride * size, n_columns * size
    )
    buffer.used += n_rows * n_columns * size
