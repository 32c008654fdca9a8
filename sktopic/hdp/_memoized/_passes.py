"""The trainer of learning_method='memoized': the state changes after a pass, or a call of partial_fit."""

import numpy as np

from sktopic._kernels._rng import combine_keys
from sktopic._state._fields import changed, duplicate
from sktopic._training._minibatches import (
    SHUFFLE_KEY,
    begin_passes,
    end_pass,
    visit_batches,
)
from sktopic.hdp._direct_assignment_state import PASS, after_moves, reported
from sktopic.hdp._memoized._corpus import MemoizedCorpus
from sktopic.hdp._memoized._stored import checked, restored, stored
from sktopic.hdp._memoized._training import MemoizedSettings, MemoizedTraining

# Tells the streams of a seed apart.
MEMOIZED_KEY = 0x6D656D6F


def fit_memoized(run, documents, passes, tasks, evaluate):
    """Pass over the batches of all documents; evaluate : function that returns a held-out score, or None."""
    begin_passes(run, documents, passes, evaluate)
    visits = Visits(run)
    for epoch in range(passes.max_iter):
        # Batches are the same in all passes, since what they leave behind is replaced.
        order_key = combine_keys(run.training.state.seed, SHUFFLE_KEY, 0) if passes.shuffle else None
        visit_batches(run, documents.batches(passes.size, order_key), tasks, visits.visit)
        visits.end_pass()
        stop = end_pass(run, epoch)
        if tasks.end_epoch() or stop:
            break
    tasks.end()


def add_memoized(run, documents, size):
    """Visit the batches of more documents once, and add them to the corpus."""
    run.monitor.begin(documents.n_documents)
    visits = Visits(run)
    for reader, rows in documents.batches(size):
        visits.visit(reader, rows)
    visits.end_pass()


class Visits:
    """Visits of the batches that one call of fit or partial_fit trains with.

    Parameters
    ----------
    run : Run, whose method is a DirectAssignment
    """

    def __init__(self, run):
        self._run, self._memoized, self._begun = run, memoized_training(run), False

    def visit(self, reader, rows):
        """Visit a batch, the numbers of whose documents are given."""
        self._run.training.check_undisturbed()
        self._memoized.visit(reader, rows)
        self._begun = True
        self._run.monitor.after_update(len(rows))

    def end_pass(self):
        """Let the state be the best one after the pass, if there were batches."""
        if not self._begun:
            return
        training, memoized, self._begun = self._run.training, self._memoized, False
        memoized.end_pass()
        summaries = stored(memoized.kept.summaries)
        with training.changing(), training.complete_or_undone(waits=True):
            training.state = state_after(training.state, memoized, summaries)
        memoized.kept.summaries = restored(summaries)


def memoized_training(run):
    """What goes on from the present state, and leaves it as it is."""
    method, state = run.method, run.training.state
    summaries = restored(checked(state.summaries, state.words.n_features))
    topics = changed(state, words=duplicate(state.words), summaries=None)
    settings = MemoizedSettings(
        infer=method.inference.with_bound(),
        document_start=method.document_start,
        moves=method.moves is not None,
        splits=method.moves is not None and method.moves.max_splits > 0,
    )
    key = combine_keys(state.seed, MEMOIZED_KEY, state.n_updates)
    return MemoizedTraining(MemoizedCorpus(topics, summaries, method.parameters), settings, key, run.workers)


def state_after(state, memoized, summaries):
    """The state after a pass; summaries : StoredSummaries of its batches."""
    (n_seen, n_batches), corpus = memoized.seen(), memoized.kept
    state = changed(
        state,
        n_updates=state.n_updates + n_batches,
        n_samples_seen=state.n_samples_seen + n_seen,
        corpus_size=corpus.total_weight(),
        total_samples=corpus.total_weight(),
        summaries=summaries,
    )
    if not corpus.has_tokens:
        return state
    topics = corpus.topics
    state = changed(
        state,
        n_topic_updates=state.n_topic_updates + n_batches,
        words=duplicate(topics.words),
        weights=topics.weights,
        ids=topics.ids,
        next_id=topics.next_id,
        births=topics.births,
        trials=topics.trials,
        topic_concentration=topics.topic_concentration,
        doc_concentration=topics.doc_concentration,
        topic_word_prior=topics.topic_word_prior,
    )
    return after_pass(reported(after_moves(state, memoized.made, memoized.bound)), memoized.bound)


def after_pass(state, bound):
    """The state with a row for the pass in its history; bound : of the corpus."""
    row = np.array(
        [
            (
                state.n_samples_seen,
                bound,
                len(state.in_use),
                state.doc_concentration,
                state.topic_concentration,
                state.topic_word_prior,
            )
        ],
        dtype=PASS,
    )
    return changed(state, training_history=np.concatenate([state.training_history, row]))
