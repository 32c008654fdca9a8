"""Draws of the topics of a document's tokens over all topics (see _lane_draws.h), for either precision."""

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
