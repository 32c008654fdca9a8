"""What is read from word counts: tokens, topics as documents see them, posteriors.

In all of these, ``counts`` are WordCounts, ``weight`` is what one unit of them stands for, in tokens, and
``entries`` are PriorEntries, which take the place of ``topic_word_prior`` for some words in some topics.
"""

from itertools import pairwise

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._kernels.topics._dirichlet import sum_digamma
from sktopic._runtime._arrays import row_blocks, rows_of
from sktopic._topics._sparse_word_counts import SparseTopics, SparseWordCounts
from sktopic._topics._topic_rows import GeometricTopics, TopicProbabilities
from sktopic._topics._topic_word_prior import prior_totals
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_counts import part_bounds


def token_weights(counts, weight, topics=slice(None)):
    """What a unit of the store stands for, in tokens: a number; with frozen topics, one a topic."""
    weight = weight * counts.scale
    if counts.frozen is None:
        return weight
    frozen = counts.frozen[0, topics]
    return np.where(frozen == 0.0, weight, frozen)


def priors_of(counts, topic_word_prior, topics=slice(None)):
    """topic_word_prior; with frozen topics, one for each of these topics."""
    if counts.frozen is None:
        return topic_word_prior
    return np.where(counts.free, topic_word_prior, counts.frozen[1])[topics]


def expected_tokens(counts, weight, totals=None):
    """Expected tokens of each topic, ndarray of shape (n_components,); totals, if not those there are."""
    return token_weights(counts, weight) * (counts.totals if totals is None else totals)


def expected_counts(counts, weight, topics=slice(None)):
    """weight * s of some topics, ndarray of shape (n_features, n_topics)."""
    if isinstance(counts, SparseWordCounts):
        return weight * counts.scale * counts.rows()[:, topics]
    return counts.store[:, topics] * token_weights(counts, weight, topics)


def expected_counts_of(counts, words, topics, weight):
    """weight * s of some words and topics, ndarray of shape (n_words, n_topics)."""
    found, weights = rows_of(counts.store[:, topics], words), token_weights(counts, weight, topics)
    for rows in row_blocks(found):
        found[rows] *= weights
    return found


def probabilities(counts, weight, topic_word_prior, entries=None):
    """phi proportional to weight * s + topic_word_prior, TopicProbabilities or SparseTopics."""
    if isinstance(counts, SparseWordCounts):
        return SparseTopics.of(counts, weight, topic_word_prior)
    weight, topic_word_prior = token_weights(counts, weight), priors_of(counts, topic_word_prior)
    return _normalized(counts, counts.store, weight, weight * counts.totals, topic_word_prior, entries)


def average_probabilities(counts, weight, topic_word_prior, n_updates, entries=None):
    """The same from the mean of s / s.sum(axis=0) over the updates, weighing as much as s does."""
    mean = counts.store * counts.average_weight
    mean -= counts.averaged
    np.maximum(mean, 0.0, out=mean)  # which rounding may miss
    mean /= n_updates
    weight = weight * counts.scale * counts.totals
    return _normalized(counts, mean, weight, weight * mean.sum(axis=0), topic_word_prior, entries)


def _normalized(counts, store, weight, totals, topic_word_prior, entries):
    """phi proportional to weight * store + topic_word_prior; uniform for a topic without any of both."""
    norm = totals + prior_totals(counts.n_features, topic_word_prior, entries)
    empty = norm == 0
    norm[empty] = 1.0
    offset = topic_word_prior / norm
    offset[empty] = 1.0 / counts.n_features
    own = None if entries is None else entries.times(1.0 / norm)
    token = 1.0 / norm if counts.frozen is None else np.where(counts.free, 1.0 / norm, 0.0)
    return TopicProbabilities(store, weight / norm, offset, own, token=token)


def geometric(counts, weight, topic_word_prior, entries=None):
    """exp E[log phi] of topics under Dirichlet posteriors of parameters weight * s + topic_word_prior."""
    weight, topic_word_prior = token_weights(counts, weight), priors_of(counts, topic_word_prior)
    ones = np.ones(counts.n_topics)
    norm = digamma(weight * counts.totals + prior_totals(counts.n_features, topic_word_prior, entries))
    return GeometricTopics(counts.store, weight * ones, topic_word_prior * ones, norm, entries)


def mean_log_probability(counts, weight, topic_word_prior, workers):
    """The mean of E[log phi] over words and topics under the same posteriors; frozen topics left out."""
    if counts.frozen is not None and counts.free.any():
        counts = of_topics(counts, counts.free)
    sums = digamma_sums(counts, part_bounds(len(counts.store)), weight, topic_word_prior, workers)
    return mean_log_of_sums(counts, sums, weight, topic_word_prior)


def digamma_sums(counts, bounds, weight, topic_word_prior, workers):
    """Sums of psi of the parameters of these posteriors, over rows from one bound to the next."""
    scale = token_weights(counts, weight) * np.ones(counts.n_topics)
    pieces = [(a, b, counts.store, scale, topic_word_prior) for a, b in pairwise(bounds)]
    return workers.map_here(sum_digamma, pieces)


def mean_log_of_sums(counts, sums, weight, topic_word_prior):
    """mean_log_probability, from digamma_sums that are over all words together."""
    norm = geometric(counts, weight, topic_word_prior).norm
    return sum(sums) / (counts.n_features * counts.n_topics) - norm.mean()


def posterior_bound(counts, weight, topic_word_prior, entries=None):
    """E[log p(phi)] - E[log q(phi)] of the same posteriors, p being their prior."""
    weight, eta = token_weights(counts, weight), priors_of(counts, topic_word_prior)
    prior_sums = prior_totals(counts.n_features, eta, entries)
    totals, words = weight * counts.totals + prior_sums, 0.0
    for first in range(0, len(counts.store), 1024):  # a copy of all would take several times the memory
        found = counts.store[first : first + 1024] * weight
        if entries is not None:
            position, k, value = entries.at(np.arange(first, first + len(found)))
            eta = np.array(np.broadcast_to(priors_of(counts, topic_word_prior), found.shape))
            eta[position, k] = value
        lambda_ = found + eta
        log_phi = digamma(lambda_) - digamma(totals)
        words += ((eta - lambda_) * log_phi + gammaln(lambda_) - gammaln(eta)).sum()
    return float(words + (gammaln(prior_sums) - gammaln(totals)).sum())
