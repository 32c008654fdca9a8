"""Passes over the batches of a corpus, and the moves after them: learning_method='memoized'."""

import math
from functools import partial

import numpy as np

from sktopic._state._fields import changed, duplicate
from sktopic._training._minibatches import make_passes, visit_batches
from sktopic.hdp._direct_assignment_state import PASS, after_moves, postponed, reported
from sktopic.hdp._memoized._corpus import MemoizedCorpus, Visit
from sktopic.hdp._memoized._merges import Delete, TrackedMerges, merges_within
from sktopic.hdp._memoized._start import topics_of_chain
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics, checked, restored, stored
from sktopic.hdp._moves import LEAST_GAIN, best_first, make_moves

# Single topics that a pass tries to do without, and how many of the smallest it tries to do without together.
DELETES_TRIED, TOGETHER = 2, (2, 4, 8, 16, 32)
# A topic that was not dropped waits two passes, then four, and at most this power of two.
MOST_PASSES_WAITED = 2
# Share of the bound that is taken for no difference.
LEVEL = 1e-3
# Fields of the state that a pass changes, besides the words: parameters in the order of PASS.
PARAMETERS = ("doc_concentration", "topic_concentration", "topic_word_prior")
LEARNED = ("weights", "ids", "next_id", "births", "trials", *PARAMETERS)


def fit_memoized(run, documents, passes, tasks, evaluate):
    """Pass over the batches of all documents; evaluate : function that returns a held-out score, or None."""
    # Batches are the same in all passes, since what they leave behind is replaced.
    order_key = passes.order_key(run.training.state.seed, epoch=0)
    memoized = None

    def batches():
        return documents.batches(passes.size, order_key)

    def train(epoch):
        nonlocal memoized
        memoized = memoized or begun(run, batches())
        visit_batches(run, batches(), tasks, partial(visit, run, memoized))
        memoized.end_pass()
        set_state(run, memoized)

    make_passes(run, documents, passes, tasks, evaluate, train)


def begun(run, batches):
    """Return the MemoizedTraining before the first pass over batches."""
    method, state = run.method, run.training.state
    samples = method.proposals is not None and method.components is None
    state = topics_of_chain(run, state, batches) if samples else state
    return MemoizedTraining(method, state, run.workers, has_start=samples)


def add_memoized(run, documents, size):
    """Visit the batches of more documents once, and add them to the corpus."""
    run.monitor.begin(documents.n_documents)
    memoized = MemoizedTraining(run.method, run.training.state, run.workers)
    for reader, rows in documents.batches(size):
        visit(run, memoized, reader, rows)
    memoized.end_pass()
    set_state(run, memoized)


def range_of_numbers(state):
    """Return the numbers of topics with nearly the same bound, an array (2,), from a state after training."""
    n, history = len(state.in_use), state.training_history
    if not len(history):
        return np.array([n, n])
    corpus = MemoizedCorpus(state, restored(checked(state.summaries, state.words.n_features)), None)
    merges = merges_within(corpus, LEVEL * abs(history["elbo"][-1]))
    return np.array([n - len(merges), n])


def visit(run, memoized, reader, rows):
    """Let MemoizedTraining visit the batch of documents in rows."""
    run.training.check_undisturbed()
    memoized.visit(reader, rows)
    run.monitor.after_update(len(rows))


def set_state(run, memoized):
    """Set the state to that after a pass."""
    training = run.training
    summaries = stored(memoized.corpus.summaries, memoized.corpus.n_topics)
    with training.changing(), training.complete_or_undone(waits=True):
        training.state = state_after(training.state, memoized, summaries)
    memoized.corpus.summaries = restored(summaries)


def state_after(state, memoized, summaries):
    """Return the state after a pass. summaries : StoredSummaries of all batches."""
    corpus, visited = memoized.corpus, memoized.visited
    weights = [float(s.sample_weight.sum()) for s in corpus.summaries]
    n_batches = len(weights[visited])
    state = changed(
        state,
        n_updates=state.n_updates + n_batches,
        n_samples_seen=state.n_samples_seen + sum(weights[visited]),
        corpus_size=sum(weights),
        total_samples=sum(weights),
        summaries=summaries,
        words=duplicate(corpus.topics.words),
        **{name: getattr(corpus.topics, name) for name in LEARNED},
    )
    if not corpus.has_tokens:
        return reported(state)
    state = changed(state, n_topic_updates=state.n_topic_updates + n_batches)
    state, bound = reported(after_moves(state, memoized.made, memoized.bound)), memoized.bound
    row = state.n_samples_seen, bound, len(state.in_use), *(getattr(state, name) for name in PARAMETERS)
    return changed(state, training_history=np.append(state.training_history, np.array([row], dtype=PASS)))


class MemoizedTraining:
    """One call of fit or partial_fit. It continues from a state, which it does not change.

    Parameters
    ----------
    method : DirectAssignment
    state : DirectAssignmentState
    workers : Workers
    has_start : whether the state has topics that were found in the documents

    Attributes
    ----------
    corpus : MemoizedCorpus, changed by visits and moves
    first, next : numbers of the first batch of the call, and of the next (None between passes)
    visited : slice of the batches visited by the last pass, which a callback may have ended early
    made : list of tuples (kind, topic, other, gain), the moves after the last pass
    bound : bound of the corpus after the last pass
    """

    def __init__(self, method, state, workers, has_start=False):
        self._infer, self._workers = method.inference.with_bound(), workers
        self._has_moves = method.proposals is not None
        summaries = restored(checked(state.summaries, state.words.n_features))
        topics = changed(state, words=duplicate(state.words), summaries=None)
        self.corpus = MemoizedCorpus(topics, summaries, method.parameters, has_start)
        self.first, self.made, self.bound = len(summaries), [], -np.inf
        self.next, self._number, self._idle = None, 0, 0

    def _begin_pass(self):
        """Plan the sums over the visits of a pass."""
        self._refused, self.next = {}, self.first
        # If the last passes made no move, few of the next ones try any.
        ready = self._has_moves and self._number > 0 and not self._idle & (self._idle - 1)
        self._merges = TrackedMerges(self.corpus) if ready else None
        self._deletes = self._planned_deletes() if ready else []

    def _planned_deletes(self):
        """Return the Deletes to try after a pass without merges: of single small topics, and of several."""
        topics, free = self.corpus.topics, self.corpus.free()
        if len(free) < 2 or any(kind == "merge" for kind, *_ in self.made):
            return []
        totals = topics.words.totals
        tried = (topics.trials["merge_due"] <= self._number) & (totals < totals[free].mean())
        order = free[np.argsort(totals[free], kind="stable")]
        order = order[tried[order]]
        chosen = [order[i : i + 1] for i in range(min(len(order), DELETES_TRIED))]
        chosen += [order[:n] for n in TOGETHER if n <= len(order)]
        return [Delete.planned(self.corpus, some) for some in chosen]

    def visit(self, reader, rows):
        """Infer the documents of the next batch; keep the result unless it is worse than the summary."""
        if self.next is None:
            self._begin_pass()
        corpus, b, batch = self.corpus, self.next, reader.batch(rows)
        self.next += 1
        before = corpus.summaries[b] if b < len(corpus.summaries) else None
        given = batch, corpus.topics, self._workers
        infer = self._infer
        counts = infer(*given) if before is None else infer.better(*given, before.dense_documents())
        cells = CellTopics.of(counts, self._workers)
        summary = BatchSummary.of(cells)
        visit = Visit(b, reader, rows, cells, corpus, self._infer, self._workers)
        if self._merges is not None:
            for tracked in (self._merges, *self._deletes):
                tracked.see(visit)
        if before is not None and corpus.part(summary) < corpus.part(before):
            self._refused[b] = summary
        else:
            corpus.replace(b, summary)

    def end_pass(self):
        """Make the moves that raise the bound, and fit the parameters."""
        is_complete = self.next == len(self.corpus.summaries)
        self.visited, self.next = slice(self.first, self.next), None
        self.made, self._number = [], self._number + 1
        if not self.corpus.has_tokens:
            return
        self.corpus.recount()
        if self._merges is not None and is_complete:  # moves need the sums over all batches
            seen = self._seen()
            self.made = self._merge(seen) or self._drop(seen)
        self._idle = 0 if self.made else self._idle + 1
        if self._has_moves:
            self.corpus = self.corpus.without_empty()
        self.corpus.fit()
        self.bound = self.corpus.bound()

    def _seen(self):
        """Return the corpus with the latest results of all documents, better than the summaries or not."""
        return self.corpus.with_summaries(self._refused) if self._refused else self.corpus

    def _merge(self, seen):
        """Make the merges that raise the bound; return the moves."""
        merges = make_moves(best_first(self._merges.decided(seen))).made
        if not merges:
            return []
        if not self._refused:
            return self.corpus.merge(merges)
        tried = seen.with_summaries({})
        made = tried.merge(merges)
        if tried.bound() <= self.corpus.bound():
            return []
        self.corpus = tried
        return made

    def _drop(self, seen):
        """Make the Delete with the largest gain of the bound, if any gains; return the moves."""
        before, log_gamma = self.corpus.bound(), math.log(seen.topics.topic_concentration)
        ids, left = seen.topics.ids, self.corpus
        best_gain, best, refused = LEAST_GAIN, None, []
        for delete in self._deletes:
            without, n = delete.done(seen), len(delete.topics)
            gain = without.bound() + n * log_gamma - before  # without the density of the number of topics
            if gain > best_gain:
                best_gain, best, left = gain, delete.topics, without
            elif n == 1 and gain <= LEAST_GAIN:
                refused.append(ids[delete.topics[0]])
        waiting = np.isin(left.topics.ids, refused)
        left.topics = postponed(left.topics, "merge", waiting, self._number, MOST_PASSES_WAITED)
        self.corpus = left
        return [] if best is None else [("drop", k, -1, best_gain / len(best)) for k in ids[best].tolist()]
