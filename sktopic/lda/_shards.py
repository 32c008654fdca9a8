"""Documents with the topics of their tokens, as the collapsed Gibbs sampler for LDA keeps them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sktopic._kernels._collapsed_gibbs import transfer_counts
from sktopic._token_counts import add_tokens
from sktopic._topic_word_prior import PriorEntries, prior_totals
from sktopic.lda._document_topics import TopicLists, TopicRows, topics_of


class Swept(NamedTuple):
    """The totals of topics after a sweep; and, if counts were left as they were, the topics before it."""

    totals: np.ndarray
    before: np.ndarray | None


@dataclass
class Shard:
    """Some documents with the topics of their tokens.

    Attributes
    ----------
    word_indptr, words, cell_count : cells by words, as _kernels._collapsed_gibbs has them
    lengths : (n_documents,) their tokens
    topics : how many of them are in which topics
    z : (n_clumps,) int32, the topic of each; -1: none yet
    """

    word_indptr: np.ndarray
    words: np.ndarray
    cell_count: np.ndarray
    lengths: np.ndarray
    topics: TopicLists | TopicRows
    z: np.ndarray

    @classmethod
    def of(cls, batch, prior, smallest_ratio):
        """The documents of a DocumentBatch, with no topics yet; prior and ratio are those of `topics_of`."""
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_count[batch.word_cell],
            batch.lengths,
            topics_of(batch, prior, smallest_ratio),
            np.full(batch.n_clumps, -1, dtype=np.int32),
        )

    def assign(self, z, counts):
        """Give every token a topic, and count them."""
        before = self.z.copy()
        self.z[:] = z
        self.transfer(before, counts)
        self.list_topics()

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

    def sweep(self, counts, update_counts, totals, prior, topic_word_prior, entries, key):
        """Draw every token's topic once; returns Swept.

        update_counts : whether the counts are changed at once; else `transfer` changes them later
        entries : PriorEntries in the place of topic_word_prior, or None
        """
        before, totals = None if update_counts else self.z.copy(), totals.copy()
        if len(self.words):
            sums = prior_totals(len(counts), topic_word_prior, entries) * np.ones(len(totals))
            own = entries or PriorEntries.none(len(counts), len(totals))
            self.topics.sweep(
                self.words,
                self.z,
                counts=counts,
                update_counts=update_counts,
                totals=totals,
                prior=prior,
                topic_word_prior=topic_word_prior,
                own_indptr=own.indptr,
                own_topic=own.topics,
                own_value=own.values,
                prior_sum=sums,
                key=key,
            )
        return Swept(totals, before)

    def add_to(self, counts):
        """Count the tokens of each word in each topic."""
        add_tokens(self, counts)

    def recount(self, counts):
        """Take the documents' topics anew from the assignments, and add these to counts."""
        self.add_to(counts)
        self.list_topics()

    def list_topics(self):
        self.topics.fill(self.z)
