/* Loops of the mean-field inference for the HDP that gain from wide registers (see _vector.h). */

#ifndef SKTOPIC_HDP_VARIATIONAL_H
#define SKTOPIC_HDP_VARIATIONAL_H

#include "numbers/_vector.h"

/* log_row_k = psi(weight x_k + offset) - norm_k, and row_k = exp(log_row_k - the largest), at least e^-80. */
CLONED void fill_log_row(
    const double *restrict x, double weight, double offset, const double *restrict norm, ptrdiff_t n,
    double *restrict log_row, float *restrict row)
{
    double top = -HUGE_VAL;
    ptrdiff_t k;
#pragma omp simd
    for (k = 0; k < n; k++) {
        double y = weight * x[k] + offset;
        log_row[k] = (digamma_exponent(y) - norm[k]) + log_of(digamma_factor(y));
    }
#pragma omp simd reduction(max : top)
    for (k = 0; k < n; k++)
        top = log_row[k] > top ? log_row[k] : top;
#pragma omp simd
    for (k = 0; k < n; k++) {
        double below = log_row[k] - top;
        row[k] = (float)exp_of(below > -80.0 ? below : -80.0);
    }
}

/* sums += the sum over the listed words of factor * row. */
CLONED void add_log_rows(
    ptrdiff_t n_words, const int32_t *restrict word, const double *restrict factor,
    const double *restrict rows, ptrdiff_t n, double *restrict sums)
{
    ptrdiff_t i, k;
    for (i = 0; i + 4 <= n_words; i += 4) {
        const double *r0 = rows + word[i] * n, *r1 = rows + word[i + 1] * n;
        const double *r2 = rows + word[i + 2] * n, *r3 = rows + word[i + 3] * n;
        double f0 = factor[i], f1 = factor[i + 1], f2 = factor[i + 2], f3 = factor[i + 3];
#pragma omp simd
        for (k = 0; k < n; k++)
            sums[k] += (f0 * r0[k] + f1 * r1[k]) + (f2 * r2[k] + f3 * r3[k]);
    }
    for (; i < n_words; i++) {
        const double *row = rows + word[i] * n;
        double f = factor[i];
#pragma omp simd
        for (k = 0; k < n; k++)
            sums[k] += f * row[k];
    }
}

/* out[i stride] = p . row of word i */
CLONED void dot_log_rows(
    ptrdiff_t n_words, const int32_t *restrict word, const double *restrict rows, ptrdiff_t n,
    const double *restrict p, ptrdiff_t stride, double *restrict out)
{
    ptrdiff_t i, k;
    for (i = 0; i + 4 <= n_words; i += 4) {
        const double *r0 = rows + word[i] * n, *r1 = rows + word[i + 1] * n;
        const double *r2 = rows + word[i + 2] * n, *r3 = rows + word[i + 3] * n;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (k = 0; k < n; k++) {
            s0 += p[k] * r0[k];
            s1 += p[k] * r1[k];
            s2 += p[k] * r2[k];
            s3 += p[k] * r3[k];
        }
        out[i * stride] = s0;
        out[(i + 1) * stride] = s1;
        out[(i + 2) * stride] = s2;
        out[(i + 3) * stride] = s3;
    }
    for (; i < n_words; i++) {
        const double *row = rows + word[i] * n;
        double s = 0.0;
#pragma omp simd reduction(+ : s)
        for (k = 0; k < n; k++)
            s += p[k] * row[k];
        out[i * stride] = s;
    }
}

/* Each row of p proportional to exp(base + the row of logits), at least about e^-700; log_norm: the
   logarithms of the sums. */
CLONED void fill_softmax(
    ptrdiff_t n_rows, ptrdiff_t n, const double *restrict base, const double *restrict logits, double *restrict p,
    double *restrict log_norm)
{
    ptrdiff_t i, k;
    for (i = 0; i < n_rows; i++) {
        const double *x = logits + i * n;
        double *out = p + i * n;
        double top = -HUGE_VAL, total = 0.0, inverse;
#pragma omp simd reduction(max : top)
        for (k = 0; k < n; k++) {
            out[k] = x[k] + base[k];
            top = out[k] > top ? out[k] : top;
        }
#pragma omp simd reduction(+ : total)
        for (k = 0; k < n; k++) {
            double below = out[k] - top;
            out[k] = exp_of(below > -700.0 ? below : -700.0);
            total += out[k];
        }
        inverse = 1.0 / total;
#pragma omp simd
        for (k = 0; k < n; k++)
            out[k] *= inverse;
        log_norm[i] = top + log(total);
    }
}

/* y += factor x, and z += factor x. */
CLONED void add_twice(
    double factor, const double *restrict x, ptrdiff_t n, double *restrict y, double *restrict z)
{
    ptrdiff_t k;
#pragma omp simd
    for (k = 0; k < n; k++) {
        y[k] += factor * x[k];
        z[k] += factor * x[k];
    }
}

#endif
