"""Trainers of direct assignment that pass over a corpus, in mini-batches or in batches of all documents.

The last of several passes may differ: topics are fixed while the gains of merges and drops are summed over
the corpus, and then these moves are made.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np

from sktopic._training._minibatches import (
    begin_passes,
    end_pass,
    fit_minibatches,
    pass_minibatches,
)
from sktopic.hdp._direct_assignment_method import DirectAssignment
from sktopic.hdp._direct_assignment_state import after_moves, reported
from sktopic.hdp._final_moves import FinalMoves, final_work, make_all
from sktopic.hdp._minibatch_method import HDPUpdates, of_corpus


def fit_batch(run, documents, passes, tasks, evaluate):
    """Train on batches of all documents; evaluate: function that returns a held-out score, or None."""
    run = replace(run, method=WholeCorpus(run.method))
    fit_online(run, documents, passes, tasks, evaluate, partial(replace, is_last=True))


def fit_online(run, documents, passes, tasks, evaluate, last_pass=None):
    """Train on mini-batches in the same way.

    last_pass : function of the method that returns that of the last pass. If None, FinalPass.
    """
    if passes.may_repeat:
        fit_to_the_end(run, documents, passes, tasks, evaluate, last_pass or FinalPass)
    else:
        fit_minibatches(run, documents, passes, tasks, evaluate)


def fit_to_the_end(run, documents, passes, tasks, evaluate, last_pass):
    """Train pass by pass; repeat the last of several passes until no move raises the bound.

    The last pass also follows an early stop.

    last_pass : function of the method that returns that of the last pass, a PassMethod
    """
    begin_passes(run, documents, passes, evaluate)
    stop = False
    for epoch in count():
        ends, again = stop or epoch >= passes.max_iter - 1, False
        if ends and epoch > 0:
            last = last_pass(run.method)
            run_last = replace(run, method=last)
            if pass_minibatches(run_last, documents, passes, tasks, epoch):
                with run.training.changing(), run.training.complete_or_undone(waits=False):
                    run.training.state, again = last.finished(run.training.state, run.workers)
        else:
            pass_minibatches(run, documents, passes, tasks, epoch)
        stop = end_pass(run, epoch) or stop
        if tasks.end_epoch() or (ends and not again):
            break
    tasks.end()


class PassMethod(HDPUpdates):
    """Base class of the methods of a pass.

    A subclass has a DirectAssignment, `method`.
    """

    averages: ClassVar[bool] = False

    def reported(self, state):
        return reported(state)

    def work(self, state, counts, update):
        return self.method.work_without_moves(state, counts, update) + final_work(counts.expected)

    def finished(self, state, workers):
        """Return the state after the last pass, and whether to repeat the pass."""
        return state, False


@dataclass
class FinalPass(PassMethod):
    """The last pass in mini-batches, with fixed topics until it ends.

    Attributes
    ----------
    method : DirectAssignment
    moves : FinalMoves, after the first batch with words
    """

    method: DirectAssignment
    moves: FinalMoves | None = None

    def infer(self, state, batch, keys, update, workers):
        return self.method.infer(state, batch, keys, update, workers)

    def learned(self, state, counts, update, workers):
        self.moves = self.moves or FinalMoves(state, self.method.inference)
        self.moves.add(counts, workers)
        return state

    def finished(self, state, workers):
        if self.moves is None:
            return state, False
        state, _, _, made = self.moves.make(state, workers)
        return reported(after_moves(state, made)), len(made) > 0


@dataclass
class WholeCorpus(PassMethod):
    """The method for batches of all documents, which may start from their result in the pass before.

    Attributes
    ----------
    method : DirectAssignment
    tokens : (n_documents, n_topics) results of the documents, after the first batch with words
    is_last : whether to make moves until none raises the bound, and learn nothing else
    """

    method: DirectAssignment
    tokens: np.ndarray | None = None
    is_last: bool = False

    def infer(self, state, batch, keys, update, workers):
        method, state = self.method, of_corpus(state, update)
        return method.inference.started(method.document_start, batch, state, workers, self.tokens)

    def learned(self, state, counts, update, workers):
        if self.is_last:
            return after_moves(*make_all(state, self.method.inference, counts, workers))
        state, self.tokens = self.method.updated(state, counts, update, workers)
        return state

    def work(self, state, counts, update):
        return (
            super().work(state, counts, update) if self.is_last else self.method.work(state, counts, update)
        )
