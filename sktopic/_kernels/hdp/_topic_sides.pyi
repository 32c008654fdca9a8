import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import TokensByDocument

def compare_sides(
    topic_tokens: TokensByDocument,
    side: NDArray[np.int8],  # (n_tokens,)
    prior: float,
    share: float,
    topic_word_prior: float,
    n_features: int,
) -> tuple[float, float, tuple[float, float]]:
    """log_ratio, log_q, tables of both sides."""

def token_likelihoods(
    first: NDArray[np.int64],  # (n_documents + 1,)
    word: NDArray[np.int32],  # (n_tokens,)
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    topic: NDArray[np.int32],
    count: NDArray[np.float64],
    prior: NDArray[np.float64],  # (n_topics,)
    phi: NDArray[np.float64],  # (n_features, n_topics)
    likelihood: NDArray[np.float64],  # (n_tokens,) OUT
) -> None:
    """Fill likelihood."""
