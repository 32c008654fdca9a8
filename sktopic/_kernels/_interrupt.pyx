"""Letting Ctrl-C into kernels that run long.

A kernel counts its operations, and now and then looks: in the main thread whether a signal has come, whose
handler may raise KeyboardInterrupt, and in a thread of a team whether the team has been told to stop. Kernels
look where their arguments are fit to be thrown away or used further.
"""

import threading

from cpython.exc cimport PyErr_CheckSignals

_thread = threading.local()


class Stopped(Exception):
    """Raised in a thread whose team has been told to stop."""


def stop_with(event):
    """Let kernels that run in this thread raise Stopped once the event (threading.Event or None) is set."""
    _thread.event = event


cdef int look() except -1 nogil:
    with gil:
        PyErr_CheckSignals()
        event = getattr(_thread, "event", None)
        if event is not None and event.is_set():
            raise Stopped
    return 0
