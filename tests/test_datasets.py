"""Properties of the corpora, readers and fetchers."""

import functools
import gzip
import http.server
import os
import re
import sys
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import (
    _docstrings,
    _generators,
    _readers,
    _uci,
    fetch_bag_of_words,
    iter_counts,
    iter_ldac,
    iter_matrix_market,
    iter_uci,
    load_docstrings,
    make_bars,
    make_hdp_documents,
    make_lda_documents,
    read_ldac,
    read_uci,
)

from .conftest import assert_raises, outcome

GENERATORS = [make_bars, make_lda_documents, make_hdp_documents]


# Docstrings


WRITTEN = (
    "rank(a)\n\nRank the data.\n\nParameters\n----------\na : array\n    What to rank [1]_.\n\n"
    "See Also\n--------\nsort : Puts in order.\n\n.. rubric:: Notes\nTies share.\n\n"
    "References\n----------\n.. [1] Someone, Ranking.\n\n"
    "Examples\n--------\n>>> rank([1])\n1\n\nProse of an example."
)


def test_sections_are_removed_with_their_text():
    everything = ("headers", "examples", "references", "see_also")
    prose = "Rank the data.\n\na : array\n    What to rank [1]_.\n\nTies share."
    assert _docstrings._strip(WRITTEN, everything) == prose
    assert _docstrings._strip(WRITTEN, ()) == WRITTEN
    without = WRITTEN[: WRITTEN.index("\n\nReferences")] + WRITTEN[WRITTEN.index("\n\nExamples") :]
    assert _docstrings._strip(WRITTEN, ("references",)) == without
    for signature in ("rank(a,\n     b=(1, 2))", "rank(a) -> array", "rank(a)\nrank(a, b)\n--\n"):
        assert _docstrings._strip(f"{signature}\n\nProse.", ("headers",)) == "Prose."
    for text in ("rank(a) is prose.", "rank(a,\nwhich never ends."):
        assert _docstrings._strip(text, ("headers",)) == text
    overlined = "=====\nNotes\n=====\nTies share."
    assert _docstrings._strip(overlined, ("headers",)) == "Ties share."
    assert _docstrings._strip(f"{overlined}\n-", ()) == f"{overlined}\n-"


MODULES = {
    "__init__": """'A package of models.'
from .models import Model, old
__all__, __version__ = ["Model", "gone", "old"], "1.2"
""",
    "models": """'A module of models.'
from numpy import linspace
class Model(dict):
    'A model of words.'
    def fit(self):
        'Fit it to documents.'
    def refit(self):
        'Fit it to documents.'
    def set_fit_request(self):
        'Made for every class.'
    def _hidden(self):
        'Not for all eyes.'
class IterativeImputer:
    'Public after an import.'
def old():
    "Takes no argument(s) ``{'b', 'c', 'a'}`` any more."
def short():
    'Too short.'
number = 3
""",
    "_own": "'Not for all eyes.'",
    "broken": "raise ImportError",
    "experimental": "raise AssertionError",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in place of those that are installed."""
    folder = tmp_path / "models_of_words"
    folder.mkdir()
    for name, content in MODULES.items():
        (folder / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_docstrings, "_PACKAGES", (folder.name,))
    yield folder.name
    for name in [name for name in sys.modules if name.split(".")[0] == folder.name]:
        del sys.modules[name]


def test_docstrings_are_those_of_public_objects_under_their_shortest_names(package):
    """Neither the order of a printed set nor what other code has imported matters."""
    filters = list(warnings.filters)
    docs = load_docstrings(min_words=3)
    assert warnings.filters == filters
    assert dict(zip(docs.names, docs.data)) == {
        package: "A package of models.",
        f"{package}.Model": "A model of words.",
        f"{package}.Model.fit": "Fit it to documents.",
        f"{package}.models": "A module of models.",
        f"{package}.old": "Takes no argument(s) ``{'a', 'b', 'c'}`` any more.",
    }
    assert docs.target_names == [package, f"{package}.models"]
    assert docs.target.dtype == np.int64 and docs.target.tolist() == [0, 0, 0, 1, 0]
    assert docs.DESCR.startswith("5 docstrings of ") and f" of {package} 1.2, " in docs.DESCR
    assert docs.DESCR.endswith("in 2 subpackages. Removed: examples, headers, references.")
    assert f"{package}.models.short" in load_docstrings(min_words=2, remove=()).names


def test_docstrings_refuse(package):
    names = "remove must be a tuple of names among .*got"
    for parameters, message in (
        ({"remove": "examples"}, names),
        ({"remove": ("footers",)}, names),
        ({"min_words": 8}, "No docstring has min_words=8"),
        ({"min_words": -1}, "min_words == -1"),
    ):
        assert_raises(ValueError, message, load_docstrings, **parameters)


# Generators


def test_counts_are_of_the_configured_class(sparse_interface, tmp_path):
    path = tmp_path / "corpus"
    made = [make(5, random_state=0).data for make in GENERATORS]
    path.write_text("2 0:1 1:2\n0\n1 1:3\n")
    made += [read_ldac(path, n_features=2)[0], *iter_ldac(path, n_features=2)]
    path.write_text("2\n2\n1\n2 1 4\n")
    made += [read_uci(path)[0], *iter_uci(path)]
    path.write_text("%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 1 4\n")
    made += iter_matrix_market(path)
    made += iter_counts(CountVectorizer().fit(["one two"]), ["one", "two"])
    expected = {"spmatrix": sparse.csr_matrix, "sparray": sparse.csr_array}[sparse_interface]
    assert {type(counts) for counts in made} == {expected}


@pytest.mark.parametrize("make", GENERATORS)
def test_generated_corpora_are_well_formed_and_repeat_with_the_same_random_state(make):
    small = "doc_concentration" if make is make_hdp_documents else "doc_topic_prior"
    with np.errstate(all="raise"):
        corpus = make(np.int64(200), random_state=3)
        for prior in {small: 1e-4}, {} if make is make_bars else {"topic_word_prior": 1e-4}:
            assert np.isfinite(make(50, random_state=0, **prior).components).all()
    X, (n_components, n_features) = corpus.data, corpus.components.shape
    assert type(X) is sparse.csr_matrix and X.dtype == np.int32 and X.shape == (200, n_features)
    assert X.has_canonical_format and X.data.min() >= 1
    X.check_format()
    assert corpus.doc_topic_prior.shape == (n_components,) and np.all(corpus.doc_topic_prior > 0)
    assert corpus.doc_topic_distr.shape == (200, n_components)
    for rows in (corpus.components, corpus.doc_topic_distr):
        assert rows.min() >= 0
        assert_allclose(rows.sum(axis=1), 1)
    again = make(200, random_state=np.random.RandomState(3))
    assert again.keys() == corpus.keys() and (again.data != X).nnz == 0
    for key in corpus.keys() - {"data"}:
        assert_array_equal(again[key], corpus[key])
    other = make(200, random_state=4).data
    assert other.shape != X.shape or (other != X).nnz > 0
    assert make(1).data.shape[0] == 1


def test_bars_are_the_rows_and_columns_of_the_grid():
    bars = make_bars(30, size=4, doc_length=17, random_state=0)
    rows = np.kron(np.eye(4), np.full(4, 0.25))
    assert_allclose(bars.components, [*rows, *rows.reshape(4, 4, 4).transpose(0, 2, 1).reshape(4, 16)])
    assert_array_equal(bars.data.sum(axis=1), 17)


@pytest.mark.parametrize("make", GENERATORS)
def test_words_follow_the_returned_proportions_and_topics(make, monkeypatch):
    """Standardized totals of words are nearly independent and normal.

    So are those of the counts of a document times its probabilities, which are small if rows are exchanged.
    """
    monkeypatch.setattr(_generators, "_BLOCK_TOKENS", 5000)
    corpus = make(1000, random_state=1)
    probabilities = corpus.doc_topic_distr @ corpus.components
    counts = corpus.data.toarray()
    assert corpus.data.has_canonical_format
    lengths = counts.sum(axis=1, keepdims=True)
    expected, variance = lengths * probabilities, lengths * probabilities * (1 - probabilities)
    common = variance.sum(axis=0) > 5
    residuals = ((counts - expected).sum(axis=0) / np.sqrt(variance.sum(axis=0)))[common]
    assert len(residuals) >= 25
    assert np.abs(residuals).max() < 5
    assert np.mean(residuals**2) == pytest.approx(1, abs=6 * np.sqrt(2 / len(residuals)))
    moments = [(probabilities**power).sum(axis=1, keepdims=True) for power in (2, 3)]
    residuals = ((counts * probabilities).sum(axis=1, keepdims=True) - lengths * moments[0]) / np.sqrt(
        np.maximum(lengths, 1) * (moments[1] - moments[0] ** 2)
    )
    assert np.abs(residuals.mean()) < 5 / np.sqrt(1000)
    assert np.mean(residuals**2) == pytest.approx(1, abs=0.1)


def test_lda_documents_have_the_laws_of_their_priors():
    alpha = np.array([0.05, 0.5, 2.0])
    corpus = make_lda_documents(
        8000, n_components=3, n_features=20, mean_length=30, doc_topic_prior=alpha, random_state=0
    )
    assert_array_equal(corpus.doc_topic_prior, alpha)
    for k in range(3):
        marginal = stats.beta(alpha[k], alpha.sum() - alpha[k])
        assert stats.kstest(corpus.doc_topic_distr[:, k], marginal.cdf).pvalue > 1e-4
    lengths = np.asarray(corpus.data.sum(axis=1)).ravel()
    assert lengths.mean() == pytest.approx(30, abs=5 * np.sqrt(30 / 8000))
    assert lengths.var() == pytest.approx(30, rel=0.06)
    prior = np.array([0.1, 0.3, 0.6])
    topics = {"n_components": 20_000, "n_features": 3, "topic_word_prior": prior}
    components = make_lda_documents(1, random_state=0, **topics).components
    assert_allclose(components.mean(axis=0), prior, atol=0.012)
    assert_allclose((components**2).mean(axis=0), prior * (prior + 1) / 2, atol=0.012)


def test_lda_uses_the_components_it_is_given():
    components = np.array([[0.5, 0.5, 0, 0, 0], [0, 0, 0.2, 0, 0.8]])
    corpus = make_lda_documents(500, components=components, doc_topic_prior=1e-12, random_state=0)
    assert_array_equal(corpus.components, components)
    assert corpus.components is not components
    # A vanishing prior: one topic a document.
    assert_array_equal(corpus.doc_topic_distr.max(axis=1), 1)
    assert np.all(corpus.data.toarray()[corpus.doc_topic_distr @ components == 0] == 0)
    assert 0.3 < corpus.doc_topic_distr[:, 0].mean() < 0.7


def test_documents_without_words_are_kept():
    lengths = make_lda_documents(300, mean_length=0.5, random_state=0).data.sum(axis=1)
    assert len(lengths) == 300 and 0.45 < np.mean(lengths == 0) < 0.75
    assert make_lda_documents(4, mean_length=0, random_state=0).data.shape == (4, 1000)
    assert make_bars(4, doc_length=0, random_state=0).data.nnz == 0
    corpus = make_hdp_documents(5, mean_length=0, doc_concentration=1e-9, random_state=0)
    assert corpus.components.shape == (1, 1000)
    assert_array_equal(corpus.doc_topic_distr, 1)


def test_hdp_proportions_follow_the_returned_prior_of_sorted_weights():
    sizes = {"n_samples": 5000, "n_features": 20}
    corpus = make_hdp_documents(topic_concentration=2, doc_concentration=3, random_state=0, **sizes)
    weights, alpha = corpus.topic_weights, corpus.doc_topic_prior
    assert np.all(np.diff(weights) <= 0) and 0.9 < weights.sum() <= 1 + 1e-12
    assert len(weights) == len(corpus.components)
    assert_allclose(alpha, 3 * weights)
    mean = alpha / alpha.sum()
    error = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1) / 5000)
    assert np.all(np.abs(corpus.doc_topic_distr.mean(axis=0) - mean) < 5 * error)


def test_hdp_weights_follow_the_stick_breaking_prior():
    """The sum of squared GEM(g) weights has mean 1 / (1 + g)."""
    rng = np.random.RandomState(0)
    weights = [_generators._break_sticks(rng, 4.0, 1000) for _ in range(1000)]
    squares = [(each**2).sum() for each in weights]
    assert np.mean(squares) == pytest.approx(1 / 5, abs=5 * np.std(squares) / np.sqrt(1000))
    assert weights[0].sum() == pytest.approx(1, abs=1e-12) and weights[0].min() > 0
    corpus = make_hdp_documents(500, topic_concentration=50, max_components=7, random_state=0)
    assert len(corpus.components) == 7
    assert corpus.topic_weights.sum() == pytest.approx(1)


def test_generators_name_a_wrong_parameter():
    for make, parameters, message in [
        (make_bars, {"n_samples": 0}, "n_samples == 0"),
        (make_bars, {"size": 2.5}, "size must be an instance of"),
        (make_bars, {"doc_length": -1}, "doc_length == -1"),
        (make_bars, {"doc_topic_prior": 0}, "doc_topic_prior must be finite and positive, got 0"),
        (make_bars, {"doc_topic_prior": [1, 2]}, r"doc_topic_prior must be .* \(10,\), got shape \(2,\)"),
        (make_lda_documents, {"n_features": 0}, "n_features == 0"),
        (make_lda_documents, {"n_components": 0}, "n_components == 0"),
        (make_lda_documents, {"mean_length": np.inf}, "mean_length must be .*, got inf"),
        (make_lda_documents, {"topic_word_prior": np.nan}, "topic_word_prior must be finite"),
        (make_lda_documents, {"components": [[0.5, 0.4]]}, "row 0 sums to 0.9"),
        (make_lda_documents, {"components": [[1.5, -0.5]]}, "components must be finite and not negative"),
        (make_lda_documents, {"components": [0.5, 0.5]}, r"components must be of shape .* got shape \(2,\)"),
        (make_hdp_documents, {"topic_concentration": 0}, "topic_concentration must be .* positive, got 0"),
        (make_hdp_documents, {"doc_concentration": -1.0}, "doc_concentration must be .* positive, got -1"),
        (make_hdp_documents, {"max_components": 0}, "max_components == 0"),
    ]:
        assert_raises((ValueError, TypeError), message, make, **parameters)


# Readers


COUNTS = [[2, 0, 0, 1], [0, 0, 0, 0], [0, 3, 0, 1]]
UCI = b"3\n4\n4\n1 1 2\n1 4 1\n3 2 3\n3 4 1\n"
MARKET = "%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture(params=[1, 40, 1 << 24])
def n_bytes(request, monkeypatch):
    """The number of bytes that readers take at a time."""
    for name in ("_BLOCK_BYTES", "_LDAC_BLOCK_BYTES"):
        monkeypatch.setattr(_readers, name, request.param)
    return request.param


def stacked(blocks):
    return sparse.vstack(list(blocks), format="csr")


def test_files_are_read_at_once_and_by_blocks(tmp_path, n_bytes):
    """Some entries are given twice; half of the files are compressed."""
    rng = np.random.default_rng(0)
    path, vocab = tmp_path / "file", tmp_path / "vocab"
    for case in range(9):
        shape, n_entries = rng.integers(1, 9, 2), int(rng.integers(0, 30))
        entries = np.column_stack([rng.integers(1, n + 1, n_entries) for n in (*shape, 8)])
        in_order = entries[np.argsort(entries[:, 0], kind="stable")]
        expected = np.zeros(shape, int)
        np.add.at(expected, tuple(entries[:, :2].T - 1), entries[:, 2])
        words = [f"wörd {i}" for i in range(shape[1])]
        vocab.write_text("\n".join(words) + "\n" * (case % 3), encoding="utf-8")

        def written(*lines, packed=case % 2):
            lines = [line if isinstance(line, str) else " ".join(map(str, line)) for line in lines]
            content = "\n".join(lines).encode()
            path.write_bytes(gzip.compress(content) if packed else content)
            return path

        sizes = [[n] for n in (*shape, n_entries)]
        found = [
            read_uci(written(*sizes, *entries), vocab),
            read_uci(str(written(*sizes, *in_order)), str(vocab)),
            (stacked(iter_uci(path)), words),
        ]
        written(MARKET.replace("real", "integer") + "%\n\n% a comment", (*shape, n_entries), *in_order)
        found.append((stacked(iter_matrix_market(path)), words))
        reals = [(*place, f"{n}.0" if n % 2 else f"{n / 10:.17g}E1") for *place, n in in_order]
        written(MARKET + "%", (*shape, n_entries), *reals)
        found.append((stacked(iter_matrix_market(path)), words))
        present = [np.flatnonzero(row) for row in expected]
        written(*([len(at), *(f"{i}:{row[i]}" for i in at)] for at, row in zip(present, expected)))
        found += [read_ldac(path, vocab), (stacked(iter_ldac(path, shape[1])), words)]
        assert n_bytes == 40 or len(list(iter_ldac(path, shape[1]))) == (shape[0] if n_bytes == 1 else 1)
        for counts, names in found:
            assert counts.dtype == np.int32 and counts.has_canonical_format
            assert_array_equal(counts.toarray(), expected)
            assert list(names) == words
    assert read_uci(written([1], [1], [1], (1, 1, 1)))[1] is None
    with pytest.raises(ValueError, match=rf"vocab has {shape[1]} words, but the header of docword says 1"):
        read_uci(path, vocab)
    with pytest.raises(ValueError, match=rf"vocab has {shape[1]} words, but n_features says 3"):
        read_ldac(written([1, "0:1"]), vocab, n_features=3)
    vocab.write_bytes("\n".join(words).encode("latin-1"))
    assert list(read_ldac(written([1, "0:1"]), vocab)[1]) == words
    vocab.write_text("\n".join(words), encoding="utf-8-sig")  # as editors of Windows save it
    assert list(read_ldac(written([1, "0:1"]), vocab)[1]) == words


@pytest.mark.usefixtures("n_bytes")
def test_white_space_and_sizes_that_are_not_announced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"2\r\n3\r\n4\r\n1\t3  2\r\n1 3 4\r\n 2 1 1 \r\n2 2 1\r\n\r\n")
    assert_array_equal(read_uci(path)[0].toarray(), [[0, 0, 6], [1, 1, 0]])
    path.write_bytes(b"3 4:1 2:2 4:5\n0\n\n\n")
    X, names = read_ldac(path)
    assert_array_equal(X.toarray(), [[0, 0, 2, 0, 6], [0, 0, 0, 0, 0]])
    assert names is None and read_ldac(path, n_features=9)[0].shape == (2, 9)


def read_vocabulary(path):
    path.with_name("corpus").write_bytes(b"1 0:1\n")
    return read_ldac(path.with_name("corpus"), path)


FEW_PAIRS, FEW_EMPTY = {"_MAX_ENTRIES": 2}, {"_MAX_EMPTY_DOCUMENTS": 2}
SHORT = {"_MAX_WORDS": 6, "_MAX_VOCABULARY_BYTES": 20}
BLANK = {"_MAX_BLANK_LINES": 2}
SYMMETRIC = MARKET.replace("general", "symmetric") + "1 1 1\n"
MOST = 2**31 - 1
MANY = f"{MOST} 1 {10**17}\n1 1 1\n{MOST} 1 1\n"
PACKED = gzip.compress(UCI)
# A reader, the content of a file, what the error says after its name
WRONG = [
    (read_uci, b"", "line 1: expected the number of documents, got ''"),
    (read_uci, b"2\n3\n-1\n1 1 1\n", "line 3: expected the number of entries, got '-1'"),
    (read_uci, b"0\n3\n0\n", "line 1: 0 documents, must be in 1.."),
    (read_uci, b"2\n3\n2\n1 1 1\n3 1 1\n", r"line 5: document number 3 is outside 1\.\.2"),
    (read_uci, b"2\n3\n2\n1 1 1\n2 4 1\n", r"line 5: word number 4 is outside 1\.\.3"),
    (read_uci, b"2\n3\n2\n1 1 1\n\n2 3 0\n", r"line 6: count 0 is outside"),
    (read_uci, b"2\n3\n2\n1 1\n2 3 1 1\n", "line 4: expected three integers, got '1 1'"),
    (read_uci, b"2\n3\n2147483648\n1 1 1\n", r"line 3: 2147483648 entries, must be in 0\.\.2147483647"),
    (read_uci, b"2\n3\n2\n1 1 2147483647\n1 1 1\n", r"in document 1 add up to 2147483648; at most"),
    (read_ldac, b"", "has no documents"),
    (read_ldac, b"1 0:1\n2 0:1\n", "line 2: 2 words are announced, but there are 1"),
    (read_ldac, b"1 0:1 9:1\n1 0:1\n", "line 1: 1 words are announced, but there are 2"),
    (read_ldac, b"1 9:1\n1 0:1 1:1\n", r"line 1: word number 9 is outside 0\.\.2"),
    (read_ldac, b"1 0:1\n1 0:0\n", r"line 2: count 0 is outside 1\.\."),
    (read_ldac, b"2 0:1:1 1\n", "line 1: expected 'N word:count .* got '2 0:1:1 1'"),
    (read_ldac, b"1 0:1\n\n1 0:1\n", "line 2: empty"),
    (iter_uci, "3\n2\n3\n1 1 1\n3 1 1\n2 2 1\n", ", line 6: document 2 after later ones; use read_uci"),
    (iter_uci, "3\n2\n3\n1 1 1\n3 1 1\n", " is truncated: it ends after 2 of the 3 entries"),
    (iter_uci, "3\n2\n2\n1 1 1\n3 1 1\n3 2 1\n", ", line 6: the header announces 2 entries"),
    (iter_uci, f"9\n2\n3\n1 1 1\n7 1 {MOST}\n7 1 1\n", ": counts .* document 7 add up to 2147483648"),
    (
        iter_uci,
        MANY.replace(" ", "\n", 2),
        f", line 5: document {MOST} after 1 entries; at most 10000000 doc",
    ),
    (iter_matrix_market, MARKET + "3 2 2\n3 1 1\n2 2 1\n", ", line 4: document 2 .*; use scipy.io.mmread"),
    (iter_matrix_market, MARKET + MANY, f", line 4: document {MOST} after 1 entries; at most 10000000 doc"),
    (read_uci, PACKED[: len(PACKED) // 2], " is truncated or damaged"),
    (read_uci, PACKED[:20] + b"\0" * 9 + PACKED[29:], " is truncated or damaged"),
    (iter_matrix_market, SYMMETRIC, ", line 1: expected '%%MatrixMarket matrix coordinate"),
    (iter_matrix_market, MARKET + "%\n", " is truncated: the line with three sizes is missing"),
    (iter_matrix_market, MARKET + "%\n1 1\n1 1 1\n", ", line 3: .* comment or three sizes, got '1 1"),
    (iter_matrix_market, MARKET + "%\n1 0 1\n1 1 1\n", r", line 3: 0 words, must be in 1\.\."),
    (iter_matrix_market, MARKET + "%\n1 1 1\n1 1 1.5\n", ", line 4: expected three integers"),
    (iter_matrix_market, MARKET + "%\n1 1 1\n1 1 1e999\n", ", line 4: expected three integers"),
    (iter_matrix_market, MARKET + "%\n1 1 1\n1 1 3e9\n", r", line 4: count 3000000000 is outside 1\.\."),
    (iter_uci, "1\n1\n1\n1 1 1.0\n", ", line 4: expected three integers"),
    (iter_matrix_market, MARKET + "%\n2 1 2\n2 1 1\n1 1 1\n", ", line 5: document 1 after later ones"),
    (iter_matrix_market, MARKET + "%\n" * 1000 + "1 1 1\n", ", line 1001: expected a comment"),
    (iter_ldac, f"1 0:1\n0\n2 1:{MOST} 1:1", ": counts .* document 3 add up to 2147483648"),
    (iter_ldac, "1 0:1\n1 2:1\n", r", line 2: word number 2 is outside 0\.\.1"),
]
# Beyond limits, some of which are lowered
LARGE = [
    (read_uci, {}, b"2147483647\n3\n1\n1 1 1\n", ", line 1: 2147483647 documents, .* 1 entries;"),
    (read_uci, {}, b"2\n16777217\n1\n1 1 1\n", r", line 2: 16777217 words, must be in 1\.\.16777216"),
    (read_uci, {}, b"0" * 1000 + b"2\n3\n1\n1 1 1\n", ", line 1: more than 1000 bytes, .* '0000"),
    (read_uci, {}, b"2\n3\n1\n" + b" " * 10**6 + b"1 1 1\n", ", line 4: more than 1000 bytes"),
    (read_uci, BLANK, b"1\n1\n3\n" + b"1 1 1\n" * 3 + b"\n" * 6, ", line 12: empty; more than 2 empty lines"),
    (read_uci, {}, f"{MOST}\n16777216\n{MOST}\n{MOST} 1 1\n", f": it ends after 1 of the {MOST} entries"),
    (read_ldac, {}, b"1 0:1\n1 16777216:1\n", r", line 2: word number 16777216 .* 0\.\.16777215"),
    (read_ldac, {}, b"0\n0" + b" " * 2**24, ", line 2: more than 16777216 bytes"),
    (read_ldac, {}, b"1 0:1\n" + b"\n" * 1001, ", line 1002: empty; at most 1000 empty lines"),
    (read_ldac, FEW_PAIRS, b"2 0:1 1:1\n1 1:1\n", ", line 2: 3 pairs up to here, at most 2 are allowed"),
    (read_ldac, FEW_EMPTY, b"0\n0\n1 1:1\n0\n", ", line 4: 3 documents without words .* at most 2"),
    (read_vocabulary, {}, b"one\n" + b"x" * 1000 + b"\n", ", line 2: more than 1000 bytes, .*'xxxx"),
    (read_vocabulary, {}, b"one\ntw\0o\n", r", line 2: 'tw\\x00o' holds a null byte"),
    (read_vocabulary, SHORT, b"w\n" * 8, ", line 7: the vocabulary is too long; at most 6 words"),
    (read_vocabulary, SHORT, b"four\n" * 6, ", line 5: the vocabulary is too long; .* and 20 bytes"),
    (read_vocabulary, {}, b"\n\r\n", " has no words"),
]


def check_refused(read, path, content, message, *arguments):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    _, error = outcome(lambda: list(read(path, *arguments)))
    assert isinstance(error, ValueError), (read, content[:50], error)
    assert re.search(rf"wrong\.txt.*{message}", str(error)), (read, content[:50], error)


@pytest.mark.usefixtures("n_bytes")
def test_errors_name_file_and_line(tmp_path):
    for read, content, message in WRONG:
        n_features = {read_ldac: [None, 3], iter_ldac: [2]}.get(read, [])
        check_refused(read, tmp_path / "wrong.txt", content, message, *n_features)


def test_files_beyond_the_limits_are_refused(tmp_path, monkeypatch):
    """Memory follows what a file holds, not what it announces: a block, and a million entries."""
    tracemalloc.start()
    try:
        for read, limits, content, message in LARGE:
            with monkeypatch.context() as patch:
                for name, value in limits.items():
                    patch.setattr(_readers, name, value)
                check_refused(read, tmp_path / "wrong.txt", content, message)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    for read in (read_uci, read_ldac, iter_uci, iter_matrix_market, lambda path: iter_ldac(path, 2)):
        with pytest.raises(FileNotFoundError):
            list(read(tmp_path / "missing"))


def test_texts_are_counted_by_blocks():
    texts = ["red green red", "green blue", "blue blue red"]
    vectorizer = CountVectorizer().fit(texts)
    blocks = list(iter_counts(vectorizer, iter(texts), block_size=2))
    assert [block.shape for block in blocks] == [(2, 3), (1, 3)]
    assert_array_equal(sparse.vstack(blocks).toarray(), vectorizer.transform(texts).toarray())
    with pytest.raises(TypeError, match="vectorizer=3 is invalid: must be a fitted vectorizer"):
        next(iter_counts(3, texts))
    for wrong in ("red", b"red", pd.DataFrame({"text": texts}), {"first": "red"}, 3):
        with pytest.raises(TypeError, match=r"texts is a .*; an iterable of texts is allowed"):
            next(iter_counts(vectorizer, wrong))


# Fetcher: a loopback server hands out a small corpus under the name "kos"

DOCWORD, VOCAB = "docword.kos.txt.gz", "vocab.kos.txt"


@pytest.fixture
def files(monkeypatch):
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    monkeypatch.setitem(_uci._PUBLISHED, "kos", (3, 4, 4))
    return {DOCWORD: gzip.compress(UCI), VOCAB: b"w0\nw1\nw2\nw3\n"}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serve the server's `files`; `cut` is how many bytes of each body are withheld."""

    def do_GET(self):
        self.server.requested.append(self.path)
        body = self.server.files.get(self.path.rpartition("/")[2])
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - self.server.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(files):
    pytest.importorskip("pooch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.cut, server.requested = files, 0, []
        thread = threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}/mirror"
        yield server
        server.shutdown()
        thread.join()


DEAD_URL = "http://127.0.0.1:1"  # an address of this machine at which nothing listens


def kept_in(folder):
    folder = folder / "uci_bag_of_words"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


KEPT = [DOCWORD, "kos.corpus", VOCAB]


def test_fetch_downloads_once_and_survives_a_damaged_cache(tmp_path, server):
    first = fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    assert sorted(server.requested) == ["/mirror/docword.kos.txt.gz", "/mirror/vocab.kos.txt"]
    assert "3 documents, 4 words" in first.DESCR
    assert kept_in(tmp_path) == KEPT and os.listdir(tmp_path) == ["uci_bag_of_words"]
    second = fetch_bag_of_words("kos", str(tmp_path), base_url=DEAD_URL, download_if_missing=False)
    for bunch in (first, second):
        assert type(bunch.data) is sparse.csr_matrix and bunch.data.dtype == np.int32
        assert bunch.data.has_canonical_format
        assert_array_equal(bunch.data.toarray(), COUNTS)
        assert bunch.feature_names.dtype == object
        assert bunch.feature_names.tolist() == [f"w{number}" for number in range(4)]
    folder = tmp_path / "uci_bag_of_words"
    file = folder / "kos.corpus" / "data.npy"
    content = file.read_bytes()
    for damaged in (content[: len(content) // 2], content[:-1] + b"\x09"):  # a count that could be one
        file.write_bytes(damaged)
        assert_array_equal(fetch_bag_of_words("kos", tmp_path, base_url=DEAD_URL).data.toarray(), COUNTS)
        assert file.read_bytes() == content
    for name in (DOCWORD, VOCAB):  # the cache is enough
        (folder / name).unlink()
    assert_array_equal(fetch_bag_of_words("kos", tmp_path, base_url=DEAD_URL).data.toarray(), COUNTS)


def test_fetch_by_several_callers_at_once(tmp_path, server, files):
    def fetch(_):
        return fetch_bag_of_words("kos", tmp_path, base_url=server.url).data.toarray()

    with ThreadPoolExecutor(4) as pool:
        assert_array_equal(list(pool.map(fetch, range(4))), [COUNTS] * 4)
    assert kept_in(tmp_path) == KEPT
    for name in files:
        assert (tmp_path / "uci_bag_of_words" / name).read_bytes() == files[name]


def test_fetch_takes_files_supplied_by_hand(tmp_path, files):
    folder = tmp_path / "uci_bag_of_words"
    folder.mkdir()
    (folder / "docword.kos.txt").write_bytes(gzip.decompress(files["docword.kos.txt.gz"]))
    (folder / "vocab.kos.txt").write_bytes(files["vocab.kos.txt"])
    assert_array_equal(fetch_bag_of_words("kos", tmp_path, download_if_missing=False).data.toarray(), COUNTS)


def test_fetch_offline_says_what_was_tried_and_what_to_do(tmp_path, files, monkeypatch):
    pytest.importorskip("pooch")
    for name, given in (("reuters", "'reuters'"), (["kos"], r"\['kos'\]")):
        with pytest.raises(ValueError, match=rf"name must be one of \['kos', .*'pubmed'\], got {given}"):
            fetch_bag_of_words(name, tmp_path)
    with pytest.raises(ConnectionError) as caught:
        fetch_bag_of_words("kos", tmp_path, base_url=DEAD_URL)
    message = str(caught.value)
    assert f"{DEAD_URL}/vocab.kos.txt" in message and "base_url" in message
    assert f"{tmp_path / 'uci_bag_of_words'} by hand" in message
    missing = r"vocab\.kos\.txt and docword\.kos\.txt\.gz not found in .*missing is False"
    with pytest.raises(OSError, match=missing):
        fetch_bag_of_words("kos", tmp_path, download_if_missing=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install sktopic\[datasets\]"):
        fetch_bag_of_words("kos", tmp_path)
    assert kept_in(tmp_path) == []


def test_fetch_leaves_nothing_of_a_bad_download(tmp_path, server):
    """The files of a server that contradict the published figures, or are cut short or missing."""
    good = dict(server.files)
    for name, change, message in [
        (DOCWORD, lambda text: text.replace(b"3\n", b"5\n", 1), r"\(5, 4, 4\), the published figures"),
        (DOCWORD, lambda text: text[:-6], r"kos\.txt\.gz is truncated: it ends"),
        (VOCAB, lambda text: text + b"surplus\n", r"vocab\.kos\.txt has 5 words, but .* figure says 4"),
        (VOCAB, None, r"Could not download .*vocab\.kos\.txt"),
        (DOCWORD, None, r"Could not download .*docword\.kos\.txt\.gz.*404"),
    ]:
        if change and name == DOCWORD:
            server.files[name] = gzip.compress(change(gzip.decompress(good[name])))
        elif change:
            server.files[name] = change(good[name])
        elif name == DOCWORD:
            del server.files[name]
        else:
            server.cut = 10
        with pytest.raises((ValueError, ConnectionError), match=message):
            fetch_bag_of_words("kos", tmp_path, base_url=server.url)
        assert kept_in(tmp_path) == []
        server.files, server.cut = dict(good), 0
    assert_array_equal(fetch_bag_of_words("kos", tmp_path, base_url=server.url).data.toarray(), COUNTS)
