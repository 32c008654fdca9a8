/* Loops over the topic rows of words, in both precisions. Products are not contracted with sums, so that all
   machines have the same bits. Where a row of a large store is read, that of the next word (next), which is elsewhere,
   is prefetched meanwhile. */

#ifndef SKTOPIC_TOPIC_ROWS_H
#define SKTOPIC_TOPIC_ROWS_H

#include "numbers/_vector.h"

BEGIN_NO_CONTRACTION

/* The sum of a[k] * b[k] over 16, in four lanes. */
#if HAS_VECTORS
#define DEFINE_DOT_BLOCK(NAME, REAL)                                                                      \
    typedef REAL NAME##_four __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias)); \
    NO_CONTRACTION INLINED REAL NAME(const REAL *a, const REAL *b)                                        \
    {                                                                                                     \
        const NAME##_four *x = (const NAME##_four *)a, *y = (const NAME##_four *)b;                       \
        NAME##_four lane = (x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3]);                     \
        return (lane[0] + lane[1]) + (lane[2] + lane[3]);                                                 \
    }
#else
#define DEFINE_DOT_BLOCK(NAME, REAL)                                                                      \
    static REAL NAME(const REAL *a, const REAL *b)                                                        \
    {                                                                                                     \
        REAL lane[4];                                                                                     \
        int l;                                                                                            \
        for (l = 0; l < 4; l++)                                                                           \
            lane[l] = (a[l] * b[l] + a[l + 4] * b[l + 4]) + (a[l + 8] * b[l + 8] + a[l + 12] * b[l + 12]); \
        return (lane[0] + lane[1]) + (lane[2] + lane[3]);                                                 \
    }
#endif
DEFINE_DOT_BLOCK(dot_block_float, float)
DEFINE_DOT_BLOCK(dot_block_double, double)

/* row = source * scale + offset; sums = the cumulative sums of prior * row over blocks of 16, of which the last is
   returned. */
#define DEFINE_FILL_ROW(NAME, DOT, REAL)                                                            \
    NO_CONTRACTION CLONED double NAME(                                                              \
        const double *restrict source, const double *next, const double *restrict scale,            \
        const double *restrict offset, const REAL *restrict prior, ptrdiff_t n, REAL *restrict row, \
        REAL *restrict sums)                                                                        \
    {                                                                                               \
        double total = 0.0;                                                                         \
        ptrdiff_t first, k;                                                                         \
        for (first = 0; first + 16 <= n; first += 16) {                                             \
            FETCH(next + first);                                                                    \
            FETCH(next + first + 8);                                                                \
            for (k = first; k < first + 16; k++)                                                    \
                row[k] = (REAL)(source[k] * scale[k] + offset[k]);                                  \
            total += DOT(prior + first, row + first);                                               \
            sums[first / 16] = (REAL)total;                                                         \
        }                                                                                           \
        if (first < n) {                                                                            \
            REAL rest = 0;                                                                          \
            for (k = first; k < n; k++) {                                                           \
                row[k] = (REAL)(source[k] * scale[k] + offset[k]);                                  \
                rest += prior[k] * row[k];                                                          \
            }                                                                                       \
            total += rest;                                                                          \
            sums[first / 16] = (REAL)total;                                                         \
        }                                                                                           \
        return total;                                                                               \
    }
DEFINE_FILL_ROW(fill_row_float, dot_block_float, float)
DEFINE_FILL_ROW(fill_row_double, dot_block_double, double)

/* target += x and totals += x, x being share * prior * row. */
#define DEFINE_ADD_SHARE(NAME, REAL)                                                       \
    NO_CONTRACTION CLONED void NAME(                                                       \
        double share, const double *restrict prior, const REAL *restrict row, ptrdiff_t n, \
        double *restrict target, double *restrict totals, const double *next)              \
    {                                                                                      \
        ptrdiff_t first, stop, k;                                                          \
        for (first = 0; first < n; first += 16) {                                          \
            stop = first + 16 < n ? first + 16 : n;                                        \
            FETCH(next + first);                                                           \
            FETCH(next + first + 8);                                                       \
            for (k = first; k < stop; k++) {                                               \
                double x = share * prior[k] * row[k];                                      \
                target[k] += x;                                                            \
                totals[k] += x;                                                            \
            }                                                                              \
        }                                                                                  \
    }
DEFINE_ADD_SHARE(add_share_float, float)
DEFINE_ADD_SHARE(add_share_double, double)

/* sums += weight * x */
#define DEFINE_ADD_CELL(NAME, REAL)                                                              \
    CLONED void NAME(double weight, const REAL *restrict x, ptrdiff_t n, double *restrict sums)  \
    {                                                                                            \
        ptrdiff_t k;                                                                             \
        for (k = 0; k < n; k++)                                                                  \
            sums[k] += weight * x[k];                                                            \
    }
DEFINE_ADD_CELL(add_cell_float, float)
DEFINE_ADD_CELL(add_cell_double, double)

/* target += factor * sums, totals += factor * sums, sums = 0; and averaged += average_weight * factor * sums, or
   averaged is NULL. */
NO_CONTRACTION CLONED void add_word(
    double factor, double *restrict sums, ptrdiff_t n, double *restrict target, double *restrict totals,
    double *restrict averaged, const double *restrict average_weight)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        double x = factor * sums[k];
        target[k] += x;
        totals[k] += x;
        sums[k] = averaged ? x : 0.0;
    }
    if (averaged)
        for (k = 0; k < n; k++) {
            averaged[k] += sums[k] * average_weight[k];
            sums[k] = 0.0;
        }
}

/* target += factor * row; and averaged += average_weight * factor * row, or averaged is NULL. */
NO_CONTRACTION CLONED void add_row(
    double factor, const double *restrict row, ptrdiff_t n, double *restrict target, double *restrict averaged,
    const double *restrict average_weight)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        double x = factor * row[k];
        target[k] += x;
        if (averaged)
            averaged[k] += x * average_weight[k];
    }
}

/* row = (row - left * before) * scale, totals += row; returns how many entries are not zero then. */
NO_CONTRACTION CLONED ptrdiff_t take_change(
    const double *restrict before, double left, double scale, ptrdiff_t n, double *restrict row,
    double *restrict totals)
{
    ptrdiff_t n_changes = 0, k;
    for (k = 0; k < n; k++) {
        double x = (row[k] - left * before[k]) * scale;
        row[k] = x;
        totals[k] += x;
        n_changes += x != 0.0;
    }
    return n_changes;
}

/* x *= factor. */
#define DEFINE_MULTIPLY_ROW(NAME, REAL)                                         \
    CLONED void NAME(REAL *x, ptrdiff_t n, REAL factor)                         \
    {                                                                           \
        ptrdiff_t k;                                                            \
        for (k = 0; k < n; k++)                                                 \
            x[k] *= factor;                                                     \
    }
DEFINE_MULTIPLY_ROW(multiply_row_float, float)
DEFINE_MULTIPLY_ROW(multiply_row_double, double)

END_NO_CONTRACTION

#endif
