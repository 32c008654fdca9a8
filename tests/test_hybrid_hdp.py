"""The hybrid HDP: its updates by hand, which topics live and die, what is learned, and what it recovers."""

from dataclasses import replace
from functools import cache

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic import load
from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference import DenseCounts, GibbsStep
from sktopic._runtime._parallel import Workers
from sktopic._topics._word_count_views import expected_counts
from sktopic._topics._word_counts import WordCounts
from sktopic.datasets import make_bars, make_hdp_documents, make_lda_documents
from sktopic.hdp import HybridHDP
from sktopic.hdp._hybrid_topics import HybridTopics
from sktopic.metrics import document_completion

from .conftest import assert_same_state, next_update, state

SAMPLERS = ["collapsed", "sparse_table_indicator", "table_indicator"]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
every_root_weight = pytest.mark.parametrize("root_weight", ["mean", "paper"])
every_revival = pytest.mark.parametrize("reuse_topics", [True, False])

CORPUS = make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0)
SMALL = sp.csr_array(CORPUS.data, dtype=np.float64)


def make_model(n_components=6, **params):
    settings = {
        "topic_word_prior": 0.05,
        "learning_decay": 0.65,
        "learning_offset": 1.0,
        "max_iter": 2,
        "batch_size": 20,
        "doc_burn_in": 4,
        "doc_sweeps": 3,
        "random_state": 0,
    }
    return HybridHDP(n_components, **{**settings, **params})


# Updates by hand


def watched(monkeypatch):
    """The list of what each document step is given and finds: counts, tables and lengths."""
    seen = []
    infer, assigned = HybridTopics.infer, []
    call = GibbsStep.__call__

    def sweep(self, batch, topics, prior, keys, workers, with_prior_statistics=False, assignments=None):
        assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
        assigned.append(assignments)
        return call(self, batch, topics, prior, keys, workers, with_prior_statistics, assignments)

    def step(self, state, batch, keys, update, workers):
        n_topics = self.n_components
        start = expected_counts(state.words, 1.0)
        found = infer(self, state, batch, keys, update, workers)
        dense = DenseCounts(state.words.n_features, n_topics, True)
        dense.include(found, batch.words, workers)
        tokens = np.zeros((batch.n_documents, n_topics))
        if assigned:  # of the one sweep that is kept
            document = np.repeat(np.arange(batch.n_documents), np.diff(batch.clump_indptr))
            np.add.at(tokens, (document, assigned.pop()), 1)
        tables = getattr(found, "tables", None)
        seen.append((start, dense.counts, tokens, tables, batch.lengths))
        return found

    monkeypatch.setattr(HybridTopics, "infer", step)
    monkeypatch.setattr(GibbsStep, "__call__", sweep)
    return seen


def root_weights(tables, b0, root_weight, reuse_topics):
    """Of topics with these numbers of tables in the corpus."""
    weights = tables if root_weight == "mean" else tables**2 / (tables + 1)
    return (weights + reuse_topics * b0 / len(tables)) / (tables.sum() + b0)


@every_revival
@every_root_weight
@every_sampler
def test_updates_are_those_by_hand(monkeypatch, sampler, root_weight, reuse_topics):
    """Statistics, tables and concentrations after each of three batches."""
    seen = watched(monkeypatch)
    settings = {"sampler": sampler, "root_weight": root_weight, "reuse_topics": reuse_topics, "doc_sweeps": 1}
    model = make_model(total_samples=500, **settings)
    b0, b1 = 1.0, 6 * 6**-0.55
    tables = np.full(6, 1 / 6)
    for t in range(3):
        model.partial_fit(SMALL[20 * t : 20 * t + 20])
        start, counts, tokens, drawn, lengths = seen[t]
        if t == 0:  # the start weighs what a document does
            statistics = start / start.sum() * lengths.mean()
        rho = (1 + t + 1) ** -0.65
        statistics = (1 - rho) * statistics + rho * counts / 20
        assert counts.sum() == pytest.approx(lengths.sum())
        if t > 0:  # the very first batch reads random topics
            weights = root_weights(500 * tables, b0, root_weight, reuse_topics)
            alpha = b1 * weights
            expected = (alpha * (digamma(alpha + tokens) - digamma(alpha))).sum(axis=0)
            batch = (expected if sampler == "collapsed" else drawn) / 20
            total = alpha.sum()
            gain = weights.sum() * (digamma(total + lengths) - digamma(total)).mean()
            if t == 1:
                tables, growth = tables / tables.sum() * batch.sum(), gain
            rho = (1 + t + 10) ** -0.65
            tables = (1 - rho) * tables + rho * batch
            growth = (1 - rho) * growth + rho * gain
            # Modes under Gamma priors of shape 1 and rate 0.01
            b1 = 500 * tables.sum() / (0.01 + 500 * growth)
            n_topics = np.minimum(500 * tables, 1).sum()
            b0 = n_topics / (0.01 + digamma(b0 + 500 * tables.sum()) - digamma(b0))
        assert model.n_components_ == 6
        assert_allclose(model.topic_word_counts_, 500 * statistics.T, rtol=1e-5)
        components = 500 * statistics.T + 0.05
        assert_allclose(model.components_, components / components.sum(axis=1, keepdims=True), rtol=1e-5)
        assert model.doc_concentration_ == pytest.approx(b1, rel=1e-5)
        assert model.topic_concentration_ == pytest.approx(b0, rel=1e-5)
        expected = root_weights(500 * tables, b0, root_weight, reuse_topics)
        assert_allclose(model.topic_weights_, expected, rtol=1e-5)
        assert_allclose(model.doc_topic_prior_, b1 * expected, rtol=1e-5)


@pytest.mark.parametrize("sampler", SAMPLERS[1:])
def test_drawn_tables_are_expected_ones_on_average(sampler):
    """Given topics and prior, they have the law of 'collapsed': tables and tokens of topics agree."""
    model = make_model(max_iter=5).fit(SMALL)
    found = {}
    batch = DocumentReader(canonical_counts(SMALL)).batch(np.arange(60))
    for name in ("collapsed", sampler):
        model.set_params(sampler=name, doc_burn_in=50, doc_sweeps=2000)
        with Workers(None) as workers:
            keys = batch.content_keys(7)
            counts = model._method().infer(model._state, batch, keys, next_update(model, 60), workers)
            dense = DenseCounts(25, 6, True)
            dense.include(counts, batch.words, workers)
        found[name] = dense.counts.sum(axis=0), counts.prior_statistics().topic_gains
    for one, other in zip(found["collapsed"], found[sampler]):
        assert_allclose(other, one, rtol=0.05, atol=0.5)


@pytest.mark.parametrize("n_before", [1, 3])
@every_sampler
def test_model_that_is_a_memory_map_trains_on(sampler, n_before, tmp_path):
    """Its arrays are read-only; also after one update, before the root has moved."""
    model = make_model(100, sampler=sampler)
    for _ in range(n_before):
        model.partial_fit(SMALL[:20])
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    for _ in range(5):
        model.partial_fit(SMALL)
        mapped.partial_fit(SMALL)
    assert_same_state(state(mapped), state(model))


# Concentrations


@every_sampler
def test_given_concentrations_stay(sampler):
    model = make_model(sampler=sampler, topic_concentration=2.5, doc_concentration=0.7)
    for call in (model.fit, model.partial_fit):
        call(SMALL)
        assert model.topic_concentration_ == 2.5
        assert model.doc_concentration_ == 0.7
    # Changed ones hold from the next call on.
    model.set_params(topic_concentration=3.0, doc_concentration="auto").partial_fit(SMALL)
    assert model.topic_concentration_ == 3.0
    assert model.doc_concentration_ != 0.7


@every_sampler
def test_later_passes_leave_the_concentration_of_documents_and_in_time_the_root(sampler):
    """The root goes on for a hundred updates."""
    corpus = sp.vstack([SMALL, SMALL]).tocsr()
    for batch_size in (20, 1):
        settings = {"sampler": sampler, "batch_size": batch_size}
        once, thrice = (make_model(max_iter=n, **settings).fit(corpus) for n in (1, 3))
        stays = once.n_batch_iter_ > 100
        assert stays == (batch_size == 1)
        assert once.doc_concentration_ == thrice.doc_concentration_ != 6 * 6**-0.55
        assert (once.topic_concentration_ == thrice.topic_concentration_) == stays
        assert np.array_equal(once._state.root.tables, thrice._state.root.tables) == stays
        assert not np.allclose(thrice._state.words.totals, once._state.words.totals)


def test_updates_that_move_the_root(monkeypatch, tmp_path):
    """All but the first until the hundredth; then in a first pass, and in what partial_fit is given."""
    moved, learned_root = [], HybridTopics._learned_root

    def note(self, state, tables, growth, update):
        moved.append(update.number + 1)
        return learned_root(self, state, tables, growth, update)

    monkeypatch.setattr(HybridTopics, "_learned_root", note)
    model = make_model(batch_size=1, max_iter=3).fit(SMALL)  # 60 documents, all with words
    assert moved == list(range(2, 101))
    model.save(tmp_path / "model")
    load(tmp_path / "model").partial_fit(SMALL[:5])
    assert moved[99:] == list(range(181, 186))
    blocks = [SMALL[:40], sp.vstack([SMALL[40:], SMALL])]
    for X, parameters in (
        (blocks, {}),
        (sp.vstack([SMALL, SMALL, SMALL[:10]]), {"early_stopping": True, "validation_fraction": 10 / 130}),
    ):
        moved.clear()
        model = make_model(batch_size=1, max_iter=2, **parameters).fit(X)
        assert model.n_batch_iter_ == 240
        assert moved == list(range(2, 121))


def test_with_moves_the_root_goes_on():
    """Topics come and go between passes; the concentration of documents stays."""
    once, twice = (make_model(split_merge=True, max_iter=n).fit(SMALL) for n in (1, 2))
    assert once.doc_concentration_ == twice.doc_concentration_
    assert once.topic_concentration_ != twice.topic_concentration_


@every_sampler
def test_partial_fit_on_unseen_documents_after_fit_learns_the_concentration_again(sampler):
    """It moves towards that of documents with one topic each."""
    model = make_model(sampler=sampler, max_iter=3).fit(SMALL)
    before = model.doc_concentration_
    single = make_lda_documents(
        400, components=CORPUS.components, doc_topic_prior=0.02, mean_length=20, random_state=1
    )
    model.partial_fit(single.data)
    assert 0 < model.doc_concentration_ < 0.9 * before


@every_sampler
@pytest.mark.parametrize("concentration", [0.5, 2.0, 6.0])
def test_concentration_of_documents_is_recovered_given_the_topics(concentration, sampler):
    """Within a factor of 1.2, seen once; the mean of three seeds."""
    components = np.kron(np.eye(6), np.full((1, 5), 0.2))
    corpus = make_lda_documents(
        2000, components=components, mean_length=60, doc_topic_prior=concentration / 6, random_state=0
    )
    settings = {"sampler": sampler, "total_samples": 2000, "learning_decay": 0.6}
    found = []
    for seed in range(3):
        model = make_model(**settings, random_state=seed).partial_fit(corpus.data[:20])
        model._state = replace(model._state, words=WordCounts.of(10.0 * components.T.copy()))
        found.append(model.partial_fit(corpus.data).doc_concentration_)
    assert concentration / 1.2 < np.mean(found) < concentration * 1.2


@pytest.mark.parametrize("concentration", [0.5, 2.0])
def test_concentration_of_documents_is_recovered(concentration):
    """Within a factor of two, seen once, with topics to spare.

    Larger ones are underestimated: topics not learned well are mixtures, of which documents need few.
    """
    corpus = make_lda_documents(
        3000,
        n_features=150,
        n_components=8,
        mean_length=80,
        doc_topic_prior=concentration / 8,
        random_state=0,
    )
    model = make_model(20, max_iter=1, batch_size=25).fit(corpus.data)
    assert concentration / 2 < model.doc_concentration_ < concentration * 2


@pytest.mark.parametrize("concentration", [0.5, 3.0])
def test_concentration_of_documents_of_an_hdp_is_recovered(concentration):
    corpus = make_hdp_documents(
        3000,
        n_features=300,
        mean_length=80,
        topic_concentration=2.0,
        doc_concentration=concentration,
        random_state=0,
    )
    model = make_model(40, max_iter=1, batch_size=25).fit(corpus.data)
    assert concentration / 2 < model.doc_concentration_ < concentration * 2


# Topics


@every_revival
@every_root_weight
@every_sampler
def test_shapes_sums_and_identities(sampler, root_weight, reuse_topics):
    model = make_model(12, sampler=sampler, root_weight=root_weight, reuse_topics=reuse_topics)
    known = np.arange(12)
    for _ in range(12):
        model.partial_fit(SMALL)
        k = model.n_components_
        assert 1 <= k <= 12
        weights = model.topic_weights_
        assert weights.shape == (k,)
        assert weights.min() > 0
        # All that is missing is left for topics out of use and new ones.
        whole = reuse_topics and root_weight == "mean" and k == 12
        assert weights.sum() == pytest.approx(1.0, rel=1e-12) if whole else weights.sum() < 1.0
        assert_array_equal(model.doc_topic_prior_, model.doc_concentration_ * weights)
        assert model.components_.shape == model.topic_word_counts_.shape == (k, 25)
        assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-12)
        theta = model.transform(SMALL)
        assert theta.shape == (60, k)
        assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
        ids = model.topic_ids_
        assert ids.shape == (k,)
        assert len(np.unique(ids)) == k
        # Numbers are not given twice: those that are new are larger than all before.
        born = np.setdiff1d(ids, known)
        assert born.size == 0 or born.min() > known.max()
        known = np.union1d(known, ids)


def test_equal_ids_are_the_same_topic_over_partial_fits():
    """A topic that keeps its number keeps most of its words."""
    model = make_model(30, topic_word_prior=0.01, max_iter=20).fit(SMALL)
    before = dict(zip(model.topic_ids_, model.components_))
    model.partial_fit(SMALL[:20])
    after = dict(zip(model.topic_ids_, model.components_))
    common = before.keys() & after.keys()
    assert len(common) >= 4
    distances = [0.5 * np.abs(before[i] - after[i]).sum() for i in common]
    assert np.median(distances) < 0.2


def test_ids_given_to_columns_leave_earlier_answers_as_they_were():
    model = make_model(100, max_iter=5).fit(SMALL)
    ids, copy = model.topic_ids_, model.topic_ids_.copy()
    for _ in range(10):
        model.partial_fit(SMALL)
    assert_array_equal(ids, copy)


@every_revival
@every_sampler
def test_topics_that_nothing_speaks_for_die(sampler, reuse_topics):
    model = make_model(100, sampler=sampler, reuse_topics=reuse_topics, max_iter=20).fit(SMALL)
    assert 4 <= model.n_components_ < 90
    # Those in use have at least a token, and more than nearly all of the tokens.
    assert model.topic_word_counts_.sum(axis=1).min() >= 1.0
    assert model.topic_word_counts_.sum() > 0.95 * SMALL.sum()
    assert model.topic_weights_.sum() < 1.0


def test_concentrations_stay_in_range_where_there_are_next_to_no_tokens():
    model = make_model(10).fit(SMALL * 1e-12)
    assert model.topic_concentration_ >= 1e-12
    assert model.doc_concentration_ >= 1e-12
    assert np.all(np.isfinite(model.transform(SMALL)))


def test_priors_of_concentrations_pull():
    """Strong ones hold what is learned at their means."""
    priors = {"topic_concentration_prior": (2e7, 1e7), "doc_concentration_prior": (3e7, 1e7)}
    model = make_model(6, **priors).fit(SMALL)
    assert model.topic_concentration_ == pytest.approx(2.0, rel=1e-3)
    assert model.doc_concentration_ == pytest.approx(3.0, rel=1e-3)


def test_root_weight_of_the_paper_differs():
    """Small topics weigh less, so that more of them die."""
    mean, paper = (make_model(40, root_weight=name, max_iter=20).fit(SMALL) for name in ("mean", "paper"))
    assert paper.n_components_ < mean.n_components_
    assert paper.topic_weights_.sum() < 1.0


@pytest.fixture(scope="module")
def switching():
    """Documents on five topics, then on five others with words of their own, and more of the second kind."""
    first, second = (
        make_lda_documents(n, n_features=60, n_components=5, mean_length=60, random_state=seed).data
        for n, seed in ((300, 0), (700, 1))
    )
    first, second = sp.hstack([first, first * 0]).tocsr(), sp.hstack([second * 0, second]).tocsr()
    return first, second[:400], second[400:]


def streamed(switching, **params):
    """A model of the first half whose spare topics are dead, before and after the second half.

    Returns the identities of topics at both times and the score on more documents of the second half.
    """
    first, second, held_out = switching
    model = make_model(40, batch_size=3, learning_decay=0.6, total_samples=300, **params)
    for _ in range(4):
        model.partial_fit(first)
    before = model.topic_ids_
    model.partial_fit(second)
    return before, model.topic_ids_, model.score(held_out)


@every_sampler
def test_stream_that_switches_to_new_topics_reuses_dead_ones(switching, sampler):
    """New topics have new numbers, and the second half is predicted better than without them."""
    n_born, scores = np.zeros((2, 3)), np.zeros((2, 3))
    for seed in range(3):
        for i, reuse_topics in enumerate((True, False)):
            before, after, scores[i, seed] = streamed(
                switching, sampler=sampler, random_state=seed + 3, reuse_topics=reuse_topics
            )
            assert 5 <= len(before) < 30
            assert len(np.unique(after)) == len(after)
            born = np.setdiff1d(after, before)
            assert born.size == 0 or born.min() >= 40
            n_born[i, seed] = len(born)
    assert n_born[0].min() >= 1
    assert n_born[0].mean() > n_born[1].mean() + 1
    assert scores[0].mean() > scores[1].mean()


# Recovery


@pytest.fixture(scope="module")
def bars():
    return make_bars(800, random_state=0)


@pytest.fixture(scope="module")
def more_bars():
    return make_bars(300, random_state=1)


@pytest.fixture(scope="module")
def recovered(bars):
    """A function from parameters to a model of the bars, fitted once."""

    settings = {"sampler": "collapsed", "root_weight": "mean", "reuse_topics": True, "max_iter": 6}

    @cache
    def fit(**params):
        return make_model(25, batch_size=25, random_state=1, **params).fit(bars.data)

    return lambda **params: fit(**{**settings, **params})


@pytest.mark.parametrize(
    ("sampler", "root_weight", "reuse_topics"),
    [
        ("collapsed", "mean", True),
        ("collapsed", "mean", False),
        ("collapsed", "paper", True),
        ("collapsed", "paper", False),
        ("sparse_table_indicator", "mean", True),
        ("sparse_table_indicator", "paper", False),
        ("table_indicator", "mean", True),
        ("table_indicator", "paper", False),
    ],
)
def test_bars_are_found(sampler, root_weight, reuse_topics, bars, more_bars, recovered):
    """The score is within 0.05 nats of the one of the bars themselves, and each bar has a topic."""
    model = recovered(sampler=sampler, root_weight=root_weight, reuse_topics=reuse_topics)
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.05 < model.score(more_bars.data) < best + 0.01
    distances = 0.5 * np.abs(bars.components[:, None] - model.components_[None]).sum(axis=-1)
    assert distances.min(axis=1).max() < 0.3


def test_all_samplers_score_alike_on_bars(more_bars, recovered):
    scores = [recovered(sampler=name).score(more_bars.data) for name in SAMPLERS]
    assert np.ptp(scores) < 0.02


def test_score_improves_over_epochs(more_bars, recovered):
    scores = [recovered(max_iter=n).score(more_bars.data) for n in (1, 2, 6)]
    assert scores[2] > scores[0] + 0.02
    assert np.diff(scores).min() > -0.01


def test_weights_at_the_root_are_those_of_the_topics():
    """Where topics are of very different sizes, their weights are: those of the truth, in order."""
    weights = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    components = np.kron(np.eye(6), np.full((1, 5), 0.2))
    corpus = make_lda_documents(
        2000, components=components, mean_length=40, doc_topic_prior=2 * weights, random_state=0
    )
    model = make_model(6, max_iter=10, batch_size=25).fit(corpus.data)
    found = (model.components_ @ components.T / 0.2).T  # of each topic, by its block
    assert_allclose(found @ model.topic_weights_, weights, atol=0.06)
