from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def update_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,), or (n_documents, n_topics)
    gamma: NDArray[np.float64],  # (n_documents, n_topics) IN/OUT
    max_iter: int,
    tol: float,
) -> tuple[
    _Real,  # expectation (n_documents, n_topics)
    NDArray[np.float64],  # share (n_cells,)
    NDArray[np.float64],  # changes (n_documents,)
]:
    """expectation, share, changes."""
