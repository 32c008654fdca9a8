"""The order of documents that are read block by block."""

import numpy as np
import pytest

from sktopic._documents._block_order import blocks_of, dealt, mixed, permuted


@pytest.mark.parametrize("n_rows", [0, 1, 99, 100, 101, 1234])
@pytest.mark.parametrize("n", [1, 2, 7, 32])
def test_parts_are_equal_and_go_through_all_rows_in_order(n_rows, n):
    blocks = permuted(blocks_of(n_rows, 100), key=3)
    rows = [np.concatenate([np.arange(*block) for block in part] or [[]]) for part in dealt(blocks, n)]
    assert np.ptp([len(part) for part in rows]) <= 1
    expected = np.concatenate([np.arange(*block) for block in blocks] or [[]])
    np.testing.assert_array_equal(np.concatenate(rows), expected)


def test_each_window_has_whole_blocks_in_random_order():
    blocks = permuted(blocks_of(1000, 100), key=5)
    windows = list(mixed(blocks, key=7, size=300))
    assert sorted(np.concatenate(windows)) == list(range(1000))
    begin = 0
    for i, window in enumerate(windows):
        assert len(window) >= 300 or i == len(windows) - 1
        assert not np.array_equal(window, np.sort(window))
        own = blocks[begin : begin + 3] if i < len(windows) - 1 else blocks[begin:]
        assert set(window) == set(np.concatenate([np.arange(*block) for block in own]))
        begin += len(own)


def test_keys_tell_orders_apart():
    blocks = blocks_of(1000, 10)
    assert permuted(blocks, 1) == permuted(blocks, 1) != permuted(blocks, 2)
    first, second = (np.concatenate(list(mixed(blocks, key))) for key in (1, 2))
    assert not np.array_equal(first, second)
