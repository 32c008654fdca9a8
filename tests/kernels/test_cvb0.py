"""Collapsed inference of documents: the twin, what is conserved, the fixed point, the exact posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels.lda._cvb0 import collapse_documents
from tests.kernels.tools import for_both_precisions, random_corpus, repeated
from tests.reference import cvb0 as reference
from tests.reference.enumeration import Enumeration

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-10}


def expected_counts(corpus, weights, share):
    return share[:, None] * weights[corpus.cell_document] * corpus.rows[corpus.cell_word]


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 2, 7, 8, 9, 40])
@pytest.mark.parametrize(("n_passes", "offset", "decay"), [(1, 10.0, 0.9), (3, 0.0, 1.0), (5, 2.5, 0.0)])
def test_visits_are_those_of_the_reference(n_passes, offset, decay, n_topics, counts, dtype):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts, dtype=dtype)
    weights, share = collapse_documents(*corpus.documents, corpus.rows, corpus.prior, n_passes, offset, decay)
    cells = expected_counts(corpus, weights, share)
    for d in range(corpus.n_documents):
        part = slice(corpus.indptr[d], corpus.indptr[d + 1])
        if part.start == part.stop:
            assert_allclose(weights[d], corpus.prior, rtol=1e-14)
            continue
        words = corpus.rows[corpus.cell_word[part]].astype(np.float64)
        n, expected = reference.collapse(
            words, corpus.cell_count[part], corpus.prior, n_passes, offset, decay
        )
        assert_allclose(weights[d], n, rtol=TOLERANCE[dtype])
        assert_allclose(cells[part], expected, rtol=1e-3 if dtype is np.float32 else 1e-9, atol=1e-30)


@for_both_precisions
def test_tokens_are_conserved(dtype):
    corpus = random_corpus(2, 40, n_topics=13, counts="mixed", dtype=dtype)
    for n_passes in (1, 4):
        weights, share = collapse_documents(*corpus.documents, corpus.rows, corpus.prior, n_passes, 10.0, 0.9)
        assert_allclose(weights.sum(axis=1), corpus.lengths + corpus.prior.sum(), rtol=1e-12)
        assert np.all(weights > 0)
        sums = expected_counts(corpus, weights, share).sum(axis=1)
        assert_allclose(sums, corpus.cell_count, rtol=1e-5)


def test_many_visits_reach_the_fixed_point():
    """N_k is the sum over words of c gamma_k, with gamma_k proportional to phi_kw (N_k + alpha_k)."""
    corpus = random_corpus(4, 24, n_topics=6, counts="small")
    weights, share = collapse_documents(*corpus.documents, corpus.rows, corpus.prior, 3000, 100.0, 0.9)
    cells = expected_counts(corpus, weights, share)
    for d in range(corpus.n_documents):
        part = slice(corpus.indptr[d], corpus.indptr[d + 1])
        assert_allclose(cells[part].sum(axis=0) + corpus.prior, weights[d], rtol=0, atol=2e-2)


def test_clumps_make_as_many_steps_as_they_have_tokens():
    """m tokens of the only word, visited at once, and one after the other with a constant step."""
    phi, prior = np.array([[0.7, 0.2, 0.1]]), np.array([0.3, 0.2, 0.4])
    corpus = repeated([4.0], phi, prior, 1)
    weights, _ = collapse_documents(*corpus.documents, corpus.rows, prior, 1, 3.0, 0.5)
    rho, n = 4.0**-0.5, np.full(3, 4 / 3)
    gamma = corpus.rows[0] * (n + prior)
    gamma /= gamma.sum()
    for _ in range(4):
        n = (1 - rho) * n + rho * 4 * gamma
    assert_allclose(weights[0], n + prior, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("scale", "largest_error"), [(1, 0.04), (10, 0.002)])
def test_exact_posterior_means_of_tiny_documents(scale, largest_error, seed):
    """Order zero does not take the token itself out, which draws a document towards its first topics, by
    less the more the prior weighs."""
    rng = np.random.default_rng(seed)
    phi = np.ascontiguousarray(rng.dirichlet(np.full(4, 0.5), 3).T)
    prior = scale * np.array([0.9, 1.1, 1.3])
    counts = np.array([2.0, 1.0, 2.0, 1.0])
    exact = Enumeration(np.repeat(np.arange(4), counts.astype(int)), phi, prior).mean_theta()
    corpus = repeated(counts, phi, prior, 1)
    weights, _ = collapse_documents(*corpus.documents, corpus.rows, prior, 500, 10.0, 0.9)
    assert np.abs(weights[0] / weights[0].sum() - exact).max() < largest_error


def test_extremes_stay_finite():
    phi = np.array([[0.9, 0.05], [0.1, 0.95]])
    for prior in (1e-12, 1e12):
        corpus = repeated([1e20, 1e-6], phi, [prior, prior], 2, dtype=np.float32)
        weights, share = collapse_documents(*corpus.documents, corpus.rows, corpus.prior, 5, 0.0, 1.0)
        assert np.isfinite(weights).all() and np.isfinite(share).all()
