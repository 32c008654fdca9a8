"""Shared parts of the moment-matching estimators."""

from __future__ import annotations

from typing import Self

from sktopic._estimators._concurrency import fits, trains
from sktopic._estimators._constraints import PRIOR, SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._compat import CallbackSupportMixin, StrOptions, with_callbacks
from sktopic._topics._prior import check_prior
from sktopic._training._monitor import FitTasks
from sktopic._typing import DocumentsLike, FloatArray
from sktopic.moment_matching._method import MATCHES
from sktopic.moment_matching._state import FilterState
from sktopic.moment_matching._trainer import documents_to_filter, filter_stream, n_updates


class FilterEstimator(CallbackSupportMixin, TopicModel):
    """Base class: one pass over the tokens updates a FilterState with the FilterMethod of `_method`."""

    _state: FilterState

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_word_prior": [PRIOR, None],
        "second_moment": [StrOptions(set(MATCHES))],
        "shuffle": [StrOptions({"corpus", "document"}), None],
    }

    _state_class = FilterState

    n_components_ = fitted("n_in_use")
    doc_topic_prior_ = fitted("prior_in_use")
    topic_word_prior_ = fitted("topic_word_prior")
    log_marginal_likelihood_ = fitted("log_marginal_likelihood")
    n_tokens_seen_ = fitted("n_tokens_seen")
    n_samples_seen_ = fitted("n_documents")
    _seed = fitted("seed")

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Learn the topics of a corpus from scratch in one pass over its tokens.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Corpora on disk and blocks are read in parts
            unless ``shuffle='corpus'``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if X is not a valid count matrix or changes during the call.
            After this or any other error in `fit`, the estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            If you interrupt the call. The state is then the posterior given the tokens seen so far.
        """
        self._check_settings()
        method = self._method()
        documents = self._begin_anew(X, lambda documents: documents_to_filter(documents, method))
        filter_stream(self, method, documents, FitTasks(self, X, y, 1, n_updates(documents, method)))
        self._warn_at_limit()
        return self

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Update the posterior with the tokens of more documents.

        With ``shuffle='document'`` or None, several calls give bit for bit the same result as one call with
        all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. A row is a whole document.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`, or if n_components or a prior differs from that of the first call. After an error,
            the state is the posterior given the tokens seen so far.
        """
        self._check_settings()
        method = self._method()
        documents = self._begin_or_continue(X, lambda documents: documents_to_filter(documents, method))
        filter_stream(self, method, documents, FitTasks(self, X, y, 1, 1, reporting=False))
        return self

    def _warn_at_limit(self):
        """Warn if the inferred number of topics is the largest that n_components allows."""

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)

    def _topic_probabilities(self):
        return self._state.topics_in_use()

    def _transform_step(self):
        return self._method().prediction()

    @property
    def topic_word_posterior_(self) -> FloatArray:
        model = self._read()
        state = model._state
        return model.components_ * state.topics.sums[: state.n_in_use, None]
