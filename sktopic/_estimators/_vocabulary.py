"""Adding words to the vocabulary of a fitted model."""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._concurrency import take_over, trains
from sktopic._runtime._attributes import twin

NAMES = "feature_names_in_"
# Names that an error message lists.
LISTED = 5


Model = TypeVar("Model", bound=BaseEstimator)


@trains
def add_features(self: Model, features: int | ArrayLike) -> Model:
    """Add words to the vocabulary of the fitted model, after the known words.

    From then on, X has columns for the new words in all methods. A new word starts with the weight
    `topic_word_prior` in every topic. The probabilities of known words decrease by the probability of the new
    words; nothing else changes. If topic_word_prior is 0, the result is bit for bit that of training with
    columns of zeros for these words from the start, with the same initial topics.

    Parameters
    ----------
    features : int or array-like of str
        Names of the new words if the model was fitted to X with names, else their number.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If features is a number but names are needed, or the reverse.
    ValueError
        If a name is known or repeated, which the message lists, or the number is below one.
    RuntimeError
        If another thread is training this object.

    See Also
    --------
    sktopic.features.align_features : Brings the columns of a DataFrame into the order of the model.
    """
    check_is_fitted(self)
    self._checked()
    known = getattr(self, NAMES, None)
    grown = twin(self)
    if known is None:
        n = _number(features)
    else:
        names = _new_names(features, known)
        n = len(names)
        setattr(grown, NAMES, np.concatenate([known, names]))
    grown._check_settings()  # a parameter may give the weight of new words
    grown._state = grown._method().grown(grown._state, n)
    grown.n_features_in_ = self.n_features_in_ + n
    take_over(self, grown)
    return self


def _number(features):
    if not isinstance(features, Integral) or isinstance(features, bool):
        raise TypeError(
            f"features={features!r:.80}: the model was fitted to X without names of columns, so that the "
            "number of new words is needed."
        )
    if features < 1:
        raise ValueError(f"features={features} is invalid: must be at least 1.")
    return int(features)


def _new_names(features, known):
    if isinstance(features, (str, Integral)):
        raise TypeError(
            f"features={features!r:.80}: the model was fitted to X with names of columns, so that the names "
            "of the new words are needed, as a list."
        )
    names = list(features)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise TypeError(f"names of features are strings; {listed(strange)} are not.")
    if not names:
        raise ValueError("features is empty: must have at least one new word.")
    present = set(known).intersection(names)
    if present:
        raise ValueError(f"the model has these features already: {listed(n for n in names if n in present)}.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"new features are repeated: {listed(twice)}.")
    return np.array([str(name) for name in names], dtype=object)


def listed(names):
    """Return the first names, for a message."""
    names = [f"{name!r:.80}" for name in names]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
