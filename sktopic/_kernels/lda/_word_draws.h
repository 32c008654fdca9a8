/* Draws of the topics of a word's tokens that go over all topics, for _dense_collapsed_gibbs.pyx: no branch hangs
   on what was drawn.

   A token that was drawn (pending) is counted after the next token is drawn; until then, what its topic gains by
   it is laid behind all others. So a draw waits for one product of the draw before, not for all. */

#ifndef SKTOPIC_WORD_DRAWS_H
#define SKTOPIC_WORD_DRAWS_H

#include "random/_lanes.h"

BEGIN_NO_CONTRACTION

typedef struct {
    ptrdiff_t n_padded; /* the topics, and as many that weigh nothing as fill the lanes */
    int32_t n_topics;
    const double *topic_word_prior; /* (n_topics,) beta of the word */
    const double *prior_sum;        /* (n_topics,) sum of beta over all words */
    const float *prior;             /* (n_padded,) alpha, and zeros */
    double *totals;                 /* (n_topics,) n_k */
    double *count;                  /* (n_topics,) n_kw of the word */
    float *q;                       /* (n_padded,) (n_kw + beta) / (n_k + sum of beta), and zeros */
    float *running;                 /* (n_padded,) scratch */
} WordDraws;

NO_CONTRACTION INLINED float ratio_with(const WordDraws *x, int32_t k, double weight)
{
    return (float)((x->count[k] + weight + x->topic_word_prior[k]) / (x->totals[k] + weight + x->prior_sum[k]));
}

/* Fill q from the counts. */
NO_CONTRACTION CLONED void fill_word(const WordDraws *x)
{
    const double *restrict count = x->count, *restrict totals = x->totals;
    float *restrict q = x->q;
    const double *restrict prior = x->topic_word_prior, *restrict prior_sum = x->prior_sum;
    ptrdiff_t k;
    for (k = 0; k < x->n_topics; k++)
        q[k] = (float)((count[k] + prior[k]) / (totals[k] + prior_sum[k]));
}

/* Count a token in topic k, or with a negative weight no longer. */
NO_CONTRACTION INLINED void count_token(const WordDraws *x, float *row, int32_t k, double weight)
{
    float q = ratio_with(x, k, weight);
    x->count[k] += weight;
    x->totals[k] += weight;
    set_entry_float(x->q, k, q);
    set_entry_float(row, k, row[k] + (float)weight);
}

/* Fill running with the cumulative sums of (alpha_k + n_dk) q_k in each lane; sums: what each comes to. */
NO_CONTRACTION INLINED void multiply_row(const WordDraws *x, const float *row, float *sums)
{
    const float *prior = x->prior, *q = x->q;
    float *running = x->running;
    ptrdiff_t k, n = x->n_padded;
#if HAS_VECTORS
    Eight_float low = {0}, high = {0};
    for (k = 0; k < n; k += LANES) {
        low += (*(const Eight_float *)(prior + k) + *(const Eight_float *)(row + k)) *
               *(const Eight_float *)(q + k);
        high += (*(const Eight_float *)(prior + k + 8) + *(const Eight_float *)(row + k + 8)) *
                *(const Eight_float *)(q + k + 8);
        *(Eight_float *)(running + k) = low;
        *(Eight_float *)(running + k + 8) = high;
    }
    *(Eight_float *)sums = low;
    *(Eight_float *)(sums + 8) = high;
#else
    ptrdiff_t l;
    for (l = 0; l < LANES; l++)
        sums[l] = 0;
    for (k = 0; k < n; k += LANES)
        for (l = 0; l < LANES; l++) {
            sums[l] += (prior[k + l] + row[k + l]) * q[k + l];
            running[k + l] = sums[l];
        }
#endif
}

/* For the case that rounding led behind the last topic of a lane. */
static int32_t most_likely(const WordDraws *x, const float *row)
{
    int32_t k, best = 0;
    for (k = 1; k < x->n_topics; k++)
        if ((x->prior[k] + row[k]) * x->q[k] > (x->prior[best] + row[best]) * x->q[best])
            best = k;
    return best;
}

/* Draw the topics of tokens of a word anew, one after the other.

   rows           : (n_documents, n_padded) n_dk of each document, and zeros
   document, size : (n_tokens,) a token's document, and its weight
   uniform        : (n_tokens, 2) numbers from [0, 1): which topic it would be without the pending token, and
                    whether what that adds is drawn instead
   z              : (n_tokens,) topics, -1 where there is none yet */
NO_CONTRACTION CLONED void draw_word(
    const WordDraws *word, ptrdiff_t n_tokens, float *rows, const int32_t *restrict document,
    const float *restrict size, const float *restrict uniform, int32_t *restrict z)
{
    enum { AHEAD = 4 };
    const WordDraws x = *word;
    float *pending_row = NULL;
    int32_t pending = 0;
    double pending_weight = 0.0;
    ptrdiff_t t, s;
    for (t = 0; t < n_tokens; t++) {
        float *row = rows + document[t] * x.n_padded;
        alignas(64) float cumulative[2 * LANES];
        float *lanes = cumulative + LANES, before, added = 0, u, left;
        int32_t lane, k;
        if (t + AHEAD < n_tokens)
            for (s = 0; s < x.n_padded; s += LANES)
                FETCH_TO_WRITE(rows + document[t + AHEAD] * x.n_padded + s);
        if (z[t] >= 0)
            count_token(&x, row, z[t], -size[t]);
        multiply_row(&x, row, lanes);
        accumulate_float(lanes);
        cumulative[LANES - 1] = 0;
        before = lanes[LANES - 1];
        u = uniform[2 * t] * before;
        lane = count_below_float(lanes, u);
        lane = lane < LANES ? lane : LANES - 1;
        left = u - cumulative[LANES - 1 + lane];
        k = 0;
        for (s = lane; s < x.n_padded; s += LANES)
            k += x.running[s] <= left;
        k = k * LANES + lane;
        if (k >= x.n_topics)
            k = most_likely(&x, row);
        if (pending_row) {
            float q = ratio_with(&x, pending, pending_weight), gain = q - x.q[pending];
            float weight = row == pending_row ? (float)pending_weight : 0;
            added = (x.prior[pending] + row[pending]) * (gain > 0 ? gain : 0) + weight * q;
            if (uniform[2 * t + 1] * (before + added) >= before)
                k = pending;
        }
        if (pending_row)
            count_token(&x, pending_row, pending, pending_weight);
        pending = k;
        pending_weight = size[t];
        pending_row = row;
        z[t] = k;
    }
    if (pending_row)
        count_token(&x, pending_row, pending, pending_weight);
}

END_NO_CONTRACTION

#endif
