"""Fitted attributes that users read, each defined by a field of the state."""

from operator import attrgetter
from typing import Any

import numpy as np

from sktopic._runtime._arrays import read_only_view


class FittedAttribute:
    """A field of the state as a read-only attribute of the estimator, absent if the field is None.

    Parameters
    ----------
    field : its name in ``_state``, or a path such as "words.scale"
    absent : why the field of a fitted model is None, for the message
    """

    def __init__(self, field, absent):
        self._read = attrgetter(field)
        self._absent = absent

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, model, owner=None):
        if model is None:
            return self
        state = model._state
        value = None if state is None else self._read(state)
        if value is None:
            advice = "call fit first" if state is None else self._absent
            # No full stop, since Python may add ". Did you mean ...?".
            raise AttributeError(f"this {type(model).__name__} has no {self._name}: {advice}")
        if not isinstance(value, np.ndarray):
            return value
        return read_only_view(value)  # users change neither its numbers nor the shape that kernels trust

    def __set__(self, model, value):
        raise AttributeError(f"{self._name} of {type(model).__name__} is read-only: only training sets it.")


def fitted(field, absent="training did not set it") -> Any:
    """``n_iter_ = fitted("n_iter")`` makes n_iter_ the field n_iter of the state."""
    return FittedAttribute(field, absent)
