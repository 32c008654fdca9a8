"""What batches of documents leave behind: the sums that the bound of the corpus is made of."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from sktopic._inference._pieces import document_pieces, joined
from sktopic._kernels._memoized import keep_shares

# Shares of topics in a cell below this are dropped, and the others made larger: a share of that size is worth
# some 1e-6 nats a token, and ten times as many would be kept at 1e-12.
SMALLEST_SHARE = 1e-6
INDEX = np.dtype(np.int32)


@dataclass
class CellTopics:
    """The topics of the cells of a batch (see _kernels._memoized).

    Attributes
    ----------
    batch : DocumentBatch
    bounds : (n_cells + 1,) int64, of the topics of each cell
    topic, tokens : (n,) of all cells
    n_topics : of the corpus
    """

    batch: object
    bounds: np.ndarray
    topic: np.ndarray
    tokens: np.ndarray
    n_topics: int

    @classmethod
    def of(cls, counts, workers):
        """Those of VariationalCounts, without the shares that are too small."""
        batch, rows = counts.batch, counts.topics.rows
        smallest = min(SMALLEST_SHARE, 1.0 / rows.shape[1])
        pieces = [
            (*batch.cells(first, last), rows, counts.expectation[first:last], smallest)
            for first, last in document_pieces(batch, workers)
        ]
        parts = [_Kept(*part) for part in workers.map(keep_shares, pieces)] or [_NOTHING]
        size, topic, tokens = (
            joined([getattr(part, name) for part in parts]) for name in ("size", "topic", "tokens")
        )
        return cls(batch, np.concatenate([[0], np.cumsum(size)]), topic, tokens, rows.shape[1])

    def cell(self):
        """The cell of each entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def entropy(self):
        """- n phi log phi of each entry, once."""
        count = self.batch.cell_count[self.cell()]
        return -self.tokens * np.log(np.maximum(self.tokens / count, np.finfo(float).tiny))

    def by_word(self):
        """Sums over the batch, (n_words, n_topics) CSR; a document counts as often as its weight says."""
        batch = self.batch
        weight = np.ones(len(batch.word_cell))
        if batch.sample_weight is not None:
            weight = batch.cell_weight()[batch.word_cell]
        return self._sums(weight, batch.word_cell, batch.word_indptr)

    def by_document(self):
        """Tokens of topics in documents, (n_documents, n_topics) CSR."""
        n_cells = len(self.bounds) - 1
        return self._sums(np.ones(n_cells), np.arange(n_cells), self.batch.indptr)

    def _sums(self, weight, cell, bounds):
        n_cells = len(self.bounds) - 1
        cells = sp.csr_array((self.tokens, self.topic, self.bounds), shape=(n_cells, self.n_topics))
        sums = sp.csr_array((weight, cell, bounds), shape=(len(bounds) - 1, n_cells)) @ cells
        sums.sort_indices()
        return sums


@dataclass
class _Kept:
    size: np.ndarray
    topic: np.ndarray
    tokens: np.ndarray


_NOTHING = _Kept(np.empty(0, dtype=np.int64), np.empty(0, dtype=INDEX), np.empty(0))


@dataclass
class BatchSummary:
    """What a batch leaves behind.

    Attributes
    ----------
    word, topic, tokens : (n_entries,) expected tokens of words in topics, each document as often as it counts
    entropy : (n_topics,) - sum of n phi log phi over the cells, likewise
    bounds : (n_documents + 1,) int64, of the entries of each document
    document_topic, document_tokens : (n_document_entries,) its expected tokens of topics
    sample_weight : (n_documents,) as how many each counts
    """

    word: np.ndarray
    topic: np.ndarray
    tokens: np.ndarray
    entropy: np.ndarray
    bounds: np.ndarray
    document_topic: np.ndarray
    document_tokens: np.ndarray
    sample_weight: np.ndarray

    @classmethod
    def of(cls, cells):
        """That of CellTopics."""
        batch, words, documents = cells.batch, cells.by_word(), cells.by_document()
        entropy = cells.entropy()
        if batch.sample_weight is not None:
            entropy *= batch.cell_weight()[cells.cell()]
        weight = np.ones(batch.n_documents) if batch.sample_weight is None else batch.sample_weight
        return cls(
            np.repeat(batch.words, np.diff(words.indptr)).astype(INDEX),
            words.indices.astype(INDEX),
            words.data,
            # A bincount of nothing is of integers.
            np.bincount(cells.topic, weights=entropy, minlength=cells.n_topics).astype(np.float64),
            documents.indptr.astype(np.int64),
            documents.indices.astype(INDEX),
            documents.data,
            weight,
        )

    @property
    def n_documents(self):
        return len(self.sample_weight)

    @property
    def n_topics(self):
        return len(self.entropy)

    def document(self):
        """The document of each of their entries."""
        return np.repeat(np.arange(self.n_documents), np.diff(self.bounds))

    def dense_documents(self):
        """Tokens of topics in documents, (n_documents, n_topics)."""
        shape = self.n_documents, self.n_topics
        return sp.csr_array((self.document_tokens, self.document_topic, self.bounds), shape=shape).toarray()

    def add_to(self, tokens):
        """Add the tokens to an array (n_features, n_topics)."""
        tokens[self.word, self.topic] += self.tokens

    def with_documents(self, documents, other):
        """The summary with some documents, which have nothing here, as they are in another."""
        n = self.n_topics
        document, topic, tokens = summed(
            np.append(self.document(), documents[other.document()]),
            np.append(self.document_topic, other.document_topic),
            np.append(self.document_tokens, other.document_tokens),
            n,
        )
        return BatchSummary(
            *summed(
                np.append(self.word, other.word),
                np.append(self.topic, other.topic),
                np.append(self.tokens, other.tokens),
                n,
            ),
            self.entropy + other.entropy,
            np.searchsorted(document, np.arange(self.n_documents + 1)),
            topic,
            tokens,
            self.sample_weight,
        )

    def moved(self, columns, entropy, parts):
        """The summary after moves of topics.

        columns : (n_topics,) the new number of each topic, -1 of those that are split; entropy : (n_new,) of
        the new topics; parts : list of (PartSums, numbers of the parts among the new topics)
        """
        n_topics, kept, had = len(entropy), columns[self.topic] >= 0, columns[self.document_topic] >= 0
        words = [(self.word[kept], columns[self.topic][kept], self.tokens[kept])]
        documents = [
            (self.document()[had], columns[self.document_topic][had], self.document_tokens[had]),
        ]
        for sums, numbers in parts:
            words.append((sums.word, numbers[sums.part], sums.tokens))
            documents.append((sums.document, numbers[sums.document_part], sums.document_tokens))
        document, topic, tokens = summed(*map(np.concatenate, zip(*documents)), n_topics)
        bounds = np.searchsorted(document, np.arange(self.n_documents + 1))
        return BatchSummary(
            *summed(*map(np.concatenate, zip(*words)), n_topics),
            entropy,
            bounds,
            topic,
            tokens,
            self.sample_weight,
        )


def summed(row, column, values, n_columns):
    """Entries of a matrix with those of the same place summed up: row and column ascending, and values."""
    place = row.astype(np.int64) * n_columns + column
    order = np.argsort(place, kind="stable")
    place, values = place[order], values[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    values = np.add.reduceat(values, first) if len(first) else values
    row, column = np.divmod(place[first], n_columns)
    return row.astype(INDEX), column.astype(INDEX), values


def edited(summary, edit):
    """A summary after a TopicEdit, without the tokens of topics that go.

    Of topics that are merged nobody knows the cells any more: what their entropy loses by mixing is taken for
    the most that it can be, that of the sums over words.
    """
    columns, n = edit.columns, edit.n_left
    kept = columns[summary.topic]
    some, left = kept >= 0, columns >= 0
    after = summary.moved(columns, np.bincount(columns[left], weights=summary.entropy[left], minlength=n), [])
    mixing = np.bincount(after.topic, weights=xlogy(after.tokens, after.tokens), minlength=n)
    tokens = summary.tokens[some]
    mixing -= np.bincount(kept[some], weights=xlogy(tokens, tokens), minlength=n)
    merged = edit.left(edit.merged)
    after.entropy[merged] -= mixing[merged]
    return after
