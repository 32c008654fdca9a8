"""Documents with the topics of their tokens, as the collapsed Gibbs sampler for LDA keeps them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sktopic._kernels._collapsed_gibbs import list_topics, sweep_words, transfer_counts
from sktopic._kernels._topic_lists import TOPIC_CLUMPS
from sktopic._token_counts import add_tokens


class Swept(NamedTuple):
    """The totals of topics after a sweep; and, if counts were left as they were, the topics before it."""

    totals: np.ndarray
    before: np.ndarray | None


@dataclass
class Shard:
    """Some documents with the topics of their tokens, as _kernels._collapsed_gibbs has them."""

    word_indptr: np.ndarray
    words: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    lengths: np.ndarray
    list_start: np.ndarray
    entries: np.ndarray
    entry_weight: np.ndarray
    n_entries: np.ndarray
    z: np.ndarray
    hint: np.ndarray

    @classmethod
    def of(cls, batch, n_topics):
        """The documents of a DocumentBatch, with no topics yet."""
        # One more entry than topics, for the moment in which a token is in two; in multiples of four.
        sizes = (np.minimum(np.diff(batch.clump_indptr), n_topics) + 1 + 3) // 4 * 4
        list_start = np.concatenate([[0], np.cumsum(sizes)])
        capacity = list_start[-1]
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_document()[batch.word_cell],
            batch.cell_count[batch.word_cell],
            batch.lengths,
            list_start,
            np.zeros(capacity, dtype=TOPIC_CLUMPS),
            np.zeros(capacity),
            np.zeros(batch.n_documents, dtype=np.int32),
            np.full(batch.n_clumps, -1, dtype=np.int32),
            np.zeros(batch.n_clumps, dtype=np.int32),
        )

    @property
    def lists(self):
        """The lists of topics, by the names that kernels have for them."""
        return {
            "list_start": self.list_start,
            "entries": self.entries,
            "entry_weight": self.entry_weight,
            "n_entries": self.n_entries,
        }

    def assign(self, z, counts):
        """Give every token a topic, and count them."""
        before = self.z.copy()
        self.z[:] = z
        self.transfer(before, counts)
        self._list_topics()

    def transfer(self, before, counts):
        """Let the tokens be counted in the topics they have, and no longer in those of before."""
        transfer_counts(
            word_indptr=self.word_indptr,
            words=self.words,
            cell_count=self.cell_count,
            before=before,
            z=self.z,
            counts=counts,
        )

    def sweep(self, counts, update_counts, totals, prior, topic_word_prior, key):
        """Draw every token's topic once; returns Swept.

        update_counts : whether the counts are changed at once; else `transfer` changes them later
        """
        before, totals = None if update_counts else self.z.copy(), totals.copy()
        if len(self.words):
            sweep_words(
                word_indptr=self.word_indptr,
                words=self.words,
                cell_document=self.cell_document,
                cell_count=self.cell_count,
                counts=counts,
                update_counts=update_counts,
                totals=totals,
                prior=prior,
                topic_word_prior=topic_word_prior,
                z=self.z,
                hint=self.hint,
                key=key,
                **self.lists,
            )
        return Swept(totals, before)

    def add_to(self, counts):
        """Count the tokens of each word in each topic."""
        add_tokens(self, counts)

    def recount(self, counts):
        """Take the documents' lists anew from the assignments, and add these to counts."""
        self.add_to(counts)
        self.list_topics()

    def list_topics(self):
        for array in (self.entries, self.entry_weight, self.n_entries):
            array[:] = 0
        self._list_topics()

    def _list_topics(self):
        list_topics(cell_document=self.cell_document, cell_count=self.cell_count, z=self.z, **self.lists)

    def used(self):
        """Document, topic and weight of the lists' entries in use."""
        document = np.repeat(np.arange(len(self.n_entries)), np.diff(self.list_start))
        used = np.arange(len(document)) - self.list_start[document] < self.n_entries[document]
        return document[used], self.entries["topic"][used], self.entry_weight[used]
