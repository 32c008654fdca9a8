"""Collapsed inference of documents: the twin, the fixed point, the exact posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels.lda._cvb0 import collapse_documents
from tests.kernels.tools import for_both_precisions, joined, random_corpus, repeated
from tests.reference import cvb0 as reference
from tests.reference.enumeration import Enumeration

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-10}


def collapse(corpus, n_passes, offset, decay):
    """Weights of topics in documents, and expected counts of cells; documents come in pieces."""
    given = corpus.rows, corpus.prior, n_passes, offset, decay
    weights, share = joined(collapse_documents(*corpus.piece(*piece), *given) for piece in corpus.pieces)
    return weights, share[:, None] * weights[corpus.cell_document] * corpus.rows[corpus.cell_word]


@for_both_precisions
@pytest.mark.parametrize(
    ("n_topics", "counts", "settings"),
    [
        (1, "unit", (5, 2.5, 0.0)),
        (8, "small", (3, 0.0, 1.0)),
        (9, "mixed", (1, 10.0, 0.9)),
        (40, "mixed", (3, 0.0, 1.0)),
    ],
)
def test_visits_are_those_of_the_reference(n_topics, counts, settings, dtype):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts, dtype=dtype)
    weights, cells = collapse(corpus, *settings)
    for d in range(corpus.n_documents):
        part = slice(corpus.indptr[d], corpus.indptr[d + 1])
        if part.start == part.stop:
            assert_allclose(weights[d], corpus.prior, rtol=1e-14)
            continue
        words = corpus.rows[corpus.cell_word[part]].astype(np.float64)
        n, expected = reference.collapse(words, corpus.cell_count[part], corpus.prior, *settings)
        assert_allclose(weights[d], n, rtol=TOLERANCE[dtype])
        assert_allclose(cells[part], expected, rtol=1e-3 if dtype is np.float32 else 1e-9, atol=1e-30)
    assert_allclose(weights.sum(axis=1), corpus.lengths + corpus.prior.sum(), rtol=1e-12)
    assert_allclose(cells.sum(axis=1), corpus.cell_count, rtol=1e-5)


@pytest.mark.parametrize(("scale", "largest_error"), [(1, 0.04), (10, 0.002)])
def test_exact_posterior_means_of_tiny_documents(scale, largest_error):
    """Order zero does not take the token itself out, which draws a document towards its first topics, by
    less the more the prior weighs."""
    prior, counts = scale * np.array([0.9, 1.1, 1.3]), np.array([2.0, 1.0, 2.0, 1.0])
    for seed in range(5):
        phi = np.ascontiguousarray(np.random.default_rng(seed).dirichlet(np.full(4, 0.5), 3).T)
        exact = Enumeration([0, 0, 1, 2, 2, 3], phi, prior).mean_theta()
        weights, _ = collapse(repeated(counts, phi, prior, 1), 500, 10.0, 0.9)
        assert np.abs(weights[0] / weights[0].sum() - exact).max() < largest_error
