"""The document step by Gibbs sampling with topics and prior held fixed, at sparse cost.

For token i of a document, p(z_i = k | z_-i) = phi_kw (alpha_k + n_k) / T, with n the counts of the
document without the token (equation 14 of Dupuy and Bach, 2017). The rows handed in are scaled so
that sum_k alpha_k phi_kw = 1; then T = 1 + s, where s sums phi_kw n_k over the topics present in
the document, and a draw above s comes from the fixed distribution alpha_k phi_kw of the word.

Instead of draws, the kernel can sum the conditional probabilities they were made from (Rao-Blackwell),
again at sparse cost: phi_kw n_k / T into one entry per topic of the document and cell, and 1 / T
into one scalar per cell, which stands for alpha_k phi_kw / T over all topics.

What documents themselves have added to phi_kw is left out as in _dense_gibbs, but that a topic's weight stays
at least alpha_k phi_kw, which the fixed distribution has.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sktopic._kernels._groups import SparseSums

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.documents._sampled_counts cimport (
    Buffer, append, end_counts, reserve, restride,
)
from sktopic._kernels.inference._document_topics cimport (
    DocumentTopics, clear_entries, drop_empty_entries, entry_of, put, take,
)
from sktopic._kernels.inference._lane_draws cimport LANES, draw_entry, set_entry
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._special cimport digamma
from sktopic._kernels.random._block_sums cimport BLOCK, draw_fixed
from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team
from sktopic._kernels.topics._sparse_rows cimport (
    SparseRows, addresses_of, draw_sparse, sparse_phi, unlisted,
)


# Entries for which a document has room at first: a multiple of LANES.
cdef enum:
    FIRST_WIDTH = 64


cdef struct Thread:
    # What a thread writes to: scratch space, and what it has found of its documents, one behind the other.
    DocumentTopics present
    void* mass  # of each entry, and zeros behind the last
    void* product
    void* running
    Buffer rows  # see begin_rows
    Py_ssize_t width
    bint is_summed
    double* log_theta  # or NULL
    double* less  # of each entry: the share of phi_kw that is left out for the present cell
    int32_t* lessened  # entries of which there is one
    Buffer values
    Buffer topics
    Buffer logs


cdef struct Found:
    # Where that of a document begins, in bytes.
    Py_ssize_t thread
    size_t values
    size_t topics
    size_t logs


cdef struct Sampling:
    # Arguments of sweep_documents ...
    const int64_t* indptr
    const int32_t* cell_word
    const double* cell_count
    const void* rows
    const void* cumulative
    const SparseRows* lists  # or NULL
    const double* prior
    const uint64_t* keys
    const double* own  # or NULL
    const double* token
    const double* smoothing
    const double* unit
    int32_t* z
    int n_burn_in
    int n_sweeps
    bint drawn
    # ... their sizes ...
    int32_t n_topics
    bint single  # whether rows are of single precision
    # ... and results.
    const int64_t* token_indptr
    Thread* threads
    Found* found
    double* fixed
    int64_t* column_indptr
    int64_t* value_indptr
    int32_t* column_topic
    void* values
    double* log_theta


cdef int sweep_document(Sampling* given, Py_ssize_t d, Thread* thread, real like) except -1 nogil:
    """All sweeps over one document: leaves its topics in present, appends its block (one row a cell, one
    entry a topic) to values and adds to the cells' fixed parts. 1 when there is no memory."""
    cdef int n_burn_in = given.n_burn_in, n_sweeps = given.n_sweeps
    cdef bint drawn = given.drawn
    cdef Py_ssize_t first = given.indptr[d] - given.indptr[0], n_cells = given.indptr[d + 1] - given.indptr[d]
    cdef Py_ssize_t n_topics = given.n_topics, n_blocks = (n_topics + BLOCK - 1) // BLOCK, done = 0
    cdef const int32_t* cell_word = given.cell_word + first
    cdef const double* cell_count = given.cell_count + first
    cdef const real* rows = <const real*>given.rows
    cdef const real* cumulative = <const real*>given.cumulative
    cdef const double* prior = given.prior
    cdef int32_t* z = given.z + given.token_indptr[d]
    cdef double* fixed = given.fixed + first
    cdef DocumentTopics* present = &thread.present
    cdef real* mass = <real*>thread.mass
    cdef real* product = <real*>thread.product
    cdef real* running = <real*>thread.running
    cdef double* log_theta = thread.log_theta
    cdef double own = given.own[d] if given.own != NULL else 0.0
    cdef Stream stream
    cdef Py_ssize_t cell, token, n_padded
    cdef int32_t i, j, k, n_parts, n_lessened = 0
    cdef int sweep
    cdef bint keep
    cdef double w
    cdef real total, left
    cdef const real* row
    cdef real* out

    seed_stream(&stream, given.keys[d])
    token = 0
    for cell in range(n_cells):  # topics that an earlier call left in z
        n_parts = n_clumps(cell_count[cell])
        for i in range(n_parts):
            if z[token] >= 0:
                put(present, entry_of(present, z[token]), clump_weight(cell_count[cell], n_parts, i))
            token += 1
        count_work(&done, n_parts)
    if begin_rows(given, thread, cell_word, n_cells, like) != 0:
        return 1
    count_work(&done, n_cells * present.n)

    for sweep in range(n_burn_in + n_sweeps):
        keep = sweep >= n_burn_in
        if sweep <= n_burn_in:  # topics of counted sweeps keep their columns
            count_work(&done, n_cells * present.n)
            drop_empty_columns(thread, n_cells, like)
        for j in range(present.n):
            mass[j] = <real>present.weight[j]
        for j in range(present.n, <int32_t>thread.width):
            mass[j] = 0
        if sweep == n_burn_in and begin_sums(thread, n_cells, sizeof(real)) != 0:
            return 1
        token = 0
        for cell in range(n_cells):
            n_parts = n_clumps(cell_count[cell])
            count_work(&done, n_parts * (present.n + 16))
            if own > 0.0 and keep:
                n_lessened = leave_out(
                    given, thread, own, cell, cell_word[cell], cell_count[cell], z + token, mass
                )
            for i in range(n_parts):
                w = clump_weight(cell_count[cell], n_parts, i)
                if z[token] >= 0:
                    j = present.position[z[token]]
                    take(present, j, w)
                    set_entry(mass, j, mass_of(given, thread, j, mass))
                n_padded = (present.n + LANES - 1) // LANES * LANES
                row = <const real*>thread.rows.data + cell * thread.width
                out = sums_of(thread, cell, mass) if keep and not drawn else NULL
                j = draw_entry(
                    n_padded, row, mass, product, running, <real>next_uniform(&stream), out, w, &total, &left
                )
                if out != NULL:
                    fixed[cell] += <real>(w / (total + 1))
                if j < 0:
                    if given.lists != NULL:
                        k = draw_sparse(given.lists, cell_word[cell], prior, left)
                    else:
                        k = draw_fixed(
                            rows + cell_word[cell] * n_topics, cumulative + cell_word[cell] * n_blocks,
                            prior, given.n_topics, left,
                        )
                    j = entry_in(given, thread, cell_word, n_cells, k, like)
                    if j < 0:
                        return 1
                    count_work(&done, n_cells)
                put(present, j, w)
                set_entry(mass, j, mass_of(given, thread, j, mass))
                z[token] = present.topic[j]
                token += 1
                if keep and drawn:
                    out = sums_of(thread, cell, mass)
                    out[j] += <real>w
            for i in range(n_lessened):
                j = thread.lessened[i]
                thread.less[j] = 0.0
                mass[j] = <real>present.weight[j]
        if keep and log_theta != NULL:
            if sweep == n_burn_in:
                for j in range(given.n_topics):
                    log_theta[j] = 0.0
            for j in range(present.n):
                k = present.topic[j]
                log_theta[j] += digamma(prior[k] + present.weight[j]) - digamma(prior[k])
    end_counts(&thread.values, n_cells, present.n, thread.width, sizeof(real))
    return 0


# rows holds phi_kw of each cell and each topic present, cell by cell, so that a draw reads contiguous memory.
# Sums have the same width until all sweeps are done.

cdef int begin_rows(
    const Sampling* given, Thread* thread, const int32_t* cell_word, Py_ssize_t n_cells, real like
) noexcept nogil:
    """Make room for the first entries, and read the rows of those there are; -1 when there is no memory."""
    cdef const DocumentTopics* present = &thread.present
    cdef const real* row
    cdef real* entries
    cdef Py_ssize_t c, n_topics = given.n_topics
    cdef int32_t j
    thread.is_summed = False
    thread.width = FIRST_WIDTH
    while thread.width < present.n:
        thread.width *= 2
    thread.rows.used = 0
    if reserve(&thread.rows, n_cells * thread.width * sizeof(real)) != 0:
        return -1
    memset(thread.rows.data, 0, n_cells * thread.width * sizeof(real))
    for c in range(n_cells):
        entries = <real*>thread.rows.data + c * thread.width
        if given.lists != NULL:
            fill_sparse(given.lists, cell_word[c], present, entries)
            continue
        row = <const real*>given.rows + cell_word[c] * n_topics
        for j in range(present.n):
            entries[j] = row[present.topic[j]]
    return 0


cdef inline void fill_sparse(
    const SparseRows* rows, int32_t word, const DocumentTopics* present, real* out
) noexcept nogil:
    """Fill out with phi_kw of the topics of a document, in the order of its entries."""
    cdef int64_t e
    cdef int32_t j
    for j in range(present.n):
        out[j] = unlisted(rows, word, present.topic[j], out[0])
    for e in range(rows.start[word], rows.start[word + 1]):
        j = present.position[rows.topic[e]]
        if j >= 0:
            out[j] += (<const real*>rows.value)[e]


cdef inline int begin_sums(Thread* thread, Py_ssize_t n_cells, size_t size) noexcept nogil:
    """Let all sums be zero, behind what values has; -1 when there is no memory."""
    cdef size_t n_bytes = n_cells * thread.width * size
    if reserve(&thread.values, n_bytes) != 0:
        return -1
    memset(thread.values.data + thread.values.used, 0, n_bytes)
    thread.is_summed = True
    return 0


cdef inline real* sums_of(const Thread* thread, Py_ssize_t cell, const real* like) noexcept nogil:
    """The sums of a cell, (width,)."""
    return <real*>(thread.values.data + thread.values.used) + cell * thread.width


cdef int widen(Thread* thread, Py_ssize_t n_cells, size_t size) noexcept nogil:
    """Make room for twice the entries; -1 when there is no memory."""
    cdef size_t old = thread.width * size, n_bytes = 2 * n_cells * old
    if reserve(&thread.rows, n_bytes) != 0:
        return -1
    restride(thread.rows.data, n_cells, old, old, 2 * old)
    if thread.is_summed:
        if reserve(&thread.values, n_bytes) != 0:
            return -1
        restride(thread.values.data + thread.values.used, n_cells, old, old, 2 * old)
    thread.width *= 2
    return 0


cdef int32_t entry_in(
    const Sampling* given,
    Thread* thread,
    const int32_t* cell_word,
    Py_ssize_t n_cells,
    int32_t topic,
    real like,
) noexcept nogil:
    """The entry of a topic, opened if need be; -1 when there is no memory."""
    cdef int32_t n = thread.present.n, j = entry_of(&thread.present, topic)
    cdef const real* column
    cdef Py_ssize_t c, n_topics = given.n_topics
    cdef real* rows
    cdef real* mass = <real*>thread.mass
    if j < n:
        return j
    if n == thread.width:
        if widen(thread, n_cells, sizeof(real)) != 0:
            return -1
        for c in range(n, thread.width):
            mass[c] = 0
    rows = <real*>thread.rows.data + j
    if given.lists != NULL:
        for c in range(n_cells):
            rows[c * thread.width] = sparse_phi(given.lists, cell_word[c], topic, like)
        return j
    column = <const real*>given.rows + topic
    for c in range(n_cells):
        rows[c * thread.width] = column[cell_word[c] * n_topics]
    return j


cdef void drop_empty_columns(Thread* thread, Py_ssize_t n_cells, real like) noexcept nogil:
    """Drop the topics without clumps, and their columns of rows, which become as narrow as they can."""
    cdef DocumentTopics* present = &thread.present
    cdef int32_t* kept = thread.lessened  # where nothing is at this time
    cdef int32_t n = 0, j
    cdef Py_ssize_t c, width = FIRST_WIDTH
    cdef const real* row
    cdef real* narrowed
    for j in range(present.n):
        if present.members[j] > 0:
            kept[n] = j
            n += 1
    if n == present.n:
        return
    while width <= n:
        width *= 2
    width = min(width, thread.width)
    for c in range(n_cells):  # no number is overwritten before it is read
        row = <const real*>thread.rows.data + c * thread.width
        narrowed = <real*>thread.rows.data + c * width
        for j in range(n):
            narrowed[j] = row[kept[j]]
    thread.width = width
    drop_empty_entries(present)


cdef inline real mass_of(
    const Sampling* given, const Thread* thread, int32_t j, const real* like
) noexcept nogil:
    """What phi_kw of an entry's topic is multiplied by, beside alpha_k: n_k, but for what is left out."""
    cdef double weight = thread.present.weight[j], less = thread.less[j]
    if less == 0.0:
        return <real>weight
    return <real>max(weight - (weight + given.prior[thread.present.topic[j]]) * less, 0.0)


cdef int32_t leave_out(
    const Sampling* given,
    Thread* thread,
    double own,
    Py_ssize_t cell,
    int32_t word,
    double count,
    const int32_t* z,
    real* mass,
) noexcept nogil:
    """Leave a document's own tokens of a word, which are in topics z now, out of phi_kw: fill less and
    lessened, and the masses of these entries. Return their number."""
    cdef const real* row = <const real*>thread.rows.data + cell * thread.width
    cdef int32_t n_parts = n_clumps(count), n = 0, i, j
    cdef double phi, most, share
    for i in range(n_parts):
        if z[i] < 0:
            continue
        j = thread.present.position[z[i]]
        phi = row[j]
        most = 1.0 - given.smoothing[z[i]] * given.unit[word] / phi if phi > 0.0 else 0.0
        if not most > 0.0:
            continue
        share = own * clump_weight(count, n_parts, i) * given.token[z[i]] * given.unit[word] / phi
        if thread.less[j] == 0.0 and share > 0.0:
            thread.lessened[n] = j
            n += 1
        thread.less[j] = min(thread.less[j] + share, most)
    for i in range(n):
        mass[thread.lessened[i]] = mass_of(given, thread, thread.lessened[i], mass)
    return n


def sweep_documents(
    cells,
    const real[:, ::1] rows,
    const real[:, ::1] cumulative,
    const double[::1] prior,
    chains,
    sweeps,
    Team team not None,
    left_out=None,
    lists=None,
):
    """Sample the topics of documents; sum the conditional probabilities, or the draws, of the counted sweeps.

    Parameters
    ----------
    cells : DocumentCells                                                                         IN
    rows : (n_words, n_topics) phi_kw scaled so that rows @ prior = 1                              IN
    cumulative : (n_words, ceil(n_topics / 16)) cumulative sums of prior * rows by blocks of 16    IN
    prior : (n_topics,) alpha                                                                     IN
    chains : Chains                                                                           IN/OUT
    sweeps : Sweeps                                                                               IN
    left_out : LeftOut; None: nothing is left out                                                 IN
    lists : SparseRows, in the precision of rows and in their place, which are empty then            IN

    Returns
    -------
    sums : SparseSums
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef const uint64_t[::1] keys = chains.keys
    cdef int32_t[::1] z = chains.z
    cdef bint with_log_theta = sweeps.with_log_theta
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, cell, i
    cdef Py_ssize_t n_threads = team.size
    cdef Sampling given
    cdef SparseRows sparse
    cdef Thread* thread

    dtype = np.float32 if real is float else np.float64
    column_indptr_array = np.zeros(n_documents + 1, dtype=np.int64)
    fixed_array = np.zeros(cell_word.shape[0], dtype=np.float64)
    cdef int64_t[::1] column_indptr = column_indptr_array
    cdef int64_t[::1] value_indptr = np.zeros(n_documents + 1, dtype=np.int64)
    cdef int64_t[::1] token_indptr = np.zeros(n_documents + 1, dtype=np.int64)
    cdef double[::1] fixed = fixed_array
    # Rows may get twice as wide as there are topics.
    cdef Py_ssize_t n_padded = max(FIRST_WIDTH, 2 * n_topics)
    cdef int32_t[:, ::1] ints = np.full((n_threads, 4 * n_topics + GAP), -1, dtype=np.int32)
    cdef real[:, ::1] reals = np.empty((n_threads, 3 * n_padded + GAP), dtype=dtype)
    cdef double[:, ::1] doubles = np.zeros((n_threads, 3 * n_topics + GAP))
    cdef unsigned char[::1] threads = np.zeros(n_threads * sizeof(Thread), dtype=np.uint8)
    cdef unsigned char[::1] found = np.zeros(max(1, n_documents) * sizeof(Found), dtype=np.uint8)
    given.threads, given.found = <Thread*>&threads[0], <Found*>&found[0]
    for i in range(n_threads):
        thread = &given.threads[i]
        thread.present.topic = &ints[i, 0]
        thread.present.members = &ints[i, n_topics]
        thread.present.position = &ints[i, 2 * n_topics]
        thread.present.weight = &doubles[i, 0]
        thread.mass, thread.product = &reals[i, 0], &reals[i, n_padded]
        thread.running = &reals[i, 2 * n_padded]
        thread.less, thread.lessened = &doubles[i, 2 * n_topics], &ints[i, 3 * n_topics]
        thread.log_theta = &doubles[i, n_topics] if with_log_theta else NULL
    given.indptr, given.token_indptr, given.column_indptr = &indptr[0], &token_indptr[0], &column_indptr[0]
    given.value_indptr = &value_indptr[0]
    given.n_burn_in, given.n_sweeps, given.drawn = sweeps.n_burn_in, sweeps.n_sweeps, sweeps.drawn
    given.n_topics, given.single = <int32_t>n_topics, real is float
    given.own = NULL
    cdef const double[::1] own, token, smoothing, unit
    if cell_word.shape[0] > 0:
        given.cell_word, given.cell_count, given.fixed = &cell_word[0], &cell_count[0], &fixed[0]
        given.prior, given.keys, given.z = &prior[0], &keys[0], &z[0]
        if lists is None:
            given.rows, given.cumulative, given.lists = &rows[0, 0], &cumulative[0, 0], NULL
        else:
            sparse = addresses_of(lists)
            given.rows, given.cumulative, given.lists = NULL, NULL, &sparse
    if left_out is not None and n_documents > 0:
        own, token = left_out.often, left_out.token
        smoothing, unit = left_out.smoothing, left_out.unit
        given.own, given.token = &own[0], &token[0]
        given.smoothing, given.unit = &smoothing[0], &unit[0]
    try:
        with nogil:
            for d in range(n_documents):
                token_indptr[d + 1] = token_indptr[d]
                for cell in range(indptr[d] - indptr[0], indptr[d + 1] - indptr[0]):
                    token_indptr[d + 1] += n_clumps(cell_count[cell])
            team.run(<Task>find_topics, &given, n_documents)
            for d in range(n_documents):
                value_indptr[d + 1] = value_indptr[d] + (indptr[d + 1] - indptr[d]) * column_indptr[d + 1]
                column_indptr[d + 1] += column_indptr[d]
        column_topic = np.empty(column_indptr[n_documents], dtype=np.int32)
        values = np.empty(value_indptr[n_documents], dtype=dtype)
        log_theta = np.empty(column_indptr[n_documents] if with_log_theta else 0)
        if len(column_topic) > 0:
            put_together(&given, n_documents, column_topic, values, log_theta, team)
        return SparseSums(column_indptr_array, column_topic, values, fixed_array, log_theta)
    finally:
        for i in range(n_threads):
            free(given.threads[i].rows.data)
            free(given.threads[i].values.data)
            free(given.threads[i].topics.data)
            free(given.threads[i].logs.data)


cdef int find_topics(Sampling* given, Py_ssize_t d, Py_ssize_t t) except -1 nogil:
    """All sweeps over document d, in thread t."""
    cdef Thread* thread = &given.threads[t]
    cdef Found* found = &given.found[d]
    cdef int32_t n_columns
    cdef int status = 0
    found.thread, found.values = t, thread.values.used
    found.topics, found.logs = thread.topics.used, thread.logs.used
    if given.indptr[d] < given.indptr[d + 1]:
        if given.single:
            status = sweep_document(given, d, thread, <float>0)
        else:
            status = sweep_document(given, d, thread, <double>0)
        n_columns = thread.present.n
        status |= append(&thread.topics, thread.present.topic, n_columns * sizeof(int32_t))
        if thread.log_theta != NULL:
            status |= append(&thread.logs, thread.log_theta, n_columns * sizeof(double))
        if status != 0:
            with gil:
                raise MemoryError("no memory for the expected counts of a batch; use a smaller batch_size")
        given.column_indptr[d + 1] = n_columns
    clear_entries(&thread.present)
    return 0


cdef int put_together(
    Sampling* given, Py_ssize_t n_documents, int32_t[::1] column_topic, values, double[::1] log_theta,
    Team team,
) except -1:
    """Copy what was found into the results, document by document."""
    cdef unsigned char[::1] bytes_of_values = values.view(np.uint8)
    given.column_topic, given.values = &column_topic[0], &bytes_of_values[0]
    given.log_theta = &log_theta[0] if log_theta.shape[0] > 0 else NULL
    with nogil:
        team.run(<Task>copy_found, given, n_documents)
    return 0


cdef int copy_found(Sampling* given, Py_ssize_t d, Py_ssize_t _) except -1 nogil:
    cdef Found* found = &given.found[d]
    cdef Thread* thread = &given.threads[found.thread]
    cdef int64_t first = given.column_indptr[d], n_columns = given.column_indptr[d + 1] - first
    cdef int64_t first_value = given.value_indptr[d], n_values = given.value_indptr[d + 1] - first_value
    cdef size_t size = sizeof(float) if given.single else sizeof(double)
    if n_columns > 0:
        memcpy(given.column_topic + first, thread.topics.data + found.topics, n_columns * sizeof(int32_t))
        memcpy(<char*>given.values + first_value * size, thread.values.data + found.values, n_values * size)
        if given.log_theta != NULL:
            memcpy(given.log_theta + first, thread.logs.data + found.logs, n_columns * sizeof(double))
    return 0
