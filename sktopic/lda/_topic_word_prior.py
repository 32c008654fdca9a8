"""The prior of topics as a fitted model for LDA keeps it: a number, and the entries of a matrix beside it."""

import numpy as np

from sktopic._estimators._fitted_arrays import FLOAT, INT, damaged
from sktopic._topics._topic_word_prior import TOPIC, PriorEntries, is_matrix, split_topic_word_prior
from sktopic.lda._editing import EditableLDA
from sktopic.lda._topic_exchange import evidence_gains, is_due

# Of PriorEntries, by the names of their fitted arrays.
ENTRIES = {
    "_prior_indptr": (INT, None),
    "_prior_topics": (TOPIC, None),
    "_prior_values": (FLOAT, None),
    "_prior_sums": (FLOAT, 2, "components"),
}


class TopicWordPriorLDA(EditableLDA):
    """Base class: `topic_word_prior_` and, where a matrix was given, the entries that have another value.

    A subclass that allows matrices says so by its parameter constraints, and declares ENTRIES.
    """

    topic_word_prior_: float

    def _set_topic_word_prior(self, value, default):
        """Take over a parameter, whose None is the default."""
        # A matrix may be that of the start, before words were added and topics edited.
        n_features, present = np.shape(value)[1] if is_matrix(value) else 0, self.n_features_in_
        if n_features not in vars(self).get("_words_of_start", ()):
            n_features = present
        base, entries = split_topic_word_prior(value, self.n_components, n_features, default)
        if entries is not None:
            entries = entries.wider(present)
            if "_topic_of_start" in vars(self):
                entries = entries.edited(self._topic_of_start, self.n_components_, base)
        if self._statistics.frozen is not None:  # frozen topics keep those that they have
            none = PriorEntries.none(present, self.n_components_)
            entries = (entries or none).taking(self._statistics.frozen[0] > 0.0, self._prior_entries or none)
        self.topic_word_prior_ = base
        self._prior_entries = entries if entries is not None and len(entries.values) else None

    def _add_words(self, n):
        super()._add_words(n)
        if "_words_of_start" not in vars(self):
            self._words_of_start = np.array([self.n_features_in_])
        if self._prior_entries is not None:
            self._prior_entries = self._prior_entries.wider(self.n_features_in_ + n)

    def _note_edit(self, edit):
        entries = self._prior_entries
        super()._note_edit(edit)
        if entries is not None:
            self._prior_entries = entries.edited(edit.columns, edit.n_left, self.topic_word_prior_)

    @property
    def _prior_entries(self):
        """PriorEntries, a view of the fitted arrays; None if all are topic_word_prior_."""
        if "_prior_indptr" not in vars(self):
            return None
        return PriorEntries(self._prior_indptr, self._prior_topics, self._prior_values, self._prior_sums)

    @_prior_entries.setter
    def _prior_entries(self, entries):
        if entries is None:
            for name in ENTRIES:
                vars(self).pop(name, None)
        else:
            self._prior_indptr, self._prior_topics = entries.indptr, entries.topics
            self._prior_values, self._prior_sums = entries.values, entries.sums

    @property
    def _topic_prior(self):
        """What methods of the statistics want: topic_word_prior_, and PriorEntries or None."""
        return self.topic_word_prior_, self._prior_entries

    def _new_order(self, statistics, weight, n_updates, choose, equal_sizes=False):
        """The topic that goes to each place now, or None if all stay; learned priors of theirs go with them.

        They stay where places differ in more than the prior of topics, and once users have named, edited or
        frozen some: these know them by their numbers.

        weight : what one unit of the statistics stands for, in tokens
        n_updates : how many updates or sweeps there were before
        choose : function of what evidence_gains returns
        equal_sizes : as evidence_gains has it
        """
        entries, prior = self._prior_entries, self.doc_topic_prior_
        known = self._topic_names or "_topic_of_start" in vars(self) or self._statistics.frozen is not None
        if entries is None or known or not is_due(n_updates, entries, len(prior)):
            return None
        if not self._learns_prior and np.any(prior != prior[0]):
            return None
        order = choose(*evidence_gains(statistics, weight, *self._topic_prior, equal_sizes))
        if np.array_equal(order, np.arange(len(order))):
            return None
        self.doc_topic_prior_ = prior[order]
        return order

    def _checked(self):
        super()._checked()
        there = [name in vars(self) for name in ENTRIES]
        try:
            if any(there) and not all(there):
                raise ValueError("some of its arrays are missing")
            if any(there):
                self._prior_entries.check(self.n_features_in_)
        except ValueError as error:
            raise damaged(self, f"of its topic_word_prior, {error}") from None
        return self
