"""The prior of topics as a fitted model for LDA keeps it: a number, and the entries of a matrix beside it."""

import numpy as np

from sktopic._fitted_arrays import FLOAT, INT
from sktopic._topic_word_prior import TOPIC, PriorEntries, is_matrix, split_topic_word_prior
from sktopic.lda._editing import EditableLDA

# Of PriorEntries, by the names of their fitted arrays.
ENTRIES = {"_prior_indptr": (INT, None), "_prior_topics": (TOPIC, None), "_prior_values": (FLOAT, None)}


class TopicWordPriorLDA(EditableLDA):
    """Base class: `topic_word_prior_` and, where a matrix was given, the entries that have another value.

    A subclass that allows matrices says so by its parameter constraints, and declares ENTRIES.
    """

    topic_word_prior_: float

    def _set_topic_word_prior(self, value, default):
        """Take over a parameter, whose None is the default."""
        if is_matrix(value):
            self._check_unedited()
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
            for name in ENTRIES:
                vars(self).pop(name, None)
        else:
            self._prior_indptr, self._prior_topics = entries.indptr, entries.topics
            self._prior_values = entries.values

    @property
    def _topic_prior(self):
        """What methods of the statistics want: topic_word_prior_, and PriorEntries or None."""
        return self.topic_word_prior_, self._prior_entries

    def _check_unedited(self):
        """Raise ValueError for topics that are no longer those which a matrix speaks of."""
        if {"_topic_of_start", "_frozen"} & vars(self).keys():
            raise ValueError(
                "topic_word_prior is a matrix, and topics have been merged, dropped or frozen since training "
                "began: a number is allowed, or call fit to start anew."
            )

    def _edited(self, change):
        if "_prior_indptr" in vars(self):
            raise ValueError(
                "topics cannot be merged, dropped or frozen while topic_word_prior is a matrix: let "
                "partial_fit go on with a number first, as by set_params(topic_word_prior=None)."
            )
        return super()._edited(change)

    def _add_words(self, n):
        super()._add_words(n)
        if "_prior_indptr" in vars(self):  # new words have none
            self._prior_indptr = np.append(self._prior_indptr, np.repeat(self._prior_indptr[-1], n))

    def _checked(self):
        super()._checked()
        there = [name in vars(self) for name in ENTRIES]
        try:
            if any(there) and not all(there):
                raise ValueError("some of its arrays are missing")
            if any(there):
                self._prior_entries.check(self.n_features_in_)
        except ValueError as error:
            raise ValueError(
                f"the fitted state of this {type(self).__name__} is damaged: of its topic_word_prior, "
                f"{error}. Load it from a file that is whole, or call fit."
            ) from None
        return self
