"""The mini-batch methods for LDA: what they share."""

from abc import abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import SHARED
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, OPTIONAL_NAME, damaged
from sktopic._estimators._lanes import LaneModel
from sktopic._estimators._topic_posteriors import CountPosteriors
from sktopic._inference import TrainingStep
from sktopic._topics._prior import (
    PRIOR_INERTIA,
    PriorLearner,
    check_prior,
    default_topic_word_prior,
)
from sktopic._topics._topic_word_prior import check_topic_word_prior
from sktopic._topics._word_count_edits import edited_topics
from sktopic._topics._word_count_views import expected_counts, geometric, probabilities
from sktopic._topics._word_counts import LEANING
from sktopic._typing import FloatArray, MatrixLike
from sktopic.lda._topic_exchange import best_order
from sktopic.lda._topic_word_prior import TopicWordPriorLDA


class MinibatchLDA(TopicWordPriorLDA, LaneModel):
    """Base class of the mini-batch methods for LDA: a random start, and priors, which may be learned.

    A method says with which step documents are inferred (`_training_step`, `_transform_step`), how the
    expected counts of a batch enter the statistics (`_statistics_update`), and its `_step_size`.
    """

    doc_topic_prior: float | ArrayLike | str | None
    topic_word_prior: float | MatrixLike | Literal["auto"] | None

    _parameter_constraints = SHARED
    _fitted_arrays = {  # noqa: RUF012
        **LaneModel._fitted_arrays,
        "_prior_averages": (FLOAT, None),
    }
    _optional_arrays = {  # noqa: RUF012
        **LaneModel._optional_arrays,
        **TopicWordPriorLDA._optional_arrays,
    }
    _fitted_values = {  # noqa: RUF012
        **LaneModel._fitted_values,
        "_prior_rule": OPTIONAL_NAME,
        "_n_prior_updates": COUNT,
    }

    # How the prior is learned (see PriorLearner); a parameter of some methods.
    prior_update = "fixed-point"
    prior_shape = prior_rate = 1.0
    # The share of a topic that the words which its prior prefers have at the start.
    _leaning = LEANING
    # Whether topics are averaged over updates; a parameter of one method.
    average = False

    @abstractmethod
    def _training_step(self) -> TrainingStep:
        """Return the document step of training."""

    def _transform_step(self):
        return self._training_step()  # unless a method has another

    # Parameters and the start

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_topic_word_prior(self.topic_word_prior, self.n_components)
        if self._learns_prior and (self.doc_topic_prior, self.prior_update) == ("auto-symmetric", "shares"):
            raise ValueError(
                "doc_topic_prior='auto-symmetric' with prior_update='shares' leaves nothing to learn: the "
                "shares of topics are equal and their sum stays. Choose doc_topic_prior='auto', or another "
                "prior_update."
            )

    def _checked(self):
        super()._checked()
        rule, n = self._prior_rule, len(self._prior_averages)
        if rule is not None and n != self.n_components_ + (rule == "gamma"):
            raise damaged(self, f"_prior_averages has {n} numbers, for {self.n_components_} topics")
        return self

    def _initialize(self, n_features, seed):
        self._statistics = self._initial_statistics(n_features, seed, self.average)
        self.n_components_ = self.n_components
        self.total_samples_ = 0.0
        self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
        self._prior_rule, self._prior_averages, self._n_prior_updates = None, np.empty(0), 0
        self._adopt_settings()
        if self._prior_entries is not None:
            n_given = 0 if self.components_init is None else len(self.components_init)
            self._statistics.lean(*self._topic_prior, self._leaning, n_given)

    def _adopt_settings(self):
        self._adopt_topic_word_prior()
        if not self._learns_prior:
            self.doc_topic_prior_ = self._given_doc_topic_prior()
            self._prior_rule = None
        elif self._prior_rule != self.prior_update:
            self._prior_rule = self.prior_update
            self._prior_averages = self._prior_learner().initial(self.doc_topic_prior_)
            self._n_prior_updates = 0

    def _default_topic_word_prior(self):
        return default_topic_word_prior(self.n_components)

    def _adopt_topic_word_prior(self):
        """Set the prior of topics to go on with."""
        self._set_topic_word_prior(self.topic_word_prior, self._default_topic_word_prior())

    # Topics

    def _topic_means(self, total_samples):
        return probabilities(
            self._statistics, self._unit(total_samples), self._pseudo_count, self._prior_entries
        )

    def _topics(self, total_samples):
        """The topics that documents are inferred with: their means, unless a method has its own."""
        return self._topic_means(total_samples)

    def _topic_probabilities(self):
        return self._topic_means(self.total_samples_)

    def _inference_topics(self):
        return self._topics(self.total_samples_)

    # An update

    def _document_step(self, batch, keys, update, workers):
        prior = self.doc_topic_prior_
        gathered = self._gathered(self._topics(update.total_samples), batch, prior, update, workers)
        return self._training_step()(batch, gathered, prior, keys, workers, self._learns_prior)

    def _global_step(self, batch_counts, update, workers):
        self.total_samples_ = float(update.total_samples)
        if batch_counts.n_tokens == 0.0:  # nothing was said about topics
            return
        self._statistics = self._update_statistics(self._statistics, batch_counts, update, workers)
        if self._learns_prior_now():
            learned = self._learned_prior(self.doc_topic_prior_, batch_counts.expected, update)
            self._prior_averages, self.doc_topic_prior_ = learned
            self._n_prior_updates += update.n_updates
        self._exchange_topics()
        self._n_topic_updates += update.n_updates

    def _exchange_topics(self):
        """Let topics change places where their priors then fit them better."""
        statistics, unit = self._statistics, self._unit(self.total_samples_)
        order = self._new_order(statistics, unit, self._n_topic_updates, best_order, equal_sizes=True)
        if order is None:
            return
        statistics.rearrange(order)
        if self._prior_rule is not None:
            averages = self._prior_averages  # one a topic, and with the Gamma prior one of all behind them
            self._prior_averages = np.append(averages[order], averages[len(order) :])

    # The prior of topic proportions

    @property
    def _learns_prior(self):
        return isinstance(self.doc_topic_prior, str)

    @property
    def _wants_prior_statistics(self):
        return self._learns_prior

    def _learns_prior_now(self):
        """Whether this update learns the prior: the very first, which reads random topics, does not."""
        return self._learns_prior and self._n_topic_updates > 0

    def _learned_prior(self, prior, counts, update):
        """Averages and prior after taking in a batch."""
        rho = self._rho(update, PRIOR_INERTIA + self._n_prior_updates + 1)
        given = self._prior_averages, prior, counts.prior_statistics()
        return self._prior_learner().update(*given, rho, float(update.total_samples))

    def _prior_learner(self):
        return PriorLearner(self.doc_topic_prior, self.prior_update, self.prior_shape, self.prior_rate)

    # Edits of topics

    def _edit_topics(self, edit):
        prior, averages = self.doc_topic_prior_, self._prior_averages
        self._statistics = edited_topics(self._statistics, edit)
        self._note_edit(edit)
        self.doc_topic_prior_ = edit.sums(prior)
        if self._prior_rule == "gamma":  # averages of expected tables, and one of all topics
            self._prior_averages = np.append(edit.sums(averages[:-1]), averages[-1])
        elif self._prior_rule == "shares":
            self._prior_averages = edit.sums(averages)
        elif self._prior_rule is not None:
            self._prior_averages = edit.log_means(averages, prior)


class ExpectedCountsLDA(MinibatchLDA):
    """Base class of those whose statistics, times a weight, are expected counts of words in topics."""

    @property
    def topic_word_counts_(self) -> FloatArray:
        model = self._read()
        return np.ascontiguousarray(expected_counts(model._statistics, model._unit(model.total_samples_)).T)


class PosteriorLDA(CountPosteriors, ExpectedCountsLDA):
    """Base class of those with a Dirichlet posterior for each topic; documents see its geometric mean."""

    def _topics(self, total_samples):
        return geometric(self._statistics, self._unit(total_samples), *self._topic_prior)

    def _posterior_parameters(self):
        parameters, entries = super()._posterior_parameters(), self._prior_entries
        if entries is not None:
            word, k, value = entries.at(np.arange(parameters.shape[1]))
            parameters[k, word] = self.topic_word_counts_[k, word] + value
        return parameters
