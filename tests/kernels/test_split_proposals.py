"""Divisions of topics against their NumPy twins, the whole bound, and parts that are there."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import Ascent, TopicCells, WholeTopic
from sktopic._kernels.hdp import _split_proposals as kernel
from sktopic.hdp._split_proposals import divide_cells, propose_parts
from tests.reference import direct_assignment
from tests.reference import split_proposals as reference

KEY = 99


def tokens_of_a_topic(seed=0):
    """(12 documents, 30 words); two documents have none."""
    rng = np.random.default_rng(seed)
    c = rng.gamma(0.5, 3.0, (12, 30)) * (rng.random((12, 30)) < 0.6)
    c[[3, 7]] = 0.0
    return c


def cells_of(c):
    document, word = (x.astype(np.int32) for x in np.nonzero(c))
    return SimpleNamespace(document=document, word=word, tokens=c[document, word])


@pytest.mark.parametrize("max_iter", [1, 50])
@pytest.mark.parametrize("prior", [(0.3, 0.2), (1e-6, 2.0), (1.0, 1e-12, 0.5)])
def test_division_is_that_of_the_reference(prior, max_iter):
    cells, prior = cells_of(tokens_of_a_topic()), np.array(prior)
    log_words = np.random.default_rng(1).normal(0, 2, (30, len(prior)))
    given = cells.document, cells.word, cells.tokens, log_words, prior, max_iter, 1e-9
    mixing = np.zeros(12)
    divided = kernel.divide_cells(*given, mixing)
    expected, expected_mixing = reference.divide_cells(*given, 12)
    assert_allclose(divided, expected, rtol=1e-9, atol=1e-90)
    assert_allclose(divided.sum(axis=1), cells.tokens, rtol=1e-14)
    assert_allclose(mixing, expected_mixing, rtol=1e-9, atol=1e-9)


def test_division_by_weights_and_of_nothing():
    cells, log_words = cells_of(tokens_of_a_topic()), np.random.default_rng(1).normal(0, 2, (30, 2))
    tokens, _ = divide_cells(cells, 12, log_words.T, np.array([0.15, 0.1]), 2.0)
    given = cells.document, cells.word, cells.tokens, log_words, np.array([0.3, 0.2])
    assert_allclose(tokens, reference.divide_cells(*given, 20, 1e-3, 12)[0], rtol=1e-9)
    none = cells_of(np.zeros((2, 3)))
    tokens, mixing = divide_cells(none, 2, np.zeros((2, 3)), np.ones(2), 1.0)
    assert tokens.shape == (0, 2)
    assert_array_equal(mixing, 0.0)


def propose_with(c, times, whole, settings):
    """Results of the kernel under settings of its own: columns, shares, gain."""
    (n_parts, *ascent), cells = settings, cells_of(c)
    given = TopicCells(cells.document, cells.word, cells.tokens, times)
    return kernel.propose_parts(given, WholeTopic(*whole), n_parts, Ascent(*ascent), KEY)


@pytest.mark.parametrize("n_parts", [2, 5])
@pytest.mark.parametrize("eta", [0.01, 2.0])
def test_proposal_is_that_of_the_reference(n_parts, eta):
    c, rng = tokens_of_a_topic(), np.random.default_rng(2)
    log_words, times = rng.normal(-4, 1, 30), rng.integers(0, 4, 12).astype(float)
    some, settings = c.any(axis=1), (n_parts, 3, 2, 4, 7, 1e-6)
    columns, shares, gain = propose_with(c, times, (log_words, 0.3, 2.0, eta, 40), settings)
    expected = reference.propose_parts(c[some], times[some], log_words, 0.6, eta, 40, *settings, KEY)
    assert_allclose(columns, expected[0], rtol=1e-7, atol=1e-9)
    assert_allclose(shares, expected[1], rtol=1e-7)
    assert gain == pytest.approx(expected[2], rel=1e-9)


def test_gain_of_parts_is_that_of_the_whole_bound():
    """With another topic, and all terms written out."""
    rng = np.random.default_rng(3)
    X = rng.integers(1, 6, (6, 8)).astype(float)
    alpha, eta, beta = 1.7, 0.2, np.array([0.5, 0.3, 0.2])  # the topic, the other, the rest
    phi, log_words = rng.dirichlet(np.ones(2), X.shape), rng.normal(-2, 1, 8)
    c, settings = X * phi[..., 0], (3, 2, 2, 4, 20, 1e-9)
    parts = propose_with(c, np.ones(6), (log_words, beta[0], alpha, eta, 8), settings)
    given = c, np.ones(6), log_words, alpha * beta[0], eta, 8, *settings, KEY
    *expected, divided = reference.propose_parts(*given)
    assert_allclose(parts[0], expected[0], rtol=1e-7)

    def whole_bound(phi, beta):
        tokens = X[..., None] * phi
        theta = np.hstack([alpha * beta[:-1] + tokens.sum(axis=1), np.full((6, 1), alpha * beta[-1])])
        lam = eta + tokens.sum(axis=0).T
        documents = direct_assignment.doc_terms(X, phi, theta, lam, beta, alpha).sum()
        return documents + direct_assignment.topic_terms(lam, eta).sum()

    split_phi = np.concatenate([divided / X[..., None], phi[..., 1:]], axis=2)
    split_beta = np.concatenate([beta[0] * parts[1], beta[1:]])
    change = whole_bound(split_phi, split_beta) - whole_bound(phi, beta)
    assert parts[2] == pytest.approx(change, rel=1e-9)


@pytest.mark.parametrize(("n_parts", "key"), [(2, 0), (2, 1), (6, 0), (6, 1)])
def test_parts_that_are_there_are_found(n_parts, key):
    """Topics of ten words each that a topic was made of, in documents that mix two of them."""
    rng = np.random.default_rng(key)
    topics = np.kron(np.eye(n_parts), rng.dirichlet(np.full(10, 5.0), 2)[0])
    mixtures = np.zeros((150, n_parts))
    for mixture in mixtures:
        mixture[rng.choice(n_parts, 2, replace=False)] = rng.dirichlet(np.ones(2))
    c = np.array([rng.multinomial(30, mixture @ topics) for mixture in mixtures]).astype(float)
    log_words = np.log(topics.mean(axis=0))
    whole = WholeTopic(log_words, 0.9, 1.0, 0.05, 200)
    parts = propose_parts(cells_of(c), np.ones(150), whole, n_parts, key)
    assert parts.gain > 100
    assert parts.weights.sum() == pytest.approx(0.9)
    shares = parts.columns.reshape(n_parts, n_parts, 10).sum(axis=2) / c.sum()
    largest = shares.argmax(axis=1)
    assert sorted(largest) == list(range(n_parts))
    assert shares.max(axis=1).sum() > 0.9


def test_a_topic_of_one_kind_of_documents_has_no_parts():
    rng = np.random.default_rng(0)
    topic = rng.dirichlet(np.full(50, 0.5))
    c = rng.multinomial(40, topic, 200).astype(float)
    whole = WholeTopic(np.log(topic + 1e-12), 0.9, 1.0, 0.1, 50)
    assert all(propose_parts(cells_of(c), np.ones(200), whole, 2, key).gain < 0 for key in range(5))
