"""Moves of topics judged by one batch of documents, a sample of the corpus."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed
from sktopic._topics._word_count_edits import split_topics
from sktopic.hdp._direct_assignment_state import TRIALS, column_of, postponed, with_merged
from sktopic.hdp._document_inference import DocumentInference, merged, start_without
from sktopic.hdp._moves import Move, make_moves
from sktopic.hdp._variational_split_merge import (
    BatchTopics,
    TopicUpdate,
    documents_mixing,
    topic_of,
)

# Number of topics that workers divide at a time. Divisions after the last accepted one are wasted.
SIDE_BY_SIDE = 6
# Number of pairs whose loss of entropy in each document is computed at a time.
PAIRS_AT_A_TIME = 64


@dataclass(frozen=True)
class BatchMoves:
    """Moves of the topics of a corpus by one batch: functions of a DirectAssignmentState.

    Attributes
    ----------
    proposals : AscentProposals or RestrictedProposals
    infer : DocumentInference
    scale : number of corpus documents per document of the batch
    key : of the random numbers of this update
    workers : Workers
    """

    proposals: Any
    infer: DocumentInference
    scale: float
    key: int
    workers: Workers

    def batch_topics(self, state, counts):
        alpha, eta = state.doc_concentration, state.topic_word_prior
        return BatchTopics(counts, alpha, eta, self.scale, self.proposals.confidence)

    def merge(self, state, counts):
        """Merge topics if that raises the bound.

        Returns the state, the documents of the batch after the merges, and the moves: tuples (kind, topic,
        other, gain) of identities and nats.
        """
        topics, t = self.batch_topics(state, counts), state.n_topic_updates
        proposals = self.proposals
        pairs = proposals.pairs(topics, state)

        @cache
        def topic(k):
            return topic_of(topics, k, float(state.weights[k]), column_of(state, k))

        def planned():
            for first in range(0, len(pairs), PAIRS_AT_A_TIME):
                some = pairs[first : first + PAIRS_AT_A_TIME]
                mixing = documents_mixing(topics, some, 0, counts.batch.n_documents)
                for i, pair in enumerate(some.tolist()):
                    yield Move(kind="merge", topics=tuple(pair), proposal=mixing[:, i])

        def judged(move):
            move.gain, error = proposals.merge_gain(topics, *map(topic, move.topics), move.proposal)
            move.least_gain = topics.least_gain(error)
            return move

        outcome = make_moves(planned(), judged)
        state, merges = postponed(state, "merge", outcome.refused, t), outcome.made
        state, kept, into, made = with_merged(state, merges)
        if kept.all():
            return state, counts, []
        start = start_without(counts.batch, merged(counts.tokens, into), kept)
        return state, self.infer(counts.batch, state, self.workers, start), made

    def propose_splits(self, state, counts, best, rho):
        """Return the state, and a limited number of splits that raise the bound, a list of Move.

        state : DirectAssignmentState before the update
        best : (n_topics,) best weights for the batch
        rho : step size of the update
        """
        topics, proposals = self.batch_topics(state, counts), self.proposals
        weights = (1.0 - rho) * state.weights + rho * best
        tried = proposals.topics_to_split(state, weights).tolist()

        def judged(k):
            update = TopicUpdate(
                column=column_of(state, k),
                weight=float(state.weights[k]),
                best_weight=float(best[k]),
                rho=rho,
                key=combine_keys(self.key, int(state.ids[k])),
            )
            split = proposals.split(topics, k, update)
            if split is None:
                return Move(kind="split", topics=(k,), gain=-math.inf)
            least_gain = topics.least_gain(split.error)
            return Move(kind="split", topics=(k,), gain=split.gain, least_gain=least_gain, proposal=split)

        def planned():
            for first in range(0, len(tried), SIDE_BY_SIDE):
                yield from self.workers.map_here(judged, [(k,) for k in tried[first : first + SIDE_BY_SIDE]])

        outcome = make_moves(planned(), most=proposals.max_splits)
        return postponed(state, "split", outcome.refused, state.n_topic_updates), outcome.made

    def split(self, state, splits, counts):
        """Remove the second parts of split topics from them, after the batch has entered the statistics.

        Returns the state, the tokens (n_documents, n_topics) of the documents of the batch, and the moves.
        """
        divided, new = [move.topics[0] for move in splits], state.n_topics + np.arange(len(splits))
        first, second = ([getattr(move.proposal, part) for move in splits] for part in ("first", "second"))
        weights = np.append(state.weights, [part.weight for part in second])
        weights[divided] = [part.weight for part in first]
        births = np.append(state.births, np.full(len(new), state.n_topic_updates))
        births[divided] = state.n_topic_updates
        trials = np.append(state.trials, np.zeros(len(new), dtype=TRIALS))
        trials[divided] = np.zeros((), dtype=TRIALS)
        ids = np.append(state.ids, state.next_id + np.arange(len(new)))
        made = [("split", ids[move.topics[0]], ids[k], move.gain) for move, k in zip(splits, new)]
        for old, k, one, other in zip(divided, new, first, second):
            if other.column.sum() > one.column.sum():  # the larger keeps its identity
                ids[old], ids[k] = ids[k], ids[old]
        tokens = np.column_stack([counts.tokens, *(part.documents for part in second)])
        tokens[:, divided] = np.column_stack([part.documents for part in first])
        columns = [part.column for part in second]
        state = changed(
            state,
            words=split_topics(state.words, divided, columns, state.unit),
            weights=weights,
            ids=ids,
            births=births,
            trials=trials,
            next_id=state.next_id + len(new),
        )
        return state, tokens, made


def moves_work(counts, n_features, proposals):
    """Return the approximate operations of the moves by a batch."""
    n_documents, n_topics = counts.gamma.shape
    work = (10 + n_documents // 8) * n_topics**2
    return work + 100 * proposals.n_tried(n_topics) * (n_features + len(counts.share))
