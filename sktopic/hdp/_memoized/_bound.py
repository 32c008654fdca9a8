"""The bound of a corpus from the summaries of its batches, and the parameters that maximize it.

Given their tokens, documents have the best parameters of their proportions, alpha beta + N, and topics have
the best parameters lambda = eta + S. The bound is then the sum of the log density of beta and three parts:

- the log marginal likelihood of the topics' tokens S under a Dirichlet prior
- the log marginal likelihood of the documents' topic counts N
- the entropy of the topics of tokens

Each part is also a sum over topics.
"""

import math

import numpy as np
from scipy.special import gammaln, polygamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._kernels.hdp._memoized import sum_gains
from sktopic._runtime._arrays import row_blocks
from sktopic._topics._prior import LARGEST_LEARNED, SMALLEST_LEARNED

NEWTON_ITERATIONS, NEWTON_TOL = 20, 1e-6
LARGEST_STEP, HALVINGS = 1.0, 20


class DocumentTopics:
    """Tokens of topics in all documents of some BatchSummary.

    Attributes
    ----------
    document, topic, tokens, weight : (n_entries,); weight is that of the document
    lengths, sample_weight : (n_documents,)
    """

    def __init__(self, summaries):
        first = np.cumsum([0, *(s.n_documents for s in summaries)])
        self.document = np.concatenate([s.documents.row + n for s, n in zip(summaries, first)])
        self.topic = np.concatenate([s.documents.topic for s in summaries])
        self.tokens = np.concatenate([s.documents.tokens for s in summaries])
        self.sample_weight = np.concatenate([s.sample_weight for s in summaries])
        self.weight = self.sample_weight[self.document]
        n_documents = len(self.sample_weight)
        self.lengths = np.bincount(self.document, weights=self.tokens, minlength=n_documents)

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


class TopicWords:
    """Nonzero tokens of words in topics, from an array (n_features, n_topics).

    Attributes
    ----------
    topic, tokens : (n_entries,)
    totals : (n_topics,)
    n_features : number of words in the vocabulary
    """

    def __init__(self, tokens):
        found = [np.nonzero(tokens[rows]) for rows in row_blocks(tokens)]
        self.topic = np.concatenate([k for _, k in found]).astype(np.int32)
        entries = [tokens[rows][place] for rows, place in zip(row_blocks(tokens), found)]
        self.tokens = np.concatenate(entries)
        self.totals, self.n_features = tokens.sum(axis=0), len(tokens)

    def bounds(self, eta):
        """Return the part of the bound from each topic under a prior with parameter eta, (n_topics,)."""
        prior = self.n_features * eta
        return self._gains(eta, 0) + gammaln(prior) - gammaln(prior + self.totals)

    def derivative(self, eta, order):
        """Return the derivative of the sum of `bounds` with respect to eta."""
        prior, n = self.n_features * eta, self.n_features**order
        change = polygamma(order - 1, prior) - polygamma(order - 1, prior + self.totals)
        return self._gains(eta, order).sum() + n * change.sum()

    def _gains(self, eta, order):
        prior = np.full(len(self.totals), eta)
        return sum_gains(self.topic, self.tokens, np.empty(0), prior, order)


def best_topic_word_prior(topics, eta):
    """Return eta that maximizes the bounds of TopicWords, by Newton's method for its logarithm."""

    def derivatives(x):
        e = math.exp(x)
        first, second = (topics.derivative(e, order) for order in (1, 2))
        return e * first, e * first + e * e * second

    return ascend(lambda x: topics.bounds(math.exp(x)).sum(), derivatives, eta)


def best_concentration(documents, weights, alpha, prior):
    """Return alpha that maximizes the documents' part plus the log density of log alpha, in the same way.

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
            if reached >= value:
                break
            step /= 2
        else:
            break
        x, value = moved, reached
        if abs(step) < NEWTON_TOL:
            break
    return math.exp(x)
