"""Online variational inference for the HDP: its bound, its steps, the number of topics, and corner cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, psi

from sktopic._documents._matrices import DocumentReader
from sktopic._runtime._parallel import Workers
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.hdp import OnlineVariationalHDP
from tests.reference import hdp_variational as reference

X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=30, random_state=0).data,
    dtype=np.float64,
)
ETA, GAMMA, ALPHA = 0.07, 1.5, 0.8
# Iterations over a document go on until nothing changes; each update is the whole step.
CONVERGED = {"max_doc_update_iter": 3000, "bound_tol": 1e-10}
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
    batch = DocumentReader(counts).batch(np.arange(counts.shape[0]))
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


def bound_by_numpy(model, counts):
    """All terms of the bound, from inferred parameters of documents and public state."""
    lambda_, taken, left = full_posterior(model)
    log_beta = psi(lambda_) - psi(lambda_.sum(axis=1, keepdims=True))
    log_weights = reference.log_shares(taken, left)
    inferred, batch = step_of(model, counts)
    total = reference.stick_terms(taken, left, model.topic_concentration).sum()
    total += reference.topics_bound(lambda_, model.topic_word_prior_)
    for d in range(batch.n_documents):
        cells = slice(batch.indptr[d], batch.indptr[d + 1])
        if batch.lengths[d]:
            rows = log_beta[:, batch.words[batch.cell_word[cells]]].T
            varphi = inferred.varphi[d][:, model.stick_topics_]
            given = batch.cell_count[cells], rows, log_weights, model.doc_concentration
            sticks = inferred.sticks[d][:, :-1]
            total += reference.document_bound(*given, inferred.zeta[cells], varphi, *sticks)
    return total


@pytest.mark.parametrize(("n_components", "n_atoms"), [(6, 4), (1, 3), (5, 1), (3, 7)])
def test_elbo_equals_its_terms_by_numpy(n_components, n_atoms):
    counts = sp.csr_array(sp.vstack([X, sp.csr_array((2, 25))])) * 0.7
    model = make_model(n_components, doc_n_components=n_atoms).fit(counts)
    assert model.elbo(counts) == pytest.approx(bound_by_numpy(model, counts), rel=1e-10)


def test_elbo_of_one_topic_is_the_log_evidence():
    """With one topic and one atom nothing is approximated."""
    model = make_model(1, doc_n_components=1, max_iter=3, **BATCH).fit(X)
    counts = X.sum(axis=0)
    exact = (
        gammaln(25 * ETA) - gammaln(25 * ETA + counts.sum()) + (gammaln(ETA + counts) - gammaln(ETA)).sum()
    )
    assert model.elbo(X) == pytest.approx(exact, rel=1e-9)


def test_elbo_has_the_documents_once_and_the_corpus_once():
    model = make_model(max_iter=2).fit(X)
    parts = [X[:20], X[20:21], X[21:]]
    corpus = model.elbo(sp.csr_array((1, 25)))
    documents = sum(model.elbo(part) - corpus for part in parts)
    assert model.elbo(X) == pytest.approx(corpus + documents, rel=1e-9)
    scaled = corpus + 500 / 60 * documents
    assert model.elbo(X, total_samples=500) == pytest.approx(scaled, rel=1e-9)


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


# Topics, their number and their names


@pytest.mark.slow
def test_topics_in_use_have_a_token_and_the_others_are_left_out():
    """Proportions fold those not in use."""
    bars = make_bars(300, random_state=0)
    bars_model = OnlineVariationalHDP(30, batch_size=50, max_iter=10, random_state=0).fit(bars.data)
    tokens, n, ids = lambda_of(bars_model).sum(axis=1), bars_model.n_components_, bars_model.topic_ids_
    assert n < 30
    assert_array_equal(ids, np.flatnonzero(tokens >= 1))
    assert bars_model.topic_word_posterior_.shape == (n, 25)
    assert bars_model.topic_weights_.sum() == pytest.approx(1.0, rel=1e-12)
    assert_allclose(bars_model.doc_topic_prior_, bars_model.doc_concentration * bars_model.topic_weights_)
    assert bars_model.root_stick_posterior_.shape == (2, 29)
    assert_array_equal(np.sort(bars_model.stick_topics_), np.arange(30))
    posterior = bars_model.topic_word_posterior_
    expected = posterior / posterior.sum(axis=1, keepdims=True)
    assert_allclose(bars_model.components_, expected, rtol=1e-9)
    assert_allclose(bars_model.topic_word_counts_.sum(axis=1), tokens[ids], rtol=1e-6)
    counts = sp.csr_array(bars.data[:20], dtype=np.float64)
    theta = step_of(bars_model, counts)[0].theta[:, ids]
    assert np.all(theta.sum(axis=1) < 1.0)
    assert_allclose(bars_model.transform(counts), theta / theta.sum(axis=1, keepdims=True), rtol=1e-12)


# Corner cases


def test_batch_without_words_leaves_the_sticks():
    model = make_model(total_samples=60).partial_fit(X)
    before = model.root_stick_posterior_
    assert_array_equal(model.partial_fit(sp.csr_array((3, 25))).root_stick_posterior_, before)


def test_words_beyond_the_topics_are_refused():
    model = make_model().fit(X)
    with pytest.raises(ValueError, match=r"topics of shape \(25, 6\) do not fit"):
        step_of(model, sp.csr_array(([1.0], ([0], [25])), shape=(1, 26)))
