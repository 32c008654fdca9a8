"""Rows of a CSR matrix become batches of documents."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from sktopic._kernels.documents._completion import hide_tokens
from sktopic._kernels.documents._reading import (
    clump_weights,
    copy_rows,
    count_rows_of_words,
    number_words,
    structure_bounds,
)
from tests.reference import documents as reference

COPIED = "indptr", "cell_word", "cell_count", "in_order"
NUMBERED = "clump_indptr", "words", "word_indptr", "word_cell", "lengths"
LARGEST = 1e20


def random_counts(dtype=np.float64, index=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.poisson(0.4, (20, 50)) * rng.choice([1.0, 1.0, 0.4, 40.0, 1e9], (20, 50))
    dense[[0, 7, 19]] = 0.0
    x = sp.csr_array(dense.astype(dtype))
    return x.indptr.astype(index), x.indices.astype(index), x.data


def gathered(arrays, rows, n_features=50, copy_rows=copy_rows, number_words=number_words):
    """What the kernels make of rows, by names; or their twins."""
    scratch = np.full(n_features, -1, dtype=np.int32)
    batch = dict(zip(COPIED, copy_rows(*arrays, np.array(rows, dtype=np.int64), n_features, LARGEST)))
    assert batch["in_order"]
    numbered = number_words(batch["indptr"], batch["cell_word"], batch["cell_count"], scratch)
    np.testing.assert_array_equal(scratch, -1)
    return batch | dict(zip(NUMBERED, numbered))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "rows", [np.arange(20), np.arange(19, -1, -1), [3], [7], [0, 7], [5, 5, 2], []], ids=str
)
def test_batch_is_that_of_the_reference(rows, dtype, index):
    arrays = random_counts(dtype, index)
    batch = gathered(arrays, rows)
    expected = gathered(arrays, rows, copy_rows=reference.copy_rows, number_words=reference.number_words)
    for name in batch.keys() - {"in_order"}:
        assert batch[name].dtype == expected[name].dtype, name
        if name == "lengths":
            np.testing.assert_allclose(batch[name], expected[name], rtol=1e-14)
        else:
            np.testing.assert_array_equal(batch[name], expected[name], err_msg=name)


def test_read_only_input_is_accepted_and_left_alone():
    arrays = random_counts()
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    rows = np.arange(20)
    rows.flags.writeable = False
    copy_rows(*arrays, rows, 50, LARGEST)
    for array, copy in zip(arrays, copies):
        np.testing.assert_array_equal(array, copy)


def test_cells_can_be_put_together_again():
    indptr, indices, data = random_counts()
    rows = np.array([4, 1, 9, 0, 12])
    batch = gathered((indptr, indices, data), rows)
    whole = sp.csr_array((data, indices, indptr), shape=(20, 50)).toarray()[rows]
    words = batch["words"][batch["cell_word"]]
    again = sp.csr_array((batch["cell_count"], words, batch["indptr"]), shape=(5, 50)).toarray()
    np.testing.assert_array_equal(again, whole)


def test_word_index_lists_each_cell_once_under_its_word_documents_ascending():
    batch = gathered(random_counts(), np.arange(20))
    assert sorted(batch["word_cell"]) == list(range(len(batch["cell_word"])))
    for word, (first, last) in enumerate(pairwise(batch["word_indptr"])):
        cells = batch["word_cell"][first:last]
        assert np.all(batch["cell_word"][cells] == word)
        assert np.all(np.diff(cells) > 0)


@pytest.mark.parametrize(
    ("words", "counts"),
    [([3, 1], [1, 2]), ([1, 1], [1, 2]), ([1, 3], [1, 0])],
    ids=["unsorted", "duplicated", "with a zero"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_rows_out_of_order_are_told(words, counts, dtype):
    arrays = np.array([0, 2, 4]), np.array([0, 1, *words]), np.array([1, 2, *counts], dtype=dtype)
    for copy in (copy_rows, reference.copy_rows):
        _, copied_words, copied_counts, in_order = copy(*arrays, np.array([0, 1]), 4, LARGEST)
        assert not in_order
        np.testing.assert_array_equal(copied_words, arrays[1])
        np.testing.assert_array_equal(copied_counts, arrays[2])
    np.testing.assert_array_equal(gathered(arrays, [0], n_features=4)["words"], [0, 1])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, -1, 2, 4], [0, 1, 2, 3], [1.0] * 4),
        ([0, 3, 2, 4], [0, 1, 2, 3], [1.0] * 4),
        ([0, 1, 2, 5], [0, 1, 2, 3], [1.0] * 4),
        ([0, 1, 2, 2**31 - 1], [0, 1, 2, 3], [1.0] * 4),
        ([0, 1, 2, 4], [0, 1, 2], [1.0] * 4),
        ([0, 1, 2, 4], [0, 1, 2, 3], [1.0] * 3),
        ([0, 4, 0, 4], [0, 1, 2, 3], [1.0] * 4),
        ([0, 1, 2, 4], [0, 1, 2, 5], [1.0] * 4),
        ([0, 1, 2, 4], [0, 1, -1, 3], [1.0] * 4),
        ([0, 1, 2, 4], [0, 1, 2**31 - 1, 3], [1.0] * 4),
        *(([0, 1, 2, 4], [0, 1, 2, 3], [1.0, 1.0, bad, 1.0]) for bad in (-1.0, np.nan, np.inf, 1e21)),
    ],
)
def test_rows_that_are_not_valid_are_not_copied(indptr, indices, data, index):
    arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index), np.array(data)
    for copy in (copy_rows, reference.copy_rows):
        assert copy(*arrays, np.arange(3), 5, LARGEST) is None


def test_words_beyond_32_bits_are_not_cut_off():
    arrays = np.array([0, 1]), np.array([2**32 + 1]), np.array([1.0])
    assert copy_rows(*arrays, np.array([0]), 5, LARGEST) is None


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indptr", "indices", "expected"),
    [
        ([0, 1, 1, 3], [4, 0, 2], (True, 0, 4)),
        ([0, 2], [4, 7, -2], (True, 4, 7)),
        ([0, 0], [], (True, 0, -1)),
        ([0], [], (True, 0, -1)),
        ([0, 2, 1], [5, 6], (False, 5, 6)),
        ([1, 2], [5, 6], (False, 5, 6)),
        ([0, 3], [5, 6], (False, 5, 6)),
        ([0, -1, 2], [5, 6], (False, 5, 6)),
    ],
)
def test_bounds_of_structure(indptr, indices, expected, index):
    arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index)
    assert structure_bounds(*arrays) == expected == reference.structure_bounds(*arrays)
    assert structure_bounds(*(np.repeat(array, 2)[::2] for array in arrays)) == expected


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_of_words_are_counted_and_no_memory_beyond(index):
    indices = np.array([3, 0, 3, -1, 5, np.iinfo(index).max, 4], dtype=index)
    found, expected = np.arange(5), np.arange(5)
    count_rows_of_words(indices, found)
    reference.count_rows_of_words(indices, expected)
    np.testing.assert_array_equal(found, expected)
    assert found.tolist() == [1, 1, 2, 5, 5]


def weights_in_kernel(count, n_keys=4000):
    """The weights the kernel cuts a count into: hiding one clump shows the weight of one at random."""
    indptr = np.arange(n_keys + 1, dtype=np.int64)
    keys = np.arange(n_keys, dtype=np.uint64)
    return np.unique(hide_tokens(indptr, np.full(n_keys, float(count)), keys, 1e-9))


@pytest.mark.parametrize(
    ("count", "n", "weights"),
    [
        (0.3, 1, [0.3]),
        (1, 1, [1]),
        (1.5, 2, [0.5, 1]),
        (5, 5, [1]),
        (63.25, 64, [0.25, 1]),
        (64, 64, [1]),
        (65, 64, [65 / 64]),
        (70.1, 64, [70.1 / 64]),
        (1e9, 64, [1e9 / 64]),
    ],
)
def test_count_becomes_units_and_a_remainder_up_to_64_and_64_equal_clumps_beyond(count, n, weights):
    arrays = np.array([0, 1]), np.array([0]), np.array([float(count)])
    assert gathered(arrays, [0], n_features=1)["clump_indptr"][-1] == n
    np.testing.assert_allclose(weights_in_kernel(count), weights, rtol=1e-15)
    assert len(reference.clump_weights(count)) == n
    np.testing.assert_allclose(np.unique(reference.clump_weights(count)), weights, rtol=1e-15)
    np.testing.assert_allclose(reference.clump_weights(count).sum(), count, rtol=1e-14)
    np.testing.assert_allclose(clump_weights(arrays[2], n), reference.clump_weights(count))
