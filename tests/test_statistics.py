"""Topic-word statistics that decay lazily are those that decay plainly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from sktopic._documents._matrices import DocumentReader, as_documents
from sktopic._inference import DenseCounts, GibbsStep, VariationalStep
from sktopic._kernels._groups import CountsTarget
from sktopic._kernels.random._rng import position_keys
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import duplicate
from sktopic._topics._word_count_edits import merged_topics, of_topics, of_words, split_topics
from sktopic._topics._word_count_views import (
    average_probabilities,
    expected_counts,
    expected_counts_of,
    expected_tokens,
    geometric,
    mean_log_probability,
    probabilities,
)
from sktopic._topics._word_counts import (
    N_PARTS,
    SMALLEST_SCALE,
    SMALLEST_SCALE_AVERAGING,
    WordCounts,
    no_average,
)
from sktopic._training import _minibatches, _updates
from sktopic.lda import StreamingVariationalLDA

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

    def topics(self, s, weight, topic_word_prior):
        phi = weight * s + topic_word_prior
        return (phi / phi.sum(axis=0)).T


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


def run(statistics, rates, workers, seed=0, every=100, check=lambda *_: None):
    """Take the steps both ways, and check from time to time; returns the statistics and the plain ones."""
    rng = np.random.default_rng(seed)
    plain = Plain(statistics)
    for t, rho in enumerate(rates, 1):
        # Few words a batch, so that some rows rest for long; words 25 to 29 are never seen.
        words = rng.choice(25, rng.integers(1, 6), replace=False).astype(np.int32)
        array = rng.gamma(0.5, 1.0, (len(words), N_TOPICS))
        statistics = statistics.decayed(1.0 - rho)
        statistics.expect(rho * array.sum())
        statistics.add(Counts(array), words, rho, workers)
        statistics.count_average()
        plain.step(rho, words, array)
        if t % every == 0 or t == len(rates):
            check(statistics, plain, t)
    return statistics, plain


def assert_same_state(statistics, plain, rtol):
    np.testing.assert_allclose(statistics.scale * statistics.store, plain.s, rtol=rtol)
    np.testing.assert_allclose(statistics.scale * statistics.totals, plain.s.sum(axis=0), rtol=rtol)


RATES = {
    "constant, folds often": np.full(10_000, 0.1),
    "slowly falling": (1.0 + np.arange(10_000)) ** -0.6 * 0.999,
    "first step one": (1.0 + np.arange(10_000)) ** -0.7,
    "ones among them": np.where(np.arange(10_000) % 1000 == 0, 1.0, 0.05),
    "nearly one": np.full(10_000, 1.0 - 1e-7),
}


@pytest.mark.parametrize("name", RATES)
def test_lazy_decay_is_plain_decay(name, workers):
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5)

    def check(statistics, plain, t):
        # Entries that plain decay has taken into the range of denormal numbers have few digits there.
        plain.s[plain.s < 1e-290] = 0.0
        present = statistics.scale * statistics.store
        np.testing.assert_allclose(np.where(present < 1e-290, 0.0, present), plain.s, rtol=1e-10, atol=1e-289)
        np.testing.assert_allclose(statistics.scale * statistics.totals, plain.s.sum(axis=0), rtol=1e-10)
        assert SMALLEST_SCALE <= statistics.scale <= 1.0

    run(statistics, RATES[name], workers, check=check)


def test_step_one_forgets_everything_before(workers):
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
    statistics, _ = run(statistics, np.full(50, 0.3), workers)
    statistics = statistics.decayed(0.0)
    assert not np.any(statistics.store) and not np.any(statistics.totals)
    assert statistics.scale == 1.0
    array = np.random.default_rng(0).random((3, N_TOPICS))
    statistics.add(Counts(array), np.array([2, 5, 7], dtype=np.int32), 1.0, workers)
    np.testing.assert_array_equal(statistics.store[[2, 5, 7]], array)
    np.testing.assert_allclose(statistics.totals, array.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("average", [False, True])
def test_scale_is_folded_in_when_it_becomes_small(average):
    smallest = SMALLEST_SCALE_AVERAGING if average else SMALLEST_SCALE
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=average)
    store = statistics.store.copy()
    statistics = statistics.decayed(smallest * 2)
    np.testing.assert_array_equal(statistics.store, store)
    statistics = statistics.decayed(0.25)
    assert statistics.scale == 1.0
    np.testing.assert_allclose(statistics.store, store * smallest / 2, rtol=1e-14)
    np.testing.assert_allclose(statistics.totals, statistics.store.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize(
    "name", ["slowly falling", "first step one", "ones among them", "constant, folds often"]
)
def test_lazy_average_is_the_plain_mean_of_the_states(name, workers):
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
    folds = 0

    def check(statistics, plain, t):
        nonlocal folds
        mean = (statistics.store * statistics.average_weight - statistics.averaged) / t
        # Entries of no account carry the rounding of their topic's largest ones.
        np.testing.assert_allclose(mean, plain.mean, rtol=1e-8, atol=1e-13)
        assert_same_state(statistics, plain, 1e-10)
        topics = average_probabilities(statistics, 1000, 0.01, t)
        n_tokens = 1000 * plain.s.sum(axis=0)
        expected = plain.topics(plain.mean * n_tokens, 1, 0.01)
        np.testing.assert_allclose(topics.components(), expected, rtol=1e-8)
        folds += statistics.scale == 1.0

    # Every step is looked at, as folds leave a scale of one behind.
    run(statistics, RATES[name][:1200], workers, every=1, check=check)
    assert folds >= 1


def test_average_of_states_of_all_sizes_is_their_plain_mean(workers):
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
    statistics.multiply(1e-30)
    statistics.count_average()

    def check(statistics, plain, t):
        expected = (plain.mean * t + first) / (t + 1)
        mean = (statistics.store * statistics.average_weight - statistics.averaged) / (t + 1)
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-8)

    first = statistics.store / statistics.store.sum(axis=0)
    run(statistics, np.full(20, 0.5), workers, every=1, check=check)


def test_counting_the_average_does_not_change_the_state(workers):
    plain = WordCounts.random(N_FEATURES, N_TOPICS, 5)
    averaging = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
    plain, averaging = (run(each, np.full(200, 0.2), workers)[0] for each in (plain, averaging))
    np.testing.assert_allclose(plain.scale * plain.store, averaging.scale * averaging.store, rtol=1e-12)


def test_random_start_is_noise_around_one():
    statistics = WordCounts.random(2000, N_TOPICS, 5)
    np.testing.assert_allclose(statistics.totals, statistics.store.sum(axis=0), rtol=1e-14)
    assert abs(statistics.store.mean() - 1.0) < 0.01
    assert not statistics.averages
    statistics = statistics.with_total(75.0)
    np.testing.assert_allclose(expected_counts(statistics, 1).sum(), 75.0, rtol=1e-12)


def test_probabilities_are_smoothed_and_normalized(workers):
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5)
    statistics, plain = run(statistics, RATES["first step one"][:50], workers)
    np.testing.assert_allclose(expected_counts(statistics, 300), 300 * plain.s, rtol=1e-12)
    for prior in (0.0, 0.01, 3.0):
        topics = probabilities(statistics, 300, prior)
        expected = plain.topics(plain.s, 300, prior)
        np.testing.assert_allclose(topics.components(), expected, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(topics.rows(np.array([4, 29, 4])), expected.T[[4, 29, 4]], rtol=1e-11)
    # A word that was never seen has the pseudo-count alone.
    unseen = probabilities(statistics, 300, 0.01).components()[:, 29]
    np.testing.assert_allclose(unseen, 0.01 / (300 * plain.s.sum(axis=0) + 0.3), rtol=1e-11)


class TestGeometric:
    """Geometric means of topics under Dirichlet posteriors, whose parameters are counts and pseudo-counts."""

    PRIOR, WEIGHT = 0.05, 300.0

    @pytest.fixture
    def statistics(self, workers):
        statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5)
        statistics = statistics.with_total(8.0)
        statistics, _ = run(statistics, RATES["slowly falling"][:50], workers)
        return statistics

    def mean_log(self, statistics):
        """E[log phi], (n_features, n_components)."""
        posterior = self.WEIGHT * statistics.scale * statistics.store + self.PRIOR
        return digamma(posterior) - digamma(posterior.sum(axis=0))

    def test_rows_are_exponentials_of_mean_logarithms(self, statistics, workers):
        words, prior = np.array([3, 29, 0, 3], dtype=np.int32), np.array([0.1, 0.2, 0.3, 0.4])
        topics = geometric(statistics, self.WEIGHT, self.PRIOR)
        gathered = topics.gather(words, prior, workers, dtype=np.float64)
        phi = np.exp(self.mean_log(statistics))[words]
        np.testing.assert_allclose(gathered.log_norm, np.log(phi @ prior), rtol=1e-10)
        np.testing.assert_allclose(gathered.rows, phi / (phi @ prior)[:, None], rtol=1e-10)
        single = topics.gather(words, prior, workers)
        assert single.rows.dtype == np.float32
        np.testing.assert_allclose(single.rows, gathered.rows, rtol=1e-6)

    def test_rows_of_some_words_have_the_norm_of_all(self, statistics, workers):
        words, prior = np.array([3, 17, 8], dtype=np.int32), np.full(N_TOPICS, 0.2)
        whole = geometric(statistics, self.WEIGHT, self.PRIOR).gather(words, prior, workers)
        some = geometric(of_words(statistics, words), self.WEIGHT, self.PRIOR)
        part = some.gather(np.arange(3, dtype=np.int32), prior, workers)
        np.testing.assert_array_equal(part.rows, whole.rows)
        np.testing.assert_array_equal(part.log_norm, whole.log_norm)

    def test_mean_logarithm_is_that_of_all_words_and_topics(self, statistics, workers):
        mean = mean_log_probability(statistics, self.WEIGHT, self.PRIOR, workers)
        np.testing.assert_allclose(mean, self.mean_log(statistics).mean(), rtol=1e-12)
        with Workers(3) as team:
            assert mean_log_probability(statistics, self.WEIGHT, self.PRIOR, team) == mean

    @pytest.mark.parametrize("max_iter", [1, 3, 500])
    def test_bound_of_documents_is_that_of_the_mean_field(self, statistics, workers, max_iter):
        """With the best responsibilities for gamma, settled or not; documents without words add nothing."""
        rng = np.random.default_rng(0)
        counts = rng.poisson(0.3, (12, N_FEATURES)) * rng.choice([1.0, 0.4, 30.0], (12, N_FEATURES))
        counts[[0, 5]] = 0.0
        batch = DocumentReader(as_documents(counts)).batch(np.arange(12))
        prior = np.array([0.1, 0.5, 0.2, 0.9])
        topics = geometric(statistics, self.WEIGHT, self.PRIOR)
        gathered = topics.gather(batch.words, prior, workers, dtype=np.float64)
        inferred = VariationalStep(max_iter, 1e-9)(batch, gathered, prior, position_keys(0, 0, 12), workers)
        bound = 0.0
        for c, gamma in zip(counts, inferred.gamma):
            log_theta = digamma(gamma) - digamma(gamma.sum())
            log_zeta = log_theta + self.mean_log(statistics)
            zeta = np.exp(log_zeta) / np.exp(log_zeta).sum(axis=1, keepdims=True)
            bound += c @ (zeta * (log_zeta - np.log(zeta))).sum(axis=1)
            for sign, alpha in ((1.0, prior), (-1.0, gamma)):  # E[log p(theta)] - E[log q(theta)]
                log_density = gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1.0) @ log_theta
                bound += sign * log_density
        np.testing.assert_allclose(inferred.bound(), bound, rtol=1e-9)


class TestOfWords:
    """Statistics of some words have their rows and the totals of all: what a provisional step needs."""

    WORDS = np.array([3, 17, 8])

    def test_probabilities_are_those_of_the_whole(self, workers):
        statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
        statistics, _ = run(statistics, np.full(50, 0.3), workers)
        some = of_words(statistics, self.WORDS)
        np.testing.assert_allclose(
            probabilities(some, 100, 0.1).rows(np.arange(3)),
            probabilities(statistics, 100, 0.1).rows(self.WORDS),
            rtol=1e-14,
        )
        assert not some.averages

    @pytest.mark.parametrize("scale", [1.0, 1.5 * SMALLEST_SCALE], ids=["usual", "folded in by the step"])
    def test_steps_are_those_of_the_whole(self, workers, scale):
        statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5)
        statistics = replace(statistics, scale=scale)
        some = of_words(statistics, self.WORDS)
        array = np.random.default_rng(0).random((3, N_TOPICS)) * scale
        statistics, some = statistics.decayed(0.5), some.decayed(0.5)
        for target, words in ((statistics, self.WORDS), (some, np.arange(3))):
            target.add(Counts(array), words.astype(np.int32), 0.5, workers)
        np.testing.assert_allclose(some.scale * some.totals, statistics.scale * statistics.totals, rtol=1e-12)

    @pytest.mark.parametrize("words", [WORDS, slice(2, 6), slice(None)], ids=["list", "slice", "all"])
    def test_copy_is_independent(self, words, workers):
        some = of_words(WordCounts.random(N_FEATURES, N_TOPICS, 5), words)
        before = some.store.copy(), some.totals.copy(), some.scale
        copy = duplicate(some).decayed(0.5)
        rows = np.arange(len(some.store), dtype=np.int32)
        copy.add(Counts(np.ones_like(some.store)), rows, 0.5, workers)
        for array, kept in zip((some.store, some.totals, some.scale), before):
            np.testing.assert_array_equal(array, kept)

    def test_whole_is_left_alone(self, workers):
        statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
        before = statistics.store.copy(), statistics.totals.copy()
        some = of_words(statistics, self.WORDS)
        some = some.decayed(0.0)
        some.add(Counts(np.ones((3, N_TOPICS))), np.arange(3, dtype=np.int32), 1.0, workers)
        np.testing.assert_array_equal(statistics.store, before[0])
        np.testing.assert_array_equal(statistics.totals, before[1])
        assert statistics.scale == 1.0


class TestOfTopics:
    """Copies in which topics are left out, added, joined or divided, and what is read of some of them."""

    @pytest.fixture
    def statistics(self, workers):
        statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
        statistics, _ = run(statistics, np.full(30, 0.3), workers)
        assert statistics.scale < 1.0
        return statistics

    def assert_counts(self, statistics, counts):
        """These are the statistics, of all words in each topic."""
        np.testing.assert_allclose(expected_counts(statistics, 1.0), counts, rtol=1e-12)
        np.testing.assert_allclose(expected_tokens(statistics, 1.0), counts.sum(axis=0), rtol=1e-12)
        assert not statistics.averages

    @pytest.mark.parametrize("topics", [[3, 0], slice(1, 3), np.array([True, False, False, True]), slice(0)])
    @pytest.mark.parametrize("n_spare", [0, 2])
    def test_topics_are_chosen_and_added(self, statistics, topics, n_spare):
        counts = expected_counts(statistics, 1.0)
        some = of_topics(statistics, topics, n_spare)
        self.assert_counts(some, np.hstack([counts[:, topics], np.zeros((N_FEATURES, n_spare))]))
        some.store[:] = some.totals[:] = 7.0
        np.testing.assert_array_equal(expected_counts(statistics, 1.0), counts)

    def test_merged_topics_are_sums(self, statistics):
        counts = expected_counts(statistics, 1.0)
        kept, into = np.array([True, False, True, False]), np.array([0, 0, 2, 3])  # the last is given up
        expected = np.column_stack([counts[:, 0] + counts[:, 1], counts[:, 2]])
        totals = statistics.totals.copy()
        totals[0] += totals[1]
        self.assert_counts(merged_topics(statistics, kept, into, totals), expected)
        np.testing.assert_array_equal(expected_counts(statistics, 1.0), counts)

    def test_parts_of_topics_are_taken_out_of_them(self, statistics):
        counts, words = expected_counts(statistics, 1.0), np.array([3, 17, 8])
        tokens = np.zeros((2, N_FEATURES))
        tokens[:, words] = 100.0 * np.array([0.25 * counts[words, 2], 0.5 * counts[words, 0]])
        tokens[1, 17] = 1e9  # more than there is
        expected = np.hstack([counts, np.zeros((N_FEATURES, 2))])
        expected[words, 4], expected[words, 5] = 0.25 * counts[words, 2], 0.5 * counts[words, 0]
        expected[17, 5] = counts[17, 0]
        expected[:, [2, 0]] -= expected[:, [4, 5]]
        self.assert_counts(split_topics(statistics, [2, 0], tokens, 100.0), expected)
        np.testing.assert_array_equal(expected_counts(statistics, 1.0), counts)

    def test_topics_can_be_cleared_and_all_multiplied(self, statistics):
        statistics = of_topics(statistics, slice(None))
        counts = expected_counts(statistics, 1.0)
        statistics.clear(slice(2, None))
        statistics.multiply(3.0)
        counts[:, 2:] = 0.0
        self.assert_counts(statistics, 3.0 * counts)

    def test_counts_of_some_words_and_topics_are_those_of_all(self, statistics):
        counts, words = expected_counts(statistics, 300.0), np.array([3, 17, 8])
        for topics in (slice(None), slice(0), slice(1, 3)):
            np.testing.assert_allclose(
                expected_counts(statistics, 300.0, topics), counts[:, topics], rtol=1e-14
            )
            some = expected_counts_of(statistics, words, topics, 300.0)
            np.testing.assert_allclose(some, counts[words][:, topics], rtol=1e-14)
        np.testing.assert_allclose(expected_counts(statistics, 300.0, 2), counts[:, 2], rtol=1e-14)
        np.testing.assert_allclose(expected_tokens(statistics, 300.0), counts.sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            expected_tokens(statistics, 2.0, np.ones(N_TOPICS)), 2.0 * statistics.scale, rtol=1e-14
        )


@pytest.mark.parametrize("step", [GibbsStep(2, 3), VariationalStep(20, 1e-3)], ids=["gibbs", "variational"])
@pytest.mark.parametrize("dense", [False, True], ids=["directly", "through dense counts"])
def test_document_steps_keep_totals_and_average_in_step_with_the_store(step, dense, workers):
    rng = np.random.default_rng(0)
    counts = as_documents(rng.poisson(0.3, (12, N_FEATURES)).astype(np.float64))
    reader = DocumentReader(counts)
    prior = np.full(N_TOPICS, 0.3)
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5, average=True)
    statistics = statistics.with_total(10.0)
    plain = Plain(statistics)
    for t in range(20):
        batch = reader.batch(np.arange(6) + 6 * (t % 2))
        topics = probabilities(statistics, 12, 0.1).gather(batch.words, prior, workers)
        expected = step(batch, topics, prior, position_keys(t, 0, 6), workers)
        array = np.zeros((N_FEATURES, N_TOPICS))
        target = CountsTarget(array, np.zeros((N_PARTS, N_TOPICS)), *no_average(N_TOPICS))
        expected.add_to(target, batch.words, 1.0, workers)
        np.testing.assert_allclose(array.sum(), batch.lengths.sum(), rtol=1e-5)
        words = batch.words
        if dense:
            group, expected, words = expected, DenseCounts(N_FEATURES, N_TOPICS, False), np.arange(N_FEATURES)
            expected.include(group, batch.words, workers)
        rho = (t + 1.0) ** -0.7 * 0.999
        statistics = statistics.decayed(1.0 - rho)
        statistics.add(expected, words.astype(np.int32), rho / 6, workers)
        statistics.count_average()
        plain.step(rho, np.arange(N_FEATURES), array / 6)
    assert_same_state(statistics, plain, 1e-10)
    mean = (statistics.store * statistics.average_weight - statistics.averaged) / 20
    np.testing.assert_allclose(mean, plain.mean, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("words", [[3, 7], []])
def test_large_statistics_are_copied_only_if_a_first_update_discards_them(words, monkeypatch):
    """Which a batch without words does not."""
    copies = []

    def noted(self):
        copies.append(duplicate(self))
        return copies[-1]

    for module in (_minibatches, _updates):
        monkeypatch.setattr(module, "LONG_WORK", 10_000)
    monkeypatch.setattr(_minibatches, "duplicate", noted)
    X = np.zeros((1, 5000))
    X[0, words] = 2.0
    model = StreamingVariationalLDA(n_components=10, random_state=0).partial_fit(X)
    assert len(copies) == bool(words)
    assert set(np.flatnonzero(model._state.words.store.any(axis=1))) == set(words or range(5000))
