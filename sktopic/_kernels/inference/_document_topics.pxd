"""The topics of one document, kept as a short list, and the sparse draw that uses it."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._block_sums cimport draw_fixed
from sktopic._kernels.random._rng cimport Stream, next_uniform


cdef struct DocumentTopics:
    int32_t n            # entries in use; those without clumps stay until drop_empty_entries
    int32_t* topic       # topic of an entry
    int32_t* members     # clumps now in an entry
    double* weight       # weight now in an entry
    int32_t* position    # entry of a topic, or -1


cdef inline void clear_entries(DocumentTopics* present) noexcept nogil:
    cdef int32_t j
    for j in range(present.n):
        present.position[present.topic[j]] = -1
    present.n = 0


cdef inline int32_t entry_of(DocumentTopics* present, int32_t topic) noexcept nogil:
    """The entry of a topic, opened if need be."""
    cdef int32_t j = present.position[topic]
    if j < 0:
        j = present.n
        present.topic[j] = topic
        present.members[j] = 0
        present.weight[j] = 0.0
        present.position[topic] = j
        present.n = j + 1
    return j


cdef inline void put(DocumentTopics* present, int32_t j, double weight) noexcept nogil:
    present.members[j] += 1
    present.weight[j] += weight


cdef inline void take(DocumentTopics* present, int32_t j, double weight) noexcept nogil:
    """Remove one clump; an entry without members weighs exactly nothing, whatever was rounded."""
    present.members[j] -= 1
    present.weight[j] = present.weight[j] - weight if present.members[j] > 0 else 0.0


cdef inline void drop_empty_entries(DocumentTopics* present) noexcept nogil:
    cdef int32_t j, kept = 0
    for j in range(present.n):
        if present.members[j] > 0:
            present.topic[kept] = present.topic[j]
            present.members[kept] = present.members[j]
            present.weight[kept] = present.weight[j]
            present.position[present.topic[j]] = kept
            kept += 1
        else:
            present.position[present.topic[j]] = -1
    present.n = kept


cdef inline real scan(
    const real* row, const DocumentTopics* present, const real* mass, real* product, real* partial_sum
) noexcept nogil:
    """Fill product with phi_kw n_k of the document's topics, partial_sum with its cumulative sum;
    return the total."""
    cdef int32_t j = 0, n = present.n
    cdef const int32_t* topic = present.topic
    cdef real total = 0, p0, p1, p2, p3
    while j + 4 <= n:  # four at a time, so that sums wait for each other once, not four times
        p0 = row[topic[j]] * mass[j]
        p1 = row[topic[j + 1]] * mass[j + 1]
        p2 = row[topic[j + 2]] * mass[j + 2]
        p3 = row[topic[j + 3]] * mass[j + 3]
        product[j] = p0
        product[j + 1] = p1
        product[j + 2] = p2
        product[j + 3] = p3
        p1 += p0
        p3 += p2
        partial_sum[j] = total + p0
        partial_sum[j + 1] = total + p1
        partial_sum[j + 2] = total + (p1 + p2)
        total += p1 + p3
        partial_sum[j + 3] = total
        j += 4
    while j < n:
        p0 = row[topic[j]] * mass[j]
        product[j] = p0
        total += p0
        partial_sum[j] = total
        j += 1
    return total


cdef inline int32_t draw_entry(
    const real* row,
    const real* cumulative,
    const double* prior,
    int32_t n_topics,
    DocumentTopics* present,
    const real* partial_sum,
    real total,
    Stream* stream,
) noexcept nogil:
    """Draw a topic with probability (phi_kw n_k + alpha_k phi_kw) / (total + 1); return its entry, opened if
    the document did not have it."""
    cdef real u = <real>next_uniform(stream) * (total + 1)
    cdef int32_t j = 0, k
    if u < total:
        for k in range(present.n):
            j += partial_sum[k] <= u
        return j
    return entry_of(present, draw_fixed(row, cumulative, prior, n_topics, u - total))
