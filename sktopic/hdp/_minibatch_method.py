"""Base classes of the mini-batch methods for the HDP: functions of settings and the state."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sktopic._state._fields import changed, edited, grown
from sktopic._topics._topic_word_prior import check_number_of_topics
from sktopic._topics._word_count_edits import edited_topics, frozen_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._training._minibatch_state import random_words
from sktopic._training._minibatches import Growth, work_of_clearing
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import step_size
from sktopic.hdp._hdp_state import words_in_use
from sktopic.hdp._parameters import Parameters


class HDPUpdates(ABC):
    """Base class of methods that update an HDPState.

    A subclass defines the document step (`infer`), the update by a batch with words (`learned`), and the
    topics in use and their weights (`reported`).
    """

    averages: ClassVar[bool] = True
    reads_whole_batches: ClassVar[bool] = True
    learns_from_gains: ClassVar[bool] = False
    growth: ClassVar[Growth] = Growth.NONE

    @abstractmethod
    def learned(self, state: Any, counts: Any, update: Any, workers: Any) -> Any:
        """Return the state after a batch with words, before `reported` sets its part."""

    @abstractmethod
    def reported(self, state: Any) -> Any:
        """Return the state with the topics in use and their weights."""

    def absorb(self, state, counts, update, workers):
        state = of_corpus(state, update)
        if counts.n_tokens > 0.0:
            state = self.learned(state, counts, update, workers)
            state = changed(state, n_topic_updates=state.n_topic_updates + update.n_updates)
        return self.reported(state)


@dataclass(frozen=True, kw_only=True)
class HDPMethod(HDPUpdates):
    """Base class of methods whose statistics are a mean over documents.

    A subclass also defines the state before the first update (`start`).

    Attributes
    ----------
    n_components : initial number of topics
    components : initial topics (n_given, n_features), or None
    parameters : Parameters
    steps : step size as a function of the number of the update
    """

    n_components: int
    components: Any
    parameters: Parameters
    steps: Callable[..., float]

    rule: ClassVar = DocumentAverage()
    # Whether the column of a merged or dropped topic stays for another topic.
    keeps_columns: ClassVar[bool] = False

    @abstractmethod
    def start(self, n_features: int, seed: int) -> Any:
        """Return the state before the first update."""

    def started(self, kind, n_features, seed, **own):
        """Return the state of a class before the first update, with all topics in use.

        own : fields of the class, and fields with unusual initial values
        """
        n = self.n_components
        if "words" not in own:
            own["words"] = random_words(n_features, n, seed, self.components)
        shared = {
            "ids": np.arange(n),
            "next_id": n,
            "in_use": np.arange(n),
            "topic_weights": np.ones(n),
            "doc_topic_prior": np.ones(n),
        }
        return self.reported(self.adopted(kind(seed=seed, **{**shared, **own})))

    def adopted(self, state):
        """Return the state with parameters that have changed since the last call."""
        return self.parameters.adopted(state)

    def check_continuation(self, state):
        """Raise ValueError for changed parameters that cannot change during training."""
        if self.keeps_columns:  # otherwise n_components is only the start
            check_number_of_topics(self.n_components, state.words.n_topics)

    # Topics

    def topics(self, state):
        """Return the reported topics, TopicProbabilities."""
        return probabilities(words_in_use(state), state.unit, state.topic_word_prior)

    def inference_topics(self, state):
        """Return the topics for inference in `transform`."""
        return self.topics(state)

    # An update

    def step_size(self, state, update, t=None):
        """Return the step size of averages; t: number of the update, by default the next one with words."""
        return step_size(self.steps, state, update, t)

    def kept(self, state, update):
        return self.rule.kept(self.step_size(state, update), state.n_topic_updates == 0)

    def entered(self, state, counts, update, workers):
        """Return the statistics after adding a batch; arrays change in place."""
        rho, is_first = self.step_size(state, update), state.n_topic_updates == 0
        return self.rule(state.words, counts, rho, is_first, workers)

    def work(self, state, counts, update):
        return counts.expected.work() + work_of_clearing(self, state, counts, update)

    # Edits

    def edited(self, state, edit):
        """Return the state after a TopicEdit of the topics in use; no array is changed in place."""
        columns = edit.of_columns(state.in_use, state.words.n_topics, self.keeps_columns)
        return self.reported(self.edited_columns(state, columns))

    def edited_columns(self, state, edit):
        """Return the state after a TopicEdit of all columns, before `reported` sets its part."""
        return changed(edited(state, edit), words=edited_topics(state.words, edit))

    def frozen(self, state, columns):
        """Return the state in which only the topics of these columns are frozen."""
        words = frozen_topics(state.words, columns, state.unit, state.topic_word_prior)
        return changed(state, words=words)

    def grown(self, state, n_words):
        """Return the state with more words."""
        return grown(state, n_words)


def of_corpus(state, update):
    """Return the state for a corpus of the size of the update."""
    return changed(state, total_samples=float(update.total_samples))
