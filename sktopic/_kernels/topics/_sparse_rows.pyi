import numpy as np
from numpy.typing import NDArray

from sktopic._kernels._groups import SparseRows, SparseSums, SparseTarget, TopicCounts, WordCells
from sktopic._kernels.threads._team import Team

def gather_sparse_rows(
    counts: TopicCounts,
    words: NDArray[np.int32],  # (n_words,)
    factors: NDArray[np.float32],  # (n_topics, 2)
    prior: NDArray[np.float64],  # (n_topics,)
    rows: SparseRows,  # OUT, but for start; rest and even IN/OUT
    log_norm: NDArray[np.float64],  # (n_words,) OUT
    team: Team,
) -> tuple[bool, bool]:
    """Fill rows and log_norm in place; whether no log_norm is NaN or plus infinity."""

def add_sparse_counts(
    words: WordCells,
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    sums: SparseSums,
    rows: SparseRows,
    factor: float,
    target: SparseTarget,
    team: Team,
) -> None:
    """Add to the target in place."""
