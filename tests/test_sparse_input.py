"""Sparse matrices whose arrays do not fit together: an error before anything trusts them."""

import tracemalloc
from copy import copy
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sktopic._documents._matrices import check_sparse_structure
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import make_bars, save_corpus
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.metrics import document_completion, perplexity
from sktopic.model_selection import topic_number_curve
from sktopic.moment_matching import MomentMatchingLDA
from sktopic.seeding import document_components

from .conftest import assert_raises
from .registry import call_function, functions_with_data

GOOD = np.random.default_rng(0).integers(1, 5, (4, 6)).astype(float)


def put(i, value, dtype=None):
    """A change of one number."""

    def change(array):
        array = array.astype(dtype) if dtype else array
        array[i] = value
        return array

    return change


# Every way to break each format: an array of it, and its change. They used to crash.
COMPRESSED = [
    *(
        ("indptr", put(i, value))
        for i, value in ((1, 10**6), (1, 20), (2, -1), (-1, 10**6), (-1, -5), (0, 1), (0, -1), (2, 1))
    ),
    ("indptr", lambda array: array[:-1]),
    ("indptr", lambda array: np.append(array, array[-1])),
    ("indptr", lambda array: np.where(array > 0, array, np.nan)),
    *(("indices", put(0, value)) for value in (-1, 6, 10**6, -(10**6))),
    ("indices", lambda array: array[:-3]),
    ("indices", lambda array: array.astype(float)),
    ("data", lambda array: array[:-1]),
    *((name, put(1, 2**62, np.int64)) for name in ("indptr", "indices")),
    *((name, lambda array: array[None]) for name in ("indptr", "indices")),
]
BROKEN = {
    **dict.fromkeys(["csr", "csc", "bsr"], COMPRESSED),
    "coo": [(axis, put(0, value)) for axis in ("row", "col") for value in (-1, 6, 10**6)],
    "lil": [
        ("rows", put(1, [0, 99, 2, 3, 4, 5])),
        ("rows", put(1, [0, 1])),
        ("rows", lambda array: array[:2]),
        ("data", lambda array: array[:2]),
    ],
    "dia": [("offsets", lambda array: np.append(array, 0)), ("data", lambda array: array[:1])],
}


@pytest.mark.parametrize("format", BROKEN)
def test_broken_matrices_raise_and_lose_nothing(format):
    model = OnlineEMLDA(n_components=2, random_state=0).fit(GOOD)
    transformed = model.transform(GOOD)
    for name, change in BROKEN[format]:
        for call in (
            *(OnlineEMLDA(n_components=2).fit, model.fit, model.transform, model.partial_fit, model.score),
            partial(document_completion, model),
        ):
            X = getattr(sp, f"{format}_array")(GOOD)
            value = change(copy(getattr(X, name)))
            setattr(X, name, value)
            assert_raises(ValueError, "X has ", call, X, case=(call, name, value))
    np.testing.assert_array_equal(model.transform(GOOD), transformed)


def test_whole_matrices_of_every_format_pass():
    for format in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"):
        for make in (getattr(sp, f"{format}_array"), getattr(sp, f"{format}_matrix")):
            for X in (np.eye(4, 6), np.zeros((4, 6)), np.ones((0, 3)) if format != "bsr" else np.eye(2)):
                made = make(X)
                checked = check_sparse_structure(made)
                assert type(checked) is type(made) and (checked != made).nnz == 0, format


def test_sparse_arrays_of_one_dimension_raise_as_other_arrays_do():
    with pytest.raises(ValueError, match="Expected 2D"):
        OnlineEMLDA().fit(sp.csr_array(np.ones(3)))


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
def test_no_second_copy_of_the_counts_is_made(tmp_path):
    rng = np.random.default_rng(0)
    n, words = 20_000, 500  # of 100 words: 24 MB
    indices = np.sort((rng.integers(words, size=(n, 1)) + 5 * np.arange(100)) % words, axis=1).astype("i4")
    parts = rng.integers(1, 3, n * 100), indices.ravel(), np.arange(n + 1, dtype=np.int32) * 100
    counts = sp.csr_matrix(parts, shape=(n, words))
    sweeps = {"doc_burn_in": 0, "doc_sweeps": 1, "transform_burn_in": 0, "transform_sweeps": 1}
    for form, call in [
        (int64_of_vectorizers, "fit"),
        (unsorted_with_duplicates, "partial_fit"),
        (memory_mapped, "transform"),
    ]:
        X = form(counts, tmp_path)
        model = OnlineEMLDA(2, max_iter=1, random_state=0, **sweeps).partial_fit(X[:100])
        tracemalloc.start()
        try:
            getattr(model, call)(X)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # Rows in a random order, proportions, a group of documents.
        assert peak < 0.2 * (X.data.nbytes + X.indices.nbytes), form


def test_arrays_of_any_integers_are_the_same_documents():
    counts = np.random.default_rng(0).integers(0, 3, (60, 90))
    settings = {"n_components": 3, "random_state": 0}
    for estimator in (
        OnlineEMLDA(max_iter=1, **settings),
        MomentMatchingLDA(**settings),
        CollapsedGibbsLDA(max_iter=1, **settings),
    ):
        expected = clone(estimator).fit(counts.astype(np.float64)).components_
        for of_counts, of_indices, of_indptr in [
            ("u1", "i2", "i4"),
            ("i2", "i2", "i2"),
            ("u8", "i1", "i8"),
            ("f4", ">i4", ">i4"),
        ]:
            X = sp.csr_array(counts.astype(of_counts))
            X.indices, X.indptr = X.indices.astype(of_indices), X.indptr.astype(of_indptr)
            np.testing.assert_array_equal(clone(estimator).fit(X).components_, expected, err_msg=of_counts)


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
def test_duplicates_are_added_up_beyond_the_range_of_their_type(kind, tmp_path):
    """Two of 200 in uint8 are 400, as everything sees that takes counts."""
    model = OnlineEMLDA(n_components=2, max_iter=1, random_state=0)
    fitted = clone(model).fit(GOOD[:, :3])
    for dtype, count in [("?", 1), ("u1", 200), ("u4", 2**32 - 1), ("f4", 0.5)]:
        X, n = uncompressed(kind, dtype, count), float(count)
        expected = np.array([[0.0, 2 * n, 0.0], [n, 0.0, 2 * n]]).astype("f4" if dtype == "f4" else "f8")
        functions = [
            fitted.transform,
            lambda X: save_corpus(tmp_path / "corpus", X, overwrite=True).counts.toarray(),
        ]
        if kind == "coo_array" and dtype == "u1":
            functions += [
                lambda X: clone(model).fit(X).components_,
                lambda X: clone(model).fit([sp.csr_array(X) if isinstance(X, np.ndarray) else X]).components_,
                lambda X: save_corpus(tmp_path / "corpus", [X], overwrite=True).counts.toarray(),
                partial(document_completion, fitted),
                partial(perplexity, fitted),
                partial(document_components, n_components=2, random_state=0),
                lambda X: topic_number_curve(model, X, n_components=[1], cv=2, n_words=2).models[0].scores,
            ]
        for function in functions:
            np.testing.assert_array_equal(function(X), function(expected), err_msg=f"{dtype} {function}")


# What functions return, as numbers and texts, where it is neither.
SHOWN = {
    "explore": lambda explorer: explorer.html,
    "plot_topic_sizes": lambda ax: ax.lines[0].get_ydata(),
    "topic_number_curve": lambda curve: [(each.scores, each.coherences) for each in curve.models],
}
ABOUT_MODELS = ("inspection", "metrics", "model_selection")


def values_of(result):
    """All numbers and texts of a table or of another result."""
    return result.to_dict("list") if hasattr(result, "to_dict") else getattr(result, "__dict__", result)


@pytest.mark.usefixtures("plt")
@pytest.mark.parametrize(
    "function",
    [each for each in functions_with_data() if each.__module__.split(".")[1] in ABOUT_MODELS],
    ids=lambda function: function.__name__,
)
def test_functions_take_matrices_and_arrays(function):
    counts, shown = make_bars(30, random_state=0).data, SHOWN.get(function.__name__, values_of)
    model = OnlineEMLDA(4, random_state=0).fit(counts)
    kinds = (sp.csr_matrix, sp.csr_array)
    of_matrix, of_array = (shown(call_function(function, model, kind(counts))) for kind in kinds)
    np.testing.assert_equal(of_array, of_matrix)


def test_a_matrix_that_breaks_between_updates_is_refused(monkeypatch):
    model = OnlineEMLDA(2, batch_size=2, shuffle=False, random_state=0).fit(GOOD)
    components = model.components_
    for name, place, value in [
        ("indices", -1, 6),
        ("indices", -1, -1),
        ("data", -1, -1.0),
        ("data", -1, np.nan),
        ("indptr", -2, 99),
    ]:
        counts = sp.csr_array(GOOD)
        change = partial(getattr(counts, name).__setitem__, place, value)
        monkeypatch.setattr(FitMonitor, "after_update", lambda *_, change=change: change())
        message = "X changed while it was being read: it now has rows, words or"
        assert_raises(ValueError, message, model.fit, counts, case=(name, place, value))
        np.testing.assert_array_equal(model.components_, components)
