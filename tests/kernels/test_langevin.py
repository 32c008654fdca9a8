"""Langevin steps of topics: equal to NumPy, and with the law they claim as their stationary one."""

import numpy as np
import pytest
from scipy.stats import kstest

from sktopic._kernels._groups import ScaledCounts
from sktopic._kernels.lda._langevin import langevin_step, normals
from sktopic._kernels.random._rng import combine_keys
from tests.kernels.tools import for_each_seed
from tests.reference import langevin as reference


@pytest.mark.parametrize("m", [0, 1, 2, 7, 8, 33, 1000])
@pytest.mark.parametrize("key", [0, 1, 2**63 + 5])
def test_normals_are_those_of_the_reference(key, m):
    np.testing.assert_allclose(normals(key, m), reference.normals(key, m), rtol=0, atol=1e-13)


@for_each_seed
def test_normals_have_the_normal_distribution(seed):
    m = 200_000
    both = normals(10_000 + seed, m)
    for half in (both[:m], both[m:]):
        assert kstest(half, "norm").pvalue > 1e-4
    # Moments of 400,000: standard errors sqrt(1, 2, 15, 96) / 632.
    for power, mean, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((both**power).mean() - mean) < 5 * (spread / (2 * m)) ** 0.5
    assert 4 < both.max() < 7 and -7 < both.min() < -4
    # The two of a pair, and those of neighboring pairs, are independent: neither they nor their squares
    # are correlated.
    cos, sin = both.reshape(2, m)
    for one, other in ((cos, sin), (cos[1:], cos[:-1]), (sin[1:], cos[:-1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / m**0.5
        assert abs(np.corrcoef(one**2, other**2)[0, 1]) < 5 / m**0.5


class Case:
    """Topics of 23 words, of which some are in the batch, and settings of a step."""

    def __init__(self, n_topics, n_parts=5):
        rng = np.random.default_rng(n_topics)
        self.theta = rng.gamma(0.3, 1.0, (23, n_topics))
        self.theta[3] = 0.0  # on the boundary: only the drift moves it
        self.theta[4] = 1e-300
        self.counts = rng.gamma(0.2, 5.0, (9, n_topics))
        self.counts[2] = 0.0
        self.counts_row = np.full(23, -1, dtype=np.int32)
        self.counts_row[rng.permutation(23)[:9]] = rng.permutation(9)
        self.part_bounds = np.arange(n_parts + 1, dtype=np.int64) * 23 // n_parts
        self.pull_down = 1.0 + rng.gamma(1.0, 10.0, n_topics)
        self.totals = np.full((n_parts, n_topics), np.nan)

    def run(self, kernel, first, last, factor=7.5, topic_word_prior=0.05, step=0.03, key=77):
        kernel(
            first,
            last,
            self.part_bounds,
            self.theta,
            ScaledCounts(self.counts, self.counts_row, factor),
            topic_word_prior,
            self.pull_down,
            step,
            key,
            self.totals,
        )


@pytest.mark.parametrize("n_parts", [1, 5, 40])
@pytest.mark.parametrize("n_topics", [1, 2, 3, 7, 8, 16, 33])
def test_steps_are_those_of_the_reference(n_topics, n_parts):
    case, other = Case(n_topics, n_parts), Case(n_topics, n_parts)
    before = case.theta.copy()
    for key in (77, 78):
        case.run(langevin_step, 0, n_parts, key=key)
        other.run(reference.langevin_step, 0, n_parts, key=key)
        np.testing.assert_allclose(case.theta, other.theta, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(case.totals, other.totals, rtol=1e-12, atol=1e-12)
    assert np.all(case.theta >= 0) and np.all(case.theta != before)


def test_parts_may_be_treated_in_any_grouping_and_order():
    whole, grouped = Case(10), Case(10)
    whole.run(langevin_step, 0, 5)
    for first, last in ((3, 5), (0, 1), (2, 2), (1, 3)):
        untouched = grouped.theta.copy()
        grouped.run(langevin_step, first, last)
        outside = np.r_[: grouped.part_bounds[first], grouped.part_bounds[last] : 23].astype(int)
        np.testing.assert_array_equal(grouped.theta[outside], untouched[outside])
    np.testing.assert_array_equal(grouped.theta, whole.theta)
    np.testing.assert_array_equal(grouped.totals, whole.totals)


def test_words_outside_the_batch_have_counts_of_zero():
    given, absent = Case(6), Case(6)
    row = given.counts_row[absent.counts_row >= 0][0]
    word = int(np.flatnonzero(given.counts_row == row)[0])
    given.counts[row] = 0.0
    absent.counts_row[word] = -1
    for case in (given, absent):
        case.run(langevin_step, 0, 5)
    np.testing.assert_array_equal(given.theta[word], absent.theta[word])
    assert np.any(Case(6).theta[word] != given.theta[word])


def test_words_draw_from_streams_of_their_own():
    """The noise of a word is that of its name, whatever came before it."""
    case = Case(6)
    case.theta[:] = 1.0
    case.counts_row[:] = -1
    case.run(langevin_step, 0, 5, topic_word_prior=0.0, step=1e-4)
    drift = 0.5e-4 * -case.pull_down
    for word in (0, 11, 22):
        noise = normals(combine_keys(77, word), 3)
        np.testing.assert_allclose(case.theta[word], 1.0 + drift + 1e-2 * noise, rtol=1e-12)


def chains(theta, counts, topic_word_prior, pull_down, step, n_steps, n_burn_in, key, every=20):
    """Samples (n_samples, n_words, n_topics) of a chain whose pull_down is a function of the totals."""
    n_words = len(theta)
    bounds, totals = np.array([0, n_words], dtype=np.int64), theta.sum(axis=0)[None].copy()
    rows = np.arange(n_words, dtype=np.int32) if len(counts) else np.full(n_words, -1, dtype=np.int32)
    samples = []
    for t in range(n_steps):
        given = (
            theta,
            ScaledCounts(counts, rows, 1.0),
            topic_word_prior,
            pull_down(totals[0]),
            step,
            combine_keys(key, t),
            totals,
        )
        langevin_step(0, 1, bounds, *given)
        if t >= n_burn_in and t % every == 0:
            samples.append(theta.copy())
    return np.array(samples)


def assert_moments(samples, means, variances, tolerance):
    """Mean and variance of independent chains (n_samples, n_chains), all of which have the same law."""
    for values, expected in ((samples, means), ((samples - means) ** 2, variances)):
        by_chain = values.mean(axis=0)
        standard_error = by_chain.std(ddof=1) / len(by_chain) ** 0.5
        assert standard_error < 0.01 * expected
        assert abs(by_chain.mean() - expected) < 5 * standard_error + tolerance * expected


@for_each_seed
@pytest.mark.parametrize(("n", "rate"), [(0.0, 1.0), (4.0, 2.5)], ids=["no counts", "counts"])
def test_entries_have_the_gamma_distribution(n, rate, seed):
    """With a constant pull, each of 16,000 entries is a chain of its own, of Gamma(eta + n, rate)."""
    eta, step = 3.0, 0.02
    theta = np.random.default_rng(seed).gamma(eta + n, 1 / rate, (1000, 16))
    counts = np.full((1000, 16), n) if n else np.empty((0, 16))
    samples = chains(theta, counts, eta, lambda totals: np.full(16, rate), step, 2000, 300, 50 + seed)
    # The exact law of the scheme with steps of this size, but for the rare reflections at zero.
    mean = (eta + n) / rate
    assert_moments(samples.reshape(len(samples), -1), mean, mean / rate / (1 - rate * step / 4), 1e-3)


@for_each_seed
def test_topics_have_the_dirichlet_distribution(seed):
    """Counts n of four words: phi ~ Dir(eta + n), and the sum over words ~ Gamma(4 eta) on its own."""
    eta, n, step = 2.0, np.array([1.0, 0.0, 3.0, 2.0]), 0.01
    rng = np.random.default_rng(seed)
    parameters = eta + n
    phi = rng.dirichlet(parameters, 5000).T
    theta = np.ascontiguousarray(phi * rng.gamma(4 * eta, 1.0, 5000))
    counts = np.ascontiguousarray(np.tile(n[:, None], 5000))
    samples = chains(theta, counts, eta, lambda totals: 1.0 + n.sum() / totals, step, 2500, 500, 90 + seed)
    totals = samples.sum(axis=1)
    # The discretisation moves means and variances by less than two per cent at this step size.
    assert_moments(totals, 4 * eta, 4 * eta, 0.02)
    mean = parameters / parameters.sum()
    variance = mean * (1 - mean) / (parameters.sum() + 1)
    for word in range(4):
        assert_moments(samples[:, word] / totals, mean[word], variance[word], 0.02)
