"""Collapsed Gibbs sampling: exactness, what the counts add up to, and what its traces say."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._documents._matrices import DocumentReader
from sktopic.lda import CollapsedGibbsLDA, _shards
from sktopic.lda._collapsed_method import CollapsedLDA
from sktopic.lda._shards import Shard, TopicLists, TopicRows

from .lda_models import MORE, Recorder, X, smoothed, watched_sweeps
from .reference.collapsed_gibbs import posterior

ETA = 0.1


def make_model(n_components=4, **params):
    settings = {"doc_topic_prior": 0.3, "topic_word_prior": ETA, "n_draws": 1, "evaluate_every": 1}
    return CollapsedGibbsLDA(n_components, **{**settings, "max_iter": 20, "random_state": 0, **params})


@pytest.fixture(params=[TopicRows, TopicLists])
def kept(request, monkeypatch):
    """How documents' topics are kept."""
    monkeypatch.setattr(_shards, "DENSE_TOPICS", 192 if request.param is TopicRows else 0)
    return request.param


def tokens_of(shards):
    """Document (counted over all shards), word and topic of every token of whole counts."""
    parts, first = [], 0
    for shard in shards:
        cell_word, times = np.repeat(shard.words, np.diff(shard.word_indptr)), shard.cell_count.astype(int)
        rows = isinstance(shard.topics, TopicRows)
        document = shard.topics.tokens.document if rows else shard.topics.cells.cell_document.repeat(times)
        parts.append([first + document, cell_word.repeat(times), shard.z])
        first += len(shard.lengths)
    return np.concatenate(parts, axis=1)


# What the counts are


@pytest.mark.parametrize("n_shards", [1, 3, 100])
def test_counts_are_those_of_the_assignments(kept, monkeypatch, n_shards):
    """After every sweep: of the words and topics of the tokens, beside earlier ones, and in documents' lists.

    Beside means of draws, which are no whole numbers, sweeps round sums; at the end tokens are added once.
    """
    before = np.zeros((4, 25))

    def check(state, call):
        document, word, topic = tokens_of(call.shards)
        counts = before.copy()
        np.add.at(counts, (topic, word), 1)
        assert state.words.store.min() >= 0
        assert_allclose(state.words.store.T, counts, rtol=1e-12, atol=1e-12)
        assert_allclose(state.words.totals, state.words.store.sum(axis=0), rtol=1e-12)
        n_documents = sum(len(shard.lengths) for shard in call.shards)
        listed, in_documents, first = np.zeros((n_documents, 4)), np.zeros((n_documents, 4)), 0
        for shard in call.shards:
            assert isinstance(shard.topics, kept) or not len(shard.words)
            where, which, weight = shard.topics.used()
            assert np.all(weight > 0)
            listed[first + where, which] = weight
            first += len(shard.lengths)
        np.add.at(in_documents, (document, topic), 1)
        assert_array_equal(listed, in_documents)
        return counts

    seen = watched_sweeps(monkeypatch, CollapsedLDA, check)
    model = make_model(n_shards=n_shards, max_iter=6).fit(X)
    assert len(seen) == 6
    assert_array_equal(model.topic_word_counts_, seen[-1])
    assert_array_equal(model.topic_word_counts_.sum(axis=0), X.sum(axis=0))
    model.set_params(n_draws=3, thinning=2).fit(X)
    before = model.topic_word_counts_
    assert np.any(before != before.round())
    model.set_params(n_draws=1).partial_fit(MORE)
    assert_array_equal(model.topic_word_counts_, seen[-1])
    assert_allclose(model._state.words.totals, model._state.words.store.sum(axis=0), rtol=1e-14)


@pytest.mark.usefixtures("kept")
def test_shards_are_part_of_the_result():
    counts = [make_model(n_shards=n).fit(X[:3]).topic_word_counts_ for n in (1, 3, 50)]
    assert np.any(counts[0] != counts[1])
    assert_array_equal(counts[1], counts[2])  # as many as documents


@pytest.mark.parametrize(
    ("n_draws", "interval", "kept"), [(3, 5, [10, 15, 20]), (4, 1, [17, 18, 19, 20]), (99, 8, [4, 12, 20])]
)
def test_kept_draws_are_averaged(n_draws, interval, kept):
    """The mean of the counts of chains that end where a sample is kept; as many as there is room for."""
    chains = [make_model(max_iter=max_iter).fit(X).topic_word_counts_ for max_iter in kept]
    model = make_model(n_draws=n_draws, thinning=interval).fit(X)
    assert_allclose(model.topic_word_counts_, np.mean(chains, axis=0), rtol=1e-12, atol=1e-12)
    assert_allclose(model.components_, smoothed(model.topic_word_counts_, ETA), rtol=1e-12)
    # Later documents have averages of their own, on top of these.
    before = model.topic_word_counts_
    added = model.partial_fit(MORE).topic_word_counts_ - before
    assert added.min() > -1e-9
    assert_allclose(added.sum(axis=0), MORE.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("most", [2.0**39 - 1, 1e12 / 3])
def test_counts_beside_huge_ones_are_not_below_zero(monkeypatch, most):
    """Shares of huge counts swallow single tokens, which are then taken out of nothing."""
    counts = np.array([[most, 3e-6], [2e-6, most], [most, most], [1e-6, 1e-6]])
    lowest = watched_sweeps(monkeypatch, CollapsedLDA, lambda state, call: state.words.store.min())
    model = make_model(max_iter=40).fit(counts)
    assert min(lowest) >= 0
    assert_allclose(model.topic_word_counts_.sum(axis=0), counts.sum(axis=0), rtol=1e-12)


# Exactness


def log_joint(document, word, z, alpha, parameters):
    """log p(w, z) of tokens, one after the other as the urns of the model draw them.

    parameters : (n_components, n_features) of topics; counts of earlier documents are part of them
    """
    counts, in_document, total = np.array(parameters), {}, 0.0
    for d, w, k in zip(document, word, z):
        own = in_document.setdefault(d, np.zeros(len(alpha)))
        total += np.log((alpha[k] + own[k]) / (alpha.sum() + own.sum()))
        total += np.log(counts[k, w] / counts[k].sum())
        own[k] += 1
        counts[k, w] += 1
    return total


@pytest.mark.law
def test_one_shard_samples_the_exact_posterior_given_earlier_counts(monkeypatch):
    """Total variation below 0.02 over all tables of counts, from 15 000 sweeps of one chain.

    Independent draws would be off by 0.010 (alone, without the counts of earlier documents: see kernels).
    """
    alpha = np.array([0.2, 1.3])
    model = make_model(2, doc_topic_prior=alpha, topic_word_prior=0.4, evaluate_every=0, max_iter=5)
    before = model.fit(np.array([[1, 0, 3], [2, 2, 0]])).topic_word_counts_

    def look(state, call):
        return (state.words.store - before.T).tobytes()

    seen = watched_sweeps(monkeypatch, CollapsedLDA, look)
    model.set_params(max_iter=15_000).partial_fit(np.array([[2, 1, 0], [0, 1, 1]]))
    # All assignments of the five tokens
    document, word, law = [0, 0, 0, 1, 1], [0, 0, 1, 1, 2], Counter()
    for z, p in zip(*posterior(document, word, 2, 3, alpha, (0.4 + before).T)):
        table = np.zeros((3, 2))
        np.add.at(table, (word, z), 1)
        law[table.tobytes()] += p
    assert len(law) == 3 * 3 * 2
    n, found = len(seen[100:]), Counter(seen[100:])
    assert 0.5 * sum(abs(found[table] / n - law[table]) for table in law | found) < 0.02


# The trace


MATRIX = np.where(np.random.default_rng(0).random((4, 25)) < 0.2, 0.7, ETA)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("n_shards", "beta"), [(1, ETA), (3, MATRIX)], ids=["one shard", "shards, matrix"])
def test_log_likelihood_is_the_joint_of_words_and_topics(monkeypatch, n_shards, beta):
    """By urns, token after token; for later documents given the counts of those before."""
    seen = watched_sweeps(monkeypatch, CollapsedLDA, lambda state, call: tokens_of(call.shards))
    alpha, before = np.array([0.1, 0.2, 0.5, 1.1]), np.zeros((4, 25))
    model = make_model(doc_topic_prior=alpha, topic_word_prior=beta, n_shards=n_shards, max_iter=3)
    # The third time, what was kept is an average.
    for counts, n_draws in ((X, 1), (MORE, 2), (X[:10], 1)):
        model.set_params(n_draws=n_draws, thinning=1).partial_fit(counts)
        expected = [log_joint(*tokens, alpha, beta + before) for tokens in seen]
        assert_allclose(model.log_likelihood_, expected, rtol=1e-10)
        before = model.topic_word_counts_
        seen.clear()


def test_log_likelihood_is_evaluated_as_often_as_asked():
    for every, expected in ((1, 20), (7, 2), (20, 1), (21, 0), (0, 0)):
        assert make_model(evaluate_every=every).fit(X).log_likelihood_.shape == (expected,)
    whole, sparse = make_model().fit(X), make_model(evaluate_every=5).fit(X)
    assert_array_equal(sparse.log_likelihood_, whole.log_likelihood_[4::5])
    assert_array_equal(sparse.topic_word_counts_, whole.topic_word_counts_)


def test_log_likelihood_is_with_the_priors_learned_so_far(monkeypatch):
    """Priors that are given may change between calls, too."""
    seen = watched_sweeps(monkeypatch, CollapsedLDA, lambda state, call: tokens_of(call.shards))
    auto = {"doc_topic_prior": "auto", "topic_word_prior": "auto", "prior_interval": 4}
    model = make_model(max_iter=8, evaluate_every=8, **auto).fit(X)
    expected = log_joint(*seen[-1], model.doc_topic_prior_, np.full((4, 25), model.topic_word_prior_))
    assert_allclose(model.log_likelihood_, [expected], rtol=1e-10)
    model.set_params(doc_topic_prior=0.9, topic_word_prior=0.5).partial_fit(MORE)
    assert_array_equal(model.doc_topic_prior_, np.full(4, 0.9))
    assert_allclose(model.components_, smoothed(model.topic_word_counts_, 0.5), rtol=1e-12)


@pytest.mark.slow
def test_callbacks_see_every_sweep_and_can_stop_the_chain():
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    recorder = Recorder()
    model = make_model().set_callbacks(recorder).fit(X)
    assert_array_equal(model.topic_word_counts_, make_model().fit(X).topic_word_counts_)
    ends = [f"end {task}" for i in range(20) for task in ("update 0", f"epoch {i}")]
    assert [event for event in recorder.events if event.startswith("end")] == [*ends, "end fit 0"]
    assert recorder.scores[-1][0] == model.score(X)
    assert len({score for score, *_ in recorder.scores}) > 10
    # Samples kept before the stop are averaged.
    model = make_model(n_draws=3).set_callbacks(Recorder(stop_after=("epoch", 16))).fit(X)
    assert model.n_iter_ == 17
    chains = [make_model(max_iter=max_iter).fit(X).topic_word_counts_ for max_iter in (10, 15)]
    assert_allclose(model.topic_word_counts_, np.mean(chains, axis=0), rtol=1e-12, atol=1e-12)
    # partial_fit reports to none.
    known = set(vars(model))
    assert model.partial_fit(X).n_iter_ == 20
    assert set(vars(model)) == known


def test_rows_are_kept_where_they_are_exact_and_small():
    def kept_for(X, n_components=5, smallest_ratio=1e-9):
        batch = DocumentReader(X).batch(np.arange(X.shape[0]))
        return type(Shard.of(batch, np.full(n_components, 0.1), smallest_ratio).topics)

    X = sp.csr_array(np.full((3, 40), 2.0))
    assert kept_for(X) is kept_for(X, n_components=64) is TopicRows
    assert kept_for(X, n_components=193) is kept_for(X, smallest_ratio=1e-30) is TopicLists
    assert kept_for(X / 4) is kept_for(X * 2.0**12) is TopicLists  # parts of tokens; 327,680 tokens
    assert kept_for(X[:, :3], n_components=64) is TopicLists  # shorter lists than rows


def test_small_priors_beside_many_tokens_leave_topics_alike():
    """Products that float32 could not hold."""
    model = make_model(doc_topic_prior=1e-12, topic_word_prior=1e-12, max_iter=3, evaluate_every=0)
    model.fit(np.full((200, 60), [1e12] * 10 + [0.0] * 50))
    model.partial_fit(np.eye(50, 60, 10))
    assert np.all(model.topic_word_counts_[:, 10:].sum(axis=1) > 2)
