"""Online EM for LDA: what it equals, and how its loop behaves."""

import signal
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sktopic import load
from sktopic._inference._gibbs import GibbsStep
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import arrays_of
from sktopic._topics._topic_rows import TopicProbabilities, left_out_of
from sktopic._topics._word_count_views import expected_counts
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import make_lda_documents
from sktopic.lda import HybridLDA, OnlineEMLDA
from sktopic.lda._minibatch_method import MinibatchLDA

from .conftest import assert_same_state, fitted_state
from .lda_models import Recorder, smoothed, start_of
from .reference.variational import mean_field

GIBBS, VARIATIONAL = {"inference": "gibbs"}, {"inference": "variational"}
BOOSTED = [{"boost": True, **GIBBS}, {"boost": True, **VARIATIONAL}]

SMALL = sp.csr_array(
    make_lda_documents(40, n_features=25, n_components=3, mean_length=15, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=3, **params):
    settings = {
        "doc_topic_prior": 0.3,
        "topic_word_prior": 0.01,
        "learning_decay": 0.7,
        "max_iter": 2,
        "batch_size": 10,
        "doc_sweeps": 4,
        "random_state": 0,
    }
    return OnlineEMLDA(n_components, **{**settings, **params})


# What it equals

EXACT = {"inference": "variational", "max_doc_update_iter": 2000, "mean_change_tol": 1e-9, "shuffle": False}
MANY = make_lda_documents(1300, n_features=20, n_components=3, mean_length=6, random_state=0).data


@pytest.mark.parametrize(
    ("counts", "settings"),
    [
        (SMALL, {"doc_topic_prior": [0.2, 0.5, 0.9], "learning_offset": 0.0, "batch_size": 10**6}),
        (SMALL, {"learning_decay": 0.6, "learning_offset": 2.0, "batch_size": 8, "total_samples": 500.0}),
        (MANY, {"learning_decay": 0.0, "batch_size": 10**6, "max_doc_update_iter": 10, "mean_change_tol": 0}),
    ],
    ids=["one step of one", "mini-batches", "batch EM beyond one group of documents"],
)
def test_updates_equal_their_numpy_twin(counts, settings):
    """s <- (1 - rho_t) s + rho_t s_hat over mini-batches, rho_t = (offset + t)^-decay."""
    model = make_model(**EXACT | settings)
    rows, total = counts.toarray(), settings.get("total_samples", counts.shape[0])
    prior = np.full(3, 0.3) if model.doc_topic_prior == 0.3 else np.array(model.doc_topic_prior)
    iterations = model.max_doc_update_iter, model.mean_change_tol
    s, t = start_of(clone(model).set_params(total_samples=total), rows.shape[1]) / total, 0
    for _ in range(model.max_iter):
        for first in range(0, len(rows), model.batch_size):
            batch = rows[first : first + model.batch_size]
            found = mean_field(batch, smoothed(total * s, 0.01), prior, *iterations)[1] / len(batch)
            if t == 0:  # the initial noise weighs what one document does
                s *= batch.sum() / len(batch) / s.sum()
            t += 1
            rho = (model.learning_offset + t) ** -model.learning_decay
            s = (1 - rho) * s + rho * found
    model.fit(counts)
    assert model.n_batch_iter_ == t
    assert_allclose(model.topic_word_counts_, total * s, rtol=1e-3, atol=1e-4)
    assert_allclose(model.components_, smoothed(total * s, 0.01), rtol=1e-3, atol=1e-6)
    gamma = mean_field(rows, model.components_, prior, *iterations)[0]
    assert_allclose(model.transform(counts), gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(
    ("variant", "learning_decay"), [(GIBBS, 0.0), (BOOSTED[0], 0.5), (BOOSTED[1], 0.0)], ids=str
)
def test_averaged_topics_are_the_mean_over_updates(variant, learning_decay):
    """The mean of normalized statistics, with next to no smoothing, also where steps of one forget all."""
    settings = {"topic_word_prior": 1e-12, "learning_decay": learning_decay, "max_doc_update_iter": 20}
    plain, averaged = (make_model(average=average, **settings, **variant) for average in (False, True))
    snapshots = []
    for update in range(6):
        batch = SMALL[np.arange(8) + 8 * (update % 5)]
        snapshots.append(plain.partial_fit(batch).components_)
        averaged.partial_fit(batch)
        assert_allclose(averaged.components_, np.mean(snapshots, axis=0), rtol=1e-6, atol=1e-9)
    if variant["inference"] == "variational":  # and documents are inferred with these
        theta = averaged.set_params(mean_change_tol=0.0).transform(SMALL)
        gamma = mean_field(SMALL.toarray(), averaged.components_, 0.3, 20, 0.0)[0]
        assert_allclose(theta, gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("estimator", [OnlineEMLDA, HybridLDA])
def test_sums_of_many_sweeps_lose_no_counts(estimator):
    """Sums of so many draws of one word in float32 would be off by 5e-6 to 7e-3."""
    model = estimator(2, doc_sweeps=20_000, learning_decay=0.0, total_samples=1, random_state=0)
    model.partial_fit([[63.7, 0.0]])
    assert_allclose(model.topic_word_counts_.sum(), 63.7, rtol=1e-6)


# Step sizes, which the weights of documents tell that have a word of their own each


def power_steps(n, decay=0.65):
    return (1.0 + np.arange(1, n + 1)) ** -decay


def bent_steps(n):
    return np.minimum(power_steps(n), 4.0 / np.arange(1, n + 1))


def weights_of(steps):
    """What each update counts for in the end; and last, the start."""
    kept = np.append(np.cumprod((1.0 - steps)[::-1])[::-1], 1.0)
    return np.append(steps * kept[1:], kept[0])


def assert_weights(model, weights, n):
    """Those of n documents, and last of the start, whose noise weighs what one document does."""
    noise = start_of(model, n).sum(axis=0)
    found = model.topic_word_counts_.sum(axis=0) / model.total_samples_
    assert_allclose(found, weights[:-1] + weights[-1] * noise / noise.sum(), rtol=1e-5)


def stream_of_one(**params):
    return OnlineEMLDA(1, batch_size=1, shuffle=False, random_state=0, **params)


def test_steps_bend_in_the_first_pass_alone():
    assert (bent_steps(80) < power_steps(80)).sum() > 20
    weights = weights_of(np.append(bent_steps(80), power_steps(160)[80:]))
    model = stream_of_one(max_iter=2).fit(np.eye(80))
    assert_weights(model, [*(weights[:80] + weights[80:160]), weights[-1]], 80)
    # With a decay that is given, they do not bend.
    given = stream_of_one(max_iter=1, learning_decay=0.65).fit(np.eye(80))
    assert_weights(given, weights_of(power_steps(80)), 80)


def test_steps_of_a_stream_bend_until_it_has_the_size_of_the_corpus(tmp_path):
    """Also where it goes on from a file."""
    for total_samples, n_bent in ((None, 80), (60, 60), (1000, 80)):
        model = stream_of_one(total_samples=total_samples).partial_fit(np.eye(80)[:50])
        model.save(tmp_path / "model")
        model = load(tmp_path / "model").partial_fit(np.eye(80)[50:])
        assert_weights(model, weights_of(np.append(bent_steps(n_bent), power_steps(80)[n_bent:])), 80)


def test_steps_count_documents_by_weight():
    model = stream_of_one(max_iter=1, total_samples=180).fit(np.eye(110)[:80], sample_weight=2.0)
    model.partial_fit(np.eye(110)[80:])
    assert_weights(model, weights_of(np.append(bent_steps(100), power_steps(110)[100:])), 110)


def test_each_pass_visits_each_document_once_in_an_order_of_its_own():
    """Documents of one batch weigh the same, those of later batches more."""
    settings = {"batch_size": 15, "learning_decay": 0.5, "total_samples": 40, "random_state": 0}
    steps, sizes, place = power_steps(6, 0.5), np.array([15, 15, 10]), np.repeat([0, 1, 2], [15, 15, 10])

    def batches_of(shuffle):
        models = [OnlineEMLDA(1, shuffle=shuffle, max_iter=n, **settings).fit(np.eye(40)) for n in (1, 2)]
        noise = start_of(models[0], 40)[0]
        first, both = (model.topic_word_counts_[0] / 40 for model in models)
        first = first - np.prod(1 - steps[:3]) * noise / noise.sum()
        both = both - np.prod(1 - steps) * noise / noise.sum()
        for found, own in ((first, steps[:3]), (both - np.prod(1 - steps[3:]) * first, steps[3:])):
            weights = weights_of(own)[:3] / sizes
            assert_allclose(np.sort(found), np.sort(weights[place]), rtol=1e-5)
            yield np.abs(found[:, None] - weights).argmin(axis=1)

    assert_array_equal(list(batches_of(shuffle=False)), [place, place])
    one, other = batches_of(shuffle=True)
    assert np.any(one != place) and np.any(other != place) and np.any(one != other)


# Early stop


def test_fits_stop_where_the_best_score_no_longer_rises():
    for scores, patience, n_passes in (
        ([1.0, 2.0, 1.5, 1.75, 3.0], 2, 4),  # the recovery does not reach the best
        ([1.0, 1.125, 1.25, 1.375], 2, 3),  # gains of no more than tol are none
        ([1.0, 0.5, 2.0, 1.0, 1.0, 3.0], 2, 5),  # an improvement begins anew
        ([1.0, 1.25, 1.0, 3.0], 1, 3),
        ([np.nan, np.nan, 1.0, np.nan, 0.5, 0.75, 3.0], 2, 6),  # what is undefined stops nothing
    ):
        monitor = FitMonitor(
            SimpleNamespace(tol=0.125, n_iter_no_change=patience, verbose=0, _infers_number_of_topics=False)
        )
        monitor.begin(10, evaluate=iter(scores).__next__)
        assert [monitor.after_epoch() for _ in range(n_passes)] == [False] * (n_passes - 1) + [True], scores
        assert_array_equal(monitor.scores, scores[:n_passes])


def test_early_stopping_holds_documents_out_and_reports_scores():
    settings = {"max_iter": 20, "tol": 1e9, "early_stopping": True, "validation_fraction": 0.2}
    model = make_model(n_iter_no_change=3, **settings).fit(SMALL)
    assert model.n_iter_ == 4  # the first score improves on nothing, whatever tol is
    assert len(set(model.validation_scores_)) == len(model.validation_scores_) == 4
    assert (model.n_samples_seen_, model.total_samples_) == (4 * 32, 32)
    assert model.set_params(early_stopping=False, max_iter=6).fit(SMALL).n_iter_ == 6
    assert not hasattr(model, "validation_scores_")


# scikit-learn's callbacks


callbacks = pytest.mark.skipif(
    not hasattr(OnlineEMLDA, "set_callbacks"), reason="scikit-learn < 1.9 has none"
)


@callbacks
def test_callbacks_see_epochs_and_updates_and_change_nothing():
    recorder = Recorder()
    y = np.zeros(40)
    model = make_model(batch_size=15).set_callbacks(recorder).fit(SMALL, y)
    epoch = [f"{when} update {i}" for i in range(3) for when in ("begin", "end")]
    epochs = [f"begin epoch {i}, " + ", ".join(epoch) + f", end epoch {i}" for i in range(2)]
    assert ", ".join(recorder.events) == ", ".join(["setup, begin fit 0", *epochs, "end fit 0, teardown"])
    assert_array_equal(model.components_, make_model(batch_size=15).fit(SMALL).components_)
    assert len({score for score, *_ in recorder.scores}) >= 6
    # Models that a callback keeps do not go on learning,
    for kept, (score, target, components) in zip(recorder.models, recorder.scores):
        assert kept.score(SMALL) == score
        assert target is y
        assert_array_equal(kept.components_, components)
    # differ in nothing that training sets, and can be trained apart.
    last = recorder.models[-1]
    found, wanted = (
        {name: value for name, value in fitted_state(each).items() if "callback" not in name}
        for each in (last, model)
    )
    assert_same_state(found, wanted)
    for name, own in arrays_of(model._state).items():
        assert not any(np.shares_memory(own, arrays_of(kept._state)[name]) for kept in recorder.models)
    before = model.components_
    last.partial_fit(SMALL)
    assert_array_equal(model.components_, before)


@callbacks
def test_callbacks_can_end_a_level_of_iterations_and_are_torn_down():
    recorder = Recorder(stop_after=("epoch", 1))
    model = make_model(max_iter=10).set_callbacks(recorder).fit(SMALL)
    assert model.n_iter_ == 2
    assert recorder.events[-3:] == ["end epoch 1", "end fit 0", "teardown"]
    assert_array_equal(model.components_, make_model(max_iter=2).fit(SMALL).components_)
    # The updates of one epoch
    model = make_model().set_callbacks(Recorder(stop_after=("update", 1))).fit(SMALL)
    assert (model.n_batch_iter_, model.n_iter_) == (4, 2)
    # Ctrl-C
    recorder = Recorder(stop_after=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        make_model().set_callbacks(recorder).fit(SMALL)
    assert recorder.events[-1] == "teardown"


# Interrupts (in the midst of kernels: see test_interrupt.py)


class Interrupted:
    """Blocks of five documents, and Ctrl-C instead of one; the first pass of fit looks at them alone."""

    def __init__(self, n_blocks, n_passes):
        self.n_blocks, self.left = n_blocks, n_passes

    def __iter__(self):
        self.left -= 1
        for block in range(8):
            if block == self.n_blocks and self.left == 0:
                raise KeyboardInterrupt
            yield SMALL[5 * block : 5 * block + 5]


def test_interrupt_keeps_the_last_complete_update():
    settings = {"shuffle": False, "batch_size": 5, "total_samples": 40, "average": True, "boost": True}
    for (method, n_passes), n_blocks in product((("fit", 2), ("partial_fit", 1)), (0, 3)):
        model = make_model(**settings)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, method)(Interrupted(n_blocks, n_passes))
        if n_blocks or method == "fit":
            assert (model.n_batch_iter_, model.n_samples_seen_) == (n_blocks, 5 * n_blocks)
            assert np.isfinite(model.transform(SMALL)).all()
        # Training goes on as if nothing had happened.
        expected = make_model(**settings).partial_fit(SMALL[: 5 * n_blocks + 5])
        model.partial_fit(SMALL[5 * n_blocks : 5 * n_blocks + 5])
        assert_array_equal(model.components_, expected.components_, err_msg=f"{method} {n_blocks}")


def test_a_handler_of_the_user_has_a_signal_during_an_update_after_it_and_stays(monkeypatch):
    settings = {"shuffle": False, "batch_size": 5, "total_samples": 40}
    calls, arrived, original = [], [], MinibatchLDA.absorb

    def absorb(method, *arguments):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return original(method, *arguments)

    monkeypatch.setattr(MinibatchLDA, "absorb", absorb)
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        model = make_model(**settings).fit(SMALL)
        assert arrived == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    assert_array_equal(model.components_, make_model(**settings).fit(SMALL).components_)


# Later passes, in which a document's own tokens are left out of the topics


def test_later_passes_know_how_often_documents_are_in_the_topics(monkeypatch):
    """Of documents with a word of their own each, the statistics tell."""
    n = 400
    counts = sp.hstack([sp.csr_array(np.eye(n)), np.ones((n, 1))], format="csr")
    found, known = [], []
    infer, step = MinibatchLDA.infer, GibbsStep.__call__

    def counting(method, state, batch, keys, update, workers):
        own_words = batch.words[batch.words < n]
        tokens = expected_counts(state.words, method.unit(state, update.total_samples))[own_words]
        found.append(tokens.sum(axis=1).mean())
        return infer(method, state, batch, keys, update, workers)

    def knowing(inference, batch, topics, *arguments):
        known.append(topics.left_out.often.mean() if topics.left_out is not None else 0.0)
        return step(inference, batch, topics, *arguments)

    monkeypatch.setattr(MinibatchLDA, "infer", counting)
    monkeypatch.setattr(GibbsStep, "__call__", knowing)
    OnlineEMLDA(3, max_iter=12, batch_size=20, random_state=0).fit(counts)
    known, there = (np.reshape(each, (12, -1)) for each in (known, found))
    assert np.all(known[0] == 0.0)
    assert_allclose(known[4:].mean(), there[4:].mean(), rtol=0.05)
    assert_allclose(known[4:].mean(axis=0), there[4:].mean(axis=0), atol=0.15)


@pytest.mark.parametrize("n_components", [1, 3])
def test_words_of_one_document_stay_in_topics_without_smoothing(n_components):
    """Where a document's own tokens are left out, nothing else would be there to draw from; the weight that
    all documents have in common does not matter."""
    counts = sp.hstack([sp.csr_array(3 * np.eye(60)), np.ones((60, 3))], format="csr")
    model = OnlineEMLDA(n_components, topic_word_prior=0, max_iter=4, batch_size=7, random_state=0)
    light = clone(model).fit(counts, sample_weight=2.0**-30)
    model.fit(counts)
    assert_allclose(model.topic_word_counts_.sum(), counts.sum(), rtol=0.01)
    assert np.isfinite(model.score(counts))
    assert_array_equal(light.components_, model.components_)


def test_of_own_tokens_a_millionth_is_left_or_the_smoothing():
    """In the unit of the rows that are gathered."""
    token, often, words = np.array([0.1, 0.2]), np.array([0.0, 0.5, 0.25]), np.array([3, 1], dtype=np.int32)
    for smoothing in (0.0, 1e-3):
        topics = TopicProbabilities(np.ones((4, 2)), token, np.full(2, smoothing), token=token)
        with Workers(1) as workers:
            gathered = topics.gather(words, np.array([0.3, 0.4]), workers, np.float64)
        left = left_out_of(topics, often, gathered.log_norm)
        assert_allclose(left.smoothing, np.maximum(smoothing, 1e-6 * 0.5 * token))
        assert_allclose(left.unit[:, None] * topics.rows(words), gathered.rows, rtol=1e-14)
        assert_array_equal(left_out_of(topics, often[:0], np.zeros(1)).smoothing, smoothing)


def test_default_batches_make_150_updates_a_pass_if_sizes_allow():
    model = OnlineEMLDA(2, max_iter=1, doc_burn_in=0, doc_sweeps=1, random_state=0)
    for n_documents, n_updates in ((50, 1), (51, 11), (749, 150), (900, 150), (7499, 154), (7500, 150)):
        assert model.fit(np.ones((n_documents, 1))).n_batch_iter_ == n_updates, n_documents
    n_before = model.n_batch_iter_
    assert model.partial_fit(np.ones((51, 1))).n_batch_iter_ == n_before + 2
