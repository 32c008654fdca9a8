/* What _lanes.h has for either precision: REAL, with MASK an integer as wide. */

#if HAS_VECTORS
typedef REAL NAME(Eight) __attribute__((vector_size(8 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef MASK NAME(EightMasks) __attribute__((vector_size(8 * sizeof(REAL))));
typedef REAL NAME(Four) __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef MASK NAME(FourMasks) __attribute__((vector_size(4 * sizeof(REAL))));
#endif

/* x[k] = value, in a store as wide as the loads that follow: a narrow one would hold them up. */
NO_CONTRACTION INLINED void NAME(set_entry)(REAL *x, int32_t k, REAL value)
{
#if HAS_VECTORS
    NAME(Eight) *eight = (NAME(Eight) *)(x + (k & ~7));
    NAME(EightMasks) lanes = {0, 1, 2, 3, 4, 5, 6, 7}, hit = lanes == (MASK)(k & 7);
    *eight = (NAME(Eight))(((NAME(EightMasks))(value - (NAME(Eight)){0}) & hit) |
                           ((NAME(EightMasks)) * eight & ~hit));
#else
    x[k] = value;
#endif
}

/* x = its cumulative sums, (LANES,): by fours, then over the fours. */
NO_CONTRACTION INLINED void NAME(accumulate)(REAL *x)
{
    int32_t i;
#if HAS_VECTORS
    NAME(Four) zero = {0}, before = {0};
    for (i = 0; i < LANES; i += 4) {
        NAME(Four) four = *(NAME(Four) *)(x + i);
        four += __builtin_shufflevector(zero, four, 0, 4, 5, 6);
        four += __builtin_shufflevector(zero, four, 0, 1, 4, 5);
        four += before;
        before = __builtin_shufflevector(four, four, 3, 3, 3, 3);
        *(NAME(Four) *)(x + i) = four;
    }
#else
    REAL before = 0;
    for (i = 0; i < LANES; i += 4) {
        REAL a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
        x[i] = a + before;
        x[i + 1] = (b + a) + before;
        x[i + 2] = ((c + b) + a) + before;
        x[i + 3] = ((d + c) + (b + a)) + before;
        before = x[i + 3];
    }
#endif
}

/* How many of (LANES,) are at most u. */
NO_CONTRACTION INLINED int32_t NAME(count_below)(const REAL *x, REAL u)
{
    int32_t i;
#if HAS_VECTORS
    NAME(FourMasks) below = {0};
    for (i = 0; i < LANES; i += 4)
        below += *(const NAME(Four) *)(x + i) <= u;
    return (int32_t) - (below[0] + below[1] + below[2] + below[3]);
#else
    int32_t n = 0;
    for (i = 0; i < LANES; i++)
        n += x[i] <= u;
    return n;
#endif
}

/* product = row * mass, running = its cumulative sums in each lane, sums = what each lane comes to. The first three
   have n entries, a multiple of LANES. */
NO_CONTRACTION INLINED void NAME(multiply)(
    ptrdiff_t n, const REAL *row, const REAL *mass, REAL *product, REAL *running, REAL *sums)
{
    ptrdiff_t k;
#if HAS_VECTORS
    NAME(Eight) low = {0}, high = {0};
    for (k = 0; k < n; k += LANES) {
        NAME(Eight) p = *(const NAME(Eight) *)(row + k) * *(const NAME(Eight) *)(mass + k);
        NAME(Eight) q = *(const NAME(Eight) *)(row + k + 8) * *(const NAME(Eight) *)(mass + k + 8);
        *(NAME(Eight) *)(product + k) = p;
        *(NAME(Eight) *)(product + k + 8) = q;
        low += p;
        high += q;
        *(NAME(Eight) *)(running + k) = low;
        *(NAME(Eight) *)(running + k + 8) = high;
    }
    *(NAME(Eight) *)sums = low;
    *(NAME(Eight) *)(sums + 8) = high;
#else
    ptrdiff_t l;
    for (l = 0; l < LANES; l++)
        sums[l] = 0;
    for (k = 0; k < n; k += LANES)
        for (l = 0; l < LANES; l++) {
            product[k + l] = row[k + l] * mass[k + l];
            sums[l] += product[k + l];
            running[k + l] = sums[l];
        }
#endif
}

/* The entry of a lane at which its cumulative sum passes u, at the latest the last of all. */
NO_CONTRACTION INLINED int32_t NAME(find_in_lane)(ptrdiff_t n, const REAL *running, int32_t lane, REAL u)
{
    ptrdiff_t s;
    int32_t k = 0;
    for (s = lane; s < n; s += LANES)
        k += running[s] <= u;
    k = k * LANES + lane;
    return k < n ? k : (int32_t)n - 1;
}

/* For the case that rounding led to an entry without a share. */
INLINED int32_t NAME(largest)(ptrdiff_t n, const REAL *product)
{
    int32_t k, best = 0;
    for (k = 1; k < n; k++)
        if (product[k] > product[best])
            best = k;
    return best;
}

/* out += share * product, a multiple of eight entries */
NO_CONTRACTION INLINED void NAME(add_product)(ptrdiff_t n, REAL share, const REAL *product, REAL *out)
{
    ptrdiff_t k;
#if HAS_VECTORS
    for (k = 0; k < n; k += 8)
        *(NAME(Eight) *)(out + k) += share * *(const NAME(Eight) *)(product + k);
#else
    for (k = 0; k < n; k++)
        out[k] += share * product[k];
#endif
}
