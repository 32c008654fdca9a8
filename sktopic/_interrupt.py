"""Keeping Ctrl-C from splitting an update in two."""

import signal
import threading
from contextlib import contextmanager


@contextmanager
def uninterrupted():
    """Run the block to its end; a SIGINT that arrives meanwhile is delivered after it.

    Python runs signal handlers in the main thread only, so elsewhere there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # ignored, default, or set outside Python
        yield
        return
    arrived = []
    signal.signal(signal.SIGINT, lambda *arguments: arrived.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(*arrived[0])
