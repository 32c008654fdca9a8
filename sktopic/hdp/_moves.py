"""Making splits and merges: which topics the corpus has after a batch.

_variational_split_merge says what a move gains, and proposes; here moves are made: in the statistics, in the
weights, and in the expected counts of the batch.
"""

import numpy as np

from sktopic._kernels._rng import combine_keys
from sktopic._topics._word_count_edits import split_topics
from sktopic.hdp._corpus_topics import TRIALS, merged, start_without
from sktopic.hdp._variational_split_merge import TRIED, BatchTopics, divide, propose_merges, propose_splits

# Passes, or updates, for which a topic is not merged after it was made or last changed.
GRACE_PASSES, GRACE_UPDATES = 4, 50


class Moves:
    """Moves of the topics of a corpus by one batch.

    Parameters
    ----------
    topics : CorpusTopics, which the moves change
    infer : DocumentInference
    scale : documents of the corpus for each of the batch
    confidence : standard errors that a gain has to be above zero
    t : updates before this one
    key : of the random numbers of this update
    workers : Workers

    Attributes
    ----------
    made : list of tuples (kind, topic, other, gain), identities of topics and nats
    """

    def __init__(self, topics, infer, scale, confidence, t, key, workers):
        self.topics, self.made = topics, []
        self._infer, self._scale, self._confidence = infer, scale, confidence
        self._t, self._key, self._workers = t, key, workers

    def batch_topics(self, counts):
        return BatchTopics(counts, self.topics.alpha, self.topics.eta, self._scale, self._confidence)

    def merge(self, counts):
        """Merge topics where that raises the bound; returns what the documents of the batch then are."""
        corpus, batch_topics, t = self.topics, self.batch_topics(counts), self._t
        free = t - corpus.births >= min(GRACE_PASSES * self._scale, GRACE_UPDATES)
        free &= ~corpus.are_frozen()
        due, sizes = corpus.trials["merge_due"] <= t, corpus.tokens()
        given = corpus.weights, sizes, corpus.expected_counts, free, due
        merges, refused = propose_merges(batch_topics, *given)
        corpus.postpone("merge", refused, t)
        kept, into, made = corpus.merge(merges)
        if kept.all():
            return counts
        self.made += made
        start = start_without(counts.batch, merged(batch_topics.tokens, into), kept)
        return self._infer(counts.batch, corpus, self._workers, start)

    def propose_splits(self, counts, rho, most):
        """Splits of topics that raise the bound, at most so many; rho: step size of this update."""
        corpus, t = self.topics, self._t
        due = (corpus.trials["split_due"] <= t) & ~corpus.are_frozen()
        topics = self.batch_topics(counts)

        def divided(k):
            key = combine_keys(self._key, int(corpus.ids[k]))
            return divide(topics, k, float(corpus.weights[k]), corpus.expected_counts(k), rho, key)

        splits, refused = propose_splits(topics, corpus.weights, divided, due, most, self._workers)
        corpus.postpone("split", refused, t)
        return splits

    def split(self, splits, counts):
        """Take the second parts of topics out of them, when the batch is in the statistics.

        Returns the tokens (n_documents, n_topics) of the documents of the batch.
        """
        corpus, tokens = self.topics, counts.tokens
        if not splits:
            return tokens
        n = len(splits)
        weights = np.append(corpus.weights, [split.second.weight for split in splits])
        ids = np.append(corpus.ids, corpus.next_id + np.arange(n))
        births = np.append(corpus.births, np.full(n, self._t))
        trials = np.append(corpus.trials, np.zeros(n, dtype=TRIALS))
        for i, split in enumerate(splits):
            k, new = split.topic, corpus.n_topics + i
            weights[k] = split.first.weight
            tokens[:, k] = split.first.documents
            self.made.append(("split", ids[k], ids[new], split.gain))
            if split.second.column.sum() > split.first.column.sum():  # the larger keeps its identity
                ids[k], ids[new] = ids[new], ids[k]
            births[k], trials[k] = births[new], trials[new]
        divided = [split.topic for split in splits]
        parts = [split.second.column for split in splits]
        corpus.statistics = split_topics(corpus.statistics, divided, parts, corpus.total_samples)
        corpus.weights, corpus.ids, corpus.births, corpus.trials = weights, ids, births, trials
        corpus.next_id += n
        return np.column_stack([tokens, *(split.second.documents for split in splits)])


def moves_work(counts, n_features):
    """Operations of the moves by a batch, roughly."""
    n_documents, n_topics = counts.gamma.shape
    work = (10 + n_documents // 8) * n_topics**2
    return work + 100 * TRIED * (n_features + len(counts.share))
