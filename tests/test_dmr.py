"""Dirichlet-multinomial regression: effects by their formula, and covariates that travel with documents."""

from itertools import pairwise, product
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from scipy.optimize import minimize
from scipy.special import polygamma, psi
from scipy.stats import betabinom
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import sktopic
from sktopic._documents._document_values import DocumentValues
from sktopic._documents._matrices import DocumentReader
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._inference._variational import VariationalStep
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed
from sktopic._topics._covariate_statistics import CovariateStatistics, squared_chances
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.datasets import open_corpus, save_corpus
from sktopic.lda import DMRLDA, OnlineEMLDA
from sktopic.lda._covariate_prior import CovariateEffects

from .conftest import assert_same_state, state
from .reference import dmr as reference
from .reference.enumeration import Enumeration

# Every word belongs to one topic, so that the counts of topics are known.
TOPIC_OF_WORD = np.array([0, 0, 1, 2, 2])
TOPICS = np.eye(3)[:, TOPIC_OF_WORD] * [0.3, 0.7, 1.0, 0.5, 0.5]
EFFECTS = np.array([[-0.5, 0.6, 0.0], [0.0, -0.6, 0.3], [-1.0, 0.0, -0.3]])  # intercepts first
KNOWN = {"n_components": 3, "components_init": TOPICS, "topic_word_prior": 0.0, "random_state": 0}


def documents(n, n_covariates=2, effects=None, seed=0, length=12.0, n_rare=None):
    """Counts of words of known topics, and covariates: planted effects (3, 1 + n_covariates), if any.

    Covariates are normal, or the last is an indicator of the first n_rare documents.
    """
    rng = np.random.default_rng(seed)
    covariates = rng.normal(size=(n, n_covariates))
    if n_rare is not None:
        covariates[:, -1] = np.arange(n) < n_rare
    if effects is None:
        effects = rng.normal(size=(3, 1 + n_covariates)) * 0.7
    alpha = np.exp(np.column_stack([np.ones(n), covariates]) @ effects.T)
    theta = np.array([rng.dirichlet(each) for each in alpha])
    lengths = 1 + rng.poisson(length, n)
    words = np.array([rng.multinomial(m, p) for m, p in zip(lengths, theta @ TOPICS)])
    return sp.csr_array(words, dtype=np.float64), covariates


def topics_of(X):
    return X.toarray() @ np.eye(3)[TOPIC_OF_WORD]


# The formulas


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_effects_and_standard_errors_follow_the_formula(inference):
    X, D = documents(900, effects=EFFECTS, length=30.0)
    weights = np.random.default_rng(1).integers(1, 4, 900).astype(float)
    scales = {"covariate_prior_scale": 0.8, "intercept_prior_scale": 2.0}
    model = DMRLDA(inference=inference, total_samples=500, mean_change_tol=1e-13, **scales, **KNOWN)
    model.set_params(batch_size=300)
    bounds = [0, 300, 600, 601, 900]
    twin = reference.Regression(np.full(3, 3**-0.55), 2, 0.8, 2.0)
    for t, (a, b) in enumerate(pairwise(bounds)):
        model.partial_fit(X[a:b], sample_weight=weights[a:b], covariates=D[a:b])
        if t > 0:
            rho = min((1.0 + 10 + t) ** -0.65, 4.0 / (10 + t))
            twin.update(D[a:b], topics_of(X[a:b]), rho, 500, weights[a:b])
        assert_allclose(model.intercept_, twin.coefficients[:, 0], rtol=1e-6)
        assert_allclose(model.covariate_effects_, twin.coefficients[:, 1:], rtol=1e-6, atol=1e-9)
    assert_allclose(model.covariate_effects_stderr_, twin.standard_errors()[:, 1:], rtol=1e-6)


def test_passes_over_a_corpus_find_the_maximum_of_the_penalized_likelihood():
    """To a tenth of a standard error."""
    X, D = documents(300, effects=EFFECTS, length=30.0)
    scales = {"covariate_prior_scale": 1.5, "intercept_prior_scale": 4.0}
    model = DMRLDA(max_iter=40, batch_size=10, **scales, **KNOWN).fit(X, covariates=D)
    n, mean, scale = topics_of(X), np.array([np.log(3**-0.55), 0.0, 0.0]), np.array([4.0, 1.5, 1.5])

    def loss(flat):
        coefficients = flat.reshape(3, 3)
        penalty = (((coefficients - mean) / scale) ** 2).sum() / 2
        return penalty - reference.log_likelihood(coefficients, D, n)

    found = minimize(loss, np.tile(mean, 3), method="BFGS", options={"gtol": 1e-7}).x.reshape(3, 3)
    assert_allclose(model.intercept_, found[:, 0], atol=0.02)
    assert_allclose(model.covariate_effects_, found[:, 1:], atol=0.01)


def test_information_of_known_topics_is_exact_to_a_third_of_a_percent():
    alpha, n = np.meshgrid([1e-6, 1e-3, 0.1, 1.0, 7.0, 1e4], [0.0, 1.0, 2.0, 3.0, 20.0, 1e5])
    exact = alpha**2 * (polygamma(1, alpha) - polygamma(1, alpha + n))
    assert_allclose(squared_chances(alpha, psi(alpha + n) - psi(alpha)), exact, rtol=0.003, atol=1e-12)


@pytest.mark.parametrize("covariates", [[[0.3, -1.0]], np.zeros((5, 0))], ids=["a document", "intercepts"])
def test_information_is_the_negative_second_derivative_of_the_likelihood(covariates):
    """Exactly for one document, and for documents of equal priors; to the 0.3 percent of squared chances."""
    covariates = np.asarray(covariates)
    counts = np.array([[3.0, 5, 2], [2, 4, 1], [1, 6, 6], [4, 2, 3], [2, 2, 2]])[: len(covariates)]
    coefficients = np.array([[0.4, 0.3, -0.2], [0.9, 0.0, 0.1], [-0.1, -0.6, 0.3]])[
        :, : 1 + covariates.shape[1]
    ]
    prior = np.array([reference.prior_of(coefficients, x) for x in covariates])
    batch = DocumentReader(sp.csr_array(counts), DocumentValues(None, covariates)).batch(
        np.arange(len(counts))
    )
    found = CovariateStatistics.of(batch, prior, psi(prior + counts) - psi(prior))

    def log_likelihood(moved):
        return reference.log_likelihood(coefficients + moved.reshape(coefficients.shape), covariates, counts)

    h, moves = 1e-3, np.eye(coefficients.size)
    exact = [
        [
            sum(s * t * log_likelihood(h * (s * a + t * b)) for s, t in product((1, -1), repeat=2))
            for b in moves
        ]
        for a in moves
    ]
    coupling = np.concatenate(found.coupling)
    information = block_diag(*found.information)
    information -= coupling @ np.linalg.pinv(found.total_coupling) @ coupling.T
    assert_allclose(information, -np.array(exact) / (4 * h**2), rtol=0.01, atol=1e-5)


@pytest.mark.parametrize(("alpha", "total", "length"), [(0.5, 2.0, 20), (1.0, 3.0, 12), (5.0, 10.0, 30)])
def test_squares_have_the_expectation_of_the_information(alpha, total, length):
    """Over all counts of a topic (beta-binomial), of known topics."""
    n = np.arange(length + 1.0)
    counts, prior = np.column_stack([n, length - n]), np.tile([alpha, total - alpha], (length + 1, 1))
    values = DocumentValues(betabinom.pmf(n, length, alpha, total - alpha), np.zeros((length + 1, 1)))
    batch = DocumentReader(sp.csr_array(counts), values).batch(np.arange(length + 1))
    found = CovariateStatistics.of(batch, prior, psi(prior + counts) - psi(prior))
    assert_allclose(found.gradient, 0.0, atol=1e-12)
    assert_allclose(found.information[:, 0, 0], found.squares, rtol=0.003)


TINY = [[0, 1], [1, 1, 2], [2], [0, 2, 2, 1]]
TINY_TOPICS = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
TINY_COVARIATES = np.array([[0.4], [-1.0], [2.0], [0.5]])
COEFFICIENTS = np.array([[-0.5, 0.8], [0.2, -0.3]])


def tiny_batch(weights=None):
    counts = sp.csr_array(np.array([np.bincount(words, minlength=3) for words in TINY], dtype=float))
    return DocumentReader(counts, DocumentValues(weights, TINY_COVARIATES)).batch(np.arange(4))


def tiny_priors(coefficients=COEFFICIENTS):
    return np.array([reference.prior_of(coefficients, x) for x in TINY_COVARIATES])


def exact_gradient():
    """That of the log likelihood of words, all topics of tokens being summed out, by differences."""
    gradient, h = np.zeros((2, 2)), 1e-5
    for index in np.ndindex(2, 2):
        ends = []
        for sign in (1, -1):
            moved = COEFFICIENTS.copy()
            moved[index] += sign * h
            evidence = [
                Enumeration(words, TINY_TOPICS.T, alpha).evidence
                for words, alpha in zip(TINY, tiny_priors(moved))
            ]
            ends.append(np.log(evidence).sum())
        gradient[index] = (ends[0] - ends[1]) / (2 * h)
    return gradient


def gathered(batch, workers):
    return TopicProbabilities.from_components(TINY_TOPICS).gather(
        batch.words, np.ones(2), workers, np.float64
    )


def test_gradient_is_that_of_the_likelihood_of_words():
    """Exactly, with exact expectations."""
    gains = [
        Enumeration(words, TINY_TOPICS.T, alpha).mean_psi() - reference.psi(alpha)
        for words, alpha in zip(TINY, tiny_priors())
    ]
    found = CovariateStatistics.of(tiny_batch(), tiny_priors(), np.array(gains))
    assert_allclose(found.gradient, exact_gradient(), rtol=1e-7)


def test_sampled_gradient_and_counts_are_those_of_the_enumeration():
    batch, prior = tiny_batch(), tiny_priors()
    with Workers(1) as workers:
        topics = gathered(batch, workers)
        step = GibbsStep(10, 100_000, by_words=True)
        found = step(batch, topics, prior, batch.content_keys(3), workers, True)
        assert_allclose(found.prior_statistics().gradient, exact_gradient(), atol=0.01)
        theta = GibbsInference(10, 100_000)(
            batch, topics, prior, batch.content_keys(5), workers
        ).proportions()
    for d, words in enumerate(TINY):
        exact = Enumeration(words, TINY_TOPICS.T, prior[d])
        assert_allclose(theta[d], exact.mean_theta(), atol=0.01)
        expected = np.zeros((3, 2))
        np.add.at(expected, words, exact.expected_counts())
        present = np.flatnonzero(expected.sum(axis=1))
        assert_allclose(found.topic_weights(d) / 100_000, expected[present], atol=0.01)


@pytest.mark.parametrize("step", [GibbsStep(2, 3), GibbsInference(2, 3), VariationalStep(50, 1e-9)], ids=repr)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_prior_for_each_document_gives_what_it_gives_the_document_alone(step, n_jobs):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.5, (40, 30)).astype(float))
    prior = rng.gamma(1.0, 0.3, (40, 20))
    topics = TopicProbabilities.from_components(rng.dirichlet(np.ones(30), 20))

    def inferred(rows, prior):
        """Weights of topics of the cells of these documents, and proportions, if there are any."""
        batch = DocumentReader(X).batch(rows)
        given = batch, topics.gather(batch.words, np.ones(20), workers), prior, batch.content_keys(0), workers
        found = step(*given)
        cells = step.by_cell(*given) if hasattr(step, "by_cell") else found
        theta = found.proportions() if hasattr(found, "proportions") else np.empty((len(rows), 0))
        return [cells.topic_weights(d) for d in range(len(rows))], theta

    with Workers(n_jobs) as workers:
        weights, theta = inferred(np.arange(40), prior)
        for d in range(40):
            own_weights, own_theta = inferred(np.array([d]), prior[d])
            assert_array_equal(weights[d], own_weights[0])
            assert_array_equal(theta[d], own_theta[0])


# Without covariates, and limits


@pytest.mark.parametrize("params", [{}, {"inference": "variational"}, {"n_components": 520}], ids=repr)
def test_without_covariates_it_is_online_em_to_the_last_bit(params):
    X, _ = documents(120)
    params = {"n_components": 4, "random_state": 0, "batch_size": 20, **params}
    dmr, em = DMRLDA(**params).fit(X), OnlineEMLDA(**params).fit(X)
    for _ in range(2):
        for name in ("components_", "doc_topic_prior_", "topic_word_counts_"):
            assert_array_equal(getattr(dmr, name), getattr(em, name))
        assert_array_equal(dmr.transform(X), em.transform(X))
        assert dmr.score(X) == em.score(X)
        dmr.partial_fit(X), em.partial_fit(X)
    assert not hasattr(dmr, "covariate_names_in_")
    for name in ("intercept_", "covariate_effects_", "covariate_effects_stderr_"):
        with pytest.raises(AttributeError, match=f"has no {name}: it was trained without covariates"):
            getattr(dmr, name)


def fitted(X, D, **params):
    return DMRLDA(**{"n_components": 4, "random_state": 0, "batch_size": 20, **params}).fit(X, covariates=D)


def test_a_single_topic_keeps_the_effects_that_it_has():
    X, D = documents(120)
    model = fitted(X, D, n_components=1, covariate_prior_scale=0.7)
    assert_array_equal(model.covariate_effects_, 0.0)
    assert_allclose(model.covariate_effects_stderr_, 0.7, rtol=1e-12)
    model = fitted(X, D).drop_topics([0, 1, 3])
    effects, errors = model.covariate_effects_, model.covariate_effects_stderr_
    model.total_samples = 120
    model.partial_fit(X, covariates=D)
    assert_array_equal(model.covariate_effects_, effects)
    assert_allclose(model.covariate_effects_stderr_, errors, rtol=1e-12)


def test_a_column_of_zeros_changes_nothing():
    X, D = documents(120)
    model, other = fitted(X, D), fitted(X, np.column_stack([D[:, :1], np.zeros(120), D[:, 1:]]))
    assert_allclose(other.components_, model.components_, rtol=1e-12)
    assert_allclose(other.covariate_effects_[:, [0, 2]], model.covariate_effects_, rtol=1e-9, atol=1e-12)
    assert_array_equal(other.covariate_effects_[:, 1], 0.0)
    assert_allclose(other.covariate_effects_stderr_[:, 1], 1.0, rtol=1e-6)  # that of the prior


@pytest.mark.parametrize("factor", [10.0, 1e-6, 1e8])
def test_effects_scale_with_their_covariate(factor):
    X, D = documents(120, n_covariates=1)
    scale = 1e3  # hardly a prior
    model = fitted(X, D, covariate_prior_scale=scale)
    other = fitted(X, D * factor, covariate_prior_scale=scale / factor)
    assert_allclose(other.covariate_effects_ * factor, model.covariate_effects_, rtol=1e-6)
    assert_allclose(other.covariate_effects_stderr_ * factor, model.covariate_effects_stderr_, rtol=1e-6)
    assert_allclose(other.components_, model.components_, rtol=1e-6)


@pytest.mark.parametrize(
    "columns",
    [
        np.ones((120, 1)),
        np.full((120, 1), 1e100),
        np.repeat(np.random.default_rng(0).normal(size=(120, 1)), 3, axis=1) * [1.0, -2.0, 1e6],
        np.eye(120)[:, :30],
        np.random.default_rng(0).normal(size=(120, 2)) * [1e90, 1e-90],
        np.random.default_rng(0).uniform(1.0, 2.0, size=(120, 3)) * [1e-150, 1e-155, 1e-162],
    ],
    ids=["constant", "huge", "collinear", "rare", "scales", "tiny"],
)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_any_covariates_give_finite_numbers(columns, scale):
    X, _ = documents(120)
    model = fitted(X, columns, covariate_prior_scale=scale, intercept_prior_scale=scale)
    for each in (
        model.intercept_,
        model.covariate_effects_,
        model.covariate_effects_stderr_,
        model.doc_topic_prior_,
    ):
        assert np.isfinite(each).all()
    assert np.all(model.covariate_effects_stderr_ <= scale * (1 + 1e-6))
    assert_allclose(model.transform(X, covariates=-columns).sum(axis=1), 1.0)
    assert np.isfinite(model.drop_topics([1]).covariate_effects_stderr_).all()


def test_no_floating_point_error_is_hidden():
    X, D = documents(120)
    with np.errstate(all="raise"):
        model = fitted(X, D)
        assert np.isfinite(model.covariate_effects_stderr_).all()
        assert np.isfinite(model.transform(X, covariates=D)).all()


@pytest.mark.parametrize("n_rare", [300, 12], ids=["frequent", "rare"])
def test_planted_effects_are_in_intervals_of_95_percent(n_rare):
    """Of 24 corpora of known topics: coverage and mean square within three standard deviations."""
    scores = []
    for seed in range(24):
        X, D = documents(600, effects=EFFECTS, seed=seed, length=20.0, n_rare=n_rare)
        model = DMRLDA(covariate_prior_scale=10.0, **KNOWN).fit(X, covariates=D)
        z = (model.covariate_effects_ - EFFECTS[:, 1:]) / model.covariate_effects_stderr_
        scores.append(z)
    assert abs(np.mean(np.abs(scores) < 1.96) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 144)
    assert abs(np.mean(np.square(scores)) - 1.0) < 3 * np.sqrt(2 / 144)  # coverage may not be too small only


# The interface


def test_effects_in_a_tiny_corpus_are_those_of_the_prior():
    X, D = documents(50)
    model = DMRLDA(4, total_samples=1e-12, random_state=0).fit(X, covariates=D)
    assert_allclose(model.covariate_effects_, 0.0, atol=1e-9)
    assert_allclose(model.covariate_effects_stderr_, 1.0, rtol=1e-9)


def test_training_begins_with_effects_or_not_at_all(monkeypatch):
    (X, D), model = documents(40), DMRLDA(3, random_state=0)

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CovariateEffects, "start", fail)
        with pytest.raises(MemoryError):
            model.partial_fit(X, covariates=D)
    expected = DMRLDA(3, random_state=0).partial_fit(X, covariates=D[:, :1])
    assert_array_equal(model.partial_fit(X, covariates=D[:, :1]).components_, expected.components_)


def test_fit_is_partial_fit_and_threads_change_nothing():
    X, D = documents(100)
    model = DMRLDA(4, random_state=0, batch_size=16, max_iter=1, shuffle=False, total_samples=100)
    whole = clone(model).fit(X, covariates=D)
    for part in (slice(48), slice(48, 100)):
        model.partial_fit(X[part], covariates=D[part])
    for name in (
        "components_",
        "intercept_",
        "covariate_effects_",
        "covariate_effects_stderr_",
        "doc_topic_prior_",
    ):
        assert_array_equal(getattr(whole, name), getattr(model, name))
    threads = clone(model).set_params(n_jobs=3).fit(X, covariates=D)
    assert_array_equal(threads.covariate_effects_, whole.covariate_effects_)
    assert_array_equal(threads.transform(X, covariates=D), whole.transform(X, covariates=D))


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_processes_change_nothing(inference):
    X, D = documents(60)
    model = DMRLDA(4, inference=inference, random_state=0, batch_size=16, max_iter=2)
    expected = clone(model).fit(X, covariates=D)
    with joblib.parallel_config("loky", n_jobs=2, max_nbytes=100):
        model.fit(X, covariates=D)
        theta = model.transform(X, covariates=D)
    assert_same_state(state(model), state(expected))
    assert_array_equal(theta, expected.transform(X, covariates=D))


@pytest.mark.parametrize("shuffle", [True, False])
def test_covariates_travel_with_documents(shuffle, tmp_path):
    """Through the sources of documents, weights of zero and documents that are held out."""
    X, D = documents(90)
    weights = np.arange(90) % 3.0
    model = DMRLDA(4, random_state=0, batch_size=8, max_iter=2, shuffle=shuffle)
    for params in ({}, {"early_stopping": True, "validation_fraction": 0.3}):
        model.set_params(**params)
        some = weights > 0
        expected = clone(model).fit(X[some], sample_weight=weights[some], covariates=D[some])
        found = clone(model).fit(X, sample_weight=weights, covariates=D)
        assert_same_state(state(expected), state(found))
        save_corpus(tmp_path / "corpus", X, overwrite=True)
        corpus = open_corpus(tmp_path / "corpus")
        blocks = [X[:20], X[20:50], X[50:]]
        of_corpus = clone(model).fit(corpus, covariates=D)
        if not (shuffle or params):
            plain = clone(model).fit(X, covariates=D)
            for other in (of_corpus, clone(model).fit(blocks, covariates=D)):
                assert_same_state(state(plain), state(other))
        for given in (X, corpus, blocks):
            assert_array_equal(found.transform(given, covariates=D), found.transform(X, covariates=D))
            assert found.score(given, covariates=D) == found.score(X, covariates=D)
    with pytest.raises(ValueError, match="covariates is given, but X is an iterator"):
        model.partial_fit(iter(blocks), covariates=D)


def test_shuffled_blocks_keep_the_covariates_of_their_documents():
    """A covariate that names the topic of each document is found whatever the order is."""
    topic = np.random.default_rng(0).integers(0, 3, 300)
    X = sp.csr_array(
        np.array([np.random.default_rng(i).multinomial(20, TOPICS[k]) for i, k in enumerate(topic)]),
        dtype=float,
    )
    D = np.eye(3)[topic]
    for given in (X, [X[:90], X[90:200], X[200:]]):
        model = DMRLDA(covariate_prior_scale=3.0, **KNOWN).fit(given, covariates=D)
        assert np.all(model.covariate_effects_.argmax(axis=1) == np.arange(3))
        assert np.all(np.diag(model.covariate_effects_) > 2.0)


def test_every_method_uses_covariates():
    X, D = documents(60)
    model = DMRLDA(covariate_prior_scale=3.0, **KNOWN).fit(X, covariates=D)
    empty = sp.csr_array((60, 5))
    coefficients = np.column_stack([model.intercept_, model.covariate_effects_])
    prior = np.array([reference.prior_of(coefficients, x) for x in D])
    theta = prior / prior.sum(axis=1, keepdims=True)
    assert_allclose(model.transform(empty, covariates=D), theta, rtol=1e-12)
    mean = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    assert_allclose(model.transform(empty), np.tile(mean, (60, 1)), rtol=1e-12)
    draws = model.sample_proportions(empty, 2000, covariates=D)
    assert_allclose(draws.mean(axis=1), theta, atol=0.05)
    out = np.empty((60, 3))
    assert_array_equal(model.transform(X, out=out, covariates=D), model.transform(X, covariates=D))
    assert_array_equal(
        clone(model).fit_transform(X, covariates=D),
        clone(model).fit(X, covariates=D).transform(X, covariates=D),
    )
    topics, probabilities = model.word_topics(X, covariates=D)
    parts = list(model.iter_word_topics(X, block_size=25, covariates=D))
    assert_array_equal(np.concatenate([each for _, each, _ in parts]), topics)
    assert_array_equal(np.concatenate([each for *_, each in parts]), probabilities)
    assert model.perplexity(X, covariates=D) == np.exp(-model.score(X, covariates=D))


def test_a_document_depends_on_no_other_and_a_prior_helps():
    X, D = documents(
        400, length=3.0, effects=np.array([[0.0, 1.5, 0.0], [0.0, -1.5, 0.0], [0.0, 0.0, 2.0]]) - [2.0, 0, 0]
    )
    model = DMRLDA(covariate_prior_scale=3.0, **KNOWN).fit(X[:300], covariates=D[:300])
    rows = np.random.default_rng(0).permutation(100) + 300
    expected = model.transform(X, covariates=D)
    assert_array_equal(model.transform(X[rows], covariates=D[rows]), expected[rows])
    assert_array_equal(model.transform(X[[7]], covariates=D[[7]]), expected[[7]])
    assert model.score(X[300:], covariates=D[300:]) > model.score(X[300:]) + 0.05


def test_names_of_covariates_are_kept_and_checked(tmp_path):
    X, D = documents(50)
    table = pd.DataFrame(D, columns=["year", "size"])
    model = DMRLDA(3, random_state=0).fit(X, covariates=table)
    assert list(model.covariate_names_in_) == ["year", "size"]
    assert_array_equal(model.transform(X, covariates=D), model.transform(X, covariates=table))
    assert_array_equal(model.transform(X, covariates=sp.csr_array(D)), model.transform(X, covariates=table))
    with pytest.raises(
        ValueError, match=r"covariates is invalid: must have the columns 'year', 'size' in this"
    ):
        model.transform(X, covariates=table[["size", "year"]])
    model.save(tmp_path / "model")
    loaded = sktopic.load(tmp_path / "model")
    assert list(loaded.covariate_names_in_) == ["year", "size"]
    assert_same_state(state(model), state(loaded))
    model.partial_fit(X, covariates=table), loaded.partial_fit(X, covariates=table)
    assert_same_state(state(model), state(loaded))
    assert not hasattr(DMRLDA(3, random_state=0).fit(X, covariates=D), "covariate_names_in_")


BAD = [
    (np.ones(50), r"must have shape \(n_samples, n_covariates\), but has \(50,\)"),
    (np.ones((50, 0)), r"must have shape \(n_samples, n_covariates\)"),
    (np.ones((49, 2)), "must have one row for each of the 50 samples of X, but has 49 rows"),
    (
        np.full((50, 2), np.nan),
        "must have finite numbers up to 1e[+]100 in absolute value, but has nan in row 0",
    ),
    (np.full((50, 2), 1e101), "must have finite numbers .* but has 1e[+]101 in row 0 of column 0[.]$"),
    (np.full((50, 2), "a"), "must have .* but has 'a' in row 0 of column 0. Encode categories by OneHotE"),
    (pd.DataFrame({"a": [1.0] * 50, "b": ["x"] * 50}), "must have .* but has 'x' in row 0 of column 'b'. E"),
    (pd.DataFrame({"a": [1.0] * 50, "b": ["1"] * 50}), "must have .* but has '1' in row 0 of column 'b'. E"),
    (pd.DataFrame({"a": pd.Categorical(["x"] * 50)}), "must have .* but has 'x' in row 0 of column 'a'. E"),
    (pd.DataFrame({"a": pd.Categorical([1, 2] * 25), "b": 1.0}), "must have numbers, but column 'a' has cat"),
    (
        pd.DataFrame({"a": pd.date_range("2020", periods=50)}),
        "must .* has Timestamp.* 'a'. Convert dates and",
    ),
    (np.arange(50).astype("m8[D]")[:, None], "must .* has datetime.timedelta.* Convert dates and durations"),
    ([[1.0, 1j]] * 50, "must have .* but has 1j in row 0 of column 1[.]$"),
    ([[1.0, 10**400]] * 50, "must have .* but has 1000.* in row 0 of column 1[.]$"),
    ("year", "must be a DataFrame or an array of numbers"),
    (np.ma.array(np.ones((50, 1)), mask=np.eye(50, 1)), r"it has masked values\. Fill them"),
    ([[1.0, 2.0]] * 49 + [[1.0]], "must be a DataFrame or an array of numbers"),
    (sp.coo_array(np.ones(50)), r"must have shape \(n_samples, n_covariates\), but has \(50,\)"),
]


def columns_with_a_missing_value():
    """Columns whose value in row 3 is missing, each with its name and the value as messages show it."""
    for missing, shown in ((None, "nan"), (np.nan, "nan"), (pd.NA, "<NA>")):
        values = [1, 2, 3, missing, *range(46)]
        yield f"object {missing}", pd.Series(values, dtype=object), shown
        yield f"Int64 {missing}", pd.Series(values, dtype="Int64"), "<NA>"
        yield f"Float64 {missing}", pd.Series(values, dtype="Float64"), "<NA>"
    yield "boolean", pd.Series([True, False, True, None, *[False] * 46], dtype="boolean"), "<NA>"


@pytest.mark.parametrize(
    ("column", "shown"), [pytest.param(*case, id=name) for name, *case in columns_with_a_missing_value()]
)
def test_missing_covariates_are_refused_by_row_and_column(column, shown):
    X, _ = documents(50)
    table = pd.DataFrame({"a": np.ones(50), "b": column}, index=range(100, 150))
    table["b"] = column.to_numpy(dtype=object) if column.dtype == object else column.array
    allowed = r"must have finite numbers up to 1e\+100 in absolute value, but has"
    advice = "Leave out documents with missing values, or fill them in"
    for covariates, name in ((table, "'b'"), (table.to_numpy(), "1")):
        message = f"covariates is invalid: {allowed} {shown} in row 3 of column {name}. {advice}"
        with pytest.raises(ValueError, match=message):
            DMRLDA(3, random_state=0).fit(X, covariates=covariates)
    rows = np.arange(50) != 3
    complete = DMRLDA(3, random_state=0).fit(X[rows], covariates=table[rows])
    assert complete.covariate_effects_.shape == (3, 2)


def test_repeated_names_of_covariates_are_refused():
    X, D = documents(50)
    table = pd.DataFrame(np.column_stack([D, D]), columns=["a", "b", "c", "b"])
    with pytest.raises(
        ValueError, match=r"covariates\.columns is invalid: must be distinct names\. Repeated: 'b'"
    ):
        DMRLDA(3, random_state=0).fit(X, covariates=table)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
def test_covariates_given_as_y_cause_a_warning(method):
    X, D = documents(50)
    for y in (D, D[:, :1], pd.DataFrame(D), sp.csr_array(D)):
        message = "y is a table of numbers, which is ignored, and covariates=No"
        with pytest.warns(UserWarning, match=message) as caught:
            getattr(DMRLDA(3, random_state=0), method)(X, y)
        assert [each.filename for each in caught] == [__file__]
    # Labels cause none: warnings are errors in tests.
    labels = np.arange(50) % 3
    mixed, unreadable = pd.DataFrame(D).assign(name="a"), SimpleNamespace(ndim=2, __array__=None)
    tables = np.eye(3, dtype=int)[labels], mixed, unreadable
    for y in (labels, labels / 3, labels.astype(str), *tables, [[0.5]] * 50, None):
        getattr(DMRLDA(3, random_state=0), method)(X, y)
    getattr(DMRLDA(3, random_state=0), method)(X, D, covariates=D)


def test_covariates_far_from_zero_cause_a_warning():
    X, D = documents(50)
    far = D - D.mean(axis=0)
    far[:, 1] += 21.0 * far[:, 1].std()
    with pytest.warns(
        UserWarning, match=r"covariates has numbers far from 0 in column 1: .*Subtract"
    ) as caught:
        DMRLDA(3, random_state=0).fit(X, covariates=far)
    assert [each.filename for each in caught] == [__file__]
    table = pd.DataFrame({"month": far[:, 0], "year": 1950 + np.arange(50)})
    with pytest.warns(UserWarning, match="in column 'year'"):
        DMRLDA(3, random_state=0).fit_transform(X, covariates=table)
    # No documents and constants cause no warning.
    with pytest.raises(ValueError, match="0 sample"):
        DMRLDA(3, random_state=0).fit(X[:0], covariates=far[:0])
    far[:, 1] = 0.1
    DMRLDA(3, random_state=0).fit(X, covariates=far)


@pytest.mark.parametrize(("covariates", "message"), BAD, ids=range(len(BAD)))
def test_invalid_covariates_are_refused_and_change_nothing(covariates, message):
    X, D = documents(50)
    model = DMRLDA(3, random_state=0).fit(X, covariates=D)
    before = state(model)
    calls = model.fit, model.partial_fit, model.transform, model.score, model.word_topics
    for call in calls:
        with pytest.raises(ValueError, match=f"covariates is invalid: {message}"):
            call(X, covariates=covariates)
    assert_same_state(state(model), before)


def test_damaged_matrices_of_covariates_are_refused_and_change_nothing():
    X, D = documents(50)
    damaged = sp.csr_array(np.ones((50, 2)))
    damaged.indices[0] = 3
    model = DMRLDA(3, random_state=0).fit(X, covariates=D)
    before = state(model)
    message = "^covariates has column indices from 0 to 3; with its shape, 0 to 1 are allowed"
    for call in (model.fit, model.partial_fit, model.transform):
        with pytest.raises(ValueError, match=message):
            call(X, covariates=damaged)
    assert_same_state(state(model), before)


def test_covariates_are_those_of_training():
    X, D = documents(50)
    model = DMRLDA(3, random_state=0).fit(X, covariates=D)
    for call in (model.partial_fit, model.transform):
        with pytest.raises(
            ValueError, match="covariates is invalid: must have 2 columns, as in training, but has 1"
        ):
            call(X, covariates=D[:, :1])
    with pytest.raises(ValueError, match="covariates=None is invalid: must have 2 columns"):
        model.partial_fit(X)
    without = DMRLDA(3, random_state=0).fit(X)
    for call in (without.partial_fit, without.transform):
        with pytest.raises(
            ValueError, match="covariates is invalid: must be None, because the model was trained w"
        ):
            call(X, covariates=D)
    assert model.fit(X, covariates=D[:, :1]).covariate_effects_.shape == (3, 1)
    assert not hasattr(model.fit(X), "covariate_effects_")


@pytest.mark.parametrize("params", [{}, {"batch_size": 80}], ids=["learned", "before effects are learned"])
def test_standard_errors_are_those_of_the_last_update(params, tmp_path):
    X, D = documents(80)
    scales = {"covariate_prior_scale": 2, "intercept_prior_scale": 0.5}
    model = DMRLDA(4, random_state=0, **{"batch_size": 20, "max_iter": 1, **params, **scales})
    errors = model.fit(X, covariates=D).covariate_effects_stderr_
    model.save(tmp_path / "model")
    model.set_params(covariate_prior_scale=1e-3, intercept_prior_scale=1e-3)
    for each in (model, sktopic.load(tmp_path / "model")):
        assert_array_equal(each.covariate_effects_stderr_, errors)
    if params:
        assert_array_equal(errors, 2.0)
    assert model.partial_fit(X, covariates=D).covariate_effects_stderr_.max() <= 1e-3 * (1 + 1e-6)
    with pytest.raises(ValueError, match="has a scale that is not positive"):
        changed(model._state.effects, scale=0.0).check()


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e60])
def test_standard_errors_do_not_depend_on_topics_that_were_dropped(scale):
    """The coefficients of other topics are integrated out, and the effects of topics left do not change."""
    X, D = documents(300, length=30.0)
    D *= [scale, 1.0]
    model = DMRLDA(6, random_state=0, batch_size=20, covariate_prior_scale=max(3.0, 1.0 / scale))
    model.fit(X, covariates=D)
    errors, effects = model.covariate_effects_stderr_, model.covariate_effects_
    for dropped, left in (([1, 4], [0, 2, 3, 5]), ([0], [2, 3, 5])):
        model.drop_topics(dropped)
        assert_array_equal(model.covariate_effects_, effects[left])
        assert_allclose(model.covariate_effects_stderr_, errors[left], rtol=1e-5)
    assert np.isfinite(model.partial_fit(X, covariates=D).covariate_effects_stderr_).all()


def test_edits_of_topics_keep_the_effects_of_those_left():
    X, D = documents(80)
    model = DMRLDA(4, random_state=0).fit(X, covariates=D)
    effects = model.covariate_effects_.copy()
    model.drop_topics([1])
    assert_array_equal(model.covariate_effects_, effects[[0, 2, 3]])
    assert model.covariate_effects_stderr_.shape == (3, 2)
    with pytest.raises(ValueError, match="a model with covariates does not support merge_topics"):
        model.merge_topics([[0, 1]])
    model.set_params(n_components=4).partial_fit(X, covariates=D)
    model.add_features(2).freeze_topics([0])
    more = sp.hstack([X, sp.csr_array(np.ones((80, 2)))], format="csr")
    assert model.partial_fit(more, covariates=D).covariate_effects_.shape == (3, 2)


def test_exchanged_topics_take_their_effects_along():
    """Seeds of topics in the wrong places, which then change places with all that is learned."""
    X, D = documents(300, effects=np.array([[0.0, 2.0], [0.0, -2.0], [0.0, 0.0]]), n_covariates=1)
    prior = np.full((3, 5), 0.01)
    prior[[1, 0, 2], [0, 2, 3]] = 500.0
    start = {"n_components": 3, "random_state": 0, "components_init": TOPICS}
    model = DMRLDA(topic_word_prior=prior, covariate_prior_scale=3.0, **start).fit(X, covariates=D)
    assert list(model.components_[:, [0, 2, 3]].argmax(axis=0)) == [1, 0, 2]
    assert list(np.sign(np.round(model.covariate_effects_[:, 0]))) == [-1, 1, 0]


def test_pipelines_and_searches_route_covariates():
    X, D = documents(90)
    with config_context(enable_metadata_routing=True):
        request = {"covariates": True}
        model = DMRLDA(3, random_state=0, max_iter=2)
        for name in ("fit", "transform", "score"):
            getattr(model, f"set_{name}_request")(**request)
        pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), model).fit(X, covariates=D)
        alone = clone(model).fit(X, covariates=D)
        assert_array_equal(pipeline[-1].covariate_effects_, alone.covariate_effects_)
        assert_array_equal(pipeline.transform(X, covariates=D), alone.transform(X, covariates=D))
        assert pipeline.score(X, covariates=D) == alone.score(X, covariates=D)
        grid = {"covariate_prior_scale": [1e-3, 2.0]}
        search = GridSearchCV(model, grid, cv=2).fit(X, covariates=pd.DataFrame(D, columns=["a", "b"]))
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert list(search.best_estimator_.covariate_names_in_) == ["a", "b"]


def test_categories_are_encoded_by_the_user():
    """The recipe of the docstring."""
    X, _ = documents(60)
    table = pd.DataFrame({"source": ["a", "b", "c"] * 20, "year": np.arange(60) / 60})
    encode = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["source"]), remainder="passthrough"
    )
    encode.set_output(transform="pandas")
    model = DMRLDA(3, random_state=0).fit(X, covariates=encode.fit_transform(table))
    assert list(model.covariate_names_in_) == [
        "onehotencoder__source_b",
        "onehotencoder__source_c",
        "remainder__year",
    ]


def test_proportions_come_in_the_container_of_set_output(tmp_path):
    X, D = documents(20)
    model = DMRLDA(3, random_state=0).fit(X, covariates=D).set_output(transform="pandas")
    table = model.transform(pd.DataFrame(X.toarray(), index=np.arange(20) + 5), covariates=D)
    assert list(table.columns) == ["dmrlda0", "dmrlda1", "dmrlda2"] and list(table.index) == list(
        range(5, 25)
    )
    assert isinstance(model.transform(X, tmp_path / "theta.npy", covariates=D), np.memmap)
