"""The document step by variational inference iterates equations 11 and 12."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._inference._pieces import prior_of
from sktopic._kernels.inference._variational import update_documents
from tests.kernels.tools import Corpus, for_both_precisions, joined, random_corpus
from tests.reference import variational as reference
from tests.reference.statistics import variational_counts

# Float32 sums over topics and cells, through up to fifty iterations.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}


def start_of(corpus):
    return corpus.prior + corpus.lengths[:, None] / corpus.phi.shape[1]


def run(corpus, max_iter, tol, gamma=None):
    """gamma, expected counts of cells, changes; documents come in pieces."""
    gamma = start_of(corpus) if gamma is None else gamma.copy()
    expectation, share, changes = joined(
        update_documents(
            *corpus.piece(first, last),
            corpus.rows,
            prior_of(corpus.prior, slice(first, last)),
            gamma[first:last],
            max_iter,
            tol,
        )
        for first, last in corpus.pieces
    )
    assert expectation.dtype == corpus.dtype and share.dtype == changes.dtype == np.float64
    expected = variational_counts(corpus.cell_word, corpus.cell_document, expectation, share, corpus.rows)
    return gamma, expected, changes


@for_both_precisions
@pytest.mark.parametrize("own_priors", [False, True], ids=["", "own priors"])
@pytest.mark.parametrize(
    ("n_topics", "counts", "max_iter"),
    [(1, "unit", 20), (8, "small", 20), (9, "mixed", 1), (9, "unit", 20), (40, "mixed", 20)],
)
def test_iterations_are_those_of_the_reference(n_topics, counts, max_iter, dtype, own_priors):
    """Also with rows of any scale, and with a prior for each document."""
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts, dtype=dtype)
    if own_priors:
        corpus.prior = np.random.default_rng(0).gamma(1.0, 0.5, (corpus.n_documents, n_topics)) + 0.05
    corpus.rows = (corpus.rows * (2.0 ** (np.arange(30) % 9))[:, None]).astype(dtype)
    gamma, expected, changes = run(corpus, max_iter, 0.0)
    expected_gamma = start_of(corpus)
    given = corpus.rows, corpus.prior, expected_gamma, max_iter, 0.0
    expected_counts, expected_changes = reference.update_documents(*corpus.documents, *given)
    tolerance = TOLERANCE[dtype]
    lengths = corpus.lengths[:, None] + 1
    assert_allclose(gamma, expected_gamma, rtol=tolerance)
    assert np.all(np.abs(expected - expected_counts) <= tolerance * lengths[corpus.cell_document])
    assert np.all(np.abs(changes - expected_changes) <= tolerance * lengths[:, 0])
    assert_allclose(expected.sum(axis=1), corpus.cell_count, rtol=2e-6)
    assert_array_equal(gamma[1], prior_of(corpus.prior, 1))  # without words


def test_iteration_stops_below_the_tolerance_and_not_before():
    corpus = random_corpus(4, 20, n_topics=6, counts="small")
    runs = [run(corpus, max_iter, 0.0) for max_iter in range(1, 60)]
    gamma, _, changes = run(corpus, 59, 1e-2)
    for d in range(20):
        n = next((n for n, each in enumerate(runs) if each[2][d] < 1e-2), 58)
        assert_array_equal(gamma[d], runs[n][0][d])
        assert changes[d] == runs[n][2][d]


@for_both_precisions
def test_words_of_one_topic_each_go_there_however_little_they_count(dtype):
    """exp psi(gamma) of the lesser topic leaves the range of the precision as its count falls."""
    for count in (10.0, 0.1, 0.05, 0.01, 0.001):
        cells = np.array([0, 2]), np.array([0, 1], np.int32), np.array([count, 10.0])
        gamma, expected, _ = run(Corpus(*cells, np.eye(2), np.full(2, 1e-3), dtype), 50, 1e-6)
        assert_allclose(gamma, [[count + 1e-3, 10.001]], rtol=1e-5)
        assert_allclose(expected, [[count, 0.0], [0.0, 10.0]], rtol=1e-5)


def expectations(gamma, dtype=np.float64):
    """What the kernel makes of gamma, with one word in each document; and the shares of these."""
    n, n_topics = gamma.shape
    documents = np.arange(n + 1), np.zeros(n, np.int32), np.ones(n)
    corpus = Corpus(*documents, np.ones((1, n_topics)), np.ones(n_topics), dtype)
    return update_documents(*documents, corpus.rows, corpus.prior, gamma, 0, 0.0)[:2]


@pytest.mark.parametrize("n_topics", [2, 23])
def test_expectations_are_exponentials_of_digammas(n_topics):
    """Parameters of all sizes, each beside others of about the same."""
    gamma = np.logspace(-3, 12, 1000 * n_topics).reshape(-1, n_topics)
    expectation, share = expectations(gamma)
    expected = np.exp(np.maximum(psi(gamma) - psi(gamma).max(axis=1, keepdims=True), -60.0))
    above = expected > 1e-20  # the floor is only about e^-60
    assert_allclose(expectation[above], expected[above], rtol=1e-10)
    assert np.all((expectation < 1e-19)[~above])
    assert np.all(expectation > np.exp(-100))
    assert_allclose(share * expected.mean(axis=1), 1.0, rtol=1e-10)


@for_both_precisions
def test_expectations_far_below_the_largest_stay_above_zero(dtype):
    low = expectations(np.array([[1e-6, 1e-3, 1e9, 1.0]]), dtype)[0][0, :2]
    assert np.all(low < np.exp(-60)) and np.all(low > np.exp(-85))
