"""Threads that take pieces of the work of a kernel without the delay of waking them up.

Between two steps of an update, some hundred microseconds, they watch for the next; only then they sleep.
They run pieces in C, and so do not wait for the global interpreter lock either. All of a step is one call,
which no signal can divide: it returns, or raises, when nobody is at work any more.
"""

from _thread import start_new_thread

from cpython.exc cimport PyErr_CheckSignals, PyErr_Fetch, PyErr_Restore
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
    PyThread_type_lock, WAIT_LOCK,
)
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int64_t

from sktopic._kernels.threads._interrupt cimport look, stop_with


cdef extern from "pythread.h" nogil:
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)

cdef extern from "threads/_team.h" nogil:
    int load(int* x)
    int exchange(int* x, int value)
    int add(int* x, int more)
    int64_t clock_now()
    int is_over(int64_t since, int64_t nanoseconds)
    void watch(int* x, int value, int64_t nanoseconds)
    int PROCESS()
    int IS_ENDING()

# How long a thread watches before it goes to sleep, in nanoseconds: more than lies between two steps of an
# update, and less than anybody notices.
cdef int64_t PATIENCE = 300_000
# Nanoseconds after which the calling thread looks for Ctrl-C between two pieces, or while it waits.
cdef int64_t GLANCE = 20_000_000


cdef struct Sleeper:
    # Where a thread sleeps: whoever sets asleep from 1 to 0 releases the lock, or is the thread itself.
    int asleep
    PyThread_type_lock lock


cdef struct Helper:
    Sleeper bed
    PyThread_type_lock at_work  # held until the thread ends


cdef struct Shared:
    int in_use  # from the begin of a round until nobody is at work any more
    int round  # odd while there is work: who sees that may take pieces of it
    int busy  # helpers that may be at work in this round
    int n_taken  # pieces that somebody has begun with
    int stop  # no more pieces are to be begun, and those begun are to stop
    int leave  # the team is closed
    int n_pieces
    Task task
    void* given
    PyObject* error[3]  # of the piece that failed first
    int has_error
    Sleeper bed  # of the calling thread
    int n_helpers
    int n_places  # for helpers, some of whom may not have come to be
    Helper* helpers


cdef void wake(Sleeper* bed) noexcept nogil:
    if exchange(&bed.asleep, 0):
        PyThread_release_lock(bed.lock)


cdef void await_change(int* x, int value, Sleeper* bed) noexcept nogil:
    """Return once x is another value than this; who changes it calls wake."""
    while load(x) == value:
        watch(x, value, PATIENCE)
        if load(x) != value:
            return
        exchange(&bed.asleep, 1)
        if load(x) != value and exchange(&bed.asleep, 0):
            return
        PyThread_acquire_lock(bed.lock, WAIT_LOCK)  # released by wake, now or soon


cdef void keep_error(Shared* team) noexcept with gil:
    """Take the exception of this thread away, and keep the first of all."""
    cdef PyObject* error[3]
    PyErr_Fetch(&error[0], &error[1], &error[2])
    if exchange(&team.has_error, 1) == 0:
        team.error = error
    else:
        for i in range(3):
            Py_XDECREF(error[i])


cdef void check_signals(Shared* team) noexcept with gil:
    if (<int (*)() noexcept> PyErr_CheckSignals)() < 0:
        keep_error(team)
        exchange(&team.stop, 1)


cdef void work(Shared* team, Py_ssize_t member) noexcept nogil:
    """Run pieces as long as there are any."""
    cdef int piece
    cdef int* before = stop_with(&team.stop)
    cdef int64_t looked = clock_now()
    while not load(&team.stop):
        piece = add(&team.n_taken, 1) - 1
        if piece >= team.n_pieces:
            break
        if (<int (*)(void*, Py_ssize_t, Py_ssize_t) noexcept nogil> team.task)(team.given, piece, member) < 0:
            keep_error(team)
            exchange(&team.stop, 1)
        if member == 0 and is_over(looked, GLANCE):
            check_signals(team)
            looked = clock_now()
    stop_with(before)


cdef void help_out(Shared* team, int i) noexcept nogil:
    """What a helper does until the team is closed."""
    cdef Helper* me = &team.helpers[i]
    cdef int seen = 0
    while True:
        await_change(&team.round, seen, &me.bed)
        seen = load(&team.round)
        if load(&team.leave):  # set before the round changes: looked at the other way round, it can be missed
            break
        if seen & 1:
            add(&team.busy, 1)
            if load(&team.round) == seen:
                work(team, i + 1)
            if add(&team.busy, -1) == 0:
                wake(&team.bed)
    PyThread_release_lock(me.at_work)


def _begin(size_t address, int i):
    with nogil:
        help_out(<Shared*>address, i)


cdef void await_helpers(Shared* team) noexcept nogil:
    """Return once no helper is at work; Ctrl-C stops them."""
    cdef int busy
    cdef Sleeper* bed = &team.bed
    while True:
        busy = load(&team.busy)
        if busy == 0:
            return
        watch(&team.busy, busy, PATIENCE)
        if load(&team.busy) != busy:
            continue
        exchange(&bed.asleep, 1)
        if load(&team.busy) == 0 and exchange(&bed.asleep, 0):
            return
        while PyThread_acquire_lock_timed(bed.lock, GLANCE // 1000, 0) != 1:  # it was not acquired
            check_signals(team)


cdef int raise_error(Shared* team) except -1 with gil:
    team.has_error = 0
    PyErr_Restore(team.error[0], team.error[1], team.error[2])
    return -1


cdef PyThread_type_lock held_lock() except NULL:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        raise MemoryError
    PyThread_acquire_lock(lock, WAIT_LOCK)
    return lock


cdef void free_lock(PyThread_type_lock lock) noexcept:
    if lock != NULL:
        PyThread_free_lock(lock)


cdef struct Call:
    PyObject* function
    PyObject* pieces
    PyObject* results


cdef int call_function(Call* given, Py_ssize_t piece, Py_ssize_t member) except -1 with gil:
    (<list>given.results)[piece] = (<object>given.function)(*(<list>given.pieces)[piece])
    return 0


cdef class Team:
    """The calling thread and its helpers, until close; one that is pickled has none elsewhere.

    Parameters
    ----------
    n_helpers : int
        Threads beside the calling one. If the system starts fewer, the team works with these: see `size`.
    """

    def __cinit__(self, int n_helpers=0):
        cdef Helper* helper
        self.process = PROCESS()
        self.shared = <Shared*>PyMem_Calloc(1, sizeof(Shared))
        if self.shared == NULL:
            raise MemoryError
        self.shared.helpers = <Helper*>PyMem_Calloc(n_helpers, sizeof(Helper))
        if self.shared.helpers == NULL:
            raise MemoryError
        self.shared.n_places = n_helpers
        self.shared.bed.lock = held_lock()
        for i in range(n_helpers):
            helper = &self.shared.helpers[i]
            helper.bed.lock = held_lock()
            helper.at_work = held_lock()
            try:
                start_new_thread(_begin, (<size_t>self.shared, i))
            except RuntimeError:  # the system allows no more threads, or has no memory for one
                break
            self.shared.n_helpers += 1

    def __dealloc__(self):
        if self.shared != NULL:
            if self.shared.helpers != NULL:
                self.close()
                if IS_ENDING():
                    return  # a helper may still come to read what is shared
                for i in range(self.shared.n_places):
                    free_lock(self.shared.helpers[i].bed.lock)
                    free_lock(self.shared.helpers[i].at_work)
            free_lock(self.shared.bed.lock)
            PyMem_Free(self.shared.helpers)
            PyMem_Free(self.shared)

    def __reduce__(self):
        return Team, ()

    def close(self):
        """Let the helpers end; after that the calling thread works alone."""
        cdef Shared* team = self.shared
        cdef int n_helpers = team.n_helpers, i
        team.n_helpers = 0
        exchange(&team.leave, 1)
        add(&team.round, 2)
        if self.process != PROCESS():  # a fork, which has none of the threads
            return
        with nogil:
            for i in range(n_helpers):
                wake(&team.helpers[i].bed)
            if not IS_ENDING():  # else helpers that have not begun never do
                for i in range(n_helpers):
                    PyThread_acquire_lock(team.helpers[i].at_work, WAIT_LOCK)

    @property
    def size(self):
        """Threads that may be at work at once."""
        return 1 + self.shared.n_helpers

    def map(self, function, list pieces):
        """Return [function(*piece) for piece in pieces]."""
        cdef list results = [None] * len(pieces)
        cdef Py_ssize_t n_pieces = len(pieces)
        cdef Call given
        given.function, given.pieces = <PyObject*>function, <PyObject*>pieces
        given.results = <PyObject*>results
        with nogil:
            self.run(<Task>call_function, &given, n_pieces)
        return results

    cdef int run(self, Task task, void* given, Py_ssize_t n_pieces) except -1 nogil:
        """Run the task for each piece in range(n_pieces), in any of the threads and in any order.

        Where one raises an exception, no more are begun, those that run are told to stop, and the exception
        is raised when nobody is at work any more. A piece that calls run in its turn works alone.
        """
        cdef Shared* team = self.shared
        cdef Py_ssize_t i
        cdef int64_t looked
        if n_pieces < 2 or team.n_helpers == 0 or self.process != PROCESS() or exchange(&team.in_use, 1):
            looked = clock_now()
            for i in range(n_pieces):
                task(given, i, 0)
                if is_over(looked, GLANCE):
                    look()
                    looked = clock_now()
            return 0
        team.task, team.given, team.n_pieces = task, given, <int>n_pieces
        team.n_taken = team.stop = 0
        add(&team.round, 1)
        for i in range(min(team.n_helpers, n_pieces - 1)):
            wake(&team.helpers[i].bed)
        work(team, 0)
        add(&team.round, 1)
        await_helpers(team)
        exchange(&team.in_use, 0)
        if team.has_error:
            raise_error(team)
        return 0
