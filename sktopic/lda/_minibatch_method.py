"""LDA from mini-batches: shared parts of the methods, as functions of settings and state."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sktopic._inference._protocol import InferenceStep, TrainingStep
from sktopic._state._fields import changed, grown
from sktopic._topics._prior import PRIOR_INERTIA, DocPrior, check_prior, learned_topic_word_prior
from sktopic._topics._sparse_word_counts import SparseWordCounts
from sktopic._topics._topic_word_prior import (
    TopicWordPrior,
    WordPrior,
    check_number_of_topics,
    edited_prior,
    given_doc_topic_prior,
    n_topics_of_start,
    prior_of_more_words,
)
from sktopic._topics._word_count_edits import edited_topics, frozen_topics
from sktopic._topics._word_count_views import (
    average_probabilities,
    mean_log_probability,
    posterior_bound,
    probabilities,
)
from sktopic._topics._word_counts import LEANING
from sktopic._training._minibatch_state import random_words
from sktopic._training._minibatches import Growth, gathered_topics, work_of_clearing
from sktopic._training._step_size import step_size
from sktopic.lda._boosting import boosted_counts
from sktopic.lda._lda_state import LDAState, ListedLDAState
from sktopic.lda._topic_exchange import best_order, can_exchange, evidence_gains

# Cost of learning the prior of topics, in passes over all entries.
WORD_PRIOR_PASSES = 8


@dataclass(frozen=True)
class MinibatchLDA:
    """LDA trained on mini-batches.

    Attributes
    ----------
    n_components : number of topics at the start
    inference, prediction : document steps of training and of transform
    rule : update of the statistics by the expected counts of a batch (see _statistics_updates.py)
    steps : step size, a function of the number of the update and of whether it is in the first pass
    doc_prior, word_prior : DocPrior, WordPrior
    view : function that returns the topics for the document step: `probabilities` or `geometric` (see
        _word_count_views.py)
    smoothed : whether word_prior is added to the statistics when topics are computed. If not, the statistics
        are proportional to sampled topics.
    components_init : initial topics (n_given, n_features), or None; other topics are random
    averaged : whether topics are averaged over updates
    leaning : maximum share, in a random initial topic, of the words that its prior favors
    iterations : None, or a function of batch, keys and whether prior statistics are wanted. It returns
        iterations of the document step. Topics are provisionally updated between them (see _boosting.py).
    keeps_places : whether topics keep their numbers. If so, none are exchanged.
    topics_per_word : None, or the length of the lists of SparseWordCounts
    state_class : class of the state, without such lists
    growth : how many documents `partial_fit` expects without total_samples
    """

    n_components: int
    inference: TrainingStep
    prediction: InferenceStep[Any]
    rule: Any
    steps: Callable[..., float]
    doc_prior: DocPrior
    word_prior: WordPrior
    view: Callable[..., Any] = probabilities
    smoothed: bool = True
    components_init: Any = None
    averaged: bool = False
    leaning: float = LEANING
    iterations: Callable[..., Any] | None = None
    keeps_places: bool = False
    topics_per_word: int | None = None
    state_class: type[LDAState] = LDAState
    growth: Growth = Growth.NONE

    @property
    def reads_whole_batches(self):
        """Whether the document step updates topics, or sums over documents would need all topics."""
        return self.iterations is not None or self.topics_per_word is not None

    @property
    def learns_from_gains(self):
        return self.doc_prior.is_learned

    @property
    def averages(self):
        return self.rule.is_average

    @property
    def learns_word_prior(self):
        """Whether an update learns the prior of topics, from the rows of all words."""
        return self.word_prior.is_learned

    # Start, and changes of parameters

    def start(self, n_features, seed):
        """Return the state before the first update."""
        first = self.components_init
        if self.topics_per_word is None:
            kind = self.state_class
            words = random_words(n_features, self.n_components, seed, first, average=self.averaged)
        else:
            kind = ListedLDAState
            words = SparseWordCounts.even(n_features, self.n_components, self.topics_per_word)
        state = kind(
            words=words,
            seed=seed,
            doc_topic_prior=np.array(check_prior(self.doc_prior.value, self.n_components)),
            word_prior=TopicWordPrior(base=self.word_prior.default),
        )
        state = self.adopted(state)
        prior = state.word_prior
        if prior.entries is not None:
            words.lean(prior.base, prior.entries, self.leaning, 0 if first is None else len(first))
        return changed(state, words=self.rule.started(words, prior.base))

    def adopted(self, state):
        """Return the state with the parameters that were changed since the last call."""
        prior = self.word_prior.adopted(
            state.word_prior, self.n_components, state.words, goes_on=state.n_topic_updates > 0
        )
        state, n_topics = changed(state, word_prior=prior), len(state.doc_topic_prior)
        if not self.doc_prior.is_learned:
            value = given_doc_topic_prior(self.doc_prior.value, self.n_components, prior, n_topics)
            return changed(state, doc_topic_prior=value, prior_rule=None)
        if state.prior_rule == self.doc_prior.rule:
            return state
        averages = self.doc_prior.initial(state.doc_topic_prior)
        return changed(state, prior_rule=self.doc_prior.rule, prior_averages=averages, n_prior_updates=0)

    def check_continuation(self, state):
        """Raise ValueError if a parameter has changed that must not change after the first update."""
        n_topics = len(state.doc_topic_prior)
        check_number_of_topics(self.n_components, *n_topics_of_start(state.word_prior, n_topics))
        check_room(self.topics_per_word, state.words)
        self.word_prior.check_learned_from(state.word_prior)
        if self.averaged != state.words.averages:
            raise ValueError(
                f"average={self.averaged!r} differs from the value at the start of training. Set it back, or "
                "call fit to start again."
            )

    # Topics

    def unit(self, state, total_samples=None):
        """Return the number of tokens of the corpus that one unit of the statistics stands for."""
        return self.rule.of(state).unit(state.total_samples if total_samples is None else total_samples)

    def topics(self, state):
        """Return the reported topics, TopicProbabilities."""
        prior, words = state.word_prior, state.words
        if words.averages and state.n_topic_updates > 0:
            return average_probabilities(
                words, state.total_samples, prior.base, state.n_topic_updates, prior.entries
            )
        return probabilities(words, self.unit(state), self._pseudo_count(prior), prior.entries)

    def _pseudo_count(self, prior):
        """Return the pseudo-count of every word."""
        return prior.base if self.smoothed else 0.0

    def _seen(self, state, total_samples=None):
        """Return the topics that documents are inferred with. total_samples : corpus size, if it changed."""
        prior = state.word_prior
        return self.view(
            state.words, self.unit(state, total_samples), self._pseudo_count(prior), prior.entries
        )

    def inference_topics(self, state):
        """Return the topics that transform infers documents with."""
        return self.topics(state) if state.words.averages else self._seen(state)

    # The evidence lower bound of methods with VariationalStep

    def document_bounds(self, state, batch, workers):
        """Return bounds, in nats, whose sum is the part of a DocumentBatch in the bound of the corpus."""
        prior = state.doc_topic_prior
        topics = self.inference_topics(state).gather(batch.words, prior, workers)
        return [self.prediction(batch, topics, prior, None, workers).bound()]

    def topic_bounds(self, state):
        """Return the part of the topics in the bound, a sequence of numbers in nats."""
        prior = state.word_prior
        return [posterior_bound(state.words, self.unit(state), prior.base, prior.entries)]

    # An update

    def step_size(self, state, update, t=None):
        """Return the step size. t : number of the update, by default the updates with words plus one."""
        return step_size(self.steps, state, update, t)

    def kept(self, state, update):
        return self._rule(state, update).kept(self.step_size(state, update), state.n_topic_updates == 0)

    def _rule(self, state, update):
        """Return the rule by which the update enters the statistics."""
        rule = self.rule.of(state)
        return rule.combined(update.n_updates) if update.n_updates > 1 else rule

    def infer(self, state, batch, keys, update, workers):
        prior = state.doc_topic_prior
        if self.iterations is not None and batch.n_words > 0:
            return boosted_counts(self, state, batch, keys, update, workers)
        topics = self._seen(state, update.total_samples)
        gathered = gathered_topics(topics, batch, prior, state, update, workers)
        own_prior = self.doc_prior.of(state, batch)
        return self.inference(batch, gathered, own_prior, keys, workers, self.doc_prior.is_learned)

    def absorb(self, state, counts, update, workers):
        state = self.absorb_counts(state, counts, update, workers)
        if not self.learns_word_prior or counts.n_tokens == 0.0:
            return state
        unit, prior = self.unit(state), state.word_prior
        mean = mean_log_probability(state.words, unit, prior.base, workers)
        return self.learn_word_prior(state, mean, self.step_size(state, update, state.n_topic_updates))

    def absorb_counts(self, state, counts, update, workers):
        """Return the state after a batch, except for what is learned from the rows of all words."""
        state = changed(state, total_samples=float(update.total_samples))
        if counts.n_tokens == 0.0:  # the batch has no words
            return state
        state = changed(
            state,
            words=self.entered(state, state.words, counts, update, workers),
            **self.learned_prior(state, state.doc_topic_prior, counts.expected, update),
        )
        state = self._exchanged(state)
        return changed(
            state,
            n_topic_updates=state.n_topic_updates + update.n_updates,
            n_tokens_seen=state.n_tokens_seen + float(counts.n_tokens),
            n_lengths_seen=state.n_lengths_seen + counts.n_documents,
        )

    def entered(self, state, words, counts, update, workers):
        """Return the statistics after a batch. Arrays change in place."""
        rule = self._rule(state, update)
        return rule(words, counts, self.step_size(state, update), state.n_topic_updates == 0, workers)

    def learned_prior(self, state, prior, expected, update):
        """Return the fields of the state that change when the prior of proportions is learned."""
        # The first update reads random topics.
        if not self.doc_prior.is_learned or state.n_topic_updates == 0:
            return {}
        rho = self.step_size(state, update, PRIOR_INERTIA + state.n_prior_updates + 1)
        statistics, n_documents = expected.prior_statistics(), float(update.total_samples)
        learned = self.doc_prior.learned(state, prior, statistics, rho, n_documents)
        return {**learned, "n_prior_updates": state.n_prior_updates + update.n_updates}

    def _exchanged(self, state):
        """Return the state after exchanges of topics that then fit their priors better."""
        prior, n_updates, learns = state.word_prior, state.n_topic_updates, self.doc_prior.is_learned
        if self.keeps_places or not can_exchange(state, prior, n_updates, proportions_move=learns):
            return state
        order = best_order(*evidence_gains(state.words, self.unit(state), prior, equal_sizes=True))
        state.words.rearrange(order)
        return changed(state, **self.doc_prior.rearranged(state, order))

    def learn_word_prior(self, state, mean_log_probability, rho):
        """Return the state after a step of the prior of topics. The mean is over all words and topics."""
        base = learned_topic_word_prior(
            self.word_prior.rule, mean_log_probability, state.words.n_features, state.word_prior.base, rho
        )
        return changed(state, word_prior=changed(state.word_prior, base=base))

    def work(self, state, counts, update):
        passes = self.rule.n_passes + (WORD_PRIOR_PASSES if self.learns_word_prior else 0)
        clearing = work_of_clearing(self, state, counts, update)
        return counts.expected.work() + passes * state.words.size + clearing

    # Edits

    def edited(self, state, edit):
        """Return the state after a TopicEdit. No array changes in place."""
        check_edits(state.words)
        if state.words.averages and edit.merged.any():
            raise ValueError("average=True is invalid with merges: averages of past topics cannot be merged.")
        return changed(
            state,
            words=edited_topics(state.words, edit),
            word_prior=edited_prior(state.word_prior, edit),
            **self.doc_prior.edited(state, edit),
        )

    def frozen(self, state, topics):
        """Return the state in which only these topics are frozen."""
        check_edits(state.words)
        if state.words.averages and len(topics):
            raise ValueError(
                "average=True is invalid with frozen topics: the mean of past topics cannot be frozen."
            )
        pseudo_count = self._pseudo_count(state.word_prior)
        return changed(state, words=frozen_topics(state.words, topics, self.unit(state), pseudo_count))

    def grown(self, state, n_words):
        """Return the state with n_words more words."""
        prior = prior_of_more_words(state.word_prior, state.words.n_features, n_words)
        words = self.rule.grown(grown(state.words, n_words), n_words, prior.base)
        return changed(state, words=words, word_prior=prior)


def check_room(topics_per_word, words):
    """Raise ValueError if lists of topics have room for another number than topics_per_word."""
    present = words.topic.shape[1] if isinstance(words, SparseWordCounts) else None
    if present != (None if topics_per_word is None else min(topics_per_word, words.n_topics)):
        raise ValueError(
            f"topics_per_word={topics_per_word!r} differs from the value at the start of training. Set it "
            "back, or call fit to start again."
        )


def check_edits(words):
    """Raise ValueError if words have lists of topics, which cannot be edited."""
    if isinstance(words, SparseWordCounts):
        raise ValueError(
            f"topics_per_word={words.topic.shape[1]} does not support merge_topics, drop_topics and "
            "freeze_topics. Call fit with topics_per_word=None."
        )
