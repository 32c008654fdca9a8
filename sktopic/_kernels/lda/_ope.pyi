from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def draw_choices(
    keys: NDArray[np.uint64],  # (n_documents,)
    n_topics: int,
    n_iter: int,
    p: float,
) -> tuple[
    NDArray[np.float64],  # start (n_documents, n_topics)
    NDArray[np.uint8],  # choices (n_documents, n_iter)
]:
    """start, choices."""

def maximise_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,)
    start: NDArray[np.float64],  # (n_documents, n_topics)
    choices: NDArray[np.uint8],  # (n_documents, n_iter)
    p: float,
    lazy: bool = True,
) -> tuple[
    NDArray[np.float64],  # theta (n_documents, n_topics)
    NDArray[np.float64],  # share (n_cells,)
]:
    """theta, share."""
