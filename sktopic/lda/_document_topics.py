"""How many tokens of documents are in which topics, as the collapsed Gibbs sampler for LDA keeps it.

In rows of all topics, or in lists of those that a document has: each with the kernel that sweeps over tokens.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sktopic._document_steps import DENSE_TOPICS
from sktopic._kernels._collapsed_gibbs import list_topics
from sktopic._kernels._collapsed_gibbs import sweep_words as sweep_lists
from sktopic._kernels._dense_collapsed_gibbs import LONGEST, PADDING, count_topics, list_tokens
from sktopic._kernels._dense_collapsed_gibbs import sweep_words as sweep_rows
from sktopic._kernels._topic_lists import TOPIC_CLUMPS
from sktopic._token_counts import leaves_none_negative


class DocumentTopics:
    """Base class: numbers of tokens of documents in topics.

    Attributes
    ----------
    changing : names of the arrays that sweeps change; the others belong to the documents
    of_order : names of the arrays of `order`
    """

    changing: ClassVar[tuple[str, ...]]
    of_order: ClassVar[tuple[str, ...]] = ()

    @property
    def state(self):
        """The arrays that sweeps change, by name."""
        return {name: getattr(self, name) for name in self.changing}

    def holding(self, state):
        """The same documents with another state, whose arrays sweeps will change."""
        return replace(self, **state)


@dataclass
class TopicLists(DocumentTopics):
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

    changing = "entries", "entry_weight", "n_entries", "hint"
    of_order = "n_entries", "topics"

    @classmethod
    def of(cls, batch, n_topics):
        """Those of the documents of a DocumentBatch, without lists."""
        return cls(
            batch.word_indptr,
            batch.cell_document()[batch.word_cell],
            batch.cell_count[batch.word_cell],
            np.concatenate([[0], np.cumsum(list_sizes(batch, n_topics))]),
            np.empty(0, dtype=TOPIC_CLUMPS),
            np.empty(0),
            np.empty(0, dtype=np.int32),
            np.empty(0, dtype=np.int32),
        )

    def unassigned(self, n_documents, n_clumps):
        """The same with empty lists."""
        return replace(
            self,
            entries=np.zeros(self.list_start[-1], dtype=TOPIC_CLUMPS),
            entry_weight=np.zeros(self.list_start[-1]),
            n_entries=np.zeros(n_documents, dtype=np.int32),
            hint=np.zeros(n_clumps, dtype=np.int32),
        )

    def of_words(self, words, tokens):
        """Those of some of the words, which have these tokens (slices), on the same lists."""
        bounds = slice(words.start, words.stop + 1)
        return replace(self, word_indptr=self.word_indptr[bounds], hint=self.hint[tokens])

    @property
    def _lists(self):
        return {
            "list_start": self.list_start,
            "entries": self.entries,
            "entry_weight": self.entry_weight,
            "n_entries": self.n_entries,
        }

    def sweep(self, words, z, **state):
        """Draw every token's topic z once."""
        sweep_lists(
            word_indptr=self.word_indptr,
            words=words,
            cell_document=self.cell_document,
            cell_count=self.cell_count,
            hint=self.hint,
            z=z,
            **self._lists,
            **state,
        )

    def fill(self, z):
        """Take the topics of tokens, in the order of these."""
        self._clear()
        self._add(z)

    def fill_in_order(self, z, order):
        """Take the topics of tokens, in the order that `order` said; ValueError for that of others."""
        self.fill(z)
        kept = {name: array.copy() for name, array in self.order.items()}
        if not np.array_equal(order["n_entries"], kept["n_entries"]):
            raise ValueError("the documents have other numbers of topics than their tokens")
        if order["topics"].shape != kept["topics"].shape:
            raise ValueError(f"the topics of documents have shape {order['topics'].shape}")
        document = np.repeat(np.arange(len(self.n_entries)), self.n_entries)
        if not np.array_equal(*(np.sort(each["topics"] + (document << 32)) for each in (order, kept))):
            raise ValueError("the documents have other topics than their tokens")
        self._clear()
        self.n_entries[:] = order["n_entries"]
        self.entries["topic"][self._in_use()] = order["topics"]
        self._add(z)

    def _clear(self):
        for array in (self.entries, self.entry_weight, self.n_entries):
            array[:] = 0

    def _add(self, z):
        list_topics(cell_document=self.cell_document, cell_count=self.cell_count, z=z, **self._lists)

    @property
    def order(self):
        """The order of the topics of each document, which sweeps follow: arrays by name."""
        return {"n_entries": self.n_entries, "topics": self.entries["topic"][self._in_use()]}

    def _in_use(self):
        document = np.repeat(np.arange(len(self.n_entries)), np.diff(self.list_start))
        return np.flatnonzero(np.arange(len(document)) - self.list_start[document] < self.n_entries[document])

    def used(self):
        """Documents, topics they have, and the weights of these."""
        used, document = self._in_use(), np.repeat(np.arange(len(self.n_entries)), self.n_entries)
        return document, self.entries["topic"][used], self.entry_weight[used]


@dataclass
class TopicRows(DocumentTopics):
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

    changing = ("rows",)

    @classmethod
    def of(cls, batch, n_topics):
        """Those of the documents of a DocumentBatch, without rows."""
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
        return cls(**tokens, rows=np.empty((0, row_size(n_topics)), dtype=np.float32))

    def unassigned(self, n_documents, n_clumps):
        """The same with rows of zeros."""
        return replace(self, rows=np.zeros((n_documents, self.rows.shape[1]), dtype=np.float32))

    def of_words(self, words, tokens):
        """Those of some of the words, which have these tokens (slices), on the same rows."""
        token_indptr = self.token_indptr[words.start : words.stop + 1] - tokens.start
        return replace(
            self, token_indptr=token_indptr, document=self.document[tokens], size=self.size[tokens]
        )

    def sweep(self, words, z, **state):
        """Draw every token's topic z once."""
        sweep_rows(
            token_indptr=self.token_indptr,
            words=words,
            document=self.document,
            size=self.size,
            rows=self.rows,
            z=z,
            **state,
        )

    # In which no order matters.
    order: ClassVar[dict[str, np.ndarray]] = {}

    def fill_in_order(self, z, order):
        """Take the topics of tokens."""
        self.fill(z)

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
    """Rows where they are faster, take no more memory than lists and count exactly; else lists: none yet.

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
