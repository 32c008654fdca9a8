"""Draws over the topics that a document has (see _entry_draws.h), for either precision."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real


cdef extern from "inference/_entry_draws.h" nogil:
    enum: LANES
    int32_t draw_entry_float(
        Py_ssize_t n, const float* row, const float* mass, float* product, float* running, float uniform,
        float* out, double size, float* total, float* left)
    int32_t draw_entry_double(
        Py_ssize_t n, const double* row, const double* mass, double* product, double* running, double uniform,
        double* out, double size, double* total, double* left)
    void set_entry_float(float* x, int32_t k, float value)
    void set_entry_double(double* x, int32_t k, double value)


cdef inline int32_t draw_entry(
    Py_ssize_t n,
    const real* row,
    const real* mass,
    real* product,
    real* running,
    real uniform,
    real* out,
    double size,
    real* total,
    real* left,
) noexcept nogil:
    if real is float:
        return draw_entry_float(n, row, mass, product, running, uniform, out, size, total, left)
    else:
        return draw_entry_double(n, row, mass, product, running, uniform, out, size, total, left)


cdef inline void set_entry(real* x, int32_t k, real value) noexcept nogil:
    """x[k] = value, in a store as wide as the loads of draw_entry."""
    if real is float:
        set_entry_float(x, k, value)
    else:
        set_entry_double(x, k, value)
