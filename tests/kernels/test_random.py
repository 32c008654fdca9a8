"""Streams and keys, alias tables, and draws from Dirichlet distributions, against their references and laws."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, kstest

from sktopic._kernels.random import _rng as kernels
from sktopic._kernels.random._alias import alias_draws, alias_table
from sktopic._kernels.random._dirichlet_draws import draw_dirichlets
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import alias
from tests.reference import rng as reference
from tests.reference.dirichlet import draw_dirichlets as drawn_by_reference

for_each_key = pytest.mark.parametrize("key", [0, 1, 0x9E3779B97F4A7C15, 2**63, 2**64 - 1])


def test_published_outputs_are_given():
    # The state of a stream is the first four outputs for seed 0 printed with the algorithm of splitmix64.
    stream = reference.Stream(0)
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert stream.state == published
    # xoshiro256++
    stream.state = [1, 2, 3, 4]
    assert [stream.bits() for _ in range(3)] == [41943041, 58720359, 3588806011781223]
    # Ours do not change between versions.
    ours = [0x8D948A82DEF8A568, 0x3477F953796702A0, 0x15CAA2FCE6DB8D69]
    assert kernels.bits(12345, 3).tolist() == ours


@for_each_key
def test_numbers_and_keys_are_those_of_the_reference(key):
    stream = reference.Stream(key)
    assert_array_equal(kernels.bits(key, 200), np.array([stream.bits() for _ in range(200)], dtype=np.uint64))
    assert_array_equal(kernels.uniforms(key, 200), reference.uniforms(key, 200))
    values = [0, 1, 2**32, 2**64 - 1, -1]
    assert kernels.combine_keys(key, *values) == reduce(reference.combine, values, key)
    assert kernels.combine_keys(key) == key
    keys = kernels.position_keys(key, 5, 20)
    assert_array_equal(keys, [reference.combine(key, i) for i in range(5, 25)])
    assert_array_equal(kernels.combine_each(keys, 9), [reference.combine(each, 9) for each in keys])


def test_content_keys_are_those_of_the_reference():
    """Of the whole, of a slice, of counts in single precision, and of words that are numbered."""
    rng, indptr = np.random.default_rng(0), np.array([0, 3, 3, 10, 11, 20], dtype=np.int64)
    words, counts = rng.integers(0, 2**31, 20, dtype=np.int32), rng.gamma(1.0, 3.0, 20)
    keys = reference.content_keys(11, indptr, words, counts)
    assert len(set(keys.tolist())) == 5 and keys[1] == 11
    assert_array_equal(kernels.content_keys(11, indptr, words, counts), keys)
    part = slice(indptr[2], indptr[4])
    assert_array_equal(kernels.content_keys(11, indptr[2:5], words[part], counts[part]), keys[2:4])
    rounded = counts.astype(np.float32).astype(np.float64)
    assert_array_equal(kernels.content_keys(11, indptr, words, rounded), keys)
    numbers, local = np.unique(words, return_inverse=True)
    assert_array_equal(kernels.content_keys(11, indptr, local.astype(np.int32), counts, numbers), keys)


@pytest.mark.parametrize("first", [0, 3])
def test_noise_is_that_of_the_reference(first):
    noise, expected = np.empty((5, 7)), np.empty((5, 7))
    kernels.fill_noise(noise, 42, first)
    reference.fill_noise(expected, 42, first)
    assert_allclose(noise, expected, rtol=1e-14)


# Alias tables

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
    "many zeros": np.random.default_rng(2).gamma(5.0, 1.0, 79) * (np.arange(79) % 5 == 2),
}


def test_tables_hold_the_weights_and_they_and_draws_are_those_of_the_reference():
    for weight in map(np.array, WEIGHTS.values()):
        threshold, other = alias_table(weight.astype(float))
        assert_array_equal([threshold, other], alias.alias_table(weight))
        p = weight / weight.max()
        assert_allclose(alias.probabilities(threshold, other), p / p.sum(), rtol=0, atol=1e-14)
        # No cell leads to an entry of weight zero: not even with a probability that rounding would hide.
        zero = weight == 0
        assert np.all(threshold[zero] == 0) and not np.any(zero[other[threshold < 1]])
        stream = reference.Stream(5)
        draws = [alias.draw_alias(threshold, other, stream) for _ in range(100)]
        assert_array_equal(alias_draws(threshold, other, 5, 100), draws)


def test_all_entries_are_equally_likely_without_any_weight():
    p = alias.probabilities(*alias_table(np.zeros(7)))
    assert_allclose(p, np.full(7, 1 / 7), rtol=1e-15)


@for_each_seed
def test_draws_are_distributed_by_the_weights(seed):
    weight = np.array(WEIGHTS["geometric"])
    draws = alias_draws(*alias_table(weight), 100 + seed, 100_000)
    assert_distributed(np.bincount(draws, minlength=len(weight)), weight / weight.sum())


# Draws from Dirichlet distributions


def drawn(parameters, keys):
    theta = np.empty(parameters.shape)
    draw_dirichlets(parameters, keys, theta)
    return theta


def test_draws_are_those_of_the_reference():
    parameters = np.random.default_rng(0).gamma(0.3, 3.0, (50, 7)) + 1e-6
    parameters[:2] = [1e-6, 1e-3, 0.999, 1.0, 1.001, 1e4, 1e20], [0.0, 1.0] * 3 + [0.0]
    parameters[2:10] = 1e-6
    keys = np.arange(50, dtype=np.uint64)
    theta = drawn(parameters, keys)
    assert_allclose(theta, drawn_by_reference(parameters, keys), rtol=1e-9)
    assert np.all(theta[2:10].max(axis=1) > 0.99)  # tiny parameters leave one topic


@for_each_seed
@pytest.mark.parametrize("parameters", [[0.05, 0.3, 0.6], [1.0, 1.0], [0.5, 3.0, 40.0]], ids=str)
def test_entries_have_beta_distributions(parameters, seed):
    keys = np.arange(20_000, dtype=np.uint64) + np.uint64(seed << 32)
    theta = drawn(np.tile(parameters, (len(keys), 1)), keys)
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-14)
    for k, a in enumerate(parameters):
        assert kstest(theta[:, k], beta(a, sum(parameters) - a).cdf).pvalue > 1e-4
