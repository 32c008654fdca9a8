"""Properties of the corpora, readers and fetchers."""

import functools
import gzip
import hashlib
import http.server
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
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

GENERATORS = [make_bars, make_lda_documents, make_hdp_documents]


# Docstrings


@pytest.fixture(scope="module")
def docstrings():
    filters = list(warnings.filters)
    docs = load_docstrings()
    assert warnings.filters == filters
    return docs


def _digest(docs):
    return hashlib.sha256(repr([docs.data, docs.names, docs.target.tolist()]).encode()).hexdigest()


def test_docstrings_are_thousands_of_distinct_labelled_texts(docstrings):
    n_samples = len(docstrings.data)
    assert n_samples > 2000
    assert len(docstrings.names) == n_samples
    assert docstrings.target.shape == (n_samples,) and docstrings.target.dtype == np.int64
    assert len(set(docstrings.data)) == n_samples and len(set(docstrings.names)) == n_samples
    assert docstrings.names == sorted(docstrings.names)
    assert docstrings.target_names == sorted(docstrings.target_names)
    occurring = np.unique(docstrings.target)
    np.testing.assert_array_equal(occurring, np.arange(len(docstrings.target_names)))
    assert {"numpy", "numpy.linalg", "scipy.stats", "scipy.special", "sklearn.cluster"} <= set(
        docstrings.target_names
    )
    for name, label in zip(docstrings.names, docstrings.target):
        assert f"{name}.".startswith(f"{docstrings.target_names[label]}.")


def test_docstrings_are_long_enough(docstrings):
    def count_words(text):
        return len(CountVectorizer(token_pattern=r"[^\W\d_]{2,}").build_analyzer()(text))

    assert min(map(count_words, docstrings.data)) >= 20
    longer = load_docstrings(min_words=200)
    expected = [name for name, text in zip(docstrings.names, docstrings.data) if count_words(text) >= 200]
    assert longer.names == expected
    X = CountVectorizer(stop_words="english").fit_transform(docstrings.data)
    assert X.sum(axis=1).min() > 0


def test_docstrings_leave_out_what_is_not_public_prose(docstrings):
    for name in docstrings.names:
        parts = name.split(".")
        assert not any(part.startswith("_") for part in parts)
        assert not {"tests", "conftest", "externals"} & set(parts)
        assert not name.endswith("_request")
    assert not any(">>>" in text for text in docstrings.data)
    assert not any("\nParameters\n-------" in text for text in docstrings.data)
    assert not any(text.startswith("\n") or text.endswith("\n") for text in docstrings.data)


def test_docstrings_remove_only_what_is_asked(docstrings):
    everything = load_docstrings(remove=())
    full = dict(zip(everything.names, everything.data))["scipy.stats.rankdata"]
    prose = dict(zip(docstrings.names, docstrings.data))["scipy.stats.rankdata"]
    for part in (">>> ", "Parameters\n----", "References\n----"):
        assert part in full
    for part in (">>> ", "Parameters\n----", "References", "----"):
        assert part not in prose
    assert set(prose.splitlines()) <= set(full.splitlines())
    assert "Removed: nothing" in everything.DESCR


WRITTEN = """rank(a)

Rank the data.

Parameters
----------
a : array
    What to rank [1]_.

See Also
--------
sort : Puts in order.

.. rubric:: Notes
Ties share.

References
----------
.. [1] Someone, Ranking.

Examples
--------
>>> rank([1])
1

Prose of an example."""


def test_sections_are_removed_with_their_text():
    everything = ("headers", "examples", "references", "see_also")
    prose = "Rank the data.\n\na : array\n    What to rank [1]_.\n\nTies share."
    assert _docstrings._strip(WRITTEN, everything) == prose
    assert _docstrings._strip(WRITTEN, ()) == WRITTEN
    without = WRITTEN[: WRITTEN.index("\n\nReferences")] + WRITTEN[WRITTEN.index("\n\nExamples") :]
    assert _docstrings._strip(WRITTEN, ("references",)) == without


def test_docstrings_describe_the_installed_versions(docstrings):
    for package in ("numpy", "scipy", "sklearn"):
        assert f"{package} {sys.modules[package].__version__}" in docstrings.DESCR


def test_docstrings_do_not_depend_on_the_process(docstrings):
    script = (
        "import hashlib\n"
        "from sktopic.datasets import load_docstrings\n"
        "import sklearn.experimental.enable_iterative_imputer\n"
        "import sklearn.experimental.enable_halving_search_cv\n"
        "docs = load_docstrings()\n"
        "print(hashlib.sha256(repr([docs.data, docs.names, docs.target.tolist()]).encode()).hexdigest())"
    )
    # Where strings hash as they do here, other ones are taken.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout.strip() == _digest(docstrings)


def test_docstrings_pass_over_modules_that_cannot_be_imported(monkeypatch, docstrings):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    without = load_docstrings()
    assert "scipy.stats" not in without.target_names
    assert set(docstrings.target_names) - set(without.target_names) == {"scipy.stats"}


@pytest.mark.parametrize("remove", ["examples", ("footers",)])
def test_docstrings_refuse_unknown_parts(remove):
    with pytest.raises(ValueError, match=r"remove must be a tuple of names among .*got"):
        load_docstrings(remove=remove)


def test_docstrings_refuse_impossible_lengths():
    with pytest.raises(ValueError, match="min_words=1000000"):
        load_docstrings(min_words=10**6)
    with pytest.raises(ValueError, match="min_words == -1"):
        load_docstrings(min_words=-1)


# Generators


@pytest.mark.parametrize("make", GENERATORS)
def test_numpy_may_raise_for_any_floating_point_error(make):
    prior = "doc_concentration" if make is make_hdp_documents else "doc_topic_prior"
    with np.errstate(all="raise"):
        for small in ({}, {prior: 1e-4}, {"topic_word_prior": 1e-4} if make is not make_bars else {}):
            assert np.isfinite(make(50, random_state=0, **small).components).all()


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
def test_generated_corpora_are_well_formed(make):
    corpus = make(200, random_state=0)
    X, (n_components, n_features) = corpus.data, corpus.components.shape
    assert type(X) is sparse.csr_matrix
    assert X.dtype == np.int32 and X.shape == (200, n_features)
    assert X.has_canonical_format and X.data.min() >= 1
    X.check_format()
    assert corpus.doc_topic_prior.shape == (n_components,) and np.all(corpus.doc_topic_prior > 0)
    assert corpus.doc_topic_distr.shape == (200, n_components)
    np.testing.assert_allclose(corpus.components.sum(axis=1), 1)
    np.testing.assert_allclose(corpus.doc_topic_distr.sum(axis=1), 1)
    assert corpus.components.min() >= 0 and corpus.doc_topic_distr.min() >= 0


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_repeat_with_the_same_random_state(make):
    first, second = make(50, random_state=3), make(50, random_state=np.random.RandomState(3))
    assert first.keys() == second.keys()
    assert (first.data != second.data).nnz == 0
    for key in first.keys() - {"data"}:
        np.testing.assert_array_equal(first[key], second[key])
    other = make(50, random_state=4)
    assert other.data.shape != first.data.shape or (other.data != first.data).nnz > 0
    assert make(5).data.shape[0] == 5


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_accept_numpy_integers_and_single_documents(make):
    assert make(np.int64(1), random_state=0).data.shape[0] == 1


def test_bars_are_the_rows_and_columns_of_the_grid():
    bars = make_bars(30, size=4, doc_length=17, random_state=0)
    images = bars.components.reshape(8, 4, 4)
    for k in range(4):
        expected = np.zeros((4, 4))
        expected[k] = 0.25
        np.testing.assert_allclose(images[k], expected)
        np.testing.assert_allclose(images[4 + k], expected.T)
    np.testing.assert_array_equal(bars.data.sum(axis=1), 17)


def _standardised_residuals(corpus):
    """Counts minus their mean given the true proportions, over their standard deviation, by word."""
    expected = corpus.doc_topic_distr @ corpus.components
    lengths = np.asarray(corpus.data.sum(axis=1))
    variance = (lengths * expected * (1 - expected)).sum(axis=0)
    residual = np.asarray(corpus.data.sum(axis=0)).ravel() - (lengths * expected).sum(axis=0)
    return residual[variance > 5] / np.sqrt(variance[variance > 5])


@pytest.mark.parametrize("make", GENERATORS)
def test_words_follow_the_returned_proportions_and_topics(make):
    # Each residual is about standard normal; words of one corpus are nearly independent.
    residuals = _standardised_residuals(make(4000, random_state=1))
    assert len(residuals) >= 25
    assert np.abs(residuals).max() < 5
    assert np.mean(residuals**2) == pytest.approx(1, abs=6 * np.sqrt(2 / len(residuals)))


def test_word_counts_within_documents_follow_their_own_proportions():
    # Chi-square over documents: wrong rows would blow this up, total counts would not show it.
    corpus = make_bars(3000, doc_length=400, doc_topic_prior=1.0, random_state=2)
    expected = 400 * corpus.doc_topic_distr @ corpus.components
    ratio = (((corpus.data.toarray() - expected) ** 2) / expected).sum(axis=1) / 24
    assert np.mean(ratio) == pytest.approx(1, abs=6 * np.sqrt(2 / 24 / 3000))


def test_lda_proportions_and_lengths_have_the_moments_of_their_priors():
    alpha = np.array([0.05, 0.5, 2.0])
    n_samples = 20_000
    corpus = make_lda_documents(
        n_samples, n_components=3, n_features=20, mean_length=30, doc_topic_prior=alpha, random_state=0
    )
    np.testing.assert_array_equal(corpus.doc_topic_prior, alpha)
    mean = alpha / alpha.sum()
    variance = mean * (1 - mean) / (alpha.sum() + 1)
    error = np.sqrt(variance / n_samples)
    assert np.all(np.abs(corpus.doc_topic_distr.mean(axis=0) - mean) < 5 * error)
    np.testing.assert_allclose(corpus.doc_topic_distr.var(axis=0), variance, rtol=0.1)
    for k in range(3):
        marginal = stats.beta(alpha[k], alpha.sum() - alpha[k])
        assert stats.kstest(corpus.doc_topic_distr[:, k], marginal.cdf).pvalue > 1e-4
    lengths = np.asarray(corpus.data.sum(axis=1)).ravel()
    assert lengths.mean() == pytest.approx(30, abs=5 * np.sqrt(30 / n_samples))
    assert lengths.var() == pytest.approx(30, rel=0.06)


def test_lda_topics_have_the_moments_of_their_prior():
    corpus = make_lda_documents(
        1, n_components=20_000, n_features=3, topic_word_prior=[0.1, 0.3, 0.6], random_state=0
    )
    mean, second = corpus.components.mean(axis=0), (corpus.components**2).mean(axis=0)
    prior = np.array([0.1, 0.3, 0.6])
    np.testing.assert_allclose(mean, prior, atol=0.012)
    np.testing.assert_allclose(second, prior * (prior + 1) / 2, atol=0.012)


def test_lda_uses_the_components_it_is_given():
    components = np.array([[0.5, 0.5, 0, 0, 0], [0, 0, 0.2, 0, 0.8]])
    corpus = make_lda_documents(500, components=components, doc_topic_prior=1e-12, random_state=0)
    np.testing.assert_array_equal(corpus.components, components)
    assert corpus.components is not components
    X = corpus.data.toarray()
    assert np.all(X[:, 3] == 0)
    # A vanishing prior: one topic a document.
    assert np.all((X[:, :2].sum(axis=1) == 0) | (X[:, 2:].sum(axis=1) == 0))
    np.testing.assert_array_equal(corpus.doc_topic_distr.max(axis=1), 1)
    assert 0.3 < corpus.doc_topic_distr[:, 0].mean() < 0.7


def test_documents_without_words_are_kept():
    corpus = make_lda_documents(300, mean_length=0.5, random_state=0)
    lengths = np.asarray(corpus.data.sum(axis=1)).ravel()
    assert len(lengths) == 300 and 0.45 < np.mean(lengths == 0) < 0.75
    assert make_lda_documents(4, mean_length=0, random_state=0).data.shape == (4, 1000)
    assert make_bars(4, doc_length=0, random_state=0).data.nnz == 0


def test_draws_in_blocks_have_the_same_law(monkeypatch):
    monkeypatch.setattr(_generators, "_BLOCK_TOKENS", 500)
    corpus = make_bars(2001, doc_length=90, doc_topic_prior=1.0, random_state=2)
    assert corpus.data.shape == (2001, 25) and corpus.data.has_canonical_format
    assert corpus.data.dtype == np.int32 and type(corpus.data) is sparse.csr_matrix
    np.testing.assert_array_equal(corpus.data.sum(axis=1), 90)
    expected = 90 * corpus.doc_topic_distr @ corpus.components
    ratio = (((corpus.data.toarray() - expected) ** 2) / expected).sum(axis=1) / 24
    assert np.mean(ratio) == pytest.approx(1, abs=0.05)


def test_hdp_topics_occur_and_are_sorted_by_weight():
    corpus = make_hdp_documents(500, topic_concentration=3, doc_concentration=2, random_state=0)
    weights = corpus.topic_weights
    assert np.all(np.diff(weights) <= 0) and 0.9 < weights.sum() <= 1 + 1e-12
    np.testing.assert_allclose(corpus.doc_topic_prior, 2 * weights)
    assert len(weights) == len(corpus.components)


def test_hdp_proportions_follow_the_returned_prior():
    n_samples = 5000
    corpus = make_hdp_documents(
        n_samples, n_features=20, topic_concentration=2, doc_concentration=3, random_state=0
    )
    alpha = corpus.doc_topic_prior
    mean = alpha / alpha.sum()
    error = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1) / n_samples)
    assert np.all(np.abs(corpus.doc_topic_distr.mean(axis=0) - mean) < 5 * error)


def test_hdp_weights_follow_the_stick_breaking_prior():
    # The sum of squared GEM(g) weights has mean 1 / (1 + g).
    rng = np.random.RandomState(0)
    concentration = 4.0
    squares = [(_generators._break_sticks(rng, concentration, 1000) ** 2).sum() for _ in range(2000)]
    error = np.std(squares) / np.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(1 / (1 + concentration), abs=5 * error)
    weights = _generators._break_sticks(rng, concentration, 1000)
    assert weights.sum() == pytest.approx(1, abs=1e-12) and weights.min() > 0


def test_hdp_number_of_topics_grows_with_the_concentration():
    few = [len(make_hdp_documents(200, topic_concentration=0.5, random_state=s).components) for s in range(8)]
    many = [len(make_hdp_documents(200, topic_concentration=10, random_state=s).components) for s in range(8)]
    assert np.mean(many) > 3 * np.mean(few)


def test_hdp_respects_max_components():
    corpus = make_hdp_documents(500, topic_concentration=50, max_components=7, random_state=0)
    assert len(corpus.components) == 7
    assert corpus.topic_weights.sum() == pytest.approx(1)
    single = make_hdp_documents(5, max_components=1, random_state=0)
    np.testing.assert_array_equal(single.doc_topic_distr, 1)


def test_hdp_without_words_keeps_one_topic():
    corpus = make_hdp_documents(5, mean_length=0, doc_concentration=1e-9, random_state=0)
    assert corpus.components.shape == (1, 1000)
    np.testing.assert_array_equal(corpus.doc_topic_distr, 1)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_bars, {"n_samples": 0}, "n_samples == 0"),
        (make_bars, {"size": 2.5}, "size must be an instance of"),
        (make_bars, {"doc_length": -1}, "doc_length == -1"),
        (make_bars, {"doc_topic_prior": 0}, "doc_topic_prior must be finite and positive, got 0"),
        (make_bars, {"doc_topic_prior": [1, 2]}, r"doc_topic_prior must be .* \(10,\), got shape \(2,\)"),
        (make_lda_documents, {"n_features": 0}, "n_features == 0"),
        (make_lda_documents, {"n_components": 0}, "n_components == 0"),
        (make_lda_documents, {"mean_length": -2}, "mean_length must be .* not negative, got -2"),
        (make_lda_documents, {"mean_length": np.inf}, "mean_length must be .*, got inf"),
        (make_lda_documents, {"topic_word_prior": np.nan}, "topic_word_prior must be finite"),
        (make_lda_documents, {"components": [[0.5, 0.4]]}, "row 0 sums to 0.9"),
        (make_lda_documents, {"components": [[1.5, -0.5]]}, "components must be finite and not negative"),
        (make_lda_documents, {"components": [0.5, 0.5]}, r"components must be of shape .* got shape \(2,\)"),
        (make_hdp_documents, {"topic_concentration": 0}, "topic_concentration must be .* positive, got 0"),
        (make_hdp_documents, {"doc_concentration": -1.0}, "doc_concentration must be .* positive, got -1"),
        (make_hdp_documents, {"max_components": 0}, "max_components == 0"),
    ],
)
def test_generators_name_a_wrong_parameter(make, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**parameters)


# Readers


def _uci_bytes(X, header=None):
    """Write a matrix in the UCI format."""
    X = sparse.coo_matrix(X)
    order = np.lexsort((X.col, X.row))
    body = np.column_stack([X.row + 1, X.col + 1, X.data])[order]
    lines = [str(number) for number in header or (*X.shape, X.nnz)]
    lines += [f"{row} {word} {count}" for row, word, count in body.tolist()]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def corpus():
    X = make_lda_documents(60, n_features=40, mean_length=12, random_state=0).data.tolil()
    X[7] = 0
    X[59] = 0
    return sparse.csr_matrix(X)


@pytest.mark.parametrize("block_bytes", [64, 1 << 24])
@pytest.mark.parametrize("compressed", [False, True])
def test_uci_round_trip(tmp_path, monkeypatch, corpus, compressed, block_bytes):
    monkeypatch.setattr(_readers, "_BLOCK_BYTES", block_bytes)
    docword, vocab = tmp_path / "docword", tmp_path / "vocab"
    content = _uci_bytes(corpus)
    docword.write_bytes(gzip.compress(content) if compressed else content)
    words = [f"word{number}é" for number in range(40)]
    vocab.write_text("\n".join(words) + "\n", encoding="utf-8")
    X, feature_names = read_uci(str(docword), vocab)
    assert type(X) is sparse.csr_matrix and X.dtype == np.int32 and X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), corpus.toarray())
    assert feature_names.tolist() == words and feature_names.dtype == object
    assert read_uci(docword)[1] is None


@pytest.mark.parametrize("block_bytes", [64, 1 << 24])
def test_uci_lines_may_come_in_any_order(tmp_path, monkeypatch, corpus, block_bytes):
    monkeypatch.setattr(_readers, "_BLOCK_BYTES", block_bytes)
    header, body = _uci_bytes(corpus).splitlines()[:3], _uci_bytes(corpus).splitlines()[3:]
    np.random.RandomState(0).shuffle(body)
    path = tmp_path / "docword"
    path.write_bytes(b"\n".join(header + body))
    X, _ = read_uci(path)
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), corpus.toarray())


def test_uci_white_space_and_repeated_entries(tmp_path):
    path = tmp_path / "docword"
    path.write_bytes(b"2\r\n3\r\n4\r\n1\t3  2\r\n1 3 4\r\n 2 1 1 \r\n2 2 1\r\n\r\n")
    X, _ = read_uci(path)
    np.testing.assert_array_equal(X.toarray(), [[0, 0, 6], [1, 1, 0]])
    assert X.dtype == np.int32 and X.nnz == 3


def test_uci_without_entries(tmp_path):
    path = tmp_path / "docword"
    path.write_bytes(b"2\n3\n0\n")
    X, _ = read_uci(path)
    assert X.shape == (2, 3) and X.nnz == 0 and X.dtype == np.int32


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: expected the number of documents, got ''"),
        (b"2\nmany\n1\n1 1 1\n", "line 2: expected the number of words, got 'many'"),
        (b"2\n3\n-1\n1 1 1\n", "line 3: expected the number of entries, got '-1'"),
        (b"0\n3\n0\n", "line 1: 0 documents, must be in 1.."),
        (b"2\n99999999999\n0\n", "line 2: 99999999999 words"),
        (b"2\n3\n2\n1 1 1\n3 1 1\n", r"line 5: document number 3 is outside 1\.\.2"),
        (b"2\n3\n2\n1 1 1\n0 1 1\n", r"line 5: document number 0 is outside 1\.\.2"),
        (b"2\n3\n2\n1 1 1\n2 4 1\n", r"line 5: word number 4 is outside 1\.\.3"),
        (b"2\n3\n2\n1 0 1\n2 3 1\n", r"line 4: word number 0 is outside 1\.\.3"),
        (b"2\n3\n2\n1 1 -1\n2 3 1\n", r"line 4: count -1 is outside"),
        (b"2\n3\n2\n1 1 1\n\n2 3 0\n", r"line 6: count 0 is outside"),
        (b"2\n3\n1\n1 1 3000000000\n", r"line 4: count 3000000000 is outside"),
        (b"2\n3\n1\n1 1 99999999999999999999999\n", "line 4: expected three integers"),
        (b"2\n3\n2\n1 1 1\n2 3\n", "line 5: expected three integers, got '2 3'"),
        (b"2\n3\n2\n1 1\n2 3 1 1\n", "line 4: expected three integers, got '1 1'"),
        (b"2\n3\n2\n1 1 1\n2 3 1.5\n", "line 5: expected three integers, got '2 3 1.5'"),
        (b"2\n3\n2\n1 1 1\n", "ends after 1 of the 2 entries"),
        (b"2\n3\n2147483647\n1 1 1\n", "ends after 1 of the 2147483647 entries"),
        (b"2\n3\n2147483648\n1 1 1\n", r"line 3: 2147483648 entries, must be in 0\.\.2147483647"),
        (b"2\n3\n1\n1 1 1\n2 2 1\n", "line 5: the header announces 1 entries, but there are more"),
        (b"2\n3\n2\n1 1 2147483647\n1 1 1\n", r"in document 1 add up to 2147483648; at most"),
    ],
)
@pytest.mark.parametrize("block_bytes", [4, 1 << 24])
def test_uci_errors_name_file_and_line(tmp_path, monkeypatch, content, message, block_bytes):
    monkeypatch.setattr(_readers, "_BLOCK_BYTES", block_bytes)
    path = tmp_path / "docword.bad.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"docword\.bad\.txt.*{message}"):
        read_uci(path)


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:40] + b"\0" * 9 + b[49:]])
def test_uci_damaged_gzip_is_a_value_error(tmp_path, corpus, damage):
    path = tmp_path / "docword.bad.txt.gz"
    path.write_bytes(damage(gzip.compress(_uci_bytes(corpus))))
    with pytest.raises(ValueError, match=r"docword\.bad\.txt\.gz"):
        read_uci(path)


def test_uci_vocabulary_must_fit(tmp_path, corpus):
    docword, vocab = tmp_path / "docword", tmp_path / "vocab.txt"
    docword.write_bytes(_uci_bytes(corpus))
    vocab.write_text("one\ntwo\n")
    with pytest.raises(ValueError, match=r"vocab\.txt has 2 words, but the header of docword says 40"):
        read_uci(docword, vocab)


def test_missing_files_are_file_not_found(tmp_path):
    for read in (read_uci, read_ldac):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere")


@pytest.mark.parametrize("compressed", [False, True])
def test_ldac_round_trip(tmp_path, corpus, compressed):
    lines = []
    for row in corpus:
        pairs = "".join(f" {word}:{count}" for word, count in zip(row.indices, row.data))
        lines.append(f"{row.nnz}{pairs}")
    content = ("\n".join(lines) + "\n").encode()
    path = tmp_path / "corpus"
    path.write_bytes(gzip.compress(content) if compressed else content)
    X, feature_names = read_ldac(path, n_features=40)
    assert type(X) is sparse.csr_matrix and X.dtype == np.int32 and X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), corpus.toarray())
    assert feature_names is None
    vocab = tmp_path / "vocab"
    vocab.write_text("\n".join(f"w{number}" for number in range(40)))
    X, feature_names = read_ldac(str(path), str(vocab))
    assert X.shape == (60, 40) and feature_names[39] == "w39"


def test_ldac_sizes_and_repeated_words(tmp_path):
    path = tmp_path / "corpus"
    path.write_bytes(b"3 4:1 2:2 4:5\n0\n\n\n")
    X, _ = read_ldac(path)
    np.testing.assert_array_equal(X.toarray(), [[0, 0, 2, 0, 6], [0, 0, 0, 0, 0]])
    assert read_ldac(path, n_features=9)[0].shape == (2, 9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no documents"),
        (b"1 0:1\n2 0:1\n", "line 2: 2 words are announced, but there are 1"),
        (b"1 0:1 1:1\n", "line 1: 1 words are announced, but there are 2"),
        (b"1 0:1\n1 3:1\n", r"line 2: word number 3 is outside 0\.\.2"),
        (b"1 -1:1\n", "line 1: expected 'N word:count"),
        (b"1 0:1\n1 0:0\n", r"line 2: count 0 is outside 1\.\."),
        (b"1 0:3000000000\n", "line 1: count 3000000000 is outside"),
        (b"1 0:-2\n", "line 1: expected 'N word:count"),
        (b"1 0\n", "line 1: expected 'N word:count"),
        (b"2 0:1:1 1\n", "line 1: expected 'N word:count"),
        (b"words\n", "line 1: expected .* got 'words'"),
        (b"1 0:1\n\n1 0:1\n", "line 2: empty"),
    ],
)
def test_ldac_errors_name_file_and_line(tmp_path, content, message):
    path = tmp_path / "bad.ldac"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"bad\.ldac.*{message}"):
        read_ldac(path, n_features=3)


def test_ldac_vocabulary_and_n_features_must_agree(tmp_path):
    path, vocab = tmp_path / "corpus", tmp_path / "vocab.txt"
    path.write_bytes(b"1 0:1\n")
    vocab.write_text("one\ntwo\n")
    with pytest.raises(ValueError, match=r"vocab\.txt has 2 words, but n_features says 3"):
        read_ldac(path, vocab, n_features=3)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (
            read_uci,
            b"2147483647\n3\n1\n1 1 1\n",
            "line 1: 2147483647 documents, .* announces 1 entries; at most",
        ),
        (read_uci, b"2\n16777217\n1\n1 1 1\n", r"line 2: 16777217 words, must be in 1\.\.16777216"),
        (read_uci, b"0" * 1000 + b"2\n3\n1\n1 1 1\n", "line 1: more than 1000 bytes, .* '0000"),
        (read_uci, b"2\n3\n1\n" + b" " * 10**6 + b"1 1 1\n", "line 4: more than 1000 bytes"),
        (read_uci, b"2\n3\n1\n1 1 1\n" + b"\n" * 1002, "line 1006: empty; more than 1000 empty lines"),
        (read_ldac, b"1 0:1\n1 16777216:1\n", r"line 2: word number 16777216 is outside 0\.\.16777215"),
        (read_ldac, b"0\n0" + b" " * 2**24, "line 2: more than 16777216 bytes"),
        (read_ldac, b"1 0:1\n" + b"\n" * 1001, "line 1002: empty; at most 1000 empty lines"),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes) else None,
)
def test_files_beyond_the_limits_are_refused(tmp_path, read, content, message):
    path = tmp_path / "large"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"large, {message}"):
        read(path)


@pytest.mark.parametrize(
    ("limits", "content", "message"),
    [
        ({"_MAX_ENTRIES": 2}, b"2 0:1 1:1\n1 1:1\n", "line 2: 3 pairs up to here, at most 2 are allowed"),
        ({"_MAX_EMPTY_DOCUMENTS": 2}, b"0\n0\n1 1:1\n0\n", "line 4: 3 documents without words .* at most 2"),
    ],
)
def test_ldac_limits_on_sums(tmp_path, monkeypatch, limits, content, message):
    for name, value in limits.items():
        monkeypatch.setattr(_readers, name, value)
    path = tmp_path / "large"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"large, {message}"):
        read_ldac(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n" + b"x" * 1000 + b"\n", ", line 2: more than 1000 bytes, .*'xxxx"),
        (b"one\ntw\0o\n", r", line 2: 'tw\\x00o' holds a null byte"),
        (b"w\n" * 8, ", line 7: the vocabulary is too long; at most 6 words"),
        (b"four\n" * 6, ", line 5: the vocabulary is too long; .* and 20 bytes"),
        (b"\n\r\n", " has no words"),
    ],
)
def test_vocabularies_beyond_the_limits_are_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(_readers, "_MAX_WORDS", 6)
    monkeypatch.setattr(_readers, "_MAX_VOCABULARY_BYTES", 1010 if len(content) > 1000 else 20)
    path, vocab = tmp_path / "corpus", tmp_path / "vocab.txt"
    path.write_bytes(b"1 0:1\n")
    vocab.write_bytes(content)
    with pytest.raises(ValueError, match=rf"vocab\.txt{message}"):
        read_ldac(path, vocab)


def test_memory_follows_what_a_file_holds_not_what_it_announces(tmp_path):
    path = tmp_path / "docword"
    tracemalloc.start()
    try:
        path.write_bytes(b"2147483647\n16777216\n2147483647\n2147483647 1 1\n")
        with pytest.raises(ValueError, match="ends after 1 of the 2147483647 entries"):
            read_uci(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26  # a block, and a million entries
    finally:
        tracemalloc.stop()
    path.write_bytes(b"3000000\n5\n2\n7 1 1\n2999999 5 2\n")  # almost all documents without words
    X = read_uci(path)[0]
    assert X.shape == (3_000_000, 5) and X[6, 0] == 1 and X[2_999_998, 4] == 2 and X.nnz == 2


# Fetcher: a loopback server hands out random counts with the published dimensions of "kos"


@pytest.fixture(scope="module")
def kos_files():
    rng = np.random.RandomState(0)
    cells = np.unique(rng.randint(3430 * 6906, size=400_000))
    cells = np.sort(rng.permutation(cells)[:353_160])
    rows, words = np.divmod(cells, 6906)
    counts = rng.geometric(0.6, len(cells))
    X = sparse.csr_matrix((counts.astype(np.int32), (rows, words)), shape=(3430, 6906))
    return {
        "docword.kos.txt.gz": gzip.compress(_uci_bytes(X), compresslevel=1),
        "vocab.kos.txt": "".join(f"w{number}\n" for number in range(6906)).encode(),
    }, X


class _Handler(http.server.BaseHTTPRequestHandler):
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
def server(kos_files, monkeypatch):
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    pytest.importorskip("pooch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.files, server.cut, server.requested = dict(kos_files[0]), 0, []
        thread = threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}/mirror"
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def dead_url(monkeypatch):
    """An address of this machine at which nothing listens."""
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"http://127.0.0.1:{port}"


def _kept(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_fetch_downloads_once(tmp_path, server, kos_files):
    first = fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    assert sorted(server.requested) == ["/mirror/docword.kos.txt.gz", "/mirror/vocab.kos.txt"]
    assert type(first.data) is sparse.csr_matrix and first.data.dtype == np.int32
    assert (first.data != kos_files[1]).nnz == 0
    assert first.feature_names.dtype == object and first.feature_names[[0, -1]].tolist() == ["w0", "w6905"]
    assert "3430 documents" in first.DESCR
    assert [path.name for path in tmp_path.iterdir()] == ["uci_bag_of_words"]
    assert _kept(tmp_path / "uci_bag_of_words") == ["docword.kos.txt.gz", "kos.corpus", "vocab.kos.txt"]

    server.files.clear()
    server.requested.clear()
    second = fetch_bag_of_words("kos", str(tmp_path), base_url=server.url, download_if_missing=False)
    assert server.requested == []
    assert (second.data != first.data).nnz == 0 and second.data.dtype == np.int32
    assert type(second.data) is sparse.csr_matrix and second.data.has_canonical_format
    assert second.feature_names.tolist() == first.feature_names.tolist()


def test_fetch_reads_the_cache_alone_and_survives_a_damaged_one(tmp_path, server, dead_url):
    fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    folder = tmp_path / "uci_bag_of_words"
    indices = folder / "kos.corpus" / "indices.npy"
    content = indices.read_bytes()
    for damaged in (content[: len(content) // 2], content[:-4] + bytes(4)):
        indices.write_bytes(damaged)
        again = fetch_bag_of_words("kos", tmp_path, base_url=dead_url)
        assert again.data.nnz == 353_160
        assert indices.read_bytes() == content
    (folder / "docword.kos.txt.gz").unlink()
    (folder / "vocab.kos.txt").unlink()
    assert fetch_bag_of_words("kos", tmp_path, base_url=dead_url).data.nnz == 353_160


def _assert_whole(folder, kos_files):
    """Each file under its final name has all its content; others are in folders that begin with a dot."""
    for path in (folder / "uci_bag_of_words").glob("[!.]*"):
        if path.suffix == ".corpus":
            np.testing.assert_array_equal(_uci._load_kept(path, "kos")[0].data, kos_files[1].data)
        else:
            assert path.read_bytes() == kos_files[0][path.name]


def _start_fetching(folder, server):
    context = multiprocessing.get_context("spawn" if os.name == "nt" else "forkserver")
    context.set_forkserver_preload(["sktopic.datasets", "pooch", "requests"])
    process = context.Process(
        target=fetch_bag_of_words, args=("kos", folder), kwargs={"base_url": server.url}
    )
    process.start()
    return process


def test_fetch_by_several_processes_at_once(tmp_path, server, kos_files):
    processes = [_start_fetching(tmp_path, server) for _ in range(3)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert _kept(tmp_path / "uci_bag_of_words") == ["docword.kos.txt.gz", "kos.corpus", "vocab.kos.txt"]
    _assert_whole(tmp_path, kos_files)


def test_fetch_takes_files_supplied_by_hand(tmp_path, kos_files):
    folder = tmp_path / "uci_bag_of_words"
    folder.mkdir()
    (folder / "docword.kos.txt").write_bytes(gzip.decompress(kos_files[0]["docword.kos.txt.gz"]))
    (folder / "vocab.kos.txt").write_bytes(kos_files[0]["vocab.kos.txt"])
    kos = fetch_bag_of_words("kos", tmp_path, download_if_missing=False)
    assert (kos.data != kos_files[1]).nnz == 0


def test_fetch_offline_says_what_was_tried_and_what_to_do(tmp_path, dead_url):
    pytest.importorskip("pooch")
    with pytest.raises(ConnectionError) as caught:
        fetch_bag_of_words("kos", tmp_path, base_url=dead_url)
    message = str(caught.value)
    assert f"{dead_url}/vocab.kos.txt" in message and "base_url" in message
    assert f"{tmp_path / 'uci_bag_of_words'} by hand" in message
    assert _kept(tmp_path / "uci_bag_of_words") == []


def test_fetch_reports_files_the_server_does_not_have(tmp_path, server):
    with pytest.raises(ConnectionError, match=r"vocab\.nips\.txt.*404"):
        fetch_bag_of_words("nips", tmp_path, base_url=server.url)
    assert _kept(tmp_path / "uci_bag_of_words") == []


def test_fetch_leaves_nothing_of_an_interrupted_download(tmp_path, server):
    server.cut = 1000
    with pytest.raises(ConnectionError, match=r"Could not download .*vocab\.kos\.txt"):
        fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    assert _kept(tmp_path / "uci_bag_of_words") == []
    server.cut = 0
    assert fetch_bag_of_words("kos", tmp_path, base_url=server.url).data.nnz == 353_160


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace(b"3430\n", b"3431\n", 1),
            r"\(3431, 6906, 353160\), the published figures",
        ),
        (
            lambda text: text[:-2000].rpartition(b"\n")[0],
            r"docword\.kos\.txt\.gz is truncated: it ends after",
        ),
        (lambda text: text[:100_000].rpartition(b" ")[0], r"docword\.kos\.txt\.gz, line \d+: expected three"),
        (lambda text: text + b"3430 6906 1\n", "the header announces 353160 entries, but there are more"),
        (lambda text: text.replace(b"\n7 ", b"\n7777 ", 1), r"document number 7777 is outside 1\.\.3430"),
    ],
)
def test_fetch_refuses_counts_that_contradict_the_published_ones(tmp_path, server, change, message):
    good = server.files["docword.kos.txt.gz"]
    server.files["docword.kos.txt.gz"] = gzip.compress(change(gzip.decompress(good)), compresslevel=1)
    with pytest.raises(ValueError, match=message):
        fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    assert _kept(tmp_path / "uci_bag_of_words") == []
    server.files["docword.kos.txt.gz"] = good
    assert fetch_bag_of_words("kos", tmp_path, base_url=server.url).data.shape == (3430, 6906)


def test_fetch_refuses_a_vocabulary_of_another_size(tmp_path, server):
    server.files["vocab.kos.txt"] += b"surplus\n"
    with pytest.raises(
        ValueError, match=r"vocab\.kos\.txt has 6907 words, but the published figure says 6906"
    ):
        fetch_bag_of_words("kos", tmp_path, base_url=server.url)
    assert _kept(tmp_path / "uci_bag_of_words") == []


def test_fetch_can_be_told_not_to_download(tmp_path, server):
    with pytest.raises(
        OSError, match=r"vocab\.kos\.txt and docword\.kos\.txt\.gz not found in .*missing is False"
    ):
        fetch_bag_of_words("kos", tmp_path, base_url=server.url, download_if_missing=False)
    assert server.requested == []


def test_fetch_without_pooch_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install sktopic\[datasets\]"):
        fetch_bag_of_words("kos", tmp_path)


def test_fetch_names_the_collections(tmp_path):
    with pytest.raises(ValueError, match=r"name must be one of \['kos', .*'pubmed'\], got 'reuters'"):
        fetch_bag_of_words("reuters", tmp_path)
    with pytest.raises(ValueError, match=r"name must be one of .*, got \['kos'\]"):
        fetch_bag_of_words(["kos"], tmp_path)
