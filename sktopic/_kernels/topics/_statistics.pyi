from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import CountsTarget, SparseSums, WordCells
from sktopic._kernels.threads._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def add_sampled_counts(
    words: WordCells,
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    sums: SparseSums,
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,)
    factor: float,
    target: CountsTarget,
    team: Team,
) -> None:
    """Add to the target in place."""

def add_cell_counts(
    words: WordCells,
    counts: _Real,  # (n_cells, at least n_topics)
    factor: float,
    target: CountsTarget,
    team: Team,
) -> None:
    """Add to the target in place."""

def add_factored_counts(
    words: WordCells,
    cell_document: NDArray[np.int32],  # (n_cells,)
    expectation: _Real,  # (n_documents, n_topics)
    share: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    factor: float,
    target: CountsTarget,
    team: Team,
) -> None:
    """Add to the target in place."""

def add_rows(
    first_row: int,
    last_row: int,
    source: NDArray[np.float64],  # (n_words, n_topics)
    factor: float,
    target_row: NDArray[np.int32],  # (n_words,)
    target: NDArray[np.float64],  # (n_rows, n_topics) IN/OUT
    averaged: NDArray[np.float64],  # (n_rows, n_topics) or (0, n_topics) IN/OUT
    average_weight: NDArray[np.float64],  # (n_topics,), or (0,) without averaged
) -> None:
    """Add to target and averaged in place."""

def take_changes(
    before: NDArray[np.float64],  # (n_rows, n_topics)
    before_row: NDArray[np.int64],  # (n_words,)
    left: float,
    scale: float,
    after: NDArray[np.float64],  # (n_words, n_topics) IN/OUT
    totals: NDArray[np.float64],  # (n_topics,) OUT
) -> int:
    """Change after in place; returns the number of entries that are not zero then."""
