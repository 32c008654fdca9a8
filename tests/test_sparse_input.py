"""Sparse matrices whose arrays do not fit together: an error before anything trusts them."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sktopic._documents._matrices import check_sparse_structure
from sktopic.datasets import save_corpus
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.metrics import document_completion, perplexity
from sktopic.model_selection import topic_number_curve
from sktopic.moment_matching import MomentMatchingLDA
from sktopic.seeding import document_components

# Every way to break each format, all read by an estimator and by a metric in one process: it used to crash.
BROKEN = """
from copy import copy

import numpy as np
import scipy.sparse as sp
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

rng = np.random.default_rng(0)
GOOD = rng.integers(1, 5, (4, 6)).astype(float)
model = OnlineEMLDA(n_components=2, random_state=0).fit(GOOD)
transformed = model.transform(GOOD)


def made(format, **arrays):
    X = getattr(sp, f"{format}_array")(GOOD)
    for name, change in arrays.items():
        setattr(X, name, change(copy(getattr(X, name))))
    return X


def put(i, value):
    def change(array):
        array[i] = value
        return array

    return change


cases = [("lil", {"rows": put(1, [0, 99, 2, 3, 4, 5])}), ("lil", {"rows": put(1, [0, 1])})]
for format in ("csr", "csc", "bsr"):
    for i, value in ((1, 10**6), (1, 20), (2, -1), (-1, 10**6), (-1, -5), (0, 1), (0, -1), (2, 1)):
        cases.append((format, {"indptr": put(i, value)}))
    cases.append((format, {"indptr": lambda array: array[:-1]}))
    cases.append((format, {"indptr": lambda array: np.append(array, array[-1])}))
    for value in (-1, 6, 10**6, -(10**6)):
        cases.append((format, {"indices": put(0, value)}))
    cases.append((format, {"indices": lambda array: array[:-3]}))
    cases.append((format, {"data": lambda array: array[:-1]}))
    cases.append((format, {"indices": lambda array: array.astype(float)}))
    cases.append((format, {"indptr": lambda array: np.where(array > 0, array, np.nan)}))
    for name in ("indptr", "indices"):
        cases.append((format, {name: lambda array: put(1, 2**62)(array.astype(np.int64))}))
        cases.append((format, {name: lambda array: array[None]}))
for value in (-1, 6, 10**6):
    for axis in ("row", "col"):
        cases.append(("coo", {axis: put(0, value)}))
cases.append(("lil", {"rows": lambda array: array[:2]}))
cases.append(("lil", {"data": lambda array: array[:2]}))
cases.append(("dia", {"offsets": lambda array: np.append(array, 0)}))
cases.append(("dia", {"data": lambda array: array[:1]}))
for format, arrays in cases:
    for call in (OnlineEMLDA(n_components=2).fit, model.fit, model.transform, model.partial_fit, model.score,
                 lambda X: document_completion(model, X)):
        try:
            call(made(format, **arrays))
        except ValueError as error:
            assert "X has " in str(error), (format, arrays, error)
        else:
            raise AssertionError((format, arrays))
assert np.array_equal(model.transform(GOOD), transformed)
print(len(cases))
"""


@pytest.mark.slow
def test_broken_matrices_raise_and_lose_nothing():
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == 78


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_whole_matrices_of_every_format_pass(format):
    for make in (getattr(sp, f"{format}_array"), getattr(sp, f"{format}_matrix")):
        for X in (np.eye(4, 6), np.zeros((4, 6)), np.ones((0, 3)) if format != "bsr" else np.eye(2)):
            made = make(X)
            checked = check_sparse_structure(made)
            assert type(checked) is type(made) and (checked != made).nnz == 0


def test_matrices_that_cannot_have_names_are_read_in_the_order_of_the_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(5, 3), columns=["a", "b", "c"])
    model = OnlineEMLDA(n_components=2, random_state=0).fit(frame)
    expected = model.transform(frame)
    for X in (sp.csr_array(frame.to_numpy()), sp.csc_array(frame.to_numpy())):
        np.testing.assert_array_equal(model.transform(X), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(model.transform(frame.to_numpy()), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(frame.set_axis([0, 1, 2], axis=1))


def test_sparse_arrays_of_one_dimension_raise_as_other_arrays_do():
    X = sp.csr_array(np.ones(3))
    if X.ndim == 2:
        pytest.skip("this version of SciPy has none")
    with pytest.raises(ValueError, match="Expected 2D"):
        OnlineEMLDA().fit(X)


@pytest.fixture(scope="module")
def large_counts():
    """40,000 documents of 100 words: 48 MB as int64."""
    rng = np.random.default_rng(0)
    n, words = 40_000, 500
    indices = np.sort(rng.permuted(np.tile(np.arange(words, dtype=np.int32), (n, 1)), axis=1)[:, :100])
    counts = rng.integers(1, 3, n * 100)
    return sp.csr_matrix((counts, indices.ravel(), np.arange(n + 1, dtype=np.int32) * 100), shape=(n, words))


def int64_of_vectorizers(counts, folder):
    return counts


def unsorted_with_duplicates(counts, folder):
    indices = counts.indices.reshape(-1, 100)[:, ::-1].copy()
    indices[:, 1] = indices[:, 0]
    return sp.csr_matrix((counts.data, indices.ravel(), counts.indptr), shape=counts.shape)


def memory_mapped(counts, folder):
    arrays = []
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(counts, name))
        arrays.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return sp.csr_array(tuple(arrays), shape=counts.shape)


@pytest.mark.slow
@pytest.mark.parametrize("form", [int64_of_vectorizers, unsorted_with_duplicates, memory_mapped])
@pytest.mark.parametrize("call", ["fit", "partial_fit", "transform"])
def test_no_second_copy_of_the_counts_is_made(form, call, large_counts, tmp_path):
    X = form(large_counts, tmp_path)
    model = OnlineEMLDA(
        2, doc_burn_in=0, doc_sweeps=1, transform_burn_in=0, transform_sweeps=1, max_iter=1, random_state=0
    ).partial_fit(X[:100])
    tracemalloc.start()
    try:
        getattr(model, call)(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Rows in a random order, proportions, a group of documents.
    assert peak < 0.2 * (X.data.nbytes + X.indices.nbytes)


@pytest.mark.parametrize(
    ("of_indices", "of_indptr"), [("i2", "i4"), ("i2", "i2"), ("i1", "i8"), (">i4", ">i4")]
)
@pytest.mark.parametrize("of_counts", ["u1", "i2", "u8", "f4"])
def test_arrays_of_any_integers_are_the_same_documents(of_indices, of_indptr, of_counts):
    counts = np.random.default_rng(0).integers(0, 3, (60, 90))
    X = sp.csr_array(counts.astype(of_counts))
    X.indices, X.indptr = X.indices.astype(of_indices), X.indptr.astype(of_indptr)
    for estimator in (OnlineEMLDA, MomentMatchingLDA, CollapsedGibbsLDA):
        model = estimator(3, random_state=0).fit(X)
        expected = estimator(3, random_state=0).fit(counts.astype(np.float64))
        np.testing.assert_array_equal(model.components_, expected.components_)


# Duplicates


def uncompressed(kind, dtype, count):
    """[[0, 2 n, 0], [n, 0, 2 n]] in a format that has entries of the same word twice."""
    data, row, column = np.full(5, count, dtype=dtype), np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 2, 2])
    if kind.startswith("bsr"):
        return getattr(sp, kind)((data.reshape(-1, 1, 1), column, np.array([0, 2, 5])), shape=(2, 3))
    if kind.startswith("csr"):
        return getattr(sp, kind)((data, column, np.array([0, 2, 5])), shape=(2, 3))
    return getattr(sp, kind)((data, (row, column)), shape=(2, 3))


@pytest.mark.parametrize("kind", ["coo_array", "coo_matrix", "bsr_array", "csr_array"])
@pytest.mark.parametrize(("dtype", "count"), [("?", 1), ("u1", 200), ("u4", 2**32 - 1), ("f4", 0.5)])
def test_duplicates_are_added_up_beyond_the_range_of_their_type(kind, dtype, count, tmp_path):
    """Two of 200 in uint8 are 400, as everything sees that takes counts."""
    X, n = uncompressed(kind, dtype, count), float(count)
    expected = np.array([[0.0, 2 * n, 0.0], [n, 0.0, 2 * n]]).astype("f4" if dtype == "f4" else "f8")
    assert_same = np.testing.assert_array_equal
    model = OnlineEMLDA(n_components=2, max_iter=2, random_state=0)
    fitted = clone(model).fit(expected)
    assert_same(clone(model).fit(X).components_, fitted.components_)
    assert_same(clone(model).fit([X]).components_, clone(model).fit([sp.csr_array(expected)]).components_)
    assert_same(fitted.transform(X), fitted.transform(expected))
    for metric in (document_completion, perplexity):
        assert_same(metric(fitted, X), metric(fitted, expected))
    assert_same(document_components(X, 2, random_state=0), document_components(expected, 2, random_state=0))
    for number, blocks in enumerate((X, [X])):
        corpus = save_corpus(tmp_path / str(number), blocks)
        assert_same(corpus.counts.toarray(), expected)
    scores = [
        topic_number_curve(model, each, n_components=[1], cv=2, n_words=2).models[0].scores
        for each in (X, expected)
    ]
    assert_same(*scores)
