"""Fitted arrays that are damaged, as in a pickle from elsewhere: an error or a finite answer, never a crash.

A case is (estimator, array, damage, method). The arrays end where memory ends, so that a kernel which goes
beyond one of them is killed at once; the failure that says "SIGSEGV" names the case.
"""

import pickle
import random

import numpy as np
import pytest

from sktopic.inspection import name_topics

from .tools import (
    MODELS,
    VARIANTS,
    all_attributes,
    corpus,
    delete_attribute,
    failures,
    fitted_state,
    guarded,
    new,
    outcome,
    set_attribute,
    share,
)

X = corpus()
HUGE = 2**62


def _with_values(array, value):
    array = np.array(array)
    if array.dtype.kind in "iu":
        value = np.clip(value, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
    if array.size:
        with np.errstate(all="ignore"):
            array.flat[array.size // 2] = value
    return array


def _cast(dtype):
    def cast(array):
        with np.errstate(all="ignore"):
            return array.astype(dtype)

    return cast


SHAPES = {
    "a row less": lambda array: array[:-1],
    "a row more": lambda array: np.concatenate([array, array[-1:]]),
    "no rows": lambda array: array[:0],
    "a column less": lambda array: np.ascontiguousarray(array[..., :-1]),
    "a column more": lambda array: np.concatenate([array, array[..., -1:]], axis=-1),
    "100 times as long": lambda array: np.concatenate([array] * 100),
    "transposed": lambda array: array.T,
    "transposed copy": lambda array: np.ascontiguousarray(array.T),
    "flat": np.ravel,
    "one dimension more": lambda array: array[None],
    "a scalar": lambda array: np.float64(1.0),
    "every second": lambda array: np.repeat(array, 2, axis=0)[::2],
    "None": lambda array: None,
    "a list": lambda array: array.tolist(),
    "missing": None,
}
DTYPES = {
    dtype: _cast(dtype)
    for dtype in ("float32", "int32", "int64", "uint8", "bool", "complex128", "object", "str", ">f8")
}
NUMBERS = {
    "NaN": lambda array: _with_values(array, np.nan),
    "infinite": lambda array: _with_values(array, np.inf),
    "negative": lambda array: _with_values(array, -1.0),
    "huge": lambda array: _with_values(array, 1e300),
    "zeros": np.zeros_like,
}
INDICES = {
    "-1": lambda array: _with_values(array, -1),
    "huge": lambda array: _with_values(array, HUGE),
    "hugely negative": lambda array: _with_values(array, -HUGE),
    "one too large": lambda array: _with_values(array, array.max(initial=0) + 1),
    "twice the same": lambda array: _with_values(array, array.ravel()[0] if array.size else 0),
}
SCALARS = {"negative": -1, "huge": HUGE, "zero": 0, "NaN": float("nan"), "None": None, "a string": "x"}
METHODS = (
    "transform",
    "word_topics",
    "sample_proportions",
    "score",
    "partial_fit",
    "components_",
    "elbo",
    "predict_mixture",
)


def damages_of(value):
    """Names of what can be done to a fitted attribute."""
    if not isinstance(value, np.ndarray):
        return SCALARS
    if value.dtype.names is not None:
        return SHAPES
    return {**SHAPES, **DTYPES, **(NUMBERS if value.dtype.kind == "f" else INDICES)}


def fitted(name):
    """A fitted model; of variants, one with a topic that is frozen and named."""
    model = new(name, batch_size=50).fit(X)
    if name in VARIANTS and hasattr(model, "freeze_topics") and not getattr(model, "average", False):
        name_topics(model.freeze_topics([0]), {0: "frozen"})
    return model


def cases_of(name):
    """All cases, or a random part of them."""
    cases = [
        (name, attribute, damage, method)
        for attribute, value in fitted_state(fitted(name)).items()
        for damage in damages_of(value)
        for method in METHODS
    ]
    n_cases = min(len(cases), share(0.15))
    return random.Random(0).sample(cases, n_cases)


_originals = {}


def use_damaged(name, attribute, damage, method):
    """Runs in a child process; errors are the right answer, so is a finite one."""
    if name not in _originals:
        _originals[name] = pickle.dumps(fitted(name))
    model = pickle.loads(_originals[name])
    if not hasattr(model, method):
        return
    value = all_attributes(model)[attribute]
    is_array = isinstance(value, np.ndarray)
    exchanged = damage.startswith("transposed") and value.shape == value.T.shape
    if damage == "missing":
        delete_attribute(model, attribute)
    elif is_array:
        set_attribute(model, attribute, damages_of(value)[damage](value))
    else:
        set_attribute(model, attribute, SCALARS[damage])
    for name, value in all_attributes(model).items():
        if isinstance(value, np.ndarray):
            set_attribute(model, name, guarded(value))
    # Numbers that are wrong but of the right kind may give wrong numbers.
    numbers_are_right = is_array and damage in (SHAPES | DTYPES) and not exchanged
    for use in (
        lambda: answer_of(model, method),
        lambda: answer_of(pickle.loads(pickle.dumps(model)), method),
    ):
        answer, error = outcome(use)
        assert not isinstance(error, MemoryError), f"a damaged size was trusted: {error}"
        if error is None and numbers_are_right:
            assert np.isfinite(answer).all(), "the answer is not finite"


def answer_of(model, method):
    with np.errstate(all="ignore"):
        if method == "components_":
            return model.components_
        if method == "partial_fit":
            return model.partial_fit(X).transform(X)
        if method == "word_topics":
            return model.word_topics(X)[1]
        if method == "sample_proportions":
            return model.sample_proportions(X, 2)
        return getattr(model, method)(X)


@pytest.mark.parametrize("name", MODELS)
def test_damaged_state_never_crashes(name):
    found = failures(use_damaged, cases_of(name))
    assert not found, "\n".join(found)
