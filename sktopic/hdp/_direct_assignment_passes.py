"""The trainers of direct assignment that pass over a corpus: in mini-batches, or in batches of all of it.

The last of several passes may be another than those before: topics are held fixed while what merges and drops
would gain is summed up over the corpus, and then these moves are made.
"""

from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, Protocol

import numpy as np

from sktopic._training._minibatches import (
    MinibatchMethod,
    begin_passes,
    end_pass,
    fit_minibatches,
    pass_minibatches,
)
from sktopic.hdp._direct_assignment_method import DirectAssignment
from sktopic.hdp._direct_assignment_state import after_moves, reported
from sktopic.hdp._final_moves import FinalMoves, final_work, make_all
from sktopic.hdp._minibatch_method import HDPUpdates, of_corpus


class PassUpdates(HDPUpdates):
    """Base class of the methods of a pass."""

    averages: ClassVar[bool] = False

    def reported(self, state):
        return reported(state)


class LastPass(MinibatchMethod, Protocol):
    """The method of a last pass."""

    def finished(self, state, workers):
        """Return the state after the pass, and whether the pass is to be repeated."""


def fit_online(run, documents, passes, tasks, evaluate):
    """Train on mini-batches; evaluate : function that returns a held-out score, or None."""
    if passes.may_repeat:
        fit_to_the_end(run, documents, passes, tasks, evaluate, FinalPass)
    else:
        fit_minibatches(run, documents, passes, tasks, evaluate)


def fit_batch(run, documents, passes, tasks, evaluate):
    """Train on batches of all documents, likewise."""
    run = replace(run, method=WholeCorpus(run.method))
    if passes.may_repeat:
        fit_to_the_end(run, documents, passes, tasks, evaluate, FinalPassOfWholeCorpus)
    else:
        fit_minibatches(run, documents, passes, tasks, evaluate)


def fit_to_the_end(run, documents, passes, tasks, evaluate, last_pass):
    """Train pass after pass; the last one of several is repeated until no move raises the bound.

    It comes after an early stop, too.

    last_pass : function of the method that returns a LastPass
    """
    begin_passes(run, documents, passes, evaluate)
    stop = False
    for epoch in count():
        ends, again = stop or epoch >= passes.max_iter - 1, False
        if ends and epoch > 0:
            last = last_pass(run.method)
            is_complete = pass_minibatches(replace(run, method=last), documents, passes, tasks, epoch)
            again = is_complete and finish(run, last)
        else:
            pass_minibatches(run, documents, passes, tasks, epoch)
        stop = end_pass(run, epoch) or stop
        if tasks.end_epoch() or (ends and not again):
            break
    tasks.end()


def finish(run, last):
    """Let the state be that after a LastPass; return whether it is to be repeated."""
    with run.training.changing(), run.training.complete_or_undone(waits=False):
        run.training.state, again = last.finished(run.training.state, run.workers)
    return again


@dataclass
class FinalPass(PassUpdates):
    """The last pass in mini-batches: topics are held fixed until it ends.

    Attributes
    ----------
    method : DirectAssignment
    moves : FinalMoves, once there was a batch with words
    """

    method: DirectAssignment
    moves: FinalMoves | None = None

    def infer(self, state, batch, keys, update, workers):
        return self.method.infer(state, batch, keys, update, workers)

    def learned(self, state, counts, update, workers):
        self.moves = self.moves or FinalMoves(state, self.method.inference)
        self.moves.add(counts, workers)
        return state

    def work(self, state, counts, update):
        return self.method.work_without_moves(state, counts, update) + final_work(counts.expected)

    def kept(self, state, update):
        return 1.0

    def finished(self, state, workers):
        if self.moves is None:
            return state, False
        state, _, _, made = self.moves.make(state, workers)
        return reported(after_moves(state, made)), len(made) > 0


@dataclass
class WholeCorpus(PassUpdates):
    """The method for batches of all documents, which start from where they ended in the pass before.

    Attributes
    ----------
    method : DirectAssignment
    tokens : (n_documents, n_topics) where documents have ended, if they have had words
    """

    method: DirectAssignment
    tokens: np.ndarray | None = None

    def infer(self, state, batch, keys, update, workers):
        method, state = self.method, of_corpus(state, update)
        return method.inference.started(method.document_start, batch, state, workers, self.tokens)

    def learned(self, state, counts, update, workers):
        state, self.tokens = self.method.updated(state, counts, update, workers)
        return state

    def work(self, state, counts, update):
        return self.method.work(state, counts, update)

    def kept(self, state, update):
        return 0.0


@dataclass
class FinalPassOfWholeCorpus(PassUpdates):
    """The last pass, which ends when no move raises the bound.

    Attributes
    ----------
    corpus : WholeCorpus
    """

    corpus: WholeCorpus

    def infer(self, state, batch, keys, update, workers):
        return self.corpus.infer(state, batch, keys, update, workers)

    def learned(self, state, counts, update, workers):
        state, made = make_all(state, self.corpus.method.inference, counts, workers)
        return after_moves(state, made)

    def work(self, state, counts, update):
        method = self.corpus.method
        return method.work_without_moves(state, counts, update) + final_work(counts.expected)

    def kept(self, state, update):
        return 0.0

    def finished(self, state, workers):
        return state, False
