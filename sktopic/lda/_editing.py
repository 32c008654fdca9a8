"""What edits of topics mean where their number is a parameter."""

from typing import Any, ClassVar

import numpy as np

from sktopic._estimators._fitted_arrays import INT, damaged
from sktopic._estimators._topic_model import TopicModel
from sktopic._topics._prior import check_prior


class EditableLDA(TopicModel):
    """Base class of models with n_components topics, of which some may have been merged or dropped since.

    ``_topic_of_start`` has, of each topic at the start, the one that it is in by now, or -1. It is there only
    after an edit. ``_words_of_start`` has the number of words at the start, once there are more.
    """

    _optional_arrays: ClassVar[dict[str, tuple[Any, ...]]] = {
        **TopicModel._optional_arrays,
        "_topic_of_start": (INT, None),
        "_words_of_start": (INT, 1),
    }

    def _checked(self):
        super()._checked()
        topics = vars(self).get("_topic_of_start", np.empty(0))
        if topics.min(initial=0) < -1 or topics.max(initial=-1) >= self.n_components_:
            raise damaged(self, f"_topic_of_start has other topics than the {self.n_components_} there are")
        return self

    def _check_continuation(self):
        topics = vars(self).get("_topic_of_start")
        if topics is None:
            self._check_same_number(self.n_components_)
        else:
            self._check_same_number(len(topics), "at the start, before some were merged or dropped")

    def _note_edit(self, edit):
        """Keep account of where the topics of the start are, and of how many there are."""
        topics = vars(self).get("_topic_of_start", np.arange(self.n_components_))
        self._topic_of_start = np.where(topics < 0, -1, edit.columns[topics])
        self.n_components_ = edit.n_left

    def _given_doc_topic_prior(self):
        """doc_topic_prior of the topics that there are: merged ones have the sums."""
        prior, topics = (
            check_prior(self.doc_topic_prior, self.n_components),
            vars(self).get("_topic_of_start"),
        )
        if topics is None:
            return prior
        left = topics >= 0
        return np.bincount(topics[left], weights=prior[left], minlength=self.n_components_)
