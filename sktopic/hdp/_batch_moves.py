"""Making splits and merges: which topics the corpus has after a batch.

_variational_split_merge says what a move gains, and proposes; here moves are made: in the statistics, in the
weights, and in the expected counts of the batch.
"""

from dataclasses import dataclass

import numpy as np

from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed
from sktopic._topics._word_count_edits import split_topics
from sktopic.hdp._direct_assignment_state import TRIALS, postponed, with_merged
from sktopic.hdp._document_inference import DocumentInference, merged, start_without
from sktopic.hdp._variational_split_merge import TRIED, BatchTopics, propose_merges, propose_splits

# Passes, or updates, for which a topic is not merged after it was made or last changed.
GRACE_PASSES, GRACE_UPDATES = 4, 50


@dataclass(frozen=True)
class Moves:
    """Moves of the topics of a corpus by one batch: functions of a DirectAssignmentState.

    Attributes
    ----------
    infer : DocumentInference
    scale : documents of the corpus for each of the batch
    confidence : standard errors that a gain has to be above zero
    key : of the random numbers of this update
    workers : Workers
    """

    infer: DocumentInference
    scale: float
    confidence: float
    key: int
    workers: Workers

    def batch_topics(self, state, counts):
        alpha, eta = state.doc_concentration, state.topic_word_prior
        return BatchTopics(counts, alpha, eta, self.scale, self.confidence)

    def merge(self, state, counts):
        """Merge topics where that raises the bound.

        Returns the state, what the documents of the batch then are, and the moves: tuples (kind, topic,
        other, gain) of identities and nats.
        """
        batch_topics, t = self.batch_topics(state, counts), state.n_topic_updates
        free = t - state.births >= min(GRACE_PASSES * self.scale, GRACE_UPDATES)
        free &= ~state.are_frozen
        merges, refused = propose_merges(batch_topics, state, free, state.trials["merge_due"] <= t)
        state, kept, into, made = with_merged(postponed(state, "merge", refused, t), merges)
        if kept.all():
            return state, counts, []
        start = start_without(counts.batch, merged(batch_topics.tokens, into), kept)
        return state, self.infer(counts.batch, state, self.workers, start), made

    def propose_splits(self, state, counts, rho, most):
        """The state, and at most so many splits of topics that raise the bound; rho : step size."""
        t = state.n_topic_updates
        due = (state.trials["split_due"] <= t) & ~state.are_frozen
        batch_topics = self.batch_topics(state, counts)
        splits, refused = propose_splits(batch_topics, state, due, rho, most, self.key, self.workers)
        return postponed(state, "split", refused, t), splits

    def split(self, state, splits, counts):
        """Take the second parts of topics out of them, when the batch is in the statistics.

        Returns the state, the tokens (n_documents, n_topics) of the documents of the batch, and the moves.
        """
        tokens, made = counts.tokens, []
        if not splits:
            return state, tokens, made
        n, n_before = len(splits), state.n_topics
        weights = np.append(state.weights, [split.second.weight for split in splits])
        ids = np.append(state.ids, state.next_id + np.arange(n))
        births = np.append(state.births, np.full(n, state.n_topic_updates))
        trials = np.append(state.trials, np.zeros(n, dtype=TRIALS))
        for i, split in enumerate(splits):
            k, new = split.topic, n_before + i
            weights[k] = split.first.weight
            tokens[:, k] = split.first.documents
            made.append(("split", ids[k], ids[new], split.gain))
            if split.second.column.sum() > split.first.column.sum():  # the larger keeps its identity
                ids[k], ids[new] = ids[new], ids[k]
            births[k], trials[k] = births[new], trials[new]
        divided = [split.topic for split in splits]
        parts = [split.second.column for split in splits]
        state = changed(
            state,
            words=split_topics(state.words, divided, parts, state.unit),
            weights=weights,
            ids=ids,
            births=births,
            trials=trials,
            next_id=state.next_id + n,
        )
        return state, np.column_stack([tokens, *(split.second.documents for split in splits)]), made


def moves_work(counts, n_features):
    """Operations of the moves by a batch, roughly."""
    n_documents, n_topics = counts.gamma.shape
    work = (10 + n_documents // 8) * n_topics**2
    return work + 100 * TRIED * (n_features + len(counts.share))
