from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

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

def pair_mixing(
    cell1: NDArray[np.int32],
    tokens1: NDArray[np.float64],
    cell2: NDArray[np.int32],
    tokens2: NDArray[np.float64],
    document1: NDArray[np.int32],
    mixing: NDArray[np.float64],  # (n_documents,) IN/OUT
) -> None: ...
def divide_cells(
    document: NDArray[np.int32],  # (n,)
    word: NDArray[np.int32],  # (n,)
    tokens: NDArray[np.float64],  # (n,)
    difference: NDArray[np.float64],  # (n_words,)
    prior1: float,
    prior2: float,
    start: float,
    max_iter: int,
    tol: float,
    mixing: NDArray[np.float64],  # (n_documents,) IN/OUT
) -> NDArray[np.float64]:  # (n,)
    """first."""
