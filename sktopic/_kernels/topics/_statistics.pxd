"""What kernels share that add the expected counts of a batch, one word at a time."""

from libc.stdint cimport int32_t, int64_t


cdef struct BatchWords:
    # The addresses of the arrays of WordCells.
    const int64_t* part_bounds
    const int64_t* word_indptr
    const int64_t* word_cell
    const double* cell_weight  # or NULL, for ones
    const int32_t* target_row
    Py_ssize_t n_parts
    Py_ssize_t n_words


cdef struct DocumentSums:
    # Those of SparseSums, and where that of a document and of a cell is.
    const int64_t* indptr
    const int64_t* column_indptr
    const int32_t* column_topic
    const int64_t* value_indptr
    const int32_t* cell_document
    const void* values
    const double* fixed
    bint single  # whether values are of single precision


cdef BatchWords words_of(words)

cdef DocumentSums sums_of(
    const int64_t[::1] indptr, sums, int64_t[::1] value_indptr, int32_t[::1] cell_document
)


cdef inline double weight_of(const BatchWords* words, Py_ssize_t cell) noexcept nogil:
    return 1.0 if words.cell_weight == NULL else words.cell_weight[cell]
