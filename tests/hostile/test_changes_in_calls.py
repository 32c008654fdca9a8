"""Changes from inside a call: of parameters, of fitted arrays, of X and of the files of a corpus.

They come from an iterator of blocks, a callback, a signal handler or another thread. The call ends in an
error that says what was changed, or in the result of a call that nobody has disturbed, and never in a crash.
"""

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
from tests.conftest import fitted_state, set_attribute

from .parameters import values_of
from .tools import ESTIMATORS, MODELS, check_answers, corpus, differences, failures, new, outcome, share, some

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
has_callbacks = hasattr(CallbackSupportMixin, "set_callbacks")


def fitted(name, **parameters):
    return new(name, batch_size=25, **parameters).fit(LATER)


def check_after(model, before, error, *messages):
    """The state of before is left after an error, which says one of these, and training goes on."""
    vars(model).pop("_skl_callbacks", None)
    if error is not None:
        assert any(message in str(error) for message in messages), f"{type(error).__name__}: {error}"
        changed = differences(before, fitted_state(model))
        assert not changed, f"another {changed} after the error"
    check_answers(model.fit(X), X)


class Disturbing:
    """Blocks of X, between two of which somebody does something, in the second pass."""

    def __init__(self, act):
        self.act, self.n_passes = act, 0

    def __iter__(self):
        self.n_passes += 1
        yield X[:60]
        if self.n_passes == 2:
            self.act()
        yield X[60:]


class Callback:
    """A callback that does something at the end of the second task."""

    def __init__(self, act):
        self.act, self.n_tasks = act, 0

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.n_tasks += 1
        if self.n_tasks == 2:
            self.act()
        return False


def fit_with_callback(model, act, X=X):
    return model.set_callbacks(Callback(act)).fit(X)


PLACES = {
    "iterator": lambda model, act: model.fit(Disturbing(act)),
    **({"callback": fit_with_callback} if has_callbacks else {}),
}


# Parameters and fitted arrays


def set_parameter(name, place, is_hidden, parameter, value):
    """Runs in a child process."""
    model = fitted(name)
    before, given = fitted_state(model), model.get_params()

    def act():
        if is_hidden:
            vars(model)[parameter] = value
        else:
            model.set_params(**{parameter: value})

    _, error = outcome(PLACES[place], model, act)
    vars(model).update(given)
    if error is None:  # the last update was over
        assert is_hidden
        vars(model).pop("_skl_callbacks", None)
        before = fitted_state(new(name, batch_size=25).fit(X))
        assert not differences(before, fitted_state(model))
    check_after(model, before, error, f"{parameter}={value!r:.40} {PARAMETER}")


def test_parameters_cannot_be_set_by_iterators_and_callbacks():
    cases = []
    for name in MODELS:
        constraints = getattr(sktopic, name.partition(",")[0])._parameter_constraints
        for key, given in new(name).get_params().items():
            values = [value for value in values_of(key, constraints[key]) if not hasattr(value, "make")][:2]
            values = [value for value in (*SIZES.get(key, ()), *values) if value is not given]
            cases += product([name], PLACES, (False, True), [key], values)
    sizes = [case for case in cases if case[3] in SIZES and case[2]]
    found = failures(set_parameter, some(sizes, share(0.015), 0, 3) + some(cases, share(0.02), 3, 1))
    assert not found, "\n".join(found)


def set_fitted(name, place, attribute):
    """Runs in a child process."""
    model = fitted(name)
    before = fitted_state(model)
    _, error = outcome(PLACES[place], model, lambda: set_attribute(model, attribute, np.ones(1)))
    check_after(model, before, error, DAMAGED, PARAMETER)


def test_fitted_arrays_of_other_sizes_are_refused():
    kinds = {name: new(name)._state_class for name in MODELS}
    cases = [
        (name, place, attribute)
        for name, kind in kinds.items()
        for attribute in sorted(declared_arrays(kind).keys() - optional_names(kind))
        for place in PLACES
    ]
    found = failures(set_fitted, some(cases, share(0.03), 0, 2))
    assert not found, "\n".join(found)


# X


def of_huge(array):
    array[len(array) // 2 :] = np.iinfo(array.dtype).max


IN_PLACE = {
    "indices in place": lambda x: of_huge(x.indices),
    "negative indices": lambda x: x.indices.__setitem__(slice(None, None, 7), -3),
    "indptr in place": lambda x: of_huge(x.indptr),
    "indptr that descends": lambda x: x.indptr.__setitem__(slice(None), x.indptr[::-1].copy()),
    "NaN": lambda x: x.data.fill(np.nan),
    "negative counts": lambda x: x.data.fill(-1.0),
    "huge counts": lambda x: x.data.fill(1e300),
}
CHANGES = IN_PLACE | {
    "fewer indices": lambda x: setattr(x, "indices", x.indices[:5]),
    "no data": lambda x: setattr(x, "data", x.data[:0]),
    "fewer rows": lambda x: x.resize((3, x.shape[1])),
    "more rows": lambda x: x.resize((100_000, x.shape[1])),
}


def change_x_between_updates(name, change):
    """Runs in a child process: a callback changes X."""
    model, x = fitted(name), X.copy()
    before = fitted_state(model)
    _, error = outcome(fit_with_callback, model, lambda: CHANGES[change](x), x)
    check_after(model, before, error, READ)


@pytest.mark.skipif(not has_callbacks, reason="scikit-learn has no callbacks")
def test_x_that_a_callback_changes_is_refused_or_was_read_before():
    found = failures(change_x_between_updates, some(list(product(MODELS, CHANGES)), share(0.02), 1))
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


READERS = {
    "coherence": lambda model, x: coherence(model, x, n_words=3),
    "completion": lambda model, x: document_completion(model, x),
    **{
        name: lambda model, x, name=name: getattr(model, name)(x)
        for name in ("transform", "score", "word_topics")
    },
}


def change_x_meanwhile(name, method, change, format, is_signal):
    """Runs in a child process."""
    model, whole = new(name, n_components=9).fit(LATER), X.asformat(format, copy=True)
    x, rng = whole.copy(), np.random.default_rng(0)
    pairs = [(value, vars(whole)[key]) for key, value in vars(x).items() if isinstance(value, np.ndarray)]

    def act():
        for array, values in pairs:
            array[...] = values if rng.random() < 0.7 else np.roll(values, 1)
        if rng.random() < 0.3:
            IN_PLACE[change](x)

    before = fitted_state(model)
    call = READERS.get(method) or (lambda model, x: getattr(model, method)(x))
    with meanwhile(act, is_signal):
        _, error = outcome(lambda: [call(model, x) for _ in range(5)])
    assert isinstance(error, (ValueError, IndexError, type(None))), repr(error)
    if method in READERS:
        assert not differences(before, fitted_state(model))
    check_answers(model.fit(X), X)


def test_x_that_changes_at_any_time_never_crashes():
    methods = *READERS, "fit", "partial_fit"
    cases = list(product(ESTIMATORS, methods, IN_PLACE, ("csr", "csc"), (False, True)))
    found = failures(change_x_meanwhile, some(cases, share(0.02), 1, 4))
    assert not found, "\n".join(found)


# Files of a corpus


def overwrite_files(name, file, folder, method):
    """Runs in a child process: the files of an open corpus are overwritten in place."""
    model = fitted(name)
    before = fitted_state(model)
    save_corpus(folder, [X], overwrite=True)
    opened, path = open_corpus(folder), Path(folder, f"{file}.npy")

    def act():
        array = np.load(path, mmap_mode="r+")
        array[len(array) // 3 :] = np.iinfo(array.dtype).max
        array.flush()

    if method == "fit":
        _, error = outcome(fit_with_callback, model, act, opened)
    else:
        blocks = model.iter_word_topics(opened, block_size=20)
        next(blocks)
        act()
        _, error = outcome(lambda: list(blocks))
    check_after(model, before, error, READ)


@pytest.mark.skipif(not has_callbacks, reason="scikit-learn has no callbacks")
def test_files_of_a_corpus_that_are_overwritten_in_a_call(tmp_path):
    folder = [str(tmp_path / "corpus")]
    cases = list(product(ESTIMATORS, ("indices", "indptr"), folder, ("fit", "iterate")))
    found = failures(overwrite_files, some(cases, share(0.008), 0))
    assert not found, "\n".join(found)
