"""Moment matching: the posterior that attributes show, the number of topics, and what is known exactly."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

from sktopic._documents._matrices import canonical_counts
from sktopic._inference._completion import hide
from sktopic.datasets import make_lda_documents
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA
from sktopic.moment_matching._tokens import Tokens

from .conftest import assert_raises, assert_same_state, state
from .kernels.tools import golden
from .lda_models import Recorder, batch_of
from .reference import moment_matching as reference
from .registry import having
from .test_interrupt import interrupted

ESTIMATORS = [MomentMatchingLDA, DegenerateDirichletLDA, TriangularDirichletLDA]
# Those with a posterior over the number of topics
MIXTURES = [DegenerateDirichletLDA, TriangularDirichletLDA]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
every_mixture = pytest.mark.parametrize("estimator", MIXTURES, ids=lambda cls: cls.__name__)
MATCHES = {"first": reference.FIRST, "sum": reference.SUM, "second": reference.SECOND}

CORPUS = make_lda_documents(
    120, n_features=16, n_components=4, mean_length=20, topic_word_prior=0.2, random_state=0
)
X = sp.csr_array(CORPUS.data, dtype=np.float64)
HELD_OUT = sp.csr_array(
    make_lda_documents(30, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)
PRIOR = np.array([0.3, 0.1, 0.7, 0.2, 0.4])
# The default leaves small corpora but one topic.
SEVERAL = {TriangularDirichletLDA: {"n_components_prior": "uniform"}}


def make_model(estimator, n_components=5, **params):
    return estimator(n_components, **{"random_state": 0, **SEVERAL.get(estimator, {}), **params})


def only(number, n_components=5):
    """The prior that is sure of the number of topics."""
    return (np.arange(1, n_components + 1) == number).astype(float)


def sure_of(number, estimator):
    """Parameters by which an estimator of five topics has so many, if it can have fewer."""
    return {} if estimator is MomentMatchingLDA else {"n_components_prior": only(number)}


def number_posterior(model):
    """The probabilities of 1 to n_components topics."""
    if isinstance(model, MomentMatchingLDA):
        return only(model.n_components, model.n_components)
    return model.n_components_posterior_


def all_topics(model):
    """components_ of all topics that there may be."""
    return model._state.topics.leading(model.n_components).components()


def mixture(model, counts):
    return (model.transform if isinstance(model, MomentMatchingLDA) else model.predict_mixture)(counts)


def tokens_in_order(counts):
    """Documents, words and weights of the tokens with shuffle=None, and which are first in a document."""
    document, word, weight = reference.list_tokens(counts.indptr, counts.indices, counts.data, [])
    return document, word, weight, np.append(True, np.diff(document) > 0)


def twin_model(estimator, start):
    """The model of the twin, and the parameters at the start of a document."""
    if estimator is MomentMatchingLDA:
        return reference.FIXED, start
    if estimator is DegenerateDirichletLDA:
        return reference.DEGENERATE, start
    return reference.TRIANGULAR, np.concatenate([start[: k + 1] for k in range(len(start))])


def infer_by_twin(kind, match, counts, rows, gamma, start):
    """alpha and proportions of documents, word by word, given topics: rows (n_features, n_topics)."""
    document, word, weight, _ = tokens_in_order(counts)
    indptr = np.searchsorted(document, np.arange(counts.shape[0] + 1))
    return reference.infer_documents(kind, match, indptr, word, weight, rows, gamma, start)


# What attributes show


@every_estimator
def test_attributes_agree_with_each_other(estimator):
    for factor, order in ((1.0, "corpus"), (0.37, "document"), (40.0, None)):
        model = make_model(estimator, shuffle=order, doc_topic_prior=PRIOR).fit(X * factor)
        n, gamma = model.n_components_, number_posterior(model)
        assert model.n_samples_seen_ == 120
        assert model.n_tokens_seen_ == pytest.approx(X.sum() * factor, rel=1e-12)
        assert gamma.shape == (5,) and gamma.min() >= 0 and gamma.sum() == pytest.approx(1.0, rel=1e-12)
        assert gamma.argmax() + 1 == n
        posterior = model.topic_word_posterior_
        assert posterior.shape == model.components_.shape == (n, 16) and posterior.min() > 0
        assert_allclose(posterior / posterior.sum(axis=1, keepdims=True), model.components_, rtol=1e-12)
        assert_array_equal(model.doc_topic_prior_, PRIOR[:n])
        assert isinstance(model.log_marginal_likelihood_, float) and model.log_marginal_likelihood_ < 0
        zeros = np.zeros((2, 16))
        assert_allclose(model.transform(zeros), np.tile(PRIOR[:n] / PRIOR[:n].sum(), (2, 1)), rtol=1e-12)
        means = [np.append(PRIOR[: k + 1] / PRIOR[: k + 1].sum(), np.zeros(4 - k)) for k in range(5)]
        assert_allclose(mixture(model, zeros), np.tile(gamma @ means, (2, 1)), rtol=1e-12)
    before = state(model)
    model.topic_word_posterior_[:] = -1.0  # a copy
    assert not model.doc_topic_prior_.flags.writeable
    assert_same_state(state(model), before)


@every_estimator
def test_posterior_and_evidence_are_those_of_the_twin(estimator):
    """Fed with the same tokens, some of them in parts; by each match after the other."""
    counts = X[:6].toarray()
    counts[1:3] *= 0.3
    counts = canonical_counts(sp.csr_array(counts))
    model = make_model(estimator, shuffle=None, doc_topic_prior=PRIOR).fit(0 * X)
    beta, gamma = all_topics(model) * model._state.topics.sums[:, None], number_posterior(model)
    evidence = 0.0
    kind, alpha = twin_model(estimator, PRIOR)
    for name, part in zip(MATCHES, (counts[:2], counts[2:4], counts[4:])):
        model.set_params(second_moment=name).partial_fit(part)
        document, word, weight, begins = tokens_in_order(part)
        given = document, word, weight, begins, alpha, np.zeros((2, len(alpha)))
        _, gamma, beta, p = reference.filter_tokens(kind, MATCHES[name], *given, gamma, beta)
        evidence += (weight * np.log(p)).sum()
        assert_allclose(number_posterior(model), gamma, rtol=1e-7, atol=1e-200)
        assert_allclose(model.topic_word_posterior_, beta[: model.n_components_], rtol=1e-7)
        assert model.log_marginal_likelihood_ == pytest.approx(evidence, rel=1e-9)


def test_trace_notes_the_number_of_topics_ever_more_seldom():
    estimator = DegenerateDirichletLDA
    counts = make_lda_documents(220, components=CORPUS.components, mean_length=20, random_state=2).data
    model = make_model(estimator, shuffle=None)
    model.partial_fit(counts[:1])
    for first in range(1, 220, 37):
        model.partial_fit(counts[first : first + 37])
        tokens, numbers, n = model.n_tokens_trace_, model.n_components_trace_, model.n_tokens_seen_
        assert len(tokens) == len(numbers) <= 64 * (1 + np.log2(n / 64))
        assert np.all(np.diff(tokens) > 0)
        assert 0.98 * n < tokens[-1] <= n
        assert numbers.min() >= 1 and numbers.max() <= 5
    assert_array_equal(tokens[:64], np.arange(1, 65))
    doublings = [np.sum((tokens > n) & (tokens <= 2 * n)) for n in (512, 1024, 2048)]
    assert min(doublings) >= 43 and max(doublings) <= 48
    # Every note is the answer at that time.
    alone = make_model(estimator, shuffle=None)
    for row in range(30):
        alone.partial_fit(counts[[row]])
        noted = np.flatnonzero(tokens == alone.n_tokens_seen_)
        assert_array_equal(numbers[noted], [alone.n_components_] * len(noted))
    assert model.fit(counts[:1]).n_tokens_trace_[-1] == counts[:1].sum()


# transform, predict_mixture and score


@every_mixture
def test_predict_mixture_is_the_mean_over_the_number_of_topics(estimator):
    """The sum over T of gamma_T alpha_t / A_T, with alpha from the twin; transform has the number in use."""
    model = make_model(estimator, doc_topic_prior=PRIOR, second_moment="second", shuffle="corpus").fit(X[:10])
    gamma, topics, n = model.n_components_posterior_, all_topics(model).T, model.n_components_
    assert np.sum(gamma > 0.01) >= 2 and 1 < n < 5
    kind, start = twin_model(estimator, PRIOR)
    for name, match in MATCHES.items():
        model.set_params(second_moment=name, shuffle=None)
        _, mean = infer_by_twin(kind, match, HELD_OUT[:4], topics, gamma, start)
        assert_allclose(model.predict_mixture(HELD_OUT[:4]), mean, rtol=1e-4, atol=1e-7)
        given = HELD_OUT[:4], model.components_.T, np.ones(1), PRIOR[:n]
        _, theta = infer_by_twin(reference.FIXED, match, *given)
        assert_allclose(model.transform(HELD_OUT[:4]), theta, rtol=1e-4)
        assert np.abs(mean[:, :n] - theta).max() > 1e-6


@every_estimator
def test_score_completes_documents_with_the_mixture_of_all_topics(estimator):
    model = make_model(estimator, doc_topic_prior=PRIOR).fit(X[:6])
    assert np.sum(number_posterior(model) > 0.01) >= (1 if estimator is MomentMatchingLDA else 2)
    observed, hidden = hide(canonical_counts(HELD_OUT))
    log_p = np.log(mixture(model, observed) @ all_topics(model))
    assert model.score(HELD_OUT) == pytest.approx((hidden.toarray() * log_p).sum() / hidden.sum(), rel=1e-12)


def test_predict_mixture_depends_on_the_document_alone():
    model = make_model(TriangularDirichletLDA).fit(X)
    theta = model.predict_mixture(HELD_OUT)
    assert_array_equal(np.vstack([model.predict_mixture(HELD_OUT[[row]]) for row in range(30)]), theta)
    low = model.predict_mixture(HELD_OUT.astype(np.float32))
    assert low.dtype == np.float32
    assert_allclose(low, theta, rtol=1e-6, atol=1e-30)
    before = state(model.set_params(n_jobs=2))
    assert_array_equal(model.predict_mixture(HELD_OUT.toarray()), theta)
    assert_same_state(state(model), before)
    with pytest.raises(NotFittedError):
        make_model(TriangularDirichletLDA).predict_mixture(X)


# Golden numbers


@pytest.mark.parametrize(
    ("estimator", "prior", "name"),
    [
        (DegenerateDirichletLDA, "uniform", "ddm_start_unif"),
        (TriangularDirichletLDA, "exponential", "tdm_start_exp"),
    ],
)
def test_golden_posterior_from_the_start_of_the_paper(monkeypatch, estimator, prior, name):
    """The whole of fit, but for the order of the tokens, which is given."""
    arrays = golden("bmm")
    document, word = arrays["mix_doc"], arrays["mix_word"]
    order = np.argsort(np.lexsort((word, document)))
    monkeypatch.setattr("sktopic.moment_matching._tokens.permutation", lambda key, n: order)
    counts = np.zeros((3, 25))
    np.add.at(counts, (document, word), 1.0)
    settings = {"second_moment": "first", "shuffle": "corpus", "doc_topic_prior": 1.0}
    model = make_model(estimator, 6, n_components_prior=prior, **settings).fit(counts)
    gamma, beta, p = (arrays[f"{name}_{what}"] for what in ("gamma", "beta", "c"))
    assert_allclose(model.n_components_posterior_, gamma, rtol=1e-8, atol=1e-200)
    assert_allclose(model.topic_word_posterior_, beta[: gamma.argmax() + 1], rtol=1e-8)
    assert model.log_marginal_likelihood_ == pytest.approx(np.log(p).sum(), rel=1e-10)


# The number of topics


def test_before_any_token_the_posterior_is_the_prior():
    estimator = TriangularDirichletLDA
    given = np.array([0.0, 2.0, 1.0, 0.0, 5.0])
    exponential = np.exp(-np.arange(1.0, 6.0))
    for prior, expected in (
        ("uniform", np.ones(5)),
        ("exponential", exponential),
        (2.5, exponential**2.5),
        (1000, np.eye(5)[0]),
        (None, exponential ** min(2, X.shape[1] / 100)),
        (list(given), given),
        (given * 1e200, given),
        (given * 1e-200, given),
    ):
        model = make_model(estimator, n_components_prior=prior).fit(0 * X)
        found = model.n_components_posterior_
        assert_allclose(found, expected / expected.sum(), rtol=1e-12, err_msg=f"{prior}")
        assert model.n_components_ == expected.argmax() + 1, prior
        assert len(model.n_tokens_trace_) == 0, prior
    ones, uniform = (make_model(estimator, n_components_prior=prior).fit(X) for prior in (np.ones(5), 0))
    assert_array_equal(ones._state.numbers.gamma, uniform._state.numbers.gamma)
    # One word does not tell numbers apart: the smallest is taken.
    model = make_model(estimator, 8).fit(np.ones((5, 1)))
    assert_allclose(model.n_components_posterior_, 1 / 8, rtol=1e-9)
    assert model.n_components_ == 1


def test_prior_of_the_number_follows_the_number_of_words():
    model = make_model(TriangularDirichletLDA, n_components_prior=None).fit(X)
    n, numbers, before = X.shape[1], np.arange(5), model.n_components_posterior_
    model.add_features(40)
    expected = before * np.exp(-0.4 * numbers)
    assert_allclose(model.n_components_posterior_, expected / expected.sum(), rtol=1e-12)
    prior = np.exp(-(n + 40) / 100 * numbers)
    assert_allclose(model.n_components_prior_, prior / prior.sum(), rtol=1e-12)
    model.add_features(1000).add_features(1).partial_fit(np.ones((1, n + 1041)))
    assert_allclose(model.n_components_prior_[1] / model.n_components_prior_[0], np.exp(-2), rtol=1e-12)


def test_a_number_without_prior_probability_never_gets_any():
    for prior in ([0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1e-300, 0.0, 1e-300]):
        model = make_model(DegenerateDirichletLDA, n_components_prior=prior).fit(X)
        assert_array_equal(model.n_components_posterior_[np.equal(prior, 0)], 0.0)
        assert model.n_components_posterior_.sum() == pytest.approx(1.0, rel=1e-12)
        assert prior[model.n_components_ - 1] > 0
        assert not set(model.n_components_trace_) & set(1 + np.flatnonzero(np.equal(prior, 0)))
        # Without one topic as a possibility, only noise tells the first ones apart.
        assert len(np.unique(model.components_.round(9), axis=0)) == model.n_components_


def test_exponential_prior_of_thousands_of_topics_does_not_underflow():
    """It is the filter of fewer topics: the others are out of reach, not gone."""
    settings = {"n_components_prior": "exponential", "doc_topic_prior": 2000**-0.55}
    model, few = (make_model(DegenerateDirichletLDA, n, **settings).fit(X[:5]) for n in (2000, 200))
    gamma = model.n_components_posterior_
    assert gamma.sum() == pytest.approx(1.0) and np.all(model._state.numbers.gamma > 0)
    assert_allclose(few.n_components_posterior_[:20], gamma[:20], rtol=1e-7)
    assert np.isfinite(model.predict_mixture(HELD_OUT[:3])).all()


# What is known exactly


@pytest.mark.parametrize(
    ("estimator", "match", "order", "prior", "factor", "n"),
    [
        (TriangularDirichletLDA, "first", "corpus", "auto", 1, 70),
        (DegenerateDirichletLDA, "sum", "document", "auto-symmetric", 0.5, 70),
        (MomentMatchingLDA, "second", None, None, 1e6, 4),
    ],
)
def test_one_topic_is_the_posterior_of_the_word_frequencies(estimator, match, order, prior, factor, n):
    """Exactly: nothing is approximated where there is no choice, and no prior is learned."""
    settings = {"second_moment": match, "shuffle": order, "topic_word_prior": 0.3}
    start = make_model(estimator, 1, **settings).fit(0 * X).topic_word_posterior_[0]
    assert start.sum() == pytest.approx(16 * 0.3, rel=0.5 if estimator is MomentMatchingLDA else 1e-12)
    counts = X[:n] * factor
    model = make_model(estimator, 1, doc_topic_prior=prior, **settings).fit(counts)
    after = start + counts.sum(axis=0)
    assert_allclose(model.topic_word_posterior_[0], after, rtol=1e-9)
    if factor == 1:
        rising = (gammaln(after) - gammaln(start)).sum()
        evidence = rising - gammaln(after.sum()) + gammaln(start.sum())
        assert model.log_marginal_likelihood_ == pytest.approx(evidence, rel=1e-11)
    assert_array_equal(mixture(model, HELD_OUT), np.ones((30, 1)))
    assert_array_equal(model.doc_topic_prior_, [1.0])


# Learning the prior of the proportions


def learn_by_hand(averages, alpha, n_groups, kind):
    """Averages of moments and the prior after one more group: alpha (n_documents, n_topics) of its documents.

    averages : E[theta_k] of each topic, and the sum of E[theta_k^2]; n_groups : groups before
    """
    total = alpha.sum(axis=1, keepdims=True)
    square = alpha * (alpha + 1) / (total * (total + 1))
    group = np.append((alpha / total).mean(axis=0), square.sum(axis=1).mean())
    rho = (10 + n_groups + 1) ** -0.65
    averages = (1 - rho) * averages + rho * group
    mean, square = averages[:-1] / averages[:-1].sum(), averages[-1]
    if kind == "auto-symmetric":
        mean = np.full(len(mean), 1 / len(mean))
    return averages, mean * (1 - square) / (square - (mean**2).sum())


@pytest.mark.parametrize(("order", "kind"), [("corpus", "auto"), (None, "auto-symmetric")])
@every_estimator
def test_prior_is_learned_group_by_group_by_its_formula(estimator, order, kind):
    """From the documents of each full group: as they were filtered, or, if mixed, inferred again.

    Documents without words do not count: of mixed documents, the second group has 60 + 8. All words of these
    are the same, so that their order does not matter.
    """
    rng, k = np.random.default_rng(0), 5 if estimator is MomentMatchingLDA else 3
    counts = np.eye(16)[rng.integers(0, 16, 136)] * rng.integers(1, 3, (136, 1))
    if order is None:
        counts += np.eye(16)[rng.integers(0, 16, 136)]
    counts[[70, 71, 90, 120]] = 0.0
    counts = canonical_counts(sp.csr_array(counts))
    settings = {"shuffle": order, **sure_of(k, estimator)}
    model = make_model(estimator, **settings, doc_topic_prior=kind).fit(counts)
    topics, before = model.components_.T, make_model(estimator, **settings).fit(0 * X)
    gamma, beta = number_posterior(before), all_topics(before) * before._state.topics.sums[:, None]
    prior = np.full(5, 5**-0.55)
    averages = np.append(np.full(k, 1 / k), (prior[0] + 1) / (k * prior[0] + 1))
    for n_groups, rows in enumerate((slice(64), slice(64, 136 if order == "corpus" else 128))):
        group = counts[rows][counts[rows].sum(axis=1) > 0]
        if order == "corpus":
            given = group, topics, np.ones(1), prior[:k]
            learned_from, _ = infer_by_twin(reference.FIXED, reference.SUM, *given)
        else:
            twin, alpha = twin_model(estimator, prior)
            given = np.tile(alpha, (group.shape[0], 1)), gamma, beta
            found, gamma, beta, _ = reference.filter_tokens(
                twin, reference.SUM, *tokens_in_order(group), alpha, *given
            )
            rows_of_k = [reference.unpack(twin, row, 5)[k - 1 if k < 5 else 0] for row in found]
            learned_from = np.array(rows_of_k)[:, :k]
        averages, learned = learn_by_hand(averages, learned_from, n_groups, kind)
        prior = np.append(learned, np.full(5 - k, learned.mean()))
    assert model.n_components_ == k
    assert_allclose(model._state.doc_topic_prior, prior, rtol=1e-5)
    assert_array_equal(model.doc_topic_prior_, model._state.doc_topic_prior[:k])


@every_estimator
def test_priors_may_be_set_between_calls_or_not(estimator):
    """From then on it is that; learning, should it be asked for, starts from what is there."""
    model = make_model(estimator, doc_topic_prior="auto", shuffle="document").partial_fit(X[:64])
    learned = model._state.doc_topic_prior, model._state.moments.averages
    model.partial_fit(0 * X[:64])  # documents without words teach nothing
    assert_array_equal(model._state.doc_topic_prior, learned[0])
    assert_array_equal(model._state.moments.averages, learned[1])
    model.set_params(doc_topic_prior=PRIOR).partial_fit(X[70:100])
    assert_array_equal(model.doc_topic_prior_, PRIOR[: model.n_components_])
    model.set_params(doc_topic_prior="auto").partial_fit(X[:20])
    assert_array_equal(model.doc_topic_prior_, PRIOR[: model.n_components_])
    before = state(model)
    for name, value in having(model, topic_word_prior=0.5, n_components_prior="exponential").items():
        known = getattr(model, name)
        assert_raises(
            ValueError, f"{name}={value!r} differs", model.set_params(**{name: value}).partial_fit, X
        )
        model.set_params(**{name: known})
    assert_same_state(state(model), before)


# Calls that fail or are interrupted


FILTERING = "sktopic.moment_matching._trainer:_Call._absorb"


@pytest.mark.parametrize(
    ("estimator", "method", "order"),
    list(zip(ESTIMATORS, ["fit", "partial_fit", "fit"], ["document", None, "document"])),
)
def test_interrupt_keeps_the_documents_seen(estimator, method, order, monkeypatch):
    """Whole groups of them; and training goes on with the next."""
    settings = {"shuffle": order, "doc_topic_prior": "auto"}
    model, expected = make_model(estimator, **settings), make_model(estimator, **settings)
    counts = sp.csr_array(sp.vstack([X, X]))
    interrupted(monkeypatch, FILTERING, lambda: getattr(model, method)(counts), call=2)
    seen = model.n_samples_seen_
    assert seen == 128
    assert_same_state(state(model), state(expected.partial_fit(counts[:seen])))
    assert np.isfinite(model.score(HELD_OUT))
    assert_same_state(state(model.partial_fit(counts[seen:])), state(expected.partial_fit(counts[seen:])))


@pytest.mark.parametrize(("estimator", "order"), list(zip(ESTIMATORS, ["corpus", "document", None])))
def test_interrupt_between_slices_keeps_the_tokens_seen(monkeypatch, estimator, order):
    with monkeypatch.context() as patch:
        patch.setattr("sktopic.moment_matching._tokens.SLICE_WORK", 1000)
        expected = make_model(estimator, shuffle=order).fit(X)
        model = make_model(estimator, shuffle=order)
        interrupted(monkeypatch, FILTERING, lambda: model.fit(X), call=3)
    n = int(model.n_tokens_seen_)
    assert 0 < n < X.sum()
    assert model.log_marginal_likelihood_ < 0 and model.n_components_ == number_posterior(model).argmax() + 1
    sums = model._state.topics.sums[: model.n_components_]
    assert_allclose(model.topic_word_posterior_.sum(axis=1), sums, rtol=1e-12)
    if estimator is not MomentMatchingLDA:
        for name in ("n_tokens_trace_", "n_components_trace_"):
            found = getattr(model, name)
            assert_array_equal(found, getattr(expected, name)[: len(found)])
    assert np.isfinite(model.partial_fit(X).score(HELD_OUT))
    assert model.n_tokens_seen_ == n + X.sum()


def results_of(model):
    names = "n_samples_seen_", "n_tokens_seen_", "log_marginal_likelihood_", "n_components_"
    return [*(getattr(model, name) for name in names), *number_posterior(model)]


def test_callbacks_see_the_model_after_every_group_of_documents():
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    new = partial(make_model, DegenerateDirichletLDA, shuffle="document")
    recorder, stream = Recorder(), new()
    model = new().set_callbacks(recorder).fit(X)
    ends = [event for event in recorder.events if event.startswith("end")]
    assert ends == ["end update 0", "end update 1", "end epoch 0", "end fit 0"]
    found = [results_of(kept) for kept in recorder.models[:2]]
    assert found == [results_of(stream.partial_fit(part)) for part in (X[:64], X[64:])]
    assert_array_equal(model.components_, stream.components_)
    stopped = new().set_callbacks(Recorder(stop_after=("update", 0))).fit(X)
    assert_array_equal(stopped.components_, new().fit(X[:64]).components_)


def test_tokens_of_a_corpus_are_those_of_its_documents_in_another_order():
    """A count above 64 is 64 equal tokens."""
    batch = batch_of(np.array([[3, 0, 200], [0, 70.5, 1]]))
    ordered, mixed = Tokens.in_order(batch), Tokens.mixed(batch, 7)
    columns = [list(zip(some.document, some.word, some.weight)) for some in (ordered, mixed)]
    assert columns[0] != columns[1] and sorted(columns[0]) == sorted(columns[1])
    first = sorted(mixed.document.tolist().index(document) for document in (0, 1))
    assert_array_equal(np.flatnonzero(mixed.begins), first)


# Memory


def test_memory_does_not_grow_with_the_number_of_documents():
    """Proportions of a group at a time, in the triangular model 10 kB a document for fifty topics."""
    model, peaks = make_model(TriangularDirichletLDA, 50, shuffle="document").partial_fit(X[:20]), []
    for n in (70, 300):
        counts = X[np.arange(n) % 120]
        tracemalloc.start()
        model.partial_fit(counts)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 3 * counts.data.nbytes < 4e6
