"""Shares of topics in a corpus over time."""

from __future__ import annotations

from numbers import Integral, Number, Real
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from sktopic._estimators._plug_in import in_one_state, topic_labels
from sktopic._runtime._arrays import row_blocks
from sktopic._runtime._axes import panels
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pandas
from sktopic._typing import TopicsLike
from sktopic.inspection._tables import (
    check_table,
    chosen_topics,
    infer_documents,
    label_words,
    names_in_table,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure
    from pandas import DataFrame

# Size of a panel, in inches.
PANEL_WIDTH, PANEL_HEIGHT = 2.6, 1.7
COLUMNS = ("period", "topic", "name", "words", "share", "standard_error", "low", "high", "n_documents")


@validate_params({"confidence_level": [Interval(Real, 0, 1, closed="neither")]})
def topics_over_time(
    model: object,
    X: object,
    dates: ArrayLike,
    freq: object = None,
    *,
    confidence_level: float = 0.95,
) -> DataFrame:
    """Compute the share of each topic in the tokens of each period, with confidence intervals.

    Read more on the guide page "Look at topics".

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``components_`` and ``transform``, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, or the input of the pipeline. Documents without words are left out.
    dates : array-like of shape (n_samples,)
        Date of each document: dates and times of NumPy or pandas, strings that ``pandas.to_datetime``
        reads, or integers such as years.
    freq : str or pandas DateOffset, default=None
        Length of a period in pandas notation: "YS" (years), "10YS", "QS", "MS" (months), "W", "D". Periods
        are named by the date that pandas assigns, which is the first day if freq ends in S. If freq is given,
        integers in `dates` are read as years. If None, each distinct date is a period.
    confidence_level : float, default=0.95
        Coverage of the intervals.

    Returns
    -------
    table : DataFrame
        One row per non-empty period and topic, in this order, with the columns

        - period: date of the period, or the integer;
        - topic: number of the topic;
        - name: name given by `name_topics`, or "Topic 0" and so on;
        - words: the three most probable words, separated by commas;
        - share: share of the topic in the tokens of the period; shares sum to one over topics;
        - standard_error: standard error of the share;
        - low, high: confidence interval;
        - n_documents: number of documents with words in the period.

        In a period with one document, standard error and interval are NaN.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If dates cannot be read or are missing, if their number is wrong, or if no document has words.

    See Also
    --------
    plot_topics_over_time : Plot these shares.
    estimate_effect : Test for a trend, with time as a covariate.

    Notes
    -----
    Let n_d be the number of tokens of document d and theta_d its topic proportions. The share of topic k in a
    period of m documents is s = sum_d n_d theta_dk / sum_d n_d. The jackknife gives its standard error,

        sqrt((m - 1) / m * sum_d (n_d (theta_dk - s) / (N - n_d))^2)   where N = sum_d n_d.

    - Intervals use Student's t with m - 1 degrees of freedom on the logit scale and stay within 0 and 1. They
      cover variation between documents; topics and proportions are treated as known.
    - With few documents, intervals are too short if a topic fills some documents and is absent from the
      others. Simulations used 30 documents of unequal lengths. With symmetric Dirichlet proportions,
      intervals of level 0.95 contained the true share in 91 to 95 of 100 cases. In another setting,
      a topic with mean proportion 0.02 had nearly all its tokens in 2% of the simulated documents. Intervals
      contained its share in 70 to 77 of 100 cases.
    - In short documents, the prior pulls proportions toward its mean. The shares of periods with short
      documents are pulled toward the same mean.

    References
    ----------
    W. G. Cochran, "Sampling techniques", 3rd edition, Wiley, 1977, chapter 6: ratio estimators, and section
    6.17: the jackknife.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import topics_over_time
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> years = [2001] * 40 + [2002] * 60
    >>> table = topics_over_time(lda, X, years)
    >>> table.pivot(index="period", columns="topic", values="share").shape
    (2, 10)
    """
    pandas, model = import_pandas(), in_one_state(model)
    documents = infer_documents(model, X)
    periods, codes = periods_of(dates, freq, len(documents.lengths))
    kept, tables, n_documents = shares_of_periods(
        documents.lengths, documents.proportions, codes, confidence_level
    )
    n_components = documents.proportions.shape[1]
    values = {
        "period": periods[kept].repeat(n_components),
        "topic": np.tile(np.arange(n_components), len(kept)),
        "name": np.tile(np.array(topic_labels(model, n_components), dtype=object), len(kept)),
        "words": np.tile(label_words(model), len(kept)),
        **{name: table.ravel() for name, table in tables.items()},
        "n_documents": n_documents.repeat(n_components),
    }
    return pandas.DataFrame(values)


@validate_params({"n_columns": [Interval(Integral, 1, None, closed="left")]})
def plot_topics_over_time(
    table: DataFrame,
    *,
    topics: TopicsLike | None = None,
    n_columns: int = 4,
    fig: Figure | SubFigure | None = None,
) -> NDArray[np.object_]:
    """Plot the shares of topics over time with confidence intervals, one panel per topic.

    Each panel has its own scale, starting at zero. Its title is the name of the topic and its first words.

    Parameters
    ----------
    table : DataFrame
        Table returned by `topics_over_time`.
    topics : iterable of int or str, default=None
        Topics to plot, by number or by the name in the table, in this order. If None, all topics.
    n_columns : int, default=4
        Number of panels per row.
    fig : matplotlib Figure or SubFigure, default=None
        Figure to plot into. If None, a new figure.

    Returns
    -------
    axes : ndarray of matplotlib Axes of shape (n_topics,)
        One per topic. ``axes[0].figure`` is their figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed: ``pip install sktopic[plot]``.
    TypeError, ValueError
        If the table lacks columns or names of topics, or a topic is unknown.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import plot_topics_over_time, topics_over_time
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> axes = plot_topics_over_time(topics_over_time(lda, X, [2001] * 40 + [2002] * 60))
    >>> axes.shape
    (10,)
    >>> plt.close(axes[0].figure)
    """
    check_table(table, COLUMNS, "topics_over_time")
    chosen = chosen_topics(topics, names_in_table(table))
    n_columns = min(n_columns, len(chosen))
    n_rows = -(-len(chosen) // n_columns)
    size = PANEL_WIDTH * n_columns, PANEL_HEIGHT * n_rows
    places = panels(fig, (n_rows, n_columns), size, sharex=True)
    axes, empty = np.split(places, [len(chosen)])
    for ax, topic in zip(axes, chosen):
        _plot_shares(ax, table[table["topic"] == topic])
    for ax in axes[-n_columns:]:
        ax.tick_params(labelbottom=True)  # the lowest panel of its column
    for ax in empty:
        ax.remove()
    return axes


def _plot_shares(panel, rows):
    """Draw the rows of one topic."""
    from matplotlib.dates import AutoDateLocator
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    periods = rows["period"].to_numpy()
    panel.fill_between(periods, rows["low"], rows["high"], alpha=0.25, linewidth=0)
    panel.plot(periods, rows["share"], marker=".", markersize=4, linewidth=1)
    panel.set_ylim(0, 1.05 * rows[["share", "high"]].max(axis=None) or None)
    first = rows.iloc[0]
    title = f"{shortened(first['name'])}\n{shortened(first['words'])}"
    panel.set_title(title, fontsize="small", loc="left", parse_math=False)
    panel.yaxis.set_major_locator(MaxNLocator(2))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))
    integers = periods.dtype.kind in "iu"
    panel.xaxis.set_major_locator(
        MaxNLocator(3, integer=True) if integers else AutoDateLocator(minticks=2, maxticks=4)
    )
    panel.tick_params(labelsize="x-small")


def shares_of_periods(lengths, proportions, codes, confidence_level):
    """Return the periods with words, columns of `topics_over_time` for them, and numbers of documents.

    The columns are a dict of ndarrays of shape (n_periods, n_components). Parameters are those of
    `share_of_tokens`, except that documents may have no words.
    """
    used = np.flatnonzero(lengths)
    kept, codes = np.unique(codes[used], return_inverse=True)
    share, error, n_documents = share_of_tokens(lengths[used], proportions[used], codes)
    low, high = interval_of_share(share, error, n_documents, confidence_level)
    return kept, {"share": share, "standard_error": error, "low": low, "high": high}, n_documents


def share_of_tokens(lengths, proportions, codes):
    """Return the share of each topic in the tokens of each period, and its jackknife standard error.

    Parameters
    ----------
    lengths : ndarray of shape (n_documents,)
        Tokens, positive.
    proportions : ndarray of shape (n_documents, n_components)
    codes : ndarray of shape (n_documents,)
        Period of each document. Each period has at least one document.

    Returns
    -------
    share, error : ndarray of shape (n_periods, n_components)
        The error is NaN in periods of one document.
    n_documents : ndarray of shape (n_periods,)
    """
    n_documents = np.bincount(codes)
    tokens = np.bincount(codes, weights=lengths)
    share = np.zeros((len(tokens), proportions.shape[1]))
    squares = np.zeros_like(share)
    for block in row_blocks(proportions):
        share += _indicator(lengths[block], codes[block], len(tokens)) @ proportions[block]
    share /= tokens[:, None]
    # Leaving out the only document of a period leaves nothing.
    alone = n_documents == 1
    others = np.where(alone[codes], np.inf, tokens[codes] - lengths)
    for block in row_blocks(proportions):
        by_period = _indicator((lengths[block] / others[block]) ** 2, codes[block], len(tokens))
        squares += by_period @ (proportions[block] - share[codes[block]]) ** 2
    with np.errstate(invalid="ignore"):
        error = np.sqrt(np.where(alone, np.nan, (n_documents - 1) / n_documents)[:, None] * squares)
    return share, error, n_documents


def _indicator(values, codes, n_periods):
    """Return the matrix of shape (n_periods, n_documents) with the value of each document in its period."""
    n_documents = len(codes)
    return sp.csc_array((values, codes, np.arange(n_documents + 1)), shape=(n_periods, n_documents))


def interval_of_share(share, error, n_documents, confidence_level):
    """Return confidence intervals of shares on the logit scale, two ndarrays of the shape of the shares.

    The interval of a share with standard error zero is the share itself.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        quantile = stdtrit(n_documents - 1.0, 0.5 + float(confidence_level) / 2)[:, None]
        width = np.where(error == 0, 0, quantile * error / (share * (1 - share)))
        middle = logit(share)
    return expit(middle - width), expit(middle + width)


def periods_of(dates, freq, n_documents):
    """Return the possible periods, a pandas Index in ascending order, and the period of each document."""
    pandas = import_pandas()
    dates = _read_dates(pandas, dates, years=freq is not None)
    if len(dates) != n_documents:
        raise ValueError(f"dates has {len(dates)} entries, but X has {n_documents} documents.")
    _check_none_missing(dates)
    codes, periods = dates.factorize(sort=True)
    if freq is None:
        return periods, codes
    try:
        if pandas.tseries.frequencies.to_offset(freq).n < 1:
            raise ValueError("not a positive length")
        groups = pandas.Series(0, index=periods).groupby(pandas.Grouper(freq=freq))
    except (TypeError, ValueError, ArithmeticError, NotImplementedError) as error:
        raise ValueError(
            f"freq={freq!r} is invalid: must be an offset of pandas, such as 'MS' or '7D' ({error})."
        ) from error
    return groups.size().index, groups.ngroup().to_numpy()[codes]


def _check_none_missing(dates):
    missing = np.flatnonzero(dates.isna())
    if len(missing):
        raise ValueError(
            f"dates has {len(missing)} missing values, the first for document {missing[0]}; leave these "
            "documents out."
        )


def _read_dates(pandas, dates, years):
    """Return the dates as a pandas Index of dates, or of integers unless `years` is true."""
    if isinstance(dates, str) or not np.iterable(dates) or getattr(dates, "ndim", 1) != 1:
        raise TypeError(f"dates={dates!r:.80} is invalid: must have one date for each document.")
    dates = pandas.Index(dates if hasattr(dates, "__array__") else list(dates))
    if isinstance(dates, pandas.CategoricalIndex):
        dates = dates.astype(dates.categories.dtype)
    dates = dates.infer_objects()  # integers among objects
    _check_none_missing(dates)
    if isinstance(dates, pandas.PeriodIndex):
        return dates.to_timestamp()
    if pandas.api.types.is_bool_dtype(dates) or dates.dtype.kind == "f":
        raise TypeError(f"dates has dtype {dates.dtype}; dates, strings and integers are allowed.")
    if dates.dtype == object and any(isinstance(value, Number) for value in dates):
        raise TypeError("dates has numbers among its objects: give dates alone, strings or integers.")
    if dates.dtype.kind not in "iu":
        try:
            return pandas.DatetimeIndex(pandas.to_datetime(dates))
        except (TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0].partition(" You might want to try")[0].rstrip(".")
            raise ValueError(
                f"dates cannot be read by pandas.to_datetime: {reason}. Read them first, such as by "
                "pandas.to_datetime(dates, format='%d.%m.%Y'), or give integers for other periods."
            ) from error
    if not years:
        return dates
    if len(dates) and not 1 <= dates.min() <= dates.max() <= 9999:
        raise ValueError(f"dates has {dates.min()} to {dates.max()}; with freq, years 1 to 9999 are allowed.")
    years_since_1970 = (dates.to_numpy(np.int64) - 1970).astype("datetime64[Y]")
    return pandas.DatetimeIndex(years_since_1970.astype("datetime64[s]"))
