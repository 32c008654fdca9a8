"""Boosting: a provisional update of the topics after each iteration of a document step.

Section 3.3 of Dupuy and Bach, "Online but accurate inference for latent variable models with local Gibbs
sampling", Journal of Machine Learning Research 18(126), 2017.
"""

import numpy as np

from sktopic._inference import DenseCounts, GibbsStep, VariationalStep
from sktopic._kernels._rng import combine_each
from sktopic._state._fields import duplicate


class GibbsIterations:
    """Sweeps over the documents of a batch, one at a time; those after the burn-in are averaged."""

    def __init__(self, batch, keys, with_prior_statistics, *, burn_in, sweeps):
        self.batch = batch
        self.n_iter = burn_in + sweeps
        self._keys, self._burn_in, self._with_prior_statistics = keys, burn_in, with_prior_statistics
        self._assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
        self._words = np.arange(batch.n_words, dtype=np.int32)
        self._mean = None

    def run(self, iteration, topics, prior, workers):
        """Return the counts, and whether there is nothing left to iterate for."""
        keys = combine_each(self._keys, iteration)
        step, wanted = GibbsStep(0, 1), self._with_prior_statistics
        counts = step(self.batch, topics, prior, keys, workers, wanted, assignments=self._assignments)
        if iteration < self._burn_in:
            return counts, False
        if self._mean is None:
            self._mean = DenseCounts(len(self._words), len(prior), wanted, n_repeats=0)
        self._mean.n_repeats += 1
        self._mean.include(counts, self._words, workers)
        return self._mean, False


class VariationalIterations:
    """Iterations of mean-field inference over the documents of a batch, until all have settled."""

    def __init__(self, batch, keys, with_prior_statistics, *, max_iter, tol):  # which draws nothing
        self.batch = batch
        self.n_iter = max_iter
        self._tol = tol
        self._gamma = None

    def run(self, iteration, topics, prior, workers):
        """As that of GibbsIterations."""
        counts = VariationalStep(1, 0.0)(self.batch, topics, prior, None, workers, gamma=self._gamma)
        self._gamma = counts.gamma
        return counts, counts.changes.max() < self._tol


def boosted_counts(iterations, before, prior, topics_of, enter, learn, workers):
    """The expected counts of the last iteration; of Gibbs sampling, their mean over the counted sweeps.

    Parameters
    ----------
    iterations : GibbsIterations or VariationalIterations
    before : WordCounts of the words of the batch, from which each provisional update starts
    prior : (n_components,) Dirichlet parameters of proportions, before the batch
    topics_of : function of statistics that returns the topics
    enter : function of statistics and counts, which enter these; it returns those to go on with
    learn : function of prior and counts that returns the prior to go on with
    """
    words = np.arange(iterations.batch.n_words, dtype=np.int32)
    present = before
    for iteration in range(iterations.n_iter):
        gathered = topics_of(present).gather(words, prior, workers)
        counts, settled = iterations.run(iteration, gathered, prior, workers)
        if settled or iteration == iterations.n_iter - 1:
            return counts
        present = enter(duplicate(before), counts)
        prior = learn(prior, counts)
