"""Online variational inference for the HDP: its bound, its steps, the number of topics, and corner cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, psi

from sktopic._runtime._parallel import Workers
from sktopic.datasets import make_bars
from sktopic.hdp import OnlineVariationalHDP
from tests.lda_models import X, batch_of, smoothed
from tests.reference import hdp_variational as reference

ETA, GAMMA, ALPHA = 0.07, 1.5, 0.8
BATCH = {"batch_size": 60, "shuffle": False, "learning_decay": 0.0}


def make_model(n_components=6, **params):
    settings = {
        "doc_n_components": 4,
        "topic_concentration": GAMMA,
        "doc_concentration": ALPHA,
        "topic_word_prior": ETA,
        "batch_size": 15,
        "random_state": 0,
    }
    return OnlineVariationalHDP(n_components, **{**settings, **params})


def step_of(model, counts):
    """What the model infers of some documents (AtomCounts), and the document batch."""
    batch = batch_of(counts)
    with Workers() as workers:
        topics = model._inference_topics().gather(batch.words, None, workers)
        return model._transform_step()(batch, topics, model.doc_topic_prior_, None, workers), batch


def full_posterior(model):
    """lambda of all topics, in use or not; and the sticks' Beta parameters; topics in order of sticks."""
    return lambda_of(model)[model.stick_topics_] + model.topic_word_prior_, *model.root_stick_posterior_


def lambda_of(model):
    """Expected tokens of words in all topics, ndarray of shape (n_topics, n_features)."""
    words = model._state.words
    return words.store.T * (model.total_samples_ * words.scale)


# The bound


def bounds_by_numpy(model, counts):
    """All terms of the bound, from inferred parameters and public state: of documents, and of the corpus."""
    lambda_, taken, left = full_posterior(model)
    log_beta = psi(lambda_) - psi(lambda_.sum(axis=1, keepdims=True))
    log_weights = reference.log_shares(taken, left)
    (inferred, batch), total = step_of(model, counts), 0.0
    for d in np.flatnonzero(batch.lengths):
        cells = slice(batch.indptr[d], batch.indptr[d + 1])
        rows = log_beta[:, batch.words[batch.cell_word[cells]]].T
        varphi = inferred.varphi[d][:, model.stick_topics_]
        given = batch.cell_count[cells], rows, log_weights, model.doc_concentration
        sticks = inferred.sticks[d][:, :-1]
        total += reference.document_bound(*given, inferred.zeta[cells], varphi, *sticks)
    corpus = reference.stick_terms(taken, left, model.topic_concentration).sum()
    return total, corpus + reference.topics_bound(lambda_, model.topic_word_prior_)


@pytest.mark.parametrize(("n_components", "n_atoms"), [(6, 4), (1, 3), (5, 1), (3, 7)])
def test_elbo_equals_its_terms_by_numpy(n_components, n_atoms):
    counts = sp.csr_array(sp.vstack([X, sp.csr_array((2, 25))])) * 0.7
    model = make_model(n_components, doc_n_components=n_atoms).fit(counts)
    documents, corpus = bounds_by_numpy(model, counts)
    assert model.elbo(counts) == pytest.approx(documents + corpus, rel=1e-10)
    assert model.elbo(counts, total_samples=620) == pytest.approx(10 * documents + corpus, rel=1e-10)


def test_elbo_of_one_topic_is_the_log_evidence():
    """With one topic and one atom nothing is approximated."""
    model = make_model(1, doc_n_components=1, max_iter=3, **BATCH).fit(X)
    counts = X.sum(axis=0)
    exact = gammaln(25 * ETA) - gammaln(25 * ETA + counts.sum())
    exact += (gammaln(ETA + counts) - gammaln(ETA)).sum()
    assert model.elbo(X) == pytest.approx(exact, rel=1e-9)


# Steps


def expected_of(model, counts):
    """Expected words of topics (K, V) and atoms of topics (K,), by topic number."""
    inferred, batch = step_of(model, counts)
    cells = reference.atom_counts(batch.cell_document(), batch.cell_count, inferred.zeta, inferred.varphi)
    expected = np.zeros((counts.shape[1], cells.shape[1]))
    np.add.at(expected, batch.words[batch.cell_word], cells)
    return expected.T, inferred.varphi.sum(axis=(0, 1))


def test_whole_step_with_the_whole_corpus_is_the_optimum_of_the_corpus_posterior():
    model = make_model(total_samples=60, **BATCH).partial_fit(X)
    expected, atoms = expected_of(model, X)
    model.partial_fit(X)
    order = model.stick_topics_
    assert_array_equal(order, np.argsort(-atoms, kind="stable"))
    lambda_, taken, left = full_posterior(model)
    assert_allclose(lambda_, ETA + expected[order], rtol=1e-9)
    assert_allclose(taken, 1.0 + atoms[order][:-1], rtol=1e-9)
    assert_allclose(left, GAMMA + np.cumsum(atoms[order][::-1])[::-1][1:], rtol=1e-9)


def test_online_step_moves_by_the_natural_gradient():
    """lambda, and the atoms of each topic: averages of what they were and what the batch alone asks for."""
    model = make_model(total_samples=500, learning_decay=0.7, learning_offset=3.0).partial_fit(X[:15])
    expected, atoms = expected_of(model, X[15:22])
    lambda_, before = lambda_of(model) + ETA, 500 * model._state.atoms
    model.partial_fit(X[15:22])
    rho = (3.0 + 2) ** -0.7
    wanted = (1 - rho) * lambda_ + rho * (ETA + 500 / 7 * expected)
    assert_allclose(lambda_of(model) + ETA, wanted, rtol=1e-9)
    assert_allclose(500 * model._state.atoms, (1 - rho) * before + rho * 500 / 7 * atoms, rtol=1e-9)
    sticks = model.root_stick_posterior_
    assert_array_equal(model.partial_fit(sp.csr_array((3, 25))).root_stick_posterior_, sticks)


# Topics, their number and their names


@pytest.mark.slow
def test_topics_in_use_have_a_token_and_the_others_are_left_out():
    """Proportions fold those not in use."""
    bars = make_bars(300, random_state=0).data
    model = OnlineVariationalHDP(30, batch_size=50, max_iter=10, random_state=0).fit(bars)
    tokens, ids, posterior = lambda_of(model).sum(axis=1), model.topic_ids_, model.topic_word_posterior_
    assert_array_equal(ids, np.flatnonzero(tokens >= 1))
    assert model.n_components_ == len(ids) < 30
    assert model.topic_weights_.sum() == pytest.approx(1.0, rel=1e-12)
    assert_allclose(model.doc_topic_prior_, model.doc_concentration * model.topic_weights_)
    assert model.root_stick_posterior_.shape == (2, 29)
    assert_array_equal(np.sort(model.stick_topics_), np.arange(30))
    assert_allclose(model.components_, smoothed(posterior, 0.0), rtol=1e-9)
    assert_allclose(model.topic_word_counts_.sum(axis=1), tokens[ids], rtol=1e-6)
    theta = step_of(model, bars[:20])[0].theta[:, ids]
    assert np.all(theta.sum(axis=1) < 1.0)
    assert_allclose(model.transform(bars[:20]), smoothed(theta, 0.0), rtol=1e-12)


def test_words_beyond_the_topics_are_refused():
    model = make_model().fit(X)
    with pytest.raises(ValueError, match=r"topics of shape \(25, 6\) do not fit"):
        step_of(model, sp.csr_array(([1.0], ([0], [25])), shape=(1, 26)))
