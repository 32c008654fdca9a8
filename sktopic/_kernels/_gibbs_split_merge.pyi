import numpy as np
from numpy.typing import NDArray

def split_merge(
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    cell_start: NDArray[np.int64],  # (n_cells + 1,)
    counts: NDArray[np.float64],  # (n_features, size) IN/OUT
    totals: NDArray[np.float64],  # (size,) IN/OUT
    weight: NDArray[np.float64],  # (size,) IN/OUT
    fixed: NDArray[np.uint8],  # (size,)
    ids: NDArray[np.int64],  # (size,) IN/OUT
    topic_concentration: float,
    topic_word_prior: float,
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES IN/OUT
    n_entries: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    n_proposals: int,
    n_scans: int,
    key: int,
) -> tuple[int, int]:  # splits, merges
    """Change assignments, lists, counts and weights in place."""
