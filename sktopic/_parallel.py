"""Running pieces of a document step side by side, without a trace in the result.

Pieces are pure functions of their arguments, or write rows of an array that no other piece writes,
and their results come back in order: so the bits do not depend on how many run at once, or where.
"""

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from sktopic._interrupt import uninterrupted
from sktopic._kernels._interrupt import stop_with


class Workers:
    """A team for one call of fit, partial_fit, transform or a metric; a context manager.

    Threads of its own around kernels that release the GIL, unless the caller chose another backend
    with ``joblib.parallel_config``: then document steps run there.

    Parameters
    ----------
    n_jobs : int or None
        As everywhere in scikit-learn: None is 1 unless ``joblib.parallel_config`` says otherwise.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = effective_n_jobs(n_jobs)
        self._remote = False
        if self.n_jobs > 1:
            backend, _ = get_active_backend(prefer="threads")
            self._remote = not getattr(backend, "supports_sharedmem", False)
        self._pool = None
        self._joblib = None

    def __enter__(self):
        if self.n_jobs > 1:
            # The calling thread takes a piece too.
            self._pool = ThreadPoolExecutor(self.n_jobs - 1)
            if self._remote:
                self._joblib = Parallel(n_jobs=self.n_jobs).__enter__()
        return self

    def __exit__(self, *exc_info):
        if self._joblib is not None:
            self._joblib.__exit__(*exc_info)
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        self._joblib = self._pool = None

    @property
    def share_memory(self):
        """Whether `map` runs pieces where they can write to arrays of the caller."""
        return self._joblib is None

    def map(self, function, pieces):
        """Return [function(*piece) for piece in pieces]; function must be pure and importable.

        Of pieces that fail the first error is raised, and those that have not begun do not run.
        """
        if self._joblib is not None and len(pieces) > 1:
            return self._joblib(delayed(function)(*piece) for piece in pieces)
        return self.map_here(function, pieces)

    def map_here(self, function, pieces):
        """The same in this process whatever the backend: for pieces that write to shared arrays."""
        if self._pool is None or len(pieces) < 2:
            return [function(*piece) for piece in pieces]
        results, errors = [None] * len(pieces), []
        waiting, stop = deque(range(len(pieces))), threading.Event()

        def work():
            while waiting:
                try:
                    i = waiting.popleft()
                except IndexError:  # another took the last one meanwhile
                    return
                try:
                    results[i] = function(*pieces[i])
                except BaseException as error:
                    waiting.clear()  # what is left need not begin
                    errors.append(error)
                    raise

        def help_out():
            stop_with(stop)
            try:
                work()
            finally:
                stop_with(None)

        futures = []
        try:
            with uninterrupted():  # else one might be at work that nobody waits for
                futures.extend(self._pool.submit(help_out) for _ in range(min(self.n_jobs, len(pieces)) - 1))
            work()
            wait(futures)
        except BaseException as error:
            # Nobody may still be writing when an exception leaves this call.
            waiting.clear()
            stop.set()
            with uninterrupted():
                wait(futures)
            if errors and isinstance(error, Exception):
                raise errors[0] from None
            raise
        if errors:
            raise errors[0]
        return results

    def ranges(self, n):
        """Cut range(n) into at most n_jobs ranges (first, last) of about equal size."""
        pieces = max(1, min(self.n_jobs, n))
        return [(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]
