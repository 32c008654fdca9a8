import numpy as np
from numpy.typing import NDArray

def sweep_cells(
    first_cell: int,
    cell_word: NDArray[np.int32],  # (n_cells,)
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    cell_start: NDArray[np.int64],  # (n_cells + 1,)
    counts: NDArray[np.float64],  # (n_words, size) IN/OUT
    totals: NDArray[np.float64],  # (size,) IN/OUT
    root: NDArray[np.float64],  # (size,) IN/OUT
    rest: float,
    ids: NDArray[np.int64],  # (size,) IN/OUT
    sampler: int,
    common: int,
    topic_concentration: float,
    doc_concentration: float,
    smoothing: float,
    n_features: int,
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slots: NDArray[np.int32],  # (n_clumps, 3) IN/OUT
    gains: NDArray[np.float64],  # (n_clumps, 2) IN/OUT
    n_slots: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    key: int,
) -> tuple[int, float]:  # the next cell, rest
    """Change assignments, lists, counts and root weights in place."""

def list_topics(
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slots: NDArray[np.int32],  # (n_clumps, 3) OUT
    n_slots: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""

def weigh_lists(
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slots: NDArray[np.int32],  # (n_clumps, 3)
    gains: NDArray[np.float64],  # (n_clumps, 2) OUT
    n_slots: NDArray[np.int32],  # (n_documents,)
    indicators: bool,
) -> None:
    """Fill the gains in place."""

def draw_tables(
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slots: NDArray[np.int32],  # (n_clumps, 3) IN/OUT
    n_slots: NDArray[np.int32],  # (n_documents,)
    weight: NDArray[np.float64],  # (size,)
    tables: NDArray[np.float64],  # (size,) IN/OUT
    key: int,
) -> None:
    """Change tables in place."""

def log_seatings(
    slot_start: NDArray[np.int64],  # (n_documents + 1,)
    slots: NDArray[np.int32],  # (n_clumps, 3)
    n_slots: NDArray[np.int32],  # (n_documents,)
) -> float:
    """The sum of log S(n, m)."""

def seat_weights(
    n: NDArray[np.int32],  # (n_topics,)
    m: NDArray[np.int32],  # (n_topics,)
    root: NDArray[np.float64],  # (n_topics,)
    q: NDArray[np.float64],  # (n_topics,)
    topic_concentration: float,
    doc_concentration: float,
) -> NDArray[np.float64]:  # (n_topics, 2)
    """(n_topics, 2)"""
