/* Draws of a token's topic over those that its document has, for _sparse_gibbs.pyx. */

#ifndef SKTOPIC_ENTRY_DRAWS_H
#define SKTOPIC_ENTRY_DRAWS_H

#include "random/_lanes.h"

BEGIN_NO_CONTRACTION

#define REAL float
#define MASK int32_t
#define NAME(name) name##_float
#include "inference/_entry_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

#define REAL double
#define MASK int64_t
#define NAME(name) name##_double
#include "inference/_entry_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

END_NO_CONTRACTION

#endif
