"""Hidden words: the right number, chosen uniformly."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktopic._kernels.documents._completion import hide_tokens
from tests.kernels.tools import assert_distributed, for_each_seed, random_corpus
from tests.reference import completion as reference


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
    expected = reference.hide_tokens(corpus.indptr, corpus.cell_count, corpus.keys, fraction)
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
