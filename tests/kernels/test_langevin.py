"""Langevin steps of topics: equal to NumPy, and with the law they claim as their stationary one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import ScaledCounts
from sktopic._kernels.lda._langevin import langevin_step, normals
from sktopic._kernels.random._rng import combine_keys
from tests.kernels.tools import for_each_seed
from tests.reference import langevin as reference


@pytest.mark.parametrize("key", [0, 2**63 + 5])
def test_normals_are_those_of_the_reference(key):
    for m in (0, 1, 2, 7, 8, 33, 1000):
        assert_allclose(normals(key, m), reference.normals(key, m), rtol=0, atol=1e-13)


class Case:
    """Topics of 23 words, of which some are in the batch, and settings of a step."""

    def __init__(self, n_topics, n_parts):
        rng = np.random.default_rng(n_topics)
        self.theta = rng.gamma(0.3, 1.0, (23, n_topics))
        self.theta[3] = 0.0  # on the boundary: only the drift moves it
        self.theta[4] = 1e-300
        counts, row = rng.gamma(0.2, 5.0, (9, n_topics)), np.full(23, -1, dtype=np.int32)
        counts[2] = 0.0
        row[rng.permutation(23)[:9]] = rng.permutation(9)
        self.batch, self.pull_down = ScaledCounts(counts, row, 7.5), 1.0 + rng.gamma(1.0, 10.0, n_topics)
        self.bounds = np.arange(n_parts + 1, dtype=np.int64) * 23 // n_parts
        self.totals = np.full((n_parts, n_topics), np.nan)

    def run(self, kernel, first, last, key):
        given = self.bounds, self.theta, self.batch, 0.05, self.pull_down, 0.03, key, self.totals
        kernel(first, last, *given)


@pytest.mark.parametrize(("n_topics", "n_parts"), [(1, 5), (2, 1), (7, 40), (33, 5)])
def test_steps_are_those_of_the_reference(n_topics, n_parts):
    """In parts that may be treated in any grouping and order."""
    case, other, whole = (Case(n_topics, n_parts) for _ in range(3))
    middle = n_parts // 2
    for key in (77, 78):
        other.run(reference.langevin_step, 0, n_parts, key)
        whole.run(langevin_step, 0, n_parts, key)
        for first, last in ((middle, n_parts), (middle, middle), (0, middle)):
            case.run(langevin_step, first, last, key)
        for array in ("theta", "totals"):
            found = getattr(case, array)
            assert_array_equal(found, getattr(whole, array))
            assert_allclose(found, getattr(other, array), rtol=1e-12, atol=1e-12)
    assert np.all(case.theta >= 0) and np.all(case.theta != Case(n_topics, n_parts).theta)


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize(("n", "rate"), [(0.0, 1.0), (4.0, 2.5)], ids=["no counts", "counts"])
def test_entries_have_the_gamma_distribution(n, rate, seed):
    """With a constant pull, each of 16,000 entries is a chain of its own, of Gamma(eta + n, rate).

    Mean and variance, which the scheme has exactly but for steps of this size and the rare reflections at
    zero, within five standard errors, each below a hundredth.
    """
    eta, step, n_chains = 3.0, 0.02, 1000
    theta = np.random.default_rng(seed).gamma(eta + n, 1 / rate, (n_chains, 16))
    rows = np.arange(n_chains, dtype=np.int32) if n else np.full(n_chains, -1, dtype=np.int32)
    batch = ScaledCounts(np.full((n_chains, 16), n), rows, 1.0)
    bounds, totals, samples = np.array([0, n_chains]), np.empty((1, 16)), []
    for t in range(2000):
        key = combine_keys(50 + seed, t)
        langevin_step(0, 1, bounds, theta, batch, eta, np.full(16, rate), step, key, totals)
        if t >= 300 and t % 20 == 0:
            samples.append(theta.flatten())
    samples, mean = np.array(samples), (eta + n) / rate
    variance = mean / rate / (1 - rate * step / 4)
    for values, expected in ((samples, mean), ((samples - mean) ** 2, variance)):
        by_chain = values.mean(axis=0)
        standard_error = by_chain.std(ddof=1) / len(by_chain) ** 0.5
        assert standard_error < 0.01 * expected
        assert abs(by_chain.mean() - expected) < 5 * standard_error + 1e-3 * expected
