"""Gibbs sampling of the topics of a batch, some of which it makes itself."""

import numpy as np

from sktopic._inference import DenseCounts
from sktopic._inference._token_counts import add_tokens
from sktopic._kernels._groups import RootTopics
from sktopic._kernels._hdp_gibbs import draw_tables
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._runtime._arrays import columns_of
from sktopic._topics._prior import SMALLEST
from sktopic.hdp._restaurants import (
    SMALLEST_WEIGHT,
    SPARE,
    TABLE_KEY,
    WEIGHT_KEY,
    Restaurants,
    generator_of,
    padded,
    wider,
)


def stick_weights(sticks):
    """Weights of topics by the means of sticks with Beta parameters (2, n_topics)."""
    a, b = sticks
    left = np.concatenate([[1.0], np.cumprod(b / (a + b))[:-1]])
    return a / (a + b) * left


def best_sticks(tables, concentration):
    """Beta parameters (2, n_topics) that follow from the tables of topics in a corpus."""
    after = tables[::-1].cumsum()[::-1] - tables
    return np.array([1.0 + tables, concentration + after])


def scaled_sticks(sticks, factor, concentration):
    """The same where topics have factor times as many tables, factor being at most one."""
    a, b = sticks
    return np.array([1.0 - factor + factor * a, (1.0 - factor) * concentration + factor * b])


def edited_sticks(edit, sticks):
    """The same after a TopicEdit: tables go where topics go, and leave the sticks before them."""
    tables, after = sticks[0] - 1.0, sticks[1].copy()
    for k in np.flatnonzero(~edit.stays):
        after[:k] -= tables[k]
        after[: max(edit.into[k], 0)] += tables[k]
    return np.array([1.0 + edit.sums(tables), np.maximum(edit.left(after), SMALLEST)])


class ChainCounts(DenseCounts):
    """Tokens of words in topics, and tables of topics: means over the counted sweeps; new topics last."""

    tables: np.ndarray


class BatchChain:
    """Gibbs sampling of the topics of a batch, given what documents before it say of topics and sticks.

    Topics of the corpus come first, in their columns. Behind them are those that the batch makes: they are
    gone when their last token leaves.

    Parameters
    ----------
    batch : DocumentBatch
    counts : (n_words, n_known) expected tokens of the words of the batch in topics of the corpus
    totals : (n_known,) the same of all words
    sticks : (2, n_known) parameters a and b of the sticks' Beta posteriors, to which the tables of the batch
        are added
    settings : SweepSettings

    Attributes
    ----------
    topics : RootTopics, with the tokens of the batch
    tables : (n_columns,) of the batch
    summed, summed_tables : sums of the tokens and tables of the batch over counted sweeps
    """

    def __init__(self, batch, counts, totals, sticks, settings):
        self.documents = Restaurants.of_words(batch)
        self.n_known, self.sticks, self.settings = len(totals), sticks, settings
        size = self.n_known + SPARE
        known = RootTopics(counts, totals, np.zeros(len(totals)), np.arange(len(totals)))
        self.topics, self.tables = wider(known, size), np.zeros(size)
        self.summed, self.summed_tables = np.zeros((batch.n_words, size)), np.zeros(size)

    def assign_at_random(self, n_topics, key):
        """Start from uniformly random topics, behind those that there are."""
        self.topics = wider(self.topics, self.n_known + n_topics + SPARE)
        draws = uniforms(key, len(self.documents.z))
        self.documents.assign((self.n_known + draws * n_topics).astype(np.int32))
        add_tokens(self.documents, self.topics.counts)
        self.topics.totals[self.n_known :] = self.topics.counts[:, self.n_known :].sum(axis=0)
        self.tables = self.documents.tables(len(self.topics.root))

    def live(self):
        """Which columns have a topic."""
        return (np.arange(len(self.tables)) < self.n_known) | (self.tables > 0)

    def draw_weights(self, generator):
        """Draw the sticks given the tables; weights of topics and their rest, times that of documents.

        A topic of this batch has Beta(M_k, gamma + M_>k), so that new topics have weights of the Dirichlet
        law that they have in a corpus of their own.
        """
        live, alpha = self.live(), self.settings.doc_concentration
        tables = self.tables[live]
        a, b = padded(self.sticks, len(tables))
        b[self.n_known :] = self.settings.topic_concentration
        after = tables[::-1].cumsum()[::-1] - tables
        stick = generator.beta(a + tables, b + after)
        left = np.concatenate([[1.0], np.cumprod(1.0 - stick)])
        weights = np.zeros(len(live))
        weights[live] = np.maximum(alpha * stick * left[:-1], SMALLEST_WEIGHT)
        return weights, alpha * left[-1]

    def sweep(self, key, *, counted):
        """Draw sticks, then the topics of all tokens, then tables; counted: whether these are summed up."""
        weights, rest = self.draw_weights(generator_of(key, WEIGHT_KEY))
        self.documents.weigh(indicators=False)
        topics = self.documents.sweep(self.topics._replace(root=weights), rest, self.settings, key)
        self.topics, size = topics, len(topics.root)
        self.tables = np.zeros(size)
        key = combine_keys(key, TABLE_KEY)
        draw_tables(lists=self.documents.lists, weight=topics.root, tables=self.tables, key=key)
        if size > len(self.summed_tables):
            self.summed, self.summed_tables = padded(self.summed, size), padded(self.summed_tables, size)
        gone = ~self.live()
        for array in (topics.counts, topics.totals, self.summed, self.summed_tables):
            array[..., gone] = 0.0
        if counted:
            add_tokens(self.documents, self.summed)
            self.summed_tables += self.tables

    def run(self, burn_in, sweeps, key):
        """ChainCounts of some sweeps, after others that are discarded."""
        for sweep in range(burn_in + sweeps):
            self.sweep(combine_keys(key, sweep), counted=sweep >= burn_in)
        return self.result(sweeps)

    def result(self, n_sweeps):
        """ChainCounts: means over the counted sweeps, of topics that there still are."""
        live = self.live()
        found = ChainCounts.of_sums(columns_of(self.summed, live), n_sweeps)
        found.tables = self.summed_tables[live] / n_sweeps
        return found
