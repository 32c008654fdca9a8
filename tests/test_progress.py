"""Progress that people see: on terminals with and without tqdm, in files of logs."""

import errno
import io
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from sktopic import (
    CollapsedGibbsHDP,
    DegenerateDirichletLDA,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMLDA,
    OnlineVariationalLDA,
    _progress,
)
from sktopic._monitor import FitMonitor
from sktopic._progress import show_progress
from sktopic.datasets import make_bars

BARS = make_bars(60, random_state=0).data
ONE_WORD = sp.csr_array(np.ones((10_001, 1)))


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def screen(self):
        """The lines that are seen, each as the last one written over it."""
        return [line.rsplit("\r", 1)[-1].rstrip() for line in self.getvalue().split("\n")]


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(_progress, "REDRAW_PERIOD", 0.0)
    return screen


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    _progress._tqdm.cache_clear()
    yield
    _progress._tqdm.cache_clear()


@pytest.fixture
def tqdm():
    return pytest.importorskip("tqdm.auto", reason="tqdm is not installed").tqdm


@pytest.mark.usefixtures("without_tqdm")
def test_one_line_of_a_terminal_is_rewritten(terminal):
    OnlineEMLDA(max_iter=2, batch_size=10, early_stopping=True, verbose=1, random_state=0).fit(BARS)
    frames = terminal.getvalue().split("\r")
    assert len(frames) > 10
    assert all(len(frame.rstrip("\n")) < _progress.COLUMNS for frame in frames)
    last, end = terminal.screen()
    assert last.startswith("OnlineEMLDA epoch 2/2: 100%, ") and ", took 0:0" in last and ", score -" in last
    assert end == ""


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_passes_that_are_repeated_count_as_more_work(terminal, request, has_tqdm):
    request.getfixturevalue("tqdm" if has_tqdm else "without_tqdm")
    bars = make_bars(200, doc_length=20, random_state=0).data
    model = DirectAssignmentHDP(60, max_iter=2, batch_size=50, verbose=1, random_state=0).fit(bars)
    assert model.n_iter_ > 2
    last, end = terminal.screen()
    assert last.startswith(f"DirectAssignmentHDP epoch {model.n_iter_}: 100%") and end == ""


@pytest.mark.usefixtures("without_tqdm")
def test_work_inside_other_work_has_lines_above_it(terminal):
    with show_progress("outer", 2) as outer:
        outer.advance(1)
        with show_progress("inner", 3) as inner:
            inner.advance(3)
        outer.advance(1)
    above, last, end = terminal.screen()
    assert above.startswith("inner: 100%") and last.startswith("outer: 100%") and end == ""
    with show_progress("next", 1):
        assert terminal.getvalue().endswith("next: 0%")


@pytest.mark.usefixtures("without_tqdm")
def test_interrupted_work_leaves_a_clean_line(terminal):
    with suppress(KeyboardInterrupt), show_progress("work", 4) as progress:
        progress.advance(2)
        raise KeyboardInterrupt
    last, end = terminal.screen()
    assert last.startswith("work: 50%") and last.endswith("left") and end == ""
    assert not _progress._owner


def test_worker_processes_leave_the_last_line_alone(terminal, monkeypatch):
    monkeypatch.setattr(_progress, "parent_process", lambda: "its parent")
    with show_progress("work", 1) as progress:
        progress.advance(1)
    assert [line[:11] for line in terminal.screen()] == ["work: 100%,", ""]


def test_tqdm_shows_a_bar_where_it_is_installed(terminal, tqdm):
    threads = threading.active_count()
    model = OnlineEMLDA(max_iter=2, batch_size=10, early_stopping=True, verbose=1, random_state=0).fit(BARS)
    last, end = terminal.screen()
    assert last.startswith("OnlineEMLDA epoch 2/2: 100%|") and end == ""
    assert last.endswith(f" documents/s, took 00:00, score {model.validation_scores_[-1]:.4f}")
    assert not tqdm._instances
    assert threading.active_count() == threads


def test_bars_are_closed_when_work_is_interrupted(terminal, tqdm):
    with suppress(KeyboardInterrupt), show_progress("outer", 4) as outer:
        outer.advance(2)
        with show_progress("inner", 4) as inner:
            inner.advance(1)
            raise KeyboardInterrupt
    assert not tqdm._instances
    assert "outer:  50%|" in terminal.screen()[-2] and terminal.screen()[-1] == ""


def test_files_of_logs_get_few_lines_but_one_a_minute(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: now[0])
    with show_progress("work", 36_000) as progress:
        for _ in range(36_000):
            now[0] += 0.1
            progress.advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "work: 0%, 10 documents/s, 59:55 left"
    assert lines[-1] == "work: 100%, 10 documents/s, took 1:00:00"
    assert 60 < len(lines) < 120


@pytest.mark.parametrize("model", [OnlineEMLDA(3), OnlineVariationalLDA(3), DegenerateDirichletLDA(3)])
def test_many_documents_are_shown_outside_fit_too(model, capsys):
    model.set_params(random_state=0).fit(ONE_WORD[:100]).set_params(verbose=1)
    answers = {"transform": model.transform, "score": model.score}
    answers |= {name: getattr(model, name) for name in ("elbo", "predict_mixture") if hasattr(model, name)}
    for name, answer in answers.items():
        answer(ONE_WORD[:-1])
        assert not capsys.readouterr().err
        answer(ONE_WORD)
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and lines[0].startswith(f"{type(model).__name__}.{name}: 100%, ")


@pytest.mark.parametrize(
    "model",
    [HybridHDP(8), CollapsedGibbsHDP(max_iter=3), DegenerateDirichletLDA(5)],
    ids=type,
)
def test_number_of_topics_is_shown_where_it_moves(model, capsys):
    model.set_params(verbose=1, random_state=0).fit(BARS)
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith(f", {model.n_components_} topics")
    assert ("sweep 3/3: 100%" in line) == hasattr(model, "log_likelihood_")


def test_programs_without_a_console_show_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert type(show_progress("fit", 10)) is _progress.Progress
    OnlineEMLDA(max_iter=1, verbose=1, random_state=0).fit(BARS)


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


@pytest.mark.parametrize("has_tqdm", [False, True], ids=["without tqdm", "tqdm"])
@pytest.mark.parametrize("stream", [lambda: Lost(0, False), lambda: Lost(3, True)], ids=["log", "terminal"])
def test_training_goes_on_without_its_terminal(stream, has_tqdm, monkeypatch, request):
    request.getfixturevalue("tqdm" if has_tqdm else "without_tqdm")
    monkeypatch.setattr(_progress, "REDRAW_PERIOD", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    OnlineEMLDA(max_iter=2, batch_size=10, verbose=1, random_state=0).fit(BARS)
    monkeypatch.undo()
    assert not _progress._owner


@pytest.mark.usefixtures("without_tqdm")
@pytest.mark.parametrize("closed_at", [0, 1], ids=["before", "during"])
def test_training_goes_on_after_its_stream_is_closed(closed_at, terminal):
    progress = None if closed_at == 0 else show_progress("fit", 2)
    terminal.close()
    progress = progress or show_progress("fit", 2)
    with progress:
        progress.advance(2)
    assert not _progress._owner


def test_a_progress_bar_of_scikit_learn_is_not_disturbed(capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    model = OnlineEMLDA(verbose=1)
    model._skl_callbacks = [object.__new__(callback.ProgressBar)]
    with FitMonitor(model) as monitor:
        monitor.begin(10)
        monitor.after_update(10)
    assert not capsys.readouterr().err
