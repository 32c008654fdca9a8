"""Moves of topics: the parts shared by engines that split, merge and drop topics in training.

A move has four steps:

- A *planner* yields promising moves, the best first. It is cheap.
- A *proposal* builds the alternative: the union of two topics, or the parts of one.
- A *judge* computes the gain of the alternative, in nats, on the data of the engine.
- One function of the state carries it out.

`make_moves` is the loop over planned moves. `WindowMoves` lets it carry out moves one by one. The others take
its `Outcome` and change the state once. Memoized drops span visits of a batch, so they have a loop of their
own (`_memoized/_training.py`). Engines differ in their judges:

- `BatchMoves` (`_batch_moves.py`): the bound of a batch, a sample of the corpus. `DirectAssignment` makes it
  in updates of `DirectAssignmentHDP(split_merge=True)`. `AscentProposals` or `RestrictedProposals`
  (`_batch_proposals.py`) are its planner and its proposal.
- `FinalMoves` (`_final_moves.py`): sums over a pass with fixed topics. A last pass of
  `DirectAssignmentHDP(final_moves=True)` makes it (`_direct_assignment_passes.py`).
- `MemoizedTraining` (`_memoized/_training.py`): the bound of the corpus, from the sums of its batches.
  `DirectAssignmentHDP(learning_method="memoized")` trains with it.
- `WindowMoves` (`_window_moves.py`): tokens of a window of documents, or of all documents. `SplitMergeTopics`
  makes it for `HybridHDP(split_merge=True)`. It only merges and drops.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

# Nats that a gain must exceed, above rounding errors.
LEAST_GAIN = 1e-3


@dataclass(kw_only=True)
class Move:
    """A move of topics.

    Attributes
    ----------
    kind : "split", "merge" or "drop"
    topics : numbers of the topics that it changes
    gain : in nats; nan before it is judged
    least_gain : nats that the gain must exceed
    proposal : the alternative in the form of its engine
    """

    kind: str
    topics: tuple[int, ...]
    gain: float = math.nan
    least_gain: float = LEAST_GAIN
    proposal: Any = None


@dataclass
class Outcome:
    """Result of a round of moves: moves made, and topics that were tried without success, ascending."""

    made: list
    refused: list


def make_moves(planned, judged=None, carry_out=None, *, most=math.inf):
    """Carry out the planned moves that gain, at most one of each topic, and return the Outcome.

    Parameters
    ----------
    planned : iterable of Move, the most promising first. A generator may read the results of earlier moves.
    judged : function that returns the Move with its gain. If None, the moves are judged.
    carry_out : function that carries out a Move. If None, the caller does it afterwards.
    most : largest number of moves to carry out
    """
    made, tried, changed = [], set(), set()
    for move in planned:
        if not changed.isdisjoint(move.topics):
            continue
        if judged is not None:
            move = judged(move)
        tried.update(move.topics)
        if move.gain > move.least_gain:
            if carry_out is not None:
                carry_out(move)
            made.append(move)
            changed.update(move.topics)
            if len(made) == most:
                break
    return Outcome(made, sorted(tried - changed))


def best_first(moves):
    """Return judged moves sorted by gain, the largest first."""
    return sorted(moves, key=lambda move: -move.gain)


def nearest_pairs(similarity, n, rows=None):
    """Return sorted pairs of topics (first < second), one of which is among the n most similar to the other.

    Parameters
    ----------
    similarity : (n_topics, n_topics), -inf for impossible pairs; the diagonal is overwritten
    n : number of partners of each topic
    rows : topics that partners are sought for. If None, all.
    """
    np.fill_diagonal(similarity, -np.inf)
    pairs = set()
    for k in range(len(similarity)) if rows is None else rows:
        nearest = np.argsort(-similarity[k], kind="stable")[:n]
        nearest = nearest[np.isfinite(similarity[k, nearest])]
        pairs |= {(min(k, other), max(k, other)) for other in nearest.tolist()}
    return sorted(pairs)
