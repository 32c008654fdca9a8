"""Growing the table of ratios of Stirling numbers, and reading it from Python."""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy


cdef void init_stirling(Stirling* table) noexcept nogil:
    table.v = NULL
    table.size = table.capacity = table.n_columns = 0


cdef void free_stirling(Stirling* table) noexcept nogil:
    free(table.v)
    init_stirling(table)


cdef void fill_column(Stirling* table, Py_ssize_t m, Py_ssize_t first) noexcept nogil:
    """V(n, m) for n = first ... size - 1; earlier ones and column m - 1 are there."""
    cdef double* v = table.v + (m - 2) * table.capacity
    cdef double* left = v - table.capacity
    cdef Py_ssize_t n
    for n in range(first, table.size):
        if m > n:
            v[n] = 0.0
        elif m == 2:
            v[n] = v[n - 1] + 1.0 / (n - 1)
        else:
            v[n] = ((n - 1) * v[n - 1] + 1.0) / ((n - 1) + 1.0 / left[n - 1])


cdef int grow_stirling(Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    """Have V up to (n, m), and some more; -1 when there is no memory (the table is then as it was)."""
    cdef Py_ssize_t n_columns = max(table.n_columns, m - 1), capacity = table.capacity
    cdef Py_ssize_t old = table.size, column
    cdef double* v
    if n >= capacity or n_columns > table.n_columns:
        capacity = max(capacity, 64)
        while capacity <= n:
            capacity *= 2
        if n_columns > table.n_columns:
            n_columns = max(8, n_columns + n_columns // 2)
        v = <double*>malloc(n_columns * capacity * sizeof(double))
        if v == NULL:
            return -1
        for column in range(table.n_columns):
            memcpy(v + column * capacity, table.v + column * table.capacity, old * sizeof(double))
        free(table.v)
        table.v = v
        table.capacity = capacity
    table.size = capacity
    for column in range(n_columns):
        fill_column(table, column + 2, old if column < table.n_columns else 0)
    table.n_columns = n_columns
    return 0


def stirling_ratios(const Py_ssize_t[::1] n, const Py_ssize_t[::1] m):
    """S(n + 1, m) / S(n, m) and S(n + 1, m + 1) / S(n, m), arrays of float64, for 1 <= m <= n."""
    cdef Stirling table
    cdef Py_ssize_t i
    cdef int status = 0
    arrays = np.empty(n.shape[0]), np.empty(n.shape[0])
    cdef double[::1] old = arrays[0], new = arrays[1]
    init_stirling(&table)
    for i in range(n.shape[0]):
        status |= reserve_stirling(&table, n[i], m[i] + 1)
        if status == 0:
            old[i] = ratio_old(&table, n[i], m[i])
            new[i] = ratio_new(&table, n[i], m[i])
    free_stirling(&table)
    if status != 0:
        raise MemoryError("no memory for Stirling numbers")
    return arrays
