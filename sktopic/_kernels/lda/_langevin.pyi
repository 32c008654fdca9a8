import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import ScaledCounts

def normals(key: int, m: int) -> NDArray[np.float64]:
    """(2 m,)."""

def langevin_step(
    first_part: int,
    last_part: int,
    part_bounds: NDArray[np.int64],  # (n_parts + 1,)
    theta: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
    batch: ScaledCounts,
    topic_word_prior: float,
    pull_down: NDArray[np.float64],  # (n_topics,)
    step: float,
    key: int,
    totals: NDArray[np.float64],  # (n_parts, n_topics) OUT
) -> None:
    """Move theta in place and fill totals."""
