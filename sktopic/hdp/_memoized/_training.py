"""Passes over the batches of a corpus, and the moves that follow from them: learning_method='memoized'."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed, duplicate
from sktopic._training._minibatches import make_passes, visit_batches
from sktopic.hdp._direct_assignment_state import PASS, after_moves, reported
from sktopic.hdp._memoized._corpus import MemoizedCorpus, Visit
from sktopic.hdp._memoized._merges import Delete, PairSizes, TrackedMerges
from sktopic.hdp._memoized._splits import TRIED, GatheredCells, TrackedSplits, Waiting
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics, checked, restored, stored
from sktopic.hdp._moves import LEAST_GAIN, best_first, make_moves

# Passes that splits are on trial for, at most. Few of those that lose are made up for: there may be one more
# topic then for so many, or this number more, half as many after each failure, but never fewer than the last.
TRIAL_PASSES, TOPICS_PER_PART, FIRST_PARTS, LAST_PARTS = 12, 4, 24, 8
# ... the first of them without merges, which would take back what documents have not had time to use.
PASSES_WITHOUT_MERGES = 2
# Passes in a row without a merge or a split before a trial: those that gain at once cost less.
PATIENCE = 2
# Topics that a pass tries to do without.
DELETES_TRIED = 3
# Tells the streams of a seed apart.
MEMOIZED_KEY = 0x6D656D6F
# Fields of the state that a pass changes, besides the words: parameters in the order of PASS.
PARAMETERS = ("doc_concentration", "topic_concentration", "topic_word_prior")
LEARNED = ("weights", "ids", "next_id", "births", "trials", *PARAMETERS)


def fit_memoized(run, documents, passes, tasks, evaluate):
    """Pass over the batches of all documents; evaluate : function that returns a held-out score, or None."""
    memoized = MemoizedTraining(run.method, run.training.state, run.workers)
    # Batches are the same in all passes, since what they leave behind is replaced.
    order_key = passes.order_key(run.training.state.seed, epoch=0)

    def train(_):
        batches = documents.batches(passes.size, order_key)
        visit_batches(run, batches, tasks, partial(visit, run, memoized))
        end_visits(run, memoized)

    make_passes(run, documents, passes, tasks, evaluate, train)


def add_memoized(run, documents, size):
    """Visit the batches of more documents once, and add them to the corpus."""
    run.monitor.begin(documents.n_documents)
    memoized = MemoizedTraining(run.method, run.training.state, run.workers)
    for reader, rows in documents.batches(size):
        visit(run, memoized, reader, rows)
    end_visits(run, memoized)


def visit(run, memoized, reader, rows):
    """Let MemoizedTraining visit the batch of documents in rows."""
    run.training.check_undisturbed()
    memoized.visit(reader, rows)
    run.monitor.after_update(len(rows))


def end_visits(run, memoized):
    """Set the state to the best one after the pass."""
    training = run.training
    memoized.end_pass()
    summaries = stored(memoized.kept.summaries, memoized.kept.n_topics)
    with training.changing(), training.complete_or_undone(waits=True):
        training.state = state_after(training.state, memoized, summaries)
    memoized.kept.summaries = restored(summaries)


def state_after(state, memoized, summaries):
    """Return the state after a pass. summaries : StoredSummaries of its batches."""
    corpus, n_batches = memoized.kept, len(memoized.kept.summaries) - memoized.first
    weights = [float(s.sample_weight.sum()) for s in corpus.summaries]
    state = changed(
        state,
        n_updates=state.n_updates + n_batches,
        n_samples_seen=state.n_samples_seen + sum(weights[memoized.first :]),
        corpus_size=sum(weights),
        total_samples=sum(weights),
        summaries=summaries,
    )
    if not corpus.has_tokens:
        return state
    state = changed(
        state,
        n_topic_updates=state.n_topic_updates + n_batches,
        words=duplicate(corpus.topics.words),
        **{name: getattr(corpus.topics, name) for name in LEARNED},
    )
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

    Attributes
    ----------
    corpus : MemoizedCorpus, changed by visits and moves
    first, next : numbers of the first batch of the call, and of the next (None between passes)
    made : list of tuples (kind, topic, other, gain), the moves after the last pass
    kept : the best MemoizedCorpus so far. During a trial of splits, only ``corpus`` contains them.
    bound : bound of ``kept``
    """

    def __init__(self, method, state, workers):
        self._infer, self._start = method.inference.with_bound(), method.document_start
        self._moves, self._workers = method.moves, workers
        self._key = combine_keys(state.seed, MEMOIZED_KEY, state.n_updates)
        summaries = restored(checked(state.summaries, state.words.n_features))
        topics = changed(state, words=duplicate(state.words), summaries=None)
        self.corpus = self.kept = MemoizedCorpus(topics, summaries, method.parameters)
        self.first, self.made, self.bound = len(summaries), [], -np.inf
        self._waiting, self._waiting_to_drop = Waiting(), Waiting()
        self._proposals, self._number = [], 0
        self.next = self._trial = None
        self._refusals, self._next_trial, self._idle = 0, 0, 0

    def _begin_pass(self):
        """Plan the sums over the visits of a pass."""
        self._refused, self.next, trial = {}, self.first, self._trial
        if trial is None:
            ready = self._moves is not None and self._number > 0
        else:
            ready = self._number >= trial.until - TRIAL_PASSES + PASSES_WITHOUT_MERGES
        self._deletes = self._planned_deletes() if ready else []
        self._merges = TrackedMerges(self.corpus) if ready else None
        self._splits = self._gathered = None
        if ready and trial is None:
            number = {identity: k for k, identity in enumerate(self.corpus.topics.ids.tolist())}
            there = [proposal for proposal in self._proposals if proposal.identity in number]
            self._proposals = [replace(proposal, topic=number[proposal.identity]) for proposal in there]
            self._splits = TrackedSplits(self._proposals)
            self._gathered = GatheredCells(self.corpus, self._tried())

    def _tried(self):
        """Return the topics to propose parts for."""
        topics = self.corpus.topics
        if not self._moves.max_splits:
            return []
        free = ~topics.are_frozen & self._waiting.are_over(topics.ids, self._number)
        free[[proposal.topic for proposal in self._proposals]] = False
        order = np.argsort(-topics.weights, kind="stable")
        return order[free[order]][:TRIED].tolist()

    def _planned_deletes(self):
        """Return the Deletes to try after a pass without merges and splits: small topics that do not wait."""
        topics, free = self.corpus.topics, self.corpus.free()
        if len(free) < 2 or any(kind != "drop" for kind, *_ in self.made):
            return []
        totals = topics.words.totals
        tried = self._waiting_to_drop.are_over(topics.ids, self._number) & (totals < totals[free].mean())
        order = free[np.argsort(totals[free], kind="stable")]
        sizes = PairSizes(self.corpus)
        return [Delete.planned(sizes, free, int(k)) for k in order[tried[order]][:DELETES_TRIED]]

    def visit(self, reader, rows):
        """Infer the documents of the next batch; keep the result unless it is worse than the summary."""
        if self.next is None:
            self._begin_pass()
        corpus, b, batch = self.corpus, self.next, reader.batch(rows)
        self.next += 1
        before = corpus.summaries[b] if b < len(corpus.summaries) else None
        tokens = None if before is None or self._start == "cold" else before.dense_documents()
        counts = self._infer.started(self._start, batch, corpus.topics, self._workers, tokens)
        cells = CellTopics.of(counts, self._workers)
        summary, visit = (
            BatchSummary.of(cells),
            Visit(b, reader, rows, cells, corpus, self._infer, self._workers),
        )
        for tracked in (self._merges, self._splits, self._gathered, *self._deletes):
            if tracked is not None:
                tracked.see(visit)
        if before is not None and corpus.part(summary) < corpus.part(before):
            self._refused[b] = summary
        else:
            corpus.replace(b, summary)

    def end_pass(self):
        """Make the moves that raise the bound, and fit the parameters."""
        self.made, self._number, self.next = [], self._number + 1, None
        if not self.corpus.has_tokens:
            return
        self.corpus.recount()
        if self._gathered is not None:
            self._move()
        elif self._merges is not None:
            seen = self._seen()
            merges = self._merge(seen)
            self._trial.made += merges
            if not merges:
                self._drop(seen)
        if self._moves is not None:
            self.corpus = self.corpus.without_empty()
        self.corpus.fit()
        bound = self.corpus.bound()
        if self._trial is None:
            self.kept, self.bound = self.corpus, bound
        else:
            self._judge_trial(bound)

    def _move(self):
        """Make moves with the latest results of all documents, if better than the kept summaries."""
        proposals, seen = self._proposed(), self._seen()
        found = self._splits.decided(seen)
        self.made = self._merge(seen, found)
        self._idle = 0 if self.made else self._idle + 1
        ready = self._idle >= PATIENCE and self._number >= self._next_trial
        if not self.made and not self._drop(seen) and found and ready:
            self._begin_trial(seen, found)
        changed = {identity for _, topic, other, _ in self.made for identity in (topic, other)}
        tried = [proposal.identity for proposal in self._proposals]
        for identity in changed:
            self._waiting.forget(identity)
        for identity in set(tried) - changed:
            self._waiting.refuse(identity, self._number)
        self._proposals = [proposal for proposal in proposals if proposal.identity not in changed]

    def _seen(self):
        """Return the corpus with the latest results of all documents."""
        return self.corpus.with_summaries(self._refused) if self._refused else self.corpus

    def _merge(self, seen, splits=()):
        """Make the merges and the given splits that raise the bound; return the moves."""
        moves = make_moves(best_first([*self._merges.decided(seen), *splits])).made
        if not moves:
            return []
        if not self._refused:
            return self.corpus.move(moves)
        tried = seen.with_summaries({})
        made = tried.move(moves)
        if tried.bound() <= self.corpus.bound():
            return []
        self.corpus = tried
        return made

    def _drop(self, seen):
        """Drop the topic with the largest gain of the bound, if any gains; return whether one was dropped."""
        # Without the density of the number of topics.
        before, best = self.corpus.bound() - math.log(seen.topics.topic_concentration), None
        for delete in self._deletes:
            without, identity = delete.done(seen), int(seen.topics.ids[delete.topic])
            gain = without.bound() - before
            if gain <= LEAST_GAIN:
                self._waiting_to_drop.refuse(identity, self._number)
            elif best is None or gain > best[0]:
                best = gain, identity, without
        if best is None:
            return False
        gain, identity, self.corpus = best
        (self.made if self._trial is None else self._trial.made).append(("drop", identity, -1, gain))
        return True

    def _proposed(self):
        """Return Proposals for the topics whose cells were gathered."""
        key = combine_keys(self._key, self._number)
        found = self._gathered.proposed(self.corpus, self._waiting, key, self._workers)
        for k, proposal in found.items():
            if proposal is None:
                self._waiting.refuse(int(self.corpus.topics.ids[k]), self._number)
        return [proposal for proposal in found.values() if proposal is not None]

    # Trials: documents that are inferred anew, and other parameters, may make up for what a split loses.

    def _begin_trial(self, seen, splits):
        """Start a trial: split topics even if the bound decreases, fewer after each failure."""
        room, chosen = max(seen.n_topics // TOPICS_PER_PART, FIRST_PARTS), []
        room = max(room // 2**self._refusals, LAST_PARTS)
        for split in sorted(splits, key=lambda split: -split.gain / split.proposal.totals.sum()):
            room -= len(split.proposal.weights) - 1
            if room >= 0:
                chosen.append(split)
        self.kept, tried = self.corpus, seen.with_summaries({})
        self._trial = Trial(self.corpus, tried.move(chosen), self._number + TRIAL_PASSES)
        self.bound = self.corpus.bound()
        self.corpus = tried

    def _judge_trial(self, bound):
        """Accept a trial if its bound is higher; return to its start if it cannot become higher."""
        trial, lacking = self._trial, self.bound + LEAST_GAIN - bound
        # As much as the last pass gained is the most that the next ones will.
        reachable = (trial.until - self._number) * (bound - trial.bound)
        trial.bound = bound
        if lacking < 0.0:
            gain = (bound - self.bound) / len(trial.made)
            self.made = [(*move[:3], gain) for move in trial.made]
            self.kept, self.bound, self._refusals = self.corpus, bound, 0
        elif lacking > reachable:
            self.corpus, self._refusals = trial.corpus, self._refusals + 1
            self._next_trial = self._number + 2**self._refusals
        else:
            return
        self._trial, self._proposals = None, []


@dataclass
class Trial:
    """Splits on trial for several passes.

    Attributes
    ----------
    corpus : MemoizedCorpus before the splits
    made : list of tuples (kind, topic, other, gain)
    until : number of the last pass
    bound : bound after the last pass
    """

    corpus: MemoizedCorpus
    made: list
    until: int
    bound: float = -np.inf
