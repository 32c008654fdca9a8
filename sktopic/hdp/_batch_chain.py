"""Gibbs sampling of the topics of a batch, some of which it makes itself."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._inference import DenseCounts
from sktopic._kernels._hdp_gibbs import draw_tables
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._runtime._arrays import columns_of
from sktopic._topics._prior import SMALLEST
from sktopic.hdp._restaurants import SAMPLERS, SPARE, TABLE_KEY, WEIGHT_KEY, Restaurants, generator_of, padded

# Weights below this would be taken for those of a spare column.
SMALLEST_WEIGHT = 1e-290


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


def edited_sticks(sticks, edit):
    """The same after a TopicEdit: tables go where topics go, and leave the sticks before them."""
    tables, after = sticks[0] - 1.0, sticks[1].copy()
    for k in np.flatnonzero(~edit.stays):
        after[:k] -= tables[k]
        after[: max(edit.into[k], 0)] += tables[k]
    return np.array([1.0 + edit.sums(tables), np.maximum(edit.left(after), SMALLEST)])


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
    concentrations : of topics and of documents
    topic_word_prior : parameter of the topics' symmetric Dirichlet prior
    n_features : words in the vocabulary
    """

    def __init__(self, batch, counts, totals, sticks, concentrations, topic_word_prior, n_features):
        documents = Restaurants.of(batch)
        self.documents = replace(documents, words=np.arange(batch.n_words, dtype=np.int32))
        self.n_known = len(totals)
        self._concentrations = concentrations
        self._settings = {
            "sampler": SAMPLERS["direct_assignment"],
            "common": 0,
            "topic_concentration": concentrations[0],
            "doc_concentration": concentrations[1],
            "topic_word_prior": topic_word_prior,
            "n_features": n_features,
        }
        self._counts, self._totals, self._sticks = counts, totals, sticks
        self._ids = np.arange(self.n_known)
        self.tables = np.zeros(self.n_known)
        # Sums over counted sweeps.
        self._summed, self._summed_tables = np.zeros_like(counts, dtype=np.float64), np.zeros(self.n_known)
        self._extend(self.n_known + SPARE)

    def _extend(self, size):
        """Let arrays have ``size`` columns."""
        for name in ("_counts", "_totals", "_ids", "_sticks", "tables", "_summed", "_summed_tables"):
            setattr(self, name, padded(getattr(self, name), size))

    def assign_at_random(self, n_topics, key):
        """Start from uniformly random topics, behind those that there are."""
        self._extend(self.n_known + n_topics + SPARE)
        draws = uniforms(key, len(self.documents.z))
        self.documents.assign((self.n_known + draws * n_topics).astype(np.int32))
        self.documents.add_to(self._counts)
        self._totals[self.n_known :] = self._counts[:, self.n_known :].sum(axis=0)
        self.tables = self.documents.tables(len(self.tables))

    def live(self):
        """Which columns have a topic."""
        return (np.arange(len(self.tables)) < self.n_known) | (self.tables > 0)

    def draw_weights(self, generator):
        """Draw the sticks given the tables; weights of topics and their rest, times that of documents.

        A topic of this batch has Beta(M_k, gamma + M_>k), so that new topics have weights of the Dirichlet
        law that they have in a corpus of their own.
        """
        live, (gamma, alpha) = self.live(), self._concentrations
        tables, (a, b) = self.tables[live], self._sticks[:, live]
        b[self.n_known :] = gamma
        after = tables[::-1].cumsum()[::-1] - tables
        stick = generator.beta(a + tables, b + after)
        left = np.concatenate([[1.0], np.cumprod(1.0 - stick)])
        weights = np.zeros(len(live))
        weights[live] = np.maximum(alpha * stick * left[:-1], SMALLEST_WEIGHT)
        return weights, alpha * left[-1]

    def sweep(self, key, counted):
        """Draw sticks, then the topics of all tokens, then tables; counted: whether these are summed up."""
        weights, rest = self.draw_weights(generator_of(key, WEIGHT_KEY))
        self.documents.weigh(False)
        weights, _ = self.documents.sweep(
            lambda: {"counts": self._counts, "totals": self._totals, "ids": self._ids},
            weights,
            rest,
            self._settings,
            key,
            self._extend,
        )
        self.tables = np.zeros(len(weights))
        key = combine_keys(key, TABLE_KEY)
        draw_tables(lists=self.documents.lists, weight=weights, tables=self.tables, key=key)
        for array in (self._counts, self._totals, self._summed, self._summed_tables):
            array[..., ~self.live()] = 0.0
        if counted:
            self.documents.add_to(self._summed)
            self._summed_tables += self.tables

    def run(self, burn_in, sweeps, key):
        """ChainCounts of some sweeps, after others that are discarded."""
        for sweep in range(burn_in + sweeps):
            self.sweep(combine_keys(key, sweep), sweep >= burn_in)
        return self.result(sweeps)

    def result(self, n_sweeps):
        """ChainCounts: means over the counted sweeps, of topics that there still are."""
        live = self.live()
        tokens = DenseCounts.of_sums(columns_of(self._summed, live), n_sweeps)
        return ChainCounts(tokens, self._summed_tables[live] / n_sweeps)


@dataclass
class ChainCounts:
    """Tokens of words in topics, and tables of topics: means over the counted sweeps; new topics last."""

    tokens: DenseCounts
    tables: np.ndarray

    def work(self):
        return self.tokens.work()

    def add_to(self, target, words, factor, workers):
        self.tokens.add_to(target, words, factor, workers)
