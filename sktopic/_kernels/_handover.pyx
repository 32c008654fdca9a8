# cython: auto_pickle=False
"""Handing work from one thread to another without the delay of waking it up."""

import threading

from libc.stdint cimport int64_t


cdef extern from "_handover.h" nogil:
    enum: NOTHING, POSTED, ASLEEP
    int exchange_state(int* state, int value)
    int change_state(int* state, int before, int after)
    int load_state(int* state)
    void watch_state(int* state, int64_t nanoseconds)

# How long a thread watches before it goes to sleep, in nanoseconds: more than lies between two parts of an
# update, and less than anybody notices.
cdef int64_t PATIENCE = 200_000


cdef class _Flag:
    # What one thread posts, and another waits for.

    cdef int state
    cdef object lock

    def __cinit__(self):
        self.state = NOTHING
        self.lock = threading.Lock()
        self.lock.acquire()

    cdef int post(self) except -1:
        if exchange_state(&self.state, POSTED) == ASLEEP:
            self.lock.release()
        return 0

    cdef int wait(self) except -1:
        """Return once it is posted. Where a signal raises an exception, one may wait again."""
        with nogil:
            watch_state(&self.state, PATIENCE)
        if change_state(&self.state, NOTHING, ASLEEP) or load_state(&self.state) == ASLEEP:
            self.lock.acquire()
        return 0

    cdef void clear(self) noexcept:
        exchange_state(&self.state, NOTHING)


cdef class Handover:
    """Functions that one thread gives and another takes and runs, one after the other.

    No signal can divide one of these calls, but for waiting.
    """

    cdef _Flag _given, _ended
    cdef object _function, _error

    def __cinit__(self):
        self._given, self._ended = _Flag(), _Flag()
        self._ended.post()

    def give(self, function):
        """Let take return the function; the one before must have ended."""
        self._function, self._error = function, None
        self._ended.clear()
        self._given.post()

    def take(self):
        """Wait for a function that is given, and return it."""
        self._given.wait()
        self._given.clear()
        return self._function

    def end(self, error):
        """Say that the function taken has ended, with an exception or None."""
        self._function, self._error = None, error
        self._ended.post()

    def wait(self):
        """Return once all that was given has ended: the exception of the last, or None."""
        self._ended.wait()
        return self._error
