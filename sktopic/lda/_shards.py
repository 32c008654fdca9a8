"""Documents with the topics of their tokens, as the collapsed Gibbs sampler for LDA keeps them."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels._collapsed_gibbs import list_topics, move_counts, sweep_words


@dataclass
class Shard:
    """Some documents with the topics of their tokens, as _kernels._collapsed_gibbs has them."""

    word_indptr: np.ndarray
    words: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    lengths: np.ndarray
    slot_start: np.ndarray
    slot_topic: np.ndarray
    slot_weight: np.ndarray
    n_slots: np.ndarray
    z: np.ndarray
    hint: np.ndarray

    @classmethod
    def of(cls, batch, n_topics):
        """The documents of a DocumentBatch, with no topics yet."""
        # One more entry than topics, for the moment in which a token is in two; in multiples of four.
        sizes = (np.minimum(np.diff(batch.clump_indptr), n_topics) + 1 + 3) // 4 * 4
        slot_start = np.concatenate([[0], np.cumsum(sizes)])
        n_slots = slot_start[-1]
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_document()[batch.word_cell],
            batch.cell_count[batch.word_cell],
            batch.lengths,
            slot_start,
            np.zeros((n_slots, 2), dtype=np.int32),
            np.zeros(n_slots),
            np.zeros(batch.n_documents, dtype=np.int32),
            np.full(batch.n_clumps, -1, dtype=np.int32),
            np.zeros(batch.n_clumps, dtype=np.int32),
        )

    @property
    def slots(self):
        return self.slot_start, self.slot_topic, self.slot_weight, self.n_slots

    def assign(self, z, counts):
        """Give every token a topic, and count them."""
        move_counts(self.word_indptr, self.words, self.cell_count, self.z, z, counts)
        self.z[:] = z
        list_topics(self.cell_document, self.cell_count, *self.slots, z)

    def sweep(self, counts, alone, totals, prior, topic_word_prior, key):
        """Draw every token's topic once; returns the topic totals and, unless alone, the topics of before."""
        before, totals = None if alone else self.z.copy(), totals.copy()
        if len(self.words):
            sweep_words(
                self.word_indptr,
                self.words,
                self.cell_document,
                self.cell_count,
                counts,
                alone,
                totals,
                prior,
                topic_word_prior,
                *self.slots,
                self.z,
                self.hint,
                key,
            )
        return totals, before

    def add_to(self, counts):
        """Count the tokens of each word in each topic."""
        nowhere = np.full_like(self.z, -1)
        move_counts(self.word_indptr, self.words, self.cell_count, nowhere, self.z, counts)

    def recount(self, counts):
        """Take the documents' lists anew from the assignments, and add these to counts."""
        self.add_to(counts)
        self.list_topics()

    def list_topics(self):
        for array in self.slots[1:]:
            array[:] = 0
        list_topics(self.cell_document, self.cell_count, *self.slots, self.z)

    def used(self):
        """Document, topic and weight of the lists' entries in use."""
        document = np.repeat(np.arange(len(self.n_slots)), np.diff(self.slot_start))
        used = np.arange(len(document)) - self.slot_start[document] < self.n_slots[document]
        return document[used], self.slot_topic[used, 0], self.slot_weight[used]
