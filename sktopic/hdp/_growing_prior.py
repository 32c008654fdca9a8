"""The learned prior of topic proportions, of topics that are born one after the other."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._kernels._dirichlet import fit_dirichlet
from sktopic._state._fields import State, array
from sktopic._topics._prior import LARGEST_LEARNED, MAX_ITER, SMALLEST, SMALLEST_LEARNED, TOL


@dataclass(frozen=True, eq=False)
class GrowingPrior(State):
    """Dirichlet parameters of the proportions of documents (Dupuy and Bach, 2017, section 5).

    Attributes
    ----------
    alpha : (n_topics,) the parameters; what they leave of the concentration of documents is for new topics
    log_theta : (n_topics,) average of E[log theta], which alpha is fitted to
    """

    alpha: np.ndarray = array(np.float64, "born")
    log_theta: np.ndarray = array(np.float64, "born")

    @classmethod
    def start(cls, alpha):
        return cls(alpha, digamma(alpha) - digamma(alpha.sum()))

    def left(self, concentration):
        """The part of the concentration of documents that no topic has."""
        return max(concentration - float(self.alpha.sum()), 0.0)

    def shares(self, u, concentration, topic_concentration):
        """What topics to come get of the concentration of documents, and what is left behind each.

        They break sticks of Beta(1, topic_concentration) off what is left, one after the other.

        u : (n,) uniform random numbers, from which sticks come by the inverse distribution function
        """
        log_kept = np.log1p(-u) / topic_concentration
        with np.errstate(under="ignore"):  # nothing is left behind sticks that are nearly whole
            kept = self.left(concentration) * np.exp(np.cumsum(log_kept))
        return -np.expm1(log_kept) * np.append(self.left(concentration), kept[:-1]), kept

    def with_spare(self, shares, kept):
        """alpha, with that of topics to come behind it; the last of these has what is left behind it, too."""
        spare = shares.copy()
        spare[-1:] += kept[-1:]
        return np.append(self.alpha, np.maximum(spare, SMALLEST))

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

    def with_born(self, shares):
        """Topics more, with these shares of the concentration of documents."""
        alpha = np.append(self.alpha, np.clip(shares, SMALLEST_LEARNED, LARGEST_LEARNED))
        log_theta = digamma(alpha[len(self.alpha) :]) - digamma(alpha.sum())
        return GrowingPrior(alpha, np.append(self.log_theta, log_theta))

    def edited(self, edit):
        """The same after a TopicEdit, which leaves no column of a topic that goes."""
        return GrowingPrior(edit.sums(self.alpha), edit.log_means(self.log_theta, self.alpha))
