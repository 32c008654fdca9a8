import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import NumberedCells, RootTopics, TableLists

def split_merge(
    cells: NumberedCells,
    topics: RootTopics,
    fixed: NDArray[np.uint8],  # (size,)
    topic_concentration: float,
    topic_word_prior: float,
    lists: TableLists,
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    n_proposals: int,
    n_scans: int,
    key: int,
) -> tuple[int, int]:  # splits, merges
    """Change assignments, lists, counts and weights in place."""
