"""Hidden words: the right number, chosen uniformly."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from sktopic._kernels.documents._completion import hide_tokens
from tests.kernels.tools import assert_distributed, for_each_seed, random_corpus
from tests.reference import completion as reference
from tests.reference.documents import clump_weights


def hidden_of(counts, keys, fraction):
    """Hidden weights (n_keys, n_cells) of the same document with different keys."""
    counts = np.asarray(counts, dtype=float)
    indptr = np.arange(len(keys) + 1, dtype=np.int64) * len(counts)
    return hide_tokens(indptr, np.tile(counts, len(keys)), keys, fraction).reshape(len(keys), -1)


def keys_of(seed, n=30_000):
    return np.arange(n, dtype=np.uint64) + np.uint64(seed << 32)


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
def test_hidden_tokens_are_those_of_the_reference(counts, fraction):
    corpus = random_corpus(1, 40, counts=counts)
    hidden = hide_tokens(corpus.indptr, corpus.cell_count, corpus.keys, fraction)
    expected = reference.hide_tokens(corpus.indptr, corpus.cell_count, corpus.keys, fraction)
    np.testing.assert_array_equal(hidden, expected)
    indptr, _, cell_count = corpus.piece(3, 17)
    piece = hide_tokens(indptr, cell_count, corpus.keys[3:17], fraction)
    np.testing.assert_array_equal(piece, expected[corpus.indptr[3] : corpus.indptr[17]])


@pytest.mark.parametrize(
    ("n", "fraction", "n_hidden"), [(2, 0.2, 1), (5, 0.2, 1), (12, 0.2, 2), (13, 0.2, 3)]
)
def test_number_of_hidden_tokens_is_the_rounded_share(n, fraction, n_hidden):
    for counts in (np.ones(n), [n], [1.0, n - 1]):
        np.testing.assert_array_equal(hidden_of(counts, keys_of(0, 500), fraction).sum(axis=1), n_hidden)


def test_a_share_halfway_is_rounded_to_even():
    assert np.all(hidden_of([5.0], keys_of(0, 50), 0.5) == 2)
    assert np.all(hidden_of([7.0], keys_of(0, 50), 0.5) == 4)


@pytest.mark.parametrize("fraction", [1e-9, 0.2, 0.999])
@pytest.mark.parametrize("count", [0.3, 1.0])
def test_only_token_of_a_document_is_hidden(count, fraction):
    np.testing.assert_array_equal(hidden_of([count], keys_of(0, 50), fraction), count)


def test_document_without_tokens_hides_nothing():
    indptr = np.array([0, 2, 2, 3], dtype=np.int64)
    hidden = hide_tokens(indptr, np.array([1.0, 1.0, 1.0]), keys_of(0, 3), 0.5)
    assert hidden[:2].sum() == 1 and hidden[2] == 1
    assert len(hide_tokens(np.zeros(3, dtype=np.int64), np.empty(0), keys_of(0, 2), 0.5)) == 0


@for_each_seed
def test_every_choice_of_tokens_is_equally_likely(seed):
    hidden = hidden_of(np.ones(6), keys_of(seed), 1 / 3) > 0
    chosen = {pair: 0 for pair in combinations(range(6), 2)}
    for row in hidden:
        chosen[tuple(np.flatnonzero(row))] += 1
    assert_distributed(list(chosen.values()), np.full(15, 1 / 15))


@for_each_seed
def test_hidden_counts_of_repeated_words_are_hypergeometric(seed):
    counts = [3, 1, 4]
    hidden = hidden_of(counts, keys_of(seed), 0.4).astype(int)  # 3 of 8
    assert np.all(hidden.sum(axis=1) == 3)
    kinds = [(a, b, 3 - a - b) for a in range(4) for b in range(2) if 0 <= 3 - a - b <= 3]
    p = np.array([comb(3, a) * comb(1, b) * comb(4, c) / comb(8, 3) for a, b, c in kinds])
    observed = [np.sum(np.all(hidden == kind, axis=1)) for kind in kinds]
    assert sum(observed) == len(hidden)
    assert_distributed(observed, p)


@for_each_seed
@pytest.mark.parametrize("count", [65.0, 70.1, 1e9, 1e300])
def test_huge_counts_hide_a_share_of_their_64_clumps(count, seed):
    hidden = hidden_of([count, 1.0], keys_of(seed, 2000), 0.2)
    n_clumps = hidden[:, 0] / (count / 64)
    np.testing.assert_allclose(n_clumps, np.rint(n_clumps), rtol=1e-12)
    np.testing.assert_array_equal(np.rint(n_clumps) + hidden[:, 1], 13)
    # The single token of the other word is one of 65, 13 of which are hidden.
    assert abs(hidden[:, 1].mean() - 0.2) < 5 * (0.16 / 2000) ** 0.5


@pytest.mark.parametrize("counts", [[0.3, 2.75, 63.5, 64.0], [1e-9, 5.1, 0.7]], ids=str)
def test_observed_and_hidden_weights_are_sums_of_clumps(counts):
    hidden = hidden_of(counts, keys_of(0, 300), 0.5)
    observed = np.array(counts) - hidden
    assert np.all(observed >= 0)
    for part in (hidden, observed):
        for column, count in zip(part.T, counts):
            remainder = clump_weights(count)[-1]
            distance = np.minimum(
                np.abs(column - np.rint(column)), np.abs(column - remainder - np.rint(column - remainder))
            )
            assert np.all(distance < 1e-12)


@pytest.mark.parametrize("count", [65.0, 70.1, 100.3, 12345.678, 1e9 / 3])
def test_hiding_every_clump_hides_the_whole_count(count):
    """Nothing is left over, nor less than nothing."""
    np.testing.assert_array_equal(hidden_of([count], keys_of(0, 3), 1 - 1e-6), count)
