"""Shared parts of the estimators with a posterior of the number of topics."""

from __future__ import annotations

import warnings
from numbers import Real

from sktopic._documents._sources import joined
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._fitted_inference import TRANSFORM_KEY
from sktopic._inference._completion import mean_log_predictive
from sktopic._inference._prediction import FixedTopics, infer_proportions
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._compat import Interval, StrOptions
from sktopic._runtime._progress import NOT_SHOWN
from sktopic._typing import DocumentsLike, FloatingArray
from sktopic.exceptions import TopicLimitWarning
from sktopic.moment_matching._document_step import ProportionsForm
from sktopic.moment_matching._estimator import FilterEstimator
from sktopic.moment_matching._mixture_method import MixtureMethod
from sktopic.moment_matching._numbers import RATES, check_number_prior
from sktopic.moment_matching._state import MixtureState

RATE = Interval(Real, 0, 1000, closed="both")


class MixtureEstimator(FilterEstimator):
    """Base class of the models with a posterior of the number of topics, 1 to n_components."""

    _state: MixtureState
    # Representation of the proportions of a document.
    _form: ProportionsForm

    _infers_number_of_topics = True
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **FilterEstimator._parameter_constraints,
        "n_components_prior": [StrOptions(set(RATES)), None, RATE, "array-like"],
    }
    _state_class = MixtureState

    n_components_posterior_ = fitted("numbers.posterior")
    n_components_prior_ = fitted("numbers.prior")
    n_tokens_trace_ = fitted("numbers.tokens_trace")
    n_components_trace_ = fitted("numbers.topics_trace")

    def _method(self):
        return MixtureMethod(
            n_components=self.n_components,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            second_moment=self.second_moment,
            shuffle=self.shuffle,
            form=self._form,
            n_components_prior=self.n_components_prior,
        )

    def predict_mixture(self, X: DocumentsLike) -> FloatingArray:
        """Infer topic proportions, averaged over the possible numbers of topics.

        `transform` uses the most probable number of topics. This method averages the proportions under all
        numbers of topics, weighted by ``n_components_posterior_``. `score` uses this average.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components)
            Expected proportions of all n_components topics. Rows sum to one. float32 if X is float32,
            otherwise float64.
        """

        def mixture(inference, documents, workers, progress):
            model = inference.model
            return joined([model._mixture(block, workers, progress) for block in documents.blocks()])

        return self._answer(X, mixture, "predict_mixture")

    def _mixture(self, X, workers, progress):
        """Return proportions of all topics, averaged under the fitted posterior of their number."""
        state, method = self._state, self._method()
        fixed = FixedTopics(
            topics=state.topics.leading(state.topics.n_topics),
            prior=state.doc_topic_prior,
            step=method.step(method.form, state.numbers.posterior),
            key=combine_keys(state.seed, TRANSFORM_KEY),
        )
        return infer_proportions(X, fixed, workers, progress)

    def _completion(self, documents, workers, progress=NOT_SHOWN):
        return mean_log_predictive(
            documents.groups(),
            self._state.topics.leading(self._state.topics.n_topics),
            lambda observed: self._mixture(observed, workers, progress),
            workers,
        )

    def _check_settings(self):
        super()._check_settings()
        check_number_prior(self.n_components_prior, self.n_components)

    def _warn_at_limit(self):
        if 1 < self.n_components <= self.n_components_:
            warnings.warn(
                f"{type(self).__name__} finds that the largest possible number of topics, "
                f"n_components={self.n_components}, is the most probable. The corpus may support "
                "more: fit again with a larger n_components.",
                TopicLimitWarning,
                stacklevel=2,
            )
