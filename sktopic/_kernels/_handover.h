/* Waiting for another thread without going to sleep, for a little while. */

#ifndef SKTOPIC_HANDOVER_H
#define SKTOPIC_HANDOVER_H

#include <stdint.h>
#include <time.h>

enum { NOTHING, POSTED, ASLEEP };

#if defined(__x86_64__) || defined(__i386__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() ((void)0)
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int exchange_state(int *state, int value)
{
    return (int)_InterlockedExchange((volatile long *)state, value);
}
static inline int change_state(int *state, int from, int to)
{
    return _InterlockedCompareExchange((volatile long *)state, to, from) == from;
}
static inline int load_state(int *state)
{
    return (int)_InterlockedCompareExchange((volatile long *)state, 0, 0);
}
#else
static inline int exchange_state(int *state, int value)
{
    return __atomic_exchange_n(state, value, __ATOMIC_ACQ_REL);
}
static inline int change_state(int *state, int from, int to)
{
    return __atomic_compare_exchange_n(state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
static inline int load_state(int *state)
{
    return __atomic_load_n(state, __ATOMIC_ACQUIRE);
}
#endif

/* Wait until the state is POSTED, or some nanoseconds (up to a second) are over. */
static inline void watch_state(int *state, int64_t nanoseconds)
{
    struct timespec first, now;
    int64_t passed;
    int i;
    timespec_get(&first, TIME_UTC);
    do {
        for (i = 0; i < 16; i++) {
            if (load_state(state) == POSTED)
                return;
            RELAX();
        }
        timespec_get(&now, TIME_UTC);
        passed = (int64_t)(now.tv_sec - first.tv_sec) * 1000000000 + (now.tv_nsec - first.tv_nsec);
    } while (passed >= 0 && passed < nanoseconds);
}

#endif
