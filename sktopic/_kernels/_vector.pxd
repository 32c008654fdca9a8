"""Loops over topics in C, for the compilers that can build them for more than one processor."""

from libc.stdint cimport int32_t


cdef extern from "_vector.h" nogil:
    void fill_exp_digamma(const double* x, Py_ssize_t n, double* exponent, double* out)
    double fill_geometric_row(
        const double* x, const double* norm, Py_ssize_t n, double* exponent, double* out)
    double sum_digamma_row(const double* x, const double* scale, double offset, Py_ssize_t n)
    double fill_ratios(
        const double* count, const double* inverse, const double* prior, double smoothing, Py_ssize_t n,
        double* q, double* block)
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
