"""Streaming Gibbs sampling: running counts of one draw a token, with and without fading."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import StreamingGibbsLDA
from sktopic.metrics import document_completion

from .reference.enumeration import Enumeration

ETA, ALPHA = 0.07, 0.3
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)
BATCHES = [X[:20], X[20:23], X[23:45], X[45:]]


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "batch_size": 100,
        "shuffle": False,
        "random_state": 0,
    }
    return StreamingGibbsLDA(n_components, **{**settings, **params})


def test_counts_are_whole_and_add_up_to_the_words_seen():
    """One topic for each token; several passes of fit count each document as often."""
    model, seen = make_model(), 0
    for batch in BATCHES:
        counts = model.partial_fit(batch).topic_word_counts_
        seen = seen + batch.sum(axis=0)
        assert_array_equal(counts, counts.round())
        assert_array_equal(counts.sum(axis=0), seen)
        assert counts.min() >= 0
        assert_allclose(
            model.components_, (counts + ETA) / (counts + ETA).sum(axis=1, keepdims=True), rtol=1e-12
        )
    assert_array_equal(make_model(max_iter=3, batch_size=7).fit(X).topic_word_counts_.sum(axis=0), 3 * seen)
    # Beyond one group of documents.
    many = sp.csr_array(sp.vstack([X] * 20))
    assert_array_equal(make_model(batch_size=1200).fit(many).topic_word_counts_.sum(axis=0), 20 * seen)


def test_earlier_counts_stay_without_fading():
    model = make_model().partial_fit(BATCHES[0])
    for batch in BATCHES[1:]:
        before = model.topic_word_counts_
        added = model.partial_fit(batch).topic_word_counts_ - before
        assert added.min() >= 0
        assert_array_equal(added.sum(axis=0), batch.sum(axis=0))


def test_earlier_batches_fade_in_a_geometric_series():
    """With decay 1/2, exact in binary: a batch weighs half as much after each update."""
    model, seen = make_model(decay=0.5), 0
    for batch in BATCHES:
        before = model.topic_word_counts_ if hasattr(model, "topic_word_counts_") else np.zeros((4, 25))
        counts = model.partial_fit(batch).topic_word_counts_
        seen = 0.5 * seen + batch.sum(axis=0)
        assert_allclose(counts.sum(axis=0), seen, rtol=1e-12)
        added = counts - 0.5 * before
        assert_allclose(added, added.round(), atol=1e-9)
        assert_allclose(added.sum(axis=0), batch.sum(axis=0), atol=1e-9)


def test_a_fading_stream_follows_topics_that_change():
    """After a change of topics, the counts that fade forget the old ones; those that do not keep them."""
    old, new = np.zeros((200, 20)), np.zeros((200, 20))
    rng = np.random.RandomState(0)
    old[:, :10], new[:, 10:] = rng.poisson(2, (200, 10)), rng.poisson(2, (200, 10))
    models = [make_model(decay=decay, batch_size=10) for decay in (1.0, 0.5)]
    for model in models:
        model.partial_fit(old).partial_fit(new)
    assert models[0].topic_word_counts_[:, :10].sum() == old.sum()
    assert models[1].topic_word_counts_[:, :10].sum() < 1e-3


def test_fading_for_a_thousand_updates_leaves_no_trace_of_rounding():
    """The scale of the counts falls below any float, and they stay what they are."""
    model = make_model(decay=0.3, batch_size=1, max_iter=20).fit(X)
    assert model.n_batch_iter_ == 1200
    lengths = np.tile(X.sum(axis=1), 20)
    assert model.topic_word_counts_.sum() == pytest.approx(lengths @ 0.3 ** np.arange(1199, -1, -1), rel=1e-9)


def test_order_of_batches_matters_only_through_the_topics_read():
    one, other = make_model(), make_model()
    for batch in BATCHES:
        one.partial_fit(batch)
    for batch in BATCHES[::-1]:
        other.partial_fit(batch)
    assert np.abs(one.components_ - other.components_).max() > 1e-2
    assert_array_equal(one.topic_word_counts_.sum(axis=0), other.topic_word_counts_.sum(axis=0))


def test_neither_step_sizes_nor_the_size_of_the_corpus_are_asked_for():
    names = inspect.signature(StreamingGibbsLDA).parameters.keys()
    assert not {"total_samples", "learning_decay", "learning_offset", "doc_sweeps"} & names


def test_one_topic_counts_the_words():
    for batch_size in (1, 7, 60):
        assert_array_equal(make_model(1, batch_size=batch_size).fit(X).topic_word_counts_[0], X.sum(axis=0))


def test_draws_are_from_the_posterior_given_the_topics(independent_copies):
    """The mean draw of 4000 copies of documents, against all assignments enumerated; five standard errors."""
    n_copies, alpha = 4000, np.array([0.05, 0.4, 1.5])
    first = make_lda_documents(50, n_features=5, n_components=3, mean_length=4, random_state=0).data
    for words in ([0, 0, 1, 2], [3, 3, 3], [0, 4, 4, 2, 1]):
        model = make_model(3, doc_topic_prior=alpha, doc_burn_in=30, batch_size=n_copies).partial_fit(first)
        before, phi = model.topic_word_counts_, model.components_
        model.partial_fit(np.tile(np.bincount(words, minlength=5), (n_copies, 1)))
        expected = np.zeros((5, 3))
        np.add.at(expected, words, Enumeration(words, phi.T, alpha).expected_counts())
        tokens = np.maximum(np.bincount(words, minlength=5), 1)
        errors = np.abs((model.topic_word_counts_ - before) / n_copies - expected.T) / tokens
        assert errors.max() < 5 * 0.5 / np.sqrt(n_copies)


def test_initial_topics_are_forgotten_after_the_first_batch():
    """Words that no document has keep no noise."""
    counts = X.toarray()
    counts[:, 7] = 0
    model = make_model(topic_word_prior=0.0).fit(counts)
    assert_array_equal(model.components_[:, 7], 0.0)
    assert_array_equal(model.topic_word_counts_[:, 7], 0.0)


def test_bars_are_learned_to_near_the_score_of_the_truth():
    """Within 0.1 nats per hidden word of the bars themselves, by the best of three starts."""
    bars, more_bars = make_bars(1000, random_state=0), make_bars(200, random_state=1)
    models = [
        StreamingGibbsLDA(15, doc_topic_prior=0.1, random_state=seed, max_iter=6, decay=0.98).fit(bars.data)
        for seed in range(3)
    ]
    model = max(models, key=lambda model: model.score(bars.data))
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.1 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.1 < model.score(more_bars.data) < best + 0.01
