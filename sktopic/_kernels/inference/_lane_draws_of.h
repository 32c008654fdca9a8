/* What _lane_draws.h has for either precision: REAL, with MASK an integer as wide. */

typedef struct {
    ptrdiff_t n_padded; /* see draw_tokens for these */
    const double *prior;
    double *weight;
    int32_t *members;
    REAL *mass;
    REAL *product; /* (n_padded,) mass times the row of the present word ... */
    REAL *running; /* (n_padded,) ... and its cumulative sums in each lane */
} NAME(Document);

NO_CONTRACTION INLINED void NAME(put)(const NAME(Document) *x, int32_t k, double weight)
{
    x->members[k] += 1;
    x->weight[k] += weight;
    NAME(set_entry)(x->mass, k, (REAL)(x->prior[k] + x->weight[k]));
}

/* Remove a clump; a topic without any weighs exactly its prior, whatever was rounded. */
NO_CONTRACTION INLINED void NAME(take)(const NAME(Document) *x, int32_t k, double weight)
{
    x->members[k] -= 1;
    x->weight[k] = x->members[k] > 0 ? x->weight[k] - weight : 0.0;
    NAME(set_entry)(x->mass, k, (REAL)(x->prior[k] + x->weight[k]));
}

/* total += x, x = 0; (n_padded,) */
NO_CONTRACTION INLINED void NAME(empty_into)(REAL *restrict x, ptrdiff_t n, double *restrict total)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        total[k] += x[k];
        x[k] = 0;
    }
}

/* Draw the topics of a document's tokens anew, one after the other.

   n_padded               : the topics, and as many that weigh nothing as fill the lanes
   prior, weight, members : (n_topics,) alpha; the weight of a topic's tokens; how many they are
   mass                   : (4, n_padded) prior + weight; two rows of scratch; a row of zeros
   cell, size, uniform    : (n_tokens,) a token's cell, its weight, and a number from [0, 1) for it
   rows                   : (n_cells, n_padded) row of each cell's word, with zeros behind the topics
   z                      : (n_tokens,) topics, -1 where there is none yet
   counts                 : (n_cells, n_padded), to whose rows the probabilities are added; or NULL
   total                  : (n_padded,) to which they are, where they are not to counts; or NULL */
NO_CONTRACTION CLONED void NAME(draw_tokens)(
    ptrdiff_t n_padded, const double *prior, double *weight, int32_t *members, REAL *mass, ptrdiff_t n_tokens,
    const int32_t *restrict cell, const double *restrict size, const REAL *restrict rows,
    const REAL *restrict uniform, int32_t *restrict z, REAL *restrict counts, double *restrict total)
{
    const NAME(Document) x = {n_padded, prior, weight, members, mass, mass + n_padded, mass + 2 * n_padded};
    REAL *some = mass + 3 * n_padded; /* what total gains from a few tokens: sums of many would be rounded */
    int32_t pending = 0;
    double pending_weight = 0.0;
    ptrdiff_t t;
    for (t = 0; t < n_tokens; t++) {
        const REAL *row = rows + cell[t] * n_padded;
        alignas(64) REAL cumulative[2 * LANES];
        REAL *lanes = cumulative + LANES, before, added, all, u, left;
        int32_t lane, k;
        if (z[t] >= 0)
            NAME(take)(&x, z[t], size[t]);
        NAME(multiply)(n_padded, row, mass, x.product, x.running, lanes);
        NAME(accumulate)(lanes);
        cumulative[LANES - 1] = 0;
        before = lanes[LANES - 1];
        added = row[pending] * (REAL)pending_weight;
        all = before + added;
        u = uniform[t] * all;
        lane = NAME(count_below)(lanes, u);
        lane = lane < LANES ? lane : LANES - 1;
        left = u - cumulative[LANES - 1 + lane];
        k = NAME(find_in_lane)(n_padded, x.running, lane, left);
        k = u < before ? k : pending;
        if (pending_weight > 0.0)
            NAME(put)(&x, pending, pending_weight);
        if (counts || total) {
            REAL share = (REAL)size[t] / all, *out = counts ? counts + cell[t] * n_padded : some;
            NAME(add_product)(n_padded, share, x.product, out);
            out[pending] += share * added;
            if (!counts && (t % 256 == 255 || t == n_tokens - 1))
                NAME(empty_into)(some, n_padded, total);
        }
        if (!(x.product[k] > 0) && u < before)
            k = NAME(largest)(n_padded, x.product);
        pending = k;
        pending_weight = size[t];
        z[t] = k;
    }
    if (pending_weight > 0.0)
        NAME(put)(&x, pending, pending_weight);
}

/* Draw entry j with probability row_j mass_j / (total + 1), total being their sum; or none.

   n              : entries, a multiple of LANES
   row, mass      : (n,)
   product        : (n,), filled with row * mass
   running        : (n,) scratch
   uniform        : a number from [0, 1)
   out            : (n,), to which size / (total + 1) times product is added; or NULL
   size           : weight of the token
   total, left    : the sum of product; and uniform * (total + 1) less the sum, at least 0 where no entry is drawn

   Returns the entry, or -1. */
NO_CONTRACTION CLONED int32_t NAME(draw_entry)(
    ptrdiff_t n, const REAL *restrict row, const REAL *restrict mass, REAL *restrict product,
    REAL *restrict running, REAL uniform, REAL *restrict out, double size, REAL *total, REAL *left)
{
    alignas(64) REAL cumulative[2 * LANES];
    REAL *lanes = cumulative + LANES, all, u;
    int32_t lane, j;
    NAME(multiply)(n, row, mass, product, running, lanes);
    NAME(accumulate)(lanes);
    cumulative[LANES - 1] = 0;
    all = lanes[LANES - 1];
    *total = all;
    if (out)
        NAME(add_product)(n, (REAL)(size / (all + 1)), product, out);
    u = uniform * (all + 1);
    *left = u - all;
    if (!(u < all))
        return -1;
    lane = NAME(count_below)(lanes, u);
    lane = lane < LANES ? lane : LANES - 1;
    j = NAME(find_in_lane)(n, running, lane, u - cumulative[LANES - 1 + lane]);
    return product[j] > 0 ? j : NAME(largest)(n, product);
}
