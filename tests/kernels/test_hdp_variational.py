"""The document step of the HDP: against its twin, and against the bound it climbs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._kernels._groups import CountsTarget, WordCells
from sktopic._kernels.hdp._variational import (
    add_atom_counts,
    gather_log_topics,
    start_documents,
    update_documents,
)
from sktopic._topics._word_counts import N_PARTS, no_average, part_bounds
from tests.kernels.tools import joined, random_corpus
from tests.reference import hdp_variational as reference

CONCENTRATION = 0.8


class Documents:
    """Random documents under a random posterior of the corpus. Kernels get them in pieces."""

    def __init__(self, seed, n_topics=7, n_atoms=4, counts="small", eta=0.05):
        corpus = random_corpus(seed, 12, 30, n_topics, counts=counts)
        rng = np.random.default_rng(seed)
        self.corpus, self.n_atoms = corpus, n_atoms
        store = corpus.phi * rng.gamma(2.0, 20.0, n_topics)
        norm = psi((store + eta).sum(axis=0))
        self.log_rows, self.rows = np.empty(store.shape), np.empty(store.shape, dtype=np.float32)
        gather_log_topics(store, np.arange(30, dtype=np.int32), 1.0, eta, norm, self.log_rows, self.rows)
        weights = rng.dirichlet(np.ones(n_topics))
        self.prior, self.log_weights = CONCENTRATION * weights, np.log(weights) - 0.1
        self.lowest = float(psi(eta) - norm.max())

    def started(self, start=start_documents, n_iter=10):
        given = self.rows, self.prior, self.n_atoms, n_iter
        (zeta,) = joined([start(*self.corpus.piece(*piece), *given)] for piece in self.corpus.pieces)
        return zeta

    def ascend(self, zeta, max_iter, tol=-1.0, update=update_documents):
        """zeta and what the kernel returns, from a copy of zeta; below zero, tol stops nothing."""
        given = self.log_rows, self.log_weights, self.lowest, CONCENTRATION
        pieces = []
        for first, last in self.corpus.pieces:
            own = zeta[self.corpus.indptr[first] : self.corpus.indptr[last]].copy()
            found = update(*self.corpus.piece(first, last), *given, own, max_iter, tol)
            pieces.append((own, *found))
        return joined(pieces)


shapes = pytest.mark.parametrize(("n_topics", "n_atoms"), [(1, 3), (5, 1), (2, 6), (8, 8), (33, 5)])


@pytest.mark.parametrize(("n_topics", "eta"), [(1, 100.0), (3, 0.5), (8, 1e-3), (21, 1e-12), (21, 0.5)])
def test_gathered_rows_are_digammas(n_topics, eta):
    rng = np.random.default_rng(0)
    store = rng.gamma(0.1, 1.0, (40, n_topics)) * 10.0 ** rng.integers(-3, 9, (40, 1))
    words = rng.permutation(40)[:17].astype(np.int32)
    norm = psi((3.0 * store + eta).sum(axis=0))
    log_rows, rows = np.empty((17, n_topics)), np.empty((17, n_topics), dtype=np.float32)
    gather_log_topics(store, words, 3.0, eta, norm, log_rows, rows)
    expected_log_rows, expected_rows = reference.gather_log_topics(store, words, 3.0, eta, norm)
    assert_allclose(log_rows, expected_log_rows, rtol=1e-11, atol=1e-11)
    assert_allclose(rows, expected_rows, rtol=2e-7)
    assert log_rows.min() >= psi(eta) - norm.max() - 1e-9 * abs(psi(eta))


@shapes
def test_start_is_that_of_the_reference(n_topics, n_atoms):
    """Which topics come last may depend on a rounding: those hold next to nothing."""
    documents = Documents(n_topics, n_topics, n_atoms)
    for n_iter in (0, 1, 10):
        zeta = documents.started(n_iter=n_iter)
        assert_allclose(zeta, documents.started(reference.start_documents, n_iter), atol=2e-5)
        assert_allclose(zeta.sum(axis=1), 1.0, rtol=1e-12)


@shapes
@pytest.mark.parametrize(
    ("counts", "max_iter", "tol"), [("mixed", 1, -1.0), ("small", 15, -1.0), ("small", 60, 1e-3)]
)
def test_ascent_is_that_of_the_reference(n_topics, n_atoms, counts, max_iter, tol):
    documents = Documents(n_topics, n_topics, n_atoms, counts)
    given = documents.started(), max_iter, tol
    results, expected = documents.ascend(*given), documents.ascend(*given, reference.update_documents)
    assert_array_equal(results[5], expected[5])
    assert_allclose(results[4], expected[4], rtol=1e-9)
    # Where a count is 1e9, rounding the evidence of two like topics may decide between them.
    tolerance = 1e-2 if counts == "mixed" else 1e-7
    for result, wanted in zip(results[:4], expected[:4]):
        assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("eta", [1e-12, 1e-6])
def test_a_tiny_prior_leaves_everything_finite(eta):
    """E[log beta] of words that a topic has not seen is then as low as -1e12."""
    documents = Documents(9, eta=eta)
    results = documents.ascend(documents.started(), 10)
    expected = documents.ascend(documents.started(), 10, update=reference.update_documents)
    assert all(np.isfinite(result).all() for result in results)
    assert_allclose(results[4], expected[4], rtol=1e-9)


@pytest.mark.parametrize("parts", [[(0, N_PARTS)], [(0, 3), (3, 11), (11, N_PARTS)]])
def test_added_counts_are_those_of_the_reference(parts):
    documents = Documents(10, n_topics=9)
    corpus = documents.corpus
    zeta, varphi, *_ = documents.ascend(documents.started(), 5)
    word_cell = np.argsort(corpus.cell_word, kind="stable").astype(np.int64)
    word_indptr = np.searchsorted(corpus.cell_word[word_cell], np.arange(31)).astype(np.int64)
    rows = np.random.default_rng(0).permutation(50)[:30].astype(np.int32)
    target, totals, expected = np.ones((50, 9)), np.zeros((N_PARTS, 9)), np.ones((50, 9))
    words = WordCells(part_bounds(30), word_indptr, word_cell, corpus.cell_count, rows)
    statistics = CountsTarget(target, totals, *no_average(9))
    for first, last in parts:
        add_atom_counts(first, last, words, corpus.cell_document, zeta, varphi, 0.3, statistics)
    counts = reference.atom_counts(corpus.cell_document, corpus.cell_count, zeta, varphi)
    np.add.at(expected, rows[corpus.cell_word], 0.3 * counts)
    assert_allclose(target, expected, rtol=1e-9)
    assert_allclose(totals.sum(axis=0), 0.3 * counts.sum(axis=0), rtol=1e-9)
