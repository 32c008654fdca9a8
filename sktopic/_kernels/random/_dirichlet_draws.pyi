import numpy as np
from numpy.typing import NDArray

def draw_dirichlets(
    parameters: NDArray[np.float64],  # (n, n_topics)
    keys: NDArray[np.uint64],  # (n,)
    theta: NDArray[np.float64],  # (n, n_topics) OUT
) -> None:
    """Fill theta with one draw a row."""
