"""Shares of topics in cells against their NumPy twins."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, polygamma, psi

from sktopic._kernels.hdp._memoized import keep_shares, mix_pairs, sum_gains
from tests.kernels.tools import for_both_precisions, random_corpus
from tests.reference import memoized as reference

N_TOPICS = 6


def batch(dtype):
    """Arguments of keep_shares but the smallest."""
    rng, documents = np.random.default_rng(0), random_corpus(0, 9, n_cells=20).documents
    rows = np.exp(rng.normal(0.0, 6.0, (30, N_TOPICS))).astype(dtype)
    expectation = np.exp(rng.normal(0.0, 6.0, (9, N_TOPICS)))
    expectation /= expectation.max(axis=1, keepdims=True)
    return *documents, rows, expectation.astype(dtype)


def dense(size, topic, tokens):
    cells = np.zeros((len(size), N_TOPICS))
    cells[np.repeat(np.arange(len(size)), size), topic] = tokens
    return cells


@for_both_precisions
@pytest.mark.parametrize("smallest", [1e-12, 1e-3, 0.1])
def test_shares_that_are_kept_are_those_of_the_reference(dtype, smallest):
    given = batch(dtype)
    size, topic, tokens = keep_shares(*given, smallest)
    expected = reference.keep_shares(*given, smallest)
    assert_allclose(dense(size, topic, tokens), expected, rtol=1e-12)
    assert_array_equal(size, (expected > 0).sum(axis=1))
    assert 0 < len(topic) < (len(size) - 1) * N_TOPICS
    assert_allclose(dense(size, topic, tokens).sum(axis=1), given[2], rtol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
def test_mixing_of_pairs_is_that_of_the_reference(weighted):
    size, topic, tokens = keep_shares(*batch(np.float64), 1e-6)
    weight = np.random.default_rng(1).random(len(size)) if weighted else np.empty(0)
    pairs = np.array([[0, 3], [1, 2], [2, 5]])
    number = np.full((N_TOPICS, N_TOPICS), -1, dtype=np.int32)
    for p, (i, j) in enumerate(pairs):
        number[i, j] = number[j, i] = p
    mixing = np.ones(3)
    mix_pairs(np.concatenate([[0], np.cumsum(size)]), topic, tokens, weight, number, mixing)
    expected = reference.mix_pairs(dense(size, topic, tokens), weight, pairs)
    assert_allclose(mixing, 1.0 + expected, rtol=1e-12)
    assert np.all(expected > 0)


def test_gains_are_those_of_the_reference():
    rng, prior = np.random.default_rng(0), np.array([1e-3, 0.4, 2.0, 50.0])
    topic, tokens = rng.integers(0, 4, 50).astype(np.int32), rng.gamma(0.3, 10.0, 50)
    for order, function in enumerate((gammaln, psi, partial(polygamma, 1))):
        for weight in (rng.random(50), np.empty(0)):
            gains = (weight if len(weight) else 1.0) * (
                function(prior[topic] + tokens) - function(prior[topic])
            )
            expected = np.bincount(topic, weights=gains, minlength=4)
            assert_allclose(sum_gains(topic, tokens, weight, prior, order), expected, rtol=1e-11)
