"""Progress that people see: on terminals, in files of logs, and where nobody can see it."""

import errno
import io
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from tqdm.auto import tqdm

from sktopic import DirectAssignmentHDP, OnlineEMLDA
from sktopic._runtime import _progress
from sktopic._runtime._progress import Progress
from sktopic.datasets import make_bars

from .registry import LOOPS, call, each, is_sampler, methods_with_data, new

BARS = make_bars(60, random_state=0).data
ONE_WORD = sp.csr_array(np.ones((10_001, 1)))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(text):
    """The lines that are seen, each as the last one written over it."""
    return [line.rsplit("\r", 1)[-1].rstrip() for line in text.split("\n")]


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(_progress, "SCREEN_INTERVAL", 0.0)
    return stream


def test_a_terminal_shows_a_bar(terminal):
    threads = set(threading.enumerate())
    model = OnlineEMLDA(max_iter=2, batch_size=10, early_stopping=True, verbose=1, random_state=0).fit(BARS)
    assert terminal.getvalue().count("\r") > 10
    last, end = screen(terminal.getvalue())
    assert last.startswith("OnlineEMLDA pass 2/2: 100%|") and end == ""
    assert f"| 00:00<00:00, score {model.validation_scores_[-1]:.4f}, " in last
    assert last.endswith(" documents/s")
    assert not tqdm._instances
    assert set(threading.enumerate()) <= threads  # one of another test may end meanwhile


def test_passes_that_are_repeated_count_as_more_work_and_bounds_are_shown(terminal):
    bars = make_bars(200, doc_length=20, random_state=0).data
    model = DirectAssignmentHDP(60, max_iter=2, batch_size=50, verbose=1, random_state=0).fit(bars)
    assert model.n_iter_ > 2
    frames = terminal.getvalue().split("\r")
    assert [frame for frame in frames if frame.startswith("DirectAssignmentHDP pass 3:  ")]
    assert screen(frames[-1])[0].startswith(f"DirectAssignmentHDP pass {model.n_iter_}: 100%|")
    terminal.truncate(0)
    model = DirectAssignmentHDP(3, learning_method="memoized", max_iter=2, verbose=1, random_state=0)
    bound = model.fit(BARS).training_history_["elbo"][-1]
    assert f", {model.n_components_} topics, elbo {bound:.7g}, " in screen(terminal.getvalue())[-2]


def test_sweeps_of_the_chain_that_training_starts_from_are_shown(terminal):
    model = DirectAssignmentHDP(3, learning_method="memoized", max_iter=1, verbose=1, random_state=0)
    model.fit(BARS)
    for percent in (0, 42, 100):
        assert f"\rDirectAssignmentHDP start: {percent:3}%|" in terminal.getvalue()
    assert screen(terminal.getvalue())[-2].startswith("DirectAssignmentHDP pass 1/1: 100%|")


def test_bars_of_work_that_stops_early_are_complete_and_those_of_interrupted_work_closed(terminal):
    with Progress("work", 4) as progress:
        progress.advance(2)
    assert screen(terminal.getvalue())[-2].startswith("work: 100%|")
    with suppress(KeyboardInterrupt), Progress("outer", 4) as outer:
        outer.advance(2)
        with Progress("inner", 4) as inner:
            inner.advance(1)
            raise KeyboardInterrupt
    assert not tqdm._instances
    assert "outer:  50%|" in screen(terminal.getvalue())[-2] and screen(terminal.getvalue())[-1] == ""


def test_files_of_logs_get_a_picture_every_ten_seconds(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with Progress("work", 28_800) as progress:
        for _ in range(28_800):
            now[0] += 0.125
            progress.advance(1)
    frames = capsys.readouterr().err.split("\r")
    assert 350 < len(frames) < 365
    assert frames[-1] == "work: 100%|██████████| 1:00:00<00:00, 8.00 documents/s\n"


@each(LOOPS)
def test_progress_of_all_calls_is_shown_and_the_number_of_topics_where_it_moves(estimator, capsys):
    """Outside training, of many documents alone."""
    model, kind = new(estimator, verbose=1), type(estimator)
    for method in (model.fit, model.partial_fit):
        method(BARS)
        line, _ = screen(capsys.readouterr().err)
        assert line.startswith(kind.__name__)
        assert (f", {model.n_components_} topics, " in line) == kind._infers_number_of_topics
        assert ("sweep 2/2: 100%" in line) == is_sampler(model)
    model.set_params(verbose=0).fit(ONE_WORD[:100]).set_params(verbose=1)
    for name in {"transform", "score", "elbo", "predict_mixture"} & {*methods_with_data(estimator)}:
        call(model, name, ONE_WORD[:-1])
        assert not capsys.readouterr().err
        call(model, name, ONE_WORD)
        line, _ = screen(capsys.readouterr().err)
        assert line.startswith(f"{kind.__name__}.{name}: 100%|")


class Lost(Terminal):
    """A terminal that hangs up after some writes, as when a connection ends, or a log on a full disk."""

    def __init__(self, writes, is_terminal):
        super().__init__()
        self.left, self.is_terminal = writes, is_terminal

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        if not self.left:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        self.left -= 1
        return super().write(text)


def test_training_goes_on_without_its_terminal(terminal, monkeypatch):
    """There is none, or it is lost at the first write to a log, or after some to a terminal, or closed."""

    def fit():
        OnlineEMLDA(max_iter=2, batch_size=10, verbose=1, random_state=0).fit(BARS)

    for lost in (None, Lost(0, False), Lost(3, True)):
        with monkeypatch.context() as patch:
            patch.setattr(_progress.sys, "stderr", lost)
            fit()
    thread = threading.Thread(target=fit, daemon=True)  # which no lock holds up
    thread.start()
    thread.join(60)
    assert not tqdm._instances
    assert "100%" in screen(terminal.getvalue())[0]
    with Progress("fit", 2) as progress:
        terminal.close()
        progress.advance(2)
    with Progress("fit", 2) as progress:
        progress.advance(2)
    assert not tqdm._instances
