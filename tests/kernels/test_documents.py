"""Rows of a CSR matrix become batches of documents; of their words, the right number is hidden uniformly."""

from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.documents._completion import hide_tokens
from sktopic._kernels.documents._reading import (
    clump_weights,
    copy_rows,
    count_rows_of_words,
    number_words,
    structure_bounds,
)
from tests.kernels.tools import assert_distributed, for_each_seed, random_corpus
from tests.reference import completion
from tests.reference import documents as reference

COPIED = "indptr", "cell_word", "cell_count"
NUMBERED = "number", "clump_indptr", "words", "word_indptr", "word_cell", "lengths"
LARGEST = 1e20

for_each_index = pytest.mark.parametrize("index", [np.int32, np.int64])


def gathered(arrays, rows, n_features=50):
    """What the kernels make of rows, by names."""
    scratch = np.zeros(n_features, dtype=np.int32)
    indptr, word, count, in_order = copy_rows(*arrays, np.array(rows, np.int64), n_features, LARGEST)
    assert in_order
    number = word.copy()
    numbered = number_words(indptr, number, count, scratch)
    assert not scratch.any()
    return dict(zip((*COPIED, *NUMBERED), (indptr, word, count, number, *numbered), strict=True))


@pytest.mark.parametrize(("dtype", "index"), [(np.float32, np.int64), (np.float64, np.int32)])
@pytest.mark.parametrize("rows", [np.arange(19, -1, -1), [7], [0, 7], [5, 5, 2], []], ids=str)
def test_batch_is_that_of_the_reference(rows, dtype, index):
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.4, (20, 50)) * rng.choice([1.0, 1.0, 0.4, 40.0, 1e9], (20, 50))
    dense[[0, 7, 19]] = 0.0
    dense = dense.astype(dtype)
    x = sp.csr_array(dense)
    arrays = x.indptr.astype(index), x.indices.astype(index), x.data
    for array in arrays:
        array.flags.writeable = False
    batch = gathered(arrays, rows)
    cells = batch["cell_count"], batch["cell_word"], batch["indptr"]
    assert_array_equal(sp.csr_array(cells, shape=(len(rows), 50)).toarray(), dense[np.array(rows, dtype=int)])
    expected = reference.number_words(*(batch[name] for name in COPIED))
    for name, array in zip(NUMBERED, expected, strict=True):
        assert batch[name].dtype == array.dtype, name
        rtol = 1e-14 if name == "lengths" else 0
        assert_allclose(batch[name], array, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_rows_out_of_order_are_told(dtype):
    for words, counts in (([3, 1], [1, 2]), ([1, 1], [1, 2]), ([1, 3], [1, 0])):
        arrays = np.array([0, 2, 4]), np.array([0, 1, *words]), np.array([1, 2, *counts], dtype=dtype)
        _, copied_words, copied_counts, in_order = copy_rows(*arrays, np.array([0, 1]), 4, LARGEST)
        assert not in_order, (words, counts)
        assert_array_equal(copied_words, arrays[1])
        assert_array_equal(copied_counts, arrays[2])
        gathered(arrays, [0], n_features=4)


@for_each_index
def test_rows_that_are_not_valid_are_not_copied(index):
    indptr, indices, data = [0, 1, 2, 4], [0, 1, 2, 3], [1.0] * 4
    for arrays in (
        *((bad, indices, data) for bad in ([0, -1, 2, 4], [0, 3, 2, 4], [0, 4, 0, 4], [0, 1, 2, 5])),
        ([0, 1, 2, 2**31 - 1], indices, data),
        (indptr, indices[:3], data),
        (indptr, indices, data[:3]),
        *((indptr, [0, 1, bad, 3], data) for bad in (5, -1, 2**31 - 1)),
        *((indptr, indices, [1.0, 1.0, bad, 1.0]) for bad in (-1.0, np.nan, np.inf, 1e21)),
    ):
        given = *(np.array(array, dtype=index) for array in arrays[:2]), np.array(arrays[2])
        assert copy_rows(*given, np.arange(3), 5, LARGEST) is None, arrays
    beyond_32_bits = np.array([0, 1]), np.array([2**32 + 1]), np.array([1.0])
    assert copy_rows(*beyond_32_bits, np.array([0]), 5, LARGEST) is None


@for_each_index
def test_structure_has_bounds_and_rows_of_words_are_counted_in_no_memory_beyond(index):
    for indptr, indices, expected in (
        ([0, 1, 1, 3], [4, 0, 2], (True, 0, 4)),
        ([0, 2], [4, 7, -2], (True, 4, 7)),
        ([0, 0], [], (True, 0, -1)),
        ([0], [], (True, 0, -1)),
        *((bad, [5, 6], (False, 5, 6)) for bad in ([0, 2, 1], [1, 2], [0, 3], [0, -1, 2])),
    ):
        arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index)
        assert structure_bounds(*arrays) == expected, indptr
        assert structure_bounds(*(np.repeat(array, 2)[::2] for array in arrays)) == expected, indptr
    found = np.arange(5)
    count_rows_of_words(np.array([3, 0, 3, -1, 5, np.iinfo(index).max, 4], dtype=index), found)
    assert found.tolist() == [1, 1, 2, 5, 5]


def test_count_becomes_units_and_a_remainder_up_to_64_and_64_equal_clumps_beyond():
    for count, n, weights in (
        (0.3, 1, [0.3]),
        (1, 1, [1]),
        (1.5, 2, [0.5, 1]),
        (5, 5, [1]),
        (63.25, 64, [0.25, 1]),
        (64, 64, [1]),
        *((count, 64, [count / 64]) for count in (65, 70.1, 1e9)),
    ):
        arrays = np.array([0, 1]), np.array([0]), np.array([float(count)])
        assert gathered(arrays, [0], n_features=1)["clump_indptr"][-1] == n, count
        clumps = clump_weights(arrays[2], n)
        assert_allclose(clumps, reference.clump_weights(count))
        assert_allclose(np.unique(clumps), weights, rtol=1e-15)
        assert_allclose(clumps.sum(), count, rtol=1e-14)


# Hidden words


def hidden_of(counts, fraction, n_keys=50, seed=0):
    """Hidden weights (n_keys, n_cells) of the same document with different keys."""
    counts = np.asarray(counts, dtype=float)
    indptr = np.arange(n_keys + 1, dtype=np.int64) * len(counts)
    keys = np.arange(n_keys, dtype=np.uint64) + np.uint64(seed << 32)
    return hide_tokens(indptr, np.tile(counts, n_keys), keys, fraction).reshape(n_keys, -1)


@pytest.mark.parametrize(
    ("counts", "fraction"), [("unit", 0.01), ("small", 0.5), ("mixed", 0.2), ("mixed", 0.9)]
)
def test_hidden_tokens_are_those_of_the_reference(counts, fraction):
    corpus, hidden = random_corpus(1, 40, counts=counts), []
    for first, last in corpus.pieces:
        indptr, _, cell_count = corpus.piece(first, last)
        hidden.append(hide_tokens(indptr, cell_count, corpus.keys[first:last], fraction))
    expected = completion.hide_tokens(corpus.indptr, corpus.cell_count, corpus.keys, fraction)
    assert_array_equal(np.concatenate(hidden), expected)


def test_the_rounded_share_of_tokens_is_hidden():
    for counts, fraction, n_hidden in (
        *(([n], 0.2, hidden) for n, hidden in ((2, 1), (5, 1), (12, 2), (13, 3))),
        ([1] * 12, 0.2, 2),
        ([1, 12], 0.2, 3),
        ([5], 0.5, 2),  # half a token is rounded to even
        ([7], 0.5, 4),
        *(([count], fraction, count) for count in (0.3, 1.0) for fraction in (1e-9, 0.2, 0.999)),
        # All of a count is hidden, with nothing left over, nor less than nothing.
        *(([count], 1 - 1e-6, count) for count in (65.0, 70.1, 100.3, 12345.678, 1e9 / 3)),
    ):
        hidden = hidden_of(counts, fraction).sum(axis=1)
        assert_array_equal(hidden, n_hidden, err_msg=f"{fraction} of {counts}")


@for_each_seed
def test_every_choice_of_tokens_is_equally_likely(seed):
    """Numbers of words of which 3 of 8 tokens are hidden are hypergeometric."""
    hidden = hidden_of([3, 1, 4], 0.4, 30_000, seed)
    kinds = [(a, b, 3 - a - b) for a in range(4) for b in range(2) if 3 - a - b >= 0]
    p = np.array([comb(3, a) * comb(1, b) * comb(4, c) / comb(8, 3) for a, b, c in kinds])
    observed = [np.sum(np.all(hidden == kind, axis=1)) for kind in kinds]
    assert sum(observed) == len(hidden)
    assert_distributed(observed, p)
