"""Models in processes of joblib: the bits of a plain loop, also of arrays that are mapped from a file."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import sktopic
from sktopic.datasets import make_bars
from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.lda import OnlineEMLDA

X = sp.csr_array(make_bars(240, random_state=0).data)
N_LANES, BATCH_SIZE = 3, 20


def trained(run):
    """A model of two rounds, whose updates are what a function returns for calls made by joblib.delayed."""
    model = start_model(
        OnlineEMLDA(n_components=10, batch_size=BATCH_SIZE, random_state=0),
        X.shape[1],
        total_samples=X.shape[0],
    )
    first = 0
    for n_updates in (1, 3):
        size = n_updates * BATCH_SIZE
        lanes = [X[first + lane * size : first + (lane + 1) * size] for lane in range(N_LANES)]
        first += N_LANES * size
        calls = [
            joblib.delayed(local_update)(model, documents, lane=lane, n_updates=n_updates)
            for lane, documents in enumerate(lanes)
        ]
        model = merge_updates(model, run(calls))
    assert model.n_samples_seen_ == X.shape[0]
    return model


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_processes_update_and_serve_models(tmp_path):
    looped = trained(lambda calls: [function(*given, **named) for function, given, named in calls])
    with joblib.Parallel(n_jobs=2) as parallel:
        assert_array_equal(trained(parallel).components_, looped.components_)
        looped.save(tmp_path / "model")
        mapped = sktopic.load(tmp_path / "model", mmap_mode="r")
        answers = parallel(joblib.delayed(mapped.transform)(X[[i]]) for i in range(4))
    assert_array_equal(np.vstack(answers), looped.transform(X[:4]))
