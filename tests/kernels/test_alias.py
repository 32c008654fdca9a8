"""Alias tables hold the weights exactly, and draws from them follow these."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.random._alias import alias_draws, alias_table
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import alias as reference
from tests.reference.rng import Stream

WEIGHTS = {
    "one entry": [0.3],
    "one tiny entry": [1e-300],
    "two": [0.25, 0.75],
    "equal": [0.1] * 10,
    "many equal": [1 / 3] * 1000,
    "zeros between": [0.0, 1.0, 0.0, 0.0, 2.0, 0.0],
    "all but one zero": [0.0] * 99 + [0.7],
    "all but the first zero": [0.7] + [0.0] * 99,
    "far apart": [1e-300, 1.0, 1e300, 1e-10, 5e299],
    "tiny": [1e-300, 2e-300, 3e-300, 0.0],
    "large": [1e300, 2e300, 3e300],
    "geometric": 0.5 ** np.arange(60),
    "gamma": np.random.default_rng(0).gamma(0.1, 1.0, 500),
    "few large": np.random.default_rng(1).random(300) ** 20,
    "random, half of them zero": np.random.default_rng(2).random(200) * np.tile([0.0, 1.0], 100),
}
for_each_weights = pytest.mark.parametrize("name", WEIGHTS)


def weights_of(name):
    return np.array(WEIGHTS[name], dtype=float)


@for_each_weights
def test_probabilities_are_the_weights(name):
    weight = weights_of(name)
    threshold, alias = alias_table(weight)
    assert np.all((threshold >= 0) & (threshold <= 1))
    assert np.all((alias >= 0) & (alias < len(weight)))
    p = reference.probabilities(threshold, alias)
    expected = weight / weight.max()
    assert_allclose(p, expected / expected.sum(), rtol=0, atol=1e-14)


def assert_never_drawn(weight, threshold, alias):
    """No cell leads to an entry of weight zero: not even with a probability that rounding would hide."""
    zero = weight == 0
    assert np.all(threshold[zero] == 0)
    assert not np.any(zero[alias[threshold < 1]])


@for_each_weights
def test_entries_of_weight_zero_have_no_part(name):
    weight = weights_of(name)
    assert_never_drawn(weight, *alias_table(weight))


@for_each_seed
def test_random_weights(seed):
    rng = np.random.default_rng(seed)
    for _ in range(500):
        n = rng.integers(1, 80)
        weight = rng.gamma(rng.choice([0.02, 0.3, 5.0]), 1.0, n) * (
            rng.random(n) < rng.choice([0.2, 0.7, 1.0])
        )
        weight[rng.integers(n)] += 0.1
        threshold, alias = alias_table(weight)
        assert_never_drawn(weight, threshold, alias)
        assert_allclose(reference.probabilities(threshold, alias), weight / weight.sum(), rtol=0, atol=1e-14)


def test_all_entries_are_equally_likely_without_any_weight():
    p = reference.probabilities(*alias_table(np.zeros(7)))
    assert_allclose(p, np.full(7, 1 / 7), rtol=1e-15)


@for_each_weights
def test_table_and_draws_are_those_of_the_reference(name):
    weight = weights_of(name)
    threshold, alias = alias_table(weight)
    expected_threshold, expected_alias = reference.alias_table(weight)
    assert_array_equal(threshold, expected_threshold)
    assert_array_equal(alias, expected_alias)
    assert threshold.dtype == np.float64 and alias.dtype == np.int32
    stream = Stream(5)
    draws = [reference.draw_alias(threshold, alias, stream) for _ in range(500)]
    assert_array_equal(alias_draws(threshold, alias, 5, 500), draws)


@for_each_seed
@for_each_weights
def test_draws_are_distributed_by_the_weights(name, seed):
    weight = weights_of(name)
    draws = alias_draws(*alias_table(weight), 100 + seed, 100_000)
    p = weight / weight.max()
    p /= p.sum()
    counts = np.bincount(draws, minlength=len(weight))
    assert not np.any(counts[weight == 0])
    if np.count_nonzero(p * 1e5 >= 5) > 1:
        assert_distributed(counts, p)
    else:
        assert counts[np.argmax(p)] == 100_000


def test_no_draws():
    assert len(alias_draws(*alias_table(np.ones(3)), 0, 0)) == 0
