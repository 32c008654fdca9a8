"""Gibbs sampling of documents by draws that go over all topics."""

from dataclasses import dataclass

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference._pieces import joined, sweep
from sktopic._kernels._groups import DenseSums
from sktopic._kernels.inference._dense_gibbs import PADDING, sweep_documents
from sktopic._kernels.topics._statistics import add_cell_counts
from sktopic._topics._covariate_statistics import CovariateStatistics
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._word_counts import word_cells


@dataclass
class CellCounts:
    """Sums over sweeps of the conditional probabilities of all topics, for each cell.

    Attributes
    ----------
    counts : (n_cells, at least n_components) the sums
    log_theta : (n_documents, n_components) sums of psi(alpha_k + n_k) - psi(alpha_k), if they were asked for
    """

    batch: DocumentBatch
    prior: np.ndarray
    n_sweeps: int
    counts: np.ndarray
    log_theta: np.ndarray

    def work(self):
        return self.counts.size

    def add_to(self, target, words, factor, workers):
        add_cell_counts(
            words=word_cells(self.batch, words),
            counts=self.counts,
            factor=factor / self.n_sweeps,
            target=target,
            team=workers.team,
        )

    def prior_statistics(self):
        if self.batch.covariates is not None:
            return CovariateStatistics.of(self.batch, self.prior, self.log_theta / self.n_sweeps)
        gains = self.batch.sum(self.log_theta)
        return PriorStatistics.from_gains(self.prior, gains / self.n_sweeps, *self.batch.with_words())

    def topic_weights(self, document):
        return self.counts[self.batch.cells_of(document), : self.prior.shape[-1]]

    def drawn_topics(self):
        """Topics that tokens were drawn to in the counted sweeps, if log_theta was asked for."""
        return np.flatnonzero((self.log_theta > 0.0).any(axis=0))


@dataclass
class DocumentSums:
    """Sums over sweeps of the conditional probabilities of all topics, for each document."""

    prior: np.ndarray
    n_sweeps: int
    sums: np.ndarray

    def proportions(self):
        theta = self.sums / self.n_sweeps
        theta += self.prior
        theta /= theta.sum(axis=1, keepdims=True)
        return theta


def sweep_densely(batch, topics, prior, chains, sweeps, workers, *, by_cell=False):
    """DenseSums of all documents; writes to z of the chains.

    by_cell : whether cells have sums, the counts, instead of documents
    """
    found = sweep(_sweep, batch, topics, chains, workers, prior=prior, sweeps=sweeps, by_cell=by_cell)
    return DenseSums(*map(joined, zip(*found)))


def _sweep(cells, rows, sweeps, by_cell, **arguments):
    """DenseSums of some documents."""
    n_documents, n_topics = len(cells.indptr) - 1, rows.shape[1]
    n_padded = -(-n_topics // PADDING) * PADDING
    found = DenseSums(
        np.empty((len(cells.cell_word) if by_cell else 0, n_padded), dtype=rows.dtype),
        np.empty((0 if by_cell else n_documents, n_topics)),
        np.empty((n_documents if sweeps.with_log_theta else 0, n_topics)),
    )
    sweep_documents(cells=cells, rows=rows, sweeps=sweeps, found=found, **arguments)
    return found
