"""Moves that BatchMoves tries: which pairs to merge, which topics to split, and the parts of a topic.

Both classes have the same functions, which choose pairs and topics and build the parts, and the same fields:
the largest number of topics that a batch may split, and the number of standard errors by which the gain of a
move must exceed zero.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sktopic._kernels._groups import WholeTopic
from sktopic.hdp._direct_assignment_state import SMALLEST_WEIGHT
from sktopic.hdp._shared_parameters import DocumentTopics, best_weights
from sktopic.hdp._split_proposals import divide_cells, propose_parts
from sktopic.hdp._variational_split_merge import (
    FEWEST_TOKENS,
    Topic,
    candidate_pairs,
    divided_columns,
    merge_gain,
    products,
    split_of,
    updated_topic,
)

# Number of passes, or updates, without merges of a topic after it was made or last changed.
GRACE_PASSES, GRACE_UPDATES = 4, 50
# Per batch: largest number of topics that are split, of topics and of pairs that are tried, and of pairs for
# each topic.
MOST_SPLITS, TRIED, PARTNERS = 3, 30, 2
# Covariance of two topics, in squared tokens, that must be exceeded. Smaller values are rounding errors.
LEAST_COVARIANCE = 1e-12


@dataclass(frozen=True)
class AscentProposals:
    """Parts from several starts of coordinate ascent, and merges of pairs with the best estimated gain.

    Topics wait after they were made and after refused moves.
    """

    max_splits: int = MOST_SPLITS
    confidence: float = 2.0

    def n_tried(self, n_topics):
        """Return the largest number of moves that a batch tries."""
        return TRIED

    def pairs(self, topics, state):
        """Return pairs of topics to merge, the most promising first, (n_pairs, 2)."""
        t = state.n_topic_updates
        free = t - state.births >= min(GRACE_PASSES * topics.scale, GRACE_UPDATES)
        free &= ~state.are_frozen
        due = state.trials["merge_due"] <= t
        if not (free & due).any():
            return np.empty((0, 2), dtype=np.int64)
        return candidate_pairs(topics, state.tokens, free, due, PARTNERS)[:TRIED]

    def merge_gain(self, topics, one, other, mixing):
        """Return the gain when two topics of a batch become one, and its standard error."""
        gain, unseen, error = merge_gain(topics, one, other, mixing)
        return gain + unseen, error

    def topics_to_split(self, state, weights):
        """Return topics to split, the largest weight first."""
        due = (state.trials["split_due"] <= state.n_topic_updates) & ~state.are_frozen
        order = np.argsort(-weights, kind="stable")
        return order[due[order]][:TRIED]

    def split(self, topics, k, update):
        """Return the Split of topic k, or None if the batch lacks it.

        The expected tokens after the update, including those of earlier batches, are divided word by word.
        Each part gets the probability that a token of the word belongs to it, given the means of the parts.

        Parameters
        ----------
        topics : BatchTopics, before the update by the batch
        k : number of the topic
        update : TopicUpdate
        """
        batch, alpha, eta = topics.batch, topics.concentration, topics.topic_word_prior
        cells, n = topics.cells(k), batch.n_documents
        whole = updated_topic(topics, cells, update)
        if whole.part.words.sum() < FEWEST_TOKENS:
            return None
        column = whole.part.column
        topic = WholeTopic(whole.log_words, update.new_weight, alpha, eta, len(column))
        weights = np.ones(n) if batch.sample_weight is None else batch.sample_weight
        found = propose_parts(cells, weights, topic, n_parts=2, key=update.key)
        columns = divided_columns(column, batch.words, found.columns, eta)
        posteriors = [topics.posterior(part) for part in columns]
        log_words = np.array([log for _, log, _ in posteriors])
        divided = divide_cells(cells, n, log_words, found.weights, alpha)
        parts = [
            Topic(topics.part(cells, float(found.weights[p]), columns[p], divided[0][:, p]), *posteriors[p])
            for p in range(2)
        ]
        return split_of(topics, cells, whole, parts, divided, (whole.part.documents, column.sum()))


@dataclass(frozen=True)
class RestrictedProposals:
    """The moves of Bryant and Sudderth (2012): restricted iteration, and merges by positive covariance.

    Every batch tries to split all topics, and to merge all such pairs. The corpus is taken to be the batch
    times its scale. Three details differ from the printed formulas:

    - Parts share the tokens of their topic. With the printed normalizer, the shares of a token do not sum to
      one, and the objective is no bound.
    - The M-step of the restricted iteration starts from the old topic and from the prior. Otherwise the batch
      would enter twice, and lambda could be smaller than eta.
    - A merged topic has eta once.
    """

    max_splits: int = MOST_SPLITS
    confidence: float = 0.0

    def n_tried(self, n_topics):
        return n_topics * (n_topics + 1) // 2

    def pairs(self, topics, state):
        """Return pairs of positive sample covariance of theta, the largest first, (n_pairs, 2)."""
        theta, weights = topics.counts.gamma, topics.batch.sample_weight
        centered = theta - np.average(theta, axis=0, weights=weights)
        if weights is not None:
            centered *= np.sqrt(weights)[:, None]
        covariance = products(centered) / topics.batch.total_weight
        covariance[state.are_frozen] = covariance[:, state.are_frozen] = 0.0
        pairs = np.argwhere(np.triu(covariance, 1) > LEAST_COVARIANCE)
        order = np.argsort(-covariance[tuple(pairs.T)], kind="stable")
        return np.ascontiguousarray(pairs[order])

    def merge_gain(self, topics, one, other, mixing):
        gain, _, error = merge_gain(topics, one, other, mixing)
        return gain, error

    def topics_to_split(self, state, weights):
        order = np.argsort(-weights, kind="stable")
        return order[~state.are_frozen[order]]

    def split(self, topics, k, update):
        """Return the Split of topic k, or None if the batch lacks it or one of the parts would be empty."""
        batch, alpha, eta, rho = topics.batch, topics.concentration, topics.topic_word_prior, update.rho
        cells, n = topics.cells(k), batch.n_documents
        whole = updated_topic(topics, cells, update)
        if min(rho, 1.0 - rho) < SMALLEST_WEIGHT or whole.part.words.sum() < FEWEST_TOKENS:
            return None
        # lambda' = (1 - rho) lambda and lambda'' = rho lambda_hat; the weights of the parts likewise.
        old, new = update.column, topics.scale * whole.part.words
        log_words = [
            digamma(step * (eta + tokens)) - digamma(step * (len(old) * eta + total))
            for step, tokens, total in ((1.0 - rho, old[batch.words], old.sum()), (rho, new, new.sum()))
        ]
        weights = np.array([(1.0 - rho) * update.weight, rho * update.best_weight])
        # E-step (3, 4), from shares in proportion to the weights.
        divided = divide_cells(cells, n, np.array(log_words), weights, alpha)
        # M-step (6, 7).
        second = topics.part(cells, 0.0, np.zeros(len(old)), divided[0][:, 1])
        second.column[batch.words] = rho * topics.scale * second.words
        first = topics.part(cells, 0.0, whole.part.column - second.column, divided[0][:, 0])
        tokens = np.column_stack([first.documents, second.documents])
        shares = best_weights(
            DocumentTopics.of_batch(tokens, 1.0, batch.sample_weight),
            weights=weights / weights.sum(),
            alpha=alpha * update.best_weight,
            gamma=SMALLEST_WEIGHT,  # other topics keep their weights
        )
        best = update.best_weight * shares / shares.sum()
        first.weight = (1.0 - rho) * update.weight + rho * float(best[0])
        second.weight = rho * float(best[1])
        parts = [Topic(part, *topics.posterior(part.column)) for part in (first, second)]
        return split_of(topics, cells, whole, parts, divided)
