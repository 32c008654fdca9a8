from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def sweep_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    rows: _Real,  # (n_words, n_topics)
    cumulative: _Real,  # (n_words, ceil(n_topics / 16))
    prior: NDArray[np.float64],  # (n_topics,)
    keys: NDArray[np.uint64],  # (n_documents,)
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    n_burn_in: int,  # >= 0
    n_sweeps: int,  # >= 1
    drawn: bool,
    with_log_theta: bool,
    team: Team,
    own: NDArray[np.float64] | None = None,  # (n_documents,); None: none of the others either
    token: NDArray[np.float64] | None = None,  # (n_topics,)
    smoothing: NDArray[np.float64] | None = None,  # (n_topics,)
    unit: NDArray[np.float64] | None = None,  # (n_words,)
) -> tuple[
    NDArray[np.int64],  # column_indptr (n_documents + 1,)
    NDArray[np.int32],  # column_topic (n_columns,)
    _Real,  # values (sum over documents of cells * columns,)
    NDArray[np.float64],  # fixed (n_cells,)
    NDArray[np.float64],  # log_theta (n_columns,), or (0,)
]:
    """column_indptr, column_topic, values, fixed, log_theta."""
