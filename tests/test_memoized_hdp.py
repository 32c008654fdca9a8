"""Memoized inference for the direct-assignment HDP: its bound from summaries, and moves on the corpus."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from sktopic._documents._matrices import DocumentReader, as_documents
from sktopic._estimators._concurrency import Training
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed, duplicate
from sktopic._topics._word_count_edits import frozen_topics
from sktopic._training._minibatches import Run
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import make_bars
from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP
from sktopic.hdp._document_inference import DocumentInference
from sktopic.hdp._memoized import _merges, _start, _training
from sktopic.hdp._memoized._corpus import MemoizedCorpus, Visit
from sktopic.hdp._memoized._merges import Delete, PairSizes, TrackedMerges, merges_within
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics
from sktopic.hdp._memoized._training import MemoizedTraining
from tests.conftest import assert_raises, set_attribute
from tests.lda_models import Recorder, X, batch_of, watched
from tests.reference import memoized as reference

ENOUGH = 20  # topics that the chain over X begins with


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
@pytest.mark.parametrize("batch_size", [20, 60])
def test_bound_never_falls_without_moves(batch_size):
    """One batch of all documents is batch inference."""
    history = make_model(split_merge=False, max_iter=12, batch_size=batch_size).fit(X).training_history_
    assert len(history) == 12
    assert np.diff(history["elbo"]).min() >= -1e-10 * abs(history["elbo"][-1])
    assert history["elbo"][-1] > history["elbo"][0] + 10
    assert_array_equal(history["n_samples"], 60 * np.arange(1, 13))
    for name in ("doc_concentration", "topic_word_prior"):  # few passes move the third by less than 1e-7
        assert len(set(history[name].tolist())) > 1


@pytest.mark.slow
def test_history_of_moves_is_that_of_passes():
    model = make_model(max_iter=12, batch_size=100).fit(make_bars(200, random_state=0).data)
    moves, passes = model.move_history_, model.training_history_
    assert set(moves["kind"].tolist()) == {"merge", "drop"}
    after = passes[np.searchsorted(passes["n_samples"], moves["n_samples"])]
    assert_array_equal(moves["elbo"], after["elbo"])
    for n_samples in np.unique(moves["n_samples"]):
        at_once = moves["n_samples"] == n_samples
        n = after["n_components"][at_once][0]
        assert_array_equal(moves["n_components"][at_once][::-1], n + np.arange(at_once.sum()))


# The start


def test_number_of_topics_matters_only_if_it_is_large():
    models = [make_model(n, max_iter=2).fit(X) for n in (None, 1, ENOUGH, ENOUGH + 30)]
    for model in models[1:3]:
        assert_array_equal(model.components_, models[0].components_)
    assert not np.array_equal(models[3].components_, models[0].components_)


@pytest.mark.parametrize("params", [{}, {"topic_word_prior": 0.3, "doc_concentration": 2.0}], ids=str)
def test_start_is_the_last_draw_of_a_chain(monkeypatch, params):
    starts = watched(monkeypatch, _training, "topics_of_chain", lambda state, *_: state.words.store)
    make_model(max_iter=1, **params).fit(X)
    params = {"topic_word_prior": 0.05, **params}
    sampler = CollapsedGibbsHDP(ENOUGH, split_merge=False, max_iter=_start.SWEEPS, random_state=0, **params)
    sampler.fit(X)
    assert_allclose(normalized(starts[0].T), normalized(sampler.topic_word_counts_), rtol=1e-12)


def normalized(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def test_passes_are_more_than_those_of_other_methods_by_default():
    settings = {"components_init": np.ones((1, 25)), "batch_size": 60}
    for method, n_passes in (("memoized", 15), ("online", 5)):
        model = make_model(None, learning_method=method, final_moves=False, **settings)
        assert model.fit(X).n_iter_ == n_passes


def test_given_topics_and_given_numbers_begin_without_a_chain(monkeypatch):
    starts = watched(monkeypatch, _training, "topics_of_chain", lambda *_: True)
    make_model(3, max_iter=1, components_init=np.ones((2, 25))).fit(X)
    make_model(3, max_iter=1, split_merge=False).fit(X)
    make_model(None, max_iter=1, split_merge=False).fit(X)
    assert not starts


def test_large_corpora_are_sampled_by_their_first_batches(monkeypatch):
    read = watched(monkeypatch, _start, "first_documents", lambda found, *_: found.toarray())
    monkeypatch.setattr(_start, "ENOUGH_TOKENS", X[:40].sum())
    make_model(max_iter=1).fit(X)
    assert_array_equal(read[0], X[:40].toarray())


def test_larger_corpora_begin_with_more_topics(monkeypatch):
    asked = watched(monkeypatch, _start, "sampler_of", lambda sampler, *_: sampler.n_components)
    monkeypatch.setattr(_start, "SWEEPS", 1)
    for n_tokens in (600, 6000, 60_000, 600_000):
        make_model(max_iter=1).fit(csr_array(np.full((2, 3), n_tokens / 6)))
    assert asked == [ENOUGH, 39, 123, 300]


def test_topics_of_the_chain_stay_until_all_documents_are_seen(corpus_and_phi):
    """Their tokens and weights are beside those of the batches seen; what is left are the sums of batches."""
    corpus, *_ = corpus_and_phi
    topics = corpus.topics
    start = changed(topics, words=duplicate(topics.words))
    begun = MemoizedCorpus(start, [], make_model()._method().parameters, has_start=True)
    for b, summary in enumerate(corpus.summaries):
        begun.replace(b, summary)
    assert_allclose(begun.topics.words.store, 2.0 * topics.words.store)
    assert_array_equal(begun.topics.weights, topics.weights)
    begun.recount()
    assert_array_equal(begun.topics.words.store, topics.words.store)


class EndsPass(Recorder):
    """A callback that ends a pass after one of the updates, by its number in all passes, and no other."""

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")
        n_updates = self.events.count("end update")
        return context.task_name == "update" and n_updates == self.stop_after


@pytest.mark.slow
@pytest.mark.parametrize("n_updates", [1, 12, 21], ids="the {}. update ends its pass".format)
def test_passes_that_a_callback_ends_early_make_no_moves(n_updates):
    """Their sums are not those of all batches: the first pass, and two with moves."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    bars = make_bars(200, random_state=0).data
    model = make_model(max_iter=6).set_callbacks(EndsPass(n_updates)).fit(bars)
    assert model.n_iter_ == 6
    assert model.n_batch_iter_ == 10 * model.n_iter_ - 10 + (n_updates - 1) % 10 + 1
    assert model.n_samples_seen_ == 20 * model.n_batch_iter_
    passes, moves = model.training_history_, model.move_history_
    seen = np.diff(passes["n_samples"], prepend=0.0)
    (ended,) = np.flatnonzero(seen < 200)
    assert seen[ended] == 20 * ((n_updates - 1) % 10 + 1)
    assert passes["n_samples"][ended] not in moves["n_samples"]
    assert_allclose(model.topic_word_counts_.sum(), bars.sum())
    elbo = passes["elbo"][1 if ended == 0 else 0 :]
    assert np.diff(elbo).min() >= -1e-10 * abs(elbo[-1])


@pytest.mark.slow
def test_threads_do_not_change_starts_and_moves():
    bars = make_bars(200, random_state=0).data
    one, two = (make_model(max_iter=6, n_jobs=n_jobs).fit(bars) for n_jobs in (1, 2))
    assert len(one.move_history_)
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.training_history_, two.training_history_)


@pytest.mark.slow
def test_moves_from_refused_results_are_made_only_where_they_raise_the_bound(monkeypatch):
    """With one step per document from equal shares, many results are worse, and some moves that follow."""

    def made_again(moves, training, *_):
        return bool(training._refused) and len(moves) > 0

    def cold(infer, batch, state, workers, tokens):
        return infer(batch, state, workers)

    monkeypatch.setattr(DocumentInference, "better", cold)
    monkeypatch.setattr(_training, "topics_of_chain", lambda run, state, batches: state)  # random topics
    made = watched(monkeypatch, MemoizedTraining, "_merge", made_again)
    rng = np.random.default_rng(0)
    documents = rng.poisson(rng.gamma(0.3, 3.0, (12, 5)))
    model = make_model(20, batch_size=1, max_iter=10, max_doc_update_iter=1).fit(documents)
    assert 3 <= sum(made) < len(made)
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


def test_range_is_that_of_merges_which_hardly_change_the_bound(corpus_and_phi):
    """Their losses are not underestimated, and each topic is in one merge at most."""
    corpus, cells, _ = corpus_and_phi
    before, log_gamma, found = corpus.bound(), np.log(corpus.topics.topic_concentration), []
    for loss in (0.0, 300.0, np.inf):
        pairs, tracked = merges_within(corpus, loss), TrackedMerges(corpus)
        tracked.pairs, tracked.number[:] = np.array(pairs, dtype=np.int64).reshape(-1, 2), -1
        for p, (first, second) in enumerate(pairs):
            tracked.number[first, second] = tracked.number[second, first] = p
        see_all(corpus, cells, tracked)
        merged = corpus.with_summaries({})
        merged.merge(tracked.decided(corpus))
        assert merged.bound() - before + len(pairs) * log_gamma >= -loss
        found.append(merged.n_topics)
    assert found == [4, 3, 2]


def test_number_of_topics_has_a_range():
    model = make_model(max_iter=3).fit(X)
    corpus = MemoizedCorpus(model._state, _training.restored(model._state.summaries), None)
    pairs = merges_within(corpus, 1e-3 * abs(model.training_history_["elbo"][-1]))
    n = model.n_components_
    assert_array_equal(model.n_components_range_, [n - len(pairs), n])
    few = make_model(100, split_merge=False, max_iter=10).fit(X[:3])  # most topics have no tokens
    assert few.n_components_ / 2 <= few.n_components_range_[0] <= few.n_components_range_[1] < 100
    assert not hasattr(make_model(learning_method="online").fit(X), "n_components_range_")
    empty = make_model(max_iter=1).fit(np.zeros((3, 4)))
    assert_array_equal(empty.n_components_range_, [empty.n_components_] * 2)


def test_merges_equal_a_full_recomputation(corpus_and_phi):
    corpus, cells, phi = corpus_and_phi
    before, tracked = corpus.bound(), TrackedMerges(corpus)
    tracked.pairs, tracked.number[:] = np.array([[1, 3]]), -1
    tracked.number[1, 3] = tracked.number[3, 1] = 0
    see_all(corpus, cells, tracked)
    merges = tracked.decided(corpus)
    log_gamma = np.log(corpus.topics.topic_concentration)
    made = corpus.merge(merges)
    assert [gain for *_, gain in made] == [merges[0].gain]
    assert corpus.bound() == pytest.approx(before + merges[0].gain - log_gamma, rel=1e-12)
    place = {0: phi[..., 0], merges[0].topics[0]: phi[..., [1, 3]].sum(axis=2), 2: phi[..., 2]}
    after = np.stack([place[k] for k in sorted(place)], axis=2)
    assert corpus.bound() == pytest.approx(twin_of_bound(corpus, after), rel=1e-9)


@pytest.mark.parametrize(("topics", "into"), [([1], [3]), ([0, 2], [3, 3])])
def test_drop_equals_a_full_recomputation(monkeypatch, corpus_and_phi, topics, into):
    corpus, cells, phi = corpus_and_phi
    delete, after = Delete(np.array(topics), np.array(into)), []
    made = watched(monkeypatch, BatchSummary, "of", lambda _, cells: dense_phi(cells))
    see_all(corpus, cells, delete)
    for joined, anew in zip(made[::2], made[1::2], strict=True):
        assert 0 < len(anew) < 30
        joined[np.flatnonzero(joined.sum(axis=(1, 2)) == 0)] = anew
        after.append(joined)
    without = delete.done(corpus)
    after = np.delete(np.concatenate(after), topics, axis=2)
    assert_allclose(after.sum(axis=2), phi.sum(axis=2), rtol=1e-12)
    assert without.bound() == pytest.approx(twin_of_bound(without, after), rel=1e-9)


def test_limits_of_a_merge_hold(corpus_and_phi, monkeypatch):
    """Whatever cells are: the mixing in them is between none and that of sums over words or documents."""
    corpus, cells, _ = corpus_and_phi
    monkeypatch.setattr(_merges, "LEAST_GAIN", -np.inf)
    tracked, sizes = TrackedMerges(corpus), PairSizes(corpus)
    see_all(corpus, cells, tracked)
    merges = tracked.decided(corpus)
    assert len(merges) == 6
    for merge in merges:
        least, most = sizes.gains(*merge.topics)
        assert least <= merge.gain + 1e-9
        assert merge.gain <= most


def test_pairs_that_gain_most_for_certain_are_tracked(corpus_and_phi, monkeypatch):
    corpus, *_ = corpus_and_phi
    monkeypatch.setattr(_merges, "LEAST_GAIN", -np.inf)
    sizes, pairs = PairSizes(corpus), TrackedMerges(corpus).pairs.tolist()
    least = [sizes.gains(*pair)[0] for pair in pairs]
    assert len(least) == 6
    assert least == sorted(least, reverse=True)
    monkeypatch.setattr(_merges, "PAIRS_PER_TOPIC", 1)
    assert_array_equal(TrackedMerges(corpus).pairs, pairs[: corpus.n_topics])
    most = [sizes.gains(*pair)[1] for pair in pairs]
    monkeypatch.setattr(_merges, "LEAST_GAIN", sorted(most)[3])
    likely = [pair for pair, gain in zip(pairs, most) if gain > sorted(most)[3]]
    assert len(likely) == 2
    assert_array_equal(TrackedMerges(corpus).pairs, likely)


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


@pytest.mark.parametrize("method", ["online", "memoized"])
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


def test_topics_of_the_chain_stay_with_summaries_if_no_batch_had_words():
    """As after a callback that ends the first pass early."""
    bars = make_bars(60, random_state=0).data
    model = make_model(max_iter=1).fit(bars)
    training = MemoizedTraining(model._method(), _start.topics_of_chain(*started(model, bars)), Workers(1))
    training.visit(DocumentReader(csr_array((2, bars.shape[1]))), np.arange(2))
    training.end_pass()
    summaries = _training.stored(training.corpus.summaries, training.corpus.n_topics)
    state = model._method().start(bars.shape[1], 0)
    state = _training.state_after(state, training, summaries)
    state.check()
    assert state.words.n_topics == summaries.entropy.shape[1] > 5


def started(model, X):
    """Arguments of a start: the Run of a model, its state before training, and its batches."""
    reader, method = DocumentReader(as_documents(X)), model._method()
    run = Run(method=method, training=Training(model), monitor=FitMonitor(model), workers=Workers(1))
    return run, method.start(X.shape[1], 0), iter([(reader, np.arange(X.shape[0]))])
