"""Learn the prior of topic proportions from documents that a filter has finished."""

import numpy as np

from sktopic._state._fields import changed
from sktopic._topics._prior import LARGEST_LEARNED, SMALLEST_LEARNED
from sktopic.moment_matching._state import PriorMoments

# Weight of the initial prior, in groups of documents, and the decay of the step size.
START_WEIGHT = 10
DECAY = 0.65


def document_moments(alpha):
    """Return the moments of each document, ndarray of shape (n_documents, n_topics + 2).

    The columns are E[theta_k] of each topic, the sum over topics of E[theta_k^2], and 1. alpha : ndarray of
    shape (n_documents, n_topics), the parameters of the Dirichlet posteriors of theta.
    """
    total = alpha.sum(axis=1, keepdims=True)
    mean = alpha / total
    square = (mean * (alpha + 1.0) / (total + 1.0)).sum(axis=1)
    return np.column_stack([mean, square, np.ones(len(alpha))])


def moments_at_start(prior):
    """Return the PriorMoments of this prior before any document; () if the prior is not learned."""
    averages = document_moments(prior[None])[0, :-1] if len(prior) else np.empty(0)
    return PriorMoments(averages=averages, group=np.zeros(len(averages) + 1))


def with_documents(moments, alpha):
    """Return the PriorMoments with more documents in the present group. alpha: see `document_moments`."""
    # Sum row by row, so that the result does not depend on how a group is split.
    group = np.cumsum(np.vstack([moments.group, document_moments(alpha)]), axis=0)[-1]
    return changed(moments, group=group)


def with_group(moments):
    """Return the PriorMoments with the present group in the averages, and an empty next group."""
    rho = (START_WEIGHT + moments.n_updates + 1.0) ** -DECAY
    averages = (1.0 - rho) * moments.averages + rho * moments.group[:-1] / moments.group[-1]
    return PriorMoments(
        averages=averages, group=np.zeros_like(moments.group), n_updates=moments.n_updates + 1
    )


def matched_prior(averages, kind, prior):
    """Return the prior whose first topics have these moments (second moments: their sum).

    Topics without averages get the mean of the others. With one topic, the prior does not change.
    """
    n_topics = len(averages) - 1
    mean = averages[:-1] / averages[:-1].sum()
    if kind == "auto-symmetric":
        mean = np.full(n_topics, 1.0 / n_topics)
    spread = averages[-1] - (mean**2).sum()
    if n_topics == 1 or not spread > 0.0:  # identical documents would need an infinite prior
        return prior
    total = (1.0 - averages[-1]) / spread
    learned = np.full(len(prior), total / n_topics)
    learned[:n_topics] = total * mean
    return np.clip(learned, SMALLEST_LEARNED, LARGEST_LEARNED)
