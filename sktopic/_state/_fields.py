"""State: a frozen dataclass of arrays and numbers, whose fields say what they are.

All that is the same for every state (checks, copies, files, edits of topics, messages between workers) is a
function over fields, here; a class of states adds no method for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any

import numpy as np

from sktopic._runtime._arrays import by_blocks, rows_and_more

# The key of the declaration in the metadata of a field.
DECLARED = "state"


@dataclass(frozen=True)
class ArrayField:
    """Declaration of an array.

    Attributes
    ----------
    dtype : of the array
    axes : its sizes: numbers, or names such as "topics" that stand for the same number everywhere; with a
        question mark, the axis may be empty instead
    optional : whether it may be None
    merge : function (edit, array) that returns the array after a TopicEdit; None if it has no axis of topics
    """

    dtype: np.dtype
    axes: tuple[int | str, ...]
    optional: bool = False
    merge: Callable[[Any, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True)
class NumberField:
    """Declaration of a finite number."""


@dataclass(frozen=True)
class SizeField:
    """Declaration of the size of an axis, which arrays of a part of it do not tell."""

    axis: str


@dataclass(frozen=True, eq=False)
class State:
    """Base class of states. Arrays may be changed in place by the one trainer that owns them."""


def array(dtype, *axes, optional=False, merge=None) -> Any:
    """A field that is an array (see ArrayField); an optional one is None unless it is given."""
    declared = ArrayField(np.dtype(dtype), axes, optional, merge)
    if optional:
        return field(default=None, metadata={DECLARED: declared})
    return field(metadata={DECLARED: declared})


def number() -> Any:
    """A field that is a finite number."""
    return field(metadata={DECLARED: NumberField()})


def size(axis) -> Any:
    """A field that is the size of an axis."""
    return field(metadata={DECLARED: SizeField(axis)})


def total(edit, array):
    """Topics that are merged have the sums of theirs."""
    return edit.sums(array)


def those_left(edit, array):
    """Topics that are merged have what the first of them has."""
    return edit.left(array)


@cache
def array_fields(kind):
    """The declarations of the arrays of a class of states, by name."""
    return _declared(kind, ArrayField)


@cache
def number_names(kind):
    """The names of the numbers of a class of states."""
    return list(_declared(kind, NumberField))


@cache
def size_fields(kind):
    """The axes whose sizes are fields of a class of states, by the names of these."""
    return {name: declared.axis for name, declared in _declared(kind, SizeField).items()}


def _declared(kind, sort):
    found = {each.name: each.metadata[DECLARED] for each in fields(kind)}
    return {name: declared for name, declared in found.items() if isinstance(declared, sort)}


def arrays_of(state):
    """The arrays that a state has, by name."""
    found = {name: getattr(state, name) for name in array_fields(type(state))}
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def numbers_of(state):
    """The numbers of a state, by name."""
    return {name: getattr(state, name) for name in number_names(type(state))}


def changed_arrays(state, change):
    """The state with change(array) in the place of each array."""
    return replace(state, **{name: change(array) for name, array in arrays_of(state).items()})


def duplicate(state):
    """The state in arrays of its own."""
    return changed_arrays(state, partial(by_blocks, np.copy))


def writable(state):
    """The state on arrays that can be written to: copies of those that a memory map protects."""
    return changed_arrays(state, lambda array: np.require(array, requirements="W"))


def edited(state, edit):
    """The state after a TopicEdit, in arrays of its own."""
    declared = array_fields(type(state))
    found = arrays_of(state).items()
    return replace(
        state, **{name: declared[name].merge(edit, array) for name, array in found if declared[name].merge}
    )


def grown(state, n_words):
    """The state with so many words more, of which nothing is known; no array is changed in place."""
    declared, changes = array_fields(type(state)), {}
    for name, array in arrays_of(state).items():
        first = declared[name].axes[0]
        if first == "features" or (first == "features?" and len(array)):
            changes[name] = rows_and_more(array, n_words)
    for name, axis in size_fields(type(state)).items():
        if axis == "features":
            changes[name] = getattr(state, name) + n_words
    return replace(state, **changes)
