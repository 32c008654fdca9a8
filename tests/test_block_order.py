"""The order of documents that are read block by block."""

from itertools import product

import numpy as np

from sktopic._documents._block_order import blocks_of, dealt, mixed, permuted


def rows_of(blocks):
    return np.concatenate([np.arange(*block) for block in blocks] or [[]])


def test_parts_are_equal_and_go_through_all_rows_in_order():
    for n_rows, n in product([0, 1, 100, 101, 1234], [1, 2, 7, 32]):
        blocks = permuted(blocks_of(n_rows, 100), key=3)
        parts = dealt(blocks, n)
        assert all(first < last for part in parts for first, last in part)
        rows = [rows_of(part) for part in parts]
        assert np.ptp([len(part) for part in rows]) <= 1, (n_rows, n)
        np.testing.assert_array_equal(np.concatenate(rows), rows_of(blocks))
        assert sorted(rows_of(blocks)) == list(range(n_rows))


def test_each_window_has_whole_blocks_in_random_order():
    blocks = permuted(blocks_of(1000, 100), key=5)
    assert blocks == permuted(blocks_of(1000, 100), key=5) != permuted(blocks_of(1000, 100), key=6)
    windows = list(mixed(blocks, key=7, size=300))
    assert [len(window) for window in windows] == [300, 300, 300, 100]
    for i, window in enumerate(windows):
        assert not np.array_equal(window, np.sort(window))
        assert set(window) == set(rows_of(blocks[3 * i : 3 * i + 3]))
    assert not np.array_equal(windows[0], next(iter(mixed(blocks, key=8, size=300))))
