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
from sktopic.hdp import OnlineEMHDP
from sktopic.lda import OnlineEMLDA

from .conftest import all_attributes, fingerprint, set_attribute
from .registry import defaults, new

X = make_bars(30, random_state=0).data
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


def error_of(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return "no error"


def check_refused(damaged, message, what):
    """Check that all that reads arrays raises ValueError and changes nothing, and that fit starts anew."""
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


def test_damaged_array_raises_wherever_it_is_read(model):
    for name, declared in required_arrays(model).items():
        for damage, change in DAMAGES.items():
            # Any length will do, or fewer topics than there are in training.
            if damage in ("shorter", "longer") and declared.axes[0] is None:
                continue
            if damage == "shorter" and declared.axes[0] == "born":
                continue
            damaged = copy.deepcopy(model)
            set_attribute(damaged, name, change(all_attributes(model)[name]))
            check_refused(damaged, "", f"{name} {damage}")
    assert fingerprint(vars(damaged.fit(X))) == fingerprint(vars(clone(model).fit(X)))


@pytest.mark.parametrize(
    "gone",
    [{"features", "features?"}, {"topics", "topics?", "components"}, {"components"}],
    ids=["features", "topics", "topics in use"],
)
def test_arrays_without_features_or_topics_raise(model, gone):
    damaged, n_changed = copy.deepcopy(model), 0
    for name, declared in required_arrays(model).items():
        if not gone.isdisjoint(declared.axes):
            found = zip(declared.axes, all_attributes(model)[name].shape)
            shape = [0 if axis in gone else n for axis, n in found]
            set_attribute(damaged, name, np.zeros(shape, declared.dtype))
            n_changed += 1
    if "features" in gone:
        damaged.n_features_in_ = 0
    if n_changed:
        check_refused(damaged, "", gone)
    else:
        assert "_state.in_use" not in required_arrays(model)


def test_topics_in_use_are_among_those_in_training(model):
    if "_state.in_use" not in required_arrays(model):
        return
    state = model._state
    halves = {"topic_weights": state.topic_weights[:2], "doc_topic_prior": state.doc_topic_prior[:2]}
    for columns in ([-1, 1], [0, 2**31 - 1], [1, 0], [0, 0]):
        damaged = copy.copy(model)
        damaged._state = replace(state, in_use=np.array(columns), **halves)
        check_refused(damaged, "in_use must have ascending numbers", columns)


def test_proportions_are_those_of_all_topics_in_use():
    model = new(OnlineEMHDP(5, max_births=3)).fit(X)
    for name, declared in required_arrays(model).items():
        if declared.axes[0] == "born":
            set_attribute(model, name, all_attributes(model)[name][:1])
    check_refused(model, "proportions cover 1 of the [0-9]+ topics", "")


def test_values_that_are_not_finite_raise(model):
    arrays = required_arrays(model)
    name = next(name for name, field in arrays.items() if field.axes == ("features", "topics"))
    for value in (np.nan, np.inf):
        damaged = copy.deepcopy(model)
        all_attributes(damaged)[name][:] = value
        for call in (damaged.transform, damaged.score):
            with pytest.raises(ValueError, match="not finite"):
                call(X)
