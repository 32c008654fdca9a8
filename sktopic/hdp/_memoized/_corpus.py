"""A corpus as its batches have left it: topics, parameters and summaries, and what visits do with them."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import digamma

from sktopic._state._fields import duplicate
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import posterior_bound
from sktopic.hdp._corpus_topics import SMALLEST_WEIGHT, fixed_point_weights
from sktopic.hdp._memoized._bound import (
    DocumentTopics,
    TopicTokens,
    best_concentration,
    best_topic_word_prior,
)

# Times a pass that weights and concentrations are fitted to all documents.
FITS = 4
# Iterations of the weights each time: they go on where they were.
WEIGHT_ITERATIONS = 5


class MemoizedCorpus:
    """The topics of a corpus and what its batches have left behind.

    Parameters
    ----------
    topics : CorpusTopics, whose statistics are tokens, not means; visits change them
    summaries : list of BatchSummary
    learned : names of the parameters that are learned, among "alpha", "gamma" and "eta"
    priors : shape and rate of the Gamma priors of alpha and gamma, by their names
    """

    def __init__(self, topics, summaries, learned, priors):
        self.topics, self.summaries = topics, summaries
        self._learned, self._priors = learned, priors
        self._unfitted = 0.0
        self.has_tokens = any(len(s.tokens) for s in summaries)

    @property
    def n_topics(self):
        return self.topics.n_topics

    @property
    def n_documents(self):
        return sum(s.n_documents for s in self.summaries)

    def total_weight(self):
        """As how many documents all of them count."""
        return sum(float(s.sample_weight.sum()) for s in self.summaries)

    def free(self):
        """The columns of topics that are not frozen."""
        return np.flatnonzero(~self.topics.are_frozen())

    def tokens(self):
        """Expected tokens of words in topics, (n_features, n_topics): sums over the batches."""
        tokens = np.zeros_like(self.topics.statistics.store)
        for summary in self.summaries:
            summary.add_to(tokens)
        return tokens

    def recount(self):
        """Let the statistics be the sums over the batches; visits leave rounding errors in them."""
        statistics, free = self.topics.statistics, self.free()
        tokens = self.tokens()
        if len(free) == self.n_topics:
            self.topics.statistics = replace(statistics, store=tokens)
        else:
            statistics.store[:, free] = tokens[:, free]
        statistics.totals[free] = tokens[:, free].sum(axis=0)

    # The bound

    def bound(self):
        """The bound of the corpus, and the log densities of the logarithms of alpha and gamma if learned.

        The statistics have to be the sums over the batches.
        """
        topics = self.topics
        bound = self._bound_of_topics() + sum(float(s.entropy.sum()) for s in self.summaries)
        bound += DocumentTopics.of(self.summaries).bound(topics.alpha, self._weights())
        bound += topics.weights_bound()
        for name in ("alpha", "gamma"):
            if name in self._learned:
                (shape, rate), value = self._priors[name], getattr(topics, name)
                bound += shape * math.log(value) - rate * value
        return bound

    def _bound_of_topics(self):
        topics, free = self.topics, self.free()
        bound = float(TopicTokens.of(topics.statistics.store[:, free]).bounds(topics.eta).sum())
        if len(free) < self.n_topics:
            frozen = topics.are_frozen()
            bound += posterior_bound(of_topics(topics.statistics, frozen), 1.0, topics.eta)
            for summary in self.summaries:
                bound += float((self._log_words(summary) * summary.tokens)[frozen[summary.topic]].sum())
        return bound

    def _weights(self):
        """beta such that alpha beta are the parameters of documents."""
        return self.topics.prior() / self.topics.alpha

    def _log_words(self, summary):
        """E[log phi] of the entries of a summary."""
        geometric, k = self.topics.as_read("geometric"), summary.topic
        lambda_ = geometric.store[summary.word, k] * geometric.scale[k] + geometric.offset[k]
        return digamma(lambda_) - geometric.norm[k]

    def part(self, summary):
        """What the bound has of a batch under the present topics, but for terms of the lengths alone."""
        documents = DocumentTopics.of([summary])
        data = float((self._log_words(summary) * summary.tokens).sum())
        return data + float(summary.entropy.sum() + documents.gains(self.topics.prior()).sum())

    # Visits

    def replace(self, b, summary):
        """Let a batch leave another summary behind, or be the next that there is."""
        if not self.has_tokens and len(summary.tokens):
            self.topics.statistics.clear(self.free())  # they are random
            self.has_tokens = True
        if b == len(self.summaries):
            self.summaries.append(summary)
            self._change(summary, 1.0)
        else:
            self._change(self.summaries[b], -1.0)
            self._change(summary, 1.0)
            self.summaries[b] = summary
        self._unfitted += summary.n_documents
        if self.has_tokens and self._unfitted * FITS >= self.n_documents:
            self.fit_weights()

    def _change(self, summary, sign):
        """Add the tokens of a summary to the statistics of topics that may change, or take them out."""
        statistics, free = self.topics.statistics, ~self.topics.are_frozen()
        some = free[summary.topic]
        word, topic, tokens = summary.word[some], summary.topic[some], sign * summary.tokens[some]
        statistics.store[word, topic] = np.maximum(statistics.store[word, topic] + tokens, 0.0)
        changes = np.bincount(topic, weights=tokens, minlength=self.n_topics)
        statistics.totals[free] = np.maximum(statistics.totals + changes, 0.0)[free]

    # Parameters

    def fit(self):
        """Let all parameters that are learned be their best, one after the other."""
        self.fit_weights()
        topics, free = self.topics, self.free()
        if "eta" in self._learned and len(free):
            topics.eta = best_topic_word_prior(TopicTokens.of(topics.statistics.store[:, free]), topics.eta)

    def fit_weights(self):
        """The same for the weights of topics and the concentrations."""
        topics, documents = self.topics, DocumentTopics.of(self.summaries)
        self._unfitted = 0.0

        def bound(weights):
            rest = max(1.0 - float(weights.sum()), SMALLEST_WEIGHT)
            prior = np.maximum(topics.alpha * weights, SMALLEST)
            return float(documents.gains(prior).sum()) + (topics.gamma - 1.0) * math.log(rest)

        before, rest = topics.weights, topics.weight_left()
        found = fixed_point_weights(documents.tables, before, topics.alpha, topics.gamma, WEIGHT_ITERATIONS)
        # With gamma below 1 what is left to other topics is not at the maximum, which has nothing left.
        same_rest = found * ((1.0 - rest) / found.sum())
        topics.weights = max((before, found, same_rest), key=bound)
        if "alpha" in self._learned:
            given = documents, self._weights(), topics.alpha, *self._priors["alpha"]
            topics.alpha = best_concentration(*given)
        if "gamma" in self._learned:
            shape, rate = self._priors["gamma"]
            topics.gamma = (shape + self.n_topics) / (rate - math.log(topics.weight_left()))

    def documents_of_topic(self, k):
        """The DocumentTopics of one topic alone, without what is not of topics."""
        documents = DocumentTopics.of(self.summaries)
        some = documents.topic == k
        none = np.empty(0)
        topic = np.zeros(np.count_nonzero(some), dtype=np.int32)
        return DocumentTopics(topic, documents.tokens[some], documents.weight[some], none, none, 1)

    # Moves

    def with_summaries(self, changed):
        """The same with other summaries of some batches, a dict; what is done to it leaves this as it is."""
        topics = replace(self.topics, statistics=duplicate(self.topics.statistics))
        return self._replaced(topics, [changed.get(b, s) for b, s in enumerate(self.summaries)])

    def without_empty(self):
        """The same without topics that no document has, but for the largest; or itself if all are kept."""
        kept = self.topics.are_frozen()
        kept[self.topics.weights.argmax()] = True
        for summary in self.summaries:
            kept[summary.topic] = True
        if kept.all():
            return self
        columns = np.where(kept, np.cumsum(kept) - 1, -1)
        topics = replace(self.topics)
        topics.keep(kept)
        moved = [s.moved(columns, s.entropy[kept], []) for s in self.summaries]
        return self._replaced(topics, moved)

    def _replaced(self, topics, summaries):
        corpus = MemoizedCorpus(topics, summaries, self._learned, self._priors)
        corpus.has_tokens = self.has_tokens
        corpus.recount()
        return corpus

    def move(self, merges, splits):
        """Carry out moves, a Merge or a Split each, of which no two are of the same topic.

        Returns tuples (kind, topic, other, gain) of identities and nats.
        """
        topics, kept, into = self.topics, np.ones(self.n_topics, dtype=bool), np.arange(self.n_topics)
        ids, made = topics.ids, []
        for merge in merges:
            into[merge.small], kept[merge.small] = merge.large, False
            made.append(("merge", int(ids[merge.large]), int(ids[merge.small]), merge.gain))
        columns, n_new = (np.cumsum(kept) - 1)[into], int(kept.sum())
        numbers = []
        for split in splits:  # the largest part keeps the place and the identity
            others = n_new + np.arange(len(split.weights) - 1)
            numbers.append(np.insert(others, split.totals.argmax(), columns[split.topic]))
            new = topics.next_id + others - kept.sum()
            gain = split.gain / len(new)
            made += [("split", int(ids[split.topic]), int(identity), gain) for identity in new]
            n_new += len(others)
        moved = columns.copy()
        moved[[split.topic for split in splits]] = -1
        for b, summary in enumerate(self.summaries):
            entropy = np.bincount(columns, weights=summary.entropy, minlength=n_new)
            for merge in merges:
                entropy[columns[merge.large]] -= merge.mixing[b]
            parts = [(split.found[b], number) for split, number in zip(splits, numbers)]
            for sums, number in parts:
                entropy[number] = sums.entropy
            self.summaries[b] = summary.moved(moved, entropy, parts)
        topics.weights = np.bincount(columns, weights=topics.weights, minlength=n_new)
        for split, number in zip(splits, numbers):
            topics.weights[number] = split.weights
        n_more = n_new - int(kept.sum())
        topics.ids = np.append(ids[kept], topics.next_id + np.arange(n_more))
        topics.births = np.append(topics.births[kept], np.zeros(n_more, dtype=np.int64))
        topics.trials = np.append(topics.trials[kept], np.zeros(n_more, dtype=topics.trials.dtype))
        topics.next_id += n_more
        topics.statistics = of_topics(topics.statistics, kept, n_more)
        self.recount()
        return made
