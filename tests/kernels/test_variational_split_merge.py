"""Cells of topics against their NumPy twins, and what their mixing must be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._variational_split_merge import dirichlet_terms, divide_cells, list_cells, pair_mixing
from tests.kernels.tools import for_both_precisions
from tests.reference import variational_split_merge as reference


def batch(dtype, seed=0):
    """Arguments of list_cells but the topic: 12 documents, some of them empty, over 30 words, 5 topics."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 20, 12)
    sizes[3] = 0
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    n = indptr[-1]
    word = np.concatenate([rng.choice(30, size, replace=False) for size in sizes]).astype(np.int32)
    count = rng.integers(1, 5, n).astype(float)
    expectation = rng.random((12, 5)) * (rng.random((12, 5)) < 0.7) + 1e-20
    rows = rng.random((30, 5)) * (rng.random((30, 5)) < 0.7) + 1e-20
    document = np.repeat(np.arange(12), sizes)
    share = count / (expectation[document] * rows[word]).sum(axis=1)
    present = np.ones(12, dtype=np.int8)
    present[5] = 0
    return indptr, word, count, share, expectation.astype(dtype), rows.astype(dtype), present


@pytest.mark.parametrize("topic_word_prior", [1e-12, 1e-3, 0.1, 7.0, 1e12])
def test_terms_of_a_posterior_are_those_of_the_reference(topic_word_prior):
    column = np.concatenate([np.zeros(5), np.geomspace(1e-12, 1e20, 200)])
    for part in (column[:3], column[:90], column[:130], column):
        psi = np.empty(len(part))
        total = dirichlet_terms(part, topic_word_prior, psi)
        expected, expected_psi = reference.dirichlet_terms(part, topic_word_prior)
        assert total == pytest.approx(expected, rel=1e-11)
        assert_allclose(psi, expected_psi, rtol=1e-11, atol=1e-11)


@for_both_precisions
@pytest.mark.parametrize("topic", range(5))
def test_cells_of_a_topic_are_those_of_the_reference(topic, dtype):
    *given, present = batch(dtype)
    found = list_cells(*given, topic, present)
    expected = reference.list_cells(*given, topic, present)
    assert 0 < len(found[0]) < len(given[1])
    for one, other in zip(found[:2], expected[:2]):
        assert_array_equal(one, other)
    assert_allclose(found[2], expected[2], rtol=1e-14)


def mixing_of(cell1, tokens1, cell2, tokens2, document1):
    mixing = np.zeros(12)
    pair_mixing(cell1, tokens1, cell2, tokens2, document1, mixing)
    return mixing


def test_mixing_of_a_pair_is_that_of_the_reference():
    *given, present = batch(np.float64)
    lists = [list_cells(*given, topic, present) for topic in range(5)]
    for one in lists:
        for other in lists:
            cells = one[0], one[2], other[0], other[2], one[1]
            assert_allclose(mixing_of(*cells), reference.pair_mixing(*cells, 12), rtol=1e-12, atol=1e-12)
    # Topics that share no cell mix nothing.
    assert_array_equal(mixing_of(*cells[:2], cells[0] + 1000, *cells[3:]), 0.0)


@pytest.mark.parametrize("max_iter", [1, 3, 50])
@pytest.mark.parametrize(
    ("prior1", "prior2", "start"), [(0.3, 0.2, 0.6), (1e-6, 2.0, 0.01), (5.0, 1e-12, 1.0)]
)
def test_division_is_that_of_the_reference(prior1, prior2, start, max_iter):
    *given, present = batch(np.float64)
    cell, document, tokens = list_cells(*given, 2, present)
    word = given[1][cell]
    difference = np.random.default_rng(1).normal(0, 2, 30)
    arguments, mixing = (
        (document, word, tokens, difference, prior1, prior2, start, max_iter, 1e-9),
        np.zeros(12),
    )
    first = divide_cells(*arguments, mixing)
    expected = reference.divide_cells(*arguments, 12)
    assert_allclose(first, expected[0], rtol=1e-9)
    assert_allclose(mixing, expected[1], rtol=1e-9, atol=1e-9)
    # It is what the halves would lose as a pair.
    pair = mixing_of(cell, first, cell, tokens - first, document)
    assert_allclose(mixing, pair, rtol=1e-9, atol=1e-9)


def test_division_of_nothing():
    none = np.empty(0, dtype=np.int32)
    mixing = np.zeros(0)
    first = divide_cells(none, none, np.empty(0), np.empty(0), 1.0, 1.0, 0.5, 10, 1e-3, mixing)
    assert len(first) == 0
