"""Topic-word statistics that decay lazily are those that decay plainly."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma, gammaln

from sktopic._inference._token_counts import column_sums
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import duplicate
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._topic_word_prior import PriorEntries
from sktopic._topics._word_count_edits import frozen_topics, merged_topics, of_topics, of_words, split_topics
from sktopic._topics._word_count_views import (
    average_probabilities,
    expected_counts,
    expected_counts_of,
    expected_tokens,
    posterior_bound,
    probabilities,
)
from sktopic._topics._word_counts import SMALLEST_SCALE, WordCounts
from sktopic._training import _minibatches
from sktopic._training._minibatches import work_of_clearing
from sktopic._training._statistics_updates import DocumentAverage, RunningSum
from sktopic.lda._langevin import LangevinUpdate

N_FEATURES, N_TOPICS = 30, 4


class Counts:
    """Expected counts (n_words, n_topics) that enter statistics as those of a document step do."""

    def __init__(self, array):
        self.array = array

    def add_to(self, target, words, factor, workers):
        target.store[words] += factor * self.array
        target.totals[0] += factor * self.array.sum(axis=0)
        if len(target.averaged):
            target.averaged[words] += factor * self.array * target.average_weight


class Plain:
    """s itself, every entry of it updated at every step, and every state of it averaged."""

    def __init__(self, statistics):
        self.s = statistics.scale * statistics.store
        self.mean = np.zeros_like(self.s)
        self.n_updates = 0

    def step(self, rho, words, array):
        self.s *= 1.0 - rho
        self.s[words] += rho * array
        self.n_updates += 1
        self.mean += (self.s / self.s.sum(axis=0) - self.mean) / self.n_updates


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


def run(statistics, rates, workers, size=1.0, every=100, check=lambda *_: None):
    """Take the steps both ways, and check from time to time; returns the statistics and the plain ones."""
    rng = np.random.default_rng(0)
    plain = Plain(statistics)
    for t, rho in enumerate(rates, 1):
        # Few words a batch, so that some rows rest for long; words 25 to 29 are never seen.
        words = rng.choice(25, rng.integers(1, 6), replace=False).astype(np.int32)
        array = rng.gamma(0.5, size, (len(words), N_TOPICS))
        statistics = statistics.decayed(1.0 - rho)
        statistics.expect(rho * array.sum())
        statistics.add(Counts(array), words, rho, workers)
        statistics.count_average()
        plain.step(rho, words, array)
        if t % every == 0 or t == len(rates):
            check(statistics, plain, t)
    return statistics, plain


def assert_same_state(statistics, plain, rtol):
    # Entries that plain decay has taken into the range of denormal numbers have few digits there.
    assert_allclose(statistics.scale * statistics.store, plain.s, rtol=rtol, atol=1e-289)
    assert_allclose(statistics.scale * statistics.totals, plain.s.sum(axis=0), rtol=rtol)


def start(average=False):
    return WordCounts.random(N_FEATURES, N_TOPICS, 5, average=average)


def mean_state(statistics, n_updates):
    return (statistics.store * statistics.average_weight - statistics.averaged) / n_updates


STEPS = np.arange(1000)
RATES = {
    "constant, folds often": np.full(1000, 0.3),
    "slowly falling": (1.0 + STEPS) ** -0.6 * 0.999,
    "first step one": (1.0 + STEPS) ** -0.7,
    "ones among them": np.where(STEPS % 300 == 0, 1.0, 0.05),
    "nearly one": np.full(1000, 1.0 - 1e-7),
}


@pytest.mark.parametrize("name", RATES)
def test_lazy_decay_is_plain_decay(name, workers):
    def check(statistics, plain, t):
        assert_same_state(statistics, plain, 1e-10)
        assert SMALLEST_SCALE <= statistics.scale <= 1.0

    run(start(), RATES[name], workers, check=check)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(RATES)[:4])
def test_lazy_average_is_the_plain_mean_of_the_states(name, workers):
    folds = []

    def check(statistics, plain, t):
        # Entries of no account carry the rounding of their topic's largest ones.
        assert_allclose(mean_state(statistics, t), plain.mean, rtol=1e-8, atol=1e-13)
        assert_same_state(statistics, plain, 1e-10)
        topics = average_probabilities(statistics, 1000, 0.01, t).components()
        phi = (1000 * plain.mean * plain.s.sum(axis=0) + 0.01).T
        assert_allclose(topics, phi / phi.sum(axis=1, keepdims=True), rtol=1e-8)
        folds.append(statistics.scale == 1.0)

    # Every step is looked at, as folds leave a scale of one behind.
    run(start(average=True), RATES[name][:350], workers, every=1, check=check)
    assert any(folds)


def test_average_of_states_of_all_sizes_is_their_plain_mean(workers):
    def check(statistics, plain, t):
        assert_allclose(mean_state(statistics, t + 1), (plain.mean * t + first) / (t + 1), rtol=0, atol=1e-8)

    for start_size, size in ((1e-30, 1.0), (1e-4, 1e9)):
        statistics = start(average=True).folded(start_size)
        statistics.count_average()
        first = statistics.store / statistics.store.sum(axis=0)
        run(statistics, np.full(20, 0.5), workers, size, every=1, check=check)


def test_work_of_clearing_is_that_of_updates_that_forget_everything(monkeypatch):
    """But for statistics that take no time, and batches without words, which are no update."""
    monkeypatch.setattr(_minibatches, "LONG_WORK", 10 * N_FEATURES * N_TOPICS)
    whole, fewer = start(), of_words(start(), np.arange(N_FEATURES - 1))
    for rule, rho, n_updates, clears in (
        (DocumentAverage(), 1.0, 1, True),
        (DocumentAverage(), 0.5, 0, False),
        (RunningSum(), 0.5, 0, True),
        (RunningSum(), 1.0, 1, False),
        (LangevinUpdate(0.3, 0.1, 9.0, key=0), 1.0, 0, False),
    ):
        rules = SimpleNamespace(of=lambda state, rule=rule: rule)
        method = SimpleNamespace(rule=rules, step_size=lambda state, update, rho=rho: rho)
        for words, n_tokens, n in ((whole, 1.0, clears * whole.store.size), (whole, 0.0, 0), (fewer, 1.0, 0)):
            state = SimpleNamespace(words=words, n_topic_updates=n_updates)
            counts = SimpleNamespace(n_tokens=n_tokens)
            assert work_of_clearing(method, state, counts, None) == n, rule


def test_random_start_is_noise_around_one():
    statistics = WordCounts.random(2000, N_TOPICS, 5)
    assert_allclose(statistics.totals, statistics.store.sum(axis=0), rtol=1e-14)
    assert abs(statistics.store.mean() - 1.0) < 0.01
    assert not statistics.averages
    assert_allclose(expected_counts(statistics.with_total(75.0), 1).sum(), 75.0, rtol=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_topics_lean_towards_larger_priors_up_to_a_share(share):
    """Ten words with ones, a prior of 0.1, and other entries; the first topic is given."""
    prior = np.full((4, 10), 0.1)
    prior[:, :3] = [[9.0, 9.0, 0.05], [0.2, 0.05, 0.1], [10.0, 0.105, 0.05], [0.1, 0.6, 0.7]]
    own = sp.csc_array(np.where(prior == 0.1, 0.0, prior))
    counts = WordCounts.of(np.ones((10, 4)))
    counts.lean(0.1, PriorEntries.of_matrix(own), share, n_given=1)
    most = 10 * share / (1 - share)  # which is beside the ones of the topic: all words gain as much at most
    expected = np.ones((10, 4))
    expected[:2, 1] = 1.0 + min(1.0, most), 0.5
    expected[:3, 2] = 1.0 + 99 * most / 99.05, 1.0 + 0.05 * most / 99.05, 0.5
    expected[1:3, 3] = 1.0 + np.array([5.0, 6.0]) * min(1.0, most / 11)
    assert_allclose(counts.store, expected, rtol=1e-12)
    assert_allclose(counts.totals, expected.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("words", [np.array([3, 17, 8]), slice(2, 6), slice(None)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1.5 * SMALLEST_SCALE], ids=["usual", "folded in by the step"])
def test_some_words_have_their_rows_and_the_totals_of_all(words, scale, workers):
    """What a provisional step needs, which leaves the whole alone."""
    statistics, _ = run(start(average=True), np.full(50, 0.3), workers)
    statistics = WordCounts.of(statistics.store, scale=scale)
    before = duplicate(statistics)
    some, rows = of_words(statistics, words), np.arange(N_FEATURES)[words]
    assert not some.averages
    found, expected = (probabilities(each, 100 / scale, 0.1) for each in (some, statistics))
    assert_allclose(found.rows(np.arange(len(rows))), expected.rows(rows), rtol=1e-14)
    copy, array = duplicate(some).decayed(0.5), np.random.default_rng(0).random((len(rows), N_TOPICS)) * scale
    copy.add(Counts(array), np.arange(len(rows), dtype=np.int32), 0.5, workers)
    assert_array_equal(some.store, before.store[words])
    assert_array_equal(some.totals, before.totals)
    some.store[:] = some.totals[:] = 0.0  # in arrays of its own
    assert_array_equal(statistics.store, before.store)
    assert_array_equal(statistics.totals, before.totals)
    whole = statistics.decayed(0.5)
    whole.add(Counts(array), rows.astype(np.int32), 0.5, workers)
    assert_allclose(copy.scale * copy.totals, whole.scale * whole.totals, rtol=1e-12)


def assert_counts(statistics, counts, weight=1.0):
    """These are the statistics, of all words in each topic."""
    assert_allclose(expected_counts(statistics, weight), counts, rtol=1e-12)
    assert_allclose(expected_tokens(statistics, weight), counts.sum(axis=0), rtol=1e-12)


def test_topics_are_chosen_added_merged_divided_and_cleared_in_copies(workers):
    statistics, _ = run(start(average=True), np.full(30, 0.3), workers)
    counts, words, all_topics = expected_counts(statistics, 1.0), np.array([3, 17, 8]), np.arange(N_TOPICS)
    assert statistics.scale < 1.0
    for topics in ([3, 0], slice(1, 3), np.array([True, False, False, True]), slice(0)):
        for n_spare in (0, 2):
            some = of_topics(statistics, topics, n_spare)
            assert not some.averages
            assert_counts(some, np.hstack([counts[:, topics], np.zeros((N_FEATURES, n_spare))]))
            some.store[:] = some.totals[:] = 7.0
    # The last is given up, with a topic that went into it.
    for kept, into in (([0, 2], [0, 0, 2, 3]), ([0], [0, 3, 0, 3])):
        totals = np.bincount(into, statistics.totals, N_TOPICS)
        expected = np.column_stack([counts[:, np.equal(into, k)].sum(axis=1) for k in kept])
        assert_counts(merged_topics(statistics, np.isin(all_topics, kept), np.array(into), totals), expected)
    # Parts are taken out of their topics.
    tokens, expected = np.zeros((2, N_FEATURES)), np.hstack([counts, np.zeros((N_FEATURES, 2))])
    tokens[:, words] = 100.0 * np.array([0.25 * counts[words, 2], 0.5 * counts[words, 0]])
    tokens[1, 17] = 1e9  # more than there is
    expected[words, 4], expected[words, 5] = 0.25 * counts[words, 2], 0.5 * counts[words, 0]
    expected[17, 5] = counts[17, 0]
    expected[:, [2, 0]] -= expected[:, [4, 5]]
    assert_counts(split_topics(statistics, [2, 0], tokens, 100.0), expected)
    some = of_topics(statistics, slice(None))
    some.clear(slice(2, None))
    assert_counts(some, counts * (all_topics < 2))
    assert_array_equal(expected_counts(statistics, 1.0), counts)


def test_frozen_topics_have_their_tokens_whatever_the_unit_and_afterwards(workers):
    """The unit, in tokens, is 300 when they are frozen, and 500 after the others have decayed."""
    statistics, _ = run(start(average=True), np.full(30, 0.3), workers)
    counts = expected_counts(statistics, 1.0)
    frozen = frozen_topics(statistics, [1, 3], 300.0, 0.1).decayed(0.25)
    expected = counts * 0.25 * 500
    expected[:, [1, 3]] = 300 * counts[:, [1, 3]]
    for thawed in (frozen, frozen_topics(frozen, [3], 500.0, 0.2), frozen_topics(frozen, [], 500.0, 0.2)):
        assert_counts(thawed, expected, weight=500.0)
    assert_array_equal(expected_counts(statistics, 1.0), counts)


def test_counts_of_some_words_and_topics_are_those_of_all(workers):
    statistics, _ = run(start(), np.full(30, 0.3), workers)
    counts, words = expected_counts(statistics, 300.0), np.array([3, 17, 8])
    for topics in (slice(None), slice(0), slice(1, 3), 2):
        assert_allclose(expected_counts(statistics, 300.0, topics), counts[:, topics], rtol=1e-14)
    for topics in (slice(None), slice(0), slice(1, 3)):
        some = expected_counts_of(statistics, words, topics, 300.0)
        assert_allclose(some, counts[words][:, topics], rtol=1e-14)
    totals = expected_tokens(statistics, 2.0, np.ones(N_TOPICS))
    assert_allclose(totals, 2.0 * statistics.scale, rtol=1e-14)


def test_bound_of_topics_is_its_formula_for_more_words_than_are_read_at_once():
    rng, eta = np.random.default_rng(0), 0.3
    store = rng.gamma(1.0, size=(2100, N_TOPICS))
    alpha = 5.0 * store + eta
    expected = (eta - alpha) * (digamma(alpha) - digamma(alpha.sum(axis=0))) + gammaln(alpha) - gammaln(eta)
    expected = expected.sum() + (gammaln(2100 * eta) - gammaln(alpha.sum(axis=0))).sum()
    counts = WordCounts.of(store, store.sum(axis=0))
    assert posterior_bound(counts, 5.0, eta) == pytest.approx(expected, rel=1e-12)


def test_rows_of_topics_are_their_components():
    topics = probabilities(start(), 10, 0.1)
    assert_allclose(topics.rows(np.arange(N_FEATURES)), topics.components().T, rtol=1e-13)


def test_each_given_topic_sums_to_one_whatever_its_size():
    given = np.array([[1.0, 3.0, 0.0], [2e300, 1e300, 1e300]])
    assert_array_equal(check_components_init(given, 3, most=2), [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])


@pytest.mark.parametrize("n_topics", [1, 3])
def test_column_sums_are_those_of_row_after_row(n_topics, monkeypatch):
    monkeypatch.setattr("sktopic._runtime._arrays.BLOCK_ENTRIES", 4 * n_topics)
    rows = np.random.default_rng(0).lognormal(0, 20, (10, n_topics))
    expected = np.zeros(n_topics)
    for row in rows:
        expected += row
    assert_array_equal(column_sums(rows), expected)
