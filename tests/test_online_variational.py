"""Online variational Bayes: against scikit-learn's own inference, plain NumPy, and its bound."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma, gammaln, polygamma
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.decomposition._lda import _update_doc_distribution

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import OnlineVariationalLDA
from sktopic.metrics import document_completion

from .conftest import assert_same_state, state

ETA, ALPHA = 0.07, 0.3
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=30, random_state=0).data,
    dtype=np.float64,
)
# Iterations over a document go on until nothing changes.
CONVERGED = {"max_doc_update_iter": 3000, "mean_change_tol": 1e-8}


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "learning_decay": 0.7,
        "learning_offset": 3.0,
        "batch_size": 15,
        "shuffle": False,
        "random_state": 0,
        **CONVERGED,
    }
    return OnlineVariationalLDA(n_components, **{**settings, **params})


def with_posterior(model, lambda_, total_samples):
    """Put the model in the midst of training, with these parameters of the topics' posteriors."""
    model.set_params(total_samples=total_samples).partial_fit(np.ones((1, lambda_.shape[1])))
    statistics = model._state.words
    statistics.store[:] = (lambda_.T - model.topic_word_prior_) / total_samples
    statistics.totals[:] = statistics.store.sum(axis=0)
    model._state = replace(model._state, words=replace(statistics, scale=1.0))
    assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-12)
    return model


def random_posterior(n_components, n_features, seed=0):
    return ETA + np.random.RandomState(seed).gamma(1.0, 10.0, (n_components, n_features))


def expected_log(parameters):
    """E[log p] of each row's Dirichlet."""
    return digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))


def scikit_learn_counts(counts, lambda_, prior):
    """gamma and the expected counts of words in topics, by scikit-learn's own iterations."""
    topics = np.exp(expected_log(lambda_))
    gamma, statistics = _update_doc_distribution(
        sp.csr_matrix(counts), topics, prior, 20_000, 1e-11, True, None
    )
    return gamma, statistics * topics


def numpy_counts(counts, lambda_, prior):
    """The same by NumPy, which knows asymmetric priors."""
    topics, total, gammas = np.exp(expected_log(lambda_)), np.zeros(lambda_.shape), []
    for document in counts.toarray():
        gamma, change = prior + document.sum() / len(topics) * np.ones(len(topics)), 1.0
        while change > 1e-12:
            weights = topics * np.exp(digamma(gamma))[:, None]
            expected = weights / weights.sum(axis=0) * document
            updated = prior + expected.sum(axis=1)
            change, gamma = np.abs(updated - gamma).mean(), updated
        total += expected
        gammas.append(gamma)
    return np.array(gammas), total


def bound_by_numpy(counts, gamma, lambda_, prior, eta):
    """Equation 4 of Hoffman et al., term by term."""
    counts = counts.toarray()
    log_theta, log_phi = expected_log(gamma), expected_log(lambda_)
    total = 0.0
    for document, row in zip(counts, log_theta):
        logits = row[:, None] + log_phi
        phi = np.exp(logits - logits.max(axis=0))
        phi /= phi.sum(axis=0)
        total += (document * (phi * (logits - np.log(phi))).sum(axis=0)).sum()
    for parameters, log_p, p in ((gamma, log_theta, prior), (lambda_, log_phi, eta)):
        p = np.broadcast_to(p, parameters.shape[1])
        for row, logs in zip(parameters, log_p):
            total += gammaln(p.sum()) - gammaln(p).sum() + ((p - 1) * logs).sum()
            total -= gammaln(row.sum()) - gammaln(row).sum() + ((row - 1) * logs).sum()
    return total


# scikit-learn's inference inside plain online LDA


every_prior = pytest.mark.parametrize(
    ("prior", "oracle"),
    [(ALPHA, scikit_learn_counts), (ALPHA, numpy_counts), (np.array([0.1, 0.2, 0.5, 1.1]), numpy_counts)],
    ids=["symmetric, scikit-learn", "symmetric, NumPy", "asymmetric, NumPy"],
)


@every_prior
def test_online_updates_equal_those_with_the_inference_of_scikit_learn(prior, oracle):
    """lambda <- (1 - rho) lambda + rho (eta + D / |B| counts), over batches of several sizes.

    Documents see float32 topics, which sets the tolerance.
    """
    total = 500.0
    lambda_ = random_posterior(4, 25)
    model = with_posterior(make_model(doc_topic_prior=prior), lambda_, total)
    for t, batch in enumerate([X[:15], X[15:22], X[22:23], X[23:38], X[38:50]], start=2):
        counts = oracle(batch, lambda_, prior)[1]
        rho = (3.0 + t) ** -0.7
        lambda_ = (1 - rho) * lambda_ + rho * (ETA + total / batch.shape[0] * counts)
        model.partial_fit(batch)
        assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-4, atol=1e-5)
        components = lambda_ / lambda_.sum(axis=1, keepdims=True)
        assert_allclose(model.components_, components, rtol=1e-4, atol=1e-6)
        assert np.abs(model.components_ - components).max() < 1e-6
    assert model.n_batch_iter_ == 6


def test_one_long_fit_equals_the_stream_of_scikit_learn_s_inference():
    """Two passes of fit from its own start."""
    model = make_model(max_iter=2, total_samples=60)
    # Documents without words leave the model as it starts.
    start = clone(model).partial_fit(sp.csr_array((1, 25)))
    lambda_ = start.topic_word_posterior_
    first = True
    for t in range(1, 9):
        batch = X[15 * ((t - 1) % 4) :][:15]
        counts = scikit_learn_counts(batch, lambda_, ALPHA)[1]
        if first:  # the noise weighs what the corpus does
            noise = lambda_ - ETA
            lambda_ = ETA + noise * (60 * batch.sum() / 15 / noise.sum())
            first = False
        rho = (3.0 + t) ** -0.7
        lambda_ = (1 - rho) * lambda_ + rho * (ETA + 60 / 15 * counts)
    model.fit(X)
    assert model.n_batch_iter_ == 8
    # Here errors of early updates are carried on, and grow, by later ones.
    assert np.abs(model.components_ - lambda_ / lambda_.sum(axis=1, keepdims=True)).max() < 1e-4


def test_transform_gives_the_mean_of_scikit_learn_s_gamma():
    lambda_ = random_posterior(4, 25)
    gamma = scikit_learn_counts(X, lambda_, ALPHA)[0]
    theta = with_posterior(make_model(), lambda_, 60.0).transform(X)
    assert_allclose(theta, gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


# The bound


@every_prior
def test_elbo_equals_its_terms_by_numpy(prior, oracle):
    lambda_ = random_posterior(4, 25)
    # With documents that have no words, which add nothing.
    counts = sp.csr_array(sp.vstack([X, sp.csr_array((2, 25))]))
    model = with_posterior(make_model(doc_topic_prior=prior), lambda_, 60.0)
    gamma = oracle(counts, lambda_, prior)[0]
    expected = bound_by_numpy(counts, gamma, lambda_, prior, ETA)
    assert model.elbo(counts) == pytest.approx(expected, rel=1e-7)


def test_elbo_of_a_fitted_model_equals_its_terms_by_numpy():
    """From its public state alone, beyond one group of documents, and with real-valued counts."""
    counts = make_lda_documents(1100, n_features=30, n_components=3, mean_length=8, random_state=0).data * 0.7
    model = make_model(3, max_iter=1, batch_size=200).fit(counts)
    lambda_ = model.topic_word_posterior_
    gamma = scikit_learn_counts(counts, lambda_, ALPHA)[0]
    expected = bound_by_numpy(counts, gamma, lambda_, model.doc_topic_prior_, model.topic_word_prior_)
    assert model.elbo(counts) == pytest.approx(expected, rel=1e-6)


def test_elbo_equals_the_bound_of_scikit_learn():
    lambda_ = random_posterior(4, 25)
    model = with_posterior(make_model(), lambda_, 60.0)
    reference = LatentDirichletAllocation(4, doc_topic_prior=ALPHA, topic_word_prior=ETA, max_iter=1)
    reference.fit(sp.csr_matrix(X))
    reference.components_ = lambda_
    gamma = scikit_learn_counts(X, lambda_, ALPHA)[0]
    expected = reference._approx_bound(sp.csr_matrix(X), gamma, sub_sampling=False)
    assert model.elbo(X) == pytest.approx(expected, rel=1e-6)
    # Scaled up to a corpus of which X is a sample.
    reference.total_samples = 500
    expected = reference._approx_bound(sp.csr_matrix(X), gamma, sub_sampling=True)
    assert model.elbo(X, total_samples=500) == pytest.approx(expected, rel=1e-6)


def test_elbo_has_the_documents_once_and_the_topics_once():
    model = make_model(max_iter=2).fit(X)
    parts = [X[:20], X[20:21], X[21:]]
    topics = model.elbo(sp.csr_array((1, 25)))
    documents = sum(model.elbo(part) - topics for part in parts)
    assert model.elbo(X) == pytest.approx(topics + documents, rel=1e-9)
    assert topics < 0


def test_elbo_does_not_depend_on_n_jobs_or_the_container_and_changes_nothing():
    model = make_model(max_iter=1).fit(X)
    before = state(model)
    bounds = [model.elbo(counts) for counts in (X, X.toarray(), X.tocsc())]
    assert_same_state(state(model), before)
    bounds += [model.set_params(n_jobs=n_jobs).elbo(X) for n_jobs in (2, 3)]
    assert len(set(bounds)) == 1


def test_elbo_is_a_lower_bound_of_the_marginal_likelihood():
    """One document of two tokens and one topic: log p is known, and the bound is tight for one topic."""
    counts = np.array([[1.0, 1.0, 0.0]])
    model = make_model(1, learning_method="batch", max_iter=3).fit(counts)
    exact = 2 * np.log(ETA) - np.log(3 * ETA) - np.log(3 * ETA + 1)
    assert model.elbo(counts) == pytest.approx(exact, rel=1e-6)
    # With more, it lies below: all partitions of the tokens by hand.
    model = make_model(2, learning_method="batch", max_iter=50).fit(counts)
    together = (ALPHA + 1) / (2 * ALPHA + 1)
    apart = 2 * np.log(ETA / (3 * ETA))
    exact = np.log(together * np.exp(exact) + (1 - together) * np.exp(apart))
    assert model.elbo(counts) < exact


# learning_method="batch"


def test_batch_learning_equals_full_updates_with_scikit_learn_s_inference():
    """Steps of one: lambda is eta plus the counts expected in all documents. Whatever the batch size."""
    model = make_model(learning_method="batch", max_iter=4, batch_size=7)
    lambda_ = (
        clone(model).set_params(total_samples=60).partial_fit(sp.csr_array((1, 25))).topic_word_posterior_
    )
    for _ in range(4):
        lambda_ = ETA + scikit_learn_counts(X, lambda_, ALPHA)[1]
    model.fit(X)
    assert model.n_batch_iter_ == model.n_iter_ == 4
    assert_allclose(model.topic_word_counts_.sum(axis=0), X.sum(axis=0), rtol=1e-6)
    assert np.abs(model.components_ - lambda_ / lambda_.sum(axis=1, keepdims=True)).max() < 1e-5


def test_batch_learning_depends_neither_on_batch_size_nor_on_the_step_sizes():
    model = make_model(learning_method="batch", max_iter=3).fit(X)
    other = make_model(
        learning_method="batch", max_iter=3, batch_size=1, learning_decay=0.5, learning_offset=9.0
    ).fit(X)
    assert_array_equal(other.components_, model.components_)


@pytest.mark.parametrize("n_documents", [60, 1100])
def test_batch_learning_never_lowers_the_bound_of_the_corpus(n_documents):
    """Coordinate ascent, also where the corpus is more than one group of documents.

    Each sweep may lose what float32 topics round: a millionth.
    """
    counts = make_lda_documents(
        n_documents, n_features=25, n_components=4, mean_length=20, random_state=0
    ).data
    settings = {"max_doc_update_iter": 300, "mean_change_tol": 1e-6, "learning_method": "batch"}
    bounds = [make_model(max_iter=sweeps, **settings).fit(counts).elbo(counts) for sweeps in range(1, 13)]
    assert np.diff(bounds).min() > -1e-6 * abs(bounds[-1])
    assert bounds[-1] > bounds[0] + 0.01 * abs(bounds[0])


def test_batch_learning_with_learned_priors_never_lowers_the_bound_once_it_has_settled():
    """Minka's fixed point raises the bound of the priors too."""
    settings = {
        "learning_method": "batch",
        "doc_topic_prior": "auto",
        "topic_word_prior": "auto",
        "max_doc_update_iter": 300,
    }
    bounds = [make_model(max_iter=sweeps, **settings).fit(X).elbo(X) for sweeps in range(5, 30, 3)]
    assert np.diff(bounds).min() > -1e-5 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


def test_partial_fit_of_batch_learning_is_online_learning():
    counts = [X[:20], X[20:]]
    models = []
    for method in ("batch", "online"):
        model = make_model(learning_method=method)
        for part in counts:
            model.partial_fit(part)
        models.append(model)
    assert_array_equal(models[0].components_, models[1].components_)
    assert models[0].n_batch_iter_ == models[1].n_batch_iter_ == 5


# Learning of the priors


@pytest.mark.parametrize("kind", ["auto", "auto-symmetric"])
@pytest.mark.parametrize("rule", ["fixed-point", "gradient"])
def test_prior_is_learned_from_the_second_update_on(rule, kind):
    """The first sees random topics, under which all documents look alike."""
    model = make_model(doc_topic_prior=kind, prior_update=rule).partial_fit(X[:15])
    assert_array_equal(model.doc_topic_prior_, np.full(4, 4**-0.55))
    assert np.all(model.partial_fit(X[15:30]).doc_topic_prior_ != 4**-0.55)


@pytest.mark.parametrize("rule", ["fixed-point", "gradient"])
def test_symmetric_learning_makes_a_prior_symmetric(rule):
    """Whatever it was before: given, or learned one a topic."""
    model = make_model(doc_topic_prior=[0.1, 0.2, 0.5, 1.0], prior_update=rule).partial_fit(X[:15])
    model.set_params(doc_topic_prior="auto-symmetric").partial_fit(X[15:30])
    assert np.ptp(model.doc_topic_prior_) == 0.0
    assert 0.1 < model.doc_topic_prior_[0] < 1.0


def test_prior_is_learned_after_one_update_with_the_whole_corpus():
    models = [make_model(doc_topic_prior="auto", learning_method="batch", max_iter=n).fit(X) for n in (1, 2)]
    assert_array_equal(models[0].doc_topic_prior_, np.full(4, 4**-0.55))
    assert np.all(models[1].doc_topic_prior_ != 4**-0.55)


@pytest.fixture(scope="module")
def sparse_mixtures():
    """Documents of few topics, out of proportion to each other."""
    prior = np.array([0.02, 0.05, 0.1, 0.4])
    return make_lda_documents(
        600, n_features=40, n_components=4, mean_length=40, doc_topic_prior=prior, random_state=0
    )


every_rule = pytest.mark.parametrize("rule", ["fixed-point", "gradient"])
TO_LEARN = {"batch_size": 60, "max_doc_update_iter": 100, "mean_change_tol": 1e-4}


def trained_from_the_truth(corpus, **params):
    """Ten passes that start from the topics drawn, so that no local maximum of the topics is in the way."""
    model = make_model(**{**TO_LEARN, **params})
    lambda_ = ETA + corpus.components * corpus.data.sum() / len(corpus.components)
    model = with_posterior(model, lambda_, float(corpus.data.shape[0]))
    for _ in range(10):
        model.partial_fit(corpus.data)
    return model


@every_rule
def test_learned_prior_raises_the_bound_and_comes_near_the_truth(sparse_mixtures, rule):
    """The sum of its entries, 0.57, within a factor of 1.6; it starts from 1.87."""
    counts, truth = sparse_mixtures.data, sparse_mixtures.doc_topic_prior
    fixed = trained_from_the_truth(sparse_mixtures, doc_topic_prior=None)
    learned = trained_from_the_truth(sparse_mixtures, doc_topic_prior="auto", prior_update=rule)
    assert learned.elbo(counts) > fixed.elbo(counts) + 0.005 * abs(fixed.elbo(counts))
    assert abs(np.log(learned.doc_topic_prior_.sum() / truth.sum())) < np.log(1.6)
    assert_array_equal(np.argsort(learned.doc_topic_prior_), np.argsort(truth))


@pytest.mark.parametrize("alpha", [0.05, 1.5])
@every_rule
def test_learned_symmetric_prior_raises_the_bound_and_comes_near_the_truth(rule, alpha):
    """Within a factor of 1.6; it starts from 0.47."""
    corpus = make_lda_documents(
        600, n_features=40, n_components=4, mean_length=80, doc_topic_prior=alpha, random_state=0
    )
    fixed = trained_from_the_truth(corpus, doc_topic_prior=None)
    learned = trained_from_the_truth(corpus, doc_topic_prior="auto-symmetric", prior_update=rule)
    assert learned.elbo(corpus.data) > fixed.elbo(corpus.data) + 0.001 * abs(fixed.elbo(corpus.data))
    assert len(set(learned.doc_topic_prior_)) == 1
    assert abs(np.log(learned.doc_topic_prior_[0] / alpha)) < np.log(1.6)


@pytest.mark.parametrize("eta", [0.02, 1.0])
@every_rule
def test_learned_topic_prior_comes_near_the_truth(rule, eta):
    """Within a factor of two; it starts from 0.1."""
    corpus = make_lda_documents(
        400, n_features=60, n_components=5, mean_length=80, topic_word_prior=eta, random_state=0
    )
    model = make_model(
        5,
        topic_word_prior="auto",
        prior_update=rule,
        doc_topic_prior=0.1,
        learning_method="batch",
        max_iter=60,
        max_doc_update_iter=50,
        mean_change_tol=1e-3,
    ).fit(corpus.data)
    assert abs(np.log(model.topic_word_prior_ / eta)) < np.log(2)
    assert_allclose(model.topic_word_posterior_, model.topic_word_counts_ + model.topic_word_prior_)


@every_rule
def test_learned_topic_prior_raises_the_bound(rule):
    corpus = make_lda_documents(
        300, n_features=60, n_components=5, mean_length=80, topic_word_prior=1.0, random_state=0
    )
    settings = {"max_iter": 6, "batch_size": 50, "max_doc_update_iter": 50, "mean_change_tol": 1e-3}
    bounds = [
        make_model(5, topic_word_prior=given, prior_update=rule, **settings)
        .fit(corpus.data)
        .elbo(corpus.data)
        for given in (None, "auto")
    ]
    assert bounds[1] > bounds[0]


@every_rule
def test_learned_topic_prior_goes_on_in_partial_fit(rule):
    """As one fit of the same batches."""
    settings = {"topic_word_prior": "auto", "prior_update": rule, "total_samples": 60, "max_iter": 1}
    whole = make_model(**settings).fit(X)
    stream = make_model(**settings)
    for first in range(0, 60, 15):
        stream.partial_fit(X[first : first + 15])
    assert stream.topic_word_prior_ == whole.topic_word_prior_ != 0.1
    assert_array_equal(stream.components_, whole.components_)


def test_one_newton_step_on_the_prior_equals_the_full_matrix():
    """alpha <- alpha - rho H^-1 g, H and g of the batch's log-likelihood, by numpy.linalg."""
    lambda_ = random_posterior(4, 25)
    model = make_model(doc_topic_prior="auto", prior_update="gradient", learning_decay=0.9)
    model = with_posterior(model, lambda_, 60.0)
    model._state = replace(model._state, n_topic_updates=1)  # the next one learns
    prior = model.doc_topic_prior_.copy()
    gamma = numpy_counts(X[:15], lambda_, prior)[0]
    gradient = 15 * (digamma(prior.sum()) - digamma(prior)) + expected_log(gamma).sum(axis=0)
    hessian = 15 * (polygamma(1, prior.sum()) - np.diag(polygamma(1, prior)))
    step = -np.linalg.solve(hessian, gradient) * (3.0 + 11.0) ** -0.9  # the start counts like ten
    model.partial_fit(X[:15])
    assert np.all(np.abs(step) < prior / 2)  # nothing is held back
    assert_allclose(model.doc_topic_prior_, prior + step, rtol=1e-4)


# How good it is


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_method": "online", "max_iter": 6, "batch_size": 25},
        {"learning_method": "batch", "max_iter": 40},
    ],
    ids=["online", "batch"],
)
def test_bars_are_learned_to_near_the_score_of_the_truth(settings):
    """Within 0.1 nats per hidden word of the bars themselves, by the best of two starts."""
    bars, more_bars = make_bars(500, random_state=0), make_bars(200, random_state=1)
    models = [
        OnlineVariationalLDA(15, doc_topic_prior=0.1, random_state=seed, **settings).fit(bars.data)
        for seed in (0, 1)
    ]
    model = max(models, key=lambda model: model.elbo(bars.data))
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.1 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.1 < model.score(more_bars.data) < best + 0.01
