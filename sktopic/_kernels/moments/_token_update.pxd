"""One token's update of the moment-matching models, in C."""

cdef extern from "moments/_token_update.h" nogil:
    enum:
        FIRST
        SUM
        SECOND
    double update_topics(
        double* row, double* first, int at_first, double weight, int match, Py_ssize_t n,
        const double* p, double* scale, double* sums, double* spread)
    double observe_fixed(
        double* alpha, const double* b, double weight, int match, Py_ssize_t n, double* p)
    double observe_degenerate(
        double* alpha, double* gamma, double* lag, const double* b, double weight, int match, int learns,
        Py_ssize_t n, double* p, double* scratch)
    double observe_triangular(
        double* alpha, double* gamma, double* lag, const double* b, double weight, int match, int learns,
        Py_ssize_t n, double* p, double* scratch)
    void prefetch_row(const double* row, Py_ssize_t n)
