"""Parameters that topics and documents share: weights, concentrations and the prior of topics."""

import math

import numpy as np
from scipy.special import digamma, polygamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._runtime._arrays import by_blocks
from sktopic._state._fields import changed
from sktopic._topics._prior import LARGEST, SMALLEST, learned_topic_word_prior
from sktopic._topics._word_count_views import mean_log_probability
from sktopic.hdp._direct_assignment_state import SMALLEST_WEIGHT

# Largest weight of topics that are not represented.
LARGEST_REST = 1.0 - 1e-6
# Tables of other topics. Below a concentration of 1, topics in use would otherwise get all weight.
LEAST_REST = 0.1
WEIGHT_ITERATIONS, WEIGHT_TOL = 30, 1e-8
NEWTON_ITERATIONS, NEWTON_TOL = 50, 1e-6


def moved(parameters, state, tokens, batch, scale, rho, workers):
    """Return the state after a step of the learned parameters towards their best values for a batch.

    parameters : Parameters
    tokens : (n_documents, n_topics) of its documents; scale : documents of the corpus for each of these;
    rho : step size
    """
    if parameters.learns("doc_concentration"):
        lengths, sample_weight = batch.with_words()
        best = fit_concentration(
            tokens[batch.lengths > 0],
            state.weights,
            state.doc_concentration,
            lengths,
            scale,
            parameters.doc_concentration_prior,
            sample_weight,
        )
        alpha = _between_logarithms(state.doc_concentration, best, rho)
        state = changed(state, doc_concentration=alpha)
    if parameters.learns("topic_concentration"):
        best = best_topic_concentration(state, parameters.topic_concentration_prior)
        gamma = (1.0 - rho) * state.topic_concentration + rho * best
        state = changed(state, topic_concentration=gamma)
    if parameters.learns("topic_word_prior"):
        words, eta = state.words, state.topic_word_prior
        mean = mean_log_probability(words, state.unit, eta, workers)
        best = learned_topic_word_prior("fixed-point", mean, words.n_features, eta, rho)
        state = changed(state, topic_word_prior=_between_logarithms(eta, best, rho))
    return state


def best_topic_concentration(state, prior):
    """Return gamma that maximizes the density of the weights and of log gamma, under a Gamma prior."""
    shape, rate = prior
    return (shape + state.n_topics) / (rate - math.log(state.weight_left))


def _between_logarithms(old, best, rho):
    return math.exp((1.0 - rho) * math.log(old) + rho * math.log(best))


def trigamma(x):
    return polygamma(1, x)


def fit_weights(tokens, weights, alpha, gamma, scale, sample_weight=None):
    """Return the beta that maximizes the bound, by Minka's fixed point.

    Each iteration raises the bound.

    Parameters
    ----------
    tokens : (n_documents, n_topics) expected tokens of topics in documents
    weights : (n_topics,) the start
    alpha, gamma : concentrations of documents and root
    scale : number of documents in the corpus for each document in ``tokens``
    sample_weight : (n_documents,) weight of each document. If None, 1.

    Returns
    -------
    weights : (n_topics,) If their sum is less than one, the rest belongs to all other topics.
    """

    def tables(prior):
        gains = by_blocks(lambda n: digamma(prior + n), tokens) - digamma(prior)
        gains = np.maximum(gains, 0.0)  # rounding errors
        return scale * prior * weighted_sum(gains, sample_weight)

    return fixed_point_weights(tables, weights, alpha, gamma)


def fixed_point_weights(tables_of, weights, alpha, gamma, max_iter=WEIGHT_ITERATIONS):
    """Return the same from a function of prior = alpha * beta that returns the expected tables of topics."""
    rest = max(gamma - 1.0, LEAST_REST * gamma)
    for _ in range(max_iter):
        tables = tables_of(alpha * weights)
        left = min(max(rest / (tables.sum() + rest), SMALLEST_WEIGHT), LARGEST_REST)
        updated = np.maximum((1.0 - left) * tables / max(tables.sum(), 1e-300), SMALLEST_WEIGHT)
        updated *= (1.0 - left) / updated.sum()
        change = np.abs(updated - weights).max()
        weights = updated
        if change < WEIGHT_TOL:
            break
    return weights


def fit_concentration(tokens, weights, value, lengths, scale, prior, sample_weight=None):
    """Return alpha that maximizes the bound under a Gamma prior, by Newton's method for its logarithm.

    Parameters
    ----------
    tokens, weights, scale, sample_weight : as of fit_weights
    value : the start
    lengths : (n_documents,) of the documents, > 0
    prior : shape and rate
    """
    shape, rate = prior
    x, (document, topic) = math.log(value), np.nonzero(tokens > 0)
    tokens, b = tokens[document, topic], weights[topic]
    cell_weight = None if sample_weight is None else sample_weight[document]
    for _ in range(NEWTON_ITERATIONS):
        a = math.exp(x)
        own = a * b
        gains = b * (by_blocks(digamma, own + tokens) - by_blocks(digamma, own))
        first = weighted_sum(gains, cell_weight)
        first -= weighted_sum(digamma(a + lengths) - digamma(a), sample_weight)
        gains = b * b * (by_blocks(trigamma, own + tokens) - by_blocks(trigamma, own))
        second = weighted_sum(gains, cell_weight)
        second -= weighted_sum(trigamma(a + lengths) - trigamma(a), sample_weight)
        slope = scale * a * first + shape - a * rate
        curvature = scale * (a * first + a * a * second) - a * rate
        step = -slope / curvature if curvature < 0 else math.copysign(1.0, slope)
        step = min(max(step, -1.0), 1.0)
        x = min(max(x + step, math.log(SMALLEST)), math.log(LARGEST))
        if abs(step) < NEWTON_TOL:
            break
    return math.exp(x)
