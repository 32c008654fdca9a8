"""Variational Bayes for topics with Gibbs sampling inside documents: what is sampled, and what it does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.lda import HybridLDA

from .lda_models import ETA, X, mean_logs, new, smoothed, with_counts
from .reference.enumeration import Enumeration


def make_model(n_components=4, **params):
    settings = {"learning_decay": 0.7, "learning_offset": 3.0, "batch_size": 15}
    return new(HybridLDA, n_components, **settings | params)


@pytest.mark.parametrize("doc_sweeps", [1, 3])
def test_a_batch_adds_whole_draws(doc_sweeps):
    """rho D / |B| times the mean over sweeps of draws: whole numbers, that add up to the words' tokens."""
    settings = {"counts": "draws", "total_samples": 300, "doc_sweeps": doc_sweeps}
    model = make_model(**settings).partial_fit(X[:15])
    for t, batch in enumerate([X[15:30], X[30:31], X[31:46]], start=2):
        before = model.topic_word_counts_
        rho = (3.0 + t) ** -0.7
        added = model.partial_fit(batch).topic_word_counts_ - (1 - rho) * before
        draws = added / (rho * 300 / batch.shape[0]) * doc_sweeps
        assert_allclose(draws, draws.round(), atol=1e-4)
        assert_array_equal(draws.round().sum(axis=0), doc_sweeps * batch.sum(axis=0))
    posterior = model.topic_word_posterior_
    assert_array_equal(posterior, model.topic_word_counts_ + ETA)
    assert_allclose(model.components_, smoothed(posterior, 0.0), rtol=1e-9)


def test_tokens_alone_in_their_documents_add_their_probabilities():
    """In proportion to alpha_k exp E[log phi_kw], exactly: there are no other tokens to draw topics for."""
    model = make_model(total_samples=300, doc_topic_prior=[0.1, 0.2, 0.3, 0.4], doc_sweeps=2)
    model.partial_fit(X[:15])
    for t, words in enumerate([range(15), [3], [4, 9]], start=2):
        before, rho = model.topic_word_counts_, (3.0 + t) ** -0.7
        weights = model.doc_topic_prior_[:, None] * np.exp(mean_logs(model.topic_word_posterior_))
        expected = np.zeros_like(before)
        expected[:, words] = (weights / weights.sum(axis=0))[:, words] * 300 / len(words)
        model.partial_fit(np.eye(25)[list(words)])
        assert_allclose(model.topic_word_counts_, (1 - rho) * before + rho * expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("counts", "many"), [("probabilities", 80), ("draws", 120)])
def test_many_topics_have_a_smaller_prior(counts, many):
    for n_components, prior in ((20, 0.3), (many, 0.25)):
        model = make_model(n_components, counts=counts, topic_word_prior=None).partial_fit(X[:15])
        assert model.topic_word_prior_ == prior


@pytest.mark.parametrize("counts", ["probabilities", "draws"])
def test_counts_are_of_the_posterior_given_geometric_means_of_topics(independent_copies, counts):
    """The mean count of every token of 4000 copies of three documents, against all assignments enumerated.

    A token's mean draw has a standard error of 0.008 at most, and its mean probability a smaller one. The
    largest of 21 errors stays below five of those. Arithmetic means of topics are off by over 0.1. The same
    for the proportions that transform gives.
    """
    n_copies, alpha = 4000, np.array([0.05, 0.4, 1.5])
    before = np.random.RandomState(0).gamma(0.3, 2.0, (3, 5))
    rows = np.exp(mean_logs(ETA + before))
    settings = {
        "counts": counts,
        "doc_topic_prior": alpha,
        "doc_burn_in": 30,
        "doc_sweeps": 1,
        "learning_decay": 0.0,
    }
    for words in [[0, 0, 1, 2], [3, 3, 3], [0, 4, 4, 2, 1]]:
        document, exact = np.bincount(words, minlength=5), Enumeration(words, rows.T, alpha)
        # Steps of one: what was there is forgotten, and the counts are those of the batch.
        model = with_counts(make_model(3, batch_size=n_copies, **settings), before, float(n_copies))
        model.set_params(transform_burn_in=50, transform_sweeps=20_000)
        assert_allclose(model.transform([document])[0], exact.mean_theta(), atol=0.01)
        model.partial_fit(np.tile(document, (n_copies, 1)))
        expected = np.zeros((5, 3))
        np.add.at(expected, words, exact.expected_counts())
        errors = np.abs(model.topic_word_counts_ / n_copies - expected.T) / np.maximum(document, 1)
        assert errors.max() < 5 * 0.5 / np.sqrt(n_copies)
