"""The document step of the hybrid HDP: topics and table indicators, with topics and root weights held fixed.

In a document, customers (tokens) of topic k sit at m_k tables, n_k customers in all. What opens a table is
drawn from the root, where topic k has weight r_k; with alpha_k = b1 r_k and phi_kw of its word, a token is

    at the first table of a topic that the document does not have   alpha_k phi_kw
    at a new table of one that it has     alpha_k phi_kw S(n+1, m+1) / S(n, m) (m + 1) / (n + 1)
    at one of its tables                  phi_kw S(n+1, m) / S(n, m) (n - m + 1) / (n + 1)

(equations 18 to 20 of Burkhardt and Kramer, 2017, with S the Stirling numbers; see _stirling). Which token
opened a table is not kept: a token that is taken out was the first at its table with probability m / n.

The dense sampler goes over all topics for each token. The sparse one (algorithm 2 there) draws from the sum
over the topics of the document and a remainder Q - Delta: Q is the sum of alpha_k phi_kw, Delta that of the
document's topics; for the remainder topics are drawn from alpha_k phi_kw until one comes up that the document
does not have. Rows are scaled to Q = 1. Common words have an alias table of alpha_k phi_kw; a word that is
drawn seldom would not pay for one, and is looked up in cumulative sums.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.documents._sampled_counts cimport (
    Buffer, Columns, append, begin_counts, clear_columns, end_counts, name_column, to_array, widen_counts,
)
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._stirling cimport Stirling, free_stirling, init_stirling, seat_ratios
from sktopic._kernels.random._alias cimport draw_alias
from sktopic._kernels.random._block_sums cimport BLOCK, draw_fixed
from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work

# Draws of topics for the remainder before those that a document lacks are gone through one by one.
cdef enum:
    MAX_TRIES = 16
# A remainder below this is summed anew: as a difference it would have lost digits.
cdef double SMALL_REMAINDER = 1e-3


cdef struct Seats:
    # The topics of one document. Arrays have an entry a topic, position one for each topic of the model.
    int32_t n
    int32_t* topic
    int32_t* position    # entry of a topic, or -1
    int32_t* customers
    int32_t* tables
    double* alpha
    double* opens        # weight of a new table, over phi
    double* weight       # of a new or an old one


cdef struct Aliases:
    # Alias tables of alpha_k phi_kw, a row each.
    const int32_t* of_word    # row of a word, or -1
    const double* threshold
    const int32_t* alias


cdef inline int refresh(Seats* seats, int32_t j, Stirling* stirling) noexcept nogil:
    """Compute the weights of an entry anew; -1 when there is no memory."""
    cdef double joins
    if seat_ratios(
        stirling, seats.customers[j], seats.tables[j], seats.alpha[j], &seats.opens[j], &joins
    ) != 0:
        return -1
    seats.weight[j] = seats.opens[j] + joins
    return 0


cdef inline int32_t seat(Seats* seats, int32_t topic, bint at_new_table, const double* alpha) noexcept nogil:
    """Add a customer and return the entry, whose weights are those of before."""
    cdef int32_t j = seats.position[topic]
    if j < 0:
        j = seats.n
        seats.n += 1
        seats.topic[j] = topic
        seats.position[topic] = j
        seats.customers[j] = seats.tables[j] = 0
        seats.alpha[j] = alpha[topic]
    seats.customers[j] += 1
    seats.tables[j] += at_new_table
    return j


cdef inline bint unseat(
    Seats* seats, int32_t topic, Columns* columns, Stirling* stirling, Stream* stream
) noexcept nogil:
    """Take a customer out; whether that was done (the first at the only table of several stays)."""
    cdef int32_t j = seats.position[topic], last
    cdef bint first = next_uniform(stream) * seats.customers[j] < seats.tables[j]
    if first and seats.tables[j] == 1 and seats.customers[j] > 1:
        return False
    seats.customers[j] -= 1
    seats.tables[j] -= first
    if seats.customers[j] > 0:
        refresh(seats, j, stirling)  # with fewer customers than before: the table has it
        return True
    last = seats.n - 1
    seats.n = last
    seats.position[topic] = -1
    if j < last:
        seats.topic[j] = seats.topic[last]
        seats.customers[j] = seats.customers[last]
        seats.tables[j] = seats.tables[last]
        seats.alpha[j] = seats.alpha[last]
        seats.opens[j] = seats.opens[last]
        seats.weight[j] = seats.weight[last]
        seats.position[seats.topic[j]] = j
        columns.of_entry[j] = columns.of_entry[last]
    return True


cdef inline void clear_seats(Seats* seats) noexcept nogil:
    cdef int32_t j
    for j in range(seats.n):
        seats.position[seats.topic[j]] = -1
    seats.n = 0


cdef int32_t draw_absent(
    const Seats* seats, const real* row, const double* alpha, int32_t n_topics, double u
) noexcept nogil:
    """The topic at which the sum over those that the document lacks passes u, at the latest the last."""
    cdef int32_t k, last = -1
    for k in range(n_topics):
        if seats.position[k] < 0:
            last = k
            u -= alpha[k] * row[k]
            if u < 0.0:
                break
    return last


cdef inline double sum_absent(
    const Seats* seats, const real* row, const double* alpha, int32_t n_topics
) noexcept nogil:
    cdef int32_t k
    cdef double total = 0.0
    for k in range(n_topics):
        if seats.position[k] < 0:
            total += alpha[k] * row[k]
    return total


cdef inline bint opens_table(const Seats* seats, int32_t j, Stream* stream) noexcept nogil:
    return next_uniform(stream) * seats.weight[j] < seats.opens[j]


cdef inline int32_t draw_any(
    const real* row, const real* cumulative, const double* alpha, int32_t n_topics, int32_t word,
    const Aliases* aliases, Stream* stream
) noexcept nogil:
    """Draw a topic from alpha_k phi_kw."""
    cdef Py_ssize_t first = aliases.of_word[word] * <Py_ssize_t>n_topics
    if first >= 0:
        return draw_alias(aliases.threshold + first, aliases.alias + first, n_topics, stream)
    return draw_fixed(row, cumulative, alpha, n_topics, <real>next_uniform(stream))


cdef int32_t draw_sparse(
    const Seats* seats, const real* row, const real* cumulative, const double* alpha, int32_t n_topics,
    int32_t word, const Aliases* aliases, double* partial_sum, Stream* stream, bint* at_new_table
) noexcept nogil:
    """Draw a topic and whether it opens a table."""
    cdef double total = 0.0, delta = 0.0, rest, u
    cdef int32_t j, k
    cdef int _attempt
    for j in range(seats.n):
        total += row[seats.topic[j]] * seats.weight[j]
        delta += row[seats.topic[j]] * seats.alpha[j]
        partial_sum[j] = total
    rest = 0.0 if seats.n == n_topics else 1.0 - delta
    if rest < SMALL_REMAINDER and seats.n < n_topics:
        rest = sum_absent(seats, row, alpha, n_topics)
    u = next_uniform(stream) * (total + rest)
    if u < total or rest <= 0.0:
        j = 0
        for k in range(seats.n - 1):
            j += partial_sum[k] <= u
        at_new_table[0] = opens_table(seats, j, stream)
        return seats.topic[j]
    at_new_table[0] = True
    for _attempt in range(MAX_TRIES):
        k = draw_any(row, cumulative, alpha, n_topics, word, aliases, stream)
        if seats.position[k] < 0:
            return k
    u = next_uniform(stream) * sum_absent(seats, row, alpha, n_topics)
    return draw_absent(seats, row, alpha, n_topics, u)


cdef int32_t draw_dense(
    const Seats* seats, const real* row, const double* alpha, int32_t n_topics, double* product,
    Stream* stream, bint* at_new_table
) noexcept nogil:
    """The same, by the weights of all topics."""
    cdef double total = 0.0, u
    cdef int32_t j, k, last = n_topics - 1
    for k in range(n_topics):
        product[k] = alpha[k] * row[k]
    for j in range(seats.n):
        k = seats.topic[j]
        product[k] = row[k] * seats.weight[j]
    for k in range(n_topics):
        total += product[k]
        product[k] = total
    u = next_uniform(stream) * total
    k = 0
    while k < last and product[k] <= u:
        k += 1
    j = seats.position[k]
    at_new_table[0] = j < 0 or opens_table(seats, j, stream)
    return k


cdef int sweep_document(
    Py_ssize_t n_cells, const int32_t* cell_word, const double* cell_count, const real* rows,
    const real* cumulative, const double* alpha, int32_t n_topics, int n_burn_in, int n_sweeps, bint sparse,
    Stream* stream, int32_t* z, Seats* seats, Columns* columns, Stirling* stirling, const Aliases* aliases,
    double* scratch, Buffer* values, double weight, double* tables, Py_ssize_t* done
) except -1 nogil:
    """All sweeps over one document: leaves its topics in columns, appends its block of draws to values and
    adds its tables in counted sweeps, times its weight, to tables. 1 when there is no memory."""
    cdef Py_ssize_t n_blocks = (n_topics + BLOCK - 1) // BLOCK, start = values.used
    cdef Py_ssize_t stride = 0, cell, token
    cdef int32_t i, j, k, n_parts
    cdef int sweep
    cdef bint keep, at_new_table = True
    cdef const real* row
    cdef const real* sums
    cdef real* out
    for sweep in range(n_burn_in + n_sweeps):
        keep = sweep >= n_burn_in
        if keep:
            for j in range(seats.n):
                name_column(columns, seats.topic[j], j)
        if sweep == n_burn_in:
            stride = begin_counts(values, n_cells, seats.n, n_topics, sizeof(real))
            if stride < 0:
                return 1
        token = 0
        for cell in range(n_cells):
            row = rows + cell_word[cell] * <Py_ssize_t>n_topics
            sums = cumulative + cell_word[cell] * n_blocks
            n_parts = n_clumps(cell_count[cell])
            count_work(done, n_parts * ((2 * seats.n if sparse else 2 * n_topics) + 32))
            for i in range(n_parts):
                k = z[token]
                if sweep == 0 or unseat(seats, k, columns, stirling, stream):
                    if sparse:
                        k = draw_sparse(
                            seats, row, sums, alpha, n_topics, cell_word[cell], aliases, scratch, stream,
                            &at_new_table)
                    else:
                        k = draw_dense(seats, row, alpha, n_topics, scratch, stream, &at_new_table)
                    j = seat(seats, k, at_new_table, alpha)
                    if sweep == 0:
                        # As customers come, one after the other: tables are right for the topics at once.
                        seats.opens[j] = seats.alpha[j]
                        seats.weight[j] = seats.alpha[j] + seats.customers[j]
                    elif refresh(seats, j, stirling) != 0:
                        return 1
                    z[token] = k
                token += 1
                if not keep:
                    continue
                j = seats.position[k]
                name_column(columns, k, j)
                if columns.n > stride:
                    stride = widen_counts(values, n_cells, stride, n_topics, sizeof(real))
                    if stride < 0:
                        return 1
                out = <real*>(values.data + start) + cell * stride
                out[columns.of_entry[j]] += <real>clump_weight(cell_count[cell], n_parts, i)
        if keep:
            for j in range(seats.n):
                tables[seats.topic[j]] += weight * seats.tables[j]
        if sweep == 0:
            for j in range(seats.n):
                if refresh(seats, j, stirling) != 0:
                    return 1
    end_counts(values, n_cells, columns.n, stride, sizeof(real))
    return 0


def sweep_tables(
    cells,
    const real[:, ::1] rows,
    const real[:, ::1] cumulative,
    const double[::1] alpha,
    const uint64_t[::1] keys,
    const double[::1] sample_weight,
    int n_burn_in,
    int n_sweeps,
    tables_of_words=None,
):
    """Sample topics and table indicators of documents; sum the draws and tables of the counted sweeps.

    Parameters
    ----------
    cells : DocumentCells                                                                          IN
    rows, cumulative : as in _sparse_gibbs.sweep_documents                                         IN
    alpha : (n_topics,) b1 times the root weights, scaled rows @ alpha = 1                         IN
    sample_weight : (n_documents,) by which the tables of a document are multiplied; (0,): by one  IN
    n_burn_in, n_sweeps : sweeps discarded, then sweeps summed
    tables_of_words : AliasTables, with which draws go over the document's topics only; None: over all, by the
        same law                                                                                   IN

    Returns
    -------
    column_indptr, column_topic, values : as of _sparse_gibbs.sweep_documents with drawn=True;
    tables (n_topics,) float64 : the sums of the documents' tables, by weight.
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef const int32_t[::1] table_of_word
    cdef const double[:, ::1] threshold
    cdef const int32_t[:, ::1] alias
    cdef bint sparse = tables_of_words is not None
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, first, n_cells, cell
    cdef Py_ssize_t most = 1, n_tokens, done = 0
    cdef int32_t n_topics = <int32_t>rows.shape[1]
    cdef int64_t base = indptr[0]
    cdef int status = 0
    cdef bint weighted = sample_weight.shape[0] > 0
    cdef Stream stream
    cdef Stirling stirling
    cdef Seats seats
    cdef Columns columns
    cdef Aliases aliases
    cdef Buffer values, topics
    for d in range(n_documents):
        n_tokens = 0
        for cell in range(indptr[d] - base, indptr[d + 1] - base):
            n_tokens += n_clumps(cell_count[cell])
        most = max(most, n_tokens)
    dtype = np.float32 if real is float else np.float64
    column_indptr_array = np.zeros(n_documents + 1, dtype=np.int64)
    tables_array = np.zeros(n_topics)
    cdef int64_t[::1] column_indptr = column_indptr_array
    cdef double[::1] tables = tables_array
    cdef int32_t[:, ::1] ints = np.full((7, n_topics), -1, dtype=np.int32)
    cdef double[:, ::1] doubles = np.empty((4, n_topics))
    cdef int32_t[::1] z = np.empty(most, dtype=np.int32)
    seats.n = columns.n = 0
    seats.topic = &ints[0, 0]
    seats.position = &ints[1, 0]
    seats.customers = &ints[2, 0]
    seats.tables = &ints[3, 0]
    columns.topic = &ints[4, 0]
    columns.position = &ints[5, 0]
    columns.of_entry = &ints[6, 0]
    seats.alpha = &doubles[0, 0]
    seats.opens = &doubles[1, 0]
    seats.weight = &doubles[2, 0]
    aliases.of_word = NULL
    aliases.threshold = NULL
    aliases.alias = NULL
    if sparse:
        table_of_word = tables_of_words.of_word
        threshold, alias = tables_of_words.threshold, tables_of_words.alias
        aliases.of_word = &table_of_word[0]
        aliases.threshold = &threshold[0, 0] if threshold.shape[0] > 0 else NULL
        aliases.alias = &alias[0, 0] if alias.shape[0] > 0 else NULL
    values.data = topics.data = NULL
    values.used = values.capacity = topics.used = topics.capacity = 0
    init_stirling(&stirling)
    try:
        with nogil:
            for d in range(n_documents):
                first = indptr[d] - base
                n_cells = indptr[d + 1] - indptr[d]
                if n_cells > 0:
                    seed_stream(&stream, keys[d])
                    status = sweep_document(
                        n_cells, &cell_word[first], &cell_count[first], &rows[0, 0], &cumulative[0, 0],
                        &alpha[0],
                        n_topics, n_burn_in, n_sweeps, sparse, &stream, &z[0], &seats, &columns, &stirling,
                        &aliases, &doubles[3, 0], &values, sample_weight[d] if weighted else 1.0,
                        &tables[0], &done,
                    )
                    status |= append(&topics, columns.topic, columns.n * sizeof(int32_t))
                    if status != 0:
                        break
                column_indptr[d + 1] = column_indptr[d] + columns.n
                clear_seats(&seats)
                clear_columns(&columns)
        if status != 0:
            raise MemoryError("no memory for the draws of a batch; use a smaller batch_size")
        return column_indptr_array, to_array(&topics, np.int32), to_array(&values, dtype), tables_array
    finally:
        free(values.data)
        free(topics.data)
        free_stirling(&stirling)


def token_conditional(
    const int32_t[::1] customers, const int32_t[::1] tables, const real[::1] row, const double[::1] alpha
):
    """Weights of one token's options, given those of the others in its document.

    Returns
    -------
    opens, joins (n_topics,) float64 : of a new table of each topic, of an old one (0 where there is none).
    """
    cdef Py_ssize_t n_topics = row.shape[0], k, i
    cdef int status = 0
    cdef Stirling stirling
    cdef Seats seats
    cdef int32_t[:, ::1] ints = np.full((4, n_topics), -1, dtype=np.int32)
    cdef double[:, ::1] doubles = np.empty((3, n_topics))
    opens_array, joins_array = np.empty(n_topics), np.zeros(n_topics)
    cdef double[::1] opens = opens_array, joins = joins_array
    seats.n = 0
    seats.topic, seats.position = &ints[0, 0], &ints[1, 0]
    seats.customers, seats.tables = &ints[2, 0], &ints[3, 0]
    seats.alpha, seats.opens, seats.weight = &doubles[0, 0], &doubles[1, 0], &doubles[2, 0]
    init_stirling(&stirling)
    for k in range(n_topics):
        opens[k] = alpha[k] * row[k]
        for i in range(customers[k]):
            seat(&seats, <int32_t>k, i < tables[k], &alpha[0])
        if customers[k] > 0:
            i = seats.position[k]
            status |= refresh(&seats, <int32_t>i, &stirling)
            opens[k] = row[k] * seats.opens[i]
            joins[k] = row[k] * (seats.weight[i] - seats.opens[i])
    free_stirling(&stirling)
    if status != 0:
        raise MemoryError("no memory for Stirling numbers")
    return opens_array, joins_array
