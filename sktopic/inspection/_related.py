"""Similarity of topics as a matrix and as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sktopic._estimators._plug_in import in_one_state, plug_in_topics, topic_labels
from sktopic._estimators._topic_names import joined
from sktopic._runtime._axes import one_axes, width_of
from sktopic._runtime._compat import validate_params
from sktopic._runtime._optional import import_pyplot
from sktopic._typing import FloatArray
from sktopic.inspection._tables import label_of, shortened, top_words
from sktopic.metrics._comparison import COMPARISON, METRICS, word_profiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of words per topic that 'average_jaccard' compares, as in match_topics.
N_COMPARED = 10
# Inches: height of a row, margin around the rows, width of a dendrogram without labels.
ROW_HEIGHT, MARGIN, TREE_WIDTH = 0.2, 0.7, 4.0


@validate_params({"metric": COMPARISON["metric"]})
def topic_similarity(
    model_or_components: object,
    *,
    metric: Literal["cosine", "hellinger", "average_jaccard"] = "hellinger",
) -> FloatArray:
    """Compute the similarity of each pair of topics, from 0 to 1.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `top_words`.
    metric : {'cosine', 'hellinger', 'average_jaccard'}, default='hellinger'
        As in `sktopic.metrics.match_topics`: cosine of the word probabilities, 1 minus their Hellinger
        distance, or the average Jaccard coefficient of the 10 most probable words (all words if there are
        fewer).

    Returns
    -------
    similarity : ndarray of shape (n_components, n_components)
        Symmetric, with ones on the diagonal.

    See Also
    --------
    plot_topic_similarity : Plot this matrix.
    sktopic.metrics.match_topics : Pair the topics of two models.

    Examples
    --------
    >>> from sktopic.inspection import topic_similarity
    >>> topic_similarity([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.1, 0.9]]).round(2)
    array([[1.  , 0.93, 0.12],
           [0.93, 1.  , 0.13],
           [0.12, 0.13, 1.  ]])
    """
    topics = plug_in_topics(model_or_components)
    words = word_profiles(topics, metric, min(N_COMPARED, len(topics.store)))
    similarity = METRICS[metric](words, words)
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1.0)
    return similarity


@validate_params(COMPARISON)
def plot_topic_dendrogram(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    metric: Literal["cosine", "hellinger", "average_jaccard"] = "hellinger",
    n_words: int = 3,
    ax: Axes | None = None,
) -> Axes:
    """Plot topics as a tree in which similar topics are close to each other.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `top_words`. At least two topics.
    feature_names : array-like of str of shape (n_features,), default=None
        As in `top_words`.
    metric : {'cosine', 'hellinger', 'average_jaccard'}, default='hellinger'
        As in `topic_similarity`.
    n_words : int, default=3
        Number of words shown after the name of a topic.
    ax : matplotlib Axes, default=None
        Axes to plot into. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The vertical axis lists the topics. The horizontal axis shows the distances at which branches join.

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.

    Notes
    -----
    Agglomerative clustering with average linkage: two branches are joined at the mean distance (1 minus the
    similarity) of their topics. Branches are ordered to make neighbors as similar as possible.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.inspection import plot_topic_dendrogram
    >>> components = [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.4, 0.6, 0.0]]
    >>> ax = plot_topic_dendrogram(components, ["apple", "pear", "plum"], n_words=1)
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['Topic 0: apple', 'Topic 1: plum', 'Topic 2: pear']
    >>> plt.close(ax.figure)
    """
    import_pyplot()
    from matplotlib.collections import LineCollection

    model_or_components = in_one_state(model_or_components)
    joined = _joined(topic_similarity(model_or_components, metric=metric))
    labels = _labels(model_or_components, feature_names, n_words)
    ax = one_axes(ax, (TREE_WIDTH + width_of(labels), MARGIN + ROW_HEIGHT * len(labels)))
    ax.add_collection(LineCollection(_brackets(joined), colors="C0", linewidths=1))
    ax.set_xlim(0, 1.05 * max(joined[-1, 2], 1e-9))
    _set_labels(ax.yaxis, labels, leaves_list(joined))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel("distance")
    ax.spines["left"].set_visible(False)
    return ax


@validate_params(COMPARISON)
def plot_topic_similarity(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    metric: Literal["cosine", "hellinger", "average_jaccard"] = "hellinger",
    n_words: int = 3,
    ax: Axes | None = None,
) -> Axes:
    """Plot the similarity of topics as a matrix in which related topics form blocks.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `top_words`. At least two topics.
    feature_names : array-like of str of shape (n_features,), default=None
        As in `top_words`.
    metric : {'cosine', 'hellinger', 'average_jaccard'}, default='hellinger'
        As in `topic_similarity`.
    n_words : int, default=3
        Number of words shown after the name of a topic.
    ax : matplotlib Axes, default=None
        Axes to plot into. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        Topics are in the order of `plot_topic_dendrogram`, from top to bottom and from left to right.

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.inspection import plot_topic_similarity
    >>> components = [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.4, 0.6, 0.0]]
    >>> ax = plot_topic_similarity(components, ["apple", "pear", "plum"])
    >>> len(ax.get_xticklabels())
    3
    >>> plt.close(ax.figure)
    """
    model_or_components = in_one_state(model_or_components)
    similarity = topic_similarity(model_or_components, metric=metric)
    order = leaves_list(_joined(similarity))
    labels = _labels(model_or_components, feature_names, n_words)
    height = MARGIN + ROW_HEIGHT * len(labels)
    ax = one_axes(ax, (height + 1 + width_of(labels), height))
    shown = similarity[np.ix_(order, order)]
    others = shown[~np.eye(len(shown), dtype=bool)]
    image = ax.imshow(shown, vmin=0, vmax=others.max() or 1.0, cmap="Blues", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="similarity", shrink=0.6, extend="max")
    _set_labels(ax.yaxis, labels, order)
    ax.set_xticks(range(len(order)), [str(topic) for topic in order], rotation=90, fontsize="small")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _labels(model_or_components, feature_names, n_words):
    words = top_words(model_or_components, feature_names, n_words=n_words)
    names = topic_labels(model_or_components, len(words))
    return [label_of(name, joined(map(shortened, some))) for name, some in zip(names, words)]


def _set_labels(axis, labels, order):
    axis.set_ticks(range(len(order)), [labels[topic] for topic in order], fontsize="small", parse_math=False)
    axis.set_tick_params(length=0)


def _joined(similarity):
    """Return the tree of topics as a matrix of scipy.cluster.hierarchy.linkage."""
    if len(similarity) < 2:
        raise ValueError("model_or_components has 1 topic; must have at least two.")
    distances = squareform(1 - similarity, checks=False)
    return linkage(distances, method="average", optimal_ordering=True)


def _brackets(joined):
    """Return the lines of the tree, one per pair of branches: up, across and down to the other branch.

    ndarray of shape (n_components - 1, 4, 2), of distances and rows.
    """
    n = len(joined) + 1
    rows, distances = np.empty(2 * n - 1), np.zeros(2 * n - 1)
    rows[leaves_list(joined)] = np.arange(n)
    brackets = np.empty((n - 1, 4, 2))
    for i, (first, second, distance, _) in enumerate(joined):
        ends = [int(first), int(second)]
        rows[n + i], distances[n + i] = rows[ends].mean(), distance
        brackets[i, :, 0] = distances[ends[0]], distance, distance, distances[ends[1]]
        brackets[i, :, 1] = rows[ends].repeat(2)
    return brackets
