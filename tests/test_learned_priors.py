"""What each rule learns of the priors, by its formula: of documents whose topics are known."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import polygamma, psi
from sklearn.base import clone

from sktopic._topics._prior import MAX_ITER, TOL
from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineEMLDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
)

from .lda_models import mean_logs
from .reference.dirichlet import fit_dirichlet, fit_symmetric_dirichlet

# No word has two topics.
TOPIC_OF_WORD = np.array([0, 0, 1, 2, 2])
TOPICS = np.eye(3)[:, TOPIC_OF_WORD] * [0.3, 0.7, 1.0, 0.5, 0.5]
# One that learns nothing of the prior, as topics are still random; then two, with a document without words.
BATCHES = [
    np.array(rows, dtype=float)
    for rows in (
        [[2, 2, 2, 2, 2]],
        [[3, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 5, 0, 0]],
        [[0, 2, 0, 4, 1], [0, 0, 2, 0, 0], [6, 0, 1, 0, 2], [0, 0, 0, 3, 0]],
    )
]
TOTAL, INERTIA, START = 50.0, 10, 3**-0.55
SHAPE, RATE = 3.0, 20.0


def newton(gradient, hessian, value, rho):
    """A step towards the maximum, no further than to half and to twice the value."""
    step = -np.linalg.solve(np.atleast_2d(hessian), np.atleast_1d(gradient))
    return np.clip(value + rho * step, value / 2, value * 2)


def first_averages(rule, alpha):
    """Those at which the prior stays as it is."""
    return {"gamma": np.append(alpha, 1.0), "shares": alpha / alpha.sum()}.get(rule, mean_logs(alpha))


def follow(rule, is_symmetric, averages, alpha, counts, rho):
    """The averages and the prior after a batch, counts being those of topics in documents with words."""
    k, total = len(alpha), alpha.sum()
    gains = alpha * (psi(alpha + counts) - psi(alpha))
    if rule == "shares":
        averages = (1 - rho) * averages + rho * gains.sum(axis=0) / gains.sum()
        return averages, total * (0.99 * averages + 0.01 / k)
    if rule == "gamma":
        batch = [*gains.mean(axis=0), (psi(total + counts.sum(axis=1)) - psi(total)).mean()]
        averages = (1 - rho) * averages + rho * np.array(batch)
        above = SHAPE - 1 + TOTAL * averages[:-1]
        above = np.full(k, above.mean()) if is_symmetric else above
        return averages, above / (RATE + TOTAL * averages[-1])
    batch = mean_logs(alpha + counts).mean(axis=0)
    averages = (1 - rho) * averages + rho * batch
    alpha = np.full(k, alpha.mean()) if is_symmetric else alpha.copy()
    if rule == "gradient":
        gradient = psi(total) - psi(alpha) + batch
        hessian = polygamma(1, total) - np.diag(polygamma(1, alpha))
        if is_symmetric:
            return averages, np.full(k, newton(gradient.sum(), hessian.sum(), alpha[0], rho))
        return averages, newton(gradient, hessian, alpha, rho)
    if is_symmetric:
        return averages, np.full(k, fit_symmetric_dirichlet(averages.mean(), k, alpha[0], MAX_ITER, TOL))
    fit_dirichlet(averages, alpha, MAX_ITER, TOL)
    return averages, alpha


EM = {"total_samples": TOTAL, "topic_word_prior": 0.0, "learning_decay": 0.7, "learning_offset": 2.0}
GAMMA = {"prior_shape": SHAPE, "prior_rate": RATE}
BAYES = {"topic_word_prior": 1e-9}
ONE_ITERATION = {"max_doc_update_iter": 1, "doc_burn_in": 0, "doc_sweeps": 1}
RULE_OF_CLASS = {SinglePassLDA: "gamma"}
MODELS = {
    "EM, fixed point": OnlineEMLDA(prior_update="fixed-point", **EM),
    "EM, gamma": OnlineEMLDA(prior_update="gamma", **GAMMA, **EM),
    "EM, shares": OnlineEMLDA(prior_update="shares", **EM),
    "EM, variational": OnlineEMLDA(inference="variational", prior_update="fixed-point", **EM),
    "EM, boosted": OnlineEMLDA(boost=True, prior_update="gamma", **GAMMA, **EM, **ONE_ITERATION),
    "variational": OnlineVariationalLDA(prior_update="fixed-point", **EM | BAYES),
    "variational, gradient": OnlineVariationalLDA(prior_update="gradient", **EM | BAYES),
    "streaming": StreamingVariationalLDA(prior_update="fixed-point", **BAYES),
    "streaming, gradient": StreamingVariationalLDA(prior_update="gradient", **BAYES),
    "hybrid": HybridLDA(**EM | BAYES),
    "streaming Gibbs": StreamingGibbsLDA(topic_word_prior=0.0),
    "Langevin": LangevinLDA(learning_rate=1e-300, **EM | BAYES),
    "single pass": SinglePassLDA(**GAMMA, total_samples=TOTAL, topic_word_prior=0.0, max_doc_update_iter=1),
}
SETTINGS = {"n_components": 3, "components_init": TOPICS, "random_state": 0}
KINDS = ["auto", "auto-symmetric"]


def topics_of(batch):
    """Tokens of topics in the documents that have words."""
    return batch[batch.any(axis=1)] @ np.eye(3)[TOPIC_OF_WORD]


@pytest.mark.parametrize("name", MODELS)
def test_prior_of_proportions_follows_the_formula_of_its_rule(name):
    """From the default, and from a prior that was given before."""
    rule = RULE_OF_CLASS.get(type(MODELS[name])) or getattr(MODELS[name], "prior_update", "fixed-point")
    for kind, given in product(["auto"] if rule == "shares" else KINDS, [None, [0.3, 0.9, 0.5]]):
        model, alpha = clone(MODELS[name]), np.full(3, START) if given is None else np.array(given)
        model.set_params(doc_topic_prior=kind if given is None else given, **SETTINGS)
        model.partial_fit(BATCHES[0]).set_params(doc_topic_prior=kind)
        assert_array_equal(model.doc_topic_prior_, alpha)
        averages, start, before = first_averages(rule, alpha), model.doc_topic_prior_, alpha
        for t, batch in enumerate(BATCHES[1:], start=1):
            model.partial_fit(batch)
            rho = (2.0 + INERTIA + t) ** -0.7 if hasattr(model, "learning_decay") else 1 / (INERTIA + t)
            averages, alpha = follow(rule, kind == "auto-symmetric", averages, alpha, topics_of(batch), rho)
            assert_allclose(model.doc_topic_prior_, alpha, rtol=1e-5, err_msg=f"{kind} from {given}")
        assert_array_equal(start, before)  # not written to


@pytest.mark.parametrize("rule", ["fixed-point", "gradient"])
def test_prior_of_topics_follows_the_formula_of_its_rule(rule):
    """From E[log phi] under the posterior with the prior before; fit makes the updates of partial_fit."""
    given = {"topic_word_prior": "auto", "prior_update": rule, "total_samples": TOTAL, "learning_offset": 2.0}
    given |= {"components_init": None, "learning_decay": 0.7, "batch_size": 3, "random_state": 0}
    model = OnlineVariationalLDA(3, **given)
    counts, eta, v = np.random.default_rng(0).poisson(2.0, (9, 5)).astype(float), 0.1, 5
    for t in range(1, 4):
        model.partial_fit(counts[3 * t - 3 : 3 * t])
        mean = mean_logs(model.topic_word_counts_ + eta).mean()
        if rule == "gradient":
            gradient = psi(v * eta) - psi(eta) + mean
            hessian = v * polygamma(1, v * eta) - polygamma(1, eta)
            eta = newton(gradient, hessian, eta, (2.0 + t) ** -0.7)[0]
        else:
            eta = fit_symmetric_dirichlet(mean, v, eta, MAX_ITER, TOL)
        assert_allclose(model.topic_word_prior_, eta, rtol=1e-9)
    posterior = model.topic_word_counts_ + eta
    assert_allclose(model.topic_word_posterior_, posterior, rtol=1e-9)
    assert_allclose(model.components_, posterior / posterior.sum(axis=1, keepdims=True), rtol=1e-9)
    whole = clone(model).set_params(max_iter=1, shuffle=False).fit(counts)
    assert whole.topic_word_prior_ == model.topic_word_prior_


@pytest.mark.parametrize("kind", KINDS)
def test_sampler_learns_the_prior_of_proportions_from_the_documents_of_all_calls(kind):
    """Five steps of Minka's fixed point a sweep, whose sums go on from those of earlier calls."""
    model = CollapsedGibbsLDA(doc_topic_prior=kind, topic_word_prior=1e-12, prior_interval=2, **SETTINGS)
    alpha, earlier = np.full(3, START), np.zeros(4)
    for n_sweeps, batch in zip((1, 2, 5), BATCHES):
        model.set_params(max_iter=n_sweeps, n_draws=1).partial_fit(batch)
        n = topics_of(batch)

        def sums(alpha, n=n):
            above = (alpha * (psi(alpha + n) - psi(alpha))).sum(axis=0)
            return np.append(above, (psi(alpha.sum() + n.sum(axis=1)) - psi(alpha.sum())).sum())

        for _ in range(5 * (n_sweeps // 2)):
            *above, below = earlier + sums(alpha)
            alpha = np.array(above) / below if kind == "auto" else np.full(3, np.mean(above) / below)
        earlier = earlier + sums(alpha)
        assert_allclose(model.doc_topic_prior_, alpha, rtol=1e-10)


def test_sampler_learns_the_prior_of_topics_from_the_counts_of_all_calls():
    model = CollapsedGibbsLDA(3, topic_word_prior="auto", prior_interval=1, max_iter=1, random_state=0)
    eta, v = 0.1, 5
    for batch in BATCHES:
        n = model.partial_fit(batch).topic_word_counts_
        for _ in range(5):
            below = v * (psi(v * eta + n.sum(axis=1)) - psi(v * eta)).sum()
            eta *= (psi(eta + n) - psi(eta)).sum() / below
        assert_allclose(model.topic_word_prior_, eta, rtol=1e-10)


def test_shares_need_a_prior_for_each_topic():
    model = OnlineEMLDA(3, doc_topic_prior="auto-symmetric", prior_update="shares")
    for train in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="doc_topic_prior='auto-symmetric' with prior_update='shares'"):
            train(BATCHES[0])


def test_a_prior_that_is_given_stays_and_is_copied():
    given = np.array([0.1, 0.2, 0.7])
    model = OnlineEMLDA(3, doc_topic_prior=given, random_state=0).fit(BATCHES[2])
    given *= 5.0
    assert_array_equal(model.doc_topic_prior_, [0.1, 0.2, 0.7])
    assert_array_equal(model.set_params(doc_topic_prior=0.4).fit(BATCHES[2]).doc_topic_prior_, [0.4] * 3)
