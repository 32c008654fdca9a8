"""Cells of topics against their NumPy twins, and what their mixing must be."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import DocumentCells
from sktopic._kernels.hdp._variational_split_merge import dirichlet_terms, list_cells, pairs_mixing
from tests.kernels.tools import for_both_precisions, random_corpus
from tests.reference import variational_split_merge as reference


def batch(dtype):
    """Arguments of list_cells but the topic: 12 documents over 30 words, 5 topics."""
    rng, corpus = np.random.default_rng(0), random_corpus(0, 12, n_cells=20, counts="small")
    expectation, rows = (rng.random((n, 5)) * (rng.random((n, 5)) < 0.7) + 1e-20 for n in (12, 30))
    share = corpus.cell_count / (expectation[corpus.cell_document] * rows[corpus.cell_word]).sum(axis=1)
    present = (np.arange(12) != 6).astype(np.int8)
    return *corpus.documents, share, expectation.astype(dtype), rows.astype(dtype), present


def test_terms_of_a_posterior_are_those_of_the_reference():
    column = np.concatenate([np.zeros(5), np.geomspace(1e-12, 1e20, 200)])
    for prior, n in product((1e-12, 1e-3, 0.1, 7.0, 1e12), (3, 90, 130, 205)):
        psi = np.empty(n)
        total = dirichlet_terms(column[:n], prior, psi)
        expected, expected_psi = reference.dirichlet_terms(column[:n], prior)
        assert total == pytest.approx(expected, rel=1e-11)
        assert_allclose(psi, expected_psi, rtol=1e-11, atol=1e-11)


@for_both_precisions
def test_cells_of_a_topic_are_those_of_the_reference(dtype):
    *given, present = batch(dtype)
    for topic in range(5):
        found = list_cells(*given, topic, present)
        expected = reference.list_cells(*given, topic, present)
        assert 0 < len(found[0]) < len(given[1])
        for one, other in zip(found[:2], expected[:2]):
            assert_array_equal(one, other)
        assert_allclose(found[2], expected[2], rtol=1e-14)


@for_both_precisions
def test_mixing_of_pairs_is_that_of_the_reference(dtype):
    indptr, word, count, share, expectation, rows, present = batch(dtype)
    cells = indptr, word, count, share, expectation, rows
    lists = [reference.list_cells(*cells, k, present) for k in range(5)]
    tokens = np.array([np.bincount(d, weights=c, minlength=12) for _, d, c in lists]).T.copy()
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    given = DocumentCells(indptr, word, count), share, expectation, rows, tokens, 1e-12, pairs
    mixing = pairs_mixing(*given, 0, 12)
    for (i, j), found in zip(pairs.tolist(), mixing.T):
        (cell1, document1, tokens1), (cell2, _, tokens2) = lists[i], lists[j]
        expected = reference.pair_mixing(cell1, tokens1, cell2, tokens2, document1, 12)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(mixing).sum(axis=0).min() > 0.1
    assert_array_equal(pairs_mixing(*given, 2, 9), mixing[2:9])
    assert pairs_mixing(*given[:-1], pairs[:0], 0, 12).shape == (12, 0)
