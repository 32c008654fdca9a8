"""Parameters that topics and documents share: weights, concentrations and the prior of topics."""

import math

import numpy as np
from scipy.special import gammaln, polygamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._kernels.hdp._memoized import sum_gains
from sktopic._state._fields import changed
from sktopic._topics._prior import LARGEST_LEARNED, SMALLEST_LEARNED, learned_topic_word_prior
from sktopic._topics._word_count_views import mean_log_probability
from sktopic.hdp._direct_assignment_state import SMALLEST_WEIGHT

# Largest weight of topics that are not represented.
LARGEST_REST = 1.0 - 1e-6
# Tables of other topics. Below a concentration of 1, topics in use would otherwise get all weight.
LEAST_REST = 0.1
WEIGHT_ITERATIONS, WEIGHT_TOL = 30, 1e-8
NEWTON_ITERATIONS, NEWTON_TOL = 50, 1e-6
LARGEST_STEP, HALVINGS = 1.0, 20
# Relative difference of two values of a function that is taken for a rounding error. Otherwise, it would stop
# Newton's method long before the maximum.
ROUNDING = 1e-13


def moved(parameters, state, documents, rho, workers):
    """Return the state after a step of the learned parameters towards their best values for a batch.

    parameters : Parameters
    documents : DocumentTopics of the batch
    rho : step size
    """
    if parameters.learns("doc_concentration"):
        prior = parameters.doc_concentration_prior
        best = best_concentration(documents, state.weights, state.doc_concentration, prior)
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


class DocumentTopics:
    """Tokens of topics in documents.

    Attributes
    ----------
    document, topic, tokens, weight : (n_entries,); weight is that of the document
    lengths, sample_weight : (n_documents,)
    """

    def __init__(self, document, topic, tokens, sample_weight):
        self.document, self.topic, self.tokens = document, topic, tokens
        self.sample_weight, self.weight = sample_weight, sample_weight[document]
        self.lengths = np.bincount(document, weights=tokens, minlength=len(sample_weight))

    @classmethod
    def of_batch(cls, tokens, scale, sample_weight=None):
        """Return the topics of documents that stand for a corpus.

        Parameters
        ----------
        tokens : (n_documents, n_topics)
        scale : number of documents in the corpus for each of these
        sample_weight : (n_documents,) weight of each document. If None, 1.
        """
        document, topic = np.nonzero(tokens > 0)
        weight = np.full(len(tokens), float(scale)) if sample_weight is None else scale * sample_weight
        return cls(document, topic.astype(np.int32), tokens[document, topic], weight)

    def gains(self, prior, order=0):
        """Return sums of f(prior + N) - f(prior) by topic; f is a derivative of log Gamma of this order."""
        return sum_gains(self.topic, self.tokens, self.weight, prior, order)

    def bound(self, alpha, weights):
        """Return the part of the bound from the documents' proportions."""
        lengths = gammaln(alpha) - gammaln(alpha + self.lengths)
        return float(self.gains(alpha * weights).sum() + weighted_sum(lengths, self.sample_weight))

    def tables(self, prior):
        """Return the expected tables of each topic: prior * sum of psi(prior + N) - psi(prior)."""
        return prior * np.maximum(self.gains(prior, 1), 0.0)  # rounding


def best_weights(documents, weights, alpha, gamma, max_iter=WEIGHT_ITERATIONS):
    """Return the beta that maximizes the bound, by Minka's fixed point.

    Each iteration raises the bound.

    Parameters
    ----------
    documents : DocumentTopics
    weights : (n_topics,) the start
    alpha, gamma : concentrations of documents and root
    max_iter : largest number of iterations

    Returns
    -------
    weights : (n_topics,) If their sum is less than one, the rest belongs to all other topics.
    """
    rest = max(gamma - 1.0, LEAST_REST * gamma)
    for _ in range(max_iter):
        tables = documents.tables(alpha * weights)
        left = min(max(rest / (tables.sum() + rest), SMALLEST_WEIGHT), LARGEST_REST)
        updated = np.maximum((1.0 - left) * tables / max(tables.sum(), 1e-300), SMALLEST_WEIGHT)
        updated *= (1.0 - left) / updated.sum()
        change = np.abs(updated - weights).max()
        weights = updated
        if change < WEIGHT_TOL:
            break
    return weights


def best_concentration(documents, weights, alpha, prior):
    """Return alpha that maximizes the documents' part plus the log density of log alpha.

    prior : shape and rate
    """
    shape, rate = prior
    lengths, sample_weight = documents.lengths, documents.sample_weight

    def objective(x):
        return documents.bound(math.exp(x), weights) + shape * x - rate * math.exp(x)

    def derivatives(x):
        a = math.exp(x)
        first, second = (
            (weights**order * documents.gains(a * weights, order)).sum()
            + (sample_weight * (polygamma(order - 1, a) - polygamma(order - 1, a + lengths))).sum()
            for order in (1, 2)
        )
        return a * first + shape - a * rate, a * first + a * a * second - a * rate

    return ascend(objective, derivatives, alpha)


def ascend(objective, derivatives, start):
    """Return y at a maximum of a function of log y, by Newton's method with steps that never lower it.

    Parameters
    ----------
    objective : the function
    derivatives : function that returns the first and second derivatives
    start : y
    """
    x, lower, upper = (math.log(y) for y in (start, SMALLEST_LEARNED, LARGEST_LEARNED))
    value = objective(x)
    for _ in range(NEWTON_ITERATIONS):
        slope, curvature = derivatives(x)
        step = -slope / curvature if curvature < 0 else math.copysign(LARGEST_STEP, slope)
        step = min(max(step, -LARGEST_STEP), LARGEST_STEP)
        for _ in range(HALVINGS):
            moved = min(max(x + step, lower), upper)
            reached = objective(moved)
            if reached >= value - ROUNDING * abs(value):
                break
            step /= 2
        else:
            break
        x, value = moved, reached
        if abs(step) < NEWTON_TOL:
            break
    return math.exp(x)
