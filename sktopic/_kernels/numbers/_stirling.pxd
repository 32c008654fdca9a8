"""Ratios of unsigned Stirling numbers of the first kind, in a table that grows as they are asked for.

S(n, m) counts the ways to seat n customers at m tables (with the weights of a Chinese restaurant). V(n, m) =
S(n, m) / S(n, m - 1) obeys a recursion without logarithms:

    V(n, 2) = 1 + 1/2 + ... + 1/(n - 1),
    V(n + 1, m) = (n V(n, m) + 1) / (n + 1 / V(n, m - 1)),    V(n, m) = 0 for m > n.
"""

cdef struct Stirling:
    # Columns m = 2 ... n_columns + 1 of V, each for n = 0 ... capacity - 1, of which size are filled.
    double* v
    Py_ssize_t size
    Py_ssize_t capacity
    Py_ssize_t n_columns


cdef void init_stirling(Stirling* table) noexcept nogil
cdef void free_stirling(Stirling* table) noexcept nogil
cdef int grow_stirling(Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil


cdef inline int reserve_stirling(Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    """Have V up to (n, m); -1 when there is no memory."""
    if n < table.size and m <= table.n_columns + 1:
        return 0
    return grow_stirling(table, n, m)


cdef inline double v_of(const Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    return table.v[(m - 2) * table.capacity + n]


cdef inline double ratio_old(const Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    """S(n + 1, m) / S(n, m), for 1 <= m <= n: a customer joins a table. V up to (n, m) is needed."""
    if m == 1:
        return n
    return n + 1.0 / v_of(table, n, m)


cdef inline double ratio_new(const Stirling* table, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    """S(n + 1, m + 1) / S(n, m), for 1 <= m <= n: a table is opened. V up to (n, m + 1) is needed."""
    if m == n:
        return 1.0
    return 1.0 + n * v_of(table, n, m + 1)


cdef inline int seat_ratios(
    Stirling* table, Py_ssize_t n, Py_ssize_t m, double factor, double* opens, double* joins
) noexcept nogil:
    """How the weight of n customers at m tables changes with a customer more: -1 when there is no memory.

    opens : factor times S(n + 1, m + 1) / S(n, m) (m + 1) / (n + 1), at a table more
    joins : S(n + 1, m) / S(n, m) (n - m + 1) / (n + 1), at one of the m, whoever opened it
    """
    if reserve_stirling(table, n, m + 1) != 0:
        return -1
    opens[0] = factor * ratio_new(table, n, m) * (m + 1) / (n + 1)
    joins[0] = ratio_old(table, n, m) * (n - m + 1) / (n + 1)
    return 0
