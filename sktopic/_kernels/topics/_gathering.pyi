from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels.threads._team import Team

_Real = TypeVar("_Real", NDArray[np.float32], NDArray[np.float64])

BLOCK_SIZE: int

def gather_topics(
    store: NDArray[np.float64],  # (n_features, n_topics)
    words: NDArray[np.int32],  # (n_words,)
    scale: NDArray[np.float64],  # (n_topics,)
    offset: NDArray[np.float64],  # (n_topics,)
    prior: NDArray[np.float64],  # (n_topics,)
    rows: _Real,  # (n_words, n_topics) OUT
    cumulative: _Real,  # (n_words, ceil(n_topics / BLOCK_SIZE)) OUT
    log_norm: NDArray[np.float64],  # (n_words,) OUT
    team: Team,
) -> bool:
    """Fill rows, cumulative and log_norm in place; whether no log_norm is NaN or plus infinity."""

def gather_geometric(
    store: NDArray[np.float64],  # (n_features, n_topics)
    words: NDArray[np.int32],  # (n_words,)
    scale: NDArray[np.float64],  # (n_topics,)
    offset: NDArray[np.float64],  # (n_topics,)
    norm: NDArray[np.float64],  # (n_topics,)
    prior: NDArray[np.float64],  # (n_topics,)
    rows: _Real,  # (n_words, n_topics) OUT
    cumulative: _Real,  # (n_words, ceil(n_topics / BLOCK_SIZE)) OUT
    log_norm: NDArray[np.float64],  # (n_words,) OUT
    team: Team,
) -> bool:
    """Fill rows, cumulative and log_norm in place; whether no log_norm is NaN or plus infinity."""
