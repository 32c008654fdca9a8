"""Regression of topic proportions on document covariates."""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sktopic._documents._covariates import LARGEST_COVARIATE
from sktopic._documents._feature_names import check_distinct
from sktopic._estimators._constraints import MOST_SWEEPS
from sktopic._estimators._plug_in import after_pipeline, in_one_state, topic_labels
from sktopic._runtime._arrays import real_numbers
from sktopic._runtime._axes import CHARACTER_WIDTH, half_width, one_axes, width_of
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pandas
from sktopic._typing import TopicsLike
from sktopic.inspection._tables import (
    check_table,
    chosen_topics,
    label_of,
    label_words,
    names_in_table,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

COLUMNS = ("topic", "name", "words", "covariate", "effect", "standard_error", "low", "high")
SMALLEST_UNEXPLAINED = 1e-9
# Squares of effects of smaller covariates might overflow.
SMALLEST_SIZE = 1e-100
# Inches: the width of a plot without labels, and the height of one topic.
WIDTH, ROW_HEIGHT = 3.5, 0.22
# Inches of a number below the axis, and characters of a label in narrow axes.
TICK_WIDTH, SHORTEST_LABEL = 0.6, 8


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, MOST_SWEEPS, closed="both")],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
    }
)
def estimate_effect(
    model: object,
    X: object,
    covariates: ArrayLike,
    *,
    n_samples: int = 20,
    confidence_level: float = 0.95,
    model_covariates: ArrayLike | None = None,
) -> DataFrame:
    """Regress topic proportions on covariates, with the uncertainty of the proportions.

    The proportions are drawn several times from their posterior. Each set of draws is regressed on the
    covariates by least squares, and the results are pooled by Rubin's rules [1]_.

    Read more on the guide page "Does a topic depend on author, year or section?".

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``sample_proportions``, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, or the input of the pipeline.
    covariates : DataFrame or array-like of shape (n_documents,) or (n_documents, n_covariates)
        One row per document. Numbers and booleans are used directly. A column of strings or categories
        becomes one indicator per category except the first, the baseline. Strings are ordered alphabetically.
        ``pandas.Categorical(column, categories)`` sets another order. The covariate of a category is
        named "column=category", or "category" if a single column is no DataFrame. An intercept is added.
    n_samples : int, default=20
        Number of draws per document, at least 2.
    confidence_level : float, default=0.95
        Coverage of the intervals.
    model_covariates : array-like of shape (n_documents, n_model_covariates), default=None
        Covariates of the model's prior (`sktopic.lda.DMRLDA`), as in its ``fit``. Proportions are drawn given
        these. If None, they are drawn under the model's mean prior.

    Returns
    -------
    effects : DataFrame
        One row per covariate and topic, in this order, with the columns "topic" (number), "name", "words"
        (the first three), "covariate", "effect" (change of the proportion per unit of the covariate),
        "standard_error", "low" and "high". The covariate "(intercept)" comes first.

    Raises
    ------
    TypeError
        If the model has no ``sample_proportions``, or is given covariates that its prior does not have.
    ValueError
        If the covariates have missing, infinite, extreme or complex values, repeated names, no variation,
        linear dependence, or a different number of rows than X.
    ImportError
        If pandas is not installed.

    See Also
    --------
    plot_effects : Plot the effects of one covariate.
    topics_over_time : Shares of topics by date.

    Notes
    -----
    - Standard errors within a set of draws are robust to unequal variances (HC3, [2]_). The pooled t
      distribution has the degrees of freedom of Barnard and Rubin [3]_.
    - The draws are kept in memory: 8 bytes per document, draw and topic.
    - Unless `model_covariates` are given, the prior ignores the covariates and shrinks effects: by about a
      fifth with 10 words per document, by a few percent with 100 words.
    - Topics are held fixed. Repeat with other seeds to see how effects depend on them.

    References
    ----------
    .. [1] D. B. Rubin, "Multiple imputation for nonresponse in surveys", Wiley, 1987.
    .. [2] J. G. MacKinnon and H. White, "Some heteroskedasticity-consistent covariance matrix estimators with
       improved finite sample properties", Journal of Econometrics 29, 1985.
    .. [3] J. Barnard and D. B. Rubin, "Small-sample degrees of freedom with multiple imputation", Biometrika
       86, 1999.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import estimate_effect
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> effects = estimate_effect(lda, X, ["first"] * 40 + ["second"] * 60)
    >>> list(effects.covariate.unique())
    ['(intercept)', 'second']
    """
    pandas, model = import_pandas(), in_one_state(model)
    design, names = _design(pandas, covariates)
    estimator, counts = after_pipeline(model, X)
    draws = _draws(estimator, counts, n_samples, model_covariates)
    if len(draws) != len(design):
        raise ValueError(f"covariates has {len(design)} rows, but X has {len(draws)} documents.")
    _check_design(design, names)
    effects, errors, freedom = pooled_regressions(design, draws)
    width = stdtrit(freedom, 0.5 + float(confidence_level) / 2) * errors
    n_topics = draws.shape[2]
    values = (
        np.tile(np.arange(n_topics), len(names)),
        np.tile(np.array(topic_labels(model, n_topics), dtype=object), len(names)),
        np.tile(label_words(model), len(names)),
        np.repeat(np.array(names, dtype=object), n_topics),
        *(array.ravel() for array in (effects, errors, effects - width, effects + width)),
    )
    return pandas.DataFrame(dict(zip(COLUMNS, values)))


def _draws(estimator, X, n_samples, model_covariates):
    """Return draws of proportions, ndarray of shape (n_documents, n_samples, n_topics)."""
    name = type(estimator).__name__
    if not hasattr(estimator, "sample_proportions"):
        raise TypeError(f"model is a {name}; a fitted topic model with sample_proportions is needed.")
    given = {} if model_covariates is None else {"covariates": model_covariates}
    if given and "covariates" not in signature(estimator.sample_proportions).parameters:
        raise TypeError(
            f"model_covariates is invalid: must be None, because {name} has a prior without covariates."
        )
    try:
        return np.asarray(estimator.sample_proportions(X, n_samples, **given), dtype=np.float64)
    except ValueError as error:
        # Of the model's own checks, which name its parameter.
        if given and str(error).startswith(("covariates ", "covariates.columns ")):
            raise ValueError(f"model_{error}") from error
        raise


def pooled_regressions(design, draws):
    """Regress each set of draws by least squares, and pool the results by Rubin's rules.

    Parameters
    ----------
    design : ndarray of shape (n_documents, n_coefficients)
    draws : ndarray of shape (n_documents, n_draws, n_topics)

    Returns
    -------
    effects, errors, freedom : ndarray of shape (n_coefficients, n_topics)
        Coefficients, their standard errors, and the degrees of freedom of their t distribution.
    """
    n_documents, n_draws, _ = draws.shape
    basis, triangle = np.linalg.qr(design)
    solve = np.linalg.solve(triangle, basis.T)  # (n_coefficients, n_documents)
    unexplained = _unexplained(basis)[:, np.newaxis]  # HC3 divides residuals by it
    effects = np.empty((n_draws, design.shape[1], draws.shape[2]))
    variances = np.empty_like(effects)
    for i in range(n_draws):
        effects[i] = solve @ draws[:, i]
        residuals = (draws[:, i] - design @ effects[i]) / unexplained
        variances[i] = np.square(solve) @ np.square(residuals)
    within = variances.mean(axis=0)
    between = (1.0 + 1.0 / n_draws) * effects.var(axis=0, ddof=1)
    total = within + between
    with np.errstate(divide="ignore", invalid="ignore"):
        missing = np.where(total > 0.0, between / total, 0.0)
        of_draws = (n_draws - 1.0) / np.square(missing)
    complete = n_documents - design.shape[1]
    of_documents = (complete + 1.0) / (complete + 3.0) * complete * (1.0 - missing)
    freedom = 1.0 / (1.0 / of_draws + 1.0 / np.maximum(of_documents, np.finfo(float).tiny))
    return effects.mean(axis=0), np.sqrt(total), freedom


def _design(pandas, covariates):
    """Return the design matrix, ndarray of shape (n_documents, n_coefficients), and its column names."""
    # An array would turn numbers beside strings into strings.
    if not isinstance(covariates, pandas.DataFrame | pandas.Series | pandas.Categorical | list | tuple):
        # pandas finds what is masked, which an ordinary array would forget.
        values = covariates if np.ma.isMaskedArray(covariates) else np.asarray(covariates)
        if values.ndim not in (1, 2):
            raise TypeError(
                f"covariates={covariates!r:.80} is invalid: must be a DataFrame, or an array of one or two "
                "dimensions with one row for each document. Convert sparse matrices by toarray()."
            )
        covariates = values
    is_table = isinstance(covariates, pandas.DataFrame)
    if not is_table:
        covariates = pandas.DataFrame(list(covariates) if isinstance(covariates, tuple) else covariates)
        if list(covariates.columns) == [0]:
            covariates.columns = ["covariate"]
    covariates = covariates.infer_objects()
    missing = [str(name) for name, column in covariates.items() if column.isna().any()]
    if missing:
        raise ValueError(f"covariates has missing values in {', '.join(missing)}; leave these documents out.")
    columns, names = [np.ones(len(covariates))], ["(intercept)"]
    for name, column in covariates.items():
        if pandas.api.types.is_complex_dtype(column):
            raise ValueError(f"covariates has complex numbers in {name}; real numbers are allowed.")
        values = _numbers(pandas, column)
        if values is not None:
            columns.append(values)
            names.append(str(name))
            continue
        if column.dtype.kind in "mM" or pandas.api.types.infer_dtype(column) in ("date", "timedelta"):
            raise ValueError(
                f"covariates has dates or durations in {name}; must be numbers, such as years, or categories."
            )
        try:
            categories = column.astype("category").cat.remove_unused_categories()
        except TypeError:  # lists
            raise TypeError(
                f"covariates has values in {name} that are neither numbers nor categories."
            ) from None
        for code, category in enumerate(categories.cat.categories[1:], start=1):
            columns.append((categories.cat.codes == code).to_numpy(dtype=np.float64))
            names.append(f"{name}={category}" if is_table or covariates.shape[1] > 1 else str(category))
    check_distinct(names, "the list of covariates and categories")
    return np.column_stack(columns), names


def _numbers(pandas, column):
    """Return the numbers of a column, such as Decimal, as ndarray of float64; None if it has other values."""
    if pandas.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64)
    try:
        return real_numbers(column) if column.dtype == object else None
    except (TypeError, ValueError):
        return None


def _check_design(design, names):
    """Raise ValueError if the columns do not determine the coefficients."""
    infinite = [name for name, column in zip(names, design.T) if not np.isfinite(column).all()]
    if infinite:
        raise ValueError(
            f"covariates has infinite values in {', '.join(infinite)}; finite numbers are allowed."
        )
    size = np.abs(design).max(axis=0, initial=0.0)
    extreme = np.flatnonzero((size > LARGEST_COVARIATE) | (size > 0.0) & (size < SMALLEST_SIZE))
    if len(extreme):
        raise ValueError(
            f"covariates has numbers of size {size[extreme[0]]:g} in {names[extreme[0]]}; rescale them to at "
            f"least {SMALLEST_SIZE:g} and at most {LARGEST_COVARIATE:g}."
        )
    n_documents, n_coefficients = design.shape
    if n_coefficients == 1:
        raise ValueError("covariates has no column that varies; at least one is needed.")
    if n_documents <= n_coefficients:
        raise ValueError(
            f"X has {n_documents} documents for {n_coefficients} coefficients; more documents are needed."
        )
    scaled = design / np.maximum(np.abs(design).max(axis=0), np.finfo(float).tiny)
    if np.linalg.matrix_rank(scaled) < n_coefficients:
        ranks = [np.linalg.matrix_rank(scaled[:, :last]) for last in range(1, n_coefficients + 1)]
        dependent = [name for name, before, rank in zip(names[1:], ranks, ranks[1:]) if rank <= before]
        raise ValueError(
            "covariates has columns that are constant or linear combinations of the columns before them: "
            f"{', '.join(dependent)}; leave them out."
        )
    alone = np.flatnonzero(_unexplained(np.linalg.qr(scaled).Q) < SMALLEST_UNEXPLAINED)
    if len(alone):
        raise ValueError(
            f"document {alone[0]} alone determines a coefficient, such as a category of one; leave it out or "
            "merge categories."
        )


def _unexplained(basis):
    """Return 1 minus the leverage of each observation, shape (n_documents,)."""
    return 1.0 - np.square(basis).sum(axis=1)


def plot_effects(
    effects: DataFrame,
    covariate: str | None = None,
    *,
    topics: TopicsLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the effects of one covariate on topics, with confidence intervals.

    Topics are sorted by their effect.

    Parameters
    ----------
    effects : DataFrame
        Table returned by `estimate_effect`.
    covariate : str, default=None
        Covariate to plot. If None, the table must have one covariate besides the intercept.
    topics : iterable of int or str, default=None
        Topics to plot, by number or by the name in the table. If None, all topics.
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
        If the table lacks columns, or the covariate or a topic is unknown.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import estimate_effect, plot_effects
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> ax = plot_effects(estimate_effect(lda, X, ["first"] * 40 + ["second"] * 60))
    >>> ax.get_title(loc="left")
    'second'
    >>> plt.close(ax.figure)
    """
    check_table(effects, COLUMNS, "estimate_effect")
    known = [name for name in effects["covariate"].unique() if name != "(intercept)"]
    if covariate is None and len(known) == 1:
        covariate = known[0]
    if not isinstance(covariate, str) or covariate not in set(effects["covariate"]):
        raise ValueError(f"covariate={covariate!r} is invalid: must be one of {known}.")
    rows = effects[effects["covariate"] == covariate]
    rows = rows[np.isin(rows["topic"], chosen_topics(topics, names_in_table(rows)))]
    rows = rows.sort_values("effect", kind="stable")
    labels = [label_of(name, shortened(words)) for name, words in zip(rows["name"], rows["words"])]
    is_new, ax = ax is None, one_axes(ax, (WIDTH + width_of(labels), 1.0 + ROW_HEIGHT * len(rows)))
    room = WIDTH if is_new else half_width(ax)
    if not is_new:  # the labels take the other half
        labels = [shortened(label, max(SHORTEST_LABEL, int(room / CHARACTER_WIDTH))) for label in labels]
    places = np.arange(len(rows))
    effect, low, high = (rows[name].to_numpy() for name in ("effect", "low", "high"))
    ax.axvline(0.0, color="0.7", linewidth=0.8)
    ax.errorbar(effect, places, xerr=(effect - low, high - effect), fmt="o", markersize=4, elinewidth=1.2)
    ax.locator_params(axis="x", nbins=max(2, int(room / TICK_WIDTH)))
    ax.set_yticks(places, labels, fontsize="small", parse_math=False)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_title(shortened(covariate), loc="left", fontsize="medium", parse_math=False)
    ax.set_xlabel("Effect on the proportion", loc="right", fontsize="small")
    return ax
