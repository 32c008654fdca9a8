"""Gibbs sampling of the topics of a batch, some of which it makes itself."""

from dataclasses import asdict, dataclass, fields, replace

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


@dataclass
class KnownTopics:
    """Topics of the corpus, as the documents before a batch have left them.

    Attributes
    ----------
    counts : (n_words, n_known) expected tokens of the words of the batch
    totals : (n_known,) the same of all words
    sticks : (2, n_known) parameters a and b of the sticks' Beta posteriors, to which the tables of the batch
        are added
    """

    counts: np.ndarray
    totals: np.ndarray
    sticks: np.ndarray


@dataclass(frozen=True)
class ChainPrior:
    """Parameters of the model that a chain samples; n_features : words in the vocabulary."""

    topic_concentration: float
    doc_concentration: float
    topic_word_prior: float
    n_features: int


@dataclass
class Columns:
    """Arrays of a chain, with columns for topics of the corpus, then of the batch, then for new ones.

    Attributes
    ----------
    counts : (n_words, n_columns) tokens of the words of the batch, those of the corpus too
    totals : (n_columns,) the same of all words
    sticks : (2, n_columns) those of topics of the corpus, without tables of the batch
    ids : (n_columns,) identities of topics, for the kernel
    tables : (n_columns,) of the batch
    summed, summed_tables : sums of the tokens and tables of the batch over counted sweeps
    """

    counts: np.ndarray
    totals: np.ndarray
    sticks: np.ndarray
    ids: np.ndarray
    tables: np.ndarray
    summed: np.ndarray
    summed_tables: np.ndarray

    def extend(self, size):
        """Let arrays have ``size`` columns."""
        for each in fields(self):
            setattr(self, each.name, padded(getattr(self, each.name), size))

    def clear(self, gone):
        """Let topics that are gone have nothing; gone: (n_columns,) bool."""
        for array in (self.counts, self.totals, self.summed, self.summed_tables):
            array[..., gone] = 0.0


class BatchChain:
    """Gibbs sampling of the topics of a batch, given what documents before it say of topics and sticks.

    Topics of the corpus come first, in their columns. Behind them are those that the batch makes: they are
    gone when their last token leaves.

    Parameters
    ----------
    batch : DocumentBatch
    known : KnownTopics
    prior : ChainPrior
    """

    def __init__(self, batch, known, prior):
        documents = Restaurants.of(batch)
        self.documents = replace(documents, words=np.arange(batch.n_words, dtype=np.int32))
        self.n_known, self.prior = len(known.totals), prior
        self.columns = Columns(
            counts=known.counts,
            totals=known.totals,
            sticks=known.sticks,
            ids=np.arange(self.n_known),
            tables=np.zeros(self.n_known),
            summed=np.zeros_like(known.counts, dtype=np.float64),
            summed_tables=np.zeros(self.n_known),
        )
        self.columns.extend(self.n_known + SPARE)

    def assign_at_random(self, n_topics, key):
        """Start from uniformly random topics, behind those that there are."""
        columns = self.columns
        columns.extend(self.n_known + n_topics + SPARE)
        draws = uniforms(key, len(self.documents.z))
        self.documents.assign((self.n_known + draws * n_topics).astype(np.int32))
        self.documents.add_to(columns.counts)
        columns.totals[self.n_known :] = columns.counts[:, self.n_known :].sum(axis=0)
        columns.tables = self.documents.tables(len(columns.tables))

    def live(self):
        """Which columns have a topic."""
        tables = self.columns.tables
        return (np.arange(len(tables)) < self.n_known) | (tables > 0)

    def draw_weights(self, generator):
        """Draw the sticks given the tables; weights of topics and their rest, times that of documents.

        A topic of this batch has Beta(M_k, gamma + M_>k), so that new topics have weights of the Dirichlet
        law that they have in a corpus of their own.
        """
        live, alpha = self.live(), self.prior.doc_concentration
        tables, (a, b) = self.columns.tables[live], self.columns.sticks[:, live]
        b[self.n_known :] = self.prior.topic_concentration
        after = tables[::-1].cumsum()[::-1] - tables
        stick = generator.beta(a + tables, b + after)
        left = np.concatenate([[1.0], np.cumprod(1.0 - stick)])
        weights = np.zeros(len(live))
        weights[live] = np.maximum(alpha * stick * left[:-1], SMALLEST_WEIGHT)
        return weights, alpha * left[-1]

    def sweep(self, key, *, counted):
        """Draw sticks, then the topics of all tokens, then tables; counted: whether these are summed up."""
        weights, rest = self.draw_weights(generator_of(key, WEIGHT_KEY))
        columns, settings = self.columns, {"sampler": SAMPLERS["direct_assignment"], "common": 0}
        self.documents.weigh(indicators=False)
        weights, _ = self.documents.sweep(
            arrays=lambda: {"counts": columns.counts, "totals": columns.totals, "ids": columns.ids},
            root=weights,
            rest=rest,
            settings=settings | asdict(self.prior),
            key=key,
            extend=columns.extend,
        )
        tables = columns.tables = np.zeros(len(weights))
        key = combine_keys(key, TABLE_KEY)
        draw_tables(lists=self.documents.lists, weight=weights, tables=tables, key=key)
        columns.clear(~self.live())
        if counted:
            self.documents.add_to(columns.summed)
            columns.summed_tables += tables

    def run(self, burn_in, sweeps, key):
        """ChainCounts of some sweeps, after others that are discarded."""
        for sweep in range(burn_in + sweeps):
            self.sweep(combine_keys(key, sweep), counted=sweep >= burn_in)
        return self.result(sweeps)

    def result(self, n_sweeps):
        """ChainCounts: means over the counted sweeps, of topics that there still are."""
        live, columns = self.live(), self.columns
        tokens = DenseCounts.of_sums(columns_of(columns.summed, live), n_sweeps)
        return ChainCounts(tokens, columns.summed_tables[live] / n_sweeps)


@dataclass
class ChainCounts:
    """Tokens of words in topics, and tables of topics: means over the counted sweeps; new topics last."""

    tokens: DenseCounts
    tables: np.ndarray

    def work(self):
        return self.tokens.work()

    def add_to(self, target, words, factor, workers):
        self.tokens.add_to(target, words, factor, workers)
