"""Ctrl-C is answered at once, other signals after an update; both leave complete updates."""

import itertools
import signal
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._estimators import _concurrency
from sktopic._runtime import _parallel
from sktopic._runtime._arrays import Scratch
from sktopic._runtime._interrupt import SIGNALS, complete_or_undone, uninterrupted
from sktopic._runtime._parallel import Workers
from sktopic._topics._word_count_edits import of_topics
from sktopic._training._sweeps import SweepTrainer
from sktopic.hdp import _variational_split_merge
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.lda._collapsed_method import CollapsedLDA

from .conftest import all_attributes, assert_same_state, press_ctrl_c, state
from .registry import CLASSES, STEPS, defaults, is_minibatch, is_sampler

# Seconds of the processor, which other programs do not add to.
SOON = 0.5
HUGE = 10**6


def random_counts(n_documents, n_features, density, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n_documents, n_features)) < density
    return sp.csr_array(mask * rng.integers(1, 4, size=mask.shape).astype(float))


FEW = random_counts(12, 400, 0.1)
LONG = random_counts(60, 400, 0.9, seed=1)


def interrupted(monkeypatch, place, run, call=1, delay=None):
    """Run a function with SIGINT right after a call (counted from 1) of the function at a place.

    With a delay, the signal comes that many seconds after the call begins. Returns the seconds of the
    processor from the signal to KeyboardInterrupt.
    """
    module, _, path = place.partition(":")
    *outer, name = path.split(".")
    original, sent, timers = resolve_name(place), [], []
    numbers = itertools.count(1)  # of calls, also of two threads at once

    def fire():
        sent.append(time.process_time())
        press_ctrl_c()

    def wrapped(*arguments, **keywords):
        number = next(numbers)
        if number == call and delay is not None:
            timers.append(threading.Timer(delay, fire))
            timers[0].start()
        result = original(*arguments, **keywords)
        if number == call and delay is None:
            fire()
        return result

    with monkeypatch.context() as patch:
        patch.setattr(resolve_name(":".join([module, *outer])), name, wrapped)
        with pytest.raises(KeyboardInterrupt):
            run()
    seconds = time.process_time() - sent[0]
    for timer in timers:
        timer.join()
    return seconds


def new(name, **parameters):
    return CLASSES[name](random_state=0, **parameters)


def trace_calls(act, run):
    """Run a function whose frames and lines act(frame, event) sees; KeyboardInterrupt ends it."""
    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: act(frame, event))
    try:
        run()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


# Calls that take long

# Estimator, parameters that make a step long, kernel, threads: one alone or two.
LONG_SEARCH = {"max_doc_update_iter": 4000, "mean_change_tol": 0.0}
LONG_BOUND = {"max_doc_update_iter": 400, "bound_tol": 0.0}
LONG_STEPS = [
    ("OnlineVariationalLDA", LONG_SEARCH, "_inference._variational:update_documents", 2),
    ("OnlineVariationalHDP", LONG_BOUND, "hdp._stick_breaking:update_documents", 2),
    ("OnlineEMLDA", {"doc_sweeps": 4000}, "_inference._dense_gibbs:sweep_documents", 1),
    ("OnlineEMLDA", {"doc_sweeps": 4000}, "_inference._dense_gibbs:sweep_documents", 2),
    ("DMRLDA", {"doc_sweeps": 4000}, "_inference._dense_gibbs:sweep_documents", 1),
    ("HybridLDA", {"doc_sweeps": 4000, "counts": "draws"}, "_inference._sparse_gibbs:sweep_documents", 2),
    ("HybridHDP", {"doc_sweeps": 4000, "sampler": "table_indicator"}, "hdp._table_step:sweep_tables", 1),
    ("OnlineOPELDA", {"max_doc_update_iter": 30000}, "lda._ope:maximise_documents", 2),
    ("OnlineCVB0LDA", {"max_doc_update_iter": 2000}, "lda._cvb0:collapse_documents", 1),
    ("TruncationFreeHDP", {"doc_sweeps": 4000}, "hdp._restaurants:sweep_cells", 2),
    ("DirectAssignmentHDP", LONG_SEARCH, "_inference._variational:update_documents", 2),
    ("OnlineEMHDP", {"doc_sweeps": 4000}, "_inference._dense_gibbs:sweep_documents", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "long", "kernel", "n_jobs"), LONG_STEPS)
def test_document_step_stops_soon_and_changes_nothing(name, long, kernel, n_jobs, monkeypatch):
    model = new(name, n_components=50, batch_size=HUGE, total_samples=100, n_jobs=n_jobs, **long)
    counts = {key: 2 for key, value in model.get_params().items() if key in long and isinstance(value, int)}
    model.set_params(**counts).partial_fit(FEW).set_params(**long)
    before = state(model)
    seconds = interrupted(monkeypatch, f"sktopic.{kernel}", lambda: model.partial_fit(LONG), delay=0.1)
    assert seconds < SOON * n_jobs
    assert_same_state(state(model), before)
    for call in (model.transform, model.elbo) if name == "OnlineVariationalLDA" else ():
        seconds = interrupted(monkeypatch, f"sktopic.{kernel}", lambda c=call: c(LONG), delay=0.1)
        assert seconds < SOON * n_jobs, call


@pytest.mark.slow
def test_last_pass_is_interrupted_where_it_tries_many_pairs(monkeypatch):
    settings = {"n_components": 200, "batch_size": HUGE, "shuffle": False, "total_samples": 80}
    counts = random_counts(80, 3000, 0.05)
    expected = new("DirectAssignmentHDP", **settings).partial_fit(counts)
    model = new("DirectAssignmentHDP", **settings, max_iter=2)
    interrupted(monkeypatch, "sktopic.hdp._final_moves:documents_change", lambda: model.fit(counts))
    assert model.n_batch_iter_ == 1
    assert_array_equal(model.components_, expected.components_)
    assert len(model.move_history_) == 0


# Estimator, its parameters, kernel
SHARED, CELLS = "lda._shards:Shard.sweep", "hdp._restaurants:sweep_cells"
TABLES = "hdp._collapsed_method:draw_tables"
LEARNED = {"doc_topic_prior": "auto", "prior_interval": 1}
DIRECT = {"sampler": "direct_assignment", "n_proposals": 2}
SAMPLERS = {
    "LDA": ("CollapsedGibbsLDA", {}, SHARED),
    "LDA, many topics": ("CollapsedGibbsLDA", {"n_components": 200}, SHARED),
    "LDA in shards": ("CollapsedGibbsLDA", {"n_shards": 2, "n_jobs": 2}, SHARED),
    "LDA, learned": ("CollapsedGibbsLDA", LEARNED, SHARED),
    "table indicators": ("CollapsedGibbsHDP", {}, CELLS),
    "direct assignment": ("CollapsedGibbsHDP", DIRECT, TABLES),
}
CALLS_A_SWEEP = {"LDA in shards": 2, "direct assignment": 2}


def sampler(name, **parameters):
    kind, own, place = SAMPLERS[name]
    return new(kind, **{"n_components": 40, **own, **parameters}), f"sktopic.{place}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_components", "n_repeats"),
    [("LDA", 500, 3), ("LDA", 190, 12), ("LDA in shards", 500, 2), ("table indicators", 500, 1)],
)
def test_long_sweep_stops_soon(name, n_components, n_repeats, monkeypatch):
    model, place = sampler(name, max_iter=3, n_components=n_components)
    before = state(model)
    X = sp.csr_array(sp.vstack([random_counts(100, 4000, 0.7, seed=2)] * n_repeats))
    assert interrupted(monkeypatch, place, lambda: model.fit(X), delay=0.05) < SOON
    assert_same_state(state(model), before)


@pytest.mark.slow
def test_long_document_stops_soon(monkeypatch):
    counts = sp.csr_array(np.full((1, 5000), 10.0))
    model = new("MomentMatchingLDA", n_components=1000)
    place = "sktopic.moment_matching._method:filter_tokens"
    assert interrupted(monkeypatch, place, lambda: model.fit(counts), delay=0.1) < SOON
    # The state is the posterior given the tokens seen so far.
    assert 0 < model.n_tokens_seen_ < counts.sum()
    assert np.isfinite(model.partial_fit(counts[:, :] * 0.01).log_marginal_likelihood_)


# Updates that are whole or undone


class Owner:
    """Something whose attributes an update sets."""

    def __init__(self, waits):
        self.old, self._waits = 1, waits

    def update(self, stop):
        with complete_or_undone(self, waits=self._waits):
            self.old, self.new = 2, 3
            if stop:
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_ctrl_c_at_the_edges_of_an_update_does_not_split_it(stop, waits):
    """At each call and line of the update itself, beside the one that may stop it."""
    outcomes, n_lines = [], 0
    while True:
        owner, lines = Owner(waits), []

        def act(frame, event, lines=lines, n_lines=n_lines):
            if "sktopic" not in frame.f_code.co_filename and frame.f_code.co_name != "update":
                return None
            lines.append(event)
            if len(lines) == n_lines + 1:
                signal.raise_signal(signal.SIGINT)
            return lambda frame, event, _: act(frame, event)

        trace_calls(act, lambda owner=owner: owner.update(stop))
        assert vars(owner) in ({"old": 1, "_waits": waits}, {"old": 2, "new": 3, "_waits": waits})
        with pytest.raises(KeyboardInterrupt):  # Ctrl-C works as before
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        outcomes.append(owner.old)
        if len(lines) <= n_lines:
            break
        n_lines += 1
    assert outcomes[0] == 1 and outcomes[-1] == (1 if stop and not waits else 2)
    assert n_lines > 20


@pytest.mark.parametrize("waits", [False, True])
def test_ctrl_c_while_others_work_does_not_split_an_update(waits):
    owner, ended = Owner(waits), []

    def piece():
        if threading.get_ident() == threading.main_thread().ident:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        ended.append(1)

    def update():
        with Workers(2) as workers, complete_or_undone(owner, waits=waits):
            owner.old = 2
            workers.map_here(piece, [()] * 4)
            owner.old = 3

    with pytest.raises(KeyboardInterrupt):
        update()
    assert owner.old == (3 if waits else 1)
    assert len(ended) == 4 or not waits
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


OTHERS = [number for number in SIGNALS if number != signal.SIGINT]


@contextmanager
def handled(numbers, handler):
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, original in before.items():
            signal.signal(number, original)


@pytest.mark.parametrize("waits", [False, True])
def test_handlers_of_other_signals_run_after_the_update(waits):
    """At each call and line of the update; each signal once, also if handlers raise."""
    n_lines = 0
    while True:
        owner, lines, seen = Owner(waits), [], []

        def act(frame, event, lines=lines, n_lines=n_lines):
            if "sktopic" not in frame.f_code.co_filename and frame.f_code.co_name != "update":
                return None
            lines.append(event)
            if len(lines) == n_lines + 1:
                for number in OTHERS:
                    signal.raise_signal(number)
            return lambda frame, event, _: act(frame, event)

        def handler(number, frame, owner=owner, seen=seen):
            seen.append((number, dict(vars(owner))))

        with handled(OTHERS, handler):
            trace_calls(act, lambda owner=owner: owner.update(stop=False))
            assert all(signal.getsignal(number) is handler for number in OTHERS)
        done = len(lines) <= n_lines
        assert sorted(number for number, _ in seen) == ([] if done else sorted(OTHERS))
        whole = {"old": 1, "_waits": waits}, {"old": 2, "new": 3, "_waits": waits}
        assert all(attributes in whole for _, attributes in seen)
        if done:
            break
        n_lines += 1
    assert n_lines > 20


@pytest.mark.parametrize("with_ctrl_c", [False, True])
@pytest.mark.parametrize("block", [uninterrupted, partial(complete_or_undone, Owner(True), waits=True)])
def test_handlers_that_raise_lose_no_other_signal_nor_ctrl_c(block, with_ctrl_c):
    seen = []

    def handler(number, frame):
        seen.append(number)
        raise TimeoutError(number)

    def update():
        with block():
            if with_ctrl_c:
                signal.raise_signal(signal.SIGINT)
            for number in OTHERS:
                signal.raise_signal(number)
            assert not seen

    with handled(OTHERS, handler):
        with pytest.raises(KeyboardInterrupt if with_ctrl_c else TimeoutError):
            update()
        assert seen == OTHERS
        assert all(signal.getsignal(number) is handler for number in OTHERS)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Estimator, parameters, a place in the global step; whether the first update has it
COUNTS = "_topics._word_counts:WordCounts"
UPDATES = [
    ("OnlineEMLDA", {"average": True}, f"{COUNTS}.count_average", True),
    # Otherwise, topics would start from the documents of the first call.
    ("StreamingVariationalLDA", {"components_init": None}, f"{COUNTS}.add", True),
    ("LangevinLDA", {}, "lda._langevin:LangevinUpdate.__call__", True),
    ("HybridLDA", {"doc_topic_prior": "auto"}, "lda._minibatch_method:MinibatchLDA.learned_prior", True),
    ("HybridHDP", {}, "hdp._hybrid_topics:HybridTopics._learned_root", False),
    ("OnlineVariationalHDP", {}, f"{COUNTS}.add", True),
    ("OnlineEMHDP", {"max_births": 3}, "hdp._online_em_method:with_births", True),
    ("OnlineEMHDP", {"max_births": 3, "learning_decay": 0.0}, "hdp._online_em_method:with_births", True),
    ("TruncationFreeHDP", {}, f"{COUNTS}.add", True),
    ("DirectAssignmentHDP", {}, "hdp._batch_moves:BatchMoves.merge", False),
    ("DirectAssignmentHDP", {}, "hdp._direct_assignment_method:DirectAssignment.learned", True),
]


def test_every_estimator_has_a_row_or_shares_what_is_interrupted():
    """Filters stop within documents, for which there are tests of one of them."""
    methods = {type(new(kind)._method()) for kind, *_ in UPDATES}
    missing = {type(one).__name__ for one in STEPS if is_minibatch(one)} - {name for name, *_ in LONG_STEPS}
    missing |= {type(one).__name__ for one in defaults(is_sampler)} - {kind for kind, *_ in SAMPLERS.values()}
    missing |= {repr(one) for one in defaults(is_minibatch) if type(one._method()) not in methods}
    assert not missing, f"add rows of {missing} to LONG_STEPS, SAMPLERS or UPDATES"


@pytest.mark.parametrize(("kind", "parameters", "place", "is_in_first"), UPDATES)
def test_long_global_step_is_undone(kind, parameters, place, is_in_first, monkeypatch):
    """As if it had not begun. And a long step does what a short one does."""
    size = {} if "max_births" in parameters else {"n_components": 5}
    for update in (1, 3) if is_in_first else (3,):
        expected, model = (new(kind, batch_size=4, **size, **parameters) for _ in range(2))
        if update > 1:
            expected.partial_fit(FEW[: 4 * (update - 1)])
        call = update - (not is_in_first)
        with monkeypatch.context() as patch:
            patch.setattr("sktopic._training._minibatches.LONG_WORK", 0)
            interrupted(monkeypatch, f"sktopic.{place}", lambda m=model: m.partial_fit(FEW), call=call)
            if update > 1:
                assert_same_state(state(model), state(expected))
            model.partial_fit(FEW)
        assert_same_state(state(model), state(expected.partial_fit(FEW)))


@pytest.mark.parametrize("name", SAMPLERS)
def test_interrupted_sweep_is_undone(name, monkeypatch):
    draws = {"n_draws": 1} if "LDA" in name else {}
    for sweep, scale in [(1, 1.0), (3, 1.0), (3, 0.3)]:
        counts = FEW * scale
        expected = sampler(name, max_iter=2, **draws)[0].fit(counts)
        model, place = sampler(name, max_iter=9, **draws)
        before = state(model)
        call = CALLS_A_SWEEP.get(name, 1) * (sweep - 1) + 1
        interrupted(monkeypatch, place, lambda model=model, X=counts: model.fit(X), call=call)
        if sweep == 1:
            assert_same_state(state(model), before)
        else:
            assert model.n_samples_seen_ == FEW.shape[0]
            assert model.n_iter_ == 2
            found, wanted = all_attributes(model), all_attributes(expected)
            for field in ("words.store", "words.totals", "tables", "ids", "doc_topic_prior"):
                assert_array_equal(found.get(f"_state.{field}"), wanted.get(f"_state.{field}"))
        model.set_params(max_iter=2).partial_fit(FEW)
        assert model.topic_word_counts_.sum() == pytest.approx((FEW * (scale * (sweep > 1) + 1)).sum())


def test_a_handler_that_sets_another_is_followed_by_it():
    """As the first Ctrl-C may make the second one stop at once."""

    def first(number, frame):
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with handled([signal.SIGINT], first):
        Owner(waits=False).update(stop=True)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("owner", [(_parallel, "_limiting"), (_concurrency, "_adding"), (Scratch(), "_lock")])
def test_handlers_may_need_what_is_locked(owner):
    """They run in the thread that holds the lock."""
    lock = getattr(*owner)
    with lock:
        assert lock.acquire(blocking=False)
        lock.release()


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (partial(new, "OnlineVariationalLDA", n_components=5, batch_size=HUGE), f"{COUNTS}.add"),
        (partial(new, "CollapsedGibbsLDA", n_components=5, n_draws=1), SHARED),
        (partial(new, "CollapsedGibbsHDP", n_components=5), CELLS),
    ],
)
def test_a_handler_reads_complete_updates(make, place, monkeypatch):
    """The signal comes after a step inside each update, as of a batch system that asks to save."""
    module, _, path = f"sktopic.{place}".partition(":")
    *outer, name = path.split(".")
    model, whole, read = make(max_iter=3), [make(max_iter=n).fit(FEW) for n in (1, 2, 3)], []
    original = resolve_name(f"sktopic.{place}")

    def signalled(*arguments, **keywords):
        result = original(*arguments, **keywords)
        signal.raise_signal(signal.SIGTERM)
        return result

    def read_model(*_):
        if model._is_fitted() and model.n_iter_:
            read.append(model.topic_word_counts_.copy() if is_sampler(model) else model.components_)

    monkeypatch.setattr(resolve_name(":".join([module, *outer])), name, signalled)
    with handled([signal.SIGTERM], read_model):
        model.fit(FEW)
    known = [each.topic_word_counts_ if is_sampler(each) else each.components_ for each in whole]
    assert len(read) > 1
    assert all(any(np.array_equal(found, each) for each in known) for found in read)


def test_ctrl_c_just_before_the_end_of_a_call_does_not_take_the_end_away():
    """Once sampling is over, documents enter what is learned of the prior."""
    expected, model = (
        CollapsedGibbsLDA(5, max_iter=2, doc_topic_prior="auto", random_state=0) for _ in range(2)
    )
    expected.fit(FEW)
    raised = []

    def act(frame, event):
        if frame.f_code is SweepTrainer.leave.__code__ and not raised:
            raised.append(1)
            signal.raise_signal(signal.SIGINT)

    trace_calls(act, lambda: model.fit(FEW))
    assert raised
    assert_same_state(state(model), state(expected))


@pytest.mark.parametrize("n_shards", [1, 2])
def test_the_end_of_a_call_changes_no_counts(n_shards, monkeypatch):
    """Threads that read between the last sweep and the end of a call get what they get after it.

    Whole counts beside thirds from earlier documents get rounding errors, which recounts remove.
    """
    last, ended = [], CollapsedLDA.ended

    def recorded(method, state, call, mean):
        last.append((state.words.store.copy(), state.words.totals.copy()))
        return ended(method, state, call, mean)

    monkeypatch.setattr(CollapsedLDA, "ended", recorded)
    model = CollapsedGibbsLDA(5, max_iter=9, n_draws=1, n_shards=n_shards, random_state=0).fit(FEW / 3.0)
    model.partial_fit(FEW)
    store, totals = last[-1]
    assert_array_equal(model._state.words.store, store)
    assert_array_equal(model._state.words.totals, totals)


@pytest.mark.parametrize("name", ["LDA", "table indicators"])
def test_a_first_sweep_counts_with_the_call_or_not_at_all(name, monkeypatch):
    """SIGINT between the end of the sweep and that of the beginning of the call."""
    X, more = random_counts(30, 20, 0.5), random_counts(10, 20, 0.5, seed=1)
    model = sampler(name, n_components=3, max_iter=3)[0].fit(X)
    before = state(model)
    place = "sktopic._training._sweeps:SweepTrainer.complete_sweep"
    for method in (model.fit, model.partial_fit):
        interrupted(monkeypatch, place, lambda method=method: method(more))
        after = state(model)
        assert after.keys() == before.keys()
        for field in ("_state.words.store", "_state.words.totals"):
            assert_array_equal(after[field], before[field])
        assert model.n_samples_seen_ == 30
    model.partial_fit(more)
    assert model.topic_word_counts_.sum() == pytest.approx(X.sum() + more.sum())


def test_priors_are_learned_with_their_sweep_or_not_at_all(monkeypatch):
    """Threads that read between two sweeps never meet counts of one and priors of the other either."""
    learning = {"doc_topic_prior": "auto", "topic_word_prior": "auto", "prior_interval": 1, "n_draws": 1}
    model = new("CollapsedGibbsLDA", n_components=5, max_iter=9, **learning)
    place = "sktopic.lda._collapsed_method:with_learned_topic_word_prior"
    interrupted(monkeypatch, place, lambda: model.fit(FEW), call=3)
    expected = new("CollapsedGibbsLDA", n_components=5, max_iter=model.n_iter_, **learning).fit(FEW)
    assert_array_equal(model.topic_word_counts_, expected.topic_word_counts_)
    assert_array_equal(model.doc_topic_prior_, expected.doc_topic_prior_)
    assert model._state.prior.base == expected._state.prior.base


# Work in parts, between which Ctrl-C is heard, has the results of the whole


def test_arrays_that_are_gone_over_in_blocks_become_the_same(monkeypatch):
    expected = state(OnlineEMLDA(n_components=5, average=True, random_state=0).fit(FEW))
    monkeypatch.setattr("sktopic._runtime._arrays.BLOCK_ENTRIES", 40)
    model = OnlineEMLDA(n_components=5, average=True, random_state=0).fit(FEW)
    assert_same_state(state(model), expected)
    words = model._state.words
    extended = of_topics(words, [3, 0], n_spare=2)
    assert_array_equal(extended.store, np.hstack([words.store[:, [3, 0]], np.zeros((400, 2))]))
    assert extended.scale == words.scale
    x = np.random.default_rng(0).normal(size=(20, 50))
    monkeypatch.setattr(_variational_split_merge, "PRODUCT_WORK", 7000)
    assert_allclose(_variational_split_merge.products(x), x.T @ x, rtol=1e-12)


def test_pieces_of_a_document_are_filtered_as_the_whole(monkeypatch):
    fit = partial(new, "TriangularDirichletLDA", n_components=5)
    expected = fit().fit(FEW)
    monkeypatch.setattr("sktopic.moment_matching._tokens.LONGEST_WORK", 100)
    assert_same_state(state(fit().fit(FEW)), state(expected))
