from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

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

def build_alias_tables(
    words: NDArray[np.int32],  # (n_tables,)
    rows: _Real,  # (n_words, n_topics)
    alpha: NDArray[np.float64],  # (n_topics,)
    threshold: NDArray[np.float64],  # (n_tables, n_topics)
    alias: NDArray[np.int32],  # (n_tables, n_topics)
) -> None:
    """The alias tables of some words."""
