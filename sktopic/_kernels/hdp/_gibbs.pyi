import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import NumberedCells, RootTopics, SweepSettings, TableLists

# Weights of a customer more in a topic of a document: of a table more, and of an old one.
SEAT_RATIOS: np.dtype

def sweep_cells(
    first_cell: int,
    cells: NumberedCells,
    topics: RootTopics,
    rest: float,
    settings: SweepSettings,
    lists: TableLists,
    ratios: NDArray[np.void],  # (n_clumps,) of SEAT_RATIOS IN/OUT
    z: NDArray[np.int32],  # (n_clumps,) IN/OUT
    key: int,
) -> tuple[int, float]:  # the next cell, rest
    """Change assignments, lists, counts and root weights in place."""

def list_topics(
    cell_document: NDArray[np.int32],  # (n_cells,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    lists: TableLists,
    z: NDArray[np.int32],  # (n_clumps,)
) -> None:
    """Fill the lists in place."""

def weigh_lists(
    lists: TableLists,
    ratios: NDArray[np.void],  # (n_clumps,) of SEAT_RATIOS OUT
    indicators: bool,
) -> None:
    """Fill the seat ratios in place."""

def draw_tables(
    lists: TableLists,
    weight: NDArray[np.float64],  # (size,)
    tables: NDArray[np.float64],  # (size,) IN/OUT
    key: int,
) -> None:
    """Change tables in place."""

def log_seatings(
    lists: TableLists,
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
