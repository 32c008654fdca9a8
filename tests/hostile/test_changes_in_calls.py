"""Changes from inside a call: of parameters, of fitted arrays, of X and of the files of a corpus.

They come from an iterator of blocks, a callback, a signal handler or another thread. The call ends in an
error that says what was changed, or in the result of a call that nobody has disturbed, and never in a crash.
"""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic._runtime._compat import CallbackSupportMixin
from sktopic.datasets import open_corpus, save_corpus
from sktopic.metrics import coherence, document_completion
from tests.conftest import fitted_state, outcome, set_attribute

from .parameters import values_of
from .tools import (
    CLASSES,
    MODELS,
    check_answers,
    check_each,
    corpus,
    differences,
    fast_switches,
    new,
    share,
    some,
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


def change_model(name, place, how, key, value):
    """Runs in a child process."""
    model = fitted(name)
    before, given = fitted_state(model), model.get_params()

    def act():
        if how == "set_params":
            model.set_params(**{key: value})
        elif how == "hidden":
            vars(model)[key] = value
        else:
            set_attribute(model, key, np.ones(1))

    _, error = outcome(PLACES[place], model, act)
    vars(model).update(given)
    if error is None:  # the last update was over
        assert how != "set_params"
        vars(model).pop("_skl_callbacks", None)
        undisturbed = fitted_state(new(name, batch_size=25).fit(X))
        assert how == "fitted" or not differences(undisturbed, fitted_state(model))
    message = f"{key}={value!r:.40} {PARAMETER}"
    check_after(model, before, error, *([DAMAGED, PARAMETER] if how == "fitted" else [message]))


def test_parameters_and_fitted_arrays_cannot_be_set_by_iterators_and_callbacks():
    cases, arrays = [], []
    for name in MODELS:
        constraints = CLASSES[name.partition(",")[0]]._parameter_constraints
        for key, given in new(name).get_params().items():
            values = [value for value in values_of(key, constraints[key]) if not hasattr(value, "make")][:2]
            values = [value for value in (*SIZES.get(key, ()), *values) if value is not given]
            cases += product([name], PLACES, ("set_params", "hidden"), [key], values)
        kind = type(fitted(name)._state)
        declared = sorted(declared_arrays(kind).keys() - optional_names(kind))
        arrays += product([name], PLACES, ["fitted"], declared, [None])
    sizes = [case for case in cases if case[3] in SIZES and case[2] == "hidden"]
    drawn = some(sizes, share(0.015), 0, 3) + some(cases, share(0.02), 3, 1)
    # After the last sweep; and moments of a prior, which no axis shares with other arrays.
    known = [("CollapsedGibbsLDA, 0", place, "fitted", "_state.doc_topic_prior", None) for place in PLACES]
    known += [("TriangularDirichletLDA, 0", "iterator", "fitted", "_state.moments.averages", None)]
    check_each(change_model, known + drawn + some(arrays, share(0.03), 0, 3))


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


def overwrite(folder, name):
    """Overwrite a file of an open corpus in place."""
    array = np.load(Path(folder, f"{name}.npy"), mmap_mode="r+")
    of_huge(array)
    array.flush()


def change_x_between_updates(name, change, folder):
    """Runs in a child process: a callback changes X, or files of a corpus."""
    model = fitted(name)
    before = fitted_state(model)
    if change in CHANGES:
        x = X.copy()
        act = partial(CHANGES[change], x)
    else:
        save_corpus(folder, [X], overwrite=True)
        x, act = open_corpus(folder), partial(overwrite, folder, change)
    _, error = outcome(fit_with_callback, model, act, x)
    check_after(model, before, error, READ)


@pytest.mark.skipif(not has_callbacks, reason="scikit-learn has no callbacks")
def test_x_that_a_callback_changes_is_refused_or_was_read_before(tmp_path):
    folder = [str(tmp_path / "corpus")]
    for changes in CHANGES, ("indices", "indptr"):
        cases = list(product(MODELS, changes, folder))
        check_each(change_x_between_updates, some(cases, share(0.005 * len(changes) ** 0.5), 1))


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
    done = threading.Event()

    def go_on():
        while not done.wait(0.0005):
            act()

    with fast_switches(), ThreadPoolExecutor(1) as pool:
        acting = pool.submit(go_on)
        try:
            yield
        finally:
            done.set()
        acting.result()


METRICS = {"coherence": partial(coherence, n_words=3), "completion": document_completion}


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
    call = METRICS.get(method) or (lambda model, x: getattr(model, method)(x))
    with meanwhile(act, is_signal):
        _, error = outcome(lambda: [call(model, x) for _ in range(5)])
    assert isinstance(error, (ValueError, IndexError, type(None))), repr(error)
    if "fit" not in method:
        assert not differences(before, fitted_state(model))
    check_answers(model.fit(X), X)


def test_x_that_changes_at_any_time_never_crashes():
    methods = *METRICS, "transform", "score", "word_topics", "fit", "partial_fit"
    cases = list(product(MODELS, methods, IN_PLACE, ("csr", "csc"), (False, True)))
    check_each(change_x_meanwhile, some(cases, share(0.02), 1, 4))
