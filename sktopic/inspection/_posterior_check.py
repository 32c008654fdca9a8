"""Plots of posterior predictive checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sktopic._estimators._topic_names import joined
from sktopic._runtime._axes import one_axes, width_of
from sktopic._typing import TopicsLike
from sktopic.inspection._tables import N_LABEL_WORDS, chosen_topics, label_of, shortened
from sktopic.metrics import PosteriorPredictiveCheck
from sktopic.metrics._posterior_check import INTERVAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: the width of a plot without labels, and the height of one row.
WIDTH, ROW_HEIGHT = 3.5, 0.22


def plot_posterior_predictive_check(
    check: PosteriorPredictiveCheck,
    *,
    topics: TopicsLike | None = None,
    words_of: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot how far observed mutual information is above that of replications, by topic or word.

    Dots are observed values minus the mean of the replications. Bars are 95 percent of the replications. Rows
    are sorted by the dots, the largest on top. A dot to the right of its bar shows that documents differ in
    the words of the topic. A dot to the left shows that they are more alike than drawn words.

    Parameters
    ----------
    check : PosteriorPredictiveCheck
        Result of `sktopic.metrics.posterior_predictive_check`.
    topics : iterable of int or str, default=None
        Topics to plot, by number or name. If None, all topics.
    words_of : int or str, default=None
        Topic, by number or name, whose words are plotted instead of topics.
    ax : matplotlib Axes, default=None
        Axes to plot into. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError, ValueError
        If check is not a PosteriorPredictiveCheck, if a topic is unknown, or if topics and words_of are both
        given.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import plot_posterior_predictive_check
    >>> from sktopic.metrics import posterior_predictive_check
    >>> bars = make_bars(50, random_state=0)
    >>> check = posterior_predictive_check(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior)
    >>> ax = plot_posterior_predictive_check(check)
    >>> len(ax.get_yticks())
    10
    >>> plt.close(ax.figure)
    """
    if not isinstance(check, PosteriorPredictiveCheck):
        raise TypeError(
            f"check is a {type(check).__name__}; the result of posterior_predictive_check is allowed."
        )
    if topics is not None and words_of is not None:
        raise ValueError(f"words_of={words_of!r} is invalid: must be None if topics are given.")
    names = {k: (name,) for k, name in enumerate(check.names)}
    if words_of is None:
        chosen, title, measure = chosen_topics(topics, names), None, "Mutual information"
        labels = [label_of(check.names[k], joined(check.words[k][:N_LABEL_WORDS])) for k in chosen]
        observed, replicated = check.mutual_information[chosen], check.replicated[:, chosen]
    else:
        (topic,) = chosen_topics([words_of], names)
        measure = "Instantaneous mutual information"
        labels, title = list(map(shortened, check.words[topic])), shortened(check.names[topic])
        observed = check.word_information[topic]
        replicated = check.replicated_word_information[:, topic]
    expected = replicated.mean(axis=0)
    low, high = np.quantile(replicated, INTERVAL, axis=0) - expected
    order = np.argsort(observed - expected, kind="stable")
    ax = one_axes(ax, (WIDTH + width_of(labels), 1.0 + ROW_HEIGHT * len(order)))
    places = np.arange(len(order))
    ax.axvline(0.0, color="0.7", linewidth=0.8)
    ax.hlines(places, low[order], high[order], color="C1", linewidth=5, label="95% of replications")
    ax.plot((observed - expected)[order], places, "o", color="C0", markersize=4, label="observed")
    ax.set_yticks(places, [labels[i] for i in order], fontsize="small", parse_math=False)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlabel(f"{measure}\nminus mean of replications (nats)")
    ax.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    if title is not None:
        ax.set_title(title, loc="left", pad=22.0, parse_math=False)
    return ax
