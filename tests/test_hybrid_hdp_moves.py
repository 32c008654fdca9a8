"""HybridHDP with merges and drops: how many topics it ends with, what a move leaves, and what goes on."""

import copy
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import gammaln

import sktopic
from sktopic._documents._sources import MatrixDocuments
from sktopic._kernels.hdp._topic_sides import compare_topics
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import array_fields, changed
from sktopic._training import _minibatches
from sktopic.datasets import make_bars
from sktopic.hdp import HybridHDP, _split_merge_topics
from sktopic.hdp._split_merge_topics import MOVE_WORK, SplitMergeTopics, enough_topics
from sktopic.hdp._window import TopicTokens, Window, joined
from sktopic.hdp._window_moves import Judge, Others, Similarities, WindowMoves, WindowTopic

from .conftest import assert_raises, assert_same, set_attribute
from .lda_models import batch_of, smoothed, watched
from .reference.other_topics import compare_with_others
from .test_interrupt import interrupted


@cache
def bars():
    return make_bars(900, doc_length=60, random_state=0)  # of ten bars


def make_model(n_components=5, **params):
    settings = {"doc_concentration": 1.0, "topic_concentration": 3.0, "max_iter": 4, "batch_size": 100}
    return HybridHDP(n_components, split_merge=True, **{"random_state": 0, **settings, **params})


def places(model):
    """The numbers of documents after which topics moved."""
    return np.unique(model.move_history_["n_samples"]).tolist()


@pytest.mark.slow
def test_topics_move_at_the_end_of_passes_one_and_four():
    """The history notes documents before the batch that moved topics."""
    X = bars().data[:400]
    assert places(make_model(max_iter=5).fit(X)) == [300, 1500]
    assert places(make_model(max_iter=2).fit(X)) == [300]
    assert places(make_model(max_iter=2, total_samples=3000).fit(X)) == [300]
    assert places(make_model(max_iter=5, batch_size=50).fit(X[:49])) == [49]  # the first batch is random


@pytest.mark.slow
def test_topics_of_streams_move_more_and_more_rarely_unless_documents_are_forgotten(monkeypatch):
    X = bars().data[np.tile(np.arange(900), 5)]
    many = {"n_components": 60, "batch_size": 50}
    assert places(make_model(**many).partial_fit(X)) == [200, 950, 3950]
    stream = make_model(**many, total_samples=600).partial_fit(X[:1500])
    assert places(stream) == [550, 1150]
    monkeypatch.setattr(_split_merge_topics, "MOST_TOKENS", 6000)  # of 100 documents
    assert places(make_model(**many, total_samples=900).partial_fit(X[:900])) == [850]  # of the last ones
    assert_history_tells_where_topics_are_from(stream)


@pytest.mark.parametrize("fractions", [{"counts": 0.01}, {"weight": 0.01}])
def test_fractions_of_tokens_and_documents_do_not_enlarge_the_window(monkeypatch, fractions):
    monkeypatch.setattr(_split_merge_topics, "MOST_TOKENS", 3000)
    sizes = watched(monkeypatch, Window, "with_batch", lambda window, *_: window.n_tokens)
    X, weight = bars().data * fractions.get("counts", 1.0), np.full(900, fractions.get("weight", 1.0))
    make_model(batch_size=50, max_iter=1).fit(X, sample_weight=weight)
    assert 1000 < max(sizes) <= 3000 + 50 * 60


def test_the_range_of_the_number_of_topics_begins_anew_with_moves(monkeypatch):
    numbers = watched(monkeypatch, SplitMergeTopics, "absorb", lambda after, *_: len(after.in_use))
    model = make_model(max_iter=2, batch_size=50).fit(bars().data[:300])
    assert len(numbers) == 12
    last = numbers[5:]  # moves are made in the sixth update, the last one of the first pass
    assert_array_equal(model.n_components_range_, [min(last), max(last)])
    assert max(numbers[:5]) > max(last)
    with pytest.raises(AttributeError, match="only split_merge=True computes it"):
        make_model(max_iter=1).set_params(split_merge=False).fit(SMALL).n_components_range_  # noqa: B018


def test_the_history_of_fit_tells_which_topics_are_there():
    assert_history_tells_where_topics_are_from(make_model(max_iter=2).fit(bars().data[:300]))


def assert_history_tells_where_topics_are_from(model):
    gone = set()
    for _, kind, topic, other, gain, _, elbo in model.move_history_.tolist():
        assert kind in ("merge", "drop") and (kind == "drop") == (other == -1)
        assert not gone & {topic, other}
        gone.add(topic if kind == "drop" else other)
        assert gain >= 0.0 and np.isnan(elbo)
    assert gone and not gone & set(model.topic_ids_)
    numbers = model.move_history_["n_components"]
    for n_samples in places(model):
        assert np.all(np.diff(numbers[model.move_history_["n_samples"] == n_samples]) == -1)


def test_fit_begins_with_more_topics_than_a_corpus_supports():
    """Their number does not depend on n_components."""
    X = bars().data[:400]
    assert enough_topics(MatrixDocuments(X)) == np.ceil(0.7 * np.sqrt(X.sum())) == 109
    few, many = (make_model(n, max_iter=2).fit(X) for n in (1, 130))
    assert few._state.words.n_topics == 109
    assert_array_equal(few.components_, many.components_)
    assert_same(few.move_history_, many.move_history_)


def test_large_counts_and_weights_do_not_raise_the_number_of_topics_at_the_start():
    """An entry counts as ten tokens at most, on average. Duplicates are one entry."""
    X, weights = csr_array(np.full((30, 40), 9.0)), np.full(30, 1e6)
    most = np.ceil(0.7 * np.sqrt(10 * 1200))
    assert enough_topics(MatrixDocuments(X)) == np.ceil(0.7 * np.sqrt(9 * 1200)) < most
    halves = csr_array((np.full(2400, 5e8), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    weighted = MatrixDocuments(X).weighted(weights)
    for documents in (weighted, MatrixDocuments(X * 1e6), MatrixDocuments(halves)):
        assert enough_topics(documents) == most
    assert enough_topics(MatrixDocuments(csr_array(np.full((600, 600), 9.0)))) == 1000
    assert enough_topics(MatrixDocuments(csr_array((3, 4)))) == 1


def test_fit_begins_with_all_given_topics():
    given = np.random.default_rng(0).dirichlet(np.ones(3), 7)
    model = make_model(10, components_init=given, max_iter=1).fit(SMALL)
    assert enough_topics(MatrixDocuments(SMALL)) == 3
    assert model._state.words.n_topics == 7


@pytest.mark.slow
def test_an_update_that_moves_topics_is_undone(monkeypatch):
    """It is long, so Ctrl-C does not wait; training goes on as if it had not begun."""
    monkeypatch.setattr(_minibatches, "LONG_WORK", 250 * MOVE_WORK)
    expected, model = (make_model(40, batch_size=50, total_samples=400) for _ in range(2))
    X, place = bars().data[:800], "sktopic.hdp._split_merge_topics:SplitMergeTopics._moved"
    interrupted(monkeypatch, place, lambda: model.partial_fit(X), call=2)
    assert model.n_batch_iter_ == 15  # of 16
    model.partial_fit(X[50 * model.n_batch_iter_ :])
    expected.partial_fit(X)
    assert_array_equal(model.components_, expected.components_)
    assert_same(model.move_history_, expected.move_history_)


def test_what_fit_ends_with_fits_together():
    for X, n_components, params in (
        (csr_array(np.full((12, 1), 3.0)), 6, {"topic_concentration": 2.0}),
        (bars().data[:100] * 0.3, 5, {"early_stopping": True}),
        (bars().data[:20], 2, {"topic_concentration": 1e-9}),  # no topic is born
        (csr_array((30, 4)), 2, {}),
    ):
        model = make_model(n_components, **params).fit(X)
        assert len(model.components_) == model.n_components_
        assert model._state.words.store.min() >= 0.0 and model._state.words.totals.min() >= 0.0
        total = model.total_samples_
        assert model.partial_fit(X).total_samples_ == total + X.shape[0]


def test_damaged_windows_are_refused():
    stored = pickle.dumps(make_model(20).partial_fit(bars().data[:200]))
    wrong = "the topics of the documents seen last do not fit|the window of documents exceeds its capacity"
    for name, value in (
        *[("word", 25), ("word", -1), ("topic", 10_000), ("size", np.nan), ("length", 7)],
        *[("n_documents", 3), ("n_documents", 10_000), ("n_tokens", 1_000_000), ("last_moves", None)],
    ):
        model = pickle.loads(stored)
        part = getattr(model._state.window, name)
        wrong_part = np.append(value, part[1:]).astype(part.dtype) if np.ndim(part) else value
        set_attribute(model, f"_state.window.{name}", wrong_part)
        new = bars().data[200:]
        assert_raises(
            ValueError, f"damaged: ({wrong}|a part of the window)", model.partial_fit, new, case=(name, value)
        )


def test_windows_grow_in_their_arrays_unless_these_are_read_only():
    batch, topic = batch_of(SMALL[:2]), np.arange(8, dtype=np.int32)
    window = Window.empty(9.0).with_batch(batch, topic)
    names = array_fields(Window)
    mapped = {name: getattr(window, name).copy() for name in names}
    for array in mapped.values():
        array.flags.writeable = False
    after, apart = (each.with_batch(batch, topic) for each in (window, changed(window, **mapped)))
    for name in names:
        n = 8 if len(mapped[name]) == 16 else 2
        assert getattr(after, name) is getattr(window, name)
        assert_array_equal(getattr(apart, name)[: 2 * n], np.tile(mapped[name][:n], 2))
    assert_raises(TypeError, r"Window has no fields \['words'\]", changed, window, words=mapped["word"])


SMALL = csr_array(np.array([[3.0, 0, 1], [0, 2, 2], [1, 1, 0]]))


@pytest.mark.slow
def test_streams_give_the_same_as_fit_and_batch_mates_do_not_matter(tmp_path):
    X, settings = bars().data[:500], {"shuffle": False, "max_iter": 1, "total_samples": 500}
    whole = make_model(**settings).fit(X)
    part = make_model(enough_topics(MatrixDocuments(X)), n_jobs=2, **settings)
    part.partial_fit(X[:200]).save(tmp_path / "model")
    loaded = sktopic.load(tmp_path / "model").partial_fit(X[200:400])  # in the middle of a window
    loaded.partial_fit(X[400:])
    assert len(whole.move_history_) > 3
    assert_array_equal(loaded.components_, whole.components_)
    assert_same(loaded.move_history_, whole.move_history_)


def tokens_of(word, document, sample_weight=None):
    """TopicTokens of size 1; documents ascend."""
    sample_weight = np.ones(document.max() + 1) if sample_weight is None else sample_weight
    return TopicTokens(word.astype(np.int32), np.ones(len(word)), document, sample_weight)


def test_moves_are_the_same_with_several_threads():
    one, two = (make_model(max_iter=2, n_jobs=n).fit(bars().data[:300]) for n in (1, 2))
    assert_same(one.move_history_, two.move_history_)
    assert_array_equal(one.components_, two.components_)


def test_two_topics_of_the_same_words_become_one_and_others_stay():
    rng = np.random.default_rng(0)
    document = np.repeat(np.arange(60), 8)
    side = document % 2 == 0
    for word, n_merges in ((rng.integers(0, 20, 480), 1), (rng.integers(0, 10, 480) + 10 * side, 0)):
        tokens = tokens_of(word, document)
        parts = [tokens.part(side), tokens.part(~side)]
        prior, movable, judge = np.array([0.5, 0.5]), np.ones(2, dtype=bool), Judge(1.0, 0.1, 20)
        moves = WindowMoves(parts, prior, movable, judge, Workers())
        moves.merge()
        moves.drop()
        assert [move[0] for move in moves.made] == ["merge"] * n_merges
        assert moves.edit().n_left == 2 - n_merges


def test_topics_are_compared_with_the_two_that_explain_their_words_best():
    """By probabilities: 2000 tokens do not explain more than 8."""
    counts = np.random.default_rng(0).integers(1, 9, (6, 4)) * [[1], [250], [1], [20], [5], [80]]
    topics = [tokens_of(np.repeat(np.arange(4), row), np.zeros(row.sum(), dtype=int)) for row in counts]
    judge = Judge(1.0, 0.3, 4)
    similarities = Similarities(topics, judge)
    assert similarities.candidates() == nearest_in_words(counts)
    similarities.unite([3, 0], [1, 5])
    united = counts[[0, 2, 3, 4]] + [counts[5], [0] * 4, counts[1], [0] * 4]
    left = np.array([0, 2, 3, 4])
    expected = [(left[a], left[b]) for a, b in nearest_in_words(united)]
    assert similarities.candidates() == expected


def nearest_in_words(counts):
    """Pairs of topics, one of which is among the two that explain the words of the other best."""
    phi, pairs = smoothed(counts, 0.3), set()
    for k, row in enumerate(counts):
        others = sorted(set(range(len(counts))) - {k}, key=lambda j: -(row * np.log(phi[j])).sum())
        pairs |= {(min(k, j), max(k, j)) for j in others[:2]}
    return sorted(pairs)


def test_a_topic_alone_is_judged_by_its_full_likelihood():
    rng = np.random.default_rng(1)
    document = np.sort(rng.integers(0, 6, 30))
    tokens = tokens_of(rng.integers(0, 9, 30), document)
    b0, eta, n_tables, b1 = 2.0, 0.3, 50.0, 4.0
    words, lengths = np.bincount(tokens.word, minlength=9), np.unique(document, return_counts=True)[1]
    a = b1 * len(lengths) / (b0 + n_tables)
    expected = np.log(b0) + 0.5 * np.log(2 * np.pi / len(lengths))
    expected += (gammaln(a + lengths) - gammaln(a)).sum()
    expected += gammaln(eta + words).sum() - 9 * gammaln(eta) + gammaln(9 * eta) - gammaln(9 * eta + 30)
    assert Judge(b0, eta, 9).log_alone(tokens, n_tables, b1) == pytest.approx(expected, abs=1e-8)


def test_a_dropped_topic_loses_what_its_tokens_gain_elsewhere_one_by_one():
    """As in the reference, which goes token by token."""
    rng, eta, n_features = np.random.default_rng(3), 0.3, 7
    weight, prior = rng.integers(1, 4, 5).astype(float), np.array([0.5, 1.5, 0.8])
    topics = []
    for a in prior:
        document = np.sort(rng.integers(0, 5, 12))
        tokens = tokens_of(rng.integers(0, n_features, 12), document, weight)
        topics.append(WindowTopic(a, replace(tokens, size=rng.uniform(0.5, 2.0, 12))))
    judge = Judge(2.0, eta, n_features)
    others = Others(dict(zip("abc", topics)), judge, Workers())
    of_all, topic = joined([topic.tokens for topic in topics])
    given = of_all.document, of_all.word, topic, of_all.size, weight
    of_word = np.full((n_features, 3), eta)
    np.add.at(of_word, (of_all.word, topic), of_all.weights())
    n_tables = weight @ [len(np.unique(topic[of_all.document == j])) for j in range(5)]
    gain = judge.log_alone(topics[1].tokens, n_tables, prior.sum())
    there, phi = np.array([True, False, True]), of_word / of_word.sum(axis=0)
    gain += compare_with_others(*given, 1, prior, there, phi, eta)
    assert others.gain_of("b") == pytest.approx(gain, rel=1e-12)


def test_a_topic_of_documents_without_weight_is_never_better_alone():
    judge, weights = Judge(2.0, 0.3, 7), np.array([1.0, 1.0, 0.0])
    topics = [
        WindowTopic(0.5, tokens_of(np.arange(4), np.full(4, document), weights)) for document in range(3)
    ]
    assert judge(topics[0], topics[1]) > -np.inf
    assert judge(topics[0], topics[2]) == judge(topics[2], topics[0]) == -np.inf


def test_frozen_topics_are_not_moved_and_edits_begin_a_new_window():
    model = make_model(20).partial_fit(bars().data[:200])
    assert model._state.window.n_tokens > 0
    model.freeze_topics([0, 1])
    frozen, identities = model.components_[:2].copy(), model.topic_ids_[:2].copy()
    model.merge_topics([[2, 3]])
    assert model._state.window.n_tokens == 0
    n_before = len(model.move_history_)
    model.partial_fit(bars().data[:500])
    assert len(model.move_history_) > n_before
    rows = [list(model.topic_ids_).index(identity) for identity in identities]
    assert_array_equal(model.components_[rows], frozen)


def test_documents_count_as_often_as_they_weigh():
    """Documents that count twice are the same documents there twice, whatever is left out of one of them."""
    rng = np.random.default_rng(2)
    document, word = np.sort(rng.integers(0, 8, 50)), rng.integers(0, 12, 50)
    tokens = tokens_of(word, document, np.full(8, 2.0))
    twice = tokens_of(np.tile(word, 2), np.append(document, document + 8))
    side, judge = np.arange(50) % 3 == 0, Judge(1.5, 0.2, 12)
    some, more = (
        compare_topics(*(each.part(sides == s).by_document for s in (0, 1)), 1.2, 0.4, 0.2, 12)
        for each, sides in ((tokens, side), (twice, np.tile(side, 2)))
    )
    assert_allclose([*some[:2], *some[2]], [*more[:2], *more[2]], rtol=1e-12)
    assert judge.log_alone(tokens, 70.0, 2.0) == pytest.approx(judge.log_alone(twice, 70.0, 2.0), abs=1e-8)
    topic = rng.integers(0, 3, 50)
    gains = [
        Others({k: WindowTopic(0.5, each.part(topics == k)) for k in range(3)}, judge, Workers()).gain_of(1)
        for each, topics in ((tokens, topic), (twice, np.tile(topic, 2)))
    ]
    assert gains[0] == pytest.approx(gains[1], rel=1e-12)


def test_windows_that_stand_for_a_corpus_count_its_tokens_and_tables():
    """A window with each document twice, or one that stands for twice as many, has the same tables."""
    rng = np.random.default_rng(4)
    word, document = rng.integers(0, 12, 50), np.sort(rng.integers(0, 8, 50))
    tokens = replace(tokens_of(word, document), times=2.0)
    twice = tokens_of(np.tile(word, 2), np.append(document, document + 8))
    judge = Judge(1.5, 0.2, 12)
    found = [Others({0: WindowTopic(0.5, each)}, judge, Workers())._n_tables for each in (tokens, twice)]
    assert found == [16.0, 16.0]


def test_options_without_moves_are_refused():
    X = bars().data[:100]
    for params, message in (
        ({"sampler": "table_indicator"}, "must be 'collapsed'"),
        ({"topic_word_prior": 0.0}, "must be above 0"),
        ({"topic_concentration": 1001}, "topic_concentration=1001 is invalid .*: must be at most 1000"),
    ):
        assert_raises(ValueError, message, make_model(**params).fit, X)
    with pytest.raises(ValueError, match="not support lanes"):
        make_model()._check_lanes()


def test_moves_can_be_switched_off_where_the_number_of_topics_is_the_same():
    model = make_model(20, max_iter=1).fit(bars().data[:200])
    moves, moving = model.move_history_.copy(), copy.deepcopy(model)
    model.set_params(split_merge=False, n_components=model._state.words.n_topics)
    assert_same(model.partial_fit(bars().data).move_history_, moves)
    assert len(moving.partial_fit(bars().data).move_history_) > len(moves)


def test_a_model_with_moves_goes_on_with_moves_only():
    model = make_model(max_iter=1).fit(bars().data[:300])
    with pytest.raises(ValueError, match=r"split_merge=False is invalid .* Set split_merge=True"):
        model.set_params(split_merge=False).partial_fit(bars().data[:50])
    model.set_params(split_merge=True).partial_fit(bars().data[:50])
