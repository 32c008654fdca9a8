"""The scikit-learn side of batch samplers: fit and partial_fit, fitted attributes and edits of topics."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike

from sktopic._estimators._concurrency import changing, fits, trains
from sktopic._estimators._editing import drop_topics, freeze_topics, merge_topics
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._compat import CallbackSupportMixin, with_callbacks
from sktopic._runtime._parallel import Workers
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._training._sweeps import Schedule, SweepTrainer
from sktopic._typing import DocumentsLike, FloatArray


class SamplerEstimator(CallbackSupportMixin, TopicModel):
    """Base class of the Gibbs samplers of a corpus.

    The documents of a call are sampled in ``max_iter`` sweeps. Documents of earlier calls stay in the counts
    and are not sampled again. If a call fails before its first complete sweep, the state before the call
    is restored. After a later failure, the state is that of the last complete sweep; in `fit`, only after an
    interruption.

    A subclass declares the class of ``_state``, and defines `_method`, which returns a SamplerMethod (see
    _training._sweeps).
    """

    max_iter: int
    evaluate_every: int
    components_init: ArrayLike | None

    _state: Any

    n_iter_: int = fitted("chain.n_iter")
    n_samples_seen_: int = fitted("chain.n_samples_seen")
    log_likelihood_: FloatArray = fitted("chain.log_likelihood")
    _seed: int = fitted("chain.seed")

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Sample the topics of a corpus from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. All documents and the topics of their tokens are
            in memory, at 50 to 84 bytes per token (see the guide page "Train on data larger than memory").
            Corpora on disk and blocks avoid only the memory of the matrix.
        y : None
            Ignored.

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
            If you interrupt the call. The model keeps the last complete sweep, or the mean of the draws
            collected so far. If no sweep is complete, it keeps its state before the call.
        """
        self._check_settings()
        self._train(X, y, self._begin_anew, reporting=True)
        return self

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Sample the topics of more documents given the counts of earlier documents.

        The topics of earlier documents do not change.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. All documents and the topics of their tokens are
            in memory, at 50 to 84 bytes per token (see the guide page "Train on data larger than memory").
            Corpora on disk and blocks avoid only the memory of the matrix.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError, KeyboardInterrupt
            As in `fit`. ValueError also if you changed a parameter that is fixed once sampling has begun.
            After an error, the model keeps the last complete sweep or, without one, its state before the
            call.
        """
        self._check_settings()
        self._train(X, y, self._begin_or_continue, reporting=False)
        return self

    def _train(self, X, y, begin, *, reporting):
        """Run all sweeps over the documents of a call.

        begin : function of X that sets the state before the first sweep and returns the documents
        reporting : whether callbacks are called
        """

        def begin_sweeps():
            documents = begin(X).matrix()
            self._check_undisturbed()  # the iterator may have changed the model
            return documents

        with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
            SweepTrainer(self, changing, workers).run(
                begin_sweeps,
                monitor,
                begin_tasks=partial(FitTasks, self, X, y, self.max_iter, 1, reporting),
            )

    def _schedule(self, draws=range(0)):
        return Schedule(int(self.max_iter), int(self.evaluate_every), draws)

    # Edits of topics

    merge_topics = merge_topics
    drop_topics = drop_topics
    freeze_topics = freeze_topics

    def _has_topics(self):
        return bool(self._state.words.totals.any())
