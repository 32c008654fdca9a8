"""Base class of the mini-batch estimators for the HDP."""

from __future__ import annotations

import numpy as np

from sktopic._estimators._constraints import PRIOR, SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._topics._word_count_views import expected_counts, priors_of
from sktopic._training._step_size import StepSize
from sktopic._typing import FloatArray
from sktopic.hdp._parameters import check_concentration_priors, parameters_of


class MinibatchHDPEstimator(MinibatchEstimator):
    """Base class of HDP estimators: shared attributes and checks of parameters."""

    _infers_number_of_topics = True
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_concentration": [PRIOR],
        "doc_concentration": [PRIOR],
    }

    n_components_ = fitted("in_use.size")
    topic_ids_ = fitted("topic_ids")
    topic_weights_ = fitted("topic_weights")
    doc_topic_prior_ = fitted("doc_topic_prior")
    topic_concentration_ = fitted("topic_concentration")
    doc_concentration_ = fitted("doc_concentration")
    topic_word_prior_ = fitted("topic_word_prior")

    @property
    def topic_word_counts_(self) -> FloatArray:
        model = self._read()
        state = model._state
        return np.ascontiguousarray(expected_counts(state.words, state.unit, state.in_use).T)

    def _check_settings(self):
        super()._check_settings()
        check_concentration_priors(self)

    def _columns(self):
        return self._state.in_use

    def _initial_number(self):
        """Return the number of topics at the start."""
        return int(self.n_components)

    def _common_settings(self, default):
        """Return the settings of all methods; default: topic_word_prior if it is None."""
        return {
            "n_components": self._initial_number(),
            "components": self.components_init,
            "parameters": parameters_of(self, default),
            "steps": StepSize(self.learning_offset, self.learning_decay),
        }


def _topic_word_posterior(self) -> FloatArray:
    model = self._read()
    # Frozen topics keep the prior from the time of freezing.
    priors = priors_of(model._state.words, model._state.topic_word_prior, model._columns())
    return model.topic_word_counts_ + np.reshape(priors, (-1, 1))


# Attribute of some estimators, which name it in their class bodies.
topic_word_posterior = property(_topic_word_posterior)
