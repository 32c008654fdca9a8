"""Random programs over `DaskTopicModel`, in this process: documents in odd parts, some of unknown sizes."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.base import clone

from sktopic.dask import DaskTopicModel
from sktopic.dask._model import MOST_LANES
from tests.conftest import fitted_state

from .documents import DTYPES, VALUES
from .drawn import CANNOT_RUN, run_drawn
from .parameters import all_values, made, some_of, values_of
from .test_state_machine import DOCUMENTED, check_readable
from .tools import ESTIMATORS, check_distributions, differences, new, share

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
bag = pytest.importorskip("dask.bag")
TRAINABLE = ["OnlineEMLDA", "HybridLDA", "OnlineVariationalLDA", "StreamingGibbsLDA"]
CONSTRAINTS = DaskTopicModel._parameter_constraints
LANES = {
    name: values_of(name, CONSTRAINTS[name])
    for name in ("n_lanes", "merge_every", "checkpoint_every", "delta_dtype")
}
# Thousands take a quarter of a minute.
LANES["n_lanes"] = [value for value in LANES["n_lanes"] if value not in range(100, MOST_LANES + 1)]


def _array(parts, sizes_are_known=False, sparse=True):
    parts = [sp.csr_array(part) if sparse else part for part in parts]
    meta = sp.csr_array((0, 0), dtype=parts[0].dtype) if sparse else None
    blocks = [
        da.from_delayed(
            dask.delayed(part), (part.shape[0] if sizes_are_known else np.nan, 5), part.dtype, meta=meta
        )
        for part in parts
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


KINDS = {
    "array": _array,
    "known sizes": lambda parts: _array(parts, True),
    "dense": lambda parts: _array(parts, True, False),
    "dense, unknown": lambda parts: _array(parts, False, False),
    "columns cut": lambda parts: _array(parts, True, False).rechunk({1: 3}),
    "delayed": lambda parts: [dask.delayed(part) for part in parts],
    "bag": lambda parts: bag.from_delayed([dask.delayed([sp.csr_array(part)]) for part in parts]),
    "no list of parts": lambda parts: (part for part in parts),
    "an array of three dimensions": lambda parts: _array(parts, True, False)[:, :, None],
}


@dataclass
class Program:
    """An estimator with its parameters and those of the lanes, and documents in parts of some sizes."""

    estimator: str
    sizes: list
    kind: str = "array"
    values: str = "tokens"
    dtype: str = "float64"
    seed: int = 0
    parameters: dict = field(default_factory=dict)
    lanes: dict = field(default_factory=dict)

    def run(self):
        estimator = new(self.estimator, **made(self.parameters))
        model = DaskTopicModel(estimator, **{"n_lanes": 2, **self.lanes}, client=False)
        before, rng = fitted_state(estimator), np.random.default_rng(self.seed)
        with np.errstate(all="ignore"):
            parts = [VALUES[self.values](rng, (size, 5)).astype(self.dtype) for size in self.sizes]
        try:
            X = KINDS[self.kind](parts)
        except (TypeError, ValueError, NotImplementedError):
            return CANNOT_RUN  # Dask has no such array
        try:
            model.fit(X)
        except DOCUMENTED as error:
            check_readable(error)
            assert not hasattr(model, "estimator_")
        else:
            self.check(model, X, np.concatenate(parts).astype(np.float64))
        assert not differences(before, fitted_state(estimator)), "the estimator was trained, not a clone"
        return None

    def check(self, model, X, whole):
        fitted = model.estimator_
        check_distributions(fitted.components_, (fitted.n_components_, 5))
        check_distributions(model.transform(X).compute(), (len(whole), fitted.n_components_))
        assert np.isnan(model.score(X)) == (whole.sum() == 0)
        again = clone(model).fit(sp.csr_array(whole)).estimator_
        if fitted.random_state is not None and self.dtype == "float64":
            changed = differences(fitted_state(fitted), fitted_state(again))
            assert not changed, f"as one matrix: {changed}"


def programs():
    sizes = st.lists(st.sampled_from([3, 1, 0, 2, 7, 20]), min_size=1, max_size=5)
    values = {name: all_values(type(new(name))) for name in ESTIMATORS}
    return st.sampled_from(TRAINABLE * 3 + ESTIMATORS).flatmap(
        lambda name: st.builds(
            Program,
            st.just(name),
            sizes,
            st.sampled_from(["array"] * 4 + list(KINDS)),
            st.sampled_from(["tokens"] * 8 + list(VALUES)),
            st.sampled_from(["float64"] * 8 + DTYPES),
            st.integers(0, 2**16),
            some_of(values[name], 2),
            some_of(LANES, 2),
        )
    )


def test_documents_in_any_parts_are_trained_on_or_refused():
    run_drawn(programs(), share(0.03))
