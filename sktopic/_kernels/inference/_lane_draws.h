/* Draws of the topics of a document's tokens: over all topics (draw_tokens), for _dense_gibbs.pyx, and over those that
   the document has (draw_entry), for _sparse_gibbs.pyx. In the first, no branch hangs on what was drawn.

   What a token was drawn to (pending) joins its document after the next token is drawn; until then its share
   is laid behind all others. So a draw waits for one product of the draw before, not for all. */

#ifndef SKTOPIC_LANE_DRAWS_H
#define SKTOPIC_LANE_DRAWS_H

#include "random/_lanes.h"

BEGIN_NO_CONTRACTION

#define REAL float
#define MASK int32_t
#define NAME(name) name##_float
#include "inference/_lane_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

#define REAL double
#define MASK int64_t
#define NAME(name) name##_double
#include "inference/_lane_draws_of.h"
#undef REAL
#undef MASK
#undef NAME

END_NO_CONTRACTION

#endif
