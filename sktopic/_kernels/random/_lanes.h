/* Weights of topics in lanes: topic k is in lane k % 16. The weights of each lane add up side by side in wide
   registers; a draw finds its lane first, then the topic in it. */

#ifndef SKTOPIC_LANES_H
#define SKTOPIC_LANES_H

#include "numbers/_vector.h"
#include <stdalign.h>

enum { LANES = 16 };

BEGIN_NO_CONTRACTION

#define REAL float
#define MASK int32_t
#define NAME(name) name##_float
#include "random/_lanes_of.h"
#undef REAL
#undef MASK
#undef NAME

#define REAL double
#define MASK int64_t
#define NAME(name) name##_double
#include "random/_lanes_of.h"
#undef REAL
#undef MASK
#undef NAME

END_NO_CONTRACTION

#endif
