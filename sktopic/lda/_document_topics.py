"""How many tokens of documents are in which topics, as the collapsed Gibbs sampler for LDA keeps it.

In rows of all topics, or in lists of those that a document has: each with the kernel that sweeps over tokens.
"""

from dataclasses import dataclass

import numpy as np

from sktopic._inference import DENSE_TOPICS
from sktopic._inference._token_counts import leaves_none_negative
from sktopic._kernels._collapsed_gibbs import list_topics
from sktopic._kernels._collapsed_gibbs import sweep_words as sweep_lists
from sktopic._kernels._dense_collapsed_gibbs import LONGEST, PADDING, count_topics, list_tokens
from sktopic._kernels._dense_collapsed_gibbs import sweep_words as sweep_rows
from sktopic._kernels._groups import CellsByWord, ClumpLists, TokensByWord
from sktopic._kernels._topic_lists import TOPIC_CLUMPS


@dataclass
class TopicLists:
    """Lists, as _kernels._collapsed_gibbs has them.

    Attributes
    ----------
    word_indptr, cell_document, cell_count : the cells of each word
    list_start, entries, entry_weight, n_entries : see _kernels._topic_lists
    hint : (n_clumps,) int32, where a token's topic may be found
    """

    word_indptr: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    list_start: np.ndarray
    entries: np.ndarray
    entry_weight: np.ndarray
    n_entries: np.ndarray
    hint: np.ndarray

    @classmethod
    def of(cls, batch, n_topics):
        """Those of the documents of a DocumentBatch, empty."""
        list_start = np.concatenate([[0], np.cumsum(list_sizes(batch, n_topics))])
        return cls(
            word_indptr=batch.word_indptr,
            cell_document=batch.cell_document()[batch.word_cell],
            cell_count=batch.cell_count[batch.word_cell],
            list_start=list_start,
            entries=np.zeros(list_start[-1], dtype=TOPIC_CLUMPS),
            entry_weight=np.zeros(list_start[-1]),
            n_entries=np.zeros(batch.n_documents, dtype=np.int32),
            hint=np.zeros(batch.n_clumps, dtype=np.int32),
        )

    @property
    def _lists(self):
        return ClumpLists(self.list_start, self.entries, self.entry_weight, self.n_entries)

    def sweep(self, words, z, **state):
        """Draw every token's topic z once."""
        sweep_lists(
            cells=CellsByWord(self.word_indptr, words, self.cell_document, self.cell_count),
            lists=self._lists,
            hint=self.hint,
            z=z,
            **state,
        )

    def fill(self, z):
        """Take the topics of tokens, in the order of these."""
        for array in (self.entries, self.entry_weight, self.n_entries):
            array[:] = 0
        list_topics(cell_document=self.cell_document, cell_count=self.cell_count, lists=self._lists, z=z)

    def used(self):
        """Documents, topics they have, and the weights of these."""
        document = np.repeat(np.arange(len(self.n_entries)), np.diff(self.list_start))
        in_use = np.arange(len(document)) - self.list_start[document] < self.n_entries[document]
        return document[in_use], self.entries["topic"][in_use], self.entry_weight[in_use]


@dataclass
class TopicRows:
    """Rows, as _kernels._dense_collapsed_gibbs has them.

    Attributes
    ----------
    token_indptr, document, size : the tokens of each word
    rows : (n_documents, n_padded) float32
    """

    token_indptr: np.ndarray
    document: np.ndarray
    size: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, batch, n_topics):
        """Those of the documents of a DocumentBatch, of zeros."""
        tokens = {
            "token_indptr": np.empty_like(batch.word_indptr),
            "document": np.empty(batch.n_clumps, dtype=np.int32),
            "size": np.empty(batch.n_clumps, dtype=np.float32),
        }
        list_tokens(
            word_indptr=batch.word_indptr,
            cell_document=batch.cell_document()[batch.word_cell],
            cell_count=batch.cell_count[batch.word_cell],
            **tokens,
        )
        return cls(**tokens, rows=np.zeros((batch.n_documents, row_size(n_topics)), dtype=np.float32))

    def sweep(self, words, z, **state):
        """Draw every token's topic z once."""
        sweep_rows(
            tokens=TokensByWord(self.token_indptr, words, self.document, self.size),
            rows=self.rows,
            z=z,
            **state,
        )

    def fill(self, z):
        """Take the topics of tokens."""
        self.rows[:] = 0.0
        count_topics(document=self.document, size=self.size, z=z, rows=self.rows)

    def used(self):
        """Documents, topics they have, and the weights of these."""
        document, topic = np.nonzero(self.rows)
        return document, topic, self.rows[document, topic].astype(np.float64)


# What alpha_k q_k may be in float32.
SMALLEST_PRODUCT = 1e-30


def topics_of(batch, prior, smallest_ratio):
    """Rows where they are faster, take no more memory than lists and count exactly; else lists. No token has
    a topic yet.

    prior : (n_topics,) alpha
    smallest_ratio : what q_k is at least, beta / (n_k + V beta)
    """
    n_topics = len(prior)
    dense = (
        n_topics <= DENSE_TOPICS
        and 4 * row_size(n_topics) * batch.n_documents <= 16 * list_sizes(batch, n_topics).sum()
        and prior.min() * smallest_ratio > SMALLEST_PRODUCT
        and batch.lengths.max(initial=0.0) <= LONGEST
        and leaves_none_negative(batch.cell_count)
    )
    return (TopicRows if dense else TopicLists).of(batch, n_topics)


def row_size(n_topics):
    return -(-n_topics // PADDING) * PADDING


def list_sizes(batch, n_topics):
    """One more entry than topics, for the moment in which a token is in two; in multiples of four."""
    return (np.minimum(np.diff(batch.clump_indptr), n_topics) + 1 + 3) // 4 * 4
