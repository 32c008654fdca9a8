"""Fitted arrays that do not fit together: an error before a kernel trusts them."""

import copy
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic.datasets import make_bars
from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP, OnlineEMHDP
from sktopic.hdp._window import Window
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA

from .conftest import all_attributes, assert_raises, fingerprint, set_attribute
from .registry import defaults, new

X = make_bars(30, random_state=0).data
BOOSTED = np.where(np.arange(25) == 3, [[2.0], [0.1], [0.1], [0.1]], 0.1)
# One for each class of states, whose fields are checked
ESTIMATORS = {estimator._state_class: estimator for estimator in defaults()}.values()
DAMAGES = {
    "shorter": lambda array: array[:-1].copy() if len(array) else np.zeros((1, *array.shape[1:])),
    "longer": lambda array: np.concatenate([array, array[-1:], array[-1:]]) if len(array) else array[None],
    "of another type": lambda array: np.zeros(array.shape, np.float32),
    "of two axes more": lambda array: array[None, None],
    "a list": lambda array: array.tolist(),
    "gone": lambda array: None,
}


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module", params=ESTIMATORS, ids=name_of)
def model(request):
    return new(request.param).fit(X)


def required_arrays(model):
    optional = optional_names(model._state_class)
    return {name: kind for name, kind in declared_arrays(model._state_class).items() if name not in optional}


def test_what_training_has_set_cannot_be_set():
    model = OnlineEMLDA(3, random_state=0)
    before = model.partial_fit(X)._state
    for name in ("doc_topic_prior_", "n_batch_iter_", "_seed"):
        with pytest.raises(AttributeError, match=f"{name} of OnlineEMLDA is read-only: only training"):
            setattr(model, name, getattr(model, name))
        with pytest.raises(AttributeError, match=f"OnlineEMLDA has no {name}: call fit first"):
            getattr(clone(model), name)
    assert model._state is before
    with pytest.raises(ValueError, match="read-only"):
        model.doc_topic_prior_ *= 2.0


def error_of(call):
    """The message alone: the frames of an exception would read the model."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return "no error"


def check_refused(damaged, message, what):
    """Check that all that reads arrays raises ValueError and changes nothing."""
    before = dict(vars(damaged))
    message = f"fitted state of this {name_of(damaged)} is damaged: .*{message}"
    for call in (
        lambda: damaged.transform(X),
        lambda: damaged.score(X),
        lambda: damaged.partial_fit(X),
        lambda: damaged.components_,
        lambda: pickle.loads(pickle.dumps(damaged)),
        lambda: damaged.save("never-written"),
    ):
        assert re.search(message, error_of(call)), what
    assert all(vars(damaged)[key] is value for key, value in before.items())


# Axes without any length.
EMPTY = {"features", "features?"}, {"topics", "topics?", "components"}, {"components"}


def damages(model):
    """What is damaged, damaged arrays by name, and a part of the message."""
    arrays, found = required_arrays(model), all_attributes(model)
    for name, declared in arrays.items():
        for damage, change in DAMAGES.items():
            # Any length will do, or fewer topics than there are in training.
            if declared.axes[0] in {"shorter": (None, "born"), "longer": (None,)}.get(damage, ()):
                continue
            yield f"{name} {damage}", {name: change(found[name])}, ""
    for gone in EMPTY:
        empty = {"n_features_in_": 0} if "features" in gone else {}
        for name, declared in arrays.items():
            if not gone.isdisjoint(declared.axes):
                sizes = zip(declared.axes, found[name].shape)
                empty[name] = np.zeros([0 if axis in gone else n for axis, n in sizes], declared.dtype)
        assert empty or "_state.in_use" not in arrays
        if empty:
            yield f"no {gone}", empty, ""
    for columns in ([-1, 1], [0, 2**31 - 1], [1, 0], [0, 0]) if "_state.in_use" in arrays else ():
        halves = {name: found[name][:2] for name in ("_state.topic_weights", "_state.doc_topic_prior")}
        yield (
            f"in use {columns}",
            {"_state.in_use": np.array(columns), **halves},
            "in_use must have ascending",
        )


def test_damaged_array_raises_wherever_it_is_read_and_fit_starts_anew(model):
    for what, changes, message in damages(model):
        damaged = copy.deepcopy(model)
        for name, array in changes.items():
            set_attribute(damaged, name, array)
        check_refused(damaged, message, what)
    assert fingerprint(vars(damaged.fit(X))) == fingerprint(vars(clone(model).fit(X)))


def test_sizes_that_depend_on_the_number_of_topics_fit_it():
    model = new(OnlineEMHDP(5, max_births=3)).fit(X)
    for name, declared in required_arrays(model).items():
        if declared.axes[0] == "born":
            set_attribute(model, name, all_attributes(model)[name][:1])
    check_refused(model, "proportions cover 1 of the [0-9]+ topics", "")
    model = new(CollapsedGibbsLDA(3)).fit(X)
    set_attribute(model, "_state.gains", np.ones(3))
    check_refused(model, "gains has 3 numbers", "")
    model = new(MomentMatchingLDA(3, doc_topic_prior="auto")).fit(X)
    for n in (0, 1, 4, 6):
        damaged = copy.deepcopy(model)
        set_attribute(damaged, "_state.moments.averages", np.ones(n))
        check_refused(damaged, f"moments of the prior have {n} averages and 6 sums", n)
        set_attribute(damaged, "_state.moments.group", np.ones(n + 1))
        if n in (1, 6):
            check_refused(damaged, f"moments of the prior have {n} averages and {n + 1} sums", n)


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", 0.0), ("gamma", np.inf), ("gamma", np.nan), ("gamma", -1.0), ("lag", 1.0), ("lag", np.nan)],
)
def test_probabilities_of_the_number_of_topics_are_checked(name, value):
    model = new(DegenerateDirichletLDA(4)).fit(X)
    values = all_attributes(model)[f"_state.numbers.{name}"].copy()
    values[:] = value
    set_attribute(model, f"_state.numbers.{name}", values)
    check_refused(model, "gamma and lag are no probabilities of the number of topics", name)


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (OnlineEMLDA, "word_prior.base", -1.0, "topic_word_prior has the value -1: .* 1e\\+12. Load"),
        (
            OnlineEMLDA,
            "doc_topic_prior",
            np.array([0.1, 0.0, 0.1, 0.1]),
            "doc_topic_prior must be positive, but has the value 0",
        ),
        (CollapsedGibbsLDA, "prior.base", 1e300, "topic_word_prior has the value 1e\\+300"),
        (CollapsedGibbsLDA, "doc_topic_prior", np.array([0.1, -0.1, 0.1, 0.1]), "has the value -0.1"),
        (
            OnlineEMHDP,
            "proportions.alpha",
            -np.ones(12),
            "doc_topic_prior must be positive",
        ),
        (DirectAssignmentHDP, "topic_word_prior", 0.0, "topic_word_prior must be positive, but is 0"),
        (MomentMatchingLDA, "doc_topic_prior", np.zeros(4), "doc_topic_prior must be positive"),
        (MomentMatchingLDA, "topic_word_prior", -1.0, "topic_word_prior has the value -1"),
        (HybridHDP, "doc_concentration", 0.0, "doc_concentration must be positive"),
        (HybridHDP, "topic_word_prior", -1.0, "topic_word_prior must not be negative"),
        (CollapsedGibbsHDP, "topic_concentration", -1.0, "topic_concentration must be positive"),
        (CollapsedGibbsHDP, "dropped_tables", -1.0, "negative numbers of tables"),
    ],
)
def test_priors_and_concentrations_that_no_model_has_are_refused(kind, name, value, message):
    damaged = new(kind).fit(X)
    set_attribute(damaged, f"_state.{name}", value)
    check_refused(damaged, message, name)


def _with_quarters(array, *quarters):
    """A copy with multiples of a quarter of the range of int64 added: sums or differences then overflow."""
    changed = array.copy()
    changed.flat[: len(quarters)] += np.array(quarters) * 2**62
    return changed


@pytest.mark.parametrize(
    ("estimator", "field", "change"),
    [
        (OnlineEMLDA(4, topic_word_prior=BOOSTED), "word_prior.entries.indptr", (0, 1, -2, -1)),
        (CollapsedGibbsLDA(4, topic_word_prior=BOOSTED), "prior.entries.indptr", (0, 1, -2, -1)),
        (DirectAssignmentHDP(5, learning_method="memoized"), "summaries.lengths", (1, 1, 1, 1)),
        (DirectAssignmentHDP(5, learning_method="memoized"), "summaries.tokens", -1e20),
        (DirectAssignmentHDP(5, learning_method="memoized"), "summaries.document_tokens", np.nan),
        (CollapsedGibbsHDP(5), "lengths", 2**62),
        (CollapsedGibbsHDP(5), "lengths", -1),
        (CollapsedGibbsHDP(5), "tables", -1.0),
        (CollapsedGibbsHDP(5), "words.totals", np.nan),
        (DirectAssignmentHDP(5), "words.totals", np.nan),
        (DirectAssignmentHDP(5), "weights", -1e20),
        (OnlineEMHDP(5), "ids", 2**63 - 1),
    ],
)
def test_numbers_on_which_kernels_would_run_on_are_refused(estimator, field, change):
    model = new(estimator).fit(X)
    array = all_attributes(model)[f"_state.{field}"]
    wrong = _with_quarters(array, *change) if isinstance(change, tuple) else np.full_like(array, change)
    set_attribute(model, f"_state.{field}", wrong)
    assert "is damaged" in error_of(lambda: model.partial_fit(X))


def test_lengths_of_documents_whose_sum_overflows_are_no_window():
    window = Window(
        word=np.zeros(3, np.int32),
        topic=np.zeros(3, np.int32),
        size=np.ones(3),
        length=np.array([3, 0, 0, 0, 0]),
        document_weight=np.ones(5),
        n_tokens=3,
        n_documents=5,
        last_moves=0.0,
    )
    window.check_tokens(n_features=1, n_topics=1)
    wrong = replace(window, length=_with_quarters(window.length, 1, 1, 1, 1))
    with pytest.raises(ValueError, match="is damaged"):
        wrong.check_tokens(n_features=1, n_topics=1)


def test_values_that_are_not_finite_raise(model):
    arrays = required_arrays(model)
    name = next(name for name, field in arrays.items() if field.axes == ("features", "topics"))
    for value in (np.nan, np.inf):
        damaged = copy.deepcopy(model)
        all_attributes(damaged)[name][:] = value
        for call in (damaged.transform, damaged.score):
            assert_raises(ValueError, "not finite", call, X, case=call)
