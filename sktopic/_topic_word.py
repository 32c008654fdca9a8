"""Topic-word statistics, stored word by word, and the probabilities read from them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._kernels._dirichlet import sum_digamma
from sktopic._kernels._rng import fill_noise
from sktopic._kernels._topics import BLOCK_SIZE, gather_geometric, gather_topics

# Parts the words of a batch are dealt in; fixed, because partial sums are added part by part.
N_PARTS = 16
# A scale below this is folded into the store (averaging loses digits as the scale falls: earlier).
SMALLEST_SCALE = 1e-100
SMALLEST_SCALE_AVERAGING = 1e-4
# Entries of large arrays that NumPy goes over at a time.
BLOCK_ENTRIES = 1 << 17


@dataclass
class GatheredTopics:
    """Topic rows of some words, as document steps want them (see _kernels._topics.gather_topics)."""

    rows: np.ndarray
    cumulative: np.ndarray
    log_evidence: np.ndarray


@dataclass
class TopicProbabilities:
    """phi[w, k] = store[w, k] * scale[k] + offset[k], computed for the words asked for.

    owner is what the arrays must not outlive, a snapshot of a model that would else train on in them.
    """

    store: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    owner: object = None

    @classmethod
    def from_components(cls, components):
        """From probabilities of shape (n_components, n_features)."""
        n_components = len(components)
        store = np.ascontiguousarray(components.T, dtype=np.float64)
        return cls(store, np.ones(n_components), np.zeros(n_components))

    def rows(self, words):
        """phi of the words, ndarray of shape (n_words, n_components), float64."""
        rows = rows_of(self.store, words)
        for some in row_blocks(rows):
            rows[some] = rows[some] * self.scale + self.offset
        return rows

    def components(self):
        """phi of all words, ndarray of shape (n_components, n_features), rows summing to one."""
        components = self.store.T * self.scale[:, None]
        components += self.offset[:, None]
        components /= components.sum(axis=1, keepdims=True)
        return components

    def gather(self, words, prior, workers, dtype=np.float32):
        """phi of the words scaled to phi @ prior = 1, with the sums that draws need."""
        return _gather(gather_topics, self.store, words, (self.scale, self.offset, prior), workers, dtype)


@dataclass
class GeometricTopics:
    """exp E[log phi] under a Dirichlet posterior for each topic, of parameters store * scale + offset.

    It is what mean-field inference puts in the place of phi; norm is psi of the parameters' sums.
    """

    store: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    norm: np.ndarray

    def gather(self, words, prior, workers, dtype=np.float32):
        """As TopicProbabilities.gather."""
        given = self.scale, self.offset, self.norm, prior
        return _gather(gather_geometric, self.store, words, given, workers, dtype)


def _gather(kernel, store, words, given, workers, dtype):
    """GatheredTopics by a kernel of _kernels._topics; given are its arrays of one entry a topic."""
    n_components = store.shape[1]
    if {len(array) for array in given} != {n_components} or (len(words) and words.max() >= len(store)):
        # Kernels trust their input.
        raise ValueError(f"topics of shape {store.shape} do not fit the prior or the documents.")
    gathered = GatheredTopics(
        np.empty((len(words), n_components), dtype=dtype),
        np.empty((len(words), -(-n_components // BLOCK_SIZE)), dtype=dtype),
        np.empty(len(words)),
    )
    pieces = [
        (
            store,
            words[first:last],
            *given,
            gathered.rows[first:last],
            gathered.cumulative[first:last],
            gathered.log_evidence[first:last],
        )
        for first, last in workers.ranges(len(words))
    ]
    workers.map_here(kernel, pieces)
    check_finite(gathered.log_evidence)
    return gathered


def check_finite(log_probabilities):
    """Raise ValueError for logarithms of probabilities of words that are NaN or plus infinity."""
    if not log_probabilities.max(initial=-np.inf) < np.inf:
        raise ValueError("the fitted topics have words whose probability is not finite; call fit.")


def row_blocks(array):
    """Slices of the rows; between two blocks, Python looks whether Ctrl-C was pressed."""
    size = max(1, BLOCK_ENTRIES // max(1, array[:1].size))
    return [slice(first, first + size) for first in range(0, len(array), size)]


def by_blocks(function, array):
    """function(array) of a function that treats each entry, or each row, alone."""
    blocks = row_blocks(array)
    if len(blocks) < 2:
        return function(array)
    out = np.empty_like(array)
    for rows in blocks:
        out[rows] = function(array[rows])
    return out


def rows_of(array, rows):
    """array[rows], block by block."""
    out = np.empty((len(rows), array.shape[1]))
    for some in row_blocks(out):
        out[some] = array[rows[some]]
    return out


def columns_of(array, columns, width=None):
    """array[:, columns], block by block; with zeros behind them, if there is to be a larger width."""
    n = len(np.arange(array.shape[1])[columns])
    out = np.zeros((len(array), width or n), dtype=array.dtype)
    for some in row_blocks(array):
        out[some, :n] = array[some][:, columns]
    return out


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

    def writable(self):
        """The same on arrays that can be written to: copies of those that a memory map protects."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(*(np.require(array, requirements="W") for array in arrays))

    def subset(self, words):
        """A copy that has the rows of some words only, and no average; totals stay those of all words."""
        none = np.empty((0, len(self.totals)))
        return TopicWordStatistics(
            np.array(self.store[words]),
            self.totals.copy(),
            self.scale.copy(),
            none,
            none[:, 0],
            self.n_features,
        )

    def columns(self, topics):
        """A copy that has some topics only, without the average."""
        return self._with_columns(columns_of(self.store, topics))

    def extended(self, columns):
        """A copy with more topics, of the given columns (n_features, n), without the average."""
        n = self.store.shape[1]
        store = columns_of(self.store, slice(None), n + columns.shape[1])
        store[:, n:] = columns
        return self._with_columns(store)

    def _with_columns(self, store):
        none = np.empty((0, store.shape[1]))
        totals = store.sum(axis=0)
        return TopicWordStatistics(store, totals, self.scale.copy(), none, np.zeros(len(totals)))

    def copy(self):
        """The same rows in arrays of its own, without the average."""
        return self.subset(slice(None))

    def duplicate(self):
        """The same in arrays of its own."""
        arrays = (self.store, self.totals, self.scale, self.averaged, self.average_weight)
        return TopicWordStatistics(*(by_blocks(np.copy, array) for array in arrays), self.n_features)

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
        counts.add_to(
            self.store, words, factor / self.scale[0], totals, self.averaged, self.average_weight, workers
        )
        self.totals += totals.sum(axis=0)

    def count_average(self):
        """Let the present state enter the average once."""
        if self.averages:
            self.average_weight += np.divide(
                1.0, self.totals, out=np.zeros_like(self.totals), where=self.totals > 0
            )

    def expected_counts(self, n_documents):
        """n_documents * s, ndarray of shape (n_features, n_components)."""
        return self.store * (n_documents * self.scale[0])

    def probabilities(self, n_documents, smoothing):
        """phi proportional to n_documents * s + smoothing."""
        weight = n_documents * self.scale[0]
        return self._smoothed(self.store, weight, weight * self.totals, smoothing)

    def geometric(self, weight, smoothing):
        """Geometric means of topics under Dirichlet posteriors of parameters weight * s + smoothing."""
        weight = weight * self.scale[0]
        ones = np.ones(len(self.totals))
        norm = digamma(weight * self.totals + self.n_features * smoothing)
        return GeometricTopics(self.store, weight * ones, smoothing * ones, norm)

    def mean_log_probability(self, weight, smoothing, workers):
        """The mean of E[log phi] over words and topics under the same posteriors."""
        topics = self.geometric(weight, smoothing)
        bounds = part_bounds(len(self.store))
        pieces = [(a, b, self.store, topics.scale, smoothing) for a, b in pairwise(bounds)]
        total = sum(workers.map_here(sum_digamma, pieces))
        return total / self.store.size - topics.norm.mean()

    def posterior_bound(self, weight, smoothing):
        """E[log p(phi)] - E[log q(phi)] of the same posteriors, p being their prior."""
        weight = weight * self.scale[0]
        totals, words = weight * self.totals + self.n_features * smoothing, 0.0
        for first in range(0, len(self.store), 1024):  # a copy of all would take several times the memory
            lambda_ = self.store[first : first + 1024] * weight + smoothing
            log_phi = digamma(lambda_) - digamma(totals)
            words += ((smoothing - lambda_) * log_phi + gammaln(lambda_) - gammaln(smoothing)).sum()
        return float(words + (gammaln(self.n_features * smoothing) - gammaln(totals)).sum())

    def average_probabilities(self, n_documents, smoothing, n_updates):
        """The same from the mean of s / s.sum(axis=0) over the updates, weighing as much as s does."""
        mean = self.store * self.average_weight
        mean -= self.averaged
        mean /= n_updates
        weight = n_documents * self.scale[0] * self.totals
        return self._smoothed(mean, weight, weight * mean.sum(axis=0), smoothing)

    def _smoothed(self, store, weight, totals, smoothing):
        """phi proportional to weight * store + smoothing; uniform for a topic that has nothing at all."""
        norm = totals + self.n_features * smoothing
        empty = norm == 0
        norm = np.where(empty, 1.0, norm)
        offset = np.where(empty, 1.0 / self.n_features, smoothing / norm)
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
