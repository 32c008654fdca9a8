"""One object in several threads: one training call at a time, and readers that see one complete state."""

import copy
import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sktopic._estimators import _concurrency, _topic_model
from sktopic._estimators._concurrency import kept_answering
from sktopic._estimators._plug_in import plug_in_model
from sktopic._estimators._topic_model import TopicModel
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import make_bars
from sktopic.inspection import (
    estimate_effect,
    explore,
    name_topics,
    plot_scores,
    plot_topic_dendrogram,
    plot_topics,
    pyldavis_data,
    top_documents,
    top_words,
    topic_similarity,
    topic_sizes,
    topic_table,
    topics_over_time,
    word_topic_table,
)
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

from .conftest import assert_raises, assert_same_state, state
from .registry import LOOPS, is_sampler, new

X = make_bars(50, random_state=0).data
MORE = make_bars(20, random_state=1).data
ESTIMATORS = [new(loop, batch_size=20, max_iter=1 + is_sampler(loop)) for loop in LOOPS]
every_loop = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
WAIT = 120  # seconds, after which a test that hangs fails


class Pause:
    """Holds calls that train in other threads at their first report of progress, until the block ends."""

    def __init__(self, monkeypatch):
        self._reached, self._go_on = threading.Event(), threading.Event()
        original, here = FitMonitor.after_update, threading.get_ident()

        def after_update(monitor, *arguments):
            if threading.get_ident() != here:
                self._reached.set()
                assert self._go_on.wait(WAIT)
            return original(monitor, *arguments)

        monkeypatch.setattr(FitMonitor, "after_update", after_update)

    @contextmanager
    def at(self, function, *arguments):
        """The block runs while the call waits, and is followed by the rest of the call."""
        with ThreadPoolExecutor(1) as pool:
            training = pool.submit(function, *arguments)
            try:
                assert self._reached.wait(WAIT)
                yield
            finally:
                self._go_on.set()
            training.result(WAIT)


class Unhashable(OnlineEMLDA):
    """Models are told apart by identity."""

    __hash__ = None

    def __eq__(self, other):
        return np.array([self is other] * 2)  # as if it were an array


def online_em(**parameters):
    return Unhashable(n_components=4, random_state=0, **parameters)


def report_to(monkeypatch, report):
    """Call report(model) after each update."""
    monkeypatch.setattr(FitMonitor, "after_update", lambda monitor, *_: report(monitor.estimator))


def answers_of(model):
    return [model.transform(X), model.score(X), model.components_]


def assert_all_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


@every_loop
def test_while_another_thread_trains(estimator, monkeypatch):
    """No second training call, no names; copies can be trained, and readers see one complete state."""
    model = clone(estimator).fit(MORE)
    with Pause(monkeypatch).at(model.partial_fit, X):
        for call in (model.fit, model.partial_fit):
            with pytest.raises(RuntimeError, match=f"{type(model).__name__} is being trained"):
                call(X[:, :20])
        with pytest.raises(RuntimeError, match=r"^names of topics cannot be set while partial_fit of"):
            name_topics(model, {0: "left"})
        stopped, reading = pickle.loads(pickle.dumps(model)), model._read()
        before = answers_of(stopped)
        assert_all_equal(answers_of(model), before)
        for made in (clone(model), copy.deepcopy(model), stopped):
            assert made.partial_fit(MORE).n_samples_seen_ > 0
    # What was read then has not moved with the training since.
    assert_all_equal((reading.transform(X), reading.score(X)), before[:2])
    assert not np.array_equal(model.transform(X), before[0])
    assert_same_state(state(model), state(clone(estimator).fit(MORE).partial_fit(X)))


@every_loop
def test_within_a_training_call(estimator, monkeypatch):
    """No second one; reads copy nothing and follow each update. What was read stays as it is."""
    model, seen = clone(estimator), []

    def report(model):
        with pytest.raises(RuntimeError, match="is being trained"):
            model.partial_fit(X)
        assert model._read()._state is model._state
        assert model.components_ is model.components_
        kept = model.iter_word_topics(X), model.__getstate__()
        seen.append(
            (copy.copy(model), *answers_of(model), *kept, model.word_topics(X), pickle.dumps(kept[1]))
        )

    report_to(monkeypatch, report)
    model.fit(X)
    monkeypatch.undo()
    assert_same_state(state(model), state(clone(estimator).fit(X)))
    for copied, *answers, iterator, attributes, word_topics, pickled in seen:
        assert_all_equal(answers_of(copied), answers)
        found = [arrays for _, *arrays in iterator]
        assert_all_equal([np.concatenate(arrays) for arrays in zip(*found)], word_topics)
        assert pickle.dumps(attributes) == pickled
    assert len(seen) == 1 or not any(map(np.array_equal, seen[0][1:3], seen[-1][1:3]))


@every_loop
def test_what_was_taken_of_a_model_stays_when_it_is_trained(estimator):
    model = clone(estimator).fit(X)
    model.my_note = note = ["kept"]
    before, twin = state(model), copy.deepcopy(model).partial_fit(MORE)
    reading, (topics, prior) = model._read(), plug_in_model(model, None)
    theta, components = model.transform(X), topics.components()
    copied = copy.copy(model)
    again = copy.copy(copied)
    kept = model.components_
    copied.partial_fit(MORE)
    assert model.components_ is kept
    assert_same_state(state(model), before)
    assert_same_state(state(again), before)
    assert_same_state(state(copied), state(twin))
    assert not np.array_equal(copied.components_, components)
    del copied
    model.partial_fit(MORE)
    assert_same_state(state(again), before)
    assert_all_equal((reading.transform(X), topics.components()), (theta, components))
    assert len(prior) == len(components)
    assert again.my_note is note


def test_attributes_that_are_set_meanwhile_stay_and_do_no_harm(monkeypatch):
    """Whenever a state is copied, and while a fit begins, as other threads would do it."""
    model, original, n_set = online_em().fit(MORE), _concurrency.duplicate, [0]

    def set_note():
        n_set[0] += 1
        setattr(model, f"note{n_set[0]}", "set meanwhile")

    def duplicate(state):
        set_note()
        return original(state)

    class Setting:
        def __array__(self, dtype=None, copy=None):
            set_note()
            return X.toarray()

    monkeypatch.setattr(_concurrency, "duplicate", duplicate)
    for read in (model._read, lambda: pickle.dumps(model)):
        before = n_set[0]
        with Pause(monkeypatch).at(model.partial_fit, X):
            reading = read()
        assert n_set[0] > before
    reading, before = model._read(), n_set[0]
    model.partial_fit(MORE)
    assert n_set[0] > before and reading._state.words.store is not model._state.words.store
    model.fit(Setting())
    assert all(hasattr(model, f"note{i + 1}") for i in range(n_set[0]))


def test_attributes_of_an_unfitted_model_are_not_looked_through(monkeypatch):
    """A first fit in another thread would change their number meanwhile."""
    model, looked_through, check = online_em(), [], _topic_model.check_is_fitted

    def recorded(estimator):
        looked_through.append(estimator)
        check(estimator)

    monkeypatch.setattr(_topic_model, "check_is_fitted", recorded)
    for read in (lambda: model.components_, lambda: model.set_feature_names(["word"]), model._read):
        with pytest.raises(NotFittedError):
            read()
    assert len(looked_through) == 3 and not any(each is model for each in looked_through)


@pytest.mark.parametrize(
    "table",
    [
        topic_table,
        topic_sizes,
        pyldavis_data,
        top_documents,
        partial(word_topic_table, n_topics=1),
        partial(topics_over_time, dates=range(50)),
        partial(estimate_effect, covariates=pd.DataFrame({"year": range(50)})),
        explore,
        lambda model, X: top_words(model),
        lambda model, X: topic_similarity(model),
        lambda model, X: [text.get_text() for text in plot_topics(model).texts],
        lambda model, X: [text.get_text() for text in plot_topic_dendrogram(model).get_yticklabels()],
        lambda model, X: [line.get_xydata() for line in plot_scores(model).lines],
    ],
)
def test_tables_are_those_of_one_state(monkeypatch, plt, table):
    """Another thread trains the model as soon as it has been read once."""
    model = online_em(early_stopping=True, max_iter=2).fit(X)
    expected, read, live = table(copy.deepcopy(model), X), TopicModel._read, [model]

    def trained_after(estimator):
        snapshot = read(estimator)
        if estimator is model and live:
            live.pop().fit(MORE)
        return snapshot

    monkeypatch.setattr(TopicModel, "_read", trained_after)
    found = table(model, X)
    assert not live
    assert pickle.dumps(found) == pickle.dumps(expected)


def test_names_of_topics_that_have_changed_meanwhile_are_refused():
    model = online_em().fit(X).set_feature_names([f"w{i}" for i in range(X.shape[1])])

    def name(words):
        model.partial_fit(MORE)
        return words[0]

    assert_raises(RuntimeError, "was trained while the function named its topics", name_topics, model, name)
    assert not model._given_topic_names()


def test_a_model_from_the_buffers_of_a_pickle_shares_no_training():
    model, buffers = online_em().fit(X), []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    before, twins = state(model), [pickle.loads(data, buffers=buffers) for _ in range(2)]
    assert_same_state(state(twins[0].partial_fit(MORE)), state(copy.deepcopy(model).partial_fit(MORE)))
    assert_same_state(state(twins[1]), before)
    assert_same_state(state(model), before)


def test_tables_of_pipelines_have_the_words_of_the_innermost_one():
    """The step outside has no names of its columns."""
    texts = ["apple pear plum", "cat dog cow"] * 20
    inner = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0))
    outer = make_pipeline(FunctionTransformer(), inner).fit(texts)
    found = topic_table(outer, texts)
    assert list(found["words"]) == list(topic_table(inner, texts)["words"])
    assert set(" ".join(found["words"]).replace(",", "").split()) == set(" ".join(texts).split())


def test_parameters_cannot_be_deleted_in_training():
    model, message = online_em(), "n_components cannot be deleted while partial_fit of this Unhashable"

    def blocks():
        with pytest.raises(RuntimeError, match=message):
            del model.n_components
        yield X

    model.partial_fit(blocks())
    assert model.get_params()["n_components"] == 4
    del model.n_components


def test_training_copies_only_for_readers_and_once():
    model = online_em().fit(X)
    model.transform(X)
    document_completion(model, X)
    store = model._state.words.store
    assert model.partial_fit(MORE)._state.words.store is store
    reading = model._read()
    own = model.partial_fit(MORE)._state.words.store
    assert own is not store
    assert model.partial_fit(MORE)._state.words.store is own
    assert reading._state.words.store is store


def test_other_threads_do_not_share_what_callbacks_read(monkeypatch):
    """A reader may still be at work when the next update begins."""
    model, stores = online_em().fit(MORE), []
    with ThreadPoolExecutor(1) as pool:

        def report(model):
            model.transform(MORE)
            kept = pool.submit(lambda: kept_answering(model, model._prepare)).result(WAIT)
            stores.append(kept.model._state.words.store)
            assert not np.shares_memory(stores[-1], model._state.words.store)

        report_to(monkeypatch, report)
        model.partial_fit(X)
    assert stores


# What is kept for readers


@every_loop
def test_components_and_answers_are_prepared_once_for_a_state(estimator, monkeypatch):
    computed, compute = [], TopicProbabilities.components
    prepared, prepare = [], TopicModel._prepare
    monkeypatch.setattr(
        TopicProbabilities, "components", lambda topics: computed.append(1) or compute(topics)
    )
    monkeypatch.setattr(TopicModel, "_prepare", lambda model: prepared.append(1) or prepare(model))
    model = clone(estimator).fit(X)
    theta = model.transform(X)
    model.score(X)
    assert_array_equal(model.transform(X), theta)
    assert len(prepared) == 1 and not computed  # at many topics they are too large to make unasked
    components = model.components_
    assert model.components_ is components and len(computed) == 1
    for write in (lambda: components.fill(1.0), lambda: components.setflags(write=True)):
        assert_raises(ValueError, r"read-only|WRITEABLE", write, case=write)
    assert all(value is not components for value in vars(model).values())
    size, later = len(pickle.dumps(model)), copy.deepcopy(model).partial_fit(MORE).transform(X)
    prepared.clear()
    assert_array_equal(model.partial_fit(MORE).transform(X), later)
    assert len(prepared) == 1 and not np.array_equal(later, theta)
    assert len(pickle.dumps(model)) < size + components.nbytes
    assert model.components_ is not components
    assert_array_equal(model.components_, compute(model._topic_probabilities()))


@every_loop
def test_a_model_is_freed_when_nobody_has_it(estimator):
    """At once, as large arrays have to be, and not when garbage is collected; and nothing is kept for it."""
    gc.disable()
    try:
        n_guards = len(_concurrency._guards)
        model = clone(estimator).fit(X).partial_fit(MORE)
        model.transform(MORE)
        assert len(model.components_) and len(_concurrency._guards) > n_guards
        gone = weakref.ref(model)
        del model
        assert gone() is None
        assert len(_concurrency._guards) == n_guards
    finally:
        gc.enable()


def test_answers_and_components_follow_what_is_set():
    """Also if what is set refers to the model, which is freed all the same."""
    gc.freeze()  # so that the collector looks at what this test makes alone, which is faster
    for name, change in [
        ("_state", lambda state: replace(state, word_prior=replace(state.word_prior, base=3.0))),
        ("_state", lambda state: replace(state, doc_topic_prior=np.ones(4))),
        ("transform_sweeps", lambda n_sweeps: 1),
    ]:
        model = online_em().fit(X)
        before, components = model.transform(X), model.components_
        setattr(model, name, change(getattr(model, name)))
        model.myself = model
        theta = model.transform(X)
        assert not np.array_equal(theta, before), name
        assert_array_equal(theta, copy.deepcopy(model).transform(X))
        assert_array_equal(model.components_, model._topic_probabilities().components())
        assert np.array_equal(model.components_, components) == (model._state.word_prior.base != 3.0)
        assert model.components_ is model.components_
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None
    gc.unfreeze()
    prior = np.ones(4)
    model = online_em(doc_topic_prior=prior).fit(X)
    model.transform(X)
    prior[0] = -1.0
    with pytest.raises(ValueError, match="doc_topic_prior"):
        model.transform(X)
