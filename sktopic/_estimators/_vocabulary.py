"""The words of a fitted model: their names, and new words."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sktopic._documents._corpus import Corpus
from sktopic._documents._feature_names import (
    check_distinct,
    check_same_names,
    distinct_names,
    listed,
    names_array,
)
from sktopic._documents._matrices import MOST_WORDS
from sktopic._estimators._concurrency import take_over, trains, updating
from sktopic._runtime._attributes import set_attributes, twin

NAMES = "feature_names_in_"


Model = TypeVar("Model", bound=BaseEstimator)


def set_feature_names(self: Model, names: ArrayLike) -> Model:
    """Name the words of the fitted model, if X has no names.

    Tables and plots then show the words, and `save` stores them. A DataFrame or a corpus on disk with names
    sets them in `fit`. A model with names also takes sparse matrices and arrays, whose columns must have the
    order of the names; scikit-learn warns of arrays, which have no names. `fit` and `sklearn.base.clone` drop
    the names.

    Parameters
    ----------
    names : array-like of str of shape (n_features_in_,)
        The words in the order of the columns, such as ``get_feature_names_out()`` of a vectorizer. They
        replace earlier names. The index of a pandas Series is ignored.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If names is not a list of different strings, one for each column.
    RuntimeError
        If another thread is training this object.

    See Also
    --------
    add_features : Add words to the vocabulary.
    sktopic.inspection.name_topics : Name topics.
    """
    self._check_fitted()
    with updating(self):  # add_features changes the number of words
        found = checked_feature_names(names, self.n_features_in_, "names")
        check_distinct(found, "names")
        setattr(self, NAMES, found)
    return self


@trains
def add_features(self: Model, features: int | ArrayLike) -> Model:
    """Add words to the vocabulary of the fitted model, after the known words.

    After this call, X must have columns for the new words in all methods. A new word starts with the weight
    `topic_word_prior` in every topic. The probabilities of known words decrease by the probability of the new
    words; nothing else changes. If topic_word_prior is 0, training continues, up to rounding, as if these
    words had been columns of zeros from the start, with the same initial topics. This is not so if
    `OnlineEMHDP` adds topics.

    Parameters
    ----------
    features : int or array-like of str
        Names of the new words if the model has ``feature_names_in_``, else their number.

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
        If a name is known or repeated (the message lists it), or the number is below one or too large.
    RuntimeError
        If another thread is training this object.

    See Also
    --------
    sktopic.features.grow_vocabulary : Add the new words of texts to a CountVectorizer and a model.
    sktopic.features.align_features : Reorder the columns of a DataFrame as in the model.
    """
    self._check_fitted()
    self._checked()
    is_list = np.iterable(features) and not isinstance(features, (str, set, frozenset))
    # The names are read afterwards, because an iterator may change them.
    new = list(cast(Iterable[Any], features)) if is_list else features
    known = getattr(self, NAMES, None)
    _grow(self, known, _number(new) if known is None else _new_names(new, known))
    return self


@trains
def add_words(model, known, words, check):
    """Add words as `add_features` does, to a model whose present words are known, even if it has no names.

    check : function that raises an error if they are no longer the words of the model
    """
    check()
    _grow(model, known, _new_names(list(words), known))


def _grow(model, known, new):
    """Add new words, an array of names or their number, to a model with known names or None."""
    grown, n = twin(model), new if known is None else len(new)
    most = MOST_WORDS - model.n_features_in_
    if n > most:
        raise ValueError(f"features is invalid: must be at most {most} new words, but there are {n}.")
    if known is not None:
        setattr(grown, NAMES, np.concatenate([known, new]))
    grown._check_settings()  # a parameter may give the weight of new words
    grown._state = grown._method().grown(grown._state, n)
    grown.n_features_in_ = model.n_features_in_ + n
    take_over(model, grown)


def _number(features):
    if not isinstance(features, Integral) or isinstance(features, bool):
        raise TypeError(
            f"features={features!r:.80} is invalid: must be the number of new words, because the model has "
            "no names of words. set_feature_names gives it names."
        )
    if features < 1:
        raise ValueError(f"features={features} is invalid: must be at least 1.")
    return int(features)


def _new_names(features, known):
    if not isinstance(features, list):
        raise TypeError(
            f"features={features!r:.80} is invalid: must be a list of the names of the new words, because "
            "the model has names of words."
        )
    strange = [name for name in features if not isinstance(name, str)]
    if strange:
        raise TypeError(f"feature names must be strings; {listed(strange)} are not.")
    if not features:
        raise ValueError("features is empty: must have at least one new word.")
    present = set(known).intersection(features)
    if present:
        raise ValueError(
            f"the model already has these features: {listed(n for n in features if n in present)}."
        )
    check_distinct(features, "features")
    return np.array([str(name) for name in features], dtype=object)


def checked_feature_names(names, n_features, parameter=NAMES):
    """Return names as an object array; ValueError unless there is one string for each feature."""
    array = names_array(names, parameter)
    if len(array) != n_features:
        raise ValueError(f"{parameter} has {len(array)} names, but there are {n_features!r:.40} features.")
    return array


def names_of(X):
    """Return the names of the words of a corpus on disk, else None; ValueError for repeated names."""
    if not isinstance(X, Corpus) or X.feature_names is None:
        return None
    return distinct_names(X.feature_names, "feature_names of the corpus")


def take_names(names, model):
    """Set the names of a model's words, unless they are None."""
    if names is not None:
        setattr(model, NAMES, names)


def check_names_of(X, model):
    """Raise ValueError if X is a corpus on disk with other words than those of a model with names."""
    if isinstance(X, Corpus) and hasattr(model, NAMES):
        check_same_names(getattr(model, NAMES), X.feature_names, "X")


def without_names(model):
    """Return a shallow copy of a model that knows no names of words."""
    unnamed = twin(model)
    set_attributes(unnamed, {}, [NAMES])
    return unnamed
