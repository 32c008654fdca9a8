import numpy as np
from numpy.typing import NDArray

def alias_table(
    weight: NDArray[np.float64],  # (n,)
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:  # threshold (n,), alias (n,)
    """threshold, alias."""

def alias_draws(
    threshold: NDArray[np.float64],  # (n,)
    alias: NDArray[np.int32],  # (n,)
    key: int,
    n_draws: int,
) -> NDArray[np.int32]:  # (n_draws,)
    """(n_draws,)"""
