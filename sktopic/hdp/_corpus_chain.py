"""Collapsed Gibbs sampling of a corpus, some documents at a time, with topics stored for all tokens."""

from dataclasses import dataclass

import numpy as np

from sktopic._documents._matrices import DocumentReader
from sktopic._inference._token_counts import are_whole, log_rising
from sktopic._kernels._groups import RootTopics, TableLists
from sktopic._kernels.documents._reading import clump_bounds
from sktopic._kernels.hdp._gibbs import draw_tables, list_topics, log_seatings
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._arrays import rows_of
from sktopic.hdp._restaurants import SMALLEST_WEIGHT, Restaurants, empty_lists
from sktopic.hdp._root import log_root
from sktopic.hdp._window import Window


@dataclass
class Visit:
    """Result of sampling some documents.

    Attributes
    ----------
    rows : (n_documents,) positions of the documents
    words : (n_words,) their words
    topics : RootTopics of the whole corpus: tokens of these words, all tokens, and tables as root. The ids
        are -1 for new topics, else 0.
    clumps : (n_clumps,) positions of their clumps in the corpus
    z, lists : of these documents, as of CorpusChain
    """

    rows: np.ndarray
    words: np.ndarray
    topics: RootTopics
    clumps: np.ndarray
    z: np.ndarray
    lists: TableLists


class CorpusChain:
    """The documents of a corpus, with the topics of their tokens (clumps) and the tables of these topics.

    Parameters
    ----------
    X : CSR matrix from as_documents

    Attributes
    ----------
    documents : DocumentBatch of all documents
    z : (n_clumps,) int32, topic of each clump, document by document
    lists : TableLists of the documents
    tables : (n_columns,) float64, number of tables of each topic
    """

    def __init__(self, X):
        self.documents = DocumentReader(X).batch(np.arange(X.shape[0]))
        self.z = self.documents.unassigned()
        self.lists = empty_lists(self.documents)
        self.tables = np.empty(0)

    @property
    def n_documents(self):
        return self.documents.n_documents

    @property
    def is_complete(self):
        """Whether all tokens have topics."""
        return bool(np.all(self.z >= 0))

    def lengths(self):
        """Number of clumps of each document, (n_documents,)."""
        return np.diff(self.documents.clump_indptr)

    def _clumps_of(self, rows):
        first = self.documents.clump_indptr
        return _ranges(first[rows], first[rows + 1] - first[rows])

    def assign(self, rows, z):
        """Assign topics to the clumps of some documents."""
        self.z[self._clumps_of(rows)] = z

    def seat(self, weights, key):
        """Draw the tables of all documents from their topics; weights: (n_columns,) b1 r of these."""
        documents = self.documents
        self.lists.n_entries[:], self.tables = 0, np.zeros(len(weights))
        list_topics(
            cell_document=documents.cell_document(),
            cell_count=documents.cell_count,
            lists=self.lists,
            z=self.z,
        )
        draw_tables(
            lists=self.lists, weight=np.maximum(weights, SMALLEST_WEIGHT), tables=self.tables, key=key
        )

    def window(self):
        """Return all documents as a Window."""
        n = self.n_documents
        return Window(
            word=self._word(),
            topic=self.z,
            size=self.documents.clumps()[1],
            length=self.lengths(),
            document_weight=np.ones(n),
            n_tokens=len(self.z),
            n_documents=n,
            target=float(n),
        )

    def _word(self):
        documents = self.documents
        return np.repeat(documents.words[documents.cell_word], np.diff(clump_bounds(documents.cell_count)))

    def counts(self, n_features, n_columns):
        """Count tokens of words in topics: ndarray of shape (n_features, n_columns)."""
        _, size = self.documents.clumps()
        entry = self._word().astype(np.int64) * n_columns + self.z
        return np.bincount(entry, size, n_features * n_columns).reshape(n_features, n_columns)

    def log_joint(self, counts, settings):
        """Return log p(words, topics and tables); counts: result of `counts`."""
        beta, b1 = settings.topic_word_prior, settings.doc_concentration
        total = log_rising(counts, beta) - log_rising(counts.sum(axis=0), beta * settings.n_features)
        total += log_root(self.tables, settings.topic_concentration) + self.tables.sum() * np.log(b1)
        return total + log_seatings(self.lists) - log_rising(self.lengths(), b1)

    def visit(self, batch, rows, statistics, settings, n_sweeps, key):
        """Sample the topics of some documents given those of all others; change nothing.

        Parameters
        ----------
        batch, rows : DocumentBatch, and positions of its documents in the corpus
        statistics : WordCounts, whose store has the tokens of the corpus
        settings : SweepSettings
        n_sweeps : number of sweeps over them
        key : of the random streams

        Returns
        -------
        visit : Visit
        """
        clumps = self._clumps_of(rows)
        documents = Restaurants.of_words(batch)
        bounds = clump_bounds(batch.cell_count)
        by_word = _ranges(bounds[batch.word_cell], np.diff(bounds)[batch.word_cell])
        documents.z[:] = self.z[clumps][by_word]
        documents.lists.entries[:] = self.lists.entries[clumps]
        documents.lists.n_entries[:] = self.lists.n_entries[rows]
        documents.weigh(True)
        topics = RootTopics(
            counts=rows_of(statistics.store, batch.words),
            totals=statistics.totals.copy(),
            root=self.tables.copy(),
            ids=np.zeros(len(self.tables), dtype=np.int64),
        )
        for sweep in range(n_sweeps):
            topics = documents.sweep(topics, settings.topic_concentration, settings, combine_keys(key, sweep))
        if not are_whole(batch.cell_count):  # additions and removals have rounded
            for array in (topics.counts, topics.totals):
                np.maximum(array, 0.0, out=array)
        z = np.empty_like(documents.z)
        z[by_word] = documents.z
        return Visit(
            rows=rows,
            words=batch.words,
            topics=topics,
            clumps=clumps,
            z=z,
            lists=documents.lists,
        )

    def take(self, visit):
        """Store the topics and tables of a visit."""
        self.z[visit.clumps], self.tables = visit.z, visit.topics.root
        self.lists.entries[visit.clumps] = visit.lists.entries
        self.lists.n_entries[visit.rows] = visit.lists.n_entries


def _ranges(first, lengths):
    """Return concatenated ranges, given the first number and the length of each."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(first - before, lengths) + np.arange(lengths.sum())
