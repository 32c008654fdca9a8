"""Expected counts summed into one array."""

from functools import partial

import numpy as np

from sktopic._kernels._groups import CountsTarget
from sktopic._kernels.topics._statistics import add_rows
from sktopic._topics._word_counts import N_PARTS, no_average


class DenseCounts:
    """Expected counts of a batch summed into one array: over groups of its documents, or over repeats.

    Parameters
    ----------
    n_features, n_components : shape of the array
    with_prior_statistics : whether prior_statistics will be asked for
    n_repeats : how often each document is included; results are divided by it

    Attributes
    ----------
    counts : ndarray of shape (n_features, n_components), the sums
    totals : ndarray of shape (N_PARTS, n_components), whose rows add up to those of the columns
    """

    def __init__(self, n_features, n_components, with_prior_statistics, n_repeats=1):
        self.n_repeats = n_repeats
        self.counts = np.zeros((n_features, n_components))
        self.totals = np.zeros((N_PARTS, n_components))
        self._with_prior_statistics = with_prior_statistics
        self._prior_statistics = None

    @classmethod
    def of_sums(cls, sums, n_repeats):
        """From sums over repeats, ndarray of shape (n_features, n_components)."""
        counts = cls(0, sums.shape[1], False, n_repeats)
        counts.counts, counts.totals[0] = sums, sums.sum(axis=0)
        return counts

    def include(self, counts, words, workers):
        """Take in the counts of some documents whose local words are these rows of the array."""
        target = CountsTarget(self.counts, self.totals, *no_average(self.counts.shape[1]))
        counts.add_to(target, words, 1.0, workers)
        if self._with_prior_statistics:
            found, before = counts.prior_statistics(), self._prior_statistics
            self._prior_statistics = found if before is None else before.plus(found)

    def work(self):
        return 2 * self.counts.size

    def add_to(self, target, words, factor, workers):
        factor = factor / self.n_repeats
        target.totals[:] += self.totals * factor
        add = partial(
            add_rows,
            source=self.counts,
            factor=factor,
            target_row=words,
            target=target.store,
            averaged=target.averaged,
            average_weight=target.average_weight,
        )
        workers.map_here(add, workers.ranges(len(self.counts)))

    def prior_statistics(self):
        return self._prior_statistics  # sums whose ratios matter: repeats need no division
