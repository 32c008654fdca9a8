"""All orders in which threads of a team can take their steps: none leaves a thread asleep or a piece undone.

What threads do in `_team.pyx` is written here as generators that yield each read and each write of shared
numbers. All states that can be reached are visited; a schedule leads to each.
"""

from functools import partial

import pytest

N_PIECES = 2


class Shared(dict):
    """The numbers of a team; "token ..." is 1 while a lock can be acquired."""

    def __init__(self, n_helpers):
        names = ["round", "busy", "n_taken", "leave", "n_done", "n_at_work"]
        beds = ["caller", *range(n_helpers)]
        super().__init__(dict.fromkeys(names, 0))
        self.update({(kind, bed): 0 for kind in ("asleep", "token") for bed in beds})
        self.update({("ended", i): 0 for i in range(n_helpers)})

    def add(self, name, more):
        self[name] += more
        return self[name]

    def exchange(self, name, value):
        before, self[name] = self[name], value
        return before


def load(name):
    return lambda shared: shared[name]


def add(name, more):
    return lambda shared: shared.add(name, more)


def exchange(name, value):
    return lambda shared: shared.exchange(name, value)


def acquire(name):
    """None, for "not now", where others have to release the lock first."""
    return lambda shared: shared.exchange(name, 0) or None


# The threads, in the order of `_team.pyx`


def wake(bed):
    if (yield exchange(("asleep", bed), 0)):
        yield exchange(("token", bed), 1)


def await_change(name, value, bed):
    while (yield load(name)) == value:
        yield exchange(("asleep", bed), 1)
        if (yield load(name)) != value and (yield exchange(("asleep", bed), 0)):
            return
        yield acquire(("token", bed))


def work():
    yield add("n_at_work", 1)
    while (yield add("n_taken", 1)) <= N_PIECES:
        yield add("n_done", 1)
    yield add("n_at_work", -1)


def help_out(i, looks_first):
    """A helper; one that looks first whether the team is closed is the wrong one."""
    seen = 0
    while True:
        yield from await_change("round", seen, i)
        leave = looks_first and (yield load("leave"))
        if not leave:
            seen = yield load("round")
        if not looks_first:
            leave = yield load("leave")
        if leave:
            break
        if seen & 1:
            yield add("busy", 1)
            if (yield load("round")) == seen:
                yield from work()
            if (yield add("busy", -1)) == 0:
                yield from wake("caller")
    yield exchange(("ended", i), 1)


def await_helpers():
    while (yield load("busy")):
        yield exchange(("asleep", "caller"), 1)
        if (yield load("busy")) == 0 and (yield exchange(("asleep", "caller"), 0)):
            return
        yield acquire(("token", "caller"))


def call(n_helpers, n_rounds):
    for _ in range(n_rounds):
        yield exchange("n_taken", 0)
        yield exchange("n_done", 0)
        yield add("round", 1)
        for i in range(min(n_helpers, N_PIECES - 1)):
            yield from wake(i)
        yield from work()
        yield add("round", 1)
        yield from await_helpers()
        assert (yield load("n_done")) == N_PIECES, "a piece was not done, or done twice"
        assert (yield load("n_at_work")) == 0, "somebody is still at work"
    yield exchange("leave", 1)
    yield add("round", 2)
    for i in range(n_helpers):
        yield from wake(i)
    for i in range(n_helpers):
        yield acquire(("ended", i))


# All schedules


class Run:
    """The threads after a schedule: a sequence of numbers of threads, each of which takes a step."""

    def __init__(self, make, schedule):
        self.shared, self.threads = make()
        self.steps = [next(thread, None) for thread in self.threads]
        for number in schedule:
            self.step(number)

    def step(self, number):
        """Whether the thread could take a step."""
        found = self.steps[number](self.shared)
        if found is None:
            return False
        try:
            self.steps[number] = self.threads[number].send(found)
        except StopIteration:
            self.steps[number] = None
        return True

    def state(self):
        return tuple(self.shared.values()), tuple(map(place, self.threads))


def place(thread):
    """Where a generator is, and those it waits for: instructions and local variables."""
    found = []
    while thread is not None and thread.gi_frame is not None:
        frame = thread.gi_frame
        values = [v for v in frame.f_locals.values() if isinstance(v, (int, str, bool))]
        found.append((frame.f_lasti, *values))
        thread = thread.gi_yieldfrom
    return tuple(found)


def visit(make):
    """Visit all states; returns their number."""
    seen, waiting = set(), [()]
    while waiting:
        schedule = waiting.pop()
        run = Run(make, schedule)
        alive = [number for number, step in enumerate(run.steps) if step is not None]
        moved = False
        for number in alive:
            if not run.step(number):
                continue
            moved = True
            state = run.state()
            if state not in seen:
                seen.add(state)
                waiting.append((*schedule, number))
            run = Run(make, schedule)
        assert moved or not alive, f"threads {alive} wait for ever: {dict(run.shared)}"
    return len(seen)


def team(n_helpers, n_rounds, looks_first=False):
    threads = [call(n_helpers, n_rounds), *(help_out(i, looks_first) for i in range(n_helpers))]
    return Shared(n_helpers), threads


@pytest.mark.parametrize(("n_helpers", "n_rounds"), [(1, 0), (1, 2), (2, 0), (2, 1)])
def test_every_order_of_steps_ends_with_all_done(n_helpers, n_rounds):
    print(visit(partial(team, n_helpers, n_rounds)))


def test_a_helper_that_looks_too_early_whether_the_team_is_closed_may_sleep_for_ever():
    with pytest.raises(AssertionError, match="wait for ever"):
        visit(partial(team, 1, 1, looks_first=True))
