"""The trainer of direct assignment that passes over a corpus in mini-batches.

The last of several passes may differ: topics are fixed while the gains of merges and drops are summed over
the corpus, and then these moves are made.
"""

from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from sktopic._training._minibatches import (
    begin_passes,
    end_pass,
    fit_minibatches,
    pass_minibatches,
)
from sktopic.hdp._direct_assignment_method import DirectAssignment
from sktopic.hdp._direct_assignment_state import after_moves, reported
from sktopic.hdp._final_moves import FinalMoves, final_work
from sktopic.hdp._minibatch_method import HDPUpdates


def fit_online(run, documents, passes, tasks, evaluate):
    """Train on mini-batches; evaluate: function that returns a held-out score, or None."""
    if passes.may_repeat:
        fit_to_the_end(run, documents, passes, tasks, evaluate)
    else:
        fit_minibatches(run, documents, passes, tasks, evaluate)


def fit_to_the_end(run, documents, passes, tasks, evaluate):
    """Train pass by pass; repeat the last of several passes until no move raises the bound.

    The last pass also follows an early stop.
    """
    begin_passes(run, documents, passes, evaluate)
    stop = False
    for epoch in count():
        ends, again = stop or epoch >= passes.max_iter - 1, False
        if ends and epoch > 0:
            last = FinalPass(run.method)
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


@dataclass
class FinalPass(HDPUpdates):
    """The last pass, with fixed topics until it ends.

    Attributes
    ----------
    method : DirectAssignment
    moves : FinalMoves, after the first batch with words
    """

    method: DirectAssignment
    moves: FinalMoves | None = None

    averages: ClassVar[bool] = False

    def reported(self, state):
        return reported(state)

    def infer(self, state, batch, keys, update, workers):
        return self.method.infer(state, batch, keys, update, workers)

    def learned(self, state, counts, update, workers):
        self.moves = self.moves or FinalMoves(state, self.method.inference)
        self.moves.add(counts, workers)
        return state

    def work(self, state, counts, update):
        return self.method.work_without_moves(state, counts, update) + final_work(counts.expected)

    def finished(self, state, workers):
        """Return the state after the pass, and whether to repeat the pass."""
        if self.moves is None:
            return state, False
        state, made = self.moves.make(state, workers)
        return reported(after_moves(state, made)), len(made) > 0
