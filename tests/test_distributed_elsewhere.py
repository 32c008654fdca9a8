"""The functions of sktopic.distributed under joblib's processes and under Spark: the bits of a plain loop."""

import os
import pickle
import shutil
import sys

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sktopic.datasets import make_bars
from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.lda import OnlineEMLDA

X = sp.csr_array(make_bars(240, random_state=0).data)
N_LANES, BATCH_SIZE = 3, 20
ESTIMATOR = OnlineEMLDA(n_components=10, batch_size=BATCH_SIZE, random_state=0)


def rounds():
    """Lengths of rounds, and the documents of each lane."""
    first = 0
    for n_updates in (1, 3):
        size = n_updates * BATCH_SIZE
        yield (
            n_updates,
            [np.arange(first + lane * size, first + (lane + 1) * size) for lane in range(N_LANES)],
        )
        first += N_LANES * size


@pytest.fixture(scope="module")
def looped():
    return trained(
        lambda model, n_updates, lanes: [
            local_update(model, X[documents], lane=lane, n_updates=n_updates)
            for lane, documents in enumerate(lanes)
        ]
    )


def trained(updates_of):
    model = start_model(ESTIMATOR, X.shape[1], total_samples=X.shape[0])
    for n_updates, lanes in rounds():
        model = merge_updates(model, updates_of(model, n_updates, lanes))
    assert model.n_samples_seen_ == X.shape[0]
    return model


def test_processes_of_joblib(looped):
    with joblib.Parallel(n_jobs=2) as parallel:
        model = trained(
            lambda model, n_updates, lanes: parallel(
                joblib.delayed(local_update)(model, X[documents], lane=lane, n_updates=n_updates)
                for lane, documents in enumerate(lanes)
            )
        )
    assert_array_equal(model.components_, looped.components_)


@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
@pytest.mark.filterwarnings("ignore")  # of pyspark about versions, and files it leaves open
def test_spark(looped, monkeypatch):
    pytest.importorskip("pyspark")
    import pandas as pd
    from pyspark.sql import SparkSession

    def updates_in(model, n_updates):
        def map_partition(frames):
            if frames := list(frames):
                for lane, rows in pd.concat(frames).sort_values("id").groupby("lane"):
                    indptr = np.concatenate([[0], np.cumsum([len(words) for words in rows["words"]])])
                    parts = np.concatenate([*rows["counts"]]), np.concatenate([*rows["words"]]), indptr
                    documents = sp.csr_array(parts, shape=(len(rows), model.n_features_in_))
                    update = local_update(model, documents, lane=int(lane), n_updates=n_updates)
                    yield pd.DataFrame({"update": [pickle.dumps(update)]})

        return map_partition

    def updates_of(model, n_updates, lanes):
        rows = [
            (int(i), lane, X.indices[a:b].tolist(), X.data[a:b].tolist())
            for lane, documents in enumerate(lanes)
            for i, a, b in zip(documents, X.indptr[documents], X.indptr[documents + 1])
        ]
        frame = spark.createDataFrame(rows, "id long, lane int, words array<int>, counts array<long>")
        found = frame.repartition(2, "lane").mapInPandas(updates_in(model, n_updates), "update binary")
        return [pickle.loads(row.update) for row in found.collect()]

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # what the workers import
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        model = trained(updates_of)
    finally:
        spark.stop()
    assert_array_equal(model.components_, looped.components_)
