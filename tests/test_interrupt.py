"""Ctrl-C is answered at once, and leaves the state of the last complete update."""

import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference import VariationalStep, _dense_gibbs, _sparse_gibbs, _variational
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import GatheredTopics
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_counts import WordCounts
from sktopic._training import _minibatches
from sktopic._training._sweeps import SweepTrainer
from sktopic.hdp import (
    CollapsedGibbsHDP,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMHDP,
    OnlineVariationalHDP,
    TruncationFreeHDP,
    _collapsed_method,
    _final_moves,
    _online_em_method,
    _restaurants,
    _shared_parameters,
    _stick_breaking,
    _table_step,
    _variational_split_merge,
)
from sktopic.hdp._batch_moves import BatchMoves
from sktopic.hdp._direct_assignment_method import DirectAssignment
from sktopic.hdp._hybrid_topics import HybridTopics
from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalLDA,
    StreamingVariationalLDA,
    _cvb0,
    _ope,
)
from sktopic.lda._langevin import LangevinUpdate
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.lda._shards import Shard
from sktopic.moment_matching import MomentMatchingLDA, TriangularDirichletLDA, _method, _tokens

from .conftest import all_attributes, assert_same, press_ctrl_c

# Seconds of the processor (those of other programs are none of our business).
SOON = 0.5
HUGE = 10**6


def random_counts(n_documents, n_features, density, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n_documents, n_features)) < density
    return sp.csr_array(mask * rng.integers(1, 4, size=mask.shape).astype(float))


FEW = random_counts(12, 400, 0.1)
LONG = random_counts(60, 400, 0.9, seed=1)


@pytest.fixture(autouse=True)
def _interruptible():
    """Python's own handler of SIGINT, whatever the tests were started from."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(monkeypatch, module, name, call=1, delay=0.1):
    """Send SIGINT a while after some call, counted from 1, of a function; at once for a delay of None.

    Returns a list, to which the processor time of the signal is added.
    """
    sent, calls, original = [], [], getattr(module, name)

    def fire():
        sent.append(time.process_time())
        press_ctrl_c()

    def wrapped(*arguments, **keywords):
        calls.append(1)
        if len(calls) == call and delay is None:
            result = original(*arguments, **keywords)
            fire()
            return result
        if len(calls) == call:
            threading.Timer(delay, fire).start()
        return original(*arguments, **keywords)

    monkeypatch.setattr(module, name, wrapped)
    return sent


def assert_stops_soon(sent, run):
    with pytest.raises(KeyboardInterrupt):
        run()
    assert time.process_time() - sent[0] < SOON


def state_of(model):
    return {
        name: np.copy(value) for name, value in all_attributes(model).items() if not name.startswith("__")
    }


def assert_same_state(model, state):
    assert all_attributes(model).keys() == state.keys()
    for name, value in state.items():
        assert_same(all_attributes(model)[name], value, name)


STEPS = {
    "variational": (
        partial(OnlineVariationalLDA, max_doc_update_iter=4000, mean_change_tol=0.0),
        (_variational, "update_documents"),
    ),
    "atoms": (
        partial(OnlineVariationalHDP, max_doc_update_iter=400, bound_tol=0.0),
        (_stick_breaking, "update_documents"),
    ),
    "gibbs": (partial(OnlineEMLDA, doc_sweeps=4000), (_dense_gibbs, "sweep_documents")),
    "counted draws": (partial(HybridLDA, doc_sweeps=4000), (_sparse_gibbs, "sweep_documents")),
    "tables": (partial(HybridHDP, sampler="table_indicator", doc_sweeps=4000), (_table_step, "sweep_tables")),
    "ope": (partial(OnlineOPELDA, max_doc_update_iter=30000), (_ope, "maximise_documents")),
    "cvb0": (partial(OnlineCVB0LDA, max_doc_update_iter=2000), (_cvb0, "collapse_documents")),
    "chain": (partial(TruncationFreeHDP, doc_sweeps=4000), (_restaurants, "sweep_cells")),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_document_step_stops_soon_and_changes_nothing(name, n_jobs, monkeypatch):
    make, kernel = STEPS[name]
    model = make(n_components=50, batch_size=HUGE, total_samples=100, n_jobs=n_jobs, random_state=0)
    long = {key: value for key, value in model.get_params().items() if key.startswith(("doc_", "max_doc"))}
    model.set_params(**{key: 2 for key in long if isinstance(long[key], int)}).partial_fit(FEW)
    model.set_params(**long)
    before = state_of(model)
    with monkeypatch.context() as patch:
        assert_stops_soon(interrupt(patch, *kernel), lambda: model.partial_fit(LONG))
    assert_same_state(model, before)


def test_transform_and_elbo_stop_soon(monkeypatch):
    model = OnlineVariationalLDA(n_components=50, random_state=0).fit(FEW)
    model.set_params(max_doc_update_iter=4000, mean_change_tol=0.0)
    for call in (model.transform, model.score, model.elbo):
        with monkeypatch.context() as patch:
            assert_stops_soon(interrupt(patch, _variational, "update_documents"), lambda c=call: c(LONG))


def test_other_threads_of_a_team_stop_soon():
    step = VariationalStep(10**6, 0.0)
    batch = DocumentBatch(
        *(np.array(a) for a in ([0, 400], [0, 400])),
        np.arange(400, dtype=np.int32),
        np.ones(400),
        np.arange(400, dtype=np.int32),
        np.arange(401),
        np.arange(400),
        np.array([400.0]),
    )
    rng = np.random.default_rng(0)
    topics = GatheredTopics(rng.random((400, 100), dtype=np.float32), None, None)
    started = threading.Event()

    def piece(first):
        if threading.current_thread() is threading.main_thread():
            assert started.wait(10)
            raise KeyboardInterrupt
        started.set()
        step(batch, topics, np.full(100, 0.1), None, Workers(1))

    with Workers(2) as workers:
        start = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            workers.map_here(piece, [(0,), (1,)])
        assert time.process_time() - start < 2 * SOON
        # They are as good as new.
        assert workers.map_here(abs, [(-1,), (-2,), (-3,)]) == [1, 2, 3]


UPDATES = {
    "averaged": (partial(OnlineEMLDA, n_components=5, average=True), (WordCounts, "count_average")),
    "summed": (partial(StreamingVariationalLDA, n_components=5), (WordCounts, "add")),
    "langevin": (partial(LangevinLDA, n_components=5), (LangevinUpdate, "__call__")),
    "prior": (partial(HybridLDA, n_components=5, doc_topic_prior="auto"), (MinibatchLDA, "learned_prior")),
    "hybrid HDP": (partial(HybridHDP, n_components=5), (HybridTopics, "_learned_root")),
    "sticks": (partial(OnlineVariationalHDP, n_components=5), (WordCounts, "add")),
    "births": (partial(OnlineEMHDP, max_births=3), (_online_em_method, "with_births")),
    "chain": (partial(TruncationFreeHDP, n_components=5), (WordCounts, "add")),
    "merges": (partial(DirectAssignmentHDP, n_components=5), (BatchMoves, "merge")),
    "moves": (partial(DirectAssignmentHDP, n_components=5), (DirectAssignment, "updated")),
}


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

        def trace(frame, event, _, lines=lines, n_lines=n_lines):
            if "sktopic" not in frame.f_code.co_filename and frame.f_code.co_name != "update":
                return None
            lines.append(event)
            if len(lines) == n_lines + 1:
                signal.raise_signal(signal.SIGINT)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            owner.update(stop)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
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
    ended = []

    def piece():
        if threading.get_ident() == threading.main_thread().ident:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        ended.append(1)

    def update(owner):
        with Workers(2) as workers, complete_or_undone(owner, waits=waits):
            owner.old = 2
            workers.map_here(piece, [()] * 4)
            owner.old = 3

    owner = Owner(waits)
    with pytest.raises(KeyboardInterrupt):
        update(owner)
    assert owner.old == (3 if waits else 1)
    assert len(ended) == 4 or not waits
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("update", [1, 3])
def test_long_global_step_is_undone(name, update, monkeypatch):
    make, place = UPDATES[name]
    settings = {"batch_size": 4, "random_state": 0}
    expected = make(**settings)
    if update > 1:
        expected.partial_fit(FEW[: 4 * (update - 1)])
    monkeypatch.setattr(_minibatches, "LONG_WORK", 0)
    with monkeypatch.context() as patch:
        call = update - 1 if place[1] in ("_learned_root", "merge") else update
        if call == 0:
            pytest.skip("the first update has no such part")
        interrupt(patch, *place, call=call, delay=None)
        model = make(**settings)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(FEW)
    if update > 1:
        assert_same_state(model, state_of(expected))
    # A long step does what a short one does.
    model.partial_fit(FEW)
    monkeypatch.undo()
    expected.partial_fit(FEW)
    assert_same_state(model, state_of(expected))


def test_merge_pass_stops_soon(monkeypatch):
    settings = {"n_components": 700, "batch_size": HUGE, "shuffle": False, "total_samples": 80}
    counts = random_counts(80, 3000, 0.05)
    expected = DirectAssignmentHDP(**settings, random_state=0).partial_fit(counts)
    with monkeypatch.context() as patch:
        sent = interrupt(patch, _final_moves, "documents_change", delay=None)
        # The last of two passes tries many pairs.
        model = DirectAssignmentHDP(**settings, max_iter=2, random_state=0)
        assert_stops_soon(sent, lambda: model.fit(counts))
    assert model.n_batch_iter_ == 1
    assert_array_equal(model.components_, expected.components_)
    assert len(model.move_history_) == 0


def test_products_in_parts_are_the_same(monkeypatch):
    x = np.random.default_rng(0).normal(size=(20, 50))
    monkeypatch.setattr(_variational_split_merge, "PRODUCT_WORK", 7000)
    assert_allclose(_variational_split_merge.products(x), x.T @ x, rtol=1e-12)


def test_arrays_that_are_gone_over_in_blocks_become_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    tokens, weights = rng.gamma(0.1, size=(50, 9)), np.full(9, 0.1)
    given = tokens, weights, 1.0, 1.0, 2.0
    settings = weights, 1.0, tokens.sum(axis=1), 2.0, (1.0, 1.0)
    expected = _shared_parameters.fit_weights(*given)
    alpha = _shared_parameters.fit_concentration(tokens, *settings)
    models = [OnlineEMLDA(n_components=5, average=True, random_state=0).fit(FEW)]
    monkeypatch.setattr("sktopic._runtime._arrays.BLOCK_ENTRIES", 40)
    models.append(OnlineEMLDA(n_components=5, average=True, random_state=0).fit(FEW))
    assert_array_equal(_shared_parameters.fit_weights(*given), expected)
    assert _shared_parameters.fit_concentration(tokens, *settings) == alpha
    assert_same_state(models[1], state_of(models[0]))
    statistics = models[1]._state.words
    assert_array_equal(of_topics(statistics, [3, 0]).store, statistics.store[:, [3, 0]])
    extended = of_topics(statistics, slice(None), n_spare=2)
    assert_array_equal(extended.store, np.hstack([statistics.store, np.zeros((400, 2))]))


SAMPLERS = {
    "LDA": (partial(CollapsedGibbsLDA, n_components=40), (Shard, "sweep")),
    "LDA, many topics": (partial(CollapsedGibbsLDA, n_components=200), (Shard, "sweep")),
    "LDA in shards": (
        partial(CollapsedGibbsLDA, n_components=40, n_shards=2, n_jobs=2),
        (Shard, "sweep"),
    ),
    "LDA, learned": (
        partial(CollapsedGibbsLDA, n_components=40, doc_topic_prior="auto", prior_interval=1),
        (Shard, "sweep"),
    ),
    "table indicators": (partial(CollapsedGibbsHDP, n_components=40), (_restaurants, "sweep_cells")),
    "direct assignment": (
        partial(CollapsedGibbsHDP, n_components=40, sampler="direct_assignment", n_proposals=2),
        (_collapsed_method, "draw_tables"),
    ),
}


def sweep_wide(n_repeats=1):
    """Documents that a sweep takes some seconds for."""
    return sp.csr_array(sp.vstack([random_counts(100, 4000, 0.7, seed=2)] * n_repeats))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_interrupted_sweep_is_undone(name, scale, monkeypatch):
    make, (module, kernel) = SAMPLERS[name]
    settings = {"random_state": 0} | ({"n_draws": 1} if "LDA" in name else {})
    calls_a_sweep = {"LDA in shards": 2, "direct assignment": 2}.get(name, 1)
    for sweep in (1, 3):
        expected = make(max_iter=2, **settings).fit(FEW * scale)
        model = make(max_iter=9, **settings)
        before = state_of(model)
        with monkeypatch.context() as patch:
            interrupt(patch, module, kernel, call=calls_a_sweep * (sweep - 1) + 1, delay=None)
            with pytest.raises(KeyboardInterrupt):
                model.fit(FEW * scale)
        if sweep == 1:
            assert_same_state(model, before)
        else:
            assert model.n_samples_seen_ == FEW.shape[0]
            assert model.n_iter_ == 2
            found, wanted = all_attributes(model), all_attributes(expected)
            for name in ("words.store", "words.totals", "tables", "ids", "doc_topic_prior"):
                assert_array_equal(found.get(f"_state.{name}"), wanted.get(f"_state.{name}"))
        model.set_params(max_iter=2).partial_fit(FEW)
        assert model.topic_word_counts_.sum() == pytest.approx((FEW * (scale * (sweep > 1) + 1)).sum())


def test_ctrl_c_just_before_the_end_of_a_call_does_not_take_the_end_away():
    """Once sampling is over, documents enter what is learned of the prior."""
    expected, model = (
        CollapsedGibbsLDA(5, max_iter=2, doc_topic_prior="auto", random_state=0) for _ in range(2)
    )
    expected.fit(FEW)
    raised = []

    def trace(frame, event, _):
        if frame.f_code is SweepTrainer.leave.__code__ and not raised:
            raised.append(1)
            signal.raise_signal(signal.SIGINT)
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(FEW)
    finally:
        sys.settrace(before)
    assert_same_state(model, state_of(expected))


@pytest.mark.parametrize(
    ("name", "n_components", "n_repeats"),
    [("LDA", 500, 4), ("LDA", 190, 20), ("LDA in shards", 500, 4), ("table indicators", 500, 4)],
)
def test_long_sweep_stops_soon(name, n_components, n_repeats, monkeypatch):
    make, (module, kernel) = SAMPLERS[name]
    model = make(max_iter=3, random_state=0).set_params(n_components=n_components)
    before = state_of(model)
    X = sweep_wide(n_repeats)
    with monkeypatch.context() as patch:
        assert_stops_soon(interrupt(patch, module, kernel, delay=0.2), lambda: model.fit(X))
    assert_same_state(model, before)


def test_long_document_stops_soon(monkeypatch):
    counts = sp.csr_array(np.full((1, 5000), 10.0))
    model = MomentMatchingLDA(n_components=1000, random_state=0)
    with monkeypatch.context() as patch:
        assert_stops_soon(interrupt(patch, _method, "filter_tokens"), lambda: model.fit(counts))
    # The state is the posterior given the tokens seen so far.
    assert 0 < model.n_tokens_seen_ < counts.sum()
    assert np.isfinite(model.partial_fit(counts[:, :] * 0.01).log_marginal_likelihood_)


def test_pieces_of_a_document_are_filtered_as_the_whole(monkeypatch):
    expected = TriangularDirichletLDA(n_components=5, random_state=0).fit(FEW)
    monkeypatch.setattr(_tokens, "LONGEST_WORK", 100)
    assert_same_state(TriangularDirichletLDA(n_components=5, random_state=0).fit(FEW), state_of(expected))


@pytest.mark.parametrize("cls", [CollapsedGibbsLDA, CollapsedGibbsHDP])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_first_sweep_counts_with_the_call_or_not_at_all(cls, method, monkeypatch):
    """SIGINT between the end of the sweep and that of the beginning of the call."""
    X, more = random_counts(30, 20, 0.5), random_counts(10, 20, 0.5, seed=1)
    model = cls(n_components=3, max_iter=3, random_state=0).fit(X)
    before = model.__getstate__()
    counts, totals = model._state.words.store.copy(), model._state.words.totals.copy()
    complete_sweep = SweepTrainer.complete_sweep

    def interrupted(self, *given):
        complete_sweep(self, *given)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(SweepTrainer, "complete_sweep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, method)(more)
    assert_array_equal(model._state.words.store, counts)
    assert_array_equal(model._state.words.totals, totals)
    assert model.__getstate__().keys() == before.keys()
    assert model.n_samples_seen_ == 30
    model.partial_fit(more)
    assert model.topic_word_counts_.sum() == pytest.approx(X.sum() + more.sum())
