"""Topics that change places where a matrix of priors tells the places apart."""

import copy
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from scipy.stats import chisquare

from sktopic._kernels.random._rng import uniforms
from sktopic._state._fields import duplicate
from sktopic._topics._topic_word_prior import TopicWordPrior, WordPrior, split_topic_word_prior
from sktopic._topics._word_counts import WordCounts
from sktopic.datasets import make_bars
from sktopic.inspection import name_topics
from sktopic.lda import CollapsedGibbsLDA, HybridLDA, OnlineEMLDA, OnlineVariationalLDA, _topic_exchange
from sktopic.lda._topic_exchange import best_order, can_exchange, evidence_gains, sampled_order

K, V, WEIGHT, BASE = 5, 12, 7.0, 0.1
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(2.0, (V, K)) / WEIGHT
MATRIX = np.where(RNG.random((K, V)) < 0.2, RNG.choice([1e-9, 0.7, 5.0], (K, V)), BASE)
MATRIX[[1, 4]] = BASE  # two places that nothing tells apart
ORDERS = np.array(list(permutations(range(K))))


def log_evidence():
    """(K, K) log probability of the counts of topics (columns) under the priors of places."""

    def log_beta(a):
        return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))

    counts = WEIGHT * COUNTS.T
    return log_beta(MATRIX[:, None] + counts) - log_beta(MATRIX)[:, None]


def gains(equal_sizes=False, factor=1.0):
    """Places, and gains of topics whose counts are multiplied."""
    statistics = WordCounts.of(COUNTS * factor, (COUNTS * factor).sum(axis=0))
    base, entries = split_topic_word_prior(MATRIX, K, V, None)
    return evidence_gains(statistics, WEIGHT, TopicWordPrior(base=base, entries=entries), equal_sizes)


def test_gains_are_those_of_the_evidence():
    """At equal sizes, the same for topics of other sizes."""
    places, found = gains()
    expected = log_evidence()
    assert_array_equal(places, [0, 2, 3])
    assert_allclose(found, expected[places] - expected[1], rtol=1e-10)
    sizes = COUNTS.sum(axis=0)
    factor = np.array([1.0, 3.0, 0.1, 1e-3, 20.0])
    factor *= sizes.mean() / (sizes * factor).mean()
    equal = gains(equal_sizes=True)[1]
    assert_allclose(gains(equal_sizes=True, factor=factor)[1], equal, rtol=1e-10)
    assert_allclose(gains(factor=sizes.mean() / sizes)[1], equal, rtol=1e-10)
    assert np.all(np.isfinite(gains(equal_sizes=True, factor=np.array([1.0, 1, 0, 1, 1]))[1]))


def test_best_order_is_the_most_probable_of_all():
    places, found = gains()
    evidence = log_evidence()[np.arange(K), ORDERS].sum(axis=1)
    order = best_order(places, found)
    assert_allclose(log_evidence()[np.arange(K), order].sum(), evidence.max(), rtol=1e-12)
    assert sorted(order) == list(range(K))
    for settled in (found[:, order], np.zeros_like(found)):
        assert_array_equal(best_order(places, settled), np.arange(K))


@pytest.mark.slow
def test_sampled_orders_leave_the_posterior_as_it_is():
    """Draws of arrangements, each followed by a step: what comes out has the same probabilities."""
    found, places = RNG.normal(size=(2, 4)), np.array([1, 3])
    orders = np.array(list(permutations(range(4))))
    probability = np.exp(found[[0, 1], orders[:, places]].sum(axis=1))
    probability /= probability.sum()
    draws = RNG.choice(len(orders), size=2500, p=probability)
    steps = uniforms(1, len(draws) * found.size).reshape(-1, *found.shape)
    after = [orders[i][sampled_order(places, found[:, orders[i]], u)] for i, u in zip(draws, steps)]
    assert np.mean(np.any(after != orders[draws], axis=1)) > 0.5
    visits = [np.all(after == order, axis=1).sum() for order in orders]
    assert chisquare(visits, len(draws) * probability).pvalue > 0.01


BARS = make_bars(200, random_state=0).data
GIVEN = {"n_components": 10, "random_state": 0}


def seeds_of(words, place):
    """A matrix with some words in one place."""
    matrix = np.full((10, 25), BASE)
    matrix[place, words] = 10.0
    return matrix


def exchanged(model, matrix):
    """The state of a model after topics have changed places under a matrix of priors."""
    state = model._state
    prior = WordPrior(matrix, BASE).adopted(state.word_prior, model.n_components, state.words, goes_on=True)
    return model._method()._exchanged(replace(state, word_prior=prior))


@pytest.mark.parametrize(
    "model",
    [
        OnlineEMLDA(average=True),
        OnlineEMLDA(doc_topic_prior="auto", prior_update="gamma"),
        OnlineVariationalLDA(),
        HybridLDA(),
    ],
    ids=str,
)
def test_a_topic_comes_to_the_place_of_its_seeds(model):
    model.set_params(**GIVEN).fit(BARS)
    top = np.sort(model.components_.argsort(axis=1)[:, -5:])
    prior, statistics = model.doc_topic_prior_, duplicate(model._state.words)
    averages = model._state.prior_averages
    model._state = exchanged(model, seeds_of(top[7], 2))
    order = np.arange(10)
    order[[2, 7]] = [7, 2]
    words = model._state.words
    assert_array_equal(words.store, statistics.store[:, order])
    assert_array_equal(words.totals, statistics.totals[order])
    assert_array_equal(model.doc_topic_prior_, prior[order])
    assert_array_equal(model._state.prior_averages[:10], averages[order] if len(averages) else averages)
    if words.averages:
        before, after = (s.store * s.average_weight - s.averaged for s in (statistics, words))
        assert_array_equal(after, before[:, order])
    model.set_params(topic_word_prior=seeds_of(top[7], 2)).partial_fit(BARS)
    assert len(np.intersect1d(model.components_[2].argsort()[-5:], top[7])) >= 4


def test_topics_stay_where_their_numbers_are_known_and_come_seldom_if_that_is_expensive(monkeypatch):
    fitted = OnlineEMLDA(**GIVEN).fit(BARS)
    top = fitted.components_.argsort(axis=1)[:, -5:]
    unequal, named, frozen, dropped = (copy.deepcopy(fitted) for _ in range(4))
    unequal.set_params(doc_topic_prior=np.array([0.2] * 9 + [0.3]))
    unequal._state = replace(unequal._state, doc_topic_prior=unequal.doc_topic_prior)
    name_topics(named, {2: "mine"})
    for model in unequal, named, frozen.freeze_topics([9]), dropped.drop_topics([9]):
        store = model._state.words.store.copy()
        assert_array_equal(exchanged(model, seeds_of(top[7], 2)).words.store, store)
    # Five entries in ten places are 50 pairs: with 20 pairs per update, one exchange in three updates.
    monkeypatch.setattr(_topic_exchange, "PAIRS_PER_UPDATE", 20)
    state = fitted._state
    prior = WordPrior(seeds_of(range(5), 2), BASE).adopted(state.word_prior, 10, state.words, goes_on=True)
    made = [can_exchange(state, prior, n_updates, proportions_move=True) for n_updates in range(7)]
    assert made == [True, False, False, True, False, False, True]


@pytest.mark.parametrize("change", [{}, {"n_shards": 2}, {"doc_topic_prior": "auto"}], ids=str)
def test_tokens_go_with_their_topics(change):
    """The exchange after a sweep leaves documents, counts and priors of topics together."""
    model = CollapsedGibbsLDA(max_iter=30, n_draws=1, **GIVEN, **change).fit(BARS)
    model.set_params(components_init=model.components_)
    method, fitted = model._method(), model._state
    state = replace(fitted, words=WordCounts.empty(*fitted.words.store.shape))
    call = method.begin(state, model._validate_documents(BARS, reset=False))
    method.assign_at_random(state, call)
    counts, prior = state.words.store.copy(), state.doc_topic_prior
    z = [shard.z.copy() for shard in call.shards]
    top = np.sort(counts.T.argsort(axis=1)[:, -5:])
    method = model.set_params(topic_word_prior=seeds_of(top[7], 2))._method()
    state = method.adopted(state)
    assert replace(method, topics_are_named=True).exchanged(state, call, 3) is state
    state = method.exchanged(state, call, 3)
    order = np.array([np.all(column == counts.T, axis=1).argmax() for column in state.words.store.T])
    assert order[2] == 7
    assert_array_equal(state.words.totals, counts.sum(axis=0)[order])
    assert_array_equal(state.doc_topic_prior, prior[order])
    for shard, before in zip(call.shards, z):
        assert_array_equal(order[shard.z], before)
        documents = list(map(np.copy, shard.topics.used()))
        shard.list_topics()
        assert all(map(np.array_equal, shard.topics.used(), documents))
