"""Shared part of the mini-batch methods for the HDP: functions of settings and the state."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sktopic._state._fields import changed, grown
from sktopic._topics._topic_word_prior import check_number_of_topics
from sktopic._topics._word_count_edits import edited_topics, frozen_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import step_size
from sktopic._training._updates import work_of_clearing
from sktopic.hdp._hdp_state import columns_in_use, with_parameters, words_in_use


class HDPUpdates(ABC):
    """Base class of what updates an HDPState.

    A subclass defines the document step (`infer`), the update by a batch with words (`learned`), and the
    topics in use and their weights (`reported`).
    """

    averages: ClassVar[bool] = True
    reads_whole_batches: ClassVar[bool] = True
    learns_from_gains: ClassVar[bool] = False

    @abstractmethod
    def learned(self, state: Any, counts: Any, update: Any, workers: Any) -> Any:
        """Return the state after a batch that has words, but for what `reported` sets."""

    @abstractmethod
    def reported(self, state: Any) -> Any:
        """Return the state with the topics in use and their weights."""

    def absorb(self, state, counts, update, workers):
        state = of_corpus(state, update)
        if counts.n_tokens > 0.0:
            state = self.learned(state, counts, update, workers)
            state = changed(state, n_topic_updates=state.n_topic_updates + update.n_updates)
        return self.reported(state)

    def undo(self, state, counts, update):
        return None


@dataclass(frozen=True, kw_only=True)
class HDPMethod(HDPUpdates):
    """Base class of methods whose statistics are a mean over documents.

    A subclass also defines the state before the first update (`start`).

    Attributes
    ----------
    n_components : number of topics at the start
    steps : step size, a function of the number of the update
    """

    n_components: int
    steps: Callable[..., float]

    rule: ClassVar = DocumentAverage()
    # Whether the column of a topic that is merged or dropped stays, for another one.
    keeps_columns: ClassVar[bool] = False

    @abstractmethod
    def start(self, n_features: int, seed: int) -> Any:
        """Return the state before the first update."""

    def check_continuation(self, state):
        """Raise ValueError for parameters that cannot change once training has begun."""
        if self.keeps_columns:  # else n_components is only the start
            check_number_of_topics(self.n_components, state.words.n_topics)

    # Topics

    def unit(self, state):
        """What one unit of the statistics stands for, in tokens of the corpus."""
        return state.total_samples

    def columns_in_use(self, state):
        """Numbers of the columns whose topics are in use."""
        return np.flatnonzero(columns_in_use(state, self.unit(state)))

    def topics(self, state):
        """The topics that are reported, TopicProbabilities."""
        return probabilities(words_in_use(state), self.unit(state), state.topic_word_prior)

    def inference_topics(self, state):
        """The topics that transform infers documents with."""
        return self.topics(state)

    # An update

    def step_size(self, state, update, t=None):
        """How far an update moves averages; t, if not one more than the updates so far that had words."""
        return step_size(self.steps, state, update, t)

    def kept(self, state, update):
        return self.rule.kept(self.step_size(state, update), state.n_topic_updates == 0)

    def entered(self, state, counts, update, workers):
        """The statistics after a batch has entered them; arrays change in place."""
        rho, is_first = self.step_size(state, update), state.n_topic_updates == 0
        return self.rule(state.words, counts, rho, is_first, workers)

    def work(self, state, counts, update):
        rho = self.step_size(state, update)
        return counts.expected.work() + work_of_clearing(self.rule, rho, state, counts)

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


@dataclass(frozen=True, kw_only=True)
class OnlineHDP(HDPMethod):
    """Base class of methods with parameters that are not learned.

    Attributes
    ----------
    topic_concentration, doc_concentration, topic_word_prior : the parameters
    """

    topic_concentration: float
    doc_concentration: float
    topic_word_prior: float

    def adopted(self, state):
        """The state with parameters that were changed since the last call."""
        return with_parameters(
            state,
            topic_concentration=self.topic_concentration,
            doc_concentration=self.doc_concentration,
            topic_word_prior=self.topic_word_prior,
        )


def of_corpus(state, update):
    """The state for a corpus of the size that an update says."""
    return changed(state, total_samples=float(update.total_samples))
