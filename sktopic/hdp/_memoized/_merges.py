"""Merges and drops of topics, judged on the corpus: plans before a pass, sums during it, decisions after it.

The summaries give the change of the bound by a merge, except for the mixing of the two topics in cells, which
visits sum up. Limits are known before: x log x is convex, so the mixing in cells is at most that in the sums
over words or over documents.

Documents that have many tokens of the topics to drop are inferred once without them. In other documents, the
tokens of each go to one other topic. The resulting summaries of batches give the bound without the topics.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, xlogy

from sktopic._kernels.hdp._memoized import mix_pairs
from sktopic.hdp._hdp_state import are_in_use
from sktopic.hdp._memoized._bound import topics_of_documents
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics, summed
from sktopic.hdp._moves import LEAST_GAIN, Move, best_first, make_moves, nearest_pairs
from sktopic.hdp._variational_split_merge import overlaps

# Topics most similar to each that are looked at, and pairs whose sums are gathered, for each topic.
NEIGHBORS, PAIRS_PER_TOPIC = 8, 3
# Tokens of dropped topics from which on a document is inferred without them.
MANY_TOKENS = 0.5


class TrackedMerges:
    """The most promising pairs of topics of a MemoizedCorpus, with sums over visits.

    Attributes
    ----------
    pairs : (n_pairs, 2)
    number : (n_topics, n_topics) int32, number of the pair of two topics, or -1
    mixing : dict from batches to (n_pairs,) loss of the entropy of the batch by each merge
    """

    def __init__(self, corpus):
        pairs, sizes = similar_pairs(corpus), PairSizes(corpus)
        least, most = np.array([sizes.gains(*pair) for pair in pairs]).reshape(-1, 2).T
        order = np.argsort(-least, kind="stable")
        order = order[most[order] > LEAST_GAIN][: PAIRS_PER_TOPIC * corpus.n_topics]
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)[order]
        self.number = np.full((corpus.n_topics, corpus.n_topics), -1, dtype=np.int32)
        for columns in (self.pairs.T, self.pairs.T[::-1]):
            self.number[tuple(columns)] = np.arange(len(self.pairs))
        self.mixing = {}

    def see(self, visit):
        """Add the cells of a Visit to the sums."""
        cells, found = visit.cells, np.zeros(len(self.pairs))
        self.mixing[visit.number] = found
        if len(self.pairs):
            weight = cells.batch.cell_weight()
            mix_pairs(cells.bounds, cells.topic, cells.tokens, weight, self.number, found)

    def decided(self, corpus):
        """Return merges of all pairs, the larger topic first, with the losses of entropy as proposals."""
        if not len(self.pairs):
            return []
        sizes, totals = PairSizes(corpus), corpus.topics.words.totals
        merges = []
        for p, pair in enumerate(self.pairs.tolist()):
            mixing = {b: float(sums[p]) for b, sums in self.mixing.items()}
            pair.sort(key=lambda k: -totals[k])
            gain = sizes.gain(*sorted(pair)) - sum(mixing.values())
            merges.append(Move(kind="merge", topics=tuple(pair), gain=gain, proposal=mixing))
        return merges


def merges_within(corpus, loss):
    """Return disjoint pairs of topics in use whose merges lower the bound by at most this many nats in all.

    Each loss is the largest possible for any cells. Fitting the topics after the merges makes it smaller.
    """
    sizes = PairSizes(corpus)
    unused = set(np.flatnonzero(~are_in_use(sizes.totals)).tolist())
    pairs = [pair for pair in similar_pairs(corpus) if unused.isdisjoint(pair)]
    gains = (sizes.gains(*pair)[0] for pair in pairs)
    merges = (Move(kind="merge", topics=p, gain=gain, least_gain=-np.inf) for p, gain in zip(pairs, gains))
    made = make_moves(best_first(merges)).made
    n = np.count_nonzero(np.cumsum([-merge.gain for merge in made]) <= loss)
    return [merge.topics for merge in made[:n]]


class PairSizes:
    """Arrays that describe the topics of a MemoizedCorpus, to compare pairs of topics.

    Attributes
    ----------
    tokens : (n_topics, n_features)
    totals : (n_topics,) sums of tokens over words
    documents : (n_topics, n_documents) CSR of tokens, not multiplied by sample_weight
    sample_weight : (n_documents,)
    prior : (n_topics,) alpha * beta
    eta : parameter of the topics' prior
    """

    def __init__(self, corpus):
        documents, topics = topics_of_documents(corpus.summaries), corpus.topics
        place, shape = (documents.topic, documents.document), (corpus.n_topics, len(documents.lengths))
        self.documents = sp.csr_array((documents.tokens, place), shape=shape)
        self.tokens = np.ascontiguousarray(topics.words.store.T)
        self.totals, self.sample_weight = self.tokens.sum(axis=1), documents.sample_weight
        self.prior, self.eta = topics.prior, topics.topic_word_prior

    def gain(self, i, j):
        """Return the gain of the bound when i and j become one, if no cell has both."""
        return self._gain_of_topics(i, j) + self._gain_of_documents(*self._of_documents(i, j), i, j)

    def gains(self, i, j):
        """Return the smallest and the largest possible gain for any cells."""
        documents = self._of_documents(i, j)
        most = self._gain_of_topics(i, j) + self._gain_of_documents(*documents, i, j)
        by_word = mixing(*self._of_words(i, j)).sum()
        first, second, weight = documents
        by_document = (weight * mixing(first, second)).sum()
        return most - float(min(by_word, by_document)), most

    def _of_words(self, i, j):
        """Return the tokens of i and of j for the words that both have."""
        first, second = self.tokens[i], self.tokens[j]
        both = np.flatnonzero((first > 0.0) & (second > 0.0))
        return first[both], second[both]

    def _gain_of_topics(self, i, j):
        eta, prior = self.eta, self.eta * self.tokens.shape[1]
        n, m = self._of_words(i, j)
        words = gammaln(eta + n + m) - gammaln(eta + n) - gammaln(eta + m) + gammaln(eta)
        n, m = self.totals[[i, j]]
        totals = gammaln(prior + n) + gammaln(prior + m) - gammaln(prior + n + m) - gammaln(prior)
        return float(words.sum() + totals)

    def _gain_of_documents(self, first, second, weight, i, j):
        prior, other = self.prior[i], self.prior[j]
        change = gammaln(prior + other + first + second) - gammaln(prior + other)
        change -= gammaln(prior + first) - gammaln(prior) + gammaln(other + second) - gammaln(other)
        return float((weight * change).sum())

    def _of_documents(self, i, j):
        """Return the tokens of i and of j in documents that have one of them, and document weights."""
        parts = []
        for k in (i, j):
            some = slice(*self.documents.indptr[k : k + 2])
            parts.append((self.documents.indices[some], self.documents.data[some]))
        document, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
        n = len(parts[0][0])
        first, second = np.zeros(len(document)), np.zeros(len(document))
        first[place[:n]], second[place[n:]] = parts[0][1], parts[1][1]
        return first, second, self.sample_weight[document]


def mixing(first, second):
    """Return (a + b) log(a + b) - a log a - b log b."""
    both = first + second
    return xlogy(both, both) - xlogy(first, first) - xlogy(second, second)


def similarities(corpus):
    """Return sums of sqrt(p q) over words for all pairs of topics, (n_topics, n_topics)."""
    return overlaps(np.sqrt(corpus.topics.words.store))


def similar_pairs(corpus):
    """Return pairs i < j of free topics, one of which is among the most similar to the other."""
    free = corpus.free()
    pairs = nearest_pairs(similarities(corpus)[np.ix_(free, free)], NEIGHBORS)
    return [(int(free[i]), int(free[j])) for i, j in pairs]


@dataclass
class Delete:
    """Topics to drop together.

    Attributes
    ----------
    topics : (n_dropped,) numbers of the topics
    into : (n_dropped,) numbers of topics that get their weights and scattered tokens
    found : dict from batches to their BatchSummary without the topics, if it differs
    """

    topics: np.ndarray
    into: np.ndarray
    found: dict = field(default_factory=dict)

    @classmethod
    def planned(cls, corpus, topics):
        """Return the Delete of topics, each into the most similar free topic that remains."""
        others = np.setdiff1d(corpus.free(), topics)
        return cls(topics, others[similarities(corpus)[np.ix_(topics, others)].argmax(axis=1)])

    def see(self, visit):
        """Store the summary of the batch of a Visit without the topics."""
        cells = visit.cells
        entries = np.isin(cells.topic, self.topics)
        if not entries.any():
            return
        batch = cells.batch
        document = batch.cell_document()[cells.cell()]
        tokens = np.bincount(document[entries], weights=cells.tokens[entries], minlength=batch.n_documents)
        anew = tokens >= MANY_TOKENS
        summary = BatchSummary.of(self._joined(cells, ~anew[document]))
        if anew.any():
            other = BatchSummary.of(visit.without(self.topics, anew))
            other.documents.row = np.flatnonzero(anew)[other.documents.row]
            same = np.arange(cells.n_topics)
            summary = summary.moved(same, summary.entropy + other.entropy, [(other, same)])
        self.found[visit.number] = summary

    def _joined(self, cells, some):
        """Return CellTopics of some entries, with the topics as parts of others."""
        number = np.arange(cells.n_topics)
        number[self.topics] = self.into
        sums = summed(cells.cell()[some], number[cells.topic[some]], cells.tokens[some], cells.n_topics)
        bounds = np.searchsorted(sums.row, np.arange(len(cells.bounds)))
        return CellTopics(cells.batch, bounds, sums.topic, sums.tokens, cells.n_topics)

    def done(self, corpus):
        """Return the MemoizedCorpus without the topics."""
        without = corpus.with_summaries(self.found)
        mixing = dict.fromkeys(range(len(corpus.summaries)), 0.0)
        pairs = zip(self.into.tolist(), self.topics.tolist())
        without.merge([Move(kind="merge", topics=pair, gain=0.0, proposal=mixing) for pair in pairs])
        return without
