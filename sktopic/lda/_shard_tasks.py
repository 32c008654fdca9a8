"""Collapsed Gibbs sampling of documents and counts that are in parts, perhaps on several machines.

Pure functions, of which a loop over sweeps is made: of *shards* of documents with the topics of their
tokens, and of counts of *ranges of words* in topics. What goes from one to the other are the counts of the
words that a shard has, and how a sweep has changed them. The result is that of `CollapsedGibbsLDA` with as
many shards, to the last bit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from sktopic._arrays import row_blocks
from sktopic._batch_sampler import SWEEP_KEY
from sktopic._documents import DocumentReader, chunk_targets, ranges_between
from sktopic._kernels._collapsed_gibbs import transfer_counts
from sktopic._kernels._documents import clump_bounds
from sktopic._kernels._rng import combine_keys
from sktopic._prior import check_prior, default_topic_word_prior
from sktopic._token_counts import (
    LARGEST_EXACT_TOTAL,
    WORDS_TOGETHER,
    are_whole,
    in_order,
    log_rising_change,
    prior_gains,
)
from sktopic._topic_word_prior import is_matrix
from sktopic.lda._collapsed_gibbs import initial_draws, learned_prior, learned_topic_prior, total_gains
from sktopic.lda._shards import Shard, TopicPrior

# What whole numbers are sent as: the first of these that holds them.
INTEGERS = [np.uint8, np.int8, np.uint16, np.int16, np.int32]


def check_shards(estimator):
    """Raise ValueError for wrong parameters of a CollapsedGibbsLDA, and those without a rule here."""
    estimator._check_settings()
    owner = "CollapsedGibbsLDA in shards on a cluster"
    if is_matrix(estimator.topic_word_prior):
        raise ValueError(
            f"{owner} takes no matrix as topic_word_prior: topics would change places between sweeps. Train "
            "OnlineEMLDA with it, or this estimator on one machine."
        )
    if estimator.components_init is not None:
        raise ValueError(
            f"{owner} starts from random topics and takes no components_init. Train OnlineEMLDA with "
            "it, or this estimator on one machine."
        )


# Documents


class BlockSize(NamedTuple):
    """Of a block of documents: documents, clumps, the sum of counts, and whether these are whole numbers."""

    n_documents: int
    n_clumps: int
    n_tokens: float
    whole: bool


def block_size(X):
    """BlockSize of documents as CSR."""
    batch = read_documents(X)
    counts = batch.cell_count
    return BlockSize(X.shape[0], batch.n_clumps, float(counts.sum()), are_whole(counts))


def count_exactly(sizes):
    """Whether the tokens of all blocks can be added to counts and removed without rounding anything."""
    return (
        all(size.whole for size in sizes) and in_order(size.n_tokens for size in sizes) < LARGEST_EXACT_TOTAL
    )


def wanted_cuts(sizes, n_shards):
    """Yield (block, clumps before it, how many clumps are to be before each cut), of blocks that are cut."""
    n_documents, n_clumps = (sum(size[i] for size in sizes) for i in (0, 1))
    targets, before = chunk_targets(n_shards, n_documents, n_clumps), 0
    for block, size in enumerate(sizes):
        inside = targets[(targets > before) & (targets <= before + size.n_clumps)]
        if len(inside):
            yield block, before, inside
        before += size.n_clumps


def find_cuts(X, before, targets):
    """Before which documents of a block the cuts are (see wanted_cuts)."""
    return np.searchsorted(before + read_documents(X).clump_indptr, targets)


def shard_ranges(sizes, cuts):
    """The ranges (first, last) of documents that shards have; cuts: {block: cuts in it}."""
    starts = np.cumsum([0, *(size.n_documents for size in sizes)])
    everywhere = [start for block, found in cuts.items() for start in (starts[block] + found).tolist()]
    return ranges_between(everywhere, int(starts[-1]))


def read_documents(X):
    """The documents of X, from as_documents, as a DocumentBatch."""
    return DocumentReader(X).batch(np.arange(X.shape[0]))


def batch_tokens(batch):
    """The tokens of a batch."""
    return batch.lengths.sum()


# The chain


@dataclass(frozen=True)
class Chain:
    """What all sweeps have in common.

    Attributes
    ----------
    n_features, n_components, seed : int
    exact : whether adding and removing tokens rounds nothing
    doc_topic_prior : 'auto' or 'auto-symmetric' where that of proportions is learned, else None
    learns_topic_word_prior : bool
    """

    n_features: int
    n_components: int
    seed: int
    exact: bool
    doc_topic_prior: str | None
    learns_topic_word_prior: bool

    @classmethod
    def of(cls, estimator, n_features, exact):
        kind = estimator.doc_topic_prior
        return cls(
            n_features,
            int(estimator.n_components),
            int(check_random_state(estimator.random_state).randint(2**31 - 1)),
            exact,
            kind if isinstance(kind, str) else None,
            isinstance(estimator.topic_word_prior, str),
        )

    @property
    def learns(self):
        return self.learns_topic_word_prior or self.doc_topic_prior is not None


class Priors(NamedTuple):
    """The Dirichlet parameters of proportions, (n_components,), and of topics."""

    proportions: np.ndarray
    topics: float

    @classmethod
    def of(cls, estimator):
        """Those that sampling begins with."""
        beta = estimator.topic_word_prior
        if beta is None or isinstance(beta, str):
            beta = default_topic_word_prior(estimator.n_components)
        return cls(check_prior(estimator.doc_topic_prior, estimator.n_components), float(beta))


# Counts on their way


def _positions(starts, sizes):
    """The numbers start, start + 1, ... of ranges of these sizes, one range after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


def topic_type(n_topics):
    """What numbers of topics are sent and kept as."""
    return np.dtype(np.uint16 if n_topics <= 2**16 else np.int32)


class WordCounts(NamedTuple):
    """Numbers of some words in topics, those that are not zero.

    Attributes
    ----------
    words : (n_words,) int32, the columns of X
    indptr : (n_words + 1,) where the entries of each are
    topics, values : (n_entries,)
    """

    words: np.ndarray
    indptr: np.ndarray
    topics: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, words, n_topics, blocks):
        """From dense blocks (some words, n_topics), one after the other."""
        sizes, topics, values = [[0]], [], []
        for block in blocks:
            entries = np.flatnonzero(block != 0.0)  # of booleans: far faster than of numbers
            bounds = n_topics * np.arange(len(block) + 1)
            sizes.append(np.diff(np.searchsorted(entries, bounds)))
            begin = np.repeat(bounds[:-1], sizes[-1])
            topics.append((entries - begin).astype(topic_type(n_topics)))
            values.append(_narrow(block.reshape(-1)[entries]))
        topics, values = (
            np.concatenate(arrays) if arrays else np.empty(0, int) for arrays in (topics, values)
        )
        return cls(words, np.cumsum(np.concatenate(sizes)), topics, _narrow(values))

    @classmethod
    def joined(cls, parts):
        """All words of several, one after the other."""
        words, topics, values = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "topics", "values")
        )
        sizes = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
        return cls(words, np.cumsum(sizes), topics, values)

    def at(self, rows):
        """Those of the words at some positions, in that order."""
        sizes = np.diff(self.indptr)[rows]
        entries = _positions(self.indptr[rows], sizes)
        indptr = np.append(0, np.cumsum(sizes))
        return WordCounts(self.words[rows], indptr, self.topics[entries], self.values[entries])

    def between(self, first, last):
        """Those of words first to last; words have to be ascending."""
        a, b = np.searchsorted(self.words, [first, last])
        some = slice(self.indptr[a], self.indptr[b])
        return WordCounts(
            self.words[a:b], self.indptr[a : b + 1] - self.indptr[a], self.topics[some], self.values[some]
        )

    def dense(self, rows, n_topics):
        """Of the words at some positions, as an array (n_rows, n_topics)."""
        counts = np.zeros((len(rows), n_topics))
        self.at(rows)._add(counts, np.arange(len(rows)))
        return counts

    def add_to(self, counts, first):
        """Add them to counts, whose first row is that of word first."""
        for rows in row_blocks(counts[: len(self.words)]):
            some = self.at(np.arange(len(self.words))[rows])
            some._add(counts, some.words - first)

    def _add(self, counts, rows):
        entries = np.repeat(counts.shape[1] * rows.astype(np.int64), np.diff(self.indptr)) + self.topics
        counts.reshape(-1)[entries] += self.values


def _narrow(values):
    """The same numbers in a smaller type that has them all, if there is one."""
    if values.dtype.kind in "iu" or are_whole(values):
        smallest, largest = values.min(initial=0), values.max(initial=0)
        for integer in INTEGERS:
            if np.iinfo(integer).min <= smallest and largest <= np.iinfo(integer).max:
                return values.astype(integer)
    return values


class WordTokens(NamedTuple):
    """The tokens of some words with their topics; the arrays are those of Shard.

    Where counts are fractions, these are what is added up, in the order of the tokens.
    """

    word_indptr: np.ndarray
    words: np.ndarray
    cell_count: np.ndarray
    z: np.ndarray

    def between(self, first, last):
        """Those of words first to last."""
        inside = np.flatnonzero((self.words >= first) & (self.words < last))
        if len(inside) == len(self.words):
            return self
        token_indptr = clump_bounds(self.cell_count)[self.word_indptr]
        n_cells, n_tokens = (np.diff(indptr)[inside] for indptr in (self.word_indptr, token_indptr))
        return WordTokens(
            np.append(0, np.cumsum(n_cells)),
            self.words[inside],
            self.cell_count[_positions(self.word_indptr[inside], n_cells)],
            self.z[_positions(token_indptr[inside], n_tokens)],
        )

    def add_to(self, counts, first):
        """Count them in counts, whose first row is that of word first."""
        transfer_counts(
            word_indptr=self.word_indptr,
            words=self.words - np.int32(first),
            cell_count=self.cell_count,
            before=np.full_like(self.z, -1),
            z=self.z,
            counts=counts,
        )


# Shards


class ShardState(NamedTuple):
    """What a sweep leaves of a Shard.

    Attributes
    ----------
    z : topics of tokens
    topics : state of its DocumentTopics
    change : of counts by that sweep; where these are fractions, all tokens
    """

    z: np.ndarray
    topics: dict[str, np.ndarray]
    change: WordCounts | WordTokens


def make_shard(chain, priors, batch, n_tokens):
    """The Shard of a DocumentBatch; n_tokens: those of the batches of all shards."""
    most_tokens = in_order(n_tokens)
    smallest_ratio = priors.topics / (most_tokens + chain.n_features * priors.topics)
    return Shard.of(batch, priors.proportions, smallest_ratio)


def words_of(shard):
    """The words of a shard, ascending."""
    return np.sort(shard.words)


def assign_shard(chain, shard, i):
    """Give the tokens of shard i random topics; returns ShardState."""
    n_clumps = int(clump_bounds(shard.cell_count)[-1])
    return place_tokens(
        chain, shard, (initial_draws(chain.seed, i, n_clumps) * chain.n_components).astype(np.int32)
    )


def kept_topics(shard, state):
    """What is kept of a ShardState in a file: arrays by name, from which place_tokens makes it again."""
    return {"z": state.z, **_holding(shard, state).topics.order}


def place_tokens(chain, shard, z, **order):
    """Give tokens the topics z; returns ShardState.

    order : see kept_topics

    Raises
    ------
    ValueError
        For topics that these documents cannot have.
    """
    shard = shard.unassigned()
    if z.shape != shard.z.shape or not 0 <= z.min(initial=0) <= z.max(initial=0) < chain.n_components:
        raise ValueError("the tokens have other numbers, or topics that there are not")
    shard.z[:] = z
    if order:
        shard.topics.fill_in_order(shard.z, order)
    else:
        shard.list_topics()
    if not chain.exact:
        return _state_of(shard, _tokens_of(shard))
    changes = (
        _change(part, np.full_like(part.z, -1), (len(part.words), chain.n_components))
        for _, part in shard.by_words(WORDS_TOGETHER)
    )
    return _state_of(shard, _ascending(WordCounts.of(shard.words, chain.n_components, changes)))


def sweep_shard(chain, priors, totals, shard, state, counts, i, n_sweeps):
    """Draw the topics of all tokens of shard i once; returns ShardState.

    Parameters
    ----------
    totals : (n_components,) tokens in topics
    counts : list of WordCounts, of the words of the shard, ascending
    n_sweeps : how many there were before
    """
    counts, order = WordCounts.joined(counts), np.argsort(shard.words)
    row_of_word = np.empty_like(order)
    row_of_word[order] = np.arange(len(order))
    shard = shard.holding(state.z.copy(), {name: array.copy() for name, array in state.topics.items()})
    topic_prior = TopicPrior.of(chain.n_features, chain.n_components, priors.topics)
    key = combine_keys(combine_keys(chain.seed, SWEEP_KEY, n_sweeps), i)

    def changes(totals):
        for words, part in shard.by_words(WORDS_TOGETHER):
            rows = np.arange(len(part.words), dtype=np.int32)
            present = counts.dense(row_of_word[words], chain.n_components)
            swept = part.sweep(present, False, totals, priors.proportions, topic_prior, key, rows)
            totals = swept.totals
            yield _change(part, swept.before, present.shape) if chain.exact else present[:0]

    change = WordCounts.of(shard.words, chain.n_components, changes(totals))
    if chain.exact:
        return _state_of(shard, _ascending(change))
    shard.list_topics()
    return _state_of(shard, _tokens_of(shard))


def _change(shard, before, shape):
    change = np.zeros(shape)
    shard.transfer(before, change, np.arange(len(shard.words), dtype=np.int32))
    return change


def _ascending(counts):
    return counts.at(np.argsort(counts.words))


def _state_of(shard, change):
    return ShardState(shard.z, shard.topics.state, change)


def _holding(shard, state):
    return shard.holding(state.z, state.topics)


def _tokens_of(shard):
    return WordTokens(shard.word_indptr, shard.words, shard.cell_count, shard.z)


def shard_gains(priors, shard, state):
    """What the prior of proportions is learned from (see Shard.prior_gains)."""
    return _holding(shard, state).prior_gains(priors.proportions)


def shard_terms(priors, shard, state):
    """What the documents of a shard add to the log-likelihood."""
    return _holding(shard, state).log_proportions(priors.proportions)


# Ranges of words


def word_ranges(n_features, n_ranges):
    """Cut the words into ranges (first, last), which begin where sums over words do."""
    n_blocks = -(-n_features // WORDS_TOGETHER)
    bounds = WORDS_TOGETHER * (np.arange(n_ranges + 1) * n_blocks // n_ranges)
    return ranges_between(np.minimum(bounds, n_features), n_features)


def merge_counts(chain, first, last, counts, changes):
    """Counts (last - first, n_components) of words after changes by all shards; counts: before, or None."""
    if counts is None or not chain.exact:  # tokens are counted anew
        counts = np.zeros((last - first, chain.n_components))
    else:
        counts = counts.copy()
    for change in changes:
        change.add_to(counts, first)
    return counts


def part_of_counts(counts, first, words):
    """The counts of those of some ascending words that are in a range, which begins with word first."""
    inside = words[slice(*np.searchsorted(words, [first, first + len(counts)]))]
    blocks = (counts[inside[some] - first] for some in row_blocks(counts[: len(inside)]))
    return WordCounts.of(inside, counts.shape[1], blocks)


def part_of_change(state, first, last):
    """The change of counts of words first to last, of a ShardState."""
    return state.change.between(first, last)


def add_draw(counts, draws_sum):
    """The sum of the counts of all draws so far."""
    return draws_sum + counts


def mean_draw(draws_sum, n_draws):
    return draws_sum / n_draws


def _blocks_of(counts):
    return [counts[first : first + WORDS_TOGETHER] for first in range(0, len(counts), WORDS_TOGETHER)]


def word_gains(priors, counts):
    """What the prior of topics is learned from, block by block."""
    return [prior_gains(block, priors.topics) for block in _blocks_of(counts)]


def word_terms(priors, counts):
    """What the words add to the log-likelihood, block by block."""
    return [log_rising_change(block, np.zeros_like(block), priors.topics) for block in _blocks_of(counts)]


# All


def learned_priors(chain, priors, totals, of_shards, of_words):
    """Priors after an iteration of Minka's fixed points.

    of_shards, of_words : shard_gains of all shards, word_gains of all ranges; empty where not needed
    """
    proportions, topics = priors
    if chain.doc_topic_prior is not None:
        gains = total_gains(proportions, of_shards)
        proportions = learned_prior(chain.doc_topic_prior, proportions, gains)
    if chain.learns_topic_word_prior:
        gains = (gain for some in of_words for gain in some)
        topics = learned_topic_prior(topics, gains, totals, chain.n_features)
    return Priors(proportions, topics)


def log_likelihood(chain, priors, totals, of_words, of_shards):
    """The log joint probability of words and topics, from word_terms and shard_terms of all."""
    sums = chain.n_features * priors.topics
    norm = gammaln(totals + sums) - gammaln(np.zeros_like(totals) + sums)
    words = in_order(term for some in of_words for term in some) - norm.sum()
    return in_order((term for some in of_shards for term in some), words)


def fitted(estimator, chain, documents, priors, gains, trace, counts, totals):
    """The estimator, an unfitted one, as its own fit would leave it.

    Parameters
    ----------
    documents : what has their n_documents and n_features
    gains : shard_gains of all shards, or none where the prior of proportions is given
    trace : log_likelihood_
    counts : iterable of ((first, last), counts of these words)
    totals : of the counts; None for means of draws
    """
    estimator.n_features_in_ = documents.n_features
    estimator._start(documents.n_features)
    for (first, last), rows in counts:
        estimator._counts[first:last] = rows
    estimator._totals = estimator._counts.sum(axis=0) if totals is None else totals
    estimator._seed = chain.seed
    estimator.doc_topic_prior_, estimator.topic_word_prior_ = priors
    if gains:
        estimator._gains = estimator._gains + total_gains(priors.proportions, gains)
    estimator.log_likelihood_ = trace
    estimator.n_iter_ = estimator._n_sweeps = int(estimator.max_iter)
    estimator.n_samples_seen_ = documents.n_documents
    return estimator
