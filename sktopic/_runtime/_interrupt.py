"""Keeping Ctrl-C and other signals from splitting an update in two."""

# What module `signal` calls: it also names what these return, which takes 8 us an update.
import _signal
import sys
import threading
from _signal import SIGINT, getsignal, signal
from contextlib import contextmanager

from sktopic._runtime._attributes import attributes_of, set_attributes

# Those that a handler may be set for. Handlers may raise, and may read a model. That of Ctrl-C comes last.
SIGNALS = [
    getattr(_signal, f"SIG{name}")
    for name in (
        *("TERM", "HUP", "QUIT", "ALRM", "VTALRM", "PROF", "USR1", "USR2", "XCPU", "XFSZ", "CONT"),
        *("TSTP", "TTIN", "TTOU", "CHLD", "WINCH", "IO", "URG", "PIPE", "PWR", "BREAK", "INT"),
    )
    if hasattr(_signal, f"SIG{name}")
]


def _handlers_here():
    """The Python functions that handle SIGNALS in this thread, by the number of the signal.

    Python runs signal handlers in the main thread only; signals may also be ignored, or not Python's.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return {}
    return {number: handler for number, handler in zip(SIGNALS, map(getsignal, SIGNALS)) if callable(handler)}


def _restore(handlers, replacement):
    """Set handlers (by number) again, each even if one that is set already raises.

    If a handler has meanwhile set another one, that other one stays.
    """
    if handlers:
        number, handler = handlers.popitem()
        try:
            if getsignal(number) == replacement:
                signal(number, handler)
        finally:
            _restore(handlers, replacement)


def _deliver(handlers, arrived):
    """Call the handlers of signals that have arrived (frames by number), each even if another raises."""
    if arrived:
        number = next(iter(arrived))
        frame = arrived.pop(number)
        try:
            handlers[number](number, frame)
        finally:
            _deliver(handlers, arrived)


def _hand_back(handlers, replacement, arrived):
    """Set the handlers again, and call those of the signals that have arrived."""
    try:
        _restore({**handlers}, replacement)
    finally:
        if arrived:
            _deliver(handlers, {number: arrived.pop(number) for number in [*arrived] if number in handlers})


def _end(handlers, replacement, arrived):
    """Hand back all handlers, that of Ctrl-C last.

    So it stops no other handler, and its exception is the one that is left.
    """
    others = handlers.copy()
    last = {SIGINT: others.pop(SIGINT)} if SIGINT in others else {}
    try:
        if others:
            _hand_back(others, replacement, arrived)
    finally:
        _hand_back(last, replacement, arrived)


@contextmanager
def uninterrupted():
    """Run the block to its end; signals that arrive meanwhile are delivered after it."""
    handlers, arrived = _handlers_here(), {}

    def wait(number, frame):
        arrived.setdefault(number, frame)

    try:
        for number in handlers:
            signal(number, wait)
        yield
    finally:
        _end(handlers, wait, arrived)


class complete_or_undone:
    """Run the block; if that fails, the attributes of the owner are again what they were.

    A class, and not a generator, since a signal may arrive between the block and what follows it: that is
    delivered when the block is complete or undone. A second Ctrl-C waits until the first has ended the block.
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
            _restore({**self._handlers}, self._stop)
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
            if self._stopping:
                self._arrived.pop(SIGINT, None)
            try:
                _end(self._handlers, self._stop, self._arrived)
            finally:
                self._caller = None
