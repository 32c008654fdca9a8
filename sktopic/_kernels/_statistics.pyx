"""Adding a batch's expected counts to word-major topic statistics, one word at a time.

The words of the batch are dealt in fixed parts. A part writes the rows of its own words and its own
row of totals, so parts run at the same time, and the result does not depend on how many do.
"""

from libc.stdint cimport int32_t, int64_t

from sktopic._kernels._interrupt cimport count_work
from sktopic._kernels._precision cimport real
from sktopic._kernels._topic_rows cimport add_cell, add_share, add_word


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


def add_sampled_counts(
    Py_ssize_t first_part,
    Py_ssize_t last_part,
    const int64_t[::1] part_bounds,
    const int64_t[::1] word_indptr,
    const int64_t[::1] word_cell,
    const int32_t[::1] cell_document,
    const int64_t[::1] indptr,
    const int64_t[::1] column_indptr,
    const int32_t[::1] column_topic,
    const int64_t[::1] value_indptr,
    const real[::1] values,
    const double[::1] fixed,
    const real[:, ::1] rows,
    const double[::1] prior,
    double factor,
    const int32_t[::1] target_row,
    double[:, ::1] target,
    double[:, ::1] totals,
    double[:, ::1] averaged,
    const double[::1] average_weight,
):
    """Add factor times the expected counts of sampled documents (see _sparse_gibbs.sweep_documents).

    Parameters
    ----------
    first_part, last_part : parts to treat; part p owns words part_bounds[p] to part_bounds[p + 1]  IN
    word_indptr, word_cell : the cells of each word, documents ascending                          IN
    cell_document, indptr : document of each cell, first cell of each document                    IN
    column_indptr, column_topic, values, fixed : what sweep_documents returned                        IN
    value_indptr : (n_documents + 1,) start of each document's block in values                    IN
    rows, prior : as handed to sweep_documents                                                    IN
    target_row : (n_words,) row of the target for each word                                       IN
    target : (n_rows, n_topics)                                                                   IN/OUT
    totals : (n_parts, n_topics) what was added to each topic by each part                        IN/OUT
    averaged : like target, receives the increments times average_weight; no rows: not wanted     IN/OUT
    """
    cdef Py_ssize_t n_topics = rows.shape[1], p, w, i, cell, d, k, n_columns, first_column, done = 0
    cdef Py_ssize_t n_words = target_row.shape[0]
    cdef double share
    cdef bint drawn
    cdef double* out
    cdef const double* following
    cdef double* average_out = NULL
    cdef const double* weight = NULL
    cdef const real* row
    if averaged.shape[0] > 0:
        weight = &average_weight[0]
    with nogil:
        for p in range(first_part, last_part):
            for w in range(part_bounds[p], part_bounds[p + 1]):
                out = &target[target_row[w], 0]
                if weight != NULL:
                    average_out = &averaged[target_row[w], 0]
                row = &rows[w, 0]
                share = 0.0
                for i in range(word_indptr[w], word_indptr[w + 1]):
                    share += fixed[word_cell[i]]
                share *= factor
                drawn = share == 0.0  # draws have no such part
                count_work(&done, 8 * n_topics)
                if not drawn and weight == NULL:
                    following = &target[target_row[min(w + 1, n_words - 1)], 0]
                    add_share(share, &prior[0], row, n_topics, out, &totals[p, 0], following)
                elif not drawn:
                    for k in range(n_topics):
                        add_entry(out, &totals[p, 0], average_out, weight, k, share * prior[k] * row[k])
                for i in range(word_indptr[w], word_indptr[w + 1]):
                    cell = word_cell[i]
                    d = cell_document[cell]
                    first_column = column_indptr[d]
                    n_columns = column_indptr[d + 1] - first_column
                    if n_columns == 0:
                        continue
                    count_work(&done, 32 * n_columns)
                    add_block(
                        out, &totals[p, 0], average_out, weight, n_columns, &column_topic[first_column],
                        &values[value_indptr[d] + (cell - indptr[d]) * n_columns], factor, drawn,
                    )


def add_cell_counts(
    Py_ssize_t first_part,
    Py_ssize_t last_part,
    const int64_t[::1] part_bounds,
    const int64_t[::1] word_indptr,
    const int64_t[::1] word_cell,
    const real[:, ::1] counts,
    double factor,
    const int32_t[::1] target_row,
    double[:, ::1] target,
    double[:, ::1] totals,
    double[:, ::1] averaged,
    const double[::1] average_weight,
    double[:, ::1] scratch,
):
    """Add factor times expected counts (n_cells, at least n_topics) that are known for every cell.

    scratch (n_parts, n_topics) is zero, and is left so; the other arguments are those of
    add_sampled_counts.
    """
    cdef Py_ssize_t n_topics = target.shape[1], p, w, i, done = 0
    cdef double* average_out = NULL
    cdef const double* weight = NULL
    if averaged.shape[0] > 0:
        weight = &average_weight[0]
    with nogil:
        for p in range(first_part, last_part):
            for w in range(part_bounds[p], part_bounds[p + 1]):
                for i in range(word_indptr[w], word_indptr[w + 1]):
                    add_cell(&counts[word_cell[i], 0], n_topics, &scratch[p, 0])
                    count_work(&done, n_topics)
                if weight != NULL:
                    average_out = &averaged[target_row[w], 0]
                add_word(
                    factor, &scratch[p, 0], n_topics, &target[target_row[w], 0], &totals[p, 0],
                    average_out, weight,
                )


def add_factored_counts(
    Py_ssize_t first_part,
    Py_ssize_t last_part,
    const int64_t[::1] part_bounds,
    const int64_t[::1] word_indptr,
    const int64_t[::1] word_cell,
    const int32_t[::1] cell_document,
    const real[:, ::1] expectation,
    const double[::1] share,
    const real[:, ::1] rows,
    double factor,
    const int32_t[::1] target_row,
    double[:, ::1] target,
    double[:, ::1] totals,
    double[:, ::1] averaged,
    const double[::1] average_weight,
    double[:, ::1] scratch,
):
    """Add factor times expected counts that are products.

    The expected count of a cell under topic k is share[cell] * expectation[document, k] * rows[word, k]
    (see _variational.update_documents, _ope.maximise_documents, _cvb0.collapse_documents). scratch
    (n_parts, n_topics) is overwritten; the other arguments are those of add_sampled_counts.
    """
    cdef Py_ssize_t n_topics = rows.shape[1], p, w, i, cell, k, done = 0
    cdef double c
    cdef double* out
    cdef double* sums
    cdef double* average_out = NULL
    cdef const double* weight = NULL
    cdef const real* row
    cdef const real* e
    if averaged.shape[0] > 0:
        weight = &average_weight[0]
    with nogil:
        for p in range(first_part, last_part):
            sums = &scratch[p, 0]
            for w in range(part_bounds[p], part_bounds[p + 1]):
                out = &target[target_row[w], 0]
                if weight != NULL:
                    average_out = &averaged[target_row[w], 0]
                row = &rows[w, 0]
                for k in range(n_topics):
                    sums[k] = 0.0
                for i in range(word_indptr[w], word_indptr[w + 1]):
                    cell = word_cell[i]
                    c = factor * share[cell]
                    e = &expectation[cell_document[cell], 0]
                    for k in range(n_topics):
                        sums[k] += c * e[k]
                    count_work(&done, n_topics)
                for k in range(n_topics):
                    add_entry(out, &totals[p, 0], average_out, weight, k, sums[k] * row[k])


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
    cdef Py_ssize_t n_topics = source.shape[1], i, k, done = 0
    cdef double x
    with nogil:
        for i in range(first_row, last_row):
            for k in range(n_topics):
                x = factor * source[i, k]
                target[target_row[i], k] += x
                if averaged.shape[0] > 0:
                    averaged[target_row[i], k] += x * average_weight[k]
            count_work(&done, 4 * n_topics)
