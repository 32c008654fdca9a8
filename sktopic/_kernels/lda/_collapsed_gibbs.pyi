import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import CellsByWord, ClumpLists, TopicPrior

def sweep_words(
    cells: CellsByWord,
    counts: NDArray[np.float64],  # (n_features, n_topics) IN/OUT
    update_counts: bool,
    totals: NDArray[np.float64],  # (n_topics,) IN/OUT
    prior: NDArray[np.float64],  # (n_topics,)
    topic_prior: TopicPrior,
    lists: ClumpLists,
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
    lists: ClumpLists,
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""
