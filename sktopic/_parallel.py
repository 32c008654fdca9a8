"""Running pieces of a document step side by side, without a trace in the result.

Pieces are pure functions of their arguments, or write rows of an array that no other piece writes,
and their results come back in order: so the bits do not depend on how many run at once, or where.
"""

import threading
from collections import deque

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from sktopic._interrupt import uninterrupted
from sktopic._kernels._handover import Handover
from sktopic._kernels._interrupt import stop_with


class Helper(Handover):
    """A thread that runs functions for the one that has made it: give(function), then wait()."""

    def __init__(self):
        self._thread = threading.Thread(target=self._serve, name="sktopic", daemon=True)
        self._thread.start()

    def _serve(self):
        while (function := self.take()) is not None:
            error = None
            try:
                function()
            except BaseException as raised:  # for the other thread
                error = raised
            self.end(error)

    def close(self):
        self.give(None)
        self._thread.join()


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
        self._helpers = []
        self._joblib = None

    def __enter__(self):
        if self.n_jobs > 1:
            # The calling thread takes a piece too.
            while len(self._helpers) < self.n_jobs - 1:
                self._helpers.append(Helper())
            if self._remote:
                self._joblib = Parallel(n_jobs=self.n_jobs).__enter__()
        return self

    def __exit__(self, *exc_info):
        if self._joblib is not None:
            self._joblib.__exit__(*exc_info)
        for helper in self._helpers:
            helper.close()
        self._joblib, self._helpers = None, []

    def map(self, function, pieces):
        """Return [function(*piece) for piece in pieces]; function must be pure and importable."""
        if self._joblib is not None and len(pieces) > 1:
            return self._joblib(delayed(function)(*piece) for piece in pieces)
        return self.map_here(function, pieces)

    def map_here(self, function, pieces):
        """The same in this process whatever the backend: for pieces that write to shared arrays."""
        if not self._helpers or len(pieces) < 2:
            return [function(*piece) for piece in pieces]
        results = [None] * len(pieces)
        waiting, stop = deque(range(len(pieces))), threading.Event()
        helpers = self._helpers[: len(pieces) - 1]

        def work():
            while waiting:
                try:
                    i = waiting.popleft()
                except IndexError:  # another took the last one meanwhile
                    return
                results[i] = function(*pieces[i])

        def help_out():
            stop_with(stop)
            try:
                work()
            finally:
                stop_with(None)

        try:
            for helper in helpers:
                helper.give(help_out)
            work()
            errors = [helper.wait() for helper in helpers]
        except BaseException:
            # Nobody may still be writing when an exception leaves this call.
            waiting.clear()
            stop.set()
            with uninterrupted():
                for helper in helpers:
                    helper.wait()
            raise
        for error in filter(None, errors):
            raise error
        return results

    def ranges(self, n):
        """Cut range(n) into at most n_jobs ranges (first, last) of about equal size."""
        pieces = max(1, min(self.n_jobs, n))
        return [(n * i // pieces, n * (i + 1) // pieces) for i in range(pieces)]
