"""Memoized inference for the direct-assignment HDP: its bound from summaries, and moves on the corpus."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import digamma

from sktopic._documents._matrices import DocumentReader
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed
from sktopic._topics._word_count_edits import frozen_topics
from sktopic.datasets import make_bars
from sktopic.hdp import DirectAssignmentHDP
from sktopic.hdp._memoized import _splits
from sktopic.hdp._memoized._corpus import MemoizedCorpus, Visit
from sktopic.hdp._memoized._merges import Delete, PairSizes, TrackedMerges
from sktopic.hdp._memoized._splits import GatheredCells, Proposal, TrackedSplits, Waiting, propose
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics
from sktopic.hdp._memoized._training import MemoizedTraining
from sktopic.hdp._variational_split_merge import Cells
from tests.conftest import assert_raises, set_attribute
from tests.lda_models import X, batch_of, watched
from tests.reference import memoized as reference


def make_model(n_components=5, **params):
    settings = {"learning_method": "memoized", "random_state": 0, "batch_size": 20, "shuffle": False}
    return DirectAssignmentHDP(n_components, **{**settings, **params})


def dense_phi(cells):
    """Shares (n_documents, n_features, n_topics) of CellTopics of documents with 25 words."""
    batch = cells.batch
    phi = np.zeros((batch.n_documents, 25, cells.n_topics))
    cell = cells.cell()
    document, word = batch.cell_document()[cell], batch.words[batch.cell_word[cell]]
    phi[document, word, cells.topic] = cells.tokens / batch.cell_count[cell]
    return phi


def see_all(corpus, cells, *trackers):
    """Let trackers see a Visit of each of two batches of 30 documents, of which there are CellTopics."""
    reader, infer = DocumentReader(X), make_model()._method().inference
    with Workers(1) as workers:
        for b, part in enumerate(cells):
            visit = Visit(b, reader, np.arange(30 * b, 30 * b + 30), part, corpus, infer, workers)
            for tracker in trackers:
                tracker.see(visit)


def twin_of_bound(corpus, phi, sample_weight=None):
    """The bound of X from the shares of all its documents, and the density of the priors of logarithms."""
    topics = corpus.topics
    alpha, gamma = topics.doc_concentration, topics.topic_concentration
    sample_weight = np.ones(60) if sample_weight is None else sample_weight
    given = X.toarray(), phi, sample_weight, topics.weights, alpha, gamma, topics.topic_word_prior
    return reference.bound(*given) + np.log(alpha) - alpha + np.log(gamma) - gamma


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_bound_of_summaries_is_that_of_all_documents(monkeypatch, weighted):
    """After visits, moves and steps of all parameters between them."""
    weight = np.random.default_rng(0).gamma(2.0, 0.5, 60) + 0.1 if weighted else np.ones(60)
    made = watched(monkeypatch, BatchSummary, "of", lambda summary, cells: (summary, cells))

    def compare(bound, corpus):
        # Summaries of all batches that are as they were made
        kept = [cells for each in corpus.summaries for summary, cells in made if summary is each]
        if len(kept) < len(corpus.summaries):
            return None
        return bound, twin_of_bound(corpus, np.concatenate([dense_phi(cells) for cells in kept]), weight)

    compared = watched(monkeypatch, MemoizedCorpus, "bound", compare)
    make_model(max_iter=12).fit(X, sample_weight=weight)
    found, expected = np.transpose([pair for pair in compared if pair])
    assert len(found) > 3
    assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["cold", "warm", "better"])
def test_bound_never_falls_without_moves(start):
    history = make_model(split_merge=False, document_start=start, max_iter=12).fit(X).training_history_
    assert len(history) == 12
    assert np.diff(history["elbo"]).min() >= -1e-10 * abs(history["elbo"][-1])
    assert history["elbo"][-1] > history["elbo"][0] + 10
    assert_array_equal(history["n_samples"], 60 * np.arange(1, 13))
    for name in ("doc_concentration", "topic_word_prior"):  # few passes move the third by less than 1e-7
        assert len(set(history[name].tolist())) > 1


@pytest.mark.slow
def test_history_of_moves_is_that_of_passes():
    model = make_model(12, max_iter=12, batch_size=100).fit(make_bars(200, random_state=0).data)
    moves, passes = model.move_history_, model.training_history_
    assert {"merge", "split"} <= set(moves["kind"].tolist())
    after = passes[np.searchsorted(passes["n_samples"], moves["n_samples"])]
    assert_array_equal(moves["elbo"], after["elbo"])
    for n_samples in np.unique(moves["n_samples"]):
        at_once = moves["n_samples"] == n_samples
        n = after["n_components"][at_once][0]
        for kind, found in reversed(moves[["kind", "n_components"]][at_once].tolist()):
            assert found == n
            n += -1 if kind == "split" else 1


def test_no_split_is_tried_if_none_is_allowed():
    for max_splits in (0, 1):
        moves = make_model(1, max_iter=5, max_splits=max_splits).fit(X).move_history_
        assert ("split" in moves["kind"]) == (max_splits > 0)


@pytest.mark.slow
def test_moves_from_refused_results_are_made_only_where_they_raise_the_bound(monkeypatch):
    """With one step per document, many results and some of the moves that follow from them are worse."""

    def made_again(moves, training, *_):
        return bool(training._refused) and len(moves) > 0

    made = watched(monkeypatch, MemoizedTraining, "_merge", made_again)
    rng = np.random.default_rng(4)
    documents = rng.poisson(rng.gamma(0.3, 3.0, (12, 5)))
    settings = {"batch_size": 1, "max_iter": 10, "max_doc_update_iter": 1, "document_start": "cold"}
    model = make_model(**settings).fit(documents)
    assert sum(made) == 2
    elbo = model.training_history_["elbo"]
    assert np.diff(elbo).min() >= -1e-10 * abs(elbo[-1])


def test_sums_of_batches_follow_edits_of_topics():
    model = make_model(4, split_merge=False, max_iter=2).fit(X)
    counts = model.topic_word_counts_
    model.merge_topics([[0, 3]]).drop_topics([1])
    left = np.array([counts[0] + counts[3], counts[2]])
    assert_allclose(model.topic_word_counts_, left)
    by_topic = np.bincount(model._state.summaries.topic, model._state.summaries.tokens)
    assert_allclose(by_topic, left.sum(axis=1))
    model.partial_fit(X[:30])  # as two batches beside those before
    assert_allclose(model.topic_word_counts_.sum(), left.sum() + X[:30].sum())
    assert model.total_samples_ == 90
    assert_array_equal(model._state.summaries.bounds[:, 2], [0, 20, 40, 60, 80, 90])  # documents


@pytest.fixture
def corpus_and_phi():
    """A MemoizedCorpus of two batches after some passes, its CellTopics, and the shares of all documents."""
    # Above 1, what is left to other topics is large enough for differences to be exact.
    model = make_model(4, split_merge=False, max_iter=3, topic_concentration=2.0).fit(X)
    method, topics = make_model()._method(), model._state
    corpus, cells = MemoizedCorpus(topics, [], method.parameters), []
    corpus.has_tokens = True
    with Workers(1) as workers:
        for first in (0, 30):
            counts = method.inference(batch_of(X[first : first + 30]), topics, workers)
            cells.append(CellTopics.of(counts, workers))
    corpus.summaries = [BatchSummary.of(part) for part in cells]
    corpus.recount()
    return corpus, cells, np.concatenate([dense_phi(part) for part in cells])


def test_weights_are_learned_four_times_a_pass(monkeypatch, corpus_and_phi):
    corpus, *_ = corpus_and_phi
    corpus.summaries *= 8
    corpus.recount()
    fits = watched(monkeypatch, MemoizedCorpus, "fit_weights", lambda *_: b)
    for b, summary in enumerate(corpus.summaries.copy()):
        corpus.replace(b, summary)
    assert fits == [3, 7, 11, 15]


def test_topics_frozen_at_the_counts_of_the_corpus_leave_its_bound(corpus_and_phi):
    """The terms of a posterior add up to the formula of the best one. A recount leaves frozen counts."""
    corpus, *_ = corpus_and_phi
    topics, bound = corpus.topics, corpus.bound()
    words = frozen_topics(topics.words, np.array([0, 2]), 1.0, topics.topic_word_prior)
    corpus.topics = changed(topics, words=words)
    assert corpus.bound() == pytest.approx(bound, rel=1e-12)
    store, totals = words.store.copy(), words.totals.copy()
    words.store[:], words.totals[:] = 2.0 * store, 2.0 * totals
    corpus.recount()
    assert_array_equal(corpus.topics.words.store, store * [2.0, 1.0, 2.0, 1.0])
    assert_array_equal(corpus.topics.words.totals, totals * [2.0, 1.0, 2.0, 1.0])


def test_merges_and_splits_equal_a_full_recomputation(monkeypatch, corpus_and_phi):
    corpus, cells, phi = corpus_and_phi
    before, tracked = corpus.bound(), TrackedMerges(corpus)
    tracked.pairs, tracked.number[:] = np.array([[1, 3]]), -1
    tracked.number[1, 3] = tracked.number[3, 1] = 0
    halves, split = [], np.random.default_rng(0)

    def divide(found, n_documents, *_):
        share = split.dirichlet(np.ones(3), len(found.tokens))
        halves.append((found, share))
        return found.tokens[:, None] * share, np.zeros(n_documents)

    monkeypatch.setattr(_splits, "divide_cells", divide)
    proposal = Proposal(2, 2, np.zeros((3, 25)), np.array([0.2, 0.5, 0.3]))
    splits = TrackedSplits([proposal])
    see_all(corpus, cells, tracked, splits)
    merges, found = tracked.decided(corpus), splits.decided(corpus)
    log_gamma = np.log(corpus.topics.topic_concentration)
    made = corpus.move([*merges, *found])
    shared = found[0].gain / 2  # by two new topics
    assert [gain for *_, gain in made] == pytest.approx([merges[0].gain, shared, shared])
    assert corpus.bound() == pytest.approx(before + merges[0].gain + found[0].gain + log_gamma, rel=1e-12)
    # The same from the documents: the merged topics, the largest of three parts, and the others behind.
    parts = np.zeros((*phi.shape[:2], 3))
    for first, (some, share), part in zip((0, 30), halves, cells):
        word = part.batch.words[some.word]
        parts[first + some.document, word] = phi[first + some.document, word, 2, None] * share
    merged = phi[..., [1, 3]].sum(axis=2)
    largest = found[0].proposal.totals.argmax()
    rest = np.delete(parts, largest, axis=2)
    place = {0: phi[..., 0], merges[0].topics[0]: merged, 2: parts[..., largest]}
    after = np.concatenate([np.stack([place[k] for k in sorted(place)], axis=2), rest], axis=2)
    assert corpus.bound() == pytest.approx(twin_of_bound(corpus, after), rel=1e-9)


def test_parts_of_a_topic_have_all_its_tokens(corpus_and_phi):
    """E[log phi] of a word without tokens tells the sum of a part's Dirichlet parameters."""
    corpus, *_ = corpus_and_phi
    eta, (document, word) = corpus.topics.topic_word_prior, np.nonzero(np.kron(np.eye(2), np.ones((10, 10))))
    found = Cells(None, document.astype(np.int32), word, np.full(200, 5.0))  # two themes, of 10 words each
    proposal = propose(corpus, 2, [(found, np.ones(20))], 2, 0)
    norms = digamma(eta) - proposal.log_words[:, 20:]
    sums = [brentq(lambda x, norm=norm: digamma(x) - norm, 1e-3, 1e6, xtol=1e-9) for norm in norms[:, 0]]
    assert_allclose(norms, norms[:, :1] * np.ones(5), rtol=1e-12)
    assert sum(sums) == pytest.approx(2 * 25 * eta + corpus.topics.words.totals[2], rel=1e-9)


def test_topics_are_divided_in_more_parts_after_each_odd_number_of_refusals(corpus_and_phi):
    """Refusals of other topics do not count. Two parts are tried, or up to eight that are not small."""
    corpus, cells, _ = corpus_and_phi
    corpus.topics = changed(corpus.topics, ids=np.array([2, 0, 3, 1]))
    gathered, waiting = GatheredCells(corpus, range(4)), Waiting()
    for identity, n_refusals in ((0, 2), (3, 1), (1, 3)):
        for number in range(n_refusals):
            waiting.refuse(identity, number)
    see_all(corpus, cells, gathered)
    with Workers(1) as workers:
        proposed = gathered.proposed(corpus, waiting, 0, workers)
    assert [len(proposed[k].shares) > 2 for k in range(4)] == [False, False, True, True]


def test_drop_equals_a_full_recomputation(monkeypatch, corpus_and_phi):
    corpus, cells, phi = corpus_and_phi
    delete, after = Delete(1, 3), []
    made = watched(monkeypatch, BatchSummary, "of", lambda _, cells: dense_phi(cells))
    see_all(corpus, cells, delete)
    for joined, anew in zip(made[::2], made[1::2], strict=True):
        assert 0 < len(anew) < 30
        joined[np.flatnonzero(joined.sum(axis=(1, 2)) == 0)] = anew
        after.append(joined)
    without = delete.done(corpus)
    after = np.delete(np.concatenate(after), 1, axis=2)
    assert_allclose(after.sum(axis=2), phi.sum(axis=2), rtol=1e-12)
    assert without.bound() == pytest.approx(twin_of_bound(without, after), rel=1e-9)


def test_limits_of_a_merge_hold(corpus_and_phi):
    """Whatever cells are: the mixing in them is between none and that of sums over words or documents."""
    corpus, cells, _ = corpus_and_phi
    tracked, sizes = TrackedMerges(corpus), PairSizes(corpus)
    see_all(corpus, cells, tracked)
    for merge in tracked.decided(corpus):
        least, most = sizes.gains(*merge.topics)
        assert least <= merge.gain + 1e-9
        assert merge.gain <= most


def test_damaged_summaries_are_refused():
    model = make_model(max_iter=2).fit(X)
    for damage in ("topic", "word", "document_topic", "lengths", "bounds", "entropy"):
        array, damaged = getattr(model._state.summaries, damage), copy(model)
        value = array[:-1] if damage == "entropy" else array + 1000
        set_attribute(damaged, f"_state.summaries.{damage}", value)
        assert_raises(ValueError, "damaged", damaged.partial_fit, X, case=damage)


def test_mean_topics_are_read_after_training_alone():
    """Whatever topic_expectation says, passes raise the bound, which asks for geometric means."""
    one, other = (
        make_model(max_iter=2, split_merge=False, topic_expectation=name).fit(X)
        for name in ("geometric", "mean")
    )
    assert_array_equal(one.training_history_, other.training_history_)
    assert_array_equal(one.components_, other.components_)
    assert one.score(X) != other.score(X)


@pytest.mark.parametrize("method", ["online", "batch", "memoized"])
def test_smallest_counts_leave_the_bound_finite(method):
    counts = X.toarray()
    counts[3], counts[:, 7] = 0.0, 0.0
    counts[3, 2] = counts[5, 7] = 1e-12
    model = make_model(learning_method=method, max_iter=4).fit(counts)
    for documents in (counts, X, np.where(counts > 0.0, 1e-12, 0.0)):
        assert np.isfinite(model.elbo(documents))
    if method == "memoized":
        assert np.isfinite(model.training_history_["elbo"]).all()


def test_merges_that_are_tried_in_vain_leave_the_numbers_of_topics():
    """Counts of all sizes, where documents as seen last are refused: merges, and then drops, are tried."""
    settings = {"max_iter": 2, "max_doc_update_iter": 5, "shuffle": True}
    for seed in (0, 5):
        rng = np.random.default_rng(seed)
        X = np.where(rng.random((8, 6)) < 0.5, 0.0, 10.0 ** rng.uniform(-12, 12, (8, 6)))
        model = make_model(3, batch_size=int(rng.integers(1, 9)), **settings).fit(X)
        assert_allclose(model.components_.sum(axis=1), 1.0)
