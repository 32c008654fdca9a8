import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import CountsTarget, WordCells

def gather_log_topics(
    store: NDArray[np.float64],  # (n_features, n_topics)
    words: NDArray[np.int32],  # (n_words,)
    weight: float,
    offset: float,
    norm: NDArray[np.float64],  # (n_topics,)
    log_rows: NDArray[np.float64],  # (n_words, n_topics) OUT
    rows: NDArray[np.float32],  # (n_words, n_topics) OUT
) -> None: ...
def start_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    rows: NDArray[np.float32],  # (n_words, n_topics)
    prior: NDArray[np.float64],  # (n_topics,)
    n_atoms: int,
    n_iter: int,
) -> NDArray[np.float64]:
    """zeta (n_cells, n_atoms)."""

def update_documents(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    log_rows: NDArray[np.float64],  # (n_words, n_topics)
    log_weights: NDArray[np.float64],  # (n_topics,)
    lowest: float,
    concentration: float,
    zeta: NDArray[np.float64],  # (n_cells, n_atoms) IN/OUT
    max_iter: int,
    tol: float,
) -> tuple[
    NDArray[np.float64],  # varphi (n_documents, n_atoms, n_topics)
    NDArray[np.float64],  # sticks (n_documents, 2, n_atoms)
    NDArray[np.float64],  # theta (n_documents, n_topics)
    NDArray[np.float64],  # bound (n_documents,)
    NDArray[np.int32],  # n_iter (n_documents,)
]:
    """varphi, sticks, theta, bound, n_iter."""

def add_atom_counts(
    first_part: int,
    last_part: int,
    words: WordCells,
    cell_document: NDArray[np.int32],  # (n_cells,)
    zeta: NDArray[np.float64],  # (n_cells, n_atoms)
    varphi: NDArray[np.float64],  # (n_documents, n_atoms, n_topics)
    factor: float,
    target: CountsTarget,
) -> None: ...
