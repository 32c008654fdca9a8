"""Sweeps of collapsed Gibbs sampling for LDA, word by word.

With the counts of all other tokens, p(z = k | rest) is proportional to (alpha_k + n_dk) q_k with
q_k = (n_kw + beta_kw) / (n_k + sum of beta_k)
(Griffiths and Steyvers, 2004). All tokens of a word are visited one
after the other, so that q is at hand for all topics and a token changes two of its entries; the part
alpha_k q_k is kept in block sums, the part n_dk q_k is summed over the topics present in the document (the
order and the split of Yu et al., 2015).

Documents keep their topics in short lists (see _topic_lists) and, beside each entry, the weight of its
clumps. The capacity of a list is a multiple of four entries, and those not in use weigh nothing: they are
summed in four lanes, lane l taking entries l, l + 4, ...
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.documents._topic_lists cimport TopicClumps, find, open_entry
from sktopic._kernels.numbers._vector cimport fill_own_ratios
from sktopic._kernels.random._block_sums cimport BLOCK, find_block
from sktopic._kernels.random._rng cimport Stream, combine, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef extern from "numbers/_compiler.h" nogil:
    void prefetch "FETCH"(const void* address)

cdef struct WordState:
    # The word being visited: its counts and what follows from them. Arrays have n_topics entries.
    int32_t n_topics
    double* topic_word_prior     # beta of the word
    const double* prior_sum      # sum of beta
    const double* prior   # alpha
    double* totals        # n_k
    double* inverse       # 1 / (n_k + sum of beta)
    double* count         # n_kw
    double* q
    double* block         # sums of alpha_k q_k by blocks
    double fixed          # their sum


cdef inline double inverse_after(const WordState* word, int32_t k, double weight) noexcept nogil:
    """1 / (n_k + sum of beta) after tokens have entered topic k (fractions leave less than nothing)."""
    return 1.0 / (max(word.totals[k] + weight, 0.0) + word.prior_sum[k])


cdef inline double ratio_after(
    const WordState* word, int32_t k, double weight, double inverse
) noexcept nogil:
    """q_k after some tokens of the word have entered topic k, given the inverse of then."""
    return (max(word.count[k] + weight, 0.0) + word.topic_word_prior[k]) * inverse


cdef inline void move_to(WordState* word, int32_t k, double weight, double q, double inverse) noexcept nogil:
    """Let tokens of the word enter or leave topic k, with what ratio and inverse become by that."""
    cdef double change = word.prior[k] * (q - word.q[k])
    word.count[k] += weight
    word.totals[k] += weight
    word.inverse[k] = inverse
    word.q[k] = q
    word.block[k // BLOCK] += change
    word.fixed += change


cdef inline int32_t draw_fixed(const WordState* word, double u, int32_t old, double change) noexcept nogil:
    """Draw from alpha_k q_k: the block first, then a scan inside it. Block sums do not know yet that the
    ratio of topic old (-1: none) has changed."""
    cdef int32_t changed = old // BLOCK if old >= 0 else -1, k, stop
    cdef double block_change = word.prior[old] * change if old >= 0 else 0.0
    k = BLOCK * find_block(word.block, (word.n_topics - 1) // BLOCK, changed, block_change, &u)
    stop = min(k + BLOCK, word.n_topics) - 1
    u -= word.prior[k] * word.q[k]
    while u >= 0 and k < stop:
        k += 1
        u -= word.prior[k] * word.q[k]
    return k


cdef struct TopicList:
    # The topics of one document.
    TopicClumps* entry
    double* weight
    int32_t n


cdef inline void put(TopicList* topics, int32_t j, int32_t k, double weight) noexcept nogil:
    """Add a clump of topic k at its position j, which may be the end of the list."""
    if j == topics.n:
        open_entry(topics.entry, &topics.n, k)
    topics.entry[j].clumps += 1
    topics.weight[j] += weight


cdef inline void take(TopicList* topics, int32_t j, double weight) noexcept nogil:
    """Remove a clump; the last entry takes the place of one without members."""
    topics.entry[j].clumps -= 1
    topics.weight[j] = max(topics.weight[j] - weight, 0.0)
    if topics.entry[j].clumps == 0:
        topics.n -= 1
        topics.entry[j] = topics.entry[topics.n]
        topics.weight[j] = topics.weight[topics.n]
        topics.weight[topics.n] = 0.0


cdef inline void scan(
    const TopicList* topics, const double* q, double* partial_sum, double* lane
) noexcept nogil:
    """Fill partial_sum with the cumulative sums of n_dk q_k within each lane, and lane with the sum of all
    lanes before each of the four, and of all."""
    cdef Py_ssize_t j = 0, n = topics.n
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    while j < n:
        s0 += topics.weight[j] * q[topics.entry[j].topic]
        s1 += topics.weight[j + 1] * q[topics.entry[j + 1].topic]
        s2 += topics.weight[j + 2] * q[topics.entry[j + 2].topic]
        s3 += topics.weight[j + 3] * q[topics.entry[j + 3].topic]
        partial_sum[j] = s0
        partial_sum[j + 1] = s1
        partial_sum[j + 2] = s2
        partial_sum[j + 3] = s3
        j += 4
    lane[0] = 0.0
    lane[1] = s0
    lane[2] = s0 + s1
    lane[3] = (s0 + s1) + s2
    lane[4] = ((s0 + s1) + s2) + s3


cdef inline int32_t draw_listed(
    const TopicList* topics, const double* partial_sum, const double* lane, double u
) noexcept nogil:
    """The position of a topic drawn from n_dk q_k, u in [0, lane[4])."""
    cdef int32_t first = (u >= lane[1]) + (u >= lane[2]) + (u >= lane[3]), j, position = first
    u -= lane[first]
    for j in range(first, topics.n, 4):
        position += 4 * (partial_sum[j] <= u)
    if position >= topics.n:  # u was rounded up to the lane's end
        position = first
        while position + 4 < topics.n:
            position += 4
    return position


def sweep_words(
    cells,
    double[:, ::1] counts,
    bint update_counts,
    double[::1] totals,
    const double[::1] prior,
    topic_prior,
    lists,
    int32_t[::1] z,
    int32_t[::1] hint,
    uint64_t key,
):
    """Draw the topic of every token of some documents once, given all others.

    Parameters
    ----------
    cells : CellsByWord                                                                           IN
    counts : (n_features, n_topics) tokens of each word in each topic, n_kw                       IN/OUT
    update_counts : whether to change the counts; otherwise transfer_counts does it later, and other documents
        can be swept at the same time, against counts of before the sweep
    totals : (n_topics,) n_k                                                                      IN/OUT
    prior : (n_topics,) alpha, > 0                                                                IN
    topic_prior : TopicPrior                                                                      IN
    lists : ClumpLists                                                                            IN/OUT
    z : (n_clumps,) topic of each clump of the cells, -1: none yet                                IN/OUT
    hint : (n_clumps,) where a clump's topic may be found in its document's list; any value >= 0  IN/OUT
    key : word w draws from the stream of combine(key, w)

    An exception leaves the counts as z has them, and totals and lists unfinished.
    """
    cdef const int64_t[::1] word_indptr = cells.word_indptr
    cdef const int32_t[::1] words = cells.words
    cdef const int32_t[::1] cell_document = cells.cell_document
    cdef const double[::1] cell_count = cells.cell_count
    cdef double topic_word_prior = topic_prior.topic_word_prior
    cdef const int64_t[::1] own_indptr = topic_prior.own_indptr
    cdef const int32_t[::1] own_topic = topic_prior.own_topic
    cdef const double[::1] own_value = topic_prior.own_value
    cdef const double[::1] prior_sum = topic_prior.prior_sum
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicClumps[::1] entries = lists.entries
    cdef double[::1] entry_weight = lists.entry_weight
    cdef int32_t[::1] n_entries = lists.n_entries
    cdef int32_t n_topics = <int32_t>prior.shape[0], i, j, k, old, position = 0, d, n_parts
    cdef Py_ssize_t w, cell, start, own, token = 0, n_cells = cell_document.shape[0], done = 0
    cdef double weight, listed_weight = 0.0, q_old = 0.0, q_less = 0.0, fixed, u
    cdef double inverse, inverse_less = 0.0
    cdef bint only
    cdef double[5] lane
    cdef TopicList topics
    cdef Stream stream
    cdef WordState word
    cdef double[:, ::1] scratch = np.empty((6, n_topics + 4), dtype=np.float64)
    cdef double* partial_sum = &scratch[4, 0]
    word.n_topics = n_topics
    word.topic_word_prior = &scratch[5, 0]
    word.prior_sum = &prior_sum[0]
    word.prior = &prior[0]
    word.totals = &totals[0]
    word.count = &scratch[0, 0]
    word.q = &scratch[1, 0]
    word.block = &scratch[2, 0]
    word.inverse = &scratch[3, 0]
    with nogil:
        for k in range(n_topics):
            word.inverse[k] = 1.0 / (totals[k] + prior_sum[k])
            word.topic_word_prior[k] = topic_word_prior
        for w in range(words.shape[0]):
            if update_counts:
                word.count = &counts[words[w], 0]
            else:
                memcpy(word.count, &counts[words[w], 0], n_topics * sizeof(double))
            for own in range(own_indptr[words[w]], own_indptr[words[w] + 1]):
                word.topic_word_prior[own_topic[own]] = own_value[own]
            word.fixed = fill_own_ratios(
                word.count, word.inverse, word.prior, word.topic_word_prior, n_topics, word.q, word.block
            )
            seed_stream(&stream, combine(key, <uint64_t>words[w]))
            count_work(&done, n_topics)
            for cell in range(word_indptr[w], word_indptr[w + 1]):
                if cell + 4 < n_cells:
                    start = list_start[cell_document[cell + 4]]
                    prefetch(&entries[start])
                    prefetch(&entries[start] + 8)
                    prefetch(&entry_weight[start])
                    prefetch(&entry_weight[start] + 8)
                d = cell_document[cell]
                start = list_start[d]
                topics.entry = &entries[start]
                topics.weight = &entry_weight[start]
                topics.n = n_entries[d]
                n_parts = n_clumps(cell_count[cell])
                count_work(&done, n_parts * (2 * topics.n + 32))
                for i in range(n_parts):
                    weight = clump_weight(cell_count[cell], n_parts, i)
                    old = z[token]
                    fixed = word.fixed
                    if old >= 0:  # take the token out, in a way that is easily undone: most do not move
                        q_old = word.q[old]
                        inverse_less = inverse_after(&word, old, -weight)
                        q_less = ratio_after(&word, old, -weight, inverse_less)
                        word.q[old] = q_less
                        fixed += word.prior[old] * (q_less - q_old)
                        position = hint[token]
                        if position >= topics.n or topics.entry[position].topic != old:
                            position = find(topics.entry, topics.n, old)
                            hint[token] = position
                        listed_weight = topics.weight[position]
                        only = topics.entry[position].clumps == 1
                        topics.weight[position] = 0.0 if only else max(listed_weight - weight, 0.0)
                    scan(&topics, word.q, partial_sum, lane)
                    u = next_uniform(&stream) * (lane[4] + fixed)
                    if u < lane[4]:
                        j = draw_listed(&topics, partial_sum, lane, u)
                        k = topics.entry[j].topic
                    else:
                        k = draw_fixed(&word, u - lane[4], old, q_less - q_old)
                        j = -1
                    if old >= 0:
                        word.q[old] = q_old
                        topics.weight[position] = listed_weight
                        if k == old:
                            token += 1
                            continue
                        move_to(&word, old, -weight, q_less, inverse_less)
                    if j < 0:
                        j = find(topics.entry, topics.n, k)
                    hint[token] = j
                    put(&topics, j, k, weight)
                    if old >= 0:
                        take(&topics, position, weight)
                    inverse = inverse_after(&word, k, weight)
                    move_to(&word, k, weight, ratio_after(&word, k, weight, inverse), inverse)
                    z[token] = k
                    token += 1
                n_entries[d] = topics.n
            for own in range(own_indptr[words[w]], own_indptr[words[w] + 1]):
                word.topic_word_prior[own_topic[own]] = topic_word_prior


def transfer_counts(
    const int64_t[::1] word_indptr,
    const int32_t[::1] words,
    const double[::1] cell_count,
    const int32_t[::1] before,
    const int32_t[::1] z,
    double[:, ::1] counts,
):
    """Change the counts of words in topics (IN/OUT) from assignments before to assignments z, -1: none."""
    cdef Py_ssize_t w, cell, token = 0
    cdef int32_t i, n_parts
    cdef double weight
    with nogil:
        for w in range(words.shape[0]):
            for cell in range(word_indptr[w], word_indptr[w + 1]):
                n_parts = n_clumps(cell_count[cell])
                for i in range(n_parts):
                    if before[token] != z[token]:
                        weight = clump_weight(cell_count[cell], n_parts, i)
                        if before[token] >= 0:
                            counts[words[w], before[token]] -= weight
                        if z[token] >= 0:
                            counts[words[w], z[token]] += weight
                    token += 1


def list_topics(
    const int32_t[::1] cell_document,
    const double[::1] cell_count,
    lists,
    const int32_t[::1] z,
):
    """Fill the documents' ClumpLists (OUT; zeros on entry) from assignments z."""
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicClumps[::1] entries = lists.entries
    cdef double[::1] entry_weight = lists.entry_weight
    cdef int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t cell, start, token = 0, done = 0
    cdef int32_t i, n_parts
    cdef TopicList topics
    with nogil:
        for cell in range(cell_document.shape[0]):
            start = list_start[cell_document[cell]]
            topics.entry = &entries[start]
            topics.weight = &entry_weight[start]
            topics.n = n_entries[cell_document[cell]]
            n_parts = n_clumps(cell_count[cell])
            count_work(&done, n_parts * (topics.n + 4))
            for i in range(n_parts):
                put(
                    &topics,
                    find(topics.entry, topics.n, z[token]),
                    z[token],
                    clump_weight(cell_count[cell], n_parts, i),
                )
                token += 1
            n_entries[cell_document[cell]] = topics.n
