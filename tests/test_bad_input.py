"""Input that has to be refused, with a message that helps, and odd input that has to work."""

import copy
import re
import time
import tracemalloc
from fractions import Fraction
from functools import partial
from itertools import cycle
from numbers import Real
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning

from sktopic.datasets import make_lda_documents
from sktopic.hdp import OnlineVariationalHDP, _collapsed_method
from sktopic.lda import LangevinLDA, OnlineEMLDA
from sktopic.metrics import (
    document_completion,
    left_to_right,
    perplexity,
    posterior_predictive_check,
    relative_score,
)
from sktopic.moment_matching import TriangularDirichletLDA

from .conftest import assert_raises, assert_same_state, fingerprint, outcome, state
from .registry import (
    INF,
    LOOPS,
    NAN,
    STEPS,
    allows,
    bad_values,
    bounds_of,
    call,
    call_function,
    defaults,
    each,
    functions_with_data,
    having,
    is_bounded,
    is_unbounded,
    is_unsmoothed,
    methods_with_data,
    new,
    variants,
)

X = make_lda_documents(30, n_features=12, n_components=3, mean_length=15, random_state=0).data.astype(float)
OTHER = make_lda_documents(20, n_features=7, n_components=3, mean_length=15, random_state=1).data
every_class, every_variant, every_step = each(defaults()), each(variants()), each(STEPS)
every_kernel = each(STEPS + variants(lambda estimator: "sampler=" in repr(estimator)))
METRICS = [document_completion, left_to_right, perplexity, relative_score]


@pytest.fixture(autouse=True)
def all_words_are_common(monkeypatch):
    """Alias tables pay where a word is in many documents; here they are to be used all the same."""
    monkeypatch.setattr(_collapsed_method, "COMMON", 1)


def make_model(estimator=OnlineEMLDA, **params):
    return new(estimator, **{"n_components": 3, "batch_size": 8, "learning_offset": 1.0, **params})


def has_topics(model, n_components):
    """Whether it has so many topics, or no more where it infers the number up to a bound."""
    if is_unbounded(model):
        return model.n_components_ >= 1
    return (
        1 <= model.n_components_ <= n_components if is_bounded(model) else model.n_components_ == n_components
    )


def frame(counts, name):
    counts = counts.toarray() if sp.issparse(counts) else counts
    return pd.DataFrame(counts, columns=[f"{name}{i}" for i in range(counts.shape[1])])


def with_value(value):
    counts = X.toarray().astype(np.result_type(X.dtype, np.asarray(value).dtype))  # object, if it is huge
    counts[4, 2] = value
    return counts


def with_column(column):
    """A sparse matrix whose shape does not hold one of its columns, which SciPy does not mind."""
    indices, indptr = np.array([0, column, 3], dtype=np.int32), np.array([0, 2, 3], dtype=np.int32)
    return sp.csr_array((np.ones(3), indices, indptr), shape=(2, 12))


# Matrices that are refused

BAD_MATRICES = {
    "columns beyond its shape": (with_column(12), "X has column indices from 0 to 12"),
    "columns before its shape": (with_column(-5), "X has column indices from -5 to 3"),
    "negative sparse": (sp.csr_array(with_value(-1)), "Negative values in data"),
    "negative bytes": (sp.csr_array(with_value(-1).astype(np.int8)), "Negative values in data"),
    "NaN sparse": (sp.csr_array(with_value(np.nan)), "contains NaN"),
    "infinite": (with_value(np.inf), "contains infinity"),
    "one dimension": (np.ones(12), "Expected 2D array"),
    "three dimensions": (np.ones((3, 12, 2)), "Found array with dim 3"),
    "no rows": (np.ones((0, 12)), "0 sample"),
    "no rows sparse": (sp.csr_array((0, 12)), "0 sample"),
    "no columns": (np.ones((3, 0)), "0 feature"),
    "no columns sparse": (sp.csr_array((3, 0)), "0 feature"),
    "too many columns": (sp.csr_array(([1.0], [5], [0, 1]), shape=(1, 2**31)), "X has 2147483648 features"),
    "complex": (X.toarray() * 1j, "Complex data not supported"),
    "None": (None, "Expected 2D array|NoneType"),
    "other names": (frame(-np.ones((3, 5)), "b"), "Negative values in data|feature names should match"),
}


# One function validates the matrices of all estimators; each has to call it before it changes anything.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@every_step
def test_a_bad_matrix_is_refused_and_changes_nothing(estimator):
    fitted = make_model(estimator).fit(frame(X, "a"))
    before = state(fitted)
    some = ["negative sparse", "NaN sparse", "columns beyond its shape", "other names"]
    for counts, message in map(BAD_MATRICES.get, BAD_MATRICES if estimator is STEPS[0] else some):
        for method in methods_with_data(estimator):
            assert_raises((ValueError, TypeError), message, call, fitted, method, counts)
            if "fit" in method:
                model = make_model(estimator)
                assert_raises((ValueError, TypeError), message, call, model, method, counts)
                assert vars(model).keys() == model.get_params().keys()
        assert_same_state(state(fitted), before)


@every_step
def test_what_does_not_belong_to_a_model_is_refused_and_changes_nothing(estimator):
    """Reading before a fit, other columns, other names, and sizes of the corpus that are none."""
    model = make_model(estimator)
    readers = [method for method in methods_with_data(estimator) if "fit" not in method]
    for method in readers:
        assert_raises(NotFittedError, "not fitted yet", call, model, method, X)
    for attribute in ATTRIBUTES:
        if attribute in dir(type(estimator)):
            assert_raises(NotFittedError, "not fitted yet", getattr, model, attribute)
        assert not hasattr(model, attribute)
    assert_raises(NotFittedError, "", model.get_feature_names_out)
    for metric in METRICS:
        assert_raises(NotFittedError, "not fitted yet", metric, model, X)
    before = state(model.fit(frame(X, "a")))
    for method in (*readers, "partial_fit"):
        other = f"X has 7 features, but {type(model).__name__} is expecting 12 feat"
        assert_raises(ValueError, other, call, model, method, OTHER)
        assert_raises(ValueError, "feature names should match", call, model, method, frame(X, "b"))
    for size in (0, -1, 1e-13, 1e15, NAN, INF, 10**400, "all") if hasattr(model, "elbo") else ():
        assert_raises(ValueError, "total_samples", model.elbo, frame(X, "a"), total_samples=size)
    assert_same_state(state(model), before)


# Parameters that are refused


def is_number(x):
    return isinstance(x, Real) and not isinstance(x, bool)


ALLOWED = re.compile(r"must be |(is|are) allowed|needs a number|must be positive|at most")


@every_class
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(estimator):
    for name in estimator.get_params():
        for value, method in zip(bad_values(estimator, name), cycle(["fit", "partial_fit"])):
            # The shape or an entry of an array, or the size of a number, is what is wrong with it here.
            entries = np.asarray(value, object)
            shown = (
                str(value) if isinstance(value, str) else repr(value),
                f"shape {entries.shape}",
                *(f"has the value {float(str(x)):g}" for x in entries.flat if is_number(x)),
                "bits",
            )
            model = make_model(estimator, **{name: value})
            error, row = outcome(getattr(model, method), X)[1], f"{name}={value!r} of {method}: "
            assert isinstance(error, ValueError) and name in str(error), row + repr(error)
            assert any(some in str(error) for some in shown), row + repr(error)
            assert ALLOWED.search(str(error)), row + repr(error)
            assert vars(model).keys() == model.get_params().keys(), name


ATTRIBUTES = ["components_", "topic_word_counts_", "topic_word_posterior_"]
EDITORS = [
    lambda model: model.freeze_topics([0]),
    lambda model: model.merge_topics([[0, 1]]),
    lambda model: model.drop_topics([0]),
    lambda model: model.add_features(["another"]),
    lambda model: model.set_feature_names([f"v{i}" for i in range(12)]),
]


@pytest.mark.slow
@every_class
def test_a_parameter_made_bad_after_fit_is_named_or_not_needed(estimator):
    """Kernels trust what they are given; what does not need it answers as before. Nothing is changed."""
    fitted, some = make_model(estimator).fit(frame(X, "w")), frame(X[:4], "w")
    methods = [name for name in methods_with_data(estimator) if "fit" not in name]
    readers = {name: partial(call, method=name, X=some) for name in methods}
    readers |= {name: attrgetter(name) for name in ATTRIBUTES if hasattr(fitted, name)}
    editors = [edit for edit in EDITORS if outcome(edit, copy.deepcopy(fitted))[1] is None]
    expected = {name: fingerprint(read(fitted)) for name, read in readers.items()}
    before = state(fitted)
    for name, good in fitted.get_params().items():
        bad = bad_values(estimator, name)[::4]
        for value in bad:
            fitted.set_params(**{name: value})
            # Topics to start from are nothing to a model that has started; the type is checked all the same.
            reads = name != "components_init" or np.ndim(value) == 0
            for method in ("fit", "partial_fit") if reads else ("fit",):
                assert_raises(ValueError, name, getattr(fitted, method), some)
            for reader, read in readers.items():
                answer, error = outcome(read, fitted)
                if error is None:
                    assert fingerprint(answer) == expected[reader], (reader, name, value)
                else:
                    assert isinstance(error, ValueError) and name in str(error), (reader, name, value, error)
            for edit in editors if value is bad[0] else ():
                model = copy.deepcopy(fitted)
                error = outcome(edit, model)[1]
                if error is not None:
                    assert isinstance(error, ValueError) and name in str(error), (name, value, error)
                    assert_same_state(state(model.set_params(**{name: good})), before)
        assert_same_state(state(fitted.set_params(**{name: good})), before)


def test_parameters_that_were_found_valid_are_checked_again_when_they_change():
    model = OnlineEMLDA(n_components=4, doc_topic_prior=[0.1] * 4, max_iter=1, random_state=0).fit(X)
    model.transform(X)
    model.doc_topic_prior[2] = -1.0  # the same list
    assert_raises(ValueError, "doc_topic_prior", model.transform, X)
    model.set_params(doc_topic_prior=0.1).transform(X)
    model.transform_sweeps = 0
    assert_raises(ValueError, "transform_sweeps", model.transform, X)


@each([estimator for estimator in LOOPS if not is_unbounded(estimator)])
def test_n_components_may_not_change_between_partial_fits(estimator):
    model = make_model(estimator).partial_fit(X)
    before = model.components_
    message = "n_components=5 differs from the 3 topics in training"
    assert_raises(ValueError, message, model.set_params(n_components=5).partial_fit, X)
    assert_array_equal(model.components_, before)
    # Set back, training goes on; fit starts anew.
    expected = make_model(estimator).partial_fit(X).partial_fit(X).components_
    assert_array_equal(model.set_params(n_components=3).partial_fit(X).components_, expected)
    model.set_params(n_components=5).fit(X)
    assert has_topics(model, 5) and model.components_.shape == (model.n_components_, 12)


# Odd input that works


def check_finite(model, counts):
    """Topics, prior, proportions and score are numbers, and the distributions are some."""
    assert has_topics(model, model.n_components)
    for rows in (model.components_, model.transform(counts)):
        assert np.isfinite(rows).all() and rows.min() >= 0
        assert_allclose(rows.sum(axis=1), 1.0)
    assert np.isfinite(model.doc_topic_prior_).all() and (model.doc_topic_prior_ > 0).all()
    assert np.isfinite(model.score(counts))


def with_row(value):
    counts = X.toarray() + 1
    counts[3] = value
    return counts


ODD = {
    "one document": (X[[0]], {}),
    "fewer tokens than topics": (np.eye(3, 12), {"n_components": 40}),
    "tiny": (X.toarray() * 1e-12, {}),
    "fractions": (X.toarray() * 0.3, {}),
    "huge": (X.toarray() * 1e10, {}),
    "huge, with the smallest priors": (
        X.toarray() * 1e10,
        {"doc_topic_prior": 1e-12, "topic_word_prior": 1e-12},
    ),
    # A row beside which ordinary counts vanish in rounding, and sums of fractions that come and go
    "of very different sizes": (with_row(1e12), {"topic_word_prior": 1e-6, "max_iter": 8}),
    "fractions, with a tiny prior": (with_row(1) * 0.1, {"topic_word_prior": 1e-12, "max_iter": 20}),
}


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@every_variant
def test_odd_counts_are_learned(estimator, odd):
    counts, params = ODD[odd]
    check_finite(make_model(estimator, **params).fit(counts), counts)


@pytest.mark.slow
@every_variant
def test_parameters_at_their_bounds_stay_finite(estimator):
    names = estimator.get_params().keys() - {"n_components_prior"}
    if estimator.get_params().get("learning_method") == "memoized":
        names -= {"total_samples"}  # has to be None
    cases = [{name: value} for name in names for value in bounds_of(estimator, name)]
    both = having(estimator, topic_concentration=0, doc_concentration=0)
    cases += [dict(zip(both, ends)) for ends in zip(*(bounds_of(estimator, name) for name in both))]
    for params in cases:
        model = make_model(estimator, **params).fit(X[:10])
        check_finite(model.partial_fit(X[:10]), X[:10].toarray() + 0.5)


@every_variant
def test_documents_without_words_teach_nothing(estimator):
    """Nor do they disturb priors that are learned; training can go on with words."""
    zeros, settings = sp.csr_array((5, 12)), {"total_samples": 50}
    if getattr(estimator, "learning_method", None) == "memoized":
        settings = {}  # its corpus consists of the documents seen
    learned = [name for name in ("doc_topic_prior", "topic_word_prior") if allows(estimator, name, "auto")]
    for prior in ({}, *({name: "auto"} for name in learned)):
        model = make_model(estimator, **settings, **prior).fit(zeros)
        assert_allclose(model.components_.sum(axis=1), 1.0)
        assert has_topics(model, 3)
        # Sticks that were broken one after the other differ in expectation.
        is_even = (
            not isinstance(model, OnlineVariationalHDP)
            and np.ndim(model.get_params().get("doc_topic_prior")) == 0
        )
        mean = np.full(model.n_components_, 1 / model.n_components_) if is_even else model.topic_weights_
        assert_allclose(model.transform(zeros), mean * np.ones((5, 1)))
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(model.score(zeros))
        check_finite(model.partial_fit(zeros[:2]).partial_fit(X).partial_fit(zeros[:2]), X)
    # Where the prior of topics is learned, it goes on from the counts.
    model = make_model(estimator, **settings, topic_word_prior=0.1).partial_fit(X)
    before = model.components_
    assert_array_equal(model.partial_fit(zeros).components_, before)
    given = having(estimator, doc_topic_prior=np.array([0.1, 0.2, 0.7]))
    model = make_model(estimator, **given).fit(sp.vstack([zeros, X]))
    prior = model.doc_topic_prior_ if not given else given["doc_topic_prior"][: model.n_components_]
    assert_allclose(model.transform(zeros), prior / prior.sum() * np.ones((5, 1)), rtol=1e-12)


@every_variant
def test_one_topic_one_word_and_one_token_are_all(estimator):
    if not is_unbounded(estimator):
        model = make_model(estimator, n_components=1).fit(X)
        assert_array_equal(model.transform(X), np.ones((30, 1)))
    counts = X[:, [0]].toarray() + 1
    model = make_model(estimator).fit(counts)
    assert_array_equal(model.components_, np.ones((model.n_components_, 1)))
    assert model.score(counts) == pytest.approx(0.0, abs=1e-12)
    model = make_model(estimator).fit([[0, 1, 0]])
    assert np.isfinite(model.score([[0, 1, 0], [0, 0, 1]]))
    # A chain that starts at the prior and moves by small steps needs long. A learned prior may be large.
    if not isinstance(estimator, LangevinLDA):
        assert model.components_[:, 1].max() > model.components_[:, [0, 2]].max()


@each([estimator for estimator in LOOPS if having(estimator, early_stopping=True)])
def test_early_stopping_on_two_documents_or_on_one_that_says_why_not(estimator):
    assert np.isfinite(make_model(estimator, early_stopping=True).fit(X[:2]).validation_scores_).all()
    with pytest.raises(ValueError, match=r"early_stopping|validation_fraction"):
        make_model(estimator, early_stopping=True).fit(X[[0]])


@every_kernel
def test_a_huge_count_is_cheap(estimator):
    """A billion tokens in one cell, in training, transform and score: under a second of work and 20 MB."""
    counts = with_value(1e9)
    tracemalloc.start()
    start = time.process_time()
    model = make_model(estimator).fit(counts)
    check_finite(model, counts)
    elapsed, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert elapsed < 1.0
    assert peak < 20e6
    assert model.components_[:, 2].max() > 0.9


@pytest.mark.slow
@every_kernel
def test_a_thousand_topics_on_fifty_documents(estimator):
    counts = make_lda_documents(50, n_features=100, mean_length=30, random_state=0).data
    # Each token of the triangular model costs the square of the number of topics.
    few = isinstance(estimator, TriangularDirichletLDA)
    model = make_model(estimator, n_components=200 if few else 1000).fit(counts)
    check_finite(model, counts)
    if isinstance(estimator, OnlineEMLDA):  # which keeps some of the noise it starts from
        assert len(np.unique(model.components_, axis=0)) == 1000


@each(variants(is_unsmoothed))
def test_without_smoothing_words_may_be_unseen_and_topics_empty(estimator):
    """Unseen words get no probability: -inf in score, never NaN or a warning. With steps of one, topics that
    explain nothing in a batch lose their words."""
    counts = X.toarray()
    counts[:, 7] = 0
    settings = {"topic_word_prior": 0.0, "learning_offset": 0.0, "batch_size": 30, "max_iter": 1}
    model = make_model(estimator, **settings).fit(counts)
    assert_array_equal(model.components_[:, 7], 0.0)
    check_finite(model, counts)
    unseen = np.eye(1, 12, 7) * 10
    assert_allclose(model.transform(unseen).sum(axis=1), 1.0)
    assert model.score(unseen) == -np.inf
    assert model.perplexity(unseen) == np.inf
    # Training goes on from there, and gives the word a topic.
    check_finite(model.partial_fit(unseen), unseen)
    settings |= {"learning_decay": 0.0, "batch_size": 5, "max_iter": 3, "n_components": 60}
    check_finite(make_model(estimator, **settings).fit(X), X)


# Metrics

WRONG_TOPICS = [
    (np.where(np.eye(3, 12), -0.1, 0.1), "Negative values in data passed to model_or_components"),
    (np.full((3, 12), np.nan), "model_or_components contains NaN"),
    (np.ones((3, 12)) * [[1], [0], [1]], "model_or_components has only zeros in row 1"),
    (
        np.ones((3, 12)) * [[1], [1.7e308], [1]],
        "model_or_components has numbers in row 1 whose sum is infinite",
    ),
    (np.ones((3, 7)), "X has 12 features, but the topics have 7 words"),
    (np.ones(12), r"model_or_components has shape \(12,\); must be an array of shape"),
    (np.ones((2, 3, 12)), r"model_or_components has shape \(2, 3, 12\); must be an array of shape"),
    ([["moon", "orbit"], ["goal"]], "has 'moon' in place of a number"),
    (np.array([["moon", "orbit"]]), "has 'moon' in place of a number"),
    ([], r"model_or_components has shape \(0,\)"),
    ([[1.0, 2.0], [1.0]], "model_or_components has rows of different lengths"),
    ([[1.0, 2.0], ["3", "4"]], "model_or_components has .* entries that are no real numbers"),
]


def test_metrics_refuse_wrong_topics_priors_and_documents():
    fitted, topics = make_model().fit(X), np.ones((3, 12))
    wrong_priors = [0.0, -1.0, NAN, True, "auto", None]
    wrong_priors += [0.1, 0.1], [0.1, 0.0, 0.1], [True] * 3, [True, "b", "c"], np.full(3, True, dtype=object)
    wrong_priors += (np.ma.array([0.1] * 3, mask=[0, 1, 0]),)
    for metric in METRICS:
        for components, message in WRONG_TOPICS:
            assert_raises((ValueError, TypeError), message, metric, components, X, doc_topic_prior=0.1)
        assert_raises(ValueError, "X has 7 features, but the topics have 12 words", metric, fitted, OTHER)
        assert_raises(ValueError, "X is an iterator.*: stack the rows. Blocks", metric, fitted, iter([X]))
        for prior in wrong_priors:
            assert_raises(ValueError, "doc_topic_prior", metric, topics, X, doc_topic_prior=prior)
        for counts, message in BAD_MATRICES.values():
            assert_raises((ValueError, TypeError), message, metric, topics, counts, doc_topic_prior=0.1)


BAD_OPTIONS = [
    (document_completion, "hidden_fraction", [0.0, 1.0, -0.1, NAN, "0.2"]),
    (document_completion, "n_repeats", [0, 1.5]),
    (document_completion, "burn_in", [-1, 1.5]),
    (document_completion, "sweeps", [0, 1.5]),
    (document_completion, "n_jobs", [1.5, "all", 0]),
    (left_to_right, "estimator", ["chib", None]),
    (left_to_right, "n_particles", [0, 1.5]),
    (left_to_right, "n_resampling", [0, 1.5]),
    (left_to_right, "random_state", [-1, "seed", 1.5]),
    (left_to_right, "per_document", ["yes"]),
    (left_to_right, "n_jobs", [1.5, "all", 0]),
    (left_to_right, "hidden_fraction", [0.0, 1.0, -0.1, NAN, "0.2"]),
    (left_to_right, "burn_in", [-1, 1.5]),
    (left_to_right, "return_standard_error", ["yes"]),
    (posterior_predictive_check, "n_replications", [0, 1.5, 2**70]),
    (posterior_predictive_check, "n_words", [0, 1.5]),
    (posterior_predictive_check, "burn_in", [-1, 1.5]),
    (posterior_predictive_check, "random_state", [-1, "seed", 1.5]),
    (posterior_predictive_check, "groups", [[1, 2], [[1]] * 30, [1, "a", None] * 10]),
    (posterior_predictive_check, "n_jobs", [1.5, "all", 0]),
]


@pytest.mark.parametrize("skip", [False, True])
def test_metrics_name_a_bad_option(skip):
    """Also if scikit-learn is told to skip its checks, because kernels would write outside their arrays."""
    for metric, option, values in BAD_OPTIONS:
        for value in values:
            given = {"doc_topic_prior": 0.1, option: value}
            with config_context(skip_parameter_validation=skip):
                assert_raises(ValueError, option, metric, np.ones((3, 12)), X, **given)


# Numbers beyond what kernels and floats hold


@pytest.mark.usefixtures("plt")
def test_every_function_and_method_refuses_numbers_that_are_no_counts(tmp_path, monkeypatch):
    """With documents of the number that other arguments of functions are for."""
    monkeypatch.chdir(tmp_path)
    model = make_model(n_components=4).fit(X)
    before = state(model)
    numbers = [(value, sp.csr_array) for value in (-1, NAN, 5e-324, 1e-13, 1.1e12, 1e300)]
    numbers += [(5e-324, sp.coo_matrix), (1.1e12, np.asarray), (10**400, np.asarray)]
    for value, kind in numbers:
        counts, message = kind(with_value(value)), "X"
        if value > 0:
            found = "n integer that no float can hold" if value == 10**400 else f" count of {value:g}"
            message = re.escape(f"X has a{found}; a count must be 0, or between 1e-12 and 1e+12. Set s")
        for function in functions_with_data():
            assert_raises((ValueError, TypeError), r"\bX\b", call_function, function, model, counts)
        for method in methods_with_data(model):
            assert_raises(ValueError, message, call, model, method, counts)
        assert_raises(ValueError, message, make_model().fit, [X, counts])
    assert_same_state(state(model), before)
    assert not list(tmp_path.iterdir())


def test_entries_below_the_range_may_add_up_to_a_count_in_it():
    """The count of a word is the sum of its entries."""
    parts, whole = (
        sp.csr_array((np.full(8, 0.25 * value), np.arange(8) // 4, [0, 8])) for value in (1e-12, 1e12)
    )
    model = make_model().fit(sp.csr_array((1, 2)) + np.ones((1, 2)))
    for X in (parts, whole):
        assert_array_equal(model.transform(X), model.transform(X.toarray()))
        with pytest.raises(ValueError, match=r"X has a count of (9e-13|1\.1e\+12)"):
            model.transform(X * (0.9 if X is parts else 1.1))
    assert_array_equal(model.transform(np.float32([[1e-12, 1e12]])).sum(), 1.0)


def test_averaging_cannot_be_switched_during_training():
    model = make_model().partial_fit(X).set_params(average=True)
    assert_raises(ValueError, "average=True", model.partial_fit, X)


def test_numbers_that_numpy_does_not_calculate_with_are_refused():
    for settings in (
        {"learning_decay": Fraction(3, 5)},
        {"max_iter": np.timedelta64(2, "s")},
        {"topic_word_prior": np.float16(np.inf)},
    ):
        (name,) = settings
        assert_raises(
            ValueError, f"'{name}' parameter of OnlineEMLDA must be", OnlineEMLDA(**settings).fit, [[1, 2]]
        )
