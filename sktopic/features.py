"""Align the columns of X with those of a fitted model."""

from __future__ import annotations

from typing import Any, Literal

from sktopic._estimators._vocabulary import NAMES, listed

__all__ = ["align_features"]


def align_features(X: Any, model: Any, *, unknown: Literal["error", "drop"] = "error") -> Any:
    """Bring the columns of a DataFrame into the order of a fitted model.

    Estimators reject columns in another order than in `fit`, like all of scikit-learn. Columns that X lacks
    are filled with zeros.

    Parameters
    ----------
    X : pandas.DataFrame of shape (n_samples, n_columns)
        Word counts. Column names are words.
    model : estimator
        An estimator of this library or scikit-learn, fitted to a DataFrame so that it has
        ``feature_names_in_``.
    unknown : {'error', 'drop'}, default='error'
        Whether columns that the model does not know raise an error or are dropped. A topic model can also
        learn them (``add_features``).

    Returns
    -------
    aligned : pandas.DataFrame of shape (n_samples, n_features_in_)
        Columns ``model.feature_names_in_``.

    Raises
    ------
    TypeError
        If X is not a pandas DataFrame.
    ValueError
        If the model has no feature names, column names of X are repeated, or, with ``unknown='error'``,
        columns are unknown. The message names the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sktopic.features import align_features
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = pd.DataFrame([[2, 1, 0], [0, 1, 3]], columns=["moon", "orbit", "space"])
    >>> lda = OnlineEMLDA(n_components=2, random_state=0).fit(pd.concat([X] * 20))
    >>> align_features(pd.DataFrame({"space": [1], "moon": [2]}), lda)
       moon  orbit  space
    0     2      0      1
    """
    if unknown not in ("error", "drop"):
        raise ValueError(f"unknown={unknown!r}: 'error' or 'drop' is allowed.")
    if not hasattr(X, "reindex") or not hasattr(X, "columns"):
        raise TypeError(
            f"X is a {type(X).__name__}; a DataFrame of pandas is needed, whose columns have names."
        )
    names = getattr(model, NAMES, None)
    if names is None:
        raise ValueError(
            f"this {type(model).__name__} has no feature names: fit it to a DataFrame with column names."
        )
    if not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()].unique()
        raise ValueError(f"column names of X are repeated: {listed(repeated)}.")
    if unknown == "error":
        strange = X.columns.difference(names, sort=False)
        if len(strange):
            raise ValueError(
                f"the model does not know these columns: {listed(strange)}. Leave them out by "
                "unknown='drop', or let a topic model learn them (add_features)."
            )
    return X.reindex(columns=names, fill_value=0)
