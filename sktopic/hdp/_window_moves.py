"""Merges and drops of topics, judged by the tokens that they have in a window of documents.

Two topics gain over one, in nats, the logarithm of

    b0 sqrt(2 pi (1 / T_0 + 1 / T_1)) R / prod_i p(s_i | all other sides)

(see _kernels.hdp._topic_sides). This is the likelihood ratio with the prior of one more topic. Shares at the
root are integrated out around the mode (Laplace), as are proportions and tables of documents. The denominator
accounts for the uncertainty of the sides.

Each topic is compared with the two that explain its words best, and merged if one topic is better. A small
topic is dropped if its tokens are better in the others.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from sktopic._estimators._editing import TopicEdit
from sktopic._kernels.hdp._topic_sides import compare_sides, token_likelihoods
from sktopic.hdp._moves import Move, best_first, make_moves, nearest_pairs
from sktopic.hdp._window import TopicTokens, document_counts, joined, word_counts

# Smallest gain of a move, in nats. One draw of the topics of tokens is not more precise.
LEAST_WINDOW_GAIN = 5.0
# Number of topics that each topic is compared with.
MERGE_CANDIDATES = 2
# Largest topic that may be dropped, in tokens.
LARGEST_DROPPED = 500
# Smallest divisor.
SMALLEST = 1e-300


@dataclass(frozen=True)
class WindowTopic:
    """A topic in a window.

    Attributes
    ----------
    prior : a, its parameter of the documents' proportions
    tokens : TopicTokens
    """

    prior: float
    tokens: TopicTokens


@dataclass(frozen=True)
class Judge:
    """Gain of two topics over one, in nats.

    Attributes
    ----------
    topic_concentration, topic_word_prior, n_features : b0, beta and the number of words
    """

    topic_concentration: float
    topic_word_prior: float
    n_features: int

    def __call__(self, tokens, side, prior, share):
        """Return the gain of two topics; side, prior, share: as of _kernels.hdp._topic_sides."""
        log_ratio, log_q, tables = compare_sides(
            topic_tokens=tokens.by_document(),
            side=side,
            prior=prior,
            share=share,
            topic_word_prior=self.topic_word_prior,
            n_features=self.n_features,
        )
        if min(tables) <= 0.0:
            return -math.inf
        spread = math.log(2.0 * math.pi * (1.0 / tables[0] + 1.0 / tables[1]))
        return math.log(self.topic_concentration) + 0.5 * spread + log_ratio - log_q

    def log_alone(self, tokens, n_tables, doc_concentration):
        """Return the log probability of tokens as a separate topic, without terms common to all topics.

        Its weight at the root is integrated out around its mode. A document has one table of a small topic.
        n_tables counts the tables of all topics.
        """
        bounds, weights, eta = tokens.bounds(), tokens.weights(), self.topic_word_prior
        document_weight = tokens.weight_of(tokens.document[bounds[:-1]])
        tables, n = document_weight.sum(), np.add.reduceat(tokens.size, bounds[:-1])
        prior = doc_concentration * tables / (self.topic_concentration + n_tables)
        words = np.bincount(tokens.word, weights)
        words = words[words > 0.0]
        log_p = math.log(self.topic_concentration) + 0.5 * math.log(2.0 * math.pi / tables)
        log_p += (document_weight * (gammaln(prior + n) - gammaln(prior))).sum()
        log_p += (gammaln(eta + words) - gammaln(eta)).sum()
        return float(log_p + gammaln(eta * self.n_features) - gammaln(eta * self.n_features + words.sum()))

    def candidates(self, topics):
        """Return candidate pairs (first < second): each topic with those that explain its words best."""
        if len(topics) < 2:
            return []
        counts = word_counts(topics, self.n_features)
        log_phi = counts.toarray() + self.topic_word_prior
        log_phi = np.log(log_phi / log_phi.sum(axis=1, keepdims=True))
        return nearest_pairs(counts @ log_phi.T, MERGE_CANDIDATES)  # words of the row under the column


class WindowMoves:
    """Moves of the topics of a window.

    Parameters
    ----------
    topics : list of TopicTokens
    prior : (n_topics,) parameters of the documents' proportions
    movable : (n_topics,) bool, whether topics may be merged and dropped
    judge : Judge
    times : number of documents of the corpus per document of the window

    Attributes
    ----------
    topics : dict of WindowTopic by their numbers
    made : list of tuples (kind, number, other number, gain)
    """

    def __init__(self, topics, prior, movable, judge, times=1.0):
        self._judge = judge
        counted = (replace(tokens, times=times) for tokens in topics)
        self.topics = {k: WindowTopic(float(prior[k]), tokens) for k, tokens in enumerate(counted)}
        self._movable = set(np.flatnonzero(movable).tolist())
        self._into, self.made = np.arange(len(topics)), []

    def merge(self):
        """Merge pairs of topics that are better as one, in rounds with each topic in one pair at most."""
        gains = {}
        while True:
            numbers = [k for k in sorted(self._movable) if len(self.topics[k].tokens)]
            pairs = self._judge.candidates([self.topics[k].tokens for k in numbers])
            for pair in ((numbers[a], numbers[b]) for a, b in pairs):
                if pair not in gains:
                    gains[pair] = -self._gain_of_two(*pair)
            merges = [
                Move(kind="merge", topics=pair, gain=gain, least_gain=LEAST_WINDOW_GAIN)
                for pair, gain in sorted(gains.items())
            ]
            made = make_moves(best_first(merges), carry_out=self._unite).made
            if not made:
                return
            changed = {k for move in made for k in move.topics}
            gains = {pair: gain for pair, gain in gains.items() if changed.isdisjoint(pair)}

    def _gain_of_two(self, first, second):
        first, second = self.topics[first], self.topics[second]
        tokens, side = joined([first.tokens, second.tokens])
        prior = first.prior + second.prior
        return self._judge(tokens, side.astype(np.int8), prior, first.prior / prior)

    def _unite(self, move):
        large, small = sorted(move.topics, key=lambda k: -self.topics[k].tokens.number)
        self.made.append(("merge", large, small, move.gain))
        kept, gone = self.topics[large], self.topics.pop(small)
        tokens, _ = joined([kept.tokens, gone.tokens])
        self.topics[large] = WindowTopic(kept.prior + gone.prior, tokens)
        self._movable.remove(small)
        self._into[self._into == small] = large

    def drop(self):
        """Drop topics without tokens or whose tokens are better in the others, the smallest first."""
        others = Others(self.topics, self._judge)
        sizes = {k: topic.tokens.number for k, topic in self.topics.items()}

        def planned():
            for k in sorted(self._movable, key=lambda k: (sizes[k], k)):
                if sizes[k] > LARGEST_DROPPED or others.only(k):
                    return
                yield Move(kind="drop", topics=(k,), least_gain=LEAST_WINDOW_GAIN if sizes[k] else -math.inf)

        def judged(move):
            (k,) = move.topics
            move.gain = 0.0 - others.gain_of(k) if sizes[k] else 0.0
            return move

        def carry_out(move):
            (k,) = move.topics
            self.made.append(("drop", k, -1, move.gain))
            others.drop(k)
            self.topics.pop(k)
            self._movable.remove(k)
            self._into[self._into == k] = -1

        make_moves(planned(), judged, carry_out)

    def edit(self):
        """Return the TopicEdit of merges and drops."""
        return TopicEdit(self._into)


class Others:
    """Probability of a topic's tokens in the other topics.

    Parameters
    ----------
    topics : dict of WindowTopic by their numbers
    judge : Judge
    """

    def __init__(self, topics, judge):
        tokens = [topic.tokens for topic in topics.values()]
        self._topics, self._judge = dict(topics), judge
        self._column = {k: i for i, k in enumerate(topics)}
        self._there = np.array([len(some) > 0 for some in tokens])
        self._prior = np.array([topic.prior for topic in topics.values()])
        self._of_documents = document_counts(tokens)
        counts = word_counts(tokens, judge.n_features).toarray().T + judge.topic_word_prior
        self._phi = np.ascontiguousarray(counts / counts.sum(axis=0))
        self._tokens, self._topic = joined(tokens)
        self._n_tables = float(self._tokens.weight_of(self._of_documents.nonzero()[0]).sum())
        self._first = np.searchsorted(self._tokens.document, np.arange(self._of_documents.shape[0] + 1))
        self._likelihood = np.empty(len(self._tokens))
        table, types = self._of_documents, (np.int64, np.int32, np.float64)
        csr = (array.astype(dtype) for array, dtype in zip((table.indptr, table.indices, table.data), types))
        token_likelihoods(self._first, self._tokens.word, *csr, self._prior, self._phi, self._likelihood)

    def drop(self, number):
        self._there[self._column[number]] = False

    def only(self, number):
        """Whether no other topic has tokens."""
        return self._there.sum() == self._there[self._column[number]]

    def _mass(self, tokens, there):
        """Return the weights of the present topics in the documents of tokens, (n_tokens, n_topics)."""
        return (self._of_documents[tokens.document].toarray() + self._prior) * there

    def _log_elsewhere(self, tokens, there):
        """Return the log probability of tokens in the present topics.

        Tokens of a document are added one by one, and each changes the proportions for the next.
        """
        bounds = tokens.bounds()
        starts, lengths = bounds[:-1], np.diff(bounds)
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = starts[order], lengths[order]
        mass, weights, total = self._mass(tokens.part(starts), there), tokens.weights(), 0.0
        for i in range(lengths[0]):
            n = np.searchsorted(-lengths, -i)  # number of longer documents
            place = starts[:n] + i
            share = mass[:n] * self._phi[tokens.word[place]]
            likelihood = share.sum(axis=1)
            total += (weights[place] * np.log(likelihood)).sum()
            mass[:n] += share * (tokens.size[place] / likelihood)[:, None]
        return total

    def gain_of(self, number):
        """Return by how much the topic is better than its tokens in the others, in nats.

        As for two topics, the uncertainty of its tokens counts: the probability that they are in this topic,
        given its documents.
        """
        topic, judge, k = self._topics[number], self._judge, self._column[number]
        tokens, eta = topic.tokens, judge.topic_word_prior
        bounds, weights = tokens.bounds(), tokens.weights()
        documents = tokens.document[bounds[:-1]]
        n = np.add.reduceat(tokens.size, bounds[:-1])
        words, total = np.bincount(tokens.word, weights, judge.n_features), weights.sum()

        there = self._there & (np.arange(len(self._there)) != k)
        elsewhere = np.einsum("ik,ik->i", self._mass(tokens, there), self._phi[tokens.word])
        log_elsewhere = self._log_elsewhere(tokens, there)
        here = topic.prior + np.repeat(n, np.diff(bounds)) - tokens.size
        own = tokens.size * tokens.copy_weight_of(tokens.document)
        here *= eta + np.maximum(words[tokens.word] - own, 0.0)  # differences may round to less
        here /= eta * judge.n_features + np.maximum(total - own, 0.0)
        gain = judge.log_alone(tokens, self._n_tables, self._prior.sum())
        gain -= log_elsewhere + (weights * np.log(here / (here + elsewhere))).sum()

        lengths = self._first[documents + 1] - self._first[documents]
        rows = np.repeat(self._first[documents] - np.append(0, lengths[:-1].cumsum()), lengths)
        rows += np.arange(len(rows))
        n = np.repeat(n, lengths)[self._topic[rows] != k]
        rows = rows[self._topic[rows] != k]
        rest = self._tokens.part(rows)
        here = (topic.prior + n) * (eta + words[rest.word]) / (eta * judge.n_features + total)
        elsewhere = self._likelihood[rows] - (topic.prior + n) * self._phi[rest.word, k]
        return float(gain + (rest.weights() * np.log1p(here / np.maximum(elsewhere, SMALLEST))).sum())
