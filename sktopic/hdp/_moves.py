"""Making splits, merges and drops: which topics the corpus has after a batch.

_variational_split_merge says what a move gains, and proposes; here moves are made: in the statistics, in the
weights, and in the expected counts of the batch.
"""

import math
from dataclasses import replace

import numpy as np

from sktopic._arrays import columns_of
from sktopic.hdp._variational_split_merge import (
    TRIED,
    BatchTopics,
    is_significant,
    propose_merges,
    propose_splits,
    unseen_loss,
)

# Topics that a batch of the last pass tries to do without.
DROPS_TRIED = 3
# Pairs that a batch of the last pass tries to merge, for each topic.
PAIRS_PER_TOPIC = 4
# Passes, or updates, for which a topic is not merged after it was made or last changed.
GRACE_PASSES, GRACE_UPDATES = 4, 50
# Part of a word's tokens, the loss of which lets a document start from equal shares of the topics left.
LARGE_LOSS = 0.5


class Moves:
    """Moves of the topics of a corpus by one batch.

    Parameters
    ----------
    topics : CorpusTopics, which the moves change
    infer : DocumentInference
    scale : documents of the corpus for each of the batch
    t : updates before this one
    workers : Workers

    Attributes
    ----------
    made : list of tuples (kind, topic, other, gain), identities of topics and nats
    """

    def __init__(self, topics, infer, scale, t, workers):
        self.topics, self.made = topics, []
        self._infer, self._scale, self._t, self._workers = infer, scale, t, workers

    def batch_topics(self, counts):
        return BatchTopics(counts, self.topics.alpha, self.topics.eta, self._scale)

    def merge(self, counts, is_last_pass):
        """Merge topics where that raises the bound; returns what the documents of the batch then are."""
        corpus, batch_topics = self.topics, self.batch_topics(counts)
        if is_last_pass:
            young, n_pairs = np.zeros(corpus.n_topics, dtype=bool), PAIRS_PER_TOPIC * corpus.n_topics
        else:
            young, n_pairs = self._t - corpus.births < min(GRACE_PASSES * self._scale, GRACE_UPDATES), TRIED
        given = corpus.expected_counts, young | corpus.are_frozen(), n_pairs
        merges = propose_merges(batch_topics, corpus.weights, *given)
        totals, weights = corpus.statistics.totals.copy(), corpus.weights.copy()
        tokens, kept = batch_topics.tokens.copy(), np.ones(len(totals), dtype=bool)
        into, made = np.arange(len(totals)), []
        for first, second, gain in merges:
            large, small = (first, second) if totals[first] >= totals[second] else (second, first)
            for array in (totals, weights, tokens):
                array[..., large] += array[..., small]
            kept[small], into[small] = False, large
            made.append(("merge", corpus.ids[large], corpus.ids[small], gain))
        kept &= corpus.in_use(totals)
        if kept.all():
            return counts
        corpus.weights = weights
        corpus.keep(kept, corpus.statistics.merged(kept, into, totals))
        self.made += made
        return self._infer(counts.batch, corpus, self._workers, start_without(counts.batch, tokens, kept))

    def finish(self, counts):
        """Merge topics and drop small ones; returns what the documents of the batch then are."""
        while True:
            n_moves = len(self.made)
            counts = self._drop(self.merge(counts, is_last_pass=True))
            if len(self.made) == n_moves:
                return counts

    def _drop(self, counts):
        """Drop small topics where the bound is higher without them; returns what the documents then are."""
        corpus, infer, given = self.topics, self._infer.with_bound(), counts
        if infer != self._infer:
            counts = infer(counts.batch, corpus, self._workers, counts.tokens)
        for identity in corpus.ids[np.argsort(corpus.weights, kind="stable")[:DROPS_TRIED]]:
            k = int(np.flatnonzero(corpus.ids == identity)[0])
            kept = np.arange(corpus.n_topics) != k
            if not kept.any():
                break
            if corpus.are_frozen()[k]:
                continue
            without = self._inferred_without(counts, kept)
            gain, error = self._drop_gain(k, counts, without)
            if is_significant(gain, error):
                corpus.keep(kept)
                self.made.append(("drop", identity, -1, gain))
                counts = without
        if infer == self._infer:
            return counts
        if corpus.n_topics == given.gamma.shape[1]:
            return given
        return self._infer(counts.batch, corpus, self._workers, counts.tokens)

    def _drop_gain(self, k, counts, without):
        """What the bound gains without topic k, and the standard error of that."""
        corpus, batch_topics = self.topics, self.batch_topics(counts)
        weight, rest = float(corpus.weights[k]), corpus.weight_left()
        part = batch_topics.part(batch_topics.cells(k), weight, corpus.expected_counts(k))
        means = corpus.means()
        phi = means.topic(k)
        others = np.maximum(means.mixture(corpus.weights) - weight * phi, 1e-300)
        others = others / (corpus.weights.sum() - weight)
        change = without.bounds() - counts.bounds()
        gain = self._scale * float(counts.batch.sum(change)) - batch_topics.posterior(part.column)[0]
        gain += (corpus.gamma - 1.0) * math.log((rest + weight) / rest)
        return gain - unseen_loss(part, batch_topics, phi, others), batch_topics.error(change)

    def _inferred_without(self, counts, kept):
        """Inference of the same documents with some of their topics only."""
        # log_norm still tells how the rows were scaled; mean-field inference reads no cumulative sums.
        topics = replace(counts.topics, rows=columns_of(counts.topics.rows, kept))
        prior, rest = counts.prior[kept], counts.rest + counts.prior[~kept].sum()
        start = start_without(counts.batch, counts.tokens, kept)
        step = self._infer.step(rest)
        return step(counts.batch, topics, prior, None, self._workers, gamma=prior + start)

    def propose_splits(self, counts, before, best, rho, n_splits, cursor):
        """Splits of topics that raise the bound, and where to go on trying next time.

        before, best : (n_topics,) weights before this update, and the best for the batch; rho : its step size
        """
        given = self.batch_topics(counts), before, best, rho, self.topics.expected_counts
        return propose_splits(*given, self.topics.are_frozen(), n_splits, cursor, self._workers)

    def split(self, splits, counts, words):
        """Take the second parts of topics out of them, when the batch is in the statistics.

        Returns the tokens (n_documents, n_topics) of the documents of the batch.
        """
        corpus, tokens = self.topics, counts.tokens
        if not splits:
            return tokens
        n = len(splits)
        weights = np.append(corpus.weights, [split.second.weight for split in splits])
        ids = np.append(corpus.ids, corpus.next_id + np.arange(n))
        births = np.append(corpus.births, np.zeros(n, dtype=np.int64))
        for i, split in enumerate(splits):
            k, new = split.topic, corpus.n_topics + i
            weights[k] = split.first.weight
            tokens[:, k] = split.first.documents
            self.made.append(("split", ids[k], ids[new], split.gain))
            if split.second.column.sum() > split.first.column.sum():  # the larger keeps its identity
                ids[k], ids[new] = ids[new], ids[k]
            births[[k, new]] = self._t
        divided = [split.topic for split in splits]
        parts = [split.second.column[words] for split in splits]
        corpus.statistics = corpus.statistics.split(divided, words, parts, corpus.total_samples)
        corpus.weights, corpus.ids, corpus.births = weights, ids, births
        corpus.next_id += n
        return np.column_stack([tokens, *(split.second.documents for split in splits)])


def start_without(batch, tokens, kept):
    """Tokens (n_documents, n_left) of some of the topics, for documents to start from without the others.

    Where what the others leave may be all tokens of a word, those kept start equal: from where they are,
    inference might be far from words that none of them has.
    """
    lost, smallest = tokens[:, ~kept].sum(axis=1), np.full(batch.n_documents, np.inf)
    np.minimum.at(smallest, batch.cell_document(), batch.cell_count)
    even = np.broadcast_to(batch.lengths[:, None] / kept.sum(), (batch.n_documents, kept.sum()))
    return np.where((lost > LARGE_LOSS * smallest)[:, None], even, tokens[:, kept])


def moves_work(counts, n_features, is_last_pass):
    """Operations of the moves by a batch, roughly."""
    n_documents, n_topics = counts.gamma.shape
    n_pairs = PAIRS_PER_TOPIC * n_topics if is_last_pass else TRIED
    work = (10 + n_documents // 8) * n_topics**2
    return work + 10 * (n_pairs + 10 * TRIED) * (n_features + len(counts.share))
