/* Weights of topics in lanes: topic k is in lane k % 16. The weights of each lane add up side by side in wide
   registers; a draw finds its lane first, then the topic in it. */

#ifndef SKTOPIC_LANES_H
#define SKTOPIC_LANES_H

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
#include "_lanes_of.h"
#undef REAL
#undef MASK
#undef NAME

#define REAL double
#define MASK int64_t
#define NAME(name) name##_double
#include "_lanes_of.h"
#undef REAL
#undef MASK
#undef NAME

#endif
