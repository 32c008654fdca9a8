"""Bayesian moment matching with a posterior of the number of topics, as functions of the state."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sktopic._state._fields import changed
from sktopic.moment_matching._method import NOISE, FilterMethod
from sktopic.moment_matching._numbers import (
    as_gamma,
    check_number_prior,
    logarithms,
    most_probable,
    probabilities,
)
from sktopic.moment_matching._state import MixtureState, NumberPosterior

# The number of topics is noted at each of the first tokens, then about 44 times per doubling of the number of
# tokens: after n tokens the next note is n // NOTES tokens later.
NOTES = 64


@dataclass(frozen=True, kw_only=True)
class MixtureMethod(FilterMethod):
    """Bayesian moment matching under each number of topics, 1 to n_components, and of their number.

    Attributes
    ----------
    n_components_prior : the parameter
    """

    n_components_prior: float | ArrayLike | str | None

    def start(self, n_features, seed):
        gamma, lag = as_gamma(self._log_prior(self.n_components, n_features))
        # The number of topics separates topics, except those up to the smallest possible number.
        topics = self._first_topics(n_features, seed, 0.0 if gamma[0] > 0.0 else NOISE)
        numbers = NumberPosterior(gamma=gamma, lag=lag, prior=probabilities(gamma, lag))
        return self._first_state(MixtureState, topics, seed, numbers=numbers)

    def _log_prior(self, n_topics, n_features):
        return check_number_prior(self.n_components_prior, n_topics, n_features)

    def check_continuation(self, state):
        super().check_continuation(state)
        prior = probabilities(*as_gamma(self._log_prior(self.n_components, state.topics.n_features)))
        if not np.array_equal(prior, state.numbers.prior):
            raise ValueError(
                f"n_components_prior={self.n_components_prior!r} differs from the value at the start of "
                "training. Set it back, or call fit to start again."
            )

    def grown(self, state, n_words):
        """Update the posterior of the number of topics if its prior depends on the number of words."""
        n_topics, n_before = state.topics.n_topics, state.topics.n_features
        state, numbers = super().grown(state, n_words), state.numbers
        before, after = (self._log_prior(n_topics, n) for n in (n_before, n_before + n_words))
        if np.array_equal(before, after):
            return state
        gamma, lag = as_gamma(logarithms(numbers.gamma, numbers.lag) + after - before)
        prior = probabilities(*as_gamma(after))
        return changed(state, numbers=changed(numbers, gamma=gamma, lag=lag, prior=prior))

    def most_tokens(self, state):
        return max(1, state.numbers.next_note - state.numbers.n_tokens)  # next_note may be damaged

    def absorb(self, state, tokens, alpha):
        """See FilterMethod. Note the number of topics when a note is due."""
        numbers, next_note = state.numbers, state.numbers.next_note
        gamma, lag, n_tokens = numbers.gamma.copy(), numbers.lag.copy(), numbers.n_tokens + len(tokens)
        tokens_trace, topics_trace = numbers.tokens_trace, numbers.topics_trace
        is_noted = n_tokens == next_note
        if is_noted:  # allocate the note before anything changes
            tokens_trace, topics_trace = np.append(tokens_trace, 0.0), np.append(topics_trace, 0)
        state = self._filter(tokens, state, alpha, gamma, lag)
        if is_noted:
            tokens_trace[-1], topics_trace[-1] = state.n_tokens_seen, most_probable(gamma, lag)
            next_note += max(1, next_note // NOTES)
        numbers = changed(
            numbers,
            gamma=gamma,
            lag=lag,
            n_tokens=n_tokens,
            next_note=next_note,
            tokens_trace=tokens_trace,
            topics_trace=topics_trace,
        )
        return changed(state, numbers=numbers)
