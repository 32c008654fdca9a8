"""Adding a batch's expected counts to word-major topic statistics, one word at a time.

The words of the batch are dealt in fixed parts. A part writes the rows of its own words and its own
row of totals, so parts run at the same time, and the result does not depend on how many do.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team
from sktopic._kernels.topics._rows cimport add_cell, add_row, add_share, add_word, take_change


cdef inline void add_entry(
    double* target, double* totals, double* averaged, const double* average_weight, Py_ssize_t k, double x
) noexcept nogil:
    target[k] += x
    totals[k] += x
    if averaged != NULL:
        averaged[k] += x * average_weight[k]


cdef inline void add_block(
    double* target,
    double* totals,
    double* averaged,
    const double* average_weight,
    Py_ssize_t n_columns,
    const int32_t* column_topic,
    const real* values,
    double factor,
    bint drawn,
) noexcept nogil:
    """Add factor times the counts of one cell; where they are drawn, few are not zero."""
    cdef Py_ssize_t j
    if drawn:
        for j in range(n_columns):
            if values[j] != 0:
                add_entry(target, totals, averaged, average_weight, column_topic[j], factor * values[j])
    else:
        for j in range(n_columns):
            add_entry(target, totals, averaged, average_weight, column_topic[j], factor * values[j])


cdef BatchWords words_of(words):
    """The addresses of the arrays of WordCells, which their owner holds meanwhile."""
    cdef const int64_t[::1] part_bounds = words.part_bounds
    cdef const int64_t[::1] word_indptr = words.word_indptr
    cdef const int64_t[::1] word_cell = words.word_cell
    cdef const double[::1] cell_weight = words.cell_weight
    cdef const int32_t[::1] target_row = words.target_row
    cdef BatchWords found
    found.part_bounds, found.word_indptr = &part_bounds[0], &word_indptr[0]
    found.n_parts, found.n_words = part_bounds.shape[0] - 1, target_row.shape[0]
    found.word_cell = &word_cell[0] if found.n_words > 0 else NULL
    found.cell_weight = &cell_weight[0] if cell_weight.shape[0] > 0 else NULL
    found.target_row = &target_row[0] if found.n_words > 0 else NULL
    return found


cdef DocumentSums sums_of(
    const int64_t[::1] indptr, sums, int64_t[::1] value_indptr, int32_t[::1] cell_document
):
    """The addresses of the arrays of SparseSums, which their owner holds meanwhile.

    value_indptr, cell_document : (n_documents + 1,) and (n_cells,) which this fills
    """
    cdef const int64_t[::1] column_indptr = sums.column_indptr
    cdef const int32_t[::1] column_topic = sums.column_topic
    cdef const unsigned char[::1] values = sums.values.view(np.uint8)
    cdef const double[::1] fixed = sums.fixed
    cdef DocumentSums found
    cdef Py_ssize_t d, cell
    found.indptr, found.column_indptr, found.fixed = &indptr[0], &column_indptr[0], &fixed[0]
    found.value_indptr, found.cell_document = &value_indptr[0], &cell_document[0]
    found.column_topic = &column_topic[0] if column_topic.shape[0] > 0 else NULL
    found.values = &values[0] if values.shape[0] > 0 else NULL
    found.single = sums.values.dtype == np.float32
    value_indptr[0] = 0
    for d in range(indptr.shape[0] - 1):
        value_indptr[d + 1] = value_indptr[d]
        value_indptr[d + 1] += (indptr[d + 1] - indptr[d]) * (column_indptr[d + 1] - column_indptr[d])
        for cell in range(indptr[d] - indptr[0], indptr[d + 1] - indptr[0]):
            cell_document[cell] = <int32_t>d
    return found


cdef struct Target:
    # Where counts are added, word by word, and part by part.
    BatchWords words
    double* target
    double* totals
    double* averaged  # or NULL
    const double* average_weight
    Py_ssize_t n_topics
    double factor


cdef Target target_of(words, target, double factor):
    """The addresses of the arrays of WordCells and of a CountsTarget, which their owner holds meanwhile."""
    cdef double[:, ::1] store = target.store
    cdef double[:, ::1] totals = target.totals
    cdef double[:, ::1] averaged = target.averaged
    cdef const double[::1] average_weight = target.average_weight
    cdef Target given
    given.words, given.n_topics, given.factor = words_of(words), store.shape[1], factor
    given.target, given.totals = &store[0, 0], &totals[0, 0]
    given.averaged = &averaged[0, 0] if averaged.shape[0] > 0 else NULL
    given.average_weight = &average_weight[0] if averaged.shape[0] > 0 else NULL
    return given


cdef struct SampledCounts:
    Target target
    DocumentSums sums
    const void* rows  # in the precision of sums
    const double* prior


def add_sampled_counts(
    words,
    const int64_t[::1] indptr,
    sums,
    const real[:, ::1] rows,
    const double[::1] prior,
    double factor,
    target,
    Team team not None,
):
    """Add factor times the expected counts of sampled documents (see _sparse_gibbs.sweep_documents).

    Parameters
    ----------
    words : WordCells
    indptr : (n_documents + 1,) first cell of each document                                       IN
    sums : SparseSums, as sweep_documents returned them                                           IN
    rows, prior : as handed to sweep_documents                                                    IN
    target : CountsTarget                                                                     IN/OUT
    """
    cdef SampledCounts given
    if len(sums.fixed) == 0:
        return
    cdef int64_t[::1] value_indptr = np.empty(indptr.shape[0], dtype=np.int64)
    cdef int32_t[::1] cell_document = np.empty(len(sums.fixed), dtype=np.int32)
    given.target = target_of(words, target, factor)
    given.sums = sums_of(indptr, sums, value_indptr, cell_document)
    given.rows, given.prior = &rows[0, 0], &prior[0]
    with nogil:
        team.run(<Task>add_sampled_part, &given, given.target.words.n_parts)


cdef int add_sampled_part(SampledCounts* given, Py_ssize_t p, Py_ssize_t _) except -1 nogil:
    if given.sums.single:
        return add_sampled(given, p, <const float*>given.sums.values, <const float*>given.rows)
    return add_sampled(given, p, <const double*>given.sums.values, <const double*>given.rows)


cdef int add_sampled(
    SampledCounts* given, Py_ssize_t p, const real* values, const real* rows
) except -1 nogil:
    cdef Target* to = &given.target
    cdef BatchWords* words = &to.words
    cdef DocumentSums* sums = &given.sums
    cdef Py_ssize_t n_topics = to.n_topics, w, i, cell, d, k, n_columns, first_column, done = 0
    cdef double share
    cdef bint drawn
    cdef double* totals = to.totals + p * n_topics
    cdef double* out
    cdef const double* following
    cdef double* average_out = NULL
    cdef const double* weight = to.average_weight
    cdef const real* row
    for w in range(words.part_bounds[p], words.part_bounds[p + 1]):
        out = to.target + words.target_row[w] * n_topics
        if weight != NULL:
            average_out = to.averaged + words.target_row[w] * n_topics
        row = rows + w * n_topics
        share = 0.0
        for i in range(words.word_indptr[w], words.word_indptr[w + 1]):
            share += weight_of(words, words.word_cell[i]) * sums.fixed[words.word_cell[i]]
        share *= to.factor
        drawn = share == 0.0  # draws have no such part
        count_work(&done, 8 * n_topics)
        if not drawn and weight == NULL:
            following = to.target + words.target_row[min(w + 1, words.n_words - 1)] * n_topics
            add_share(share, given.prior, row, n_topics, out, totals, following)
        elif not drawn:
            for k in range(n_topics):
                add_entry(out, totals, average_out, weight, k, share * given.prior[k] * row[k])
        for i in range(words.word_indptr[w], words.word_indptr[w + 1]):
            cell = words.word_cell[i]
            d = sums.cell_document[cell]
            first_column = sums.column_indptr[d]
            n_columns = sums.column_indptr[d + 1] - first_column
            if n_columns == 0:
                continue
            count_work(&done, 32 * n_columns)
            add_block(
                out, totals, average_out, weight, n_columns, sums.column_topic + first_column,
                values + sums.value_indptr[d] + (cell - (sums.indptr[d] - sums.indptr[0])) * n_columns,
                to.factor * weight_of(words, cell), drawn,
            )
    return 0


cdef struct CellCounts:
    Target target
    const void* counts
    Py_ssize_t n_columns  # of counts
    bint single  # whether counts are of single precision
    double* scratch  # of each thread


def add_cell_counts(
    words,
    const real[:, ::1] counts,
    double factor,
    target,
    Team team not None,
):
    """Add factor times expected counts (n_cells, at least n_topics) that are known for every cell.

    The other arguments are those of add_sampled_counts.
    """
    cdef CellCounts given
    if counts.shape[0] == 0:
        return
    given.target = target_of(words, target, factor)
    cdef double[:, ::1] scratch = np.zeros((team.size, 2 * given.target.n_topics + GAP))
    given.counts, given.n_columns, given.single = &counts[0, 0], counts.shape[1], real is float
    given.scratch = &scratch[0, 0]
    with nogil:
        team.run(<Task>add_part_of_cells, &given, given.target.words.n_parts)


cdef int add_part_of_cells(CellCounts* given, Py_ssize_t p, Py_ssize_t thread) except -1 nogil:
    if given.single:
        return add_cells(given, p, thread, <const float*>given.counts)
    return add_cells(given, p, thread, <const double*>given.counts)


cdef int add_cells(CellCounts* given, Py_ssize_t p, Py_ssize_t thread, const real* counts) except -1 nogil:
    cdef Target* to = &given.target
    cdef BatchWords* words = &to.words
    cdef Py_ssize_t n_topics = to.n_topics, w, i, cell, row, done = 0
    cdef double* sums = given.scratch + thread * (2 * n_topics + GAP)
    # Not in the totals themselves: another thread may write to the line of the cache where they end.
    cdef double* totals = sums + n_topics
    memcpy(totals, to.totals + p * n_topics, n_topics * sizeof(double))
    for w in range(words.part_bounds[p], words.part_bounds[p + 1]):
        for i in range(words.word_indptr[w], words.word_indptr[w + 1]):
            cell = words.word_cell[i]
            add_cell(weight_of(words, cell), counts + cell * given.n_columns, n_topics, sums)
            count_work(&done, n_topics)
        row = words.target_row[w] * n_topics
        add_word(
            to.factor, sums, n_topics, to.target + row, totals,
            to.averaged + row if to.averaged != NULL else NULL, to.average_weight,
        )
    memcpy(to.totals + p * n_topics, totals, n_topics * sizeof(double))
    return 0


cdef struct FactoredCounts:
    Target target
    const int32_t* cell_document
    const void* expectation
    const double* share
    const void* rows
    bint single  # whether expectation and rows are of single precision
    double* scratch  # of each thread


def add_factored_counts(
    words,
    const int32_t[::1] cell_document,
    const real[:, ::1] expectation,
    const double[::1] share,
    const real[:, ::1] rows,
    double factor,
    target,
    Team team not None,
):
    """Add factor times expected counts that are products.

    The expected count of a cell under topic k is share[cell] * expectation[document, k] * rows[word, k], with
    cell_document the document of each cell (see _variational.update_documents, _ope.maximise_documents,
    _cvb0.collapse_documents). The other arguments are those of add_sampled_counts.
    """
    cdef FactoredCounts given
    if share.shape[0] == 0:
        return
    given.target = target_of(words, target, factor)
    cdef double[:, ::1] scratch = np.empty((team.size, given.target.n_topics + GAP))
    given.cell_document, given.expectation, given.share = &cell_document[0], &expectation[0, 0], &share[0]
    given.rows, given.single, given.scratch = &rows[0, 0], real is float, &scratch[0, 0]
    with nogil:
        team.run(<Task>add_factored_part, &given, given.target.words.n_parts)


cdef int add_factored_part(FactoredCounts* given, Py_ssize_t p, Py_ssize_t thread) except -1 nogil:
    cdef double* sums = given.scratch + thread * (given.target.n_topics + GAP)
    if given.single:
        return add_factored(given, p, sums, <const float*>given.expectation, <const float*>given.rows)
    return add_factored(given, p, sums, <const double*>given.expectation, <const double*>given.rows)


cdef int add_factored(
    FactoredCounts* given, Py_ssize_t p, double* sums, const real* expectation, const real* rows
) except -1 nogil:
    cdef Target* to = &given.target
    cdef BatchWords* words = &to.words
    cdef Py_ssize_t n_topics = to.n_topics, w, i, cell, k, done = 0
    cdef double c
    cdef double* totals = to.totals + p * n_topics
    cdef double* out
    cdef double* average_out = NULL
    cdef const real* row
    cdef const real* e
    for w in range(words.part_bounds[p], words.part_bounds[p + 1]):
        out = to.target + words.target_row[w] * n_topics
        if to.averaged != NULL:
            average_out = to.averaged + words.target_row[w] * n_topics
        row = rows + w * n_topics
        for k in range(n_topics):
            sums[k] = 0.0
        for i in range(words.word_indptr[w], words.word_indptr[w + 1]):
            cell = words.word_cell[i]
            c = to.factor * weight_of(words, cell) * given.share[cell]
            e = expectation + given.cell_document[cell] * n_topics
            for k in range(n_topics):
                sums[k] += c * e[k]
            count_work(&done, n_topics)
        for k in range(n_topics):
            add_entry(out, totals, average_out, to.average_weight, k, sums[k] * row[k])
    return 0


def add_rows(
    Py_ssize_t first_row,
    Py_ssize_t last_row,
    const double[:, ::1] source,
    double factor,
    const int32_t[::1] target_row,
    double[:, ::1] target,
    double[:, ::1] averaged,
    const double[::1] average_weight,
):
    """Add factor times rows first_row to last_row of source to those of the target (and, weighted, to
    averaged)."""
    cdef Py_ssize_t n_topics = source.shape[1], i, done = 0
    cdef bint averages = averaged.shape[0] > 0
    with nogil:
        for i in range(first_row, last_row):
            add_row(
                factor, &source[i, 0], n_topics, &target[target_row[i], 0],
                &averaged[target_row[i], 0] if averages else NULL, &average_weight[0] if averages else NULL,
            )
            count_work(&done, 4 * n_topics)


def take_changes(
    const double[:, ::1] before,
    const int64_t[::1] before_row,
    double left,
    double scale,
    double[:, ::1] after,
    double[::1] totals,
):
    """Let each row become scale times what it has more than left times the one it was before.

    Parameters
    ----------
    before : (n_rows, n_topics)                                                                   IN
    before_row : (n_words,) which of these each row was                                           IN
    after : (n_words, n_topics)                                                                   IN/OUT
    totals : (n_topics,) sums of the changes over words                                           OUT

    Returns
    -------
    n_changes : int, entries that are not zero
    """
    cdef Py_ssize_t n_topics = after.shape[1], i, k, n_changes = 0, done = 0
    cdef double* total = &totals[0]
    with nogil:
        for k in range(n_topics):
            total[k] = 0.0
        for i in range(after.shape[0]):
            n_changes += take_change(&before[before_row[i], 0], left, scale, n_topics, &after[i, 0], total)
            count_work(&done, n_topics)
    return n_changes
