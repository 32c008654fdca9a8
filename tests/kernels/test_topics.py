"""Topic rows are scaled to rows @ prior = 1, whatever their size."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._kernels.topics._gathering import BLOCK_SIZE, gather_geometric, gather_topics
from tests.kernels.tools import ALONE, ROUNDING, assert_teams_agree, for_both_precisions
from tests.reference import topics as reference

SHAPES = pytest.mark.parametrize("n_topics", [1, 15, 16, 17, 333])


def fill(kernel, store, words, *given, dtype, team=ALONE):
    """rows, cumulative and log_norm of a kernel; given are its arrays of one entry a topic."""
    n_topics = store.shape[1]
    rows = np.full((len(words), n_topics), np.nan, dtype=dtype)
    cumulative = np.full((len(words), -(-n_topics // BLOCK_SIZE)), np.nan, dtype=dtype)
    log_norm = np.full(len(words), np.nan)
    kernel(store, np.asarray(words, dtype=np.int32), *given, rows, cumulative, log_norm, team)
    return rows, cumulative, log_norm


def check_invariants(rows, cumulative, prior, dtype):
    for array in (rows, cumulative):
        assert np.all(np.isfinite(array)) and np.all(array >= 0)
    products = rows.astype(np.float64) * prior
    assert_allclose(products.sum(axis=1), 1.0, rtol=ROUNDING[dtype])
    blocks = np.add.reduceat(products, np.arange(0, len(prior), BLOCK_SIZE), axis=1)
    assert_allclose(cumulative, np.cumsum(blocks, axis=1), rtol=ROUNDING[dtype])
    assert np.all(np.diff(cumulative, axis=1) >= 0)


def check(dtype, store, prior, words=None, scaling=None, atol=0.0):
    """Rows, sums and evidence are those of the reference; returns rows and evidence."""
    n_words, n_topics = store.shape
    words = np.arange(n_words) if words is None else words
    given = *(scaling or (np.ones(n_topics), np.zeros(n_topics))), prior
    rows, cumulative, log_norm = fill(gather_topics, store, words, *given, dtype=dtype)
    check_invariants(rows, cumulative, prior, dtype)
    expected = reference.gather_topics(store, words, *given)
    for array, other in zip((rows, cumulative, np.exp(log_norm)), (*expected[:2], np.exp(expected[2]))):
        assert_allclose(array, other, rtol=ROUNDING[dtype], atol=atol)
    return rows, np.exp(log_norm)


@for_both_precisions
@SHAPES
def test_rows_are_those_of_the_reference(n_topics, dtype):
    """Words may repeat and come in any order."""
    rng = np.random.default_rng(n_topics)
    store, prior = rng.gamma(0.3, 1.0, (40, n_topics)), rng.gamma(1.0, 0.3, n_topics) + 1e-3
    scale, offset = rng.gamma(2.0, 1e-3, n_topics), rng.gamma(1.0, 1e-5, n_topics)
    check(dtype, store, prior, rng.integers(0, 40, 60), (scale, offset))
    rows, cumulative, log_norm = fill(gather_topics, store, [], scale, offset, prior, dtype=dtype)
    assert len(rows) == len(cumulative) == len(log_norm) == 0


@for_both_precisions
def test_impossible_word_says_nothing_about_topics(dtype):
    rows, evidence = check(dtype, np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([0.5, 1.0, 0.25]))
    assert_allclose(rows, [[1 / 1.75] * 3, [2.0, 0.0, 0.0]], rtol=ROUNDING[dtype])
    assert_array_equal(evidence, [0.0, 0.5])


@for_both_precisions
@pytest.mark.parametrize("where", ["store", "scale", "offset"])
def test_tiny_rows_keep_their_proportions(where, dtype):
    shape, prior = np.array([1.0, 0.25, 0.0, 0.5] + [0.0] * 14), np.linspace(0.05, 1.0, 18)
    for size in (1e-20, 1e-31, 1e-38, 1e-45, 1e-200, 5e-324):
        sizes = {"store": 1.0, "scale": 1.0, where: size}
        store, scale, offset = shape[None] * sizes["store"], np.full(18, sizes["scale"]), np.zeros(18)
        if where == "offset":
            store, offset = 0.0 * store, shape * size
        rows, cumulative, log_norm = fill(gather_topics, store, [0], scale, offset, prior, dtype=dtype)
        check_invariants(rows, cumulative, prior, dtype)
        if size > 1e-300:  # below, the input itself has lost its digits
            assert_allclose(rows[0], shape / (shape @ prior), rtol=ROUNDING[dtype])
            assert_allclose(np.exp(log_norm), size * (shape @ prior), rtol=ROUNDING[dtype])


@for_both_precisions
def test_entries_and_priors_may_be_far_apart(dtype):
    far = np.array([[1.0, 1e-40, 1e-300, 1e-10], [1e-40, 1e-42, 1e-80, 0.0]])
    for prior in (1e-6, 1e-3, 0.1, 1.0, 1e4, 1e9):
        check(dtype, far, np.full(4, prior), atol=1e-37 / prior)
        check(dtype, np.array([[0.7, 0.2, 0.1], [1e-35, 0.0, 1e-36]]), np.array([prior, 1.0, 1e-6]))


# Geometric means

# Entries whose logarithm is this far below a row's largest may have met the floor at e^-80.
NEAR_FLOOR = -50.0


def check_geometric(store, words, scale, offset, norm, prior, dtype):
    """Rows, sums and evidence are those of the reference, but for entries of no account."""
    given = scale, offset, norm, prior
    rows, cumulative, log_norm = fill(gather_geometric, store, words, *given, dtype=dtype)
    check_invariants(rows, cumulative, prior, dtype)
    expected = reference.gather_geometric(store, words, *given)
    log_phi = psi(store[words] * scale + offset)
    # A logarithm is known to some roundings of itself, and so is the exponential of it.
    rtol = ROUNDING[dtype] if dtype is np.float32 else 1e-10
    rtol = rtol + 4 * np.finfo(np.float64).eps * np.abs(log_phi)
    floor = np.log(expected[0].max(axis=1, keepdims=True)) + NEAR_FLOOR
    counts = np.log(expected[0]) > floor
    assert np.all(counts.any(axis=1))
    assert np.all(np.abs(rows - expected[0])[counts] <= (rtol * expected[0])[counts])
    assert np.all(rows[~counts] <= np.exp(floor + 10).repeat(len(prior), axis=1)[~counts])
    assert_allclose(cumulative, expected[1], rtol=rtol.max(), atol=1e-20)
    assert_allclose(log_norm, expected[2], rtol=1e-12, atol=ROUNDING[dtype])
    return rows


@for_both_precisions
@SHAPES
def test_geometric_rows_are_those_of_the_reference(n_topics, dtype):
    rng = np.random.default_rng(n_topics)
    store, prior = rng.gamma(0.3, 1.0, (40, n_topics)), rng.gamma(1.0, 0.3, n_topics) + 1e-3
    scale, offset = rng.gamma(2.0, 10.0, n_topics), rng.gamma(1.0, 0.1, n_topics) + 0.02
    norm = psi((store * scale + offset).sum(axis=0))
    check_geometric(store, rng.integers(0, 40, 60), scale, offset, norm, prior, dtype)


@for_both_precisions
@pytest.mark.parametrize("offset", [1e-12, 1e-6, 1e-3, 1e-2, 0.1])
def test_words_that_no_topic_has_are_told_apart_by_the_norms(offset, dtype):
    """A tiny offset alone: psi is the same in all topics, and about -1 / offset."""
    rng = np.random.default_rng(0)
    totals = rng.gamma(1.0, 100.0, 21)
    totals[4] = 0.0  # a topic that has no words at all
    store = np.zeros((3, 21))
    store[1, :5], store[2] = totals[:5] / 2, totals / 3
    norm, prior = psi(totals + 1000 * offset), rng.gamma(1.0, 0.3, 21) + 1e-3
    rows = check_geometric(store, [0, 1, 2], np.ones(21), np.full(21, offset), norm, prior, dtype)
    if offset >= 1e-2:  # the empty topic, the mean of whose Dirichlet is uniform, has no more of the words
        shares = np.exp(-(norm - norm.min()))
        assert_allclose(rows[0] / rows[0].max(), shares, rtol=10 * ROUNDING[dtype], atol=1e-30)


@for_both_precisions
def test_entries_far_below_the_largest_stay_above_zero(dtype):
    store, prior = np.array([[1e3, 1e-3, 1e-4, 1e-6, 5.0]]), np.array([0.1, 0.2, 0.1, 0.3, 0.1])
    rows = check_geometric(store, [0], np.ones(5), np.zeros(5), np.full(5, 7.0), prior, dtype)
    ratios = np.log(rows[0].astype(np.float64) / rows[0, 0])
    assert np.all(ratios > -95)
    assert np.all(ratios[1:4] < -75)


@pytest.mark.parametrize("n_topics", [1, 16, 23])
def test_exp_of_digamma_is_that_of_scipy(n_topics):
    """Parameters on a fine grid, each beside one of the same size: ratios whose digits all count."""
    x = np.append(np.logspace(-3, 12, 4000 * n_topics), np.logspace(12, 34, 200 * n_topics))
    x, ones = x.reshape(-1, n_topics), np.ones(n_topics)
    given = ones, 0 * ones, 0 * ones, ones / n_topics
    rows, _, log_norm = fill(gather_geometric, x, np.arange(len(x)), *given, dtype=np.float64)
    largest = psi(x).max(axis=1)
    phi = np.exp(psi(x) - largest[:, None])
    assert_allclose(rows, phi / phi.mean(axis=1, keepdims=True), rtol=1e-10)
    assert_allclose(log_norm, largest + np.log(phi.mean(axis=1)), rtol=1e-12, atol=2e-12)


@pytest.mark.parametrize("kernel", [gather_topics, gather_geometric])
def test_any_number_of_threads_gives_the_same(kernel):
    rng = np.random.default_rng(0)
    store, words = rng.gamma(0.1, size=(300, 17)), rng.permutation(300)
    given = tuple(rng.random((3 if kernel is gather_topics else 4, 17)))
    assert_teams_agree(lambda team: fill(kernel, store, words, *given, dtype=np.float32, team=team))
