"""A document of weight w counts as w documents: in the topics, in priors, and in the size of the corpus.

With integer weights it is the same as repeated rows, to rounding: copies of a document in a batch draw alike.
"""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sktopic._documents._matrices import DocumentReader
from sktopic._documents._sources import MatrixDocuments
from sktopic._inference._dense import DenseCounts
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import PriorStatistics
from sktopic._training._minibatches import VALIDATION_KEY, counts_of_batch
from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineCVB0LDA, OnlineEMLDA, OnlineVariationalLDA

from .conftest import assert_raises, assert_same_state, next_update, state
from .registry import STEPS, defaults, each, new, takes_weights, variants


def draws(estimator):
    """Whether documents are sampled in training; boosted topics also follow each sweep."""
    params = estimator.get_params()
    sampled = (
        takes_weights(estimator)
        and {"doc_burn_in", "bernoulli_p"} & params.keys()
        and params.get("inference") != "variational"
    )
    return sampled and not params.get("boost")


# One of each kind of inference, the one whose steps are no averages, and all other settings
WEIGHTED = [
    *filter(takes_weights, STEPS),
    *variants(lambda each: takes_weights(each) and ("=" in repr(each) or hasattr(each, "learning_rate"))),
]

CORPUS = make_lda_documents(40, n_features=30, n_components=4, mean_length=20, random_state=0).data
X = sp.csr_array(sp.vstack([CORPUS, sp.csr_matrix((1, 30))]), dtype=np.float64)  # the last is empty
RNG = np.random.default_rng(0)
TIMES = RNG.integers(0, 4, X.shape[0])
REPEATED = X[np.repeat(np.arange(X.shape[0]), TIMES)]
WEIGHTS = np.where(TIMES > 0, RNG.gamma(1.0, 1.0, X.shape[0]), 0.0)
SOME = TIMES > 0


@each(WEIGHTED)
def test_integer_weights_are_repeated_documents(estimator):
    """In batches of all documents: draws, priors, births, moves and all."""
    params = {"max_iter": 5, "batch_size": 1000}
    if getattr(estimator, "learning_method", None) == "memoized":
        params["components_init"] = np.ones((1, 30))  # otherwise, topics start from a chain without weights
    weighted = new(estimator, **params).fit(X, sample_weight=TIMES)
    repeated = new(estimator, **params).fit(REPEATED)
    assert weighted.total_samples_ == weighted.n_samples_seen_ / weighted.n_iter_ == TIMES.sum()
    assert weighted.n_iter_ == repeated.n_iter_ >= 5  # the last pass may be repeated
    for name in ("components_", "doc_topic_prior_", "topic_word_prior_", "topic_word_counts_"):
        if hasattr(estimator, "learning_rate") and name == "topic_word_counts_":
            continue  # a chain of topics has no counts
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, err_msg=name)
    given = X, None, TIMES
    assert weighted.score(*given) == pytest.approx(repeated.score(REPEATED), rel=1e-7)
    assert weighted.perplexity(*given) == pytest.approx(math.exp(-weighted.score(*given)), rel=1e-15)
    weighted.partial_fit(X, sample_weight=TIMES), repeated.partial_fit(REPEATED)
    assert weighted.total_samples_ == repeated.total_samples_
    assert_allclose(weighted.components_, repeated.components_, rtol=1e-5)


@pytest.mark.parametrize("method", [OnlineVariationalLDA(doc_topic_prior="auto"), OnlineCVB0LDA()], ids=repr)
def test_large_batches_are_summed_in_groups_with_their_weights(method):
    times = np.tile(TIMES[:-1], 45)
    many = sp.csr_array(sp.vstack([CORPUS] * 45), dtype=np.float64)
    params = {"max_iter": 2, "batch_size": 5000}
    weighted = new(method, **params).fit(many, sample_weight=times)
    repeated = new(method, **params).fit(many[np.repeat(np.arange(len(times)), times)])
    assert np.count_nonzero(times) > 1024
    if isinstance(method, OnlineCVB0LDA):
        assert weighted.n_tokens_seen_ == pytest.approx(repeated.n_tokens_seen_, rel=1e-12)
    for name in ("components_", "doc_topic_prior_", "topic_word_counts_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, err_msg=name)


def statistics(model, key):
    """What an update by the repeated documents would add to topics (and to sums over words with random
    factors), and what it tells of the prior, as one vector."""
    with Workers(1) as workers:
        update, rows = next_update(model, model.total_samples_), np.arange(REPEATED.shape[0])
        method, state = model._method(), replace(model._state, seed=key)
        found = counts_of_batch(method, state, DocumentReader(REPEATED), rows, update, workers)
        dense = DenseCounts(REPEATED.shape[1], state.words.n_topics, method.learns_from_gains)
        dense.include(found.expected, found.words, workers)
    prior = dense.prior_statistics() or PriorStatistics.none(state.words.n_topics)
    directions = np.random.default_rng(1).random((5, REPEATED.shape[1]))
    parts = dense.counts.sum(axis=0), (directions @ dense.counts).ravel(), prior.log_theta, prior.topic_gains
    return np.concatenate([*parts, [prior.total_gain]])


@pytest.mark.law
# The births of max_births=3 have too heavy tails for so few updates.
@each(each for each in WEIGHTED if draws(each) and not getattr(each, "max_births", None))
def test_copies_that_draw_alike_leave_expected_statistics_what_they_are(estimator, request):
    """Within four standard errors, given topics from an earlier batch: only the variance of a batch grows."""
    model = new(estimator, batch_size=1000, max_iter=2).fit(REPEATED)
    samples = [np.array([statistics(model, key) for key in range(80)])]
    request.getfixturevalue("independent_copies")
    samples.append(np.array([statistics(model, key) for key in range(1000, 1080)]))
    means = [sample.mean(axis=0) for sample in samples]
    variances = [sample.var(axis=0, ddof=1) for sample in samples]
    error = np.sqrt((variances[0] + variances[1]) / 80)
    assert np.all(np.abs(means[0] - means[1]) <= 4 * error + 1e-9 * np.abs(means[1]))
    assert variances[0].sum() > 1.2 * variances[1].sum()


@each(filter(takes_weights, STEPS))
def test_documents_of_weight_zero_are_not_there_and_weights_of_one_change_no_bit(estimator):
    """In batches that are not whole, with documents held out, in partial_fit, for any n_jobs."""
    params = {"early_stopping": "early_stopping" in estimator.get_params(), "batch_size": 7}
    model = new(estimator, **params).fit(X, sample_weight=WEIGHTS)
    other = new(estimator, n_jobs=3, **params).fit(X[SOME], sample_weight=WEIGHTS[SOME])
    other.n_jobs = None
    assert_same_state(state(model), state(other))
    model.partial_fit(X, sample_weight=WEIGHTS)
    other.partial_fit(X[SOME], sample_weight=WEIGHTS[SOME])
    assert_same_state(state(model), state(other))
    assert model.score(X, sample_weight=WEIGHTS) == other.score(X[SOME], sample_weight=WEIGHTS[SOME])
    model.partial_fit(X, sample_weight=2.0 * SOME)
    other.partial_fit(X[SOME], sample_weight=np.full(SOME.sum(), 2.0))
    assert_same_state(state(model), state(other))
    model.partial_fit(X[SOME], sample_weight=[True] * SOME.sum())
    assert_same_state(state(model), state(other.partial_fit(X[SOME])))
    assert model.score(X, sample_weight=1.0 * SOME) == other.score(X[SOME])
    for one in (1, np.array(1.0)):
        assert_same_state(state(model.fit(X, sample_weight=one)), state(other.fit(X)))


def test_early_stopping_weighs_the_documents_that_are_held_out():
    model = new(OnlineEMLDA(), early_stopping=True, validation_fraction=0.4, max_iter=1)
    model.fit(X[SOME], sample_weight=WEIGHTS[SOME])
    rows = sp.csr_array(np.arange(1, SOME.sum() + 1)[:, None])
    key = combine_keys(model._state.seed, VALIDATION_KEY)
    parts = MatrixDocuments(rows).split(model.validation_fraction, key)
    trained, held_out = (part.matrix().toarray().ravel() - 1 for part in parts)
    expected = model.score(X[SOME][held_out], sample_weight=WEIGHTS[SOME][held_out])
    assert model.validation_scores_[0] == expected != model.score(X[SOME][held_out])
    assert model.total_samples_ == WEIGHTS[SOME][trained].sum()


# What is given


def test_what_is_no_weight_is_refused_and_changes_nothing():
    model, ones = new(OnlineEMLDA()).fit(X), np.ones(X.shape[0])
    before = state(model)
    for wrong, message in (
        (ones[:3], r"sample_weight has shape \(3,\)"),
        (ones[:, None], r"sample_weight has shape \(41, 1\)"),
        (np.r_[-1.0, ones[1:]], "sample_weight has -1 for sample 0"),
        (np.r_[ones[1:], np.nan], "sample_weight has nan for sample 40"),
        (np.inf * ones, "sample_weight has inf for sample 0"),
        (1e-13 * ones, "sample_weight has 1e-13 for sample 0"),
        (1e13 * ones, r"sample_weight sums to 4.1e\+14; at most 1e\+14"),
        (0, "sample_weight is zero for all samples"),
        (1j * ones, "sample_weight is no array of numbers"),
        (np.full(X.shape[0], "1", dtype=object), "sample_weight is no array of numbers"),
        (np.full(X.shape[0], 10**400), "sample_weight is no array of numbers"),
        ("balanced", "sample_weight is no array of numbers"),
    ):
        for call in (model.fit, model.partial_fit, model.score, model.perplexity, clone(model).partial_fit):
            assert_raises(ValueError, message, call, X, sample_weight=wrong)
    assert_same_state(state(model), before)
    for size in (1e-12, 1e12):  # finite topics, from weights that are left as they are
        weights = size * ones
        weights.setflags(write=False)
        model = new(OnlineEMLDA(doc_topic_prior="auto")).fit(X, sample_weight=weights)
        assert np.isfinite([model.score(X, sample_weight=weights), *model.components_.ravel()]).all()


# Where it is given


def test_all_methods_take_weights_or_none_does():
    """A method whose topics of tokens depend on other documents' cannot count them by multiplication."""
    for estimator in defaults():
        takes = takes_weights(estimator)
        assert ("sample_weight" in inspect.signature(estimator.partial_fit).parameters) is takes
        assert hasattr(estimator, "set_fit_request") is takes
        assert hasattr(estimator, "set_partial_fit_request") is takes
        assert hasattr(estimator, "set_score_request")
        if not takes:
            assert_raises(TypeError, "sample_weight", estimator.fit, X, sample_weight=WEIGHTS)


def test_fit_transform_and_metadata_routing_hand_weights_on():
    expected = new(OnlineEMLDA()).fit(X, sample_weight=WEIGHTS)
    assert_array_equal(new(OnlineEMLDA()).fit_transform(X, sample_weight=WEIGHTS), expected.transform(X))
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = new(OnlineEMLDA()).set_fit_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(accept_sparse=True), clone(requesting))
        assert_array_equal(pipe.fit_transform(X, sample_weight=WEIGHTS), expected.transform(X))
        assert_array_equal(pipe[-1].components_, expected.components_)
        requesting.set_score_request(sample_weight=True)
        train, test = np.arange(20), np.arange(20, X.shape[0])
        search = GridSearchCV(requesting, {"n_components": [4]}, cv=[(train, test)], refit=False)
        search.fit(X, sample_weight=WEIGHTS)
    fitted = new(OnlineEMLDA()).fit(X[train], sample_weight=WEIGHTS[train])
    score = fitted.score(X[test], sample_weight=WEIGHTS[test])
    assert search.cv_results_["mean_test_score"][0] == score != fitted.score(X[test])
