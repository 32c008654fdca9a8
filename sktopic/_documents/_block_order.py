"""The order in which documents are visited that are read block by block.

Blocks come in random order, and documents of blocks that follow each other are mixed: so each block is read
once in a pass, and a mini-batch has documents of many blocks.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._kernels.random._rng import combine_keys

# Documents of a block, where what is read has no blocks of its own.
BLOCK_SIZE = 2048
# Documents that are mixed: as many blocks that follow each other as it takes to have these.
WINDOW_SIZE = 32768

# Rows first to last, last not included.
Range = tuple[int, int]
Block = TypeVar("Block")


def blocks_of(n_rows: int, size: int = BLOCK_SIZE) -> list[Range]:
    """Cut rows into blocks of equal size, the last one excepted."""
    return [(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


def permuted(blocks: Sequence[Block], key: int) -> list[Block]:
    """The blocks, or their numbers, in random order."""
    return [blocks[i] for i in np.random.RandomState(key % 2**32).permutation(len(blocks))]


def dealt(blocks: list[Range], n: int) -> list[list[Range]]:
    """Cut a sequence of blocks into n parts of numbers of rows that differ by one at most."""
    ends = np.cumsum([last - first for first, last in blocks], dtype=np.int64)
    n_rows = int(ends[-1]) if blocks else 0
    bounds = [n_rows * i // n for i in range(n + 1)]
    parts: list[list[Range]] = []
    for begin, end in pairwise(bounds):
        part = []
        for i in range(int(np.searchsorted(ends, begin, side="right")), len(blocks)):
            first, last = blocks[i]
            start = int(ends[i]) - (last - first)  # of the block in the sequence
            if start >= end:
                break
            part.append((first + max(begin - start, 0), min(last, first + end - start)))
        parts.append(part)
    return parts


def windows(blocks: Iterable[Range], size: int = WINDOW_SIZE) -> Iterator[list[Range]]:
    """Yield blocks that follow each other, as many as it takes to have that many rows."""
    window: list[Range] = []
    n_rows = 0
    for first, last in blocks:
        window.append((first, last))
        n_rows += last - first
        if n_rows >= size:
            yield window
            window, n_rows = [], 0
    if window:
        yield window


def random_order(n: int, key: int, number: int) -> NDArray[np.int64]:
    """The order of the n rows of the window of that number."""
    return np.random.RandomState(combine_keys(key, number) % 2**32).permutation(n)


def mixed(blocks: Iterable[Range], key: int, size: int = WINDOW_SIZE) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers, window by window, those of each in random order."""
    for number, window in enumerate(windows(blocks, size)):
        rows = np.concatenate([np.arange(first, last, dtype=np.int64) for first, last in window])
        yield rows[random_order(len(rows), key, number)]
