"""Truncation-free variational inference for the HDP: batches that are chains, and bring new topics."""

from dataclasses import dataclass

import numpy as np

from sktopic._inference import GibbsInference
from sktopic._kernels._rng import combine_keys
from sktopic._state._fields import array, changed
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import expected_counts_of, expected_tokens
from sktopic._topics._word_counts import WordCounts
from sktopic._training._minibatches import FIT_KEY
from sktopic.hdp._batch_chain import (
    BatchChain,
    best_sticks,
    edited_sticks,
    scaled_sticks,
    stick_weights,
)
from sktopic.hdp._hdp_state import HDPState, are_in_use, reporting
from sktopic.hdp._minibatch_method import HDPMethod
from sktopic.hdp._restaurants import sweep_settings

START_KEY = 0x7374617274


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
    burn_in, sweeps : sweeps over a batch that are discarded, and that are counted after those
    prediction : document step of transform
    """

    burn_in: int
    sweeps: int
    prediction: GibbsInference

    def start(self, n_features, seed):
        n = self.n_components
        # The sticks after one table of each topic.
        sticks = np.array([np.ones(n), float(self.parameters.topic_concentration) + np.arange(n)[::-1]])
        words = WordCounts.empty(n_features, n)
        return self.started(StickState, n_features, seed, words=words, sticks=sticks)

    def reported(self, state):
        in_use = self.columns_in_use(state)
        return reporting(state, in_use, stick_weights(state.sticks)[in_use])

    # Documents

    def infer(self, state, batch, keys, update, workers):
        first, unit = state.n_topic_updates == 0, update.total_samples
        known = slice(0, 0 if first else state.words.n_topics)
        # Tables of the batch are weighed against those of a corpus of as many documents.
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
        if state.n_topic_updates == 0:  # it starts from nothing
            return 1.0
        return super().step_size(state, update, t)

    def learned(self, state, counts, update, workers):
        if state.n_topic_updates == 0:
            state = changed(of_columns(state, np.empty(0, dtype=np.int64)), next_id=0)
        state = with_new_topics(state, len(counts.expected.tables) - state.words.n_topics)
        rho = self.step_size(state, update)
        tables = counts.expected.tables * (update.total_samples / counts.n_documents)
        best = best_sticks(tables, state.topic_concentration)
        state = changed(
            state,
            words=self.entered(state, counts, update, workers),
            sticks=(1.0 - rho) * state.sticks + rho * best,
        )
        used = are_in_use(expected_tokens(state.words, self.unit(state)))
        return state if used.all() else of_columns(state, used)

    def work(self, state, counts, update):
        return super().work(state, counts, update) + 2 * state.words.size  # topics come and go


def of_columns(state, kept):
    """The state without the other topics."""
    return changed(
        state,
        words=of_topics(state.words, kept),
        sticks=state.sticks[:, kept],
        ids=state.ids[kept],
    )


def with_new_topics(state, n):
    """The state with n topics more, without tokens or tables."""
    if n <= 0:
        return state
    sticks = np.repeat([[1.0], [state.topic_concentration]], n, axis=1)
    return changed(
        state,
        words=of_topics(state.words, slice(None), n_spare=n),
        sticks=np.hstack([state.sticks, sticks]),
        ids=np.append(state.ids, state.next_id + np.arange(n)),
        next_id=state.next_id + n,
    )
