"""Bayesian moment matching with a given number of topics, as functions of the state."""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sktopic._kernels.moments._matching import FIRST, SECOND, SUM, filter_tokens
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic._runtime._arrays import row_blocks
from sktopic._state._fields import changed
from sktopic._topics._prior import check_prior
from sktopic._topics._topic_word_prior import check_number_of_topics
from sktopic.moment_matching._document_step import FIXED_NUMBER, MomentMatchingStep, ProportionsForm
from sktopic.moment_matching._prior import matched_prior, moments_at_start, with_documents, with_group
from sktopic.moment_matching._state import FilteredTopics, FilterState

MATCHES = {"first": FIRST, "second": SECOND, "sum": SUM}
# Separates the noise of the initial topics from other random streams of the seed.
TOPICS_KEY = 0x746F70696373
# Documents between two updates of a prior that is learned.
GROUP_SIZE = 64
# Half the width of the uniform noise around one that multiplies the initial topics. Equal topics would stay
# equal unless the number of topics separates them.
NOISE = 0.5


@dataclass(frozen=True, kw_only=True)
class FilterMethod:
    """Bayesian moment matching.

    Attributes
    ----------
    n_components, doc_topic_prior, topic_word_prior, second_moment, shuffle : the parameters
    form : representation of the proportions of a document
    """

    n_components: int
    doc_topic_prior: float | ArrayLike | str | None
    topic_word_prior: float | None
    second_moment: str
    shuffle: str | None
    form: ProportionsForm = FIXED_NUMBER

    @property
    def learns_prior(self):
        return isinstance(self.doc_topic_prior, str)

    def word_prior(self, n_features):
        return n_features**-0.5 if self.topic_word_prior is None else float(self.topic_word_prior)

    # The state before the first token and before more tokens

    def start(self, n_features, seed):
        return self._first_state(FilterState, self._first_topics(n_features, seed, NOISE), seed)

    def _first_state(self, kind, topics, seed, **parts):
        """Return the state before the first token, of a class of states with these further parts."""
        state = kind(
            topics=topics,
            doc_topic_prior=np.array(check_prior(self.doc_topic_prior, topics.n_topics)),
            topic_word_prior=self.word_prior(topics.n_features),
            moments=moments_at_start(np.empty(0)),
            seed=seed,
            **parts,
        )
        return self._learning_anew(state)

    def _first_topics(self, n_features, seed, noise):
        shape = n_features, int(self.n_components)
        store = uniforms(combine_keys(seed, TOPICS_KEY), math.prod(shape)).reshape(shape)
        for rows in row_blocks(store):
            store[rows] = 1.0 + noise * (2.0 * store[rows] - 1.0)
        masses = store.sum(axis=0)
        for rows in row_blocks(store):
            store[rows] /= masses
        return FilteredTopics.of_means(store, self.word_prior(n_features) * masses)

    def check_continuation(self, state):
        """Raise ValueError if a parameter has changed that must not change after the first token."""
        check_number_of_topics(self.n_components, state.topics.n_topics)
        if self.word_prior(state.topics.n_features) != state.topic_word_prior:
            raise ValueError(
                f"topic_word_prior={self.topic_word_prior!r} differs from {state.topic_word_prior:g}, the "
                "value at the start of training. Set it back, or call fit to start again."
            )

    def adopted(self, state):
        """Return the state from which training continues, with parameters that may have changed."""
        prior = state.doc_topic_prior
        if not self.learns_prior:
            prior = np.array(check_prior(self.doc_topic_prior, state.topics.n_topics))
        state = changed(state, doc_topic_prior=prior)
        if self.learns_prior != (len(state.moments.averages) > 0):
            state = self._learning_anew(state)
        return state

    def grown(self, state, n_words):
        """Return the state with more words, whose weight is the prior. No array changes in place."""
        # The default depends on the number of words.
        prior = self.word_prior(state.topics.n_features + n_words)
        return changed(state, topics=state.topics.with_words(n_words, prior), topic_word_prior=prior)

    # Tokens

    def most_tokens(self, state):
        """Return the largest number of tokens of one call of `absorb`, > 0."""
        return sys.maxsize

    def absorb(self, state, tokens, alpha):
        """Return the state after more tokens. Topics and alpha (of their documents) change in place."""
        return self._filter(tokens, state, alpha, np.ones(1), np.zeros(1))

    def _filter(self, tokens, state, alpha, gamma, lag):
        """Return the state after tokens. Topics, alpha, gamma and lag change in place."""
        marginal = np.array([state.log_marginal_likelihood, state.n_tokens_seen])
        filter_tokens(
            model=self.form.model,
            match=MATCHES[self.second_moment],
            tokens=tokens,
            topics=state.topics,
            start=self.form.start(state.doc_topic_prior),
            alpha=alpha,
            gamma=gamma,
            lag=lag,
            marginal=marginal,
            predictive=np.empty(0),  # not needed
        )
        return changed(state, log_marginal_likelihood=float(marginal[0]), n_tokens_seen=float(marginal[1]))

    # The prior of the proportions

    def end_documents(self, state, alpha, lengths):
        """Return the state at the end of documents that were read in order. alpha : their parameters."""
        state = changed(state, n_documents=state.n_documents + len(lengths))
        if self.learns_prior:
            alpha = self.form.under(alpha[lengths > 0], state.moments.n_topics)
            state = changed(state, moments=with_documents(state.moments, alpha))
            if state.n_documents % GROUP_SIZE == 0:
                state = self.with_learned_prior(state)
        return state

    def with_learned_prior(self, state):
        """Return the state after the present group. Learning restarts if the topics in use have changed."""
        if state.moments.n_topics != state.n_in_use:
            return self._learning_anew(state)
        if state.moments.group[-1] == 0.0:
            return state
        moments = with_group(state.moments)
        prior = matched_prior(moments.averages, self.doc_topic_prior, state.doc_topic_prior)
        return changed(state, moments=moments, doc_topic_prior=prior)

    def for_topics_in_use(self, state):
        """Return the state whose moments belong to the topics in use."""
        return state if state.moments.n_topics == state.n_in_use else self._learning_anew(state)

    def _learning_anew(self, state):
        """Return the state in which learning starts from the present prior of the topics in use."""
        prior = state.prior_in_use if self.learns_prior else np.empty(0)
        return changed(state, moments=moments_at_start(prior))

    # New documents

    def prediction(self):
        """Return the document step with the topics in use and their number fixed."""
        return self.step(FIXED_NUMBER, np.ones(1))

    def step(self, form, gamma):
        """Return the document step with this form of proportions and probabilities of numbers of topics."""
        return MomentMatchingStep(form, MATCHES[self.second_moment], self.shuffle is not None, gamma)
