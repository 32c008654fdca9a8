"""The document step by variational inference iterates equations 11 and 12."""

import numpy as np
import pytest
from scipy.special import gammaln, psi

from sktopic._kernels.inference._variational import update_documents
from tests.kernels.tools import Corpus, for_both_precisions, random_corpus
from tests.reference import variational as reference
from tests.reference.statistics import sums_by_word, variational_counts

# Float32 sums over topics and cells, through up to fifty iterations.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}


def run(corpus, max_iter, tol, gamma=None):
    """gamma, expected counts of cells, changes."""
    gamma = corpus.prior + corpus.lengths[:, None] / len(corpus.prior) if gamma is None else gamma.copy()
    expectation, share, changes = update_documents(
        *corpus.documents, corpus.rows, corpus.prior, gamma, max_iter, tol
    )
    assert expectation.dtype == corpus.dtype and share.dtype == changes.dtype == np.float64
    expected = variational_counts(corpus.cell_word, corpus.cell_document, expectation, share, corpus.rows)
    return gamma, expected, changes


def run_reference(corpus, max_iter, tol):
    gamma = corpus.prior + corpus.lengths[:, None] / len(corpus.prior)
    return gamma, *reference.update_documents(
        *corpus.documents, corpus.rows, corpus.prior, gamma, max_iter, tol
    )


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 2, 7, 8, 9, 40])
@pytest.mark.parametrize("max_iter", [1, 2, 20])
def test_iterations_are_those_of_the_reference(max_iter, n_topics, counts, dtype):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts, dtype=dtype)
    gamma, expected, changes = run(corpus, max_iter, 0.0)
    expected_gamma, expected_counts, expected_changes = run_reference(corpus, max_iter, 0.0)
    tolerance = TOLERANCE[dtype]
    lengths = corpus.lengths[:, None] + 1
    np.testing.assert_allclose(gamma, expected_gamma, rtol=tolerance, atol=0)
    assert np.all(np.abs(gamma - expected_gamma) <= tolerance * lengths)
    cell_lengths = lengths[corpus.cell_document]
    assert np.all(np.abs(expected - expected_counts) <= tolerance * cell_lengths)
    assert np.all(np.abs(changes - expected_changes) <= tolerance * lengths[:, 0])


@for_both_precisions
def test_expected_counts_of_a_cell_sum_to_its_count(dtype):
    corpus = random_corpus(1, 40, n_topics=11, counts="mixed", dtype=dtype)
    for max_iter in (0, 1, 10):
        _, expected, _ = run(corpus, max_iter, 0.0)
        np.testing.assert_allclose(expected.sum(axis=1), corpus.cell_count, rtol=2e-6)


@for_both_precisions
def test_gamma_is_a_fixed_point_at_convergence(dtype):
    corpus = random_corpus(2, 40, n_topics=9, counts="small", dtype=dtype)
    tol = 1e-4 if dtype is np.float32 else 1e-10
    gamma, expected, changes = run(corpus, 20_000, tol)
    assert np.all(changes < tol)
    by_document = sums_by_word(expected, corpus.cell_document, corpus.n_documents)
    np.testing.assert_allclose(gamma, corpus.prior + by_document, rtol=100 * tol, atol=100 * tol)
    # Equation 11 itself, from psi of scipy.
    zeta = reference.responsibilities(
        corpus.rows.astype(np.float64)[corpus.cell_word], gamma[corpus.cell_document]
    )
    np.testing.assert_allclose(expected, corpus.cell_count[:, None] * zeta, rtol=1e-4, atol=1e-6)


def bound(corpus, d, gamma):
    """The part of the evidence lower bound that depends on gamma, with the best zeta for it."""
    cells = np.arange(corpus.indptr[d], corpus.indptr[d + 1])
    e = psi(gamma) - psi(gamma.sum())
    words = corpus.cell_count[cells] @ np.log(corpus.phi[corpus.cell_word[cells]] @ np.exp(e))
    entropy = gammaln(gamma).sum() - gammaln(gamma.sum()) + (corpus.prior - gamma) @ e
    return words + entropy


def test_lower_bound_never_falls():
    corpus = random_corpus(3, 20, n_topics=6, counts="small")
    gamma = corpus.prior + corpus.lengths[:, None] / 6
    before = np.full(20, -np.inf)
    for _ in range(15):
        gamma, _, _ = run(corpus, 1, 0.0, gamma)
        after = np.array([bound(corpus, d, gamma[d]) for d in range(20)])
        assert np.all(after >= before - 1e-10)
        before = after


def test_iteration_stops_below_the_tolerance_and_not_before():
    corpus = random_corpus(4, 20, n_topics=6, counts="small")
    needed = [run(corpus, max_iter, 0.0)[2] for max_iter in range(1, 60)]
    gamma, _, changes = run(corpus, 59, 1e-2)
    for d in range(20):
        below = [n for n, change in enumerate(needed, 1) if change[d] < 1e-2]
        n = below[0] if below else 59
        np.testing.assert_array_equal(gamma[d], run(corpus, n, 0.0)[0][d])
        assert changes[d] == needed[n - 1][d]


@for_both_precisions
def test_empty_document_gets_the_prior(dtype):
    corpus = random_corpus(5, counts="small", dtype=dtype)
    empty = np.diff(corpus.indptr) == 0
    gamma, _, changes = run(corpus, 10, 1e-3, np.full((corpus.n_documents, 7), 5.0))
    assert np.any(empty)
    np.testing.assert_array_equal(gamma[empty], np.tile(corpus.prior, (empty.sum(), 1)))
    np.testing.assert_array_equal(changes[empty], 0.0)


@for_both_precisions
def test_factors_of_the_rows_cancel(dtype):
    corpus = random_corpus(6, counts="small", dtype=dtype)
    gamma, expected, _ = run(corpus, 10, 0.0)
    corpus.rows = (corpus.rows * (2.0 ** np.arange(len(corpus.phi)))[:, None]).astype(dtype)
    other_gamma, other_expected, _ = run(corpus, 10, 0.0)
    np.testing.assert_allclose(gamma, other_gamma, rtol=1e-12)
    np.testing.assert_allclose(expected, other_expected, rtol=1e-12)


@for_both_precisions
def test_slices_of_the_documents_give_the_same_as_the_whole(dtype):
    corpus = random_corpus(7, 20, counts="mixed", dtype=dtype)
    gamma, expected, changes = run(corpus, 10, 1e-3)
    pieces = []
    for first, last in ((0, 1), (1, 2), (2, 13), (13, 20)):
        piece = corpus.prior + corpus.lengths[first:last, None] / 7
        pieces.append(
            (piece, *update_documents(*corpus.piece(first, last), corpus.rows, corpus.prior, piece, 10, 1e-3))
        )
    piece_gamma, expectation, share, piece_changes = (np.concatenate(arrays) for arrays in zip(*pieces))
    np.testing.assert_array_equal(piece_gamma, gamma)
    np.testing.assert_array_equal(piece_changes, changes)
    np.testing.assert_array_equal(
        variational_counts(corpus.cell_word, corpus.cell_document, expectation, share, corpus.rows), expected
    )


@pytest.mark.parametrize("count", [10.0, 0.1, 0.05, 0.01, 0.001])
@for_both_precisions
def test_words_of_one_topic_each_go_there_however_little_they_count(count, dtype):
    """exp psi(gamma) of the lesser topic leaves the range of the precision as its count falls."""
    corpus = Corpus(
        np.array([0, 2]),
        np.array([0, 1], np.int32),
        np.array([count, 10.0]),
        np.eye(2),
        np.full(2, 1e-3),
        dtype,
    )
    gamma, expected, _ = run(corpus, 50, 1e-6)
    np.testing.assert_allclose(gamma, [[count + 1e-3, 10.001]], rtol=1e-5)
    np.testing.assert_allclose(expected, [[count, 0.0], [0.0, 10.0]], rtol=1e-5)


@pytest.mark.parametrize("n_topics", [1, 2, 16, 23])
def test_expectations_are_exponentials_of_digammas(n_topics):
    """Parameters of all sizes, each beside others of about the same."""
    gamma = np.logspace(-3, 12, 1000 * n_topics).reshape(-1, n_topics)
    one_word = np.ones((1, n_topics)), np.ones(n_topics)
    corpus = Corpus(np.arange(1001), np.zeros(1000, np.int32), np.ones(1000), *one_word)
    expectation, share, _ = update_documents(*corpus.documents, corpus.rows, corpus.prior, gamma, 0, 0.0)
    expected = np.exp(np.maximum(psi(gamma) - psi(gamma).max(axis=1, keepdims=True), -60.0))
    above = expected > 1e-20  # the floor is only about e^-60
    np.testing.assert_allclose(expectation[above], expected[above], rtol=1e-10)
    assert np.all(expectation[~above] < 1e-19)
    assert np.all(expectation > np.exp(-100))
    np.testing.assert_allclose(share * (expected @ corpus.rows[0]), 1.0, rtol=1e-10)


@for_both_precisions
def test_expectations_far_below_the_largest_stay_above_zero(dtype):
    one_word = np.ones((1, 4)), np.ones(4)
    corpus = Corpus(np.arange(2), np.zeros(1, np.int32), np.ones(1), *one_word, dtype)
    gamma = np.array([[1e-6, 1e-3, 1e9, 1.0]])
    expectation, *_ = update_documents(*corpus.documents, corpus.rows, corpus.prior, gamma, 0, 0.0)
    assert np.all(expectation[0, :2] < np.exp(-60)) and np.all(expectation[0, :2] > np.exp(-85))
