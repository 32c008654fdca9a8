from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import Chains, DenseSums, DocumentCells, LeftOut, Sweeps
from sktopic._kernels.threads._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

PADDING: int

def sweep_documents(
    cells: DocumentCells,
    clump_indptr: NDArray[np.int64],  # (n_documents + 1,)
    rows: _Real,  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,), or (n_documents, n_topics)
    chains: Chains,
    sweeps: Sweeps,
    found: DenseSums,
    team: Team,
    left_out: LeftOut | None = None,
) -> None:
    """Fill z of the chains, and the arrays of found."""
