/* Draws of the topics of a document's tokens that go over all topics, for _dense_gibbs.pyx: no branch hangs on
   what was drawn.

   Topic k is in lane k % 16. The weights of each lane's topics add up side by side in wide registers; a draw
   finds its lane first, then the topic in it.

   What a token was drawn to (pending) joins its document after the next token is drawn; until then its share
   is laid behind all others. So a draw waits for one product of the draw before, not for all. */

#ifndef SKTOPIC_LANE_DRAWS_H
#define SKTOPIC_LANE_DRAWS_H

#include "_vector.h"

#if defined(__GNUC__)
#define INLINE NO_CONTRACTION __attribute__((always_inline)) static inline
#define ALIGNED __attribute__((aligned(64)))
#else
#define INLINE static inline
#define ALIGNED
#endif

/* Whether vectors can be written as such, and shuffled. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

enum { LANES = 16 };

#define REAL float
#define MASK int32_t
#define NAME(name) name##_float
#include "_lane_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

#define REAL double
#define MASK int64_t
#define NAME(name) name##_double
#include "_lane_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

#endif
