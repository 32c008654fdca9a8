"""Variational Bayes for topics with Gibbs sampling inside documents: what is sampled, and what it does."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import HybridLDA
from sktopic.metrics import document_completion

from .reference.enumeration import Enumeration

ETA, ALPHA = 0.07, 0.3
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "learning_decay": 0.7,
        "learning_offset": 3.0,
        "batch_size": 15,
        "shuffle": False,
        "random_state": 0,
    }
    return HybridLDA(n_components, **{**settings, **params})


def with_counts(model, counts, total_samples):
    """Put the model in the midst of training, with these expected counts (n_components, n_features)."""
    model.set_params(total_samples=total_samples).partial_fit(np.ones((1, counts.shape[1])))
    statistics = model._state.words
    statistics.store[:] = counts.T / total_samples
    statistics.totals[:] = statistics.store.sum(axis=0)
    model._state = replace(model._state, words=replace(statistics, scale=1.0))
    assert_allclose(model.topic_word_counts_, counts, rtol=1e-12)
    return model


def test_posterior_is_the_prior_plus_the_counts():
    model = make_model().fit(X)
    assert_array_equal(model.topic_word_posterior_, model.topic_word_counts_ + ETA)
    lambda_ = model.topic_word_posterior_
    assert_allclose(model.components_, lambda_ / lambda_.sum(axis=1, keepdims=True), rtol=1e-9)


def test_one_topic_follows_the_natural_gradient():
    """All tokens are in the topic: lambda <- (1 - rho) lambda + rho (eta + D / |B| counts)."""
    start = make_model(1, total_samples=200).partial_fit(sp.csr_array((1, 25))).topic_word_counts_[0]
    model, lambda_ = make_model(1, total_samples=200), None
    for t, (first, last) in enumerate([(0, 15), (15, 17), (17, 32), (32, 33), (33, 48)], start=1):
        batch = X[first:last]
        n = batch.sum(axis=0)
        if lambda_ is None:  # the noise weighs what the corpus does
            lambda_ = ETA + start * (200 / 15 * n.sum() / start.sum())
        rho = (3.0 + t) ** -0.7
        lambda_ = (1 - rho) * lambda_ + rho * (ETA + 200 / batch.shape[0] * n)
        model.partial_fit(batch)
        assert_allclose(model.topic_word_posterior_[0], lambda_, rtol=1e-6)


@pytest.mark.parametrize("doc_sweeps", [1, 3])
def test_a_batch_adds_whole_draws(doc_sweeps):
    """rho D / |B| times the mean over sweeps of draws: whole numbers, that add up to the words' tokens."""
    model = make_model(total_samples=300, doc_sweeps=doc_sweeps).partial_fit(X[:15])
    for t, batch in enumerate([X[15:30], X[30:31], X[31:46]], start=2):
        before = model.topic_word_counts_
        rho = (3.0 + t) ** -0.7
        added = model.partial_fit(batch).topic_word_counts_ - (1 - rho) * before
        draws = added / (rho * 300 / batch.shape[0]) * doc_sweeps
        assert_allclose(draws, draws.round(), atol=1e-4)
        assert_array_equal(draws.round().sum(axis=0), doc_sweeps * batch.sum(axis=0))


def test_words_absent_from_a_batch_only_decay():
    model = make_model(total_samples=300).partial_fit(X[:15])
    before = model.topic_word_counts_
    batch = X[15:18].toarray()
    absent = np.flatnonzero(batch.sum(axis=0) == 0)
    assert len(absent) > 3
    after = model.partial_fit(batch).topic_word_counts_
    assert_allclose(after[:, absent], (1 - 5.0**-0.7) * before[:, absent], rtol=1e-12)


DOCUMENTS = [[0, 0, 1, 2], [3, 3, 3], [0, 4, 4, 2, 1]]


@pytest.mark.parametrize("alpha", [[0.3, 0.3, 0.3], [0.05, 0.4, 1.5]], ids=["symmetric", "asymmetric"])
def test_draws_are_from_the_posterior_given_geometric_means_of_topics(alpha, independent_copies):
    """The mean draw of every token of 4000 copies of three documents, against all assignments enumerated.

    A token's mean has a standard error of 0.008 at most; the largest of 42 errors stays below five of those.
    """
    n_copies, alpha = 4000, np.array(alpha)
    counts = np.random.RandomState(0).gamma(0.3, 2.0, (3, 5))
    lambda_ = ETA + counts
    rows = np.exp(digamma(lambda_) - digamma(lambda_.sum(axis=1, keepdims=True)))
    for words in DOCUMENTS:
        corpus = np.tile(np.bincount(words, minlength=5), (n_copies, 1)).astype(float)
        model = make_model(
            3, doc_topic_prior=alpha, doc_burn_in=30, doc_sweeps=1, batch_size=n_copies, learning_decay=0.0
        )
        # Steps of one: what was there is forgotten, and the counts are those of the batch.
        model = with_counts(model, counts, float(n_copies)).partial_fit(corpus)
        expected = np.zeros((3, 5))
        np.add.at(expected.T, words, Enumeration(words, rows.T, alpha).expected_counts())
        tokens = np.maximum(np.bincount(words, minlength=5), 1)
        errors = np.abs(model.topic_word_counts_ / n_copies - expected) / tokens
        assert errors.max() < 5 * 0.5 / np.sqrt(n_copies)
        # Arithmetic means of topics would give other draws.
        means = lambda_ / lambda_.sum(axis=1, keepdims=True)
        other = np.zeros((3, 5))
        np.add.at(other.T, words, Enumeration(words, means.T, alpha).expected_counts())
        assert np.abs(other - expected).max() > 0.1


def test_transform_agrees_with_enumeration():
    """The mean proportions of documents, given the same rows, by many sweeps."""
    counts = np.random.RandomState(0).gamma(0.3, 2.0, (3, 5))
    rows = np.exp(digamma(ETA + counts) - digamma((ETA + counts).sum(axis=1, keepdims=True)))
    alpha = np.array([0.05, 0.4, 1.5])
    model = with_counts(make_model(3, doc_topic_prior=alpha), counts, 50.0)
    model.set_params(transform_burn_in=50, transform_sweeps=20_000)
    theta = model.transform(np.array([np.bincount(words, minlength=5) for words in DOCUMENTS], dtype=float))
    expected = [Enumeration(words, rows.T, alpha).mean_theta() for words in DOCUMENTS]
    assert_allclose(theta, expected, atol=0.01)


def test_bars_are_learned_to_near_the_score_of_the_truth():
    """Within 0.1 nats per hidden word of the bars themselves, by the best of two starts."""
    bars, more_bars = make_bars(500, random_state=0), make_bars(200, random_state=1)
    models = [
        HybridLDA(15, doc_topic_prior=0.1, random_state=seed, max_iter=8, batch_size=50).fit(bars.data)
        for seed in (0, 1)
    ]
    model = max(models, key=lambda model: model.score(bars.data))
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.1 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.1 < model.score(more_bars.data) < best + 0.01
