import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import WindowTokens

def token_likelihoods(
    tokens: WindowTokens,
    prior: NDArray[np.float64],  # (n_topics,)
    phi: NDArray[np.float64],  # (n_features, n_topics)
    likelihood: NDArray[np.float64],  # (n_tokens,) OUT
    first_document: int,
    last_document: int,
) -> None:
    """Fill likelihood for a range of documents."""

def compare_with_others(
    documents: NDArray[np.int64],  # (n,)
    tokens: WindowTokens,
    number: int,
    prior: float,
    words: NDArray[np.float64],  # (n_features,)
    other_prior: NDArray[np.float64],  # (n_topics,)
    phi: NDArray[np.float64],  # (n_features, n_topics)
    likelihood: NDArray[np.float64],  # (n_tokens,)
    topic_word_prior: float,
) -> float:
    """Gain of the topic in these documents, without the log probability of its tokens in it."""
