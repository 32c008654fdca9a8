"""Changes from inside a call: of parameters, of fitted arrays, of X and of the files of a corpus.

They come from an iterator of blocks, a callback, a signal handler or another thread. The call ends in an
error that says what was changed, or in the result of a call that nobody has disturbed, and never in a crash.
"""

import random
import signal
import sys
import threading
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sktopic
from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic._runtime._compat import CallbackSupportMixin
from sktopic.datasets import open_corpus, save_corpus
from sktopic.metrics import coherence, document_completion

from .parameters import values_of
from .tools import (
    ESTIMATORS,
    MODELS,
    check_answers,
    corpus,
    differences,
    failures,
    fitted_state,
    new,
    outcome,
    set_attribute,
    share,
)

X = sp.csr_array(corpus(100, 30))
LATER = sp.csr_array(corpus(40, 30, seed=1))
# What an error has to say.
PARAMETER = "cannot be set while fit"
READ = "X changed while it was being read"
DAMAGED = "is damaged"
# Numbers far beyond and below those of `new`: kernels must not take sizes from them.
SIZES = {
    "n_components": (1, 2000, 0, -5),
    "n_proposals": (1000,),
    "max_births": (1000,),
    "doc_n_components": (500,),
}

BATCH = {"batch_size": 25}

every_model = pytest.mark.parametrize("name", MODELS)
has_callbacks = hasattr(CallbackSupportMixin, "set_callbacks")


def sampled(cases, fraction=0.2):
    """Some of the cases."""
    return random.Random(1).sample(cases, min(len(cases), share(fraction)))


def check_after(model, before, error, *messages):
    """The state of before is left after an error, which says one of these, and training goes on."""
    if error is not None:
        assert any(message in str(error) for message in messages), f"{type(error).__name__}: {error}"
        changed = differences(before, fitted_state(model))
        assert not changed, f"another {changed} after the error"
    check_answers(model.fit(X), X)


class Disturbing:
    """Blocks of X, between two of which somebody does something, in a pass of this number."""

    def __init__(self, act, n_pass):
        self.act, self.n_pass = act, n_pass

    def __iter__(self):
        self.n_pass -= 1
        yield X[:60]
        if self.n_pass == 0:
            self.act()
        yield X[60:]


class Callback:
    """A callback that does something at the end of the second task."""

    def __init__(self, act):
        self.act, self.n_tasks = act, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.n_tasks += 1
        if self.n_tasks == 2:
            self.act()
        return False


def in_iterator(model, act, n_pass=2):
    return lambda: model.fit(Disturbing(act, n_pass))


def in_callback(model, act):
    model.set_callbacks(Callback(act))
    return lambda: model.fit(X)


PLACES = {"iterator": in_iterator, **({"callback": in_callback} if has_callbacks else {})}


# Parameters


def set_parameter(name, place, is_hidden, parameter, value):
    """Runs in a child process."""
    model = new(name, **BATCH).fit(LATER)
    before, given = fitted_state(model), model.get_params()

    def act():
        if is_hidden:
            vars(model)[parameter] = value
        else:
            model.set_params(**{parameter: value})

    _, error = outcome(PLACES[place](model, act))
    vars(model).update(given)
    vars(model).pop("_skl_callbacks", None)
    if error is None:  # the last update was over
        assert is_hidden
        before = fitted_state(new(name, **BATCH).fit(X))
        assert not differences(before, fitted_state(model))
    check_after(model, before, error, f"{parameter}={value!r:.40} {PARAMETER}")


@every_model
def test_parameters_cannot_be_set_by_iterators_and_callbacks(name):
    given = new(name).get_params()
    constraints = getattr(sktopic, name.partition(",")[0])._parameter_constraints
    values = {
        key: [v for v in values_of(key, constraints[key]) if not hasattr(v, "make")][:2] for key in given
    }
    cases = [
        (name, place, is_hidden, key, value)
        for key in given
        for value in [*SIZES.get(key, ()), *values[key]]
        if value is not given[key]
        for place in PLACES
        for is_hidden in (False, True)
    ]
    sizes = [case for case in cases if case[3] in SIZES and case[2]]
    found = failures(set_parameter, sizes + sampled(cases, 0.03))
    assert not found, "\n".join(found)


# Fitted arrays


def set_fitted(name, place, attribute):
    """Runs in a child process."""
    model = new(name, **BATCH).fit(LATER)
    before = fitted_state(model)
    _, error = outcome(PLACES[place](model, lambda: set_attribute(model, attribute, np.ones(1))))
    vars(model).pop("_skl_callbacks", None)
    check_after(model, before, error, DAMAGED, PARAMETER)


@every_model
def test_fitted_arrays_of_other_sizes_are_refused(name):
    kind = new(name)._state_class
    arrays = sorted(declared_arrays(kind).keys() - optional_names(kind))
    cases = [(name, place, attribute) for place in PLACES for attribute in arrays]
    found = failures(set_fitted, cases)
    assert not found, "\n".join(found)


# X


def of_huge(array):
    array[len(array) // 2 :] = np.iinfo(array.dtype).max


CHANGES = {
    "indices in place": lambda x: of_huge(x.indices),
    "negative indices": lambda x: x.indices.__setitem__(slice(None, None, 7), -3),
    "indptr in place": lambda x: of_huge(x.indptr),
    "indptr that descends": lambda x: x.indptr.__setitem__(slice(None), x.indptr[::-1].copy()),
    "NaN": lambda x: x.data.fill(np.nan),
    "negative counts": lambda x: x.data.fill(-1.0),
    "huge counts": lambda x: x.data.fill(1e300),
    "fewer indices": lambda x: setattr(x, "indices", x.indices[:5]),
    "no data": lambda x: setattr(x, "data", x.data[:0]),
    "fewer rows": lambda x: x.resize((3, x.shape[1])),
    "more rows": lambda x: x.resize((100_000, x.shape[1])),
}
READERS = {
    "transform": lambda model, x: model.transform(x),
    "score": lambda model, x: model.score(x),
    "word_topics": lambda model, x: model.word_topics(x),
    "coherence": lambda model, x: coherence(model, x, n_words=3),
    "completion": lambda model, x: document_completion(model, x),
}


def change_x_between_updates(name, change, format):
    """Runs in a child process: a callback changes X."""
    model, x = new(name, **BATCH).fit(LATER), X.asformat(format, copy=True)
    before = fitted_state(model)
    model.set_callbacks(Callback(lambda: CHANGES[change](x)))
    _, error = outcome(lambda: model.fit(x))
    vars(model).pop("_skl_callbacks", None)
    check_after(model, before, error, READ)


@pytest.mark.skipif(not has_callbacks, reason="scikit-learn has no callbacks")
@every_model
def test_x_that_a_callback_changes_is_refused_or_was_read_before(name):
    found = failures(change_x_between_updates, [(name, change, "csr") for change in CHANGES])
    assert not found, "\n".join(found)


@contextmanager
def meanwhile(act, is_signal):
    """Call a function again and again, in another thread or as a handler of signals."""
    if is_signal:
        before = signal.signal(signal.SIGALRM, lambda *_: act())
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        return
    done, interval = threading.Event(), sys.getswitchinterval()

    def go_on():
        while not done.wait(0.0005):
            act()

    thread = threading.Thread(target=go_on)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)


def change_x_meanwhile(name, method, change, format, is_signal):
    """Runs in a child process."""
    model, whole = new(name, n_components=9).fit(LATER), X.asformat(format, copy=True)
    x, rng = whole.copy(), np.random.default_rng(0)
    pairs = [(value, vars(whole)[key]) for key, value in vars(x).items() if isinstance(value, np.ndarray)]

    def act():
        for array, values in pairs:
            array[...] = values if rng.random() < 0.7 else np.roll(values, 1)
        if rng.random() < 0.3:
            CHANGES[change](x)

    before = fitted_state(model)
    call = READERS.get(method) or (lambda model, x: getattr(model, method)(x))
    with meanwhile(act, is_signal):
        _, error = outcome(lambda: [call(model, x) for _ in range(5)])
    if error is not None:
        assert isinstance(error, (ValueError, IndexError)), repr(error)
    if method in READERS:
        assert not differences(before, fitted_state(model))
    check_answers(model.fit(X), X)


IN_PLACE = ["indices in place", "negative indices", "indptr in place", "indptr that descends", "NaN"]
IN_PLACE += ["negative counts", "huge counts"]


@pytest.mark.parametrize("is_signal", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_x_that_changes_at_any_time_never_crashes(name, is_signal):
    methods = [*READERS, "fit", "partial_fit"]
    cases = [
        (name, method, change, format, is_signal)
        for method in methods
        for change in IN_PLACE
        for format in ("csr", "csc")
    ]
    found = failures(change_x_meanwhile, sampled(cases, 0.004))
    assert not found, "\n".join(found)


def set_meanwhile(name, is_hidden, is_signal):
    """Runs in a child process: a thread or a handler sets parameters, which does not change the result."""
    model, rng = new(name, n_components=5, max_iter=6), np.random.default_rng(0)
    refused = []

    def act():
        value = int(rng.choice([1, 5, 64]))
        if is_hidden:
            vars(model)["n_components"] = value
        else:
            refused.append(outcome(lambda: model.set_params(n_components=value))[1])

    with meanwhile(act, is_signal):
        outcome(lambda: [model.fit(X) for _ in range(2)])
    for error in filter(None, refused):  # between two calls, it is not
        assert isinstance(error, RuntimeError) and PARAMETER in str(error), repr(error)
    vars(model)["n_components"] = 5
    check_answers(model.fit(X), X)


@every_model
def test_parameters_that_a_thread_or_a_handler_sets_never_crash(name):
    found = failures(set_meanwhile, [(name, *flags) for flags in product([False, True], repeat=2)])
    assert not found, "\n".join(found)


# Files of a corpus


def overwrite_files(name, file, folder, method):
    """Runs in a child process: the files of an open corpus are overwritten in place."""
    model = new(name, **BATCH).fit(LATER)
    before = fitted_state(model)
    save_corpus(folder, [X], overwrite=True)
    opened, path = open_corpus(folder), Path(folder, f"{file}.npy")

    def act():
        array = np.load(path, mmap_mode="r+")
        array[len(array) // 3 :] = np.iinfo(array.dtype).max
        array.flush()

    if method == "fit":
        model.set_callbacks(Callback(act))
        _, error = outcome(lambda: model.fit(opened))
        vars(model).pop("_skl_callbacks", None)
    else:
        blocks = model.iter_word_topics(opened, block_size=20)
        next(blocks)
        act()
        _, error = outcome(lambda: list(blocks))
    check_after(model, before, error, READ)


@pytest.mark.skipif(not has_callbacks, reason="scikit-learn has no callbacks")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_files_of_a_corpus_that_are_overwritten_in_a_call(name, tmp_path):
    folder = str(tmp_path / "corpus")
    cases = [(name, file, folder, method) for file in ("indices", "indptr") for method in ("fit", "iterate")]
    found = failures(overwrite_files, cases)
    assert not found, "\n".join(found)
