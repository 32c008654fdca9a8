"""The state of direct assignment: topics of a corpus, their weights and their history."""

import math
from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import array, changed, part, those_left, total
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import merged_topics, of_topics
from sktopic._topics._word_count_views import expected_counts, expected_tokens
from sktopic.hdp._hdp_state import MOVE, HDPState, are_in_use, columns_in_use, noted_moves, reporting
from sktopic.hdp._memoized._summaries import StoredSummaries

# Smallest weight of a topic, and of all topics that are not represented.
SMALLEST_WEIGHT = 1e-10
# How far the sum of the weights may be above 1.
ROUNDING = 1e-6
# For each topic: number of refused splits, and of refused merges with its likeliest partners, since it was
# made or last changed, and the update of the next trial. In memoized training, drops take the place of merges
# and passes that of updates.
TRIALS = np.dtype([("splits", "i8"), ("split_due", "i8"), ("merges", "i8"), ("merge_due", "i8")])
# A topic waits 2 ** refused updates, up to this power of two.
LONGEST_WAIT = 30
# An entry of training_history_.
PASS = np.dtype(
    [
        ("n_samples", "f8"),
        ("elbo", "f8"),
        ("n_components", "i8"),
        ("doc_concentration", "f8"),
        ("topic_concentration", "f8"),
        ("topic_word_prior", "f8"),
    ]
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectAssignmentState(HDPState):
    """The state after some updates; there are no spare columns.

    Attributes
    ----------
    weights : ndarray of shape (n_topics,)
        beta of all topics.
    births : ndarray of shape (n_topics,)
        Number of updates before each topic was made or last changed.
    trials : ndarray of shape (n_topics,)
        TRIALS of each topic.
    move_history : ndarray of shape (n_moves,)
    summaries : StoredSummaries or None
        Sums of batches with learning_method='memoized'. The statistics are sums over them.
    training_history : ndarray of shape (n_passes,) or None
        A PASS for each pass with that learning_method.
    """

    weights: np.ndarray = array(np.float64, "topics", merge=total)
    births: np.ndarray = array(np.int64, "topics", merge=those_left)
    trials: np.ndarray = array(TRIALS, "topics", merge=those_left)
    move_history: np.ndarray = array(MOVE, None, starts_empty=True)
    summaries: StoredSummaries | None = part(StoredSummaries, optional=True)
    training_history: np.ndarray | None = array(PASS, None, optional=True)

    def check(self):
        """Raise ValueError if parts do not fit together."""
        super().check()
        if self.topic_word_prior == 0.0:
            raise ValueError("topic_word_prior must be positive, but is 0")
        if not (self.weights.min() >= 0.0 and self.weights.sum() <= 1.0 + ROUNDING):
            raise ValueError("weights must be shares whose sum is at most 1")

    @property
    def n_topics(self):
        return len(self.weights)

    @property
    def is_memoized(self):
        """Whether the statistics are sums over batches with summaries."""
        return self.training_history is not None

    @property
    def unit(self):
        return 1.0 if self.is_memoized else self.total_samples

    @property
    def weight_left(self):
        """One minus the sum of the weights."""
        return max(1.0 - float(self.weights.sum()), SMALLEST_WEIGHT)

    @property
    def rest(self):
        """Prior parameter of all topics that are not represented."""
        return self.doc_concentration * self.weight_left

    @property
    def prior(self):
        """Dirichlet parameters of proportions, (n_topics,)."""
        return np.maximum(self.doc_concentration * self.weights, SMALLEST)

    @property
    def are_frozen(self):
        """Whether each topic is protected from moves, (n_topics,)."""
        frozen = np.zeros(self.n_topics, dtype=bool)
        frozen[self.words.frozen_columns] = True
        return frozen

    @property
    def tokens(self):
        """Expected tokens of each topic, (n_topics,)."""
        return expected_tokens(self.words, self.unit)


def column_of(state, k):
    """Expected tokens of all words in topic k, (n_features,)."""
    return expected_counts(state.words, state.unit, k)


def weights_bound(state):
    """Return log p(beta), the density of the sticks."""
    gamma = state.topic_concentration
    return state.n_topics * math.log(gamma) + (gamma - 1.0) * math.log(state.weight_left)


def reported(state):
    """Return the state that reports its topics in use."""
    used = columns_in_use(state)
    return reporting(state, used, state.weights[used])


def after_moves(state, moves, elbo=np.nan):
    """Return the state with moves, tuples (kind, topic, other, gain), in its history; elbo: after them."""
    return changed(state, move_history=noted_moves(state, moves, len(columns_in_use(state)), elbo))


# Edits: each returns another state, and changes none.


def with_kept(state, kept, words=None):
    """Return the state without the other topics, whose weights go to topics that are not represented.

    words : WordCounts of the kept topics, if they have additional tokens
    """
    return changed(
        state,
        words=of_topics(state.words, kept) if words is None else words,
        weights=state.weights[kept],
        ids=state.ids[kept],
        births=state.births[kept],
        trials=state.trials[kept],
    )


def with_merged(state, merges):
    """Return the state after merging disjoint pairs of topics and removing topics that are not in use.

    Parameters
    ----------
    merges : list of Move; the larger topic keeps its identity

    Returns
    -------
    state : DirectAssignmentState
    kept : (n_topics,) bool, the remaining topics
    into : (n_topics,) the topic that each is now part of
    made : list of ("merge", identity kept, identity lost, gain)
    """
    totals, weights = state.words.totals.copy(), state.weights.copy()
    kept, into, made = np.ones(len(totals), dtype=bool), np.arange(len(totals)), []
    for move in merges:
        first, second = move.topics
        large, small = (first, second) if totals[first] >= totals[second] else (second, first)
        totals[large] += totals[small]
        weights[large] += weights[small]
        kept[small], into[small] = False, large
        made.append(("merge", state.ids[large], state.ids[small], move.gain))
    kept &= are_in_use(expected_tokens(state.words, state.unit, totals))
    if kept.all():
        return state, kept, into, made
    words = merged_topics(state.words, kept, into, totals)
    return with_kept(changed(state, weights=weights), kept, words), kept, into, made


def postponed(state, move, topics, t, longest=LONGEST_WAIT):
    """Return the state in which topics wait after a move ("split" or "merge") refused in update t.

    longest : logarithm to base two of the longest wait
    """
    trials = state.trials.copy()
    trials[f"{move}s"][topics] += 1
    waits = 2 ** np.minimum(trials[f"{move}s"][topics], longest)
    trials[f"{move}_due"][topics] = t + waits
    return changed(state, trials=trials)
