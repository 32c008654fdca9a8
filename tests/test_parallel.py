"""Where the pieces of a step run."""

import os

import joblib
import pytest

from sktopic._parallel import Workers


@pytest.mark.parametrize(("backend", "leave"), [("threading", False), ("sequential", False), ("loky", True)])
def test_pieces_leave_the_process_for_backends_without_shared_memory(backend, leave):
    with joblib.parallel_config(backend, n_jobs=2), Workers() as workers:
        assert (set(workers.map(os.getpid, [()] * 4)) != {os.getpid()}) == leave
        assert set(workers.map_here(os.getpid, [()] * 4)) == {os.getpid()}
