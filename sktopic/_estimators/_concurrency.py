"""One estimator in several threads: one training call at a time, and readers that see complete states.

What is needed for that is kept beside the estimator, not in it: copies and pickles know nothing of it.
"""

import os
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from operator import is_
from typing import TypeVar, cast
from weakref import ref

import numpy as np

from sktopic._estimators._fitted_state import FITTED, check_arrays
from sktopic._runtime._attributes import attributes_of, set_attributes, twin
from sktopic._runtime._interrupt import complete_or_undone, uninterrupted
from sktopic._state._fields import State, arrays_of, changed_arrays, duplicate

# fit and partial_fit, and what else changes a fitted model.
Method = TypeVar("Method", bound=Callable[..., object])
# What fitted attributes are.
PLAIN = np.ndarray, State, np.generic, int, float, str, type(None)
# Parameters of these types, and tuples of them, stay valid: they cannot change inside.
UNCHANGING = int, float, str, bool, type(None)
# Stands for the value of an attribute that is deleted.
DELETED = object()


@dataclass(eq=False)
class Guard:
    """What threads agree on about one estimator.

    Attributes
    ----------
    owner : weak reference to the estimator
    training : held for the length of a training call
    changing : held while the fitted state is changed or copied
    trainer : number of the thread that trains, if one does
    method, parameters : name of the last training call, and the parameters that it began with
    last_call : stands for the last training call
    readers : weak references to snapshots that share arrays with the estimator
    components : topic-word probabilities, if they have been asked for, and the attributes they are of
    answering : what answers for the present state, if it was asked for, and the attributes it is of
    settings : parameters that were found valid by a reader, and cannot have changed inside; or None
    """

    owner: ref
    training: object = field(default_factory=threading.Lock)
    changing: object = field(default_factory=threading.RLock)
    trainer: int | None = None
    method: str = ""
    parameters: dict[str, object] = field(default_factory=dict)
    last_call: object = None
    readers: list = field(default_factory=list)
    components: tuple[np.ndarray, dict] | None = None
    answering: tuple[object, dict] | None = None
    settings: dict[str, object] | None = None

    def in_use(self):
        """Whether a snapshot that shares arrays is still in use."""
        return any(reader() is not None for reader in self.readers)

    def lend(self, *readers):
        self.readers = [reader for reader in self.readers if reader() is not None]
        self.readers.extend(map(ref, readers))

    def trained_here(self):
        """Whether the calling thread trains the estimator: nothing changes before it goes on."""
        return self.training.locked() and self.trainer == threading.get_ident()


# By the id of the estimator, whatever its class says of equality.
_guards: dict[int, Guard] = {}
_adding = threading.Lock()


def _forget_locks():
    """A forked process has none of the threads that hold locks."""
    global _guards, _adding
    _guards, _adding = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def _guard_of(model):
    guard = _guards.get(id(model))
    if guard is None:
        with _adding:
            number = id(model)
            guard = _guards.setdefault(number, Guard(ref(model, lambda _: _guards.pop(number, None))))
    return guard


def trains(method: Method) -> Method:
    """Decorator of methods that change the fitted state: no two such calls of the object at the same time.

    Nor can parameters be set meanwhile (see `check_assignment`). The locks are entered by ``with`` alone,
    which no signal can cut in two: a call that ends in an exception leaves no mark.
    """

    @wraps(method)
    def call(self, *args, **kwargs):
        guard = _guard_of(self)
        last_call = guard.last_call
        if not guard.training.locked():
            with guard.training:
                if guard.last_call is last_call:
                    guard.last_call, guard.trainer = object(), threading.get_ident()
                    guard.method, guard.parameters = method.__name__, _parameters_of(self)
                    with updating(self):
                        if guard.in_use():  # readers go on with the arrays there are
                            _give_own_arrays(self)
                            guard.readers = []
                    return method(self, *args, **kwargs)
        raise RuntimeError(
            f"this {type(self).__name__} is being trained by another call of a method that changes it, "
            "which must end first; train copies (sklearn.base.clone, copy.deepcopy) side by side."
        )

    return cast(Method, call)


def fits(method: Method) -> Method:
    """`trains`, for methods that fit from scratch: after an Exception the earlier fitted state is back.

    It is kept as references, since a fit sets arrays of its own. KeyboardInterrupt is no Exception.
    """

    @wraps(method)
    def call(self, *args, **kwargs):
        before = attributes_of(self)
        try:
            return method(self, *args, **kwargs)
        except Exception:
            with updating(self):
                set_attributes(self, before, FITTED)
            raise

    return trains(cast(Method, call))


def _parameters_of(model):
    attributes = attributes_of(model)
    return {name: attributes[name] for name in model._parameter_constraints if name in attributes}


def check_assignment(model, name, value=DELETED):
    """Raise RuntimeError for an attribute that is set or deleted while training reads it.

    That is any parameter; and what is fitted, unless the thread that trains sets it.
    """
    guard = _guards.get(id(model))
    if guard is None or not guard.training.locked():
        return
    is_parameter = name in model._parameter_constraints
    if not is_parameter and guard.trainer == threading.get_ident():  # first, as training sets many
        return
    is_read = is_parameter or name in FITTED
    if is_read and getattr(model, name, DELETED) is not value:
        raise _set_in_training(model, name, value)


def check_parameters(model):
    """Raise RuntimeError for parameters that are not those with which the training call began."""
    parameters, attributes = _guard_of(model).parameters, attributes_of(model)
    if not all(map(is_, map(attributes.get, parameters), parameters.values())):
        name = next(name for name, value in parameters.items() if attributes.get(name) is not value)
        raise _set_in_training(model, name, attributes.get(name))


def _set_in_training(model, name, value):
    owner, method = type(model).__name__, _guard_of(model).method
    what = "its fitted state" if name == "_state" else name if value is DELETED else f"{name}={value!r:.40}"
    change = f"{what} cannot be {'deleted' if value is DELETED else 'set'}"
    return RuntimeError(
        f"{change} while {method} of this {owner} is running. Set it before or after the call, or on a copy "
        "(sklearn.base.clone, copy.deepcopy)."
    )


def _give_own_arrays(model):
    """Let the state be one in arrays of its own: training changes no others in place."""
    if isinstance(model._state, State):
        model._state = duplicate(model._state)


def changing(model):
    """The lock to hold while the fitted state is changed; what was computed from that is dropped."""
    guard = _guard_of(model)
    guard.components = guard.answering = None
    return guard.changing


@contextmanager
def updating(model):
    """Change the fitted state in the block, while Ctrl-C and readers wait."""
    with uninterrupted(), changing(model):
        yield


def take_over(model, other):
    """Let what is fitted be that of another estimator; a user may have set other attributes meanwhile."""
    with updating(model):
        set_attributes(model, attributes_of(other), FITTED)


def snapshot(model):
    """An estimator with the present fitted state, which does not change while it is read.

    It shares the arrays, unless another thread trains the estimator, which changes them in place. A training
    call that begins while a snapshot is in use makes its own. In a thread that trains, a snapshot is valid
    until training goes on.
    """
    guard = _guard_of(model)
    with guard.changing:
        taken = twin(model)
        if guard.training.locked() and not guard.trained_here():
            _give_own_arrays(taken)
        else:
            guard.lend(taken)
    return taken


def trained_here(model):
    """Whether the calling thread trains the model: snapshots then change with the next update."""
    return _guard_of(model).trained_here()


def copied(model):
    """An estimator with the present fitted state in arrays of its own."""
    taken = snapshot(model)
    _give_own_arrays(taken)
    return taken


def state_to_pickle(model, getstate):
    """What getstate() says a pickle is to have, such that training does not change it meanwhile."""
    guard = _guard_of(model)
    with guard.changing:
        attributes = getstate().copy()  # others may set attributes meanwhile
        state = attributes.get("_state")
        if isinstance(state, State) and guard.training.locked():
            attributes["_state"] = duplicate(state)
        elif isinstance(state, State):
            attributes["_state"] = lent = changed_arrays(state, np.ndarray.view)
            guard.lend(*(array for array in arrays_of(lent).values() if isinstance(array, np.ndarray)))
    return attributes


def check_settings_once(model, settings, check):
    """check(), unless a reader of the model has found the same settings (a dict) valid before."""
    guard = _guard_of(model)
    known = guard.settings or {}
    if _are_same(known, settings):
        return
    check()
    guard.settings = settings if all(map(_is_unchanging, settings.values())) else None


def _is_unchanging(value):
    return type(value) in UNCHANGING or (type(value) is tuple and all(map(_is_unchanging, value)))


def kept_answering(model, prepare):
    """prepare() of the present state, computed once per state.

    It has a snapshot of the model and that one's settings (a dict) as attributes ``model`` and ``settings``.
    It is not kept where these might change inside, or where an attribute might lead back to the model.
    """
    guard = _guard_of(model)
    with guard.changing:
        kept = guard.answering
        if kept is not None and _are_same(attributes_of(model), kept[1]):
            return kept[0]
    answering = prepare()
    state = attributes_of(answering.model)
    if all(map(_is_unchanging, answering.settings.values())) and all(map(_is_plain, state.values())):
        with guard.changing:
            if not guard.training.locked():  # else the next update would change it
                guard.answering = answering, state
    return answering


def _is_plain(value):
    return isinstance(value, PLAIN) or _is_unchanging(value)


def _are_same(attributes, others):
    return list(attributes) == list(others) and all(map(is_, attributes.values(), others.values()))


def kept_components(model, compute):
    """compute(snapshot) of the present state, a read-only array that is computed once per state."""
    guard = _guard_of(model)
    kept = guard.components
    if kept is None or not _has(model, kept[1]):
        taken = snapshot(model)
        components = compute(taken)
        components.flags.writeable = False
        # Of others, which a user may have set, nothing is held: they might lead back to the model.
        state = {name: value for name, value in attributes_of(taken).items() if isinstance(value, PLAIN)}
        kept = components.view(), state  # a view cannot be made writable
        with guard.changing:
            if _has(model, state):
                guard.components = kept
    return kept[0]


def _has(model, state):
    """Whether the attributes are still the same objects; readers of a model in training get others."""
    attributes = attributes_of(model)
    return all(attributes.get(name) is value for name, value in state.items())


class Training:
    """What a trainer may do with an estimator: read its state, and set the next one.

    Parameters
    ----------
    model : estimator whose training call is running
    """

    def __init__(self, model):
        self._model, self._state = model, model._state

    @property
    def state(self):
        return self._state

    @state.setter
    def state(self, state):
        self._model._state = self._state = state

    def check_undisturbed(self):
        """Raise an error if somebody else has set parameters, the state, or sizes of its arrays."""
        model = self._model
        check_parameters(model)
        if model._state is not self._state:
            raise _set_in_training(model, "_state", DELETED if model._state is None else model._state)
        check_arrays(model)

    def changing(self):
        """The lock to hold while the state is changed, so that readers wait."""
        return changing(self._model)

    def complete_or_undone(self, *, waits, undo=None):
        """Context manager of a block that sets the state: it is complete, or the state is that before.

        waits : whether Ctrl-C waits for the end of the block, and does not stop it
        undo : function that restores what the block has changed inside arrays of that state
        """
        return complete_or_undone(self._model, undo, waits=waits)
