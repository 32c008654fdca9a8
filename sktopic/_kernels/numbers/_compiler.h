/* What compilers add to C11, and what stands for it where they do not. No other header asks which compiler it is, but
   _team.h for its atomic operations. Builds that find faults take less than the compiler has (setup.py says which):

   SKTOPIC_PORTABLE  : C11 alone
   SKTOPIC_NO_CLONES : no versions for other processors than the common one */

#ifndef SKTOPIC_COMPILER_H
#define SKTOPIC_COMPILER_H

#if defined(__GNUC__) && !defined(SKTOPIC_PORTABLE)
#define HAS_EXTENSIONS 1
#else
#define HAS_EXTENSIONS 0
#endif

/* Loops that gain from wide registers. Where compiler and C library can choose a version of a function when it is
   first called, each is built for the common x86-64 and for the one with AVX2 and FMA; elsewhere once. Helpers are
   inlined into each version: on its own a helper would be built for the common processor. */
#if HAS_EXTENSIONS && defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(SKTOPIC_NO_CLONES)
#define CLONED __attribute__((unused, target_clones("default", "arch=x86-64-v3"))) static
#elif HAS_EXTENSIONS
#define CLONED __attribute__((unused)) static
#else
#define CLONED static inline
#endif
#if HAS_EXTENSIONS
#define INLINED __attribute__((always_inline)) static inline
#else
#define INLINED static inline
#endif

/* For functions in which no product is contracted with a sum, so that all machines have the same bits. GCC wants to be
   told of each, Clang where such functions begin and end. */
#if defined(__GNUC__) && !defined(__clang__)
#define NO_CONTRACTION __attribute__((optimize("fp-contract=off")))
#else
#define NO_CONTRACTION
#endif
#if defined(__clang__)
#define BEGIN_NO_CONTRACTION _Pragma("STDC FP_CONTRACT OFF")
#define END_NO_CONTRACTION _Pragma("STDC FP_CONTRACT DEFAULT")
#else
#define BEGIN_NO_CONTRACTION
#define END_NO_CONTRACTION
#endif

/* Whether vectors can be written as such, and shuffled. */
#if HAS_EXTENSIONS && (defined(__clang__) || __GNUC__ >= 12)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

/* Memory that is needed soon, to read or to write. */
#if HAS_EXTENSIONS
#define FETCH(address) __builtin_prefetch(address)
#define FETCH_TO_WRITE(address) __builtin_prefetch(address, 1)
#else
#define FETCH(address) ((void)(address))
#define FETCH_TO_WRITE(address) ((void)(address))
#endif

#endif
