/* One token's update of the moment-matching models (moments/_matching.pyx has the formulas), for all topics. Built
   like the loops of _vector.h. Common to all functions:

   b          probability of the word under each topic, up to a common factor
   weight     of the token, c in the formulas: it adds that much to the counts of its topic. A weight above one is
              that of one token, whose moments are matched, and the rest goes to topics in shares p: were all of it
              hit or missed at once, the mixture would have two far modes, and matching would forget all before
   p          OUT: probability of each topic
   match      which second moment is matched: of the FIRST topic and word, the SUM of all, or of the SECOND topic
              and the first word
   Each returns the token's probability given all before. */

#ifndef SKTOPIC_MOMENTS_H
#define SKTOPIC_MOMENTS_H

#include "numbers/_vector.h"

enum { FIRST, SUM, SECOND };

/* No parameter of a document's Dirichlet falls below it. */
#define SMALLEST_ALPHA 1e-20
/* A number of topics that is less probable leaves the proportions under it as they are, to the last digit. */
#define NEGLIGIBLE 1e-20
/* gamma is stored as gamma 2^(512 lag): far below what matters it does not underflow, and can come back. */
#define UP 1.3407807929942597e154
#define DOWN 7.458340731200207e-155
/* No token of any weight moves it by a factor further from one than exp of this. */
#define MOST_AT_ONCE 350.0

/* Ask for a row that will be needed soon. */
static inline void prefetch_row(const double *row, ptrdiff_t n)
{
    ptrdiff_t t;
    for (t = 0; t < n; t += 8)
        FETCH_TO_WRITE(row + t);
}

/* num / den, or the old sum where that is not a positive number. */
INLINED double sum_or(double num, double den, double old)
{
    double sum = num / den;
    return sum > 0.0 && sum < 1e300 ? sum : old;
}

/* A Dirichlet with sum A, hit with probability g; a hit is component z with probability q. All about z:
   mean m, rest = 1 - m, q and not_q = 1 - q. Returns the sum whose variance of component z is the mixture's. */
INLINED double matched_sum_one(
    double A, double g, double c, double m, double rest, double q, double not_q)
{
    double u = 1.0 / (A + 1.0), v = 1.0 / (A + c), w = 1.0 / (A + c + 1.0), k = c * v;
    double miss = (1.0 - g) * m * rest;
    double hit = g * (not_q * (A * m * v) * (A * rest + c) + q * (A * m + c) * (A * rest * v)) * v;
    double num = miss * A * u + hit * (A + c) * w;
    double den = miss * u + hit * w + k * k * g * (q * not_q + (1.0 - g) * (q - m) * (q - m));
    return sum_or(num, den, A);
}

/* The same for the sum of all variances; s, H, Q: one less the inner products of mean and mean, mean and hit
   distribution, and of the latter with itself. Where all is on one component, down to rounding, the old sum. */
INLINED double matched_sum_all(double A, double g, double c, double s, double H, double Q)
{
    double u = 1.0 / (A + 1.0), v = 1.0 / (A + c), w = 1.0 / (A + c + 1.0), k = c * v;
    double miss = (1.0 - g) * s * u;
    double hit = g * (A * A * s + 2.0 * A * c * H) * v * w;
    double between = k * k * g * (Q + (1.0 - g) * (2.0 * H - s - Q));
    double num = miss * A + hit;
    double sum = sum_or(num, miss + hit * v + between, A);
    /* The choice comes last: GCC 14 compiles a choice of num to a jump, and does not vectorize jumps. */
    return num > 1e-14 ? sum : A;
}

/* The topics' Dirichlets, of means scale * row: topic t is hit by the word with probability p_t. first: the
   means of word 0, the same as the word if at_first; lost. spread: one less the sum of the squared means.
   Returns the smallest scale. */
CLONED double update_topics(
    double *restrict row, double *restrict first, int at_first, double weight, int match, ptrdiff_t n,
    const double *restrict p, double *restrict scale, double *restrict sums, double *restrict spread)
{
    double c = weight < 1.0 ? weight : 1.0, rest = weight - c, smallest = 1.0, z = at_first ? 1.0 : 0.0;
    ptrdiff_t t;
    if (match == SUM) {
#pragma omp simd
        for (t = 0; t < n; t++)
            first[t] = matched_sum_all(sums[t], p[t], c, spread[t], 1.0 - scale[t] * row[t], 0.0);
    } else {
#pragma omp simd
        for (t = 0; t < n; t++)
            first[t] = matched_sum_one(sums[t], p[t], c, first[t], 1.0 - first[t], z, 1.0 - z);
    }
#pragma omp simd reduction(min : smallest)
    for (t = 0; t < n; t++) {
        double g = p[t], unit = 1.0 / (sums[t] + c), r = g * c * unit, f = (sums[t] + (1.0 - g) * c) * unit;
        double other = 1.0 - scale[t] * row[t], moved = scale[t] * f;
        spread[t] = f * f * spread[t] + 2.0 * f * r * other;
        row[t] += r / moved;
        sums[t] = first[t];
        scale[t] = moved;
        smallest = moved < smallest ? moved : smallest;
    }
    if (rest == 0.0)
        return smallest;
#pragma omp simd reduction(min : smallest)
    for (t = 0; t < n; t++) {
        double hits = rest * p[t], sum = sums[t] + hits, r = hits / sum, f = sums[t] / sum;
        double other = 1.0 - scale[t] * row[t], moved = scale[t] * f;
        spread[t] = f * f * spread[t] + 2.0 * f * r * other;
        row[t] += r / moved;
        sums[t] = sum;
        scale[t] = moved;
        smallest = moved < smallest ? moved : smallest;
    }
    return smallest;
}

/* The topic whose second moment is matched, unless it is the sum. */
INLINED ptrdiff_t matched_topic(int match, ptrdiff_t n)
{
    return match == SECOND && n > 1;
}

/* Sums over a document's alpha. */
typedef struct {
    double alpha, product; /* of alpha, and of alpha b: without component z (rest) */
    double squares, squares_b, squares_bb; /* of alpha^2, alpha^2 b, alpha^2 b^2: with it */
} Sums;

INLINED Sums sums_of(const double *alpha, const double *b, ptrdiff_t n, int match, ptrdiff_t z)
{
    double a = 0.0, ab = 0.0, aa = 0.0, aab = 0.0, aabb = 0.0;
    Sums sums;
    ptrdiff_t t;
    if (match == SUM) {
#pragma omp simd reduction(+ : a, ab, aa, aab, aabb)
        for (t = 1; t < n; t++) {
            double x = alpha[t], y = x * b[t];
            a += x;
            ab += y;
            aa += x * x;
            aab += x * y;
            aabb += y * y;
        }
        aa += alpha[0] * alpha[0];
        aab += alpha[0] * alpha[0] * b[0];
        aabb += alpha[0] * b[0] * (alpha[0] * b[0]);
    } else {
#pragma omp simd reduction(+ : a, ab)
        for (t = 1 + z; t < n; t++) {
            a += alpha[t];
            ab += alpha[t] * b[t];
        }
        if (z) {
            a += alpha[0];
            ab += alpha[0] * b[0];
        }
    }
    sums.alpha = a;
    sums.product = ab;
    sums.squares = aa;
    sums.squares_b = aab;
    sums.squares_bb = aabb;
    return sums;
}

/* alpha, hit with probability g by the token's topic: alpha (u + v b) with u and v returned. */
INLINED void matched_factors(
    const double *alpha, const double *b, Sums sums, double g, double c, int match, ptrdiff_t z, double *u,
    double *v)
{
    double A = alpha[z] + sums.alpha, C = alpha[z] * b[z] + sums.product, moved, r;
    if (match == SUM)
        moved = matched_sum_all(
            A, g, c, 1.0 - sums.squares / (A * A), 1.0 - sums.squares_b / (C * A),
            1.0 - sums.squares_bb / (C * C));
    else
        moved = matched_sum_one(A, g, c, alpha[z] / A, sums.alpha / A, alpha[z] * b[z] / C, sums.product / C);
    r = g * c / (A + c);
    *u = moved * (1.0 - r) / A;
    *v = moved * r / C;
}

/* A fixed number of topics. */
CLONED double observe_fixed(
    double *restrict alpha, const double *restrict b, double weight, int match, ptrdiff_t n,
    double *restrict p)
{
    ptrdiff_t z = matched_topic(match, n);
    Sums sums = sums_of(alpha, b, n, match, z);
    double A = alpha[z] + sums.alpha, C = alpha[z] * b[z] + sums.product, u, v;
    double c = weight < 1.0 ? weight : 1.0, rest = weight - c;
    ptrdiff_t t;
    if (n == 1) { /* proportions of one topic are known */
        p[0] = 1.0;
        return b[0];
    }
    matched_factors(alpha, b, sums, 1.0, c, match, z, &u, &v);
#pragma omp simd
    for (t = 0; t < n; t++) {
        double a = alpha[t], moved;
        p[t] = a * b[t] / C;
        moved = a * (u + v * b[t]) + rest * p[t];
        alpha[t] = moved > SMALLEST_ALPHA ? moved : SMALLEST_ALPHA;
    }
    return C / A;
}

/* gamma <- gamma ratio^weight, scaled to one; ratio is the token's probability given each number of topics over
   that given none, and g is gamma without what is negligible. */
INLINED void move_gamma(
    double *gamma, double *lag, double *ratio, const double *g, double weight, ptrdiff_t n)
{
    ptrdiff_t t;
    if (weight != 1.0) { /* otherwise the sum is one */
        double total = 0.0, largest = 0.0;
        for (t = 0; t < n; t++)
            largest = g[t] > 0.0 && ratio[t] > largest ? ratio[t] : largest;
        for (t = 0; t < n; t++) {
            ratio[t] = weight * log(ratio[t] / largest);
            total += g[t] > 0.0 ? g[t] * exp(ratio[t]) : 0.0;
        }
        for (t = 0; t < n; t++)
            ratio[t] = exp(fmax(fmin(ratio[t] - log(total), MOST_AT_ONCE), -MOST_AT_ONCE));
    }
#pragma omp simd
    for (t = 0; t < n; t++) {
        double moved = gamma[t] * ratio[t], factor = 1.0, step = 0.0;
        factor = moved < DOWN && moved > 0.0 ? UP : factor;
        step = moved < DOWN && moved > 0.0 ? 1.0 : step;
        factor = moved > 1.0 && lag[t] > 0.0 ? DOWN : factor;
        step = moved > 1.0 && lag[t] > 0.0 ? -1.0 : step;
        gamma[t] = moved * factor;
        lag[t] += step;
    }
}

/* Sums of the first entries, and of the last ones: four at a time, so that additions wait for each other less. */
INLINED void sum_forwards(double *x, ptrdiff_t n)
{
    double total = 0.0;
    ptrdiff_t t = 0;
    for (; t + 4 <= n; t += 4) {
        double a = x[t], b = a + x[t + 1], c = x[t + 2], d = c + x[t + 3];
        x[t] = total + a;
        x[t + 1] = total + b;
        x[t + 2] = total + (b + c);
        total += b + d;
        x[t + 3] = total;
    }
    for (; t < n; t++)
        x[t] = total += x[t];
}

INLINED void sum_backwards(double *x, ptrdiff_t n)
{
    double total = 0.0;
    ptrdiff_t t = n - 1;
    for (; t >= 3; t -= 4) {
        double a = x[t], b = a + x[t - 1], c = x[t - 2], d = c + x[t - 3];
        x[t] = total + a;
        x[t - 1] = total + b;
        x[t - 2] = total + (b + c);
        total += b + d;
        x[t - 3] = total;
    }
    for (; t >= 0; t--)
        x[t] = total += x[t];
}

/* The degenerate Dirichlet model: under T topics, proportions follow the Dirichlet of the first T alpha. scratch has
   17 n entries; gamma stays as it is unless learns. */
CLONED double observe_degenerate(
    double *restrict alpha, double *restrict gamma, double *restrict lag, const double *restrict b,
    double weight, int match, int learns, ptrdiff_t n, double *restrict p, double *restrict scratch)
{
    double c = weight < 1.0 ? weight : 1.0, extra = n > 1 ? weight - c : 0.0;
    double *restrict R = scratch, *restrict C0 = R + n, *restrict g = C0 + n, *restrict ratio = g + n;
    double *restrict U = ratio + n, *restrict V = U + n, *restrict X = V + n, *restrict inverse = X + n;
    double *restrict s2 = inverse + n, *restrict D0 = s2 + n, *restrict G = D0 + n, *restrict P = G + n;
    double *restrict M = P + n, *restrict e = M + n, *restrict hits = e + n;
    double *restrict own_alpha = hits + n, *restrict own_hits = own_alpha + n; /* of v: none before v */
    double av, hv, total = 0.0, share;
    double num = 0.0, den = 0.0, x_mean = 0.0, y_mean = 0.0, factor;
    ptrdiff_t t, v = matched_topic(match, n), most = 0;
    /* Variances are taken about the vertex of a topic v: the matched one, or the largest under the most probable
       number of topics. Proportions that are nearly certain are next to it, and differences keep their digits. */
    if (match == SUM) {
        for (t = 1; t < n; t++)
            most = lag[t] == 0.0 && gamma[t] > gamma[most] ? t : most;
        for (t = 1; t <= most; t++)
            v = alpha[t] > alpha[v] ? t : v;
    }
    av = alpha[v];
    hv = av * b[v];
#pragma omp simd
    for (t = 0; t < n; t++) {
        hits[t] = C0[t] = alpha[t] * b[t];
        R[t] = alpha[t];
        own_alpha[t] = av;
        own_hits[t] = hv;
    }
    for (t = 0; t < v; t++)
        own_alpha[t] = own_hits[t] = 0.0;
    R[v] = C0[v] = 0.0; /* sums over the first T topics but v */
    sum_forwards(R, n);
    sum_forwards(C0, n);
#pragma omp simd reduction(+ : total)
    for (t = 0; t < n; t++) {
        double inverse_sum = 1.0 / (own_alpha[t] + R[t]);
        g[t] = lag[t] > 0.0 ? 0.0 : gamma[t];
        ratio[t] = (own_hits[t] + C0[t]) * inverse_sum;
        total += g[t] * ratio[t];
        U[t] = g[t] * inverse_sum;
    }
    share = 1.0 / total;
#pragma omp simd reduction(+ : num, den, x_mean, y_mean)
    for (t = 0; t < n; t++) {
        double a = own_alpha[t], A = a + R[t], up = 1.0 / (A + c), above = 1.0 / (A + c + 1.0);
        double w = U[t] * share, w1 = w * own_hits[t], w0 = w * C0[t], both;
        inverse[t] = up;
        U[t] = w;
        V[t] = (w1 + w0) * up;
        X[t] = c * w * up;
        both = (w1 * (a + c) * R[t] + w0 * a * (R[t] + c)) * up * up;
        num += both * (A + c) * above;
        den += both * above;
        x_mean += (w1 * (a + c) + w0 * a) * up;
        y_mean += (w1 * R[t] + w0 * (R[t] + c)) * up;
        e[t] = above;
    }
    if (match != SUM) {
        /* the variance between, of the smaller of theta_v and 1 - theta_v */
        int small = x_mean < y_mean;
        double mean = small ? x_mean : y_mean;
        double own = small ? 1.0 : 0.0, own_c = small ? c : 0.0, other = small ? 0.0 : 1.0;
        double other_c = small ? 0.0 : c;
#pragma omp simd reduction(+ : den)
        for (t = 0; t < n; t++) {
            double part = own * own_alpha[t] + other * R[t];
            double d1 = (part + own_c) * inverse[t] - mean, d0 = (part + other_c) * inverse[t] - mean;
            den += U[t] * (own_hits[t] * d1 * d1 + C0[t] * d0 * d0);
        }
    }
    if (match == SUM) {
        /* mean_square: of the distances of the means from the vertex */
        double one_less = 0.0, within = 0.0, mean_square = 0.0;
        G[0] = P[0] = 0.0;
        s2[0] = alpha[0] * alpha[0];
        D0[0] = alpha[0] * hits[0];
#pragma omp simd
        for (t = 1; t < n; t++) {
            double a = alpha[t], A = own_alpha[t - 1] + R[t - 1], C = own_hits[t - 1] + C0[t - 1];
            s2[t] = a * a;
            D0[t] = a * hits[t];
            G[t] = 2.0 * a * A;
            P[t] = C * a + hits[t] * A;
        }
        s2[v] = D0[v] = 0.0;
        sum_forwards(s2, n);
        sum_forwards(D0, n);
        sum_forwards(G, n);
        sum_forwards(P, n);
#pragma omp simd reduction(+ : mean_square, one_less, within)
        for (t = 0; t < n; t++) {
            double up = inverse[t], y1 = R[t], y0 = R[t] + c;
            double h = own_hits[t], pairs = U[t] * ((h + C0[t]) * G[t] + 2.0 * c * P[t]) * up * e[t];
            one_less += pairs;
            within += pairs * up;
            mean_square += U[t] * up * up *
                           (h * (y1 * y1 + s2[t]) + C0[t] * (y0 * y0 + s2[t] + c * c) + 2.0 * c * D0[t]);
        }
        num = one_less;
        den = within + mean_square;
    }
    sum_backwards(U, n); /* over T >= t */
    sum_backwards(V, n);
    sum_backwards(X, n);
#pragma omp simd
    for (t = 0; t < n; t++) {
        p[t] = hits[t] * U[t];
        M[t] = alpha[t] * (V[t] + X[t] * b[t]);
    }
    if (match == SUM) { /* less the square distance of the mean */
        double square = y_mean * y_mean;
#pragma omp simd reduction(+ : square)
        for (t = 0; t < n; t++)
            square += t == v ? 0.0 : M[t] * M[t];
        den -= square;
    }
    factor = sum_or(num, den, av + R[n - 1]);
#pragma omp simd
    for (t = 0; t < n; t++) {
        double moved = M[t] * factor + extra * p[t];
        alpha[t] = moved > SMALLEST_ALPHA ? moved : SMALLEST_ALPHA;
        ratio[t] *= share;
    }
    if (learns)
        move_gamma(gamma, lag, ratio, g, weight, n);
    return total;
}

/* The triangular Dirichlet model: row k of alpha, of k entries from k (k - 1) / 2, belongs to k topics. scratch has
   8 n entries. */
CLONED double observe_triangular(
    double *restrict alpha, double *restrict gamma, double *restrict lag, const double *restrict b,
    double weight, int match, int learns, ptrdiff_t n, double *restrict p, double *restrict scratch)
{
    double c = weight < 1.0 ? weight : 1.0, extra = weight - c;
    double *restrict g = scratch, *restrict ratio = g + n, *restrict product = ratio + n;
    Sums *restrict sums = (Sums *)(product + n);
    double *row = alpha;
    double total = 0.0;
    ptrdiff_t k, t;
    for (k = 0; k < n; row += ++k) {
        ptrdiff_t z = matched_topic(match, k + 1);
        sums[k] = sums_of(row, b, k + 1, match, z);
        product[k] = row[z] * b[z] + sums[k].product;
        ratio[k] = product[k] / (row[z] + sums[k].alpha);
        g[k] = lag[k] > 0.0 ? 0.0 : gamma[k];
        total += g[k] * ratio[k];
        p[k] = 0.0;
    }
    row = alpha;
    for (k = 0; k < n; row += ++k) {
        double share = g[k] * ratio[k] / total, u, v, w;
        ratio[k] /= total;
        if (share < NEGLIGIBLE)
            continue;
        w = share / product[k];
        matched_factors(row, b, sums[k], share, c, match, matched_topic(match, k + 1), &u, &v);
        v += extra * w;
        if (k == 0) { /* proportions of one topic are known */
            u = 1.0;
            v = 0.0;
        }
#pragma omp simd
        for (t = 0; t <= k; t++) {
            double a = row[t], moved = a * (u + v * b[t]);
            p[t] += w * a;
            row[t] = moved > SMALLEST_ALPHA ? moved : SMALLEST_ALPHA;
        }
    }
#pragma omp simd
    for (t = 0; t < n; t++)
        p[t] *= b[t];
    if (learns)
        move_gamma(gamma, lag, ratio, g, weight, n);
    return total;
}

#endif
