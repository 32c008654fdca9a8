"""Keeping Ctrl-C from splitting an update in two."""

import sys
import threading

# What module `signal` calls: it also names what these return, which takes 8 us an update.
from _signal import SIGINT, getsignal, signal
from contextlib import contextmanager

from sktopic._runtime._attributes import attributes_of, set_attributes


def _handler_here():
    """The Python function that handles SIGINT in this thread, None if there is none.

    Python runs signal handlers in the main thread only; SIGINT may also be ignored, or not Python's.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return None
    handler = getsignal(SIGINT)
    return handler if callable(handler) else None


@contextmanager
def uninterrupted():
    """Run the block to its end; a SIGINT that arrives meanwhile is delivered after it."""
    handler = _handler_here()
    if handler is None:
        yield
        return
    arrived = []
    signal(SIGINT, lambda *arguments: arrived.append(arguments))
    try:
        yield
    finally:
        signal(SIGINT, handler)
        if arrived:
            handler(*arrived[0])


class complete_or_undone:
    """Run the block; if that fails, the attributes of the owner are again what they were.

    A class, and not a generator, since SIGINT may arrive between the block and what follows it: that is
    delivered when the block is complete or undone. So is no second one, while the first stops the block.

    Parameters
    ----------
    owner : object whose attributes the block sets
    undo : function that restores what the block has changed inside arrays
    waits : whether Ctrl-C waits for the end of the block, and does not stop it
    """

    def __init__(self, owner, undo=None, waits=False):
        self._owner, self._undo, self._waits = owner, undo, waits
        self._arrived, self._stopping = None, False

    def __enter__(self):
        self._before = attributes_of(self._owner)
        self._handler = _handler_here()
        if self._handler is not None:
            self._caller = sys._getframe(1)
            signal(SIGINT, self._stop)

    def _stop(self, number, frame):
        """Handle SIGINT in the block, and on the way in and out."""
        # The frame handed over may be gone: `uninterrupted` delivers later.
        frames = [sys._getframe().f_back]
        while frames[-1] is not None and frames[-1] is not self._caller:
            frames.append(frames[-1].f_back)
        # Another may have begun inside the block.
        running = [each.f_code for each in frames if each is not None and each.f_locals.get("self") is self]
        over, entering = frames[-1] is None, type(self).__enter__.__code__ in running
        if over or (entering and not self._waits):
            signal(SIGINT, self._handler)
            self._handler(number, frame)
        elif self._waits or type(self).__exit__.__code__ in running:
            self._arrived = self._arrived or (number, frame)
        elif not self._stopping:
            self._stopping = True
            self._handler(number, frame)
            self._stopping = False  # it has not raised

    def __exit__(self, kind, *error):
        if kind is not None:
            if self._undo is not None:
                self._undo()
            set_attributes(self._owner, self._before)
        if self._handler is not None:
            signal(SIGINT, self._handler)
            self._caller = None
            if self._arrived and not self._stopping:
                self._handler(*self._arrived)
