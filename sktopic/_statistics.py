"""Topic-word statistics, stored word by word, which mini-batches update."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sktopic._arrays import by_blocks, columns_of, row_blocks, rows_of
from sktopic._kernels._dirichlet import sum_digamma
from sktopic._kernels._rng import fill_noise
from sktopic._topic_word_prior import prior_totals
from sktopic._topics import GeometricTopics, TopicProbabilities

# Parts the words of a batch are dealt in; fixed, because partial sums are added part by part.
N_PARTS = 16
# A scale below this is folded into the store (averaging loses digits as the scale falls: earlier).
SMALLEST_SCALE = 1e-100
SMALLEST_SCALE_AVERAGING = 1e-4
# The share of a topic that words of larger prior have at most at the start: much, since few documents tell
# early updates what else is in the topic (at 0.25, one seeded topic in ten became another).
LEANING = 0.5
# A topic with less does not enter the average: what is added later might overflow if divided by it.
SMALLEST_AVERAGED = 1e-200
# The average is a difference: of its terms, which each have 16 digits, 8 may cancel.
MOST_AVERAGED = 1e8


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


def frozen_columns(frozen):
    """The columns of frozen topics (see TopicWordStatistics); frozen may be None."""
    return np.empty(0, dtype=np.int64) if frozen is None else np.flatnonzero(frozen[0])


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
    frozen : ndarray of shape (2, n_components) or None
        Of topics that nothing may change: what a unit of their column stands for, in tokens, and their
        topic_word_prior, whatever those of the others are by now. Zeros for topics that are not frozen.
    """

    store: np.ndarray
    totals: np.ndarray
    scale: np.ndarray
    averaged: np.ndarray
    average_weight: np.ndarray
    n_features: int | None = None
    frozen: np.ndarray | None = None

    def __post_init__(self):
        if self.n_features is None:
            self.n_features = len(self.store)

    @classmethod
    def random(cls, n_features, n_components, key, average, first=0):
        """Noise of mean 1 and standard deviation 0.1 in every entry; first: the number of the first word."""
        store = np.empty((n_features, n_components))
        fill_noise(store, key, first)
        averaged = np.zeros((n_features if average else 0, n_components))
        return cls(store, store.sum(axis=0), np.ones(1), averaged, np.zeros(n_components))

    @classmethod
    def empty(cls, n_features, n_components):
        """Zero in every entry, and no average."""
        averaged, _ = no_average(n_components)
        store, totals = np.zeros((n_features, n_components)), np.zeros(n_components)
        return cls(store, totals, np.ones(1), averaged, np.zeros(n_components))

    @classmethod
    def of_counts(cls, counts, totals, frozen=None):
        """Counts of words in topics, and their sums, as they are."""
        averaged, _ = no_average(len(totals))
        return cls(counts, totals, np.ones(1), averaged, np.zeros(len(totals)), frozen=frozen)

    def start_from(self, components):
        """Let the first topics be given ones (n_given, n_features); they weigh what noise of mean 1 does."""
        n = len(components)
        self.store[:, :n] = components.T * len(self.store)
        self.totals[:n] = self.store[:, :n].sum(axis=0)

    def writable(self):
        """The same on arrays that can be written to: copies of those that a memory map protects."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(
            *(np.require(array, requirements="W") for array in arrays), self.n_features, self.frozen
        )

    def duplicate(self):
        """The same in arrays of its own."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(
            *(by_blocks(np.copy, array) for array in arrays), self.n_features, self.frozen
        )

    def undo(self, words, kept):
        """Function that restores the present state after an update; None if the update changes all rows.

        words : those of the batch; kept : what every entry is multiplied by
        """
        if self.averages or not self.scale[0] * kept >= SMALLEST_SCALE:
            return None
        store, rows = self.store, rows_of(self.store, words)
        small = [(array, array.copy()) for array in (self.totals, self.scale)]

        def undo():
            store[words] = rows
            for array, values in small:
                array[:] = values

        return undo

    def of_words(self, words):
        """A copy that has the rows of some words only, and no average; totals stay those of all words."""
        store, totals, scale = np.array(self.store[words]), self.totals.copy(), self.scale.copy()
        return TopicWordStatistics(
            store, totals, scale, *no_average(len(totals)), self.n_features, self.frozen
        )

    def of_topics(self, topics, n_spare=0):
        """A copy that has some topics only, and columns of zeros behind them; without the average."""
        totals, frozen = np.append(self.totals[topics], np.zeros(n_spare)), None
        store = columns_of(self.store, topics, len(totals))
        if self.frozen is not None and len(frozen_columns(self.frozen[:, topics])):
            frozen = np.pad(self.frozen[:, topics], [(0, 0), (0, n_spare)])
        averaged, _ = no_average(store.shape[1])
        return TopicWordStatistics(
            store, totals, self.scale.copy(), averaged, np.zeros(len(totals)), frozen=frozen
        )

    def edited(self, edit):
        """A copy after a TopicEdit; merged topics have the sums, and no average."""
        frozen = None if self.frozen is None else edit.left(self.frozen)
        if not len(frozen_columns(frozen)):
            frozen = None
        return TopicWordStatistics(
            edit.sums(self.store),
            edit.sums(self.totals),
            self.scale.copy(),
            edit.left(self.averaged),
            edit.left(self.average_weight),
            frozen=frozen,
        )

    def freezing(self, topics, weight, topic_word_prior):
        """The same with these topics frozen, and no others; arrays that this changes are copies.

        A topic that is not frozen any more has the tokens that it had.
        """
        now = weight * self.scale[0]
        if not 0.0 < now < np.inf:
            raise ValueError(
                "topics cannot be frozen or thawed: their counts are beyond the range of numbers."
            )
        frozen = np.zeros((2, len(self.totals)))
        frozen[:, topics] = [[now], [topic_word_prior]]
        held = frozen_columns(self.frozen)
        freed, still = np.setdiff1d(held, topics), np.intersect1d(held, topics)
        if len(still):
            frozen[:, still] = self.frozen[:, still]
        thawed = self.duplicate() if len(freed) else replace(self)
        if len(freed):
            factor = self.frozen[0, freed] / now
            thawed.store[:, freed] *= factor
            thawed.totals[freed] *= factor
        thawed.frozen = frozen if len(topics) else None
        return thawed

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

    def split(self, topics, tokens, weight):
        """A copy in which parts of some topics are topics of their own, behind the others; without average.

        topics : numbers of the topics; tokens : (n, n_features) tokens of the parts, of which a unit of the
        statistics stands for weight
        """
        n, unit = len(self.totals), weight * float(self.scale[0])
        divided = self.of_topics(slice(None), n_spare=len(topics))
        for i, k in enumerate(topics):
            divided.store[:, n + i] = np.minimum(tokens[i] / unit, self.store[:, k])
        divided.totals[n:] = divided.store.sum(axis=0)[n:]
        for i, k in enumerate(topics):
            divided.store[:, k] -= divided.store[:, n + i]
            divided.totals[k] = divided.store[:, k].sum()
        return divided

    def divided(self, topics, shares):
        """A copy in which parts of some topics are topics of their own, behind the others; without average.

        topics : (n_new,) the topic that each is a part of; shares : (n_features, n_new) its part of that
        """
        n = len(self.totals)
        divided = self.of_topics(slice(None), n_spare=len(topics))
        divided.store[:, n:] = self.store[:, topics] * shares
        for k in np.unique(topics):
            left = self.store[:, k] - divided.store[:, n + np.flatnonzero(topics == k)].sum(axis=1)
            divided.store[:, k] = np.maximum(left, 0.0)
            divided.totals[k] = divided.store[:, k].sum()
        divided.totals[n:] = divided.store[:, n:].sum(axis=0)
        return divided

    def joined_by(self, more):
        """A copy with other topics, that are as new as these, behind them; without the average."""
        n = len(self.totals)
        joined = self.of_topics(slice(None), n_spare=len(more.totals))
        joined.store[:, n:], joined.totals[n:] = more.store, more.totals
        return joined

    def multiply(self, factor):
        """Multiply every entry, in the store itself."""
        self.store *= factor
        self.totals *= factor

    def clear(self, topics, words=slice(None)):
        """Let some topics have nothing; words: those that have anything of them, if they are a slice."""
        self.store[words, topics] = 0.0
        self.totals[topics] = 0.0

    def lean(self, topic_word_prior, entries, share, n_given=0):
        """Let topics, but for the first ones that are given, lean towards the means of their priors.

        Entries become larger or smaller as their Dirichlet parameters are; those that are larger get this
        share of their topic at most.
        """
        word, k, value = entries.at(np.arange(len(self.store)))
        ratio = np.where(k < n_given, 1.0, value / topic_word_prior)
        excess = np.bincount(k, np.maximum(ratio - 1.0, 0.0), minlength=len(self.totals))
        most = share / (1.0 - share) * len(self.store)
        held = np.divide(most, excess, out=np.ones_like(excess), where=excess > most)
        self.store[word, k] *= np.where(ratio > 1.0, 1.0 + held[k] * (ratio - 1.0), ratio)
        self.totals[:] = self.store.sum(axis=0)

    def rearrange(self, order):
        """Let each topic be what the one in order, a permutation, was."""
        moved = np.flatnonzero(order != np.arange(len(order)))
        average = (self.averaged, self.average_weight) if self.averages else ()
        for array in (self.store, self.totals, *average):
            array[..., moved] = array[..., order[moved]]

    @property
    def _free(self):
        """Index of the topics that may change."""
        return slice(None) if self.frozen is None else self.frozen[0] == 0.0

    def _free_only(self, values):
        """The same, but zero for frozen topics."""
        return values if self.frozen is None else np.where(self._free, values, 0.0)

    @contextmanager
    def holding(self, words=slice(None)):
        """Let frozen topics be what they were after a block that changes the rows of some words."""
        held = frozen_columns(self.frozen)
        if not len(held):
            yield
            return
        store, totals = self.store[words][:, held], self.totals[held]
        yield
        self.totals[held] = totals
        if isinstance(words, slice):
            self.store[words, held] = store
        else:
            self.store[words[:, None], held] = store

    @property
    def size(self):
        """Entries of the store."""
        return self.store.size

    @property
    def averages(self):
        return len(self.averaged) > 0

    def set_total(self, total):
        """Rescale so that all entries of topics that may change sum to the total, if there is anything."""
        present = self.totals[self._free].sum()
        if present > 0.0:
            self.scale[0] = total / present

    def decay(self, factor):
        """Multiply every entry by the factor, in [0, 1]."""
        if factor == 0.0:
            if self.averages:
                self._fold_average()
            free = self._free
            for rows in row_blocks(self.store):
                self.store[rows][:, free] = 0.0
            self.totals[free] = 0.0
            self.scale[0] = 1.0
            return
        self.scale[0] *= factor
        if self.scale[0] < (SMALLEST_SCALE_AVERAGING if self.averages else SMALLEST_SCALE):
            self._fold_scale()

    def add(self, counts, words, factor, workers):
        """Add factor times the expected counts of a document step, at the rows of its words."""
        totals = np.zeros((N_PARTS, len(self.totals)))
        target = CountsTarget(self.store, totals, self.averaged, self.average_weight)
        with self.holding(words):
            counts.add_to(target, words, factor / self.scale[0], workers)
            self.totals += totals.sum(axis=0)

    def expect(self, tokens):
        """Make ready to add so many tokens, of all topics together: the average is to keep its digits."""
        if self.averages:
            largest = self.average_weight * (self.totals + tokens / self.scale[0])
            if not largest.max() < MOST_AVERAGED:
                self._fold_average()

    def count_average(self):
        """Let the present state enter the average once."""
        if self.averages:
            large = self.totals > SMALLEST_AVERAGED
            self.average_weight += np.divide(1.0, self.totals, out=np.zeros_like(self.totals), where=large)

    # What is read from the statistics: weight is what one unit of them stands for, in tokens. PriorEntries
    # take the place of topic_word_prior for some words in some topics.

    def _weights(self, weight, topics=slice(None)):
        """What a unit of the store stands for, in tokens: a number; with frozen topics, one a topic."""
        weight = weight * self.scale[0]
        if self.frozen is None:
            return weight
        frozen = self.frozen[0, topics]
        return np.where(frozen == 0.0, weight, frozen)

    def priors(self, topic_word_prior, topics=slice(None)):
        """topic_word_prior; with frozen topics, one for each of these topics."""
        if self.frozen is None:
            return topic_word_prior
        return np.where(self._free, topic_word_prior, self.frozen[1])[topics]

    def tokens(self, weight, totals=None):
        """Expected tokens of each topic, ndarray of shape (n_components,); totals, if not those there are."""
        return self._weights(weight) * (self.totals if totals is None else totals)

    def expected_counts(self, weight, topics=slice(None)):
        """weight * s of some topics, ndarray of shape (n_features, n_topics)."""
        return self.store[:, topics] * self._weights(weight, topics)

    def expected_counts_of(self, words, topics, weight):
        """weight * s of some words and topics, ndarray of shape (n_words, n_topics)."""
        counts, weights = rows_of(self.store[:, topics], words), self._weights(weight, topics)
        for rows in row_blocks(counts):
            counts[rows] *= weights
        return counts

    def probabilities(self, weight, topic_word_prior, entries=None):
        """phi proportional to weight * s + topic_word_prior."""
        weight, topic_word_prior = self._weights(weight), self.priors(topic_word_prior)
        return self._normalised(self.store, weight, weight * self.totals, topic_word_prior, entries)

    def geometric(self, weight, topic_word_prior, entries=None):
        """exp E[log phi] of topics under Dirichlet posteriors of parameters weight * s + topic_word_prior."""
        weight, topic_word_prior = self._weights(weight), self.priors(topic_word_prior)
        ones = np.ones(len(self.totals))
        norm = digamma(weight * self.totals + prior_totals(self.n_features, topic_word_prior, entries))
        return GeometricTopics(self.store, weight * ones, topic_word_prior * ones, norm, entries)

    def mean_log_probability(self, weight, topic_word_prior, workers):
        """The mean of E[log phi] over words and topics under the same posteriors; frozen topics left out."""
        if self.frozen is not None and self._free.any():
            return self.of_topics(self._free).mean_log_probability(weight, topic_word_prior, workers)
        sums = self.digamma_sums(part_bounds(len(self.store)), weight, topic_word_prior, workers)
        return self.mean_log_of_sums(sums, weight, topic_word_prior)

    def digamma_sums(self, bounds, weight, topic_word_prior, workers):
        """Sums of psi of the parameters of these posteriors, over rows from one bound to the next."""
        scale = self._weights(weight) * np.ones(len(self.totals))
        pieces = [(a, b, self.store, scale, topic_word_prior) for a, b in pairwise(bounds)]
        return workers.map_here(sum_digamma, pieces)

    def mean_log_of_sums(self, sums, weight, topic_word_prior):
        """mean_log_probability, from digamma_sums that are over all words together."""
        norm = self.geometric(weight, topic_word_prior).norm
        return sum(sums) / (self.n_features * len(self.totals)) - norm.mean()

    def posterior_bound(self, weight, topic_word_prior, entries=None):
        """E[log p(phi)] - E[log q(phi)] of the same posteriors, p being their prior."""
        weight, eta = self._weights(weight), self.priors(topic_word_prior)
        prior_sums = prior_totals(self.n_features, eta, entries)
        totals, words = weight * self.totals + prior_sums, 0.0
        for first in range(0, len(self.store), 1024):  # a copy of all would take several times the memory
            counts = self.store[first : first + 1024] * weight
            if entries is not None:
                position, k, value = entries.at(np.arange(first, first + len(counts)))
                eta = np.array(np.broadcast_to(self.priors(topic_word_prior), counts.shape))
                eta[position, k] = value
            lambda_ = counts + eta
            log_phi = digamma(lambda_) - digamma(totals)
            words += ((eta - lambda_) * log_phi + gammaln(lambda_) - gammaln(eta)).sum()
        return float(words + (gammaln(prior_sums) - gammaln(totals)).sum())

    def average_probabilities(self, weight, topic_word_prior, n_updates, entries=None):
        """The same from the mean of s / s.sum(axis=0) over the updates, weighing as much as s does."""
        mean = self.store * self.average_weight
        mean -= self.averaged
        np.maximum(mean, 0.0, out=mean)  # which rounding may miss
        mean /= n_updates
        weight = weight * self.scale[0] * self.totals
        return self._normalised(mean, weight, weight * mean.sum(axis=0), topic_word_prior, entries)

    def _normalised(self, store, weight, totals, topic_word_prior, entries):
        """phi proportional to weight * store + topic_word_prior; uniform for a topic without any of both."""
        norm = totals + prior_totals(self.n_features, topic_word_prior, entries)
        empty = norm == 0
        norm = np.where(empty, 1.0, norm)
        offset = np.where(empty, 1.0 / self.n_features, topic_word_prior / norm)
        own = None if entries is None else entries.times(1.0 / norm)
        return TopicProbabilities(store, weight / norm, offset, own, token=self._free_only(1.0 / norm))

    def _fold_average(self):
        for rows in row_blocks(self.store):
            self.averaged[rows] -= self.store[rows] * self.average_weight
        self.average_weight[:] = 0.0

    def _fold_scale(self):
        if self.averages:
            self._fold_average()
        free = self._free
        for rows in row_blocks(self.store):
            self.store[rows][:, free] *= self.scale[0]
        self.totals[free] *= self.scale[0]
        self.scale[0] = 1.0
