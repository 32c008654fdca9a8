"""Sweeps of Gibbs sampling for the hierarchical Dirichlet process, word by word.

Customers are clumps of tokens, restaurants are documents, dishes are topics. Document j has n_jk customers
and m_jk tables of topic k; M_k = sum_j m_jk. With all counts but the token's, q_k = (N_kw + beta) / (N_k +
V beta), P_k the weight of topic k at the root and R that of all topics to come, a token of word w goes

    to any topic k, opening a table                  with weight P_k q_k,
    to a topic k of its document, at a table more    with weight P_k q_k a_jk,
    to a topic k of its document, at an old table    with weight c_jk s q_k,
    to a new topic                                   with weight R / V.

Table indicators (Chen, Du and Buntine, 2011): P_k = M_k, R = b0, s = (b0 + M.) / b1, c the ratio S(n + 1,
m) / S(n, m) (n - m + 1) / (n + 1) and 1 + a the ratio S(n + 1, m + 1) / S(n, m) (m + 1) / (n + 1), S being
Stirling numbers; a is never negative. Before it is drawn, a token is taken from its document as the head of
a table with probability m / n. Direct assignment (Teh et al., 2006): P_k = b1 G_k, R = b1 times the rest of
G, s = 1, c = n and a = 0; tables are not seen.

With alias tables, the first of these weights is replaced by one that was computed for a whole block of
tokens and costs nothing to draw from, and a step of Metropolis and Hastings puts right what was drawn. So
that its law is exactly the same, the table does not look at the tokens it is for: it is made of the other
blocks' counts of the word and of the tables of the documents outside the block. (With tables that have seen
them, as in Li et al., 2014, proposals depend on where a token is, and the law is another one.)

All tokens of a word are visited one after the other, so that q is at hand for all topics and a move changes
two of its entries. A document's topics are a list (see _topic_lists), and beside each entry there are its
seat ratios (a, c). A topic is in use if its root weight is positive.
"""

import numpy as np

from libc.math cimport lgamma, log, pow
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.documents._topic_lists cimport TopicTables, find, open_entry
from sktopic._kernels.numbers._stirling cimport (
    Stirling,
    free_stirling,
    init_stirling,
    reserve_stirling,
    seat_ratios,
    v_of,
)
from sktopic._kernels.numbers._vector cimport fill_ratios
from sktopic._kernels.random._alias cimport build_alias, draw_alias
from sktopic._kernels.random._block_sums cimport BLOCK, find_block
from sktopic._kernels.random._rng cimport Stream, combine, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport OFTEN, count_work, look

SEAT_RATIOS = np.dtype([("table", np.float64), ("seat", np.float64)])

# The samplers, by their numbers in sweep_cells.
cdef enum:
    DIRECT = 0
    INDICATORS = 1
    SPARSE = 2

# What a sweep returns in the place of a cell.
cdef enum:
    NO_MEMORY = -2


cdef struct SeatRatio:
    # Weights of a customer more in a topic of a document: a, of a table more, and c, of an old one.
    double table
    double seat


cdef struct Document:
    TopicTables* entry
    SeatRatio* ratio
    int32_t n


cdef struct Topics:
    # All topics, and their weights for the word being visited. Arrays have size entries.
    int32_t size
    bint indicators
    int32_t n_free
    double topic_word_prior      # beta
    double norm_offset    # V beta
    double doc_concentration
    double rest           # R
    double tables         # b0 + M.
    double seat           # s
    double* root          # P_k
    double* totals        # N_k
    double* inverse       # 1 / (N_k + V beta)
    double* count         # N_kw
    double* q
    double* block         # sums of P_k q_k by blocks
    double fixed          # their sum


cdef inline void move(Topics* topics, int32_t k, double weight, int32_t tables) noexcept nogil:
    """Let a clump, and perhaps a table, enter or leave topic k."""
    cdef double share = topics.root[k] * topics.q[k], change
    topics.count[k] += weight
    topics.totals[k] += weight
    if topics.indicators and tables != 0:
        topics.root[k] += tables
        topics.tables += tables
        topics.seat = topics.tables / topics.doc_concentration
        if topics.root[k] == 0.0:
            topics.n_free += 1
    topics.inverse[k] = 1.0 / (max(topics.totals[k], 0.0) + topics.norm_offset)
    topics.q[k] = (max(topics.count[k], 0.0) + topics.topic_word_prior) * topics.inverse[k]
    change = topics.root[k] * topics.q[k] - share
    topics.block[k // BLOCK] += change
    topics.fixed += change


cdef inline int32_t position_of(const Document* document, int32_t k) noexcept nogil:
    """The position of topic k in a document's list, or the length of that."""
    return find(document.entry, document.n, k)


cdef inline int weigh_seats(Document* document, int32_t j, bint indicators, Stirling* table) noexcept nogil:
    """Fill in the seat ratios of a list's entry; -1 when there is no memory."""
    cdef SeatRatio* ratio = &document.ratio[j]
    if not indicators:
        ratio.table = 0.0
        ratio.seat = document.entry[j].clumps
        return 0
    if seat_ratios(
        table, document.entry[j].clumps, document.entry[j].tables, 1.0, &ratio.table, &ratio.seat
    ) != 0:
        return -1
    ratio.table = max(ratio.table - 1.0, 0.0)  # rounding
    return 0


cdef inline int seat_customer(
    Document* document, int32_t j, int32_t k, bint opens, bint indicators, Stirling* table
) noexcept nogil:
    """Add a customer of topic k at its position j, which may be the end of the list."""
    if j == document.n:
        open_entry(document.entry, &document.n, k)
    document.entry[j].clumps += 1
    document.entry[j].tables += opens
    return weigh_seats(document, j, indicators, table)


cdef inline int remove_customer(
    Document* document, int32_t j, bint head, bint indicators, Stirling* table
) noexcept nogil:
    """Remove a customer; the last entry takes the place of one without any."""
    document.entry[j].clumps -= 1
    document.entry[j].tables -= head
    if document.entry[j].clumps > 0:
        return weigh_seats(document, j, indicators, table)
    document.n -= 1
    document.entry[j] = document.entry[document.n]
    document.ratio[j] = document.ratio[document.n]
    return 0


cdef inline double scan(const Document* document, const Topics* topics, double* partial_sum) noexcept nogil:
    """Cumulative sums of the weights of a document's own topics; returns the last."""
    cdef int32_t j, k
    cdef double total = 0.0
    for j in range(document.n):
        k = document.entry[j].topic
        total += topics.q[k] * (
            topics.root[k] * document.ratio[j].table + topics.seat * document.ratio[j].seat
        )
        partial_sum[j] = total
    return total


cdef inline int32_t draw_fixed(const Topics* topics, double u) noexcept nogil:
    """Draw from P_k q_k: the block first, then a scan inside it; -1 if rounding leaves nothing to draw."""
    cdef int32_t b = find_block(topics.block, (topics.size - 1) // BLOCK, -1, 0.0, &u), k, found = -1
    for k in range(b * BLOCK, min(b * BLOCK + BLOCK, topics.size)):
        if topics.root[k] > 0.0:
            found = k
            u -= topics.root[k] * topics.q[k]
            if u < 0.0:
                return k
    return found


cdef inline int32_t create_topic(Topics* topics, double topic_concentration, Stream* stream) noexcept nogil:
    """Put a new topic in the first unused column; with direct assignment it breaks a stick off the rest."""
    cdef int32_t k = 0
    cdef double stick
    while topics.root[k] > 0.0:
        k += 1
    topics.n_free -= 1
    if not topics.indicators:
        stick = topics.rest * (1.0 - pow(next_uniform(stream), 1.0 / topic_concentration))
        topics.root[k] = max(stick, 1e-290)
        topics.rest = max(topics.rest - stick, 0.0)
        topics.block[k // BLOCK] += topics.root[k] * topics.q[k]
        topics.fixed += topics.root[k] * topics.q[k]
    return k


cdef struct Seat:
    # Where a token goes. position: of the topic in its document's list, or -1 if not known.
    int32_t topic
    int32_t position
    bint opens


cdef inline Seat draw_own(
    const Document* document, const Topics* topics, const double* partial_sum, double u
) noexcept nogil:
    """Draw from the weights of a document's own topics, u below their sum."""
    cdef Seat seat
    cdef int32_t j = 0
    while partial_sum[j] <= u:
        j += 1
    if j > 0:
        u -= partial_sum[j - 1]
    seat.topic = document.entry[j].topic
    seat.position = j
    seat.opens = u < topics.q[seat.topic] * topics.root[seat.topic] * document.ratio[j].table
    return seat


cdef inline Seat draw_seat(
    const Document* document, const Topics* topics, double* partial_sum, double new, Stream* stream
) noexcept nogil:
    """Draw from all weights; topic -1 stands for a new one."""
    cdef Seat seat
    cdef double own = scan(document, topics, partial_sum)
    cdef double u = next_uniform(stream) * (own + topics.fixed + new)
    if u < own:
        return draw_own(document, topics, partial_sum, u)
    seat.position = -1
    seat.opens = True
    seat.topic = draw_fixed(topics, u - own) if u - own < topics.fixed else -1
    return seat


cdef struct Cells:
    # What does not change. Cells of a word are neighbors.
    Py_ssize_t n
    Py_ssize_t n_documents
    const int32_t* word
    const int32_t* document
    const double* count
    const int64_t* start
    const int64_t* list_start


cdef struct Proposals:
    # Stale weights of topics, and of a new one behind them, for the cells before last; their total is 0 where
    # draws are made without them.
    Py_ssize_t last
    double total
    double* weight
    double* threshold
    int32_t* alias
    int32_t* work
    double* tokens


cdef void block_bounds(
    const Cells* cells, Py_ssize_t cell, uint64_t key, Py_ssize_t* block, Py_ssize_t* n_word_cells
) noexcept nogil:
    """Bounds of the block that a cell is in: three of random bounds for a word."""
    cdef Py_ssize_t first = cell, last = cell + 1, size, stop
    cdef Stream stream
    while first > 0 and cells.word[first - 1] == cells.word[cell]:
        first -= 1
    while last < cells.n and cells.word[last] == cells.word[cell]:
        last += 1
    n_word_cells[0] = last - first
    size = max((last - first) // 2, 1)
    seed_stream(&stream, combine(combine(key, <uint64_t>first), 1))
    stop = first + 1 + <Py_ssize_t>(next_uniform(&stream) * size)
    block[0] = first
    while stop <= cell:
        block[0] = stop
        stop += size
    block[1] = min(stop, last)


cdef void begin_block(
    Proposals* proposals,
    const Topics* topics,
    const Cells* cells,
    const Py_ssize_t* block,
    Py_ssize_t n_word_cells,
    const TopicTables* entries,
    const int32_t* n_entries,
    const int32_t* z,
    double new,
) noexcept nogil:
    """Make the alias table of a block."""
    cdef Py_ssize_t cell, token, j, n = block[1] - block[0]
    cdef int32_t k, d, parts
    cdef double tables, tokens
    memset(proposals.weight, 0, topics.size * sizeof(double))
    memset(proposals.tokens, 0, topics.size * sizeof(double))
    for cell in range(block[0], block[1]):
        parts = n_clumps(cells.count[cell])
        for token in range(parts):
            k = z[cells.start[cell] + token]
            if k >= 0:
                proposals.tokens[k] += clump_weight(cells.count[cell], parts, <int32_t>token)
        d = cells.document[cell]
        for j in range(cells.list_start[d], cells.list_start[d] + n_entries[d]):
            proposals.weight[entries[j].topic] += entries[j].tables
    # What is left out is made up for, on average.
    tables = 1.0 + n / max(cells.n_documents - n, 1.0)
    tokens = 1.0 + n / <double>max(n_word_cells - n, 1)
    for k in range(topics.size):
        proposals.weight[k] = (
            tables
            * max(topics.root[k] - proposals.weight[k], 0.0)
            * (tokens * max(topics.count[k] - proposals.tokens[k], 0.0) + topics.topic_word_prior)
            / (max(topics.totals[k] - proposals.tokens[k], 0.0) + topics.norm_offset)
        )
    proposals.weight[topics.size] = new
    proposals.total = build_alias(
        proposals.weight, topics.size + 1, proposals.threshold, proposals.alias, proposals.work
    )


cdef inline double correction(
    const Document* document, const Topics* topics, const Proposals* proposals, int32_t k, int32_t position
) noexcept nogil:
    """Weight of opening a table for topic k over that with which it is proposed."""
    cdef double first = topics.root[k] * topics.q[k]
    cdef double more = first * document.ratio[position].table if position < document.n else 0.0
    return (first + more) / (proposals.weight[k] + more)


cdef inline Seat propose_seat(
    const Document* document,
    const Topics* topics,
    const Proposals* proposals,
    double* partial_sum,
    int32_t old,
    bint head,
    Stream* stream,
) noexcept nogil:
    """Draw from the proposals, and accept or stay with topic old (if that is gone, it is as a new one)."""
    cdef Seat seat, stay
    cdef double ratio = 1.0
    cdef double own = scan(document, topics, partial_sum), u = next_uniform(stream) * (own + proposals.total)
    stay.topic = old
    stay.position = position_of(document, old)
    stay.opens = head
    if u < own:
        seat = draw_own(document, topics, partial_sum, u)
    else:
        seat.opens = True
        seat.topic = draw_alias(proposals.threshold, proposals.alias, topics.size + 1, stream)
        if seat.topic == topics.size:
            seat.topic = -1
        else:
            seat.position = position_of(document, seat.topic)
    if seat.topic >= 0 and seat.opens:
        ratio = correction(document, topics, proposals, seat.topic, seat.position)
    if head and topics.root[old] > 0.0:
        ratio /= correction(document, topics, proposals, old, stay.position)
    return seat if next_uniform(stream) < ratio else stay


cdef void begin_word(Topics* topics) noexcept nogil:
    """Weights of all topics for a word whose counts are in place."""
    topics.fixed = fill_ratios(
        topics.count, topics.inverse, topics.root, topics.topic_word_prior, topics.size, topics.q,
        topics.block,
    )


cdef void begin_topics(Topics* topics) noexcept nogil:
    """What follows from totals and root weights."""
    cdef int32_t k
    topics.n_free = 0
    for k in range(topics.size):
        topics.inverse[k] = 1.0 / (max(topics.totals[k], 0.0) + topics.norm_offset)
        topics.n_free += topics.root[k] == 0.0


cdef Py_ssize_t visit_cells(
    Py_ssize_t first_cell,
    const Cells* cells,
    Topics* topics,
    Proposals* proposals,
    Stirling* table,
    double[:, ::1] counts,
    int64_t[::1] ids,
    int sampler,
    int common,
    double topic_concentration,
    Py_ssize_t n_features,
    TopicTables[::1] entries,
    SeatRatio[::1] ratios,
    int32_t[::1] n_entries,
    int32_t[::1] z,
    double* partial_sum,
    uint64_t key,
) except -1 nogil:
    """The sweep; returns its end (see sweep_cells), or NO_MEMORY."""
    cdef int32_t size = topics.size, i, j, d, n_parts, old, word = -1
    cdef Py_ssize_t cell, token, n_word_cells = 0, done = 0
    cdef Py_ssize_t[2] block
    cdef double weight, new
    cdef bint head = False
    cdef int status = 0
    cdef TopicTables* entry
    cdef Seat seat
    cdef Document document
    cdef Stream stream
    begin_topics(topics)
    for cell in range(first_cell, cells.n):
        n_parts = n_clumps(cells.count[cell])
        if topics.n_free < n_parts:
            return cell
        if cells.word[cell] != word:
            word = cells.word[cell]
            topics.count = &counts[word, 0]
            begin_word(topics)
            done += 2 * size
        if sampler == SPARSE and cell >= proposals.last:
            block_bounds(cells, cell, key, block, &n_word_cells)
            proposals.last = block[1]
            proposals.total = 0.0
            if n_word_cells >= common:
                done += 32 * size + 64 * (block[1] - block[0])
                begin_block(
                    proposals,
                    topics,
                    cells,
                    block,
                    n_word_cells,
                    &entries[0],
                    &n_entries[0],
                    &z[0],
                    topics.rest / n_features,
                )
        d = cells.document[cell]
        document.entry = &entries[cells.list_start[d]]
        document.ratio = &ratios[cells.list_start[d]]
        document.n = n_entries[d]
        done += n_parts * (4 * document.n + 64)
        if done >= OFTEN:
            done = 0
            look()
        seed_stream(&stream, combine(key, <uint64_t>cell))
        for i in range(n_parts):
            token = cells.start[cell] + i
            weight = clump_weight(cells.count[cell], n_parts, i)
            old = z[token]
            if old >= 0:
                j = position_of(&document, old)
                entry = &document.entry[j]
                head = topics.indicators and next_uniform(&stream) * entry.clumps < entry.tables
                if head and entry.tables == 1 and entry.clumps > 1:
                    continue  # the others sit at its table: it can go nowhere
                status |= remove_customer(&document, j, head, topics.indicators, table)
                move(topics, old, -weight, -<int32_t>head)
            if proposals.total > 0.0 and old >= 0:
                seat = propose_seat(
                    &document, topics, proposals, partial_sum, old, head, &stream
                )
            else:
                new = topics.rest / n_features
                seat = draw_seat(&document, topics, partial_sum, new, &stream)
            if seat.topic < 0:
                seat.topic = create_topic(topics, topic_concentration, &stream)
                ids[seat.topic] = -1
                seat.position = document.n
            elif topics.root[seat.topic] == 0.0:  # it stays in a topic that was its own
                topics.n_free -= 1
            if seat.position < 0:
                seat.position = position_of(&document, seat.topic)
            status |= seat_customer(
                &document, seat.position, seat.topic, seat.opens, topics.indicators, table
            )
            move(topics, seat.topic, weight, seat.opens)
            z[token] = seat.topic
        n_entries[d] = document.n
        if status != 0:
            return NO_MEMORY
    return cells.n


def sweep_cells(
    Py_ssize_t first_cell,
    cells,
    topics,
    double rest,
    settings,
    lists,
    SeatRatio[::1] ratios,
    int32_t[::1] z,
    uint64_t key,
):
    """Draw topic (and table indicator) of the tokens of some cells once, each given all others.

    Parameters
    ----------
    first_cell : where to begin
    cells : NumberedCells                                                                                   IN
    topics : RootTopics, of which root is P_k                                                           IN/OUT
    rest : R
    settings : SweepSettings                                                                                IN
    lists, ratios : TableLists and the seat ratios of their entries                                     IN/OUT
    z : (n_clumps,) topic of each clump, -1: none yet                                                   IN/OUT
    key : a cell draws from the stream of combine(key, its number)

    An exception leaves counts and totals as z has them; what else changes is unfinished then.

    Returns
    -------
    next_cell : int
        The number of cells; or the first cell not yet visited, for which there may be too few spare columns.
    rest : float
    """
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const int32_t[::1] cell_document = cells.cell_document
    cdef const double[::1] cell_count = cells.cell_count
    cdef const int64_t[::1] cell_start = cells.cell_start
    cdef double[:, ::1] counts = topics.counts
    cdef double[::1] totals = topics.totals
    cdef double[::1] root = topics.root
    cdef int64_t[::1] ids = topics.ids
    cdef double topic_concentration = settings.topic_concentration
    cdef double doc_concentration = settings.doc_concentration
    cdef double topic_word_prior = settings.topic_word_prior
    cdef Py_ssize_t n_features = settings.n_features
    cdef int sampler = settings.sampler, common = settings.common
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicTables[::1] entries = lists.entries
    cdef int32_t[::1] n_entries = lists.n_entries
    cdef int32_t size = <int32_t>root.shape[0]
    cdef Py_ssize_t cell, n_cells = cell_word.shape[0]
    cdef Topics weighed
    cdef Cells visited
    cdef Proposals proposals
    cdef Stirling table
    cdef Py_ssize_t longest = np.diff(list_start).max(initial=0)
    cdef double[:, ::1] scratch = np.empty((6, size + 1))
    cdef int32_t[:, ::1] alias = np.empty((2, size + 1), dtype=np.int32)
    cdef double[::1] partial_sum = np.empty(longest + 1)
    weighed.size = size
    weighed.indicators = sampler != DIRECT
    weighed.topic_word_prior = topic_word_prior
    weighed.norm_offset = topic_word_prior * n_features
    weighed.doc_concentration = doc_concentration
    weighed.rest = rest
    weighed.root = &root[0]
    weighed.totals = &totals[0]
    weighed.inverse = &scratch[0, 0]
    weighed.q = &scratch[1, 0]
    weighed.block = &scratch[2, 0]
    weighed.tables = topic_concentration + np.asarray(root).sum()
    weighed.seat = weighed.tables / doc_concentration if weighed.indicators else 1.0
    proposals.last = 0
    proposals.total = 0.0
    proposals.weight = &scratch[3, 0]
    proposals.threshold = &scratch[4, 0]
    proposals.tokens = &scratch[5, 0]
    proposals.alias = &alias[0, 0]
    proposals.work = &alias[1, 0]
    if n_cells == 0:
        return 0, rest
    visited.n = n_cells
    visited.n_documents = n_entries.shape[0]
    visited.word = &cell_word[0]
    visited.document = &cell_document[0]
    visited.count = &cell_count[0]
    visited.start = &cell_start[0]
    visited.list_start = &list_start[0]
    init_stirling(&table)
    try:
        with nogil:
            cell = visit_cells(
                first_cell,
                &visited,
                &weighed,
                &proposals,
                &table,
                counts,
                ids,
                sampler,
                common,
                topic_concentration,
                n_features,
                entries,
                ratios,
                n_entries,
                z,
                &partial_sum[0],
                key,
            )
    finally:
        free_stirling(&table)
    if cell == NO_MEMORY:
        raise MemoryError("no memory for Stirling numbers")
    return cell, weighed.rest


def list_topics(
    const int32_t[::1] cell_document,
    const double[::1] cell_count,
    lists,
    const int32_t[::1] z,
):
    """Fill the documents' TableLists (n_entries is zero on entry) from assignments z, one table a topic."""
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicTables[::1] entries = lists.entries
    cdef int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t cell, start, token = 0, done = 0
    cdef int32_t j
    cdef Document document
    with nogil:
        for cell in range(cell_document.shape[0]):
            start = list_start[cell_document[cell]]
            document.entry = &entries[start]
            document.n = n_entries[cell_document[cell]]
            count_work(&done, n_clumps(cell_count[cell]) * (document.n + 4))
            for token in range(token, token + n_clumps(cell_count[cell])):
                j = position_of(&document, z[token])
                if j == document.n:
                    open_entry(document.entry, &document.n, z[token])
                    document.entry[j].tables = 1
                document.entry[j].clumps += 1
            token += 1
            n_entries[cell_document[cell]] = document.n


def weigh_lists(
    lists,
    SeatRatio[::1] ratios,
    bint indicators,
):
    """Fill the seat ratios (OUT) of the documents' TableLists."""
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicTables[::1] entries = lists.entries
    cdef const int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t d, done = 0
    cdef int32_t j
    cdef int status = 0
    cdef Document document
    cdef Stirling table
    init_stirling(&table)
    try:
        with nogil:
            for d in range(n_entries.shape[0]):
                if n_entries[d] == 0:
                    continue
                document.entry = &entries[list_start[d]]
                document.ratio = &ratios[list_start[d]]
                count_work(&done, 64 * n_entries[d])
                for j in range(n_entries[d]):
                    status |= weigh_seats(&document, j, indicators, &table)
    finally:
        free_stirling(&table)
    if status != 0:
        raise MemoryError("no memory for Stirling numbers")


def draw_tables(
    lists,
    const double[::1] weight,
    double[::1] tables,
    uint64_t key,
):
    """Draw the documents' tables given their customers, by seating these one after the other.

    Parameters
    ----------
    lists : TableLists                                                                        IN/OUT
    weight : (size,) b1 G_k                                                                       IN
    tables : (size,) to which the tables of each topic are added                              IN/OUT
    key : document d draws from the stream of combine(key, d)
    """
    cdef const int64_t[::1] list_start = lists.list_start
    cdef TopicTables[::1] entries = lists.entries
    cdef const int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t d, j, done = 0
    cdef int32_t i, m, k
    cdef double a
    cdef Stream stream
    with nogil:
        for d in range(n_entries.shape[0]):
            seed_stream(&stream, combine(key, <uint64_t>d))
            for j in range(list_start[d], list_start[d] + n_entries[d]):
                k = entries[j].topic
                a = weight[k]
                m = 1
                for i in range(1, entries[j].clumps):
                    m += next_uniform(&stream) * (a + i) < a
                entries[j].tables = m
                tables[k] += m
            count_work(&done, 8 * (list_start[d + 1] - list_start[d]))


def log_seatings(lists):
    """The sum over the documents' topics, which TableLists have, of log S(n, m)."""
    cdef const int64_t[::1] list_start = lists.list_start
    cdef const TopicTables[::1] entries = lists.entries
    cdef const int32_t[::1] n_entries = lists.n_entries
    cdef Py_ssize_t d, j, done = 0
    cdef int32_t i, m, n
    cdef double total = 0.0
    cdef int status = 0
    cdef Stirling table
    init_stirling(&table)
    try:
        with nogil:
            for d in range(n_entries.shape[0]):
                for j in range(list_start[d], list_start[d] + n_entries[d]):
                    n = entries[j].clumps
                    m = entries[j].tables
                    status |= reserve_stirling(&table, n, m)
                    if status != 0:
                        break
                    total += lgamma(n)
                    count_work(&done, 32 * m + 64)
                    for i in range(2, m + 1):
                        total += log(v_of(&table, n, i))
    finally:
        free_stirling(&table)
    if status != 0:
        raise MemoryError("no memory for Stirling numbers")
    return total


def seat_weights(
    const int32_t[::1] n,
    const int32_t[::1] m,
    const double[::1] root,
    const double[::1] q,
    double topic_concentration,
    double doc_concentration,
):
    """Weights (n_topics, 2) of a token for a table more (u = 1) and an old one (u = 2) with table indicators.

    Parameters
    ----------
    n, m : (n_topics,) customers and tables of the document, without the token
    root, q : (n_topics,) M_k and the ratios of the token's word
    """
    cdef int32_t k
    cdef int status = 0
    cdef double tables = topic_concentration + np.asarray(root).sum()
    cdef TopicTables entry
    cdef SeatRatio ratio
    cdef Document document
    cdef Stirling table
    weights_array = np.zeros((n.shape[0], 2))
    cdef double[:, ::1] weights = weights_array
    init_stirling(&table)
    ratio.table = ratio.seat = 0.0
    document.entry = &entry
    document.ratio = &ratio
    for k in range(n.shape[0]):
        weights[k, 0] = root[k] * q[k]
        if n[k] > 0:
            entry.clumps = n[k]
            entry.tables = m[k]
            status |= weigh_seats(&document, 0, True, &table)
            weights[k, 0] += root[k] * q[k] * ratio.table
            weights[k, 1] = q[k] * tables / doc_concentration * ratio.seat
    free_stirling(&table)
    if status != 0:
        raise MemoryError("no memory for Stirling numbers")
    return weights_array
