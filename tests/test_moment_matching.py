"""Moment matching: the posterior that attributes show, the number of topics, and what is known exactly."""

import inspect
import re
import signal
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

from sktopic._documents._matrices import canonical_counts
from sktopic._inference._completion import hide
from sktopic._state._fields import arrays_of, duplicate
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.metrics import document_completion
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA
from sktopic.moment_matching._method import GROUP_SIZE, FilterMethod
from sktopic.moment_matching._state import FilteredTopics
from sktopic.moment_matching._trainer import _Call

from .conftest import assert_same_state, state
from .reference import moment_matching as reference

ESTIMATORS = [MomentMatchingLDA, DegenerateDirichletLDA, TriangularDirichletLDA]
# Those with a posterior over the number of topics
MIXTURES = [DegenerateDirichletLDA, TriangularDirichletLDA]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
every_mixture = pytest.mark.parametrize("estimator", MIXTURES, ids=lambda cls: cls.__name__)
MATCHES = {"first": reference.FIRST, "sum": reference.SUM, "second": reference.SECOND}
every_match = pytest.mark.parametrize("match", list(MATCHES))
every_order = pytest.mark.parametrize("order", ["corpus", "document", None])

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


def prior_mean(model, prior):
    """Expected proportions of a document of which nothing is known."""
    gamma = number_posterior(model)
    return sum(
        gamma[k] * np.append(prior[: k + 1] / prior[: k + 1].sum(), 0 * prior[k + 1 :]) for k in range(5)
    )


def tokens_in_order(counts):
    """Documents, words and weights of the tokens with shuffle=None, and which are first in a document."""
    parts = counts.indptr, counts.indices, counts.data
    document, word, weight = reference.list_tokens(*parts, [])
    begins = np.append(True, np.diff(document) > 0)
    return document, word, weight, begins


def twin_model(estimator, start):
    """The model of the twin, and the parameters at the start of a document."""
    if estimator is MomentMatchingLDA:
        return reference.FIXED, start
    if estimator is DegenerateDirichletLDA:
        return reference.DEGENERATE, start
    return reference.TRIANGULAR, np.concatenate([start[: k + 1] for k in range(len(start))])


# What attributes show


@pytest.mark.parametrize("factor", [1.0, 0.37, 40.0])
@every_order
@every_estimator
def test_attributes_agree_with_each_other(estimator, order, factor):
    model = make_model(estimator, shuffle=order, doc_topic_prior=PRIOR).fit(X * factor)
    n = model.n_components_
    assert model.n_samples_seen_ == 120
    assert model.n_tokens_seen_ == pytest.approx(X.sum() * factor, rel=1e-12)
    gamma = number_posterior(model)
    assert gamma.shape == (5,) and gamma.min() >= 0 and gamma.sum() == pytest.approx(1.0, rel=1e-12)
    assert gamma.argmax() + 1 == n
    posterior = model.topic_word_posterior_
    assert posterior.shape == model.components_.shape == (n, 16) and posterior.min() > 0
    assert_allclose(posterior / posterior.sum(axis=1, keepdims=True), model.components_, rtol=1e-12)
    assert_array_equal(model.doc_topic_prior_, PRIOR[:n])
    assert isinstance(model.log_marginal_likelihood_, float) and model.log_marginal_likelihood_ < 0


@every_estimator
def test_arrays_of_the_attributes_are_copies(estimator):
    model = make_model(estimator).fit(X)
    before = state(model)
    model.topic_word_posterior_[:] = -1.0
    assert_same_state(state(model), before)
    model.doc_topic_prior_[:] = 7.0
    assert_array_equal(model._state.doc_topic_prior, np.full(5, 5**-0.55))


@every_match
@every_estimator
def test_topics_grow_by_what_they_explain(estimator, match):
    """The parameters of each word gain tokens as it does; all together, nearly as many as there are."""
    model = make_model(estimator, second_moment=match, topic_word_prior=0.1).partial_fit(X[:1])
    before = model.topic_word_posterior_.sum(axis=0)
    after = model.partial_fit(X[1:]).topic_word_posterior_.sum(axis=0)
    often = X.sum(axis=0) > 50
    assert often.sum() > 8
    assert np.all(after[often] > before[often])
    assert 0.3 * X.sum() < after.sum() < 1.01 * (X.sum() + 5 * 16 * 0.1)


@every_match
@every_estimator
def test_posterior_and_evidence_are_those_of_the_twin(estimator, match):
    """Fed with the same tokens, some of them in parts."""
    counts = X[:12].toarray()
    counts[2:4] *= 0.3
    counts[7, 0] = 1200.0
    counts = canonical_counts(sp.csr_array(counts))
    settings = {"second_moment": match, "shuffle": None, "doc_topic_prior": PRIOR}
    zeros = make_model(estimator, **settings).fit(0 * X)
    start = all_topics(zeros) * zeros._state.topics.sums[:, None]
    model = make_model(estimator, **settings).fit(counts)
    kind, alpha = twin_model(estimator, PRIOR)
    document, word, weight, begins = tokens_in_order(counts)
    rows = np.zeros((12, len(alpha)))
    gamma = number_posterior(zeros)
    _, gamma, beta, predictive = reference.filter_tokens(
        kind, MATCHES[match], document, word, weight, begins, alpha, rows, gamma, start
    )
    assert_allclose(number_posterior(model), gamma, rtol=1e-7, atol=1e-200)
    assert_allclose(model.topic_word_posterior_, beta[: model.n_components_], rtol=1e-7)
    assert model.log_marginal_likelihood_ == pytest.approx((weight * np.log(predictive)).sum(), rel=1e-9)


@every_order
@every_estimator
def test_evidence_adds_up_from_what_was_predicted(estimator, order):
    """Each document of one word is as probable as the topics and the prior say."""
    model = make_model(estimator, shuffle=order, doc_topic_prior=PRIOR).partial_fit(X)
    for word in [3, 0, 15, 3, 7]:
        probability = prior_mean(model, PRIOR) @ all_topics(model)[:, word]
        before, counts = model.log_marginal_likelihood_, np.eye(1, 16, word)
        assert_allclose(mixture(model, 0 * counts) @ all_topics(model)[:, word], probability, rtol=1e-12)
        model.partial_fit(counts)
        assert model.log_marginal_likelihood_ - before == pytest.approx(np.log(probability), rel=1e-9)


@every_mixture
def test_trace_notes_the_number_of_topics_ever_more_seldom(estimator):
    counts = make_lda_documents(600, components=CORPUS.components, mean_length=20, random_state=2).data
    model = make_model(estimator).partial_fit(counts[:1])
    for first in range(1, 600, 37):
        model.partial_fit(counts[first : first + 37])
        tokens, numbers, n = model.n_tokens_trace_, model.n_components_trace_, model.n_tokens_seen_
        assert len(tokens) == len(numbers) <= 64 * (1 + np.log2(n / 64))
        assert np.all(np.diff(tokens) > 0)
        assert 0.98 * n < tokens[-1] <= n
        assert numbers.min() >= 1 and numbers.max() <= 5
    assert_array_equal(tokens[:64], np.arange(1, 65))
    doublings = [np.sum((tokens > n) & (tokens <= 2 * n)) for n in (512, 1024, 2048, 4096)]
    assert min(doublings) >= 43 and max(doublings) <= 48
    # Every note is the answer at that time.
    order = make_model(estimator, shuffle=None).fit(counts)
    alone = make_model(estimator, shuffle=None)
    for row in range(30):
        alone.partial_fit(counts[[row]])
        noted = np.flatnonzero(order.n_tokens_trace_ == alone.n_tokens_seen_)
        assert_array_equal(order.n_components_trace_[noted], [alone.n_components_] * len(noted))
    assert model.fit(counts[:1]).n_tokens_trace_[-1] == counts[:1].sum()


@every_order
@every_mixture
def test_trace_does_not_depend_on_the_cuts_between_calls(estimator, order):
    """Where tokens of documents come mixed, those of a call have to be the same."""
    counts = sp.csr_array(np.eye(16)[np.arange(200) % 16]) if order == "corpus" else X
    whole, stream = make_model(estimator, shuffle=order).fit(counts), make_model(estimator, shuffle=order)
    for first in range(0, counts.shape[0], 7):
        stream.partial_fit(counts[first : first + 7])
    assert_array_equal(stream.n_tokens_trace_, whole.n_tokens_trace_)
    if order != "corpus":
        assert_array_equal(stream.n_components_trace_, whole.n_components_trace_)


@pytest.mark.parametrize("order", ["document", None])
@every_estimator
def test_cuts_between_calls_leave_no_trace_on_fractions_of_tokens(estimator, order):
    """But for how their numbers are added up."""
    counts, settings = X * 0.37, {"shuffle": order, "doc_topic_prior": "auto"}
    whole, stream = make_model(estimator, **settings).fit(counts), make_model(estimator, **settings)
    for first in range(0, 120, 7):
        stream.partial_fit(counts[first : first + 7])
    one, other = state(whole), state(stream)
    for name in {"n_tokens_seen_", "n_tokens_trace_"} & one.keys():
        assert_allclose(one.pop(name), other.pop(name), rtol=1e-14)
    assert_same_state(one, other)


# transform, predict_mixture and score


@every_match
@every_mixture
def test_predict_mixture_is_the_mean_over_the_number_of_topics(estimator, match):
    """The sum over T of gamma_T alpha_t / A_T, with alpha from the twin."""
    model = make_model(estimator, doc_topic_prior=PRIOR, second_moment=match, shuffle="corpus").fit(X[:10])
    model.set_params(shuffle=None)
    gamma, rows = model.n_components_posterior_, all_topics(model).T
    assert np.sum(gamma > 0.01) >= 2
    kind, start = twin_model(estimator, PRIOR)
    document, word, weight, _ = tokens_in_order(HELD_OUT[:6])
    indptr = np.searchsorted(document, np.arange(7))
    alpha, _ = reference.infer_documents(kind, MATCHES[match], indptr, word, weight, rows, gamma, start)
    expected = np.zeros((6, 5))
    for d in range(6):
        under = reference.unpack(kind, alpha[d], 5)
        for k in range(5):
            expected[d, : k + 1] += gamma[k] * under[k, : k + 1] / under[k, : k + 1].sum()
    assert_allclose(model.predict_mixture(HELD_OUT[:6]), expected, rtol=1e-4, atol=1e-7)


@every_match
@every_order
@every_mixture
def test_sure_of_the_number_transform_and_predict_mixture_agree(estimator, order, match):
    settings = {"doc_topic_prior": PRIOR, "shuffle": order, "second_moment": match}
    for number in (1, 3, 5):
        model = make_model(estimator, n_components_prior=only(number), **settings).fit(X)
        assert model.n_components_ == number
        assert_array_equal(model.n_components_posterior_, only(number))
        theta = model.predict_mixture(HELD_OUT)
        assert_allclose(theta[:, :number], model.transform(HELD_OUT), rtol=1e-4, atol=1e-7)
        assert_array_equal(theta[:, number:], 0.0)


@every_mixture
def test_transform_is_given_the_number_in_use(estimator):
    """That of the model of as many topics: the leading ones, whatever else may be."""
    model = make_model(estimator, doc_topic_prior=PRIOR, shuffle="corpus").fit(X[:10])
    model.set_params(shuffle=None)
    n = model.n_components_
    assert 1 < n < 5 and model.n_components_posterior_[n - 1] < 0.99
    document, word, weight, _ = tokens_in_order(HELD_OUT)
    indptr = np.searchsorted(document, np.arange(HELD_OUT.shape[0] + 1))
    _, theta = reference.infer_documents(
        reference.FIXED, reference.SUM, indptr, word, weight, model.components_.T, np.ones(1), PRIOR[:n]
    )
    assert_allclose(model.transform(HELD_OUT), theta, rtol=1e-4)
    assert np.abs(model.predict_mixture(HELD_OUT)[:, :n] - theta).max() > 1e-6


@every_estimator
def test_score_completes_documents_with_the_mixture_of_all_topics(estimator):
    model = make_model(estimator, doc_topic_prior=PRIOR).fit(X[:6])
    assert np.sum(number_posterior(model) > 0.01) >= (1 if estimator is MomentMatchingLDA else 2)
    observed, hidden = hide(canonical_counts(HELD_OUT))
    log_p = np.log(mixture(model, observed) @ all_topics(model))
    assert model.score(HELD_OUT) == pytest.approx((hidden.toarray() * log_p).sum() / hidden.sum(), rel=1e-12)


@every_order
@every_estimator
def test_empty_document_gets_the_prior_mean_in_both(estimator, order):
    model = make_model(estimator, doc_topic_prior=PRIOR, shuffle=order).fit(X[:6])
    n = model.n_components_
    zeros = np.zeros((2, 16))
    assert_allclose(model.transform(zeros), np.tile(PRIOR[:n] / PRIOR[:n].sum(), (2, 1)), rtol=1e-12)
    assert_allclose(mixture(model, zeros), np.tile(prior_mean(model, PRIOR), (2, 1)), rtol=1e-12)


@every_order
@every_mixture
def test_predict_mixture_depends_on_the_document_alone(estimator, order):
    model = make_model(estimator, shuffle=order).fit(X)
    before = state(model)
    theta = model.predict_mixture(HELD_OUT)
    assert theta.shape == (30, 5) and theta.min() >= 0
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    rows = np.random.RandomState(0).permutation(30)
    assert_array_equal(model.predict_mixture(HELD_OUT[rows]), theta[rows])
    assert_array_equal(np.vstack([model.predict_mixture(HELD_OUT[[row]]) for row in range(30)]), theta)
    assert_array_equal(model.predict_mixture(HELD_OUT.toarray()), theta)
    assert_array_equal(model.set_params(n_jobs=2).predict_mixture(HELD_OUT), theta)
    low = model.set_params(n_jobs=None).predict_mixture(HELD_OUT.astype(np.float32))
    assert low.dtype == np.float32
    assert_allclose(low, theta, rtol=1e-6, atol=1e-30)
    assert_same_state(state(model), before)
    with pytest.raises(NotFittedError):
        make_model(estimator).predict_mixture(X)


# Golden numbers

GOLDEN = Path(__file__).parent / "golden" / "bmm_golden.npz"
GOLDEN_NAMES = dict(zip(ESTIMATORS, ["basic", "ddm", "tdm"]))


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN, allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("prior", ["uniform", "exponential"])
@every_mixture
def test_golden_posterior_from_the_start_of_the_paper(golden, monkeypatch, estimator, prior):
    """The whole of fit, but for the order of the tokens, which is given."""
    document, word = golden["mix_doc"], golden["mix_word"]
    listed = np.lexsort((word, document))
    order = np.empty_like(listed)
    order[listed] = np.arange(len(listed))
    monkeypatch.setattr("sktopic.moment_matching._tokens.permutation", lambda key, n: order)
    counts = np.zeros((int(golden["n_docs"]), int(golden["n_words"])))
    np.add.at(counts, (document, word), 1.0)
    settings = {"second_moment": "first", "shuffle": "corpus", "doc_topic_prior": 1.0}
    model = make_model(estimator, 6, n_components_prior=prior, **settings).fit(counts)
    prefix = f"{GOLDEN_NAMES[estimator]}_start_{prior[:4].removesuffix('o')}"
    gamma, beta = golden[f"{prefix}_gamma"], golden[f"{prefix}_beta"]
    assert_allclose(model.n_components_posterior_, gamma, rtol=1e-8, atol=1e-200)
    assert_allclose(model.topic_word_posterior_, beta[: gamma.argmax() + 1], rtol=1e-8)
    assert model.log_marginal_likelihood_ == pytest.approx(np.log(golden[f"{prefix}_c"]).sum(), rel=1e-10)


@every_estimator
def test_golden_proportions_of_held_out_documents(golden, estimator):
    """A column for each token, in order, so that documents are read word by word in that of the tokens."""
    name = GOLDEN_NAMES[estimator]
    document, word, beta = golden["held_doc"], golden["held_word"], golden[f"{name}_one_mix_beta"]
    counts = np.zeros((3, len(word)))
    counts[document, np.arange(len(word))] = 1.0
    settings = {"doc_topic_prior": 1.0, "second_moment": "first", "shuffle": None}
    model = make_model(estimator, len(beta), **settings).fit(counts)
    store = np.ascontiguousarray((beta / beta.sum(axis=1, keepdims=True))[:, word].T)
    model._state = replace(model._state, topics=FilteredTopics.of_means(store, model._state.topics.sums))
    if estimator is not MomentMatchingLDA:
        gamma = golden[f"{name}_one_mix_gamma"]
        numbers = replace(model._state.numbers, gamma=gamma, lag=np.zeros_like(gamma))
        model._state = replace(model._state, numbers=numbers)
    assert_allclose(mixture(model, counts), golden[f"{name}_held_theta"], rtol=1e-5, atol=1e-8)


# The number of topics


@every_mixture
def test_before_any_token_the_posterior_is_the_prior(estimator):
    zeros = 0 * X
    given = np.array([0.0, 2.0, 1.0, 0.0, 5.0])
    exponential = np.exp(-np.arange(1.0, 6.0))
    priors = {
        "uniform": np.ones(5),
        "exponential": exponential,
        2.5: exponential**2.5,
        1000: [1, 0, 0, 0, 0],
        None: exponential ** min(2, X.shape[1] / 100),
        tuple(given): given,
        tuple(given * 1e200): given,
    }
    for prior, expected in priors.items():
        prior, expected = list(prior) if isinstance(prior, tuple) else prior, np.array(expected)
        model = make_model(estimator, n_components_prior=prior).fit(zeros)
        assert_allclose(model.n_components_posterior_, expected / expected.sum(), rtol=1e-12)
        assert model.n_components_ == expected.argmax() + 1
        assert len(model.n_tokens_trace_) == 0
    ones, uniform = (make_model(estimator, n_components_prior=prior).fit(X) for prior in (np.ones(5), 0))
    assert_array_equal(ones._state.numbers.gamma, uniform._state.numbers.gamma)


@every_mixture
def test_prior_of_the_number_follows_the_number_of_words(estimator):
    model = make_model(estimator, n_components_prior=None).fit(X)
    n, numbers, before = X.shape[1], np.arange(5), model.n_components_posterior_
    model.add_features(40)
    expected = before * np.exp(-0.4 * numbers)
    assert_allclose(model.n_components_posterior_, expected / expected.sum(), rtol=1e-12)
    prior = np.exp(-(n + 40) / 100 * numbers)
    assert_allclose(model.n_components_prior_, prior / prior.sum(), rtol=1e-12)
    model.add_features(1000).add_features(1).partial_fit(np.ones((1, n + 1041)))
    assert_allclose(model.n_components_prior_[1] / model.n_components_prior_[0], np.exp(-2), rtol=1e-12)


@every_mixture
def test_a_number_without_prior_probability_never_gets_any(estimator):
    for prior in ([0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1e-300, 0.0, 1e-300]):
        model = make_model(estimator, n_components_prior=prior).fit(X)
        assert_array_equal(model.n_components_posterior_[np.equal(prior, 0)], 0.0)
        assert model.n_components_posterior_.sum() == pytest.approx(1.0, rel=1e-12)
        assert prior[model.n_components_ - 1] > 0
        assert not set(model.n_components_trace_) & set(1 + np.flatnonzero(np.equal(prior, 0)))


@every_mixture
def test_prior_counts_up_to_a_factor(estimator):
    prior = np.array([1.0, 0.5, 2.0, 0.25, 4.0])
    model = make_model(estimator, n_components_prior=prior).fit(X)
    for factor in (3.7, 1e-200, 1e200):
        other = make_model(estimator, n_components_prior=prior * factor).fit(X)
        assert_allclose(other.n_components_posterior_, model.n_components_posterior_, rtol=1e-6, atol=1e-200)


@pytest.mark.parametrize(
    ("prior", "allowed"),
    [
        ("poisson", "must be a str among .* or an array-like"),
        (
            [0.5, 0.5],
            "must be .* a number, or 5 numbers .one for each number of topics from 1 to n_components.",
        ),
        (np.ones((5, 1)), "must be .* 5 numbers"),
        ([1.0, 1.0, "x", 1.0, 1.0], "must be .* 5 numbers"),
        ([1.0, -1e-9, 1.0, 1.0, 1.0], "must be finite and non-negative, and at least one positive"),
        ([1.0, np.nan, 1.0, 1.0, 1.0], "must be finite and non-negative, and at least one positive"),
        ([1.0, np.inf, 1.0, 1.0, 1.0], "must be finite and non-negative, and at least one positive"),
        ([0.0] * 5, "must be finite and non-negative, and at least one positive"),
    ],
    ids=str,
)
@every_mixture
def test_bad_prior_of_the_number_is_named(estimator, prior, allowed):
    model = make_model(estimator).fit(X)
    before = state(model.set_params(n_components_prior=prior))
    for method in (model.fit, model.partial_fit, model.transform, model.predict_mixture):
        with pytest.raises(ValueError, match=f"(?s)n_components_prior.*{allowed}") as caught:
            method(X)
        assert repr(prior) in str(caught.value)
        assert_same_state(state(model), before)


def test_exponential_prior_of_thousands_of_topics_does_not_underflow():
    model = make_model(DegenerateDirichletLDA, 2000, n_components_prior="exponential").fit(X[:10])
    gamma = model.n_components_posterior_
    assert gamma.sum() == pytest.approx(1.0) and gamma[:3].min() > 0
    assert np.isfinite(model.predict_mixture(HELD_OUT[:3])).all()
    # It is the filter of fewer topics: the others are out of reach, not gone.
    few = make_model(
        DegenerateDirichletLDA, 200, n_components_prior="exponential", doc_topic_prior=2000**-0.55
    )
    few.fit(X[:10])
    assert_allclose(few.n_components_posterior_[:20], gamma[:20], rtol=1e-7)
    assert np.all(model._state.numbers.gamma > 0)


def test_exponential_prior_of_hundreds_of_topics_of_the_triangular_model():
    model = make_model(TriangularDirichletLDA, 800, n_components_prior="exponential", shuffle="document")
    model.fit(X[:1])
    assert model.n_components_posterior_.sum() == pytest.approx(1.0)
    assert np.all(model._state.numbers.gamma > 0)


RECOVERY = {"doc_topic_prior": 1.0, "second_moment": "first", "shuffle": "corpus"}


@every_mixture
def test_number_of_topics_is_recovered(estimator):
    """As in section 5.1 of the paper: the means over data sets are near the truth where that is small.

    A prior that prefers few topics finds fewer.
    """
    found = {}
    for prior in ("exponential", "uniform"):
        for number in range(1, 6):
            settings = {"n_components": number, "doc_topic_prior": 0.05, "topic_word_prior": 0.1}
            found[prior, number] = []
            for seed in range(3):
                data = make_lda_documents(
                    100, n_features=200, mean_length=1000, random_state=100 * seed + number, **settings
                ).data
                model = make_model(estimator, 20, n_components_prior=prior, random_state=seed, **RECOVERY)
                found[prior, number].append(model.fit(data).n_components_)
    for number in range(1, 6):
        mean = np.mean(found["exponential", number])
        assert mean >= number - 1
        assert mean <= number + (2 if estimator is DegenerateDirichletLDA else 3)
    assert np.mean([found["uniform", n] for n in range(1, 6)]) >= np.mean(
        [found["exponential", n] for n in range(1, 6)]
    )
    assert np.mean(found["exponential", 5]) > np.mean(found["exponential", 1]) + 2


def test_triangular_model_does_not_run_to_its_limit():
    """With its defaults; a uniform prior of the number finds more than twice as many topics as there are."""
    data = [
        make_lda_documents(
            100,
            n_features=200,
            mean_length=1000,
            n_components=3,
            doc_topic_prior=0.05,
            topic_word_prior=0.1,
            random_state=seed,
        ).data
        for seed in range(4)
    ]
    found, uniform = (
        np.mean([TriangularDirichletLDA(50, random_state=0, **prior).fit(X).n_components_ for X in data])
        for prior in ({}, {"n_components_prior": "uniform"})
    )
    assert 2 < found < 4.5 and uniform > 6


# The order of columns, and what is known exactly


def in_blocks():
    """Documents on the first ten columns or on the last eight, and the columns with these blocks swapped."""
    sizes = {"topic_word_prior": 0.3, "mean_length": 20}
    first = make_lda_documents(40, n_features=10, n_components=3, random_state=0, **sizes).data
    last = make_lda_documents(40, n_features=8, n_components=2, random_state=1, **sizes).data
    counts = sp.csr_array(sp.block_diag([first, last]))[np.random.RandomState(0).permutation(80)]
    return counts, np.r_[10:18, 0:10]


@every_order
@every_mixture
def test_sum_of_second_moments_does_not_depend_on_the_order_of_columns(estimator, order):
    """Words that share documents keep their order, so that tokens come in the same order."""
    counts, columns = in_blocks()

    def fit(counts, match):
        return make_model(estimator, shuffle=order, second_moment=match).fit(counts)

    model, other = fit(counts, "sum"), fit(counts[:, columns], "sum")
    assert_allclose(other.components_, model.components_[:, columns], rtol=1e-9)
    assert_allclose(other.n_components_posterior_, model.n_components_posterior_, rtol=1e-9, atol=1e-200)
    assert other.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, rel=1e-12)
    model, other = fit(counts, "first"), fit(counts[:, columns], "first")
    assert abs(other.log_marginal_likelihood_ - model.log_marginal_likelihood_) > 0.1


def started(estimator, n_components, topics, **params):
    """An estimator that has seen a document without words, and starts from these topics."""
    model = make_model(estimator, n_components, **params).partial_fit(np.zeros((1, topics.shape[1])))
    posteriors = model._state.topics
    posteriors.store[:, : len(topics)] = topics.T
    posteriors.sums[: len(topics)] = 4.0
    posteriors.spread[: len(topics)] = 1.0 - (topics**2).sum(axis=1)
    return model


@pytest.mark.parametrize("number", [2, 3, 5])
@every_order
@every_match
@every_mixture
def test_sure_of_the_number_it_is_the_basic_model(estimator, match, order, number):
    """From the same topics, whatever other numbers there might have been."""
    topics = np.random.RandomState(number).dirichlet(np.ones(16), size=number)
    settings = {"second_moment": match, "shuffle": order}
    basic = started(MomentMatchingLDA, number, topics, doc_topic_prior=PRIOR[:number], **settings)
    model = started(estimator, 5, topics, doc_topic_prior=PRIOR, n_components_prior=only(number), **settings)
    basic.partial_fit(X)
    model.partial_fit(X)
    assert_allclose(model.topic_word_posterior_, basic.topic_word_posterior_, rtol=1e-7)
    assert model.log_marginal_likelihood_ == pytest.approx(basic.log_marginal_likelihood_, rel=1e-10)
    assert_allclose(model.transform(HELD_OUT), basic.transform(HELD_OUT), rtol=1e-5)


@every_order
@every_match
@every_estimator
def test_one_topic_is_the_posterior_of_the_word_frequencies(estimator, match, order):
    """Exactly: nothing is approximated where there is no choice."""
    settings = {"second_moment": match, "shuffle": order, "topic_word_prior": 0.3}
    start = make_model(estimator, 1, **settings).fit(0 * X).topic_word_posterior_[0]
    assert start.sum() == pytest.approx(16 * 0.3, rel=0.5 if estimator is MomentMatchingLDA else 1e-12)
    for factor in (1, 0.5, 65, 1e6):
        counts = X[:40] * factor
        model = make_model(estimator, 1, **settings).fit(counts)
        after = start + counts.sum(axis=0)
        assert_allclose(model.topic_word_posterior_[0], after, rtol=1e-9, err_msg=f"counts times {factor}")
        if factor == 1:
            rising = (gammaln(after) - gammaln(start)).sum()
            evidence = rising - gammaln(after.sum()) + gammaln(start.sum())
            assert model.log_marginal_likelihood_ == pytest.approx(evidence, rel=1e-11)
        assert_array_equal(mixture(model, HELD_OUT), np.ones((30, 1)))


# Counts that are not one token each


@every_estimator
def test_a_count_becomes_at_most_1024_tokens(estimator, monkeypatch):
    """Of equal weights where it is more; else of weight one, and one of the rest."""
    weights = {0.5: [0.5], 2.3: [1.0, 1.0, 0.3], 1024: [1.0] * 1024, 1e9: [1e9 / 1024] * 1024}
    for count, expected in weights.items():
        tokens = []
        model = make_model(estimator, shuffle=None)
        with monkeypatch.context() as patch:

            def listing(method, some, state, *arguments, tokens=tokens):
                tokens.extend(some.weight)
                return state

            patch.setattr(FilterMethod, "_filter", listing)
            model.partial_fit(count * np.eye(1, 16, 3))
        assert_allclose(sorted(tokens, reverse=True), expected, rtol=1e-12)


# Below one, between tokens, beyond a token each, and as large as counts may be
@pytest.mark.parametrize("factor", [0.3, 65.0, 1e10])
@every_match
@every_order
@every_estimator
def test_posterior_of_weighty_tokens_is_sound(estimator, order, match, factor):
    """Finite, and as sure of the topics as it has reason to be: they are told apart as of ordinary counts."""
    counts = X[:40] * factor
    model = make_model(estimator, shuffle=order, second_moment=match).fit(counts)
    posterior = model.topic_word_posterior_
    assert np.isfinite(posterior).all() and posterior.min() > 0
    assert np.isfinite(model.log_marginal_likelihood_) and np.isfinite(number_posterior(model)).all()
    assert 0.1 * counts.sum() < posterior.sum() < 1.01 * (counts.sum() + 5 * 4)
    unigram = np.log(np.maximum(X.sum(axis=0), 1) / X.sum())
    assert model.score(HELD_OUT) > (HELD_OUT @ unigram).sum() / HELD_OUT.sum()


# Learning the prior of the proportions


def separated(n_components=3, n_words=10):
    """Topics without a word in common."""
    return np.kron(np.eye(n_components), np.full(n_words, 1 / n_words))


SEPARATED = make_lda_documents(
    640, components=separated(), mean_length=40, doc_topic_prior=0.1, random_state=0
).data
# Near the topics that these are of
SOFT = 0.9 * separated() + 0.1 / 30


@pytest.mark.parametrize("truth", [0.1, 0.2])
@every_estimator
def test_symmetric_prior_is_learned(estimator, truth):
    """To within a factor two of that which documents were drawn from, and they become more probable."""
    for seed in range(3):
        counts = make_lda_documents(
            1200, components=separated(), mean_length=40, doc_topic_prior=truth, random_state=seed
        ).data
        settings = {"shuffle": "document", "random_state": seed}
        model = make_model(estimator, 3, doc_topic_prior="auto-symmetric", **settings).fit(counts)
        assert model.n_components_ == 3
        assert_array_equal(model.doc_topic_prior_, np.full(3, model.doc_topic_prior_[0]))
        assert truth / 2 < model.doc_topic_prior_[0] < truth * 2
        fixed = make_model(estimator, 3, doc_topic_prior=1.0, **settings).fit(counts)
        assert model.log_marginal_likelihood_ > fixed.log_marginal_likelihood_ + 500


@every_estimator
def test_prior_learned_topic_by_topic_tells_rare_from_frequent(estimator):
    truth = np.array([0.05, 0.1, 0.4])
    counts = make_lda_documents(
        1200, components=separated(), mean_length=40, doc_topic_prior=truth, random_state=0
    ).data
    model = make_model(estimator, 3, doc_topic_prior="auto", shuffle="document").fit(counts)
    assert model.n_components_ == 3
    of_topic = np.argmax(model.components_.reshape(3, 3, 10).sum(axis=2), axis=1)
    assert sorted(of_topic) == [0, 1, 2]
    assert_array_equal(np.argsort(model.doc_topic_prior_), np.argsort(truth[of_topic]))
    assert np.all(model.doc_topic_prior_ < 2.5 * truth[of_topic])


@pytest.mark.parametrize("prior", ["auto", "auto-symmetric"])
@pytest.mark.parametrize("order", ["corpus", "document"])
@every_mixture
def test_topics_out_of_use_keep_a_fair_prior(estimator, order, prior):
    """The mean of those in use: should they come into use, they start from there."""
    settings = {"doc_topic_prior": prior, "shuffle": order, "n_components_prior": only(3, 30)}
    model = started(estimator, 30, SOFT, **settings).partial_fit(SEPARATED)
    assert_array_equal(model.doc_topic_prior_, model._state.doc_topic_prior[:3])
    assert np.all(model.doc_topic_prior_ != 30**-0.55)
    assert_allclose(model._state.doc_topic_prior[3:], model._state.doc_topic_prior[:3].mean(), rtol=1e-12)


@every_mixture
def test_topics_out_of_use_do_not_disturb_learning_of_the_prior(estimator):
    """From the same start, learning among three topics of thirty goes as among three."""
    few, many = (
        started(
            estimator,
            n_components,
            SOFT,
            doc_topic_prior=0.5,
            n_components_prior=only(3, n_components),
            shuffle="document",
        ).set_params(doc_topic_prior="auto-symmetric")
        for n_components in (3, 30)
    )
    for first, last in [(0, 127), (127, 319), (319, 639)]:
        learned = few.partial_fit(SEPARATED[first:last]).doc_topic_prior_[0]
        assert many.partial_fit(SEPARATED[first:last]).doc_topic_prior_[0] == pytest.approx(learned, rel=0.3)


@pytest.mark.parametrize("prior", ["auto", "auto-symmetric"])
@every_order
@every_estimator
def test_one_topic_leaves_the_prior(estimator, order, prior):
    model = make_model(estimator, 1, doc_topic_prior=prior, shuffle=order).fit(X)
    assert_array_equal(model.doc_topic_prior_, [1.0])


@every_estimator
def test_prior_may_be_set_between_calls(estimator):
    """From then on it is that; learning, should it be asked for, starts from what is there."""
    model = make_model(estimator, doc_topic_prior="auto", shuffle="document").partial_fit(X[:70])
    model.set_params(doc_topic_prior=PRIOR).partial_fit(X[70:100])
    assert_array_equal(model.doc_topic_prior_, PRIOR[: model.n_components_])
    model.set_params(doc_topic_prior="auto").partial_fit(X[:20])
    assert_array_equal(model.doc_topic_prior_, PRIOR[: model.n_components_])


@every_estimator
def test_second_moment_may_be_set_between_calls(estimator):
    """What one way of matching leaves is where the other starts."""
    settings = {"shuffle": None, "doc_topic_prior": PRIOR, "second_moment": "sum"}
    model = make_model(estimator, **{**settings, "second_moment": "first"}).partial_fit(X[:60])
    other = make_model(estimator, **settings).partial_fit(0 * X)
    topics = model._state.topics
    own = FilteredTopics.of_means(topics.store * topics.scale, topics.sums.copy())
    other._state = replace(other._state, topics=own)
    if estimator is not MomentMatchingLDA:
        other._state = replace(other._state, numbers=model._state.numbers)
    model.set_params(second_moment="sum").partial_fit(X[60:])
    assert_allclose(model.topic_word_posterior_, other.partial_fit(X[60:]).topic_word_posterior_, rtol=1e-6)


# Calls that fail or are interrupted


@every_estimator
def test_fit_without_memory_for_the_topics_changes_nothing(estimator, monkeypatch):
    model, empty = make_model(estimator).fit(X), np.empty
    before = state(model)

    def refuse(*arguments):
        raise MemoryError

    monkeypatch.setattr("sktopic.moment_matching._method.uniforms", refuse)
    monkeypatch.setattr(np, "empty", lambda shape, **kw: refuse() if shape == (16, 5) else empty(shape, **kw))
    with pytest.raises(MemoryError):
        model.fit(X[:10])
    assert_same_state(state(model), before)


@pytest.mark.parametrize("n_calls", [1, 3, 70])
@every_estimator
def test_an_error_between_tokens_leaves_topics_and_their_number_in_step(estimator, n_calls, monkeypatch):
    """Without memory for the next tokens, the state is that after the last ones."""
    model = make_model(estimator, shuffle=None).partial_fit(X[:1])
    method, expected, calls, many = model._method(), duplicate(model._state), [], sp.vstack([X] * 40)
    absorb = type(method).absorb

    def refuse(self, state, tokens, alpha):
        if len(calls) == n_calls:
            raise MemoryError
        calls.append(tokens)
        return absorb(self, state, tokens, alpha)

    with monkeypatch.context() as patch:
        patch.setattr(type(method), "absorb", refuse)
        with pytest.raises(MemoryError):
            model.partial_fit(many)
    alpha = np.empty((GROUP_SIZE, method.form.size(model.n_components)))
    for tokens in calls:
        expected = method.absorb(expected, tokens, alpha)
    found, expected = arrays_of(model._state), arrays_of(expected)
    for name in [name for name in found if name.startswith(("topics", "numbers"))]:
        assert_array_equal(found[name], expected[name], name)


@every_order
@every_estimator
def test_partial_fit_that_is_refused_changes_nothing(estimator, order):
    model = make_model(estimator, shuffle=order, doc_topic_prior="auto").partial_fit(X[:70])
    expected = make_model(estimator, shuffle=order, doc_topic_prior="auto").partial_fit(X[:70])
    with pytest.raises(ValueError, match="n_components=6 differs from the 5 topics in training"):
        model.set_params(n_components=6).partial_fit(X)
    with pytest.raises(ValueError, match=r"X has 7 features, but .* is expecting 16 features"):
        model.set_params(n_components=5).partial_fit(X[:, :7])
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(-X)
    assert_same_state(state(model), state(expected))
    assert_same_state(state(model.partial_fit(X[70:])), state(expected.partial_fit(X[70:])))


@pytest.fixture
def _interruptible():
    """Python's own handler of SIGINT, whatever the tests were started from."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(patch, estimator, call):
    """Send ourselves SIGINT while some slice of the tokens, counted from 1, is being filtered."""
    original, calls = _Call._absorb, []

    def absorb_and_interrupt(self, *arguments):
        calls.append(1)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    patch.setattr(_Call, "_absorb", absorb_and_interrupt)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("order", ["document", None])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@every_estimator
def test_interrupt_keeps_the_documents_seen(monkeypatch, estimator, method, order):
    """Whole groups of them; and training goes on with the next."""
    model, settings = make_model(estimator, shuffle=order), {"shuffle": order, "doc_topic_prior": "auto"}
    model, expected = make_model(estimator, **settings), make_model(estimator, **settings)
    counts = sp.csr_array(sp.vstack([X, X]))
    with monkeypatch.context() as patch:
        interrupt(patch, estimator, 2)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, method)(counts)
    seen = model.n_samples_seen_
    assert seen == 128
    assert_same_state(state(model), state(expected.partial_fit(counts[:seen])))
    assert np.isfinite(model.score(HELD_OUT))
    assert_same_state(state(model.partial_fit(counts[seen:])), state(expected.partial_fit(counts[seen:])))


@pytest.mark.usefixtures("_interruptible")
@every_order
@every_estimator
def test_interrupt_between_slices_keeps_the_tokens_seen(monkeypatch, estimator, order):
    with monkeypatch.context() as patch:
        patch.setattr("sktopic.moment_matching._tokens.SLICE_WORK", 1000)
        expected = make_model(estimator, shuffle=order).fit(X)
        assert_same_state(state(expected), state(make_model(estimator, shuffle=order).fit(X)))
        interrupt(patch, estimator, 3)
        model = make_model(estimator, shuffle=order)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    n = int(model.n_tokens_seen_)
    assert 0 < n < X.sum()
    assert model.log_marginal_likelihood_ < 0 and model.n_components_ == number_posterior(model).argmax() + 1
    assert_allclose(
        model.topic_word_posterior_.sum(), model._state.topics.sums[: model.n_components_].sum(), rtol=1e-12
    )
    if estimator is not MomentMatchingLDA:
        assert_array_equal(model.n_tokens_trace_, expected.n_tokens_trace_[: len(model.n_tokens_trace_)])
        assert_array_equal(
            model.n_components_trace_, expected.n_components_trace_[: len(model.n_components_trace_)]
        )
    assert np.isfinite(model.partial_fit(X).score(HELD_OUT))
    assert model.n_tokens_seen_ == n + X.sum()


class Watcher:
    """A callback of scikit-learn that notes the model after every update, and stops after some."""

    def __init__(self, stop_after=None):
        self.seen, self.tasks, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.tasks.append(context.task_name)
        if context.task_name != "update":
            return False
        attributes = ("n_samples_seen_", "n_tokens_seen_", "log_marginal_likelihood_", "n_components_")
        self.seen.append([getattr(fitted_estimator, name) for name in attributes])
        self.seen[-1].append(number_posterior(fitted_estimator).copy())
        return len(self.seen) == self.stop_after


@every_estimator
def test_callbacks_see_the_model_after_every_group_of_documents(estimator):
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    watcher, settings = Watcher(), {"shuffle": "document"}
    model = make_model(estimator, **settings).set_callbacks(watcher).fit(X)
    assert watcher.tasks[:-1] == ["update"] * 2 + ["epoch"]
    stream = make_model(estimator, **settings)
    for piece, (documents, tokens, evidence, number, gamma) in zip([X[:64], X[64:]], watcher.seen):
        stream.partial_fit(piece)
        assert (documents, tokens) == (stream.n_samples_seen_, stream.n_tokens_seen_)
        assert (evidence, number) == (stream.log_marginal_likelihood_, stream.n_components_)
        assert_array_equal(gamma, number_posterior(stream))
    assert_array_equal(model.components_, stream.components_)
    stopped = make_model(estimator, **settings).set_callbacks(Watcher(stop_after=1)).fit(X)
    assert_array_equal(stopped.components_, make_model(estimator, **settings).fit(X[:64]).components_)


# Memory and quality


@pytest.mark.parametrize("order", ["document", None])
@every_estimator
def test_memory_does_not_grow_with_the_number_of_documents(estimator, order):
    """Proportions of a group at a time, in the triangular model 10 kB a document for fifty topics."""
    model, peaks = make_model(estimator, 50, shuffle=order).partial_fit(X), []
    for n in (200, 2000):
        counts = X[np.arange(n) % 120]
        tracemalloc.start()
        model.partial_fit(counts)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 3 * counts.data.nbytes < 4e6


@every_estimator
def test_bars_are_found(estimator):
    """Near the score of the bars themselves, and well above that of the word frequencies."""
    bars, test = make_bars(2000, random_state=0), make_bars(200, random_state=1)
    truth = document_completion(test.components, test.data, doc_topic_prior=test.doc_topic_prior)
    unigram = document_completion(np.ones((1, test.data.shape[1])), test.data, doc_topic_prior=1.0)
    model = make_model(estimator, 15, shuffle="corpus").fit(bars.data)
    score = document_completion(model, test.data)
    assert score > truth - 0.25 * (truth - unigram)


@every_estimator
def test_order_of_tokens_matters_and_the_shuffle_is_of_the_seed(estimator):
    evidence = [
        make_model(estimator, shuffle=order).fit(X).log_marginal_likelihood_
        for order in ("corpus", "document")
    ]
    evidence.append(make_model(estimator, shuffle=None).fit(X).log_marginal_likelihood_)
    evidence.append(make_model(estimator, shuffle="document", random_state=1).fit(X).log_marginal_likelihood_)
    assert len(np.unique(np.round(evidence, 6))) == 4


@pytest.mark.parametrize("estimator", [DegenerateDirichletLDA, TriangularDirichletLDA])
def test_numbers_of_topics_that_are_out_of_the_question_keep_no_topics_alike(estimator):
    """Without one topic as a possibility, nothing but noise tells the first ones apart."""
    counts = make_bars(200, random_state=0).data
    model = estimator(6, n_components_prior=[0, 0, 0, 1, 1, 0], random_state=0).fit(counts)
    assert model.n_components_ in (4, 5)
    assert len(np.unique(model.components_.round(9), axis=0)) == model.n_components_
    assert model.n_components_posterior_[[0, 1, 2, 5]].max() == 0.0


@pytest.mark.parametrize("estimator", [DegenerateDirichletLDA, TriangularDirichletLDA])
def test_of_equally_probable_numbers_the_smallest_is_taken(estimator):
    model = make_model(estimator, 8).fit(np.ones((5, 1)))
    assert_allclose(model.n_components_posterior_, 1 / 8, rtol=1e-9)
    assert model.n_components_ == 1


@every_estimator
def test_documented_names_are_those_of_parameters_and_attributes(estimator):
    named = []
    for section in inspect.getdoc(estimator).partition("See Also")[0].split("Attributes\n"):
        entries = re.findall(r"^(\w+) : ", section, re.MULTILINE)
        named.append(set(entries))
    model = make_model(estimator).fit(X)
    assert named[0] == set(model.get_params())
    public = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    assert public <= named[1] | {"topic_names_"}
    assert all(hasattr(model, name) for name in named[1] - {"feature_names_in_", "topic_names_"})


@every_estimator
def test_priors_that_training_began_with_cannot_be_changed(estimator):
    model = make_model(estimator).fit(X)
    before = state(model)
    with pytest.raises(ValueError, match=r"topic_word_prior=0\.5 differs"):
        model.set_params(topic_word_prior=0.5).partial_fit(X)
    if estimator is not MomentMatchingLDA:
        model.set_params(topic_word_prior=None, n_components_prior="exponential")
        with pytest.raises(ValueError, match="n_components_prior='exponential' differs"):
            model.partial_fit(X)
    model.set_params(**make_model(estimator).get_params())
    assert_same_state(state(model), before)
