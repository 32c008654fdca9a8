"""Plots of topics and of training."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._plug_in import in_one_state, last_step, topic_labels
from sktopic._runtime._axes import check_figure, one_axes, panels
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pyplot
from sktopic._runtime._texts import one_for_each
from sktopic._typing import TopicsLike
from sktopic.inspection._tables import chosen_topics, handles_of_topics, shortened, top_words
from sktopic.inspection._topic_page import draw_topics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Size of an axes of plot_n_components, in inches.
PLOT_WIDTH, PLOT_HEIGHT = 3.6, 2.8


@validate_params(
    {
        "titles": ["array-like", None],
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "n_columns": [Interval(Integral, 1, None, closed="left")],
    }
)
def plot_topics(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    topics: TopicsLike | None = None,
    titles: Sequence[str] | None = None,
    n_words: int = 10,
    n_columns: int = 4,
    fig: Figure | SubFigure | None = None,
) -> Axes:
    """Plot the most probable words of each topic as bars.

    Each panel has its own scale. The axis shows the probability of the first word.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `top_words`.
    feature_names : array-like of str of shape (n_features,), default=None
        As in `top_words`.
    topics : iterable of int or str, default=None
        Topics to plot, by number or name, in this order. If None, all topics.
    titles : array-like of str, default=None
        Titles of the panels, one per plotted topic. If None, the names given by `name_topics`, or "Topic 0"
        and so on.
    n_words : int, default=10
        Number of words per topic, at most the vocabulary size.
    n_columns : int, default=4
        Number of panels per row.
    fig : matplotlib Figure or SubFigure, default=None
        Figure to plot into. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        One axes that holds all panels. ``ax.figure`` is its figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError, ValueError
        If a topic is unknown, or the number of titles is wrong.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.inspection import plot_topics
    >>> components = [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]
    >>> ax = plot_topics(components, ["apple", "pear", "plum"], n_words=2)
    >>> [text.get_text() for text in ax.texts[:4]]
    ['Topic 0', 'Topic 1', 'apple', 'plum']
    >>> plt.close(ax.figure)
    """
    plt = import_pyplot()
    check_figure(fig)
    model_or_components = in_one_state(model_or_components)
    words, weights = top_words(model_or_components, feature_names, n_words=n_words, return_weights=True)
    chosen = chosen_topics(topics, handles_of_topics(model_or_components, len(words)))
    parse_math = titles is not None
    titles = one_for_each(titles, "titles", len(chosen), "topic")
    if titles is None:
        labels = topic_labels(model_or_components, len(words))
        titles = [shortened(labels[topic]) for topic in chosen]

    return draw_topics(
        plt.figure() if fig is None else fig,
        words[chosen],
        weights[chosen],
        titles,
        min(n_columns, len(chosen)),
        parse_math=parse_math,
        resize=fig is None,
    )


@validate_params({"labels": [str, "array-like", None]})
def plot_scores(
    samples_seen: object,
    scores: ArrayLike | None = None,
    *,
    labels: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot held-out scores against the number of documents seen, or the scores that an estimator keeps.

    Parameters
    ----------
    samples_seen : array-like of shape (n_points,), one such array for each curve, or fitted estimator
        Number of documents seen at each score, counted again in each pass. For an estimator (or pipeline or
        search), its own scores are plotted: ``validation_scores_`` against passes (with
        ``early_stopping=True``), or ``log_likelihood_`` of a batch sampler against sweeps.
    scores : array-like of shape (n_points,), or one such array for each curve, default=None
        Held-out scores, in nats per word. Curves may differ in length. If None, the scores of the estimator.
    labels : str, or array-like of str, default=None
        Names of the curves, shown in a legend.
    ax : matplotlib Axes, default=None
        Axes to plot into. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError
        If an estimator keeps no scores.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import plot_scores
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(300, random_state=0).data
    >>> lda, seen, scores = OnlineEMLDA(n_components=10, random_state=0), [], []
    >>> for first in range(0, 200, 50):
    ...     lda = lda.partial_fit(X[first : first + 50])
    ...     seen.append(lda.n_samples_seen_)
    ...     scores.append(lda.score(X[200:]))
    >>> ax = plot_scores(seen, scores)
    >>> ax.get_xlabel()
    'documents seen'
    >>> plt.close(ax.figure)
    """
    x_label, y_label = "documents seen", "held-out nats per word"
    if scores is None:
        samples_seen, scores, x_label, y_label = _kept_scores(samples_seen)
    curves = _check_curves(samples_seen, scores)
    labels = one_for_each([labels] if isinstance(labels, str) else labels, "labels", len(curves), "curve")
    ax = one_axes(ax)
    for i, (seen, score) in enumerate(curves):
        ax.plot(seen, score, marker=".", label=None if labels is None else labels[i])
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    if labels is not None:
        ax.legend(frameon=False)
    return ax


def plot_n_components(model: object, *, fig: Figure | SubFigure | None = None) -> NDArray[np.object_]:
    """Plot the posterior of the number of topics, and the trace of its mode.

    Parameters
    ----------
    model : fitted estimator
        `DegenerateDirichletLDA` or `TriangularDirichletLDA`, or a pipeline or search that ends in one. It
        needs ``n_components_posterior_``, ``n_tokens_trace_`` and ``n_components_trace_``.
    fig : matplotlib Figure or SubFigure, default=None
        Figure to plot into, preferably with ``layout="constrained"``. If None, a new figure.

    Returns
    -------
    axes : ndarray of matplotlib Axes of shape (2,)
        The first shows the probability of each number of topics. The second shows the most probable number
        of topics after each number of tokens.

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError
        If the model has no posterior over the number of topics.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import plot_n_components
    >>> from sktopic.moment_matching import DegenerateDirichletLDA
    >>> ddm = DegenerateDirichletLDA(n_components=20, random_state=0).fit(make_bars(100, random_state=0).data)
    >>> axes = plot_n_components(ddm)
    >>> [ax.get_xlabel() for ax in axes]
    ['number of topics', 'tokens seen']
    >>> plt.close(axes[0].figure)
    """
    import_pyplot()
    from matplotlib.ticker import MaxNLocator

    estimator = last_step(in_one_state(model))
    check_is_fitted(estimator)
    if not hasattr(estimator, "n_components_posterior_"):
        raise TypeError(
            f"model is a {type(estimator).__name__}, which has no n_components_posterior_; a model with a "
            "posterior over the number of topics is allowed (give the part of a pipeline that ends in it)."
        )
    axes = panels(fig, (1, 2), (2 * PLOT_WIDTH, PLOT_HEIGHT))
    posterior, trace = axes
    numbers = np.arange(1, len(estimator.n_components_posterior_) + 1)
    posterior.bar(numbers, estimator.n_components_posterior_, width=1.0, edgecolor="white", linewidth=0.5)
    posterior.set_xlabel("number of topics")
    posterior.set_ylabel("posterior probability")
    posterior.set_xlim(0.5, len(numbers) + 0.5)
    posterior.xaxis.set_major_locator(MaxNLocator(integer=True))
    trace.plot(estimator.n_tokens_trace_, estimator.n_components_trace_, drawstyle="steps-post")
    trace.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(estimator.n_tokens_trace_):
        trace.set_xscale("log")  # the number changes most during the first tokens
    trace.set_ylim(0, len(numbers) + 0.5)
    trace.set_xlabel("tokens seen")
    trace.set_ylabel("most probable number")
    return axes


def _kept_scores(model):
    """Return the x values and scores that an estimator keeps, and the labels of the two axes."""
    estimator = last_step(in_one_state(model))
    if not hasattr(estimator, "fit"):
        raise TypeError("scores is missing: without it, a fitted estimator that keeps scores is needed.")
    check_is_fitted(estimator)
    scores = getattr(estimator, "validation_scores_", ())
    if len(scores):
        return np.arange(1, len(scores) + 1), scores, "pass", "held-out nats per word"
    trace = getattr(estimator, "log_likelihood_", ())
    if len(trace):
        sweeps = estimator.evaluate_every * np.arange(1, len(trace) + 1)
        return sweeps, trace, "sweep", "log likelihood of training, nats"
    raise TypeError(
        f"{type(estimator).__name__} has kept no scores: fit a mini-batch method with early_stopping=True or "
        "a batch sampler with evaluate_every, or give samples_seen and scores."
    )


def _check_curves(samples_seen, scores):
    """Return [(samples_seen, scores), ...], one pair of arrays for each curve."""
    for name, values in (("samples_seen", samples_seen), ("scores", scores)):
        if not np.iterable(values):
            raise TypeError(f"{name}={values!r:.80} is invalid: must have a number for each point.")
    samples_seen, scores = list(samples_seen), list(scores)
    if not scores:
        raise ValueError("scores is empty; at least one score is needed.")
    if np.ndim(scores[0]) == 0:
        samples_seen, scores = [samples_seen], [scores]
    elif samples_seen and np.ndim(samples_seen[0]) == 0:
        samples_seen = [samples_seen] * len(scores)
    if len(samples_seen) != len(scores):
        raise ValueError(f"samples_seen has {len(samples_seen)} curves, but scores has {len(scores)}.")
    curves = []
    for i, (seen, score) in enumerate(zip(samples_seen, scores)):
        seen, score = np.asarray(seen, dtype=np.float64), np.asarray(score, dtype=np.float64)
        if seen.shape != score.shape or seen.ndim != 1:
            raise ValueError(
                f"samples_seen has shape {seen.shape} and scores {score.shape} in curve {i}; two equal "
                "shapes (n_points,) are needed."
            )
        curves.append((seen, score))
    return curves
