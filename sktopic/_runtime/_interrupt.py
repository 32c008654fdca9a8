"""Keeping Ctrl-C and other signals from splitting an update in two."""

# What module `signal` calls: it also names what these return, which takes 8 us an update.
import _signal
import sys
import threading
from _signal import SIGINT, getsignal, signal
from contextlib import contextmanager

from sktopic._runtime._attributes import attributes_of, set_attributes

# Those by which users, timers and batch systems ask a process to stop, or to save what there is. Their
# handlers may raise, and may read a model.
SIGNALS = [
    getattr(_signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGVTALRM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
    if hasattr(_signal, name)
]


def _handlers_here():
    """The Python functions that handle SIGNALS in this thread, by the number of the signal.

    Python runs signal handlers in the main thread only; signals may also be ignored, or not Python's.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return {}
    handlers = {number: getsignal(number) for number in SIGNALS}
    return {number: handler for number, handler in handlers.items() if callable(handler)}


def _restore(handlers):
    for number, handler in handlers.items():
        signal(number, handler)


def _deliver(handlers, arrived):
    """Call the handlers of signals that have arrived (frames by number), each even if another raises."""
    if arrived:
        number, frame = arrived.popitem()
        try:
            handlers[number](number, frame)
        finally:
            _deliver(handlers, arrived)


@contextmanager
def uninterrupted():
    """Run the block to its end; signals that arrive meanwhile are delivered after it."""
    handlers, arrived, over = _handlers_here(), {}, False

    def wait(number, frame):
        if over:  # another signal has kept this handler from being replaced
            handlers[number](number, frame)
        else:
            arrived.setdefault(number, frame)

    try:
        for number in handlers:
            signal(number, wait)
        yield
    finally:
        over = True
        try:
            _restore(handlers)
        finally:
            _deliver(handlers, arrived)


class complete_or_undone:
    """Run the block; if that fails, the attributes of the owner are again what they were.

    A class, and not a generator, since a signal may arrive between the block and what follows it: that is
    delivered when the block is complete or undone. So is no second Ctrl-C, while the first stops the block.
    Other signals always wait for the end of the block: their handlers might read what is half changed.

    Parameters
    ----------
    owner : object whose attributes the block sets
    undo : function that restores what the block has changed inside arrays
    waits : whether Ctrl-C waits for the end of the block, and does not stop it
    """

    def __init__(self, owner, undo=None, waits=False):
        self._owner, self._undo, self._waits = owner, undo, waits
        self._arrived, self._stopping = {}, False

    def __enter__(self):
        self._before = attributes_of(self._owner)
        self._handlers = _handlers_here()
        if self._handlers:
            self._caller = sys._getframe(1)
            for number in self._handlers:
                signal(number, self._stop)

    def _stop(self, number, frame):
        """Handle a signal in the block, and on the way in and out."""
        # The frame handed over may be gone: `uninterrupted` delivers later.
        frames = [sys._getframe().f_back]
        while frames[-1] is not None and frames[-1] is not self._caller:
            frames.append(frames[-1].f_back)
        # Another may have begun inside the block.
        running = [each.f_code for each in frames if each is not None and each.f_locals.get("self") is self]
        over, entering = frames[-1] is None, type(self).__enter__.__code__ in running
        waits = self._waits or number != SIGINT
        if over or (entering and not waits):
            _restore(self._handlers)
            self._handlers[number](number, frame)
        elif waits or type(self).__exit__.__code__ in running:
            self._arrived.setdefault(number, frame)
        elif not self._stopping:
            self._stopping = True
            self._handlers[number](number, frame)
            self._stopping = False  # it has not raised

    def __exit__(self, kind, *error):
        if kind is not None:
            if self._undo is not None:
                self._undo()
            set_attributes(self._owner, self._before)
        if self._handlers:
            _restore(self._handlers)
            self._caller = None
            if self._stopping:
                self._arrived.pop(SIGINT, None)
            _deliver(self._handlers, self._arrived)
