from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

PADDING: int

def sweep_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    clump_indptr: NDArray[np.int64],  # (n_documents + 1,)
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,)
    keys: NDArray[np.uint64],  # (n_documents,)
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    n_burn_in: int,  # >= 0
    n_sweeps: int,  # >= 1
    counts: _Real,  # (n_cells, n_padded) or (0, n_padded) OUT
    sums: NDArray[np.float64],  # (n_documents, n_topics) or (0, n_topics) OUT
    log_theta: NDArray[np.float64],  # (n_documents, n_topics) or (0, n_topics) OUT
    team: Team,
    own: NDArray[np.float64] | None = None,  # (n_documents,); None: none of the others either
    token: NDArray[np.float64] | None = None,  # (n_topics,)
    smoothing: NDArray[np.float64] | None = None,  # (n_topics,)
    unit: NDArray[np.float64] | None = None,  # (n_words,)
) -> None:
    """Fill z, and counts or sums, and log_theta."""
