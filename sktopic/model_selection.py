"""Choose the number of topics: held-out score, coherence, stability and time for several numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, check_cv
from sklearn.pipeline import Pipeline

import sktopic
from sktopic._documents._matrices import check_sparse_structure
from sktopic._estimators._constraints import N_JOBS
from sktopic._estimators._plug_in import after_pipeline, column_names, last_step, plug_in_topics
from sktopic._runtime._axes import panels
from sktopic._runtime._compat import Interval, safe_indexing, validate_params
from sktopic._runtime._optional import import_pandas
from sktopic._runtime._progress import Progress
from sktopic._runtime._result_file import ResultFile, digest
from sktopic._typing import FloatArray, IntArray
from sktopic.metrics import coherence, document_completion
from sktopic.metrics._coherence import top_columns
from sktopic.metrics._comparison import top_word_stability

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure
    from pandas import DataFrame

__all__ = ["ModelMeasures", "TopicNumberCurve", "topic_number_curve"]

# Ratio of the largest to the smallest number of topics from which a plot uses a logarithmic scale.
WIDE = 8
# Attributes of ModelMeasures in the plot, by axis label.
PANELS = {
    "held-out nats per word": "scores",
    "coherence (NPMI)": "coherences",
    "stability": "stability",
    "seconds of a fit": "seconds",
}


@dataclass(frozen=True)
class ModelMeasures:
    """Measurements of one model in each fold of `topic_number_curve`.

    Attributes
    ----------
    name : str
        Class of the model. If several reference models have the same class, also their parameters.
    n_components : ndarray of shape (n_folds,), dtype int
        Number of topics after training.
    scores : ndarray of shape (n_folds,)
        Held-out nats per word, by `sktopic.metrics.document_completion`.
    coherences : ndarray of shape (n_folds,)
        Mean NPMI of the topics over all documents, by `sktopic.metrics.coherence`.
    seconds : ndarray of shape (n_folds,)
        Duration of the fit.
    stability : float
        Similarity of the topics of different folds, by `sktopic.metrics.stability`; NaN for a single fold.
    """

    name: str
    n_components: IntArray
    scores: FloatArray
    coherences: FloatArray
    seconds: FloatArray
    stability: float


@dataclass(frozen=True, repr=False)
class TopicNumberCurve:
    """Measurements returned by `topic_number_curve`.

    Attributes
    ----------
    n_components : ndarray of shape (n_numbers,), dtype int
        Numbers of topics, ascending.
    models : list of ModelMeasures, of length n_numbers
        Measurements for each number of topics.
    references : list of ModelMeasures
        Measurements of the reference models.
    test_ratio : float
        Number of held-out documents per training document, mean over the folds.
    """

    n_components: IntArray
    models: list[ModelMeasures]
    references: list[ModelMeasures]
    test_ratio: float

    def __repr__(self) -> str:
        return f"TopicNumberCurve(best={self.best}, one_standard_error={self.one_standard_error})"

    @property
    def best(self) -> int:
        """The number of topics with the highest mean score; ties go to the smallest."""
        return int(self.n_components[self._best()])

    @property
    def one_standard_error(self) -> int:
        """The smallest number of topics whose score is within one standard error of the best.

        Standard errors are computed from score differences within folds, so the difficulty of a fold does not
        matter.
        """
        within = [-difference <= error for difference, error in map(self._difference, self.models)]
        within[self._best()] = True
        return int(self.n_components[within.index(True)])

    @property
    def table(self) -> DataFrame:
        """A pandas DataFrame with one row per number of topics, then one per reference.

        The columns are

        - model: name of the model;
        - n_components: number of topics, for references the mean over the folds;
        - score, score_se: mean score and its standard error;
        - difference, difference_se: mean difference from the best number of topics and its standard error;
        - coherence, seconds: means over the folds;
        - stability: see `sktopic.metrics.stability`.
        """
        pandas = import_pandas()
        rows = []
        for measures in [*self.models, *self.references]:
            difference, difference_se = self._difference(measures)
            n_components = float(measures.n_components.mean())
            rows.append(
                {
                    "model": measures.name,
                    "n_components": int(n_components) if n_components.is_integer() else n_components,
                    "score": self._mean_score(measures.scores),
                    "score_se": self._standard_error(measures.scores),
                    "difference": difference,
                    "difference_se": difference_se,
                    "coherence": measures.coherences.mean(),
                    "stability": measures.stability,
                    "seconds": measures.seconds.mean(),
                }
            )
        return pandas.DataFrame(rows)

    def plot(self, fig: Figure | SubFigure | None = None) -> NDArray[np.object_]:
        """Plot score, coherence, stability and time over the number of topics.

        Error bars show one standard error of the difference from the best score. A number of topics satisfies
        the one-standard-error rule if its bar reaches the horizontal line. Vertical lines mark the mean
        number of topics of each reference, and diamonds mark its measurements.

        Parameters
        ----------
        fig : matplotlib Figure or SubFigure, default=None
            Figure to plot into. If None, a new figure.

        Returns
        -------
        axes : ndarray of matplotlib Axes of shape (4,)
            Panels of score, coherence, stability and time.

        Raises
        ------
        ImportError
            If matplotlib is not installed: ``pip install sktopic[plot]``.
        """
        axes = panels(fig, (2, 2), (9, 5.5), sharex=True)
        best = f"best: {self.best}"
        if self.best == self.n_components[-1]:
            best += " (the largest tried)"
        chosen = f"one standard error: {self.one_standard_error}"
        for panel, (label, measure) in zip(axes, PANELS.items()):
            panel.axvline(self.best, color="grey", linestyle=":", label=best)
            panel.axvline(self.one_standard_error, color="grey", label=chosen)
            mean = self._mean_score if measure == "scores" else np.mean
            means = [mean(getattr(model, measure)) for model in self.models]
            panel.plot(self.n_components, means, ".-", color="C0")
            for i, reference in enumerate(self.references, start=1):
                number = reference.n_components.mean()
                name = f"{reference.name}: {number:.3g}"
                panel.axvline(number, color=f"C{i}", linestyle="--", label=name)
                panel.plot(number, mean(getattr(reference, measure)), "D", color=f"C{i}")
            panel.set_ylabel(label)
        errors = [self._difference(measures)[1] for measures in self.models]
        scores = [self._mean_score(measures.scores) for measures in self.models]
        axes[0].errorbar(self.n_components, scores, errors, fmt="none", color="C0", capsize=3)
        axes[0].axhline(scores[self._best()], color="grey", linewidth=0.5)
        if self.n_components[-1] >= WIDE * self.n_components[0]:
            axes[0].set_xscale("log")  # all panels share the scale and the ticks
        axes[0].set_xticks(self.n_components, [str(number) for number in self.n_components])
        axes[0].set_xticks([], minor=True)
        for panel in axes[2:]:
            panel.set_xlabel("number of topics")
        axes[3].set_ylim(0, None)
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        return axes

    def _best(self):
        means = np.array([self._mean_score(measures.scores) for measures in self.models])
        if np.isnan(means).all():
            raise ValueError("no number of topics has a score: no held-out document has words.")
        return int(np.nanargmax(means))

    def _difference(self, measures):
        """Return mean and standard error of the score differences to the best number of topics."""
        differences = measures.scores - self.models[self._best()].scores
        return self._mean_score(differences), self._standard_error(differences)

    def _standard_error(self, values):
        """Return the standard error over folds with overlapping training sets; NaN for one fold."""
        values = self._of_folds_with_words(values)
        if len(values) < 2:
            return math.nan
        return float(values.std(ddof=1) * math.sqrt(1.0 / len(values) + self.test_ratio))

    def _mean_score(self, scores):
        scores = self._of_folds_with_words(scores)
        return float(scores.mean()) if len(scores) else math.nan

    def _of_folds_with_words(self, scores):
        """Return the scores of all folds but those that no number of topics has a score for."""
        return scores[~np.isnan([measures.scores for measures in self.models]).all(axis=0)]


@validate_params(
    {
        "estimator": [BaseEstimator],
        "n_components": ["array-like"],
        "cv": ["cv_object"],
        "references": ["array-like"],
        "param_name": [str, None],
        "n_words": [Interval(Integral, 2, None, closed="left")],
        "results_file": [str, PathLike, None],
        "n_jobs": N_JOBS,
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
        "verbose": ["verbose"],
    }
)
def topic_number_curve(
    estimator: Any,
    X: Any,
    *,
    n_components: ArrayLike,
    cv: Any = 5,
    references: Sequence[Any] = (),
    param_name: str | None = None,
    n_words: int = 10,
    results_file: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> TopicNumberCurve:
    """Cross-validate a model with different numbers of topics.

    For each fold and number of topics, the model is fitted to the other folds and scored on this fold by
    `sktopic.metrics.document_completion`.

    Read more on the guide page "How many topics".

    Parameters
    ----------
    estimator : estimator
        A topic model of this library, scikit-learn's LatentDirichletAllocation, or a pipeline that ends in
        one. It is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Word counts, or the input of the pipeline.
    n_components : array-like of int
        Numbers of topics, each >= 1, in any order.
    cv : int, splitter, iterable of (train, test) or None, default=5
        Folds. If a number, documents are divided at random into this number of folds of about equal size.
        None means 5.
    references : sequence of estimators, default=()
        Models that infer the number of topics, such as `HybridHDP` or `DegenerateDirichletLDA`, measured in
        the same folds. In a pipeline, a reference replaces the last step.
    param_name : str, default=None
        Name of the parameter that sets the number of topics. If None, ``n_components`` of the estimator or
        of the last step of a pipeline (such as "lda__n_components").
    n_words : int, default=10
        Number of words per topic in coherence and stability, >= 2.
    results_file : str or path-like, default=None
        File to which the result of each finished fit is appended as a line of JSON. A call with the same X
        and parameters reads the stored results and computes only the missing ones. If None, results are
        not kept.
    n_jobs : int or None, default=None
        Number of parallel fits, as in scikit-learn. It affects only the measured times.
    random_state : int, default=0
        Seed of the folds if cv is a number, and of the models. Each fold has a different model seed.
    verbose : int, default=0
        If positive, a progress bar is shown.

    Returns
    -------
    curve : TopicNumberCurve
        The chosen numbers ``best`` (by mean score) and ``one_standard_error`` (by the one-standard-error
        rule), a pandas DataFrame ``table``, and the method ``plot``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `results_file` is damaged or another kind of file.
    OSError
        If `results_file` cannot be read and written, or is a symbolic link of another user.

    Notes
    -----
    - A pipeline is fitted as a whole each time. If its ``memory`` is set, its first steps are fitted once per
      fold.
    - Scores are compared fold by fold, because folds differ in difficulty.
    - The standard error of a mean over folds is s * sqrt(1 / n_folds + n_test / n_train), where s is the
      standard deviation over the folds. The second term accounts for documents that training sets share
      (Nadeau and Bengio). The error includes the effect of the seed, which differs between folds.
    - The one-standard-error rule (Breiman et al.) takes the smallest model with a mean score at most one
      standard error below the best. The best mean often has more topics than needed, because spare topics
      cost little.

    References
    ----------
    L. Breiman, J. Friedman, C. Stone and R. Olshen, "Classification and Regression Trees", 1984,
    section 3.4.3.

    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineEMLDA
    >>> from sktopic.model_selection import topic_number_curve
    >>> X = make_bars(300, random_state=0).data
    >>> curve = topic_number_curve(OnlineEMLDA(), X, n_components=[2, 5, 10, 20], cv=3, n_words=5)
    >>> curve.best >= 10
    True
    >>> curve.one_standard_error <= curve.best
    True
    """
    numbers = _check_numbers(n_components)
    X = check_sparse_structure(X).tocsr() if sp.issparse(X) else X
    param_name = _number_parameter(estimator, param_name)
    candidates = [clone(estimator).set_params(**{param_name: int(number)}) for number in numbers]
    references = _checked_references(references)
    candidates += [_in_place(estimator, reference) for reference in references]
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        cv = KFold(cv, shuffle=True, random_state=random_state)
    splits = [(_indices(train), _indices(test)) for train, test in check_cv(cv).split(X)]
    if not splits:
        raise ValueError(f"cv={cv!r:.80} is invalid: must have at least one split.")
    seeds = np.random.RandomState(random_state).randint(2**31 - 1, size=len(splits))
    # The largest numbers of topics run first, so that parallel jobs end at about the same time.
    tasks = [
        _Task(_with(candidate, "random_state", int(seed)), train, test, n_words)
        for candidate in reversed(candidates)
        for (train, test), seed in zip(splits, seeds)
    ]
    names = [type(last_step(estimator)).__name__] * len(numbers) + _names(references)
    cells = _run(tasks, X, None if results_file is None else ResultFile(results_file), n_jobs, verbose)
    n_folds = len(splits)
    measured = [
        _measures(name, cells[first : first + n_folds])
        for name, first in zip(reversed(names), range(0, len(cells), n_folds))
    ][::-1]
    return TopicNumberCurve(
        n_components=numbers,
        models=measured[: len(numbers)],
        references=measured[len(numbers) :],
        test_ratio=float(np.mean([len(test) / len(train) for train, test in splits])),
    )


def _indices(chosen):
    """Return the numbers of the documents that a splitter chose, also of a mask."""
    chosen = np.asarray(chosen)
    return np.flatnonzero(chosen) if chosen.dtype == bool else chosen


# Candidates


def _check_numbers(n_components):
    numbers = np.asarray(n_components)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers.min() < 1:
        raise ValueError(f"n_components={n_components!r}; a list of integers >= 1 is allowed.")
    return np.unique(numbers).astype(np.int64)


def _number_parameter(estimator, name):
    """Return the name of the parameter that sets the number of topics."""
    if name is None:
        last, steps = estimator, []
        while isinstance(last, Pipeline):
            step, last = last.steps[-1]
            steps.append(step)
        name = "__".join([*steps, "n_components"])
    if name not in estimator.get_params():
        raise ValueError(f"{type(estimator).__name__} has no parameter {name}: set param_name.")
    return name


def _checked_references(references):
    """Return the references as a list; ValueError unless they are estimators in a list."""
    invalid = f"references={references!r:.80} is invalid: must be a list of estimators"
    if isinstance(references, BaseEstimator):  # a pipeline has the length and the items of a list
        raise ValueError(f"{invalid}.")
    for reference in references:
        if isinstance(reference, type) or not isinstance(reference, BaseEstimator):
            raise ValueError(f"{invalid}, but has {reference!r:.80}.")
    return list(references)


def _in_place(estimator, reference):
    """Return the reference after the first steps of the estimator's pipeline."""
    reference = clone(reference)
    if isinstance(reference, Pipeline) or not isinstance(estimator, Pipeline):
        return reference
    name = estimator.steps[-1][0]
    return clone(estimator).set_params(**{name: reference})


def _names(references):
    models = [last_step(reference) for reference in references]
    names = [type(model).__name__ for model in models]
    return [
        name if names.count(name) == 1 else " ".join(repr(model).split())
        for name, model in zip(names, models)
    ]


def _with(candidate, parameter, value):
    """Return a clone in which all parameters of this name, in any step, have the value."""
    names = [name for name in candidate.get_params() if name.rpartition("__")[2] == parameter]
    return clone(candidate).set_params(**dict.fromkeys(names, value))


# Fits


@dataclass(frozen=True)
class _Task:
    """One model in one fold."""

    candidate: Any
    train: IntArray
    test: IntArray
    n_words: int

    def key(self, X_digest):
        """Return a key of everything that affects the result."""
        candidate = _with(_with(self.candidate, "verbose", 0), "n_jobs", None)
        return digest((sktopic.__version__, X_digest, candidate, self.train, self.test, self.n_words))


@dataclass(frozen=True)
class _Cell:
    """The result of a task. Words are names if known, else columns."""

    n_components: int
    score: float
    coherence: float
    seconds: float
    top_words: list[list[Any]]

    def __post_init__(self):
        """Raise ValueError for values that no task has: a file may hold anything."""
        numbers, rows = (self.score, self.coherence, self.seconds), self.top_words
        if type(self.n_components) is not int or not all(isinstance(number, float) for number in numbers):
            raise ValueError("n_components, score, coherence or seconds has another type")
        if not isinstance(rows, list) or not len(rows) == self.n_components > 0:
            raise ValueError(f"it has no top_words of {self.n_components} topics")
        if not all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows):
            raise ValueError("it has top_words that are no lists of the same length")
        if not all(
            isinstance(word, str) or (type(word) is int and 0 <= word < 2**31) for row in rows for word in row
        ):
            raise ValueError("it has top_words that are neither words nor columns")


def _run(tasks, X, results, n_jobs, verbose):
    """Return the cells of the tasks; cells in the results file are not computed again."""
    cells = [None] * len(tasks)
    if results is not None:
        X_digest = digest(X)
        keys = [task.key(X_digest) for task in tasks]
        cells = [results.read(key, _Cell) for key in keys]
    missing = [i for i, cell in enumerate(cells) if cell is None]
    jobs = (delayed(_run_task)(i, tasks[i], X) for i in missing)
    done = len(tasks) - len(missing)
    with Progress("topic_number_curve", len(tasks), "fits", done, shown=verbose) as progress:
        for i, cell in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            if results is not None:
                results.append(keys[i], asdict(cell))
            cells[i] = cell
            progress.begin_stage(f"{cell.n_components} topics")
            progress.advance(1)
    return cells


def _run_task(i, task, X):
    """Return the number of a task and its cell."""
    train = safe_indexing(X, task.train)
    begin = time.perf_counter()
    fitted = task.candidate.fit(train)
    seconds = time.perf_counter() - begin
    words = column_names(fitted)
    model, X = after_pipeline(fitted, X)
    top = top_columns(plug_in_topics(model), task.n_words)
    cell = _Cell(
        n_components=len(top),
        score=document_completion(model, safe_indexing(X, task.test)),
        coherence=coherence(model, X, n_words=task.n_words),
        seconds=seconds,
        top_words=(top if words is None else words[top]).tolist(),
    )
    return i, cell


def _measures(name, cells):
    return ModelMeasures(
        name=name,
        n_components=np.array([cell.n_components for cell in cells]),
        scores=np.array([cell.score for cell in cells]),
        coherences=np.array([cell.coherence for cell in cells]),
        seconds=np.array([cell.seconds for cell in cells]),
        stability=top_word_stability([cell.top_words for cell in cells]),
    )
