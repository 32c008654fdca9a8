from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import Chains, DocumentCells, SparseRows
from sktopic._kernels.threads._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def draw_word_topics(
    cells: DocumentCells,
    clump_indptr: NDArray[np.int64],  # (n_documents + 1,)
    rows: _Real,  # (n_words, n_topics)
    cumulative: _Real,  # (n_words, ceil(n_topics / 16))
    prior: NDArray[np.float64],  # (n_topics,), or (n_documents, n_topics)
    chains: Chains,
    team: Team,
    lists: SparseRows | None = None,  # in the place of rows and cumulative
) -> None:
    """Write to z of the chains."""
