"""HybridHDP with splits and merges: how many topics it ends with, what a move leaves, and what goes on."""

import pickle
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln
from sklearn.base import clone

import sktopic
from sktopic._documents._matrices import DocumentReader
from sktopic._documents._sources import MatrixDocuments
from sktopic._kernels._groups import SweepSettings
from sktopic._state._fields import array_fields, changed
from sktopic._topics._word_counts import WordCounts
from sktopic._training import _minibatches
from sktopic.datasets import make_bars
from sktopic.hdp import HybridHDP, _kept_topics
from sktopic.hdp._corpus_chain import CorpusChain
from sktopic.hdp._hybrid_topics import divided_columns
from sktopic.hdp._restaurants import SAMPLERS
from sktopic.hdp._split_merge_topics import MOVE_WORK
from sktopic.hdp._window import TopicTokens, Window
from sktopic.hdp._window_moves import Division, Judge, Others, WindowMoves, WindowTopic

from .conftest import assert_raises, assert_same, assert_same_state, set_attribute, state
from .lda_models import Recorder, batch_of, smoothed, watched
from .lda_models import X as DOCUMENTS
from .test_collapsed_gibbs_hdp import log_joint_by_seating
from .test_interrupt import interrupted


@cache
def bars():
    return make_bars(900, doc_length=60, random_state=0)  # of ten bars


def make_model(n_components=5, **params):
    settings = {"doc_concentration": 1.0, "topic_concentration": 3.0, "max_iter": 4, "batch_size": 100}
    return HybridHDP(n_components, split_merge=True, **{"random_state": 0, **settings, **params})


@pytest.mark.slow
def test_topics_move_after_passes_two_four_eight_and_drop_before_the_last():
    """Before the last pass no topic is split: no pass would be left to settle."""
    X = make_bars(300, doc_length=30, random_state=0).data
    for max_iter, merged, split in ((5, {2, 4}, set()), (11, {2, 4, 8, 10}, {4})):
        model = make_model(30, max_iter=max_iter).fit(X)
        passes = {kind: set() for kind in ("merge", "split", "drop")}
        for kind, other, n_samples in model.move_history_[["kind", "other", "n_samples"]].tolist():
            assert (kind == "drop") == (other == -1)
            passes[kind].add(n_samples / 300)
        assert passes == {"merge": merged, "split": split, "drop": {max_iter - 1}}


@pytest.mark.slow
def test_windows_split_in_all_passes_but_the_last():
    """Learned concentrations let fit train online. The first window is complete in the second pass."""
    for max_iter in (2, 3):
        model = make_model(1, doc_concentration="auto", max_iter=max_iter).fit(bars().data[:200])
        history = model.move_history_
        in_second = history["kind"][(history["n_samples"] >= 200) & (history["n_samples"] < 400)]
        assert ("split" in in_second) == (max_iter == 3)
        assert not np.any(history["kind"][history["n_samples"] >= 200 * (max_iter - 1)] == "split")
    model = make_model(1).partial_fit(bars().data)
    assert "split" in model.move_history_["kind"]
    assert_history_tells_where_topics_are_from(model, {0})


def assert_history_tells_where_topics_are_from(model, start):
    there = set(start)
    for _, kind, topic, other, gain, n_components, elbo in model.move_history_.tolist():
        assert topic in there
        if kind == "split":
            assert other not in there and gain > 0.0
            there.add(other)
        else:
            there.remove(topic if kind == "drop" else other)
        assert n_components == len(there)
        assert np.isnan(elbo)
    assert set(model.topic_ids_) <= there


def watched_chain(monkeypatch, look):
    """Let look(state, chain) be called after each update that samples, and after each pass but the last."""

    def after_update(_, run, chain, *given):
        return look(run.training.state, chain)

    def after_pass(state, method, before, kept, *given):
        return look(state, kept.chain)

    watched(monkeypatch, _kept_topics, "sample_batch", after_update)
    watched(monkeypatch, _kept_topics, "after_pass", after_pass)


def test_training_starts_with_as_many_topics_as_the_prior_expects(monkeypatch):
    found, X = [], bars().data[:300]
    watched_chain(monkeypatch, lambda state, chain: found.append(state.words.n_topics))
    for n_components in (1, 40):
        make_model(n_components, max_iter=2).fit(X)
    tables = 300 * (digamma(1.0 + 60) - digamma(1.0))  # of documents of concentration 1
    assert found[0] == int(3.0 * (digamma(3.0 + tables) - digamma(3.0))) == 18
    assert 40 in found


def test_tokens_keep_their_topics_up_to_a_number_of_them(monkeypatch):
    """Counts below one are tokens, too."""
    X = csr_array([[2.0, 0.25], [0.0, 3.0], [0.0, 0.0]])
    for n_left in (0, 1):
        monkeypatch.setattr(_kept_topics, "MOST_TOKENS", 6.0 - n_left)
        assert _kept_topics.can_be_kept(MatrixDocuments(X)) == (n_left == 0)
        assert not _kept_topics.can_be_kept(MatrixDocuments(0.0 * X))


@pytest.mark.skipif(not hasattr(HybridHDP, "set_callbacks"), reason="scikit-learn < 1.9 has no callbacks")
def test_training_is_online_after_a_first_pass_that_a_callback_ends(monkeypatch):
    def look(result, run, reader, rows, update):
        return update.is_first_visit, update.earlier_share

    updates = watched(monkeypatch, _minibatches, "train_on_batch", look)
    model = make_model(max_iter=2).set_callbacks(Recorder(stop_after=("update", 0)))
    model.fit(bars().data[:300])
    assert (model.n_iter_, model.n_batch_iter_, model.n_samples_seen_) == (2, 2, 200)
    assert updates == [(False, 1.0)]


@pytest.mark.slow
def test_what_is_stored_are_the_last_draws_of_all_tokens(monkeypatch):
    n_looks, X = [], bars().data[:300]
    word = np.repeat(X.indices, X.data.astype(int))

    def look(state, chain):
        n = len(chain.tables)
        counts, tables = np.zeros((X.shape[1], n)), np.zeros(n)
        np.add.at(counts, (word, chain.z), 1.0)
        assert_array_equal(state.words.store, counts)
        assert_array_equal(state.words.totals, counts.sum(axis=0))
        assert_allclose(state.root.tables * 300, chain.tables, rtol=1e-12)
        in_documents = np.zeros((2, 300, n))
        np.add.at(in_documents[0], (np.arange(300).repeat(60), chain.z), 1)
        for d, (first, n_entries) in enumerate(zip(chain.documents.clump_indptr, chain.lists.n_entries)):
            entries = chain.lists.entries[first : first + n_entries]
            in_documents[1, d, entries["topic"]] = entries["clumps"]
            tables += np.bincount(entries["topic"], entries["tables"], n)
        assert_array_equal(in_documents[0], in_documents[1])
        assert_array_equal(tables, chain.tables)
        history = state.move_history
        if n_looks and len(history) > n_looks[-1]:
            changes = np.where(history["kind"] == "split", 1, -1)[n_looks[-1] + 1 :]
            assert_array_equal(np.diff(history["n_components"][n_looks[-1] :]), changes)
            assert history["n_components"][-1] == len(state.in_use)
        n_looks.append(len(history))

    watched_chain(monkeypatch, look)
    monkeypatch.setattr(_kept_topics, "SAMPLED_TOGETHER", 6000)  # a third of the tokens
    make_model(3, max_iter=5).fit(X)
    assert n_looks[-1] > n_looks[0] and len(n_looks) == 4 * 3 + 4


@pytest.mark.slow
def test_an_update_that_moves_topics_is_undone(monkeypatch):
    """It is long, so Ctrl-C does not wait; training goes on as if it had not begun."""
    monkeypatch.setattr(_minibatches, "LONG_WORK", 250 * MOVE_WORK)
    expected, model = (make_model(batch_size=50, total_samples=900) for _ in range(2))
    X, place = bars().data[:800], "sktopic.hdp._split_merge_topics:SplitMergeTopics._moved"
    interrupted(monkeypatch, place, lambda: model.partial_fit(X), call=2)
    assert model.n_batch_iter_ == 15  # of 16
    model.partial_fit(X[50 * model.n_batch_iter_ :])
    expected.partial_fit(X)
    assert_array_equal(model.components_, expected.components_)
    assert_same(model.move_history_, expected.move_history_)


def test_a_visit_that_is_stopped_is_undone(monkeypatch):
    """Where the global step is long, that is: Ctrl-C waits for a short one."""
    model, X = make_model(30, max_iter=8), bars().data[:200]
    states = watched(monkeypatch, CorpusChain, "visit", lambda *_: state(model))
    monkeypatch.setattr(_kept_topics, "LONG_WORK", 0)
    # The sixth visit brings no new topics: words change in place.
    interrupted(monkeypatch, "sktopic.hdp._corpus_chain:CorpusChain.take", lambda: model.fit(X), call=6)
    assert len(states) == 6
    assert_same_state(state(model), states[-1])
    assert model.transform(X).shape == (200, model.n_components_)


def test_what_fit_ends_with_fits_together():
    """Where the last visits have found no topic, and no column was added, too."""
    for X, n_components, params in (
        (csr_array(np.full((12, 1), 3.0)), 6, {"topic_concentration": 2.0}),
        (bars().data[:100] * 0.3, 5, {"early_stopping": True}),
        (bars().data[:20], 2, {"topic_concentration": 1e-9}),  # no topic is born
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
        *[("n_documents", 3), ("n_documents", 10_000), ("n_tokens", 1_000_000), ("target", None)],
    ):
        model = pickle.loads(stored)
        part = getattr(model._state.window, name)
        if np.ndim(part):
            part[0] = value
        else:
            set_attribute(model, f"_state.window.{name}", value)
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
B0, B1, ETA = 1.5, 0.8, 0.5
SETTINGS = SweepSettings(
    sampler=SAMPLERS["table_indicator"],
    common=0,
    topic_concentration=B0,
    doc_concentration=B1,
    topic_word_prior=ETA,
    n_features=3,
)


@pytest.mark.law
def test_a_document_is_drawn_from_its_conditional_given_all_others():
    chain, statistics = CorpusChain(SMALL), WordCounts.empty(3, 40)
    chain.z[:] = [0, 0, 0, 1, 1, 1, 1, 1, 0, 1]
    chain.seat(np.full(40, 0.1), 0)
    statistics.store[:] = chain.counts(3, 40)
    statistics.totals[:] = statistics.store.sum(axis=0)
    own = chain.lists.entries[chain.documents.clump_indptr[2] :][: chain.lists.n_entries[2]]
    others = chain.tables[:2] - np.bincount(own["topic"], own["tables"], 2)
    counts = statistics.store[:, :2].copy()
    counts[[0, 1], chain.z[-2:]] -= 1.0
    rows, found, n = np.array([2]), Counter(), 3000  # shares off by three hundredths are seen
    batch = DocumentReader(SMALL).batch(rows)
    for key in range(n):
        before = [part.tobytes() for part in (chain.z, chain.tables, *chain.lists)]
        visit = chain.visit(batch, rows, statistics, SETTINGS, n_sweeps=2, key=key)
        assert before == [part.tobytes() for part in (chain.z, chain.tables, *chain.lists)]
        chain.take(visit)
        statistics.store[visit.words], statistics.totals[:] = visit.topics.counts, visit.topics.totals
        first, second = visit.z.tolist()
        found[min(first, 2), min(second, 2), first == second] += 1
    expected = pair_probabilities(counts, others)
    for pair, p in expected.items():
        assert found[pair] / n == pytest.approx(p, abs=0.025)
    assert found.keys() <= expected.keys()


def pair_probabilities(counts, tables):
    """Of topics of words 0 and 1 of a document (2 is a new one), and whether both are the same."""
    found, word = Counter(), np.column_stack([counts, np.zeros((3, 2))]) + ETA
    root = np.concatenate([tables, [B0]]) / (tables.sum() + B0)
    for first in range(3):
        p = root[first] * word[0, first] / word[:, first].sum()
        after = word.copy()
        after[0, first] += 1.0
        likelihood = after[1] / after.sum(axis=0)  # the last column: another new topic
        found[first, first, True] += p / (1.0 + B1) * likelihood[first]
        opened = np.concatenate([tables, [0.0, B0]]) + (np.arange(4) == first)
        for second, q in enumerate(B1 / (1.0 + B1) * opened / opened.sum() * likelihood):
            found[first, min(second, 2), first == second] += p * q
    total = sum(found.values())
    return {pair: p / total for pair, p in found.items() if p > 0.0}


def test_the_joint_probability_of_a_chain_is_that_of_its_seating():
    chain, rng = CorpusChain(DOCUMENTS[:12]), np.random.default_rng(0)
    chain.z[:] = rng.integers(0, 4, len(chain.z))
    chain.seat(np.full(5, 0.5), 0)
    places = [slice(a, a + n) for a, n in zip(chain.documents.clump_indptr, chain.lists.n_entries)]
    entries = [chain.lists.entries[each] for each in places]
    seated = {(d, entry["topic"]): entry["tables"] for d, each in enumerate(entries) for entry in each}
    assert chain.tables.sum() == sum(seated.values()) > len(seated)
    document, word = np.repeat(np.arange(12), chain.lengths()), chain.window().word
    expected = log_joint_by_seating(document, word, chain.z, seated, ETA, B0, B1, 25)
    found = chain.log_joint(chain.counts(25, 5), SETTINGS._replace(n_features=25))
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_streams_give_the_same_as_fit_and_batch_mates_do_not_matter(tmp_path):
    X, settings = bars().data[:500], {"shuffle": False, "max_iter": 1, "total_samples": 500}
    whole = make_model(**settings).fit(X)
    part = make_model(n_jobs=2, **settings)
    part.partial_fit(X[:200]).save(tmp_path / "model")
    loaded = sktopic.load(tmp_path / "model").partial_fit(X[200:400])  # in the middle of a window
    loaded.partial_fit(X[400:])
    assert len(whole.move_history_) > 3
    assert_array_equal(loaded.components_, whole.components_)
    assert_same(loaded.move_history_, whole.move_history_)


def test_a_division_keeps_the_sums_of_what_is_stored():
    state, rng = make_model(30, max_iter=1).fit(bars().data[:100])._state, np.random.default_rng(0)
    n, topics = state.words.n_topics, np.array([4, 1, 4])
    division = Division(topics, np.array([0.5, 0.2, 0.3]), 0.4 * rng.random((25, 3)))
    after = divided_columns(state, division)
    assert after.words.n_topics == n + 3
    assert_array_equal(after.ids, [*state.ids, *(state.next_id + np.arange(3))])
    for found, before, shares in (
        (after.words.store, state.words.store, division.of_words),
        (after.root.tables, state.root.tables, division.shares),
    ):
        assert_allclose(found[..., n:], before[..., topics] * shares, rtol=1e-12)
        assert_allclose(found.sum(axis=-1), before.sum(axis=-1), rtol=1e-12)
        assert found.min() >= 0.0
    assert_allclose(after.words.totals, after.words.store.sum(axis=0), rtol=1e-12)


def tokens_of(word, document, document_weight=None):
    """TopicTokens of size 1; documents ascend."""
    document_weight = np.ones(document.max() + 1) if document_weight is None else document_weight
    n = len(word)
    return TopicTokens(word.astype(np.int32), np.ones(n), document, document_weight, np.arange(n))


def test_a_split_is_divided_as_its_tokens_in_the_window_are():
    """The smaller part is the new topic."""
    document = np.repeat(np.arange(40), 10)
    word = np.where(document < 16, np.arange(400) % 3, 3 + np.arange(400) % 2)
    tokens = tokens_of(word, document)
    moves = WindowMoves([tokens], np.array([1.0]), np.array([True]), Judge(1.0, 0.1, 6), 0)
    moves.split()
    division = moves.division()
    share, of_words = division.shares, division.of_words
    assert_array_equal(division.topics, [0])
    part = np.bincount(moves.topics[1].tokens.word, minlength=6)
    assert_array_equal(part > 0, [True, True, True, False, False, False])
    all_words = np.bincount(word, minlength=6)
    assert_allclose(of_words[:, 0], (part + share) / (all_words + 1.0), rtol=1e-12)
    # A word that is not there is divided by the shares under which the documents are most probable.
    assert of_words[5, 0] == share[0] == pytest.approx(0.3307, abs=0.002)


def test_two_topics_of_the_same_words_become_one_and_a_split_is_the_reverse():
    rng = np.random.default_rng(0)
    document, side = np.repeat(np.arange(60), 8), rng.integers(0, 2, 480).astype(bool)
    tokens = tokens_of(rng.integers(0, 20, 480), document)
    parts = [tokens.part(side), tokens.part(~side)]
    moves = WindowMoves(parts, np.array([0.5, 0.5]), np.ones(2, dtype=bool), Judge(1.0, 0.1, 20), 0)
    moves.merge()
    assert [move[0] for move in moves.made] == ["merge"]
    moves.split()
    assert len(moves.made) == 1  # nothing is found


def test_topics_are_compared_with_the_two_that_explain_their_words_best():
    """By probabilities: 2000 tokens do not explain more than 8."""
    counts = np.random.default_rng(0).integers(1, 9, (6, 4)) * [[1], [250], [1], [20], [5], [80]]
    topics = [tokens_of(np.repeat(np.arange(4), row), np.zeros(row.sum(), dtype=int)) for row in counts]
    phi, expected = smoothed(counts, 0.3), set()
    for k, row in enumerate(counts):
        others = sorted(set(range(6)) - {k}, key=lambda j: -(row * np.log(phi[j])).sum())
        expected |= {(min(k, j), max(k, j)) for j in others[:2]}
    assert Judge(1.0, 0.3, 4).candidates(topics) == sorted(expected)


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
    """The definition, token by token; afterwards each token is where it is most probable."""
    rng, eta, n_features = np.random.default_rng(3), 0.3, 7
    weight, prior = rng.integers(1, 4, 5).astype(float), np.array([0.5, 1.5, 0.8])
    topics = []
    for a in prior:
        document = np.sort(rng.integers(0, 5, 12))
        tokens = tokens_of(rng.integers(0, n_features, 12), document, weight)
        topics.append(WindowTopic(0, 1.0, a, replace(tokens, size=rng.uniform(0.5, 2.0, 12))))
    judge = Judge(2.0, eta, n_features)
    others = Others(dict(zip("abc", topics)), judge)
    in_document, of_word = np.zeros((5, 3)), np.full((n_features, 3), eta)
    for k, topic in enumerate(topics):
        for word, size, document in zip(topic.tokens.word, topic.tokens.size, topic.tokens.document):
            in_document[document, k] += size
            of_word[word, k] += size * weight[document]
    phi, k, left = of_word / of_word.sum(axis=0), 1, [0, 2]
    gain = judge.log_alone(topics[k].tokens, np.count_nonzero(in_document), prior.sum())
    mass, total = in_document + prior, of_word[:, k].sum()
    for j, topic in enumerate(topics):
        for word, size, document in zip(topic.tokens.word, topic.tokens.size, topic.tokens.document):
            is_own, n = j == k, size * weight[document]
            if is_own or in_document[document, k]:
                elsewhere = (in_document[document] + prior)[left] @ phi[word, left]
                own = size * is_own
                here = prior[k] + in_document[document, k] - own
                here *= (of_word[word, k] - n * is_own) / (total - n * is_own)
                gain += n * np.log((here + elsewhere) / (here if is_own else elsewhere))
            if is_own:
                share = mass[document, left] * phi[word, left]
                gain -= n * np.log(share.sum())
                mass[document, left] += size * share / share.sum()
    assert others.gain_of("b") == pytest.approx(gain, rel=1e-12)
    others.drop("b")
    own = topics[k].tokens
    best = ((in_document + prior)[own.document][:, left] * phi[own.word][:, left]).argmax(axis=1)
    assert_array_equal(others.nearest(own), np.array(["a", "c"])[best])


def test_frozen_topics_are_not_moved_and_edits_begin_a_new_window():
    model = make_model(20, max_iter=1).fit(bars().data[:300])
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
    """Documents that count twice are the same documents there twice."""
    rng = np.random.default_rng(2)
    document, word = np.sort(rng.integers(0, 8, 50)), rng.integers(0, 12, 50)
    tokens = tokens_of(word, document, np.full(8, 2.0))
    twice = tokens_of(np.tile(word, 2), np.append(document, document + 8))
    side, judge = (np.arange(50) % 3 == 0).astype(np.int8), Judge(1.5, 0.2, 12)
    ratio = judge(tokens, side.copy(), 1.2, 0.4, 0, 0)[1]
    assert ratio == pytest.approx(judge(twice, np.tile(side, 2), 1.2, 0.4, 0, 0)[1], rel=1e-12)
    assert judge.log_alone(tokens, 70.0, 2.0) == pytest.approx(judge.log_alone(twice, 70.0, 2.0), abs=1e-8)


def test_options_without_moves_are_refused():
    """Nor weights: copies would have topics of their own, which a weight cannot stand for."""
    X = bars().data[:100]
    for params, message in (
        ({"sampler": "table_indicator"}, "must be 'collapsed'"),
        ({"topic_word_prior": 0.0}, "must be above 0"),
    ):
        assert_raises(ValueError, message, make_model(**params).fit, X)
    with pytest.raises(ValueError, match="not support lanes"):
        make_model()._check_lanes()
    model = make_model(max_iter=2).fit(X)
    before = state(model)
    for call in (model.fit, model.partial_fit, clone(model).partial_fit):
        with pytest.raises(ValueError, match="sample_weight must be None with split_merge=True"):
            call(X, sample_weight=np.full(100, 2.0))
    assert_same_state(state(model), before)


def test_moves_can_be_switched_off_where_the_number_of_topics_is_the_same():
    model = make_model(20, max_iter=1).fit(bars().data[:200])
    model.set_params(split_merge=False, n_components=model._state.words.n_topics)
    moves = model.move_history_.copy()
    model.partial_fit(bars().data[:200])
    assert_same(model.move_history_, moves)
