"""Random streams in Python integers (the twin of _kernels.random._rng)."""

import numpy as np

MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    """The finaliser of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def combine(key, value):
    """Absorb a value into a key."""
    absorbed = int(key) ^ mix((int(value) + GOLDEN) & MASK)
    return mix((absorbed + GOLDEN) & MASK)


def rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


class Stream:
    """xoshiro256++; the state is the first four outputs of splitmix64 started at the key."""

    def __init__(self, key):
        self.state = [mix((int(key) + i * GOLDEN) & MASK) for i in (1, 2, 3, 4)]

    def bits(self):
        a, b, c, d = self.state
        result = (rotate((a + d) & MASK, 23) + a) & MASK
        shifted = (b << 17) & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = rotate(d, 45)
        self.state = [a, b, c, d]
        return result

    def uniform(self):
        """A double in [0, 1): the upper 53 bits."""
        return (self.bits() >> 11) * 2.0**-53

    def below(self, n):
        """An integer in [0, n): the upper 32 bits, taken as a fraction of 2**32, times n."""
        return ((self.bits() >> 32) * n) >> 32


def content_keys(key, indptr, words, counts):
    """Per document, absorb each cell as the word's number followed by its count as a float32."""
    count_bits = np.asarray(counts).astype(np.float32).view(np.uint32)
    keys = []
    for first, last in zip(indptr[:-1] - indptr[0], indptr[1:] - indptr[0]):
        document_key = key
        for cell in range(first, last):
            document_key = combine(document_key, (int(words[cell]) << 32) | int(count_bits[cell]))
        keys.append(document_key)
    return np.array(keys, dtype=np.uint64)


def uniforms(key, n):
    stream = Stream(key)
    return np.array([stream.uniform() for _ in range(n)])


def fill_noise(rows, key, first_row):
    """1 + 0.1 sqrt(3) (u_1 + u_2 + u_3 + u_4 - 2), with u_i the centers of 65536 equal intervals."""
    for i, row in enumerate(rows):
        stream = Stream(combine(key, first_row + i))
        for j in range(len(row)):
            x = stream.bits()
            u = [(((x >> shift) & 0xFFFF) + 0.5) / 65536 for shift in (0, 16, 32, 48)]
            row[j] = 1.0 + 0.1 * 3.0**0.5 * (sum(u) - 2.0)
