import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import Ascent, TopicCells, WholeTopic

def divide_cells(
    document: NDArray[np.int32],  # (n_cells,)
    word: NDArray[np.int32],  # (n_cells,)
    tokens: NDArray[np.float64],  # (n_cells,)
    log_words: NDArray[np.float64],  # (n_words, n_parts)
    prior: NDArray[np.float64],  # (n_parts,)
    max_iter: int,
    tol: float,
    mixing: NDArray[np.float64],  # (n_documents,) IN/OUT
) -> NDArray[np.float64]:  # (n_cells, n_parts)
    """divided."""

def propose_parts(
    cells: TopicCells,
    whole: WholeTopic,
    n_parts: int,
    ascent: Ascent,
    key: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """columns (n_parts, n_words), shares (n_parts,), gain."""
