"""Merges and drops of the last pass over a corpus, judged by sums over all its documents."""

import math
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from sktopic._documents._sample_weight import weighted_sum
from sktopic._runtime._arrays import BLOCK_ENTRIES, by_blocks
from sktopic._state._fields import changed
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import posterior_bound
from sktopic._topics._word_counts import WordCounts
from sktopic.hdp._direct_assignment_state import column_of, with_kept, with_merged
from sktopic.hdp._moves import LEAST_GAIN, Move, best_first, make_moves
from sktopic.hdp._variational_split_merge import BatchTopics, candidate_pairs, documents_mixing

# Number of pairs per topic in the last pass.
PARTNERS = 6
# After this number of successive drops that lose in the first batch, no more are tried.
ENOUGH = 3


class FinalMoves:
    """Sums of the changes that moves make to the bound of a corpus, from a pass with fixed topics.

    The first batch chooses the candidates: pairs of topics to merge, and numbers of smallest topics to drop
    together. For a drop, documents are inferred again without these topics. The sums are exact, so no
    standard error is needed. Changes by merges of disjoint pairs add up. Changes by merges and by a drop do
    not, so `make` carries out either the merges or one drop. In `fit` no topic is frozen.

    Parameters
    ----------
    state : DirectAssignmentState, with fixed topics
    infer : DocumentInference
    """

    def __init__(self, state, infer):
        self._state, self._infer = state, infer
        self._sums = WordCounts.empty(state.words.n_features, state.n_topics)
        self._pairs, self._n_documents = None, 0.0

    def add(self, batch_counts, workers):
        """Add the documents of a BatchCounts."""
        counts, state = batch_counts.expected, self._state
        alpha, eta = state.doc_concentration, state.topic_word_prior
        topics = BatchTopics(counts, alpha, eta, scale=1.0, confidence=0.0)
        if self._pairs is None:
            self._choose(topics, workers)
        if len(self._pairs):
            self._merged += documents_change(topics, state.weights, self._pairs, workers)
        bounded = self._bounded(counts, workers)
        for i, n in enumerate(self._numbers):
            self._dropped[i] += self._change_without(n, bounded, workers)
        self._sums.add(counts, batch_counts.words, 1.0, workers)
        self._n_documents += batch_counts.n_documents

    def _choose(self, topics, workers):
        state, batch = self._state, topics.batch
        sizes, all_topics = state.tokens, np.ones(state.n_topics, dtype=bool)
        self._pairs = candidate_pairs(topics, sizes, all_topics, all_topics, PARTNERS)
        self._by_size, self._posteriors = np.argsort(sizes, kind="stable"), []
        self._numbers, best = [], 0.0
        scale, lower = state.total_samples / batch.total_weight, 0
        counts = self._bounded(topics.counts, workers)
        for n in numbers_to_drop(state.n_topics - 1):
            gain = scale * self._change_without(n, counts, workers)
            gain += self._topics_change(n)
            self._numbers.append(n)
            best, lower = (gain, 0) if gain > best else (best, lower + 1)
            if lower == ENOUGH:
                break
        self._merged, self._dropped = np.zeros(len(self._pairs)), np.zeros(len(self._numbers))

    def _bounded(self, counts, workers):
        """Return documents at their highest bound if inference uses other means of topics."""
        infer = self._infer.with_bound()
        if infer == self._infer:
            return counts
        return infer(counts.batch, self._state, workers, counts.tokens)

    def _change_without(self, n, counts, workers):
        """Return the change of a batch's document bound without the n smallest topics."""
        without = self._infer.without(counts, self._left(n), workers)
        return float(counts.batch.sum(without.bounds() - counts.bounds()))

    def _topics_change(self, n):
        """Return the change of the bound by topic posteriors and weights without the n smallest topics."""
        state, lost = self._state, self._by_size[:n]
        for k in lost[len(self._posteriors) :]:
            dropped = of_topics(state.words, [k])
            self._posteriors.append(posterior_bound(dropped, state.total_samples, state.topic_word_prior))
        rest = state.weight_left
        weights = (state.topic_concentration - 1.0) * math.log((rest + state.weights[lost].sum()) / rest)
        return weights - sum(self._posteriors[:n])

    def _left(self, n):
        """Whether each topic stays without the n smallest."""
        return ~np.isin(np.arange(self._state.n_topics), self._by_size[:n])

    def make(self, state, workers):
        """Carry out the moves that raise the bound, on the topics of the pass.

        state : that after the pass

        Returns
        -------
        state : that after the moves
        made : list of tuples (kind, topic, other, gain)
        """
        scale = state.total_samples / self._n_documents
        drops = scale * self._dropped + [self._topics_change(n) for n in self._numbers]
        state = changed(state, words=changed(self._sums, scale=1.0 / self._n_documents))
        gains = scale * self._merged + words_change(state, self._pairs, workers)
        pairs = zip(self._pairs.tolist(), gains.tolist())
        merges = best_first(Move(kind="merge", topics=tuple(pair), gain=gain) for pair, gain in pairs)
        merges = make_moves(merges).made
        best = int(drops.argmax()) if len(drops) else None
        if best is None or drops[best] <= max(LEAST_GAIN, sum(merge.gain for merge in merges)):
            state, _, _, made = with_merged(state, merges)
            return state, made
        n, kept = self._numbers[best], self._left(self._numbers[best])
        made = [("drop", state.ids[k], -1, float(drops[best]) / n) for k in self._by_size[:n]]
        return with_kept(state, kept), made


def numbers_to_drop(most):
    """Return 1 to 16, 20, 24, 28, 32, 40, ... up to most."""
    numbers = [*range(1, 17), *(m * 2**i for i in range(30) for m in (20, 24, 28, 32))]
    return [n for n in numbers if n <= most]


def documents_change(topics, weights, pairs, workers):
    """Return the change of the documents' bound of a batch when pairs of topics merge, (n_pairs,).

    It covers proportions and the topics of tokens, with documents by weight.

    Parameters
    ----------
    topics : BatchTopics
    weights : (n_topics,) beta
    pairs : (n_pairs, 2)
    """
    batch, tokens = topics.batch, topics.tokens
    size = max(1, BLOCK_ENTRIES // len(pairs))
    bounds = [*range(0, batch.n_documents, size), batch.n_documents]
    priors = topics.concentration * weights
    joint = priors[pairs].sum(axis=1)

    def change(first, last):
        n = tokens[first:last]
        alone = gammaln(priors + n) - gammaln(priors)
        gains = gammaln(joint + n[:, pairs].sum(axis=2)) - gammaln(joint) - alone[:, pairs].sum(axis=2)
        gains -= documents_mixing(topics, pairs, first, last)
        return weighted_sum(gains, None if batch.sample_weight is None else batch.sample_weight[first:last])

    return sum(workers.map_here(change, list(pairwise(bounds))))


def words_change(state, pairs, workers):
    """Return the change of the bound of the topics' words when pairs of topics merge, (n_pairs,).

    It uses the best posteriors of topics, for which the bound is the log marginal likelihood of their words.
    """
    eta, n = state.topic_word_prior, state.words.n_features

    def likelihood(*topics):
        column = sum(column_of(state, k) for k in topics)
        words = by_blocks(lambda x: gammaln(eta + x) - gammaln(eta), column).sum()
        return float(words) + gammaln(n * eta) - gammaln(n * eta + column.sum())

    alone = np.array(workers.map_here(likelihood, [(k,) for k in range(state.n_topics)]))
    together = workers.map_here(likelihood, pairs.tolist())
    return np.array(together) - alone[pairs].sum(axis=1)


def final_work(counts):
    """Return the approximate operations of the last pass for a batch, which infers documents repeatedly."""
    return 100 * counts.work()
