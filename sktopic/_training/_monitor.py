"""Telling the user how a fit is going, and when it may stop."""

import math

from sktopic._runtime._compat import has_progress_bar
from sktopic._runtime._progress import NOT_SHOWN, Progress


class FitMonitor:
    """Follows one call of fit or partial_fit: progress that is shown, and early stop; a context manager.

    Parameters
    ----------
    estimator : estimator
        Progress is shown under its class name; its ``verbose``, ``tol`` and ``n_iter_no_change`` are used.
    """

    def __init__(self, estimator):
        self.estimator = estimator
        self.scores = []
        self._progress = NOT_SHOWN
        self._evaluate = self._passes = None
        self._pass = 0
        self._best = -math.inf
        self._stalled = 0

    def begin(self, n_samples, evaluate=None, passes=None):
        """Note that training begins.

        Parameters
        ----------
        n_samples : int
            Documents to be seen in all.
        evaluate : callable or None
            Returns the held-out score of the present model; called after each epoch.
        passes : tuple (name, number) or None
            What passes over the documents are called, and how many there are, where these are several;
            fewer after an early stop, more where the last is repeated.
        """
        self._evaluate, self._passes = evaluate, passes
        self._n_of_pass = n_samples // passes[1] if passes else 0
        self._progress = Progress(type(self.estimator).__name__, n_samples, shown=self._is_shown())

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        if kind is None:
            self._progress.note(self._notes)
        self._progress.__exit__(kind, *error)

    def _is_shown(self):
        return self.estimator.verbose and not has_progress_bar(self.estimator)

    def stage(self, name, total, unit):
        """Return the Progress of work between passes. Its bar is shown below the bar of the passes."""
        return Progress(f"{type(self.estimator).__name__} {name}", total, unit, shown=self._is_shown())

    def begin_pass(self):
        """Note that a pass over the documents begins."""
        self._pass += 1
        name, number = self._passes
        if self._pass <= number:
            self._progress.begin_stage(f"{name} {self._pass}/{number}")
        else:
            self._progress.begin_stage(f"{name} {self._pass}")
            self._progress.expect(self._n_of_pass)

    def after_update(self, n_documents):
        """Note one update."""
        if self._progress.advance(n_documents):
            self._progress.note(self._notes)

    def after_epoch(self):
        """Evaluate if asked to; return whether the fit should stop."""
        if self._evaluate is None:
            return False
        score = self._evaluate()
        self.scores.append(score)
        # One that is not defined, of held-out documents without words, stops nothing.
        improved = math.isnan(score) or score > self._best + self.estimator.tol
        self._stalled = 0 if improved else self._stalled + 1
        self._best = max(self._best, score)
        self._progress.note(self._notes)
        return self._stalled >= self.estimator.n_iter_no_change

    def _notes(self):
        """What is shown beside the documents: held-out score, number of topics and bound, where they move."""
        notes = [f"score {self.scores[-1]:.4f}"] if self.scores else []
        if self.estimator._infers_number_of_topics:
            notes.append(f"{self.estimator.n_components_} topics")
        history = getattr(self.estimator, "training_history_", ())
        if len(history):
            notes.append(f"elbo {history['elbo'][-1]:.7g}")
        return ", ".join(notes)


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
        # The estimator is usable at any time: a callback that asks for one gets a copy, and nothing is set.
        return task.call_on_fit_task_end(**self._arguments, reconstruction_attributes={})
