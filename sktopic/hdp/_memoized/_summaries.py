"""Summaries of batches: the sums that determine the bound of the corpus.

States hold the summaries of all batches as a few long arrays (`StoredSummaries`).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from sktopic._inference._pieces import document_pieces
from sktopic._kernels.hdp._memoized import keep_shares
from sktopic._runtime._arrays import are_bounds, are_lengths
from sktopic._state._fields import State, array

# Shares of topics in a cell below this are dropped, and the others made larger: a share of that size is worth
# some 1e-6 nats a token, and ten times as many would be kept at 1e-12.
SMALLEST_SHARE = 1e-6
INDEX = np.dtype(np.int32)
# What the kernel returns of no documents: sizes, topics and tokens.
_NOTHING = np.empty(0, dtype=np.int64), np.empty(0, dtype=INDEX), np.empty(0)


@dataclass
class Sums:
    """Sums of the tokens of topics. Rows are words or documents.

    Attributes
    ----------
    row, topic, tokens : (n_entries,), sorted by row and topic
    """

    row: np.ndarray
    topic: np.ndarray
    tokens: np.ndarray

    def dense(self, n_rows, n_topics):
        """Return the sums as an array (n_rows, n_topics)."""
        return sp.csr_array((self.tokens, (self.row, self.topic)), shape=(n_rows, n_topics)).toarray()


def summed(row, topic, tokens, n_topics):
    """Return the Sums of entries, several of which may have the same row and topic."""
    place = row.astype(np.int64) * n_topics + topic
    order = np.argsort(place, kind="stable")
    place, tokens = place[order], tokens[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    tokens = np.add.reduceat(tokens, first) if len(first) else tokens
    row, topic = np.divmod(place[first], n_topics)
    return Sums(row.astype(INDEX), topic.astype(INDEX), tokens)


def joined_sums(parts, n_topics):
    """Return the Sums of pairs (Sums, new numbers of their topics). Topics with number -1 are left out."""
    row = np.concatenate([sums.row for sums, _ in parts])
    topic = np.concatenate([numbers[sums.topic] for sums, numbers in parts])
    tokens = np.concatenate([sums.tokens for sums, _ in parts])
    kept = topic >= 0
    return summed(row[kept], topic[kept], tokens[kept], n_topics)


@dataclass
class CellTopics:
    """The topics of the cells of a batch (see _kernels.hdp._memoized).

    Attributes
    ----------
    batch : DocumentBatch
    bounds : (n_cells + 1,) int64, bounds of the entries of each cell
    topic, tokens : (n_entries,)
    n_topics : number of topics of the corpus
    """

    batch: object
    bounds: np.ndarray
    topic: np.ndarray
    tokens: np.ndarray
    n_topics: int

    @classmethod
    def of(cls, counts, workers):
        """Return the CellTopics of VariationalCounts, without shares that are too small."""
        batch, rows = counts.batch, counts.topics.rows
        smallest = min(SMALLEST_SHARE, 1.0 / rows.shape[1])
        pieces = [
            (*batch.cells(first, last), rows, counts.expectation[first:last], smallest)
            for first, last in document_pieces(batch, workers)
        ]
        parts = workers.map(keep_shares, pieces) or [_NOTHING]
        size, topic, tokens = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts))
        return cls(batch, np.concatenate([[0], np.cumsum(size)]), topic, tokens, rows.shape[1])

    def cell(self):
        """Return the cell of each entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def entropy(self):
        """Return - n phi log phi of each entry, without document weights."""
        count = self.batch.cell_count[self.cell()]
        return -self.tokens * np.log(np.maximum(self.tokens / count, np.finfo(float).tiny))

    def by_word(self):
        """Return the Sums by words, with documents by weight."""
        batch = self.batch
        weight = np.ones(len(batch.word_cell))
        if batch.sample_weight is not None:
            weight = batch.cell_weight()[batch.word_cell]
        return self._sums(weight, batch.word_cell, batch.word_indptr, batch.words)

    def by_document(self):
        """Return the Sums by documents."""
        n_cells = len(self.bounds) - 1
        return self._sums(np.ones(n_cells), np.arange(n_cells), self.batch.indptr)

    def _sums(self, weight, cell, bounds, rows=None):
        n_cells, n_rows = len(self.bounds) - 1, len(bounds) - 1
        cells = sp.csr_array((self.tokens, self.topic, self.bounds), shape=(n_cells, self.n_topics))
        sums = sp.csr_array((weight, cell, bounds), shape=(n_rows, n_cells)) @ cells
        sums.sort_indices()
        row = np.repeat(np.arange(n_rows) if rows is None else rows, np.diff(sums.indptr))
        return Sums(row.astype(INDEX), sums.indices.astype(INDEX), sums.data)


@dataclass
class BatchSummary:
    """The summary that a batch stores.

    Attributes
    ----------
    words : Sums by words of the vocabulary, with documents by weight
    documents : Sums by documents of the batch
    entropy : (n_topics,) - sum of n phi log phi over the cells, with documents by weight
    sample_weight : (n_documents,) weight of each document
    """

    words: Sums
    documents: Sums
    entropy: np.ndarray
    sample_weight: np.ndarray

    @classmethod
    def of(cls, cells):
        """Return the summary of CellTopics."""
        batch, entropy = cells.batch, cells.entropy()
        if batch.sample_weight is not None:
            entropy *= batch.cell_weight()[cells.cell()]
        # A bincount of nothing is of integers.
        entropy = np.bincount(cells.topic, weights=entropy, minlength=cells.n_topics).astype(np.float64)
        return cls(cells.by_word(), cells.by_document(), entropy, weights_of(batch))

    @property
    def n_documents(self):
        return len(self.sample_weight)

    def dense_documents(self):
        """Return the tokens of topics in documents, (n_documents, n_topics)."""
        return self.documents.dense(self.n_documents, len(self.entropy))

    def moved(self, columns, entropy, parts=()):
        """Return the summary after moves of topics.

        Parameters
        ----------
        columns : (n_topics,) new number of each topic, -1 if it is removed
        entropy : (n_new,) entropy of the new topics
        parts : list of (BatchSummary, new numbers of its topics) to add
        """
        parts, n = [(self, columns), *parts], len(entropy)
        words = joined_sums([(part.words, numbers) for part, numbers in parts], n)
        documents = joined_sums([(part.documents, numbers) for part, numbers in parts], n)
        return BatchSummary(words, documents, entropy, self.sample_weight)


def weights_of(batch):
    """Return the weight of each document of a DocumentBatch, (n_documents,)."""
    return np.ones(batch.n_documents) if batch.sample_weight is None else batch.sample_weight


def edited(summary, edit):
    """Return a summary after a TopicEdit, without the tokens of removed topics.

    The cells of merged topics are not stored. The loss of entropy by mixing is set to its upper limit, the
    loss in the sums over words.
    """
    columns, n = edit.columns, edit.n_left
    left = columns >= 0
    after = summary.moved(columns, np.bincount(columns[left], weights=summary.entropy[left], minlength=n))
    kept = columns[summary.words.topic]
    some, tokens = kept >= 0, after.words.tokens
    mixing = np.bincount(after.words.topic, weights=xlogy(tokens, tokens), minlength=n)
    tokens = summary.words.tokens[some]
    mixing -= np.bincount(kept[some], weights=xlogy(tokens, tokens), minlength=n)
    merged = edit.left(edit.merged)
    after.entropy[merged] -= mixing[merged]
    return after


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredSummaries(State):
    """The concatenated arrays of all BatchSummary, and the bounds of batches and documents.

    Attributes
    ----------
    lengths : (n_documents,) number of entries of each document
    bounds : (n_batches + 1, 3) numbers of word entries, document entries and documents before each batch
    """

    word: np.ndarray = array(INDEX, "word entries")
    topic: np.ndarray = array(INDEX, "word entries")
    tokens: np.ndarray = array(np.float64, "word entries")
    document_topic: np.ndarray = array(INDEX, "document entries")
    document_tokens: np.ndarray = array(np.float64, "document entries")
    sample_weight: np.ndarray = array(np.float64, "documents")
    lengths: np.ndarray = array(np.int64, "documents")
    entropy: np.ndarray = array(np.float64, "batches", "topics")
    bounds: np.ndarray = array(np.int64, None, 3)


def stored(summaries, n_topics):
    """Return the StoredSummaries of a list of BatchSummary."""

    def joined_as(dtype, arrays):
        return np.concatenate([np.empty(0, dtype), *arrays])

    words, documents = [s.words for s in summaries], [s.documents for s in summaries]
    sizes = [[len(s.words.row), len(s.documents.row), s.n_documents] for s in summaries]
    lengths = [np.bincount(s.documents.row, minlength=s.n_documents) for s in summaries]
    return StoredSummaries(
        word=joined_as(INDEX, [sums.row for sums in words]),
        topic=joined_as(INDEX, [sums.topic for sums in words]),
        tokens=joined_as(np.float64, [sums.tokens for sums in words]),
        document_topic=joined_as(INDEX, [sums.topic for sums in documents]),
        document_tokens=joined_as(np.float64, [sums.tokens for sums in documents]),
        sample_weight=joined_as(np.float64, [s.sample_weight for s in summaries]),
        lengths=joined_as(np.int64, lengths),
        entropy=joined_as(np.float64, [s.entropy for s in summaries]).reshape(-1, n_topics),
        bounds=np.cumsum([[0, 0, 0], *sizes], axis=0, dtype=np.int64),
    )


def restored(held):
    """Return the BatchSummary of each batch, as views of StoredSummaries."""
    summaries = []
    for b, (first, last) in enumerate(pairwise(held.bounds.tolist())):
        entries, of_documents, documents = (slice(*ends) for ends in zip(first, last))
        lengths = held.lengths[documents]
        document = np.repeat(np.arange(len(lengths), dtype=INDEX), lengths)
        summaries.append(
            BatchSummary(
                Sums(held.word[entries], held.topic[entries], held.tokens[entries]),
                Sums(document, held.document_topic[of_documents], held.document_tokens[of_documents]),
                held.entropy[b],
                held.sample_weight[documents],
            )
        )
    return summaries


def checked(held, n_features):
    """Return StoredSummaries; raise ValueError if arrays do not fit together, as in a damaged file."""
    bounds, lengths, n_topics = held.bounds, held.lengths, held.entropy.shape[1]
    ends = [len(held.tokens), len(held.document_tokens), len(held.sample_weight)]
    numbers = (held.word, n_features), (held.topic, n_topics), (held.document_topic, n_topics)
    sums = held.tokens, held.document_tokens, held.sample_weight
    fits = (
        len(bounds) == len(held.entropy) + 1
        and are_bounds(bounds, ends)
        and are_lengths(lengths, ends[1])
        and np.array_equal(np.append(0, np.cumsum(lengths))[bounds[:, 2]], bounds[:, 1])
        and all(((array >= 0) & (array < n)).all() for array, n in numbers)
        and all(((array >= 0.0) & (array < np.inf)).all() for array in sums)
    )
    if fits:
        return held
    raise ValueError(
        "the fitted state is damaged: the sums of batches do not fit together. Load it from an "
        "intact file, or call fit."
    )


def after_edit(held, edit):
    """Return the StoredSummaries after a TopicEdit."""
    return stored([edited(summary, edit) for summary in restored(held)], edit.n_left)
