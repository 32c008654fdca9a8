"""Gibbs sampling for the HDP: exactness of the whole sampler, what the counts add up to, and how it mixes."""

import pickle
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import gammaln

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.hdp import CollapsedGibbsHDP, _collapsed_method
from sktopic.hdp._collapsed_method import CollapsedHDP, draw_weights, log_joint, named_topics
from sktopic.hdp._parameters import draw_concentration
from sktopic.hdp._restaurants import Restaurants

from .conftest import all_attributes

SAMPLERS = ["table_indicator", "sparse_table_indicator", "direct_assignment"]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
CORPUS = make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0)
X = sp.csr_array(CORPUS.data, dtype=np.float64)
MORE = sp.csr_array(
    make_lda_documents(30, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)


@pytest.fixture(autouse=True)
def all_words_are_common(monkeypatch):
    """Alias tables pay where a word is in many documents; here they are to be used all the same."""
    monkeypatch.setattr(_collapsed_method, "COMMON", 1)


def make_model(**params):
    return CollapsedGibbsHDP(**{"n_components": 4, "max_iter": 20, "random_state": 0, **params})


def started(model, counts):
    """The method of a model, with its state and its call just after the start."""
    counts, method = model._validate_documents(counts, reset=True), model._method()
    state = method.start(counts.shape[1], seed=1)
    call = method.begin(state, counts)
    return method, method.entered(state, call), call


def sweep(method, state, call):
    """The state after one sweep; the next one has other random numbers."""
    state = method.swept(state, call, None)
    return replace(state, chain=state.chain.swept(1))


def tokens_of(documents):
    """Document and word of each token of whole counts."""
    n = np.diff(documents.cell_start)
    return documents.cell_document.repeat(n), documents.cell_word.repeat(n)


def watched(monkeypatch, look):
    """The list of look(state, call) after every sweep, filled as a model samples."""
    seen = []
    original = CollapsedHDP.swept

    def swept(self, state, call, workers):
        state = original(self, state, call, workers)
        seen.append(look(state, call))
        return state

    monkeypatch.setattr(CollapsedHDP, "swept", swept)
    return seen


# What the counts are


@pytest.mark.parametrize(
    ("start", "concentrations"),
    [
        (1, ("auto", "auto")),
        (4, ("auto", "auto")),
        (60, ("auto", "auto")),
        (4, (1e6, 5.0)),  # more new topics in a sweep than there are spare columns
    ],
)
@every_sampler
def test_counts_are_those_of_the_assignments(monkeypatch, sampler, start, concentrations):
    """After every sweep: whole, of words, topics and tables; each topic in use has an identity of its own."""

    def check(state, call):
        document, word = tokens_of(call.documents)
        counts = np.zeros_like(state.words.store)
        np.add.at(counts, (word, call.documents.z), 1)
        assert_array_equal(state.words.store, counts)
        assert_array_equal(state.words.totals, counts.sum(axis=0))
        assert_array_equal(state.tables, call.documents.tables(len(counts[0])))
        in_use = counts.sum(axis=0) > 0
        assert_array_equal(state.tables > 0, in_use)
        assert_array_equal(state.ids >= 0, in_use)
        assert len(set(state.ids[in_use])) == len(state.columns) == in_use.sum()
        pairs = {(d, k) for d, k in zip(document.tolist(), call.documents.z.tolist())}
        assert len(pairs) <= state.tables.sum() <= len(document)
        return len(state.columns)

    seen = watched(monkeypatch, check)
    model = make_model(sampler=sampler, n_components=start, max_iter=60, evaluate_every=1)
    model.set_params(topic_concentration=concentrations[0], doc_concentration=concentrations[1]).fit(X)
    assert_array_equal(model.n_components_trace_, seen)
    assert_array_equal(model.topic_word_counts_.sum(axis=0), X.sum(axis=0))
    assert np.all(model.topic_word_counts_.sum(axis=1) > 0)
    assert_allclose(model.components_.sum(axis=1), 1)
    tables = model._state.tables[model._state.columns]
    assert_allclose(model.topic_weights_, tables / (tables.sum() + model.topic_concentration_))
    assert_allclose(model.doc_topic_prior_, model.doc_concentration_ * model.topic_weights_)


@every_sampler
def test_fractional_counts_are_counted_anew(sampler):
    counts = sp.csr_array(X * 0.37)
    model = make_model(sampler=sampler).fit(counts)
    assert_allclose(model.topic_word_counts_.sum(axis=0), counts.sum(axis=0), rtol=1e-12)
    assert np.all(model.topic_word_counts_ >= 0)
    model.partial_fit(counts[:9] * 200)
    expected = counts.sum(axis=0) + 200 * counts[:9].sum(axis=0)
    assert_allclose(model.topic_word_counts_.sum(axis=0), expected, rtol=1e-12)


@pytest.mark.parametrize("start", [1, 30])
@every_sampler
def test_partial_fit_adds_whole_tokens_and_moves_none(sampler, start):
    """No count of a topic falls, and no topic of earlier documents goes."""
    model = make_model(sampler=sampler, n_components=start).fit(X)
    for counts in (MORE, X[:1], MORE):
        before = dict(zip(model.topic_ids_.tolist(), model.topic_word_counts_))
        model.partial_fit(counts)
        after = dict(zip(model.topic_ids_.tolist(), model.topic_word_counts_))
        assert set(before) <= set(after)
        assert min((after[k] - before[k]).min() for k in before) >= 0
        added = model.topic_word_counts_.sum(axis=0) - sum(before.values())
        assert_array_equal(added, counts.sum(axis=0))
    assert model.n_samples_seen_ == 60 + 30 + 1 + 30
    assert_array_equal(model._state.lengths[1].sum(), model.n_samples_seen_)
    assert_array_equal(model._state.lengths.prod(axis=0).sum(), X.sum() + 2 * MORE.sum() + X[:1].sum())


@every_sampler
def test_documents_without_words_change_nothing(sampler):
    padded = sp.csr_array(sp.vstack([sp.csr_array((2, 25)), X, sp.csr_array((1, 25))]))
    fixed = {"topic_concentration": 1.0, "doc_concentration": 2.0}
    one, other = (
        make_model(sampler=sampler, split_merge=False, **fixed).fit(counts) for counts in (X, padded)
    )
    assert_array_equal(one.topic_word_counts_.sum(axis=0), other.topic_word_counts_.sum(axis=0))
    assert_allclose(other.transform(padded)[0], other.topic_weights_ / other.topic_weights_.sum())
    if sampler == "table_indicator":
        assert_array_equal(one.topic_word_counts_, other.topic_word_counts_)


@every_sampler
def test_corpus_without_words_has_one_uniform_topic(sampler):
    model = make_model(sampler=sampler).fit(np.zeros((3, 5)))
    assert_allclose(model.components_, np.full((1, 5), 0.2))
    assert_array_equal(model.transform(np.zeros((2, 5))), np.ones((2, 1)))
    assert model.partial_fit(np.eye(5)).topic_word_counts_.sum() == 5
    assert model.score(np.eye(5)) < 0


@every_sampler
def test_topics_vanish_and_come_again(sampler):
    """Documents of one word only make one topic; with others of their own words, it is split again."""
    alike = sp.csr_array(np.eye(6)[[0] * 20] * 30)
    model = make_model(sampler=sampler, n_components=20, max_iter=60).fit(alike)
    assert model.n_components_ <= 3
    block = np.kron(np.eye(3), np.ones((20, 2))) * 15
    trace = make_model(sampler=sampler, n_components=1, max_iter=150, evaluate_every=1).fit(block)
    assert 3 <= np.median(trace.n_components_trace_[75:]) <= 5


# The law of the whole sampler


def log_joint_by_seating(documents, n_topics_size, z, seated, beta, b0, b1, n_features):
    """log p(words, topics, tables), one customer after the other; seated (document, topic) -> tables."""
    total, n_tables = 0.0, np.zeros(n_topics_size)
    document, word = tokens_of(documents)
    for d in np.unique(document):
        n = np.sum(document == d)
        total += gammaln(b1) - gammaln(b1 + n)
        for k in np.unique(z[document == d]):
            customers, tables = np.sum((document == d) & (z == k)), seated[d, k]
            ways = {(0, 0): 1}
            for i in range(customers):
                for m in range(i + 2):
                    ways[i + 1, m] = ways.get((i, m - 1), 0) + i * ways.get((i, m), 0)
            total += np.log(float(ways[customers, tables])) + tables * np.log(b1)
            n_tables[k] += tables
    used = n_tables[n_tables > 0]
    total += len(used) * np.log(b0) + gammaln(used).sum() + gammaln(b0) - gammaln(b0 + used.sum())
    for k in np.unique(z):
        counts = np.bincount(word[z == k], minlength=n_features)
        total += (gammaln(counts + beta) - gammaln(beta)).sum()
        total += gammaln(n_features * beta) - gammaln(counts.sum() + n_features * beta)
    return total


@every_sampler
def test_trace_is_the_joint_probability(sampler):
    method, state, call = started(make_model(sampler=sampler, topic_word_prior=0.3), X[:8])
    for _ in range(3):
        state = sweep(method, state, call)
        document, used = entries_of(call.documents)
        topic, tables = (call.documents.lists.entries[name][used] for name in ("topic", "tables"))
        seated = dict(zip(zip(document.tolist(), topic.tolist()), tables.tolist()))
        given = 0.3, state.topic_concentration, state.doc_concentration, 25
        expected = log_joint_by_seating(call.documents, len(state.ids), call.documents.z, seated, *given)
        assert_allclose(log_joint(state, call), expected, rtol=1e-10)


class Prior:
    """A small HDP, whose joint law of seating and words two simulators have to agree upon."""

    LENGTHS, N_WORDS, BETA = (5, 2, 4), 3, 0.6
    DOCUMENT = np.repeat(np.arange(3), LENGTHS)
    PAIRS = np.triu_indices(len(DOCUMENT), 1)

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def draw_concentration(self):
        return self.rng.gamma(2.0, 1 / 2.0)

    def choose(self, weights):
        bounds = list(accumulate(weights))
        return min(bisect_right(bounds, self.rng.random() * bounds[-1]), len(bounds) - 1)

    def draw(self):
        """b0, b1, topics and words from their law, by seating one customer after the other."""
        b0, b1 = self.draw_concentration(), self.draw_concentration()
        root, z, n_tables = [], [], 0
        for n in self.LENGTHS:
            dishes, sizes = [], []
            for _ in range(n):
                j = self.choose([*sizes, b1])
                if j == len(sizes):
                    n_tables += 1
                    k = self.choose([*root, b0])
                    if k == len(root):
                        root.append(0)
                    root[k] += 1
                    dishes.append(k)
                    sizes.append(0)
                sizes[j] += 1
                z.append(dishes[j])
        z = np.array(z)
        return b0, b1, z, self.draw_words(z), n_tables

    def draw_words(self, z):
        phi = self.rng.dirichlet(np.full(self.N_WORDS, self.BETA), z.max() + 1)
        bounds = phi.cumsum(axis=1)[z, :-1]
        return (self.rng.random((len(z), 1)) >= bounds).sum(axis=1)

    def summary(self, b0, b1, z, words, n_tables):
        """What is compared: expectations that the number of topics, sharing and concentrations go into."""
        first, second = self.PAIRS
        same_topic, same_word = z[first] == z[second], words[first] == words[second]
        both = np.mean(same_topic & same_word)
        topics = z.tolist()
        n_topics = len(set(topics))
        shared = len(set(topics[: self.LENGTHS[0]]) & set(topics[-self.LENGTHS[-1] :]))
        return [
            n_topics,
            n_topics**2,
            n_tables,
            same_topic.mean(),
            both,
            both - same_topic.mean() * same_word.mean(),
            shared,
            b0,
            b1,
            n_topics * b0,
            n_tables * b1,
        ]


N_DRAWS = 4_800


@pytest.fixture(scope="module")
def drawn_from_prior():
    prior = Prior(0)
    return np.array([prior.summary(*prior.draw()) for _ in range(N_DRAWS)])


@pytest.mark.law
@every_sampler
def test_joint_distribution(sampler, drawn_from_prior):
    """Geweke (2004): words drawn given topics, and sweeps given words, in turn, have the law of the model.

    All that is sampled takes part: tokens, tables, splits, merges and both concentrations.
    """
    direct, prior, n = drawn_from_prior, Prior(1), N_DRAWS
    given = {"topic_concentration_prior": (2.0, 2.0), "doc_concentration_prior": [2.0, 2.0]}
    model = make_model(sampler=sampler, topic_word_prior=Prior.BETA, n_proposals=2, evaluate_every=0, **given)
    chain = np.empty((n, direct.shape[1]))
    b0, b1, z, words, _ = prior.draw()
    for i in range(n):
        counts = np.zeros((3, Prior.N_WORDS))
        np.add.at(counts, (prior.DOCUMENT, words), 1)
        if i == 0:
            method, state, call = started(model, sp.csr_array(counts))
            state = replace(state, topic_concentration=b0, doc_concentration=b1)
        state, call, places = replaced(method, state, counts, z, words, None if i == 0 else call)
        state = sweep(method, state, call)
        z = call.documents.z[places]
        tables = int(state.tables.sum())
        chain[i] = prior.summary(state.topic_concentration, state.doc_concentration, z, words, tables)
        words = prior.draw_words(np.unique(z, return_inverse=True)[1])
    batches = chain.reshape(60, -1, chain.shape[1]).mean(axis=1)
    error = np.hypot(batches.std(axis=0, ddof=1) / np.sqrt(60), direct.std(axis=0, ddof=1) / np.sqrt(n))
    assert np.all(np.abs(batches.mean(axis=0) - direct.mean(axis=0)) < 4 * error), (
        batches.mean(axis=0) - direct.mean(axis=0)
    ) / error


def replaced(method, state, counts, z, words, call):
    """The same customers at the same tables, with new words; and the places of our tokens in the call's."""
    n_tables = np.ones((3, len(state.ids)), dtype=np.int32)
    if call is not None:
        document, used = entries_of(call.documents)
        entries = call.documents.lists.entries[used]
        n_tables[document, entries["topic"]] = entries["tables"]
    for array in (state.words.store, state.words.totals, state.tables):
        array[:] = 0.0
    call = method.begin(state, sp.csr_array(counts))
    places = np.empty_like(z)
    theirs, ours = tokens_of(call.documents), (Prior.DOCUMENT, words)
    places[np.lexsort(ours)] = np.lexsort(theirs)
    assigned = np.empty_like(z)
    assigned[places] = z
    call.documents.assign(assigned)
    document, used = entries_of(call.documents)
    entries = call.documents.lists.entries
    entries["tables"][used] = n_tables[document, entries["topic"][used]]
    call.before.recount(state.words, [call.documents])
    state = replace(state, tables=call.documents.tables(len(state.ids)))
    return named_topics(state), call, places


def entries_of(documents):
    """Document and place of each entry in use of the documents' lists."""
    used = np.flatnonzero(documents.used())
    return np.searchsorted(documents.lists.list_start, used, side="right") - 1, used


@pytest.mark.parametrize(("n_tables", "sizes"), [(3, [7]), (9, [4, 4, 1, 12]), (1, [1])])
def test_concentrations_have_their_posterior(n_tables, sizes):
    """Mean and mean square against numerical integration; restaurants without customers say nothing."""
    shape, rate, sizes = 1.5, 0.7, np.array(sizes)

    def density(b, power=0):
        log_p = (shape - 1 + n_tables) * np.log(b) - rate * b
        log_p += (gammaln(b) - gammaln(b + sizes)).sum() + gammaln(sizes).sum()
        return b**power * np.exp(log_p)

    norm, mean, square = (quad(density, 0, 80, args=(power,), limit=200)[0] for power in (0, 1, 2))
    generator, b, n = np.random.RandomState(0), 1.0, 40_000
    values, times = np.unique(np.append(sizes, [0, 0]), return_counts=True)
    draws = np.empty(n)
    for i in range(n):
        b = draws[i] = draw_concentration(
            b, (shape, rate), n_tables=n_tables, sizes=values, times=times, generator=generator
        )
    for seen, expected in ((draws, mean / norm), (draws**2, square / norm)):
        batches = seen.reshape(50, -1).mean(axis=1)
        assert abs(batches.mean() - expected) < 4 * batches.std(ddof=1) / np.sqrt(50)


# How it mixes


def test_number_of_topics_does_not_hang_on_the_start():
    """There are 20."""
    train = make_bars(200, size=10, random_state=0).data
    test = make_bars(300, size=10, random_state=1).data
    scores, numbers = [], []
    for start in (1, 100):
        model = CollapsedGibbsHDP(start, max_iter=500, n_proposals=20, random_state=0).fit(train)
        scores.append(model.score(test))
        numbers.append(model.n_components_trace_[-15:].mean())
    assert np.ptp(scores) < 0.01
    assert max(numbers) < 1.2 * min(numbers)
    assert min(numbers) > 19


# Settings


@every_sampler
def test_fit_is_reproducible(sampler):
    one, again, other = (make_model(sampler=sampler, random_state=seed).fit(X) for seed in (1, 1, 2))
    assert_array_equal(one.topic_word_counts_, again.topic_word_counts_)
    assert_array_equal(one.topic_ids_, again.topic_ids_)
    assert one.topic_concentration_ == again.topic_concentration_
    assert one.log_likelihood_[-1] != other.log_likelihood_[-1]
    assert_array_equal(one.partial_fit(MORE).components_, again.partial_fit(MORE).components_)


@every_sampler
def test_pickled_model_goes_on_identically(sampler):
    model = make_model(sampler=sampler).fit(X)
    copied = pickle.loads(pickle.dumps(model))
    assert_array_equal(copied.transform(MORE), model.transform(MORE))
    assert_array_equal(copied.partial_fit(MORE).components_, model.partial_fit(MORE).components_)
    for name, value in all_attributes(model).items():
        assert isinstance(value, (np.ndarray, np.number, int, float, str, bool, tuple, type(None))), name


def test_first_partial_fit_is_fit():
    one, other = make_model().fit(X), make_model().partial_fit(X)
    assert_array_equal(one.topic_word_counts_, other.topic_word_counts_)
    assert_array_equal(one.log_likelihood_, other.log_likelihood_)


def test_fixed_concentrations_stay():
    model = make_model(topic_concentration=0.3, doc_concentration=4.0).fit(X)
    assert (model.topic_concentration_, model.doc_concentration_) == (0.3, 4.0)
    model.set_params(doc_concentration="auto").partial_fit(MORE)
    assert model.topic_concentration_ == 0.3 and model.doc_concentration_ != 4.0


@pytest.mark.parametrize(
    "params",
    [
        {"topic_concentration": 0.0},
        {"doc_concentration": "learned"},
        {"topic_concentration_prior": (1.0,)},
        {"doc_concentration_prior": (1.0, -1.0)},
        {"doc_concentration_prior": ("a", 1.0)},
        {"sampler": "exact"},
        {"topic_word_prior": 0.0},
        {"n_proposals": 0},
    ],
)
def test_settings_out_of_range_leave_the_model_as_it_was(params):
    model = make_model().fit(X)
    before = model.components_
    with pytest.raises(ValueError, match=next(iter(params))):
        model.set_params(**params).fit(X)
    assert_array_equal(model.components_, before)


@pytest.mark.parametrize("b0", [0.2, 5.0])
def test_weights_at_the_root_are_drawn_from_their_dirichlet_law(b0):
    """Given tables M, b1 times Dirichlet(M, b0): means and variances."""
    _, state, _ = started(make_model(topic_concentration=b0, doc_concentration=3.0), X)
    rng, n = np.random.RandomState(0), 20_000
    used = state.tables > 0
    draws = np.empty((n, used.sum() + 1))
    for i in range(n):
        root, rest = draw_weights(state, rng)
        draws[i] = np.append(root[used], rest) / 3.0
    parameters = np.append(state.tables[used], b0)
    mean, total = parameters / parameters.sum(), parameters.sum()
    deviation = np.sqrt(mean * (1 - mean) / (total + 1))
    assert_allclose(draws.sum(axis=1), 1.0)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * deviation / np.sqrt(n))
    assert_allclose(draws.std(axis=0), deviation, rtol=0.05)


@pytest.mark.parametrize("failing", [(Restaurants, "sweep"), (_collapsed_method, "split_merge")])
def test_first_sweep_that_runs_out_of_memory_leaves_no_trace(monkeypatch, failing):
    model = make_model().fit(X)
    before = pickle.dumps(model)

    def fail(*arguments, **named):
        raise MemoryError

    with monkeypatch.context() as context:
        context.setattr(*failing, fail)
        with pytest.raises(MemoryError):
            model.partial_fit(MORE)
    assert_same_state(model, pickle.loads(before))
    model.partial_fit(MORE)
    assert model.topic_word_counts_.sum() == X.sum() + MORE.sum()


def assert_same_state(model, other):
    found = all_attributes(model)
    for name, value in all_attributes(other).items():
        assert_array_equal(found[name], value, err_msg=name)
