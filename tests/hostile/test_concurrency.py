"""Threads and lack of memory around training: an error that says so, or the right answer."""

import copy
import pickle
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from tests.conftest import all_attributes, fingerprint, fitted_state, outcome

from .tools import (
    MODELS,
    TRAINING_CALLS,
    at_most,
    check_answers,
    check_each,
    corpus,
    differences,
    fast_switches,
    in_child,
    new,
    share,
    some,
)

X = corpus(64, 20)
WIDE, NARROW = corpus(60, 150), corpus(40, 90, seed=1)
# More rounds find rarer races.
N_ROUNDS = min(200, share(0.002))


def together(*functions):
    """Call functions in threads of their own, at the same time; returns their outcomes."""
    start = threading.Barrier(len(functions))

    def call(function):
        start.wait()
        return outcome(function)

    with fast_switches(), ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(call, functions))


# Threads


def fit_in_two_threads(name):
    model = new(name, n_components=9)
    for _ in range(N_ROUNDS):
        outcomes = together(lambda: model.fit(WIDE), lambda: model.fit(NARROW))
        errors = [error for _, error in outcomes if error is not None]
        for error in errors:
            assert isinstance(error, RuntimeError) and "train" in str(error), repr(error)
        assert len(errors) < 2, "both were refused"
        trained_on = WIDE if model.n_features_in_ == WIDE.shape[1] else NARROW
        check_answers(model, trained_on)
    check_answers(model.fit(X), X)


def all_answers(model):
    """What each reader of a fitted model returns."""
    found = [model.components_, model.transform(X), model.score(X), model.perplexity(X)]
    found += model.word_topics(X)
    if hasattr(model, "sample_proportions"):
        found.append(model.sample_proportions(X, 2))
    if hasattr(model, "elbo"):
        found.append(model.elbo(X))
    return fingerprint([*found, pickle.dumps(model), clone(model).get_params()])


def read_in_threads(name):
    """Threads that ask one model at once get the bits that one thread gets."""
    fitted = pickle.dumps(new(name, n_jobs=2).fit(X))
    expected = all_answers(pickle.loads(fitted))
    for _ in range(N_ROUNDS):
        model = pickle.loads(fitted)  # nothing is computed yet that it keeps
        assert together(*[partial(all_answers, model)] * 4) == [(expected, None)] * 4


def fit_side_by_side(name):
    """Models of their own, trained at once, become what one alone becomes."""

    def trained(n_jobs):
        model = new(name, n_jobs=n_jobs, batch_size=32).fit(X).partial_fit(X[:8])
        return fingerprint([fitted_state(model), model.transform(X)])

    expected = trained(None)
    for _ in range(N_ROUNDS):
        assert together(*(partial(trained, n) for n in (None, 1, 2, 3))) == [(expected, None)] * 4


def use_while_training(name):
    """Answers of a model in training are those of some complete state of it."""
    model = new(name, batch_size=len(X), max_iter=1).partial_fit(X)
    # Each is one update, also where updates end at every 64th document.
    batches = [corpus(32, 20, seed=i) for i in range(N_ROUNDS)]
    twin = pickle.loads(pickle.dumps(model))
    complete = [fingerprint(twin.transform(X))]
    complete += [fingerprint(twin.partial_fit(batch).transform(X)) for batch in batches]
    wrong, done = [], threading.Event()

    def train():
        try:
            for batch in batches:
                model.partial_fit(batch)
        finally:
            done.set()

    def transform():
        while not done.is_set():
            if fingerprint(model.transform(X)) not in complete:
                wrong.append("transform")
            model.score(X)

    def pickle_and_clone():
        while not done.is_set():
            copied = pickle.loads(pickle.dumps(model))
            check_answers(copied, X)
            check_answers(copied.partial_fit(X), X)
            clone(model)

    assert together(train, transform, transform, pickle_and_clone) == [(None, None)] * 4
    assert not wrong, f"{len(wrong)} answers of no complete state"
    assert fingerprint(model.transform(X)) == complete[-1]


@pytest.mark.parametrize("use", [fit_in_two_threads, read_in_threads, fit_side_by_side, use_while_training])
def test_threads_get_the_answers_of_one_thread_or_an_error(use):
    check_each(use, some([(name,) for name in MODELS], share(0.008)))


# No memory


def train_without_memory(name, method, sizes):
    """Runs in a child process: fit begins anew, for a model too large; partial_fit goes on."""
    wide, refused = np.ones((2, 3000)), 0
    earlier = wide[:, :50] if method == "fit" else wide
    for size in sizes:
        model = new(name, **({"n_components": 60} if method == "fit" else {})).fit(earlier)
        before = {key: copy.copy(value) for key, value in all_attributes(model).items()}
        try:
            with at_most(size):
                getattr(model, method)(wide)
        except MemoryError:
            refused += 1
        except SystemError as error:  # NumPy's indexing may fail without saying why
            raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
            assert "/numpy/" in raised_in or "/scipy/" in raised_in, raised_in
            refused += 1
        else:
            break
        # Whole: the state of before, or that of a complete update.
        documents = wide[:, : model.n_features_in_]
        if documents.shape != wide.shape:
            changed = differences(before, all_attributes(model))
            assert not changed, changed
        check_answers(model, documents)
        check_answers(model.partial_fit(documents), documents)
    assert refused or method == "partial_fit", "there was memory enough"  # where little is needed


@pytest.mark.parametrize(("name", "method"), some(TRAINING_CALLS, share(0.008), 0))
def test_no_memory_is_a_memory_error_and_leaves_the_model(name, method):
    sizes = [0, *np.geomspace(2**16, 2**28, min(50, share(0.003, 4))).astype(int).tolist()]
    in_child(train_without_memory, name, method, sizes)  # where nothing that was freed can be used again
