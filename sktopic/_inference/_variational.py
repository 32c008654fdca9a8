"""Mean-field variational inference of the topics of documents."""

from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._documents._sample_weight import weighted_sum
from sktopic._inference._factored import FactoredCounts
from sktopic._inference._pieces import joined_results
from sktopic._inference._protocol import CellwiseStep
from sktopic._kernels.inference._variational import update_documents
from sktopic._runtime._arrays import by_blocks
from sktopic._topics._covariate_statistics import CovariateStatistics
from sktopic._topics._prior import PriorStatistics


@dataclass
class VariationalCounts(FactoredCounts):
    """Expected counts under variational inference (see _kernels.inference._variational).

    Attributes
    ----------
    prior, gamma : Dirichlet parameters of proportions, before and after
    changes : (n_documents,) mean absolute change of gamma in the last iteration
    rest : parameter of a topic that no word has
    """

    prior: np.ndarray
    gamma: np.ndarray
    changes: np.ndarray
    rest: float = 0.0

    @property
    def tokens(self):
        """Expected tokens of topics in documents, (n_documents, n_components)."""
        return np.maximum(self.gamma - self.prior, 0.0)

    def prior_statistics(self):
        if self.batch.covariates is not None:
            gains = by_blocks(digamma, self.gamma) - digamma(self.prior)
            return CovariateStatistics.of(self.batch, self.prior, gains)
        lengths, weights = self.batch.with_words()
        n = len(lengths) if weights is None else weights.sum()
        log_theta = by_blocks(digamma, self.gamma[self.batch.lengths > 0])
        gains = weighted_sum(log_theta, weights) - n * digamma(self.prior)
        return PriorStatistics.from_gains(self.prior, gains, lengths, weights)

    def proportions(self):
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)

    def bound(self):
        """The documents' part of the evidence lower bound in nats, given exp E[log phi] as topics."""
        return float(self.bounds().sum())

    def bounds(self):
        """That of each document."""
        batch, gamma, prior = self.batch, self.gamma, self.prior
        totals = gamma.sum(axis=1) + self.rest
        log_theta = by_blocks(digamma, gamma) - digamma(totals)[:, None]
        document = batch.cell_document()
        # share is count / (expectation @ row), where expectation is exp(log theta) over its largest entry.
        log_norm = np.log(batch.cell_count / self.share) + self.topics.log_norm[batch.cell_word]
        log_norm += log_theta.max(axis=1)[document]
        words = np.bincount(document, weights=batch.cell_count * log_norm, minlength=len(gamma))
        theta = ((prior - gamma) * log_theta + by_blocks(gammaln, gamma) - gammaln(prior)).sum(axis=1)
        return words + theta + gammaln(prior.sum(axis=-1) + self.rest) - gammaln(totals)


@dataclass
class VariationalStep(CellwiseStep):
    """Mean-field inference of each document until its gamma settles.

    Attributes
    ----------
    max_iter : limit of the iterations
    tol : mean absolute change of gamma below which they stop
    rest : prior parameter of a topic that no word has
    """

    max_iter: int
    tol: float
    rest: float = 0.0

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False, gamma=None):
        """keys and with_prior_statistics are not needed; gamma (n_documents, n_components): the start."""
        if gamma is None:
            gamma = prior + batch.lengths[:, None] / prior.shape[-1]
        return self.run(batch, topics, prior, gamma, self.max_iter, workers)

    def posteriors(self, batch, topics, prior, keys, n_draws, workers):
        return repeat(self(batch, topics, prior, keys, workers).gamma, n_draws)

    def better(self, first, second, workers):
        """For each document the one of two results that has the higher bound."""
        ahead = first.bounds() >= second.bounds()
        gamma = np.where(ahead[:, None], first.gamma, second.gamma)
        return self.run(first.batch, first.topics, first.prior, gamma, 0, workers)

    def run(self, batch, topics, prior, gamma, max_iter, workers):
        if not prior.shape[-1]:  # by which the kernel divides
            raise ValueError("the fitted state is damaged: no topic is left. Load it from an intact file.")
        update = partial(_update, rows=topics.rows, prior=prior, max_iter=max_iter, tol=self.tol)
        own_priors = [prior] if prior.ndim == 2 else []
        gamma, expectation, share, changes = joined_results(update, batch, workers, gamma, *own_priors)
        return VariationalCounts(batch, topics, expectation, share, prior, gamma, changes, self.rest)


def _update(cells, gamma, own_prior=None, *, prior, **settings):
    """The kernel for some documents, on a copy of gamma; own_prior : that of each of them, if they differ."""
    gamma, prior = np.array(gamma, order="C"), prior if own_prior is None else own_prior
    return gamma, *update_documents(*cells, gamma=gamma, prior=prior, **settings)
