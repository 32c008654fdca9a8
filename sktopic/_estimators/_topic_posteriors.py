"""Models with a Dirichlet posterior for each topic: its parameters, and the evidence lower bound."""

import math
from abc import abstractmethod
from numbers import Real

import numpy as np
from sklearn.utils import check_scalar

from sktopic._documents._matrices import document_groups
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._exact_sum import ExactSum
from sktopic._topics._word_count_views import priors_of
from sktopic._typing import DocumentsLike, FloatArray


class TopicPosteriors(TopicModel):
    """Base class: a subclass defines the parameters of the posteriors, `_posterior_parameters`."""

    @property
    def topic_word_posterior_(self) -> FloatArray:
        return self._read()._posterior_parameters()

    @abstractmethod
    def _posterior_parameters(self):
        """Return the Dirichlet parameters of the topics, ndarray of shape (n_components_, n_features)."""


class CountPosteriors(TopicPosteriors):
    """Base class of mini-batch models whose parameters are ``topic_word_counts_ + topic_word_prior_``.

    Frozen topics have the prior that they were frozen with.
    """

    topic_word_counts_: FloatArray
    topic_word_prior_: float

    def _posterior_parameters(self):
        priors = priors_of(self._statistics, self.topic_word_prior_, self._columns())
        return self.topic_word_counts_ + np.reshape(priors, (-1, 1))


class EvidenceLowerBound(CountPosteriors):
    """Base class of those that know the bound of a corpus.

    A subclass defines `_bound_of_batch` and `_bounds_of_topics`.
    """

    @abstractmethod
    def _bound_of_batch(self, batch, workers):
        """Return bounds of the documents of a DocumentBatch, in nats: a sequence that sums to their part."""

    @abstractmethod
    def _bounds_of_topics(self):
        """Return what is not the documents' part, a sequence of numbers in nats."""

    def elbo(self, X: DocumentsLike, y: object = None, *, total_samples: float | None = None) -> float:
        """Evidence lower bound of a corpus under the fitted posterior of the topics, in nats.

        A bound on the log marginal likelihood of all of X, documents and topics together (and the weights
        of topics, where the model has a posterior of those): it grows with the number of documents, and
        bounds of different models say little about their predictions. Use `score` to compare models.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        total_samples : float or None, default=None
            Size of the corpus that X is a sample of, > 0: the documents' part is scaled up to it. None:
            X is the corpus.

        Returns
        -------
        elbo : float
            Total nats, natural logarithm.
        """
        check_scalar(total_samples, "total_samples", (Real, type(None)))
        if total_samples is not None and not 0 < total_samples < math.inf:
            raise ValueError(f"total_samples={total_samples!r}: a finite number > 0 or None is allowed.")
        return self._answer(
            X, lambda inference, *given: inference.model._bound(*given, total_samples), "elbo"
        )

    def _bound(self, documents, workers, progress, total_samples):
        total, n_documents = ExactSum(), 0
        for first, last, batch in (group for X in documents.blocks() for group in document_groups(X)):
            total.add(self._bound_of_batch(batch, workers))
            n_documents += last - first
            progress.advance(last - first)
        scale = 1.0 if total_samples is None else total_samples / n_documents
        bound = scale * total.value()
        for part in self._bounds_of_topics():
            bound += part
        return bound
