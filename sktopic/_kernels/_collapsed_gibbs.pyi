import numpy as np
from numpy.typing import NDArray

def sweep_words(
    word_indptr: NDArray[np.int64],  # (n_words + 1,)
    words: NDArray[np.int32],  # (n_words,)
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    counts: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
    alone: bool,
    totals: NDArray[np.float64],  # (n_topics,) IN/OUT
    prior: NDArray[np.float64],  # (n_topics,)
    smoothing: float,
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slot_topic: NDArray[np.int32],  # (n_slots, 2) IN/OUT
    slot_weight: NDArray[np.float64],  # (n_slots,) IN/OUT
    n_slots: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    hint: NDArray[np.int32],  # (n_clumps,) IN/OUT
    key: int,
) -> None:
    """Change the assignments, the documents' lists and the totals in place."""

def move_counts(
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
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slot_topic: NDArray[np.int32],  # (n_slots, 2) OUT
    slot_weight: NDArray[np.float64],  # (n_slots,) OUT
    n_slots: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""
