"""Where the pieces of a step run."""

import os

import joblib
import numpy as np
import pytest
from joblib.parallel import ParallelBackendBase

from sktopic._estimators import _topic_model
from sktopic._kernels.threads import _team
from sktopic._runtime import _parallel
from sktopic._runtime._arrays import FROM_SYSTEM, Scratch
from sktopic._runtime._parallel import Workers
from sktopic.lda import OnlineEMLDA


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "leave"), [("threading", False), ("sequential", False), ("loky", True)])
def test_pieces_leave_the_process_for_backends_without_shared_memory(backend, leave):
    with joblib.parallel_config(backend, n_jobs=2), Workers() as workers:
        assert (set(workers.map(os.getpid, [()] * 4)) != {os.getpid()}) == leave
        assert set(workers.map_here(os.getpid, [()] * 4)) == {os.getpid()}


class OtherMachines(ParallelBackendBase):
    """Counts its hundred cores as n_jobs; nothing can be sent there."""

    default_n_jobs = -1

    def effective_n_jobs(self, n_jobs):
        return 100

    def apply_async(self, func, callback=None):
        raise AssertionError("something was sent")

    submit = apply_async  # its name since joblib 1.4


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (1, 1), (2, 2), (-1, joblib.cpu_count())])
def test_pieces_stay_here_under_a_backend_of_other_machines(n_jobs, expected):
    with joblib.parallel_config(OtherMachines()), Workers(n_jobs) as workers:
        assert (workers.n_jobs, workers.n_processes) == (expected, 1)
        assert set(workers.map(os.getpid, [()] * 4)) == {os.getpid()}


def test_no_more_threads_are_started_than_there_are_cores():
    with Workers(1000) as workers:
        assert workers.team.size <= joblib.cpu_count()
        assert workers.map_here(abs, [(-i,) for i in range(1000)]) == list(range(1000))
    assert workers.team.size == 1


def test_threads_that_cannot_be_started_are_warned_of_and_done_without(monkeypatch):
    def start(*arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_team, "start_new_thread", start)
    monkeypatch.setattr(_parallel, "n_cores", lambda: 2)
    message = "n_jobs=3: only 1 of 2 threads could be started"
    workers = Workers(3)
    with pytest.warns(RuntimeWarning, match=message):
        workers.__enter__()
    assert workers.map_here(abs, [(-1,), (-2,)]) == [1, 2]


def test_scratch_is_used_again_by_the_next_large_array_when_nothing_refers_to_it():
    scratch, shape = Scratch(), (FROM_SYSTEM // 4 + 1, 2)
    first = scratch.empty(shape, np.float32)
    last_rows, address = first[-1:], first.ctypes.data
    assert (first.shape, first.dtype) == (shape, np.float32)
    del first  # the rows still refer to it
    second = scratch.empty(shape, np.float32)
    assert not np.shares_memory(second, last_rows)
    del second, last_rows
    assert scratch.empty(shape, np.float32).ctypes.data != address
    address = scratch.empty(shape, np.float32).ctypes.data
    assert scratch.empty((2, FROM_SYSTEM // 16 + 1), np.float64).ctypes.data == address
    small = [scratch.empty((3,), np.int32) for _ in range(2)]
    assert not np.shares_memory(*small)


def test_few_documents_start_no_threads(monkeypatch):
    model, asked = OnlineEMLDA(4, n_jobs=2, random_state=0).fit(np.ones((9, 50))), []

    class Noted(Workers):
        def __init__(self, n_jobs):
            asked.append(n_jobs)
            super().__init__(n_jobs)

    monkeypatch.setattr(_topic_model, "Workers", Noted)
    for n_documents in (1, 500, 501):
        model.transform(np.ones((n_documents, 50)))
    model.score(iter([np.ones((9, 50))]))  # of how many documents is not known
    assert asked == [1, 1, 2, 2]
