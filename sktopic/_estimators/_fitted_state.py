"""Checks of fitted states. Kernels rely on them, and files can be damaged.

In messages and in files, fields are named as in `sktopic._state`, with the prefix "_state.".
"""

from functools import cache, lru_cache
from math import isfinite
from numbers import Integral, Real
from types import NoneType

import numpy as np

from sktopic._state._fields import (
    array_fields,
    arrays_of,
    optional_fields,
    sizes_of,
    state_of,
    value_fields,
    values_of,
)

# All attributes that training or edits set.
FITTED = "_state", "n_features_in_", "feature_names_in_", "_topic_names"
# Types of fitted values other than arrays.
TYPES = {"count": Integral, "number": Real, "name": (str, NoneType)}


def check_arrays(model):
    """Raise ValueError if arrays of the state differ from the declared types or sizes."""
    state, n_features = model._state, getattr(model, "n_features_in_", None)
    kind, kinds = type(state), kinds_of(type(model))
    if kind not in kinds:
        raise damaged(model, f"_state is {kind.__name__}, not {kinds[0].__name__}")
    if not isinstance(n_features, Integral):
        raise damaged(model, f"n_features_in_ is {n_features!r:.40}")
    for field, value in sizes_of(state).items():
        if value != n_features:
            raise damaged(model, f"_state.{field} is {value!r:.40}")
    found = arrays_of(state)
    layout = tuple([_kind_of(found[name]) if name in found else None for name in array_fields(kind)])
    fault = _fault_in(kind, layout, n_features)
    if fault is not None:
        raise damaged(model, fault)


def kinds_of(cls):
    """Return the classes that the state of an estimator may have."""
    return cls._state_classes or (cls._state_class,)


def check_parts(model):
    """Raise ValueError if parts of the state do not fit together."""
    try:
        model._state.check()
    except ValueError as error:
        raise damaged(model, error) from None


def _kind_of(array):
    """Return dtype and shape of an array, or the name of another type."""
    return (array.dtype, array.shape) if isinstance(array, np.ndarray) else type(array).__name__


@lru_cache(maxsize=128)  # all calls check, usually the same layout
def _fault_in(kind, layout, n_features):
    """Return a description of the first fault in the arrays of a state, or None.

    layout : `_kind_of` each array in the order of the class, None for a missing array
    """
    sizes = {"features": n_features}
    for (name, declared), found in zip(array_fields(kind).items(), layout):
        if found is None and name not in optional_fields(kind):
            found = "NoneType"
        if isinstance(found, str):
            return f"_state.{name} is {found}, not an array"
        if found is not None and (found[0] != declared.dtype or not _fits(found[1], declared.axes, sizes)):
            wanted = ", ".join(
                f"{size}={sizes[size]}" if size in sizes else str(size) for size in declared.axes
            )
            return f"_state.{name} is {found[0]} {found[1]}, where {declared.dtype} ({wanted}) is needed"
    for name in ("features", "components", "topics"):
        if sizes.get(name) == 0:  # kernels divide by these
            return f"it has no {name}"
    n_components, n_topics = sizes.get("components", 0), sizes.get("topics")
    if n_topics is not None and n_components > n_topics:
        return f"n_components_ is {n_components}, of {n_topics} topics in training"
    return None


def _fits(found, wanted, sizes):
    """Whether the sizes match. A size name without a value is set to the size found."""
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


@cache
def declared_arrays(kind):
    """Return the ArrayField of each array of a class of states, by its name in files."""
    return {f"_state.{name}": declared for name, declared in array_fields(kind).items()}


@cache
def declared_values(kind):
    """Return the kind of fitted numbers and strings, "count", "number" or "name", by their names in files."""
    return {"n_features_in_": "count"} | {
        f"_state.{name}": declared.kind for name, declared in value_fields(kind).items()
    }


@cache
def optional_names(kind):
    """Return the names of optional arrays and values."""
    return {f"_state.{name}" for name in optional_fields(kind)}


def fitted_of(model):
    """Return fitted values except names, by the names of `declared_arrays` and `declared_values`."""
    fields = arrays_of(model._state) | values_of(model._state)
    return {"n_features_in_": model.n_features_in_} | {
        f"_state.{name}": each for name, each in fields.items()
    }


def set_fitted(model, found, kind):
    """Set the fitted values from a dict as of `fitted_of`, whose entries are removed; kind: of the state."""
    model.n_features_in_ = found.pop("n_features_in_")
    fields = {name.removeprefix("_state."): each for name, each in found.items()}
    model._state = state_of(kind, fields, {"features": model.n_features_in_})


def check_values(model):
    """Raise ValueError if fitted numbers and strings differ from the declared types."""
    state_class = type(model._state)
    found, optional = fitted_of(model), optional_names(state_class)
    for name, kind in declared_values(state_class).items():
        value = found.get(name)
        if value is None and name in optional:
            continue
        if not isinstance(value, TYPES[kind]) or isinstance(value, bool):
            raise damaged(model, f"{name} is {value!r:.40}")
        if kind == "count" and not 0 <= value <= 2**62:  # to which numbers of the next call can be added
            raise damaged(model, f"{name} is {value}, where a number from 0 to 2**62 is needed")
        if kind == "number" and not isfinite(value):
            raise damaged(model, f"{name} is {value}, where a finite number is needed")


def damaged(model, what):
    """Return the ValueError for a fault in the fitted state of a model."""
    name, fault = type(model).__name__, str(what).rstrip(".")
    return ValueError(
        f"the fitted state of this {name} is damaged: {fault}. Load it from an intact file, or call fit."
    )
