"""Training of batch samplers: sweeps over the documents of a call, each of whose tokens has a topic."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._interrupt import complete_or_undone, uninterrupted
from sktopic._state._fields import State, array, count

# Tell the streams of one seed apart.
ASSIGNMENT_KEY = 0x61737369676E
SWEEP_KEY = 0x7377656570


@dataclass(frozen=True, eq=False, kw_only=True)
class Chain(State):
    """Where a Markov chain over the topics of tokens is.

    Attributes
    ----------
    seed : of all its random numbers
    n_sweeps, n_iter : sweeps of all calls, and of the last one
    n_samples_seen : documents in the counts
    log_likelihood : (n_evaluations,) log joint probabilities of the last call
    """

    seed: int = count()
    n_sweeps: int = count(0)
    n_iter: int = count(0)
    n_samples_seen: int = count(0)
    log_likelihood: np.ndarray = array(np.float64, None, starts_empty=True)

    def entered(self, n_documents):
        """The same with the documents of a call, whose evaluations begin anew."""
        n_seen = self.n_samples_seen + n_documents
        return replace(self, n_samples_seen=n_seen, log_likelihood=np.empty(0))

    def evaluated(self, log_joint):
        """The same with one more evaluation."""
        return replace(self, log_likelihood=np.append(self.log_likelihood, log_joint))

    def swept(self, n_iter):
        """The same after one more sweep, the n_iter-th of the call."""
        return replace(self, n_iter=n_iter, n_sweeps=self.n_sweeps + 1)

    def sweep_key(self):
        """The key of the next sweep."""
        return combine_keys(self.seed, SWEEP_KEY, self.n_sweeps)


@dataclass(frozen=True)
class Schedule:
    """What happens after which sweeps of a call.

    Attributes
    ----------
    n_sweeps : their number
    evaluate_every : sweeps from one evaluation to the next; 0: none
    draws : sweeps after which the counts are a draw from the posterior; if there are several, the counts of
        the call are the mean of these
    """

    n_sweeps: int
    evaluate_every: int
    draws: range

    def is_evaluated(self, sweep):
        return self.evaluate_every > 0 and sweep % self.evaluate_every == 0

    def is_draw(self, sweep):
        return len(self.draws) > 1 and sweep in self.draws


S = TypeVar("S")


class SamplerMethod(Protocol[S]):
    """What a batch sampler does with its state, of which ``words`` are WordCounts and ``chain`` is a Chain.

    Functions that return a state may have changed arrays of the given one in place.
    """

    schedule: Schedule

    def begin(self, state: S, X: Any) -> Any:
        """Return the call for documents X, changing nothing.

        It has their number, ``n_documents``, and ``before``, the CountsBefore of their words.
        """

    def entered(self, state: S, call: Any) -> S:
        """Let the documents be in the counts. Tokens of the first documents start from random topics."""

    def entries(self, state: S) -> Any:
        """Return the PriorEntries of topics, or None."""

    def swept(self, state: S, call: Any, workers: Any) -> S:
        """Draw the topic of every token of the call once, and all that depends on them."""

    def undo(self, state: S, call: Any) -> Any:
        """Return a function that undoes, in arrays, what `entered` and `swept` do from now on."""

    def learned(self, state: S, call: Any, sweep: int) -> S:
        """Return the state with priors learned after this sweep, if it is their turn; change no array."""

    def evaluated(self, state: S, call: Any) -> S:
        """Return the state with one more evaluation; change no array."""

    def ended(self, state: S, call: Any, mean: Any) -> S:
        """Do what comes after the last sweep; mean: the counts of the words, if draws are averaged."""


class SweepTrainer:
    """Sweeps over the documents of one call, which enter the counts with the first complete sweep.

    Up to that the call is undone if it fails. After it, the state is that of the last complete sweep. Other
    threads read the state between sweeps.

    Parameters
    ----------
    model : estimator whose attribute ``_state`` is the state, and whose ``_method()`` returns the
        SamplerMethod
    lock : function of the model that returns the lock to hold while arrays of the state change
    workers : Workers
    """

    def __init__(self, model, lock, workers):
        self.model, self._lock, self._workers = model, lock, workers
        self._method = self._call = None
        self._sum_of_draws, self._n_draws, self._has_entered = 0.0, 0, False

    def run(self, begin, monitor, begin_tasks):
        """Make all sweeps.

        Parameters
        ----------
        begin : function that sets the state before the first sweep, and returns the matrix of documents
        monitor : FitMonitor
        begin_tasks : function that returns FitTasks
        """
        try:
            try:
                tasks = self._sweep_all(begin, monitor, begin_tasks)
            finally:
                self.leave()
        finally:  # if Ctrl-C came before the other had begun
            self.leave()
        tasks.end()

    def _sweep_all(self, begin, monitor, begin_tasks):
        undo_first_sweep = []

        def undo():
            stack.enter_context(self._lock(self.model))  # until the attributes are restored, too
            for undo_sweep in undo_first_sweep:  # which may be complete already
                undo_sweep()
            self._has_entered = False

        with ExitStack() as stack, complete_or_undone(self.model, undo):
            with self._lock(self.model):
                documents = begin()
                method, state = self.model._method(), self.model._state
                call = method.begin(state, documents)
                self._method, self._call = method, call
                undo_first_sweep.append(method.undo(state, call))
            n_sweeps = method.schedule.n_sweeps
            monitor.begin(call.n_documents * n_sweeps, passes=("sweep", n_sweeps))
            tasks = begin_tasks()
            self.complete_sweep(1, tasks)
        sweep = 1
        while True:
            self.after_sweep(sweep)
            monitor.begin_pass()
            monitor.after_update(call.n_documents)
            stop = tasks.end_update()
            if tasks.end_epoch() or stop or sweep == n_sweeps:
                return tasks
            self.complete_sweep(sweep + 1, tasks)
            sweep += 1

    def complete_sweep(self, sweep, tasks):
        """One sweep and what is learned from it; or neither, if one fails."""
        tasks.begin_epoch()
        tasks.begin_update()
        model, call = self.model, self._call
        model._check_undisturbed()
        method, state = self._method, model._state
        with self._lock(model), complete_or_undone(model, method.undo(state, call)):
            if not self._has_entered:
                state = method.entered(state, call)
            call.before.raise_frozen(state.words, method.entries(state))
            state = method.swept(state, call, self._workers)
            call.before.hold(state.words)
            state = replace(state, chain=state.chain.swept(sweep))
            # Under the same lock, so that no reader meets new counts with the priors of earlier ones.
            model._state = method.learned(state, call, sweep)
            self._has_entered = True

    def after_sweep(self, sweep):
        """Keep the draw and evaluate, each after as many sweeps as the schedule says."""
        model, call, method = self.model, self._call, self._method
        if method.schedule.is_draw(sweep):
            self._sum_of_draws = self._sum_of_draws + model._state.words.store[call.before.words]
            self._n_draws += 1
        if method.schedule.is_evaluated(sweep):
            self._adopt(method.evaluated(model._state, call))

    def leave(self):
        """End the call, once; one that was interrupted keeps the documents that it has swept."""
        if self._has_entered:
            with uninterrupted(), self._lock(self.model):
                method, state = self._method, self.model._checked()._state
                mean = self._sum_of_draws / self._n_draws if self._n_draws > 1 else None
                self._adopt(method.ended(state, self._call, mean))
                self._has_entered = False

    def _adopt(self, state):
        if state is not self.model._state:
            with uninterrupted(), self._lock(self.model):
                self.model._state = state
