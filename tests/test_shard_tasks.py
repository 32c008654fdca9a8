"""Collapsed Gibbs sampling of shards and ranges of words that are apart: the bits are those of fit."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sktopic import load
from sktopic._documents import DocumentReader
from sktopic.dask import DaskTopicModel, _sweeps
from sktopic.dask._blocks import documents_of
from sktopic.dask._cluster import Here
from sktopic.dask._files import Folder
from sktopic.datasets import make_lda_documents
from sktopic.lda import CollapsedGibbsLDA
from sktopic.lda import _shard_tasks as shard_tasks
from sktopic.lda._document_topics import topics_of
from sktopic.lda._shard_tasks import BlockSize, WordCounts, WordTokens

from .conftest import assert_same_state, state

# Words beyond the first 1024, whose sums are those of two blocks; documents without words; a count above 64.
CORPUS = make_lda_documents(60, n_features=1500, n_components=4, mean_length=40, random_state=0)
X = sp.csr_array(CORPUS.data, dtype=np.float64)
X = sp.vstack([X[:30], 0 * X[:1], X[30:], 0 * X[:2], sp.csr_array(100.0 * np.eye(1, 1500))], format="csr")
X.eliminate_zeros()
LEARNED = {"doc_topic_prior": "auto", "topic_word_prior": "auto"}


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    """Words in two ranges, and documents in blocks of 7."""
    monkeypatch.setattr(_sweeps, "n_shards_of", lambda n_features, n_topics: 2)


def make_model(n_components=4, **params):
    settings = {"max_iter": 7, "n_draws": 3, "thinning": 2, "evaluate_every": 3, "prior_interval": 4}
    return CollapsedGibbsLDA(n_components, **{**settings, "random_state": 0, **params})


def sampled(model, X, tasks=None, **options):
    """The model after sweeps over parts."""
    tasks = Here() if tasks is None else tasks
    documents = documents_of([X[i : i + 7] for i in range(0, X.shape[0], 7)], tasks, "the model")
    return _sweeps.sample(clone(model), documents, tasks, **options)


@pytest.mark.parametrize("n_shards", [1, 3, 8])
@pytest.mark.parametrize(
    ("scale", "params"),
    [
        (1, {}),
        (1, LEARNED),
        (1, {"n_components": 200, "n_draws": 1, "doc_topic_prior": "auto-symmetric"}),  # in lists
        (0.37, LEARNED),
        (0.37, {"n_components": 1, "topic_word_prior": 0.3}),
    ],
    ids=["given", "learned", "lists", "fractions", "one topic"],
)
def test_parts_are_sampled_as_by_fit(n_shards, scale, params):
    """All that is fitted, to the last bit; fractions are rounded in the same order."""
    model = make_model(n_shards=n_shards, **params)
    assert_same_state(state(sampled(model, scale * X)), state(clone(model).fit(scale * X)))


def test_there_may_be_more_shards_than_documents():
    model = make_model(n_shards=500, **LEARNED)
    assert_same_state(state(sampled(model, X)), state(clone(model).fit(X)))


def test_what_is_sampled_is_a_plain_model(tmp_path):
    model = make_model(n_shards=3, **LEARNED)
    whole, parts = clone(model).fit(X), sampled(model, X)
    parts.save(tmp_path / "model")
    for one in (parts, load(tmp_path / "model")):
        assert_array_equal(one.transform(X), whole.transform(X))
    assert_same_state(state(parts.partial_fit(X[:9])), state(whole.partial_fit(X[:9])))


@pytest.mark.parametrize("n_shards", [1, 2, 5, 40])
def test_shards_are_those_of_whole_documents(n_shards):
    rng = np.random.default_rng(n_shards)
    for block in (1, 4, 30):
        dense = rng.integers(0, 3, (30, 6)) * (rng.random((30, 1)) < 0.7) * (rng.random() < 0.9)
        documents = sp.csr_array(dense.astype(float))
        blocks = [documents[i : i + block] for i in range(0, 30, block)]
        sizes = [shard_tasks.block_size(each) for each in blocks]
        wanted = shard_tasks.wanted_cuts(sizes, n_shards)
        cuts = {i: shard_tasks.find_cuts(blocks[i], before, targets) for i, before, targets in wanted}
        chunks = DocumentReader(documents).batch(np.arange(30)).chunks(n_shards)
        assert shard_tasks.shard_ranges(sizes, cuts) == chunks


def test_counts_are_exact_as_long_as_they_are_whole_and_not_too_many():
    assert shard_tasks.count_exactly([BlockSize(1, 1, 2.0**46, True)])
    assert not shard_tasks.count_exactly(2 * [BlockSize(1, 1, 2.0**46, True)])
    assert not shard_tasks.count_exactly([BlockSize(1, 1, 1.0, True), BlockSize(1, 1, 1.5, False)])


# What is sent


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 3], "u1"),
        ([1, -3], "i1"),
        ([-1, 200], "i2"),
        ([40_000, 1], "u2"),
        ([-70_000, 1], "i4"),
        ([3e9, 1], "f8"),
        ([0.3, 1], "f8"),
    ],
)
def test_counts_are_sent_in_the_smallest_type(values, dtype):
    """Parts of them, joined and added, are what they were."""
    rng = np.random.default_rng(0)
    dense = rng.choice([0.0, *values], (40, 5))
    words = np.sort(rng.permutation(90)[:40]).astype(np.int32)
    counts = WordCounts.of(words, 5, [dense[:9], dense[9:9], dense[9:]])
    assert counts.values.dtype == dtype and counts.topics.dtype == np.uint16
    parts = [counts.between(*bounds) for bounds in ((0, 30), (30, 30), (30, 61), (61, 90))]
    rows = rng.permutation(40)
    assert_array_equal(WordCounts.joined(parts).dense(rows, 5), dense[rows])
    total = np.ones((61 - 30, 5))
    parts[2].add_to(total, 30)
    inside = (words >= 30) & (words < 61)
    expected = np.ones((61 - 30, 5))
    expected[words[inside] - 30] += dense[inside]
    assert_array_equal(total, expected)


def test_tokens_of_some_words_are_added_in_their_order():
    words = np.array([7, 2, 30, 4], dtype=np.int32)
    cell_count = np.array([0.1, 2.3, 70.0, 3.0, 0.7])
    n_clumps = np.array([1, 3, 64, 3, 1])
    z = np.random.default_rng(0).integers(0, 2, n_clumps.sum()).astype(np.int32)
    tokens = WordTokens(np.array([0, 2, 3, 4, 5]), words, cell_count, z)
    whole = np.zeros((31, 2))
    tokens.add_to(whole, 0)
    assert whole.sum() == pytest.approx(cell_count.sum())
    for first, last in ((0, 31), (0, 5), (5, 31), (8, 9)):
        part = np.zeros((last - first, 2))
        tokens.between(first, last).add_to(part, first)
        assert_array_equal(part, whole[first:last])


def test_an_order_of_topics_has_to_be_one_of_the_documents():
    batch = DocumentReader(X).batch(np.arange(X.shape[0]))
    topics = topics_of(batch, np.full(200, 0.1), 1e-9).unassigned(batch.n_documents, batch.n_clumps)
    z = np.random.default_rng(0).integers(0, 200, batch.n_clumps).astype(np.int32)
    topics.fill(z)
    order = {name: array.copy() for name, array in topics.order.items()}
    order["topics"][:2] = order["topics"][1::-1]
    topics.fill_in_order(z, order)
    assert_array_equal(topics.order["topics"], order["topics"])
    order["topics"][0] = np.setdiff1d(np.arange(200), order["topics"][: order["n_entries"][0]])[0]
    with pytest.raises(ValueError, match="other topics than"):
        topics.fill_in_order(z, order)
    order["n_entries"][0] += 1
    with pytest.raises(ValueError, match="other numbers of topics"):
        topics.fill_in_order(z, order)


# Checkpoints


class Interrupted(Here):
    """Fails at the first task of a sweep."""

    def __init__(self, sweep):
        self.n_left = 3 * sweep

    def submit(self, name, function, *arguments):
        if name[0] == "gibbs-sweep":
            if self.n_left == 0:
                raise KeyboardInterrupt
            self.n_left -= 1
        return super().submit(name, function, *arguments)


@pytest.mark.parametrize(
    ("scale", "params"),
    [(1, LEARNED), (1, {"n_components": 200}), (0.37, {})],
    ids=["rows", "lists", "fractions"],
)
def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path, scale, params):
    """After an interrupt in the middle of the draws; the last two are kept."""
    model, folder = make_model(n_shards=3, max_iter=11, **params), Folder(tmp_path)
    whole = state(clone(model).fit(scale * X))
    with pytest.raises(KeyboardInterrupt):
        sampled(model, scale * X, Interrupted(10), folder=folder, checkpoint_every=2)
    assert [name for name in folder.names() if name.endswith(".checkpoint")] == [
        "merge-00000008.checkpoint",
        "merge-00000010.checkpoint",
    ]
    with pytest.raises(KeyboardInterrupt):
        sampled(model, scale * X, Interrupted(0), folder=folder, checkpoint_every=2, resume=True)
    again = sampled(model, scale * X, Interrupted(1), folder=folder, checkpoint_every=2, resume=True)
    assert_same_state(state(again), whole)


def test_other_files_in_a_folder_of_checkpoints_stay(tmp_path):
    names = "merge-notes.txt", "merge-00000001.csv", "thesis.txt"
    for name in names:
        (tmp_path / name).touch()
    sampled(make_model(n_shards=3, max_iter=9), X, folder=Folder(tmp_path), checkpoint_every=2)
    assert set(names) < set(os.listdir(tmp_path))


def test_a_checkpoint_of_another_chain_is_an_error(tmp_path):
    model, folder = make_model(n_shards=3), Folder(tmp_path)
    options = {"folder": folder, "checkpoint_every": 4}
    sampled(model.set_params(max_iter=9), X, **options)
    with pytest.raises(ValueError, match="resume=True"):
        sampled(model, X, **options)
    with pytest.raises(ValueError, match="of other documents"):
        sampled(model, X[1:], resume=True, **options)
    with pytest.raises(ValueError, match="another model: parameter thinning is 2 there and 3 here"):
        sampled(clone(model).set_params(thinning=3), X, resume=True, **options)
    head, topics = tmp_path / "merge-00000008.checkpoint", tmp_path / "merge-00000008-topics-00001"
    for file in (topics, head):
        content = bytearray(file.read_bytes())
        content[-len(content) // 3] ^= 1
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{file.name} in .* is damaged"):
            sampled(model, X, resume=True, **options)


# DaskTopicModel


def test_lanes_are_shards():
    model = make_model(n_shards=3)
    trained = DaskTopicModel(model, client=False).fit(X)
    assert_same_state(state(trained.estimator_), state(clone(model).fit(X)))
    assert trained.n_merges_ == 7
    assert_array_equal(trained.transform(X), trained.estimator_.transform(X))
    for params in ({"n_lanes": 3}, {"merge_every": 1}, {"delta_dtype": "float32"}):
        with pytest.raises(ValueError, match=f"{next(iter(params))}=.* n_shards"):
            DaskTopicModel(model, client=False, **params).fit(X)
    with pytest.raises(ValueError, match=r"estimator_\.partial_fit"):
        trained.partial_fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"topic_word_prior": np.full((4, 1500), 0.1)}, "takes no matrix as topic_word_prior.*OnlineEMLDA"),
        ({"components_init": np.ones((4, 1500))}, "takes no components_init.*OnlineEMLDA"),
        ({"n_shards": 0}, "n_shards"),
        ({"doc_topic_prior": [0.1, 0.2]}, "doc_topic_prior"),
    ],
)
def test_what_has_no_rule_is_an_error(params, message):
    with pytest.raises(ValueError, match=message):
        DaskTopicModel(make_model(**params), client=False).fit(X)
