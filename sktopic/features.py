"""Align the columns of X with those of a fitted model, and add new words to both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sktopic._documents._feature_names import check_same_names, listed
from sktopic._estimators._constraints import AT_LEAST_ONE
from sktopic._estimators._topic_model import TopicModel
from sktopic._estimators._vocabulary import NAMES, add_words, checked_feature_names
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._interrupt import uninterrupted
from sktopic._runtime._texts import check_texts

__all__ = ["align_features", "grow_vocabulary"]


def align_features(X: Any, model: Any, *, unknown: Literal["error", "drop"] = "error") -> Any:
    """Bring the columns of a DataFrame into the order of a fitted model.

    Columns that X lacks are filled with zeros. As in scikit-learn, estimators themselves raise an error if
    columns are in another order than in `fit`.

    Parameters
    ----------
    X : pandas.DataFrame of shape (n_samples, n_columns)
        Word counts. Column names are words.
    model : estimator
        An estimator of this library or scikit-learn that has ``feature_names_in_``, from a DataFrame, a
        corpus on disk or ``set_feature_names``.
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
        advice = " Call X.to_pandas()." if hasattr(X, "to_pandas") else ""
        raise TypeError(
            f"X is a {type(X).__name__}; a DataFrame of pandas is needed, whose columns have names.{advice}"
        )
    names = getattr(model, NAMES, None)
    if names is None:
        raise ValueError(
            f"this {type(model).__name__} has no feature names: fit it to a DataFrame with column names, or "
            "name the words of a topic model by set_feature_names."
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


@validate_params({"min_df": [AT_LEAST_ONE, Interval(Real, 0, 1, closed="right"), None]})
def grow_vocabulary(
    pipeline: Pipeline, texts: Iterable[Any], *, min_df: float | None = None
) -> NDArray[np.object_]:
    """Add the new words of texts to a CountVectorizer and its topic model.

    New words get columns after the known words, and the model gets the names of all words. Nothing else in
    the model changes, so train it on the texts afterwards. After an error, the vectorizer and the model are
    unchanged.

    Parameters
    ----------
    pipeline : Pipeline of a CountVectorizer and a topic model, both fitted
        Its steps are changed in place. Separate steps can be passed as ``make_pipeline(vectorizer, model)``.
    texts : iterable of str
        The texts, or other documents that the vectorizer takes. Read once.
    min_df : int, float in (0, 1] or None, default=None
        Minimum number (share if float) of texts that contain a new word. If None, ``min_df`` of the
        vectorizer.

    Returns
    -------
    words : ndarray of str of shape (n_new_words,), dtype object
        The new words in the order of their columns. Empty if there are none.

    Raises
    ------
    NotFittedError
        If a step is not fitted.
    TypeError
        If `pipeline` has other steps, `texts` is a string, a DataFrame, a dict or not iterable, or a new
        word is not a string.
    ValueError
        If the words of both steps differ, or the vectorizer has ``max_features``. If `texts` is empty or has
        an entry such as None (the message gives its number, from 0). If ``max_df`` of the vectorizer permits
        fewer texts than min_df demands, as a share of few texts does.
    RuntimeError
        If another thread is training the model, or the words of a step change while `texts` is read.

    See Also
    --------
    sktopic.lda.OnlineEMLDA.add_features : Add words to a model only.

    Notes
    -----
    - The analyzer, the stop words and ``max_df`` of the vectorizer apply to the new texts. A word that
      ``max_df`` excluded before stays out if it exceeds ``max_df`` in the new texts.
    - Parameters, even a fixed ``vocabulary``, do not change: `fit` and `sklearn.base.clone` do not keep the
      new words.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sktopic.features import grow_vocabulary
    >>> from sktopic.lda import OnlineEMLDA
    >>> vectorizer, lda = CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)
    >>> pipeline = make_pipeline(vectorizer, lda).fit(["moon orbit moon", "goal match goal"] * 20)
    >>> more = ["orbit of a comet", "comet and moon"]
    >>> grow_vocabulary(pipeline, more, min_df=2)
    array(['comet'], dtype=object)
    >>> lda.partial_fit(vectorizer.transform(more)).feature_names_in_
    array(['goal', 'match', 'moon', 'orbit', 'comet'], dtype=object)
    """
    vectorizer, model = _steps(pipeline)
    check_is_fitted(model)
    known, names, n_features = before = _present_words(vectorizer, model)
    if len(known) != n_features:
        raise ValueError(
            f"pipeline is invalid: its steps must have the same words, but the {type(vectorizer).__name__} "
            f"has {len(known)} and the {type(model).__name__} {n_features}."
        )
    known = checked_feature_names(known, n_features, "the vocabulary")
    check_same_names(names, known, "the vectorizer")
    words = _new_words(vectorizer, texts, min_df)

    def check_unchanged():
        if _present_words(vectorizer, model) != before:
            raise RuntimeError(
                "the words of the pipeline changed while texts was read, so nothing was added. Call "
                "grow_vocabulary again, and change the pipeline in one thread at a time."
            )

    if len(words):
        columns = {word: len(known) + i for i, word in enumerate(words)}
        vocabulary = {**vectorizer.vocabulary_, **columns}
        with uninterrupted():  # both change, or none
            add_words(model, known, words, check_unchanged)
            vectorizer.vocabulary_ = vocabulary
    return words


def _steps(pipeline):
    """Return the two steps of a pipeline; TypeError for others."""
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else [pipeline]
    kinds = CountVectorizer, TopicModel
    if len(steps) == 2 and all(map(isinstance, steps, kinds)) and not isinstance(steps[0], TfidfVectorizer):
        return steps
    raise TypeError(
        f"pipeline={' and '.join(type(step).__name__ for step in steps)} is invalid: must be a Pipeline of a "
        "CountVectorizer and a topic model. make_pipeline(vectorizer, model) joins fitted steps. Weights "
        "such as idf are unknown for new words."
    )


def _present_words(vectorizer, model):
    """Return the words of both steps, None for a model without names, and the number of words."""
    names = np.asarray(getattr(model, NAMES, None), dtype=object).tolist()
    return vectorizer.get_feature_names_out().tolist(), names, model.n_features_in_


def _new_words(vectorizer, texts, min_df):
    """Return the words of texts that the vectorizer would learn and does not know, in order."""
    check_texts(texts)
    if vectorizer.max_features is not None:
        raise ValueError(
            f"max_features={vectorizer.max_features} of the vectorizer is invalid: must be None, because "
            "its vocabulary would grow beyond that. vectorizer.set_params(max_features=None) permits it."
        )
    analyze, counts, n_texts = vectorizer.build_analyzer(), Counter(), 0
    for text in texts:
        try:
            words = set(analyze(text))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"texts has {text!r:.80} at number {n_texts}, which is invalid: must be a text. The "
                f"vectorizer says: {error}"
            ) from error
        counts.update(words.difference(vectorizer.vocabulary_))
        n_texts += 1
    if not n_texts:
        raise ValueError("texts is invalid: must have at least one text.")
    limits = vectorizer.min_df if min_df is None else min_df, vectorizer.max_df
    least, most = (limit if isinstance(limit, Integral) else limit * n_texts for limit in limits)
    asked, permitted = math.ceil(least), math.floor(most)
    if permitted < min(asked, n_texts):
        raise ValueError(
            f"max_df={limits[1]} of the vectorizer is invalid: permits words in at most {permitted} of the "
            f"{n_texts} texts, and min_df={limits[0]} asks for {asked}. Permit frequent words by "
            "vectorizer.set_params(max_df=1.0)."
        )
    words = [word for word, n in counts.items() if least <= n <= most]
    strange = [word for word in words if not isinstance(word, str)]
    if strange:
        raise TypeError(f"new words must be strings, but the analyzer returns {listed(strange)}.")
    return np.array(sorted(words), dtype=object)
