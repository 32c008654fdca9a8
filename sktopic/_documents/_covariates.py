"""Covariates of documents: what users may give, and documents that come with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from sktopic._documents._feature_names import check_distinct, listed, text_columns
from sktopic._documents._matrices import check_sparse_structure
from sktopic._runtime._arrays import is_masked, is_missing, real_numbers

# Squares of larger numbers, summed over documents, might overflow.
LARGEST_COVARIATE = 1e100
ENCODE = "Encode categories by OneHotEncoder, for instance in a ColumnTransformer."


@dataclass(frozen=True, eq=False)
class DescribedDocuments:
    """X together with the covariates of its documents.

    Attributes
    ----------
    X : what users give as X
    values : ndarray of shape (n_documents, n_covariates), float64
    names : ndarray of str of shape (n_covariates,), or None
    """

    X: Any
    values: np.ndarray
    names: np.ndarray | None

    def check_same(self, n_covariates, names):
        """Raise ValueError unless the covariates are those of a model, whose names may be None."""
        n = self.values.shape[1]
        if n != n_covariates:
            raise ValueError(
                f"covariates is invalid: must have {n_covariates} columns, as in training, but has {n}."
            )
        if names is not None and self.names is not None and not np.array_equal(names, self.names):
            raise ValueError(
                f"covariates is invalid: must have the columns {listed(names)} in this order, as in "
                f"training, but has {listed(self.names)}."
            )


def described(X, covariates):
    """Return DescribedDocuments; X itself if covariates is None. ValueError for invalid covariates."""
    if covariates is None:
        return X
    names = text_columns(covariates)
    if names is not None:
        check_distinct(names, "covariates.columns")
    if sp.issparse(covariates):
        _check_shape(covariates.shape)
        covariates = check_sparse_structure(covariates, own=True, name="covariates").toarray()
    try:
        values = real_numbers(covariates)
    except (TypeError, ValueError):
        if is_masked(covariates):
            message = "covariates is invalid: it has masked values. Fill them, covariates.filled(...)."
            raise ValueError(message) from None
        entry = _first_refused(covariates)
        if entry is None:
            message = f"covariates is invalid: must be a DataFrame or an array of numbers. {ENCODE}"
            raise ValueError(message) from None
        raise _refused(*entry, names) from None
    _check_shape(values.shape)
    _check_no_categories(covariates)
    bad = ~(np.abs(values) <= LARGEST_COVARIATE)  # also NaN
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise _refused(values[row, column].item(), row, column, names)
    return DescribedDocuments(X, np.ascontiguousarray(values), names)


def _check_shape(shape):
    """Raise ValueError unless there are rows and columns."""
    if len(shape) != 2 or shape[1] == 0:
        wanted = "(n_samples, n_covariates)"
        raise ValueError(f"covariates is invalid: must have shape {wanted}, but has {shape}.")


def _check_no_categories(covariates):
    """Raise ValueError if a column of a data frame has categories, also if they are numbers."""
    if hasattr(covariates, "dtypes"):
        for name, dtype in zip(covariates.columns, covariates.dtypes):
            if str(dtype) == "category":
                raise ValueError(
                    f"covariates is invalid: must have numbers, but column {name!r} has categories. {ENCODE}"
                )


def _first_refused(covariates):
    """Return the first entry that is not a real number, its row and column; None if it cannot be found."""
    try:
        entries = np.asarray(covariates, dtype=object)
    except ValueError:  # arrays of different shapes
        return None
    for row, column in np.ndindex(entries.shape if entries.ndim == 2 else (0, 0)):
        try:
            real_numbers([entries[row, column]])
        except (TypeError, ValueError):
            return entries[row, column], row, column
    return None


def _refused(entry, row, column, names):
    """Return the ValueError that names an entry."""
    if is_missing(entry):
        advice = " Leave out documents with missing values, or fill them in."
    elif isinstance(entry, date | timedelta):
        advice = " Convert dates and durations to numbers, such as years."
    else:
        advice = "" if isinstance(entry, Number) else f" {ENCODE}"
    name = column if names is None else repr(names[column])
    return ValueError(
        f"covariates is invalid: must have finite numbers up to {LARGEST_COVARIATE:g} in absolute value, but "
        f"has {entry!r:.80} in row {row} of column {name}.{advice}"
    )
