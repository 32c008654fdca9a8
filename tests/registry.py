"""What the tests need to know of each estimator, in one place.

Most entries are derived: estimators from their families, and what they take and learn from signatures,
constraints of parameters and base classes. By hand there are only variants and values that must be refused;
`test_registry.py` says what to add here if an estimator, a parameter or a method has no entry.
"""

import inspect
from functools import partial
from numbers import Real

import numpy as np
import pytest
from sklearn.base import clone

import sktopic
from sktopic import _loading
from sktopic._estimators._lanes import check_lanes
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._estimators._sampler_estimator import SamplerEstimator
from sktopic._runtime._compat import Interval, StrOptions, make_constraint
from sktopic.moment_matching._estimator import FilterEstimator

# Every class by its name, the one first that stands for all where the class does not matter.
CLASSES = {
    name: kind
    for name, kind in sorted(_loading.CLASSES.items(), key=lambda item: (item[0] != "OnlineEMLDA", item[0]))
}

# Settings beside the defaults in which a class computes something else: each value of each option once.
VARIANTS = {
    "OnlineEMLDA": [
        {"boost": True},
        {"boost": "mean"},
        {"inference": "variational", "prior_update": "gamma", "average": True},
        {"inference": "variational", "boost": True, "prior_update": "fixed-point"},
        {"topics_per_word": 2},
    ],
    "DMRLDA": [{"inference": "variational"}],
    "HybridLDA": [{"counts": "draws"}],
    "OnlineVariationalLDA": [
        {"learning_method": "batch", "topic_word_prior": "auto"},
        {"prior_update": "gradient", "doc_topic_prior": "auto", "components_init": None},
    ],
    "StreamingVariationalLDA": [
        {"prior_update": "gradient", "doc_topic_prior": "auto-symmetric", "components_init": None}
    ],
    "OnlineOPELDA": [{"bernoulli_p": 0.3, "doc_topic_prior": 1.5}],
    "CollapsedGibbsLDA": [
        {"n_shards": 2, "doc_topic_prior": "auto", "topic_word_prior": "auto", "prior_interval": 1}
    ],
    "MomentMatchingLDA": [
        {"second_moment": "first", "shuffle": "corpus"},
        {"second_moment": "second", "shuffle": None, "doc_topic_prior": "auto"},
    ],
    "DegenerateDirichletLDA": [
        {"second_moment": "first", "shuffle": "corpus", "n_components_prior": "exponential"},
        {"second_moment": "second", "shuffle": None, "doc_topic_prior": "auto"},
    ],
    "TriangularDirichletLDA": [
        {"second_moment": "first", "shuffle": "document", "doc_topic_prior": "auto-symmetric"},
        {"second_moment": "second", "shuffle": None, "n_components_prior": "exponential"},
        {"n_components_prior": "uniform"},
    ],
    "OnlineVariationalHDP": [{"doc_n_components": 1}],
    "DirectAssignmentHDP": [
        {"topic_word_prior": "auto", "topic_expectation": "mean"},
        {"learning_method": "memoized"},
        {"learning_method": "memoized", "split_merge": False},
        {"move_proposals": "restricted", "final_moves": False},
    ],
    "OnlineEMHDP": [{"max_births": 3, "min_birth_tokens": 0.0}],
    "HybridHDP": [
        {"sampler": "sparse_table_indicator", "reuse_topics": False, "topic_concentration": 1.0},
        {"sampler": "table_indicator", "root_weight": "paper", "doc_concentration": 2.0},
        {"split_merge": True},
    ],
    # On few documents 'sparse_table_indicator' does what the default does.
    "CollapsedGibbsHDP": [
        {"sampler": "direct_assignment"},
        {"sampler": "sparse_table_indicator", "split_merge": False},
    ],
}
# Options that are in no variant since tests of their own set them for all classes.
SET_BY_TESTS = {"early_stopping"}
# n_components is the number of topics at the start, and no bound on what it becomes (with this option).
UNBOUNDED = dict.fromkeys(["CollapsedGibbsHDP", "DirectAssignmentHDP", "OnlineEMHDP", "TruncationFreeHDP"])
UNBOUNDED["HybridHDP"] = "split_merge"
# Parameters that an option allows smaller values only, with the largest.
LARGEST_WITH = {("HybridHDP", "topic_concentration"): ("split_merge", 1000.0)}

# What methods and functions with an X need beside it and a model, for 30 documents.
ARGUMENTS = {
    "sample_proportions": {"n_samples": 2},
    "save_corpus": {"path": "never-written"},
    "local_update": {"lane": 0},
    "estimate_effect": {"covariates": np.arange(30.0)[:, None]},
    "topics_over_time": {"dates": np.arange(30)},
    "arun_2010": {"proportions": np.full((30, 4), 0.25)},
    "topic_number_curve": {"n_components": [2]},
    "document_components": {"n_components": 2},
}

# It takes an X as scorers do, and ignores it.
IGNORES_X = {"topic_diversity"}

# Values that must be refused, by the kind of parameter.
NAN, INF = float("nan"), float("inf")
_GAMMA = [None, 1.0, "gamma", (), (1.0,), (1.0, 1.0, 1.0), (0.0, 1.0), (1.0, NAN), (INF, 1.0), ("a", "b")]
_KINDS = [
    (
        "n_components doc_n_components max_iter n_draws thinning prior_interval n_shards "
        "doc_sweeps transform_sweeps max_doc_update_iter n_iter_no_change n_proposals",
        [0, -1, 1.5, "3", [3], None],
    ),
    ("batch_size", [0, -1, 1.5, "3", [3]]),
    ("n_jobs", [0, 1.5, "all"]),
    ("evaluate_every doc_burn_in transform_burn_in verbose", [-1, 1.5, "all", None]),
    ("max_births", [-1, 1.5, "all", 1001]),
    ("topics_per_word", [0, -1, 1.5, "all"]),
    ("n_proposals", [1001]),
    (
        "sampler root_weight move_proposals topic_expectation second_moment inference counts",
        ["other", 1, None],
    ),
    ("learning_method prior_update", ["other", 1, None]),
    ("shuffle", [2, "yes"]),
    ("reuse_topics split_merge final_moves boost average early_stopping", [2, "yes", None]),
    ("topic_concentration doc_concentration", [0, -1.0, NAN, INF, None, "automatic", [1.0]]),
    ("topic_concentration doc_concentration", [1e-300, 9e-13, 1.1e12, 1e20]),
    ("topic_concentration_prior doc_concentration_prior", _GAMMA),
    ("prior_shape covariate_prior_scale intercept_prior_scale learning_rate", [0, -1, NAN, INF, None, "1"]),
    ("learning_offset doc_learning_offset prior_rate bound_tol", [-1, NAN, INF, None, "1"]),
    ("mean_change_tol tol min_birth_tokens", [-1e-3, NAN, None, "small"]),
    ("total_samples", [0, -1, 1e-13, 1e15, NAN, INF, "all"]),
    ("learning_decay", [-0.1, 1.1, NAN, "0.7"]),
    ("doc_learning_decay", [-0.1, 1.1, NAN, None, "0.7"]),
    ("decay", [0, -0.1, 1.1, NAN, None, "0.7"]),
    ("bernoulli_p validation_fraction", [0, 1, -0.1, 1.5, NAN, None, "0.5"]),
    ("random_state", [-1, 1.5, "seed", np.random.default_rng(0)]),
    ("doc_topic_prior", [0, -0.5, NAN, INF, "automatic", "", ["1"] * 3, [1.0 + 1j] * 3, [10**400] * 3]),
    ("doc_topic_prior", [np.array([np.complex64(1j)] * 3, object), np.full(3, np.finfo("g").max)]),
    ("doc_topic_prior", [[0.1] * 2, [0.1] * 4, [], [[0.1] * 3], [0.1, 0.0, 0.3], np.array([0.1, -1.0, 0.3])]),
    ("doc_topic_prior", [[0.1, NAN, 0.3], [0.1, INF, 0.3], ["a", "b", "c"], [[0.1], [0.2, 0.3], 0.4]]),
    ("topic_word_prior", [-0.01, NAN, INF, "symmetric", [0.1] * 12]),
    (
        "doc_topic_prior topic_word_prior prior_shape prior_rate covariate_prior_scale",
        [1e-20, 9e-13, 1.1e12, 1e308],
    ),
    ("doc_burn_in doc_sweeps transform_burn_in transform_sweeps max_doc_update_iter", [2**70]),
    ("components_init", [1, "random", [0.1] * 12, [[0.1] * 11] * 3, [[0.1] * 12] * 13]),
    ("components_init", [[[1j] * 12] * 3, [["1"] * 12] * 3, np.full((3, 12), "1", dtype=object)]),
    ("n_components_prior", ["geometric", -0.1, 1000.1, NAN, [0.5, 0.5], [0.2] * 5, [[0.2, 0.3, 0.5]]]),
    ("n_components_prior", [[0.0] * 3, [0.5, -0.1, 0.6], [0.5, NAN, 0.5], [0.5, INF, 0.5], ["a", "b", "c"]]),
    ("n_components_prior", [["1"] * 3, [1.0 + 1j] * 3, [10**400, 1.0, 1.0], [[1.0], 2.0, 3.0]]),
]
BAD_VALUES = {}
for _names, _values in _KINDS:
    for _name in _names.split():
        BAD_VALUES[_name] = BAD_VALUES.get(_name, []) + _values
# Numbers that are right for one class and wrong for another.
NUMBERS = {"topic_word_prior": [0], "topic_concentration": [1e-7, 1e7], "doc_concentration": [1e-7, 1e7]}


def class_of(estimator):
    return estimator if isinstance(estimator, type) else type(estimator)


def having(estimator, **params):
    """Those of the parameters that an estimator, or a class, has."""
    known = class_of(estimator)().get_params()
    return {name: value for name, value in params.items() if name in known}


# With these, where an estimator has them, a fit takes milliseconds, and does not depend on defaults.
SMALL = {"n_components": 4, "max_iter": 2, "batch_size": 16, "random_state": 0, "max_doc_update_iter": 20}


def new(estimator, **params):
    """A clone, or one of a class, with the parameters of SMALL and the given ones, as far as it has them."""
    estimator = estimator() if isinstance(estimator, type) else clone(estimator)
    return estimator.set_params(**having(estimator, **{**SMALL, **params}))


def variants(wanted=lambda estimator: True):
    """Every estimator that is wanted, with its defaults and in each of its variants."""
    found = [kind(**params) for name, kind in CLASSES.items() for params in ({}, *VARIANTS.get(name, ()))]
    return [estimator for estimator in found if wanted(estimator)]


def defaults(wanted=lambda estimator: True):
    """Every estimator that is wanted, with its defaults."""
    return [estimator for kind in CLASSES.values() if wanted(estimator := kind())]


def each(estimators, **options):
    """Parametrize a test with estimators; with settings other than the defaults it is slow."""
    cases = [
        pytest.param(estimator, marks=[pytest.mark.slow] if "=" in repr(estimator) else [])
        for estimator in estimators
    ]
    return pytest.mark.parametrize("estimator", cases, ids=repr, **options)


# What estimators are, take and learn


def constraints_of(estimator, name):
    return [make_constraint(each) for each in class_of(estimator)._parameter_constraints.get(name, [])]


def allows(estimator, name, value):
    """Whether an estimator declares that a parameter, which it has, may have the value."""
    if name not in having(estimator, **{name: value}):
        return False
    return any(constraint.is_satisfied_by(value) for constraint in constraints_of(estimator, name))


def options_of(estimator, name):
    """Texts, truth values and None that a parameter may be."""
    declared = class_of(estimator)._parameter_constraints.get(name, [])
    found = [None] * (None in declared) + [True, False] * ("boolean" in declared)
    return found + [
        text for each in declared if isinstance(each, StrOptions) for text in sorted(each.options)
    ]


def bad_values(estimator, name):
    """Values that must be refused, among them those that are right for another class alone."""
    elsewhere = [value for kind in CLASSES.values() for value in options_of(kind, name)]
    elsewhere = list(dict.fromkeys([*elsewhere, *NUMBERS.get(name, [])]))
    wrong = [value for value in elsewhere if not allows(estimator, name, value)]
    bad = [value for value in BAD_VALUES[name] if value is not None or not allows(estimator, name, None)]
    return bad + [value for value in wrong if value is not None or None not in bad]


def is_minibatch(estimator):
    return isinstance(estimator, MinibatchEstimator)


def is_sampler(estimator):
    return isinstance(estimator, SamplerEstimator)


def is_filter(estimator):
    return isinstance(estimator, FilterEstimator)


def is_unbounded(estimator):
    option = UNBOUNDED.get(type(estimator).__name__, "")
    return option is None or getattr(estimator, option, False)


def is_bounded(estimator):
    """Whether n_components is the largest number of topics."""
    return class_of(estimator)._infers_number_of_topics and not is_unbounded(estimator)


def is_unsmoothed(estimator):
    """Whether topics are a point estimate, to which a pseudo-count may be added or not."""
    return allows(estimator, "topic_word_prior", 0) and not getattr(estimator, "split_merge", False)


def has_lanes(estimator):
    try:
        check_lanes(estimator)
    except ValueError:
        return False
    return True


def takes_weights(estimator):
    return "sample_weight" in inspect.signature(estimator.fit).parameters


def _loop(estimator):
    """What trains it, and its family."""
    kind = type(estimator)
    return getattr(kind, "_fit_documents", kind.fit), kind.__module__.split(".")[1]


def _step(estimator):
    """Its method, what infers the documents, and the prior of their topics."""
    method = estimator._method()
    parts = (getattr(method, name, None) for name in ("inference", "form", "doc_prior"))
    return [type(each) for each in (method, *parts)]


def _one_of_each(kind_of):
    kinds = defaults()
    return [one for one in kinds if one is next(each for each in kinds if kind_of(each) == kind_of(one))]


# One of each kind of training, and one of each kind of inference, for what the others share with them.
LOOPS, STEPS = _one_of_each(_loop), _one_of_each(_step)


def methods_with_data(estimator):
    """Names of the public methods that take documents, training first."""
    kind, one = class_of(estimator), class_of(estimator)()
    names = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    taking = [name for name in names if "X" in inspect.signature(getattr(kind, name)).parameters]
    return sorted(filter(partial(hasattr, one), taking), key=lambda name: ("fit" not in name, name))


def call(model, method, X):
    """The answer of one of its methods_with_data, of iterators all."""
    answer = getattr(model, method)(X, **ARGUMENTS.get(method, {}))
    return list(answer) if method.startswith("iter_") else answer


def functions_with_data():
    """The public functions that take documents, of all modules."""
    modules = [getattr(sktopic, name) for name in sktopic._MODULES]
    public = [getattr(module, name) for module in modules for name in module.__all__]
    functions = [each for each in public if inspect.isfunction(each) and each.__name__ not in IGNORES_X]
    return [each for each in functions if "X" in inspect.signature(each).parameters]


def call_function(function, model, X):
    """Call one of functions_with_data on the documents, and the model if it takes one."""
    takes = inspect.signature(function).parameters
    given = {name: model for name in ("model", "model_or_components", "estimator") if name in takes}
    if function.__name__ == "left_to_right":
        given.pop("estimator")
    return function(X=X, **given, **ARGUMENTS.get(function.__name__, {}))


def bounds_of(estimator, name):
    """Least and largest real number that a parameter may be, as far as there are such."""
    declared = class_of(estimator)._parameter_constraints.get(name, [])
    found = [each for each in declared if isinstance(each, Interval) and each.type is Real]
    ends = [(each.left, each.closed in ("left", "both")) for each in found]
    ends += [(each.right, each.closed in ("right", "both")) for each in found]
    option, largest = LARGEST_WITH.get((type(estimator).__name__, name), ("", np.inf))
    if not getattr(estimator, option, False):
        largest = np.inf
    return [min(end, largest) for end, is_closed in ends if is_closed and end is not None]
