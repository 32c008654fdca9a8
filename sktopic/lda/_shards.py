"""Documents with the topics of their tokens, for the collapsed Gibbs sampler for LDA.

The topic counts of a document are stored as a row of all topics or as a list of its topics. Each
representation has its own kernel for sweeps.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._inference._token_counts import leaves_none_negative
from sktopic._kernels._groups import CellsByWord, ClumpLists, TokensByWord, TopicPrior
from sktopic._kernels.documents._topic_lists import TOPIC_CLUMPS
from sktopic._kernels.lda._collapsed_gibbs import list_topics
from sktopic._kernels.lda._collapsed_gibbs import sweep_words as sweep_lists
from sktopic._kernels.lda._dense_collapsed_gibbs import LONGEST, PADDING, count_topics, list_tokens
from sktopic._kernels.lda._dense_collapsed_gibbs import sweep_words as sweep_rows
from sktopic._topics._topic_word_prior import PriorEntries, prior_totals

# Topics up to which draws over all of them are faster than draws over those that a document has.
DENSE_TOPICS = 192
# Smallest alpha_k q_k that is safe in float32.
SMALLEST_PRODUCT = 1e-30


@dataclass
class TopicLists:
    """Lists of the topics of each document, for _kernels.lda._collapsed_gibbs.

    Attributes
    ----------
    cells : CellsByWord
    lists : ClumpLists
    hint : (n_clumps,) int32, likely position of a token's topic in its list
    """

    cells: CellsByWord
    lists: ClumpLists
    hint: np.ndarray

    @classmethod
    def of(cls, cells, batch, n_topics):
        """Return empty lists for the documents of a DocumentBatch."""
        start = np.concatenate([[0], np.cumsum(list_sizes(batch, n_topics))])
        entries, weight = np.zeros(start[-1], dtype=TOPIC_CLUMPS), np.zeros(start[-1])
        lists = ClumpLists(start, entries, weight, np.zeros(batch.n_documents, dtype=np.int32))
        return cls(cells, lists, hint=np.zeros(batch.n_clumps, dtype=np.int32))

    def sweep(self, z, **settings):
        """Draw every token's topic z once."""
        sweep_lists(cells=self.cells, lists=self.lists, hint=self.hint, z=z, **settings)

    def fill(self, z):
        """Count the topics z of the tokens, in the order of the tokens."""
        for array in (self.lists.entries, self.lists.entry_weight, self.lists.n_entries):
            array[:] = 0
        list_topics(
            cell_document=self.cells.cell_document, cell_count=self.cells.cell_count, lists=self.lists, z=z
        )

    def used(self):
        """Return documents, their topics, and the weights of these."""
        start, n_entries = self.lists.list_start, self.lists.n_entries
        document = np.repeat(np.arange(len(n_entries)), np.diff(start))
        in_use = np.arange(len(document)) - start[document] < n_entries[document]
        return document[in_use], self.lists.entries["topic"][in_use], self.lists.entry_weight[in_use]


@dataclass
class TopicRows:
    """Rows of all topics for each document, for _kernels.lda._dense_collapsed_gibbs.

    Attributes
    ----------
    tokens : TokensByWord
    rows : (n_documents, n_padded) float32
    """

    tokens: TokensByWord
    rows: np.ndarray

    @classmethod
    def of(cls, cells, batch, n_topics):
        """Return rows of zeros for the documents of a DocumentBatch."""
        tokens = TokensByWord(
            np.empty_like(batch.word_indptr),
            batch.words,
            np.empty(batch.n_clumps, dtype=np.int32),
            np.empty(batch.n_clumps, dtype=np.float32),
        )
        list_tokens(
            word_indptr=cells.word_indptr,
            cell_document=cells.cell_document,
            cell_count=cells.cell_count,
            token_indptr=tokens.token_indptr,
            document=tokens.document,
            size=tokens.size,
        )
        return cls(tokens, np.zeros((batch.n_documents, row_size(n_topics)), dtype=np.float32))

    def sweep(self, z, **settings):
        """Draw every token's topic z once."""
        sweep_rows(tokens=self.tokens, rows=self.rows, z=z, **settings)

    def fill(self, z):
        """Count the topics z of the tokens."""
        self.rows[:] = 0.0
        count_topics(document=self.tokens.document, size=self.tokens.size, z=z, rows=self.rows)

    def used(self):
        """Return documents, their topics, and the weights of these."""
        document, topic = np.nonzero(self.rows)
        return document, topic, self.rows[document, topic].astype(np.float64)


def topics_of(cells, batch, prior, smallest_ratio):
    """Return rows if they are faster, exact and no larger than lists, otherwise lists; both are empty.

    cells : CellsByWord of a DocumentBatch
    prior : (n_topics,) alpha
    smallest_ratio : lower limit of q_k, beta / (n_k + V beta)
    """
    n_topics = len(prior)
    dense = (
        n_topics <= DENSE_TOPICS
        and 4 * row_size(n_topics) * batch.n_documents <= 16 * list_sizes(batch, n_topics).sum()
        and prior.min() * smallest_ratio > SMALLEST_PRODUCT
        and batch.lengths.max(initial=0.0) <= LONGEST
        and leaves_none_negative(batch.cell_count)
    )
    return (TopicRows if dense else TopicLists).of(cells, batch, n_topics)


def row_size(n_topics):
    return -(-n_topics // PADDING) * PADDING


def list_sizes(batch, n_topics):
    """Sizes of lists: one entry more than topics, for a token that is moving, in multiples of four."""
    return (np.minimum(np.diff(batch.clump_indptr), n_topics) + 1 + 3) // 4 * 4


def topic_prior_of(n_features, n_topics, topic_word_prior, entries):
    """Return the TopicPrior of all words and topics. entries : PriorEntries that replace it, or None."""
    sums = prior_totals(n_features, topic_word_prior, entries) * np.ones(n_topics)
    own = entries or PriorEntries.none(n_features, n_topics)
    return TopicPrior(topic_word_prior, own.indptr, own.topics, own.values, sums)


@dataclass
class Shard:
    """A part of the documents with the topics of their tokens.

    Attributes
    ----------
    word_indptr, words, cell_count : cells by words, as in _kernels.lda._collapsed_gibbs
    lengths : (n_documents,) number of tokens
    topics : topic counts of the documents
    z : (n_clumps,) int32, the topic of each clump, or -1 if it has none
    """

    word_indptr: np.ndarray
    words: np.ndarray
    cell_count: np.ndarray
    lengths: np.ndarray
    topics: TopicLists | TopicRows
    z: np.ndarray

    @classmethod
    def of(cls, batch, prior, smallest_ratio):
        """Return the documents of a DocumentBatch, without topics. prior, smallest_ratio: see `topics_of`."""
        document, count = batch.cell_document()[batch.word_cell], batch.cell_count[batch.word_cell]
        cells = CellsByWord(batch.word_indptr, batch.words, document, count)
        topics = topics_of(cells, batch, prior, smallest_ratio)
        return cls(batch.word_indptr, batch.words, count, batch.lengths, topics, batch.unassigned())

    def sweep(self, totals, **settings):
        """Draw every token's topic once and return the totals of topics. settings : arguments of kernels."""
        totals = totals.copy()
        if len(self.words):
            self.topics.sweep(self.z, totals=totals, **settings)
        return totals

    def list_topics(self):
        self.topics.fill(self.z)

    # Sums over the documents

    def prior_gains(self, prior):
        """Return the sums of Minka's fixed point: psi(alpha_k + n_k) - psi(alpha_k) for each topic, then
        psi(sum of alpha + n) - psi(sum of alpha)."""
        _, topic, weight = self.topics.used()
        gains = digamma(prior[topic] + weight) - digamma(prior[topic])
        lengths, total = self.lengths[self.lengths > 0], prior.sum()
        length_gain = (digamma(total + lengths) - digamma(total)).sum()
        return np.append(np.bincount(topic, weights=gains, minlength=len(prior)), length_gain)

    def log_proportions(self, prior):
        """Return the log probability of the documents' topics as two terms, for topics and for lengths."""
        _, topic, weight = self.topics.used()
        of_topics = (gammaln(prior[topic] + weight) - gammaln(prior[topic])).sum()
        return of_topics, (gammaln(prior.sum()) - gammaln(prior.sum() + self.lengths)).sum()
