"""Online variational inference for the HDP: its bound, its steps, the number of topics, and corner cases."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, psi
from scipy.stats import beta as beta_law
from scipy.stats import dirichlet

from sktopic._documents._matrices import DocumentReader
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import arrays_of
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.hdp import OnlineVariationalHDP
from sktopic.lda import OnlineVariationalLDA
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


def sampled_log_ratio(rng, model, counts, n_draws):
    """log p(w, all variables) - log q(all variables) of draws from q, for documents of unit counts.

    Densities are those of scipy, assignments are drawn, and words enter one token at a time.
    """
    lambda_, taken, left = full_posterior(model)
    inferred, batch = step_of(model, counts)
    n_topics, n_atoms = len(lambda_), inferred.varphi.shape[1]
    ratio = np.zeros(n_draws)

    def draw_sticks(a, b, concentration):
        v = rng.beta(a, b, (n_draws, len(a)))
        law = beta_law.logpdf(v, 1.0, concentration) - beta_law.logpdf(v, a, b)
        ones = np.ones((n_draws, 1))
        shares = np.hstack([v, ones]) * np.hstack([ones, np.cumprod(1.0 - v, axis=1)])
        return shares, law.sum(axis=1)

    weights, law = draw_sticks(taken, left, model.topic_concentration)
    ratio += law
    beta = np.stack([rng.dirichlet(parameters, n_draws) for parameters in lambda_], axis=1)
    eta = np.full(lambda_.shape[1], model.topic_word_prior_)
    for k in range(n_topics):
        ratio += dirichlet.logpdf(beta[:, k].T, eta) - dirichlet.logpdf(beta[:, k].T, lambda_[k])
    draws = np.arange(n_draws)
    for d in range(batch.n_documents):
        varphi = inferred.varphi[d][:, model.stick_topics_]
        shares, law = draw_sticks(*inferred.sticks[d][:, :-1], model.doc_concentration)
        ratio += law
        c = np.array([rng.choice(n_topics, n_draws, p=row / row.sum()) for row in varphi])
        for t in range(n_atoms):
            ratio += np.log(weights[draws, c[t]]) - np.log(varphi[t, c[t]])
        for cell in range(batch.indptr[d], batch.indptr[d + 1]):
            zeta, word = inferred.zeta[cell], batch.words[batch.cell_word[cell]]
            for _ in range(int(batch.cell_count[cell])):
                z = rng.choice(n_atoms, n_draws, p=zeta / zeta.sum())
                ratio += np.log(shares[draws, z]) - np.log(zeta[z]) + np.log(beta[draws, c[z, draws], word])
    return ratio


TINY = sp.csr_array(np.array([[2.0, 1, 0], [0, 1, 1], [0, 0, 2]]))
WIDE = {"topic_word_prior": 0.9, "topic_concentration": 1.2, "doc_concentration": 1.1}


@pytest.mark.law
def test_elbo_is_the_expectation_of_the_log_ratio_of_densities():
    """Within five standard errors, of 0.02 nats at most: every term is larger."""
    model = make_model(3, doc_n_components=2, max_iter=30, **BATCH, **CONVERGED, **WIDE).fit(TINY)
    ratio = sampled_log_ratio(np.random.default_rng(0), model, TINY, 50_000)
    error = ratio.mean() - model.elbo(TINY)
    assert abs(error) < 5 * ratio.std() / np.sqrt(len(ratio))
    assert ratio.std() / np.sqrt(len(ratio)) < 0.02


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


def corpus_bound(lambda_, taken, left, expected, atoms):
    """The part of the bound that depends on the corpus' posterior, documents held fixed.

    expected (K, V) and atoms (K,) are sums over documents; topics in the order of the sticks.
    """
    log_beta = psi(lambda_) - psi(lambda_.sum(axis=1, keepdims=True))
    total = (expected * log_beta).sum() + atoms @ reference.log_shares(taken, left)
    return total + reference.topics_bound(lambda_, ETA) + reference.stick_terms(taken, left, GAMMA).sum()


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
    before = corpus_bound(*full_posterior(model), *(p[model.stick_topics_] for p in (expected, atoms)))
    model.partial_fit(X)
    order = model.stick_topics_
    assert_array_equal(order, np.argsort(-atoms, kind="stable"))
    lambda_, taken, left = full_posterior(model)
    assert_allclose(lambda_, ETA + expected[order], rtol=1e-9)
    assert_allclose(taken, 1.0 + atoms[order][:-1], rtol=1e-9)
    assert_allclose(left, GAMMA + np.cumsum(atoms[order][::-1])[::-1][1:], rtol=1e-9)
    best = corpus_bound(lambda_, taken, left, expected[order], atoms[order])
    assert best >= before
    rng = np.random.default_rng(0)
    for scale in (1e-3, 0.1):
        moved = [p * rng.uniform(1 - scale, 1 + scale, p.shape) for p in (lambda_, taken, left)]
        assert corpus_bound(*moved, expected[order], atoms[order]) < best
    # No other order of the topics is better, each with its own best sticks.
    for _ in range(20):
        other = rng.permutation(len(order))
        after = np.cumsum(atoms[other][::-1])[::-1]
        sticks = 1.0 + atoms[other][:-1], GAMMA + after[1:]
        assert corpus_bound(ETA + expected[other], *sticks, expected[other], atoms[other]) <= best + 1e-9


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


@pytest.fixture(scope="module")
def bars():
    return make_bars(500, random_state=0)


@pytest.fixture(scope="module")
def bars_model(bars):
    return OnlineVariationalHDP(30, batch_size=50, max_iter=20, random_state=0).fit(bars.data)


@pytest.mark.slow
def test_bars_are_found_and_counted(bars, bars_model):
    assert 10 <= bars_model.n_components_ <= 13
    # Each bar has a topic like it.
    distance = np.abs(bars.components[:, None] - bars_model.components_[None]).sum(axis=2)
    assert distance.min(axis=1).max() < 0.15
    held_out = make_bars(200, random_state=1).data
    lda = OnlineVariationalLDA(10, batch_size=50, max_iter=20, random_state=0).fit(bars.data)
    assert bars_model.score(held_out) > lda.score(held_out) - 0.02


@pytest.mark.slow
def test_topics_in_use_have_a_token_and_the_others_are_left_out(bars, bars_model):
    """Proportions fold those not in use."""
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


@pytest.mark.slow
def test_topics_keep_their_numbers_when_training_goes_on(bars, bars_model):
    model = deepcopy(bars_model).set_params(total_samples=500)
    ids, topics = model.topic_ids_, model.components_
    model.partial_fit(bars.data[:100])
    both = np.intersect1d(ids, model.topic_ids_)
    assert len(both) >= 10
    after = model.components_[np.searchsorted(model.topic_ids_, both)]
    assert np.abs(after - topics[np.searchsorted(ids, both)]).sum(axis=1).max() < 0.2


# Corner cases


@pytest.mark.parametrize(("n_components", "n_atoms"), [(1, 20), (5, 1), (50, 2)])
@pytest.mark.parametrize("factor", [0.01, 1e10])
def test_truncations_and_counts_of_all_sizes(n_components, n_atoms, factor):
    counts = sp.csr_array(sp.vstack([X[:20], sp.csr_array((1, 25)), X[20:30]])) * factor
    model = make_model(n_components, doc_n_components=n_atoms, max_iter=3).fit(counts)
    theta = model.transform(counts)
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(theta[20], model.topic_weights_, rtol=1e-9)
    assert np.isfinite(model.score(counts)) and np.isfinite(model.elbo(counts))
    assert all(np.isfinite(array).all() for array in arrays_of(model._state).values())


@pytest.mark.parametrize("name", ["topic_word_prior", "topic_concentration", "doc_concentration"])
@pytest.mark.parametrize("value", [1e-6, 1e6])
def test_extreme_priors_leave_everything_finite(name, value):
    model = make_model(20, max_iter=3, **{name: value}).fit(X)
    assert np.isfinite(model.elbo(X)) and np.isfinite(model.score(X))
    assert np.all(model.doc_topic_prior_ > 0)
    assert_allclose(model.transform(X).sum(axis=1), 1.0, rtol=1e-12)


def test_batch_without_words_leaves_the_sticks():
    model = make_model(total_samples=60).partial_fit(X)
    before = model.root_stick_posterior_
    assert_array_equal(model.partial_fit(sp.csr_array((3, 25))).root_stick_posterior_, before)
