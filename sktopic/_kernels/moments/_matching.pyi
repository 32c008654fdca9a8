from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

class _Tokens(Protocol):
    @property
    def document(self) -> NDArray[np.int32]: ...  # (n_tokens,)
    @property
    def word(self) -> NDArray[np.int32]: ...  # (n_tokens,)
    @property
    def weight(self) -> NDArray[np.float64]: ...  # (n_tokens,)
    @property
    def begins(self) -> NDArray[np.uint8]: ...  # (n_tokens,)

class _Topics(Protocol):
    @property
    def store(self) -> NDArray[np.float64]: ...  # (n_features, n_topics)
    @property
    def scale(self) -> NDArray[np.float64]: ...  # (n_topics,)
    @property
    def sums(self) -> NDArray[np.float64]: ...  # (n_topics,)
    @property
    def spread(self) -> NDArray[np.float64]: ...  # (n_topics,)

FIXED: int
DEGENERATE: int
TRIANGULAR: int
FIRST: int
SUM: int
SECOND: int
MAX_TOKENS: int

def list_tokens(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    keys: NDArray[np.uint64],  # (n_documents,) or (0,)
) -> tuple[
    NDArray[np.int32],  # document (n_tokens,)
    NDArray[np.int32],  # word (n_tokens,)
    NDArray[np.float64],  # weight (n_tokens,)
]:
    """document, word, weight."""

def permutation(key: int, n: int) -> NDArray[np.int64]:
    """(n,)"""

def filter_tokens(
    model: int,
    match: int,
    tokens: _Tokens,
    topics: _Topics,
    start: NDArray[np.float64],  # (size,)
    alpha: NDArray[np.float64],  # (n_documents, size)
    gamma: NDArray[np.float64],  # (n_topics,)
    lag: NDArray[np.float64],  # (n_topics,)
    marginal: NDArray[np.float64],  # (2,)
    predictive: NDArray[np.float64],  # (n_tokens,) or (0,)
) -> None:
    """Changes the arrays of topics, alpha, gamma, lag, marginal and predictive."""

def infer_documents(
    model: int,
    match: int,
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    word: NDArray[np.int32],  # (n_tokens,)
    weight: NDArray[np.float64],  # (n_tokens,)
    rows: _Real,  # (n_words, n_topics)
    gamma: NDArray[np.float64],  # (n_topics,)
    start: NDArray[np.float64],  # (size,)
    alpha: NDArray[np.float64],  # (n_documents, size) or (1, size)
) -> NDArray[np.float64]:  # (n_documents, n_topics)
    """theta."""
