"""Gibbs sampling for the HDP: exactness of the whole sampler, what the counts add up to, and how it mixes."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import gammaln

from sktopic.hdp import CollapsedGibbsHDP, _collapsed_method
from sktopic.hdp._collapsed_method import CollapsedHDP, draw_weights, log_joint

from .kernels.tools import assert_within
from .lda_models import MORE, X, watched_sweeps
from .reference.hdp_gibbs import stirling

SAMPLERS = ["table_indicator", "sparse_table_indicator", "direct_assignment"]
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


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


# What the counts are


@pytest.mark.parametrize(
    ("n_components", "b0", "b1"),
    [(1, "auto", "auto"), (4, 1e6, 5.0)],  # more new topics in a sweep than there are spare columns
)
@every_sampler
def test_counts_are_those_of_the_assignments(monkeypatch, sampler, n_components, b0, b1):
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

    seen = watched_sweeps(monkeypatch, CollapsedHDP, check)
    settings = {"n_components": n_components, "topic_concentration": b0, "doc_concentration": b1}
    model = make_model(sampler=sampler, max_iter=8, evaluate_every=1, **settings).fit(X)
    assert_array_equal(model.n_components_trace_, seen)
    assert_array_equal(model.n_components_range_, [min(seen[4:]), max(seen[4:])])
    assert_array_equal(model.topic_word_counts_.sum(axis=0), X.sum(axis=0))
    assert_allclose(model.components_.sum(axis=1), 1)
    tables = model._state.tables[model._state.columns]
    assert_allclose(model.topic_weights_, tables / (tables.sum() + model.topic_concentration_))
    assert_allclose(model.doc_topic_prior_, model.doc_concentration_ * model.topic_weights_)


@every_sampler
def test_fractional_counts_are_counted_anew(sampler):
    model, expected = make_model(sampler=sampler, max_iter=4), 0.0
    for counts in (X * 0.37, X[:9] * 74):
        expected = expected + counts.sum(axis=0)
        assert_allclose(model.partial_fit(counts).topic_word_counts_.sum(axis=0), expected, rtol=1e-12)
        assert np.all(model.topic_word_counts_ >= 0)


# The law of the whole sampler


def log_joint_by_seating(document, word, z, seated, beta, b0, b1, n_features):
    """log p(words, topics, tables), one customer after the other; seated (document, topic) -> tables."""
    total, n_tables = 0.0, np.zeros(z.max() + 1)
    for d in np.unique(document):
        n = np.sum(document == d)
        total += gammaln(b1) - gammaln(b1 + n)
        for k in np.unique(z[document == d]):
            customers, tables = np.sum((document == d) & (z == k)), seated[d, k]
            total += np.log(float(stirling(customers, tables))) + tables * np.log(b1)
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
    """Of later documents, given the words, topics and tables of those before."""
    method, state, call = started(make_model(sampler=sampler, topic_word_prior=0.3), X[:8])

    def expected(document, word, z, seated):
        given = 0.3, state.topic_concentration, state.doc_concentration, 25
        return log_joint_by_seating(document, word, z, seated, *given)

    for _ in range(2):
        state = sweep(method, state, call)
        before = seating_of(call.documents)
        assert_allclose(log_joint(state, call), expected(*before), rtol=1e-10)
    later = method.begin(state, X[8:12])
    state = sweep(method, method.entered(state, later), later)
    after = seating_of(later.documents, first=8)
    both = [np.append(one, other) for one, other in zip(before[:3], after[:3])]
    both = expected(*both, before[3] | after[3])
    assert_allclose(log_joint(state, later), both - expected(*before), rtol=1e-10)


def seating_of(documents, first=0):
    """Document (counted from the first), word and topic of each token, and tables by document and topic."""
    document, word = tokens_of(documents)
    used = np.flatnonzero(documents.used())
    topic, tables = (documents.lists.entries[name][used] for name in ("topic", "tables"))
    place = first + np.searchsorted(documents.lists.list_start, used, side="right") - 1
    seated = dict(zip(zip(place.tolist(), topic.tolist()), tables.tolist()))
    return first + document, word, documents.z.copy(), seated


def integral(n, restaurants, power):
    """Of b ** (n + power) prod_d Gamma(b) / Gamma(b + n_d) under a Gamma(2, 2) prior of b."""

    def density(b):
        log_p = n * np.log(b) + (gammaln(b) - gammaln(b + restaurants)).sum() - 2.0 * b
        return np.exp(log_p) * b ** (1 + power)

    return quad(density, 0, 40)[0]


@cache
def enumerated(beta):
    """Statistics of every state of a small corpus, and their probabilities: see `statistics`.

    States are partitions of tokens into topics, with tables of each topic in each document. Concentrations
    have Gamma(2, 2) priors and are integrated out; the last two statistics are their conditional means.
    """
    documents = started(make_model(), sp.csr_array(COUNTS))[2].documents
    document, word = tokens_of(documents)
    lengths = np.bincount(document)
    partitions = [[]]
    for _ in word:
        partitions = [[*z, k] for z in partitions for k in range(max(z, default=-1) + 2)]
    no_tables = (gammaln(1.0 + lengths)).sum()  # of concentration 1, and of the root below

    @cache
    def of_root(n_topics, n_tables, power=0):
        return integral(n_topics, np.array([n_tables]), power)

    @cache
    def of_documents(n_tables, power=0):
        return integral(n_tables, lengths, power)

    states, p = [], []
    for z in map(np.array, partitions):
        pairs, customers = np.unique(np.column_stack([document, z]), axis=0, return_counts=True)
        for tables in product(*(range(1, n + 1) for n in customers)):
            seated = dict(zip(map(tuple, pairs.tolist()), tables))
            log_p = log_joint_by_seating(document, word, z, seated, beta, 1.0, 1.0, COUNTS.shape[1])
            n_topics, n_tables = z.max() + 1, sum(tables)
            log_p += no_tables + gammaln(1.0 + n_tables)
            known = of_root(n_topics, n_tables), of_documents(n_tables)
            p.append(np.exp(log_p) * known[0] * known[1])
            b0, b1 = of_root(n_topics, n_tables, 1) / known[0], of_documents(n_tables, 1) / known[1]
            states.append(statistics(z, n_tables, b0, b1))
    return np.array(states), np.array(p) / np.sum(p)


def statistics(z, n_tables, b0, b1):
    """What is compared: expectations that the number of topics, sharing and concentrations go into."""
    n_topics, (first, second) = len(set(z.tolist())), np.triu_indices(len(z), 1)
    return [n_topics, n_topics**2, n_tables, *(z[first] == z[second]), b0, b1, n_topics * b0, n_tables * b1]


COUNTS = np.array([[2.0, 1, 0], [0, 1, 2]])
# Draws that tell a shape of a concentration's posterior from one more or less, and all coarser faults
N_SWEEPS = 3000


@pytest.mark.law
@every_sampler
def test_all_that_is_sampled_has_the_posterior_enumerated(sampler):
    """Tokens, tables, splits, merges and both concentrations."""
    states, p = enumerated(0.6)
    given = {"topic_concentration_prior": (2.0, 2.0), "doc_concentration_prior": [2.0, 2.0]}
    model = make_model(sampler=sampler, topic_word_prior=0.6, n_proposals=2, evaluate_every=0, **given)
    method, state, call = started(model, sp.csr_array(COUNTS))
    seen = np.empty((N_SWEEPS, states.shape[1]))
    for i in range(N_SWEEPS):
        state = sweep(method, state, call)
        b0, b1 = state.topic_concentration, state.doc_concentration
        seen[i] = statistics(call.documents.z, state.tables.sum(), b0, b1)
    assert_within(seen.reshape(50, -1, seen.shape[1]).mean(axis=1), p @ states, 4)


# Settings


def test_lengths_are_of_all_calls_and_fixed_concentrations_stay():
    model = make_model(topic_concentration=0.3, doc_concentration=4.0).fit(X)
    assert (model.topic_concentration_, model.doc_concentration_) == (0.3, 4.0)
    model.set_params(doc_concentration="auto").partial_fit(MORE)
    assert model.topic_concentration_ == 0.3 and model.doc_concentration_ != 4.0
    assert model._state.lengths[1].sum() == model.n_samples_seen_ == 60 + 30
    assert model._state.lengths.prod(axis=0).sum() == X.sum() + MORE.sum()


@pytest.mark.law
def test_weights_at_the_root_are_drawn_from_their_dirichlet_law():
    """Given tables M, b1 times Dirichlet(M, b0): 2000 draws of few tables tell a table more."""
    _, state, _ = started(make_model(topic_concentration=5.0, doc_concentration=3.0), X[:4])
    rng, used = np.random.RandomState(0), state.tables > 0
    drawn = [draw_weights(state, rng) for _ in range(2000)]
    weights = np.array([np.append(root[used], rest) for root, rest in drawn]) / 3.0
    a = np.append(state.tables[used], 5.0)
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_within(weights, a / a.sum(), 4)
    assert_within(weights**2, a * (a + 1) / a.sum() / (a.sum() + 1), 4)
