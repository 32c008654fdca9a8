/* Loops over topics that gain from wide registers. Sums may be taken in any fixed order ("omp simd" asks for no
   run-time library). */

#ifndef SKTOPIC_VECTOR_H
#define SKTOPIC_VECTOR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "numbers/_compiler.h"

/* exp(x) for x in [-700, 0], relative error below 1e-15: 2^n times a polynomial, without a branch. */
static inline double exp_of(double x)
{
    double shifted = x * 1.4426950408889634 + 6755399441055744.0; /* x / ln 2, rounded in the low bits */
    double n = shifted - 6755399441055744.0;
    double r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
    double p = 1.0 / 479001600;
    int64_t exponent, bits;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += (int64_t)((uint64_t)exponent << 52);
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* psi(x) = digamma_exponent(x) + log(digamma_factor(x)) for x > 0: the recurrence to x + 10, that is
   - sum_{i < 10} 1 / (x + i), as one fraction in y = x (x + 9) ... */
static inline double digamma_exponent(double x)
{
    double y = x * (x + 9.0);
    double above = (((5.0 * y + 240.0) * y + 3924.0) * y + 24352.0) * y + 40320.0;
    double below = ((((y + 60.0) * y + 1308.0) * y + 12176.0) * y + 40320.0) * y;
    return -(2.0 * x + 9.0) * above / below;
}

/* ... and exp(psi(x + 10)) by its asymptotic series around x + 9.5 (relative error below 1e-12). */
static inline double digamma_factor(double x)
{
    double z = x + 9.5, r = 1.0 / (z * z);
    return z * (1.0 + r * (1.0 / 24 - r * (37.0 / 5760 - r * (10313.0 / 2903040 - r * (5509121.0 / 1393459200)))));
}

/* out_k = exp(psi(x_k) - psi(the largest x)), at least about e^-60. Takes no logarithm and does not
   underflow. exponent is scratch. */
CLONED void fill_exp_digamma(
    const double *restrict x, ptrdiff_t n, double *restrict exponent, double *restrict out)
{
    double largest = x[0], top, unit;
    ptrdiff_t k;
#pragma omp simd reduction(max : largest)
    for (k = 0; k < n; k++)
        largest = x[k] > largest ? x[k] : largest;
    top = digamma_exponent(largest);
    unit = 1.0 / digamma_factor(largest);
#pragma omp simd
    for (k = 0; k < n; k++) {
        double t = digamma_exponent(x[k]) - top;
        exponent[k] = t > -60.0 ? t : -60.0;
        out[k] = unit * digamma_factor(x[k]);
    }
#pragma omp simd
    for (k = 0; k < n; k++)
        out[k] *= exp_of(exponent[k]);
}

/* out_k = exp(psi(x_k) - norm_k - c), with c returned and chosen so that nothing leaves the range of float;
   exponential parts are at least e^-80. exponent is scratch. */
CLONED double fill_geometric_row(
    const double *restrict x, const double *restrict norm, ptrdiff_t n, double *restrict exponent,
    double *restrict out)
{
    double top = -1e308, unit;
    ptrdiff_t k;
#pragma omp simd
    for (k = 0; k < n; k++)
        exponent[k] = digamma_exponent(x[k]) - norm[k];
#pragma omp simd reduction(max : top)
    for (k = 0; k < n; k++)
        top = exponent[k] > top ? exponent[k] : top;
#pragma omp simd
    for (k = 0; k < n; k++) {
        double t = exponent[k] - top;
        exponent[k] = t > -80.0 ? t : -80.0;
        out[k] = digamma_factor(x[k]);
    }
    unit = 0.0;
#pragma omp simd reduction(max : unit)
    for (k = 0; k < n; k++)
        unit = out[k] > unit ? out[k] : unit;
#pragma omp simd
    for (k = 0; k < n; k++)
        out[k] = out[k] / unit * exp_of(exponent[k]);
    return top + log(unit);
}

/* The sum of psi(scale_k x_k + offset). Logarithms are taken of products of eight. */
CLONED double sum_digamma_row(
    const double *restrict x, const double *restrict scale, double offset, ptrdiff_t n)
{
    double total = 0.0, product[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    ptrdiff_t k = 0, j;
    for (; k + 8 <= n; k += 8) {
#pragma omp simd reduction(+ : total)
        for (j = 0; j < 8; j++) {
            double y = scale[k + j] * x[k + j] + offset;
            total += digamma_exponent(y);
            product[j] = digamma_factor(y);
        }
        total += log(((product[0] * product[1]) * (product[2] * product[3])) *
                     ((product[4] * product[5]) * (product[6] * product[7])));
    }
    for (; k < n; k++) {
        double y = scale[k] * x[k] + offset;
        total += digamma_exponent(y) + log(digamma_factor(y));
    }
    return total;
}

/* q_k = (count_k + topic_word_prior) inverse_k, and sums of prior_k q_k over blocks of 16; returns the sum of all.
   topic_word_prior is one number, or one for each topic. */
#define ONE_FOR_ALL(topic_word_prior, k) (topic_word_prior)
#define ONE_FOR_EACH(topic_word_prior, k) ((topic_word_prior)[k])
#define DEFINE_FILL_RATIOS(NAME, NUMBER, OF)                                                                  \
    CLONED double NAME(                                                                                       \
        const double *restrict count, const double *restrict inverse, const double *restrict prior,           \
        NUMBER topic_word_prior, ptrdiff_t n, double *restrict q, double *restrict block)                     \
    {                                                                                                         \
        double all = 0.0;                                                                                     \
        ptrdiff_t first, k;                                                                                   \
        for (first = 0; first < n; first += 16) {                                                             \
            double total = 0.0;                                                                               \
            ptrdiff_t stop = first + 16;                                                                      \
            if (stop <= n) {                                                                                  \
                _Pragma("omp simd reduction(+ : total)")                                                      \
                for (k = 0; k < 16; k++) {                                                                    \
                    q[first + k] = (count[first + k] + OF(topic_word_prior, first + k)) * inverse[first + k]; \
                    total += prior[first + k] * q[first + k];                                                 \
                }                                                                                             \
            } else {                                                                                          \
                for (k = first; k < n; k++) {                                                                 \
                    q[k] = (count[k] + OF(topic_word_prior, k)) * inverse[k];                                 \
                    total += prior[k] * q[k];                                                                 \
                }                                                                                             \
            }                                                                                                 \
            block[first / 16] = total;                                                                        \
            all += total;                                                                                     \
        }                                                                                                     \
        return all;                                                                                           \
    }
DEFINE_FILL_RATIOS(fill_ratios, double, ONE_FOR_ALL)
DEFINE_FILL_RATIOS(fill_own_ratios, const double *restrict, ONE_FOR_EACH)

/* log(x) for 0 < x <= 1, normal numbers, absolute error below 1e-15: the exponent, and 2 atanh((m - 1) / (m + 1)) of
   a mantissa m between sqrt(1/2) and sqrt(2). */
static inline double log_of(double x)
{
    uint64_t bits, shifted, exponent;
    double m, e, f, g, p;
    memcpy(&bits, &x, sizeof bits);
    shifted = bits - 0x3FE6A09E667F3BCD + 0x3FF0000000000000; /* against sqrt(1/2), whose exponent becomes 0 */
    exponent = shifted >> 52;
    bits -= (exponent << 52) - 0x3FF0000000000000;
    memcpy(&m, &bits, sizeof m);
    exponent |= 0x4330000000000000; /* 2^52 + the exponent, as the bits of a double */
    memcpy(&e, &exponent, sizeof e);
    e -= 4503599627370496.0 + 1023.0;
    f = (m - 1.0) / (m + 1.0);
    g = f * f;
    p = 1.0 / 17;
    p = p * g + 1.0 / 15;
    p = p * g + 1.0 / 13;
    p = p * g + 1.0 / 11;
    p = p * g + 1.0 / 9;
    p = p * g + 1.0 / 7;
    p = p * g + 1.0 / 5;
    p = p * g + 1.0 / 3;
    return e * 0.6931471805599453 + 2.0 * (f + f * g * p);
}

/* log Gamma(x) for x > 0: that of x + 10 by Stirling's series, less the logarithm of x (x + 1) ... (x + 9). */
static inline double log_gamma_of(double x)
{
    double y = x * (x + 9.0), t = x + 10.0, r = 1.0 / t, q = r * r;
    double product = y * (y + 8.0) * (y + 14.0) * (y + 18.0) * (y + 20.0);
    double series = r * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q * (1.0 / 1188)))));
    return (t - 0.5) * log_of(t) - t + 0.91893853320467274178 + series - log_of(product);
}

/* Fill digamma with psi(x_k + offset); returns the sum of log Gamma(x_k + offset) - x_k psi(x_k + offset). */
CLONED double fill_digamma_row(const double *restrict x, double offset, ptrdiff_t n, double *restrict digamma)
{
    double total = 0.0;
    ptrdiff_t k;
#pragma omp simd reduction(+ : total)
    for (k = 0; k < n; k++) {
        double z = x[k] + offset, psi = digamma_exponent(z) + log_of(digamma_factor(z));
        digamma[k] = psi;
        total += log_gamma_of(z) - x[k] * psi;
    }
    return total;
}

/* Two independent normal numbers from each pair of uniform ones in [0, 1), by Box and Muller's formula:
   u[2 m] becomes r cos(2 pi v) in its first half and r sin(2 pi v) in its second, with r^2 = -2 log(1 - u). */
CLONED void normals_from_uniforms(double *restrict first, double *restrict second, ptrdiff_t m)
{
    ptrdiff_t i;
#pragma omp simd
    for (i = 0; i < m; i++) {
        double r = sqrt(-2.0 * log_of(1.0 - first[i]));
        double v = second[i];
        double n = (4.0 * v + 6755399441055744.0) - 6755399441055744.0; /* the nearest quarter, 0 to 4 */
        double t = (v - 0.25 * n) * 6.283185307179586, g = t * t;
        double c = fabs(n - 2.0) - 1.0, s = n * (n - 2.0) * (n - 4.0) * (1.0 / 3); /* cos and sin of n quarters */
        double sine = -1.0 / 1307674368000.0, cosine = 1.0 / 20922789888000.0;
        sine = sine * g + 1.0 / 6227020800.0;
        sine = sine * g - 1.0 / 39916800;
        sine = sine * g + 1.0 / 362880;
        sine = sine * g - 1.0 / 5040;
        sine = sine * g + 1.0 / 120;
        sine = sine * g - 1.0 / 6;
        sine = t + t * g * sine;
        cosine = cosine * g - 1.0 / 87178291200.0;
        cosine = cosine * g + 1.0 / 479001600;
        cosine = cosine * g - 1.0 / 3628800;
        cosine = cosine * g + 1.0 / 40320;
        cosine = cosine * g - 1.0 / 720;
        cosine = cosine * g + 1.0 / 24;
        cosine = cosine * g - 0.5;
        cosine = cosine * g + 1.0;
        first[i] = r * (c * cosine - s * sine);
        second[i] = r * (s * cosine + c * sine);
    }
}

/* theta <- | theta + step / 2 (pull_up + factor n - theta pull_down) + sqrt(step theta) noise |, at most 1e100
   (a step that is far too large would let it grow for ever); n may be NULL. */
CLONED void langevin_row(
    double *restrict theta, const double *restrict n, double factor, double pull_up,
    const double *restrict pull_down, double step, const double *restrict noise, ptrdiff_t n_topics)
{
    ptrdiff_t k;
    if (n == NULL) {
#pragma omp simd
        for (k = 0; k < n_topics; k++) {
            double drift = pull_up - theta[k] * pull_down[k];
            double moved = fabs(theta[k] + 0.5 * step * drift + sqrt(step * theta[k]) * noise[k]);
            theta[k] = moved < 1e100 ? moved : 1e100;
        }
        return;
    }
#pragma omp simd
    for (k = 0; k < n_topics; k++) {
        double drift = pull_up + factor * n[k] - theta[k] * pull_down[k];
        double moved = fabs(theta[k] + 0.5 * step * drift + sqrt(step * theta[k]) * noise[k]);
        theta[k] = moved < 1e100 ? moved : 1e100;
    }
}

/* For cells of one document: share = count / (e . row), and sums += sum over cells of share * row. */
#define DEFINE_WEIGH_CELLS(NAME, REAL)                                                                       \
    CLONED void NAME(                                                                                 \
        ptrdiff_t n_cells, const int32_t *restrict word, const double *restrict count,                       \
        const REAL *restrict rows, ptrdiff_t n, const REAL *restrict e, REAL *restrict sums,                 \
        double *restrict share)                                                                              \
    {                                                                                                        \
        ptrdiff_t cell, k;                                                                                   \
        for (cell = 0; cell + 4 <= n_cells; cell += 4) {                                                     \
            const REAL *r0 = rows + word[cell] * n, *r1 = rows + word[cell + 1] * n;                         \
            const REAL *r2 = rows + word[cell + 2] * n, *r3 = rows + word[cell + 3] * n;                     \
            REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                             \
            _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (k = 0; k < n; k++)                        \
            {                                                                                                \
                s0 += e[k] * r0[k];                                                                          \
                s1 += e[k] * r1[k];                                                                          \
                s2 += e[k] * r2[k];                                                                          \
                s3 += e[k] * r3[k];                                                                          \
            }                                                                                                \
            share[cell] = count[cell] / ((double)s0 + 1e-300);                                               \
            share[cell + 1] = count[cell + 1] / ((double)s1 + 1e-300);                                       \
            share[cell + 2] = count[cell + 2] / ((double)s2 + 1e-300);                                       \
            share[cell + 3] = count[cell + 3] / ((double)s3 + 1e-300);                                       \
            s0 = (REAL)share[cell];                                                                          \
            s1 = (REAL)share[cell + 1];                                                                      \
            s2 = (REAL)share[cell + 2];                                                                      \
            s3 = (REAL)share[cell + 3];                                                                      \
            for (k = 0; k < n; k++)                                                                          \
                sums[k] += (s0 * r0[k] + s1 * r1[k]) + (s2 * r2[k] + s3 * r3[k]);                            \
        }                                                                                                    \
        for (; cell < n_cells; cell++) {                                                                     \
            const REAL *row = rows + word[cell] * n;                                                         \
            REAL s = 0;                                                                                      \
            _Pragma("omp simd reduction(+ : s)") for (k = 0; k < n; k++) s += e[k] * row[k];                 \
            share[cell] = count[cell] / ((double)s + 1e-300);                                                \
            s = (REAL)share[cell];                                                                           \
            for (k = 0; k < n; k++)                                                                          \
                sums[k] += s * row[k];                                                                       \
        }                                                                                                    \
    }

DEFINE_WEIGH_CELLS(weigh_cells_float, float)
DEFINE_WEIGH_CELLS(weigh_cells_double, double)

/* a . b */
#define DEFINE_DOT(NAME, REAL)                                                                               \
    CLONED REAL NAME(const REAL *restrict a, const REAL *restrict b, ptrdiff_t n)                            \
    {                                                                                                        \
        REAL total = 0;                                                                                      \
        ptrdiff_t i;                                                                                         \
        _Pragma("omp simd reduction(+ : total)") for (i = 0; i < n; i++) total += a[i] * b[i];               \
        return total;                                                                                        \
    }

DEFINE_DOT(dot_float, float)
DEFINE_DOT(dot_double, double)

/* x += row, ratio = count / x */
#define DEFINE_ADD_ROW(NAME, REAL)                                                                           \
    CLONED void NAME(                                                                                        \
        const REAL *restrict row, const double *restrict count, ptrdiff_t n, double *restrict x,             \
        REAL *restrict ratio)                                                                                \
    {                                                                                                        \
        ptrdiff_t i;                                                                                         \
        _Pragma("omp simd") for (i = 0; i < n; i++)                                                          \
        {                                                                                                    \
            x[i] += row[i];                                                                                  \
            ratio[i] = (REAL)(count[i] / x[i]);                                                              \
        }                                                                                                    \
    }

DEFINE_ADD_ROW(add_row_float, float)
DEFINE_ADD_ROW(add_row_double, double)

/* e <- (1 - moved) e + moved (prior + length e row / sum(e row)) */
#define DEFINE_VISIT_WORD(NAME, REAL)                                                                        \
    CLONED void NAME(                                                                                        \
        const REAL *restrict row, const double *restrict prior, double moved, double length, ptrdiff_t n,    \
        double *restrict e)                                                                                  \
    {                                                                                                        \
        double total = 1e-300, kept = 1.0 - moved, gain;                                                     \
        ptrdiff_t k;                                                                                         \
        _Pragma("omp simd reduction(+ : total)") for (k = 0; k < n; k++) total += e[k] * row[k];             \
        gain = length / total;                                                                               \
        _Pragma("omp simd") for (k = 0; k < n; k++) e[k] =                                                   \
            kept * e[k] + moved * (prior[k] + gain * (e[k] * row[k]));                                       \
    }

DEFINE_VISIT_WORD(visit_word_float, float)
DEFINE_VISIT_WORD(visit_word_double, double)

/* bound_k = a pull_k + b push_k and a share (slack) of their sizes more; and the largest in each block of 16.
   pull_k >= 0. */
CLONED void fill_bounds(
    const double *restrict pull, const double *restrict push, double a, double b, double slack, ptrdiff_t n,
    double *restrict bound, double *restrict block)
{
    ptrdiff_t first, k;
    for (first = 0; first < n; first += 16) {
        double largest = -HUGE_VAL;
        ptrdiff_t stop = first + 16 < n ? first + 16 : n;
#pragma omp simd reduction(max : largest)
        for (k = first; k < stop; k++) {
            double up = a * pull[k], down = b * push[k];
            bound[k] = (up + down) + slack * (up + fabs(down));
            largest = bound[k] > largest ? bound[k] : largest;
        }
        block[first / 16] = largest;
    }
}

#endif
