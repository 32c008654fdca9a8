"""Documents with the topics of their tokens, as the collapsed Gibbs sampler for LDA keeps them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._inference._token_counts import add_tokens
from sktopic._kernels._collapsed_gibbs import transfer_counts
from sktopic._kernels._groups import TopicPrior
from sktopic._topics._topic_word_prior import PriorEntries, prior_totals
from sktopic.lda._document_topics import TopicLists, TopicRows, topics_of


class Swept(NamedTuple):
    """The totals of topics after a sweep; and, if counts were left as they were, the topics before it."""

    totals: np.ndarray
    before: np.ndarray | None


def topic_prior_of(n_features, n_topics, topic_word_prior, entries):
    """TopicPrior of all words and topics: a number, and PriorEntries in its place, or None."""
    sums = prior_totals(n_features, topic_word_prior, entries) * np.ones(n_topics)
    own = entries or PriorEntries.none(n_features, n_topics)
    return TopicPrior(topic_word_prior, own.indptr, own.topics, own.values, sums)


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
        """The documents of a DocumentBatch, without topics; prior and ratio are those of `topics_of`."""
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_count[batch.word_cell],
            batch.lengths,
            topics_of(batch, prior, smallest_ratio),
            batch.unassigned(),
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

    def sweep(self, counts, update_counts, totals, prior, topic_prior, key):
        """Draw every token's topic once; returns Swept.

        update_counts : whether the counts are changed at once; else `transfer` changes them later
        topic_prior : TopicPrior
        """
        before, totals = None if update_counts else self.z.copy(), totals.copy()
        if len(self.words):
            self.topics.sweep(
                self.words,
                self.z,
                counts=counts,
                update_counts=update_counts,
                totals=totals,
                prior=prior,
                topic_prior=topic_prior,
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

    # Sums over the documents

    def prior_gains(self, prior):
        """What Minka's fixed point sums: psi(alpha_k + n_k) - psi(alpha_k) of all topics, and, last,
        psi(sum of alpha + n) - psi(sum of alpha)."""
        _, topic, weight = self.topics.used()
        gains = digamma(prior[topic] + weight) - digamma(prior[topic])
        lengths, total = self.lengths[self.lengths > 0], prior.sum()
        length_gain = (digamma(total + lengths) - digamma(total)).sum()
        return np.append(np.bincount(topic, weights=gains, minlength=len(prior)), length_gain)

    def log_proportions(self, prior):
        """The log probability of the topics of the documents, as two terms: of topics, and of lengths."""
        _, topic, weight = self.topics.used()
        of_topics = (gammaln(prior[topic] + weight) - gammaln(prior[topic])).sum()
        return of_topics, (gammaln(prior.sum()) - gammaln(prior.sum() + self.lengths)).sum()
