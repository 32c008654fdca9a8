"""One estimator in several threads: one training call at a time, and readers that see complete states.

The locks and caches are stored outside the estimator, so copies and pickles do not contain them.
"""

import os
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from operator import is_
from typing import NamedTuple, TypeVar, cast
from weakref import ref

import numpy as np

from sktopic._estimators._fitted_state import FITTED, check_arrays
from sktopic._runtime._arrays import read_only_view
from sktopic._runtime._attributes import attributes_of, set_attributes, twin
from sktopic._runtime._interrupt import complete_or_undone, uninterrupted
from sktopic._state._fields import State, arrays_of, changed_arrays, duplicate

# fit, partial_fit and other methods that change a fitted model.
Method = TypeVar("Method", bound=Callable[..., object])
# Types of fitted attributes.
PLAIN = np.ndarray, State, np.generic, int, float, str, type(None)
# Parameters of these types, and tuples of them, are immutable and stay valid.
UNCHANGING = int, float, str, bool, type(None)
# How messages call private attributes.
PRIVATE = {"_state": "its fitted state", "_topic_names": "names of topics"}
# Stands for the value of an attribute that is deleted.
DELETED = object()


class TrainingCall(NamedTuple):
    """A call of a method that trains an estimator: its thread, its name, and its parameters at the start."""

    thread: int
    method: str
    parameters: dict[str, object]


@dataclass(eq=False)
class Guard:
    """Locks and caches of one estimator, shared by threads.

    Attributes
    ----------
    owner : weak reference to the estimator
    training : held for the length of a training call
    changing : held while the fitted state is changed or copied
    running : the current training call, set after its parameters are read
    last_call : the last training call
    readers : weak references to snapshots that share arrays with the estimator
    components : topic-word probabilities and the attributes they belong to, if computed
    answering : the Inference of the present state and the attributes it belongs to, if computed
    settings : immutable parameters that a reader found valid, or None
    """

    owner: ref
    training: object = field(default_factory=threading.Lock)
    changing: object = field(default_factory=threading.RLock)
    running: TrainingCall | None = None
    last_call: TrainingCall | None = None
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
        """Whether the calling thread trains the estimator, so that nothing changes before it continues."""
        return self.running is not None and self.running.thread == threading.get_ident()


# By the id of the estimator, because its class may define equality.
_guards: dict[int, Guard] = {}
_adding = threading.RLock()  # since a signal handler may add one, too, in the thread that holds it


def _forget_locks():
    """Start without locks in a forked process, which has none of the threads that hold them."""
    global _guards, _adding
    _guards, _adding = {}, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def _guard_of(model):
    guard = _guards.get(id(model))
    if guard is None:
        with _adding:
            number, forget = id(model), _guards.pop  # bound here: globals are gone when the interpreter ends
            guard = _guards.setdefault(number, Guard(ref(model, lambda _: forget(number, None))))
    return guard


def trains(method: Method) -> Method:
    """Decorator of methods that change the fitted state: only one such call of an object at a time.

    Parameters cannot be set during the call (see `check_assignment`). Locks are entered by ``with`` only,
    which a signal cannot interrupt halfway. A call that ends in an exception releases them.
    """

    @wraps(method)
    def call(self, *args, **kwargs):
        guard = _guard_of(self)
        last_call = guard.last_call
        if not guard.training.locked():
            with guard.training:
                if guard.last_call is last_call:
                    call = TrainingCall(threading.get_ident(), method.__name__, _parameters_of(self))
                    guard.last_call = guard.running = call
                    try:
                        with updating(self):
                            if guard.in_use():  # readers keep the present arrays
                                _give_own_arrays(self)
                                guard.readers = []
                        return method(self, *args, **kwargs)
                    finally:
                        guard.running = None
        raise RuntimeError(
            f"this {type(self).__name__} is being trained by another call. Wait for its end, or "
            "train a copy (sklearn.base.clone, copy.deepcopy)."
        )

    return cast(Method, call)


def fits(method: Method) -> Method:
    """`trains` for methods that fit from scratch: an Exception restores the earlier fitted state.

    A fit creates its own arrays, so references keep the earlier state. KeyboardInterrupt does not restore it.
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
    """Raise RuntimeError if an attribute that training reads is set or deleted during training.

    This concerns all parameters, and fitted attributes unless the training thread sets them.
    """
    guard = _guards.get(id(model))
    call = None if guard is None else guard.running
    if call is None:
        return
    is_parameter = name in model._parameter_constraints
    if not is_parameter and call.thread == threading.get_ident():  # checked first for speed
        return
    is_read = is_parameter or name in FITTED
    if is_read and getattr(model, name, DELETED) is not value:
        raise _set_in_training(model, name, value, call)


def check_parameters(model):
    """Raise RuntimeError if parameters have changed since the training call began."""
    call, attributes = _guard_of(model).running, attributes_of(model)
    parameters = call.parameters
    if not all(map(is_, map(attributes.get, parameters), parameters.values())):
        name = next(name for name, value in parameters.items() if attributes.get(name) is not value)
        raise _set_in_training(model, name, attributes.get(name), call)


def _set_in_training(model, name, value, call):
    owner, method = type(model).__name__, call.method
    what = PRIVATE.get(name, name if value is DELETED else f"{name}={value!r:.40}")
    change = f"{what} cannot be {'deleted' if value is DELETED else 'set'}"
    return RuntimeError(
        f"{change} while {method} of this {owner} is running. Do so before or after the call, or on a copy "
        "(sklearn.base.clone, copy.deepcopy)."
    )


def _give_own_arrays(model):
    """Copy the arrays of the state, so that training changes no shared arrays in place."""
    if isinstance(model._state, State):
        model._state = duplicate(model._state)


def changing(model):
    """Drop cached results and return the lock to hold while the fitted state changes."""
    guard = _guard_of(model)
    guard.components = guard.answering = None
    return guard.changing


@contextmanager
def updating(model):
    """Change the fitted state in the block, while Ctrl-C and readers wait."""
    with uninterrupted(), changing(model):
        yield


def take_over(model, other):
    """Take over the fitted attributes of another estimator; keep attributes that a user has set."""
    with updating(model):
        set_attributes(model, attributes_of(other), FITTED)


def snapshot(model):
    """Return an estimator with the present fitted state, which does not change while it is read.

    It shares the arrays, unless another thread trains the estimator. A training call that begins while a
    snapshot is in use copies them. In the training thread, a snapshot is valid until training continues.
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
    """Whether the calling thread trains the model, so that the next update changes snapshots."""
    return _guard_of(model).trained_here()


def copied(model):
    """Return an estimator with copies of the arrays of the present fitted state."""
    taken = snapshot(model)
    _give_own_arrays(taken)
    return taken


def state_to_pickle(model, getstate):
    """Return getstate(), with a fitted state that training does not change during pickling."""
    guard = _guard_of(model)
    with guard.changing:
        attributes = getstate().copy()  # others may set attributes meanwhile
        state = attributes.get("_state")
        if isinstance(state, State) and guard.training.locked():
            attributes["_state"] = duplicate(state)
        elif isinstance(state, State):
            # Read-only, since buffers of a pickle may become arrays of other models, which train on copies.
            attributes["_state"] = lent = changed_arrays(state, read_only_view)
            guard.lend(*(array for array in arrays_of(lent).values() if isinstance(array, np.ndarray)))
    return attributes


def check_settings_once(model, settings, check):
    """Call check(), unless a reader of the model has found the same settings (a dict) valid before."""
    guard = _guard_of(model)
    known = guard.settings or {}
    if _are_same(known, settings):
        return
    check()
    guard.settings = settings if all(map(_is_unchanging, settings.values())) else None


def _is_unchanging(value):
    return type(value) in UNCHANGING or (type(value) is tuple and all(map(_is_unchanging, value)))


def kept_answering(model, prepare):
    """Return prepare() of the present state, computed once per state.

    The result has the attributes ``model`` (a snapshot) and ``settings`` (a dict of parameters). It is not
    cached if settings are mutable, or if attributes may refer to the model.
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
            if not guard.training.locked():  # otherwise the next update would change it
                guard.answering = answering, state
    return answering


def _is_plain(value):
    return isinstance(value, PLAIN) or _is_unchanging(value)


def _are_same(attributes, others):
    return list(attributes) == list(others) and all(map(is_, attributes.values(), others.values()))


def kept_components(model, compute):
    """Return compute(snapshot) of the present state, a read-only array computed once per state."""
    guard = _guard_of(model)
    kept = guard.components
    if kept is None or not _has(model, kept[1]):
        taken = snapshot(model)
        components = compute(taken)
        components.flags.writeable = False
        # Attributes of other types, set by users, are not held: they might refer to the model.
        state = {name: value for name, value in attributes_of(taken).items() if isinstance(value, PLAIN)}
        kept = components.view(), state  # a view cannot be made writable
        with guard.changing:
            if _has(model, state):
                guard.components = kept
    return kept[0]


def _has(model, state):
    """Whether the model's attributes are those in state. Snapshots taken in training have others."""
    attributes = attributes_of(model)
    return all(attributes.get(name) is value for name, value in state.items())


class Training:
    """A trainer's access to an estimator: read the state, and set the next one.

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
        """Raise an error if other code has set parameters, the state, or sizes of its arrays."""
        model = self._model
        check_parameters(model)
        if model._state is not self._state:
            value = DELETED if model._state is None else model._state
            raise _set_in_training(model, "_state", value, _guard_of(model).running)
        check_arrays(model)

    def changing(self):
        """Return the lock to hold while the state changes, so that readers wait."""
        return changing(self._model)

    def complete_or_undone(self, *, waits):
        """Context manager of a block that sets the state completely or restores the earlier state.

        waits : whether Ctrl-C waits for the end of the block instead of stopping it
        """
        return complete_or_undone(self._model, waits=waits)
