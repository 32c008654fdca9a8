"""Teams: results in order, errors and Ctrl-C when nobody is at work any more, and no thread left behind."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from sktopic._kernels.threads import _team
from sktopic._kernels.threads._interrupt import Stopped
from sktopic._kernels.threads._team import Team
from tests.conftest import press_ctrl_c

for_teams = pytest.mark.parametrize("n_helpers", [1, 3])
# Signals, the main thread, the number of threads and processor time are of the whole process.
alone = pytest.mark.thread_unsafe(reason="looks at the whole process")


def in_main():
    return threading.get_ident() == threading.main_thread().ident


def assert_interrupted(run, seconds):
    """Ctrl-C ends a run that takes longer than these seconds."""

    def interrupt_later():
        begun.wait(10)
        time.sleep(seconds)
        press_ctrl_c()

    def run_on_time():
        begun.set()  # what starts or wakes a thread takes longer, and may be cut in two
        run()

    begun, thread = threading.Event(), threading.Thread(target=interrupt_later)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_on_time()
    thread.join()


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    assert condition()


def assert_works(team):
    assert team.map(abs, [(-i,) for i in range(4)]) == [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def _interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def leaves_no_thread():
    """Afterwards there are as many threads as before, or fewer: some of an earlier test may be ending."""
    tasks = "/proc/self/task"
    if not os.path.exists(tasks):
        pytest.skip("needs /proc")
    before = len(os.listdir(tasks))
    yield
    wait_for(lambda: len(os.listdir(tasks)) <= before)


@for_teams
def test_results_are_in_order_round_after_round(n_helpers):
    team = Team(n_helpers)
    for i in range(1000):
        n = 50 if i % 100 == 0 else i % 7
        assert team.map(pow, [(j, 2) for j in range(n)]) == [j**2 for j in range(n)]
        if i % 200 == 0:  # helpers watch, or sleep
            time.sleep(0.002)


@for_teams
def test_all_threads_take_pieces(n_helpers):
    def piece():
        at_work.add(threading.get_ident())
        wait_for(lambda: len(at_work) == team.size)
        return threading.get_ident()

    team = Team(n_helpers)
    assert team.size == n_helpers + 1
    for pause in (0.0, 0.01):
        time.sleep(pause)
        at_work = set()
        assert set(team.map(piece, [()] * team.size)) == at_work


@alone
@pytest.mark.parametrize("n_started", [0, 2])
def test_threads_that_cannot_be_started_are_done_without(n_started, monkeypatch, leaves_no_thread):
    def start(*arguments):
        if len(started) == n_started:
            raise RuntimeError("can't start new thread")
        started.append(start_new_thread(*arguments))

    started, start_new_thread = [], _team.start_new_thread
    monkeypatch.setattr(_team, "start_new_thread", start)
    team = Team(3)
    assert team.size == 1 + n_started
    assert_works(team)
    team.close()


@alone
@pytest.mark.parametrize("fails_in_main", [False, True])
def test_an_error_is_raised_when_nobody_is_at_work_and_stops_what_has_not_begun(fails_in_main):
    def piece():
        begun.append(1)
        wait_for(lambda: len(begun) == 2)
        if in_main() == fails_in_main:
            raise ValueError("a piece")
        time.sleep(0.05)
        ended.append(1)

    team, begun, ended = Team(1), [], []
    with pytest.raises(ValueError, match="a piece"):
        team.map(piece, [()] * 10)
    assert len(begun) == 2 and len(ended) == 1
    assert_works(team)


@alone
@pytest.mark.parametrize("interrupted", [False, True])
def test_the_first_error_and_ctrl_c_are_raised_where_the_calling_thread_waits_for_others(interrupted):
    def piece():
        begun.append(1)
        wait_for(lambda: len(begun) == 2)
        if in_main():
            if not interrupted:
                time.sleep(0.05)
                raise Stopped
            threading.Timer(0.05, press_ctrl_c).start()
            return
        if not interrupted:
            raise ValueError("a piece")
        time.sleep(0.3)
        ended.append(1)

    team, begun, ended = Team(1), [], []
    with pytest.raises(KeyboardInterrupt if interrupted else ValueError):
        team.map(piece, [(), ()])
    assert len(ended) == interrupted
    assert_works(team)


@alone
@pytest.mark.parametrize("n_helpers", [0, 2])
def test_ctrl_c_is_raised_between_short_pieces(n_helpers):
    assert_interrupted(partial(Team(n_helpers).map, time.sleep, [(0.001,)] * 10_000), 0.05)


def test_a_piece_that_hands_out_pieces_works_alone():
    def piece(*some):
        time.sleep(0.001)  # meanwhile others may have taken all pieces
        return team.map(abs, list(some))

    team = Team(2)
    for _ in range(20):
        assert team.map(piece, [((-i,), (-1,)) for i in range(6)]) == [[i, 1] for i in range(6)]


@alone
@pytest.mark.parametrize("closes", [False, True])
def test_no_thread_is_left_behind(closes, leaves_no_thread):
    for i in range(50):
        team = Team(3)
        if i % 3:
            assert_works(team)
        if i % 10 == 0:
            time.sleep(0.002)
        if closes:
            team.close()
            team.close()
            assert team.size == 1
            assert_works(team)
        del team


@pytest.mark.slow
@alone
def test_ctrl_c_leaves_no_thread_behind(leaves_no_thread):
    def work_on(team):
        while True:
            assert_works(team)

    for i in range(30):
        team = Team(2)
        assert_interrupted(partial(work_on, team), 0.01 + 0.0001 * i)
        assert_works(team)
    del team


@pytest.mark.slow
@alone
def test_helpers_sleep_where_there_is_nothing_to_do():
    team = Team(3)
    assert_works(team)
    time.sleep(0.01)
    start = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - start < 0.05


def test_a_team_elsewhere_is_one_thread():
    assert pickle.loads(pickle.dumps(Team(3))).size == 1


FORK = """
import os
from sktopic._kernels.threads._team import Team

for pieces in ([], [(-1,)] * 4):
    team = Team(2)
    team.map(abs, pieces)
    if os.fork() == 0:
        assert team.map(abs, [(-1,)] * 4) == [1] * 4
        team.close()
        assert Team(2).map(abs, [(-1,)] * 4) == [1] * 4
        del team
        os._exit(0)
    assert os.wait()[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_goes_on_alone():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


def test_an_interpreter_that_ends_waits_for_nobody():
    """Helpers that have not begun yet never do."""
    code = "from sktopic._kernels.threads._team import Team; left_open = Team(3)"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)
