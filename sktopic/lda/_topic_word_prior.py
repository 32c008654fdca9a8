"""The prior of topics as a fitted model for LDA keeps it: a number, and the entries of a matrix beside it."""

from sktopic._base import TopicModel
from sktopic._fitted_arrays import FLOAT, INT
from sktopic._topic_word_prior import TOPIC, PriorEntries, split_topic_word_prior


class TopicWordPriorLDA(TopicModel):
    """Base class: `topic_word_prior_` and, where a matrix was given, the entries that have another value.

    A subclass allows matrices by its parameter constraints.
    """

    topic_word_prior_: float

    _optional_arrays = {  # noqa: RUF012
        **TopicModel._optional_arrays,
        "_prior_indptr": (INT, None),
        "_prior_topics": (TOPIC, None),
        "_prior_values": (FLOAT, None),
    }

    def _set_topic_word_prior(self, value, default):
        """Take over a parameter, whose None is the default."""
        given = value, self.n_components, self.n_features_in_, default
        self.topic_word_prior_, entries = split_topic_word_prior(*given)
        self._prior_entries = entries

    @property
    def _prior_entries(self):
        """PriorEntries, a view of the fitted arrays; None if all are topic_word_prior_."""
        if "_prior_indptr" not in vars(self):
            return None
        arrays = self._prior_indptr, self._prior_topics, self._prior_values
        return PriorEntries(*arrays, self.n_components_)

    @_prior_entries.setter
    def _prior_entries(self, entries):
        if entries is None:
            for name in TopicWordPriorLDA._optional_arrays:
                vars(self).pop(name, None)
        else:
            self._prior_indptr, self._prior_topics = entries.indptr, entries.topics
            self._prior_values = entries.values

    @property
    def _topic_prior(self):
        """What methods of the statistics want: a number, and PriorEntries or None."""
        return self.topic_word_prior_, self._prior_entries

    def _checked(self):
        super()._checked()
        there = [name in vars(self) for name in TopicWordPriorLDA._optional_arrays]
        try:
            if any(there) and not all(there):
                raise ValueError("some of its arrays are missing")
            if any(there):
                self._prior_entries.check(self.n_features_in_)
        except ValueError as error:
            raise ValueError(
                f"the fitted state of this {type(self).__name__} is damaged: of its topic_word_prior, {error}. Load "
                "it from a file that is whole, or call fit."
            ) from None
        return self
