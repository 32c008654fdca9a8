from libc.stdint cimport uint64_t

cdef struct Stream:
    uint64_t a
    uint64_t b
    uint64_t c
    uint64_t d


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """The finaliser of splitmix64: a bijection whose every output bit depends on every input bit."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t combine(uint64_t key, uint64_t value) noexcept nogil:
    """Absorb one more value into a key; the order of the values matters."""
    return mix((key ^ mix(value + <uint64_t>0x9E3779B97F4A7C15)) + <uint64_t>0x9E3779B97F4A7C15)


cdef inline void seed_stream(Stream* stream, uint64_t key) noexcept nogil:
    """Fill the state with four successive outputs of splitmix64 started at the key."""
    stream.a = mix(key + <uint64_t>0x9E3779B97F4A7C15)
    stream.b = mix(key + <uint64_t>0x3C6EF372FE94F82A)
    stream.c = mix(key + <uint64_t>0xDAA66D2C7DDF743F)
    stream.d = mix(key + <uint64_t>0x78DDE6E5FD29F054)


cdef inline uint64_t rotate(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline uint64_t next_bits(Stream* stream) noexcept nogil:
    """xoshiro256++ of Blackman and Vigna (2021)."""
    cdef uint64_t result = rotate(stream.a + stream.d, 23) + stream.a
    cdef uint64_t t = stream.b << 17
    stream.c ^= stream.a
    stream.d ^= stream.b
    stream.b ^= stream.c
    stream.a ^= stream.d
    stream.c ^= t
    stream.d = rotate(stream.d, 45)
    return result


cdef inline double next_uniform(Stream* stream) noexcept nogil:
    """A double in [0, 1) with 53 random bits."""
    return <double>(next_bits(stream) >> 11) * 1.1102230246251565e-16


cdef inline float unit_float(uint64_t bits) noexcept nogil:
    """A float in [0, 1) of 24 bits."""
    return <float>bits * <float>5.960464477539063e-08


cdef inline uint64_t next_below(Stream* stream, uint64_t n) noexcept nogil:
    """An integer in [0, n), by a multiply and a shift; n must be below 2**32 (bias under n / 2**32)."""
    return ((next_bits(stream) >> 32) * n) >> 32
