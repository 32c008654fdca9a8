"""Reading the rows of a CSR matrix as a batch of documents with its own small vocabulary."""

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.threads._interrupt cimport count_work

ctypedef fused index_t:
    int32_t
    int64_t

ctypedef fused count_t:
    float
    double
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def structure_bounds(const index_t[:] indptr, const index_t[:] indices):
    """Return whether bounds of rows (n_rows + 1,) ascend from 0 to at most n_entries; and the smallest and
    the largest of the indices (n_entries,) of rows, or 0 and -1 where there are none."""
    cdef Py_ssize_t i, n_bounds = indptr.shape[0], n_entries = indices.shape[0]
    # Read once: another thread may change it after the check.
    cdef index_t last = indptr[n_bounds - 1]
    cdef bint ascend = indptr[0] == 0 and last <= n_entries
    cdef index_t smallest = 0, largest = -1
    with nogil:
        for i in range(n_bounds - 1):
            ascend &= indptr[i] <= indptr[i + 1]
        if ascend:
            n_entries = last
        if n_entries > 0:
            smallest = largest = indices[0]
        for i in range(n_entries):
            smallest = min(smallest, indices[i])
            largest = max(largest, indices[i])
    return ascend, smallest, largest


def count_rows_of_words(const index_t[:] indices, int64_t[::1] n_rows):
    """Add to n_rows (n_features,) (IN/OUT) how many of the indices are each word; others are left out."""
    cdef Py_ssize_t i, done = 0
    cdef index_t w
    with nogil:
        for i in range(indices.shape[0]):
            w = indices[i]
            if 0 <= w < n_rows.shape[0]:
                n_rows[w] += 1
            count_work(&done, 1)


# One small function for each kind of array, so that all else is compiled once.


def copy_words(
    const index_t[::1] x_indices,
    const int64_t[::1] start,
    const int64_t[::1] indptr,
    Py_ssize_t n_features,
    int32_t[::1] word,
):
    """Copy the words of rows, which begin at start, to the bounds indptr of word (OUT); -1: none there is."""
    cdef Py_ssize_t d, i, done = 0
    cdef index_t w
    with nogil:
        for d in range(start.shape[0]):
            for i in range(indptr[d + 1] - indptr[d]):
                w = x_indices[start[d] + i]
                word[indptr[d] + i] = <int32_t>w if 0 <= w < n_features else -1
            count_work(&done, indptr[d + 1] - indptr[d])


def copy_counts(
    const count_t[::1] x_data, const int64_t[::1] start, const int64_t[::1] indptr, double[::1] count
):
    """Copy the counts of rows, which begin at start, to the bounds indptr of count (OUT)."""
    cdef Py_ssize_t d, i, done = 0
    with nogil:
        for d in range(start.shape[0]):
            for i in range(indptr[d + 1] - indptr[d]):
                count[indptr[d] + i] = <double>x_data[start[d] + i]
            count_work(&done, indptr[d + 1] - indptr[d])


def copy_rows(
    x_indptr, x_indices, x_data, const int64_t[::1] rows, Py_ssize_t n_features, double largest_count
):
    """Copy rows of a CSR matrix, each at most once, and check the copy: the matrix may change meanwhile.

    Parameters
    ----------
    x_indptr, x_indices, x_data : CSR arrays                                          IN
    rows : the rows to copy, in the order wanted                                      IN
    n_features, largest_count : bounds of the words and of the counts

    Returns
    -------
    indptr (n_documents + 1,) int64 : the cells of each row; cell_word (n_cells,) int32 : words;
    cell_count (n_cells,) float64; in_order : whether the words of each row ascend, and no count is zero.
    None instead, if a bound, a word or a count is not valid.
    """
    cdef Py_ssize_t n_documents = rows.shape[0], d, cell, done = 0
    cdef int64_t n_entries = min(len(x_indices), len(x_data)), n_cells = 0
    cdef int32_t last
    cdef bint in_order = True, valid = True
    start_array = x_indptr.take(rows).astype(np.int64, copy=False)
    indptr_array = np.zeros(n_documents + 1, dtype=np.int64)
    cdef const int64_t[::1] start = start_array
    cdef const int64_t[::1] end = x_indptr[1:].take(rows).astype(np.int64, copy=False)
    cdef int64_t[::1] indptr = indptr_array
    with nogil:
        for d in range(n_documents):
            if not 0 <= start[d] <= end[d] <= n_entries or end[d] - start[d] > n_entries - n_cells:
                valid = False
                break
            n_cells += end[d] - start[d]
            indptr[d + 1] = n_cells
    if not valid:
        return None
    cell_word_array = np.empty(n_cells, dtype=np.int32)
    cell_count_array = np.empty(n_cells, dtype=np.float64)
    copy_words(x_indices, start_array, indptr_array, n_features, cell_word_array)
    copy_counts(x_data, start_array, indptr_array, cell_count_array)
    cdef const int32_t[::1] cell_word = cell_word_array
    cdef const double[::1] cell_count = cell_count_array
    with nogil:
        for d in range(n_documents):
            last = -1
            for cell in range(indptr[d], indptr[d + 1]):
                in_order &= cell_word[cell] > last and cell_count[cell] != 0
                valid &= cell_word[cell] >= 0 and 0 <= cell_count[cell] <= largest_count
                last = cell_word[cell]
            count_work(&done, 2 * (indptr[d + 1] - indptr[d]))
    return (indptr_array, cell_word_array, cell_count_array, in_order) if valid else None


def number_words(
    const int64_t[::1] indptr, int32_t[::1] cell_word, const double[::1] cell_count, int32_t[::1] local_word
):
    """Number the words of documents in their order of first appearance.

    Parameters
    ----------
    indptr : (n_documents + 1,) the cells of each document                            IN
    cell_word : (n_cells,) their words, which become local ones                       IN/OUT
    cell_count : (n_cells,) > 0                                                       IN
    local_word : (n_features,) scratch, the local number of each word plus one, or 0;
        0 everywhere on entry, and on exit without an exception                       IN/OUT

    Returns
    -------
    clump_indptr (n_documents + 1,) int64 : the clumps of each document; words (n_words,) int32 : the matrix
    column of each local word; word_indptr (n_words + 1,) int64, word_cell (n_cells,) int64 : the cells of
    each word, documents ascending; lengths (n_documents,) float64 : total count.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_cells = cell_word.shape[0]
    cdef Py_ssize_t d, cell, n_words = 0, w, done = 0
    cdef int64_t clumps = 0
    cdef int32_t word
    cdef double length
    clump_array = np.empty(n_documents + 1, dtype=np.int64)
    lengths_array = np.empty(n_documents, dtype=np.float64)
    words_array = np.empty(min(n_cells, <int64_t>local_word.shape[0]), dtype=np.int32)
    word_indptr_array = np.zeros(len(words_array) + 1, dtype=np.int64)
    word_cell_array = np.empty(n_cells, dtype=np.int64)
    cdef int64_t[::1] clump_indptr = clump_array, word_indptr = word_indptr_array, word_cell = word_cell_array
    cdef double[::1] lengths = lengths_array
    cdef int32_t[::1] words = words_array

    with nogil:
        clump_indptr[0] = 0
        for d in range(n_documents):
            length = 0.0
            count_work(&done, 16 * (indptr[d + 1] - indptr[d]))
            for cell in range(indptr[d], indptr[d + 1]):
                w = cell_word[cell]
                word = local_word[w] - 1
                if word < 0:
                    word = <int32_t>n_words
                    local_word[w] = word + 1
                    words[n_words] = <int32_t>w
                    n_words += 1
                cell_word[cell] = word
                word_indptr[word] += 1
                length += cell_count[cell]
                clumps += n_clumps(cell_count[cell])
            clump_indptr[d + 1] = clumps
            lengths[d] = length
        for w in range(n_words):
            local_word[words[w]] = 0
            word_indptr[w + 1] += word_indptr[w]
        word_indptr[n_words] = n_cells
        for cell in range(n_cells - 1, -1, -1):  # the end of each word's cells moves down to their beginning
            word = cell_word[cell]
            word_indptr[word] -= 1
            word_cell[word_indptr[word]] = cell
    words_array, word_indptr_array = words_array[:n_words].copy(), word_indptr_array[: n_words + 1].copy()
    return clump_array, words_array, word_indptr_array, word_cell_array, lengths_array


def clump_bounds(const double[::1] cell_count):
    """The bounds (n_cells + 1,) int64 of the cells' clumps."""
    cdef Py_ssize_t i
    bounds_array = np.zeros(cell_count.shape[0] + 1, dtype=np.int64)
    cdef int64_t[::1] bounds = bounds_array
    with nogil:
        for i in range(cell_count.shape[0]):
            bounds[i + 1] = bounds[i] + n_clumps(cell_count[i])
    return bounds_array


def clump_weights(const double[::1] cell_count, Py_ssize_t total):
    """The weight (total,) float64 of each clump of the cells, which have as many clumps."""
    cdef Py_ssize_t i, clump = 0, done = 0
    cdef int32_t part, n_parts
    weights_array = np.empty(total)
    cdef double[::1] weights = weights_array
    with nogil:
        for i in range(cell_count.shape[0]):
            n_parts = n_clumps(cell_count[i])
            for part in range(n_parts):
                weights[clump] = clump_weight(cell_count[i], n_parts, part)
                clump += 1
            count_work(&done, n_parts)
    return weights_array
