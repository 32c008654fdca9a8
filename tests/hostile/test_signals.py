"""Ctrl-C and SIGKILL at random moments: an update is whole or has not happened, a file is whole or not there.

The states that an interrupted call may leave are those of the same call when it is interrupted, by an
exception, before or right after each of its uninterruptible blocks; they are compared by hash. Signals are
raised at a line of the library's Python code, or they come from another process at any moment.
"""

import contextlib
import gzip
import http.server
import os
import pickle
import random
import signal
import sys
import threading
import time
from unittest import mock

import numpy as np
import pytest

import sktopic
from sktopic._runtime import _interrupt
from sktopic.datasets import _uci, fetch_bag_of_words

from .tools import (
    MODELS,
    check_answers,
    child,
    corpus,
    fingerprint,
    fitted_state,
    follow,
    in_child,
    new,
    note,
    share,
)

X = corpus(100, 30)
EARLIER = corpus(30, 30, seed=1)
SETTINGS = {"n_components": 6, "max_iter": 2, "batch_size": 25, "n_draws": 1, "evaluate_every": 1}
# Notes on how far the loop has come, which an interrupted update does not touch.
LOOP_NOTES = (
    *("n_iter_", "log_likelihood_", "n_components_trace_", "validation_scores_"),
    *("_state.n_passes", "_state.validation_scores"),
)


def learned(model):
    """Hashes of what training has learned."""
    state = fitted_state(model)
    begun = 0 not in (state.get("n_batch_iter_"), state.get("_state.n_updates"))
    sizes = "_corpus_size", "_state.corpus_size"  # the first update needs it
    ignored = LOOP_NOTES if begun else (*LOOP_NOTES, *sizes)
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


def prepared(name, method):
    """The model that is interrupted: fitted before, to another corpus where fit begins anew."""
    model = new(name, **SETTINGS)
    return model.fit(EARLIER) if method == "fit" else model.partial_fit(EARLIER)


def complete_states(name, method):
    """The states that may be left, as hashes, and the duration of the whole call."""
    original = pickle.dumps(prepared(name, method))
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


def be_interrupted(name, method, n_signals):
    """Runs in a child process, which its parent sends signals."""
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGUSR1}
    )  # with which the parent says that it has sent all
    states, seconds = complete_states(name, method)
    original = pickle.dumps(prepared(name, method))
    faults = []
    for n in n_signals:
        model = pickle.loads(original)
        try:
            try:
                note((n, seconds))
                getattr(model, method)(X)
                time.sleep(10)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            faults.append(f"{type(error).__name__} instead of KeyboardInterrupt: {error}")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        faults += faults_of(model, states)
        signal.sigwait({signal.SIGUSR1})  # a second Ctrl-C may be late
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return faults


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


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", MODELS)
def test_interrupted_training_leaves_a_complete_update(name, method):
    """Half of the times with one Ctrl-C, half of the times with two in a row."""
    rng = random.Random(f"{name} {method}")
    n_signals = [1, 2] * min(100, share(0.002))
    with child(be_interrupted, name, method, n_signals) as (process, connection):

        def send(message):
            n, seconds = message
            time.sleep(rng.uniform(0, 1.1 * seconds))
            for _ in range(n):
                os.kill(process.pid, signal.SIGINT)
                time.sleep(rng.uniform(0, 0.001))
            os.kill(process.pid, signal.SIGUSR1)

        faults = follow(process, connection, 30, send)
    assert not faults, "\n".join(faults)


def interrupt_at_lines(name, method, n_lines):
    """Runs in a child process: raises SIGINT at a line of the library, for many of the lines that it runs."""
    library = os.path.dirname(sktopic.__file__)
    states, _ = complete_states(name, method)
    original = pickle.dumps(prepared(name, method))

    def run(stop_at):
        """The model, and the lines that were run until it stopped."""
        model, lines = pickle.loads(original), []

        def trace(frame, event, _):
            if not frame.f_code.co_filename.startswith(library):
                return None
            if event == "line":
                lines.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
                if len(lines) == stop_at:
                    signal.raise_signal(signal.SIGINT)
            return trace

        sys.settrace(trace)
        try:
            getattr(model, method)(X)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return model, lines

    _, lines = run(None)
    first_times = sorted({line: i + 1 for i, line in reversed(list(enumerate(lines)))}.values())
    chosen = random.Random(0).sample(first_times, min(len(first_times), n_lines))
    faults = []
    for stop_at in chosen:
        note(lines[stop_at - 1])
        faults += [f"{lines[stop_at - 1]}: {fault}" for fault in faults_of(run(stop_at)[0], states)]
    return faults


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", MODELS)
def test_interrupt_at_any_line_leaves_a_complete_update(name, method):
    faults = in_child(interrupt_at_lines, name, method, share(0.02))
    assert not faults, "\n".join(faults)


# Files: only the functions that fetch corpora write any

NOBODY = "http://127.0.0.1:9/"


def small_collection(n_documents=300, n_words=200):
    """The files of a made-up collection that goes by the name of a published one."""
    counts = corpus(n_documents, n_words)
    rows, columns = np.nonzero(counts)
    lines = [n_documents, n_words, len(rows)]
    lines += [f"{i + 1} {j + 1} {counts[i, j]:.0f}" for i, j in zip(rows, columns)]
    files = {
        "/docword.kos.txt.gz": gzip.compress("\n".join(map(str, lines)).encode(), mtime=0),
        "/vocab.kos.txt": "\n".join(f"word{i}" for i in range(n_words)).encode(),
    }
    return files, (n_documents, n_words, len(rows))


@contextlib.contextmanager
def serving(files):
    """The address of a server of some files, on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(files[self.path])))
            self.end_headers()
            with contextlib.suppress(OSError):  # the reader has been killed
                self.wfile.write(files[self.path])

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fetch(folder, url, size):
    """Runs in a child process; the second answer is from the files that the first has written."""
    _uci._PUBLISHED["kos"] = size
    import pooch
    import requests  # noqa: F401 (both are imported before the clock starts)

    pooch.get_logger().disabled = True
    note("ready")
    started = time.perf_counter()
    answers = [fetch_bag_of_words("kos", folder, base_url=address).data for address in (url, NOBODY)]
    return time.perf_counter() - started, fingerprint([answer.toarray() for answer in answers])


def test_killed_download_leaves_no_file_that_is_taken_for_whole(tmp_path):
    pytest.importorskip("pooch")
    files, size = small_collection()
    rng = random.Random(0)
    with serving(files) as url:
        seconds, answer = in_child(fetch, tmp_path / "whole", url, size)
        for i in range(min(200, share(0.004))):
            folder = tmp_path / str(i)
            with child(fetch, folder, url, size) as (process, connection):
                assert connection.recv() == ("note", "ready")
                time.sleep(rng.uniform(0, 1.1 * seconds))
                process.kill()
                process.join()
            for path in folder.glob("*/*.txt*"):
                assert path.read_bytes() == files[f"/{path.name}"]
            # What is there is used: it has to be whole.
            assert in_child(fetch, folder, url, size)[1] == answer
