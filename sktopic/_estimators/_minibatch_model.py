"""The mini-batch loop: epochs, batches, continuation, early stop."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sktopic._documents._matrices import GROUP_SIZE
from sktopic._estimators._concurrency import changing, fits, trains
from sktopic._estimators._editing import drop_topics, freeze_topics, merge_topics
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, NUMBER
from sktopic._estimators._topic_model import TopicModel
from sktopic._inference import DenseCounts
from sktopic._kernels._rng import combine_keys
from sktopic._runtime._compat import CallbackSupportMixin, with_callbacks
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import duplicate, writable
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_count_edits import frozen_topics
from sktopic._topics._word_counts import INITIAL_KEY, WordCounts
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._training._statistics_updates import BatchCounts, DocumentAverage, StatisticsUpdate
from sktopic._training._step_size import StepSize, combined_step, whole_step
from sktopic._typing import DocumentsLike

# Entries of statistics that a global step visits without a look for Ctrl-C: some tenths of a second.
LONG_WORK = 200_000_000
# Tell the streams of one seed apart.
FIT_KEY = 0x666974
SHUFFLE_KEY = 0x73687566
VALIDATION_KEY = 0x76616C69
# What the memory of a call of fit calls the share of the statistics that earlier passes have left.
EARLIER = "earlier passes"


@dataclass(frozen=True)
class Update:
    """One update of a call of fit or partial_fit.

    Attributes
    ----------
    number : updates since training began, before this one
    is_first_visit : whether the documents may be new: not in the second and later passes of fit
    is_last_pass : whether it is in the last of several passes, or in one that repeats it
    is_whole_corpus : whether the batch is the whole corpus
    total_samples : documents of the corpus that the batch is a sample of, by weight
    memory : what a method wants to remember from update to update of the same call
    n_updates : how many it stands for: those of lanes that are merged are one (see _lanes.py)
    """

    number: int
    is_first_visit: bool
    is_last_pass: bool
    is_whole_corpus: bool
    total_samples: float
    memory: dict[str, Any] = field(default_factory=dict)
    n_updates: int = 1


class MinibatchTopicModel(CallbackSupportMixin, TopicModel):
    """Base class of models trained on one mini-batch after another.

    A subclass defines `_adopt_settings`, and three hooks: `_initialize` (fitted state before the first
    batch), `_document_step` (a pure function of the state and a batch) and `_global_step` (the update of
    the state). The loop keeps the promise that training is the same for any
    ``n_jobs``, and that ``fit`` with one epoch, no shuffling and ``total_samples`` given equals a sequence of
    ``partial_fit`` calls.

    Two more say how a batch enters the statistics: `_step_size` and `_statistics_update`.
    """

    batch_size: int
    max_iter: int
    shuffle: bool
    early_stopping: bool
    validation_fraction: float
    verbose: int
    # Topics to start from; not a parameter of all methods.
    components_init: ArrayLike | None = None
    # Of methods with the step size that `_step_size` returns by default:
    learning_offset: float
    learning_decay: Any  # a float; None, too, where a method says what that is

    _statistics: WordCounts
    _fitted_states = {"_statistics": WordCounts}  # noqa: RUF012
    _fitted_arrays = {  # noqa: RUF012
        "doc_topic_prior_": (FLOAT, "components"),
    }
    _fitted_values = {  # noqa: RUF012
        **TopicModel._fitted_values,
        "n_components_": COUNT,
        "n_iter_": COUNT,
        "n_batch_iter_": COUNT,
        "total_samples_": NUMBER,
        "n_samples_seen_": NUMBER,
        "_corpus_size": NUMBER,
        "_n_topic_updates": COUNT,
    }
    # The scores with early stopping alone.
    _optional_arrays = {  # noqa: RUF012
        **TopicModel._optional_arrays,
        "validation_scores_": (FLOAT, None),
    }

    # Whether the document step, or the update, has to see a batch as a whole. If not, one of more than
    # GROUP_SIZE documents is summed group by group, into DenseCounts.
    _reads_whole_batches = False
    # Whether the global step is to have the sufficient statistics of the prior of topic proportions.
    _wants_prior_statistics = False
    # Whether the last pass of fit is another than those before, and comes after an early stop, too.
    _finishes = False
    # Size of the corpus, where that is a parameter.
    total_samples: float | None = None

    @abstractmethod
    def _initialize(self, n_features, seed):
        """Set the fitted state from which the first update starts; allocate before anything is set."""

    @abstractmethod
    def _adopt_settings(self):
        """Let partial_fit go on with parameters that were changed since the last call."""

    @abstractmethod
    def _document_step(self, batch, keys, update, workers):
        """Return the expected counts of a DocumentBatch (see _inference), changing nothing."""

    @abstractmethod
    def _global_step(self, batch_counts, update, workers):
        """Update the fitted state from the BatchCounts of a batch."""

    def _learn_from_words(self, batch_counts, update, workers):
        """Learn what a method learns from the rows of all words, after the global step."""

    def _step_size(self, update: Update) -> Callable[[float], float]:
        """Return the step size of an update, which may depend on what it is of (see _step_size.py).

        Asked for several times an update where priors are learned, too. An update by the whole corpus takes a
        whole step whatever it is, and a rule that sums (`RunningSum`) asks for none.
        """
        return StepSize(self.learning_offset, self.learning_decay)

    def _statistics_update(self) -> StatisticsUpdate:
        """Return how a batch enters the statistics (see _statistics_updates.py)."""
        return DocumentAverage()

    def _rho(self, update, t=None):
        """The step size of the update; t, if not one more than the updates so far by batches with words."""
        t = self._n_topic_updates + 1 if t is None else t
        step_size = whole_step if update.is_whole_corpus else self._step_size(update)
        return combined_step(step_size, t, update.n_updates)

    def _update_statistics(self, statistics, batch_counts, update, workers):
        """Return the statistics after a batch has entered them; arrays change in place."""
        rule, is_first = self._statistics_update(), self._n_topic_updates == 0
        if update.n_updates > 1:
            rule = rule.combined(update.n_updates)
        rho = self._rho(update)
        if EARLIER in update.memory:
            update.memory[EARLIER] *= rule.kept(rho, is_first)
        return rule(statistics, batch_counts, rho, is_first, workers)

    def _gathered(self, topics, batch, prior, update, workers):
        """Topic rows of the words of a batch, which know what earlier passes have put into the topics.

        Passes come in random orders: so all documents, those of the batch too, are in what earlier passes
        have left of the statistics as often as its share says.
        """
        gathered = topics.gather(batch.words, prior, workers)
        share = update.memory.get(EARLIER, 0.0)
        if share > 0.0:
            often = share * update.total_samples / self._corpus_size * batch.weights_up_to_one()
            gathered.own = topics.own_tokens(often)
        return gathered

    def _unit(self, total_samples):
        """What one unit of the statistics stands for, in tokens of the corpus."""
        return self._statistics_update().unit(total_samples)

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Learn the topics of a corpus, from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are matrices of some rows each, which come
            again in each pass; of a corpus on disk and of blocks, little is in memory (see
            :doc:`/guide/large_corpora`, which says how ``shuffle`` mixes them).
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, or X is not a valid count matrix or changes meanwhile. If `fit`
            raises this or any other error, the estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            Is passed on; the state is that of the last complete update.
        """
        return self._fit(X, y, None)

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Continue training on more documents, treated in batches of ``batch_size``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are read once, so that an iterator will do;
            if one of them is bad, what came before it has been learned from.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`, or if n_components was changed since training began, where it is not just the start.
            After an error the state is that of the last complete update.
        """
        return self._partial_fit(X, None)

    def _fit(self, X, y, sample_weight):
        self._check_settings()
        documents = self._begin_weighted(X, sample_weight, self._check_corpus)
        with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
            self._run_epochs(X, y, documents, monitor, workers)
        return self

    def _partial_fit(self, X, sample_weight):
        first = not hasattr(self, "n_batch_iter_")
        self._check_settings()
        if first:
            documents = self._begin_weighted(X, sample_weight, streamed=True)
        else:
            self._checked()
            self._check_continuation()
            documents = self._weighted(self._documents(X), sample_weight).begin()  # errors change nothing
            self._check_undisturbed()
            with changing(self), complete_or_undone(self, waits=True):
                self._statistics = writable(self._statistics)
                self._adopt_settings()
        with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
            monitor.begin(documents.n_documents)
            memory = {}
            for reader, rows in documents.batches(int(self.batch_size)):
                n_new = reader.total_weight(rows)
                update = Update(
                    self.n_batch_iter_,
                    is_first_visit=True,
                    is_last_pass=False,
                    is_whole_corpus=False,
                    total_samples=self.total_samples or self._corpus_size + n_new,
                    memory=memory,
                )
                self._update(reader, rows, update, monitor, workers, n_new)
            self._after_pass(memory)
        return self

    def _begin_weighted(self, X, sample_weight, check=None, *, streamed=False):
        """Begin anew with the documents of X that count, which are returned as Documents.

        check : function of these that may raise
        """

        def select(_, documents):
            documents = self._weighted(documents, sample_weight)
            if check is not None:
                check(documents)
            return documents

        return self._begin_anew(X, select, streamed=streamed)

    def _weighted(self, documents, sample_weight):
        """Return the Documents with their weights; ValueError where the settings allow none."""
        return documents.weighted(sample_weight)

    @property
    def _n_trained(self):
        """Topics in training, of which n_components_ are in use."""
        return self._statistics.n_topics

    @property
    def _pseudo_count(self):
        """What is added to the statistics of every word when topics are read."""
        return self.topic_word_prior_

    merge_topics = merge_topics
    drop_topics = drop_topics
    freeze_topics = freeze_topics

    def _columns(self):
        return np.arange(self.n_components_)

    def _frozen_columns(self):
        return self._statistics.frozen_columns

    def _has_topics(self):
        return self._n_topic_updates > 0

    def _freeze_columns(self, columns):
        self._statistics = frozen_topics(
            self._statistics, columns, self._unit(self.total_samples_), self._pseudo_count
        )

    def _finish(self, memory, workers):
        """End the last of several passes, all documents of which were seen, where _finishes says so.

        memory : that of the updates; workers : Workers. Return whether the pass is to be repeated.
        """
        return False

    def _begin_passes(self, documents):
        """Return the Documents that fit passes over, and the memory of its updates."""
        return documents, {}

    def _fits_whole_corpus(self):
        """Whether each update of fit is to see all documents."""
        return False

    def _check_continuation(self):
        """Raise ValueError for parameters that cannot change once training has begun."""
        self._check_same_number(self._n_trained)

    def _check_corpus(self, documents):
        """Raise ValueError for a corpus that is too small for early stopping."""
        if self.early_stopping and documents.n_documents < 2:
            raise ValueError(
                f"early_stopping=True holds out a document and needs 2; X has {documents.n_documents} sample."
            )

    def _start(self, n_features):
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._n_topic_updates = 0  # those by batches with words
        self._initialize(n_features, self._seed)
        self.n_iter_ = 0
        self.n_batch_iter_ = 0
        self.n_samples_seen_ = 0
        self._corpus_size = 0

    def _initial_statistics(self, n_features, seed, average=False):
        """Topics that are random, but for those given."""
        n, given = self.n_components, self.components_init
        if given is not None:
            given = check_components_init(given, n_features, most=n)
        key = combine_keys(seed, INITIAL_KEY)
        statistics = WordCounts.random(n_features, n, key, average=average)
        if given is not None:
            statistics.start_from(given)
        return statistics

    def _key(self, *names):
        return combine_keys(self._seed, *names)

    def _order_key(self, epoch):
        """What names the random order of the documents in an epoch; None: they come in their own."""
        return self._key(SHUFFLE_KEY, epoch) if self.shuffle else None

    def _hold_out(self, documents):
        """Split Documents into those trained on and those held out for early stopping."""
        return documents.split(self.validation_fraction, self._key(VALIDATION_KEY))

    def _run_epochs(self, X, y, documents, monitor, workers):
        evaluate = None
        if self.early_stopping:
            documents, held_out = self._hold_out(documents)

            def evaluate():
                return self._completion(held_out, workers).value()

        documents, memory = self._begin_passes(documents)
        n_documents, whole = documents.n_documents, self._fits_whole_corpus()
        self._corpus_size = documents.total_weight()
        total_samples = self.total_samples or self._corpus_size
        size = max(n_documents, 1) if whole else int(self.batch_size)
        max_iter = int(self.max_iter)
        monitor.begin(n_documents * max_iter, evaluate, ("epoch", max_iter))
        n_passes = None if self._finishes else max_iter  # None: nobody knows
        tasks = FitTasks(self, X, y, n_passes, -(-n_documents // size))
        stop = False
        for epoch in count():
            ends, again = stop or epoch >= max_iter - 1, False
            is_last = ends and epoch > 0
            tasks.begin_epoch()
            monitor.begin_pass()
            if epoch > 0 and isinstance(self._statistics_update(), DocumentAverage):
                memory[EARLIER] = 1.0
            for reader, rows in documents.batches(size, self._order_key(epoch)):
                tasks.begin_update()
                update = Update(
                    self.n_batch_iter_,
                    is_first_visit=epoch == 0,
                    is_last_pass=is_last,
                    is_whole_corpus=whole,
                    total_samples=total_samples,
                    memory=memory,
                )
                self._update(reader, rows, update, monitor, workers)
                if tasks.end_update():
                    break
            else:
                if is_last and self._finishes:
                    with changing(self), complete_or_undone(self):
                        again = self._finish(memory, workers)
            self._after_pass(memory)
            self.n_iter_ = epoch + 1
            stop = monitor.after_epoch() or stop
            if evaluate is not None:
                self.validation_scores_ = np.array(monitor.scores)
            if tasks.end_epoch() or (ends and not again) or (stop and not self._finishes):
                break
        tasks.end()

    def _update(self, reader, rows, update, monitor, workers, n_new=0):
        """One mini-batch, n_new of whose documents were not counted before, by weight."""
        self._check_undisturbed()
        key = self._key(FIT_KEY, update.number)
        batch_counts = self._batch_counts(reader, rows, key, update, workers)
        # Ctrl-C waits for the global step; or, where that may take long, stops it, and leaves no trace.
        short = self._global_work(batch_counts, update) < LONG_WORK
        undo = None if short else self._statistics_undo(batch_counts, update)
        with changing(self), complete_or_undone(self, undo, waits=short):
            if not short and undo is None:
                self._statistics = duplicate(self._statistics)
            self._global_step(batch_counts, update, workers)
            self._learn_from_words(batch_counts, update, workers)
            self.n_batch_iter_ += 1
            self.n_samples_seen_ += batch_counts.n_documents
            self._corpus_size += n_new
        monitor.after_update(len(rows))

    def _after_pass(self, memory):
        """What a method does after a pass of fit, or a call of partial_fit; memory: that of its updates."""

    def _global_work(self, batch_counts, update):
        """Operations of a global step, roughly."""
        work, size = batch_counts.expected.work(), self._statistics.size
        if size < LONG_WORK // 10 or batch_counts.n_tokens == 0.0:  # clearing so few entries takes no time
            return work
        rule, is_first = self._statistics_update(), self._n_topic_updates == 0
        return work + (size if rule.discards(self._rho(update), is_first) else 0)

    def _statistics_undo(self, batch_counts, update):
        """Function that restores the statistics after a long global step; None: it is to change a copy."""
        return None

    def _batch_counts(self, reader, rows, key, update, workers):
        """The BatchCounts of some documents; of a large batch, summed over groups.

        The stream of a document is named by the update and by the document's words and counts. So a document
        of weight 2 adds what two copies of it add, and the order of a batch does not matter.
        """
        if len(rows) <= GROUP_SIZE or self._reads_whole_batches:
            batch = reader.batch(rows)
            counts = self._document_step(batch, reader.keys(batch, key), update, workers)
            return BatchCounts(counts, batch.words, batch.total_weight, batch.total_tokens)
        n_words = len(self._statistics.store)  # of a lane, fewer than n_features_in_
        dense = DenseCounts(n_words, self._n_trained, self._wants_prior_statistics)
        n_tokens = 0.0
        for first in range(0, len(rows), GROUP_SIZE):
            group = rows[first : first + GROUP_SIZE]
            batch = reader.batch(group)
            counts = self._document_step(batch, reader.keys(batch, key), update, workers)
            dense.include(counts, batch.words, workers)
            n_tokens += batch.total_tokens
        words = np.arange(n_words, dtype=np.int32)
        return BatchCounts(dense, words, reader.total_weight(rows), n_tokens)


class WeightedMinibatchModel(MinibatchTopicModel):
    """Base class of those in which a document may count as several, or as part of one.

    The weight of a document multiplies what its document step has found: its expected counts, and what it
    tells of a prior. So a method is one of these where copies of the document in the same batch add the same.
    """

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the topics of a corpus, from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are matrices of some rows each, which come
            again in each pass; of a corpus on disk and of blocks, little is in memory (see
            :doc:`/guide/large_corpora`, which says how ``shuffle`` mixes them).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            As how many documents each counts, >= 0: in the topics, in the priors that are learned, and in the
            size of the corpus, though not in its own proportions. None: as one. Documents of weight 0 are
            left out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, or X is not a valid count matrix or changes meanwhile. If `fit`
            raises this or any other error, the estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            Is passed on; the state is that of the last complete update.
        """
        return self._fit(X, y, sample_weight)

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Continue training on more documents, treated in batches of ``batch_size``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are read once, so that an iterator will do;
            if one of them is bad, what came before it has been learned from.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            As how many documents each counts, >= 0: in the topics, in the priors that are learned, and in the
            size of the corpus, though not in its own proportions. None: as one. Documents of weight 0 are
            left out.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`, or if n_components was changed since training began, where it is not just the start.
            After an error the state is that of the last complete update.
        """
        return self._partial_fit(X, sample_weight)
