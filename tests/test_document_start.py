"""Topics that start from documents, by default in both variational methods for LDA."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sktopic._documents._matrices import DocumentReader
from sktopic._documents._sources import MatrixDocuments
from sktopic._estimators._concurrency import Training
from sktopic._kernels.random._rng import combine_keys
from sktopic._topics._word_counts import DOCUMENT_SHARE, WordCounts
from sktopic._training import _document_start
from sktopic._training._document_start import distinct_documents, start_from_documents
from sktopic._training._minibatches import VALIDATION_KEY
from sktopic.datasets import save_corpus
from sktopic.distributed import start_model
from sktopic.lda import OnlineVariationalLDA, StreamingVariationalLDA
from sktopic.seeding import document_components

from .conftest import assert_same_state, state
from .lda_models import ETA, X, new, watched

N, N_WORDS = X.shape
NOTHING = sp.csr_array((2, N_WORDS))
# Iterations do not depend on a tolerance that rounding may cross.
FIXED = {"max_doc_update_iter": 20, "mean_change_tol": 0.0}
ESTIMATORS = [OnlineVariationalLDA, StreamingVariationalLDA]
both = pytest.mark.parametrize("cls", ESTIMATORS)


def start_of(model, counts, weights=None):
    """The WordCounts from which the model starts when it is given these documents."""
    model = clone(model).partial_fit(sp.csr_array((1, counts.shape[1])))
    start_from_documents(Training(model), MatrixDocuments(counts).weighted(weights))
    return model._state.words


def topics_of(words):
    return words.store.T / words.n_features


def documents_of(topics, counts, share=DOCUMENT_SHARE):
    """The numbers of the documents that topics lean toward; each has to be one, to rounding."""
    frequencies = counts.sum(axis=0) / counts.sum()
    own = (topics - (1.0 - share) * frequencies) / share
    rows = counts.toarray() / np.maximum(counts.sum(axis=1), 1.0)[:, None]
    errors = np.abs(own[:, None] - rows).max(axis=2)
    assert errors.min(axis=1).max() < 1e-12
    return errors.argmin(axis=1)


@both
def test_topics_are_those_of_document_components_and_lead_to_the_same_updates(cls):
    model = new(cls, 6, **FIXED)
    words = start_of(model, X)
    chosen = documents_of(topics_of(words), X)
    assert len(set(chosen)) == 6
    assert_allclose(words.totals, N_WORDS, rtol=1e-12)
    # document_components draws other documents, and makes the same topics of them.
    drawn = document_components(X, np.count_nonzero(X.sum(axis=1)), random_state=0)
    numbers = documents_of(drawn, X)
    same = drawn[[np.flatnonzero(numbers == each)[0] for each in chosen]]
    assert_allclose(topics_of(words), same, rtol=1e-12, atol=1e-15)
    found, given = clone(model).partial_fit(X), clone(model).set_params(components_init=same).partial_fit(X)
    assert_allclose(found.topic_word_counts_, given.topic_word_counts_, rtol=1e-4, atol=1e-6)
    other = clone(model).set_params(random_state=1)
    assert set(documents_of(topics_of(start_of(other, X)), X)) != set(chosen)


@both
def test_fit_starts_from_the_documents_that_partial_fit_starts_from(cls):
    """However they come, and not from those of later blocks."""
    model = new(cls, 6)
    found = clone(model).partial_fit(X)
    size = {"total_samples": N} if cls is OnlineVariationalLDA else {}
    fitted = clone(model).set_params(max_iter=1, **size).fit(X)
    assert_array_equal(fitted.components_, clone(model).set_params(**size).partial_fit(X).components_)
    blocks = [X[:20], X[20:]]
    expected = clone(model).partial_fit(X[:20]).partial_fit(X[20:])
    for weights in (None, np.ones(N)):
        assert_same_state(state(clone(model).partial_fit(blocks, sample_weight=weights)), state(expected))
    assert_same_state(state(clone(model).partial_fit(iter(blocks))), state(expected))
    assert np.abs(expected.components_ - found.components_).max() > 1e-3
    weights = np.r_[np.zeros(20), np.ones(N - 20)]  # no document of the first block counts
    random = clone(model).set_params(components_init=None).partial_fit(X[20:])
    assert_same_state(
        state(clone(model).partial_fit(blocks, sample_weight=weights)),
        state(random.set_params(components_init="documents")),
    )


@both
def test_corpora_on_disk_start_as_matrices(cls, tmp_path):
    model, corpus = new(cls, 6), save_corpus(tmp_path / "corpus", X)
    assert_array_equal(clone(model).partial_fit(corpus).components_, clone(model).partial_fit(X).components_)


def test_order_and_copies_of_documents_do_not_matter_and_weights_change_only_frequencies():
    model, times = new(OnlineVariationalLDA, 6), np.arange(N) % 3 + 1
    words = start_of(model, X)
    chosen = documents_of(topics_of(words), X)
    order = np.random.default_rng(0).permutation(N)
    assert_array_equal(start_of(model, X[order]).store, words.store)
    repeated, weighted = start_of(model, X[np.repeat(np.arange(N), times)]), start_of(model, X, times)
    assert_allclose(repeated.store, weighted.store, rtol=1e-12)
    frequencies = times @ X / (times @ X).sum()
    own = X[chosen].toarray() / X[chosen].sum(axis=1)[:, None]
    expected = DOCUMENT_SHARE * own + (1.0 - DOCUMENT_SHARE) * frequencies
    assert_allclose(topics_of(weighted), expected, rtol=1e-12, atol=1e-15)


def test_other_topics_are_random_if_there_are_fewer_documents():
    few = sp.vstack([X[:3], X[:2], NOTHING], format="csr")  # three documents with words, and copies
    model = new(OnlineVariationalLDA, 6)
    words, random = start_of(model, few), start_of(model.set_params(components_init=None), NOTHING)
    assert sorted(documents_of(topics_of(words)[:3], few)) == [0, 1, 2]
    assert_array_equal(words.store[:, 3:], random.store[:, 3:])
    assert_allclose(words.totals, words.store.sum(axis=0), rtol=1e-12)


@both
def test_the_start_waits_for_documents_with_words_and_comes_once(cls):
    model, random = new(cls, 6), new(cls, 6, components_init=None)
    assert_array_equal(start_of(model, NOTHING).store, start_of(random, NOTHING).store)
    late = clone(model).partial_fit(NOTHING).partial_fit(X)
    expected = clone(model).partial_fit(X)
    if cls is StreamingVariationalLDA:  # the others count the documents without words
        assert_array_equal(late.components_, expected.components_)
    assert_array_equal(start_of(model, X).store, start_of(late, X).store)
    before = late._state.words.store.copy()
    start_from_documents(Training(late), MatrixDocuments(X))
    assert_array_equal(late._state.words.store, before)


@both
def test_topics_lean_toward_a_matrix_and_not_toward_documents(cls):
    prior = np.full((6, N_WORDS), ETA)
    prior[2, :5] = 3.0
    model = new(cls, 6, topic_word_prior=prior)
    random = clone(model).set_params(components_init=None)
    assert_array_equal(model.fit(X).components_, random.fit(X).components_)


def test_lanes_start_from_random_topics():
    model = OnlineVariationalLDA(6, random_state=0)
    started = [start_model(each, N_WORDS, N) for each in (model, model.set_params(components_init=None))]
    assert_array_equal(*(each._state.words.store for each in started))


def test_documents_that_are_held_out_are_not_started_from(monkeypatch):
    counts = sp.csr_array(np.eye(20))  # a document's word names it
    names = watched(monkeypatch, WordCounts, "start_from_documents", lambda _, words, batch, __: batch.words)
    model = OnlineVariationalLDA(12, early_stopping=True, validation_fraction=0.4, random_state=0)
    model.fit(counts)
    trained, _ = MatrixDocuments(counts).split(0.4, combine_keys(model._state.seed, VALIDATION_KEY))
    assert_array_equal(np.sort(names[0]), np.sort(trained.matrix().indices))


def test_only_some_documents_of_a_large_corpus_are_read(monkeypatch):
    monkeypatch.setattr(_document_start, "MOST_READ", 15)
    monkeypatch.setattr(_document_start, "GROUP_SIZE", 4)
    read = watched(
        monkeypatch, _document_start, "distinct_documents", lambda found, _, rows, *__: (rows, *found)
    )
    model = new(OnlineVariationalLDA, 6, max_iter=1)
    for n, n_read in ((6, 15), (20, 40)):
        model.set_params(n_components=n).fit(X)
        rows, chosen, frequencies = read.pop()
        assert len(set(rows)) == n_read and not np.array_equal(rows, np.arange(n_read))
        assert_array_equal(frequencies, X[rows].sum(axis=0))
        some = X[rows].toarray()
        for document in range(chosen.n_documents):
            cells = chosen.cells_of(document)
            words = chosen.words[chosen.cell_word[cells]]
            assert np.any(np.all(some == np.bincount(words, chosen.cell_count[cells], N_WORDS), axis=1))


def test_every_document_is_equally_likely():
    """Chosen 600 times 4 of 20, each 120 times on average: within five standard deviations."""
    reader, rows = DocumentReader(sp.csr_array(np.diag(np.arange(1.0, 21.0)))), np.arange(20)
    times = np.zeros(20)
    for key in range(600):
        times[distinct_documents(reader, rows, 4, 20, combine_keys(key, 1))[0].words] += 1
    assert times.sum() == 2400 and np.abs(times - 120).max() < 5 * np.sqrt(600 * 0.2 * 0.8)
