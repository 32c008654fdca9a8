"""One estimator in several threads: one training call at a time, and readers that see complete states.

What is needed for that is kept beside the estimator, not in it: copies and pickles know nothing of it.
"""

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from weakref import WeakKeyDictionary, ref

import numpy as np

from sktopic._interrupt import uninterrupted


@dataclass(eq=False)
class Guard:
    """What threads agree on about one estimator.

    Attributes
    ----------
    training : held for the length of a training call
    changing : held while the fitted state is changed or copied
    trainer : number of the thread that trains, if one does
    last_call : stands for the last training call
    readers : weak references to snapshots that share arrays with the estimator
    components : topic-word probabilities of the present state, if they have been asked for
    """

    training: object = field(default_factory=threading.Lock)
    changing: object = field(default_factory=threading.RLock)
    trainer: int | None = None
    last_call: object = None
    readers: list = field(default_factory=list)
    components: np.ndarray | None = None

    def in_use(self):
        """Whether a snapshot that shares arrays is still in use."""
        return any(reader() is not None for reader in self.readers)

    def lend(self, *readers):
        self.readers = [reader for reader in self.readers if reader() is not None]
        self.readers.extend(map(ref, readers))

    def trained_elsewhere(self):
        """Whether another thread trains the estimator."""
        return self.training.locked() and self.trainer != threading.get_ident()


_guards = WeakKeyDictionary()
_adding = threading.Lock()


def _begin_anew():
    """A forked process has none of the threads that hold locks."""
    global _guards, _adding
    _guards, _adding = WeakKeyDictionary(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _guard_of(model):
    guard = _guards.get(model)
    if guard is None:
        with _adding:
            guard = _guards.setdefault(model, Guard())
    return guard


def trains(method):
    """Decorator of fit and partial_fit: no second training call of the object at the same time.

    The locks are entered by ``with`` alone, which no signal can cut in two: a call that ends in an exception
    leaves no mark.
    """

    @wraps(method)
    def call(self, X, y=None):
        guard = _guard_of(self)
        last_call = guard.last_call
        if not guard.training.locked():
            with guard.training:
                if guard.last_call is last_call:
                    guard.last_call, guard.trainer = object(), threading.get_ident()
                    with updating(self):
                        if guard.in_use():  # readers go on with the arrays there are
                            vars(self).update(_own_arrays(self))
                    return method(self, X, y)
        raise RuntimeError(
            f"this {type(self).__name__} is being trained by another call of fit or partial_fit, which must "
            "end first; train copies (sklearn.base.clone, copy.deepcopy) side by side."
        )

    return call


def _own_arrays(model):
    return {name: value.copy() for name, value in vars(model).items() if isinstance(value, np.ndarray)}


@contextmanager
def updating(model):
    """Change the fitted state in the block: Ctrl-C and readers wait, what was computed from it is dropped."""
    guard = _guard_of(model)
    with uninterrupted(), guard.changing:
        guard.components = None
        yield


def snapshot(model):
    """An estimator with the present fitted state, which does not change any more.

    It shares the arrays, unless another thread trains the estimator, which changes them in place. A training
    call that begins while a snapshot is in use makes its own.
    """
    guard = _guard_of(model)
    taken = object.__new__(type(model))
    with guard.changing:
        vars(taken).update(vars(model))
        if guard.trained_elsewhere():
            vars(taken).update(_own_arrays(model))
        else:
            guard.lend(taken)
    return taken


def state_to_pickle(model, getstate):
    """What getstate() says a pickle is to have, such that training does not change it meanwhile."""
    guard = _guard_of(model)
    with guard.changing:
        state = getstate()
        if guard.trained_elsewhere():
            return {**state, **_own_arrays(model)}
        views = {name: value.view() for name, value in state.items() if isinstance(value, np.ndarray)}
        guard.lend(*views.values())
    return {**state, **views}


def kept_components(model, compute):
    """compute(snapshot) of the present state, a read-only array that is computed once per state."""
    guard = _guard_of(model)
    kept = guard.components
    if kept is None:
        taken = snapshot(model)
        kept = compute(taken)
        kept.flags.writeable = False
        with guard.changing:
            # The state is the one that was read where each array still is.
            if all(vars(model).get(name) is value for name, value in vars(taken).items()):
                guard.components = kept
    return kept
