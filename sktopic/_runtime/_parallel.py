"""Running pieces of a document step side by side, without a trace in the result.

Pieces are pure functions of their arguments, or write rows of an array that no other piece writes,
and their results come back in order: so the bits do not depend on how many run at once, or where.
"""

import os
import threading
import warnings
from contextlib import contextmanager
from functools import cache

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import LokyBackend, MultiprocessingBackend, ThreadingBackend, get_active_backend
from threadpoolctl import ThreadpoolController

from sktopic._kernels.threads._team import Team
from sktopic._runtime._arrays import Scratch

# Threads beyond the cores that there are would be in each other's way.
n_cores = cache(cpu_count)

# Libraries that NumPy has loaded: finding them takes milliseconds.
_libraries = cache(ThreadpoolController)
_limiting = threading.RLock()  # since a signal handler may need it, too, in the thread that holds it


def _forget_lock():
    """A forked process has none of the threads that hold it."""
    global _limiting
    _limiting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


@contextmanager
def one_blas_thread():
    """Let products of matrices run in this thread alone: their bits then depend on no number of threads.

    Nor does OpenBLAS start threads of its own, for which it would wait forever where memory is scarce. One
    block of code at a time, since the limit is of the whole process: of two that overlap, the last to end
    would leave what the other had set.
    """
    with _limiting, _libraries().limit(limits=1, user_api="blas"):
        yield


class Workers:
    """A team for one call of fit, partial_fit, transform or a metric; a context manager.

    Threads of its own around kernels that release the GIL, unless the caller chose processes of this
    machine with ``joblib.parallel_config``: then document steps run there. Backends that reach other
    machines (dask, ray, spark) are for whole fits: a step takes about a millisecond, so it stays here.

    Parameters
    ----------
    n_jobs : int or None
        As everywhere in scikit-learn: None is 1 unless ``joblib.parallel_config`` says otherwise.
        Under a backend that reaches other machines None is 1, as its workers share the cores by fits.

    Attributes
    ----------
    team : Team
        Threads of this process, for kernels that divide their work themselves.
    n_processes : int
        Pieces that a step is to be cut into before such a kernel is called: one for each process.
    scratch : Scratch
        Memory for what is made anew for each batch.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs, self._remote = 1, False
        if n_jobs != 1:
            backend, default = get_active_backend(prefer="threads")
            shared = getattr(backend, "supports_sharedmem", False)
            if shared or isinstance(backend, LokyBackend | MultiprocessingBackend):
                self.n_jobs = effective_n_jobs(default if n_jobs is None else n_jobs)
            else:
                self.n_jobs, shared = ThreadingBackend().effective_n_jobs(n_jobs), True
            self._remote = self.n_jobs > 1 and not shared
        self.n_processes = self.n_jobs if self._remote else 1
        self.team = Team()
        self.scratch = Scratch()
        self._joblib = None

    def __enter__(self):
        if self.n_jobs > 1:
            wanted = min(self.n_jobs, n_cores())
            self.team = Team(wanted - 1)
            if self.team.size < wanted:
                warnings.warn(
                    f"n_jobs={self.n_jobs}: only {self.team.size} of {wanted} threads could be started. The "
                    "results are the same. Use fewer jobs, or raise the limit of the system (ulimit -u).",
                    RuntimeWarning,
                    stacklevel=2,
                )
            if self._remote:
                self._joblib = Parallel(n_jobs=self.n_jobs).__enter__()
        return self

    def __exit__(self, *exc_info):
        self.team.close()
        if self._joblib is not None:
            self._joblib.__exit__(*exc_info)
        self._joblib = None
        self.scratch = Scratch()

    def map(self, function, pieces):
        """Return [function(*piece) for piece in pieces]; function must be pure and importable.

        Of pieces that fail the first error is raised, and those that have not begun do not run.
        """
        if self._joblib is not None and len(pieces) > 1:
            return self._joblib(delayed(function)(*piece) for piece in pieces)
        return self.map_here(function, pieces)

    def map_here(self, function, pieces):
        """The same in this process whatever the backend: for pieces that write to shared arrays."""
        return self.team.map(function, list(pieces))

    def ranges(self, n):
        """Cut range(n) into at most n_jobs ranges (first, last) of about equal size."""
        pieces = max(1, min(self.n_jobs, n))
        return [(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]
