from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import AliasTables, DocumentCells

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def sweep_tables(
    cells: DocumentCells,
    rows: _Real,  # (n_words, n_topics)
    cumulative: _Real,  # (n_words, n_blocks)
    alpha: NDArray[np.float64],  # (n_topics,)
    keys: NDArray[np.uint64],  # (n_documents,)
    sample_weight: NDArray[np.float64],  # (n_documents,), or (0,) for ones
    n_burn_in: int,
    n_sweeps: int,
    tables_of_words: AliasTables | None = None,
) -> tuple[
    NDArray[np.int64],  # column_indptr (n_documents + 1,)
    NDArray[np.int32],  # column_topic (n_columns,)
    _Real,  # values
    NDArray[np.float64],  # tables (n_topics,)
]:
    """column_indptr, column_topic, values, tables."""

def token_conditional(
    customers: NDArray[np.int32],  # (n_topics,)
    tables: NDArray[np.int32],  # (n_topics,)
    row: _Real,  # (n_topics,)
    alpha: NDArray[np.float64],  # (n_topics,)
) -> tuple[
    NDArray[np.float64],  # opens (n_topics,)
    NDArray[np.float64],  # joins (n_topics,)
]:
    """opens, joins."""
