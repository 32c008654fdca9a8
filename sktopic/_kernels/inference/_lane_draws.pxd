"""Draws of the topics of a document's tokens (see _lane_draws.h), for either precision."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real


cdef extern from "inference/_lane_draws.h" nogil:
    enum: LANES
    void draw_tokens_float(
        Py_ssize_t n_padded, const double* prior, double* weight, int32_t* members, float* mass,
        Py_ssize_t n_tokens, const int32_t* cell, const double* size, const float* rows,
        const float* uniform, int32_t* z, float* counts, double* total)
    void draw_tokens_double(
        Py_ssize_t n_padded, const double* prior, double* weight, int32_t* members, double* mass,
        Py_ssize_t n_tokens, const int32_t* cell, const double* size, const double* rows,
        const double* uniform, int32_t* z, double* counts, double* total)
    int32_t draw_entry_float(
        Py_ssize_t n, const float* row, const float* mass, float* product, float* running, float uniform,
        float* out, double size, float* total, float* left)
    int32_t draw_entry_double(
        Py_ssize_t n, const double* row, const double* mass, double* product, double* running, double uniform,
        double* out, double size, double* total, double* left)
    void set_entry_float(float* x, int32_t k, float value)
    void set_entry_double(double* x, int32_t k, double value)


cdef inline void draw_tokens(
    Py_ssize_t n_padded,
    const double* prior,
    double* weight,
    int32_t* members,
    real* mass,
    Py_ssize_t n_tokens,
    const int32_t* cell,
    const double* size,
    const real* rows,
    const real* uniform,
    int32_t* z,
    real* counts,
    double* total,
) noexcept nogil:
    if real is float:
        draw_tokens_float(
            n_padded, prior, weight, members, mass, n_tokens, cell, size, rows, uniform, z, counts, total
        )
    else:
        draw_tokens_double(
            n_padded, prior, weight, members, mass, n_tokens, cell, size, rows, uniform, z, counts, total
        )


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
