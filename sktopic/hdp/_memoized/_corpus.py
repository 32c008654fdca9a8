"""A corpus as its batches have left it: topics, parameters and summaries, and what visits do with them."""

import math

import numpy as np
from scipy.special import digamma

from sktopic._state._fields import changed, duplicate
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import geometric, posterior_bound
from sktopic.hdp._direct_assignment_state import SMALLEST_WEIGHT, weights_bound, with_kept
from sktopic.hdp._memoized._bound import (
    DocumentTopics,
    TopicTokens,
    best_concentration,
    best_topic_word_prior,
)
from sktopic.hdp._shared_parameters import best_topic_concentration, fixed_point_weights

# Times a pass that weights and concentrations are fitted to all documents.
FITS = 4
# Iterations of the weights each time: they go on where they were.
WEIGHT_ITERATIONS = 5


class MemoizedCorpus:
    """The topics of a corpus and what its batches have left behind.

    Parameters
    ----------
    topics : DirectAssignmentState, whose statistics are tokens, not means; visits change them
    summaries : list of BatchSummary
    parameters : Parameters
    """

    def __init__(self, topics, summaries, parameters):
        self.topics, self.summaries, self._parameters = topics, summaries, parameters
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
        return np.flatnonzero(~self.topics.are_frozen)

    def tokens(self):
        """Expected tokens of words in topics, (n_features, n_topics): sums over the batches."""
        tokens = np.zeros_like(self.topics.words.store)
        for summary in self.summaries:
            summary.add_to(tokens)
        return tokens

    def recount(self):
        """Let the statistics be the sums over the batches; visits leave rounding errors in them."""
        words, free = self.topics.words, self.free()
        tokens = self.tokens()
        if len(free) == self.n_topics:
            self.topics = changed(self.topics, words=changed(words, store=tokens))
        else:
            words.store[:, free] = tokens[:, free]
        words.totals[free] = tokens[:, free].sum(axis=0)

    # The bound

    def bound(self):
        """The bound of the corpus, and the log densities of the logarithms of alpha and gamma if learned.

        The statistics have to be the sums over the batches.
        """
        topics, parameters = self.topics, self._parameters
        bound = self._bound_of_topics() + sum(float(s.entropy.sum()) for s in self.summaries)
        bound += DocumentTopics.of(self.summaries).bound(topics.doc_concentration, self._weights())
        bound += weights_bound(topics)
        if parameters.learns("doc_concentration"):
            bound += log_density(topics.doc_concentration, parameters.doc_concentration_prior)
        if parameters.learns("topic_concentration"):
            bound += log_density(topics.topic_concentration, parameters.topic_concentration_prior)
        return bound

    def _bound_of_topics(self):
        words, eta, free = self.topics.words, self.topics.topic_word_prior, self.free()
        bound = float(TopicTokens.of(words.store[:, free]).bounds(eta).sum())
        if len(free) < self.n_topics:
            frozen = self.topics.are_frozen
            bound += posterior_bound(of_topics(words, frozen), 1.0, eta)
            for summary in self.summaries:
                bound += float((self._log_words(summary) * summary.tokens)[frozen[summary.topic]].sum())
        return bound

    def _weights(self):
        """beta such that alpha beta are the parameters of documents."""
        return self.topics.prior / self.topics.doc_concentration

    def geometric_topics(self):
        """The topics as documents read them."""
        return geometric(self.topics.words, 1.0, self.topics.topic_word_prior)

    def _log_words(self, summary):
        """E[log phi] of the entries of a summary."""
        topics, k = self.geometric_topics(), summary.topic
        lambda_ = topics.store[summary.word, k] * topics.scale[k] + topics.offset[k]
        return digamma(lambda_) - topics.norm[k]

    def part(self, summary):
        """What the bound has of a batch under the present topics, but for terms of the lengths alone."""
        documents = DocumentTopics.of([summary])
        data = float((self._log_words(summary) * summary.tokens).sum())
        return data + float(summary.entropy.sum() + documents.gains(self.topics.prior).sum())

    # Visits

    def replace(self, b, summary):
        """Let a batch leave another summary behind, or be the next that there is."""
        if not self.has_tokens and len(summary.tokens):
            self.topics.words.clear(self.free())  # they are random
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
        words, free = self.topics.words, ~self.topics.are_frozen
        some = free[summary.topic]
        word, topic, tokens = summary.word[some], summary.topic[some], sign * summary.tokens[some]
        words.store[word, topic] = np.maximum(words.store[word, topic] + tokens, 0.0)
        changes = np.bincount(topic, weights=tokens, minlength=self.n_topics)
        words.totals[free] = np.maximum(words.totals + changes, 0.0)[free]

    # Parameters

    def fit(self):
        """Let all parameters that are learned be their best, one after the other."""
        self.fit_weights()
        topics, free = self.topics, self.free()
        if self._parameters.learns("topic_word_prior") and len(free):
            tokens = TopicTokens.of(topics.words.store[:, free])
            best = best_topic_word_prior(tokens, topics.topic_word_prior)
            self.topics = changed(topics, topic_word_prior=best)

    def fit_weights(self):
        """The same for the weights of topics and the concentrations."""
        topics, documents = self.topics, DocumentTopics.of(self.summaries)
        alpha, gamma, parameters = topics.doc_concentration, topics.topic_concentration, self._parameters
        self._unfitted = 0.0

        def bound(weights):
            rest = max(1.0 - float(weights.sum()), SMALLEST_WEIGHT)
            prior = np.maximum(alpha * weights, SMALLEST)
            return float(documents.gains(prior).sum()) + (gamma - 1.0) * math.log(rest)

        before, rest = topics.weights, topics.weight_left
        found = fixed_point_weights(documents.tables, before, alpha, gamma, WEIGHT_ITERATIONS)
        # With gamma below 1 what is left to other topics is not at the maximum, which has nothing left.
        same_rest = found * ((1.0 - rest) / found.sum())
        self.topics = changed(topics, weights=max((before, found, same_rest), key=bound))
        if parameters.learns("doc_concentration"):
            prior = parameters.doc_concentration_prior
            best = best_concentration(documents, self._weights(), alpha, prior)
            self.topics = changed(self.topics, doc_concentration=best)
        if parameters.learns("topic_concentration"):
            best = best_topic_concentration(self.topics, parameters.topic_concentration_prior)
            self.topics = changed(self.topics, topic_concentration=best)

    def documents_of_topic(self, k):
        """The DocumentTopics of one topic alone, without what is not of topics."""
        documents = DocumentTopics.of(self.summaries)
        some = documents.topic == k
        none = np.empty(0)
        topic = np.zeros(np.count_nonzero(some), dtype=np.int32)
        return DocumentTopics(topic, documents.tokens[some], documents.weight[some], none, none, 1)

    # Moves

    def with_summaries(self, others):
        """The same with other summaries of some batches, a dict; what is done to it leaves this as it is."""
        topics = changed(self.topics, words=duplicate(self.topics.words))
        return self._replaced(topics, [others.get(b, s) for b, s in enumerate(self.summaries)])

    def without_empty(self):
        """The same without topics that no document has, but for the largest; or itself if all are kept."""
        kept = self.topics.are_frozen
        kept[self.topics.weights.argmax()] = True
        for summary in self.summaries:
            kept[summary.topic] = True
        if kept.all():
            return self
        columns = np.where(kept, np.cumsum(kept) - 1, -1)
        moved = [s.moved(columns, s.entropy[kept], []) for s in self.summaries]
        return self._replaced(with_kept(self.topics, kept), moved)

    def _replaced(self, topics, summaries):
        corpus = MemoizedCorpus(topics, summaries, self._parameters)
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
        weights = np.bincount(columns, weights=topics.weights, minlength=n_new)
        for split, number in zip(splits, numbers):
            weights[number] = split.weights
        n_more = n_new - int(kept.sum())
        self.topics = changed(
            topics,
            words=of_topics(topics.words, kept, n_more),
            weights=weights,
            ids=np.append(ids[kept], topics.next_id + np.arange(n_more)),
            births=np.append(topics.births[kept], np.zeros(n_more, dtype=np.int64)),
            trials=np.append(topics.trials[kept], np.zeros(n_more, dtype=topics.trials.dtype)),
            next_id=topics.next_id + n_more,
        )
        self.recount()
        return made


def log_density(value, prior):
    """That of the logarithm of a concentration under a Gamma prior (shape, rate), but for a constant."""
    shape, rate = prior
    return shape * math.log(value) - rate * value
