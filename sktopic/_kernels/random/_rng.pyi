import numpy as np
from numpy.typing import NDArray

def combine_keys(key: int, *values: int) -> int:
    """The key that absorbs the values one after the other."""

def position_keys(key: int, start: int, n: int) -> NDArray[np.uint64]:
    """(n,) uint64."""

def combine_each(keys: NDArray[np.uint64], value: int) -> NDArray[np.uint64]:
    """keys (n,) -> (n,) uint64."""

def content_keys(
    key: int,
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    words: NDArray[np.int32],  # (n_cells,)
    counts: NDArray[np.float64],  # (n_cells,)
    numbers: NDArray[np.int32] | None = None,  # (n_words,)
) -> NDArray[np.uint64]:
    """(n_documents,) uint64; numbers: what stands for each word."""

def uniforms(key: int, n: int) -> NDArray[np.float64]:
    """(n,) float64 in [0, 1)."""

def bits(key: int, n: int) -> NDArray[np.uint64]:
    """(n,) uint64."""

def fill_noise(
    rows: NDArray[np.float64],  # (n_rows, n_columns) OUT
    key: int,
    first_row: int,
) -> None:
    """Fill rows in place."""
