"""Whether fitted arrays fit together: kernels trust them, and files can be damaged."""

from math import isfinite
from numbers import Integral, Real
from types import NoneType

import numpy as np

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
# What fitted values that are no arrays can be.
COUNT, NUMBER, OPTIONAL_NAME = Integral, Real, (str, NoneType)


def check_fitted_arrays(model):
    """Raise ValueError for fitted arrays of other types or sizes than the model's class declares.

    ``_fitted_arrays`` of the class has, for each name, the dtype and then the sizes: numbers, or names such
    as "topics" that stand for the same number everywhere. "features" is n_features_in_, "components"
    n_components_. A name with a question mark may be zero instead, and None is any number.
    """
    sizes = {"features": getattr(model, "n_features_in_", None)}
    if "n_components_" in vars(model):
        sizes["components"] = model.n_components_
    arrays = vars(model)
    optional = {name: wanted for name, wanted in model._optional_arrays.items() if name in arrays}
    for name, (dtype, *shape) in (model._fitted_arrays | optional).items():
        array = arrays.get(name)
        if not isinstance(array, np.ndarray):
            raise damaged(model, f"{name} is {type(array).__name__}, no array")
        if array.dtype != dtype or not _fits(array.shape, shape, sizes):
            wanted = ", ".join(f"{size}={sizes[size]}" if size in sizes else str(size) for size in shape)
            raise damaged(model, f"{name} is {array.dtype} {array.shape}, where {dtype} ({wanted}) is needed")
    for name in ("features", "components", "topics"):
        if sizes.get(name) == 0:  # kernels divide by these
            raise damaged(model, f"it has no {name}")
    n_components, n_topics = sizes.get("components", 0), sizes.get("topics")
    if n_topics is not None and n_components > n_topics:
        raise damaged(model, f"n_components_ is {n_components}, of {n_topics} topics in training")


def fitted_names(model):
    """The names of all attributes that training sets."""
    declared = model._fitted_arrays.keys() | model._optional_arrays.keys() | model._fitted_values.keys()
    return declared | {"feature_names_in_", "_topic_names"}


def check_fitted_values(model):
    """Raise ValueError for fitted numbers and strings of other types than ``_fitted_values`` declares."""
    for name, kind in model._fitted_values.items():
        value = getattr(model, name, None)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise damaged(model, f"{name} is {value!r:.40}")
        if kind is COUNT and not 0 <= value < 2**63:
            raise damaged(model, f"{name} is {value}, where a number from 0 to 2**63 - 1 is needed")
        if kind is NUMBER and not isfinite(value):
            raise damaged(model, f"{name} is {value}")


def damaged(model, what):
    """The ValueError that says what is wrong with the fitted state of a model."""
    return ValueError(
        f"the fitted state of this {type(model).__name__} is damaged: {what}. Load it from a file that is "
        "whole, or call fit."
    )


def _fits(found, wanted, sizes):
    """Whether sizes are the wanted ones; a name that has no number yet gets the one that is found."""
    if len(found) != len(wanted):
        return False
    for size, want in zip(found, wanted):
        if type(want) is str:
            if want[-1] == "?":
                want = sizes[want[:-1]] if size else 0
            else:
                want = sizes.setdefault(want, size)
        if want is not None and size != want:
            return False
    return True
