"""The trainer of learning_method='memoized': the state changes after a pass, or a call of partial_fit."""

from functools import partial

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
from sktopic.hdp._memoized._summaries import restored, stored
from sktopic.hdp._memoized._training import MemoizedTraining

# Fields of the state that a pass changes, besides the words: parameters in the order of PASS.
PARAMETERS = ("doc_concentration", "topic_concentration", "topic_word_prior")
LEARNED = ("weights", "ids", "next_id", "births", "trials", *PARAMETERS)


def fit_memoized(run, documents, passes, tasks, evaluate):
    """Pass over the batches of all documents; evaluate : function that returns a held-out score, or None."""
    begin_passes(run, documents, passes, evaluate)
    memoized = MemoizedTraining(run.method, run.training.state, run.workers)
    for epoch in range(passes.max_iter):
        # Batches are the same in all passes, since what they leave behind is replaced.
        order_key = combine_keys(run.training.state.seed, SHUFFLE_KEY, 0) if passes.shuffle else None
        batches = documents.batches(passes.size, order_key)
        visit_batches(run, batches, tasks, partial(visit, run, memoized))
        end_visits(run, memoized)
        stop = end_pass(run, epoch)
        if tasks.end_epoch() or stop:
            break
    tasks.end()


def add_memoized(run, documents, size):
    """Visit the batches of more documents once, and add them to the corpus."""
    run.monitor.begin(documents.n_documents)
    memoized = MemoizedTraining(run.method, run.training.state, run.workers)
    for reader, rows in documents.batches(size):
        visit(run, memoized, reader, rows)
    end_visits(run, memoized)


def visit(run, memoized, reader, rows):
    """Let MemoizedTraining visit a batch, the numbers of whose documents are given."""
    run.training.check_undisturbed()
    memoized.visit(reader, rows)
    run.monitor.after_update(len(rows))


def end_visits(run, memoized):
    """Let the state be the best one after the pass, if there were batches."""
    if not memoized.is_within_a_pass:
        return
    training = run.training
    memoized.end_pass()
    summaries = stored(memoized.kept.summaries, memoized.kept.n_topics)
    with training.changing(), training.complete_or_undone(waits=True):
        training.state = state_after(training.state, memoized, summaries)
    memoized.kept.summaries = restored(summaries)


def state_after(state, memoized, summaries):
    """The state after a pass; summaries : StoredSummaries of its batches."""
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
