"""Telling the user how a fit is going, and when it may stop."""

import math
import sys
import time

import numpy as np


class FitMonitor:
    """Follows one call of fit or partial_fit: printed progress and early stop.

    Parameters
    ----------
    estimator : estimator
        Prints under its class name; its ``verbose``, ``tol`` and ``n_iter_no_change`` are used.
    n_samples : int
        Documents to be seen in all.
    evaluate : callable or None
        Returns the held-out score of the present model; called after each epoch.
    passes : tuple (name, number) or None
        What passes over the documents are called, and how many there are at most, where there are several.
    """

    # Seconds between two lines within an epoch.
    PERIOD = 5.0

    def __init__(self, estimator, n_samples, evaluate=None, passes=None):
        self.estimator = estimator
        self.n_samples = n_samples
        self.evaluate = evaluate
        self.passes = passes
        self.scores = []
        self._pass = 0
        self._seen = 0
        self._tokens = 0.0
        self._start = self._last = time.perf_counter()
        self._best = -float("inf")
        self._stalled = 0

    def begin_pass(self):
        """Note that a pass over the documents begins."""
        self._pass += 1

    def after_update(self, n_documents, n_tokens):
        """Note one update; print at most every few seconds."""
        self._seen += n_documents
        self._tokens += n_tokens
        now = time.perf_counter()
        if self.estimator.verbose and now - self._last >= self.PERIOD:
            self._last = now
            self._print(now)

    def after_epoch(self):
        """Evaluate if asked to; return whether the fit should stop."""
        if self.evaluate is not None:
            score = self.evaluate()
            self.scores.append(score)
            # One that is not defined, of held-out documents without words, stops nothing.
            improved = math.isnan(score) or score > self._best + self.estimator.tol
            self._stalled = 0 if improved else self._stalled + 1
            self._best = max(self._best, score)
        if self.estimator.verbose:
            self._print(time.perf_counter())
        return self.evaluate is not None and self._stalled >= self.estimator.n_iter_no_change

    def _print(self, now):
        elapsed = max(now - self._start, 1e-9)
        where = "" if self.passes is None else f"{self.passes[0]} {self._pass} of {self.passes[1]}, "
        line = (
            f"[{type(self.estimator).__name__}] {where}{self._seen:.0f} of {self.n_samples} documents, "
            f"{elapsed:.1f} s, {self._tokens / elapsed:.3g} tokens/s"
        )
        if self.scores:
            line += f", held-out {self.scores[-1]:.4f} nats per word"
        print(line, file=sys.stdout, flush=True)


class FitTasks:
    """Reports epochs and updates of one fit to scikit-learn's callbacks, where any are set."""

    def __init__(self, estimator, X, y, max_iter, n_updates, reporting=True):
        self._arguments = {"estimator": estimator, "X": X, "y": y}
        self._n_updates = n_updates
        self._root = None
        if reporting and getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(max_subtasks=max_iter)
            self._root.call_on_fit_task_begin(**self._arguments)

    def begin_epoch(self):
        if self._root is not None:
            self._epoch = self._root.subcontext(task_name="epoch", max_subtasks=self._n_updates)
            self._epoch.call_on_fit_task_begin(**self._arguments)

    def begin_update(self):
        if self._root is not None:
            self._update = self._epoch.subcontext(task_name="update")
            self._update.call_on_fit_task_begin(**self._arguments)

    def end_update(self):
        """Return whether a callback asks to end the epoch."""
        return self._root is not None and self._end(self._update)

    def end_epoch(self):
        """Return whether a callback asks to end the fit."""
        return self._root is not None and self._end(self._epoch)

    def end(self):
        if self._root is not None:
            self._end(self._root)

    def _end(self, task):
        # The estimator is usable at any time; a callback that asks for one gets arrays of its own.
        state = vars(self._arguments["estimator"])
        return task.call_on_fit_task_end(
            **self._arguments,
            reconstruction_attributes=lambda: {
                name: value.copy() for name, value in state.items() if isinstance(value, np.ndarray)
            },
        )
