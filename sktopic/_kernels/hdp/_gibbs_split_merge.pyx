"""Splitting and merging topics of a hierarchical Dirichlet process by Metropolis and Hastings.

The state is the topics of all tokens and the weights G of topics at the root, tables being summed out:

    p(z, G) ~ b0^K prod_k 1 / G_k  prod_jk Gamma(b1 G_k + n_jk) / Gamma(b1 G_k)  prod_k p(words of topic k),

apart from the rest of G, which no move changes. Two tokens are drawn, in a way that does not look at their
topics. If they share a topic, it is proposed to split it into two, of which each holds one of them; if not,
to merge their topics. What a split would be is found by Gibbs sampling restricted to two sides (Jain and
Neal, 2004), in which the two tokens stay where they are: a launch state is made by adding the other tokens
one after the other (Dahl, 2005; Wang and Blei, 2012) and by some sweeps. Then the log odds x of the two
weights are drawn from a normal distribution and the sides in one more sweep, of which the probability q is
known. A split is accepted with probability

    min(1, b0 / N(x; mu, sigma) / q * (likelihood of both sides) / (likelihood of one topic)),

where 1 / (v (1 - v)) of the weights' density has cancelled against that of x = log(v / (1 - v)). A merge is
accepted with the inverse, the last sweep being made to end at the topics that are there.
"""

import numpy as np

from libc.math cimport INFINITY, M_PI, cos, exp, lgamma, log, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.documents._topic_lists cimport TopicTables, find, open_entry
from sktopic._kernels.random._rng cimport Stream, combine, next_below, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work

cdef struct Own:
    # The tokens in question, word by word; order has them document by document.
    Py_ssize_t n
    int32_t* order
    int32_t* first        # of a document in order, and at last of the next one
    Py_ssize_t[2] anchor
    int32_t* token
    int32_t* cell
    int8_t* side
    int8_t* target


cdef struct Sides:
    # Counts of the two sides by document and by word (two neighbors each), and in all.
    int32_t* by_document
    double* by_word
    double[2] total
    double[2] n_documents  # that have tokens of each
    double[2] weight       # b1 G of each
    double both            # and of both
    double topic_word_prior
    double norm_offset


cdef struct Cells:
    Py_ssize_t n
    const int32_t* word
    const int32_t* document
    const double* count
    const int64_t* start


cdef inline double weight_of(const Cells* cells, Py_ssize_t cell, int32_t token) noexcept nogil:
    return clump_weight(
        cells.count[cell], n_clumps(cells.count[cell]), <int32_t>(token - cells.start[cell])
    )


cdef inline void add(Sides* sides, const Cells* cells, const Own* own, Py_ssize_t i, int sign) noexcept nogil:
    """Let token i enter (sign 1) or leave (-1) its side."""
    cdef Py_ssize_t cell = own.cell[i]
    cdef int side = own.side[i]
    cdef double weight = sign * weight_of(cells, cell, own.token[i])
    cdef int32_t* n = &sides.by_document[2 * cells.document[cell] + side]
    n[0] += sign
    if n[0] == (sign > 0):  # it was the first, or the last
        sides.n_documents[side] += sign
    sides.by_word[2 * cells.word[cell] + side] += weight
    sides.total[side] += weight


cdef inline double share(const Sides* sides, Py_ssize_t document, Py_ssize_t word, int side) noexcept nogil:
    """What side a token goes to, up to a common factor; the weights are shared like the documents."""
    cdef double weight = (
        sides.both * sides.n_documents[side] / (sides.n_documents[0] + sides.n_documents[1])
    )
    return (
        (sides.by_document[2 * document + side] + weight)
        * (max(sides.by_word[2 * word + side], 0.0) + sides.topic_word_prior)
        / (max(sides.total[side], 0.0) + sides.norm_offset)
    )


cdef double sweep_sides(
    Sides* sides, const Cells* cells, Own* own, bint placed, bint follow, double least, Stream* stream,
    Py_ssize_t* done
) except? -1.0 nogil:
    """Visit all tokens but the anchors; returns the log probability of what came of it. It may stop when that
    falls below least.

    placed: whether they have sides yet; follow: whether they go to their targets, not where draws send them.
    """
    cdef Py_ssize_t p, i, document, word
    cdef double first, second, q = 1.0, log_q = 0.0
    for p in range(own.n):
        i = own.order[p]
        count_work(done, 64)
        if i == own.anchor[0] or i == own.anchor[1]:
            continue
        document = cells.document[own.cell[i]]
        word = cells.word[own.cell[i]]
        if placed:
            add(sides, cells, own, i, -1)
        first = share(sides, document, word, 0)
        second = share(sides, document, word, 1)
        if follow:
            own.side[i] = own.target[i]
        else:
            own.side[i] = next_uniform(stream) * (first + second) >= first
        q *= (second if own.side[i] else first) / (first + second)
        add(sides, cells, own, i, 1)
        if q < 1e-200:
            log_q += log(q)
            q = 1.0
            if log_q < least:
                return log_q
    return log_q + log(q)


cdef double log_ratio(
    const Sides* sides, const Cells* cells, const Own* own, Py_ssize_t* done
) except? -1.0 nogil:
    """log likelihood of two sides less that of one topic. The counts of a document become negative when they
    have been seen, and are restored."""
    cdef Py_ssize_t i, c, d, w
    cdef int s
    cdef double total = 0.0, both, n0, n1, beta = sides.topic_word_prior
    cdef double all_weight = sides.weight[0] + sides.weight[1]
    cdef double base = lgamma(sides.weight[0]) + lgamma(sides.weight[1]) - lgamma(all_weight)
    cdef double word_base = lgamma(beta)
    cdef int32_t last_word = -1
    for i in range(own.n):
        c = own.cell[i]
        w = cells.word[c]
        count_work(done, 64)
        if w != last_word:  # words come one after the other
            last_word = <int32_t>w
            n0 = max(sides.by_word[2 * w], 0.0)
            n1 = max(sides.by_word[2 * w + 1], 0.0)
            if n0 > 0.0 and n1 > 0.0:
                total += lgamma(n0 + beta) + lgamma(n1 + beta) - lgamma(n0 + n1 + beta) - word_base
        d = cells.document[c]
        if sides.by_document[2 * d] >= 0 and sides.by_document[2 * d + 1] >= 0:
            n0 = sides.by_document[2 * d]
            n1 = sides.by_document[2 * d + 1]
            total += lgamma(sides.weight[0] + n0) + lgamma(sides.weight[1] + n1)
            total -= lgamma(all_weight + n0 + n1) + base
            for s in range(2):
                sides.by_document[2 * d + s] = -1 - sides.by_document[2 * d + s]
    for i in range(own.n):
        d = cells.document[own.cell[i]]
        for s in range(2):
            if sides.by_document[2 * d + s] < 0:
                sides.by_document[2 * d + s] = -1 - sides.by_document[2 * d + s]
    both = max(sides.total[0], 0.0) + max(sides.total[1], 0.0)
    total += lgamma(both + sides.norm_offset) + lgamma(sides.norm_offset)
    for s in range(2):
        total -= lgamma(max(sides.total[s], 0.0) + sides.norm_offset)
    return total


cdef void clear(Sides* sides, const Cells* cells, const Own* own) noexcept nogil:
    cdef Py_ssize_t i
    cdef int s
    for i in range(own.n):
        for s in range(2):
            sides.by_document[2 * cells.document[own.cell[i]] + s] = 0
            sides.by_word[2 * cells.word[own.cell[i]] + s] = 0.0
    for s in range(2):
        sides.total[s] = sides.n_documents[s] = 0.0


cdef void sort_by_document(const Cells* cells, Own* own, Py_ssize_t n_documents) noexcept nogil:
    cdef Py_ssize_t i, d
    memset(own.first, 0, (n_documents + 1) * sizeof(int32_t))
    for i in range(own.n):
        own.first[cells.document[own.cell[i]] + 1] += 1
    for d in range(n_documents):
        own.first[d + 1] += own.first[d]
    for i in range(own.n):
        d = cells.document[own.cell[i]]
        own.order[own.first[d]] = <int32_t>i
        own.first[d] += 1


cdef int gather(
    const Cells* cells, const int32_t* z, const int32_t* topic, const int32_t* anchors, Own* own,
    Py_ssize_t* done
) except -1 nogil:
    """Note the tokens of both topics, and which of them are the anchors."""
    cdef Py_ssize_t cell, token
    own.n = 0
    for cell in range(cells.n):
        count_work(done, cells.start[cell + 1] - cells.start[cell])
        for token in range(cells.start[cell], cells.start[cell + 1]):
            if z[token] == topic[0] or z[token] == topic[1]:
                if token == anchors[0]:
                    own.anchor[0] = own.n
                if token == anchors[1]:
                    own.anchor[1] = own.n
                own.token[own.n] = <int32_t>token
                own.cell[own.n] = <int32_t>cell
                own.target[own.n] = z[token] == topic[1]
                own.n += 1
    return 0


cdef void move_customer(TopicTables* entries, int32_t* n, int32_t old, int32_t new) noexcept nogil:
    """Let a customer of a document change its topic."""
    cdef int32_t j = find(entries, n[0], old)
    entries[j].clumps -= 1
    if entries[j].clumps == 0:
        n[0] -= 1
        entries[j] = entries[n[0]]
    j = find(entries, n[0], new)
    if j == n[0]:
        open_entry(entries, n, new)
        entries[j].tables = 1
    entries[j].clumps += 1


cdef void draw_anchors(
    const Cells* cells, const int32_t* token_cell, Py_ssize_t n_tokens, int32_t* anchors, Stream* stream
) noexcept nogil:
    """Two tokens: any, or in half of the cases two of one word."""
    cdef bint any_word = next_uniform(stream) < 0.5
    cdef Py_ssize_t first, last
    anchors[0] = <int32_t>next_below(stream, n_tokens)
    first = last = token_cell[anchors[0]]
    if any_word:
        anchors[1] = <int32_t>next_below(stream, n_tokens)
        return
    while first > 0 and cells.word[first - 1] == cells.word[last]:
        first -= 1
    while last + 1 < cells.n and cells.word[last + 1] == cells.word[first]:
        last += 1
    anchors[1] = <int32_t>(
        cells.start[first] + next_below(stream, cells.start[last + 1] - cells.start[first])
    )


cdef double find_sides(
    Sides* sides, const Cells* cells, Own* own, int n_scans, bint follow, double least, Stream* stream,
    Py_ssize_t* done
) except? -1.0 nogil:
    """Let all tokens find a side; returns the log probability of the last sweep. What is done before depends
    on the tokens of both sides together and on the sum of their weights, not on who is where."""
    cdef int s
    for s in range(2):
        own.side[own.anchor[s]] = s
        add(sides, cells, own, own.anchor[s], 1)
    for s in range(n_scans):
        sweep_sides(sides, cells, own, s > 0, False, -INFINITY, stream, done)
    return sweep_sides(sides, cells, own, n_scans > 0, follow, least, stream, done)


cdef void find_law(const Sides* sides, double* law) noexcept nogil:
    """Mean and variance of the log odds that the weights of two sides are drawn with."""
    law[0] = log(sides.n_documents[0] / sides.n_documents[1])
    law[1] = 1.0 / sides.n_documents[0] + 1.0 / sides.n_documents[1]


cdef inline double log_normal(double x, const double* law) noexcept nogil:
    return -0.5 * ((x - law[0]) * (x - law[0]) / law[1] + log(2.0 * M_PI * law[1]))


cdef double propose_split(
    Sides* sides,
    const Cells* cells,
    Own* own,
    double weight,
    double topic_concentration,
    int n_scans,
    Stream* stream,
    Py_ssize_t* done,
) except? -1.0 nogil:
    """Fill in the sides of a split and return the logarithm of its acceptance ratio."""
    cdef double[2] law
    cdef double radius, x, log_q
    sides.both = weight
    log_q = find_sides(sides, cells, own, n_scans, False, -INFINITY, stream, done)
    find_law(sides, law)
    radius = sqrt(-2.0 * log(1.0 - next_uniform(stream)))
    x = law[0] + sqrt(law[1]) * radius * cos(2.0 * M_PI * next_uniform(stream))
    sides.weight[0] = weight / (1.0 + exp(-x))
    sides.weight[1] = weight / (1.0 + exp(x))
    return log(topic_concentration) - log_normal(x, law) - log_q + log_ratio(sides, cells, own, done)


cdef double propose_merge(
    Sides* sides,
    const Cells* cells,
    Own* own,
    double topic_concentration,
    int n_scans,
    double log_u,
    Stream* stream,
    Py_ssize_t* done,
) except? -1.0 nogil:
    """Return the logarithm of the acceptance ratio of merging the sides, or, if that is below log_u, anything
    that is."""
    cdef double[2] law
    cdef double rest
    cdef Py_ssize_t i
    for i in range(own.n):
        own.side[i] = own.target[i]
        add(sides, cells, own, i, 1)
    find_law(sides, law)
    rest = log_normal(log(sides.weight[0] / sides.weight[1]), law)
    rest -= log(topic_concentration) + log_ratio(sides, cells, own, done)
    if rest < log_u:  # no launch state can help it
        return -INFINITY
    clear(sides, cells, own)
    sides.both = sides.weight[0] + sides.weight[1]
    return rest + find_sides(sides, cells, own, n_scans, True, log_u - rest, stream, done)


cdef void move_tokens(
    const Cells* cells,
    const Own* own,
    const int8_t* side,
    int8_t moved,
    const int32_t* topic,
    double[:, ::1] counts,
    double[::1] totals,
    const int64_t[::1] list_start,
    TopicTables[::1] entries,
    int32_t[::1] n_entries,
    int32_t[::1] z,
) noexcept nogil:
    """Move the tokens of a side from the first topic to the second."""
    cdef Py_ssize_t i, d, w
    cdef double weight
    for i in range(own.n):
        if side[i] != moved:
            continue
        d = cells.document[own.cell[i]]
        w = cells.word[own.cell[i]]
        weight = weight_of(cells, own.cell[i], own.token[i])
        counts[w, topic[0]] -= weight
        counts[w, topic[1]] += weight
        totals[topic[0]] -= weight
        totals[topic[1]] += weight
        z[own.token[i]] = topic[1]
        move_customer(&entries[list_start[d]], &n_entries[d], topic[0], topic[1])


def split_merge(
    cells,
    topics,
    const uint8_t[::1] fixed,
    double topic_concentration,
    double topic_word_prior,
    lists,
    int32_t[::1] z,
    Py_ssize_t n_proposals,
    int n_scans,
    uint64_t key,
):
    """Propose to split or merge topics some times.

    Parameters
    ----------
    cells : NumberedCells                                                                                   IN
    topics : RootTopics of all words, of which root is b1 G_k; n_proposals spare columns at least       IN/OUT
    fixed : (size,) uint8, 1 for topics that are left as they are, since other documents have them          IN
    topic_concentration, topic_word_prior : b0 and beta
    lists : TableLists, of which tables are not read                                                    IN/OUT
    z : (n_clumps,) topic of each clump                                                                 IN/OUT
    n_proposals, n_scans : number of proposals; of sweeps for a launch state
    key : proposal i draws from the stream of combine(key, i)

    An exception leaves all that changes as the last complete proposal did.

    Returns
    -------
    n_splits, n_merges : int
        Those accepted.
    """
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const int32_t[::1] cell_document = cells.cell_document
    cdef const double[::1] cell_count = cells.cell_count
    cdef const int64_t[::1] cell_start = cells.cell_start
    cdef double[:, ::1] counts = topics.counts
    cdef double[::1] totals = topics.totals
    cdef double[::1] weight = topics.root
    cdef int64_t[::1] ids = topics.ids
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicTables[::1] entries = lists.entries
    cdef int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t n_tokens = z.shape[0], n_documents = n_entries.shape[0], p, i
    cdef Py_ssize_t n_splits = 0, n_merges = 0, done = 0
    cdef int32_t[2] anchors
    cdef int32_t[2] topic
    cdef double log_u, score
    cdef int scans
    cdef int8_t* moved = NULL
    cdef Cells visited
    cdef Own own
    cdef Sides sides
    cdef Stream stream
    if n_tokens < 2:
        return 0, 0
    cdef int32_t[:, ::1] members = np.empty((3, n_tokens), dtype=np.int32)
    cdef int8_t[:, ::1] marks = np.zeros((2, n_tokens), dtype=np.int8)
    cdef int32_t[::1] by_document = np.zeros(2 * n_documents, dtype=np.int32)
    cdef int32_t[::1] first = np.empty(n_documents + 1, dtype=np.int32)
    cdef double[::1] by_word = np.zeros(2 * counts.shape[0])
    cdef int32_t[::1] token_cell = np.repeat(np.arange(len(cell_word), dtype=np.int32), np.diff(cell_start))
    visited.n = cell_word.shape[0]
    visited.word = &cell_word[0]
    visited.document = &cell_document[0]
    visited.count = &cell_count[0]
    visited.start = &cell_start[0]
    own.token = &members[0, 0]
    own.cell = &members[1, 0]
    own.order = &members[2, 0]
    own.first = &first[0]
    own.side = &marks[0, 0]
    own.target = &marks[1, 0]
    sides.by_document = &by_document[0]
    sides.by_word = &by_word[0]
    for i in range(2):
        sides.total[i] = sides.n_documents[i] = 0.0
    sides.topic_word_prior = topic_word_prior
    sides.norm_offset = topic_word_prior * counts.shape[0]
    with nogil:
        for p in range(n_proposals):
            seed_stream(&stream, combine(key, <uint64_t>p))
            log_u = log(1.0 - next_uniform(&stream))
            scans = 0 if next_uniform(&stream) < 0.5 else n_scans
            draw_anchors(&visited, &token_cell[0], n_tokens, anchors, &stream)
            topic[0] = z[anchors[0]]
            topic[1] = z[anchors[1]]
            if anchors[0] == anchors[1] or fixed[topic[0]] or fixed[topic[1]]:
                continue
            gather(&visited, &z[0], topic, anchors, &own, &done)
            sort_by_document(&visited, &own, n_documents)
            if topic[0] == topic[1]:
                score = propose_split(
                    &sides, &visited, &own, weight[topic[0]], topic_concentration, scans, &stream,
                    &done,
                )
                if log_u < score:
                    n_splits += 1
                    topic[1] = 0
                    while weight[topic[1]] > 0.0:
                        topic[1] += 1
                    # The larger part keeps the topic's identity.
                    i = sides.total[0] >= sides.total[1]
                    weight[topic[0]] = sides.weight[1 - i]
                    weight[topic[1]] = sides.weight[i]
                    ids[topic[1]] = -1
                    moved = own.side
            else:
                sides.weight[0] = weight[topic[0]]
                sides.weight[1] = weight[topic[1]]
                score = propose_merge(
                    &sides, &visited, &own, topic_concentration, scans, log_u, &stream, &done
                )
                if log_u < score:
                    n_merges += 1
                    i = totals[topic[0]] >= totals[topic[1]]
                    if i:  # the first of the two is the one that goes
                        topic[0], topic[1] = topic[1], topic[0]
                    weight[topic[1]] += weight[topic[0]]
                    weight[topic[0]] = 0.0
                    ids[topic[0]] = -1
                    moved = own.target
            if log_u < score:
                move_tokens(
                    &visited, &own, moved, <int8_t>i, topic, counts, totals, list_start, entries, n_entries, z
                )
            clear(&sides, &visited, &own)
    return n_splits, n_merges
