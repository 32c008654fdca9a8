"""Counts as documents: canonical CSR matrices, and batches of their rows as kernels see them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sktopic._documents._document_values import NO_VALUES, DocumentValues
from sktopic._documents._sample_weight import NO_WEIGHTS, weighted_sum
from sktopic._kernels._groups import DocumentCells
from sktopic._kernels.documents import _reading as kernels
from sktopic._kernels.random._rng import content_keys
from sktopic._runtime._attributes import twin

# Documents handled together where memory, not the algorithm, asks for a limit.
GROUP_SIZE = 1024
# Range of counts other than 0. Priors have the same range (see _topics/_prior.py). So products and sums of
# counts, priors and weights of documents stay in the range of float64, and draws in that of float32.
SMALLEST_COUNT, LARGEST_COUNT = 1e-12, 1e12
RANGE_OF_COUNTS = (
    f"a count must be 0, or between {SMALLEST_COUNT:g} and {LARGEST_COUNT:g}. Set smaller entries to 0, or "
    "rescale X."
)
# Kernels number words by int32.
MOST_WORDS = 2**31 - 1
# Numbers that counts may be without being converted: what kernels read.
COUNT_TYPES = [np.float64, np.float32, *(np.dtype(kind + size).type for size in "8421" for kind in "iu")]
INDEX_TYPES = [np.int32, np.int64]
# The arrays that conversions of sparse matrices trust.
INDICES = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
    "lil": ("rows", "data"),
}
# What the indices of sparse matrices are.
KINDS = {"csr": "column indices", "csc": "row indices", "bsr": "indices of blocks of columns"}
# Formats whose entries SciPy may add up on the way to CSR, in their own type: two of 200 in uint8 become 144.
ADDED_UP = ("coo", "bsr", "dia")


def check_sparse_structure(X, own=False, name="X"):
    """Return a matrix that is safe to convert; anything else than a sparse matrix is returned as it is.

    Entries behind the last row are left out, since checks of counts would read them. Integers become float64
    in formats whose duplicates the conversion adds up. Raises ValueError for a sparse matrix whose arrays do
    not fit together: conversions would trust them.
    What is returned is another matrix, whose indices are copies unless it is CSR: so nobody changes what was
    checked. Rows of CSR are checked again when they are copied (see `copied_rows`).

    own : whether the indices of CSR are to be copies, too
    name : of the parameter, for messages
    """
    if not sp.issparse(X) or X.ndim != 2:  # the number of dimensions is checked with that of arrays
        return X
    try:
        X = _with_whole_arrays(_with_own_indices(X, own))
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    return X.astype(np.float64) if X.format in ADDED_UP and X.dtype.kind in "biu" else X


def _with_whole_arrays(X):
    """Return a sparse matrix without entries behind the last row; ValueError for arrays that do not fit."""
    kind = X.format
    if kind == "coo":
        for axis, indices in enumerate((X.row, X.col)):
            _check_indices(indices, f"coordinates of axis {axis}", X.shape[axis], len(X.data))
    elif kind == "dia":
        if X.data.ndim != 2 or X.offsets.shape != X.data.shape[:1]:
            raise ValueError(
                f"has diagonals of shape {X.data.shape} and offsets of shape {X.offsets.shape}; one offset "
                "for each diagonal is allowed."
            )
    elif kind == "lil":
        if not len(X.rows) == len(X.data) == X.shape[0]:
            raise ValueError(
                f"has lists for {len(X.rows)} rows of column indices and {len(X.data)} of entries; with "
                f"its shape {X.shape}, {X.shape[0]} are allowed."
            )
        for row, data in zip(X.rows, X.data):
            _check_indices(np.array(row), "column indices", X.shape[1], len(data))
    elif kind in ("csr", "csc", "bsr"):
        n_rows, n_columns = X.shape
        if kind == "csc":
            n_rows, n_columns = n_columns, n_rows
        elif kind == "bsr":
            n_rows, n_columns = n_rows // X.blocksize[0], n_columns // X.blocksize[1]
        for name, array in (("indices", X.indices), ("indptr", X.indptr)):
            if array.dtype.kind != "i":
                raise ValueError(f"has {name} of dtype {array.dtype}; integers are allowed.")
        return _without_tail(X, n_rows, n_columns)
    return X


def _with_own_indices(X, also_csr):
    """A matrix of the same values; of CSR, on the same arrays unless these are to be copied, too."""
    if X.format == "dok":
        return X.copy()
    own = twin(X)  # without the checks of its class
    for name in INDICES.get(X.format, ()) if X.format != "csr" or also_csr else ():
        array = np.array(getattr(X, name))
        if X.format == "lil":
            for i, each in enumerate(array):
                array[i] = list(each)
        setattr(own, name, array)
    return own


def _without_tail(X, n_rows, n_columns):
    """Return X without entries behind its last row; ValueError for bounds or indices that do not fit."""
    indptr, indices, data = X.indptr, X.indices, X.data
    _check_number(indices, KINDS[X.format], len(data))
    if indptr.shape != (n_rows + 1,):
        raise ValueError(
            f"has indptr of shape {indptr.shape}; with its shape {X.shape}, ({n_rows + 1},) is allowed."
        )
    if indptr.dtype != indices.dtype or indices.dtype not in INDEX_TYPES:  # which kernels do not read
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    ascends, *bounds = kernels.structure_bounds(indptr, indices)
    if not ascends:
        raise ValueError(f"has indptr that does not ascend from 0 to at most its {len(indices)} entries.")
    _check_bounds(*bounds, KINDS[X.format], n_columns)
    n_entries = indptr[-1]
    if n_entries < len(data):
        X = type(X)((data[:n_entries], indices[:n_entries], indptr), shape=X.shape)
    return X


def _check_indices(indices, name, size, n_entries):
    _check_number(indices, name, n_entries)
    if n_entries:
        _check_bounds(indices.min(), indices.max(), name, size)


def _check_number(indices, name, n_entries):
    if indices.shape != (n_entries,):
        raise ValueError(
            f"has {name} of shape {indices.shape}, and {n_entries} entries; as many are allowed."
        )


def _check_bounds(smallest, largest, name, size):
    if smallest < 0 or largest >= size:
        raise ValueError(
            f"has {name} from {smallest} to {largest}; with its shape, 0 to {size - 1} are allowed."
        )


def check_counts(X, owner):
    """Raise ValueError for documents of too many words, or with counts that are neither 0 nor in their range.

    Parameters
    ----------
    X : CSR matrix or array
        Entries of the same word are one count, their sum.
    owner : who expects counts
    """
    if X.shape[1] > MOST_WORDS:
        raise ValueError(f"X has {X.shape[1]} features; at most {MOST_WORDS} are allowed.")
    if _are_in_range(X.data):
        return
    smallest = X.data.min(initial=0)
    if np.isnan(smallest):
        raise ValueError(
            f"X contains NaN; {owner} expects counts of words: 0 where a document lacks a word, which "
            "X.fillna(0) sets in a data frame and numpy.nan_to_num(X) in an array."
        )
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {owner} (parameter X), down to {smallest:g}; counts of words "
            "are expected. A HashingVectorizer gives counts with alternate_sign=False, norm=None."
        )
    if np.isinf(X.data.max(initial=0)):
        raise ValueError(f"X contains infinity; {owner} expects counts of words, which are finite.")
    _check_range(X.data[X.data > LARGEST_COUNT])
    for first in range(0, X.shape[0], GROUP_SIZE):
        rows = np.arange(first, min(first + GROUP_SIZE, X.shape[0]))
        _check_range(canonical_counts(X, rows).data)


def _check_range(counts):
    outside = (counts < SMALLEST_COUNT) | (counts > LARGEST_COUNT)
    if outside.any():
        raise ValueError(f"X has a count of {counts[outside][0]:g}; {RANGE_OF_COUNTS}")


def _are_in_range(entries):
    """Whether all entries and sums of them are in the range of counts; may be False if some are 0."""
    # Comparisons with NaN are false.
    most = len(entries) * float(entries.max(initial=0))
    return bool(entries.min(initial=1) >= SMALLEST_COUNT and most <= LARGEST_COUNT)


def as_documents(X):
    """Return counts as CSR on the arrays of X where possible, or X itself, which is not changed.

    Rows may be what rows of scipy.sparse may be: `DocumentReader` puts those in order that it reads.

    Parameters
    ----------
    X : ndarray or scipy.sparse matrix or array of shape (n_documents, n_features)
        Numbers of COUNT_TYPES.
    """
    if not _is_readable(X):
        X = sp.csr_array(X)
        index = X.indices.dtype
        if index != X.indptr.dtype or index not in INDEX_TYPES:
            index = np.int32 if X.nnz < 2**31 and X.shape[1] < 2**31 else np.int64
        # Arrays may also be parts of records.
        indices, indptr = (np.ascontiguousarray(array, dtype=index) for array in (X.indices, X.indptr))
        X = sp.csr_array((np.ascontiguousarray(X.data), indices, indptr), shape=X.shape)
    return X


def are_documents(X):
    """Whether X, of a structure that has been checked, is certain to need no further check or conversion."""
    return _is_readable(X) and X.data.dtype in COUNT_TYPES and _are_in_range(X.data)


def _is_readable(X):
    if not sp.issparse(X) or X.format != "csr" or X.ndim != 2:
        return False
    indptr, indices, data = X.indptr, X.indices, X.data
    return (
        indptr.dtype == indices.dtype
        and indices.dtype in INDEX_TYPES
        and data.ndim == 1
        and indptr[-1] == len(data)
        and indptr.flags.c_contiguous
        and indices.flags.c_contiguous
        and data.flags.c_contiguous
    )


def copied_rows(X, rows):
    """The cells of rows (ndarray of int64), each at most once, of X from as_documents, copied and checked.

    Others may change the arrays of X, or the files that they map, at any time: so no code but this reads
    rows of them.

    Returns
    -------
    indptr, cell_word, cell_count : ndarrays of int64, int32 and float64
    in_order : whether the words of each row ascend, and no count is zero
    """
    copied = kernels.copy_rows(X.indptr, X.indices, X.data, rows, X.shape[1], LARGEST_COUNT)
    if copied is None:
        raise _changed()
    return copied


def _changed():
    return ValueError(
        "X changed while it was being read: it now has rows, words or counts that are not valid. Leave X "
        "unchanged until the call has returned, and the files of a corpus on disk, too."
    )


def rows_of_documents(X, rows):
    """The rows of X from as_documents as CSR on its own arrays, of the same type of counts."""
    indptr, words, counts, _ = copied_rows(X, rows)
    return _csr(indptr, words, counts.astype(X.data.dtype, copy=False), X.shape[1])


def canonical_counts(X, rows=None):
    """Return X from as_documents, or rows of it, as CSR on its own arrays, words ascending, without zeros.

    Counts have the type of those of X. Words that occur twice in a row are summed, then in float32 or
    float64.
    """
    indptr, words, counts, in_order = copied_rows(X, np.arange(X.shape[0]) if rows is None else rows)
    dtype = X.data.dtype if in_order else answer_dtype(X)
    X = _csr(indptr, words, counts.astype(dtype, copy=False), X.shape[1])
    if not in_order:
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _csr(indptr, words, counts, n_features):
    return sp.csr_array((counts, words, indptr), shape=(len(indptr) - 1, n_features))


def answer_dtype(X):
    """What transform answers in: float32 where counts are that, else float64."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


@dataclass
class DocumentBatch:
    """Some documents with a small vocabulary of their own.

    A *cell* is a word of a document with its count; a *clump* is what a sampler moves from topic to
    topic: a token, or a share of a large or fractional count.

    Attributes
    ----------
    indptr, clump_indptr : ndarray of shape (n_documents + 1,), int64
        Bounds of each document's cells and clumps.
    cell_word, cell_count : ndarray of shape (n_cells,), int32 and float64
        Local word and count of each cell.
    words : ndarray of shape (n_words,), int32
        Matrix column of each local word.
    word_indptr, word_cell : ndarray of shape (n_words + 1,) and (n_cells,), int64
        The cells of each word, documents ascending.
    lengths : ndarray of shape (n_documents,), float64
        Total count of each document.
    sample_weight : ndarray of shape (n_documents,), float64, or None
        As how many documents each counts; None: as one.
    covariates : ndarray of shape (n_documents, n_covariates), float64, or None
    """

    indptr: np.ndarray
    clump_indptr: np.ndarray
    cell_word: np.ndarray
    cell_count: np.ndarray
    words: np.ndarray
    word_indptr: np.ndarray
    word_cell: np.ndarray
    lengths: np.ndarray
    sample_weight: np.ndarray | None = None
    covariates: np.ndarray | None = None

    @property
    def n_documents(self):
        return len(self.lengths)

    def weights_up_to_one(self):
        """As how much of a document each counts, (n_documents,): its copies are other documents."""
        if self.sample_weight is None:
            return np.ones(self.n_documents)
        return np.minimum(self.sample_weight, 1.0)

    @property
    def total_weight(self):
        """As how many documents all of them count."""
        return self.n_documents if self.sample_weight is None else float(self.sample_weight.sum())

    @property
    def total_tokens(self):
        """Their tokens, each as often as its document counts."""
        return self.sum(self.lengths)

    def sum(self, values):
        """The sum of what documents have, (n_documents, ...), each as often as it counts."""
        return weighted_sum(values, self.sample_weight)

    def with_words(self):
        """Lengths of the documents that are not empty, and their weights, or None."""
        some = self.lengths > 0
        return self.lengths[some], None if self.sample_weight is None else self.sample_weight[some]

    def document_weight(self):
        """The weights as kernels take them: ndarray of shape (n_documents,), or (0,) for ones."""
        return NO_WEIGHTS if self.sample_weight is None else self.sample_weight

    def cell_weight(self):
        """Those of the documents of all cells: ndarray of shape (n_cells,), or (0,) for ones."""
        return NO_WEIGHTS if self.sample_weight is None else self.sample_weight[self.cell_document()]

    @property
    def n_words(self):
        return len(self.words)

    @property
    def n_clumps(self):
        return int(self.clump_indptr[-1])

    def cell_document(self):
        """The document of each cell, int32."""
        return np.repeat(np.arange(self.n_documents, dtype=np.int32), np.diff(self.indptr))

    def unassigned(self):
        """Topics of the clumps before they have any: ndarray of shape (n_clumps,), int32, of -1."""
        topics = np.empty(self.n_clumps, dtype=np.int32)
        topics.fill(-1)
        return topics

    def content_keys(self, key, word_numbers=None):
        """The stream key of each document, from the key and its words and counts alone.

        word_numbers : (n_columns,) what stands for the words of the columns; None: the columns
        """
        words = self.words if word_numbers is None else word_numbers[self.words].astype(np.int32)
        return content_keys(key, self.indptr, self.cell_word, self.cell_count, numbers=words)

    def documents_of_words(self):
        """How many documents have each word, by weight: ndarray of shape (n_words,)."""
        if self.sample_weight is None:
            return np.diff(self.word_indptr)
        return np.bincount(self.cell_word, weights=self.cell_weight(), minlength=self.n_words)

    def weighted_counts(self):
        """The counts of the cells, times the weights of their documents."""
        return self.cell_count if self.sample_weight is None else self.cell_count * self.cell_weight()

    def cells_of(self, document):
        """Where the cells of a document are."""
        return slice(self.indptr[document], self.indptr[document + 1])

    def clumps(self):
        """The document and the weight of each clump, int64 and float64."""
        document = np.repeat(np.arange(self.n_documents), np.diff(self.clump_indptr))
        return document, kernels.clump_weights(self.cell_count, self.n_clumps)

    def clump_words(self):
        """The matrix column of each clump, int32."""
        return np.repeat(self.words[self.cell_word], np.diff(kernels.clump_bounds(self.cell_count)))

    def cells(self, first, last):
        """The cells of documents first to last."""
        start, stop = self.indptr[first], self.indptr[last]
        return DocumentCells(
            self.indptr[first : last + 1], self.cell_word[start:stop], self.cell_count[start:stop]
        )

    def chunks(self, n_chunks):
        """Cut the documents into ranges (first, last) with about equally many clumps."""
        n_chunks = min(n_chunks, self.n_documents)
        if n_chunks <= 1:  # at once: most batches are small
            return [(0, self.n_documents)] if self.n_documents else []
        targets = self.n_clumps * np.arange(1, n_chunks) / n_chunks
        cuts = np.searchsorted(self.clump_indptr, targets)
        return list(pairwise(np.unique([0, *cuts, self.n_documents]).tolist()))


class DocumentReader:
    """Cuts DocumentBatches from documents, reusing its scratch space.

    Parameters
    ----------
    X : CSR matrix or array from as_documents
    values : DocumentValues
    word_numbers : ndarray of shape (n_columns,), integers, or None
        Numbers of the words of the columns in the vocabulary of the model, ascending. If None, they are those
        of the columns.
    """

    def __init__(self, X, values=NO_VALUES, word_numbers=None):
        self._X, self._values, self._word_numbers = X, values, word_numbers
        # The system provides zeros without a pass over the array, so words that do not occur cost no time.
        self._local_word = np.zeros(X.shape[1], dtype=np.int32)

    def batch(self, rows):
        """The documents of the rows (ndarray of int64), in that order."""
        indptr, words, counts, in_order = copied_rows(self._X, rows)
        if not in_order:
            X = canonical_counts(self._X, rows)
            indptr, words = X.indptr.astype(np.int64), X.indices.astype(np.int32)
            counts = X.data.astype(np.float64)
        clump_indptr, *by_word = kernels.number_words(indptr, words, counts, self._local_word)
        return DocumentBatch(indptr, clump_indptr, words, counts, *by_word, *self._values.of(rows))

    def keys(self, batch, key):
        """The stream key of each document of a batch that was read here, from its words and counts."""
        return batch.content_keys(key, self._word_numbers)

    def total_weight(self, rows):
        """As how many documents those of the rows count."""
        weights = self._values.sample_weight
        return len(rows) if weights is None else float(weights[rows].sum())


def document_groups(X, covariates=None, most_entries=None):
    """Yield (first row, last row, DocumentBatch) over all rows, in groups that bound the memory.

    covariates : (n_documents, n_covariates) of the rows, or None
    most_entries : of a group of more than one row, if there is a limit
    """
    reader, first = DocumentReader(X, DocumentValues(covariates=covariates)), 0
    while first < X.shape[0]:
        last = min(first + GROUP_SIZE, X.shape[0])
        if most_entries is not None:
            fitting = np.searchsorted(X.indptr, X.indptr[first] + most_entries, side="right") - 1
            last = max(first + 1, min(last, int(fitting)))
        yield first, last, reader.batch(np.arange(first, last))
        first = last


def cells_of_entries(X, first, last, batch):
    """Return which entries of X are words of rows first to last, and the cells of their batch that these are.

    Entries may be in any order, several may be the same cell, and zeros are none.
    """
    indptr, columns, _, _ = copied_rows(X, np.arange(first, last))
    start, words = int(X.indptr[first]), batch.words[batch.cell_word]
    if not 0 <= start <= len(X.indices) - len(columns):
        raise _changed()
    if np.array_equal(columns, words):
        return slice(start, start + len(columns)), slice(None)
    row = np.repeat(np.arange(last - first), np.diff(indptr))
    cells, entries = batch.cell_document().astype(np.int64) * X.shape[1] + words, row * X.shape[1] + columns
    position = np.searchsorted(cells, entries)
    found = np.flatnonzero(np.append(cells, -1)[position] == entries)
    return start + found, position[found]
