"""Streams and keys are those of the reference, bit by bit, on every machine."""

import numpy as np
import pytest

from sktopic._kernels.random import _rng as kernels
from tests.kernels.tools import for_each_seed
from tests.reference import rng as reference

KEYS = [0, 1, 0x9E3779B97F4A7C15, 2**63, 2**64 - 1]


def test_splitmix64_gives_its_published_outputs():
    # The state of a stream is the first four outputs for seed 0 printed with the algorithm.
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert reference.Stream(0).state == published


def test_xoshiro256plusplus_gives_its_published_outputs():
    stream = reference.Stream(0)
    stream.state = [1, 2, 3, 4]
    assert [stream.bits() for _ in range(3)] == [41943041, 58720359, 3588806011781223]


@pytest.mark.parametrize("key", KEYS)
def test_bits_are_those_of_the_reference(key):
    np.testing.assert_array_equal(kernels.bits(key, 200), reference.bits(key, 200))


@pytest.mark.parametrize("key", KEYS)
def test_uniforms_are_those_of_the_reference(key):
    uniforms = kernels.uniforms(key, 200)
    np.testing.assert_array_equal(uniforms, reference.uniforms(key, 200))
    assert uniforms.min() >= 0.0
    assert uniforms.max() < 1.0


def test_raw_outputs_do_not_change_between_versions():
    np.testing.assert_array_equal(
        kernels.bits(12345, 3),
        np.array([0x8D948A82DEF8A568, 0x3477F953796702A0, 0x15CAA2FCE6DB8D69], dtype=np.uint64),
    )


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_those_of_the_reference(key):
    values = [0, 1, 2**32, 2**64 - 1, -1]
    assert kernels.combine_keys(key, *values) == reference.combine_keys(key, *values)
    assert kernels.combine_keys(key) == key
    keys = kernels.position_keys(key, 5, 20)
    np.testing.assert_array_equal(keys, reference.position_keys(key, 5, 20))
    np.testing.assert_array_equal(kernels.combine_each(keys, 9), reference.combine_each(keys, 9))


def test_order_of_absorbed_values_matters():
    assert kernels.combine_keys(7, 1, 2) != kernels.combine_keys(7, 2, 1)


def test_position_keys_do_not_depend_on_where_a_range_starts():
    keys = kernels.position_keys(3, 0, 30)
    np.testing.assert_array_equal(keys[10:], kernels.position_keys(3, 10, 20))
    assert len(np.unique(keys)) == 30


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    indptr = np.array([0, 3, 3, 10, 11, 20], dtype=np.int64)
    return indptr, rng.integers(0, 2**31, 20, dtype=np.int32), rng.gamma(1.0, 3.0, 20)


def test_content_keys_are_those_of_the_reference(cells):
    np.testing.assert_array_equal(kernels.content_keys(11, *cells), reference.content_keys(11, *cells))


def test_content_keys_of_float32_and_float64_counts_are_the_same(cells):
    indptr, words, counts = cells
    rounded = counts.astype(np.float32).astype(np.float64)
    assert np.any(rounded != counts)
    np.testing.assert_array_equal(
        kernels.content_keys(11, indptr, words, counts), kernels.content_keys(11, indptr, words, rounded)
    )


def test_content_keys_of_numbered_words_are_those_of_their_numbers(cells):
    indptr, words, counts = cells
    numbers, local = np.unique(words, return_inverse=True)
    keys = kernels.content_keys(11, indptr, local.astype(np.int32), counts, numbers)
    np.testing.assert_array_equal(keys, kernels.content_keys(11, *cells))


def test_content_keys_of_a_slice_are_those_of_the_whole(cells):
    indptr, words, counts = cells
    whole = kernels.content_keys(11, *cells)
    piece = kernels.content_keys(11, indptr[2:5], words[indptr[2] : indptr[4]], counts[indptr[2] : indptr[4]])
    np.testing.assert_array_equal(piece, whole[2:4])


def test_content_keys_depend_on_every_cell(cells):
    _, words, counts = cells
    before = kernels.content_keys(11, *cells)
    for cell, document in ((0, 0), (9, 2), (10, 3), (19, 4)):
        for changed_words, changed_counts in ((1, 0.0), (0, 1.0)):
            words[cell] += changed_words
            counts[cell] += changed_counts
            np.testing.assert_array_equal(
                kernels.content_keys(11, *cells) != before, np.arange(5) == document
            )
            words[cell] -= changed_words
            counts[cell] -= changed_counts
    assert before[1] == 11


def test_noise_is_that_of_the_reference():
    noise, expected = np.empty((5, 7)), np.empty((5, 7))
    kernels.fill_noise(noise, 42, 3)
    reference.fill_noise(expected, 42, 3)
    np.testing.assert_allclose(noise, expected, rtol=1e-14)


def test_noise_of_a_row_does_not_depend_on_where_filling_starts():
    noise, later = np.empty((9, 4)), np.empty((4, 4))
    kernels.fill_noise(noise, 42, 0)
    kernels.fill_noise(later, 42, 5)
    np.testing.assert_array_equal(noise[5:], later)


@for_each_seed
def test_noise_is_positive_with_mean_one_and_standard_deviation_a_tenth(seed):
    noise = np.empty((1000, 500))
    kernels.fill_noise(noise, seed, 0)
    # Standard errors of the mean and the standard deviation (kurtosis 2.7): 1.4e-4 and 0.9e-4.
    assert abs(noise.mean() - 1.0) < 7e-4
    assert abs(noise.std() - 0.1) < 5e-4
    assert noise.min() > 1.0 - 0.2 * 3**0.5
    assert noise.max() < 1.0 + 0.2 * 3**0.5
    # No row and no column has a mean of its own: largest of 1500 stays below 6 standard errors.
    assert np.abs(noise.mean(axis=1) - 1.0).max() < 6 * 0.1 / 500**0.5
    assert np.abs(noise.mean(axis=0) - 1.0).max() < 6 * 0.1 / 1000**0.5
