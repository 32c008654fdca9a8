"""The Dirichlet prior of topics: a number, or a matrix, kept as a number and the entries that differ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sktopic._documents._matrices import check_sparse_structure
from sktopic._runtime._arrays import are_bounds, real_numbers
from sktopic._state._fields import State, array, number, part
from sktopic._topics._prior import LARGEST, SMALLEST, check_parameters, check_prior

TOPIC = np.dtype(np.int32)


@dataclass(frozen=True, eq=False)
class PriorEntries(State):
    """The entries of a matrix of Dirichlet parameters that have another value than all others, word by word.

    Attributes
    ----------
    indptr : (n_features + 1,) int64, where the entries of each word are
    topics : (n_entries,) int32, ascending for each word
    values : (n_entries,) the parameters themselves: differences from others would round those far below
    sums : (2, n_components) how many entries each topic has, and what they sum to, over all words
    """

    indptr: np.ndarray = array(np.int64, None)
    topics: np.ndarray = array(TOPIC, "prior entries")
    values: np.ndarray = array(np.float64, "prior entries")
    sums: np.ndarray = array(np.float64, 2, "topics")

    @classmethod
    def none(cls, n_features, n_components):
        indptr = np.zeros(n_features + 1, dtype=np.int64)
        return cls(indptr, np.empty(0, TOPIC), np.empty(0), np.zeros((2, n_components)))

    @classmethod
    def of_matrix(cls, matrix):
        """Those of a CSC matrix of shape (n_components, n_features)."""
        topics, values = matrix.indices.astype(TOPIC), matrix.data.astype(np.float64)
        return cls._summed(matrix.indptr.astype(np.int64), topics, values, matrix.shape[0])

    @classmethod
    def _summed(cls, indptr, topics, values, n_components):
        number, total = (np.bincount(topics, weights, n_components) for weights in (None, values))
        return cls(indptr, topics, values, np.array([number, total], dtype=np.float64))

    def check(self, n_features):
        """Raise ValueError for arrays that do not fit together: kernels trust them."""
        if any(each is None for each in (self.indptr, self.topics, self.values, self.sums)):
            raise ValueError("some of its arrays are missing")
        n_entries = len(self.values)
        if self.indptr.shape != (n_features + 1,) or not are_bounds(self.indptr, n_entries):
            raise ValueError("its entries do not fit together")
        if n_entries and not 0 <= self.topics.min() <= self.topics.max() < self.sums.shape[1]:
            raise ValueError(f"it has topics from {self.topics.min()} to {self.topics.max()}")
        check_parameters(self.values, "an entry")

    def times(self, factor):
        """The same, each entry times the factor of its topic."""
        return ScaledEntries(self, factor)

    def wider(self, n_features):
        """The same for more words, of which the last have no entries."""
        more = np.full(n_features + 1 - len(self.indptr), self.indptr[-1])
        return replace(self, indptr=np.append(self.indptr, more))

    def edited(self, columns, n_components, base):
        """Those of n_components topics, into which these have gone: topic k into columns[k], or none (-1).

        Parameters of topics that are one now are the base, and what theirs exceed it by.
        """
        n_features, word, topic = len(self.indptr) - 1, self.words, columns[self.topics]
        left = topic >= 0
        order = np.lexsort((topic[left], word[left]))
        word, topic, values = (array[left][order] for array in (word, topic, self.values))
        first = np.flatnonzero(np.diff(word * n_components + topic, prepend=-1))
        sizes = np.diff(np.append(first, len(word)))
        if len(first):
            sums = base + np.add.reduceat(values - base, first)
            values = np.where(sizes == 1, values[first], np.clip(sums, SMALLEST, LARGEST))
        indptr = np.append(0, np.cumsum(np.bincount(word[first], minlength=n_features)))
        return PriorEntries._summed(indptr, topic[first].astype(TOPIC), values, n_components)

    def taking(self, topics, others):
        """The same, but for some topics, (n_components,) bool, which have those of other PriorEntries."""
        own, taken = ~topics[self.topics], topics[others.topics]
        word = np.append(self.words[own], others.words[taken])
        topic = np.append(self.topics[own], others.topics[taken])
        values = np.append(self.values[own], others.values[taken])
        order = np.lexsort((topic, word))
        indptr = np.append(0, np.cumsum(np.bincount(word, minlength=len(self.indptr) - 1)))
        return PriorEntries._summed(indptr, topic[order], values[order], len(topics))

    @property
    def words(self):
        """The word of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def of_words(self, words):
        """Those of some words only."""
        _, topics, values = self.at(words)
        indptr = np.append(0, np.cumsum(self._sizes(words)))
        return PriorEntries(indptr, topics, values, self.sums)

    def at(self, words):
        """Of the entries of some words: positions among these, topics and values."""
        sizes = self._sizes(words)
        position = np.repeat(np.arange(len(words)), sizes)
        entry = np.arange(len(position)) + np.repeat(self.indptr[words] - np.cumsum(sizes) + sizes, sizes)
        return position, self.topics[entry], self.values[entry]

    def present(self, words):
        """The positions of the words that have entries."""
        return np.flatnonzero(self._sizes(words))

    def totals(self, n_features, base):
        """Sums of the parameters of each topic, ndarray of shape (n_components,); base are the others."""
        number, total = self.sums
        return (n_features - number) * base + total

    def _sizes(self, words):
        return self.indptr[words + 1] - self.indptr[words]


@dataclass(frozen=True)
class ScaledEntries:
    """PriorEntries times a factor for each topic, multiplied when they are asked for.

    Attributes
    ----------
    entries : PriorEntries
    factor : (n_components,)
    """

    entries: PriorEntries
    factor: np.ndarray

    def at(self, words):
        """As PriorEntries.at."""
        position, topics, values = self.entries.at(words)
        return position, topics, values * self.factor[topics]

    def present(self, words):
        """As PriorEntries.present."""
        return self.entries.present(words)


def prior_totals(n_features, topic_word_prior, entries):
    """Sums of the Dirichlet parameters of topics: a number, or one for each topic where there are entries."""
    if entries is None:
        return n_features * topic_word_prior
    return entries.totals(n_features, topic_word_prior)


def is_matrix(value):
    """Whether a topic_word_prior is neither a number nor None nor a string."""
    return not (value is None or isinstance(value, Real | str))


def check_topic_word_prior(value, n_components):
    """Raise an error for a topic_word_prior that is neither a number nor Dirichlet parameters."""
    if isinstance(value, Mapping):
        raise TypeError(
            f"topic_word_prior is a {type(value).__name__}; must be a number or a matrix. "
            "sktopic.seeding.seed_prior(groups, feature_names, n_components) makes a matrix from seed words."
        )
    if is_matrix(value):
        _as_matrix(value, n_components, None)


def split_topic_word_prior(value, n_components, n_features, default):
    """Return the number that most entries of a topic_word_prior have, and PriorEntries of the others or None.

    default : the number of None, and of the entries that a sparse matrix does not store
    """
    if not is_matrix(value):
        return (default if value is None else float(value)), None
    matrix, base = _as_matrix(value, n_components, n_features), default
    if sp.issparse(matrix) and 2 * matrix.nnz > n_components * n_features:
        stored, matrix = matrix.tocoo(), np.full(matrix.shape, default)
        matrix[stored.row, stored.col] = stored.data
    if not sp.issparse(matrix):
        # The value of more than half of the entries, if there is one. So it is that of all if few are stored.
        # (Sorting is faster than np.partition, by far where many are equal.)
        base = float(np.sort(matrix, axis=None)[matrix.size // 2])
        word, topic = np.nonzero((matrix != base).T)
        matrix = sp.csc_array((matrix[topic, word], (topic, word)), shape=matrix.shape)
    entries = PriorEntries.of_matrix(matrix)
    return base, (entries if len(entries.values) else None)


def _as_matrix(value, n_components, n_features):
    """A matrix of Dirichlet parameters as float64, checked: ndarray, or CSC without zeros and duplicates."""
    wanted = f"({n_components}, {'n_features' if n_features is None else n_features})"
    if sp.issparse(value):
        value = check_sparse_structure(value, own=True, name="topic_word_prior")
    try:
        shape = np.shape(value)
        found = f"shape {shape}"
    except ValueError:
        shape, found = (), "rows of different lengths"
    if len(shape) != 2 or shape[0] != n_components or n_features not in (None, shape[1]):
        raise ValueError(
            f"topic_word_prior has {found}; a number, or an array or sparse matrix of shape {wanted}, "
            "is allowed."
        )
    try:
        if sp.issparse(value):
            if value.dtype.kind not in "iuf":
                raise TypeError
            matrix = sp.csc_array(value, dtype=np.float64, copy=True)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            parameters = matrix.data
        else:
            parameters = matrix = real_numbers(value, booleans=False)
    except (TypeError, ValueError):
        raise ValueError(
            "topic_word_prior has entries that are no real numbers; positive ones are allowed."
        ) from None
    check_parameters(parameters, "topic_word_prior")
    return matrix


# The prior of a fitted model, while topics are edited and words are added


@dataclass(frozen=True, eq=False)
class TopicWordPrior(State):
    """Dirichlet parameters of topics: a number, and the entries of a matrix that have another value.

    A matrix that is given later may be one for the topics and words at the start. So it is known which topics
    these are in by now.

    Attributes
    ----------
    base : float
    entries : PriorEntries, or None if there are none
    topic_of_start : (n_topics at the start,) the topic that each of these is in by now, or -1; None before
        the first edit
    words_of_start : (1,) the number of words at the start; None until words are added
    """

    base: float = number()
    entries: PriorEntries | None = part(PriorEntries, optional=True)
    topic_of_start: np.ndarray | None = array(np.int64, None, optional=True)
    words_of_start: np.ndarray | None = array(np.int64, 1, optional=True)

    def check(self, n_features, n_topics):
        """Raise ValueError for numbers that do not fit together: kernels trust them."""
        if self.base != 0.0:  # which some methods allow
            check_parameters(np.array([self.base]), "topic_word_prior")
        if self.entries is not None:
            try:
                self.entries.check(n_features)
            except ValueError as error:
                raise ValueError(f"of its topic_word_prior, {error}") from None
        topics = self.topic_of_start
        if topics is not None and not (topics.min(initial=0) >= -1 and topics.max(initial=-1) < n_topics):
            raise ValueError(f"topic_of_start has other topics than the {n_topics} there are")


def n_topics_of_start(prior, n_topics):
    """The number of topics at the start, of which n_topics are left; and what a message adds to it."""
    if prior.topic_of_start is None:
        return n_topics, "in training"
    return len(prior.topic_of_start), "at the start, before some were merged or dropped"


def check_number_of_topics(n_components, n_trained, when="in training"):
    """Raise ValueError if n_components is no longer the number of topics with which training began."""
    if n_components != n_trained:
        raise ValueError(
            f"n_components={n_components!r} differs from the {n_trained} topics {when}; set it back, or call "
            "fit to start anew."
        )


@dataclass(frozen=True)
class WordPrior:
    """The prior of topics: a parameter's value, what None stands for, and how it is learned if 'auto'."""

    value: Any
    default: float
    rule: str = "fixed-point"

    @property
    def is_learned(self):
        return isinstance(self.value, str)

    def check_learned_from(self, prior):
        """Raise ValueError for a TopicWordPrior of 0, as in a forged file: it would stay 0."""
        if self.is_learned and prior.base == 0.0:
            raise ValueError("topic_word_prior must be positive to be learned, but is 0")

    def adopted(self, prior, n_components, word_counts, *, goes_on):
        """The prior after the parameter topic_word_prior was taken over.

        prior : TopicWordPrior
        n_components : number of topics at the start, which a matrix has
        word_counts : WordCounts; frozen topics keep the entries that they have
        goes_on : whether a number that is learned goes on from what it is
        """
        value, default = self.value, self.default
        if self.is_learned:  # and no matrix any more
            value, default = None, prior.base if goes_on else default
        present, n_topics = word_counts.n_features, word_counts.n_topics
        # A matrix may be that of the start, before words were added and topics edited.
        n_features = np.shape(value)[1] if is_matrix(value) else present
        if prior.words_of_start is None or n_features not in prior.words_of_start:
            n_features = present
        base, entries = split_topic_word_prior(value, n_components, n_features, default)
        if entries is not None:
            entries = entries.wider(present)
            if prior.topic_of_start is not None:
                entries = entries.edited(prior.topic_of_start, n_topics, base)
        if word_counts.frozen is not None:
            none = PriorEntries.none(present, n_topics)
            entries = (entries or none).taking(word_counts.frozen[0] > 0.0, prior.entries or none)
        has_entries = entries is not None and len(entries.values) > 0
        return replace(prior, base=base, entries=entries if has_entries else None)


def edited_prior(prior, edit):
    """The prior after a TopicEdit."""
    topics = np.arange(len(edit.into)) if prior.topic_of_start is None else prior.topic_of_start
    entries = prior.entries
    return replace(
        prior,
        entries=None if entries is None else entries.edited(edit.columns, edit.n_left, prior.base),
        topic_of_start=np.where(topics < 0, -1, edit.columns[topics]),
    )


def prior_of_more_words(prior, n_features, n_more):
    """The prior after n_more words were added to n_features."""
    start, entries = prior.words_of_start, prior.entries
    return replace(
        prior,
        entries=None if entries is None else entries.wider(n_features + n_more),
        words_of_start=np.array([n_features]) if start is None else start,
    )


def given_doc_topic_prior(value, n_components, prior, n_topics):
    """The parameter doc_topic_prior for the topics that are left; merged ones have the sums.

    n_components : number of topics at the start
    prior : TopicWordPrior, which knows where these are by now
    """
    given, topics = np.array(check_prior(value, n_components)), prior.topic_of_start
    if topics is None:
        return given
    left = topics >= 0
    return np.bincount(topics[left], weights=given[left], minlength=n_topics)
