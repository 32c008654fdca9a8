"""Counts of words in topics, stored word by word, which mini-batches update."""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np

from sktopic._kernels._groups import CountsTarget, WordCells
from sktopic._kernels.random._rng import fill_noise
from sktopic._runtime._arrays import row_blocks
from sktopic._state._fields import State, array, changed, number, size, those_left, total

# Parts the words of a batch are dealt in; fixed, because partial sums are added part by part.
N_PARTS = 16
PARTS = np.arange(N_PARTS + 1, dtype=np.int64)
# Tells the stream of the random start from others of the seed.
INITIAL_KEY = 0x696E6974
# A scale below this is folded into the store (averaging loses digits as the scale falls: earlier).
SMALLEST_SCALE = 1e-100
SMALLEST_SCALE_AVERAGING = 1e-4
# A topic with less does not enter the average: what is added later might overflow if divided by it.
SMALLEST_AVERAGED = 1e-200
# The average is a difference: of its terms, which each have 16 digits, 8 may cancel.
MOST_AVERAGED = 1e8
# The share of a topic that words of larger prior have at most at the start: much, since few documents tell
# early updates what else is in the topic (at 0.25, one seeded topic in ten became another).
LEANING = 0.5
# The same for mean-field inference, which moves topics little: where seeds had half of one, its other words
# went to others.
LITTLE_LEANING = 0.1
# Weight of a document in the topic that starts from it. The rest is word frequencies.
DOCUMENT_SHARE = 0.1


def no_average(n_components):
    """averaged and average_weight where no average is kept."""
    return np.empty((0, n_components)), np.empty(0)


def part_bounds(n_rows):
    """Bounds of the fixed parts that rows are dealt in."""
    return PARTS * n_rows // N_PARTS


def word_cells(batch, words):
    """The cells of a DocumentBatch by words, which stand in these rows of the target."""
    return WordCells(
        part_bounds=part_bounds(batch.n_words),
        word_indptr=batch.word_indptr,
        word_cell=batch.word_cell,
        cell_weight=batch.cell_weight(),
        target_row=words,
    )


@dataclass(frozen=True, eq=False)
class WordCounts(State):
    """Statistics s[w, k] = scale * store[w, k] of words in topics, which decay by one multiplication.

    What one unit of them stands for, in tokens, their readers are told (see _word_count_views.py); edits of
    topics are in _word_count_edits.py. Methods change arrays in place; one that changes the scale returns the
    counts to go on with.

    Attributes
    ----------
    store : ndarray of shape (n_features, n_components)
    totals : ndarray of shape (n_components,)
        Column sums of the store.
    averaged : ndarray of shape (n_features, n_components) or (0, n_components)
        With averaging, store * average_weight - averaged is the sum of s / s.sum(axis=0) over all
        updates: a row's past follows from its present and the increments it received.
    average_weight : ndarray of shape (n_components,)
        Sum of 1 / totals over the updates since the scale was last folded in.
    n_features : int
        Words of the whole vocabulary; the store of a lane has fewer.
    scale : float
    frozen : ndarray of shape (2, n_components) or None
        Of topics that nothing may change: what a unit of their column stands for, in tokens, and their
        topic_word_prior, whatever those of the others are by now. Zeros for topics that are not frozen.
    """

    store: np.ndarray = array(np.float64, "features", "topics", merge=total)
    totals: np.ndarray = array(np.float64, "topics", merge=total)
    averaged: np.ndarray = array(np.float64, "features?", "topics", merge=those_left)
    average_weight: np.ndarray = array(np.float64, "topics", merge=those_left)
    n_features: int = size("features")
    scale: float = number()
    frozen: np.ndarray | None = array(np.float64, 2, "topics", optional=True, merge=those_left)

    @classmethod
    def of(cls, store, totals=None, *, average=False, n_features=None, scale=1.0, frozen=None):
        """These counts, with the sums of their columns unless they are given.

        average : whether an average is kept
        n_features : words of the whole vocabulary, if the store does not have them all
        """
        n_words, n_topics = store.shape
        return cls(
            store=store,
            totals=store.sum(axis=0) if totals is None else totals,
            averaged=np.zeros((n_words if average else 0, n_topics)),
            average_weight=np.zeros(n_topics),
            n_features=n_words if n_features is None else n_features,
            scale=scale,
            frozen=frozen,
        )

    @classmethod
    def random(cls, n_features, n_components, key, *, average=False, first=0):
        """Noise of mean 1 and standard deviation 0.1 in every entry; first: the number of the first word."""
        store = np.empty((n_features, n_components))
        fill_noise(store, key, first)
        return cls.of(store, average=average)

    @classmethod
    def empty(cls, n_features, n_components):
        """Zero in every entry, and no average."""
        return cls.of(np.zeros((n_features, n_components)), np.zeros(n_components))

    @property
    def n_topics(self):
        return len(self.totals)

    @property
    def size(self):
        """Entries of the store."""
        return self.store.size

    @property
    def averages(self):
        return len(self.averaged) > 0

    @property
    def free(self):
        """Index of the topics that may change."""
        return slice(None) if self.frozen is None else self.frozen[0] == 0.0

    @property
    def frozen_columns(self):
        """The columns of frozen topics, ndarray of int64."""
        return frozen_columns(self.frozen)

    def holding(self, words=slice(None)):
        """Let frozen topics be what they were after a block that changes the rows of some words."""
        return nullcontext() if self.frozen is None else self._held(words)

    @contextmanager
    def _held(self, words):
        held = self.frozen_columns
        rows = words if isinstance(words, slice) else words[:, None]
        store, totals = self.store[rows, held], self.totals[held]
        yield
        self.store[rows, held], self.totals[held] = store, totals

    # The start

    def start_from(self, components):
        """Let the first topics be given ones (n_given, n_features); they weigh what noise of mean 1 does."""
        n = len(components)
        self.store[:, :n] = components.T * len(self.store)
        self.totals[:n] = self.store[:, :n].sum(axis=0)

    def start_from_documents(self, batch, frequencies):
        """Let each of the first topics lean toward a document of a DocumentBatch, in place.

        frequencies : ndarray of shape (n_features,), numbers of tokens, to which the topics are otherwise
            proportional
        """
        n, size, topic = batch.n_documents, len(self.store), batch.cell_document()
        if n == 0:
            return
        self.store[:, :n] = (1.0 - DOCUMENT_SHARE) * size * (frequencies / frequencies.sum())[:, None]
        own = DOCUMENT_SHARE * size * batch.cell_count / batch.lengths[topic]
        self.store[batch.words[batch.cell_word], topic] += own  # each cell is another entry
        self.totals[:n] = self.store[:, :n].sum(axis=0)

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

    # Updates

    def rearrange(self, order):
        """Let each topic be what the one in order, a permutation, was."""
        moved = np.flatnonzero(order != np.arange(len(order)))
        average = (self.averaged, self.average_weight) if self.averages else ()
        for each in (self.store, self.totals, *average):
            each[..., moved] = each[..., order[moved]]

    def clear(self, topics, words=slice(None)):
        """Let some topics have nothing; words: those that have anything of them, if they are a slice."""
        self.store[words, topics] = 0.0
        self.totals[topics] = 0.0

    def with_total(self, total):
        """The same, rescaled so that all entries of topics that may change sum to the total, if they do."""
        present = self.totals[self.free].sum()
        return changed(self, scale=float(total / present)) if present > 0.0 else self

    def decayed(self, factor):
        """The same, every entry multiplied by the factor, in [0, 1]."""
        scale = float(self.scale * factor)
        if scale < (SMALLEST_SCALE_AVERAGING if self.averages else SMALLEST_SCALE):
            return self.folded(scale)
        return changed(self, scale=scale)

    def add(self, counts, words, factor, workers):
        """The counts plus factor times the expected counts of a document step, at the rows of its words."""
        totals = np.zeros((N_PARTS, len(self.totals)))
        target = CountsTarget(self.store, totals, self.averaged, self.average_weight)
        with self.holding(words):
            counts.add_to(target, words, factor / self.scale, workers)
            self.totals[:] += totals.sum(axis=0)
        return self

    def expect(self, tokens):
        """Make ready to add so many tokens, of all topics together: the average is to keep its digits."""
        if self.averages:
            largest = self.average_weight * (self.totals + tokens / self.scale)
            if not largest.max() < MOST_AVERAGED:
                self._fold_average()

    def count_average(self):
        """Let the present state enter the average once."""
        if self.averages:
            large = self.totals > SMALLEST_AVERAGED
            self.average_weight[:] += np.divide(1.0, self.totals, out=np.zeros_like(self.totals), where=large)

    def folded(self, scale=None):
        """The same with a scale of one; scale : what entries are multiplied by, if not by their own."""
        scale = self.scale if scale is None else scale
        if self.averages:
            self._fold_average()
        free = self.free
        for rows in row_blocks(self.store):
            self.store[rows][:, free] *= scale
        self.totals[free] *= scale
        return changed(self, scale=1.0)

    def _fold_average(self):
        for rows in row_blocks(self.store):
            self.averaged[rows] -= self.store[rows] * self.average_weight
        self.average_weight[:] = 0.0


def frozen_columns(frozen):
    """The columns of frozen topics (see WordCounts), ndarray of int64; frozen may be None."""
    return np.empty(0, dtype=np.int64) if frozen is None else np.flatnonzero(frozen[0])
