"""Gibbs sampling of the topics of documents."""

from dataclasses import dataclass

import numpy as np

from sktopic._document_steps._dense_gibbs import CellCounts, DocumentSums, sweep_densely
from sktopic._document_steps._sparse_gibbs import sweep_sparsely
from sktopic._kernels._dense_gibbs import PADDING
from sktopic._kernels._rng import combine_each

# Topics up to which draws over all of them are faster than draws over those that a document has ...
DENSE_TOPICS = 192
# ... unless the counts of all cells of a batch took more bytes than this.
DENSE_BYTES = 1 << 28
# Counted sweeps up to which the counts of cells are summed in float32: sums of more (of 64 clumps a cell) are
# rounded by as much as sampling varies, and end at 2^24.
SINGLE_SWEEPS = 1024


def precise(topics, sweeps):
    """Topics, in a precision in which as many sweeps can be summed."""
    return topics if sweeps <= SINGLE_SWEEPS else topics.in_doubles()


@dataclass
class GibbsStep:
    """Gibbs sampling of each document's topics, for training.

    Attributes
    ----------
    burn_in, sweeps : sweeps discarded, then sweeps counted
    drawn : whether draws are counted, not the conditional probabilities they are made from
    """

    burn_in: int
    sweeps: int
    drawn: bool = False

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False, assignments=None):
        """assignments: (n_clumps,) int32, the topic of each clump, continued from and written to."""
        if assignments is None:
            assignments = batch.unassigned()
        topics = precise(topics, self.sweeps)
        given = batch, topics, prior, keys, assignments, self.burn_in, self.sweeps
        size = len(batch.cell_word) * (len(prior) + PADDING) * topics.rows.itemsize
        if self.drawn or len(prior) > DENSE_TOPICS or size > DENSE_BYTES:
            return sweep_sparsely(*given, self.drawn, with_prior_statistics, workers)
        swept = sweep_densely(*given, True, with_prior_statistics, workers)
        return CellCounts(batch, prior, self.sweeps, swept.counts, swept.log_theta)


@dataclass
class GibbsInference:
    """Gibbs sampling of documents of which only the proportions are wanted.

    Attributes
    ----------
    burn_in, sweeps : sweeps discarded, then sweeps counted
    """

    burn_in: int
    sweeps: int

    def __call__(self, batch, topics, prior, keys, workers):
        assignments = batch.unassigned()
        given = prior, keys, assignments, self.burn_in, self.sweeps, False, False, workers
        if len(prior) > DENSE_TOPICS:
            return sweep_sparsely(batch, precise(topics, self.sweeps), *given)
        # Sums of documents are in float64 as it is.
        return DocumentSums(prior, self.sweeps, sweep_densely(batch, topics, *given).sums)

    def by_cell(self, batch, topics, prior, keys, workers):
        """The same sweeps, with sums for each cell."""
        topics, assignments = precise(topics, self.sweeps), batch.unassigned()
        given = batch, topics, prior, keys, assignments, self.burn_in, self.sweeps
        if len(prior) > DENSE_TOPICS:
            return sweep_sparsely(*given, False, False, workers)
        swept = sweep_densely(*given, True, False, workers)
        return CellCounts(batch, prior, self.sweeps, swept.counts, swept.log_theta)

    def posteriors(self, batch, topics, prior, keys, n_draws, workers):
        """Those given the topics of tokens, before each of which are as many sweeps as `__call__` makes."""
        sweep = sweep_densely if len(prior) <= DENSE_TOPICS else sweep_sparsely
        assignments, (document, weight) = batch.unassigned(), batch.clumps()
        for i in range(n_draws):
            sweeps = self.burn_in + self.sweeps - 1, 1, False, False
            sweep(batch, topics, prior, combine_each(keys, i), assignments, *sweeps, workers)
            counts = np.bincount(document * len(prior) + assignments, weight, batch.n_documents * len(prior))
            yield prior + counts.reshape(batch.n_documents, len(prior))
