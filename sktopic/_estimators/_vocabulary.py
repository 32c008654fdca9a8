"""A vocabulary that grows: words added to a fitted model."""

from collections import Counter
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._concurrency import trains
from sktopic._runtime._arrays import rows_and_more
from sktopic._state._fields import State, grown

NAMES = "feature_names_in_"
# Names that an error message lists.
LISTED = 5


class GrowingVocabulary:
    """Base class of models with arrays of one row a word (``_fitted_arrays``)."""

    _fitted_arrays: ClassVar[dict[str, tuple[Any, ...]]]
    _fitted_states: ClassVar[dict[str, type[State]]]
    n_features_in_: int
    if TYPE_CHECKING:  # of TopicModel

        def _checked(self) -> Self: ...
        def _unfitted(self) -> tuple[Self, dict[str, Any]]: ...
        def _take(self, begun: Self, before: dict[str, Any]) -> None: ...

    @trains
    def add_features(self, features: int | ArrayLike) -> Self:
        """Add words to the vocabulary of the fitted model, behind those it has.

        X has columns for them from then on, in `partial_fit`, `transform` and all other methods. Of a new
        word nothing is known: in every topic it weighs what topic_word_prior says of a word without tokens.
        What is known of the other words does not change; their probabilities fall by what the new ones take.
        Training the model on columns of zeros for these words from the start, with the same initial topics,
        gives the same, bit for bit, where topic_word_prior is 0; otherwise their share of the prior
        has had a part in the training.

        Parameters
        ----------
        features : int or array-like of str
            Names of the new words, where X had names when the model was fitted; otherwise their number.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        TypeError
            For a number where names are needed, or names where a number is.
        ValueError
            For names that are there already or twice, which the message has, or a number below one.
        RuntimeError
            If another thread is training this object.

        See Also
        --------
        sktopic.features.align_features : Brings the columns of a DataFrame into the order of the model.
        """
        check_is_fitted(self)
        self._checked()
        known = getattr(self, NAMES, None)
        grown, before = self._unfitted()
        if known is None:
            n = _number(features)
        else:
            names = _new_names(features, known)
            n = len(names)
            setattr(grown, NAMES, np.concatenate([known, names]))
        grown._add_words(n)
        grown.n_features_in_ = self.n_features_in_ + n
        self._take(grown, before)
        return self

    def _add_words(self, n):
        """Let the arrays have rows for n words more, of which nothing is known; change none in place."""
        for name, (_, *sizes) in self._fitted_arrays.items():
            array = getattr(self, name)
            if sizes[0] == "features" or (sizes[0] == "features?" and len(array)):
                setattr(self, name, rows_and_more(array, n))
        for name in self._fitted_states:
            setattr(self, name, grown(getattr(self, name), n))


def _number(features):
    if not isinstance(features, Integral) or isinstance(features, bool):
        raise TypeError(
            f"features={features!r:.80}: the model was fitted to X without names of columns, so that the "
            "number of new words is needed."
        )
    if features < 1:
        raise ValueError(f"features={features}: one new word at least is needed.")
    return int(features)


def _new_names(features, known):
    if isinstance(features, (str, Integral)):
        raise TypeError(
            f"features={features!r:.80}: the model was fitted to X with names of columns, so that the names "
            "of the new words are needed, in a list."
        )
    names = list(features)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise TypeError(f"names of features are strings; {listed(strange)} are not.")
    if not names:
        raise ValueError("features is empty: one new word at least is needed.")
    present = set(known).intersection(names)
    if present:
        raise ValueError(f"the model has these features already: {listed(n for n in names if n in present)}.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"new features are there more than once: {listed(twice)}.")
    return np.array([str(name) for name in names], dtype=object)


def listed(names):
    """The first names, for a message."""
    names = [f"{name!r:.80}" for name in names]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
