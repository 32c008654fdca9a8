"""Corpora on disk: what is written is read, whole or not at all."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sktopic import _corpus
from sktopic.datasets import open_corpus, save_corpus

WORDS = [f"wörd {i}" for i in range(7)]


def counts(n_documents=50, rate=1.0, seed=0):
    return sp.csr_array(np.random.default_rng(seed).poisson(rate, (n_documents, len(WORDS))))


def blocks_of(X, size):
    return (X[first : first + size] for first in range(0, X.shape[0], size))


def content_of(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus"


def test_what_is_written_is_read(path):
    X, ids = counts(), [f"document {i}" for i in range(50)]
    written = save_corpus(path, X, WORDS, ids)
    for corpus in (written, open_corpus(path, verify=True), pickle.loads(pickle.dumps(written))):
        assert (corpus.shape, corpus.nnz, corpus.dtype) == (X.shape, X.nnz, np.uint8)
        assert corpus.path == str(path)
        assert_array_equal(corpus.counts.toarray(), X.toarray())
        assert_array_equal(corpus[10:20].toarray(), X[10:20].toarray())
        assert_array_equal(sp.vstack(list(corpus.blocks())).toarray(), X.toarray())
        assert corpus[20:10].shape == (0, 7)
        assert_array_equal(corpus.feature_names, np.array(WORDS, dtype=object))
        assert_array_equal(corpus.doc_ids, np.array(ids, dtype=object))
        for name in ("indptr", "indices", "data"):
            array = getattr(corpus.counts, name)
            assert isinstance(array.base, np.memmap) and not array.flags.writeable
            assert_array_equal(np.load(path / f"{name}.npy"), getattr(X, name))
    assert [entry.name for entry in path.parent.iterdir()] == ["corpus"]


@pytest.mark.parametrize("large", [None, 60, 0])
def test_all_ways_to_write_make_the_same_bytes(tmp_path, monkeypatch, large):
    """Also those with indices of 64 bits, which are needed from a block on or from the first."""
    if large is not None:
        monkeypatch.setattr(_corpus, "LARGE", large)
    X = counts()
    shuffled = X.copy()
    shuffled.indices, shuffled.data = shuffled.indices[::-1].copy(), shuffled.data[::-1].copy()
    shuffled = sp.csr_array((shuffled.data, shuffled.indices, X.nnz - X.indptr[::-1]), X.shape)[::-1]
    first = save_corpus(tmp_path / "first", X)
    expected = np.int32 if large is None else np.int64
    assert first.counts.indices.dtype == first.counts.indptr.dtype == expected
    assert_array_equal(first.counts.toarray(), X.toarray())
    assert first[:10].indices.dtype == first[:10].indptr.dtype == (np.int64 if large == 0 else np.int32)
    content = content_of(tmp_path / "first")
    for i, X in enumerate(
        [
            first,
            X.astype(np.float32).tocsc(),
            shuffled,
            X.toarray(),
            blocks_of(X, 3),
            [X[:1].tocoo(), X[1:1], X[1:30].toarray(), sp.csr_matrix(X[30:])],
            lambda n_documents, X=X: blocks_of(X[n_documents:], 50),
        ]
    ):
        save_corpus(tmp_path / str(i), X)
        assert content_of(tmp_path / str(i)) == content


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (np.int64([255]), "u1"),
        (np.int64([256]), "u2"),
        (np.float32([65536]), "u4"),
        (np.int64([2**32]), "f8"),
        (np.float64([1e20]), "f8"),
        (np.float32([0.1]), "f4"),
        (np.float64([0.1]), "f8"),
        (np.array([True]), "u1"),
    ],
)
def test_counts_are_stored_in_the_smallest_type(path, last, expected):
    corpus = save_corpus(path, [np.int64([[200]]), last[np.newaxis]])
    assert corpus.dtype == expected
    assert_array_equal(corpus.counts.data, [200, last[0]])
