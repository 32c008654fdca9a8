"""Streams and keys are those of the reference, bit by bit, on every machine."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.random import _rng as kernels
from tests.reference import rng as reference

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
