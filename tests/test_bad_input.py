"""Input that has to be refused, with a message that helps, and odd input that has to work."""

import copy
import re
import time
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning

from sktopic.datasets import make_lda_documents
from sktopic.hdp import (
    CollapsedGibbsHDP,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMHDP,
    OnlineVariationalHDP,
    TruncationFreeHDP,
    _collapsed_method,
)
from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
)
from sktopic.metrics import document_completion, left_to_right, perplexity, relative_score
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA
from sktopic.seeding import document_components

from .conftest import assert_same_state, state
from .hostile.tools import outcome

X = make_lda_documents(30, n_features=12, n_components=3, mean_length=15, random_state=0).data.astype(float)
OTHER = make_lda_documents(20, n_features=7, n_components=3, mean_length=15, random_state=1).data
FILTERS = [MomentMatchingLDA, DegenerateDirichletLDA, TriangularDirichletLDA]
ESTIMATORS = [
    CollapsedGibbsHDP,
    CollapsedGibbsLDA,
    DirectAssignmentHDP,
    HybridHDP,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMHDP,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalHDP,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
    TruncationFreeHDP,
    *FILTERS,
]
# The prior of topic proportions follows from concentrations, and the weights of topics, which are learned.
HIERARCHICAL = (
    CollapsedGibbsHDP,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMHDP,
    OnlineVariationalHDP,
    TruncationFreeHDP,
)
# Least and largest concentrations that are allowed.
CONCENTRATIONS = {
    **dict.fromkeys(HIERARCHICAL, (1e-12, 1e12)),
    OnlineVariationalHDP: (1e-6, 1e6),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
VARIANTS = {
    "gibbs": {"inference": "gibbs"},
    "gibbs boosted": {"inference": "gibbs", "boost": True},
    "variational": {"inference": "variational"},
    "variational boosted": {"inference": "variational", "boost": True},
    "online variational": {"estimator": OnlineVariationalLDA},
    "batch variational": {"estimator": OnlineVariationalLDA, "learning_method": "batch"},
    "variational, all learned": {
        "estimator": OnlineVariationalLDA,
        "topic_word_prior": "auto",
        "doc_topic_prior": "auto",
        "prior_update": "gradient",
    },
    "streaming variational": {"estimator": StreamingVariationalLDA},
    "single pass": {"estimator": SinglePassLDA},
    "hybrid": {"estimator": HybridLDA},
    "streaming Gibbs": {"estimator": StreamingGibbsLDA},
    "Langevin": {"estimator": LangevinLDA},
    "OPE": {"estimator": OnlineOPELDA},
    "OPE with a prior above one": {"estimator": OnlineOPELDA, "bernoulli_p": 0.3, "doc_topic_prior": 1.5},
    "CVB0": {"estimator": OnlineCVB0LDA},
    "collapsed Gibbs": {"estimator": CollapsedGibbsLDA, "n_draws": 1},
    "collapsed Gibbs in shards": {"estimator": CollapsedGibbsLDA, "n_shards": 3, "thinning": 1},
    "collapsed Gibbs, all learned": {
        "estimator": CollapsedGibbsLDA,
        "topic_word_prior": "auto",
        "doc_topic_prior": "auto",
        "prior_interval": 1,
    },
    "moment matching": {"estimator": MomentMatchingLDA},
    "moment matching, words in order": {
        "estimator": MomentMatchingLDA,
        "second_moment": "first",
        "shuffle": None,
        "doc_topic_prior": "auto",
    },
    "degenerate": {"estimator": DegenerateDirichletLDA},
    "degenerate, as published": {
        "estimator": DegenerateDirichletLDA,
        "n_components_prior": "exponential",
        "second_moment": "first",
        "shuffle": "corpus",
    },
    "degenerate, prior learned": {"estimator": DegenerateDirichletLDA, "doc_topic_prior": "auto"},
    "triangular": {"estimator": TriangularDirichletLDA},
    "triangular, document by document": {
        "estimator": TriangularDirichletLDA,
        "n_components_prior": "exponential",
        "second_moment": "first",
        "shuffle": "document",
        "doc_topic_prior": "auto-symmetric",
    },
    "direct assignment": {"estimator": DirectAssignmentHDP},
    "direct assignment, batch": {
        "estimator": DirectAssignmentHDP,
        "learning_method": "batch",
        "topic_word_prior": "auto",
    },
    "direct assignment, no moves": {"estimator": DirectAssignmentHDP, "split_merge": False},
    "online EM for the HDP": {"estimator": OnlineEMHDP},
    "truncation-free": {"estimator": TruncationFreeHDP},
    "hybrid HDP": {"estimator": HybridHDP},
    "hybrid HDP, table indicators, dying": {
        "estimator": HybridHDP,
        "sampler": "table_indicator",
        "reuse_topics": False,
    },
    "hybrid HDP, as published": {
        "estimator": HybridHDP,
        "sampler": "sparse_table_indicator",
        "root_weight": "paper",
        "topic_concentration": 1.0,
        "doc_concentration": 1.0,
    },
    "collapsed Gibbs HDP": {"estimator": CollapsedGibbsHDP},
    "collapsed Gibbs HDP, direct": {"estimator": CollapsedGibbsHDP, "sampler": "direct_assignment"},
    "collapsed Gibbs HDP, sparse": {"estimator": CollapsedGibbsHDP, "sampler": "sparse_table_indicator"},
    "online variational HDP": {"estimator": OnlineVariationalHDP},
    "online variational HDP, one atom": {"estimator": OnlineVariationalHDP, "doc_n_components": 1},
}
# n_components is the largest number of topics.
NUMBER_INFERRED = (DegenerateDirichletLDA, HybridHDP, OnlineVariationalHDP, TriangularDirichletLDA)
# It is the number at the start.
UNBOUNDED = (CollapsedGibbsHDP, DirectAssignmentHDP, OnlineEMHDP, TruncationFreeHDP)
every_bounded = pytest.mark.parametrize(
    "estimator", [cls for cls in ESTIMATORS if cls not in UNBOUNDED], ids=lambda cls: cls.__name__
)


def has_topics(model, n_components):
    """Whether it has so many topics, or no more where it infers the number up to a bound."""
    if isinstance(model, UNBOUNDED):
        return model.n_components_ >= 1
    if isinstance(model, NUMBER_INFERRED):
        return 1 <= model.n_components_ <= n_components
    return model.n_components_ == n_components


def of_variants(wanted):
    """Parametrize with the variants whose estimator is wanted."""
    names = [name for name, variant in VARIANTS.items() if wanted(variant.get("estimator", OnlineEMLDA))]
    return pytest.mark.parametrize("variant", [VARIANTS[name] for name in names], ids=names)


every_variant = of_variants(lambda estimator: True)
every_em_variant = of_variants(lambda estimator: estimator is OnlineEMLDA)
# Topics are a point estimate, to which a pseudo-count may be added or not; others have a Dirichlet prior.
UNSMOOTHED = (
    HybridHDP,
    OnlineCVB0LDA,
    OnlineEMHDP,
    OnlineEMLDA,
    OnlineOPELDA,
    SinglePassLDA,
    StreamingGibbsLDA,
)
FIXED_PRIOR = (OnlineCVB0LDA, OnlineOPELDA)
every_learner = of_variants(lambda estimator: estimator not in FIXED_PRIOR + HIERARCHICAL)
every_hierarchical_variant = of_variants(lambda estimator: estimator in HIERARCHICAL)
CONCENTRATION_LEARNERS = (CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP)
every_concentration_learner = of_variants(lambda estimator: estimator in CONCENTRATION_LEARNERS)
every_unsmoothed_variant = of_variants(lambda estimator: estimator in UNSMOOTHED)
every_bayesian = pytest.mark.parametrize(
    "estimator", [cls for cls in ESTIMATORS if cls not in UNSMOOTHED], ids=lambda cls: cls.__name__
)
# A chain that starts at the prior and moves by small steps needs long to learn anything.
every_quick_variant = of_variants(lambda estimator: estimator is not LangevinLDA)
METRICS = [document_completion, left_to_right, perplexity, relative_score]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


SETTINGS = {
    "n_components": 3,
    "max_iter": 2,
    "batch_size": 8,
    "random_state": 0,
    "max_doc_update_iter": 20,
    "learning_offset": 1.0,
}


@pytest.fixture(autouse=True)
def all_words_are_common(monkeypatch):
    """Alias tables pay where a word is in many documents; here they are to be used all the same."""
    monkeypatch.setattr(_collapsed_method, "COMMON", 1)


def having(estimator, **params):
    """Those of the parameters that the estimator has."""
    known = estimator().get_params()
    return {name: value for name, value in params.items() if name in known}


def make_model(estimator=OnlineEMLDA, **params):
    return estimator(**{**having(estimator, **SETTINGS), **params})


def with_value(value):
    counts = X.toarray()
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
    "negative": (with_value(-1), "Negative values in data"),
    "negative sparse": (sp.csr_array(with_value(-1)), "Negative values in data"),
    "NaN": (with_value(np.nan), "X contains NaN; .* expects counts of words"),
    "NaN sparse": (sp.csr_array(with_value(np.nan)), "contains NaN"),
    "infinite": (with_value(np.inf), "contains infinity"),
    "infinite sparse": (sp.csr_array(with_value(np.inf)), "contains infinity"),
    "strings": (np.full((3, 12), "word"), "X has words; .* expects counts"),
    "text": (["a b c", "a c"], "X has texts; .* expects counts"),
    "one dimension": (np.ones(12), "Expected 2D array"),
    "three dimensions": (np.ones((3, 12, 2)), "Found array with dim 3"),
    "no rows": (np.ones((0, 12)), "0 sample"),
    "no rows sparse": (sp.csr_array((0, 12)), "0 sample"),
    "no columns": (np.ones((3, 0)), "0 feature"),
    "no columns sparse": (sp.csr_array((3, 0)), "0 feature"),
    "too many columns": (sp.csr_array(([1.0], [5], [0, 1]), shape=(1, 2**31)), "X has 2147483648 features"),
    "complex": (X.toarray() * 1j, "Complex data not supported"),
    "None": (None, "Expected 2D array|NoneType"),
}


# One function validates the matrices of all estimators; each has to call it before it changes anything.
every_bad_matrix = pytest.mark.parametrize(
    ("estimator", "kinds"),
    [
        *(pytest.param(OnlineEMLDA, [kind], id=kind) for kind in BAD_MATRICES),
        *(
            pytest.param(cls, ["negative sparse", "NaN", "columns beyond its shape"], id=cls.__name__)
            for cls in ESTIMATORS
        ),
    ],
)


@every_bad_matrix
def test_training_refuses_a_bad_matrix(estimator, kinds):
    for counts, message in (BAD_MATRICES[kind] for kind in kinds):
        for method in ("fit", "partial_fit", "fit_transform"):
            model = make_model(estimator)
            with pytest.raises((ValueError, TypeError), match=message):
                getattr(model, method)(counts)
            with pytest.raises(NotFittedError):
                model.transform(X)
            assert not hasattr(model, "n_features_in_")


def methods_of_fitted(model):
    """The methods that answer with the fitted topics, or go on from them."""
    names = ("transform", "predict_mixture", "score", "perplexity", "partial_fit", "elbo")
    return [name for name in names if hasattr(model, name)]


@every_bad_matrix
def test_a_fitted_model_refuses_a_bad_matrix(estimator, kinds):
    model = make_model(estimator).fit(X)
    before = state(model)
    for counts, message in (BAD_MATRICES[kind] for kind in kinds):
        for method in (*methods_of_fitted(model), "fit"):
            with pytest.raises((ValueError, TypeError), match=message):
                getattr(model, method)(counts)
            assert_same_state(state(model), before)


@every_estimator
def test_another_number_of_columns_is_refused(estimator):
    model = make_model(estimator).fit(X)
    before = state(model)
    expected = f"X has 7 features, but {estimator.__name__} is expecting 12 features"
    for method in methods_of_fitted(model):
        with pytest.raises(ValueError, match=expected):
            getattr(model, method)(OTHER)
        assert_same_state(state(model), before)


@every_estimator
def test_other_column_names_are_refused(estimator):
    pd = pytest.importorskip("pandas")
    model = make_model(estimator).fit(pd.DataFrame(X.toarray(), columns=[f"a{i}" for i in range(12)]))
    for method in methods_of_fitted(model):
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, method)(pd.DataFrame(X.toarray(), columns=[f"b{i}" for i in range(12)]))


@every_estimator
def test_unfitted_model_refuses_to_answer(estimator):
    for method in set(methods_of_fitted(estimator())) - {"partial_fit"}:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(make_model(estimator), method)(X)


@every_estimator
def test_unfitted_model_has_no_topics(estimator):
    model = make_model(estimator)
    for attribute in ("components_", "topic_word_counts_", "topic_word_posterior_"):
        if attribute in dir(estimator):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(model, attribute)
        assert not hasattr(model, attribute)


def test_unfitted_model_has_no_names():
    with pytest.raises(NotFittedError):
        make_model().get_feature_names_out()


@every_metric
def test_metrics_refuse_an_unfitted_model(metric):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        metric(make_model(), X)


# Parameters that are refused

NAN, INF = float("nan"), float("inf")
BAD_PARAMETERS = {
    "n_components": [0, -1, 2.5, "3", None, [3]],
    "doc_n_components": [0, -1, 2.5, "3", None, [3]],
    "sampler": ["gibbs", None, 1],
    "root_weight": ["median", None, 1],
    "topic_concentration": [0, 0.0, -1.0, NAN, INF, None, "automatic", [1.0]],
    "doc_concentration": [0, 0.0, -1.0, NAN, INF, None, "automatic", [1.0]],
    "topic_concentration_prior": [
        None,
        1.0,
        "gamma",
        (),
        (1.0,),
        (1.0, 1.0, 1.0),
        (0.0, 1.0),
        (1.0, NAN),
        ("a", "b"),
    ],
    "doc_concentration_prior": [
        None,
        1.0,
        "gamma",
        (),
        (1.0,),
        (1.0, 1.0, 1.0),
        (0.0, 1.0),
        (INF, 1.0),
        ("a", "b"),
    ],
    "reuse_topics": [2, None, "yes"],
    "split_merge": [2, None, "all"],
    "move_acceptance": ["all", None, 1],
    "final_moves": [2, None, "all"],
    "n_proposals": [0, -1, 1.5, None, 1001],
    "max_births": [-1, 1.5, "all", 1001],
    "min_birth_tokens": [-1, None, "all", np.nan],
    "max_splits": [-1, 1.5, None, "all"],
    "document_start": ["hot", 1, True],
    "topic_expectation": ["median", None, 1],
    "n_components_prior": [
        "geometric",
        -0.1,
        1000.1,
        NAN,
        [0.5, 0.5],
        [0.25] * 4,
        [[0.2, 0.3, 0.5]],
        [0.0, 0.0, 0.0],
        [0.5, -0.1, 0.6],
        [0.5, NAN, 0.5],
        [0.5, INF, 0.5],
        ["a", "b", "c"],
        ["1", "1", "1"],
        [1.0 + 1j] * 3,
        [10**400, 1.0, 1.0],
        [[1.0], 2.0, 3.0],
    ],
    "second_moment": ["third", None, 1],
    "inference": ["mcmc", None, 1],
    "learning_method": ["stochastic", None, 1],
    "boost": [2, None, "yes"],
    "doc_topic_prior": [0, -0.5, 0.0, NAN, INF, "automatic", "", ["1"] * 3, [1.0 + 1j] * 3, [10**400] * 3]
    + [np.array([np.complex64(1j)] * 3, dtype=object), np.full(3, np.finfo(np.longdouble).max)],
    "prior_update": ["newton", None, 1],
    "prior_shape": [0, -1.0, NAN, INF, None, "1"],
    "prior_rate": [-1.0, NAN, INF, None, "1"],
    "topic_word_prior": [-0.01, NAN, INF, "symmetric", [0.1] * 12],
    "components_init": [
        1,
        "random",
        [0.1] * 12,
        [[0.1] * 11] * 3,
        [[0.1] * 12] * 13,
        [[1j] * 12] * 3,
        [["1"] * 12] * 3,
        np.full((3, 12), "1", dtype=object),
    ],
    "learning_decay": [-0.1, 1.1, NAN, "0.7"],
    "learning_offset": [-1, NAN, INF, None, "1"],
    "learning_rate": [0, -1, NAN, INF, None, "1"],
    "bernoulli_p": [0, 0.0, 1, 1.0, -0.1, 1.5, NAN, None, "0.5"],
    "doc_learning_decay": [-0.1, 1.1, NAN, None, "0.7"],
    "doc_learning_offset": [-1, NAN, INF, None, "1"],
    "decay": [0, 0.0, -0.1, 1.1, NAN, None, "0.7"],
    "average": [2, None, "yes"],
    "max_iter": [0, -1, 1.5, None, "5"],
    "n_draws": [0, -1, 1.5, None, "all"],
    "thinning": [0, -1, 1.5, None],
    "prior_interval": [0, -1, 1.5, None],
    "evaluate_every": [-1, 1.5, None],
    "n_shards": [0, -1, 1.5, None, "all"],
    "batch_size": [0, -1, 1.5, None, "all"],
    "total_samples": [0, -1, NAN, INF, "all"],
    "shuffle": [2, "yes", "documents"],
    "doc_burn_in": [-1, 1.5, None],
    "doc_sweeps": [0, -1, 1.5, None],
    "transform_burn_in": [-1, 1.5, None],
    "transform_sweeps": [0, -1, 1.5, None],
    "max_doc_update_iter": [0, -1, 1.5, None],
    "mean_change_tol": [-1e-3, NAN, None, "small"],
    "bound_tol": [-1e-3, NAN, INF, None, "small"],
    "early_stopping": [2, None, "yes"],
    "validation_fraction": [0, 0.0, 1, 1.0, -0.1, NAN, None],
    "n_iter_no_change": [0, -1, 1.5, None],
    "tol": [-1e-3, NAN, None],
    "n_jobs": [0, 1.5, "all"],
    "random_state": [-1, 1.5, "seed", np.random.default_rng(0)],
    "verbose": [-1, None, "yes"],
}
# What is right for one method and wrong for another.
MORE_BAD_PARAMETERS = {
    (CollapsedGibbsHDP, "sampler"): ["collapsed", "sparse", "dense"],
    (HybridHDP, "sampler"): ["direct_assignment", "sparse", "dense"],
    (CollapsedGibbsHDP, "topic_word_prior"): [0, 0.0, "auto"],
    (CollapsedGibbsLDA, "topic_word_prior"): [0, 0.0, "auto-symmetric"],
    (DirectAssignmentHDP, "document_start"): ["warm", "better"],
    (DirectAssignmentHDP, "topic_word_prior"): [0, 0.0, 1e-13, 1e13],
    (OnlineEMHDP, "doc_concentration"): ["auto"],
    (OnlineEMHDP, "topic_concentration"): ["auto"],
    (OnlineEMHDP, "topic_word_prior"): ["auto"],
    (TruncationFreeHDP, "doc_concentration"): ["auto"],
    (TruncationFreeHDP, "topic_concentration"): ["auto"],
    (TruncationFreeHDP, "topic_word_prior"): [0, 0.0, "auto", 1e-13, 1e13],
    (HybridHDP, "topic_word_prior"): ["auto"],
    (HybridLDA, "topic_word_prior"): [0, "auto"],
    (LangevinLDA, "topic_word_prior"): [0, 0.0, "auto"],
    (OnlineCVB0LDA, "doc_topic_prior"): ["auto", "auto-symmetric"],
    (OnlineCVB0LDA, "topic_word_prior"): ["auto"],
    (OnlineOPELDA, "doc_topic_prior"): ["auto", "auto-symmetric"],
    (OnlineOPELDA, "topic_word_prior"): ["auto"],
    (OnlineEMLDA, "topic_word_prior"): ["auto"],
    (OnlineEMLDA, "prior_update"): ["gradient"],
    (OnlineVariationalHDP, "doc_concentration"): ["auto", 1e-7, 1e7],
    (OnlineVariationalHDP, "topic_concentration"): ["auto", 1e-7, 1e7],
    (OnlineVariationalHDP, "topic_word_prior"): [0, 0.0, "auto"],
    (OnlineVariationalLDA, "topic_word_prior"): [0, 0.0, "auto-symmetric"],
    (OnlineVariationalLDA, "prior_update"): ["gamma"],
    (SinglePassLDA, "topic_word_prior"): ["auto"],
    (StreamingGibbsLDA, "topic_word_prior"): ["auto"],
    (StreamingVariationalLDA, "topic_word_prior"): [0, "auto"],
    (StreamingVariationalLDA, "prior_update"): ["gamma"],
    **{(estimator, "topic_word_prior"): [0, 0.0, "auto"] for estimator in FILTERS},
    **{(estimator, "learning_decay"): [None] for estimator in ESTIMATORS if estimator is not OnlineEMLDA},
    **{
        (estimator, "shuffle"): [True, False] if estimator in FILTERS else [None, "document"]
        for estimator in ESTIMATORS
    },
}
ALLOWED = re.compile(r"must be |(is|are) allowed|needs a number|must be positive|every entry must")


def bad_values(estimator, name):
    return BAD_PARAMETERS[name] + MORE_BAD_PARAMETERS.get((estimator, name), [])


@every_estimator
def test_every_parameter_is_in_the_table(estimator):
    missing = estimator().get_params().keys() - BAD_PARAMETERS.keys()
    assert not missing, f"add bad values of {missing} to BAD_PARAMETERS"


def test_table_has_no_parameter_that_no_estimator_has():
    assert BAD_PARAMETERS.keys() == {name for estimator in ESTIMATORS for name in estimator().get_params()}


@every_estimator
def test_message_names_the_bad_parameter_its_value_and_what_is_allowed(estimator):
    for name in having(estimator, **BAD_PARAMETERS):
        for value in bad_values(estimator, name):
            # The shape of an array is what is wrong with it here.
            shown = {
                str(value) if isinstance(value, str) else repr(value),
                f"shape {np.asarray(value, dtype=object).shape}",
            }
            for method in ("fit", "partial_fit"):
                model = make_model(estimator, **{name: value})
                with pytest.raises(ValueError, match=name) as caught:
                    getattr(model, method)(X)
                assert any(some in str(caught.value) for some in shown), caught.value
                assert ALLOWED.search(str(caught.value)), caught.value
                assert vars(model).keys() == model.get_params().keys(), name


@every_estimator
def test_bad_parameter_leaves_an_earlier_fit_intact(estimator):
    model = make_model(estimator).fit(X)
    before = state(model)
    for name in having(estimator, **BAD_PARAMETERS):
        good = model.get_params()[name]
        for value in bad_values(estimator, name)[::3]:
            # Topics to start from are nothing to a model that has started; the type is checked all the same.
            reads = name != "components_init" or np.ndim(value) == 0
            for method in ("fit", "partial_fit") if reads else ("fit",):
                with pytest.raises(ValueError, match=name):
                    getattr(model.set_params(**{name: value}), method)(X)
                assert_same_state(state(model.set_params(**{name: good})), before)


USED_BY_TRANSFORM = dict.fromkeys(
    [
        "transform_burn_in",
        "transform_sweeps",
        "max_doc_update_iter",
        "mean_change_tol",
        "bound_tol",
        "doc_n_components",
        "topic_concentration",
        "doc_concentration",
        "inference",
        "second_moment",
        "shuffle",
        "n_components_prior",
        "n_jobs",
    ]
)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_parameter_made_bad_after_fit_is_refused(variant):
    """Kernels trust what they are given, so what changed since fit has to be looked at again."""
    model = make_model(**variant).fit(X)
    for name in having(type(model), **USED_BY_TRANSFORM):
        good = model.get_params()[name]
        for value in bad_values(type(model), name):
            model.set_params(**{name: value})
            for method in methods_of_fitted(model):
                with pytest.raises(ValueError, match=name):
                    getattr(model, method)(X)
        model.set_params(**{name: good})


READ_FROM_A_FIT = {
    "components_": lambda model: model.components_,
    "topic_word_counts_": lambda model: getattr(model, "topic_word_counts_", None),
    "topic_word_posterior_": lambda model: getattr(model, "topic_word_posterior_", None),
    "freeze_topics": lambda model: model.freeze_topics([0]) if hasattr(model, "freeze_topics") else None,
    "merge_topics": lambda model: model.merge_topics([[0, 1]]) if hasattr(model, "merge_topics") else None,
    "drop_topics": lambda model: model.drop_topics([0]) if hasattr(model, "drop_topics") else None,
    "add_features": lambda model: model.add_features(["another"]),
    "set_feature_names": lambda model: model.set_feature_names([f"v{i}" for i in range(X.shape[1])]),
}


@every_estimator
@pytest.mark.parametrize("reading", READ_FROM_A_FIT.values(), ids=READ_FROM_A_FIT)
def test_a_bad_parameter_does_not_hide_what_a_fit_has_found(estimator, reading):
    """What does not need it answers; what does names it, and changes nothing."""
    names = np.array([f"w{i}" for i in range(X.shape[1])], dtype=object)
    fitted = make_model(estimator).fit(pd.DataFrame(X.toarray(), columns=names))
    before = state(fitted)
    for name, good in fitted.get_params().items():
        for value in (None, "no such value", -1, float("nan"), object()):
            model = copy.deepcopy(fitted).set_params(**{name: value})
            error = outcome(reading, model)[1]
            if error is not None:
                assert isinstance(error, ValueError) and name in str(error), (name, value)
                assert_same_state(state(model.set_params(**{name: good})), before)


def test_parameters_that_were_found_valid_are_checked_again_when_they_change():
    model = OnlineEMLDA(n_components=4, doc_topic_prior=0.1, max_iter=1, random_state=0).fit(X)
    for sweeps in (6, 0, 3, True, 6):
        model.transform_sweeps = sweeps
        if sweeps in (3, 6):
            model.transform(X)
        else:
            with pytest.raises(ValueError, match="transform_sweeps"):
                model.transform(X)
    model.doc_topic_prior = [0.1, 0.1, 0.1, 0.1]
    model.transform(X)
    model.doc_topic_prior[2] = -1.0  # the same list
    with pytest.raises(ValueError, match="doc_topic_prior"):
        model.transform(X)


@every_bayesian
def test_dirichlet_prior_of_topics_made_zero_after_fit_is_refused(estimator):
    model = make_model(estimator).fit(X).set_params(topic_word_prior=0)
    for method in methods_of_fitted(model):
        with pytest.raises(ValueError, match="topic_word_prior"):
            getattr(model, method)(X)


@pytest.mark.parametrize(
    "estimator", [cls for cls in ESTIMATORS if hasattr(cls, "elbo")], ids=lambda cls: cls.__name__
)
def test_elbo_refuses_a_bad_size_of_the_corpus(estimator):
    model = make_model(estimator).fit(X)
    for size in (0, -1, NAN, INF, "all"):
        with pytest.raises((ValueError, TypeError), match="total_samples"):
            model.elbo(X, total_samples=size)


BAD_PRIORS = {
    "too short": ([0.1, 0.2], r"doc_topic_prior.*\(2,\).*\(3,\)"),
    "too long": ([0.1] * 4, r"doc_topic_prior.*\(4,\).*\(3,\)"),
    "empty": ([], r"doc_topic_prior.*\(0,\).*\(3,\)"),
    "two dimensions": ([[0.1, 0.2, 0.3]], r"doc_topic_prior.*\(1, 3\).*\(3,\)"),
    "zero": ([0.1, 0.0, 0.3], "doc_topic_prior.*positive"),
    "negative": (np.array([0.1, -1.0, 0.3]), "doc_topic_prior.*positive"),
    "NaN": ([0.1, np.nan, 0.3], "doc_topic_prior.*positive finite"),
    "infinite": ([0.1, np.inf, 0.3], "doc_topic_prior.*positive finite"),
    "unknown string": ("symmetric", "doc_topic_prior.*must be.*symmetric"),
    "strings": (["a", "b", "c"], "doc_topic_prior"),
    "ragged": ([[0.1], [0.2, 0.3], 0.4], "doc_topic_prior"),
}


@pytest.mark.parametrize(
    ("estimator", "kinds"),
    [
        *(pytest.param(OnlineEMLDA, [kind], id=kind) for kind in BAD_PRIORS),
        *(
            pytest.param(cls, ["too short", "zero", "strings"], id=cls.__name__)
            for cls in ESTIMATORS
            if cls not in HIERARCHICAL
        ),
    ],
)
def test_bad_doc_topic_prior_is_refused(estimator, kinds):
    """Also by a fitted model, which stays as it was."""
    trained = make_model(estimator, doc_topic_prior=None).fit(X)
    before = state(trained)
    for method in ("fit", "partial_fit"):
        for prior, message in (BAD_PRIORS[kind] for kind in kinds):
            model = make_model(estimator, doc_topic_prior=prior)
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(X)
            with pytest.raises(NotFittedError):
                model.transform(X)
            with pytest.raises(ValueError, match=message):
                getattr(trained.set_params(doc_topic_prior=prior), method)(X[:, :7] if method == "fit" else X)
            assert_same_state(state(trained.set_params(doc_topic_prior=None)), before)
        # Training may start once it is put right, on any number of words.
        model.set_params(doc_topic_prior=0.1)
        assert getattr(model, method)(OTHER).n_features_in_ == 7


@every_bounded
def test_n_components_may_not_change_between_partial_fits(estimator):
    model = make_model(estimator).partial_fit(X)
    before = model.components_
    with pytest.raises(ValueError, match="n_components=5 differs from the 3 topics in training"):
        model.set_params(n_components=5).partial_fit(X)
    assert_array_equal(model.components_, before)
    # Set back, training goes on; fit starts anew.
    expected = make_model(estimator).partial_fit(X).partial_fit(X).components_
    assert_array_equal(model.set_params(n_components=3).partial_fit(X).components_, expected)
    model.set_params(n_components=5).fit(X)
    assert has_topics(model, 5) and model.components_.shape == (model.n_components_, 12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@every_estimator
def test_bad_matrix_leaves_the_names_of_an_earlier_fit(estimator):
    pd = pytest.importorskip("pandas")
    words = [f"word{i}" for i in range(12)]
    table = pd.DataFrame(X.toarray(), columns=words)
    model = make_model(estimator).fit(table)
    before = state(model)
    bad = pd.DataFrame(-np.ones((3, 5)), columns=[f"other{i}" for i in range(5)])
    for method in (model.fit, model.partial_fit, model.fit_transform):
        for counts in (bad, bad * np.nan, -np.ones((3, 5)), np.ones((0, 5))):
            with pytest.raises(ValueError, match=r"."):
                method(counts)
            assert_same_state(state(model), before)


# Odd input that works


@every_variant
def test_document_of_zeros_gets_the_prior_mean(variant):
    prior = np.array([0.1, 0.2, 0.7])
    counts = X.copy().tolil()
    counts[[0, 29]] = 0
    known = having(variant.get("estimator", OnlineEMLDA), doc_topic_prior=prior)
    model = make_model(**{**variant, **known}).fit(counts)
    assert has_topics(model, 3)
    prior = prior[: model.n_components_] if known else model.doc_topic_prior_
    prior = prior / prior.sum()
    theta = model.transform(counts)
    assert np.isfinite(theta).all() and np.isfinite(model.components_).all()
    assert_allclose(theta[[0, 29]], prior * np.ones((2, 1)), rtol=1e-12)


@every_variant
def test_matrix_of_zeros_can_be_fitted_and_transformed(variant):
    """Nothing is learned, and nothing breaks; training can go on with words."""
    zeros = sp.csr_array((5, 12))
    model = make_model(**variant).fit(zeros)
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert has_topics(model, 3)
    # Sticks that were broken one after the other differ in expectation.
    sticks = isinstance(model, OnlineVariationalHDP)
    mean = model.topic_weights_ if sticks else np.full(model.n_components_, 1 / model.n_components_)
    assert_allclose(model.transform(zeros), mean * np.ones((5, 1)))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(model.score(zeros))
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.partial_fit(X).components_).all()


@every_variant
def test_zeros_in_partial_fit_do_not_move_topics(variant):
    known = having(variant.get("estimator", OnlineEMLDA), total_samples=50)
    # Where the prior of topics is learned, it goes on from the counts.
    model = make_model(**{**known, **variant, "topic_word_prior": 0.1}).partial_fit(X)
    before = model.components_
    model.partial_fit(np.zeros((3, 12)))
    assert_array_equal(model.components_, before)


@every_learner
def test_zeros_do_not_disturb_learning_of_the_prior(variant):
    model = make_model(**{**variant, "doc_topic_prior": "auto"}).fit(np.zeros((5, 12)))
    assert np.isfinite(model.doc_topic_prior_).all() and (model.doc_topic_prior_ > 0).all()
    model.partial_fit(X)
    assert np.isfinite(model.doc_topic_prior_).all() and (model.doc_topic_prior_ > 0).all()


@every_concentration_learner
def test_zeros_do_not_disturb_learning_of_concentrations(variant):
    model = make_model(**variant).fit(np.zeros((5, 12)))
    for counts in (np.zeros((2, 12)), X, np.zeros((2, 12))):
        model.partial_fit(counts)
        assert 0 < model.topic_concentration_ < np.inf
        assert 0 < model.doc_concentration_ < np.inf
        assert np.isfinite(model.doc_topic_prior_).all() and (model.doc_topic_prior_ > 0).all()


@every_hierarchical_variant
@pytest.mark.parametrize("end", [0, 1], ids=["least", "largest"])
def test_extreme_concentrations_stay_finite(end, variant):
    value = CONCENTRATIONS[variant["estimator"]][end]
    model = make_model(**{**variant, "topic_concentration": value, "doc_concentration": value}).fit(X)
    model.partial_fit(X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.doc_topic_prior_).all() and (model.doc_topic_prior_ > 0).all()
    assert_allclose(model.transform(X).sum(axis=1), 1.0)
    assert np.isfinite(model.score(X))


@every_variant
def test_one_word(variant):
    counts = X[:, [0]].toarray() + 1
    model = make_model(**variant).fit(counts)
    assert has_topics(model, 3)
    assert_array_equal(model.components_, np.ones((model.n_components_, 1)))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)
    assert model.score(counts) == pytest.approx(0.0, abs=1e-12)


@every_variant
def test_one_document(variant):
    model = make_model(**variant).fit(X[[0]])
    assert np.isfinite(model.components_).all()
    assert has_topics(model, 3)
    assert model.transform(X[[0]]).shape == (1, model.n_components_)
    assert np.isfinite(model.score(X[[0]]))


@every_quick_variant
def test_one_document_of_one_word(variant):
    model = make_model(**variant).fit([[0, 1, 0]])
    assert np.isfinite(model.components_).all()
    assert model.components_[:, 1].max() > 0.4
    assert np.isfinite(model.score([[0, 1, 0], [0, 0, 1]]))


@of_variants(lambda estimator: estimator not in UNBOUNDED)
def test_one_topic(variant):
    model = make_model(n_components=1, **variant).fit(X)
    assert_array_equal(model.transform(X), np.ones((30, 1)))
    assert np.isfinite(model.score(X))


every_early_stopper = pytest.mark.parametrize(
    "estimator",
    [estimator for estimator in ESTIMATORS if having(estimator, early_stopping=True)],
    ids=lambda cls: cls.__name__,
)


@every_early_stopper
def test_early_stopping_on_one_document_fits_or_says_why_not(estimator):
    model = make_model(estimator, early_stopping=True)
    try:
        model.fit(X[[0]])
    except ValueError as error:
        assert "early_stopping" in str(error) or "validation_fraction" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(model.components_).all()


@every_early_stopper
def test_early_stopping_on_two_documents(estimator):
    model = make_model(estimator, early_stopping=True).fit(X[:2])
    assert np.isfinite(model.validation_scores_).all()


@every_variant
def test_partial_fit_of_single_rows(variant):
    model = make_model(**variant)
    for row in range(10):
        model.partial_fit(X[[row]])
    assert model.n_samples_seen_ == 10
    assert np.isfinite(model.components_).all()
    assert_allclose(model.components_.sum(axis=1), 1.0)


@every_quick_variant
def test_a_huge_count_is_cheap(variant):
    """A billion tokens in one cell, in training, transform and score: under a second of work and 20 MB."""
    counts = X.toarray()
    counts[3, 5] = 1e9
    tracemalloc.start()
    start = time.process_time()
    model = make_model(**variant).fit(counts)
    theta = model.transform(counts)
    score = model.score(counts)
    elapsed = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert elapsed < 1.0
    assert peak < 20e6
    assert np.isfinite(theta).all() and np.isfinite(score) and np.isfinite(model.components_).all()
    assert model.components_[:, 5].max() > 0.9


@every_variant
def test_real_valued_counts_of_any_size(variant):
    for value in (1e-12, 0.3, 1e10):
        counts = X.toarray() * value
        model = make_model(**variant).fit(counts)
        assert np.isfinite(model.components_).all()
        assert_allclose(model.transform(counts).sum(axis=1), 1.0)
        assert np.isfinite(model.score(counts))


@every_variant
def test_counts_of_very_different_sizes(variant):
    """A cell beside which ordinary counts vanish in rounding: probabilities stay probabilities."""
    counts = X.toarray() + 1
    counts[3] = 1e12
    known = having(variant.get("estimator", OnlineEMLDA), max_iter=20)
    model = make_model(**{**variant, "topic_word_prior": 1e-6, **known}).fit(counts)
    assert np.isfinite(model.components_).all() and model.components_.min() >= 0
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


@every_variant
def test_fractions_of_tokens_and_a_tiny_pseudo_count(variant):
    """Sums of fractions that come and go leave rounding errors, but no negative probability."""
    known = having(variant.get("estimator", OnlineEMLDA), max_iter=50)
    model = make_model(**{**variant, "topic_word_prior": 1e-12, **known}).fit((X.toarray() + 1) * 0.1)
    assert np.isfinite(model.components_).all() and model.components_.min() >= 0
    assert np.isfinite(model.score(X * 0.1))


@every_variant
def test_more_topics_than_tokens(variant):
    counts = np.eye(3, 12)
    model = make_model(n_components=40, **variant).fit(counts)
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)
    assert np.isfinite(model.score(counts))


def fit_a_thousand_topics(variant):
    counts = make_lda_documents(50, n_features=100, mean_length=30, random_state=0).data
    # Each token of the triangular model costs the square of the number of topics.
    few = variant.get("estimator") is TriangularDirichletLDA
    model = make_model(**{**variant, "n_components": 200 if few else 1000}).fit(counts)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.transform(counts)).all()
    assert np.isfinite(model.score(counts))
    return model


@every_variant
def test_a_thousand_topics_on_fifty_documents_are_finite(variant):
    fit_a_thousand_topics(variant)


@every_em_variant
def test_a_thousand_topics_on_fifty_documents_differ(variant):
    """Online EM keeps some of the noise it starts from: no two topics are the same."""
    assert len(np.unique(fit_a_thousand_topics(variant).components_, axis=0)) == 1000


@every_unsmoothed_variant
def test_words_without_smoothing_that_training_never_saw(variant):
    """With topic_word_prior=0 unseen words get no probability: -inf in score, never NaN or a warning."""
    counts = X.toarray()
    counts[:, 7] = 0
    known = having(variant.get("estimator", OnlineEMLDA), learning_offset=0.0)
    model = make_model(topic_word_prior=0.0, batch_size=30, **{**known, **variant, "max_iter": 1})
    model.fit(counts)
    assert_array_equal(model.components_[:, 7], 0.0)
    assert np.isfinite(model.components_).all() and np.isfinite(model.transform(counts)).all()
    unseen = np.eye(1, 12, 7) * 10
    assert np.isfinite(model.transform(unseen)).all()
    assert_allclose(model.transform(unseen).sum(axis=1), 1.0)
    assert model.score(unseen) == -np.inf
    assert model.perplexity(unseen) == np.inf
    # Training goes on from there, and gives the word a topic.
    assert np.isfinite(model.partial_fit(unseen).components_).all()
    assert np.isfinite(model.score(unseen))


@pytest.mark.parametrize("average", [False, True])
@every_em_variant
def test_topics_that_lose_all_words_do_no_harm(variant, average):
    """Without smoothing and with steps of one, topics that explain nothing in a batch end up empty."""
    counts = make_lda_documents(60, n_features=25, mean_length=100, random_state=0).data
    model = make_model(
        n_components=100,
        topic_word_prior=0.0,
        learning_decay=0.0,
        batch_size=5,
        max_iter=8,
        average=average,
        **variant,
    )
    model.fit(counts)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.transform(counts)).all()


# Metrics


@every_metric
def test_metrics_refuse_negative_components(metric):
    components = np.full((3, 12), 0.1)
    components[1, 2] = -0.1
    with pytest.raises(ValueError, match="Negative values in data passed to components"):
        metric(components, X, doc_topic_prior=0.1)


@every_metric
def test_metrics_refuse_components_with_nan(metric):
    with pytest.raises(ValueError, match="components contains NaN"):
        metric(np.full((3, 12), np.nan), X, doc_topic_prior=0.1)


@every_metric
def test_metrics_refuse_a_topic_of_zeros(metric):
    components = np.ones((3, 12))
    components[1] = 0
    with pytest.raises(ValueError, match="components has only zeros in row 1"):
        metric(components, X, doc_topic_prior=0.1)


@every_metric
def test_metrics_refuse_components_of_the_wrong_width(metric):
    with pytest.raises(ValueError, match="X has 12 features, but the topics have 7 words"):
        metric(np.ones((3, 7)), X, doc_topic_prior=0.1)
    with pytest.raises(ValueError, match="X has 7 features, but the topics have 12 words"):
        metric(make_model().fit(X), OTHER)


@every_metric
def test_metrics_refuse_components_of_one_dimension(metric):
    with pytest.raises(ValueError, match="Expected 2D array"):
        metric(np.ones(12), X, doc_topic_prior=0.1)


@every_metric
def test_metrics_ask_for_the_prior_of_plain_components(metric):
    with pytest.raises(ValueError, match="doc_topic_prior=None"):
        metric(np.ones((3, 12)), X)


@every_metric
def test_metrics_refuse_a_bad_prior(metric):
    for prior in (0.0, -1.0, np.nan, [0.1, 0.1], [0.1, 0.0, 0.1], "auto", ["a", "b", "c"]):
        with pytest.raises(ValueError, match="doc_topic_prior"):
            metric(np.ones((3, 12)), X, doc_topic_prior=prior)


@every_metric
def test_metrics_refuse_a_bad_matrix(metric):
    for counts, message in BAD_MATRICES.values():
        with pytest.raises((ValueError, TypeError), match=message):
            metric(np.ones((3, 12)), counts, doc_topic_prior=0.1)


@pytest.mark.parametrize(
    ("metric", "option", "values"),
    [
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
    ],
)
def test_metrics_name_a_bad_option(metric, option, values):
    for value in values:
        with pytest.raises(ValueError, match=option):
            metric(np.ones((3, 12)), X, doc_topic_prior=0.1, **{option: value})


def test_log_likelihood_of_documents_without_words_is_zero_for_each():
    zeros = np.zeros((4, 12))
    components = np.ones((3, 12))
    assert_array_equal(left_to_right(components, zeros, doc_topic_prior=0.1, per_document=True), np.zeros(4))


@every_variant
def test_largest_counts_and_smallest_prior_stay_finite(variant):
    smallest = 0.0 if variant.get("estimator", OnlineEMLDA) in UNSMOOTHED else 1e-12
    priors = {"doc_topic_prior": 1e-12, "topic_word_prior": smallest}
    known = having(variant.get("estimator", OnlineEMLDA), **priors)
    model = make_model(**{**variant, **known}).fit(X.toarray() * 1e10)
    assert np.isfinite(model.components_).all()
    assert_allclose(model.transform(X.toarray() * 1e10).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_matrix], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("value", [5e-324, 1e-13, 1.1e12, 1e300])
def test_count_beyond_its_range_is_refused(value, kind):
    """By everything that takes counts, in the same words."""
    model = make_model().fit(X)
    before, counts = state(model), kind(with_value(value))
    number = re.escape(f"{value:g}")
    message = f"X has a count of {number}; a count must be 0, or between 1e-12 and 1e\\+12. Set smaller"
    for function in (
        *(getattr(model, method) for method in methods_of_fitted(model)),
        *(partial(metric, model) for metric in METRICS),
        make_model().fit,
        lambda counts: make_model().fit([X, sp.csr_array(counts)]),
        lambda counts: document_components(counts, 3),
    ):
        with pytest.raises(ValueError, match=message):
            function(counts)
    assert_same_state(state(model), before)


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
    model = make_model().partial_fit(X)
    with pytest.raises(ValueError, match="average=True"):
        model.set_params(average=True).partial_fit(X)


@every_estimator
def test_no_memory_for_the_topics_leaves_an_earlier_fit(estimator, monkeypatch):
    model = make_model(estimator).fit(X)
    before = model.components_

    def refuse(*arguments, **options):
        raise MemoryError

    def is_topics(shape):  # with room for more where their number is not bounded
        return shape == (12, 3) or (estimator in UNBOUNDED and np.ndim(shape) == 1 and shape[0] == 12)

    monkeypatch.setattr("sktopic._topics._word_counts.WordCounts.random", refuse)
    monkeypatch.setattr("sktopic.moment_matching._method.uniforms", refuse)
    for name in ("zeros", "empty"):
        make = getattr(np, name)
        monkeypatch.setattr(
            np, name, lambda shape, make=make, **kw: refuse() if is_topics(shape) else make(shape, **kw)
        )
    for method in (model.fit, make_model(estimator).partial_fit):
        with pytest.raises(MemoryError):
            method(X)
    monkeypatch.undo()
    assert_array_equal(model.components_, before)


# Numbers beyond what kernels and floats hold


def beyond(name, value, least, largest):
    """What a message says of a value out of bounds, in words of ours or of scikit-learn."""
    value = re.escape(repr(value))
    ours = f"{name}={value}.*{re.escape(f'{least:g}')}.*{re.escape(f'{largest:g}')}"
    return f"{ours}|'{name}'.*{re.escape(f'[{least}, {largest}]')}.* Got {value} instead"


@every_estimator
def test_prior_beyond_its_bounds_is_refused(estimator):
    for value in (1e-20, 1e13, 1e308):
        for name in having(estimator, doc_topic_prior=1, topic_word_prior=1, prior_shape=1, prior_rate=1):
            with pytest.raises(ValueError, match=beyond(name, value, 1e-12, 1e12)):
                make_model(estimator, **{name: value}).fit(X)


@pytest.mark.parametrize("estimator", HIERARCHICAL, ids=lambda cls: cls.__name__)
def test_concentration_beyond_its_bounds_is_refused(estimator):
    for name in ("topic_concentration", "doc_concentration"):
        for value in (1e-300, 1e-20, 1e20, 1e300):
            with pytest.raises(ValueError, match=beyond(name, value, *CONCENTRATIONS[estimator])):
                make_model(estimator, **{name: value}).fit(X)


@every_estimator
def test_more_sweeps_than_an_integer_holds_are_refused(estimator):
    sweeps = ("doc_burn_in", "doc_sweeps", "transform_sweeps", "max_doc_update_iter")
    for name in having(estimator, **dict.fromkeys(sweeps)):
        with pytest.raises(ValueError, match=f"'{name}' parameter.*range"):
            make_model(estimator, **{name: 2**70}).fit(X)
