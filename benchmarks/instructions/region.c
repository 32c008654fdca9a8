/* Callgrind counts between these two calls; without Valgrind they do nothing. */
#include <valgrind/callgrind.h>

void start_counting(void) { CALLGRIND_START_INSTRUMENTATION; }

void stop_counting(void) { CALLGRIND_STOP_INSTRUMENTATION; }
