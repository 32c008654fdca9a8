"""Topic rows as lists: what document steps read of them (see _groups.SparseRows)."""

from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._block_sums cimport draw_fixed


cdef struct SparseRows:
    const int64_t* start
    const int32_t* bucket
    const int32_t* topic
    const void* value
    const void* cumulative
    const double* rest
    const double* even
    const double* shares
    const double* units
    const double* share_sums
    const double* unit_sums
    Py_ssize_t n_buckets
    Py_ssize_t n_topics
    int shift  # of a topic to its bucket


cdef SparseRows addresses_of(rows)


cdef inline real unlisted(const SparseRows* rows, int32_t word, int32_t k, real like) noexcept nogil:
    """phi_kw of a topic that is not in the list of the word."""
    return <real>(rows.rest[word] * rows.shares[k] + rows.even[word] * rows.units[k])


cdef inline real sparse_phi(const SparseRows* rows, int32_t word, int32_t k, real like) noexcept nogil:
    """phi_kw of one topic."""
    cdef const int32_t* bucket = rows.bucket + word * rows.n_buckets + (k >> rows.shift)
    cdef real found = unlisted(rows, word, k, like)
    cdef int64_t start = rows.start[word]
    cdef int32_t e
    for e in range(bucket[0], bucket[1]):  # without branches
        found += (<const real*>rows.value)[start + e] * (rows.topic[start + e] == k)
    return found


cdef inline int32_t draw_sparse(
    const SparseRows* rows, int32_t word, const double* prior, real uniform
) noexcept nogil:
    """Draw from alpha_k phi_kw, uniform in [0, 1): from the list, from the shares, or from the units."""
    cdef int64_t first = rows.start[word], n = rows.start[word + 1] - first, half
    cdef const real* cumulative = <const real*>rows.cumulative + first
    cdef const real* base = cumulative
    cdef int32_t n_topics = <int32_t>rows.n_topics
    cdef double u = uniform, of_shares
    if n > 0 and uniform < cumulative[n - 1]:
        while n > 1:  # the first entry whose cumulative sum is above it
            half = n // 2
            base += half if base[half - 1] <= uniform else 0
            n -= half
        return rows.topic[first + (base - cumulative)]
    if n > 0:
        u -= cumulative[n - 1]
    of_shares = rows.rest[word] * rows.share_sums[(n_topics - 1) // 16]
    if u < of_shares or not rows.even[word] > 0.0:
        if not rows.rest[word] > 0.0:  # all is in the list, but for rounding
            return rows.topic[first + n - 1]
        return draw_fixed(rows.shares, rows.share_sums, prior, n_topics, u / rows.rest[word])
    return draw_fixed(rows.units, rows.unit_sums, prior, n_topics, (u - of_shares) / rows.even[word])
