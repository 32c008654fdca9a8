"""Random programs over `DaskTopicModel`: documents in odd parts, of unknown sizes, and workers that die.

Tasks compute the same in this process (``client=False``) and on a cluster, so that most programs run here.
A cluster is started where many cases are asked for: there, workers are killed at random moments.
"""

import contextlib
import os
import random
import signal
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.base import clone

from sktopic.dask import DaskTopicModel
from sktopic.dask._model import MOST_LANES
from sktopic.datasets import make_bars, save_corpus
from tests.conftest import fitted_state

from .documents import DTYPES, VALUES
from .drawn import SEED, CannotRun, run_drawn
from .parameters import all_values, made, some_of, values_of
from .test_state_machine import DOCUMENTED, check_readable
from .tools import ESTIMATORS, N_CASES, check_distributions, differences, in_child, new, share

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("dask.bag")
TRAINABLE = ["OnlineEMLDA", "HybridLDA", "OnlineVariationalLDA", "StreamingGibbsLDA"]
CONSTRAINTS = DaskTopicModel._parameter_constraints
LANES = {name: values_of(name, CONSTRAINTS[name]) for name in ("n_lanes", "merge_every", "checkpoint_every")}
LANES["n_lanes"] = [v for v in LANES["n_lanes"] if v != MOST_LANES]  # which take a quarter of a minute
LANES["delta_dtype"] = values_of("delta_dtype", CONSTRAINTS["delta_dtype"])


@dataclass
class Parts:
    """Documents in parts of some sizes, as Dask has them."""

    sizes: list
    kind: str = "array"
    values: str = "tokens"
    dtype: str = "float64"
    seed: int = 0

    def matrices(self):
        rng = np.random.default_rng(self.seed)
        with np.errstate(all="ignore"):
            return [VALUES[self.values](rng, (size, 5)).astype(self.dtype) for size in self.sizes]

    def make(self):
        return KINDS[self.kind](self.matrices())


def _array(parts, sizes_are_known=False, sparse=True):
    parts = [sp.csr_array(part) if sparse else part for part in parts]
    sizes = [part.shape[0] if sizes_are_known else np.nan for part in parts]
    meta = sp.csr_array((0, 0), dtype=parts[0].dtype) if sparse else None
    blocks = [
        da.from_delayed(dask.delayed(part), (size, 5), parts[0].dtype, meta=meta)
        for part, size in zip(parts, sizes)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _bag(parts):
    return dask.bag.from_delayed([dask.delayed([sp.csr_array(part)]) for part in parts])


KINDS = {
    "array": _array,
    "known sizes": lambda parts: _array(parts, True),
    "dense": lambda parts: _array(parts, True, False),
    "dense, unknown": lambda parts: _array(parts, False, False),
    "columns cut": lambda parts: _array(parts, True, False).rechunk({1: 3}),
    "delayed": lambda parts: [dask.delayed(part) for part in parts],
    "bag": _bag,
    "no list of parts": lambda parts: (part for part in parts),
    "an array of three dimensions": lambda parts: _array(parts, True, False)[:, :, None],
}


@dataclass
class Program:
    """An estimator with its parameters, those of the lanes, and documents."""

    estimator: str
    parts: Parts
    parameters: dict = field(default_factory=dict)
    lanes: dict = field(default_factory=dict)

    def run(self):
        estimator = new(self.estimator, **made(self.parameters))
        model = DaskTopicModel(estimator, **{"n_lanes": 2, **self.lanes}, client=False)
        before = fitted_state(estimator)
        try:
            X = self.parts.make()
        except (TypeError, ValueError, NotImplementedError) as error:
            raise CannotRun("Dask has no such array") from error
        try:
            model.fit(X)
        except DOCUMENTED as error:
            check_readable(error)
            assert not hasattr(model, "estimator_")
        else:
            self.check(model, X)
        assert not differences(before, fitted_state(estimator)), "the estimator was trained, not a clone"

    def check(self, model, X):
        fitted = model.estimator_
        check_distributions(fitted.components_, (fitted.n_components_, 5))
        whole = np.concatenate(self.parts.matrices()).astype(np.float64)
        check_distributions(model.transform(X).compute(), (len(whole), fitted.n_components_))
        assert np.isnan(model.score(X)) == (whole.sum() == 0)
        again = clone(model).fit(sp.csr_array(whole)).estimator_
        if fitted.random_state is not None and self.parts.dtype == "float64":
            changed = differences(fitted_state(fitted), fitted_state(again))
            assert not changed, f"as one matrix: {changed}"


sizes = st.lists(st.sampled_from([3, 1, 0, 2, 7, 20]), min_size=1, max_size=5)
parts = st.builds(
    Parts,
    sizes,
    st.sampled_from(["array"] * 4 + list(KINDS)),
    st.sampled_from(["tokens"] * 8 + list(VALUES)),
    st.sampled_from(["float64"] * 8 + DTYPES),
    st.integers(0, 2**16),
)


def programs():
    names = st.sampled_from(TRAINABLE * 3 + ESTIMATORS)
    values = {name: all_values(type(new(name))) for name in ESTIMATORS}
    return names.flatmap(
        lambda name: st.builds(Program, st.just(name), parts, some_of(values[name], 2), some_of(LANES, 2))
    )


def run_programs(n_programs):
    """Runs in a child process."""
    return run_drawn(programs(), n_programs)


def test_documents_in_any_parts_are_trained_on_or_refused():
    n_run = in_child(run_programs, share(0.02))
    print(f"{n_run} programs")
    assert n_run >= share(0.02)


# Workers that die


@pytest.mark.skipif(N_CASES < 10_000, reason="tests/test_dask.py kills one")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("alone")
def test_workers_killed_at_any_moment_change_nothing(tmp_path):
    from distributed import Client, LocalCluster

    X = save_corpus(tmp_path / "bars", make_bars(3000, random_state=0).data)
    rng, done = random.Random(SEED), threading.Event()
    model = DaskTopicModel(new("OnlineEMLDA", batch_size=50, max_iter=5), n_lanes=2)
    expected = clone(model).set_params(client=False).fit(X).estimator_
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with cluster, Client(cluster) as client:

        def kill():
            while not done.wait(rng.uniform(0.5, 5.0)):
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if len(pids) == 2:  # none that is just starting
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(rng.choice(pids), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for trial in range(min(20, share(0.0001))):
                fitted = clone(model).set_params(client=client).fit(X).estimator_
                assert not differences(fitted_state(fitted), fitted_state(expected)), f"trial {trial}"
        finally:
            done.set()
            killer.join()
