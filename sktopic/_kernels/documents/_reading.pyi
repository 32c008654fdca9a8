from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Index = TypeVar("_Index", NDArray[np.int32], NDArray[np.int64])

def structure_bounds(
    indptr: _Index,  # (n_rows + 1,)
    indices: _Index,  # (n_entries,)
) -> tuple[bool, int, int]:
    """Whether bounds of rows ascend within the entries; the smallest and the largest index of rows."""

def count_rows_of_words(
    indices: NDArray[np.int32] | NDArray[np.int64],  # (n_entries,)
    n_rows: NDArray[np.int64],  # (n_features,) IN/OUT
) -> None:
    """Add to n_rows how many of the indices are each word; others are left out."""

def copy_words(
    x_indices: NDArray[np.int32] | NDArray[np.int64],  # (nnz,)
    start: NDArray[np.int64],  # (n_documents,)
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    n_features: int,
    word: NDArray[np.int32],  # (n_cells,) OUT
) -> None:
    """Copy the words of rows, which begin at start, to the bounds indptr of word; -1: none there is."""

def copy_counts(
    x_data: NDArray[np.floating | np.integer],  # (nnz,) of the machine's byte order
    start: NDArray[np.int64],  # (n_documents,)
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    count: NDArray[np.float64],  # (n_cells,) OUT
) -> None:
    """Copy the counts of rows, which begin at start, to the bounds indptr of count."""

def copy_rows(
    x_indptr: NDArray[np.int32] | NDArray[np.int64],  # (n_rows + 1,)
    x_indices: NDArray[np.int32] | NDArray[np.int64],  # (nnz,)
    x_data: NDArray[np.floating | np.integer],  # (nnz,) of the machine's byte order
    rows: NDArray[np.int64],  # (n_documents,)
    n_features: int,
    largest_count: float,
) -> (
    tuple[
        NDArray[np.int64],  # indptr (n_documents + 1,)
        NDArray[np.int32],  # cell_word (n_cells,)
        NDArray[np.float64],  # cell_count (n_cells,)
        bool,  # in_order
    ]
    | None
):
    """indptr, cell_word, cell_count and whether words ascend, without zeros; None if they are not valid."""

def number_words(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,) IN/OUT
    cell_count: NDArray[np.float64],  # (n_cells,)
    local_word: NDArray[np.int32],  # (n_features,) IN/OUT, 0 everywhere
) -> tuple[
    NDArray[np.int64],  # clump_indptr (n_documents + 1,)
    NDArray[np.int32],  # words (n_words,)
    NDArray[np.int64],  # word_indptr (n_words + 1,)
    NDArray[np.int64],  # word_cell (n_cells,)
    NDArray[np.float64],  # lengths (n_documents,)
]:
    """clump_indptr, words, word_indptr, word_cell, lengths; words become local."""

def clump_bounds(
    cell_count: NDArray[np.float64],  # (n_cells,)
) -> NDArray[np.int64]:  # (n_cells + 1,)
    """The bounds of the cells' clumps."""

def clump_weights(
    cell_count: NDArray[np.float64],  # (n_cells,)
    total: int,
) -> NDArray[np.float64]:  # (total,)
    """The weight of each clump."""
