"""Where the pieces of a step run."""

import os
import threading

import joblib
import pytest
from joblib.parallel import ParallelBackendBase

from sktopic._runtime._parallel import Workers


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


needs_two_cores = pytest.mark.skipif(joblib.cpu_count() < 2, reason="there is one core")


@needs_two_cores
@pytest.mark.parametrize("where", ["caller", "helper"])
def test_a_piece_that_fails_keeps_others_from_beginning(where):
    begun, both, failed = [], threading.Barrier(2), threading.Event()

    def piece(i):
        begun.append(i)
        if i > 1:
            return
        both.wait(10)
        if (threading.current_thread() is threading.main_thread()) == (where == "caller"):
            try:
                raise ValueError(where)
            finally:
                failed.set()
        assert failed.wait(10)
        threading.Event().wait(0.3)  # until the error has been noted

    with Workers(2) as workers:
        with pytest.raises(ValueError, match=where):
            workers.map_here(piece, [(i,) for i in range(10)])
        assert sorted(begun) == [0, 1]
        assert workers.map_here(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]


@needs_two_cores
def test_the_first_error_is_raised_where_several_pieces_fail():
    both, failed = threading.Barrier(2), threading.Event()

    def piece(i):
        both.wait(10)
        if threading.current_thread() is threading.main_thread():
            assert failed.wait(10)
            threading.Event().wait(0.3)
            raise ValueError("second")
        failed.set()
        raise ValueError("first")

    with Workers(2) as workers, pytest.raises(ValueError, match="first"):
        workers.map_here(piece, [(0,), (1,)])


def test_no_more_threads_are_started_than_there_are_cores():
    with Workers(1000) as workers:
        assert workers.team.size <= joblib.cpu_count()
        assert workers.map_here(abs, [(-i,) for i in range(1000)]) == list(range(1000))
    assert workers.team.size == 1
