"""Truncation-free inference: its updates, the exact law of its batches, and topics that come and go."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta

from sktopic._kernels._groups import SweepSettings
from sktopic.hdp import TruncationFreeHDP, _truncation_free_method
from sktopic.hdp._restaurants import SAMPLERS
from sktopic.hdp._truncation_free_method import BatchChain, TruncationFree, best_sticks
from tests.kernels.tools import assert_within, for_each_seed
from tests.lda_models import X, batch_of, smoothed, watched
from tests.reference import truncation_free as reference


def make_model(**params):
    return TruncationFreeHDP(**{"n_components": 4, "batch_size": 20, "random_state": 0, **params})


SETTINGS = SweepSettings(
    sampler=SAMPLERS["direct_assignment"],
    common=0,
    topic_concentration=0.7,
    doc_concentration=1.3,
    topic_word_prior=0.2,
    n_features=5,
)


# Updates


def test_updates_are_those_in_print(monkeypatch):
    """Posteriors after every batch, from the tokens and tables that it drew."""
    seen = watched(monkeypatch, TruncationFree, "infer", lambda counts, _, state, batch, *__: (counts, batch))
    model = make_model(topic_concentration=50.0, total_samples=60).partial_fit(sp.csr_array((2, 25)))
    lam, a, b, n_tokens = np.zeros((0, 25)), np.zeros(0), np.zeros(0), 0.0
    ids, n_births = np.zeros(0, dtype=int), 0
    for t in range(9):
        state = model.partial_fit(X[20 * (t % 3) :][:20])._state
        counts, batch = seen[-1]
        tokens = np.zeros((len(counts.tables), 25))
        tokens[:, batch.words] = counts.counts.T / 3
        rho = 1.0 if t == 0 else model._method().steps(state.n_topic_updates)
        lam, a, b = reference.update(lam, a, b, tokens, counts.tables, rho, 60 / 20, 0.05, 50.0)
        ids = np.append(ids, n_births + np.arange(len(a) - len(ids)))
        n_births, kept = max(ids) + 1, (lam - 0.05).sum(axis=1) >= 1.0
        lam, a, b, ids, n_tokens = lam[kept], a[kept], b[kept], ids[kept], n_tokens + tokens.sum()
        weights = reference.mean_weights(a, b)
        assert_array_equal(model.topic_ids_, ids)
        assert_allclose(model.topic_word_posterior_, lam, rtol=1e-10)
        assert_allclose(model.components_, smoothed(lam, 0.0), rtol=1e-10)
        assert_allclose(state.sticks, [a, b], rtol=1e-12)
        assert_allclose(model.topic_weights_, weights, rtol=1e-12)
        assert_allclose(model.doc_topic_prior_, 5.0 * weights, rtol=1e-12)
    assert len({len(counts.tables) for counts, _ in seen}) > 2
    assert n_births > len(ids)
    assert 0.9 < n_tokens / (3 * X.sum()) <= 1.0  # but for topics that end with their batch


# What a batch is drawn from


def law_of_two_tokens(a, b, count, total):
    """Of two tokens of one word in a document, beside one topic of the corpus with a stick of Beta(a, b):
    both in that, at one table or two; one in that; both in one new topic, at one table or two; in two."""

    def mean(function):
        return quad(lambda v: beta.pdf(v, a, b) * function(v), 0, 1)[0]

    _, _, gamma, alpha, eta, n_features = SETTINGS
    known = (count + eta) / (total + n_features * eta)
    again = (count + 1 + eta) / (total + 1 + n_features * eta)
    new, new_again = 1 / n_features, (1 + eta) / (1 + n_features * eta)
    apart = mean(lambda v: alpha * (1 - v) ** 2)
    law = np.array(
        [
            mean(lambda v: v) * known * again,
            mean(lambda v: alpha * v**2) * known * again,
            2 * mean(lambda v: v * alpha * (1 - v)) * known * new,
            mean(lambda v: 1 - v) * new * new_again,
            apart / (1 + gamma) * new * new_again,
            apart * gamma / (1 + gamma) * new * new,
        ]
    )
    return law / law.sum()


@pytest.mark.law
@for_each_seed
def test_batch_beside_a_corpus_has_the_exact_law(seed):
    """Of topics and tables; also all that a batch without a corpus would have is in it."""
    batch, sticks = batch_of(np.array([[0, 0, 0, 2, 0]])), np.array([[1.5], [0.6]])
    chain = BatchChain(batch, np.array([[0.4]]), np.array([4.0]), sticks, SETTINGS)
    n = 5000  # shares off by three hundredths are seen
    kinds = np.zeros((n, 6))
    for i in range(n):
        chain.sweep((seed << 32) + i, counted=False)
        (first, second), two_tables = chain.documents.z, chain.tables.sum() == 2
        if 0 in (first, second):
            kind = two_tables if first == second else 2
        else:
            kind = 3 + two_tables if first == second else 5
        kinds[i, int(kind)] = 1.0
    batches = kinds.reshape(25, -1, 6).mean(axis=1)
    assert np.all(batches.std(axis=0) < 0.1)
    assert_within(batches, law_of_two_tokens(1.5, 0.6, 0.4, 4.0), 4)


@pytest.mark.law
def test_sticks_have_their_beta_laws():
    """Of two known topics and two new ones, given tables."""
    known = np.ones((3, 2)), np.full(2, 3.0), np.array([[2.0, 3.0], [5.0, 4.0]])
    chain = BatchChain(batch_of(np.ones((1, 3))), *known, SETTINGS)
    chain.assign_at_random(2, 0)
    chain.tables[:5] = [4.0, 0.0, 2.0, 0.0, 1.0]
    rng = np.random.RandomState(0)
    drawn = [chain.draw_weights(rng) for _ in range(4000)]
    weights = np.array([np.append(w[[0, 1, 2, 4]], rest) for w, rest in drawn]) / 1.3
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.any(np.array([w for w, _ in drawn])[:, [3, *range(5, len(chain.tables))]])
    sticks = weights[:, :4] / (1.0 - np.cumsum(weights, axis=1)[:, :4] + weights[:, :4])
    a, b = np.array([6.0, 3.0, 2.0, 1.0]), np.array([8.0, 7.0, 1.7, 0.7])
    assert_within(sticks, a / (a + b), 4)
    assert_within(sticks**2, a * (a + 1) / (a + b) / (a + b + 1), 4)


def test_topics_that_end_in_a_batch_leave_nothing():
    batch, settings = batch_of(X), SETTINGS._replace(topic_concentration=20.0, n_features=25)
    chain = BatchChain(batch, np.zeros((25, 0)), np.zeros(0), np.zeros((2, 0)), settings)
    chain.assign_at_random(30, 0)
    sizes, tables = [], np.zeros(0)
    for key in range(12):
        chain.sweep(key, counted=key >= 6)
        live = chain.live()
        tokens = np.bincount(chain.documents.z, minlength=len(live))
        assert_array_equal(tokens > 0, live)
        assert_array_equal(chain.topics.totals, tokens)
        assert_array_equal(chain.topics.counts.sum(axis=0), tokens)
        assert not np.any(chain.summed[:, ~live])
        tables = np.append(tables, np.zeros(len(live) - len(tables))) + (key >= 6) * chain.tables
        tables[~live] = 0.0
        sizes.append(live.sum())
    result = chain.result(6)
    assert result.counts.shape[1] == len(result.tables) == sizes[-1]
    assert len(set(sizes)) > 1
    assert_allclose(result.tables, tables[live] / 6, rtol=1e-14)


# The model


def test_a_batch_weighs_its_tables_against_those_of_as_many_documents(monkeypatch):
    """However large the corpus is, new topics have what sticks left them in a batch before."""
    seen = watched(monkeypatch, _truncation_free_method, "best_sticks", lambda _, tables, gamma: tables)
    given = watched(monkeypatch, _truncation_free_method, "BatchChain", lambda chain, batch: chain.sticks)
    for total in (60, 1e8):
        model = make_model(total_samples=total, topic_concentration=3.0).partial_fit(X[:20])
        tables = seen[-1] * 20 / total
        model.partial_fit(X[20:40])
        assert_allclose(given[-1], best_sticks(tables, 3.0), rtol=1e-6)
