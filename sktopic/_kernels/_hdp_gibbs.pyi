import numpy as np
from numpy.typing import NDArray

# Weights of a customer more in a topic of a document: of a table more, and of an old one.
SEAT_RATIOS: np.dtype

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
    topic_word_prior: float,
    n_features: int,
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES IN/OUT
    ratios: NDArray[np.void],  # (n_clumps,) of SEAT_RATIOS IN/OUT
    n_entries: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    key: int,
) -> tuple[int, float]:  # the next cell, rest
    """Change assignments, lists, counts and root weights in place."""

def list_topics(
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES OUT
    n_entries: NDArray[np.int32],  # (n_documents,) IN/OUT
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""

def weigh_lists(
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES
    ratios: NDArray[np.void],  # (n_clumps,) of SEAT_RATIOS OUT
    n_entries: NDArray[np.int32],  # (n_documents,)
    indicators: bool,
) -> None:
    """Fill the seat ratios in place."""

def draw_tables(
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES IN/OUT
    n_entries: NDArray[np.int32],  # (n_documents,)
    weight: NDArray[np.float64],  # (size,)
    tables: NDArray[np.float64],  # (size,) IN/OUT
    key: int,
) -> None:
    """Change tables in place."""

def log_seatings(
    list_start: NDArray[np.int64],  # (n_documents + 1,)
    entries: NDArray[np.void],  # (n_clumps,) of TOPIC_TABLES
    n_entries: NDArray[np.int32],  # (n_documents,)
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
