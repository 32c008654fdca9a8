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

from sktopic._kernels.hdp._memoized import sum_gains
from sktopic._runtime._arrays import row_blocks
from sktopic.hdp._shared_parameters import DocumentTopics, ascend


def topics_of_documents(summaries):
    """Return the DocumentTopics of all documents of some BatchSummary."""
    first = np.cumsum([0, *(s.n_documents for s in summaries)])
    return DocumentTopics(
        document=np.concatenate([s.documents.row + n for s, n in zip(summaries, first)]),
        topic=np.concatenate([s.documents.topic for s in summaries]),
        tokens=np.concatenate([s.documents.tokens for s in summaries]),
        sample_weight=np.concatenate([s.sample_weight for s in summaries]),
    )


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
