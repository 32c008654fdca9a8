"""Direct assignment from mini-batches: steps of weights, topics and concentrations, and moves of topics."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sktopic._inference._protocol import InferenceStep
from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed
from sktopic._topics._word_count_views import posterior_bound
from sktopic._training._minibatches import Growth
from sktopic.hdp._batch_moves import BatchMoves, moves_work
from sktopic.hdp._batch_proposals import AscentProposals, RestrictedProposals
from sktopic.hdp._direct_assignment_state import (
    PASS,
    SMALLEST_WEIGHT,
    TRIALS,
    DirectAssignmentState,
    after_moves,
    reported,
    weights_bound,
)
from sktopic.hdp._document_inference import DocumentInference
from sktopic.hdp._hdp_state import words_in_use
from sktopic.hdp._memoized._summaries import after_edit, checked, stored
from sktopic.hdp._minibatch_method import HDPMethod, of_corpus
from sktopic.hdp._shared_parameters import WEIGHT_ITERATIONS, DocumentTopics, best_weights, moved

MOVE_KEY = 0x6D6F7665


@dataclass(frozen=True, kw_only=True)
class DirectAssignment(HDPMethod):
    """Direct assignment trained on mini-batches.

    Attributes
    ----------
    inference : DocumentInference
    word_prior_start : topic_word_prior before it is learned
    proposals : AscentProposals or RestrictedProposals, or None without splits and merges
    learning_method : 'online' or 'memoized'; statistics of the second are sums over batches
    """

    inference: DocumentInference
    word_prior_start: float
    proposals: AscentProposals | RestrictedProposals | None
    learning_method: str

    averages: ClassVar[bool] = (
        False  # documents do not subtract their previous contribution from the statistics
    )
    growth: ClassVar[Growth] = Growth.CUBE_ROOT

    def start(self, n_features, seed):
        n, memoized = self.n_components, self.learning_method == "memoized"
        return self.started(
            DirectAssignmentState,
            n_features,
            seed,
            topic_word_prior=self.word_prior_start,
            weights=np.full(n, (1.0 - SMALLEST_WEIGHT) / n),
            births=np.zeros(n, dtype=np.int64),
            trials=np.zeros(n, dtype=TRIALS),
            summaries=stored([], n) if memoized else None,
            training_history=np.empty(0, dtype=PASS) if memoized else None,
        )

    def check_continuation(self, state):
        """Raise ValueError for changed parameters that cannot change during training."""
        if (self.learning_method == "memoized") != state.is_memoized:
            raise ValueError(
                f"learning_method={self.learning_method!r} is invalid: a model cannot change from "
                "or to 'memoized'. Set it back, or call fit to start again."
            )

    # Topics

    def reported(self, state):
        return reported(state)

    def inference_topics(self, state):
        return self.inference.topics(state, words_in_use(state))

    def prediction(self, state) -> InferenceStep[Any]:
        """Return the document step of transform."""
        return self.inference.step(state.rest)

    # The evidence lower bound

    def document_bounds(self, state, batch, workers):
        """Return a sequence of numbers in nats that sums to the documents' part of the bound."""
        return [self.inference.with_bound()(batch, state, workers, dtype=np.float64).bound()]

    def topic_bounds(self, state):
        """Return a sequence of numbers in nats that sums to the rest of the bound."""
        posteriors = posterior_bound(state.words, state.unit, state.topic_word_prior)
        return [posteriors, weights_bound(state)]

    # An update

    def infer(self, state, batch, keys, update, workers):
        return self.inference(batch, of_corpus(state, update), workers)

    def learned(self, state, counts, update, workers):
        scale, rho = update.total_samples / counts.n_documents, self.step_size(state, update)
        found, batch, splits, made = counts.expected, counts.expected.batch, [], []
        moves = self._moves_by(state, batch, scale, update, workers)
        if moves is not None:
            state, found, made = moves.merge(state, found)
        alpha, gamma = state.doc_concentration, state.topic_concentration
        documents = DocumentTopics.of_batch(found.tokens, scale, batch.sample_weight)
        best = best_weights(documents, state.weights, alpha, gamma)
        if moves is not None:
            state, splits = moves.propose_splits(state, found, best, rho)
        state = changed(state, weights=(1.0 - rho) * state.weights + rho * best)
        is_first = state.n_topic_updates == 0
        words = self.rule(state.words, replace(counts, expected=found), rho, is_first, workers)
        state = changed(state, words=words)
        if splits:
            state, tokens, parted = moves.split(state, splits, found)
            documents = DocumentTopics.of_batch(tokens, scale, batch.sample_weight)
            made = made + parted
        if not is_first:  # the first batch was inferred with random topics
            state = moved(self.parameters, state, documents, rho, workers)
        return after_moves(state, made)

    def _moves_by(self, state, batch, scale, update, workers):
        """Return the BatchMoves by a batch, or None if there are none."""
        # Topics are random before, and one document is not a sample.
        if self.proposals is None or state.n_topic_updates == 0 or (batch.total_weight < 2 and scale > 1.0):
            return None
        key = combine_keys(state.seed, MOVE_KEY, update.number)
        return BatchMoves(self.proposals, self.inference, scale, key, workers)

    def work(self, state, counts, update):
        work = self.work_without_moves(state, counts, update)
        if self.proposals is None:
            return work
        return work + moves_work(counts.expected, state.words.n_features, self.proposals)

    def work_without_moves(self, state, counts, update):
        """Return the approximate operations of an update without moves."""
        fitting = 40 * WEIGHT_ITERATIONS * counts.expected.gamma.size
        return super().work(state, counts, update) + fitting

    # Edits

    def edited_columns(self, state, edit):
        after, summaries = super().edited_columns(state, edit), state.summaries
        if summaries is None:
            return after
        return changed(after, summaries=after_edit(checked(summaries, state.words.n_features), edit))
