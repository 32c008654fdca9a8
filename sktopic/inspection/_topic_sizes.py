"""Sizes of topics: shares of the words, and how many of the largest topics have most of them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._plug_in import column_names, in_one_state, last_step, topic_labels
from sktopic._estimators._topic_names import joined
from sktopic._runtime._axes import one_axes
from sktopic._runtime._optional import import_pandas, import_pyplot
from sktopic._typing import FloatArray, IntArray
from sktopic.inspection._tables import N_LABEL_WORDS, infer_documents, top_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

# Shares that texts and plots mention, and what they are called.
SHARES = {0.5: "half", 0.9: "90%", 0.99: "99%", 1.0: "all"}
# Rounding of cumulative shares.
ROUNDING = 1e-12
# Size of the figure in inches, and the smallest distance of two labels as a fraction of the height.
FIGURE_SIZE = (6.4, 3.2)
LABEL_DISTANCE = 0.075


@dataclass(frozen=True, repr=False, eq=False)
class TopicSizes:
    """Topics by size, returned by `topic_sizes`.

    Its printed form says how many of the largest topics have half, 90%, 99% and all of the words. If the
    same number of topics has two of these shares, only the larger share is printed.

    Attributes
    ----------
    topics : ndarray of shape (n_components,), dtype int
        Numbers of the topics, the largest topic first. Ties are broken by number.
    names : list of str
        Names of these topics given by `name_topics`, or "Topic 0" and so on.
    words : list of str
        The three most probable words of these topics, separated by commas.
    tokens : ndarray of shape (n_components,)
        Number of tokens of these topics.
    """

    topics: IntArray
    names: list[str]
    words: list[str]
    tokens: FloatArray

    def __repr__(self) -> str:
        return f"TopicSizes({', '.join(_marks(self).values())})"

    @property
    def shares(self) -> FloatArray:
        """Shares of these topics in all tokens; they sum to one."""
        shares: FloatArray = self.tokens / self.tokens.sum()
        return shares

    @property
    def cumulative_shares(self) -> FloatArray:
        """Share of each topic and all larger topics; the last is one."""
        totals = self.tokens.cumsum()
        shares: FloatArray = totals / totals[-1]
        return shares

    @property
    def table(self) -> DataFrame:
        """DataFrame with one row per topic, largest first; needs pandas.

        Its columns are topic, name, words, tokens, share and cumulative_share.
        """
        columns = {"topic": self.topics, "name": self.names, "words": self.words, "tokens": self.tokens}
        shares = {"share": self.shares, "cumulative_share": self.cumulative_shares}
        return import_pandas().DataFrame({**columns, **shares})

    def n_topics(self, share: float) -> int:
        """Return how many of the largest topics are needed for a share of the words.

        Parameters
        ----------
        share : float
            Share of all words, above 0 and at most 1.

        Returns
        -------
        n_topics : int
            Smallest number of topics that have at least this share, up to rounding errors.
        """
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 < share <= 1:
            raise ValueError(f"share={share!r} is invalid: must be above 0 and at most 1.")
        return int(np.searchsorted(self.cumulative_shares, share - ROUNDING)) + 1


def topic_sizes(model: object, X: object = None) -> TopicSizes:
    """Sort topics by size, and count how many have half or most of the words.

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``topic_word_counts_``, or a pipeline or search that ends in one. If X is given, any
        estimator with ``components_`` and ``transform``.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features), default=None
        Word counts (or pipeline input) that determine the sizes of topics, as in `topic_table`. If None,
        sizes are the tokens counted in training, the row sums of ``topic_word_counts_``. A model that has
        ``total_samples_`` scales them to that number of documents.

    Returns
    -------
    sizes : TopicSizes
        Topics, tokens, shares and cumulative shares, largest topic first. ``sizes.table`` is a DataFrame.
        ``sizes.n_topics(0.5)`` is the number of topics that have half of the words. Printing shows a summary.

    Raises
    ------
    TypeError
        If X is None and the model has no ``topic_word_counts_``, such as `LangevinLDA` and the models of
        `sktopic.moment_matching`.
    ValueError
        If all documents are without words.

    See Also
    --------
    plot_topic_sizes : Plot the cumulative shares.
    topic_table : Describe each topic by its words and documents.

    Notes
    -----
    Online training assigns the words of a document to the topics at that time. After few updates,
    ``topic_word_counts_`` still contains counts of early topics. To assign all words to the final topics,
    pass X.

    Examples
    --------
    >>> from sktopic.inspection import topic_sizes
    >>> from sktopic.lda import CollapsedGibbsLDA
    >>> X = 20 * [[6, 6, 0, 0]] + 20 * [[0, 0, 2, 2]]
    >>> sizes = topic_sizes(CollapsedGibbsLDA(n_components=2, random_state=0).fit(X))
    >>> sizes
    TopicSizes(1 topic has half of the words, 2 have all)
    >>> sizes.shares.round(2)
    array([0.75, 0.25])
    >>> sizes.n_topics(0.8)
    2
    """
    model = in_one_state(model)
    names, estimator = column_names(model), last_step(model)
    tokens = _training_tokens(estimator) if X is None else _tokens_of(model, X)
    order = np.argsort(-tokens, kind="stable")
    labels, words = topic_labels(estimator, len(tokens)), top_words(estimator, names, n_words=N_LABEL_WORDS)
    return TopicSizes(order, [labels[k] for k in order], list(map(joined, words[order])), tokens[order])


def plot_topic_sizes(model: object, X: object = None, *, ax: Axes | None = None) -> Axes:
    """Plot the share of the words that the largest topics have, by number of topics.

    Labels say how many topics have half, 90%, 99% and all of the words. If the same number of topics has two
    of these shares, only the larger share is labeled.

    Parameters
    ----------
    model : fitted estimator
        As in `topic_sizes`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features), default=None
        As in `topic_sizes`.
    ax : matplotlib Axes, default=None
        Axes to plot into, with room for labels on the right. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError, ValueError
        As in `topic_sizes`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.inspection import plot_topic_sizes
    >>> from sktopic.lda import CollapsedGibbsLDA
    >>> X = 20 * [[6, 6, 0, 0]] + 20 * [[0, 0, 2, 2]]
    >>> ax = plot_topic_sizes(CollapsedGibbsLDA(n_components=2, random_state=0).fit(X))
    >>> [text.get_text() for text in ax.texts]
    ['2 have all', '1 topic has half of the words']
    >>> plt.close(ax.figure)
    """
    import_pyplot()
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    sizes = topic_sizes(model, X)
    marks = _marks(sizes)
    ax = one_axes(ax, FIGURE_SIZE)
    heights = np.append(0.0, sizes.cumulative_shares)
    numbers = list(marks)
    ax.plot(np.arange(len(heights)), heights, color="C0", clip_on=False)
    ax.plot(numbers, heights[numbers], "o", color="C0", markersize=5, clip_on=False)
    ax.vlines(numbers, 0, heights[numbers], colors="C0", linewidth=0.8, alpha=0.5)
    level = np.inf
    for number, text in reversed(marks.items()):
        level = min(heights[number], level - LABEL_DISTANCE)
        _label(ax, text, (number, heights[number]), level)
    ax.set_xlim(0, len(heights) - 1)
    ax.set_ylim(0, 1)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlabel("number of topics, largest first")
    ax.set_ylabel("share of the words")
    return ax


def _label(ax, text, point, level):
    """Write a text to the right of the axes at a level, joined to a point of the curve by a thin line."""
    ax.annotate(
        text,
        point,
        (1.03, level),
        textcoords="axes fraction",
        verticalalignment="center",
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": "C0", "linewidth": 0.8, "alpha": 0.5},
    )


def _marks(sizes):
    """Return texts for marked numbers of topics, a dict of str by number, in ascending order.

    If the same number of topics has several of the shares, the text names the largest.
    """
    found = {sizes.n_topics(share): name for share, name in SHARES.items()}
    texts = {number: f"{number} have {name}" for number, name in found.items()}
    first = min(found)
    texts[first] = f"{first} {'topic has' if first == 1 else 'topics have'} {found[first]} of the words"
    return texts


def _training_tokens(estimator):
    """Return the tokens of each topic as training has counted them, ndarray of shape (n_components,)."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    counts = getattr(estimator, "topic_word_counts_", None)
    if counts is None:
        raise TypeError(
            f"model is a {type(estimator).__name__}, which has no topic_word_counts_. Pass X, such as the "
            "training documents, to compute the sizes of topics from the topic proportions of X."
        )
    tokens = counts.sum(axis=1)
    if not tokens.any():
        raise ValueError("model has no words in its topics. Fit it to documents with words.")
    return tokens


def _tokens_of(model, X):
    """Return the expected tokens of each topic in X, ndarray of shape (n_components,)."""
    documents = infer_documents(model, X)
    return documents.lengths @ documents.proportions.astype(np.float64)
