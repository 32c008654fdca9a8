"""Alias tables hold the weights exactly, and draws from them follow these."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.random._alias import alias_draws, alias_table
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import alias as reference
from tests.reference.rng import Stream

WEIGHTS = {
    "one tiny entry": [1e-300],
    "two": [0.25, 0.75],
    "many equal": [1 / 3] * 100,
    "zeros between": [0.0, 1.0, 0.0, 0.0, 2.0, 0.0],
    "all but one zero": [0.0] * 99 + [0.7],
    "all but the first zero": [0.7] + [0.0] * 99,
    "far apart": [1e-300, 1.0, 1e300, 1e-10, 5e299],
    "tiny": [1e-300, 2e-300, 3e-300, 0.0],
    "large": [1e300, 2e300, 3e300],
    "geometric": 0.5 ** np.arange(60),
    "gamma": np.random.default_rng(0).gamma(0.1, 1.0, 500),
    "few large": np.random.default_rng(1).random(300) ** 20,
}


def random_weights():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(1, 80)
        present = rng.random(n) < rng.choice([0.2, 0.7, 1.0])
        weight = rng.gamma(rng.choice([0.02, 0.3, 5.0]), 1.0, n) * present
        weight[rng.integers(n)] += 0.1
        yield weight


def test_tables_hold_the_weights_and_they_and_draws_are_those_of_the_reference():
    for weight in map(np.array, (*WEIGHTS.values(), *random_weights())):
        threshold, alias = alias_table(weight.astype(float))
        expected = reference.alias_table(weight)
        assert_array_equal(threshold, expected[0])
        assert_array_equal(alias, expected[1])
        p = weight / weight.max()
        assert_allclose(reference.probabilities(threshold, alias), p / p.sum(), rtol=0, atol=1e-14)
        # No cell leads to an entry of weight zero: not even with a probability that rounding would hide.
        zero = weight == 0
        assert np.all(threshold[zero] == 0) and not np.any(zero[alias[threshold < 1]])
        stream = Stream(5)
        draws = [reference.draw_alias(threshold, alias, stream) for _ in range(100)]
        assert_array_equal(alias_draws(threshold, alias, 5, 100), draws)


def test_all_entries_are_equally_likely_without_any_weight():
    p = reference.probabilities(*alias_table(np.zeros(7)))
    assert_allclose(p, np.full(7, 1 / 7), rtol=1e-15)


@for_each_seed
def test_draws_are_distributed_by_the_weights(seed):
    weight = np.array(WEIGHTS["geometric"])
    draws = alias_draws(*alias_table(weight), 100 + seed, 100_000)
    assert_distributed(np.bincount(draws, minlength=len(weight)), weight / weight.sum())
