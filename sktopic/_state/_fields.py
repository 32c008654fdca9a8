"""State: a frozen dataclass of arrays and numbers, whose fields say what they are.

A field may be a state of its own: its fields are then known by both names, "words.store". All that is the
same for every state (checks, copies, files, edits of topics, messages between workers) is a function over
fields, here; a class of states adds no method for it.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from typing import Any

import numpy as np

from sktopic._runtime._arrays import by_blocks, rows_and_more
from sktopic._runtime._attributes import twin

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
    axes: tuple[int | str | None, ...]
    optional: bool = False
    merge: Callable[[Any, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True)
class ValueField:
    """Declaration of a value that is no array.

    Attributes
    ----------
    kind : "number" (finite), "count" (an integer from 0 on) or "name" (a string or None)
    """

    kind: str


@dataclass(frozen=True)
class SizeField:
    """Declaration of the size of an axis, which arrays of a part of it do not tell."""

    axis: str


@dataclass(frozen=True)
class PartField:
    """Declaration of a state inside another.

    Attributes
    ----------
    kind : its class
    optional : whether it may be None
    """

    kind: type
    optional: bool


@dataclass(frozen=True, eq=False)
class State:
    """Base class of states. Arrays may be changed in place by the one trainer that owns them.

    A model file has all fields of a state but optional arrays and parts, so any other new field makes older
    files unreadable (see `_model_files.FORMAT`).
    """

    def check(self):
        """Raise ValueError if parts of the state do not fit together."""


def array(dtype, *axes, optional=False, merge=None, starts_empty=False) -> Any:
    """A field that is an array (see ArrayField).

    An optional array is None unless it is given. With starts_empty, an array of one axis is empty then.
    """
    declared = ArrayField(np.dtype(dtype), axes, optional, merge)
    if starts_empty:
        return field(default_factory=partial(np.empty, 0, dtype), metadata={DECLARED: declared})
    return _field(declared, None if optional else MISSING)


def number(start=MISSING) -> Any:
    """A field that is a finite number; start: the number before training, if it is always the same."""
    return _field(ValueField("number"), start)


def count(start=MISSING) -> Any:
    """A field that is an integer from 0 on; start: as in `number`."""
    return _field(ValueField("count"), start)


def name() -> Any:
    """A field that is a string or None, which it is unless it is given."""
    return _field(ValueField("name"), None)


def size(axis) -> Any:
    """A field that is the size of an axis."""
    return _field(SizeField(axis))


def part(kind, optional=False) -> Any:
    """A field that is a state; an optional one is None unless it is given."""
    return _field(PartField(kind, optional), None if optional else MISSING)


def _field(declared, start=MISSING):
    return field(default=start, metadata={DECLARED: declared})


def total(edit, array):
    """Topics that are merged have the sums of theirs."""
    return edit.sums(array)


def those_left(edit, array):
    """Topics that are merged have what the first of them has."""
    return edit.left(array)


# What a class declares


@cache
def _own(kind, sort):
    """The declarations of one sort of the fields of a class, without those of its parts, by name."""
    found = {each.name: each.metadata.get(DECLARED) for each in fields(kind)}
    return {name: declared for name, declared in found.items() if isinstance(declared, sort)}


@cache
def _declared(kind, sort):
    """The declarations of one sort, those of parts too, by the names that `arrays_of` has."""
    found = dict(_own(kind, sort))
    for name, declared in _own(kind, PartField).items():
        found |= {f"{name}.{inner}": each for inner, each in _declared(declared.kind, sort).items()}
    return found


def array_fields(kind):
    """The ArrayField of all arrays of a class of states, by name."""
    return _declared(kind, ArrayField)


def value_fields(kind):
    """The ValueField of all numbers, counts and names of a class of states, by name."""
    return _declared(kind, ValueField)


@cache
def optional_fields(kind):
    """The names of arrays that may be None, and of all fields of parts that may."""
    found = {name for name, declared in _own(kind, ArrayField).items() if declared.optional}
    for name, declared in _own(kind, PartField).items():
        inner = optional_fields(declared.kind)
        if declared.optional:
            inner = array_fields(declared.kind).keys() | value_fields(declared.kind).keys()
        found |= {f"{name}.{each}" for each in inner}
    return found


# What a state has


def _parts(state):
    """The parts that a state has, by name."""
    found = {name: getattr(state, name) for name in _own(type(state), PartField)}
    return {name: each for name, each in found.items() if each is not None}


@cache
def _paths(kind, sort):
    """The fields of one sort by parts: names of the parts that lead there, and pairs of a field's name as in
    `_declared` and its own."""
    paths = {}
    for name in _declared(kind, sort):
        *parts, own = name.split(".")
        paths.setdefault(tuple(parts), []).append((name, own))
    return tuple(paths.items())


def _found(state, sort):
    """What a state has in fields of one sort, those of parts too, by name."""
    found = {}
    for parts, names in _paths(type(state), sort):
        holder = state
        for each in parts:
            holder = None if holder is None else getattr(holder, each)
        if holder is not None:
            for name, own in names:
                found[name] = getattr(holder, own)
    return found


def arrays_of(state):
    """The arrays that a state has, by name."""
    found = _found(state, ArrayField)
    return {name: array for name, array in found.items() if array is not None}


def values_of(state):
    """The numbers, counts and names of a state, by name."""
    return _found(state, ValueField)


def sizes_of(state):
    """The sizes of axes that a state has fields for, by name."""
    return _found(state, SizeField)


def state_of(kind, found, sizes):
    """The state that has these arrays and values, as `arrays_of` and `values_of` name them.

    found : dict of these; what is not there is None, and so is an optional part of which nothing is there
    sizes : of axes, by their names
    """
    values = {name: found.get(name) for sort in (ArrayField, ValueField) for name in _own(kind, sort)}
    values |= {name: sizes[declared.axis] for name, declared in _own(kind, SizeField).items()}
    for name, declared in _own(kind, PartField).items():
        start = f"{name}."
        inner = {key.removeprefix(start): value for key, value in found.items() if key.startswith(start)}
        is_there = bool(inner) or not declared.optional
        values[name] = state_of(declared.kind, inner, sizes) if is_there else None
    return kind(**values)


# What becomes of a state


def changed(state, **changes):
    """dataclasses.replace for states, many an update: a fifth of its time, as no __init__ is run."""
    known = state.__dataclass_fields__.keys()
    if not known >= changes.keys():
        raise TypeError(f"{type(state).__name__} has no fields {sorted(changes.keys() - known)}.")
    return twin(state, **changes)


def changed_arrays(state, change):
    """The state with change(array) in the place of each array."""
    own = {name: getattr(state, name) for name in _own(type(state), ArrayField)}
    changes = {name: change(array) for name, array in own.items() if isinstance(array, np.ndarray)}
    changes |= {name: changed_arrays(each, change) for name, each in _parts(state).items()}
    return changed(state, **changes)


def duplicate(state):
    """The state in arrays of its own."""
    return changed_arrays(state, partial(by_blocks, np.copy))


def writable(state):
    """The state on arrays that can be written to: copies of those that a memory map protects."""
    return changed_arrays(state, lambda array: np.require(array, requirements="W"))


def edited(state, edit):
    """The state after a TopicEdit, in arrays of its own; its parts stay what they are."""
    changes = {
        name: declared.merge(edit, getattr(state, name))
        for name, declared in _own(type(state), ArrayField).items()
        if declared.merge is not None and getattr(state, name) is not None
    }
    return changed(state, **changes)


def grown(state, n_words):
    """The state with so many words more, of which nothing is known; no array is changed in place."""
    changes = {}
    for name, declared in _own(type(state), ArrayField).items():
        first, array = declared.axes[0], getattr(state, name)
        if array is not None and (first == "features" or (first == "features?" and len(array))):
            changes[name] = rows_and_more(array, n_words)
    for name, declared in _own(type(state), SizeField).items():
        if declared.axis == "features":
            changes[name] = getattr(state, name) + n_words
    changes |= {name: grown(each, n_words) for name, each in _parts(state).items()}
    return changed(state, **changes)
