"""The state of mini-batch methods for the HDP: topics that come and go, some of which are in use."""

from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import array, changed, count, number
from sktopic._topics._prior import SMALLEST, check_used_prior
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import expected_tokens
from sktopic._training._minibatch_state import MinibatchState
from sktopic.hdp._parameters import check_in_use

# Smallest number of expected tokens in the corpus of a topic in use.
FEWEST_TOKENS = 1.0
# An entry of a history of moves.
MOVE = np.dtype(
    [
        ("n_samples", "i8"),
        ("kind", "U5"),
        ("topic", "i8"),
        ("other", "i8"),
        ("gain", "f8"),
        ("n_components", "i8"),
        ("elbo", "f8"),
    ]
)


def _ids_left(edit, ids):
    return ids if edit.keeps_columns else edit.left(ids)


@dataclass(frozen=True, eq=False, kw_only=True)
class HDPState(MinibatchState):
    """The state after some updates.

    The statistics have spare columns for topics. Reported topics are those in use, with at least one expected
    token in the corpus.

    Attributes
    ----------
    topic_concentration, doc_concentration, topic_word_prior : float
        The parameters in use.
    ids : ndarray of shape (n_topics,)
        Identity of the topic of each column.
    next_id : int
        Identity of the next new topic.
    in_use : ndarray of shape (n_components,)
        Columns in use, ascending.
    topic_weights : ndarray of shape (n_components,)
        Weights of the topics in use.
    doc_topic_prior : ndarray of shape (n_components,)
        Dirichlet parameters of proportions for these.
    """

    topic_concentration: float = number(1.0)
    doc_concentration: float = number(1.0)
    topic_word_prior: float = number(1.0)
    ids: np.ndarray = array(np.int64, "topics", merge=_ids_left)
    next_id: int = count()
    in_use: np.ndarray = array(np.int64, "components")
    topic_weights: np.ndarray = array(np.float64, "components")
    doc_topic_prior: np.ndarray = array(np.float64, "components")

    @property
    def topic_ids(self):
        """Identities of the topics in use."""
        return self.ids[self.in_use]

    @property
    def unit(self):
        """Tokens of the corpus per unit of the statistics."""
        return self.total_samples

    def check(self):
        """Raise ValueError if parts do not fit together."""
        check_in_use(self)
        check_used_prior(self.doc_topic_prior)
        used, n_topics = self.in_use, self.words.n_topics
        if used[0] < 0 or used[-1] >= n_topics or (used[1:] <= used[:-1]).any():
            raise ValueError(f"in_use must have ascending numbers below {n_topics}")
        if self.ids.max() > 2**62:  # the next ones follow from these
            raise ValueError(f"ids must have numbers up to 2**62, but has {self.ids.max()}")
        if not np.isfinite(self.words.totals).all():
            raise ValueError("the numbers of tokens of its topics are not finite")


def are_in_use(tokens):
    """Whether topics with these numbers of expected tokens are in use. The largest always is."""
    found = tokens >= FEWEST_TOKENS
    found[tokens.argmax()] = True
    return found


def columns_in_use(state):
    """Return the columns of the topics in use, or all columns before there are tokens."""
    if state.n_topic_updates == 0:
        return np.arange(state.words.n_topics)
    return np.flatnonzero(are_in_use(expected_tokens(state.words, state.unit)))


def reporting(state, in_use, weights, prior=None):
    """Return the state that reports the topics of some columns.

    in_use : the columns
    weights : of their topics
    prior : Dirichlet parameters of proportions for these. If None, doc_concentration times the weights.
    """
    if prior is None:
        prior = np.maximum(state.doc_concentration * weights, SMALLEST)
    return changed(state, in_use=in_use, topic_weights=weights, doc_topic_prior=prior)


def words_in_use(state):
    """Return the WordCounts of the topics in use."""
    return state.words if len(state.in_use) == state.words.n_topics else of_topics(state.words, state.in_use)


def noted_moves(state, moves, n_in_use, elbo=np.nan):
    """Return the move history with more moves appended; the state is that after them.

    moves : tuples (kind, topic, other, gain)
    n_in_use : number of topics after them
    elbo : bound of the corpus after them
    """
    if not moves:
        return state.move_history
    changes = np.cumsum([1 if kind == "split" else -1 for kind, *_ in moves])
    n_after = n_in_use - changes[-1] + changes
    noted = [(state.n_samples_seen, *move, n, elbo) for move, n in zip(moves, n_after)]
    return np.concatenate([state.move_history, np.array(noted, dtype=MOVE)])
