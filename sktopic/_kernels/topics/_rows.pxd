"""Loops over the topic rows of words (see topics/_rows.h), for either precision."""

from sktopic._kernels.numbers._precision cimport real


cdef extern from "topics/_rows.h" nogil:
    double fill_row_float(
        const double* source, const double* following, const double* scale, const double* offset,
        const float* prior, Py_ssize_t n, float* row, float* sums)
    double fill_row_double(
        const double* source, const double* following, const double* scale, const double* offset,
        const double* prior, Py_ssize_t n, double* row, double* sums)
    void add_share_float(
        double share, const double* prior, const float* row, Py_ssize_t n, double* target, double* totals,
        const double* following)
    void add_share_double(
        double share, const double* prior, const double* row, Py_ssize_t n, double* target, double* totals,
        const double* following)
    void add_cell_float(double weight, const float* x, Py_ssize_t n, double* sums)
    void add_cell_double(double weight, const double* x, Py_ssize_t n, double* sums)
    void add_word(
        double factor, double* sums, Py_ssize_t n, double* target, double* totals, double* averaged,
        const double* average_weight)
    void add_row(
        double factor, const double* row, Py_ssize_t n, double* target, double* averaged,
        const double* average_weight)
    Py_ssize_t take_change(
        const double* before, double left, double scale, Py_ssize_t n, double* row, double* totals)
    void multiply_row_float(float* x, Py_ssize_t n, float factor)
    void multiply_row_double(double* x, Py_ssize_t n, double factor)


cdef inline double fill_row(
    const double* source,
    const double* following,
    const double* scale,
    const double* offset,
    const real* prior,
    Py_ssize_t n,
    real* row,
    real* sums,
) noexcept nogil:
    if real is float:
        return fill_row_float(source, following, scale, offset, prior, n, row, sums)
    else:
        return fill_row_double(source, following, scale, offset, prior, n, row, sums)


cdef inline void add_share(
    double share,
    const double* prior,
    const real* row,
    Py_ssize_t n,
    double* target,
    double* totals,
    const double* following,
) noexcept nogil:
    if real is float:
        add_share_float(share, prior, row, n, target, totals, following)
    else:
        add_share_double(share, prior, row, n, target, totals, following)


cdef inline void add_cell(double weight, const real* x, Py_ssize_t n, double* sums) noexcept nogil:
    if real is float:
        add_cell_float(weight, x, n, sums)
    else:
        add_cell_double(weight, x, n, sums)


cdef inline void multiply_row(real* x, Py_ssize_t n, real factor) noexcept nogil:
    if real is float:
        multiply_row_float(x, n, factor)
    else:
        multiply_row_double(x, n, factor)
