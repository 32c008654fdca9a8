from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def keep_shares(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    expectation: _Real,  # (n_documents, n_topics)
    smallest: float,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """size, topic, tokens."""

def mix_pairs(
    bounds: NDArray[np.int64],  # (n_cells + 1,)
    topic: NDArray[np.int32],  # (n,)
    tokens: NDArray[np.float64],  # (n,)
    cell_weight: NDArray[np.float64],  # (n_cells,) or (0,)
    pair: NDArray[np.int32],  # (n_topics, n_topics)
    mixing: NDArray[np.float64],  # (n_pairs,) IN/OUT
) -> None: ...
def sum_gains(
    topic: NDArray[np.int32],  # (n,)
    tokens: NDArray[np.float64],  # (n,)
    weight: NDArray[np.float64],  # (n,) or (0,)
    prior: NDArray[np.float64],  # (n_topics,)
    order: int,
) -> NDArray[np.float64]:  # (n_topics,)
    """gains."""
