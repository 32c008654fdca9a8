/* What _entry_draws.h has for either precision: REAL, with MASK an integer as wide. */

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
