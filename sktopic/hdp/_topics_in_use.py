"""What models share whose topics come and go."""

import numpy as np

# Expected tokens in the corpus from which on a topic is in use.
LEAST_TOKENS = 1.0


class TopicsInUse:
    """Mixin of methods whose statistics have slots, some of which have a topic in use.

    `_used` holds the numbers of these slots, as many as n_components_.
    """

    @property
    def topic_word_counts_(self):
        model = self._read()
        counts = model._used_statistics().expected_counts(model._count_weight(model.total_samples_))
        return np.ascontiguousarray(counts.T)

    def _used_slots(self, totals=None):
        """Which slots have a topic in use: all, before there are tokens, and at least one.

        totals : of the slots, if they are not to be those of the statistics
        """
        totals = self._store_totals if totals is None else totals
        tokens = self._count_weight(self.total_samples_) * totals * self._store_scale[0]
        used = (tokens >= LEAST_TOKENS) | (self._n_topic_updates == 0)
        used[tokens.argmax()] = True
        return used

    def _used_statistics(self):
        statistics = self._statistics
        return statistics if len(self._used) == self._n_trained else statistics.columns(self._used)

    def _topic_probabilities(self):
        weight = self._count_weight(self.total_samples_)
        return self._used_statistics().probabilities(weight, self.topic_word_prior_)


class GrowingTopics(TopicsInUse):
    """Mixin of those among them that make slots as they need them."""

    def _check_continuation(self):
        """n_components is the start, and may be anything later."""
