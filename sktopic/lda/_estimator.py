"""The public interface that the mini-batch estimators for LDA share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._topics._prior import DocPrior, check_prior, default_topic_word_prior
from sktopic._topics._topic_word_prior import WordPrior, check_topic_word_prior
from sktopic._topics._word_count_views import expected_counts, priors_of
from sktopic._typing import FloatArray
from sktopic.lda._lda_state import LDAState
from sktopic.lda._minibatch_method import MinibatchLDA


class MinibatchLDAEstimator(MinibatchEstimator):
    """Base class with the shared attributes and the joint checks of parameters."""

    doc_topic_prior: float | ArrayLike | str | None
    topic_word_prior: Any

    _parameter_constraints = SHARED
    _state_class = LDAState
    _state: LDAState

    doc_topic_prior_ = fitted("doc_topic_prior")
    topic_word_prior_ = fitted("word_prior.base")
    n_components_ = fitted("words.n_topics")

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_topic_word_prior(self.topic_word_prior, self.n_components)

    def _composed(self, **parts):
        """Return a MinibatchLDA built from these parts and the parameters that all estimators have."""
        shared = {
            "n_components": self.n_components,
            "doc_prior": DocPrior(self.doc_topic_prior),
            "word_prior": self._word_prior(),
            "components_init": None if self._starts_from_documents else self.components_init,
            "keeps_places": bool(self._topic_names),
        }
        return MinibatchLDA(**shared | parts)

    def _word_prior(self, rule="fixed-point"):
        return WordPrior(self.topic_word_prior, default_topic_word_prior(self.n_components), rule)


# Attributes of some estimators, which name them in their class bodies.


def _topic_word_counts(self) -> FloatArray:
    model = self._read()
    unit = model._present_method().unit(model._state)
    return np.ascontiguousarray(expected_counts(model._state.words, unit).T)


def _topic_word_posterior(self) -> FloatArray:
    model = self._read()
    words, prior = model._state.words, model._state.word_prior
    # Frozen topics keep the prior of the time of freezing.
    counts = _topic_word_counts(model)
    parameters = counts + np.reshape(priors_of(words, prior.base, model._columns()), (-1, 1))
    if prior.entries is not None:
        word, k, value = prior.entries.at(np.arange(words.n_features))
        parameters[k, word] = counts[k, word] + value
    return parameters


topic_word_counts = property(_topic_word_counts)
topic_word_posterior = property(_topic_word_posterior)
