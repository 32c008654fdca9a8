"""Random streams: xoshiro256++ seeded through splitmix64, one stream a document.

A stream is named by a 64-bit key. Keys are hashes of what makes the stream its own (a seed, an
update number and a position, or a document's content), so that a document draws the same numbers
whichever thread, process or batch it is treated in.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sktopic._kernels.threads._interrupt cimport count_work


def combine_keys(uint64_t key, *values):
    """Return the key that absorbs the integer values one after the other."""
    for value in values:
        key = combine(key, <uint64_t>(value & 0xFFFFFFFFFFFFFFFF))
    return key


def position_keys(uint64_t key, Py_ssize_t start, Py_ssize_t n):
    """Return n keys (uint64), that of position i being combine(key, start + i)."""
    keys = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] out = keys
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            out[i] = combine(key, <uint64_t>(start + i))
    return keys


def combine_each(const uint64_t[::1] keys, uint64_t value):
    """Return the keys (uint64), each having absorbed the value."""
    result = np.empty(keys.shape[0], dtype=np.uint64)
    cdef uint64_t[::1] out = result
    cdef Py_ssize_t i
    for i in range(keys.shape[0]):
        out[i] = combine(keys[i], value)
    return result


cdef inline uint64_t absorb(uint64_t key, int32_t word, double count, const int32_t* numbers) noexcept nogil:
    cdef float rounded = <float>count
    cdef uint32_t bits
    memcpy(&bits, &rounded, sizeof(bits))
    return combine(key, (<uint64_t>(word if numbers == NULL else numbers[word]) << 32) | bits)


def content_keys(
    uint64_t key,
    const int64_t[::1] indptr,
    const int32_t[::1] words,
    const double[::1] counts,
    const int32_t[::1] numbers=None,
):
    """Return one key a document (uint64), a hash of its words and of its counts as float32.

    The cells of a document must be in canonical order (words ascending, no duplicates).

    numbers : (n_words,) what stands for each word; None: the word itself
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, first, second, end, i, both, done = 0
    cdef int64_t base = indptr[0]
    cdef const int32_t* of_words = NULL
    cdef uint64_t one, other
    keys = np.empty(n_documents, dtype=np.uint64)
    cdef uint64_t[::1] out = keys
    if numbers is not None and numbers.shape[0] > 0:
        of_words = &numbers[0]
    with nogil:
        # Two documents at a time: each step of one needs the step before, but none of the other's.
        for d in range(0, n_documents, 2):
            first, second = indptr[d] - base, indptr[d + 1] - base
            end = indptr[d + 2] - base if d + 2 <= n_documents else second
            both = min(second - first, end - second)
            one = other = key
            for i in range(both):
                one = absorb(one, words[first + i], counts[first + i], of_words)
                other = absorb(other, words[second + i], counts[second + i], of_words)
            for i in range(first + both, second):
                one = absorb(one, words[i], counts[i], of_words)
            for i in range(second + both, end):
                other = absorb(other, words[i], counts[i], of_words)
            out[d] = one
            if d + 1 < n_documents:
                out[d + 1] = other
            count_work(&done, 8 * (end - first))
    return keys


def uniforms(uint64_t key, Py_ssize_t n):
    """Return the first n doubles in [0, 1) of the stream of a key."""
    values = np.empty(n, dtype=np.float64)
    cdef double[::1] out = values
    cdef Stream stream
    cdef Py_ssize_t i, done = 0
    with nogil:
        seed_stream(&stream, key)
        for i in range(n):
            out[i] = next_uniform(&stream)
            count_work(&done, 8)
    return values


def bits(uint64_t key, Py_ssize_t n):
    """Return the first n raw 64-bit outputs of the stream of a key."""
    values = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] out = values
    cdef Stream stream
    cdef Py_ssize_t i
    with nogil:
        seed_stream(&stream, key)
        for i in range(n):
            out[i] = next_bits(&stream)
    return values


def fill_noise(double[:, ::1] rows, uint64_t key, Py_ssize_t first_row):
    """Fill rows (OUT) with positive noise of mean 1 and standard deviation 0.1.

    Each entry is 1 + 0.1 sqrt(3) (u_1 + u_2 + u_3 + u_4 - 2) with uniform u (the four 16-bit parts
    of one output): the first two moments of Gamma(100, 1/100) at a tenth of its cost. Row i
    comes from the stream of combine(key, first_row + i).
    """
    cdef Py_ssize_t n_rows = rows.shape[0], n = rows.shape[1], i, j, done = 0
    cdef Stream stream
    cdef uint64_t x
    cdef double total
    with nogil:
        for i in range(n_rows):
            seed_stream(&stream, combine(key, <uint64_t>(first_row + i)))
            for j in range(n):
                x = next_bits(&stream)
                total = <double>(
                    (x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + (x >> 48)
                )
                rows[i, j] = 1.0 + 0.1 * 1.7320508075688772 * ((total + 2.0) / 65536.0 - 2.0)
            count_work(&done, 16 * n)
