"""The learned prior of topic proportions, of topics that are born one after the other."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sktopic._kernels._dirichlet import fit_dirichlet
from sktopic._prior import LARGEST_LEARNED, MAX_ITER, SMALLEST, SMALLEST_LEARNED, TOL
from sktopic._sample_weight import weighted_sum


@dataclass(frozen=True)
class GrowingPrior:
    """Dirichlet parameters of the proportions of documents (Dupuy and Bach, 2017, section 5).

    Attributes
    ----------
    alpha : (n_topics,) the parameters; what they leave of the concentration of documents is for new topics
    log_theta : (n_topics,) average of E[log theta], which alpha is fitted to
    """

    alpha: np.ndarray
    log_theta: np.ndarray

    @classmethod
    def start(cls, alpha):
        return cls(alpha, digamma(alpha) - digamma(alpha.sum()))

    def left(self, concentration):
        """The part of the concentration of documents that no topic has."""
        return max(concentration - float(self.alpha.sum()), 0.0)

    def with_spare(self, n, concentration):
        """alpha, and equal parts of what is left for n topics that are not there yet."""
        share = max(self.left(concentration) / max(n, 1), SMALLEST)
        return np.append(self.alpha, np.full(n, share))

    def averaged(self, gains, lengths, sample_weight, rho):
        """Move the average a step of size rho towards that of a batch, and fit alpha to it.

        gains : (n_topics,) topic_gains of the PriorStatistics; lengths, sample_weight : of the documents with
            words, and their weights or None
        """
        n_documents = len(lengths) if sample_weight is None else sample_weight.sum()
        total = weighted_sum(digamma(self.alpha.sum() + lengths), sample_weight)
        batch = gains / self.alpha / n_documents
        batch = batch + digamma(self.alpha) - total / n_documents
        log_theta, alpha = (1.0 - rho) * self.log_theta + rho * batch, self.alpha.copy()
        fit_dirichlet(log_theta, alpha, MAX_ITER, TOL)
        return GrowingPrior(alpha, log_theta)

    def bounded(self, most):
        """The same proportions of alpha, with a sum of at most ``most``."""
        return GrowingPrior(
            np.maximum(self.alpha * min(1.0, most / self.alpha.sum()), SMALLEST), self.log_theta
        )

    def with_born(self, u, left, topic_concentration):
        """Topics more, which break sticks of Beta(1, topic_concentration) off what is left.

        u : (n_born,) uniform random numbers, from which sticks come by the inverse distribution function
        """
        stick = -np.expm1(np.log1p(-u) / topic_concentration)
        share = left * stick * np.append(1.0, np.cumprod(1.0 - stick)[:-1])
        alpha = np.append(self.alpha, np.clip(share, SMALLEST_LEARNED, LARGEST_LEARNED))
        log_theta = digamma(alpha[len(self.alpha) :]) - digamma(alpha.sum())
        return GrowingPrior(alpha, np.append(self.log_theta, log_theta))
