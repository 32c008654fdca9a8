"""Topic rows from lists of counts: gathered for the words of a batch, and counts of the batch added to them.

A word has counts of the topics in its list, and a rest that all topics share (see _groups.TopicCounts). If a
list is full, the smallest counts in it become part of the rest, and so do smaller ones that come later.
"""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memmove

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team, n_blocks
from sktopic._kernels.topics._statistics cimport BatchWords, DocumentSums, sums_of, weight_of, words_of


# Words that a thread takes at a time.
cdef enum:
    AT_ONCE = 32


cdef SparseRows addresses_of(rows):
    """The addresses of the arrays of a group SparseRows, which its owner holds meanwhile."""
    cdef const int64_t[::1] start = rows.start
    cdef const int32_t[:, ::1] bucket = rows.bucket
    cdef const int32_t[::1] topic = rows.topic
    cdef const unsigned char[::1] value = rows.value.view(np.uint8)
    cdef const unsigned char[::1] cumulative = rows.cumulative.view(np.uint8)
    cdef const double[::1] rest = rows.rest
    cdef const double[::1] even = rows.even
    cdef const double[::1] shares = rows.shares
    cdef const double[::1] units = rows.units
    cdef const double[::1] share_sums = rows.share_sums
    cdef const double[::1] unit_sums = rows.unit_sums
    cdef SparseRows found
    found.start, found.shares, found.units = &start[0], &shares[0], &units[0]
    found.share_sums, found.unit_sums = &share_sums[0], &unit_sums[0]
    found.n_topics, found.n_buckets, found.shift = shares.shape[0], bucket.shape[1], 0
    while (found.n_topics - 1) >> found.shift >= found.n_buckets - 1:
        found.shift += 1
    found.topic = &topic[0] if topic.shape[0] > 0 else NULL
    found.value = &value[0] if value.shape[0] > 0 else NULL
    found.cumulative = &cumulative[0] if cumulative.shape[0] > 0 else NULL
    if rest.shape[0] > 0:
        found.bucket, found.rest, found.even = &bucket[0, 0], &rest[0], &even[0]
    return found


cdef struct Gathering:
    const int32_t* topic
    const float* value
    const int32_t* words
    const float* factors
    SparseRows rows
    double* rest
    double* even
    double* log_norm
    double share_total
    double unit_total
    Py_ssize_t n_words
    Py_ssize_t n_entries
    bint single
    bint finite  # the results; threads only ever clear them
    bint valid


def gather_sparse_rows(
    counts,
    const int32_t[::1] words,
    const float[:, ::1] factors,
    const double[::1] prior,
    rows,
    double[::1] log_norm,
    Team team not None,
):
    """Compute phi_kw = value scale[k] + rest[w] shares[k] + even[w] units[k] for some words, scaled to
    phi @ prior = 1.

    Parameters
    ----------
    counts : TopicCounts                                                                          IN
    words : (n_words,) rows of the counts                                                         IN
    factors : (n_topics, 2) scale and scale * prior                                               IN
    prior : (n_topics,)                                                                           IN
    rows : SparseRows; arrays of words and entries but start                                      OUT
        rest and even as they are before scaling                                                  IN/OUT
    log_norm : (n_words,) log(phi[w] @ prior) before scaling                                      OUT

    Returns
    -------
    finite : whether no log_norm is NaN or plus infinity
    valid : whether all lists have ascending topics; if not, rows are of no use

    A word of probability zero in every topic gets a row of units, and its log_norm is minus infinity.
    """
    cdef const int32_t[:, ::1] topic = counts.topic
    cdef const float[:, ::1] value = counts.value
    cdef double[::1] rest = rows.rest
    cdef double[::1] even = rows.even
    cdef Gathering given
    given.finite = given.valid = True
    given.n_words, given.n_entries = words.shape[0], topic.shape[1]
    if given.n_words == 0:
        return True, True
    given.topic, given.value, given.words = &topic[0, 0], &value[0, 0], &words[0]
    given.factors, given.log_norm = &factors[0, 0], &log_norm[0]
    given.rows, given.rest, given.even = addresses_of(rows), &rest[0], &even[0]
    given.share_total, given.unit_total = np.dot(prior, rows.shares), np.dot(prior, rows.units)
    given.single = rows.value.dtype == np.float32
    with nogil:
        team.run(<Task>gather_piece, &given, n_blocks(given.n_words, AT_ONCE))
    return given.finite, given.valid


cdef int gather_piece(Gathering* given, Py_ssize_t piece, Py_ssize_t _) except -1 nogil:
    cdef Py_ssize_t first = piece * AT_ONCE, last = min(first + AT_ONCE, given.n_words), w, done = 0
    for w in range(first, last):
        if given.single:
            gather_list(given, w, <float*>given.rows.value, <float*>given.rows.cumulative)
        else:
            gather_list(given, w, <double*>given.rows.value, <double*>given.rows.cumulative)
        count_work(&done, 4 * (given.rows.start[w + 1] - given.rows.start[w]) + given.rows.n_buckets)
    return 0


cdef void gather_list(Gathering* given, Py_ssize_t w, real* value, real* cumulative) noexcept nogil:
    cdef Py_ssize_t first = given.rows.start[w], n = given.rows.start[w + 1] - first, e, b
    cdef const int32_t* topic = given.topic + given.words[w] * given.n_entries
    cdef const float* count = given.value + given.words[w] * given.n_entries
    cdef const float* factors = given.factors
    cdef int32_t* topics = <int32_t*>given.rows.topic + first
    cdef int32_t* bucket = <int32_t*>given.rows.bucket + w * given.rows.n_buckets
    cdef int shift = given.rows.shift
    cdef int32_t before = -1
    cdef double total = 0.0, inverse
    value += first
    cumulative += first
    for b in range(given.rows.n_buckets):
        bucket[b] = 0
    for e in range(n):
        if not before < topic[e] < given.rows.n_topics:
            given.valid = False
            return
        before = topic[e]
        topics[e] = topic[e]
        value[e] = count[e] * factors[2 * topic[e]]
        total += count[e] * factors[2 * topic[e] + 1]
        cumulative[e] = <real>total
        bucket[(topic[e] >> shift) + 1] = <int32_t>(e + 1)
    for b in range(1, given.rows.n_buckets):
        bucket[b] = max(bucket[b], bucket[b - 1])
    total += given.rest[w] * given.share_total + given.even[w] * given.unit_total
    if not total < INFINITY:  # or NaN
        given.finite = False
    inverse = 1.0 / total if total > 0.0 else 0.0
    given.log_norm[w] = log(total) if total > 0.0 else -INFINITY
    given.rest[w] = given.rest[w] / total if total > 0.0 else 0.0
    given.even[w] = given.even[w] / total if total > 0.0 else 1.0 / given.unit_total
    for e in range(n):
        value[e] = <real>(value[e] * inverse)
        cumulative[e] = <real>(cumulative[e] * inverse)


cdef struct Adding:
    # Arguments of add_sparse_counts ...
    BatchWords words
    DocumentSums sums
    SparseRows rows
    int32_t* topic
    float* value
    int32_t* length
    float* least
    double* rest
    double* totals
    double* rest_gain
    double factor
    Py_ssize_t n_topics
    Py_ssize_t n_entries
    # ... columns of each document by topics, and scratch of each thread: sums of topics, and topics.
    int64_t* order
    double* of_topics
    int32_t* found


def add_sparse_counts(
    words,
    const int64_t[::1] indptr,
    sums,
    rows,
    double factor,
    target,
    Team team not None,
):
    """Add factor times the expected counts of sampled documents (see _sparse_gibbs.sweep_documents).

    The list of a word gets what documents give the topics they have, and what the prior gives topics by the
    list. What the prior gives them by the rest and the units is added to the rest of the word.

    Parameters
    ----------
    words : WordCells
    indptr : (n_documents + 1,) first cell of each document                                       IN
    sums : SparseSums, as sweep_documents returned them                                           IN
    rows : SparseRows as handed to sweep_documents; the lists are those of the target             IN
    target : SparseTarget                                                                     IN/OUT
    """
    cdef int32_t[:, ::1] topic = target.counts.topic
    cdef float[:, ::1] value = target.counts.value
    cdef int32_t[::1] length = target.counts.length
    cdef float[::1] least = target.counts.least
    cdef double[::1] rest = target.counts.rest
    cdef double[:, ::1] totals = target.totals
    cdef double[::1] rest_gain = target.rest_gain
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = totals.shape[1], d, j
    cdef Adding given
    if len(sums.fixed) == 0:
        return
    cdef int64_t[::1] value_indptr = np.empty(n_documents + 1, dtype=np.int64)
    cdef int32_t[::1] cell_document = np.empty(len(sums.fixed), dtype=np.int32)
    cdef int64_t[::1] order = np.empty(len(sums.column_topic) + 1, dtype=np.int64)
    cdef double[:, ::1] scratch = np.zeros((team.size, 2 * n_topics + GAP))
    cdef int32_t[:, ::1] found = np.zeros((team.size, 4 * n_topics + GAP), dtype=np.int32)
    given.words, given.sums = words_of(words), sums_of(indptr, sums, value_indptr, cell_document)
    given.rows, given.factor = addresses_of(rows), factor
    given.topic, given.value, given.length = &topic[0, 0], &value[0, 0], &length[0]
    given.least, given.rest = &least[0], &rest[0]
    given.totals, given.rest_gain, given.order = &totals[0, 0], &rest_gain[0], &order[0]
    given.n_topics, given.n_entries = n_topics, topic.shape[1]
    given.of_topics, given.found = &scratch[0, 0], &found[0, 0]
    with nogil:
        for d in range(n_documents):
            for j in range(given.sums.column_indptr[d], given.sums.column_indptr[d + 1]):
                order[j] = (<int64_t>given.sums.column_topic[j] << 32) + (j - given.sums.column_indptr[d])
        team.run(<Task>sort_columns, &given, n_documents)
        team.run(<Task>add_part, &given, given.words.n_parts)


cdef int sort_columns(Adding* given, Py_ssize_t d, Py_ssize_t _) except -1 nogil:
    cdef int64_t first = given.sums.column_indptr[d]
    qsort(given.order + first, given.sums.column_indptr[d + 1] - first, sizeof(int64_t), &ascending_long)
    return 0


cdef int ascending_long(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*>a)[0], y = (<const int64_t*>b)[0]
    return (x > y) - (x < y)


cdef int ascending(const void* a, const void* b) noexcept nogil:
    return (<const int32_t*>a)[0] - (<const int32_t*>b)[0]


cdef int add_part(Adding* given, Py_ssize_t p, Py_ssize_t thread) except -1 nogil:
    cdef Py_ssize_t w, done = 0
    for w in range(given.words.part_bounds[p], given.words.part_bounds[p + 1]):
        if given.sums.single:
            add_word(
                given, w, p, thread, <const float*>given.sums.values,
                <const float*>given.rows.cumulative + given.rows.start[w],
            )
        else:
            add_word(
                given, w, p, thread, <const double*>given.sums.values,
                <const double*>given.rows.cumulative + given.rows.start[w],
            )
        count_work(&done, 8 * given.n_entries)
    return 0


cdef void add_word(
    Adding* given, Py_ssize_t w, Py_ssize_t p, Py_ssize_t thread, const real* values, const real* cumulative
) noexcept nogil:
    """Add what the documents of a batch have of one word."""
    cdef double* sums = given.of_topics + thread * (2 * given.n_topics + GAP)
    cdef int32_t* found = given.found + thread * (4 * given.n_topics + GAP)  # whether a topic is among new
    cdef int32_t* new = found + given.n_topics  # the topics of documents; then those that are not in the list
    cdef int32_t* place = new + given.n_topics  # where they are to stand
    cdef double* totals = given.totals + p * given.n_topics
    cdef int64_t row = given.words.target_row[w]
    cdef int32_t* topic = given.topic + row * given.n_entries
    cdef float* value = given.value + row * given.n_entries
    cdef const int32_t* bucket = given.rows.bucket + w * given.rows.n_buckets
    cdef int32_t n_old = given.length[row], n_new = 0, n_absent = 0, e, i, j, k, last
    cdef Py_ssize_t c, cell, first_cell, d, first_column, n_columns
    cdef const real* counts
    cdef real before = 0
    cdef float more
    cdef double share = 0.0, weight, left = 0.0

    for c in range(given.words.word_indptr[w], given.words.word_indptr[w + 1]):
        cell = given.words.word_cell[c]
        weight = given.factor * weight_of(&given.words, cell)
        if weight == 0.0:  # topics without counts would take room in the list
            continue
        share += weight * given.sums.fixed[cell]
        d = given.sums.cell_document[cell]
        first_column = given.sums.column_indptr[d]
        n_columns = given.sums.column_indptr[d + 1] - first_column
        first_cell = given.sums.indptr[d] - given.sums.indptr[0]
        counts = values + given.sums.value_indptr[d] + (cell - first_cell) * n_columns
        for i in range(<int32_t>n_columns):
            j = <int32_t>given.order[first_column + i]  # its low half
            if counts[j] == 0:
                continue
            k = given.sums.column_topic[first_column + j]
            if not found[k]:
                found[k] = 1
                sums[k] = 0.0
                new[n_new] = k
                n_new += 1
            sums[k] += weight * counts[j]
    if given.words.word_indptr[w + 1] - given.words.word_indptr[w] > 1:  # topics of one document are in order
        qsort(new, n_new, sizeof(int32_t), &ascending)

    # What the prior gives.
    for e in range(n_old):
        more = value[e] + <float>(share * (cumulative[e] - before))
        before = cumulative[e]
        totals[topic[e]] += <double>more - value[e]
        value[e] = more
    left = share * max(1.0 - before, 0.0)  # but for rounding, the sum is at most 1

    # What documents give.
    for i in range(n_new):
        k = new[i]
        found[k] = 0
        e, last = bucket[k >> given.rows.shift], bucket[(k >> given.rows.shift) + 1]
        while e < last and topic[e] < k:
            e += 1
        if e < n_old and topic[e] == k:
            more = value[e] + <float>sums[k]
            totals[k] += <double>more - value[e]
            value[e] = more
        elif <float>sums[k] < given.least[row]:
            left += <float>sums[k]
        else:
            new[n_absent], place[n_absent] = k, e
            n_absent += 1
    given.rest[row] += left
    given.rest_gain[p] += left
    if n_old + n_absent <= given.n_entries:
        insert(topic, value, n_old, new, place, n_absent, sums, totals)
        given.length[row] = n_old + n_absent
    else:
        replace_smallest(given, w, p, thread, n_absent)


cdef void insert(
    int32_t* topic, float* value, int32_t n, const int32_t* new, const int32_t* place, int32_t n_new,
    const double* sums, double* totals,
) noexcept nogil:
    """Insert new topics into a list of n, each at its place in the list as it was."""
    cdef int32_t i, e, last = n
    for i in range(n_new - 1, -1, -1):
        e = place[i]
        memmove(topic + e + i + 1, topic + e, (last - e) * sizeof(int32_t))
        memmove(value + e + i + 1, value + e, (last - e) * sizeof(float))
        last = e
        topic[e + i] = new[i]
        value[e + i] = <float>sums[new[i]]
        totals[new[i]] += value[e + i]


cdef void replace_smallest(
    Adding* given, Py_ssize_t w, Py_ssize_t p, Py_ssize_t thread, int32_t n_new
) noexcept nogil:
    """The same where a list has no room: three quarters of it get the largest counts, the rest the others."""
    cdef double* sums = given.of_topics + thread * (2 * given.n_topics + GAP)
    cdef float* counts = <float*>(sums + given.n_topics)
    cdef float* selected = counts + given.n_topics
    cdef int32_t* new = given.found + thread * (4 * given.n_topics + GAP) + given.n_topics
    cdef int32_t* place = new + given.n_topics
    cdef int32_t* topics = place + given.n_topics
    cdef double* totals = given.totals + p * given.n_topics
    cdef int64_t row = given.words.target_row[w]
    cdef int32_t* topic = given.topic + row * given.n_entries
    cdef float* value = given.value + row * given.n_entries
    cdef int32_t n_old = given.length[row], n = n_old + n_new, e, i = 0, n_kept, n_equal
    cdef float least
    cdef double left = 0.0
    for e in range(n_old + 1):
        while i < n_new and place[i] == e:
            topics[e + i], counts[e + i] = new[i], <float>sums[new[i]]
            i += 1
        if e < n_old:
            topics[e + i], counts[e + i] = topic[e], value[e]
            totals[topic[e]] -= value[e]
    n_kept = <int32_t>((3 * given.n_entries + 3) // 4)
    for e in range(n):
        selected[e] = counts[e]
    least = nth_largest(selected, n, n_kept)
    n_equal = n_kept
    for e in range(n):
        n_equal -= counts[e] > least
    i = 0
    for e in range(n):
        if counts[e] > least or (counts[e] == least and n_equal > 0):
            n_equal -= counts[e] == least
            topic[i], value[i] = topics[e], counts[e]
            totals[topic[i]] += value[i]
            i += 1
        else:
            left += counts[e]
    given.length[row], given.least[row] = n_kept, least
    given.rest[row] += left
    given.rest_gain[p] += left


cdef float nth_largest(float* x, int32_t n, int32_t nth) noexcept nogil:
    """The nth largest of n numbers, which are rearranged (Hoare's selection)."""
    cdef int32_t first = 0, last = n - 1, i, j, wanted = nth - 1
    cdef float pivot
    while first < last:
        pivot = x[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while x[i] > pivot:
                i += 1
            while x[j] < pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if wanted <= j:
            last = j
        elif wanted >= i:
            first = i
        else:
            break
    return x[wanted]
