"""Counts of words in many topics: a list of topics for each word, and a rest that all topics share."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels._groups import SparseRows, SparseTarget, TopicCounts
from sktopic._kernels.topics._gathering import BLOCK_SIZE
from sktopic._kernels.topics._sparse_rows import add_sparse_counts, gather_sparse_rows
from sktopic._runtime._arrays import row_blocks
from sktopic._state._fields import State, array, changed, number, size
from sktopic._topics._topic_rows import GatheredTopics, TopicProbabilities, check_finite
from sktopic._topics._word_counts import N_PARTS, word_cells

# A scale below this is folded into the lists, whose counts are in single precision.
SMALLEST_SCALE = 1e-20
# A topic with a smaller part of all counts is empty: numbers divided by it may exceed single precision.
SMALLEST_PART = 1e-30
# Parts of the range of topics by which entries of a list are found.
N_BUCKETS = 128


@dataclass(frozen=True, eq=False)
class SparseWordCounts(State):
    """Statistics s[w, k] = scale * (value of k in the list of w, or 0, + rest[w] * share[k]).

    share[k] is the part of topic k in all lists. These counts replace WordCounts if an array with all topics
    would be too large. Methods of the same names do the same.

    Attributes
    ----------
    topic, value : ndarray of shape (n_features, n_entries)
        The list of each word: topics, ascending, and counts.
    length : ndarray of shape (n_features,)
        Entries in use.
    least : ndarray of shape (n_features,)
        What an update has to add to let a topic enter the list: the smallest count when it was last full.
    rest : ndarray of shape (n_features,)
        Counts of each word that are in no list.
    listed : ndarray of shape (n_components,)
        Sums of the counts in lists.
    rest_total : float
        Sum of the rests.
    n_features : int
    scale : float
    """

    topic: np.ndarray = array(np.int32, "features", "entries")
    value: np.ndarray = array(np.float32, "features", "entries")
    length: np.ndarray = array(np.int32, "features")
    least: np.ndarray = array(np.float32, "features")
    rest: np.ndarray = array(np.float64, "features")
    listed: np.ndarray = array(np.float64, "topics")
    rest_total: float = number()
    n_features: int = size("features")
    scale: float = number()

    # As WordCounts without an average and frozen topics.
    averages = False
    frozen = None
    frozen_columns = np.empty(0, dtype=np.int64)

    @classmethod
    def even(cls, n_features, n_topics, n_entries):
        """All words have the same count in all topics: draws, not the first topics, are random."""
        n_entries = min(n_entries, n_topics)
        return cls(
            topic=np.zeros((n_features, n_entries), np.int32),
            value=np.zeros((n_features, n_entries), np.float32),
            length=np.zeros(n_features, np.int32),
            least=np.zeros(n_features, np.float32),
            rest=np.ones(n_features),
            listed=np.zeros(n_topics),
            rest_total=float(n_features),
            n_features=n_features,
            scale=1.0,
        )

    @property
    def n_topics(self):
        return len(self.listed)

    @property
    def size(self):
        """Numbers in the lists."""
        return self.value.size

    @property
    def shares(self):
        """share[k]: (n_components,)."""
        total = self.listed.sum()
        return self.listed / total if total > 0.0 else np.full(self.n_topics, 1.0 / self.n_topics)

    @property
    def totals(self):
        """Sums of s / scale over words, (n_components,)."""
        return self.listed + self.rest_total * self.shares

    def check(self):
        """Raise ValueError if lists cannot have these lengths; topics are checked when they are read."""
        n_entries, n_topics = self.topic.shape[1], self.n_topics
        if not 0 < n_entries <= n_topics:
            raise ValueError(f"the lists of words have room for {n_entries} of {n_topics} topics")
        if self.length.min() < 0 or self.length.max() > n_entries:
            raise ValueError(f"the lengths of lists are not from 0 to {n_entries}")

    # Updates

    def with_total(self, total):
        return changed(self, scale=float(total / self.totals.sum()))

    def decayed(self, factor):
        scale = float(self.scale * factor)
        return changed(self, scale=scale) if scale >= SMALLEST_SCALE else self.folded(scale)

    def folded(self, scale=None):
        scale = self.scale if scale is None else scale
        for rows in row_blocks(self.value):
            self.value[rows] *= scale
        for each in (self.least, self.rest, self.listed):
            each *= scale
        return changed(self, scale=1.0, rest_total=self.rest_total * scale)

    def expect(self, tokens):
        """There is no average to make ready."""

    def count_average(self):
        """There is no average."""

    def add(self, counts, words, factor, workers):
        target = SparseTarget(self.lists(), np.zeros((N_PARTS, self.n_topics)), np.zeros(N_PARTS))
        add_sparse_counts(
            words=word_cells(counts.batch, words),
            indptr=counts.batch.indptr,
            sums=counts.sums,
            rows=counts.topics.lists,
            factor=factor / self.scale / counts.n_sweeps,
            target=target,
            team=workers.team,
        )
        # Rounding may leave less than nothing of a topic that is in no list any more.
        np.maximum(self.listed + target.totals.sum(axis=0), 0.0, out=self.listed)
        return changed(self, rest_total=self.rest_total + float(target.rest_gain.sum()))

    def lists(self):
        return TopicCounts(self.topic, self.value, self.length, self.least, self.rest)

    def rows(self, words=slice(None)):
        """s / scale of some words, ndarray of shape (n_words, n_components)."""
        topic, value = self.topic[words], self.value[words]
        used = np.arange(topic.shape[1]) < self.length[words][:, None]
        row, topic = np.nonzero(used)[0], topic[used]
        check_lists(topic.min(initial=0) >= 0 and topic.max(initial=0) < self.n_topics)
        found = self.rest[words][:, None] * self.shares
        found[row, topic] += value[used]
        return found


def check_lists(are_valid):
    """Raise ValueError unless lists have ascending numbers of topics."""
    if not are_valid:
        raise ValueError(
            "the lists of topics of the fitted state are damaged: load an intact file, or call fit."
        )


@dataclass
class SparseTopics:
    """phi[w, k] = counts of w and k * scale[k] + offset[k], computed for the words asked for.

    It has the methods of TopicProbabilities, and its attributes owner and token.
    """

    counts: SparseWordCounts
    scale: np.ndarray
    offset: np.ndarray
    token: np.ndarray
    owner: object = None

    @classmethod
    def of(cls, counts, weight, topic_word_prior):
        """phi proportional to weight * s + topic_word_prior; uniform for a topic without any of both.

        weight : tokens that a unit of s stands for
        """
        weight = weight * counts.scale
        norm = weight * counts.totals + counts.n_features * topic_word_prior
        empty = norm <= SMALLEST_PART * norm.sum()
        token = 1.0 / np.where(empty, 1.0, norm)
        offset = np.where(empty, 1.0 / counts.n_features, topic_word_prior * token)
        return cls(counts, weight * token, offset, token)

    @property
    def store(self):
        """The counts in lists, (n_features, n_entries)."""
        return self.counts.value

    def rows(self, words):
        return self.counts.rows(words) * self.scale + self.offset

    def components(self):
        components = np.empty((self.counts.n_topics, self.counts.n_features))
        for words in row_blocks(self.store):
            components[:, words] = self.rows(words).T
        components /= components.sum(axis=1, keepdims=True)
        return components

    def gather_rows(self, words, prior, workers):
        """What TopicProbabilities gather: rows with all topics."""
        rows, ones = self.rows(words), np.ones(len(prior))
        positions = np.arange(len(words), dtype=np.int32)
        return TopicProbabilities(rows, ones, 0.0 * ones).gather(positions, prior, workers)

    def gather(self, words, prior, workers, dtype=np.float32):
        counts = self.counts
        if len(prior) != counts.n_topics or (len(words) and words.max() >= counts.n_features):
            # Kernels trust their input.
            raise ValueError(f"topics of {counts.n_topics} topics do not fit the prior or the documents.")
        start = np.concatenate([[0], np.cumsum(counts.length[words], dtype=np.int64)])
        shares, units, even = counts.shares * self.scale, self.offset, np.ones(len(words))
        if not units.any():  # words that no topic has get a row of units, which must not be zeros
            units, even = np.ones(len(units)), np.zeros(len(words))
        lists = SparseRows(
            start=start,
            bucket=np.empty((len(words), N_BUCKETS + 1), np.int32),
            topic=np.empty(start[-1], np.int32),
            value=np.empty(start[-1], dtype),
            cumulative=np.empty(start[-1], dtype),
            rest=counts.rest[words],
            even=even,
            shares=shares,
            units=units,
            share_sums=_block_sums(shares * prior),
            unit_sums=_block_sums(units * prior),
        )
        log_norm = np.empty(len(words))
        finite, are_valid = gather_sparse_rows(
            counts=counts.lists(),
            words=words,
            factors=np.stack([self.scale, self.scale * prior], axis=1).astype(np.float32),
            prior=prior,
            rows=lists,
            log_norm=log_norm,
            team=workers.team,
        )
        check_lists(are_valid)
        check_finite(finite)
        none = np.empty((0, len(prior)), dtype)
        return GatheredTopics(none, none, log_norm, lists=lists)


def _block_sums(weights):
    """Cumulative sums over blocks of topics."""
    return np.cumsum(np.add.reduceat(weights, np.arange(0, len(weights), BLOCK_SIZE)))
