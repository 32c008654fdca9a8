from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import Chains, DocumentCells, LeftOut, SparseRows, SparseSums, Sweeps
from sktopic._kernels.threads._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def sweep_documents(
    cells: DocumentCells,
    rows: _Real,  # (n_words, n_topics)
    cumulative: _Real,  # (n_words, ceil(n_topics / 16))
    prior: NDArray[np.float64],  # (n_topics,)
    chains: Chains,
    sweeps: Sweeps,
    team: Team,
    left_out: LeftOut | None = None,
    lists: SparseRows | None = None,  # in the place of rows and cumulative
) -> SparseSums:
    """Write to z of the chains."""
