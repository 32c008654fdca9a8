from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import DocumentCells, Particles

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def left_to_right(
    cells: DocumentCells,
    rows: _Real,  # (n_words, n_topics)
    cumulative: _Real,  # (n_words, ceil(n_topics / 16))
    log_norm: NDArray[np.float64],  # (n_words,)
    prior: NDArray[np.float64],  # (n_topics,)
    keys: NDArray[np.uint64],  # (n_documents,)
    n_given: NDArray[np.int64],  # (n_documents,)
    particles: Particles,
) -> NDArray[np.float64]:  # (2, n_documents)
    """Nats, and their standard errors."""
