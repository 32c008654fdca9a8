"""Stochastic CVB0: its updates, its weighing by tokens, and that nothing is drawn."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import OnlineCVB0LDA
from sktopic.metrics import document_completion

from .reference import cvb0 as reference
from .reference.collapsed_gibbs import posterior

ALPHA, ETA = 0.2, 0.05
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "batch_size": 20,
        "shuffle": False,
        "random_state": 0,
    }
    return OnlineCVB0LDA(n_components, **{**settings, **params})


def batch_counts(X, phi, model):
    """The expected counts (n_components, n_features) of some documents by the reference."""
    counts = np.zeros_like(phi)
    schedule = model.max_doc_update_iter, model.doc_learning_offset, model.doc_learning_decay
    for row in X.toarray():
        words = np.flatnonzero(row)
        _, expected = reference.collapse(phi[:, words].T, row[words], np.full(len(phi), ALPHA), *schedule)
        counts[:, words] += expected.T
    return counts


def test_updates_are_those_of_foulds():
    """N <- (1 - rho) N + rho C / |batch| sum of gamma, C tokens in the corpus and |batch| in the batch."""
    model = make_model(total_samples=500, learning_decay=0.8, learning_offset=2.0).partial_fit(X[:20])
    first, second = X[:20], X[20:33]
    n = model.topic_word_counts_
    assert_allclose(n.sum(), 500 * first.sum() / 20, rtol=1e-6)
    phi = (n + ETA) / (n + ETA).sum(axis=1, keepdims=True)
    assert_allclose(phi, model.components_, rtol=1e-12)
    model.partial_fit(second)
    corpus = 500 * (first.sum() + second.sum()) / 33
    rho = (2.0 + 2) ** -0.8
    # N is kept as shares of the corpus, whose estimated length has changed.
    expected = (1 - rho) * n / n.sum() * corpus + rho * corpus / second.sum() * batch_counts(
        second, phi, model
    )
    assert_allclose(model.topic_word_counts_, expected, rtol=1e-5, atol=1e-7)
    assert model.n_tokens_seen_ == first.sum() + second.sum()


def test_transform_is_the_final_state_of_each_document():
    model = make_model().fit(X)
    theta, phi = model.transform(X), model.components_
    schedule = model.max_doc_update_iter, model.doc_learning_offset, model.doc_learning_decay
    for d, row in enumerate(X.toarray()[:10]):
        words = np.flatnonzero(row)
        n, _ = reference.collapse(phi[:, words].T, row[words], np.full(4, ALPHA), *schedule)
        assert_allclose(theta[d], n / n.sum(), rtol=1e-4)


def test_transform_draws_nothing():
    """Documents with the same words in the same numbers, and models with other seeds on the same topics."""
    model = make_model().fit(X)
    theta = model.transform(X)
    model._state = replace(model._state, seed=model._state.seed + 1)
    assert_array_equal(model.transform(X), theta)


def test_batches_are_averaged_by_tokens():
    """With rho = 1/2 a batch of long documents and one of short ones have the same weight."""
    model = make_model(learning_decay=1.0, learning_offset=0.0, total_samples=100).partial_fit(X[:20] * 10)
    before = model.topic_word_counts_ / model.topic_word_counts_.sum()
    phi = model.components_
    model.partial_fit(X[20:40])
    batch = batch_counts(X[20:40], phi, model)
    shares = model.topic_word_counts_ / model.topic_word_counts_.sum()
    assert_allclose(shares, (before + batch / batch.sum()) / 2, rtol=1e-5, atol=1e-8)


def test_one_update_gives_the_corpus_its_own_size():
    for repeats in (1, 10):
        model = make_model(learning_decay=0.0, total_samples=100).partial_fit(X[:20] * repeats)
        assert_allclose(model.topic_word_counts_.sum(), 100 * X[:20].sum() * repeats / 20, rtol=1e-6)


def test_bars_are_found():
    bars = make_bars(800, random_state=0)
    test = make_bars(200, random_state=1)
    model = OnlineCVB0LDA(12, random_state=0).fit(bars.data)
    truth = document_completion(test.components, test.data, doc_topic_prior=test.doc_topic_prior)
    assert document_completion(model, test.data) > truth - 0.1


@pytest.mark.parametrize("prior", [0.3, 0.5])
def test_exact_posterior_of_a_tiny_corpus(prior):
    """How probable it is that two of ten tokens share a topic, against the sum over all assignments.

    Order zero leaves out how uncertain counts are, and is too sure of itself, by 0.17 on average. The order
    of the pairs is right, and the error smaller than without the words.
    """
    documents = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    words = np.array([0, 0, 1, 0, 2, 3, 2, 0, 3, 3])
    states, p = posterior(documents, words, 3, 4, np.full(2, prior), prior)
    exact = np.einsum("s,sij->ij", p, (states[:, :, None] == states[:, None, :]).astype(float))
    counts = np.zeros((3, 4))
    np.add.at(counts, (documents, words), 1)
    settings = {"max_iter": 300, "max_doc_update_iter": 100, "learning_decay": 0.6, "learning_offset": 10.0}
    model = make_model(2, doc_topic_prior=prior, topic_word_prior=prior, **settings).fit(counts)
    gamma = model.components_[:, words].T * model.transform(counts)[documents]
    gamma /= gamma.sum(axis=1, keepdims=True)
    pairs = np.triu_indices(10, 1)
    found, exact = (gamma @ gamma.T)[pairs], exact[pairs]
    assert np.corrcoef(found, exact)[0, 1] > 0.9
    assert np.abs(found - exact).mean() < min(0.2, np.abs(0.5 - exact).mean())
