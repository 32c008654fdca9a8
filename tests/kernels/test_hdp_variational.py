"""The document step of the HDP: against its twin, and against the bound it climbs."""

import numpy as np
import pytest
from scipy.special import psi

from sktopic._kernels._groups import CountsTarget, WordCells
from sktopic._kernels.hdp._variational import (
    add_atom_counts,
    gather_log_topics,
    start_documents,
    update_documents,
)
from sktopic._topics._word_counts import N_PARTS, no_average, part_bounds
from tests.kernels.tools import random_corpus
from tests.reference import hdp_variational as reference

CONCENTRATION = 0.8
ETA = 0.05


class Documents:
    """Random documents under a random posterior of the corpus."""

    def __init__(self, seed, n_topics=7, n_atoms=4, counts="small", n_documents=12, n_words=30, eta=ETA):
        corpus = random_corpus(seed, n_documents, n_words, n_topics, counts=counts)
        rng = np.random.default_rng(seed)
        self.corpus, self.n_atoms = corpus, n_atoms
        store = corpus.phi * rng.gamma(2.0, 20.0, n_topics)
        norm = psi((store + eta).sum(axis=0))
        self.log_rows, rows = np.empty(store.shape), np.empty(store.shape, dtype=np.float32)
        gather_log_topics(store, np.arange(n_words, dtype=np.int32), 1.0, eta, norm, self.log_rows, rows)
        self.rows = rows
        self.weights = rng.dirichlet(np.ones(n_topics))
        self.log_weights = np.log(self.weights) - 0.1
        self.lowest = float(psi(eta) - norm.max())

    def started(self, kernels=None, n_iter=10):
        start = start_documents if kernels is None else kernels.start_documents
        prior = CONCENTRATION * self.weights
        return start(*self.corpus.documents, self.rows, prior, self.n_atoms, n_iter)

    def ascend(self, zeta, max_iter, tol=-1.0, kernels=None):
        """zeta and what the kernel returns, from a copy of zeta; below zero, tol stops nothing."""
        update, zeta = update_documents if kernels is None else kernels.update_documents, zeta.copy()
        given = self.log_rows, self.log_weights, self.lowest, CONCENTRATION
        return zeta, *update(*self.corpus.documents, *given, zeta, max_iter, tol)

    def bound(self, d, zeta, varphi, sticks):
        cells = slice(self.corpus.indptr[d], self.corpus.indptr[d + 1])
        given = self.corpus.cell_count[cells], self.log_rows[self.corpus.cell_word[cells]], self.log_weights
        return reference.document_bound(*given, CONCENTRATION, zeta[cells], varphi[d], *sticks[d][:, :-1])

    @property
    def present(self):
        return np.flatnonzero(np.diff(self.corpus.indptr))


shapes = pytest.mark.parametrize(
    ("n_topics", "n_atoms"), [(1, 1), (1, 3), (5, 1), (2, 6), (7, 4), (8, 8), (33, 5), (100, 20)]
)


@pytest.mark.parametrize("n_topics", [1, 3, 8, 21])
@pytest.mark.parametrize("eta", [1e-12, 1e-3, 0.5, 100.0])
def test_gathered_rows_are_digammas(n_topics, eta):
    rng = np.random.default_rng(0)
    store = rng.gamma(0.1, 1.0, (40, n_topics)) * 10.0 ** rng.integers(-3, 9, (40, 1))
    words = rng.permutation(40)[:17].astype(np.int32)
    norm = psi((3.0 * store + eta).sum(axis=0))
    log_rows, rows = np.empty((17, n_topics)), np.empty((17, n_topics), dtype=np.float32)
    gather_log_topics(store, words, 3.0, eta, norm, log_rows, rows)
    expected_log_rows, expected_rows = reference.gather_log_topics(store, words, 3.0, eta, norm)
    np.testing.assert_allclose(log_rows, expected_log_rows, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(rows, expected_rows, rtol=2e-7)
    assert log_rows.min() >= psi(eta) - norm.max() - 1e-9 * abs(psi(eta))


@shapes
@pytest.mark.parametrize("counts", ["unit", "small"])
@pytest.mark.parametrize("n_iter", [0, 1, 10])
def test_start_is_that_of_the_reference(n_topics, n_atoms, counts, n_iter):
    """Which topics come last may depend on a rounding: those hold next to nothing."""
    documents = Documents(n_topics, n_topics, n_atoms, counts)
    zeta, expected = documents.started(n_iter=n_iter), documents.started(reference, n_iter)
    np.testing.assert_allclose(zeta, expected, atol=2e-5)
    np.testing.assert_allclose(zeta.sum(axis=1), 1.0, rtol=1e-12)


@shapes
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("max_iter", [1, 2, 15])
def test_ascent_is_that_of_the_reference(n_topics, n_atoms, counts, max_iter):
    documents = Documents(n_topics, n_topics, n_atoms, counts)
    zeta = documents.started()
    results, expected = documents.ascend(zeta, max_iter), documents.ascend(zeta, max_iter, kernels=reference)
    np.testing.assert_array_equal(results[5], expected[5])
    np.testing.assert_allclose(results[4], expected[4], rtol=1e-9)
    # Where a count is 1e9, rounding the evidence of two like topics may decide between them.
    tolerance = 1e-2 if counts == "mixed" else 1e-7
    for result, wanted in zip(results[:4], expected[:4]):
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


@shapes
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
def test_bound_is_that_of_the_returned_parameters(n_topics, n_atoms, counts):
    documents = Documents(n_topics + 1, n_topics, n_atoms, counts)
    zeta, varphi, sticks, _, bounds, _ = documents.ascend(documents.started(), 5)
    for d in documents.present:
        assert bounds[d] == pytest.approx(documents.bound(d, zeta, varphi, sticks), rel=1e-9)


@shapes
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
def test_no_iteration_lowers_the_bound(n_topics, n_atoms, counts):
    documents = Documents(n_topics + 2, n_topics, n_atoms, counts)
    zeta = documents.started()
    bounds = []
    for _ in range(25):
        zeta, *_, bound, _ = documents.ascend(zeta, 1)
        bounds.append(bound)
    bounds = np.array(bounds)
    assert np.all(np.diff(bounds, axis=0) >= -1e-11 * (1.0 + np.abs(bounds[1:])))


@pytest.mark.parametrize("seed", range(5))
def test_no_coordinate_lowers_the_bound_from_anywhere(seed):
    """Neither any update of the reference, nor sorting once the sticks are the best ones."""
    documents = Documents(seed)
    rng = np.random.default_rng(seed)
    for d in documents.present:
        cells = slice(documents.corpus.indptr[d], documents.corpus.indptr[d + 1])
        counts = documents.corpus.cell_count[cells]
        log_rows = documents.log_rows[documents.corpus.cell_word[cells]]
        given = counts, log_rows, documents.log_weights
        zeta, varphi = rng.dirichlet(np.ones(4), len(counts)), rng.dirichlet(np.ones(7), 4)
        a, b = rng.gamma(1.0, 2.0, (2, 3))

        def bound(*parameters, given=given):
            return reference.document_bound(*given, CONCENTRATION, *parameters)

        before = bound(zeta, varphi, a, b)
        sticks = reference.best_sticks(counts, zeta, CONCENTRATION)
        for better in (
            (zeta, reference.best_varphi(*given, zeta), a, b),
            (zeta, varphi, *sticks),
            (reference.best_zeta(log_rows, varphi, a, b), varphi, a, b),
        ):
            assert bound(*better) >= before - 1e-10
        order = np.argsort(-(counts @ zeta))
        moved = reference.best_sticks(counts, zeta[:, order], CONCENTRATION)
        assert bound(zeta[:, order], varphi[order], *moved) >= bound(zeta, varphi, *sticks) - 1e-10


def test_each_update_is_a_maximum():
    """Small moves away from what coordinate ascent arrives at lower the bound."""
    documents = Documents(3)
    zeta, varphi, sticks, *_ = documents.ascend(documents.started(), 3000)
    rng = np.random.default_rng(0)
    for d in documents.present:
        best = documents.bound(d, zeta, varphi, sticks)
        for _ in range(10):
            moved = [
                zeta * rng.uniform(0.95, 1.05, zeta.shape),
                varphi * rng.uniform(0.95, 1.05, varphi.shape),
            ]
            moved = [p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-300) for p in moved]
            for one, other in ((moved[0], varphi), (zeta, moved[1])):
                assert documents.bound(d, one, other, sticks) <= best + 1e-10
            other_sticks = sticks * rng.uniform(0.95, 1.05, sticks.shape)
            assert documents.bound(d, zeta, varphi, other_sticks) <= best + 1e-10


def test_iteration_stops_when_the_bound_gains_little_and_not_before():
    documents = Documents(4)
    zeta = documents.started()
    bounds = np.array([documents.ascend(zeta, n)[4] for n in range(1, 60)])
    result = documents.ascend(zeta, 59, 1e-3)
    for d in documents.present:
        small = np.flatnonzero(np.diff(bounds[:, d]) < 1e-3 * np.abs(bounds[:-1, d]))
        n = small[0] + 2 if len(small) else 59
        assert result[5][d] == n
        assert result[4][d] == bounds[n - 1, d]


def test_atoms_are_in_descending_order_of_their_tokens():
    documents = Documents(5, n_topics=12, n_atoms=6)
    _, _, sticks, *_ = documents.ascend(documents.started(), 20)
    for d in documents.present:
        assert np.all(np.diff(sticks[d, 0, :-1]) <= 1e-9)


@shapes
def test_results_are_distributions(n_topics, n_atoms):
    documents = Documents(6, n_topics, n_atoms, "mixed")
    zeta, varphi, sticks, theta, *_ = documents.ascend(documents.started(), 10)
    np.testing.assert_allclose(zeta.sum(axis=1), 1.0, rtol=1e-12)
    for array in (varphi[documents.present], theta[documents.present, None]):
        np.testing.assert_allclose(array.sum(axis=2), 1.0, rtol=1e-12)
    assert np.all(sticks >= 0)


def test_document_without_cells_has_nothing():
    documents = Documents(7)
    empty = np.diff(documents.corpus.indptr) == 0
    assert np.any(empty)
    for result in documents.ascend(documents.started(), 5)[1:]:
        assert not np.any(result[empty])


def test_slices_of_the_documents_give_the_same_as_the_whole():
    documents = Documents(8, n_documents=20)
    zeta = documents.started()
    whole = documents.ascend(zeta, 10, 1e-3)
    pieces = []
    for first, last in ((0, 1), (1, 2), (2, 13), (13, 20)):
        piece = documents.corpus.piece(first, last)
        start = start_documents(
            *piece, documents.rows, CONCENTRATION * documents.weights, documents.n_atoms, 10
        )
        given = documents.log_rows, documents.log_weights, documents.lowest, CONCENTRATION
        pieces.append((start, *update_documents(*piece, *given, start, 10, 1e-3)))
    for joined, expected in zip(map(np.concatenate, zip(*pieces)), whole):
        np.testing.assert_array_equal(joined, expected)


@pytest.mark.parametrize("eta", [1e-12, 1e-6])
def test_a_tiny_prior_leaves_everything_finite(eta):
    """E[log beta] of words that a topic has not seen is then as low as -1e12."""
    documents = Documents(9, eta=eta)
    results = documents.ascend(documents.started(), 10)
    expected = documents.ascend(documents.started(), 10, kernels=reference)
    assert all(np.isfinite(result).all() for result in results)
    np.testing.assert_allclose(results[4], expected[4], rtol=1e-9)


@pytest.mark.parametrize("parts", [[(0, N_PARTS)], [(0, 3), (3, 11), (11, N_PARTS)]])
def test_added_counts_are_those_of_the_reference(parts):
    documents = Documents(10, n_topics=9)
    corpus = documents.corpus
    zeta, varphi, *_ = documents.ascend(documents.started(), 5)
    word_cell = np.argsort(corpus.cell_word, kind="stable").astype(np.int64)
    word_indptr = np.searchsorted(corpus.cell_word[word_cell], np.arange(31)).astype(np.int64)
    rows = np.random.default_rng(0).permutation(50)[:30].astype(np.int32)
    target, totals = np.ones((50, 9)), np.zeros((N_PARTS, 9))
    words = WordCells(part_bounds(30), word_indptr, word_cell, corpus.cell_count, rows)
    statistics = CountsTarget(target, totals, *no_average(9))
    for first, last in parts:
        add_atom_counts(first, last, words, corpus.cell_document, zeta, varphi, 0.3, statistics)
    expected = np.ones((50, 9))
    counts = reference.atom_counts(corpus.cell_document, corpus.cell_count, zeta, varphi)
    np.add.at(expected, rows[corpus.cell_word], 0.3 * counts)
    np.testing.assert_allclose(target, expected, rtol=1e-9)
    np.testing.assert_allclose(totals.sum(axis=0), 0.3 * counts.sum(axis=0), rtol=1e-9)
