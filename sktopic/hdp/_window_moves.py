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
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from sktopic._estimators._editing import TopicEdit
from sktopic._kernels._groups import WindowTokens
from sktopic._kernels.hdp._other_topics import compare_with_others, token_likelihoods
from sktopic._kernels.hdp._topic_sides import compare_topics
from sktopic.hdp._moves import Move, best_first, make_moves, nearest_pairs
from sktopic.hdp._window import TopicTokens, joined, word_counts

# Smallest gain of a move, in nats. One draw of the topics of tokens is not more precise.
LEAST_WINDOW_GAIN = 5.0
# Number of topics that each topic is compared with.
MERGE_CANDIDATES = 2
# Largest topic that may be dropped, in tokens.
LARGEST_DROPPED = 500
# Number of parts of the documents of such a topic, whose gains threads compute. It does not depend on n_jobs.
N_PARTS = 4


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

    def __call__(self, first, second):
        """Return the gain of two topics (WindowTopic)."""
        prior = first.prior + second.prior
        log_ratio, log_q, tables = compare_topics(
            first_topic=first.tokens.by_document,
            second_topic=second.tokens.by_document,
            prior=prior,
            share=first.prior / prior,
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
        by_document, weights, eta = tokens.by_document, tokens.weights(), self.topic_word_prior
        document_weight = by_document.document_weight
        tables, n = document_weight.sum(), np.add.reduceat(tokens.size, by_document.first[:-1])
        prior = doc_concentration * tables / (self.topic_concentration + n_tables)
        words = np.bincount(tokens.word, weights)
        words = words[words > 0.0]
        log_p = math.log(self.topic_concentration) + 0.5 * math.log(2.0 * math.pi / tables)
        log_p += (document_weight * (gammaln(prior + n) - gammaln(prior))).sum()
        log_p += (gammaln(eta + words) - gammaln(eta)).sum()
        return float(log_p + gammaln(eta * self.n_features) - gammaln(eta * self.n_features + words.sum()))


class Similarities:
    """Log probabilities of the words of topics under other topics, which propose merges.

    Parameters
    ----------
    topics : list of TopicTokens, not empty
    judge : Judge
    """

    def __init__(self, topics, judge):
        self._judge, self._counts = judge, word_counts(topics, judge.n_features)
        self._log_p = self._under(np.arange(len(topics)))
        self._there = np.ones(len(topics), dtype=bool)

    def _under(self, chosen):
        """Return the log probabilities of the words of all topics under the chosen ones."""
        eta, counts = self._judge.topic_word_prior, self._counts[chosen]
        totals = counts.sum(axis=1) + eta * self._judge.n_features
        counts.data = np.log1p(counts.data / eta)  # above those of words that a topic does not have
        log_p = (self._counts @ counts.T).toarray()
        return log_p + self._counts.sum(axis=1)[:, None] * (math.log(eta) - np.log(totals))

    def candidates(self):
        """Return candidate pairs (first < second): each topic with those that explain its words best."""
        return nearest_pairs(self._log_p, MERGE_CANDIDATES, np.flatnonzero(self._there))

    def unite(self, kept, gone):
        """Merge the topics gone into the topics kept; no topic is there twice."""
        n = len(self._there)
        self._there[gone] = False
        into = np.arange(n)
        into[gone] = kept
        self._counts = sp.csr_array((np.ones(n), (into, np.arange(n))), shape=(n, n)) @ self._counts
        self._log_p[kept] += self._log_p[gone]
        self._log_p[:, gone] = -np.inf
        self._log_p[:, kept] = self._under(kept)


class WindowMoves:
    """Moves of the topics of a window.

    Parameters
    ----------
    topics : list of TopicTokens
    prior : (n_topics,) parameters of the documents' proportions
    movable : (n_topics,) bool, whether topics may be merged and dropped
    judge : Judge
    workers : Workers
    times : number of documents of the corpus per document of the window

    Attributes
    ----------
    topics : dict of WindowTopic by their numbers
    made : list of tuples (kind, number, other number, gain)
    """

    def __init__(self, topics, prior, movable, judge, workers, times=1.0):
        self._judge, self._workers = judge, workers
        counted = (replace(tokens, times=times) for tokens in topics)
        self.topics = {k: WindowTopic(float(prior[k]), tokens) for k, tokens in enumerate(counted)}
        self._movable = set(np.flatnonzero(movable).tolist())
        self._into, self.made = np.arange(len(topics)), []

    def merge(self):
        """Merge pairs of topics that are better as one, in rounds with each topic in one pair at most."""
        numbers = np.array([k for k in sorted(self._movable) if len(self.topics[k].tokens)], dtype=int)
        if len(numbers) < 2:
            return
        similarities, gains = Similarities([self.topics[k].tokens for k in numbers.tolist()], self._judge), {}
        while True:
            pairs = [tuple(pair) for pair in numbers[similarities.candidates()].tolist()]
            new = [pair for pair in pairs if pair not in gains]
            gains |= zip(new, self._workers.map_here(self._gain_of_one, new))
            merges = [
                Move(kind="merge", topics=pair, gain=gain, least_gain=LEAST_WINDOW_GAIN)
                for pair, gain in sorted(gains.items())
            ]
            made = make_moves(best_first(merges), carry_out=self._unite).made
            if not made:
                return
            changed = {k for move in made for k in move.topics}
            gains = {pair: gain for pair, gain in gains.items() if changed.isdisjoint(pair)}
            united = [(large, small) for _, large, small, _ in self.made[-len(made) :]]
            similarities.unite(*np.searchsorted(numbers, united).T)

    def _gain_of_one(self, first, second):
        return -self._judge(self.topics[first], self.topics[second])

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
        others = Others(self.topics, self._judge, self._workers)
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
    workers : Workers
    """

    def __init__(self, topics, judge, workers):
        tokens = [topic.tokens for topic in topics.values()]
        self._topics, self._judge, self._workers = dict(topics), judge, workers
        self._column = {k: i for i, k in enumerate(topics)}
        self._prior = np.array([topic.prior for topic in topics.values()])
        self._there = np.array([len(some) > 0 for some in tokens])
        self._n_tables = float(sum(some.by_document.document_weight.sum() for some in tokens))
        self._phi = word_counts(tokens, judge.n_features).T.tocsr().toarray()
        self._phi += judge.topic_word_prior
        self._phi /= self._phi.sum(axis=0)
        of_all, topic = joined(tokens)
        documents = np.arange(len(of_all.sample_weight))
        self._tokens = WindowTokens(
            first=np.searchsorted(of_all.document, np.append(documents, len(documents))),
            word=of_all.word,
            topic=topic.astype(np.int32),
            size=of_all.size,
            document_weight=of_all.weight_of(documents),
            copy_weight=of_all.copy_weight_of(documents),
        )
        self._likelihood = np.empty(len(of_all))
        fill = partial(token_likelihoods, self._tokens, self._prior, self._phi, self._likelihood)
        workers.map_here(fill, workers.ranges(len(documents)))

    def drop(self, number):
        self._there[self._column[number]] = False

    def only(self, number):
        """Whether no other topic has tokens."""
        return self._there.sum() == self._there[self._column[number]]

    def gain_of(self, number):
        """Return by how much the topic is better than its tokens in the others, in nats.

        As for two topics, the uncertainty of its tokens counts: the probability that they are in this topic,
        given its documents.
        """
        topic, k = self._topics[number], self._column[number]
        compare = partial(
            compare_with_others,
            tokens=self._tokens,
            number=k,
            prior=topic.prior,
            words=np.bincount(topic.tokens.word, topic.tokens.weights(), self._judge.n_features),
            other_prior=self._prior * (self._there & (np.arange(len(self._there)) != k)),
            phi=self._phi,
            likelihood=self._likelihood,
            topic_word_prior=self._judge.topic_word_prior,
        )
        parts = np.array_split(topic.tokens.by_document.document, N_PARTS)
        gain = sum(self._workers.map_here(compare, [(documents,) for documents in parts]))
        return gain + self._judge.log_alone(topic.tokens, self._n_tables, self._prior.sum())
