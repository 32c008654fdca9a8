"""Boosting: a provisional update of the topics after each iteration of a document step.

Section 3.3 of Dupuy and Bach, "Online but accurate inference for latent variable models with local Gibbs
sampling", Journal of Machine Learning Research 18(126), 2017.
"""

import numpy as np

from sktopic._inference._dense import DenseCounts
from sktopic._inference._gibbs import GibbsStep
from sktopic._inference._variational import VariationalStep
from sktopic._kernels.random._rng import combine_each
from sktopic._state._fields import duplicate
from sktopic._topics._word_count_edits import of_words
from sktopic._topics._word_count_views import probabilities
from sktopic._training._statistics_updates import BatchCounts


class GibbsIterations:
    """Single sweeps over the documents of a batch. Sweeps after the burn-in are averaged.

    averages_burn_in : whether a sweep of the burn-in is averaged with those before it
    """

    def __init__(self, batch, keys, with_prior_statistics, *, burn_in, sweeps, averages_burn_in):
        self.batch = batch
        self.n_iter = burn_in + sweeps
        self._keys, self._burn_in, self._with_prior_statistics = keys, burn_in, with_prior_statistics
        self._averages_burn_in = averages_burn_in
        self._assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
        self._words = np.arange(batch.n_words, dtype=np.int32)
        self._mean = None

    def run(self, iteration, topics, prior, workers):
        """Return the counts, and whether the iterations have converged."""
        keys = combine_each(self._keys, iteration)
        step, wanted = GibbsStep(0, 1), self._with_prior_statistics
        counts = step(self.batch, topics, prior, keys, workers, wanted, assignments=self._assignments)
        if iteration < self._burn_in and not self._averages_burn_in:
            return counts, False
        if self._mean is None or iteration == self._burn_in:
            self._mean = DenseCounts(len(self._words), len(prior), wanted, n_repeats=0)
        self._mean.n_repeats += 1
        self._mean.include(counts, self._words, workers)
        return self._mean, False


class VariationalIterations:
    """Iterations of mean-field inference over the documents of a batch until all converge."""

    def __init__(self, batch, keys, with_prior_statistics, *, max_iter, tol):  # keys: not used
        self.batch = batch
        self.n_iter = max_iter
        self._tol = tol
        self._gamma = None

    def run(self, iteration, topics, prior, workers):
        """See GibbsIterations.run."""
        counts = VariationalStep(1, 0.0)(self.batch, topics, prior, None, workers, gamma=self._gamma)
        self._gamma = counts.gamma
        return counts, counts.changes.max() < self._tol


def boosted_counts(method, state, batch, keys, update, workers):
    """Return the expected counts of the last iteration, or the mean over the counted Gibbs sweeps.

    method : MinibatchLDA with iterations. Each provisional update starts from the state.
    """
    words, word_prior = np.arange(batch.n_words, dtype=np.int32), state.word_prior
    entries = None if word_prior.entries is None else word_prior.entries.of_words(batch.words)
    before = present = of_words(state.words, batch.words)
    prior = state.doc_topic_prior
    iterations = method.iterations(batch, keys, method.doc_prior.is_learned)
    for iteration in range(iterations.n_iter):
        topics = probabilities(present, update.total_samples, word_prior.base, entries)
        counts, settled = iterations.run(iteration, topics.gather(words, prior, workers), prior, workers)
        if settled or iteration == iterations.n_iter - 1:
            return counts
        found = BatchCounts(counts, words, batch.total_weight, batch.total_tokens)
        present = method.entered(state, duplicate(before), found, update, workers)
        prior = method.learned_prior(state, prior, counts, update).get("doc_topic_prior", prior)
