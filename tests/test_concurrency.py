"""One object in several threads: one training call at a time, and readers that see one complete state."""

import copy
import gc
import itertools
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sktopic._estimators import _concurrency
from sktopic._estimators._concurrency import kept_answering
from sktopic._estimators._plug_in import plug_in_model
from sktopic._estimators._topic_model import TopicModel
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import make_bars
from sktopic.inspection import name_topics
from sktopic.lda import OnlineEMLDA, StreamingVariationalLDA
from sktopic.metrics import document_completion

from .conftest import assert_same_state, state
from .registry import LOOPS, new

X = make_bars(60, random_state=0).data
MORE = make_bars(30, random_state=1).data
# One of each training loop
ESTIMATORS = [new(each, batch_size=10, max_iter=5) for each in LOOPS]
every_loop = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
WAIT = 30  # seconds, after which a test that hangs fails


class Pause:
    """Holds training calls at their first report of progress, between two updates, until the block ends."""

    def __init__(self, monkeypatch):
        self._monkeypatch = monkeypatch
        self._reached, self._go_on = threading.Event(), threading.Event()

    def __enter__(self):
        original = FitMonitor.after_update

        def after_update(monitor, *arguments):
            self._reached.set()
            assert self._go_on.wait(WAIT)
            return original(monitor, *arguments)

        self._monkeypatch.setattr(FitMonitor, "after_update", after_update)
        return self

    def reached(self):
        assert self._reached.wait(WAIT)

    def __exit__(self, *exc_info):
        self._go_on.set()


@every_loop
def test_second_training_call_at_the_same_time_raises(estimator, monkeypatch):
    model = clone(estimator)
    with ThreadPoolExecutor(1) as pool, Pause(monkeypatch) as pause:
        training = pool.submit(model.fit, X)
        pause.reached()
        for call in (model.fit, model.partial_fit):
            with pytest.raises(RuntimeError, match=f"{type(model).__name__} is being trained"):
                call(X[:, :20])
    training.result(WAIT)
    assert_same_state(state(model), state(clone(estimator).fit(X)))


@every_loop
def test_training_call_within_a_training_call_raises(estimator, monkeypatch):
    model, messages = clone(estimator), []

    def report(monitor, *arguments):
        with pytest.raises(RuntimeError, match="is being trained") as caught:
            monitor.estimator.partial_fit(X)
        messages.append(str(caught.value))

    monkeypatch.setattr(FitMonitor, "after_update", report)
    model.fit(X)
    assert messages
    monkeypatch.undo()
    assert_same_state(state(model), state(clone(estimator).fit(X)))


def test_topics_get_no_names_while_they_are_trained(monkeypatch):
    model = clone(ESTIMATORS[0])
    with ThreadPoolExecutor(1) as pool, Pause(monkeypatch) as pause:
        training = pool.submit(model.fit, X)
        pause.reached()
        with pytest.raises(RuntimeError, match=r"^names of topics cannot be set while fit of"):
            name_topics(model, {0: "left"})
    training.result(WAIT)


@every_loop
def test_copies_made_while_an_object_trains_can_be_trained(estimator, monkeypatch):
    model = clone(estimator)
    with ThreadPoolExecutor(1) as pool, Pause(monkeypatch) as pause:
        training = pool.submit(model.fit, X)
        pause.reached()
        monkeypatch.undo()
        for made in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert made.partial_fit(MORE).n_samples_seen_ > 0
    training.result(WAIT)


@every_loop
def test_training_that_failed_leaves_no_mark(estimator, monkeypatch):
    model = clone(estimator)

    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(FitMonitor, "after_update", fail)
    with pytest.raises(KeyboardInterrupt) as caught:  # which keeps the frames of the call alive
        model.fit(X)
    monkeypatch.undo()
    assert caught.value is not None
    model.fit(X)
    assert_same_state(state(model), state(clone(estimator).fit(X)))


@every_loop
def test_transform_while_another_thread_trains_sees_one_complete_state(estimator, monkeypatch):
    model = clone(estimator).fit(MORE)
    with ThreadPoolExecutor(1) as pool, Pause(monkeypatch) as pause:
        training = pool.submit(model.partial_fit, X)
        pause.reached()
        stopped = pickle.loads(pickle.dumps(model))
        reading = model._read()
        before = stopped.transform(X), stopped.score(X), stopped.components_
        assert_array_equal(model.transform(X), before[0])
        assert_array_equal(model.components_, before[2])
    training.result(WAIT)
    # What was read then has not moved with the training since.
    assert_array_equal(reading.transform(X), before[0])
    assert reading.score(X) == before[1]
    assert not np.array_equal(model.transform(X), before[0])


def test_many_readers_of_a_model_in_training_get_states_between_updates():
    """Batches of one document, so that updates are as frequent as they can be."""
    settings = {"n_components": 4, "batch_size": 1, "random_state": 0}
    twin, states = StreamingVariationalLDA(**settings).partial_fit(MORE), []
    states.append(twin.transform(MORE).tobytes())
    for row in X:
        states.append(twin.partial_fit(row.reshape(1, -1)).transform(MORE).tobytes())
    model, seen, done = StreamingVariationalLDA(**settings).partial_fit(MORE), set(), threading.Event()

    def read():
        while not done.is_set():
            seen.add(model.transform(MORE).tobytes())

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for row in X:
            model.partial_fit(row.reshape(1, -1))
        done.set()
        for reader in readers:
            reader.result(WAIT)
    assert seen <= set(states)


@every_loop
def test_training_that_begins_while_a_reader_works_does_not_disturb_it(estimator):
    model = clone(estimator).fit(X)
    reading, (topics, prior) = model._read(), plug_in_model(model, None)
    theta, components = model.transform(X), topics.components()
    model.partial_fit(MORE)
    assert_array_equal(reading.transform(X), theta)
    assert_array_equal(topics.components(), components)
    assert len(prior) == len(components)


def test_a_shallow_copy_is_trained_without_changing_the_other():
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    before, components = state(copy.deepcopy(model)), model.components_
    made = copy.copy(model).partial_fit(MORE)
    assert_same_state(state(model), before)
    assert model.components_ is components
    assert not np.array_equal(made.components_, components)


def note_copies(monkeypatch, model):
    """Let the attribute note be set whenever a state is copied, as another thread would do it."""
    original = _concurrency.duplicate

    def duplicate(state):
        vars(model)["note"] = "set meanwhile"
        return original(state)

    monkeypatch.setattr(_concurrency, "duplicate", duplicate)


@pytest.mark.parametrize("read", [OnlineEMLDA._read, pickle.dumps])
def test_readers_do_not_mind_attributes_that_training_sets_meanwhile(read, monkeypatch):
    model = OnlineEMLDA(n_components=4, random_state=0).fit(MORE)
    with ThreadPoolExecutor(1) as pool, Pause(monkeypatch) as pause:
        training = pool.submit(model.partial_fit, X)
        pause.reached()
        note_copies(monkeypatch, model)
        read(model)
    training.result(WAIT)
    assert model.note


def test_parameters_cannot_be_deleted_in_training():
    model = OnlineEMLDA(n_components=4, max_iter=1, random_state=0)

    def blocks():
        with pytest.raises(
            RuntimeError, match="n_components cannot be deleted while partial_fit of this OnlineEMLDA"
        ):
            del model.n_components
        yield X

    model.partial_fit(blocks())
    assert model.get_params()["n_components"] == 4
    del model.n_components


def test_without_readers_training_copies_nothing():
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    model.transform(X)
    document_completion(model, X)
    store = model._state.words.store
    assert model.partial_fit(MORE)._state.words.store is store


@every_loop
def test_a_model_is_freed_when_nobody_has_it(estimator):
    """At once, as large arrays have to be, and not when garbage is collected."""
    gc.disable()
    try:
        model = clone(estimator).fit(X)
        model.partial_fit(MORE)
        model.transform(MORE)
        gone = weakref.ref(model)
        del model
        assert gone() is None
    finally:
        gc.enable()


@every_loop
def test_components_are_computed_once_for_a_state(estimator, monkeypatch):
    calls, compute = [], TopicProbabilities.components
    monkeypatch.setattr(TopicProbabilities, "components", lambda topics: calls.append(1) or compute(topics))
    model = clone(estimator).fit(X)
    model.transform(X)
    model.score(X)
    assert not calls  # at many topics they are too large to make unasked
    components = model.components_
    assert model.components_ is components and len(calls) == 1
    with pytest.raises(ValueError, match="read-only"):
        components[0, 0] = 1.0
    assert all(value is not components for value in vars(model).values())
    size = len(pickle.dumps(model))
    model.partial_fit(MORE)
    assert len(pickle.dumps(model)) < size + components.nbytes
    assert model.components_ is not components
    assert_array_equal(model.components_, compute(model._topic_probabilities()))


def with_topic_word_prior(state, value):
    return replace(state, word_prior=replace(state.word_prior, base=value))


def test_components_follow_a_state_that_is_set():
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    model.myself = model
    before = model.components_
    model._state = with_topic_word_prior(model._state, 3.0)
    assert_array_equal(model.components_, model._topic_probabilities().components())
    assert model.components_ is model.components_ is not before
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


@every_loop
def test_answers_are_prepared_once_for_a_state(estimator, monkeypatch):
    calls, prepare = [], TopicModel._prepare
    monkeypatch.setattr(TopicModel, "_prepare", lambda model: calls.append(1) or prepare(model))
    model = clone(estimator).fit(X)
    theta = model.transform(X)
    model.score(X)
    assert_array_equal(model.transform(X), theta)
    assert len(calls) == 1
    later = copy.deepcopy(model).partial_fit(MORE).transform(X)
    calls.clear()
    assert_array_equal(model.partial_fit(MORE).transform(X), later)
    assert len(calls) == 1 and not np.array_equal(later, theta)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: {"_state": with_topic_word_prior(model._state, 3.0)},
        lambda model: {"_state": replace(model._state, doc_topic_prior=np.ones(4))},
        lambda model: {"transform_sweeps": 1, "myself": model},
    ],
    ids=["topic_word_prior", "doc_topic_prior", "transform_sweeps"],
)
def test_answers_follow_attributes_that_are_set(change):
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    before = model.transform(X)
    for name, value in change(model).items():
        setattr(model, name, value)
    theta = model.transform(X)
    assert not np.array_equal(theta, before)
    assert_array_equal(theta, copy.deepcopy(model).transform(X))
    gone = weakref.ref(model)
    del model, value
    gc.collect()
    assert gone() is None


def test_answers_follow_parameters_that_change_inside():
    prior = np.ones(4)
    model = OnlineEMLDA(n_components=4, doc_topic_prior=prior, random_state=0).fit(X)
    model.transform(X)
    prior[0] = -1.0
    with pytest.raises(ValueError, match="doc_topic_prior"):
        model.transform(X)


def test_answers_follow_each_update_in_callbacks(monkeypatch):
    seen = []
    monkeypatch.setattr(
        FitMonitor,
        "after_update",
        lambda monitor, *_: seen.append((monitor.estimator.transform(X), copy.copy(monitor.estimator))),
    )
    OnlineEMLDA(n_components=4, batch_size=10, max_iter=1, random_state=0).fit(X)
    assert len(seen) == 6
    for theta, model in seen:
        assert_array_equal(theta, model.transform(X))
    assert all(np.abs(one - other).max() > 0 for (one, _), (other, _) in itertools.pairwise(seen))


def test_other_threads_do_not_share_what_callbacks_read(monkeypatch):
    """A reader may still be at work when the next update begins."""
    model = OnlineEMLDA(n_components=4, random_state=0).fit(MORE)
    with ThreadPoolExecutor(1) as pool:
        stores = []

        def report(monitor, *_):
            model.transform(MORE)
            pool.submit(
                lambda: stores.append(kept_answering(model, model._prepare).model._state.words.store)
            ).result(WAIT)
            assert not np.shares_memory(stores[-1], model._state.words.store)

        monkeypatch.setattr(FitMonitor, "after_update", report)
        model.partial_fit(X)
    assert stores


def test_components_cannot_be_made_writable():
    components = OnlineEMLDA(n_components=4, random_state=0).fit(X).components_
    with pytest.raises(ValueError, match="WRITEABLE"):
        components.flags.writeable = True


def test_components_follow_each_update_in_callbacks(monkeypatch):
    seen = []
    monkeypatch.setattr(
        FitMonitor,
        "after_update",
        lambda monitor, *_: seen.append(monitor.estimator.components_.copy()),
    )
    OnlineEMLDA(n_components=4, batch_size=10, max_iter=1, random_state=0).fit(X)
    assert len(seen) == 6
    assert all(np.abs(one - other).max() > 0 for one, other in itertools.pairwise(seen))


def test_a_reader_that_stays_costs_one_copy_not_one_a_call():
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    store, reading = model._state.words.store, model._read()
    own = model.partial_fit(MORE)._state.words.store
    assert own is not store
    assert model.partial_fit(MORE)._state.words.store is own
    assert reading._state.words.store is store


@every_loop
def test_a_shallow_copy_and_its_original_learn_independently(estimator):
    model = clone(estimator).fit(X)
    model.my_note = note = ["kept"]
    before, twin = state(model), copy.deepcopy(model).partial_fit(MORE)
    copied = copy.copy(model)
    again = copy.copy(copied)
    components = model.components_
    copied.partial_fit(MORE)
    assert_same_state(state(model), before)
    assert_same_state(state(again), before)
    assert_same_state(state(copied), state(twin))
    assert_array_equal(model._topic_probabilities().components(), components)
    del copied
    model.partial_fit(MORE)
    assert_same_state(state(again), before)
    assert again.my_note is note


@every_loop
def test_a_shallow_copy_made_within_a_training_call_stays_as_it_is(estimator, monkeypatch):
    copies = []

    def report(monitor, *arguments):
        copied = copy.copy(monitor.estimator)
        copies.append((copied, copied.transform(X)))

    monkeypatch.setattr(FitMonitor, "after_update", report)
    clone(estimator).fit(X)
    assert copies
    for copied, theta in copies:
        assert_array_equal(copied.transform(X), theta)


@every_loop
def test_what_blocks_of_a_training_call_read_of_the_model_stays_as_it_is(estimator):
    model, read = clone(estimator).fit(MORE), []

    def blocks():
        yield X[:30]
        read.extend((model.iter_word_topics(X), model.word_topics(X), model.__getstate__()))
        read.append(pickle.dumps(read[-1]))
        yield X[30:]

    model.partial_fit(blocks())
    iterator, wanted, state_then, pickled = read
    found = [arrays for _, *arrays in iterator]
    for arrays, expected in zip(zip(*found), wanted):
        assert_array_equal(np.concatenate(arrays), expected)
    assert pickle.dumps(state_then) == pickled


@every_loop
def test_reads_inside_a_training_call_copy_nothing(estimator, monkeypatch):
    seen = []

    def report(monitor, *arguments):
        model = monitor.estimator
        read = model._read()
        seen.append(read._state is model._state)
        seen.append(model.components_ is model.components_)

    monkeypatch.setattr(FitMonitor, "after_update", report)
    clone(estimator).fit(X)
    assert seen
    assert all(seen)


class EqualByParameters(OnlineEMLDA):
    def __eq__(self, other):
        return type(other) is type(self) and other.get_params() == self.get_params()

    def __hash__(self):
        return hash(self.n_components)


class Unhashable(OnlineEMLDA):
    __hash__ = None

    def __eq__(self, other):
        return np.array([self is other] * 2)  # as if it were an array


@pytest.mark.parametrize("kind", [EqualByParameters, Unhashable])
def test_what_a_class_calls_equal_is_not_taken_for_the_same_object(kind):
    one, other = (kind(n_components=4, random_state=0).fit(data) for data in (X, MORE))
    assert one.components_ is not other.components_
    assert_array_equal(other.components_, OnlineEMLDA(n_components=4, random_state=0).fit(MORE).components_)
    one.partial_fit(MORE).transform(X)


def test_nothing_is_kept_for_an_object_that_is_gone():
    before = len(_concurrency._guards)
    models = [OnlineEMLDA(n_components=4, random_state=0).fit(X) for _ in range(3)]
    assert [len(model.components_) for model in models] == [4, 4, 4]
    assert len(_concurrency._guards) > before
    del models
    gc.collect()
    assert len(_concurrency._guards) <= before


def test_attributes_that_are_set_while_arrays_are_copied_do_no_harm(monkeypatch):
    model = OnlineEMLDA(n_components=4, random_state=0).fit(X)
    note_copies(monkeypatch, model)
    reading = model._read()
    assert model.partial_fit(MORE).note
    assert reading._state.words.store is not model._state.words.store


@every_loop
def test_attributes_that_are_set_while_a_fit_begins_stay(estimator):
    class Setting:
        def __array__(self, dtype=None, copy=None):
            model.note = "set meanwhile, as another thread would"
            return X.toarray()

    model = clone(estimator).fit(MORE)
    assert model.fit(Setting()).note
