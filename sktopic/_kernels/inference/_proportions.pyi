from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import SparseRows

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def sampled_proportions(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    column_indptr: NDArray[np.int64],  # (n_documents + 1,)
    column_topic: NDArray[np.int32],  # (n_columns,)
    values: _Real,  # (n_values,)
    fixed: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,)
    n_sweeps: int,
    lists: SparseRows | None = None,  # in the place of rows
) -> NDArray[np.float64]:
    """theta (n_documents, n_topics), rows summing to one."""

def log_predictive(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    theta: NDArray[np.float64],  # (n_documents, n_topics)
    rows: NDArray[np.float64],  # (n_words, n_topics)
) -> NDArray[np.float64]:
    """(n_documents,) nats."""
