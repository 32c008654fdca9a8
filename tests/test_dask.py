"""`sktopic.dask`: the same model wherever tasks run, whatever dies, and errors that name what is wrong."""

import copy
import os
import pickle
import threading
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sktopic import DirectAssignmentHDP, HybridHDP, OnlineEMLDA
from sktopic.dask import DaskTopicModel, _cluster, _state
from sktopic.dask._files import Folder
from sktopic.dask._inference import ServedModel
from sktopic.dask._rounds import Plan, rounds
from sktopic.datasets import make_bars, save_corpus
from sktopic.inspection import name_topics, top_words, topic_sizes, topic_table, word_topic_table
from sktopic.lda import HybridLDA
from sktopic.metrics import coherence, document_completion
from tests.conftest import assert_raises, assert_same_state, state

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

# Of the libraries, where workers are killed or ports are in use.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
X = make_bars(2500, random_state=0).data  # two blocks of a corpus
SWEEPS = {"doc_burn_in": 1, "doc_sweeps": 2, "transform_burn_in": 1, "transform_sweeps": 2}
MODEL = OnlineEMLDA(5, random_state=0, max_iter=2, batch_size=60, **SWEEPS)
LANES = {"n_lanes": 3, "merge_every": 4}
PATIENCE = 300  # seconds, after which a test that hangs fails: machines may have much else to do


def here(estimator=MODEL, X=X, **parameters):
    return DaskTopicModel(estimator, client=False, **{**LANES, **parameters}).fit(X).estimator_


@pytest.fixture(scope="module")
def expected():
    return here()


@contextmanager
def cluster(n_workers, **settings):
    settings |= {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with (
        dask.config.set({f"distributed.comm.timeouts.{each}": PATIENCE for each in ("connect", "tcp")}),
        distributed.LocalCluster(n_workers=n_workers, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    """Of two workers in threads, which exchange pickles."""
    with cluster(2, processes=False, protocol="tcp") as client:
        yield client


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus") / "bars", X)


def blocks_of_array(X, size=600):
    """A dask array of CSR and dense blocks, whose numbers of rows are unknown."""
    parts = [X[a : a + size] for a in range(0, X.shape[0], size)]
    parts[1] = parts[1].toarray()
    meta = sp.csr_array((0, 0), dtype=X.dtype)
    blocks = [da.from_delayed(dask.delayed(part), (np.nan, X.shape[1]), meta=meta) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def every_kind(corpus):
    bag = pytest.importorskip("dask.bag")
    return {
        "corpus": corpus,
        "array": blocks_of_array(X),
        "delayed": [dask.delayed(X[:1500]), dask.delayed(X[1500:])],
        "bag": bag.from_delayed([dask.delayed([X[:10], X[10:1450]]), dask.delayed([X[1450:]])]),
    }


# In this process


@pytest.mark.slow
def test_documents_and_shards_of_words_leave_no_trace(corpus, expected, monkeypatch):
    for documents in every_kind(corpus).values():
        assert_same_state(state(here(X=documents)), state(expected))
    monkeypatch.setattr(_state, "SHARD_BYTES", 400)
    assert_same_state(state(here()), state(expected))


@pytest.mark.parametrize(("n_bytes", "n_shards"), [(4000, 1), (3999, 2), (400, 10), (1, 64)])
def test_words_are_divided_into_shards_by_their_bytes(monkeypatch, n_bytes, n_shards):
    monkeypatch.setattr(_state, "SHARD_BYTES", n_bytes)
    shards = _state.shards_of(SimpleNamespace(n_features=100, n_topics=5))
    assert len(shards) == n_shards
    assert [word for first, last in shards for word in range(first, last)] == [*range(100)]


@pytest.mark.slow
def test_what_is_learned_at_merges_is_in_checkpoints(tmp_path, monkeypatch, client):
    """Of which the last two are kept; other files stay."""
    estimator = HybridHDP(batch_size=25, random_state=0, max_iter=1)
    others = {"merge-notes.txt", "merge-00000001.csv", "merge-00000001-rows-of-mine", "thesis.txt"}
    for name in others:
        (tmp_path / name).touch()
    expected = here(estimator, X[:1000], merge_every=2)
    files = {"checkpoint": tmp_path, "checkpoint_every": 2, "merge_every": 2}
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "chunks", failing_at(7))  # after three checkpoints
        with pytest.raises(OSError, match="stopped"):
            here(estimator, X[:1000], **files)
    checkpoints = sorted(path.name for path in tmp_path.glob("*.checkpoint"))
    assert checkpoints == ["merge-00000004.checkpoint", "merge-00000006.checkpoint"]
    for where in (client, False):  # elsewhere, and when it was complete
        model = DaskTopicModel(estimator, client=where, resume=True, **LANES | files)
        model.fit([dask.delayed(X[:450]), dask.delayed(X[450:1000])])
        assert_same_state(state(model.estimator_), state(expected))
    assert others < set(os.listdir(tmp_path))


def failing_at(n, kind=OSError):
    """The function of Plan that raises when it is called for round n."""
    original = Plan.chunks

    def chunks(self, tasks, round_):
        if round_.number == n:
            raise kind("stopped")
        return original(self, tasks, round_)

    return chunks


def test_checkpoints_of_other_models_or_documents_are_refused(tmp_path):
    files = {"checkpoint": f"file://{tmp_path}/a", "checkpoint_every": 4}
    here(X=X[:1000], **files)
    with pytest.raises(ValueError, match="Set resume=True to continue"):
        here(X=X[:1000], **files)
    with pytest.raises(ValueError, match="another model: parameter batch_size is 60 there and 50 here"):
        here(clone(MODEL).set_params(batch_size=50), X[:1000], resume=True, **files)
    with pytest.raises(ValueError, match="of other documents"):
        here(X=X[1000:1900], resume=True, **files)
    here(clone(MODEL).set_params(n_jobs=2, verbose=1), X[:1000], resume=True, **files)  # the same model
    (last,) = sorted((tmp_path / "a").glob("*.checkpoint"))[-1:]
    content = bytearray(last.read_bytes())
    content[len(content) // 2] ^= 1
    last.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{last.name} in .* is damaged.* the files {last.stem}\* to"):
        here(X=X[:1000], resume=True, **files)
    for file in (tmp_path / "a").glob(f"{last.stem}*"):
        file.unlink()
    assert_same_state(state(here(X=X[:1000], resume=True, **files)), state(here(X=X[:1000])))


def test_a_folder_for_a_while_is_new_and_only_its_files_are_removed(tmp_path):
    folder = Folder(tmp_path / "scratch")
    folder.create(exist_ok=False)
    with pytest.raises(FileExistsError):
        folder.create(exist_ok=False)
    folder.write("rows", lambda file: file.write(b"content"))
    (tmp_path / "scratch" / "sub").mkdir()
    (tmp_path / "scratch" / "sub" / "thesis.txt").touch()
    folder.remove()
    assert [path.name for path in (tmp_path / "scratch").rglob("*")] == ["sub", "thesis.txt"]
    pytest.importorskip("fsspec")
    assert Folder("memory://there-is-none").names() == []


def test_a_process_reads_a_model_once(tmp_path):
    """Although each of its tasks has a copy of what names the file."""
    model = OnlineEMLDA(3).fit(make_bars(50, random_state=0).data)
    served = ServedModel.write(model, Folder(tmp_path))
    assert pickle.loads(pickle.dumps(served)).model() is served.model()


def test_names_of_words_are_those_of_the_corpus_and_not_sent_to_tasks(tmp_path):
    names = [f"w{i}" for i in range(25)]
    corpus = save_corpus(tmp_path / "named", X[:500], feature_names=names)
    model = DaskTopicModel(MODEL, client=False, **LANES).fit(corpus)
    assert_same_state(state(model.estimator_), state(here(X=X[:500]).set_feature_names(names)))
    assert not hasattr(model._in_tasks(model.estimator_, _cluster.Here()), "feature_names_in_")
    assert list(model.partial_fit(corpus).estimator_.feature_names_in_) == names
    other = save_corpus(tmp_path / "other", X[:500], feature_names=names[::-1])
    with pytest.raises(ValueError, match="X has 'w24' in column 0, but the topics have 'w0'"):
        model.partial_fit(other)
    for read in (model.transform, model.score):
        assert_raises(ValueError, "X has 'w24' in column 0", read, other, case=read)
    assert list(model.fit(other).estimator_.feature_names_in_) == names[::-1]


def test_lanes_may_lack_documents_and_batches_be_larger_than_any_corpus():
    alone = here(X=X[:3], n_lanes=8)
    assert alone.n_samples_seen_ == 6
    assert np.isfinite(alone.components_).all()
    fitted = [here(clone(MODEL).set_params(batch_size=2**n), X=X[:50]) for n in (70, 71)]
    assert_array_equal(fitted[0].components_, fitted[1].components_)


def test_partial_fit_goes_on():
    model = DaskTopicModel(MODEL, client=False, **LANES).fit(X[:500])
    model.estimator_.set_params(batch_size=50)
    n_updates = model.estimator_.n_batch_iter_
    model.partial_fit(X[:400])
    assert model.estimator_.n_samples_seen_ == 1400
    assert model.estimator_.n_batch_iter_ == n_updates + 3  # of 50 documents in each of 3 lanes
    assert model.estimator_._state.corpus_size == 900
    assert_array_equal(model.transform(X[:9]), model.estimator_.transform(X[:9]))
    with pytest.raises(ValueError, match="X has 20 features, but OnlineEMLDA is expecting 25"):
        model.partial_fit(X[:50, :20])


def test_partial_fit_expects_more_documents_unless_fit_came_before():
    model = DaskTopicModel(HybridLDA(5, random_state=0), n_lanes=2, client=False)
    for first, seen in ((0, 40), (40, 60)):
        model.partial_fit(X[first:seen])
        assert model.estimator_.total_samples_ == seen * seen ** (1 / 3)
    assert model.fit(X[:40]).estimator_.total_samples_ == 40
    assert model.partial_fit(X[40:60]).estimator_.total_samples_ == 60


def test_functions_that_describe_models_take_it(expected):
    """As the model that it keeps, whose names of topics go on."""
    model = DaskTopicModel(MODEL, client=False, **LANES)
    with pytest.raises(NotFittedError):
        top_words(model)
    model.estimator_ = copy.copy(expected)
    name_topics(model, {0: "left"})
    few = X[:50]
    for table in (topic_table, word_topic_table):
        assert table(model, few).equals(table(model.estimator_, few))
        assert table(model, few)["name"].isin(["left"]).any()
    for function in (coherence, document_completion):
        assert function(model, few) == function(expected, few)
    assert topic_sizes(model).table.equals(topic_sizes(model.estimator_).table)
    assert model.partial_fit(X[:500]).estimator_.topic_names_[0] == "left"


def test_it_is_an_estimator():
    sentinel = threading.Lock()  # which can be neither copied nor pickled, as a client
    model = DaskTopicModel(MODEL, client=sentinel)
    assert clone(model).client is sentinel
    assert pickle.loads(pickle.dumps(model)).client is None
    assert "OnlineEMLDA" in repr(model.set_params(n_lanes=2, estimator__n_components=7))
    assert model.estimator.n_components == 7
    model.set_params(estimator__n_components=5)


def test_what_cannot_be_trained_is_refused():
    with_callbacks = clone(MODEL)
    with_callbacks._skl_callbacks = [object()]
    for estimator, parameters, message in [
        (DirectAssignmentHDP(), {}, "Use HybridHDP"),
        (with_callbacks, {}, "does not support callbacks"),
        (MODEL, {"n_lanes": 4097}, r"'n_lanes' parameter .* int in the range \[1, 4096\]. Got 4097"),
        (MODEL, {"resume": True}, "Set checkpoint"),
        (MODEL, {"client": "tcp://there"}, "client='tcp://there' is invalid: must be a .*Client, None"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            DaskTopicModel(estimator, **{"client": False, **parameters}).fit(X)


def test_what_is_no_list_of_blocks_is_named():
    fitted = DaskTopicModel(MODEL, client=False, **LANES).fit(X[:50])
    bag = pytest.importorskip("dask.bag")
    for one in (bag.from_sequence([1, 2]).sum(), dask.delayed(X)):
        for call in (fitted.fit, fitted.transform, fitted.score):
            with pytest.raises(TypeError, match=r"X is a (Item|Delayed).*; .* a list of delayed matrices"):
                call(one)
    with pytest.raises(ValueError, match=r"block 0 of X: X has texts; .*: count a bag of them first"):
        fitted.fit(bag.from_sequence(["some texts"]))
    theta = fitted.transform([dask.delayed(X[:50].astype(np.float32))]).compute()
    assert theta.dtype == np.float64 and np.abs(theta.sum(axis=1) - 1).max() < 1e-12


def test_a_plain_model_says_what_to_do_with_dask():
    masked = da.ma.masked_greater(da.from_array(X[:50].toarray()), 3)
    for call in (OnlineEMLDA(2).fit, OnlineEMLDA(2, max_iter=1).fit(X).transform):
        for blocks in (blocks_of_array(X), dask.delayed(X)):
            assert_raises(ValueError, "X has blocks of Dask; .*DaskTopicModel trains on them", call, blocks)
        assert_raises(ValueError, "X has masked values", call, masked)


def test_rounds_grow():
    lengths = list(rounds(5000, "auto", 0))
    assert sum(lengths) == 5000
    assert lengths[:3] == [1, 1, 1]
    assert lengths[-2] == max(lengths) == 128
    assert list(rounds(10, 4, 0)) == [1, 4, 4, 1]
    assert list(rounds(10, 4, 3)) == [4, 4, 2]


# On a cluster


def check_released(client):
    """Wait for the loop of the client to let all futures go."""
    deadline = time.monotonic() + PATIENCE
    while client.futures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not client.futures
    assert client.submit(sum, [1, 2], pure=False).result(timeout=PATIENCE) == 3


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(client, corpus, expected, monkeypatch):
    fitted = DaskTopicModel(MODEL, **LANES).fit(blocks_of_array(X))  # on the current client
    assert_same_state(state(fitted.estimator_), state(expected))
    monkeypatch.setattr(_state, "SHARD_BYTES", 400)
    once = clone(MODEL).set_params(max_iter=1)
    few = X[:600]
    assert_same_state(
        state(DaskTopicModel(once, **LANES).fit([dask.delayed(few)]).estimator_), state(here(once, few))
    )
    with pytest.raises(TypeError, match="X is a csr_matrix in the memory of this process"):
        DaskTopicModel(MODEL).fit(X)
    check_released(client)
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(ValueError, match="the client is closed"):
        DaskTopicModel(MODEL, client=closed).fit(X)
    with closing(_cluster.Cluster(client)) as tasks:  # workers that came back are missed no more
        tasks._without_workers = -np.inf
        assert tasks.results([tasks.submit(("sum",), sum, [1, 2])]) == [3]
        assert tasks._without_workers is None


@pytest.mark.slow
def test_transform_and_score_are_those_of_the_model(client, corpus, expected):
    model = DaskTopicModel(MODEL, client=client)
    model.estimator_ = expected
    theta = expected.transform(X)
    kinds = every_kind(corpus)
    for documents in (kinds["corpus"], kinds["bag"]):
        answer = model.transform(documents)
        assert isinstance(answer, da.Array)
        assert_array_equal(answer.compute(), theta)
        assert model.score(documents) == expected.score(X)
    assert model.transform(blocks_of_array(X)).numblocks == (5, 1)
    empty, full = dask.delayed(X[:0]), dask.delayed(X)
    assert model.score([empty, full, empty]) == expected.score(X)
    with pytest.raises(ValueError, match="X has no documents"):
        model.score([empty])


def raising(block):
    raise OSError("the disk is gone")


@pytest.mark.slow
def test_bad_blocks_are_named(client):
    gone = "block 2 of X could not be computed: OSError: the disk is gone"
    for bad, message, is_here in [
        (X[:100, :20], "block 2 of X.* 20 features", True),
        (np.full((3, 25), np.nan), "block 2 of X: X contains NaN", False),
        ("words", "block 2 of X", True),
        *((dask.delayed(raising)(0), gone, is_here) for is_here in (True, False)),
    ]:
        parts = [dask.delayed(part) for part in (X[:1000], X[1000:2000], bad, X[2000:])]
        model = DaskTopicModel(MODEL, client=False if is_here else client, **LANES)
        assert_raises(ValueError, message, model.fit, parts)
        assert not hasattr(model, "estimator_")
        check_released(client)


@pytest.mark.usefixtures("alone")
def test_ctrl_c_leaves_the_cluster_usable(client, corpus, monkeypatch):
    monkeypatch.setattr(Plan, "chunks", failing_at(3, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        DaskTopicModel(MODEL, **LANES).fit(corpus)
    check_released(client)


released = threading.Event()


def name():
    released.wait(PATIENCE)
    return uuid4().hex


def close_worker(client, address):
    """End a worker, and with it the results that it holds."""
    (worker,) = (each for each in client.cluster.workers.values() if each.address == address)
    client.cluster.sync(worker.close)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_results_that_a_worker_took_with_it_are_computed_again(corpus, monkeypatch):
    """For processes that are killed at random moments, see benchmarks/dask_faults.py."""
    monkeypatch.setattr(_cluster, "POLL", 0.02)
    once, lanes, original = clone(MODEL).set_params(max_iter=1), {**LANES, "merge_every": 1}, Plan.chunks

    def chunks(self, tasks, round_):
        if tasks.client is not None and round_.number == 8:
            address, held = max(client.has_what().items(), key=lambda item: len(item[1]))
            assert held
            close_worker(client, address)
        return original(self, tasks, round_)

    with cluster(3, processes=False, protocol="tcp") as client:
        with closing(_cluster.Cluster(client)) as tasks:
            released.set()
            task = tasks.submit(("name",), name)
            (result,) = tasks.results([task])
            released.clear()
            ((holder,),) = client.who_has([task]).values()
            close_worker(client, holder)
            deadline = time.monotonic() + PATIENCE
            while task.status != "lost" and time.monotonic() < deadline:
                time.sleep(0.001)
            threading.Timer(0.05, released.set).start()
            assert tasks.results([task]) != [result]
        with monkeypatch.context() as patch:
            patch.setattr(Plan, "chunks", chunks)
            fitted = DaskTopicModel(once, client=client, **lanes).fit(corpus).estimator_
    assert_same_state(state(fitted), state(here(once, **lanes)))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_without_workers_or_scheduler_nothing_waits_for_ever(corpus, monkeypatch):
    monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", 0.2)
    monkeypatch.setattr(_cluster, "POLL", 0.05)
    with cluster(0, processes=False) as client:
        with pytest.raises(RuntimeError, match="no workers"):
            DaskTopicModel(MODEL, client=client, **LANES).fit(corpus)
        monkeypatch.setattr(_cluster, "WITHOUT_WORKERS", PATIENCE)
        with closing(_cluster.Cluster(client)) as tasks:
            task = tasks.submit(("sum",), sum, [1, 2])
            timer = threading.Timer(0.1, client.cluster.close)
            timer.start()
            with pytest.raises(RuntimeError, match="scheduler"):
                tasks.wait([task])
            timer.join()
