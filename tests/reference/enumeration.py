"""Exact answers for tiny documents, by summing over every assignment of topics to tokens."""

from itertools import product

import numpy as np
from scipy.special import gammaln, psi


class Enumeration:
    """All assignments of tokens, which have these words, under topics phi (n_words, n_topics)."""

    def __init__(self, words, phi, alpha):
        n_topics = len(alpha)
        self.z = np.array(list(product(range(n_topics), repeat=len(words))))
        self._one_hot = self.z[:, :, None] == np.arange(n_topics)
        self._n = self._one_hot.sum(axis=1)
        self._alpha = alpha
        log_prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(words))
        log_prior += (gammaln(alpha + self._n) - gammaln(alpha)).sum(axis=1)
        joint = np.exp(log_prior) * phi[np.asarray(words), self.z].prod(axis=1)
        self.evidence = joint.sum()
        self.posterior = joint / self.evidence

    def expected_counts(self):
        """p(z_i = k | w), (n_tokens, n_topics)."""
        return np.tensordot(self.posterior, self._one_hot, axes=1)

    def mean_psi(self):
        """E[psi(alpha_k + n_k) | w], (n_topics,)."""
        return self.posterior @ psi(self._alpha + self._n)

    def mean_theta(self):
        """E[theta_k | w], (n_topics,)."""
        return (self._alpha + self.posterior @ self._n) / (self._alpha.sum() + self.z.shape[1])

    def second_moments(self):
        """E[theta_j theta_k | w], (n_topics, n_topics)."""
        a = self._alpha + self._n
        total = self._alpha.sum() + self.z.shape[1]
        given_z = a[:, :, None] * a[:, None, :] + a[:, :, None] * np.eye(a.shape[1])
        return np.tensordot(self.posterior, given_z, axes=1) / (total * (total + 1.0))
