/* Numbers that threads change and read while others do, and waiting for them without going to sleep. */

#ifndef SKTOPIC_TEAM_H
#define SKTOPIC_TEAM_H

#include <stdint.h>
#include <time.h>

#ifdef _WIN32
#define PROCESS() 0 /* nothing forks */
#else
#include <unistd.h>
#define PROCESS() ((int)getpid())
#endif

/* Whether the interpreter ends: threads that need it then stay away for ever. */
#if PY_VERSION_HEX >= 0x030D0000
#define IS_ENDING() Py_IsFinalizing()
#else
#define IS_ENDING() _Py_IsFinalizing()
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#if defined(_M_X64) || defined(_M_IX86)
#define RELAX() _mm_pause()
#else
#define RELAX() ((void)0)
#endif
#define THREAD_LOCAL __declspec(thread)
static inline int load(int *x) { return (int)_InterlockedOr((volatile long *)x, 0); }
static inline int exchange(int *x, int value) { return (int)_InterlockedExchange((volatile long *)x, value); }
static inline int add(int *x, int more) { return (int)_InterlockedExchangeAdd((volatile long *)x, more) + more; }
#else
#if defined(__x86_64__) || defined(__i386__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() ((void)0)
#endif
#define THREAD_LOCAL _Thread_local
static inline int load(int *x) { return __atomic_load_n(x, __ATOMIC_SEQ_CST); }
static inline int exchange(int *x, int value) { return __atomic_exchange_n(x, value, __ATOMIC_SEQ_CST); }
static inline int add(int *x, int more) { return __atomic_add_fetch(x, more, __ATOMIC_SEQ_CST); }
#endif

/* A clock, in nanoseconds; it may be set. */
static inline int64_t clock_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether some nanoseconds are over. */
static inline int is_over(int64_t since, int64_t nanoseconds)
{
    int64_t passed = clock_now() - since;
    return passed < 0 || passed >= nanoseconds;
}

/* Return once x is another value than this, or some nanoseconds are over. */
static inline void watch(int *x, int value, int64_t nanoseconds)
{
    int64_t since = clock_now();
    int i;
    do {
        for (i = 0; i < 16; i++) {
            if (load(x) != value)
                return;
            RELAX();
        }
    } while (!is_over(since, nanoseconds));
}

#endif
