"""The document step by Gibbs sampling with topics and prior held fixed, at sparse cost.

For token i of a document, p(z_i = k | z_-i) = phi_kw (alpha_k + n_k) / T, with n the counts of the
document without the token (equation 14 of Dupuy and Bach, 2017). The rows handed in are scaled so
that sum_k alpha_k phi_kw = 1; then T = 1 + s, where s sums phi_kw n_k over the topics present in
the document, and a draw above s comes from the fixed distribution alpha_k phi_kw of the word.

Instead of draws, the kernel can sum the conditional probabilities they were made from (Rao-Blackwell),
again at sparse cost: phi_kw n_k / T into one entry per topic of the document and cell, and 1 / T
into one scalar per cell, which stands for alpha_k phi_kw / T over all topics.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free

from sktopic._kernels._block_sums cimport BLOCK
from sktopic._kernels._sampled_counts cimport (
    Buffer, Columns, append, begin_counts, clear_columns, end_counts, name_column, to_array, widen_counts,
)
from sktopic._kernels._clumps cimport clump_weight, n_clumps
from sktopic._kernels._interrupt cimport count_work
from sktopic._kernels._rng cimport Stream, seed_stream
from sktopic._kernels._document_topics cimport (
    DocumentTopics, clear_entries, draw_entry, drop_empty_entries, entry_of, put, scan, take,
)
from sktopic._kernels._precision cimport real
from sktopic._kernels._special cimport digamma


cdef int sweep_document(
    Py_ssize_t n_cells,
    const int32_t* cell_word,
    const double* cell_count,
    const real* rows,
    const real* cumulative,
    const double* prior,
    int32_t n_topics,
    int n_burn_in,
    int n_sweeps,
    bint drawn,
    Stream* stream,
    int32_t* z,
    DocumentTopics* present,
    Columns* columns,
    real* mass,
    real* product,
    real* partial_sum,
    Buffer* values,
    double* fixed,
    double* log_theta,
    Py_ssize_t* done,
) except -1 nogil:
    """All sweeps over one document: leaves its topics in columns, appends its block (one row a cell, one
    entry a column) to values and adds to the cells' fixed parts. 1 when there is no memory."""
    cdef Py_ssize_t n_blocks = (n_topics + BLOCK - 1) // BLOCK, start = values.used
    cdef Py_ssize_t cell, token, stride = 0
    cdef int32_t i, j, k, n_parts, n_before
    cdef int sweep
    cdef bint keep
    cdef double w
    cdef real total, share
    cdef const real* row
    cdef const real* sums
    cdef real* out

    token = 0
    for cell in range(n_cells):  # topics that an earlier call left in z
        n_parts = n_clumps(cell_count[cell])
        for i in range(n_parts):
            if z[token] >= 0:
                put(present, entry_of(present, z[token]), clump_weight(cell_count[cell], n_parts, i))
            token += 1

    for sweep in range(n_burn_in + n_sweeps):
        keep = sweep >= n_burn_in
        drop_empty_entries(present)
        for j in range(present.n):
            mass[j] = <real>present.weight[j]
            if keep:
                name_column(columns, present.topic[j], j)
        if sweep == n_burn_in:
            stride = begin_counts(values, n_cells, present.n, n_topics, sizeof(real))
            if stride < 0:
                return 1
        token = 0
        for cell in range(n_cells):
            row = rows + cell_word[cell] * <Py_ssize_t>n_topics
            n_parts = n_clumps(cell_count[cell])
            count_work(done, n_parts * (2 * present.n + 16))
            for i in range(n_parts):
                w = clump_weight(cell_count[cell], n_parts, i)
                if z[token] >= 0:
                    j = present.position[z[token]]
                    take(present, j, w)
                    mass[j] = <real>present.weight[j]
                n_before = present.n
                total = scan(row, present, mass, product, partial_sum)
                sums = cumulative + cell_word[cell] * n_blocks
                j = draw_entry(row, sums, prior, n_topics, present, partial_sum, total, stream)
                put(present, j, w)
                mass[j] = <real>present.weight[j]
                z[token] = present.topic[j]
                token += 1
                if keep:
                    if present.n > n_before:
                        name_column(columns, present.topic[j], j)
                    if columns.n > stride:
                        stride = widen_counts(values, n_cells, stride, n_topics, sizeof(real))
                        if stride < 0:
                            return 1
                    out = <real*>(values.data + start) + cell * stride
                    if drawn:
                        out[columns.of_entry[j]] += <real>w
                        continue
                    share = <real>(w / (total + 1))
                    fixed[cell] += share
                    for k in range(n_before):
                        out[columns.of_entry[k]] += share * product[k]
        if keep and log_theta != NULL:
            if sweep == n_burn_in:
                for j in range(n_topics):
                    log_theta[j] = 0.0
            for j in range(present.n):
                k = present.topic[j]
                log_theta[columns.of_entry[j]] += digamma(prior[k] + present.weight[j]) - digamma(prior[k])
    end_counts(values, n_cells, columns.n, stride, sizeof(real))
    return 0


def sweep_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    const real[:, ::1] cumulative,
    const double[::1] prior,
    const uint64_t[::1] keys,
    int32_t[::1] z,
    int n_burn_in,
    int n_sweeps,
    bint drawn,
    bint with_log_theta,
):
    """Sample the topics of documents; sum the conditional probabilities, or the draws, of the counted sweeps.

    Parameters
    ----------
    indptr : (n_documents + 1,) bounds of each document's cells, in any consecutive numbering      IN
    cell_word, cell_count : (n_cells,) row of each cell's word, its count > 0                     IN
    rows : (n_words, n_topics) phi_kw scaled so that rows @ prior = 1                              IN
    cumulative : (n_words, ceil(n_topics / 16)) cumulative sums of prior * rows by blocks of 16    IN
    prior : (n_topics,) alpha                                                                     IN
    keys : (n_documents,) stream of each document                                                 IN
    z : (n_clumps,) topic of each clump, -1: not assigned yet (then the first sweep assigns the
        clumps one after the other, each given those before it)                                   IN/OUT
    n_burn_in, n_sweeps : sweeps thrown away (>= 0), then sweeps summed (>= 1)
    drawn : whether draws are summed instead of the conditional probabilities they were made from
    with_log_theta : whether to compute log_theta

    Returns
    -------
    column_indptr (n_documents + 1,) int64, column_topic (n_columns,) int32 : topics of each document
    in the counted sweeps;
    values : for each document in turn its (cells, columns) block, the sums of w phi_kw n_k / T, or those
    of w where topic k was drawn;
    fixed (n_cells,) float64 : the sums of w / T, which stand for w alpha_k phi_kw / T at every k, or 0;
    log_theta (n_columns,) float64 or empty : the sums of psi(alpha_k + n_k) - psi(alpha_k).
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, first, n_cells, cell, token = 0, done = 0
    cdef int32_t n_topics = <int32_t>rows.shape[1]
    cdef int64_t base = indptr[0]
    cdef int status = 0
    cdef Stream stream
    cdef DocumentTopics present
    cdef Columns columns
    cdef Buffer values, topics, logs
    cdef double* log_theta = NULL

    dtype = np.float32 if real is float else np.float64
    column_indptr_array = np.zeros(n_documents + 1, dtype=np.int64)
    fixed_array = np.zeros(cell_word.shape[0], dtype=np.float64)
    cdef int64_t[::1] column_indptr = column_indptr_array
    cdef double[::1] fixed = fixed_array
    cdef int32_t[:, ::1] ints = np.full((6, n_topics), -1, dtype=np.int32)
    cdef real[:, ::1] reals = np.empty((3, n_topics), dtype=dtype)
    cdef double[:, ::1] doubles = np.empty((2, n_topics), dtype=np.float64)
    present.n = columns.n = 0
    present.topic = &ints[0, 0]
    present.members = &ints[1, 0]
    present.position = &ints[2, 0]
    present.weight = &doubles[0, 0]
    columns.topic = &ints[3, 0]
    columns.position = &ints[4, 0]
    columns.of_entry = &ints[5, 0]
    if with_log_theta:
        log_theta = &doubles[1, 0]
    values.data = topics.data = logs.data = NULL
    values.used = values.capacity = topics.used = topics.capacity = logs.used = logs.capacity = 0
    try:
        with nogil:
            for d in range(n_documents):
                first = indptr[d] - base
                n_cells = indptr[d + 1] - indptr[d]
                if n_cells > 0:
                    seed_stream(&stream, keys[d])
                    status = sweep_document(
                        n_cells, &cell_word[first], &cell_count[first], &rows[0, 0], &cumulative[0, 0],
                        &prior[0],
                        n_topics, n_burn_in, n_sweeps, drawn, &stream, &z[token], &present, &columns,
                        &reals[0, 0], &reals[1, 0], &reals[2, 0], &values, &fixed[first], log_theta,
                        &done,
                    )
                    status |= append(&topics, columns.topic, columns.n * sizeof(int32_t))
                    if with_log_theta:
                        status |= append(&logs, log_theta, columns.n * sizeof(double))
                    if status != 0:
                        break
                    for cell in range(first, first + n_cells):
                        token += n_clumps(cell_count[cell])
                column_indptr[d + 1] = column_indptr[d] + columns.n
                clear_entries(&present)
                clear_columns(&columns)
        if status != 0:
            raise MemoryError("no memory for the expected counts of a batch; use a smaller batch_size")
        return (
            column_indptr_array,
            to_array(&topics, np.int32),
            to_array(&values, dtype),
            fixed_array,
            to_array(&logs, np.float64),
        )
    finally:
        free(values.data)
        free(topics.data)
        free(logs.data)
