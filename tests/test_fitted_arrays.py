"""Fitted arrays that do not fit together: an error before a kernel trusts them."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA

from .conftest import all_attributes, set_attribute
from .registry import CLASSES

X = make_bars(30, random_state=0).data
ESTIMATORS = [kind(n_components=3, random_state=0) for kind in CLASSES.values()]
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


# Those in which some topics in training are not in use.
HDPS = [estimator for estimator in ESTIMATORS if "_state.in_use" in declared_arrays(estimator._state_class)]
every_hdp = pytest.mark.parametrize("model", HDPS, indirect=True, ids=name_of)


@pytest.fixture(scope="module", params=ESTIMATORS, ids=name_of)
def model(request):
    estimator = clone(request.param)
    if "max_iter" in estimator.get_params():
        estimator.set_params(max_iter=2)
    return estimator.fit(X)


def required_arrays(model):
    optional = optional_names(model._state_class)
    return {name: kind for name, kind in declared_arrays(model._state_class).items() if name not in optional}


def test_every_fitted_array_is_declared(model):
    arrays = {name for name, value in all_attributes(model).items() if isinstance(value, np.ndarray)}
    assert required_arrays(model).keys() == arrays - optional_names(model._state_class)


@pytest.mark.parametrize("name", ["doc_topic_prior_", "n_batch_iter_", "_seed"])
def test_what_training_has_set_cannot_be_set(name):
    model = OnlineEMLDA(3, random_state=0)
    before = model.partial_fit(X)._state
    with pytest.raises(AttributeError, match=f"{name} of OnlineEMLDA is read-only: only training"):
        setattr(model, name, getattr(model, name))
    assert model._state is before
    with pytest.raises(AttributeError, match=f"OnlineEMLDA has no {name}: call fit first"):
        getattr(clone(model), name)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_array_raises_wherever_it_is_read(model, damage):
    for name, declared in required_arrays(model).items():
        sizes = declared.axes
        if damage in ("shorter", "longer") and sizes[0] is None:
            continue  # any length will do
        if damage == "shorter" and sizes[0] == "born":
            continue  # fewer topics than there are in training are legal
        damaged = copy.deepcopy(model)
        set_attribute(damaged, name, DAMAGES[damage](all_attributes(model)[name]))
        state = dict(vars(damaged))
        message = f"fitted state of this {type(model).__name__} is damaged: "
        for call in (damaged.transform, damaged.score, damaged.partial_fit):
            with pytest.raises(ValueError, match=message):
                call(X)
        with pytest.raises(ValueError, match=message):
            _ = damaged.components_
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(damaged))
        assert all(vars(damaged)[key] is value for key, value in state.items())
        assert damaged.fit(X).transform(X).shape[0] == X.shape[0]  # fit starts anew


def check_without(size, gone, model):
    """Check that a model whose arrays of these sizes are empty is damaged wherever it is read."""
    damaged = copy.deepcopy(model)
    for name, declared in required_arrays(model).items():
        sizes, dtype = declared.axes, declared.dtype
        found = all_attributes(model)[name].shape
        if not gone.isdisjoint(sizes):
            shape = [0 if wanted in gone else n for wanted, n in zip(sizes, found)]
            set_attribute(damaged, name, np.zeros(shape, dtype))
    if size == "features":
        damaged.n_features_in_ = 0
    message = f"fitted state of this {name_of(model)} is damaged: "
    for call in (damaged.transform, damaged.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(X)
    with pytest.raises(ValueError, match="is damaged: "):
        damaged.save("never-written")


@pytest.mark.parametrize("size", ["features", "topics"])
def test_arrays_without_features_or_topics_raise(model, size):
    gone = {"features", "features?"} if size == "features" else {"topics", "topics?", "components"}
    check_without(size, gone, model)


@every_hdp
def test_arrays_without_topics_in_use_raise(model):
    check_without("components", {"components"}, model)


@every_hdp
@pytest.mark.parametrize("columns", [[-1, 1], [0, 2**31 - 1], [1, 0], [0, 0]])
def test_topics_in_use_are_among_those_in_training(model, columns):
    damaged = copy.deepcopy(model)
    weights, prior = damaged._state.topic_weights[:2], damaged._state.doc_topic_prior[:2]
    damaged._state = replace(
        damaged._state, in_use=np.array(columns), topic_weights=weights, doc_topic_prior=prior
    )
    for call in (damaged.transform, damaged.partial_fit):
        with pytest.raises(ValueError, match="damaged: in_use must have ascending numbers"):
            call(X)


def test_values_that_are_not_finite_raise(model):
    arrays = required_arrays(model)
    name = next(name for name, field in arrays.items() if field.axes == ("features", "topics"))
    for value in (np.nan, np.inf):
        damaged = copy.deepcopy(model)
        all_attributes(damaged)[name][:] = value
        for call in (damaged.transform, damaged.score):
            with pytest.raises(ValueError, match="not finite"):
                call(X)
