"""Loops over topics in C, for the compilers that can build them for more than one processor."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.threads._interrupt cimport count_work

# Entries of topic rows that one loop goes over without looking for Ctrl-C: a millisecond or two.
cdef enum:
    BLOCK_WORK = 1 << 22


cdef extern from "numbers/_vector.h" nogil:
    void fill_exp_digamma(const double* x, Py_ssize_t n, double* exponent, double* out)
    double fill_geometric_row(
        const double* x, const double* norm, Py_ssize_t n, double* exponent, double* out)
    double sum_digamma_row(const double* x, const double* scale, double offset, Py_ssize_t n)
    double fill_ratios(
        const double* count, const double* inverse, const double* prior, double topic_word_prior,
        Py_ssize_t n, double* q, double* block)
    double fill_own_ratios(
        const double* count, const double* inverse, const double* prior, const double* topic_word_prior,
        Py_ssize_t n, double* q, double* block)
    double fill_digamma_row(const double* x, double offset, Py_ssize_t n, double* digamma)
    void normals_from_uniforms(double* first, double* second, Py_ssize_t m)
    void langevin_row(
        double* theta, const double* n, double factor, double pull_up, const double* pull_down, double step,
        const double* noise, Py_ssize_t n_topics)
    void weigh_cells_float(
        Py_ssize_t n_cells, const int32_t* word, const double* count, const float* rows, Py_ssize_t n,
        const float* e, float* sums, double* share)
    void weigh_cells_double(
        Py_ssize_t n_cells, const int32_t* word, const double* count, const double* rows, Py_ssize_t n,
        const double* e, double* sums, double* share)
    float dot_float(const float* a, const float* b, Py_ssize_t n)
    double dot_double(const double* a, const double* b, Py_ssize_t n)
    void add_row_float(
        const float* row, const double* count, Py_ssize_t n, double* x, float* ratio)
    void add_row_double(
        const double* row, const double* count, Py_ssize_t n, double* x, double* ratio)
    void visit_word_float(
        const float* row, const double* prior, double moved, double length, Py_ssize_t n, double* e)
    void visit_word_double(
        const double* row, const double* prior, double moved, double length, Py_ssize_t n, double* e)
    void fill_bounds(
        const double* pull, const double* push, double a, double b, double slack, Py_ssize_t n,
        double* bound, double* block)


cdef inline int weigh_cells(
    Py_ssize_t n_cells,
    const int32_t* word,
    const double* count,
    const real* rows,
    Py_ssize_t n,
    const real* e,
    real* sums,
    double* share,
    Py_ssize_t* done,
) except -1 nogil:
    """For the cells of one document: share = count / (e . row), and sums = sum over cells of share * row.

    done: see count_work; blocks of cells are multiples of four, as the loop takes them.
    """
    cdef Py_ssize_t size = 4 * (BLOCK_WORK // (4 * n) + 1), first = 0, some, k
    for k in range(n):
        sums[k] = 0
    while first < n_cells:
        some = min(size, n_cells - first)
        if real is float:
            weigh_cells_float(some, word + first, count + first, rows, n, e, sums, share + first)
        else:
            weigh_cells_double(some, word + first, count + first, rows, n, e, sums, share + first)
        count_work(done, some * n)
        first += some
    return 0


cdef inline double dot(const real* a, const real* b, Py_ssize_t n) noexcept nogil:
    if real is float:
        return dot_float(a, b, n)
    else:
        return dot_double(a, b, n)


cdef inline void add_row(
    const real* row, const double* count, Py_ssize_t n, double* x, real* ratio
) noexcept nogil:
    if real is float:
        add_row_float(row, count, n, x, ratio)
    else:
        add_row_double(row, count, n, x, ratio)


cdef inline void visit_word(
    const real* row, const double* prior, double moved, double length, Py_ssize_t n, double* e
) noexcept nogil:
    if real is float:
        visit_word_float(row, prior, moved, length, n, e)
    else:
        visit_word_double(row, prior, moved, length, n, e)
