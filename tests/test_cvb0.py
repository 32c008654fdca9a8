"""Stochastic CVB0: its updates, its weighing by tokens, and that nothing is drawn."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.lda import OnlineCVB0LDA

from .lda_models import ALPHA, ETA, X, new, smoothed
from .reference import cvb0 as reference


def collapsed(X, phi, model):
    """Proportions, and expected counts (n_components, n_features) of some documents, by the reference."""
    counts, theta = np.zeros_like(phi), []
    schedule = model.max_doc_update_iter, model.doc_learning_offset, model.doc_learning_decay
    for row in X.toarray():
        words = np.flatnonzero(row)
        n, expected = reference.collapse(phi[:, words].T, row[words], np.full(len(phi), ALPHA), *schedule)
        counts[:, words] += expected.T
        theta.append(n / n.sum())
    return np.array(theta), counts


def test_updates_are_those_of_foulds():
    """N <- (1 - rho) N + rho C / |batch| sum of gamma, C tokens in the corpus and |batch| in the batch.

    So a batch of long documents weighs what one of short ones does.
    """
    model = new(OnlineCVB0LDA, total_samples=500, learning_decay=0.8, learning_offset=2.0)
    first, second = 10 * X[:20], X[20:33]
    n = model.partial_fit(first).topic_word_counts_
    assert_allclose(n.sum(), 500 * first.sum() / 20, rtol=1e-6)
    phi = smoothed(n, ETA)
    assert_allclose(phi, model.components_, rtol=1e-12)
    model.partial_fit(np.zeros((3, 25))).partial_fit(second)  # documents without words do not count
    corpus, rho = 500 * (first.sum() + second.sum()) / 33, (2.0 + 2) ** -0.8
    # N is kept as shares of the corpus, whose estimated length has changed.
    batch = collapsed(second, phi, model)[1]
    expected = (1 - rho) * n / n.sum() * corpus + rho * corpus / second.sum() * batch
    assert_allclose(model.topic_word_counts_, expected, rtol=1e-5, atol=1e-7)
    assert model.n_tokens_seen_ == first.sum() + second.sum()


def test_transform_is_the_final_state_of_each_document_and_draws_nothing():
    model = new(OnlineCVB0LDA, max_doc_update_iter=7).fit(X)
    theta = model.transform(X)
    assert_allclose(theta[:10], collapsed(X[:10], model.components_, model)[0], rtol=1e-4)
    model._state = replace(model._state, seed=model._state.seed + 1)
    assert_array_equal(model.transform(X), theta)
