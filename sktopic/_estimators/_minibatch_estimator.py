"""Estimators that are trained on one mini-batch after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from numpy.typing import ArrayLike

from sktopic._estimators._concurrency import Training, fits, trains
from sktopic._estimators._editing import drop_topics, freeze_topics, merge_topics
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._topic_model import TopicModel
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._compat import CallbackSupportMixin, with_callbacks
from sktopic._runtime._parallel import Workers
from sktopic._training._document_start import start_from_documents
from sktopic._training._minibatches import (
    VALIDATION_KEY,
    Passes,
    Run,
    add_minibatches,
    batch_size,
    fit_minibatches,
)
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._typing import DocumentsLike


class MinibatchEstimator(CallbackSupportMixin, TopicModel):
    """Base class of estimators whose method `train_on_batch` runs (see `MinibatchMethod`).

    A subclass has parameters and a docstring, defines `_method`, and names the class of its state. The weight
    of a document multiplies the results of its document step. Classes without document weights take `fit` and
    `partial_fit` from `_unweighted_training`.
    """

    batch_size: int | None
    max_iter: int | None
    early_stopping: bool
    validation_fraction: float
    # These are parameters of some methods only.
    total_samples: float | None = None
    components_init: ArrayLike | None = None
    shuffle: bool

    # Raises ValueError for options without a rule for lanes (see _lanes.py). None if the class has no rule.
    _check_lanes: Callable[[], None] | None = None

    _state: Any

    n_iter_ = fitted("n_passes")
    n_batch_iter_ = fitted("n_updates")
    n_samples_seen_ = fitted("n_samples_seen")
    total_samples_ = fitted("total_samples")
    validation_scores_ = fitted("validation_scores")
    _seed = fitted("seed")

    merge_topics = merge_topics
    drop_topics = drop_topics
    freeze_topics = freeze_topics

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the topics of a corpus from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Each block holds some of the rows, and every pass
            iterates over the blocks again. Corpora on disk and blocks need little memory (see the guide page
            "Train on data larger than memory", also for ``shuffle``).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, >= 0. A document of weight 2 counts as two documents in the topics, the
            learned priors and the corpus size, but not in its own proportions. If None, all documents weigh
            1. Documents of weight 0 are left out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, or X is not a valid count matrix or changes during the call. After
            any error the estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            If you interrupt the call. The model keeps the last complete update.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        self._check_settings()

        def weighted(documents):
            documents = documents.weighted(sample_weight)
            if self.early_stopping and documents.n_documents < 2:
                raise ValueError(
                    "early_stopping=True holds out documents and needs at least 2; X has "
                    f"{documents.n_documents} sample."
                )
            return documents

        documents = self._begin_anew(X, weighted)
        with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
            evaluate = None
            if self.early_stopping:
                key = combine_keys(self._state.seed, VALIDATION_KEY)
                documents, held_out = documents.split(self.validation_fraction, key)

                def evaluate():
                    return self._completion(held_out, workers).value()

            passes = self._passes(documents.n_documents)
            n_batches = -(-documents.n_documents // batch_size(documents, passes.size))
            tasks = FitTasks(self, X, y, None if passes.may_repeat else passes.max_iter, n_batches)
            run = Run(method=self._method(), training=Training(self), monitor=monitor, workers=workers)
            if self._starts_from_documents:
                start_from_documents(run.training, documents)
            self._fit_documents(run, documents, passes, tasks, evaluate)
        return self

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Continue training on more documents, in batches of ``batch_size``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are read once, so an iterator is allowed.
            If a block is invalid, the model keeps what it learned from the blocks before it.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, >= 0. A document of weight 2 counts as two documents in the topics, the
            learned priors and the corpus size, but not in its own proportions. If None, all documents weigh
            1. Documents of weight 0 are left out.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`. Also if n_components has changed, unless the model uses it only as the initial number
            of topics. After an error, the model keeps the last complete update.
        """
        return self._partial_fit(X, sample_weight)

    def _partial_fit(self, X, sample_weight):
        self._check_settings()
        documents = self._begin_or_continue(X, lambda documents: documents.weighted(sample_weight))
        with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
            run = Run(method=self._method(), training=Training(self), monitor=monitor, workers=workers)
            if self._starts_from_documents:
                start_from_documents(run.training, documents, once=True)
            self._add_documents(run, documents)
        return self

    @property
    def _starts_from_documents(self):
        """Whether components_init is 'documents', the only string that an estimator may allow."""
        return isinstance(self.components_init, str)

    def _passes(self, n_documents):
        """Return the Passes of fit over so many documents."""
        return Passes(
            max_iter=self._number_of_passes(),
            size=None if self._trains_on_whole_corpus() else self._documents_per_update(n_documents),
            shuffle=self.shuffle,
            total_samples=self.total_samples,
        )

    def _number_of_passes(self):
        """Return the number of passes of fit."""
        return int(self.max_iter)

    def _fit_documents(self, run, documents, passes, tasks, evaluate):
        """Train on the documents of fit."""
        fit_minibatches(run, documents, passes, tasks, evaluate)

    def _add_documents(self, run, documents):
        """Train on the documents of partial_fit."""
        add_minibatches(run, documents, self._documents_per_update(), self.total_samples)

    def _documents_per_update(self, n_documents=None):
        """Return the size of batches in fit, of so many documents; or elsewhere, if n_documents is None."""
        return int(self.batch_size)

    def _trains_on_whole_corpus(self):
        """Return whether each update of fit sees all documents."""
        return False

    # Required by TopicModel

    def _inference_topics(self):
        return self._present_method().inference_topics(self._state)

    def _transform_step(self):
        return self._present_method().prediction

    # Edits of topics

    def _has_topics(self):
        return self._state.n_topic_updates > 0
