"""Ctrl-C at any line of the library's Python code, and at any moment: an update is whole or has not happened.

The states that an interrupted call may leave are those of the same call when it is interrupted, by an
exception, before or right after each of its uninterruptible blocks; they are compared by hash.
"""

import contextlib
import linecache
import os
import pickle
import random
import signal
import sys
import threading
import time
from unittest import mock

import pytest

import sktopic
from sktopic._runtime import _interrupt
from tests.conftest import fingerprint, fitted_state, press_ctrl_c

from .tools import TRAINING_CALLS, check_answers, corpus, in_child, new, share, some

X = corpus(100, 30)
EARLIER = corpus(30, 30, seed=1)
SETTINGS = {"n_components": 6, "max_iter": 2, "batch_size": 25, "n_draws": 1, "evaluate_every": 1}


def learned(model):
    """Hashes of what training has learned, without notes on how far its loop has come."""
    state = fitted_state(model)
    ignored = {"_state.n_passes", "_state.validation_scores"}
    if state.get("_state.n_updates") == 0:  # the first update needs them
        ignored |= {"_state.corpus_size", "_state.is_corpus"}
    return {name: fingerprint(part) for name, part in state.items() if name not in ignored}


class Stop(KeyboardInterrupt):
    """Stands for Ctrl-C at a moment that is chosen."""


@contextlib.contextmanager
def counted_blocks(after=None):
    """Count blocks that Ctrl-C waits for or undoes; raise Stop after a number of them, if asked to."""
    n_blocks = [0]

    def counted(original):
        @contextlib.contextmanager
        def block(*arguments, **keywords):
            if after == n_blocks[0] == 0:
                n_blocks[0] += 1
                raise Stop
            with original(*arguments, **keywords):
                yield
            n_blocks[0] += 1
            if n_blocks[0] == after:
                raise Stop

        return block

    modules = [module for name, module in sys.modules.items() if name.startswith("sktopic.")]
    with contextlib.ExitStack() as patches:
        for name in ("uninterrupted", "complete_or_undone"):
            block = counted(getattr(_interrupt, name))
            for module in modules:
                if hasattr(module, name):
                    patches.enter_context(mock.patch.object(module, name, block))
        yield n_blocks


def complete_states(original, method):
    """The states that may be left, as hashes, and the duration of the whole call."""
    model = pickle.loads(original)
    states = [learned(model)]
    with counted_blocks() as n_blocks:
        started = time.perf_counter()
        getattr(model, method)(X)
        seconds = time.perf_counter() - started
    states.append(learned(model))
    for last in range(n_blocks[0] + 1):
        model = pickle.loads(original)
        with counted_blocks(after=last), contextlib.suppress(Stop):
            getattr(model, method)(X)
        states.append(learned(model))
    return states, seconds


def stopped_by_timer(model, method, moments):
    """Send Ctrl-C some times while a method runs: at moments in seconds, in order."""
    sent, begun = [], time.perf_counter()

    def send():
        for moment in moments:
            time.sleep(max(0, begun + moment - time.perf_counter()))
            press_ctrl_c()
            sent.append(moment)

    def wait():  # not by join(): a thread whose join is interrupted passes for an ended one
        while len(sent) < len(moments):
            time.sleep(0.001)

    try:
        try:
            threading.Thread(target=send).start()
            getattr(model, method)(X)
            wait()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wait()  # a second Ctrl-C may be late
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stopped_at_line(model, method, stop_at=None):
    """Send Ctrl-C when a line of the library is run first; returns the lines that were run."""
    library, lines = os.path.dirname(sktopic.__file__), {}

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(library):
            return None
        if event == "line":
            line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            is_new, lines[line] = line not in lines, True
            if line == stop_at and is_new:
                text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
                if text != "try:":  # where what a tracer raises passes by the blocks around (CPython 3.12)
                    signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        getattr(model, method)(X)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return list(lines)


def faults_of(model, states):
    """What is wrong with an interrupted model."""
    try:
        state = learned(model)
        if state not in states:
            others = [{n for n in state.keys() | s.keys() if state.get(n) != s.get(n)} for s in states]
            differing = sorted(min(others, key=len))
            return [f"not the state of a complete update: {differing} of {len(state)} differ"]
        check_answers(model, EARLIER)
        check_answers(model.partial_fit(EARLIER), EARLIER)
    except Exception as error:
        return [f"{type(error).__name__} of an interrupted model: {error}"]
    return []


def be_interrupted(name, method, n_lines, n_signals):
    """Runs in a child process, on a model that is fitted before, to another corpus where fit begins anew."""
    model = new(name, **SETTINGS)
    original = pickle.dumps(model.fit(EARLIER) if method == "fit" else model.partial_fit(EARLIER))
    states, seconds = complete_states(original, method)
    rng, faults = random.Random(f"{name} {method}"), []
    lines = stopped_at_line(pickle.loads(original), method)
    for line in rng.sample(lines, min(len(lines), n_lines)):
        model = pickle.loads(original)
        stopped_at_line(model, method, line)
        faults += [f"{line}: {fault}" for fault in faults_of(model, states)]
    for i in range(n_signals):  # half of the times one, half of the times two in a row
        first = rng.uniform(0, 1.1 * seconds)
        moments = [first, first + rng.uniform(0, 0.001)][: 1 + i % 2]
        model = pickle.loads(original)
        stopped_by_timer(model, method, moments)
        faults += [f"after {moments}: {fault}" for fault in faults_of(model, states)]
    return faults


@pytest.mark.parametrize(("name", "method"), some(TRAINING_CALLS, share(0.008), 0))
def test_interrupted_training_leaves_a_complete_update(name, method):
    faults = in_child(be_interrupted, name, method, share(0.01), min(200, share(0.002)))
    assert not faults, "\n".join(faults)
