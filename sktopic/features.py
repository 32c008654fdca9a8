"""Columns of X: those that a fitted model knows, in its order."""

from typing import Any, Literal

from sktopic._estimators._vocabulary import NAMES, listed

__all__ = ["align_features"]


def align_features(X: Any, model: Any, *, unknown: Literal["error", "drop"] = "error") -> Any:
    """Bring the columns of a DataFrame into the order that a fitted model knows them in.

    Estimators refuse columns in another order than that of `fit`, as scikit-learn wants it. A document of
    which a word is not a column has none of it: columns that X lacks are zero.

    Parameters
    ----------
    X : pandas.DataFrame of shape (n_samples, n_columns)
        Word counts; the names of the columns are words.
    model : estimator
        Fitted to a DataFrame, so that it has ``feature_names_in_``: a topic model or another estimator of
        scikit-learn.
    unknown : {'error', 'drop'}, default='error'
        What happens to columns that the model does not know. Before they are dropped, ask whether the topic
        model should learn them (``add_features``).

    Returns
    -------
    aligned : pandas.DataFrame of shape (n_samples, n_features_in_)
        The columns ``model.feature_names_in_``.

    Raises
    ------
    TypeError
        If X is no DataFrame of pandas.
    ValueError
        If the model has no names of features, if names of X are there twice, or if some are unknown, with
        ``unknown='error'``; the message has the names.

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
            f"this {type(model).__name__} has no names of features: fit it to a DataFrame whose columns have "
            "names."
        )
    if not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()].unique()
        raise ValueError(f"names of columns are there more than once: {listed(repeated)}.")
    if unknown == "error":
        strange = X.columns.difference(names, sort=False)
        if len(strange):
            raise ValueError(
                f"the model does not know these columns: {listed(strange)}. Leave them out by "
                "unknown='drop', or let a topic model learn them (add_features)."
            )
    return X.reindex(columns=names, fill_value=0)
