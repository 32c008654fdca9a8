"""Letting Ctrl-C into kernels that run long.

A kernel counts its operations, and now and then looks: in the main thread whether a signal has come, whose
handler may raise KeyboardInterrupt, and in a thread of a team whether the team has been told to stop. Kernels
look where their arguments are fit to be thrown away or used further.
"""

from cpython.exc cimport PyErr_CheckSignals


cdef extern from *:
    """
    #include "threads/_team.h"
    static THREAD_LOCAL int *flag_of_team;
    """
    int* flag_of_team
    int load(int* x) nogil


class Stopped(Exception):
    """Raised in a thread whose team has been told to stop."""


cdef int* stop_with(int* flag) noexcept nogil:
    """Let kernels that run in this thread raise Stopped while a flag is set; returns that before, or NULL."""
    global flag_of_team
    cdef int* before = flag_of_team
    flag_of_team = flag
    return before


cdef int look() except -1 nogil:
    if flag_of_team != NULL and load(flag_of_team):
        with gil:
            raise Stopped
    with gil:
        PyErr_CheckSignals()
    return 0
