import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import TokensByWord, TopicPrior

PADDING: int
LONGEST: int

def sweep_words(
    tokens: TokensByWord,
    counts: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
    update_counts: bool,
    totals: NDArray[np.float64],  # (n_topics,) IN/OUT
    prior: NDArray[np.float64],  # (n_topics,)
    topic_prior: TopicPrior,
    rows: NDArray[np.float32],  # (n_documents, n_padded) IN/OUT
    z: NDArray[np.int32],  # (n_tokens,) IN/OUT
    key: int,
) -> None:
    """Change the assignments, the documents' rows and the totals in place."""

def list_tokens(
    word_indptr: NDArray[np.int64],  # (n_words + 1,)
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    token_indptr: NDArray[np.int64],  # (n_words + 1,) OUT
    document: NDArray[np.int32],  # (n_tokens,) OUT
    size: NDArray[np.float32],  # (n_tokens,) OUT
) -> None:
    """Fill the tokens in place."""

def count_topics(
    document: NDArray[np.int32],  # (n_tokens,)
    size: NDArray[np.float32],  # (n_tokens,)
    z: NDArray[np.int32],  # (n_tokens,)
    rows: NDArray[np.float32],  # (n_documents, n_padded) OUT
) -> None:
    """Fill the rows in place."""
