from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

def choose_topics(
    weights: _Real,  # (n_cells, n_topics)
    topics: NDArray[np.int32],  # (n_cells, n_chosen) OUT
    probabilities: NDArray[np.float64],  # (n_cells, n_chosen) OUT
) -> None:
    """Fill topics and probabilities."""
