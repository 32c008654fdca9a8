"""Whether fitted arrays fit together: kernels trust them, and files can be damaged."""

from functools import cache, lru_cache
from math import isfinite
from numbers import Integral, Real
from types import NoneType

import numpy as np

from sktopic._state._fields import (
    array_fields,
    arrays_of,
    optional_parts,
    sizes_of,
    state_of,
    value_fields,
    values_of,
)

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
# What fitted values that are no arrays can be.
COUNT, NUMBER, OPTIONAL_NAME = Integral, Real, (str, NoneType)
KINDS = {"count": COUNT, "number": NUMBER, "name": OPTIONAL_NAME}


def check_fitted_arrays(model):
    """Raise ValueError for fitted arrays of other types or sizes than the model's class declares.

    ``_fitted_arrays`` of the class has, for each name, the dtype and then the sizes: numbers, or names such
    as "topics" that stand for the same number everywhere. "features" is n_features_in_, "components"
    n_components_. A name with a question mark may be zero instead, and None is any number. The fields of its
    ``_fitted_states`` say the same of the arrays of states.
    """
    owner, state = type(model), vars(model)
    layout = []
    for name, kind in owner._fitted_states.items():
        held = state.get(name)
        if type(held) is not kind:
            raise damaged(model, f"{name} is {type(held).__name__}, no {kind.__name__}")
        layout += _layout(model, name, kind, held)
    layout += [_kind_of(state.get(name)) for name in owner._fitted_arrays]
    layout += [_kind_of(state[name]) if name in state else None for name in owner._optional_arrays]
    sizes = getattr(model, "n_features_in_", None), state.get("n_components_")
    if not all(isinstance(size, Integral | NoneType) for size in sizes):
        raise damaged(model, f"n_features_in_ and n_components_ are {sizes!r:.40}")
    fault = _fault_in(owner, tuple(layout), *sizes)
    if fault is not None:
        raise damaged(model, fault)


def _layout(model, name, kind, state):
    """The `_kind_of` each array that a class of states declares; None for those that need not be there."""
    optional = optional_arrays(type(model))
    found = arrays_of(state)
    for field, value in sizes_of(state).items():
        if value != getattr(model, "n_features_in_", None):
            raise damaged(model, f"{name}.{field} is {value!r:.40}")
    return [
        None if field not in found and f"{name}.{field}" in optional else _kind_of(found.get(field))
        for field in array_fields(kind)
    ]


def _kind_of(array):
    """Dtype and shape of an array; of anything else, the name of its type."""
    return (array.dtype, array.shape) if isinstance(array, np.ndarray) else type(array).__name__


@lru_cache(maxsize=128)  # every update asks, and hardly anything changes between them
def _fault_in(owner, layout, n_features, n_components):
    """What is wrong with fitted arrays of these kinds, in the order of the class `owner`; None if nothing is.

    layout : of each array, its `_kind_of`; None for one that need not be there, and is not
    """
    sizes = {"features": n_features}
    if n_components is not None:
        sizes["components"] = n_components
    for (name, (dtype, *shape)), kind in zip(declared_arrays(owner).items(), layout):
        if isinstance(kind, str):
            return f"{name} is {kind}, no array"
        if kind is not None and (kind[0] != dtype or not _fits(kind[1], shape, sizes)):
            wanted = ", ".join(f"{size}={sizes[size]}" if size in sizes else str(size) for size in shape)
            return f"{name} is {kind[0]} {kind[1]}, where {dtype} ({wanted}) is needed"
    for name in ("features", "components", "topics"):
        if sizes.get(name) == 0:  # kernels divide by these
            return f"it has no {name}"
    n_components, n_topics = sizes.get("components", 0), sizes.get("topics")
    if n_topics is not None and n_components > n_topics:
        return f"n_components_ is {n_components}, of {n_topics} topics in training"
    return None


@cache
def declared_arrays(owner):
    """Dtype and sizes of all fitted arrays of a class, by name: of those of states, "state.field"."""
    of_states = {
        f"{name}.{field}": (declared.dtype, *declared.axes)
        for name, kind in owner._fitted_states.items()
        for field, declared in array_fields(kind).items()
    }
    return of_states | owner._fitted_arrays | owner._optional_arrays


@cache
def optional_arrays(owner):
    """The names of those that need not be there."""
    found = set(owner._optional_arrays)
    for name, kind in owner._fitted_states.items():
        parts = tuple(f"{part}." for part in optional_parts(kind))
        for field, declared in array_fields(kind).items():
            if declared.optional or field.startswith(parts):
                found.add(f"{name}.{field}")
    return found


@cache
def fitted_values(owner):
    """Of all fitted numbers and strings of a class, by name: what they can be, and whether they may lack."""
    found = {name: (kind, False) for name, kind in owner._fitted_values.items()}
    for name, kind in owner._fitted_states.items():
        parts = tuple(f"{part}." for part in optional_parts(kind))
        for field, declared in value_fields(kind).items():
            found[f"{name}.{field}"] = KINDS[declared.kind], field.startswith(parts)
    return found


def fitted_of(owner, attributes):
    """All that training has set, by the names of `declared_arrays` and `fitted_values`, from attributes."""
    declared = owner._fitted_arrays | owner._optional_arrays | owner._fitted_values
    found = {name: attributes[name] for name in declared if name in attributes}
    for name in owner._fitted_states:
        fields = arrays_of(attributes[name]) | values_of(attributes[name])
        found |= {f"{name}.{field}": value for field, value in fields.items()}
    return found


def attributes_of(owner, found):
    """The attributes that `fitted_of` has found these in."""
    states = tuple(f"{name}." for name in owner._fitted_states)
    attributes = {name: value for name, value in found.items() if not name.startswith(states)}
    for name, kind in owner._fitted_states.items():
        start = f"{name}."
        fields = {key.removeprefix(start): value for key, value in found.items() if key.startswith(start)}
        attributes[name] = state_of(kind, fields, {"features": found.get("n_features_in_")})
    return attributes


def fitted_names(model):
    """The names of all attributes that training sets."""
    declared = (
        model._fitted_states.keys()
        | model._fitted_arrays.keys()
        | model._optional_arrays.keys()
        | model._fitted_values.keys()
    )
    return declared | {"feature_names_in_", "_topic_names"}


def check_fitted_values(model):
    """Raise ValueError for fitted numbers and strings of other types than the class declares."""
    found = fitted_of(type(model), vars(model))
    for name, (kind, may_lack) in fitted_values(type(model)).items():
        value = found.get(name)
        if value is None and may_lack:
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            raise damaged(model, f"{name} is {value!r:.40}")
        if kind is COUNT and not 0 <= value < 2**63:
            raise damaged(model, f"{name} is {value}, where a number from 0 to 2**63 - 1 is needed")
        if kind is NUMBER and not isfinite(value):
            raise damaged(model, f"{name} is {value}, where a finite number is needed")


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
