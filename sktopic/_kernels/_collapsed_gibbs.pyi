import numpy as np
from numpy.typing import NDArray

def sweep_words(
    word_indptr: NDArray[np.int64],  # (n_words + 1,)
    words: NDArray[np.int32],  # (n_words,)
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    counts: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
    update_counts: bool,
    totals: NDArray[np.float64],  # (n_topics,) IN/OUT
    prior: NDArray[np.float64],  # (n_topics,)
    topic_word_prior: float,
    own_indptr: NDArray[np.int64],  # (n_features + 1,)
    own_topic: NDArray[np.int32],  # (n_own,)
    own_value: NDArray[np.float64],  # (n_own,)
    prior_sum: NDArray[np.float64],  # (n_topics,)
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_entries,) of TOPIC_CLUMPS IN/OUT
    entry_weight: NDArray[np.float64],  # (n_entries,) IN/OUT
    n_entries: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    hint: NDArray[np.int32],  # (n_clumps,) IN/OUT
    key: int,
) -> None:
    """Change the assignments, the documents' lists and the totals in place."""

def transfer_counts(
    word_indptr: NDArray[np.int64],  # (n_words + 1,)
    words: NDArray[np.int32],  # (n_words,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    before: NDArray[np.int32],  # (n_clumps,)
    z: NDArray[np.int32],  # (n_clumps,)
    counts: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
) -> None:
    """Change counts in place."""

def list_topics(
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_entries,) of TOPIC_CLUMPS OUT
    entry_weight: NDArray[np.float64],  # (n_entries,) OUT
    n_entries: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""
