"""The mini-batch loop: passes, batches, early stop.

It runs a method, an object made of settings that says how documents are inferred and what a batch does to
the state (`MinibatchMethod`). Training is the same for any ``n_jobs``, and `fit_minibatches` with one pass,
no shuffling and total_samples given does what `add_minibatches` does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from sktopic._documents._matrices import GROUP_SIZE
from sktopic._documents._sample_weight import LARGEST_CORPUS
from sktopic._inference._dense import DenseCounts
from sktopic._inference._protocol import ExpectedCounts
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed, duplicate
from sktopic._topics._topic_rows import left_out_of
from sktopic._training._minibatch_state import MinibatchState, counted
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._training._statistics_updates import BatchCounts

# Entries of statistics that an update visits without a look for Ctrl-C: some tenths of a second.
LONG_WORK = 200_000_000
# Tell the streams of one seed apart.
FIT_KEY = 0x666974
SHUFFLE_KEY = 0x73687566
VALIDATION_KEY = 0x76616C69


class Growth(Enum):
    """How many documents are expected of a stream, by their number so far (benchmarks/stream_sizes.py).

    While few are expected, the prior of topics has much weight, and topics that are larger by chance may take
    most of the tokens and keep them. That lasts longest where documents are inferred from Dirichlet
    posteriors of topics, since exp(E[log phi]) of rare words is tiny.
    """

    NONE = "no others"
    DOUBLE = "as many again"
    CUBE_ROOT = "times the cube root"

    def __call__(self, size: float) -> float:
        factors = {Growth.NONE: 1.0, Growth.DOUBLE: 2.0, Growth.CUBE_ROOT: max(2.0, size ** (1 / 3))}
        return max(size, min(factors[self] * size, LARGEST_CORPUS))


@dataclass(frozen=True)
class Update:
    """One update of a call of fit or partial_fit.

    Attributes
    ----------
    number : updates since training began, before this one
    is_first_visit : whether the documents may be new: not in the second and later passes of fit
    is_whole_corpus : whether the batch is the whole corpus
    total_samples : documents of the corpus that the batch is a sample of, by weight
    pass_size : documents of a pass of fit, by weight; None: it is one of partial_fit or lanes
    earlier_share : the share of the statistics that earlier passes of the same call have left
    n_updates : how many it stands for: those of lanes that are merged are one (see _lanes.py)
    """

    number: int
    is_first_visit: bool
    is_whole_corpus: bool
    total_samples: float
    pass_size: float | None = None
    earlier_share: float = 0.0
    n_updates: int = 1


class MinibatchMethod(Protocol):
    """What the loop asks of a method; ``state`` is a MinibatchState."""

    reads_whole_batches: bool  # whether the document step, or the update, has to see a batch as a whole
    learns_from_gains: bool  # whether an update is to have the PriorStatistics of its documents
    averages: bool  # whether the statistics are an average over updates
    growth: Growth  # what partial_fit expects without total_samples

    def infer(self, state: Any, batch: Any, keys: Any, update: Update, workers: Workers) -> ExpectedCounts:
        """Return the expected counts of a DocumentBatch; a pure function."""

    def absorb(self, state: Any, counts: BatchCounts, update: Update, workers: Workers) -> Any:
        """Return the state after the counts of a batch; arrays of the statistics change in place."""

    def work(self, state: Any, counts: BatchCounts, update: Update) -> float:
        """Operations of `absorb`, roughly."""

    def kept(self, state: Any, update: Update) -> float:
        """What the update multiplies earlier statistics by."""


class LaneMethod(MinibatchMethod, Protocol):
    """What lanes ask of a method beside (see _lanes.py)."""

    rule: Any  # a LinearUpdate
    learns_word_prior: bool  # whether an update learns the prior of topics from the rows of all words

    def adopted(self, state: Any) -> Any:
        """Return the state with parameters that were changed since the last call."""

    def check_continuation(self, state: Any) -> None:
        """Raise ValueError for parameters that cannot change once training has begun."""

    def unit(self, state: Any) -> float:
        """What one unit of the statistics stands for, in tokens of the corpus."""

    def step_size(self, state: Any, update: Update, t: int | None = None) -> float:
        """How far an update moves averages; t, if not one more than the updates so far that had words."""

    def absorb_counts(self, state: Any, counts: BatchCounts, update: Update, workers: Workers) -> Any:
        """Return the state that `absorb` does, but for what is learned from the rows of all words."""

    def learn_word_prior(self, state: Any, mean_log_probability: float, rho: float) -> Any:
        """Return the state after a step of the prior of topics, where `learns_word_prior`."""


@dataclass(frozen=True)
class Run:
    """What one call of fit or partial_fit trains with: settings do not change meanwhile.

    training : holds the state of the estimator (see _estimators/_concurrency.py)
    """

    method: Any
    training: Any
    monitor: FitMonitor
    workers: Workers


@dataclass(frozen=True)
class Passes:
    """How `fit` passes over a corpus: the parameters of the same names.

    size : documents of a batch; None: all of them
    may_repeat : whether the last of several passes may be repeated, so that nobody knows how many there are
    """

    max_iter: int
    size: int | None
    shuffle: bool
    total_samples: float | None
    may_repeat: bool = False

    def order_key(self, seed: int, epoch: int) -> int | None:
        """What names the random order of the documents in a pass; None: they come in their own."""
        return combine_keys(seed, SHUFFLE_KEY, epoch) if self.shuffle else None


def fit_minibatches(run: Run, documents, passes: Passes, tasks: FitTasks, evaluate: Callable | None):
    """Train on all documents, pass after pass; evaluate : function that returns a held-out score, or None."""

    def train(epoch):
        earlier_share = 1.0 if epoch > 0 and run.method.averages else 0.0
        pass_minibatches(run, documents, passes, tasks, epoch, earlier_share)

    make_passes(run, documents, passes, tasks, evaluate, train)


def make_passes(run: Run, documents, passes: Passes, tasks: FitTasks, evaluate, train: Callable):
    """Call train(epoch) for each pass, until the score no longer rises or a callback ends training."""
    begin_passes(run, documents, passes, evaluate)
    for epoch in range(passes.max_iter):
        train(epoch)
        stop = end_pass(run, epoch)
        if tasks.end_epoch() or stop:
            break
    tasks.end()


def begin_passes(run: Run, documents, passes: Passes, evaluate: Callable | None):
    """Note how many documents there are to pass over."""
    size = documents.total_weight()
    run.training.state = changed(run.training.state, corpus_size=size, is_corpus=1)
    n_samples = documents.n_documents * passes.max_iter
    run.monitor.begin(n_samples, evaluate, ("pass", passes.max_iter))


def pass_minibatches(run: Run, documents, passes: Passes, tasks: FitTasks, epoch, earlier_share=0.0):
    """Update by all documents once; return whether no callback has ended that early.

    earlier_share : the share of the statistics that earlier passes have left, when this one begins
    """

    def train(reader, rows):
        nonlocal earlier_share
        update = next_update(run, passes, epoch, earlier_share)
        kept = run.method.kept(run.training.state, update) if earlier_share > 0.0 else 1.0
        counts = train_on_batch(run, reader, rows, update)
        if counts.n_tokens > 0.0:
            earlier_share *= kept

    order_key = passes.order_key(run.training.state.seed, epoch)
    return visit_batches(run, documents.batches(batch_size(documents, passes.size), order_key), tasks, train)


def next_update(run: Run, passes: Passes, epoch: int, earlier_share: float = 0.0) -> Update:
    """The next Update of `fit`."""
    state = run.training.state
    return Update(
        number=state.n_updates,
        is_first_visit=epoch == 0,
        is_whole_corpus=passes.size is None,
        total_samples=float(passes.total_samples or state.corpus_size),
        pass_size=state.corpus_size,
        earlier_share=earlier_share,
    )


def visit_batches(run: Run, batches, tasks: FitTasks, train: Callable):
    """Call train(reader, rows) for each batch of a pass; return whether no callback has ended that early."""
    tasks.begin_epoch()
    run.monitor.begin_pass()
    for reader, rows in batches:
        tasks.begin_update()
        train(reader, rows)
        if tasks.end_update():
            return False
    return True


def end_pass(run: Run, epoch):
    """Count a pass, and score what it has led to; return whether the score no longer rises."""
    run.training.state = changed(run.training.state, n_passes=epoch + 1)
    stop = run.monitor.after_epoch()
    if run.monitor.scores:
        run.training.state = changed(run.training.state, validation_scores=np.array(run.monitor.scores))
    return stop


def batch_size(documents, size):
    """Documents of a batch; size : of a batch, or None: all are one."""
    most = max(int(documents.n_documents), 1)
    return most if size is None else min(size, most)


def add_minibatches(run: Run, documents, size: int, total_samples: float | None):
    """Train on more documents, once, in batches of this size."""
    run.monitor.begin(documents.n_documents)
    for reader, rows in documents.batches(size):
        state, n_new = run.training.state, reader.total_weight(rows)
        update = Update(
            number=state.n_updates,
            is_first_visit=True,
            is_whole_corpus=False,
            total_samples=float(total_samples or expected_size(run.method, state, n_new)),
        )
        train_on_batch(run, reader, rows, update, n_new=n_new)


def expected_size(method, state: MinibatchState, n_new: float = 0) -> float:
    """The size of the corpus, by weight, without total_samples; n_new : new documents of the next batch."""
    size = state.corpus_size + n_new
    return size if state.is_corpus else method.growth(size)


def train_on_batch(run: Run, reader, rows, update: Update, *, n_new=0) -> BatchCounts:
    """One update; returns the BatchCounts of the documents.

    reader, rows : DocumentReader and the numbers of its documents
    n_new : documents that were not counted before, by weight
    """
    method, training, workers = run.method, run.training, run.workers
    training.check_undisturbed()
    state = training.state
    counts = counts_of_batch(method, state, reader, rows, update, workers)
    # Ctrl-C waits for a short update. It stops a long one, which therefore changes a copy.
    short = method.work(state, counts, update) < LONG_WORK
    with training.changing(), training.complete_or_undone(waits=short):
        if not short:
            state = changed(state, words=duplicate(state.words))
        state = method.absorb(state, counts, update, workers)
        training.state = counted(state, update, counts.n_documents, n_new)
    run.monitor.after_update(len(rows))
    return counts


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


# Parts of an update that mini-batch methods share


def gathered_topics(topics, batch, prior, state, update, workers):
    """Rows of the topics for the words of a batch, without what its documents have added to them before."""
    gathered = topics.gather(batch.words, prior, workers)
    if update.earlier_share > 0.0:
        # Passes come in random orders. So every document, of this batch too, is in the part of the
        # statistics that earlier passes have left, as often as the share says.
        often = update.earlier_share * update.total_samples / state.corpus_size * batch.weights_up_to_one()
        gathered.left_out = left_out_of(topics, often, gathered.log_norm)
    return gathered


def work_of_clearing(method, state, counts, update):
    """Operations of setting the statistics to zero, if the rule of a method does so."""
    size = state.words.size
    if size < LONG_WORK // 10 or counts.n_tokens == 0.0:  # clearing so few entries takes no time
        return 0
    rho, is_first = method.step_size(state, update), state.n_topic_updates == 0
    return size if method.rule.of(state).discards(rho, is_first) else 0
