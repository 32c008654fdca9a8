"""Shared part of the mini-batch methods for the HDP: functions of settings and the state."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sktopic._kernels._rng import combine_keys
from sktopic._state._fields import changed, grown
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_count_edits import edited_topics, frozen_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import INITIAL_KEY, WordCounts
from sktopic._training._minibatches import LONG_WORK
from sktopic._training._statistics_updates import DocumentAverage
from sktopic.hdp._hdp_state import HDPState, words_in_use


@dataclass(frozen=True, kw_only=True)
class OnlineHDP(ABC):
    """Base class of methods whose statistics are a mean over documents.

    A subclass defines the state before the first update (`start`), the document step (`infer`), the update by
    a batch with words (`learned`), and the topics in use and their weights (`reported`).

    Attributes
    ----------
    n_components : number of topics at the start
    topic_concentration, doc_concentration, topic_word_prior : the parameters
    steps : step size, a function of the number of the update
    """

    n_components: int
    topic_concentration: float
    doc_concentration: float
    topic_word_prior: float
    steps: Callable[[float], float]

    rule: ClassVar = DocumentAverage()
    averages: ClassVar[bool] = True
    reads_whole_batches: ClassVar[bool] = True
    learns_from_gains: ClassVar[bool] = False
    # Whether the column of a topic that is merged or dropped stays, for another one.
    keeps_columns: ClassVar[bool] = False

    @abstractmethod
    def start(self, n_features: int, seed: int) -> Any:
        """Return the state before the first update."""

    @abstractmethod
    def learned(self, state: Any, counts: Any, update: Any, workers: Any) -> Any:
        """Return the state after a batch that has words, but for what `reported` sets."""

    @abstractmethod
    def reported(self, state: Any) -> Any:
        """Return the state with the topics in use and their weights."""

    def adopted(self, state):
        """The state with parameters that were changed since the last call."""
        return changed(
            state,
            topic_concentration=float(self.topic_concentration),
            doc_concentration=float(self.doc_concentration),
            topic_word_prior=float(self.topic_word_prior),
        )

    def check_continuation(self, state):
        """Raise ValueError for parameters that cannot change once training has begun."""
        n_topics = state.words.n_topics
        if self.keeps_columns and self.n_components != n_topics:  # else n_components is only the start
            raise ValueError(
                f"n_components={self.n_components!r} differs from the {n_topics} topics in training; "
                "set it back, or call fit to start anew."
            )

    # Topics

    def unit(self, state):
        """Tokens of the corpus that one unit of the statistics stands for."""
        return state.total_samples

    def topics(self, state):
        """The topics that are reported, TopicProbabilities."""
        return probabilities(words_in_use(state), self.unit(state), state.topic_word_prior)

    def inference_topics(self, state):
        """The topics that transform infers documents with."""
        return self.topics(state)

    # An update

    def step_size(self, state, t=None):
        """How far an update moves averages; t, if not one more than the updates so far that had words."""
        return self.steps(state.n_topic_updates + 1 if t is None else t)

    def kept(self, state, update):
        return self.rule.kept(self.step_size(state), state.n_topic_updates == 0)

    def entered(self, state, counts, workers):
        """The statistics after a batch has entered them; arrays change in place."""
        return self.rule(state.words, counts, self.step_size(state), state.n_topic_updates == 0, workers)

    def absorb(self, state, counts, update, workers):
        state = changed(state, total_samples=float(update.total_samples))
        if counts.n_tokens > 0.0:
            state = self.learned(state, counts, update, workers)
            state = changed(state, n_topic_updates=state.n_topic_updates + 1)
        return self.reported(state)

    def work(self, state, counts, update):
        work, size = counts.expected.work(), state.words.size
        if size < LONG_WORK // 10 or counts.n_tokens == 0.0:  # clearing so few entries takes no time
            return work
        discards = self.rule.discards(self.step_size(state), state.n_topic_updates == 0)
        return work + (size if discards else 0)

    # Edits

    def edited(self, state, edit):
        """The state after a TopicEdit of the topics in use; no array is changed in place."""
        columns = edit.of_columns(state.in_use, state.words.n_topics, self.keeps_columns)
        return self.reported(self.edited_columns(state, columns))

    def edited_columns(self, state, edit):
        """The state after a TopicEdit of the topics in all columns, but for what `reported` sets."""
        state = changed(state, words=edited_topics(state.words, edit))
        return state if self.keeps_columns else changed(state, ids=edit.left(state.ids))

    def frozen(self, state, columns):
        """The state in which the topics of these columns are frozen, and no others."""
        words = frozen_topics(state.words, columns, self.unit(state), state.topic_word_prior)
        return changed(state, words=words)

    def grown(self, state, n_words):
        """The state with so many words more."""
        return grown(state, n_words)


def random_words(n_features, n_topics, seed, components):
    """WordCounts of topics that are random, but for those of components, an array or None."""
    given = None if components is None else check_components_init(components, n_features, most=n_topics)
    words = WordCounts.random(n_features, n_topics, combine_keys(seed, INITIAL_KEY))
    if given is not None:
        words.start_from(given)
    return words


def state_at_start(kind: type[HDPState], words, seed, **own):
    """The state of a class before the first update, all of whose topics are in use; own : its own fields."""
    n_topics = words.n_topics
    return kind(
        words=words,
        total_samples=0.0,
        corpus_size=0,
        n_samples_seen=0,
        n_passes=0,
        n_updates=0,
        n_topic_updates=0,
        seed=seed,
        topic_concentration=1.0,
        doc_concentration=1.0,
        topic_word_prior=1.0,
        ids=np.arange(n_topics),
        next_id=n_topics,
        in_use=np.arange(n_topics),
        topic_weights=np.ones(n_topics),
        doc_topic_prior=np.ones(n_topics),
        **own,
    )
