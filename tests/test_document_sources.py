"""Corpora on disk and blocks of documents: the same as the matrix that has their documents in their order."""

import copy
import io
import os
import pickle
import tracemalloc
from functools import partial
from itertools import filterfalse, pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sktopic._documents._block_order import blocks_of, dealt, mixed, permuted
from sktopic._documents._sources import BlockDocuments, CorpusDocuments, MatrixDocuments, visited
from sktopic._estimators._plug_in import check_documents, plug_in_topics
from sktopic._kernels.random._rng import combine_keys
from sktopic._training._minibatches import SHUFFLE_KEY, VALIDATION_KEY
from sktopic.datasets import make_bars, open_corpus, save_corpus
from sktopic.inspection import top_documents, topic_table
from sktopic.lda import OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import coherence, document_completion, left_to_right, relative_score

from .conftest import all_attributes, assert_raises, assert_same_state
from .registry import LOOPS, allows, each, is_filter, new, takes_weights, variants

N = 5000
X = sp.csr_array(make_bars(N, doc_length=8, random_state=0).data)
WEIGHTS = np.random.default_rng(0).integers(0, 4, size=N).astype(float)
FAST = {"random_state": 0, "max_iter": 1}
SWEEPS = {"doc_burn_in": 1, "doc_sweeps": 2, "transform_burn_in": 1, "transform_sweeps": 2}
MODEL = OnlineEMLDA(5, batch_size=300, **FAST, **SWEEPS)


class Again:
    """Blocks that can be iterated over again, and do not know how many they are."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


def cut(sizes, counts=X):
    """Blocks of these sizes, and one of the rest."""
    bounds = [0, *np.cumsum(sizes), counts.shape[0]]
    return [counts[a:b] for a, b in pairwise(bounds)]


BLOCKS = cut([1, 700, 2048, 299])


@pytest.fixture(scope="module")
def fitted():
    return clone(MODEL).fit(X)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpora") / "bars", X)


def assert_same(model, other):
    assert_same_state(all_attributes(model), all_attributes(other))


def test_a_shuffled_corpus_is_as_a_matrix_in_that_order(corpus):
    """So is a list of blocks of as many documents as a corpus is read by."""
    blocks = [X[a:b] for a, b in blocks_of(N)]
    learning = OnlineVariationalLDA(5, doc_topic_prior="auto", **FAST)
    for method, source, weights in [
        (MODEL, corpus, np.ones(N)),
        (MODEL, blocks, np.ones(N)),
        (learning, corpus, WEIGHTS),
    ]:
        model = clone(method).set_params(shuffle=True).fit(source, sample_weight=weights)
        some = np.flatnonzero(weights)
        key = combine_keys(model._state.seed, SHUFFLE_KEY, 0)
        order = some[np.concatenate(list(visited(blocks_of(len(some)), key)))]
        expected = clone(method).set_params(shuffle=False).fit(X[order], sample_weight=weights[order])
        assert_same(model.set_params(shuffle=False), expected)


def test_the_order_of_a_pass_does_not_depend_on_earlier_passes():
    documents = MatrixDocuments(X).weighted(WEIGHTS)
    one, other, again = ([rows.tolist() for _, rows in documents.batches(300, key)] for key in (3, 4, 3))
    assert one == again != other


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_documents_are_split_and_shuffled(weights):
    """What is held out is not trained on, and is the same part however the documents come."""
    numbers = sp.csr_array(np.arange(1, N + 1)[:, None])
    sources = [
        CorpusDocuments(numbers).weighted(weights),
        BlockDocuments(Again(cut([7, 3000], numbers)), sp.csr_array).survey().weighted(weights),
        BlockDocuments(cut([2000, 3000], numbers), sp.csr_array).survey().weighted(weights),
    ]
    parts = []
    for documents in sources:
        for part in documents.split(0.15, 11):
            rows = np.concatenate([block.toarray().ravel() for block in part.blocks()])
            assert len(rows) == part.n_documents
            for size in (64, 3000):  # the larger is more than is visited at once
                batches, other = (
                    [reader._X[rows].toarray().ravel() for reader, rows in part.batches(size, key)]
                    for key in (3, 4)
                )
                expected = [size] * (len(rows) // size) + [len(rows) % size] * (len(rows) % size > 0)
                assert [*map(len, batches)] == expected
                assert_array_equal(np.sort(np.concatenate(batches)), rows)
                assert not np.array_equal(batches[0], other[0])
            assert part.total_weight() == (len(rows) if weights is None else weights[rows - 1].sum())
            parts.append(rows)
    some = np.flatnonzero(np.ones(N) if weights is None else weights)
    assert len(parts[1]) == round(0.15 * len(some))
    assert_array_equal(np.sort(np.concatenate(parts[:2])) - 1, some)
    for trained, held_out in (parts[2:4], parts[4:]):
        assert_array_equal(trained, parts[0])
        assert_array_equal(held_out, parts[1])


def test_early_stopping_scores_what_is_held_out(corpus):
    model = clone(MODEL).set_params(early_stopping=True, max_iter=2, validation_fraction=0.01)
    for source in (corpus, Again(BLOCKS)):
        fitted = clone(model).fit(source)
        key = combine_keys(fitted._state.seed, VALIDATION_KEY)
        _, held_out = CorpusDocuments(X).split(0.01, key)
        assert fitted.validation_scores_[-1] == fitted.score(held_out.matrix())


def test_a_mapped_matrix_is_as_one_in_memory_and_nothing_is_copied(corpus):
    model = clone(MODEL).set_params(shuffle=True)
    assert_same(model.fit(corpus.counts), clone(model).fit(X.astype(corpus.dtype)))
    assert MatrixDocuments(X).matrix() is X
    assert next(CorpusDocuments(X).blocks()) is X


# Filters read documents in groups, which blocks cut elsewhere.
FILTER = type(next(filter(is_filter, LOOPS)))


@each([*variants(lambda each: type(each) is FILTER), *filterfalse(is_filter, LOOPS)])
def test_every_loop_takes_corpora_and_blocks(tmp_path, estimator):
    """Whose bounds are not those of batches, and which come with weights, or once."""
    shuffle = {"shuffle": False} if allows(estimator, "shuffle", False) else {}
    n = 150 if is_filter(estimator) else 60  # more than two groups of a filter
    weights = {"sample_weight": WEIGHTS[:n]} if takes_weights(estimator) else {}
    some, model = X[:n], new(estimator, **shuffle)
    expected = clone(model).fit(some, **weights)
    blocks = cut([1, n // 2, 20], some)
    for source in (save_corpus(tmp_path / "corpus", some), Again(blocks)):
        assert_same(clone(model).fit(source, **weights), expected)
    part = clone(model).partial_fit(Again(blocks), **weights)
    assert_same(part, clone(model).partial_fit(some, **weights))
    assert_same(clone(model).partial_fit(iter(cut([7], some))), clone(model).partial_fit(some))


@pytest.mark.slow
def test_answers_are_those_of_the_matrix(fitted, corpus):
    model = fitted
    few = X[:1100].astype(np.float64)
    blocks, some = cut([3, 500], few), WEIGHTS[:1100]
    for source in (Again(blocks), blocks):
        assert_array_equal(model.transform(source), model.transform(few))
        assert_array_equal(model.transform(iter(blocks)), model.transform(few))
        assert model.score(source, sample_weight=some) == model.score(few, sample_weight=some)
        for found, expected in zip(model.word_topics(source, 2), model.word_topics(few, 2)):
            assert_array_equal(found, expected)
        assert_array_equal(model.sample_proportions(source, 2), model.sample_proportions(few, 2))
        rows = [rows for rows, _, _ in model.iter_word_topics(source, block_size=400)]
        bounds = [0, 3, 403, 503, 903, 1100]
        assert [(each.start, each.stop) for each in rows] == list(pairwise(bounds))
        for metric in (document_completion, relative_score, left_to_right, coherence):
            assert metric(model, source) == metric(model, few)
        assert_array_equal(top_documents(model, source)[0], top_documents(model, few)[0])
        assert topic_table(model, source).equals(topic_table(model, few))
    assert model.score(corpus) == model.score(X)
    assert coherence(model, corpus) == coherence(model, X)
    assert relative_score(model, corpus, burn_in=1, sweeps=1) == relative_score(model, X, burn_in=1, sweeps=1)
    variational = OnlineVariationalLDA(3, **FAST).fit(few)
    assert variational.elbo(blocks) == pytest.approx(variational.elbo(few), rel=1e-13)
    counts = check_documents(corpus, plug_in_topics(model)).matrix()
    assert np.may_share_memory(counts.data, corpus.counts.data)


def test_results_are_written_where_they_are_wanted(tmp_path, corpus):
    model = clone(MODEL).fit(X)
    expected, path = model.transform(X), tmp_path / "theta.npy"
    model.set_output(transform="pandas")
    for source in (corpus, X, BLOCKS, iter(BLOCKS)):
        written = model.transform(source, out=path)
        assert isinstance(written, np.memmap)
        assert not written.flags.writeable
        assert_array_equal(np.load(path), expected)
    array = np.zeros((N, 10), dtype=np.float32)[:, ::2]
    assert model.transform(corpus, out=array) is array
    assert_array_equal(array, expected.astype(np.float32))
    assert list(model.transform(X[:2]).columns) == [f"onlineemlda{k}" for k in range(5)]
    assert model.transform(X[:3].astype(np.float32), out=path).dtype == np.float32
    steps = make_pipeline(FunctionTransformer(accept_sparse=True), model).fit(X)
    assert_array_equal(steps.transform(X[:9]), expected[:9])


def test_a_result_is_mapped_as_one_file_even_if_another_takes_its_name(fitted, tmp_path, monkeypatch):
    path, read, model = tmp_path / "theta.npy", np.lib.format.read_array_header_1_0, fitted

    def replace_first(file):
        monkeypatch.undo()
        model.transform(X[:2], out=path)
        return read(file)

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", replace_first)
    assert_array_equal(model.transform(X, out=path), model.transform(X))
    assert len(np.load(path)) == 2


def test_what_is_no_place_for_results(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given, out, message in [
        (X, np.zeros((N - 1, 5)), r"shape \(4999, 5\); must be \(5000, 5\)"),
        (X, np.zeros((N, 5), dtype=int), "dtype int64"),
        (X, np.broadcast_to(0.0, (N, 5)), "read-only"),
        (X, [[0.0]], "out is a list"),
        (BLOCKS, np.zeros((4000, 5)), "out has 4000 rows, but X has more"),
        (BLOCKS, np.zeros((6000, 5)), "out has 6000 rows, but X has 5000"),
        ([*BLOCKS, -X[:3].astype(float)], "theta.npy", "block 5 of X: Negative values"),
    ]:
        assert_raises((TypeError, ValueError), message, fitted.transform, given, out=out)
    assert os.listdir(tmp_path) == []


def test_results_do_not_replace_the_documents_that_they_are_for(fitted, tmp_path):
    path, link = tmp_path / "counts.npy", tmp_path / "link.npy"
    np.save(path, X[:50].toarray().astype(float))
    link.symlink_to(path)
    dense, own = np.load(path, mmap_mode="r"), open_corpus(save_corpus(tmp_path / "corpus", X[:50]).path)
    parts = ("data", "indices", "indptr")
    for name in parts:
        np.save(tmp_path / name, getattr(X[:50], name))
    arrays = tuple(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in parts)
    mapped = sp.csr_array(arrays, shape=(50, X.shape[1]))
    for given, out in (
        (dense, path),
        (dense[10:20], str(link)),
        ([X[:20], dense[20:]], path),
        (own, os.path.join(own.path, "indices.npy")),
        (own, os.path.join(own.path, "header.json")),
        (mapped, tmp_path / "data.npy"),
    ):
        before = Path(out).read_bytes()
        assert_raises(ValueError, "out=.* is invalid: must be another file", fitted.transform, given, out=out)
        assert Path(out).read_bytes() == before
    for given in (own, dense, mapped):
        out = os.path.join(own.path, "theta.npy")  # beside the files of the corpus
        assert_array_equal(fitted.transform(given, out=out), fitted.transform(X[:50]))


def test_a_relative_path_is_that_of_the_folder_in_which_the_call_began(fitted, tmp_path, monkeypatch):
    def blocks():
        yield X[:1000]
        monkeypatch.chdir(tmp_path / "other")
        yield X[1000:]

    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert_array_equal(fitted.transform(blocks(), out="theta.npy"), fitted.transform(X))
    assert np.load(tmp_path / "theta.npy").shape == (N, 5)
    assert os.listdir(tmp_path / "other") == []


def test_blocks_may_come_in_the_same_arrays():
    """A reader may fill the same arrays again for each block, here several times a batch."""
    kept = {part: np.empty_like(getattr(X, part)) for part in ("data", "indices", "indptr")}

    def refilled():
        for block in cut([100] * 49):
            again = sp.csr_array(block.shape, dtype=X.dtype)
            for part, array in kept.items():
                setattr(again, part, array[: len(getattr(block, part))])
                getattr(again, part)[:] = getattr(block, part)
                assert np.shares_memory(getattr(again, part), array)
            yield again

    assert_same(clone(MODEL).partial_fit(refilled()), clone(MODEL).partial_fit(X))


def test_a_bad_block_is_named_and_loses_nothing(fitted):
    for block, message in [(-X[:2].astype(float), "Negative values"), (X[:2, :7], "7 features")]:
        model = copy.deepcopy(fitted)
        before = pickle.dumps(model)
        assert_raises(ValueError, f"block 1 of X: .*{message}", model.fit, [X[:5], block])
        assert pickle.dumps(model) == before
        assert_raises(ValueError, f"block 1 of X: .*{message}", model.partial_fit, [X[:300], block, X])
        assert model.n_samples_seen_ == N + 300
        assert model.partial_fit(X).n_samples_seen_ == 2 * N + 300
    with pytest.raises(ValueError, match=r"block 1 of X: .*X has texts"):
        model.fit([X[:5], ["a b"]])


def test_a_bad_first_block_does_not_let_a_model_adopt_its_parameters():
    model = clone(MODEL).set_params(doc_topic_prior="auto").fit(X[:9])
    before = pickle.dumps(vars(model.set_params(doc_topic_prior=None)))
    with pytest.raises(ValueError, match=r"block 0 of X: .*1D array"):
        model.partial_fit(row for row in X[:2].toarray())
    assert pickle.dumps(vars(model)) == before


def test_documents_of_gensim_are_no_blocks_of_two_words(tmp_path):
    """A corpus of gensim is an iterable of lists of pairs, which NumPy would make matrices of."""
    model = clone(MODEL).fit(X[:9, :2])
    write = partial(save_corpus, tmp_path / "corpus")
    for bags in ([[(3, 1), (7, 2)], [(1, 1)]], [[], [(1, 1)]]):
        for function in (clone(MODEL).fit, clone(MODEL).partial_fit, model.transform, write):
            with pytest.raises(ValueError, match=r"\(word, count\) pairs.*corpus2csc\(X"):
                function(dict(enumerate(bags)).values())


def test_lists_of_other_matrices_are_blocks_too(corpus):
    expected = clone(MODEL).fit([X[:400], X[400:900]])
    dense = [X[:400].toarray(), X[400:900].toarray()]
    assert_array_equal(clone(MODEL).fit(dense).components_, expected.components_)
    frames = [pd.DataFrame(block, columns=[f"w{i}" for i in range(25)]) for block in dense]
    named = clone(MODEL).fit(frames)
    assert_array_equal(named.components_, expected.components_)
    assert clone(MODEL).partial_fit(iter(frames)).partial_fit(iter(frames)).feature_names_in_[0] == "w0"
    with pytest.raises(ValueError, match="block 1 of X: The feature names should match"):
        named.partial_fit([frames[0], frames[1].rename(columns=str.upper)])
    with pytest.raises(ValueError, match=r"X has corpora on disk; .* corpus.blocks\(\)\)\) makes one"):
        clone(MODEL).fit([corpus, corpus])
    with pytest.raises(TypeError, match=r"not by .*; corpus.counts is a matrix"):
        corpus[np.arange(3)]


def test_blocks_that_change_between_passes_are_noticed():
    class Changing:
        def __init__(self, second):
            self.passes = iter([[X[:5], X[5:9]], second])

        def __iter__(self):
            return iter(next(self.passes))

    for second, message in [
        ([X[:5]], "X has given 1 blocks, and 2 when"),
        ([X[:4], X[4:9]], "block 0 of X: it has 4 rows, and not as many"),
        ([X[:5], X[5:9], X[9:12]], "block 2 of X: it has 3 rows, and not as many"),
    ]:
        assert_raises(ValueError, message, clone(MODEL).fit, Changing(second))


def test_iterators_will_do_where_documents_are_read_once(fitted):
    with pytest.raises(ValueError, match=r"X is an iterator \(list_iterator\).*iterated over again"):
        clone(MODEL).fit(iter(BLOCKS))
    with pytest.raises(ValueError, match="sample_weight is given, but X is an iterator"):
        clone(MODEL).partial_fit(iter(BLOCKS), sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="X has no blocks"):
        clone(MODEL).fit(Again([]))
    for method in (clone(MODEL).partial_fit, fitted.partial_fit, fitted.transform, fitted.word_topics):
        assert_raises(ValueError, "X has no blocks", method, iter([]), case=method)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        clone(MODEL).fit(BLOCKS, sample_weight=np.ones(3))


def test_progress_of_blocks_is_shown(monkeypatch):
    monkeypatch.setattr("sys.stderr", log := io.StringIO())
    clone(MODEL).set_params(verbose=1).fit(BLOCKS).partial_fit(iter(BLOCKS))
    of_fit, of_partial_fit, _ = log.getvalue().split("\n")
    assert "pass 1/1: 100%|" in of_fit
    assert "5.00k/5.00k [" in of_partial_fit


@pytest.mark.slow
def test_nothing_of_the_size_of_a_corpus_is_in_memory(tmp_path):
    corpus = save_corpus(tmp_path / "corpus", sp.csr_array(sp.vstack([X] * 60)))
    size = sum(getattr(corpus.counts, name).nbytes for name in ("data", "indices", "indptr"))
    tracemalloc.start()
    documents = clone(MODEL)._documents(corpus, reset=True, once=False)
    documents.summary()
    trained, held_out = documents.split(0.1, 1)
    n_read = sum(reader.batch(rows).n_documents for reader, rows in trained.batches(1000, 1))
    n_read += sum(len(documents.indptr) - 1 for documents, _ in held_out.groups())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_read == 60 * N
    assert most < size / 4


# The order of documents that are read block by block


def rows_of(blocks):
    return np.concatenate([np.arange(*block) for block in blocks] or [[]])


def test_parts_are_equal_and_go_through_all_rows_in_order():
    for n_rows, n in product([0, 1, 100, 101, 1234], [1, 2, 7, 32]):
        blocks = permuted(blocks_of(n_rows, 100), key=3)
        parts = dealt(blocks, n)
        assert all(first < last for part in parts for first, last in part)
        rows = [rows_of(part) for part in parts]
        assert np.ptp([len(part) for part in rows]) <= 1, (n_rows, n)
        assert_array_equal(np.concatenate(rows), rows_of(blocks))
        assert sorted(rows_of(blocks)) == list(range(n_rows))


def test_each_window_has_whole_blocks_in_random_order():
    blocks = permuted(blocks_of(1000, 100), key=5)
    assert blocks == permuted(blocks_of(1000, 100), key=5) != permuted(blocks_of(1000, 100), key=6)
    windows = list(mixed(blocks, key=7, size=300))
    assert [len(window) for window in windows] == [300, 300, 300, 100]
    for i, window in enumerate(windows):
        assert not np.array_equal(window, np.sort(window))
        assert set(window) == set(rows_of(blocks[3 * i : 3 * i + 3]))
    assert not np.array_equal(windows[0], next(iter(mixed(blocks, key=8, size=300))))
