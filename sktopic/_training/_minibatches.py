"""The mini-batch loop: passes, batches, early stop.

It runs a method, an object made of settings that says how documents are inferred and what a batch does to
the state (`MinibatchMethod`). Training is the same for any ``n_jobs``, and `fit_minibatches` with one pass,
no shuffling and total_samples given does what `add_minibatches` does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sktopic._documents._matrices import GROUP_SIZE
from sktopic._inference import DenseCounts, ExpectedCounts
from sktopic._kernels._rng import combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import duplicate
from sktopic._training._minibatch_state import MinibatchState
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._training._statistics_updates import BatchCounts

# Entries of statistics that an update visits without a look for Ctrl-C: some tenths of a second.
LONG_WORK = 200_000_000
# Tell the streams of one seed apart.
FIT_KEY = 0x666974
SHUFFLE_KEY = 0x73687566
VALIDATION_KEY = 0x76616C69


@dataclass
class EarlierPasses:
    """The share of the statistics that earlier passes of the same call of fit have left."""

    share: float = 0.0


@dataclass(frozen=True)
class Update:
    """One update of a call of fit or partial_fit.

    Attributes
    ----------
    number : updates since training began, before this one
    is_first_visit : whether the documents may be new: not in the second and later passes of fit
    is_whole_corpus : whether the batch is the whole corpus
    total_samples : documents of the corpus that the batch is a sample of, by weight
    earlier_share : the share of the statistics that earlier passes of the same call have left
    n_updates : how many it stands for: those of lanes that are merged are one (see _lanes.py)
    """

    number: int
    is_first_visit: bool
    is_whole_corpus: bool
    total_samples: float
    earlier_share: float = 0.0
    n_updates: int = 1


class MinibatchMethod(Protocol):
    """What the loop asks of a method; ``state`` is a MinibatchState."""

    reads_whole_batches: bool  # whether the document step, or the update, has to see a batch as a whole
    learns_from_gains: bool  # whether an update is to have the PriorStatistics of its documents
    averages: bool  # whether the statistics are an average over updates

    def infer(self, state: Any, batch: Any, keys: Any, update: Update, workers: Workers) -> ExpectedCounts:
        """Return the expected counts of a DocumentBatch; a pure function."""

    def absorb(self, state: Any, counts: BatchCounts, update: Update, workers: Workers) -> Any:
        """Return the state after the counts of a batch; arrays of the statistics change in place."""

    def work(self, state: Any, counts: BatchCounts, update: Update) -> float:
        """Operations of `absorb`, roughly."""

    def kept(self, state: Any, update: Update) -> float:
        """What the update multiplies earlier statistics by."""


class Training(Protocol):
    """The state of an estimator, in the hands of the call that trains it."""

    state: Any

    def check_undisturbed(self) -> None:
        """Raise an error if somebody else has changed parameters or the state."""

    def changing(self) -> Any:
        """Return a context manager in which readers wait."""

    def complete_or_undone(self, *, waits: bool) -> Any:
        """Return a context manager of an update: Ctrl-C waits for its end, or leaves the state that was."""


@dataclass(frozen=True)
class Run:
    """What one call of fit or partial_fit trains with: settings do not change meanwhile."""

    method: Any
    training: Any
    monitor: FitMonitor
    workers: Workers


@dataclass(frozen=True)
class Passes:
    """How `fit` passes over a corpus: the parameters of the same names.

    size : documents of a batch; None: all of them
    """

    max_iter: int
    size: int | None
    shuffle: bool
    total_samples: float | None


def fit_minibatches(run: Run, documents, passes: Passes, tasks: FitTasks, evaluate: Callable | None):
    """Train on all documents, pass after pass; evaluate : function that returns a held-out score, or None."""
    method, training, whole = run.method, run.training, passes.size is None
    state, earlier = training.state, EarlierPasses()
    training.state = replace(state, corpus_size=documents.total_weight())
    total_samples = passes.total_samples or training.state.corpus_size
    run.monitor.begin(documents.n_documents * passes.max_iter, evaluate, ("epoch", passes.max_iter))
    for epoch in range(passes.max_iter):
        tasks.begin_epoch()
        run.monitor.begin_pass()
        earlier.share = 1.0 if epoch > 0 and method.averages else 0.0
        order_key = combine_keys(state.seed, SHUFFLE_KEY, epoch) if passes.shuffle else None
        for reader, rows in documents.batches(batch_size(documents, passes.size), order_key):
            tasks.begin_update()
            update = Update(
                number=training.state.n_updates,
                is_first_visit=epoch == 0,
                is_whole_corpus=whole,
                total_samples=total_samples,
                earlier_share=earlier.share,
            )
            train_on_batch(run, reader, rows, update, earlier=earlier)
            if tasks.end_update():
                break
        training.state = replace(training.state, n_passes=epoch + 1)
        stop = run.monitor.after_epoch()
        if evaluate is not None:
            training.state = replace(training.state, validation_scores=np.array(run.monitor.scores))
        if tasks.end_epoch() or stop:
            break
    tasks.end()


def batch_size(documents, size):
    """Documents of a batch; size : of a batch, or None: all are one."""
    return max(documents.n_documents, 1) if size is None else size


def add_minibatches(run: Run, documents, size: int, total_samples: float | None):
    """Train on more documents, once, in batches of this size."""
    run.monitor.begin(documents.n_documents)
    for reader, rows in documents.batches(size):
        state, n_new = run.training.state, reader.total_weight(rows)
        update = Update(
            number=state.n_updates,
            is_first_visit=True,
            is_whole_corpus=False,
            total_samples=total_samples or state.corpus_size + n_new,
        )
        train_on_batch(run, reader, rows, update, n_new=n_new)


def train_on_batch(run: Run, reader, rows, update: Update, *, n_new=0, earlier: EarlierPasses | None = None):
    """One update.

    reader, rows : DocumentReader and the numbers of its documents
    n_new : documents that were not counted before, by weight
    earlier : what is left of earlier passes, which this update changes
    """
    method, training, workers = run.method, run.training, run.workers
    training.check_undisturbed()
    state = training.state
    counts = counts_of_batch(method, state, reader, rows, update, workers)
    # Ctrl-C waits for the update; or, where that may take long, stops it, and leaves no trace.
    short = method.work(state, counts, update) < LONG_WORK
    with training.changing(), training.complete_or_undone(waits=short):
        if not short:
            state = replace(state, words=duplicate(state.words))
        if earlier is not None and earlier.share > 0.0 and counts.n_tokens > 0.0:
            earlier.share *= method.kept(state, update)
        state = method.absorb(state, counts, update, workers)
        training.state = replace(
            state,
            n_updates=state.n_updates + 1,
            n_samples_seen=state.n_samples_seen + counts.n_documents,
            corpus_size=state.corpus_size + n_new,
        )
    run.monitor.after_update(len(rows))


def counts_of_batch(method, state: MinibatchState, reader, rows, update: Update, workers) -> BatchCounts:
    """The BatchCounts of some documents; of a large batch, summed over groups.

    The stream of a document is named by the update and by the document's words and counts. So a document
    of weight 2 adds what two copies of it add, and the order of a batch does not matter.
    """
    key = combine_keys(state.seed, FIT_KEY, update.number)
    if len(rows) <= GROUP_SIZE or method.reads_whole_batches:
        batch = reader.batch(rows)
        counts = method.infer(state, batch, reader.keys(batch, key), update, workers)
        return BatchCounts(counts, batch.words, batch.total_weight, batch.total_tokens)
    n_words = len(state.words.store)  # of a lane, fewer than all
    dense = DenseCounts(n_words, state.words.n_topics, method.learns_from_gains)
    n_tokens = 0.0
    for first in range(0, len(rows), GROUP_SIZE):
        batch = reader.batch(rows[first : first + GROUP_SIZE])
        counts = method.infer(state, batch, reader.keys(batch, key), update, workers)
        dense.include(counts, batch.words, workers)
        n_tokens += batch.total_tokens
    words = np.arange(n_words, dtype=np.int32)
    return BatchCounts(dense, words, reader.total_weight(rows), n_tokens)
