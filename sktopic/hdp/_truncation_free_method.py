"""Truncation-free variational inference for the HDP: batches are Gibbs chains that add new topics."""

from dataclasses import dataclass

import numpy as np

from sktopic._inference._dense import DenseCounts
from sktopic._inference._gibbs import GibbsInference
from sktopic._inference._token_counts import add_tokens
from sktopic._kernels._groups import RootTopics
from sktopic._kernels.hdp._gibbs import draw_tables
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic._runtime._arrays import columns_of
from sktopic._state._fields import array, changed
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import expected_counts_of, expected_tokens
from sktopic._topics._word_counts import WordCounts
from sktopic._training._minibatches import FIT_KEY
from sktopic.hdp._hdp_state import HDPState, are_in_use, columns_in_use, reporting
from sktopic.hdp._minibatch_method import HDPMethod
from sktopic.hdp._restaurants import (
    SMALLEST_WEIGHT,
    SPARE,
    TABLE_KEY,
    WEIGHT_KEY,
    Restaurants,
    generator_of,
    padded,
    sweep_settings,
    wider,
)

START_KEY = 0x7374617274


def stick_weights(sticks):
    """Return weights of topics by the means of sticks with Beta parameters (2, n_topics)."""
    a, b = sticks
    left = np.concatenate([[1.0], np.cumprod(b / (a + b))[:-1]])
    return a / (a + b) * left


def best_sticks(tables, concentration):
    """Return Beta parameters (2, n_topics) that follow from the tables of topics in a corpus."""
    after = tables[::-1].cumsum()[::-1] - tables
    return np.array([1.0 + tables, concentration + after])


def scaled_sticks(sticks, factor, concentration):
    """Return the parameters for factor times as many tables, with factor <= 1."""
    a, b = sticks
    return np.array([1.0 - factor + factor * a, (1.0 - factor) * concentration + factor * b])


def edited_sticks(edit, sticks):
    """Return the parameters after a TopicEdit: tables follow merged topics and leave earlier sticks."""
    tables, after = sticks[0] - 1.0, sticks[1].copy()
    for k in np.flatnonzero(~edit.stays):
        after[:k] -= tables[k]
        after[: max(edit.into[k], 0)] += tables[k]
    return np.array([1.0 + edit.sums(tables), np.maximum(edit.left(after), SMALLEST)])


class ChainCounts(DenseCounts):
    """Tokens of words in topics, and tables of topics: means over the counted sweeps, new topics last."""

    tables: np.ndarray


class BatchChain:
    """Gibbs sampling of the topics of a batch, given topics and sticks from earlier documents.

    Topics of the corpus are in the first columns, followed by new topics of the batch. A new topic is removed
    when its last token leaves.

    Parameters
    ----------
    batch : DocumentBatch
    counts : (n_words, n_known) expected tokens of the words of the batch in topics of the corpus
    totals : (n_known,) sums of these over all words
    sticks : (2, n_known) parameters a and b of the sticks' Beta posteriors, to which the tables of the batch
        are added
    settings : SweepSettings

    Attributes
    ----------
    topics : RootTopics, including the tokens of the batch
    tables : (n_columns,) tables of the batch
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
        """Start from uniformly random new topics."""
        self.topics = wider(self.topics, self.n_known + n_topics + SPARE)
        draws = uniforms(key, len(self.documents.z))
        self.documents.assign((self.n_known + draws * n_topics).astype(np.int32))
        add_tokens(self.documents, self.topics.counts)
        self.topics.totals[self.n_known :] = self.topics.counts[:, self.n_known :].sum(axis=0)
        self.tables = self.documents.tables(len(self.topics.root))

    def live(self):
        """Whether each column has a topic."""
        return (np.arange(len(self.tables)) < self.n_known) | (self.tables > 0)

    def draw_weights(self, generator):
        """Draw the sticks given the tables; return weights of topics and their rest, times that of documents.

        New topics of the batch have sticks Beta(M_k, gamma + M_>k). Their weights then follow the Dirichlet
        distribution of a separate corpus.
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
        """Draw sticks, then the topics of all tokens, then tables; counted: whether to add them to sums."""
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
        for each in (topics.counts, topics.totals, self.summed, self.summed_tables):
            each[..., gone] = 0.0
        if counted:
            add_tokens(self.documents, self.summed)
            self.summed_tables += self.tables

    def run(self, burn_in, sweeps, key):
        """Return ChainCounts of some sweeps, after the burn-in."""
        for sweep in range(burn_in + sweeps):
            self.sweep(combine_keys(key, sweep), counted=sweep >= burn_in)
        return self.result(sweeps)

    def result(self, n_sweeps):
        """Return ChainCounts: means over the counted sweeps, of the remaining topics."""
        live = self.live()
        found = ChainCounts.of_sums(columns_of(self.summed, live), n_sweeps)
        found.tables = self.summed_tables[live] / n_sweeps
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class StickState(HDPState):
    """The state after some updates.

    Attributes
    ----------
    sticks : ndarray of shape (2, n_topics)
        Beta parameters of the sticks' posteriors.
    """

    sticks: np.ndarray = array(np.float64, 2, "topics", merge=edited_sticks)


@dataclass(frozen=True, kw_only=True)
class TruncationFree(HDPMethod):
    """Gibbs sampling of batches, and variational posteriors of the corpus (VarGibbs in the literature).

    Attributes
    ----------
    burn_in, sweeps : number of discarded sweeps over a batch, then of counted sweeps
    prediction : document step of transform
    """

    burn_in: int
    sweeps: int
    prediction: GibbsInference

    def start(self, n_features, seed):
        n = self.n_components
        # The sticks after one table for each topic.
        sticks = np.array([np.ones(n), float(self.parameters.topic_concentration) + np.arange(n)[::-1]])
        words = WordCounts.empty(n_features, n)
        return self.started(StickState, n_features, seed, words=words, sticks=sticks)

    def reported(self, state):
        in_use = columns_in_use(state)
        return reporting(state, in_use, stick_weights(state.sticks)[in_use])

    # Documents

    def infer(self, state, batch, keys, update, workers):
        first, unit = state.n_topic_updates == 0, update.total_samples
        known = slice(0, 0 if first else state.words.n_topics)
        # Tables of the corpus are scaled to the number of documents in the batch.
        share = min(batch.n_documents / update.total_samples, 1.0)
        chain = BatchChain(
            batch,
            counts=expected_counts_of(state.words, batch.words, known, unit),
            totals=expected_tokens(state.words, unit)[known],
            sticks=scaled_sticks(state.sticks[:, known], share, state.topic_concentration),
            settings=sweep_settings(state, "direct_assignment"),
        )
        key = combine_keys(state.seed, FIT_KEY, update.number)
        if first:
            chain.assign_at_random(state.words.n_topics, combine_keys(key, START_KEY))
        return chain.run(self.burn_in, self.sweeps, key)

    # Updates

    def step_size(self, state, update, t=None):
        if state.n_topic_updates == 0:  # the initial statistics are empty
            return 1.0
        return super().step_size(state, update, t)

    def learned(self, state, counts, update, workers):
        n_known, rho = state.words.n_topics, self.step_size(state, update)
        if state.n_topic_updates == 0:  # the initial statistics are empty
            n_known, state = 0, changed(state, next_id=0)
        n_new = len(counts.expected.tables) - n_known
        if n_known == 0 or n_new > 0:
            state = of_columns(state, slice(n_known), n_new)
        tables = counts.expected.tables * (update.total_samples / counts.n_documents)
        best = best_sticks(tables, state.topic_concentration)
        state = changed(
            state,
            words=self.entered(state, counts, update, workers),
            sticks=(1.0 - rho) * state.sticks + rho * best,
        )
        used = are_in_use(expected_tokens(state.words, state.unit))
        return state if used.all() else of_columns(state, used)

    def work(self, state, counts, update):
        return super().work(state, counts, update) + 2 * state.words.size  # copies for new and removed topics


def of_columns(state, kept, n_new=0):
    """Return the state with some topics only, and new topics without tokens and tables."""
    sticks = np.repeat([[1.0], [state.topic_concentration]], n_new, axis=1)
    return changed(
        state,
        words=of_topics(state.words, kept, n_spare=n_new),
        sticks=np.hstack([state.sticks[:, kept], sticks]),
        ids=np.append(state.ids[kept], state.next_id + np.arange(n_new)),
        next_id=state.next_id + n_new,
    )
