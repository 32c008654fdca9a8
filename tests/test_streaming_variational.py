"""Streaming variational Bayes: sums of batches, and nothing but sums."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic._topics._word_count_views import expected_counts
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import StreamingVariationalLDA, _streaming_variational
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.metrics import document_completion

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
        "max_doc_update_iter": 3000,
        "mean_change_tol": 1e-8,
        "random_state": 0,
    }
    return StreamingVariationalLDA(n_components, **{**settings, **params})


def stream(batches, **params):
    model = make_model(**params)
    for batch in batches:
        model.partial_fit(batch)
    return model


def numpy_counts(counts, lambda_, prior=ALPHA):
    """Expected counts of words in topics under exp E[log phi], documents iterated until nothing changes."""
    topics = np.exp(digamma(lambda_) - digamma(lambda_.sum(axis=1, keepdims=True)))
    total = np.zeros(lambda_.shape)
    for document in counts.toarray():
        gamma, change = prior + document.sum() / len(topics) * np.ones(len(topics)), 1.0
        while change > 1e-12:
            weights = topics * np.exp(digamma(gamma))[:, None]
            expected = weights / weights.sum(axis=0) * document
            updated = prior + expected.sum(axis=1)
            change, gamma = np.abs(updated - gamma).mean(), updated
        total += expected
    return total


def test_posterior_is_the_prior_plus_the_counts_of_all_batches():
    """Each batch's counts under the posterior before it: the topics drawn at random, for the first."""
    model = make_model()
    lambda_ = make_model().partial_fit(sp.csr_array((1, 25))).topic_word_posterior_
    total = 0.0
    for batch in BATCHES:
        total = total + numpy_counts(batch, lambda_)
        lambda_ = ETA + total
        model.partial_fit(batch)
        assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-4, atol=1e-5)
        assert_array_equal(model.topic_word_posterior_, model.topic_word_counts_ + ETA)
        assert_allclose(model.components_, lambda_ / lambda_.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_counts_add_up_to_the_words_seen():
    model = make_model()
    seen = np.zeros(25)
    for batch in BATCHES:
        model.partial_fit(batch)
        seen += batch.sum(axis=0)
        assert_allclose(model.topic_word_counts_.sum(axis=0), seen, rtol=1e-6, atol=1e-9)
    # Also in many passes of fit, each a copy of the corpus, and beyond one group of documents.
    assert_allclose(
        make_model(max_iter=3).fit(X).topic_word_counts_.sum(axis=0), 3 * X.sum(axis=0), rtol=1e-6
    )
    many = sp.csr_array(sp.vstack([X] * 20))
    settings = {"batch_size": 1200, "max_doc_update_iter": 10}
    assert_allclose(
        make_model(**settings).fit(many).topic_word_counts_.sum(axis=0), 20 * X.sum(axis=0), rtol=1e-6
    )


def with_fixed_reading(monkeypatch, topics_of):
    """Let documents be read with the topics of one model, whatever was learned since."""
    fixed = topics_of._method().inference_topics(topics_of._state)
    monkeypatch.setattr(_streaming_variational, "geometric", lambda *_: fixed)


def test_batches_read_with_the_same_topics_add_up_in_any_order(monkeypatch):
    """Merging what was made apart, as in the distributed version: sums do not know their order."""
    base = make_model(random_state=1).fit(X)
    before = base.topic_word_counts_
    fixed = numpy_counts(X, base.topic_word_posterior_)
    with monkeypatch.context() as patch:
        with_fixed_reading(patch, base)
        posteriors = [
            stream(order).topic_word_posterior_
            for order in (BATCHES, BATCHES[::-1], [BATCHES[2], BATCHES[0], BATCHES[3], BATCHES[1]], [X])
        ]
    for posterior in posteriors[1:]:
        assert_allclose(posterior, posteriors[0], rtol=1e-9)
    assert_allclose(posteriors[0], ETA + fixed, rtol=1e-4, atol=1e-5)
    assert_array_equal(base.topic_word_counts_, before)


def test_posteriors_made_apart_merge_into_one(monkeypatch):
    """Workers that read their batches with the same topics: what each adds to the prior, added up."""
    base = make_model(random_state=1).fit(X)
    with_fixed_reading(monkeypatch, base)
    whole = stream(BATCHES).topic_word_posterior_
    apart = [stream([batch]).topic_word_posterior_ - ETA for batch in BATCHES]
    assert_allclose(ETA + sum(apart), whole, rtol=1e-9)


def test_order_matters_where_each_batch_is_read_with_what_was_learned():
    one, other = stream(BATCHES), stream(BATCHES[::-1])
    assert np.abs(one.components_ - other.components_).max() > 1e-2
    assert_allclose(
        one.topic_word_counts_.sum(axis=0), other.topic_word_counts_.sum(axis=0), rtol=1e-6, atol=1e-9
    )


def test_size_of_the_corpus_plays_no_part():
    """There is no such parameter, and a batch is read the same whatever comes after it."""
    assert "total_samples" not in inspect.signature(StreamingVariationalLDA).parameters
    model = stream(BATCHES[:2])
    posterior = model.topic_word_posterior_
    whole = make_model(batch_size=20)
    # One fit of all documents cuts the same first batch.
    first = make_model(batch_size=20).fit(X[:20]).topic_word_counts_
    snapshots = []
    original = MinibatchLDA.absorb

    def absorb(method, *arguments):
        state = original(method, *arguments)
        snapshots.append(expected_counts(state.words, method.unit(state)).T.copy())
        return state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MinibatchLDA, "absorb", absorb)
        whole.fit(X)
    assert len(snapshots) == 3
    assert_array_equal(snapshots[0], first)
    assert_array_equal(stream(BATCHES[:2]).topic_word_posterior_, posterior)


def test_one_topic_is_the_exact_posterior():
    """eta plus the counts of words, in batches of any size."""
    for batch_size in (1, 7, 60):
        model = make_model(1, batch_size=batch_size).fit(X)
        assert_allclose(model.topic_word_posterior_[0], ETA + X.sum(axis=0), rtol=1e-6)


def test_initial_topics_leave_no_trace_but_through_the_first_reading(monkeypatch):
    """The noise that the first batch is read with does not stay in the counts."""
    base = make_model(random_state=1).fit(X)
    with_fixed_reading(monkeypatch, base)
    one, other = stream(BATCHES, random_state=2), stream(BATCHES, random_state=3)
    assert_array_equal(one.topic_word_posterior_, other.topic_word_posterior_)


def test_documents_without_words_change_nothing():
    model = stream(BATCHES)
    before = model.topic_word_posterior_
    model.partial_fit(sp.csr_array((4, 25)))
    assert_array_equal(model.topic_word_posterior_, before)
    # Nor do they count as the first batch.
    late = stream([sp.csr_array((4, 25)), *BATCHES])
    assert_allclose(late.topic_word_posterior_, before, rtol=1e-6)


@pytest.mark.parametrize("rule", ["fixed-point", "gradient"])
def test_learned_prior_comes_near_the_truth(rule):
    """The sum of its entries within a factor of two, from topics that were learned before."""
    corpus = make_lda_documents(
        800,
        n_features=40,
        n_components=4,
        mean_length=60,
        doc_topic_prior=[0.02, 0.05, 0.1, 0.4],
        random_state=0,
    )
    model = make_model(doc_topic_prior="auto", prior_update=rule, mean_change_tol=1e-4, batch_size=50)
    model.partial_fit(np.ones((1, 40)))
    words = model._state.words
    words.store[:] = corpus.components.T * corpus.data.sum() / 4
    words.totals[:] = words.store.sum(axis=0)
    for _ in range(5):
        model.partial_fit(corpus.data)
    truth = corpus.doc_topic_prior
    assert abs(np.log(model.doc_topic_prior_.sum() / truth.sum())) < np.log(2)
    assert_array_equal(np.argsort(model.doc_topic_prior_), np.argsort(truth))


def test_bars_are_learned_to_near_the_score_of_the_truth():
    """Within 0.15 nats per hidden word of the bars themselves, by the best of three starts."""
    bars, more_bars = make_bars(1000, random_state=0), make_bars(200, random_state=1)
    models = [
        StreamingVariationalLDA(15, doc_topic_prior=0.1, random_state=seed, max_iter=5).fit(bars.data)
        for seed in range(3)
    ]
    model = max(models, key=lambda model: model.score(bars.data))
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.15 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.15 < model.score(more_bars.data) < best + 0.01
