"""Topic rows are scaled to rows @ prior = 1, whatever their size."""

import numpy as np
import pytest

from sktopic._kernels._topics import BLOCK_SIZE, gather_topics
from tests.kernels.tools import ROUNDING, for_both_precisions
from tests.reference import topics as reference


def gathered(store, words, scale, offset, prior, dtype):
    n_topics = len(prior)
    rows = np.full((len(words), n_topics), np.nan, dtype=dtype)
    cumulative = np.full((len(words), -(-n_topics // BLOCK_SIZE)), np.nan, dtype=dtype)
    evidence = np.full(len(words), np.nan)
    gather_topics(store, np.asarray(words, dtype=np.int32), scale, offset, prior, rows, cumulative, evidence)
    return rows, cumulative, evidence


def check_invariants(rows, cumulative, prior, dtype):
    for array in (rows, cumulative):
        assert np.all(np.isfinite(array))
        assert np.all(array >= 0)
    products = rows.astype(np.float64) * prior
    np.testing.assert_allclose(products.sum(axis=1), 1.0, rtol=ROUNDING[dtype])
    blocks = np.add.reduceat(products, np.arange(0, len(prior), BLOCK_SIZE), axis=1)
    np.testing.assert_allclose(cumulative, np.cumsum(blocks, axis=1), rtol=ROUNDING[dtype])
    assert np.all(np.diff(cumulative, axis=1) >= 0)


@for_both_precisions
@pytest.mark.parametrize("n_topics", [1, 2, 3, 5, 15, 16, 17, 19, 31, 32, 100, 333])
def test_rows_are_those_of_the_reference(n_topics, dtype):
    rng = np.random.default_rng(n_topics)
    store = rng.gamma(0.3, 1.0, (40, n_topics))
    scale, offset = rng.gamma(2.0, 1e-3, n_topics), rng.gamma(1.0, 1e-5, n_topics)
    prior = rng.gamma(1.0, 0.3, n_topics) + 1e-3
    words = rng.integers(0, 40, 60)
    rows, cumulative, evidence = gathered(store, words, scale, offset, prior, dtype)
    check_invariants(rows, cumulative, prior, dtype)
    expected = reference.gather_topics(store, words, scale, offset, prior)
    for array, other in zip((rows, cumulative, evidence), expected):
        np.testing.assert_allclose(array, other, rtol=ROUNDING[dtype])


@for_both_precisions
def test_impossible_word_says_nothing_about_topics(dtype):
    prior = np.array([0.5, 1.0, 0.25])
    store = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    rows, cumulative, evidence = gathered(store, [0, 1], np.ones(3), np.zeros(3), prior, dtype)
    check_invariants(rows, cumulative, prior, dtype)
    np.testing.assert_allclose(rows[0], 1 / 1.75, rtol=ROUNDING[dtype])
    np.testing.assert_allclose(rows[1], [2.0, 0.0, 0.0], rtol=ROUNDING[dtype])
    np.testing.assert_array_equal(evidence, [0.0, 0.5])


@for_both_precisions
@pytest.mark.parametrize("size", [1e-20, 1e-29, 1e-31, 1e-38, 1e-40, 1e-45, 1e-60, 1e-200, 1e-307, 5e-324])
@pytest.mark.parametrize("where", ["store", "scale", "offset"])
def test_tiny_rows_keep_their_proportions(size, where, dtype):
    shape = np.array([1.0, 0.25, 0.0, 0.5] + [0.0] * 14)
    prior = np.linspace(0.05, 1.0, 18)
    arguments = {"store": np.zeros((1, 18)), "scale": np.ones(18), "offset": np.zeros(18)}
    if where == "store":
        arguments["store"][0] = shape * size
    elif where == "scale":
        arguments["store"][0], arguments["scale"] = shape, np.full(18, size)
    else:
        arguments["offset"] = shape * size
    rows, cumulative, evidence = gathered(words=[0], prior=prior, dtype=dtype, **arguments)
    check_invariants(rows, cumulative, prior, dtype)
    if size > 1e-300:  # below, the input itself has lost its digits
        np.testing.assert_allclose(rows[0], shape / (shape @ prior), rtol=ROUNDING[dtype])
        np.testing.assert_allclose(evidence, size * (shape @ prior), rtol=ROUNDING[dtype])


@for_both_precisions
def test_entries_of_one_row_may_be_far_apart(dtype):
    store = np.array([[1.0, 1e-40, 1e-300, 1e-10], [1e-40, 1e-42, 1e-80, 0.0]])
    prior = np.full(4, 0.1)
    rows, cumulative, evidence = gathered(store, [0, 1], np.ones(4), np.zeros(4), prior, dtype)
    check_invariants(rows, cumulative, prior, dtype)
    np.testing.assert_allclose(evidence, store @ prior, rtol=ROUNDING[dtype])
    np.testing.assert_allclose(rows[1], store[1] / evidence[1], rtol=ROUNDING[dtype], atol=1e-37)
    np.testing.assert_allclose(rows[0], store[0] / evidence[0], rtol=ROUNDING[dtype], atol=1e-38)


@for_both_precisions
@pytest.mark.parametrize("prior", [1e-6, 1e-3, 1.0, 1e4, 1e9])
def test_priors_of_any_usable_size(prior, dtype):
    store = np.array([[0.7, 0.2, 0.1], [1e-35, 0.0, 1e-36]])
    priors = np.array([prior, 1.0, 1e-6])
    rows, cumulative, evidence = gathered(store, [0, 1], np.ones(3), np.zeros(3), priors, dtype)
    check_invariants(rows, cumulative, priors, dtype)
    np.testing.assert_allclose(evidence, store @ priors, rtol=ROUNDING[dtype])


@for_both_precisions
def test_words_may_repeat_and_come_in_any_order(dtype):
    store = np.random.default_rng(0).gamma(1.0, 1.0, (5, 20))
    given = np.ones(20), np.zeros(20), np.full(20, 0.1), dtype
    whole = gathered(store, np.arange(5), *given)
    for array, other in zip(gathered(store, [3, 1, 3], *given), whole):
        np.testing.assert_array_equal(array, other[[3, 1, 3]])


def test_no_words_are_fine():
    rows, cumulative, evidence = gathered(
        np.ones((2, 3)), [], np.ones(3), np.zeros(3), np.ones(3), np.float32
    )
    assert rows.shape == (0, 3) and cumulative.shape == (0, 1) and evidence.shape == (0,)
