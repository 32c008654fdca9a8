"""Where the pieces of a step run."""

import os
import pickle
import threading

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from joblib.parallel import ParallelBackendBase
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from sktopic._documents._matrices import DocumentReader, as_documents
from sktopic._inference import GibbsStep
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.lda import OnlineEMLDA


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


def test_a_grid_search_on_dask_sends_each_fit_once_and_no_step():
    distributed = pytest.importorskip("distributed")
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Sent(SchedulerPlugin):
        """Sizes of what is sent of each task."""

        def __init__(self):
            self.sizes = {}

        def transition(self, key, start, finish, *args, **kwargs):
            if finish == "processing":
                self.sizes[key] = len(pickle.dumps(cluster.scheduler.tasks[key].run_spec))

    X = sp.csr_array(np.random.default_rng(0).poisson(0.2, (300, 400)))
    search = GridSearchCV(OnlineEMLDA(max_iter=2, n_jobs=2, random_state=0), {"n_components": [2, 3]}, cv=2)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        sent = Sent()
        cluster.scheduler.add_plugin(sent)
        with joblib.parallel_config("dask", scatter=[X]):
            search.fit(X)
    sizes = [size for key, size in sent.sizes.items() if "fit_and_score" in str(key)]
    assert len(sizes) == len(sent.sizes) == 4
    assert max(sizes) < X.data.nbytes / 10
    here = GridSearchCV(search.estimator, search.param_grid, cv=2).fit(X)
    assert_array_equal(search.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


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


def test_empty_arrays_are_not_sent_to_other_processes(monkeypatch):
    sizes, rng = [], np.random.default_rng(0)
    batch = DocumentReader(as_documents(rng.poisson(0.5, (40, 60)))).batch(np.arange(40))
    prior = np.full(100, 0.1)
    topics = TopicProbabilities.from_components(rng.dirichlet(np.ones(60), 100))
    with joblib.parallel_config("loky", n_jobs=2), Workers() as workers:
        gathered = topics.gather(batch.words, prior, workers)
        given = batch, gathered, prior, batch.content_keys(0)
        map_ = workers.map

        def watched(function, pieces):
            sizes.extend(len(pickle.dumps(piece)) for piece in pieces)
            return map_(function, pieces)

        monkeypatch.setattr(workers, "map", watched)
        remote = GibbsStep(1, 1)(*given, workers)
    assert len(sizes) == 2 and max(sizes) < gathered.rows.nbytes + remote.counts.nbytes / 4
    np.testing.assert_array_equal(remote.counts, GibbsStep(1, 1)(*given, Workers(1)).counts)


def test_no_more_threads_are_started_than_there_are_cores():
    with Workers(1000) as workers:
        assert workers.team.size <= joblib.cpu_count()
        assert workers.map_here(abs, [(-i,) for i in range(1000)]) == list(range(1000))
    assert workers.team.size == 1
