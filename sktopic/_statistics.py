"""Topic-word statistics, stored word by word, which mini-batches update."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sktopic._arrays import by_blocks, columns_of, row_blocks, rows_of
from sktopic._kernels._dirichlet import sum_digamma
from sktopic._kernels._rng import fill_noise
from sktopic._topics import GeometricTopics, TopicProbabilities

# Parts the words of a batch are dealt in; fixed, because partial sums are added part by part.
N_PARTS = 16
# A scale below this is folded into the store (averaging loses digits as the scale falls: earlier).
SMALLEST_SCALE = 1e-100
SMALLEST_SCALE_AVERAGING = 1e-4
# A topic with less does not enter the average: what is added later might overflow if divided by it.
SMALLEST_AVERAGED = 1e-200


class CountsTarget(NamedTuple):
    """Arrays that expected counts are added to.

    Attributes
    ----------
    store : ndarray of shape (n_features, n_components)
    totals : ndarray of shape (N_PARTS, n_components), whose rows add up to what the columns of store gain
    averaged : ndarray of shape (n_features, n_components), which gains average_weight times what store does;
        or (0, n_components)
    average_weight : ndarray of shape (n_components,), or (0,) without averaged
    """

    store: NDArray[np.float64]
    totals: NDArray[np.float64]
    averaged: NDArray[np.float64]
    average_weight: NDArray[np.float64]


def no_average(n_components):
    """averaged and average_weight of statistics that no average is kept of."""
    return np.empty((0, n_components)), np.empty(0)


def part_bounds(n_rows):
    """Bounds of the fixed parts that rows are dealt in."""
    return np.arange(N_PARTS + 1, dtype=np.int64) * n_rows // N_PARTS


@dataclass
class TopicWordStatistics:
    """Statistics s[w, k] = scale * store[w, k] that decay by one multiplication.

    The arrays belong to the estimator, which keeps them as its fitted state; all methods work in
    place.

    Attributes
    ----------
    store : ndarray of shape (n_features, n_components)
    totals : ndarray of shape (n_components,)
        Column sums of the store.
    scale : ndarray of shape (1,)
    averaged : ndarray of shape (n_features, n_components) or (0, n_components)
        With averaging, store * average_weight - averaged is the sum of s / s.sum(axis=0) over all
        updates: a row's past follows from its present and the increments it received.
    average_weight : ndarray of shape (n_components,)
        Sum of 1 / totals over the updates since the scale was last folded in.
    n_features : int or None
        Words of the whole vocabulary; None: the store has them all.
    """

    store: np.ndarray
    totals: np.ndarray
    scale: np.ndarray
    averaged: np.ndarray
    average_weight: np.ndarray
    n_features: int | None = None

    def __post_init__(self):
        if self.n_features is None:
            self.n_features = len(self.store)

    @classmethod
    def random(cls, n_features, n_components, key, average):
        """Noise of mean 1 and standard deviation 0.1 in every entry."""
        store = np.empty((n_features, n_components))
        fill_noise(store, key, 0)
        averaged = np.zeros((n_features if average else 0, n_components))
        return cls(store, store.sum(axis=0), np.ones(1), averaged, np.zeros(n_components))

    @classmethod
    def empty(cls, n_features, n_components):
        """Zero in every entry, and no average."""
        averaged, _ = no_average(n_components)
        store, totals = np.zeros((n_features, n_components)), np.zeros(n_components)
        return cls(store, totals, np.ones(1), averaged, np.zeros(n_components))

    @classmethod
    def of_counts(cls, counts, totals):
        """Counts of words in topics, and their sums, as they are."""
        averaged, average_weight = no_average(len(totals))
        return cls(counts, totals, np.ones(1), averaged, average_weight)

    def writable(self):
        """The same on arrays that can be written to: copies of those that a memory map protects."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(
            *(np.require(array, requirements="W") for array in arrays), self.n_features
        )

    def duplicate(self):
        """The same in arrays of its own."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(*(by_blocks(np.copy, array) for array in arrays), self.n_features)

    def of_words(self, words):
        """A copy that has the rows of some words only, and no average; totals stay those of all words."""
        store, totals, scale = np.array(self.store[words]), self.totals.copy(), self.scale.copy()
        return TopicWordStatistics(store, totals, scale, *no_average(len(totals)), self.n_features)

    def of_topics(self, topics, n_spare=0):
        """A copy that has some topics only, and columns of zeros behind them; without the average."""
        n_topics = len(self.totals[topics])
        return self._without_average(columns_of(self.store, topics, n_topics + n_spare))

    def merged(self, kept, into, totals):
        """A copy of the kept topics, without the average; the others are added to those they go into.

        kept : (n_components,) bool; into : (n_components,) the topic that each goes into, or itself;
        totals : (n_components,) those that the topics then have
        """
        merged, position = self.of_topics(kept), np.cumsum(kept) - 1
        for k in np.flatnonzero(into != np.arange(len(into))):
            if kept[into[k]]:
                merged.store[:, position[into[k]]] += self.store[:, k]
        merged.totals[:] = totals[kept]
        return merged

    def split(self, topics, words, tokens, weight):
        """A copy in which parts of some topics are topics of their own, behind the others; without average.

        topics : numbers of the topics; words : (n_words,) the words that the parts have; tokens :
        (n, n_words) tokens of the parts, of which a unit of the statistics stands for weight
        """
        n, unit = len(self.totals), weight * float(self.scale[0])
        divided = self.of_topics(slice(None), n_spare=len(topics))
        for i, k in enumerate(topics):
            divided.store[words, n + i] = np.minimum(tokens[i] / unit, self.store[words, k])
        divided.totals[:] = divided.store.sum(axis=0)
        for i, k in enumerate(topics):
            divided.store[words, k] -= divided.store[words, n + i]
            divided.totals[k] = divided.store[:, k].sum()
        return divided

    def _without_average(self, store):
        totals, (averaged, _) = store.sum(axis=0), no_average(store.shape[1])
        return TopicWordStatistics(store, totals, self.scale.copy(), averaged, np.zeros(len(totals)))

    def multiply(self, factor):
        """Multiply every entry, in the store itself."""
        self.store *= factor
        self.totals *= factor

    def clear(self, topics):
        """Let some topics have nothing."""
        self.store[:, topics] = 0.0
        self.totals[topics] = 0.0

    @property
    def size(self):
        """Entries of the store."""
        return self.store.size

    @property
    def averages(self):
        return len(self.averaged) > 0

    def set_total(self, total):
        """Rescale so that all entries sum to the total."""
        self.scale[0] = total / self.totals.sum()

    def decay(self, factor):
        """Multiply every entry by the factor, in [0, 1]."""
        if factor == 0.0:
            if self.averages:
                self._fold_average()
            for rows in row_blocks(self.store):
                self.store[rows] = 0.0
            self.totals[:] = 0.0
            self.scale[0] = 1.0
            return
        self.scale[0] *= factor
        if self.scale[0] < (SMALLEST_SCALE_AVERAGING if self.averages else SMALLEST_SCALE):
            self._fold_scale()

    def add(self, counts, words, factor, workers):
        """Add factor times the expected counts of a document step, at the rows of its words."""
        totals = np.zeros((N_PARTS, len(self.totals)))
        target = CountsTarget(self.store, totals, self.averaged, self.average_weight)
        counts.add_to(target, words, factor / self.scale[0], workers)
        self.totals += totals.sum(axis=0)

    def count_average(self):
        """Let the present state enter the average once."""
        if self.averages:
            large = self.totals > SMALLEST_AVERAGED
            self.average_weight += np.divide(1.0, self.totals, out=np.zeros_like(self.totals), where=large)

    # What is read from the statistics: weight is what one unit of them stands for, in tokens.

    def tokens(self, weight, totals=None):
        """Expected tokens of each topic, ndarray of shape (n_components,); totals, if not those there are."""
        return weight * self.scale[0] * (self.totals if totals is None else totals)

    def expected_counts(self, weight, topics=slice(None)):
        """weight * s of some topics, ndarray of shape (n_features, n_topics)."""
        return self.store[:, topics] * (weight * self.scale[0])

    def expected_counts_of(self, words, topics, weight):
        """weight * s of some words and topics, ndarray of shape (n_words, n_topics)."""
        counts = rows_of(self.store[:, topics], words)
        for rows in row_blocks(counts):
            counts[rows] *= weight * float(self.scale[0])
        return counts

    def probabilities(self, weight, topic_word_prior):
        """phi proportional to weight * s + topic_word_prior."""
        weight = weight * self.scale[0]
        return self._normalised(self.store, weight, weight * self.totals, topic_word_prior)

    def geometric(self, weight, topic_word_prior):
        """exp E[log phi] of topics under Dirichlet posteriors of parameters weight * s + topic_word_prior."""
        weight = weight * self.scale[0]
        ones = np.ones(len(self.totals))
        norm = digamma(weight * self.totals + self.n_features * topic_word_prior)
        return GeometricTopics(self.store, weight * ones, topic_word_prior * ones, norm)

    def mean_log_probability(self, weight, topic_word_prior, workers):
        """The mean of E[log phi] over words and topics under the same posteriors."""
        topics = self.geometric(weight, topic_word_prior)
        bounds = part_bounds(len(self.store))
        pieces = [(a, b, self.store, topics.scale, topic_word_prior) for a, b in pairwise(bounds)]
        total = sum(workers.map_here(sum_digamma, pieces))
        return total / self.store.size - topics.norm.mean()

    def posterior_bound(self, weight, topic_word_prior):
        """E[log p(phi)] - E[log q(phi)] of the same posteriors, p being their prior."""
        weight = weight * self.scale[0]
        totals, words = weight * self.totals + self.n_features * topic_word_prior, 0.0
        for first in range(0, len(self.store), 1024):  # a copy of all would take several times the memory
            lambda_ = self.store[first : first + 1024] * weight + topic_word_prior
            log_phi = digamma(lambda_) - digamma(totals)
            words += (
                (topic_word_prior - lambda_) * log_phi + gammaln(lambda_) - gammaln(topic_word_prior)
            ).sum()
        return float(words + (gammaln(self.n_features * topic_word_prior) - gammaln(totals)).sum())

    def average_probabilities(self, weight, topic_word_prior, n_updates):
        """The same from the mean of s / s.sum(axis=0) over the updates, weighing as much as s does."""
        mean = self.store * self.average_weight
        mean -= self.averaged
        mean /= n_updates
        weight = weight * self.scale[0] * self.totals
        return self._normalised(mean, weight, weight * mean.sum(axis=0), topic_word_prior)

    def _normalised(self, store, weight, totals, topic_word_prior):
        """phi proportional to weight * store + topic_word_prior; uniform for a topic without any of both."""
        norm = totals + self.n_features * topic_word_prior
        empty = norm == 0
        norm = np.where(empty, 1.0, norm)
        offset = np.where(empty, 1.0 / self.n_features, topic_word_prior / norm)
        return TopicProbabilities(store, weight / norm, offset)

    def _fold_average(self):
        for rows in row_blocks(self.store):
            self.averaged[rows] -= self.store[rows] * self.average_weight
        self.average_weight[:] = 0.0

    def _fold_scale(self):
        if self.averages:
            self._fold_average()
        for rows in row_blocks(self.store):
            self.store[rows] *= self.scale[0]
        self.totals *= self.scale[0]
        self.scale[0] = 1.0
