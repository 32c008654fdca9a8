"""Online EM for the HDP: new topics are born if tokens are drawn to spare columns."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic._kernels.topics._dirichlet import fit_dirichlet
from sktopic._state._fields import State, array, changed, part
from sktopic._topics._prior import (
    LARGEST_LEARNED,
    MAX_ITER,
    PRIOR_INERTIA,
    SMALLEST,
    SMALLEST_LEARNED,
    TOL,
    check_used_prior,
)
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import expected_tokens, probabilities
from sktopic._training._minibatches import Growth, gathered_topics
from sktopic.hdp._hdp_state import HDPState, columns_in_use, reporting
from sktopic.hdp._minibatch_method import HDPMethod

BIRTH_KEY = 0x6269727468
# Largest number of births in a batch, and initial number of spare columns if max_births is None.
MOST_BIRTHS, FEWEST_SPARE = 1000, 16


@dataclass(frozen=True, eq=False)
class GrowingPrior(State):
    """Dirichlet parameters of the proportions of documents (Dupuy and Bach, 2017, section 5).

    Attributes
    ----------
    alpha : (n_topics,) the parameters; new topics get the rest of the concentration of documents
    log_theta : (n_topics,) average of E[log theta], which alpha is fitted to
    """

    alpha: np.ndarray = array(np.float64, "born")
    log_theta: np.ndarray = array(np.float64, "born")

    @classmethod
    def start(cls, alpha):
        return cls(alpha, digamma(alpha) - digamma(alpha.sum()))

    def left(self, concentration):
        """Return the part of the concentration of documents that no topic has."""
        return max(concentration - float(self.alpha.sum()), 0.0)

    def shares(self, u, concentration, topic_concentration):
        """Return the shares of new topics in the concentration of documents, and the rest after each.

        They break sticks of Beta(1, topic_concentration) off the rest, one after the other.

        u : (n,) uniform random numbers, from which sticks follow by the inverse distribution function
        """
        log_kept = np.log1p(-u) / topic_concentration
        with np.errstate(under="ignore"):  # the rest after a stick near one may underflow
            kept = self.left(concentration) * np.exp(np.cumsum(log_kept))
        return -np.expm1(log_kept) * np.append(self.left(concentration), kept[:-1]), kept

    def with_spare(self, shares, kept):
        """Return alpha with the parameters of spare columns; the last also has the final rest."""
        spare = shares.copy()
        spare[-1:] += kept[-1:]
        return np.append(self.alpha, np.maximum(spare, SMALLEST))

    def averaged(self, gains, lengths, sample_weight, rho):
        """Move the average a step of size rho towards that of a batch, and fit alpha to it.

        gains : (n_topics,) topic_gains of the PriorStatistics
        lengths, sample_weight : of the documents with words, and their weights or None
        """
        n_documents = len(lengths) if sample_weight is None else sample_weight.sum()
        total = weighted_sum(digamma(self.alpha.sum() + lengths), sample_weight)
        batch = gains / self.alpha / n_documents
        batch = batch + digamma(self.alpha) - total / n_documents
        log_theta, alpha = (1.0 - rho) * self.log_theta + rho * batch, self.alpha.copy()
        fit_dirichlet(log_theta, alpha, MAX_ITER, TOL)
        return GrowingPrior(alpha, log_theta)

    def bounded(self, most):
        """Return the prior with alpha scaled down to a sum of at most ``most``."""
        return GrowingPrior(
            np.maximum(self.alpha * min(1.0, most / self.alpha.sum()), SMALLEST), self.log_theta
        )

    def with_born(self, shares):
        """Return the prior with new topics, given their shares of the concentration of documents."""
        alpha = np.append(self.alpha, np.clip(shares, SMALLEST_LEARNED, LARGEST_LEARNED))
        log_theta = digamma(alpha[len(self.alpha) :]) - digamma(alpha.sum())
        return GrowingPrior(alpha, np.append(self.log_theta, log_theta))

    def edited(self, edit):
        """Return the prior after a TopicEdit, which removes columns of removed topics."""
        return GrowingPrior(edit.sums(self.alpha), edit.log_means(self.log_theta, self.alpha))


@dataclass(frozen=True, eq=False, kw_only=True)
class GrowingState(HDPState):
    """The state after some updates: born topics first, then spare columns.

    Attributes
    ----------
    proportions : GrowingPrior
        The prior of proportions over born topics.
    """

    proportions: GrowingPrior = part(GrowingPrior)

    @property
    def n_born(self):
        return len(self.proportions.alpha)

    @property
    def n_spare(self):
        """Number of spare columns."""
        return self.words.n_topics - self.n_born

    def check(self):
        super().check()
        check_used_prior(self.proportions.alpha)
        if self.in_use[-1] >= self.n_born or self.n_spare < 0:
            raise ValueError(f"proportions cover {self.n_born} of the {self.words.n_topics} topics")


@dataclass(frozen=True, kw_only=True)
class GrowingOnlineEM(HDPMethod):
    """Online EM for an HDP whose topics are born in batches (G-OEM in the literature).

    Attributes
    ----------
    inference, prediction : document steps of training and of transform
    max_births : largest number of topics that a batch may add, or None
    min_birth_tokens : expected tokens that a new topic needs in its batch
    """

    inference: GibbsStep
    prediction: GibbsInference
    max_births: int | None
    min_birth_tokens: float

    learns_from_gains: ClassVar[bool] = True
    growth: ClassVar[Growth] = Growth.DOUBLE

    def start(self, n_features, seed):
        n = self.n_components
        # The share after one table for each topic.
        share = float(self.parameters.doc_concentration) / (n + float(self.parameters.topic_concentration))
        prior = GrowingPrior.start(np.full(n, max(share, SMALLEST)))
        return self.started(GrowingState, n_features, seed, proportions=prior)

    def adopted(self, state):
        state = super().adopted(state)
        unlimited = self.max_births is None
        return with_spare(state, max(state.n_spare, FEWEST_SPARE) if unlimited else self.max_births)

    def reported(self, state):
        alpha = state.proportions.alpha
        in_use = columns_in_use(state)
        in_use = in_use[in_use < state.n_born]
        weights = alpha / max(state.doc_concentration, alpha.sum())
        return reporting(state, in_use, weights[in_use], alpha[in_use])

    def edited_columns(self, state, edit):
        n = state.n_born
        # Identities of removed topics are not reused.
        state = changed(state, next_id=first_new_id(state, state.ids[:n]))
        # Spare columns have no parameters.
        prior = state.proportions.edited(replace(edit, into=edit.into[:n]))
        return changed(super().edited_columns(state, edit), proportions=prior)

    # Documents

    def infer(self, state, batch, keys, update, workers):
        n_spare = state.n_spare
        while True:
            prior = state.proportions.with_spare(*new_shares(state, n_spare, update))
            words, n_more = state.words, len(prior) - state.words.n_topics
            if n_more > 0:  # topics without tokens
                words = of_topics(words, slice(None), n_spare=n_more)
            topics = probabilities(words, update.total_samples, state.topic_word_prior)
            gathered = gathered_topics(topics, batch, prior, state, update, workers)
            counts = self.inference(batch, gathered, prior, keys, workers, with_prior_statistics=True)
            reaches_last = len(prior) - 1 in counts.drawn_topics()
            if self.max_births is not None or not reaches_last or n_spare >= MOST_BIRTHS:
                return counts
            n_spare = min(2 * n_spare, MOST_BIRTHS)

    # Updates

    def learned(self, state, counts, update, workers):
        rho, is_first = self.step_size(state, update), state.n_topic_updates == 0
        state = with_spare(state, len(counts.expected.prior) - state.n_born)
        state = changed(state, words=self.entered(state, counts, update, workers))
        if not is_first:  # the first batch was inferred with random topics
            state = changed(state, proportions=self._learned_proportions(state, counts.expected, update))
        tokens = expected_tokens(state.words, counts.n_documents / rho)  # of the batch
        drawn = counts.expected.drawn_topics()
        return with_births(state, drawn[tokens[drawn] >= self.min_birth_tokens], counts.words, update)

    def _learned_proportions(self, state, expected, update):
        rho = self.step_size(state, update, PRIOR_INERTIA + state.n_topic_updates)
        gains, batch = expected.prior_statistics().topic_gains, expected.batch
        # pi sums to less than one. The rest decreases as under the process with one table per document.
        n = float(state.n_samples_seen + batch.total_weight)
        most = state.doc_concentration * n / (n + state.topic_concentration)
        lengths, weights = batch.with_words()
        return state.proportions.averaged(gains[: state.n_born], lengths, weights, rho).bounded(most)

    def work(self, state, counts, update):
        drawn = counts.expected.drawn_topics().max(initial=-1)
        copies = drawn >= state.n_born or len(counts.expected.prior) > state.words.n_topics  # births
        return super().work(state, counts, update) + (2 * state.words.size if copies else 0)


def with_spare(state, n_spare):
    """Return the state with this number of spare columns."""
    return state if n_spare == state.n_spare else with_columns(state, state.n_born, [], n_spare)


def with_columns(state, n_known, born, n_spare):
    """Return the state with known and born topics, followed by empty columns."""
    topics = np.append(np.arange(n_known), born).astype(np.int64)
    words, known = of_topics(state.words, topics, n_spare=n_spare), state.ids[:n_known]
    new = first_new_id(state, known) + np.arange(words.n_topics - n_known)
    return changed(state, words=words, ids=np.append(known, new))


def first_new_id(state, known):
    """Return the identity of the next born topic; known: identities of the topics so far."""
    return max(state.next_id, int(known.max(initial=-1)) + 1)


def new_shares(state, n, update):
    """Return shares of the next n topics, and the rest after each (see GrowingPrior.shares)."""
    u = uniforms(combine_keys(state.seed, BIRTH_KEY, update.number), n)
    return state.proportions.shares(u, state.doc_concentration, state.topic_concentration)


def with_births(state, topics, words, update):
    """Return the state in which these spare topics are born and the others are forgotten.

    words : columns of X in the batch; spare topics have tokens of these only
    """
    n, n_spare, prior = state.n_born, state.n_spare, state.proportions
    born = topics[topics >= n]
    if len(born) == 0 or prior.left(state.doc_concentration) == 0.0:
        state.words.clear(slice(n, None), words)
        return state
    shares, _ = new_shares(state, n_spare, update)
    return changed(
        with_columns(state, n, born, n_spare),
        proportions=prior.with_born(shares[born - n]),
    )
