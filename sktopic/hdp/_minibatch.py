"""The mini-batch methods for the HDP: topics that come and go, with weights that all documents share."""

from abc import abstractmethod
from typing import Literal

import numpy as np

from sktopic._estimators._constraints import PRIOR, SHARED
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, INT, NUMBER, damaged
from sktopic._estimators._minibatch_model import MinibatchTopicModel
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import edited_topics, of_topics
from sktopic._topics._word_count_views import expected_counts, expected_tokens, probabilities
from sktopic._typing import FloatArray
from sktopic.hdp._concentrations import adopt_concentrations, check_concentration_priors

# An entry of move_history_.
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
# Expected tokens in the corpus from which on a topic is in use.
FEWEST_TOKENS = 1.0


def are_in_use(tokens):
    """Whether topics with these numbers of expected tokens are in use; the largest always is."""
    found = tokens >= FEWEST_TOKENS
    found[tokens.argmax()] = True
    return found


class MinibatchHDP(MinibatchTopicModel):
    """Base class of the mini-batch methods for the HDP.

    The statistics have a column for each topic that there is capacity for; ``_ids`` are the identities of the
    topics. Those in use, with at least one expected token in the corpus, are reported: ``_in_use`` holds the
    numbers of their columns.

    A method says which weights topics have (`_topic_weights`), and what an update by a batch with words does
    (`_update_topics`).
    """

    topic_concentration: float | Literal["auto"]
    doc_concentration: float | Literal["auto"]
    topic_word_prior: float | Literal["auto"] | None
    topic_concentration_: float
    doc_concentration_: float
    topic_word_prior_: float

    _infers_number_of_topics = True
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_concentration": [PRIOR],
        "doc_concentration": [PRIOR],
    }

    _fitted_arrays = {  # noqa: RUF012
        **MinibatchTopicModel._fitted_arrays,
        "_ids": (INT, "topics"),
        "_in_use": (INT, "components"),
        "topic_ids_": (INT, "components"),
        "topic_weights_": (FLOAT, "components"),
    }
    _fitted_values = {  # noqa: RUF012
        **MinibatchTopicModel._fitted_values,
        "topic_concentration_": NUMBER,
        "doc_concentration_": NUMBER,
        "_next_id": COUNT,
    }

    @abstractmethod
    def _default_topic_word_prior(self):
        """Return what topic_word_prior=None stands for."""

    @abstractmethod
    def _topic_weights(self):
        """Return the weight of the topic of each column, ndarray of shape (n_columns,)."""

    @abstractmethod
    def _update_topics(self, batch_counts, update, workers):
        """Update the fitted state from the BatchCounts of a batch that has words."""

    @property
    def topic_word_counts_(self) -> FloatArray:
        model = self._read()
        unit = model._unit(model.total_samples_)
        return np.ascontiguousarray(expected_counts(model._statistics, unit, model._in_use).T)

    def _check_settings(self):
        super()._check_settings()
        check_concentration_priors(self)

    def _checked(self):
        super()._checked()
        used = self._in_use
        if used[0] < 0 or used[-1] >= self._n_trained or (used[1:] <= used[:-1]).any():
            raise damaged(
                self, f"_in_use has not ascending numbers of the {self._n_trained} topics in training"
            )
        if (self._ids[used] != self.topic_ids_).any():
            raise damaged(self, "topic_ids_ are not those of the topics in use")
        return self

    def _start_from(self, statistics):
        """Set the state that all methods have."""
        self._statistics = statistics
        self.total_samples_ = 0.0
        self._ids, self._next_id = np.arange(self._n_trained), self._n_trained

    def _adopt_settings(self):
        adopt_concentrations(self)
        given = self._default_topic_word_prior() if self.topic_word_prior is None else self.topic_word_prior
        if given != "auto":
            self.topic_word_prior_ = float(given)

    # Topics in use

    def _columns_in_use(self):
        """Whether the topic of each column is in use: all are, before there are tokens."""
        if self._n_topic_updates == 0:
            return np.ones(self._n_trained, dtype=bool)
        return are_in_use(expected_tokens(self._statistics, self._unit(self.total_samples_)))

    def _doc_topic_prior(self, weights):
        """Dirichlet parameters of proportions for topics of these weights."""
        return np.maximum(self.doc_concentration_ * weights, SMALLEST)

    def _report_topics(self):
        """Set the attributes that say which topics are in use."""
        self._in_use = np.flatnonzero(self._columns_in_use())
        self.n_components_ = len(self._in_use)
        self.topic_ids_ = self._ids[self._in_use]
        self.topic_weights_ = self._topic_weights()[self._in_use]
        self.doc_topic_prior_ = self._doc_topic_prior(self.topic_weights_)

    def _name_anew(self, columns):
        """Let the topics of some columns be new ones."""
        self._ids = self._ids.copy()  # it may be read-only, as in a memory map
        self._ids[columns] = self._next_id + np.arange(len(columns))
        self._next_id += len(columns)
        self.topic_ids_ = self._ids[self._in_use]

    def _note_moves(self, moves, elbo=np.nan):
        """Enter tuples (kind, topic, other, gain) into move_history_; the state is that after them.

        elbo : the bound of the corpus then
        """
        if not moves:
            return
        changes = np.cumsum([1 if kind == "split" else -1 for kind, *_ in moves])
        n_after = np.count_nonzero(self._columns_in_use()) - changes[-1] + changes
        noted = [(self.n_samples_seen_, *move, n, elbo) for move, n in zip(moves, n_after)]
        self.move_history_ = np.concatenate([self.move_history_, np.array(noted, dtype=MOVE)])

    def _statistics_in_use(self):
        statistics = self._statistics
        return statistics if len(self._in_use) == self._n_trained else of_topics(statistics, self._in_use)

    def _topic_probabilities(self):
        unit = self._unit(self.total_samples_)
        return probabilities(self._statistics_in_use(), unit, self.topic_word_prior_)

    # Edits of topics

    # Whether the column of a topic that goes stays, for another one.
    _keeps_columns = True

    def _columns(self):
        return self._in_use

    def _edit_topics(self, edit):
        self._edit_columns(edit.of_columns(self._in_use, self._n_trained, self._keeps_columns))
        self._report_topics()

    def _edit_columns(self, edit):
        """Carry out an edit of the topics in all columns."""
        self._statistics = edited_topics(self._statistics, edit)

    # An update

    def _sampled(self, step, batch, prior, keys, update, workers):
        """Expected counts of a batch by a document step, under the means of topics and a prior.

        A prior of more topics than there are columns is that of topics without tokens, too.
        """
        statistics, n_more = self._statistics, len(prior) - self._n_trained
        if n_more > 0:
            statistics = of_topics(statistics, slice(None), n_spare=n_more)
        topics = probabilities(statistics, self._unit(update.total_samples), self.topic_word_prior_)
        gathered = self._gathered(topics, batch, prior, update, workers)
        return step(batch, gathered, prior, keys, workers, with_prior_statistics=True)

    def _global_step(self, batch_counts, update, workers):
        self.total_samples_ = float(update.total_samples)
        if batch_counts.n_tokens > 0.0:
            self._update_topics(batch_counts, update, workers)
            self._n_topic_updates += update.n_updates
        self._report_topics()


class GrowingHDP(MinibatchHDP):
    """Base class of those that add columns as they need them: n_components is only the start."""

    _keeps_columns = False

    def _check_continuation(self):
        """n_components may be anything later."""

    def _edit_columns(self, edit):
        super()._edit_columns(edit)
        self._ids = edit.left(self._ids)
