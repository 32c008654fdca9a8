"""learning_method='memoized' of an estimator: what it keeps of batches, and what its passes leave behind."""

from abc import abstractmethod
from dataclasses import replace
from typing import Literal

import numpy as np

from sktopic._estimators._concurrency import changing
from sktopic._estimators._fitted_arrays import damaged
from sktopic._estimators._minibatch_model import WeightedMinibatchModel
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._state._fields import duplicate
from sktopic._training._statistics_updates import RunningSum
from sktopic.hdp._memoized._corpus import MemoizedCorpus
from sktopic.hdp._memoized._summaries import STORED, are_consistent, edited, restored, stored
from sktopic.hdp._memoized._training import MemoizedTraining
from sktopic.hdp._minibatch import GrowingHDP

# An entry of training_history_.
PASS = np.dtype(
    [
        ("n_samples", "f8"),
        ("elbo", "f8"),
        ("n_components", "i8"),
        ("doc_concentration", "f8"),
        ("topic_concentration", "f8"),
        ("topic_word_prior", "f8"),
    ]
)
# What training leaves beside what other methods do.
MEMOIZED = {
    **{f"_summary_{name}": declared for name, declared in STORED.items()},
    "training_history_": (PASS, None),
}
DEFAULT_START = "better"
# Tells the streams of a seed apart.
MEMOIZED_KEY = 0x6D656D6F


class MemoizedHDP(WeightedMinibatchModel, GrowingHDP):
    """Base class of those that can learn with learning_method='memoized', beside what they define themselves.

    Batches then leave summaries behind (``_summary_...``, see _summaries.py), over which the statistics are
    sums. `MemoizedTraining` visits them; the fitted state changes after a pass of fit, or a call of
    partial_fit.
    """

    learning_method: Literal["online", "batch", "memoized"]
    document_start: Literal["cold", "warm", "better"] | None
    split_merge: bool
    max_splits: int

    _optional_arrays = {**GrowingHDP._optional_arrays, **MEMOIZED}  # noqa: RUF012

    @abstractmethod
    def _corpus_topics(self, total_samples):
        """Return the CorpusTopics of the present state, for a corpus of so many documents."""

    @abstractmethod
    def _inference(self):
        """Return the DocumentInference."""

    @abstractmethod
    def _learned(self):
        """Return the names of the parameters that are learned, among "alpha", "gamma" and "eta"."""

    @abstractmethod
    def _concentration_priors(self):
        """Return shape and rate of the priors of "alpha" and "gamma", a dict."""

    @abstractmethod
    def _take_over(self, topics, moves, elbo=np.nan):
        """Let the topics be those of a CorpusTopics, after some moves: tuples (kind, topic, other, gain).

        elbo : the bound of the corpus, if it is known
        """

    # Parameters

    def _check_settings(self):
        super()._check_settings()
        if self.learning_method == "memoized" and self.total_samples is not None:
            raise ValueError(
                f"total_samples={self.total_samples!r}: with learning_method='memoized', whose corpus is "
                "what it has seen, None is allowed."
            )

    def _check_continuation(self):
        super()._check_continuation()
        if (self.learning_method == "memoized") != self._is_memoized:
            raise ValueError(
                f"learning_method={self.learning_method!r}: a model goes on with 'memoized' if, and only if, "
                "it began with it. Call fit, or set it back."
            )

    # The state

    @property
    def _is_memoized(self):
        """Whether the statistics are sums over batches that have left summaries."""
        return "training_history_" in vars(self)

    def _start_from(self, statistics):
        super()._start_from(statistics)
        if self.learning_method == "memoized":
            self.training_history_ = np.empty(0, dtype=PASS)

    def _statistics_update(self):
        return RunningSum() if self._is_memoized else super()._statistics_update()

    def _summaries(self):
        if "_summary_bounds" not in vars(self):
            return []
        arrays = {name: getattr(self, f"_summary_{name}") for name in STORED}
        if not are_consistent(arrays, self.n_features_in_, self._n_trained):
            raise damaged(self, "the sums that batches have left behind do not fit together")
        return restored(arrays)

    def _set_summaries(self, arrays):
        """Keep summaries, as the arrays that they are stored in."""
        for name, array in arrays.items():
            setattr(self, f"_summary_{name}", array)

    def _edit_columns(self, edit):
        there, summaries = "_summary_bounds" in vars(self), self._summaries()  # of the topics before
        super()._edit_columns(edit)
        if there:
            self._set_summaries(stored([edited(summary, edit) for summary in summaries]))

    # Passes

    def _order_key(self, epoch):
        # Batches are the same in all passes where what they leave behind is replaced.
        return super()._order_key(0 if self._is_memoized else epoch)

    def _update(self, reader, rows, update, monitor, workers, n_new=0):
        if not self._is_memoized:
            super()._update(reader, rows, update, monitor, workers, n_new)
            return
        self._check_undisturbed()
        if "training" not in update.memory:
            update.memory["training"] = self._memoized_training(workers)
        update.memory["training"].visit(reader, rows)
        monitor.after_update(len(rows))

    def _memoized_training(self, workers):
        """What goes on from the present state, and leaves it as it is."""
        topics = self._corpus_topics(self.total_samples_)
        topics.statistics = duplicate(topics.statistics)
        corpus = MemoizedCorpus(topics, self._summaries(), self._learned(), self._concentration_priors())
        start, key = self.document_start or DEFAULT_START, self._key(MEMOIZED_KEY, self.n_batch_iter_)
        infer = self._inference().with_bound()
        moves = self.split_merge, self.max_splits > 0
        return MemoizedTraining(corpus, infer, start, *moves, key, workers)

    def _after_pass(self, memory):
        if "training" not in memory:
            return
        training = memory["training"]
        training.end_pass()
        corpus = training.kept
        n_seen, n_batches = training.seen()
        arrays = stored(corpus.summaries)
        with changing(self), complete_or_undone(self, waits=True):
            self.n_batch_iter_ += n_batches
            self.n_samples_seen_ += n_seen
            self._corpus_size = self.total_samples_ = corpus.total_weight()
            self._set_summaries(arrays)
            if corpus.has_tokens:
                self._n_topic_updates += n_batches
                topics = replace(corpus.topics, statistics=duplicate(corpus.topics.statistics))
                self._take_over(topics, training.made, training.bound)
                self._report_topics()
                self._note_pass(training.bound)
        corpus.summaries = restored(arrays)

    def _note_pass(self, bound):
        values = self.doc_concentration_, self.topic_concentration_, self.topic_word_prior_
        row = np.array([(self.n_samples_seen_, bound, self.n_components_, *values)], dtype=PASS)
        self.training_history_ = np.concatenate([self.training_history_, row])
