"""Learning the prior of topic proportions from the documents that a filter has finished."""

import numpy as np

from sktopic._topics._prior import LARGEST_LEARNED, SMALLEST_LEARNED

# Groups of documents that the start counts for, of which those long past are forgotten.
START_WEIGHT = 10
DECAY = 0.65


def document_moments(alpha):
    """What each document tells of the prior, ndarray of shape (n_documents, n_topics + 2).

    E[theta_k] of each topic, the sum over topics of E[theta_k^2], and 1. alpha : ndarray of shape
    (n_documents, n_topics), the Dirichlet posteriors of theta.
    """
    total = alpha.sum(axis=1, keepdims=True)
    mean = alpha / total
    square = (mean * (alpha + 1.0) / (total + 1.0)).sum(axis=1)
    return np.column_stack([mean, square, np.ones(len(alpha))])


def prior_moments(prior):
    """The same of a document of which nothing is known, without the 1."""
    return document_moments(prior[None])[0, :-1]


def added(sums, moments):
    """sums plus the rows of moments, one after the other, so that cuts between the rows leave no trace."""
    return np.cumsum(np.vstack([sums, moments]), axis=0)[-1]


def moved(averages, sums, n_updates):
    """Averages of the moments after one more group of documents with these sums."""
    rho = (START_WEIGHT + n_updates + 1.0) ** -DECAY
    return (1.0 - rho) * averages + rho * sums[:-1] / sums[-1]


def matched_prior(averages, kind, prior):
    """The prior whose first topics, as many as there are averages of, have these moments (the second in sum).

    Topics beyond get the mean of these. Of one topic there is nothing to learn: the prior stays.
    """
    n_topics = len(averages) - 1
    mean = averages[:-1] / averages[:-1].sum()
    if kind == "auto-symmetric":
        mean = np.full(n_topics, 1.0 / n_topics)
    spread = averages[-1] - (mean**2).sum()
    if n_topics == 1 or not spread > 0.0:  # documents that are all alike would want an infinite prior
        return prior
    total = (1.0 - averages[-1]) / spread
    learned = np.full(len(prior), total / n_topics)
    learned[:n_topics] = total * mean
    return np.clip(learned, SMALLEST_LEARNED, LARGEST_LEARNED)
