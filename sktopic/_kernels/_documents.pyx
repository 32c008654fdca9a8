"""Reading the rows of a CSR matrix as a batch of documents with its own small vocabulary."""

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sktopic._kernels._clumps cimport clump_weight, n_clumps
from sktopic._kernels._interrupt cimport count_work

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
    cdef bint ascend = indptr[0] == 0 and indptr[n_bounds - 1] <= n_entries
    cdef index_t smallest = 0, largest = -1
    with nogil:
        for i in range(n_bounds - 1):
            ascend &= indptr[i] <= indptr[i + 1]
        if ascend:
            n_entries = indptr[n_bounds - 1]
        if n_entries > 0:
            smallest = largest = indices[0]
        for i in range(n_entries):
            smallest = min(smallest, indices[i])
            largest = max(largest, indices[i])
    return ascend, smallest, largest


cdef bint is_in_order(
    const index_t[::1] indices, const count_t[::1] data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Whether the words of a row ascend without duplicates, and no count is zero."""
    cdef Py_ssize_t i
    for i in range(start, stop):
        if data[i] == 0 or (i > start and indices[i] <= indices[i - 1]):
            return False
    return True


def gather_documents(
    const index_t[::1] x_indptr,
    const index_t[::1] x_indices,
    const count_t[::1] x_data,
    const int64_t[::1] rows,
    int32_t[::1] local_word,
):
    """Copy rows of a CSR matrix, renumbering the words in their order of first appearance.

    Parameters
    ----------
    x_indptr, x_indices, x_data : CSR arrays                                          IN
    rows : the rows to copy, in the order wanted                                      IN
    local_word : (n_features,) scratch, every entry -1 on entry, and on exit unless
        that is an exception                                                          IN/OUT

    Returns
    -------
    indptr (n_documents + 1,) int64, clump_indptr (n_documents + 1,) int64 : cells and clumps of each
    document; cell_word (n_cells,) int32 : local word; cell_count (n_cells,) float64;
    words (n_words,) int32 : the matrix column of each local word;
    word_indptr (n_words + 1,) int64, word_cell (n_cells,) int64 : the cells of each word, documents
    ascending; lengths (n_documents,) float64 : total count. None instead, where the words of a row do not
    ascend, occur twice in it, or have a count of zero.
    """
    cdef Py_ssize_t n_documents = rows.shape[0], d, i, cell = 0, n_words = 0, w, done = 0
    cdef int64_t row, n_cells = 0, clumps = 0
    cdef int32_t word
    cdef double length
    cdef bint in_order = True
    with nogil:
        for d in range(n_documents):
            row = rows[d]
            in_order &= is_in_order(x_indices, x_data, x_indptr[row], x_indptr[row + 1])
            n_cells += x_indptr[row + 1] - x_indptr[row]
            count_work(&done, 2 * (x_indptr[row + 1] - x_indptr[row]))
    if not in_order:
        return None

    indptr_array = np.empty(n_documents + 1, dtype=np.int64)
    clump_array = np.empty(n_documents + 1, dtype=np.int64)
    lengths_array = np.empty(n_documents, dtype=np.float64)
    cell_word_array = np.empty(n_cells, dtype=np.int32)
    cell_count_array = np.empty(n_cells, dtype=np.float64)
    words_array = np.empty(min(n_cells, <int64_t>local_word.shape[0]), dtype=np.int32)
    word_cell_array = np.empty(n_cells, dtype=np.int64)
    cdef int64_t[::1] indptr = indptr_array, clump_indptr = clump_array, word_cell = word_cell_array
    cdef double[::1] cell_count = cell_count_array, lengths = lengths_array
    cdef int32_t[::1] cell_word = cell_word_array, words = words_array

    with nogil:
        indptr[0] = 0
        clump_indptr[0] = 0
        for d in range(n_documents):
            row = rows[d]
            length = 0.0
            count_work(&done, 16 * (x_indptr[row + 1] - x_indptr[row]))
            for i in range(x_indptr[row], x_indptr[row + 1]):
                w = x_indices[i]
                word = local_word[w]
                if word < 0:
                    word = <int32_t>n_words
                    local_word[w] = word
                    words[n_words] = <int32_t>w
                    n_words += 1
                cell_word[cell] = word
                cell_count[cell] = <double>x_data[i]
                length += cell_count[cell]
                clumps += n_clumps(cell_count[cell])
                cell += 1
            indptr[d + 1] = cell
            clump_indptr[d + 1] = clumps
            lengths[d] = length
        for w in range(n_words):
            local_word[words[w]] = -1

    word_indptr_array = np.zeros(n_words + 1, dtype=np.int64)
    cdef int64_t[::1] word_indptr = word_indptr_array
    with nogil:
        for cell in range(n_cells):
            word_indptr[cell_word[cell] + 1] += 1
        for w in range(n_words):
            word_indptr[w + 1] += word_indptr[w]
        for cell in range(n_cells):
            word = cell_word[cell]
            word_cell[word_indptr[word]] = cell
            word_indptr[word] += 1
        for w in range(n_words, 0, -1):
            word_indptr[w] = word_indptr[w - 1]
        word_indptr[0] = 0
    return (
        indptr_array,
        clump_array,
        cell_word_array,
        cell_count_array,
        words_array[:n_words].copy(),
        word_indptr_array,
        word_cell_array,
        lengths_array,
    )


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
