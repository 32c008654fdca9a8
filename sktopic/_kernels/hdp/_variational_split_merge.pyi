from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import DocumentCells

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def dirichlet_terms(
    column: NDArray[np.float64],  # (n_features,)
    topic_word_prior: float,
    log_phi: NDArray[np.float64],  # (n_features,) OUT
) -> float: ...
def list_cells(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    share: NDArray[np.float64],  # (n_cells,)
    expectation: _Real,  # (n_documents, n_topics)
    rows: _Real,  # (n_words, n_topics)
    topic: int,
    present: NDArray[np.int8],  # (n_documents,)
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """cell, document, tokens."""

def pairs_mixing(
    cells: DocumentCells,
    share: NDArray[np.float64],  # (n_cells,)
    expectation: _Real,  # (n_documents, n_topics)
    rows: _Real,  # (n_words, n_topics)
    tokens: NDArray[np.float64],  # (n_documents, n_topics)
    fewest: float,
    pairs: NDArray[np.int64],  # (n_pairs, 2)
    first: int,
    last: int,
) -> NDArray[np.float64]:  # (last - first, n_pairs)
    """mixing."""
