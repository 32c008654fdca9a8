"""Splits, merges and drops of topics, judged by the tokens that they have in a window of documents.

Splits and merges ask the same question: are two parts of some tokens one topic or two? The gain of two topics
is the logarithm of

    b0 sqrt(2 pi (1 / T_0 + 1 / T_1)) R / prod_i p(s_i | all other sides)

(see _kernels.hdp._topic_sides). This is the likelihood ratio with the prior of one more topic. Shares at the
root are integrated out around the mode (Laplace), as are proportions and tables of documents. The denominator
accounts for the uncertainty of the sides. Thus one number judges a split and the merge that would undo it.

A topic is split if the parts that Gibbs sampling finds gain at least five nats. The sampling is restricted to
two sides (Jain and Neal, 2004), and starts from two documents that are far from each other. Each topic is
compared with the two that explain its words best, and merged if one topic is better. A small topic is dropped
if its tokens are better in the others.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sktopic._estimators._editing import TopicEdit
from sktopic._kernels.hdp._topic_sides import draw_sides, token_likelihoods
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic.hdp._moves import Move, best_first, make_moves, nearest_pairs
from sktopic.hdp._window import TopicTokens, document_counts, joined, word_counts

# Smallest gain of a move, in nats. One draw of the topics of tokens is not more precise.
LEAST_WINDOW_GAIN = 5.0
# Number of sweeps over the tokens of a topic to be split.
SPLIT_SWEEPS = 5
# Number of topics that each topic is compared with.
MERGE_CANDIDATES = 2
# Largest topic that may be dropped, in tokens.
LARGEST_DROPPED = 500
# Splits: largest number of corpus documents per document of the window. Four times the evidence admits
# uncertain topics, which later windows may merge. With the whole corpus, single documents would be topics.
MOST_TIMES = 4.0
# Smallest divisor.
SMALLEST = 1e-300
# Share of the whole topic in the start of two sides, and number of rounds in which documents choose a side.
SMOOTHING, START_ROUNDS = 0.5, 3
# Separates the random streams of a topic.
START_KEY = 0x7374617274


@dataclass(frozen=True)
class WindowTopic:
    """A topic in a window.

    Attributes
    ----------
    root : number of the topic that it is a part of
    share : its share of that topic
    prior : a, its parameter of the documents' proportions
    tokens : TopicTokens
    """

    root: int
    share: float
    prior: float
    tokens: TopicTokens

    def part(self, tokens, share):
        return WindowTopic(self.root, self.share * share, self.prior * share, tokens)


@dataclass(frozen=True)
class Division:
    """New topics as parts of others.

    Attributes
    ----------
    topics : (n_new,) the topic that each is a part of
    shares : (n_new,) shares of the tables of these topics
    of_words : (n_features, n_new) shares of each word's tokens in these topics
    """

    topics: np.ndarray
    shares: np.ndarray
    of_words: np.ndarray


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

    def __call__(self, tokens, side, prior, share, n_sweeps, key):
        """Return the gain and the share of side 0 after sweeps over the sides, which change."""
        log_ratio, log_q, share, tables = draw_sides(
            topic_tokens=tokens.by_document(),
            side=side,
            prior=prior,
            share=share,
            topic_word_prior=self.topic_word_prior,
            n_features=self.n_features,
            n_sweeps=n_sweeps,
            key=key,
        )
        if min(tables) <= 0.0:
            return -math.inf, share
        spread = math.log(2.0 * math.pi * (1.0 / tables[0] + 1.0 / tables[1]))
        return math.log(self.topic_concentration) + 0.5 * spread + log_ratio - log_q, share

    def log_alone(self, tokens, n_tables, doc_concentration):
        """Return the log probability of tokens as a separate topic, without terms common to all topics.

        Its weight at the root is integrated out around its mode. A document has one table of a small topic.
        n_tables counts the tables of all topics.
        """
        bounds, weights, eta = tokens.bounds(), tokens.weights(), self.topic_word_prior
        document_weight = tokens.document_weight[tokens.document[bounds[:-1]]]
        tables, n = document_weight.sum(), np.add.reduceat(tokens.size, bounds[:-1])
        prior = doc_concentration * tables / (self.topic_concentration + n_tables)
        words = np.bincount(tokens.word, weights)
        words = words[words > 0.0]
        log_p = math.log(self.topic_concentration) + 0.5 * math.log(2.0 * math.pi / tables)
        log_p += (document_weight * (gammaln(prior + n) - gammaln(prior))).sum()
        log_p += (gammaln(eta + words) - gammaln(eta)).sum()
        return float(log_p + gammaln(eta * self.n_features) - gammaln(eta * self.n_features + words.sum()))

    # Splits

    def find_sides(self, tokens, prior, key):
        """Find sides of a topic's tokens that may be good topics: gain, sides and the share of side 0."""
        if len(tokens) < 2 or tokens.document[0] == tokens.document[-1]:
            return -math.inf, None, 0.5
        side = self._first_sides(tokens, key)
        gain, share = self(tokens, side, prior, 0.5, SPLIT_SWEEPS, key)
        return gain, side, share

    def _first_sides(self, tokens, key):
        """Choose two distant documents, and assign each document to the nearer one."""
        bounds, weights = tokens.bounds(), tokens.weights()
        starts = bounds[:-1]
        u, lengths = uniforms(combine_keys(key, START_KEY), 2), np.add.reduceat(weights, starts)
        topic = np.bincount(tokens.word, weights, self.n_features) + self.topic_word_prior
        topic /= topic.sum()

        def words_of(own):
            counts = np.bincount(tokens.word[own], weights[own], self.n_features)
            return SMOOTHING * topic + (1.0 - SMOOTHING) * counts / counts.sum()

        def words_of_document(document):
            return words_of(slice(bounds[document], bounds[document + 1]))

        first = words_of_document(_drawn(u[0], lengths))
        unlike = topic[tokens.word] / first[tokens.word]  # at most 1 / SMOOTHING, for absent words
        second = words_of_document(_drawn(u[1], np.add.reduceat(weights * unlike, starts) ** 2))
        for _ in range(START_ROUNDS):
            votes = np.add.reduceat(tokens.size * np.log(second / first)[tokens.word], starts)
            side = np.repeat((votes > 0.0).astype(np.int8), np.diff(bounds))
            if side.min() == side.max():
                break
            first, second = words_of(side == 0), words_of(side == 1)
        return side

    # Merges

    def candidates(self, topics):
        """Return candidate pairs (first < second): each topic with those that explain its words best."""
        if len(topics) < 2:
            return []
        counts = word_counts(topics, self.n_features)
        log_phi = counts.toarray() + self.topic_word_prior
        log_phi = np.log(log_phi / log_phi.sum(axis=1, keepdims=True))
        return nearest_pairs(counts @ log_phi.T, MERGE_CANDIDATES)  # words of the row under the column


def _drawn(u, weights):
    """Return the index that a uniform number selects with probabilities proportional to weights."""
    sums = np.cumsum(weights)
    return min(int(np.searchsorted(sums, u * sums[-1], side="right")), len(weights) - 1)


class WindowMoves:
    """Moves of the topics of a window.

    Parameters
    ----------
    topics : list of TopicTokens
    prior : (n_topics,) parameters of the documents' proportions
    movable : (n_topics,) bool, whether topics may be merged, dropped and split
    judge : Judge
    key : of the random streams
    times : number of documents of the corpus per document of the window. Merges and drops use the evidence of
        all, splits that of at most MOST_TIMES.

    Attributes
    ----------
    topics : dict of WindowTopic by their numbers
    made : list of tuples (kind, number, other number, gain)
    n_numbers : number of all topics so far, including removed ones
    """

    def __init__(self, topics, prior, movable, judge, key, times=1.0):
        self._judge, self._key, self._times = judge, key, times
        self._n = self.n_numbers = len(topics)
        counted = (tokens.times(times) for tokens in topics)
        self.topics = {k: WindowTopic(k, 1.0, float(prior[k]), tokens) for k, tokens in enumerate(counted)}
        self._movable = set(np.flatnonzero(movable).tolist())
        self._into, self.made, self._dropped = np.arange(self._n), [], []

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
        gain, _ = self._judge(tokens, side.astype(np.int8), prior, first.prior / prior, 0, self._key)
        return gain

    def _unite(self, move):
        large, small = sorted(move.topics, key=lambda k: -len(self.topics[k].tokens))
        self.made.append(("merge", large, small, move.gain))
        kept, gone = self.topics[large], self.topics.pop(small)
        tokens, _ = joined([kept.tokens, gone.tokens])
        self.topics[large] = WindowTopic(large, 1.0, kept.prior + gone.prior, tokens)
        self._movable.remove(small)
        self._into[self._into == small] = large

    def drop(self):
        """Drop topics without tokens or whose tokens are better in the others, the smallest first."""
        others = self._others = Others(self.topics, self._judge)
        sizes = {k: len(topic.tokens) for k, topic in self.topics.items()}

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
            self._dropped.append(self.topics.pop(k).tokens)
            self._movable.remove(k)
            self._into[self._into == k] = -1

        make_moves(planned(), judged, carry_out)

    def edit(self):
        """Return the TopicEdit of merges and drops."""
        return TopicEdit(self._into)

    def split(self, least_gain=LEAST_WINDOW_GAIN):
        """Split topics that gain least_gain nats as two, and the parts again."""
        waiting = [(k, combine_keys(self._key, k)) for k in sorted(self._movable)]

        def planned():
            while waiting:
                k, key = waiting.pop()
                yield Move(kind="split", topics=(k,), least_gain=least_gain, proposal=key)

        def judged(move):
            (k,), key = move.topics, move.proposal
            tokens = self.topics[k].tokens.times(min(self._times, MOST_TIMES) / self._times)
            move.gain, side, share = self._judge.find_sides(tokens, self.topics[k].prior, key)
            move.proposal = key, side, share
            return move

        def carry_out(move):
            (k,), (key, side, share) = move.topics, move.proposal
            topic, new = self.topics[k], self.n_numbers
            parts = [(topic.tokens.part(side == s), share if s == 0 else 1.0 - share) for s in (0, 1)]
            parts.sort(key=lambda part: -len(part[0]))
            self.made.append(("split", k, new, move.gain))
            for number, part in zip((k, new), parts):
                self.topics[number] = topic.part(*part)
                waiting.append((number, combine_keys(key, number)))
            self.n_numbers += 1

        make_moves(planned(), judged, carry_out, once=False)

    def assigned(self, n_tokens):
        """Return the topic of each token of the window. Tokens of dropped topics get the nearest topic."""
        number = np.empty(n_tokens, dtype=np.int32)
        for k, topic in self.topics.items():
            number[topic.tokens.place] = k
        for tokens in self._dropped:
            number[tokens.place] = self._others.nearest(tokens)
        return number

    def division(self):
        """Return the Division that makes the new topics, by the numbers of the others.

        The share of a part in a word is that of its tokens in the window plus its share of one added token.
        Words outside the window are thus divided by the shares of the parts.
        """
        new = [self.topics[k] for k in range(self._n, self.n_numbers)]
        root = np.array([topic.root for topic in new], dtype=np.int64)
        of_words = np.empty((self._judge.n_features, len(new)))
        for k in np.unique(root).tolist():
            own = np.flatnonzero(root == k)
            parts = [self.topics[k], *(new[i] for i in own)]
            counts = word_counts([part.tokens for part in parts], self._judge.n_features).toarray()
            counts += np.array([part.share for part in parts])[:, None]
            of_words[:, own] = (counts[1:] / counts.sum(axis=0)).T
        return Division(topics=root, shares=np.array([topic.share for topic in new]), of_words=of_words)


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

    def nearest(self, tokens):
        """Return the numbers of the present topics in which tokens are most probable."""
        columns = (self._mass(tokens, self._there) * self._phi[tokens.word]).argmax(axis=1)
        return np.array(list(self._topics))[columns]

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
        here *= (eta + words[tokens.word] - weights) / (eta * judge.n_features + total - weights)
        gain = judge.log_alone(tokens, float(self._of_documents.nnz), self._prior.sum())
        gain -= log_elsewhere + (weights * np.log(here / (here + elsewhere))).sum()

        lengths = self._first[documents + 1] - self._first[documents]
        rows = np.repeat(self._first[documents] - np.append(0, lengths[:-1].cumsum()), lengths)
        rows += np.arange(len(rows))
        n = np.repeat(n, lengths)[self._topic[rows] != k]
        rows = rows[self._topic[rows] != k]
        rest = self._tokens.part(rows)
        here = (topic.prior + n) * (eta + words[rest.word]) / (eta * judge.n_features + total)
        elsewhere = self._likelihood[rows] - (topic.prior + n) * self._phi[rest.word, k]
        weights = rest.document_weight[rest.document] * rest.size
        return float(gain + (weights * np.log1p(here / np.maximum(elsewhere, SMALLEST))).sum())
