"""Collapsed Gibbs sampling: exactness, what the counts add up to, and what its traces and priors say."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from sktopic._documents._matrices import DocumentReader
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import CollapsedGibbsLDA, _shards
from sktopic.lda._collapsed_method import CollapsedLDA
from sktopic.lda._shards import Shard, TopicLists, TopicRows
from sktopic.metrics import document_completion

from .conftest import assert_same_state, state

ETA, ALPHA = 0.1, 0.3
CORPUS = make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0)
X = sp.csr_array(CORPUS.data, dtype=np.float64)
MORE = sp.csr_array(
    make_lda_documents(30, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "max_iter": 20,
        "n_draws": 1,
        "evaluate_every": 1,
        "random_state": 0,
    }
    return CollapsedGibbsLDA(n_components, **{**settings, **params})


@pytest.fixture(params=[TopicRows, TopicLists])
def kept(request, monkeypatch):
    """How documents' topics are kept."""
    monkeypatch.setattr(_shards, "DENSE_TOPICS", 192 if request.param is TopicRows else 0)
    return request.param


def watched(monkeypatch, look):
    """The list of look(state, shards) after every sweep, filled as a model samples."""
    seen = []
    original = CollapsedLDA.swept

    def swept(self, state, call, workers):
        state = original(self, state, call, workers)
        seen.append(look(state, call.shards))
        return state

    monkeypatch.setattr(CollapsedLDA, "swept", swept)
    return seen


def documents_of(topics, times):
    """The document of every token."""
    if isinstance(topics, TopicRows):
        return topics.tokens.document
    return topics.cells.cell_document.repeat(times)


def tokens_of(shards):
    """Document (counted over all shards), word and topic of every token of whole counts."""
    parts, first = [], 0
    for shard in shards:
        cell_word = np.repeat(shard.words, np.diff(shard.word_indptr))
        times = shard.cell_count.astype(int)
        parts.append([first + documents_of(shard.topics, times), cell_word.repeat(times), shard.z])
        first += len(shard.lengths)
    return np.concatenate(parts, axis=1)


# What the counts are


@pytest.mark.parametrize("n_shards", [1, 2, 3, 100])
def test_counts_are_those_of_the_assignments(kept, monkeypatch, n_shards):
    """After every sweep: whole, of the words and topics of the tokens, and in the documents' lists."""

    def check(state, shards):
        document, word, topic = tokens_of(shards)
        counts = np.zeros((25, 4))
        np.add.at(counts, (word, topic), 1)
        assert_array_equal(state.words.store, counts)
        assert_array_equal(state.words.totals, counts.sum(axis=0))
        listed, first = np.zeros((60, 4)), 0
        for shard in shards:
            assert isinstance(shard.topics, kept) or not len(shard.words)
            where, which, weight = shard.topics.used()
            assert np.all(weight > 0)
            listed[first + where, which] = weight
            first += len(shard.lengths)
        in_documents = np.zeros((60, 4))
        np.add.at(in_documents, (document, topic), 1)
        assert_array_equal(listed, in_documents)
        return counts.T

    seen = watched(monkeypatch, check)
    model = make_model(n_shards=n_shards).fit(X)
    assert len(seen) == 20
    assert_array_equal(model.topic_word_counts_, seen[-1])
    assert_array_equal(model.topic_word_counts_.sum(axis=0), X.sum(axis=0))


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("n_shards", [1, 2, 3])
def test_workers_change_nothing(n_shards):
    settings = {"n_shards": n_shards, "doc_topic_prior": "auto", "topic_word_prior": "auto"}
    models = [make_model(n_jobs=n_jobs, **settings).fit(X).partial_fit(MORE) for n_jobs in (1, 2, 3)]
    for model in models[1:]:
        assert_array_equal(model.topic_word_counts_, models[0].topic_word_counts_)
        assert_array_equal(model.log_likelihood_, models[0].log_likelihood_)
        assert_array_equal(model.doc_topic_prior_, models[0].doc_topic_prior_)
        assert model.topic_word_prior_ == models[0].topic_word_prior_


def test_number_of_shards_is_part_of_the_result():
    """And more shards than documents are as many as documents."""
    counts = [make_model(n_shards=n).fit(X).topic_word_counts_ for n in (1, 2, 3)]
    assert np.abs(counts[0] - counts[1]).max() > 0 and np.abs(counts[1] - counts[2]).max() > 0
    assert_array_equal(
        make_model(n_shards=2).fit(X[:2]).topic_word_counts_,
        make_model(n_shards=50).fit(X[:2]).topic_word_counts_,
    )


@pytest.mark.parametrize(
    ("n_draws", "interval", "kept"), [(3, 5, [10, 15, 20]), (4, 1, [17, 18, 19, 20]), (99, 8, [4, 12, 20])]
)
def test_kept_draws_are_averaged(n_draws, interval, kept):
    """The mean of the counts of chains that end where a sample is kept; as many as there is room for."""
    chains = [make_model(max_iter=max_iter).fit(X).topic_word_counts_ for max_iter in kept]
    model = make_model(n_draws=n_draws, thinning=interval).fit(X)
    assert_allclose(model.topic_word_counts_, np.mean(chains, axis=0), rtol=1e-12, atol=1e-12)
    counts = model.topic_word_counts_ + ETA
    assert_allclose(model.components_, counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)
    # Later documents have averages of their own, on top of these.
    before = model.topic_word_counts_
    added = model.partial_fit(MORE).topic_word_counts_ - before
    assert added.min() > -1e-9
    assert_allclose(added.sum(axis=0), MORE.sum(axis=0), rtol=1e-9)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("n_shards", [1, 2])
def test_partial_fit_adds_whole_tokens_and_moves_none(n_shards):
    model = make_model(n_shards=n_shards).fit(X)
    for counts in (MORE, X[:1], MORE):
        before = model.topic_word_counts_
        added = model.partial_fit(counts).topic_word_counts_ - before
        assert added.min() >= 0
        assert_array_equal(added, added.round())
        assert_array_equal(added.sum(axis=0), counts.sum(axis=0))
    assert model.n_samples_seen_ == 60 + 30 + 1 + 30
    assert model.n_iter_ == 20


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("n_shards", [1, 2])
def test_tokens_beside_means_of_draws_round_nothing_in_the_end(monkeypatch, n_shards):
    """Sweeps round sums with counts that are no whole numbers; at the end of a call they are added once."""
    model = make_model(n_shards=n_shards, n_draws=3).fit(X)
    before = model.topic_word_counts_
    assert np.any(before != before.round())

    def counted(state, shards):
        _, word, topic = tokens_of(shards)
        counts = np.zeros_like(before)
        np.add.at(counts, (topic, word), 1)
        assert state.words.store.min() >= 0
        assert_allclose(state.words.store.T, before + counts, rtol=1e-12, atol=1e-12)
        assert_allclose(state.words.totals, state.words.store.sum(axis=0), rtol=1e-12)
        return counts

    seen = watched(monkeypatch, counted)
    model.set_params(n_draws=1, max_iter=50).partial_fit(MORE)
    assert_array_equal(model.topic_word_counts_, before + seen[-1])
    assert_allclose(model._state.words.totals, model._state.words.store.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("most", [2.0**39 - 1, 1e12 / 3, 1e12])
def test_counts_beside_huge_ones_are_not_below_zero(monkeypatch, most):
    """Shares of huge counts swallow single tokens, which are then taken out of nothing."""
    counts = np.array([[most, 3e-6], [2e-6, most], [most, most], [1e-6, 1e-6]])
    lowest = watched(monkeypatch, lambda state, shards: state.words.store.min())
    model = make_model(max_iter=40).fit(counts)
    assert min(lowest) >= 0
    assert_allclose(model.topic_word_counts_.sum(axis=0), counts.sum(axis=0), rtol=1e-12)


# Exactness

# Two documents of five tokens in all, three words.
TINY = np.array([[2, 1, 0], [0, 1, 1]], dtype=float)
TINY_TOKENS = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2)]


def log_joint(tokens, z, alpha, beta, n_features, before=None):
    """log p(w, z) of tokens (document, word), one after the other as the urns of the model draw them.

    before: counts (n_components, n_features) of earlier documents.
    """
    counts = np.zeros((len(alpha), n_features)) if before is None else before.copy()
    in_document, total = {}, 0.0
    for (document, word), k in zip(tokens, z):
        own = in_document.setdefault(document, np.zeros(len(alpha)))
        total += np.log((alpha[k] + own[k]) / (alpha.sum() + own.sum()))
        total += np.log((beta + counts[k, word]) / (n_features * beta + counts[k].sum()))
        own[k] += 1
        counts[k, word] += 1
    return total


def topic_word_law(alpha, beta, before=None):
    """The posterior of the whole table of counts of words in topics, by all assignments."""
    states = list(product(range(len(alpha)), repeat=5))
    logs = np.array([log_joint(TINY_TOKENS, z, alpha, beta, 3, before) for z in states])
    law = Counter()
    for z, p in zip(states, np.exp(logs - logs.max())):
        table = np.zeros((3, len(alpha)))
        np.add.at(table, ([word for _, word in TINY_TOKENS], z), 1)
        law[table.tobytes()] += p
    total = sum(law.values())
    return {table: p / total for table, p in law.items()}


def total_variation(seen, law):
    n, found = len(seen), Counter(seen)
    return 0.5 * sum(
        abs(found.get(table, 0) / n - law.get(table, 0.0)) for table in law.keys() | found.keys()
    )


def test_log_joint_by_urns_is_a_distribution():
    """Guards the oracle: over all words and topics of three tokens it sums to one."""
    alpha, documents = np.array([0.2, 0.9]), [0, 0, 1]
    total = sum(
        np.exp(log_joint(list(zip(documents, words)), z, alpha, 0.3, 3))
        for words in product(range(3), repeat=3)
        for z in product(range(2), repeat=3)
    )
    assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("alpha", [[0.5, 0.5], [0.2, 1.3]], ids=["symmetric", "asymmetric"])
def test_one_shard_samples_the_exact_posterior(monkeypatch, alpha):
    """Total variation below 0.02 over all tables of counts, from 30 000 sweeps of one chain.

    Independent samples would be off by 0.007.
    """
    seen = watched(monkeypatch, lambda state, shards: state.words.store.tobytes())
    make_model(2, doc_topic_prior=alpha, topic_word_prior=0.4, max_iter=30_000, evaluate_every=0).fit(TINY)
    law = topic_word_law(np.array(alpha), 0.4)
    assert len(law) == 3 * 3 * 2
    assert total_variation(seen[100:], law) < 0.02


def test_partial_fit_samples_the_posterior_given_earlier_counts(monkeypatch):
    """The same with the counts of earlier documents, which stay."""
    model = make_model(2, doc_topic_prior=[0.2, 1.3], topic_word_prior=0.4, evaluate_every=0, max_iter=5)
    model.fit(np.array([[1, 0, 3], [2, 2, 0]]))
    before = model.topic_word_counts_
    seen = watched(monkeypatch, lambda state, shards: (state.words.store - before.T).tobytes())
    model.set_params(max_iter=30_000).partial_fit(TINY)
    law = topic_word_law(np.array([0.2, 1.3]), 0.4, before)
    assert total_variation(seen[100:], law) < 0.02


# The trace


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("alpha", [ALPHA, [0.1, 0.2, 0.5, 1.1]], ids=["symmetric", "asymmetric"])
def test_log_likelihood_is_the_joint_of_words_and_topics(monkeypatch, alpha, n_shards):
    """By urns, token after token; for later documents given the counts of those before."""
    seen = watched(monkeypatch, lambda state, shards: tokens_of(shards))
    model = make_model(doc_topic_prior=alpha, n_shards=n_shards, max_iter=3).fit(X)
    prior = np.broadcast_to(alpha, 4)

    def check(before):
        expected = [log_joint(list(zip(d, w)), z, prior, ETA, 25, before) for d, w, z in seen]
        assert_allclose(model.log_likelihood_, expected, rtol=1e-10)
        seen.clear()

    check(None)
    before = model.topic_word_counts_
    model.partial_fit(MORE)
    check(before)
    # Also where what was kept is an average.
    model.set_params(n_draws=2, thinning=1).partial_fit(MORE)
    seen.clear()
    before = model.topic_word_counts_
    model.partial_fit(X[:10])
    check(before)


def test_log_likelihood_is_evaluated_as_often_as_asked():
    for every, expected in ((1, 20), (7, 2), (20, 1), (21, 0), (0, 0)):
        assert make_model(evaluate_every=every).fit(X).log_likelihood_.shape == (expected,)
    whole, sparse = make_model().fit(X), make_model(evaluate_every=5).fit(X)
    assert_array_equal(sparse.log_likelihood_, whole.log_likelihood_[4::5])
    assert_array_equal(sparse.topic_word_counts_, whole.topic_word_counts_)


def test_log_likelihood_rises_from_random_topics_to_a_plateau():
    trace = make_model(max_iter=100).fit(X).log_likelihood_
    assert trace[-20:].mean() > trace[0] + 100
    assert abs(trace[-20:].mean() - trace[-40:-20].mean()) < 0.02 * abs(trace[-1])


def test_log_likelihood_is_with_the_priors_learned_so_far(monkeypatch):
    seen = watched(monkeypatch, lambda state, shards: tokens_of(shards))
    model = make_model(
        doc_topic_prior="auto", topic_word_prior="auto", prior_interval=4, max_iter=8, evaluate_every=8
    ).fit(X)
    document, word, z = seen[-1]
    expected = log_joint(list(zip(document, word)), z, model.doc_topic_prior_, model.topic_word_prior_, 25)
    assert_allclose(model.log_likelihood_, [expected], rtol=1e-10)


# Learning of the priors


@pytest.fixture(scope="module")
def drawn():
    return make_lda_documents(
        500,
        n_features=60,
        n_components=4,
        mean_length=60,
        doc_topic_prior=[0.05, 0.1, 0.2, 0.6],
        topic_word_prior=0.3,
        random_state=0,
    )


def learned(corpus, **params):
    """The likeliest of four chains, since some take long to tell two topics apart."""
    settings = {"max_iter": 150, "evaluate_every": 150, "n_draws": 5, **params}
    chains = [make_model(random_state=seed, **settings).fit(corpus.data) for seed in range(4)]
    return max(chains, key=lambda model: model.log_likelihood_[-1])


@pytest.mark.parametrize("n_shards", [1, 2])
def test_learned_priors_come_near_those_drawn_from(drawn, n_shards):
    """Each within a factor of 1.5; they start from 0.47 and 0.1."""
    model = learned(drawn, doc_topic_prior="auto", topic_word_prior="auto", n_shards=n_shards)
    found, truth = np.sort(model.doc_topic_prior_), drawn.doc_topic_prior
    assert np.abs(np.log(found / truth)).max() < np.log(1.5)
    assert abs(np.log(model.topic_word_prior_ / 0.3)) < np.log(1.5)


@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_learned_symmetric_prior_comes_near_the_truth(alpha):
    """Within a factor of 1.5; it starts from 0.47."""
    corpus = make_lda_documents(
        500, n_features=60, n_components=4, mean_length=60, doc_topic_prior=alpha, random_state=0
    )
    prior = learned(corpus, doc_topic_prior="auto-symmetric").doc_topic_prior_
    assert len(set(prior)) == 1
    assert abs(np.log(prior[0] / alpha)) < np.log(1.5)


@pytest.mark.usefixtures("kept")
def test_learned_prior_solves_its_fixed_point_equation(monkeypatch):
    """Updated in every sweep, it is near the maximum of the likelihood of the last assignments."""
    seen = watched(monkeypatch, lambda state, shards: tokens_of(shards))
    model = make_model(doc_topic_prior="auto", prior_interval=1, max_iter=200, evaluate_every=0).fit(X)
    document, _, z = seen[-1]
    counts = np.zeros((60, 4))
    np.add.at(counts, (document, z), 1)

    def log_likelihood(prior):
        return (gammaln(prior + counts) - gammaln(prior)).sum() + (
            gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum(axis=1))
        ).sum()

    best = log_likelihood(model.doc_topic_prior_)
    for factor in np.random.RandomState(0).uniform(0.5, 2.0, (200, 4)):
        assert log_likelihood(model.doc_topic_prior_ * factor) < best + 1.0


def test_prior_goes_on_from_the_documents_of_earlier_calls(drawn):
    """A prior learned from many documents is not thrown over by a few others."""
    model = learned(drawn, doc_topic_prior="auto")
    before = model.doc_topic_prior_
    model.set_params(max_iter=30).partial_fit(drawn.data[:3])
    assert np.abs(np.log(model.doc_topic_prior_ / before)).max() < 0.2
    alone = make_model(doc_topic_prior="auto", max_iter=30).fit(drawn.data[:3]).doc_topic_prior_
    assert np.abs(np.log(np.sort(alone) / np.sort(before))).max() > 0.5


def test_priors_given_may_change_between_calls():
    model = make_model().fit(X).set_params(doc_topic_prior=0.9, topic_word_prior=0.5).partial_fit(MORE)
    assert_array_equal(model.doc_topic_prior_, np.full(4, 0.9))
    assert model.topic_word_prior_ == 0.5
    counts = model.topic_word_counts_ + 0.5
    assert_allclose(model.components_, counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)


# Odd corpora


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize(
    "priors", [{}, {"doc_topic_prior": "auto", "topic_word_prior": "auto"}], ids=["", "auto"]
)
@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((4, 6)),
        np.array([[0.0, 3.0, 1.0]]),
        np.array([[5.0], [0.0], [1.0]]),
        np.array([[1.0]]),
        np.eye(2, 5),
        np.array([[0, 0, 0], [2, 0, 1], [0, 0, 0]]),
        np.array([[0.25, 1.75, 0.0], [1e-6, 130.5, 64.0]]),
        np.array([[1e-6, 1e6], [3.0, 0.0]]),
    ],
    ids=["empty", "one document", "one word", "one token", "few tokens", "gaps", "real", "wide range"],
)
def test_odd_corpora(counts, priors, n_shards):
    """With one topic, and with more topics than tokens."""
    settings = {"prior_interval": 2, "n_shards": n_shards, **priors}
    for n_components in (1, 40):
        model = make_model(n_components, **settings)
        for method in (model.fit, model.partial_fit):
            method(counts)
            assert np.isfinite(model.log_likelihood_).all()
            assert np.isfinite(model.components_).all() and model.components_.min() >= 0
            assert_allclose(model.transform(counts).sum(axis=1), 1.0)
        assert_allclose(model.topic_word_counts_.sum(axis=0), 2 * counts.sum(axis=0), rtol=1e-9, atol=1e-9)


def test_real_counts_are_split_into_tokens_and_kept_whole():
    """A word's total over topics is its total count, after any number of sweeps."""
    counts = X.toarray() * np.random.RandomState(0).gamma(1.0, 30.0, X.shape)
    model = make_model(max_iter=200, evaluate_every=0).fit(counts)
    assert_allclose(model.topic_word_counts_.sum(axis=0), counts.sum(axis=0), rtol=1e-12)
    assert_allclose(model._state.words.totals, model._state.words.store.sum(axis=0), rtol=1e-12)


def test_log_likelihood_of_real_counts_is_finite_and_settles():
    trace = make_model(max_iter=60).fit(X * 0.3).log_likelihood_
    assert np.isfinite(trace).all()
    assert trace[-10:].mean() > trace[0]


# Interrupts and progress


def test_interrupt_leaves_the_last_complete_sweep(monkeypatch):
    calls = []
    original = CollapsedLDA.learned

    def learned(self, state, call, sweep):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, state, call, sweep)

    with monkeypatch.context() as patch:
        patch.setattr(CollapsedLDA, "learned", learned)
        model = make_model(prior_interval=1)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    assert model.n_iter_ == 3
    assert_array_equal(model.topic_word_counts_, make_model(max_iter=3).fit(X).topic_word_counts_)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.partial_fit(MORE).score(MORE))


class Watcher:
    """A callback of scikit-learn that scores the model after every sweep, and stops after some."""

    def __init__(self, stop_after=None):
        self.scores, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.task_name == "epoch":
            self.scores.append(fitted_estimator.score(X))
            return len(self.scores) == self.stop_after
        return False


def test_callbacks_see_every_sweep_and_can_stop_the_chain():
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    watcher = Watcher()
    model = make_model().set_callbacks(watcher).fit(X)
    assert_array_equal(model.topic_word_counts_, make_model().fit(X).topic_word_counts_)
    assert len(watcher.scores) == 20
    assert watcher.scores[-1] == model.score(X)
    assert len(set(watcher.scores)) > 10
    model = make_model().set_callbacks(Watcher(stop_after=7)).fit(X)
    assert model.n_iter_ == 7
    assert_array_equal(model.topic_word_counts_, make_model(max_iter=7).fit(X).topic_word_counts_)
    # Samples kept before the stop are averaged.
    model = make_model(n_draws=3).set_callbacks(Watcher(stop_after=17)).fit(X)
    chains = [make_model(max_iter=max_iter).fit(X).topic_word_counts_ for max_iter in (10, 15)]
    assert_allclose(model.topic_word_counts_, np.mean(chains, axis=0), rtol=1e-12, atol=1e-12)


# How good it is


@pytest.mark.parametrize("n_shards", [1, 4])
def test_bars_are_learned_to_near_the_score_of_the_truth(n_shards):
    """Within 0.1 nats per hidden word of the bars themselves, by the best of two chains."""
    bars, more_bars = make_bars(300, random_state=0), make_bars(200, random_state=1)
    models = [
        CollapsedGibbsLDA(
            15, doc_topic_prior=0.1, random_state=seed, max_iter=120, n_shards=n_shards, thinning=2
        ).fit(bars.data)
        for seed in (0, 1)
    ]
    model = max(models, key=lambda model: model.log_likelihood_[-1])
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.1 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.1 < model.score(more_bars.data) < best + 0.01


# Interrupts and callbacks


def interrupt(monkeypatch, name):
    """Raise KeyboardInterrupt after the first call of a function of the method."""
    original, calls = getattr(CollapsedLDA, name), []

    def interrupted(self, *arguments):
        result = original(self, *arguments)
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(CollapsedLDA, name, interrupted)


@pytest.mark.parametrize("name", ["start", "begin", "entered", "swept", "learned"])
def test_counts_are_those_of_documents_once_after_an_interrupt(monkeypatch, name):
    """Wherever it strikes: going on leaves neither doubled nor missing tokens."""
    model = make_model()
    before = state(model)
    with monkeypatch.context() as patch:
        interrupt(patch, name)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    documents = getattr(model, "n_samples_seen_", 0)
    assert documents in (0, X.shape[0])
    if name == "learned":
        assert_array_equal(model.topic_word_counts_.sum(axis=0), X.sum(axis=0))
    else:  # nothing has been set
        assert_same_state(state(model), before)
    model.partial_fit(X)
    assert model.n_samples_seen_ == documents + X.shape[0]
    copies = model.n_samples_seen_ // X.shape[0]
    assert_allclose(model.topic_word_counts_.sum(axis=0), copies * X.sum(axis=0), rtol=1e-12)
    assert_allclose(model.components_.sum(axis=1), 1.0)


def test_partial_fit_reports_to_no_callbacks():
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    watcher = Watcher(stop_after=3)
    model = make_model().set_callbacks(watcher).fit(X)
    known = set(vars(model))
    model.partial_fit(X)
    assert model.n_iter_ == model.max_iter
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
    model = CollapsedGibbsLDA(
        4, doc_topic_prior=1e-12, topic_word_prior=1e-12, max_iter=3, evaluate_every=0, random_state=0
    ).fit(np.full((200, 60), [1e12] * 10 + [0.0] * 50))
    model.partial_fit(np.eye(50, 60, 10))
    assert np.all(model.topic_word_counts_[:, 10:].sum(axis=1) > 2)
