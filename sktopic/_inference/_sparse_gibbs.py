"""Gibbs sampling of documents by draws that go over the topics a document has."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference._pieces import joined, sweep
from sktopic._kernels._groups import SparseSums
from sktopic._kernels.inference._proportions import sampled_proportions
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from sktopic._kernels.topics._statistics import add_sampled_counts
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_rows import GatheredTopics
from sktopic._topics._word_counts import word_cells


@dataclass
class SampledCounts:
    """Sums over sweeps of the conditional probabilities of topics, or of draws (see its kernel)."""

    batch: DocumentBatch
    topics: GatheredTopics
    prior: np.ndarray
    n_sweeps: int
    sums: SparseSums

    def work(self):
        return len(self.sums.values) + self.topics.size

    def add_to(self, target, words, factor, workers):
        add_sampled_counts(
            words=word_cells(self.batch, words),
            indptr=self.batch.indptr,
            sums=self.sums,
            rows=self.topics.dense_rows(),
            prior=self.prior,
            factor=factor / self.n_sweeps,
            target=target,
            team=workers.team,
        )

    def prior_statistics(self):
        sums, log_theta, weights = self.sums, self.sums.log_theta, self.batch.sample_weight
        if weights is not None:
            log_theta = log_theta * np.repeat(weights, np.diff(sums.column_indptr))
        gains = np.bincount(sums.column_topic, weights=log_theta, minlength=len(self.prior))
        return PriorStatistics.from_gains(self.prior, gains / self.n_sweeps, *self.batch.with_words())

    def drawn_topics(self):
        """Topics that tokens were in during the counted sweeps, ascending."""
        return np.unique(self.sums.column_topic)

    @cached_property
    def _value_indptr(self):
        """Bounds of each document's values."""
        sizes = np.diff(self.batch.indptr) * np.diff(self.sums.column_indptr)
        return np.concatenate([[0], np.cumsum(sizes)])

    def topic_weights(self, document):
        cells, sums = self.batch.cells_of(document), self.sums
        weights = self.topics.rows_of(self.batch.cell_word[cells]) * self.prior
        weights *= sums.fixed[cells, None]
        columns = sums.column_topic[slice(*sums.column_indptr[document : document + 2])]
        values = sums.values[slice(*self._value_indptr[document : document + 2])]
        weights[:, columns] += values.reshape(len(weights), len(columns))
        return weights

    def proportions(self):
        return sampled_proportions(
            indptr=self.batch.indptr,
            cell_word=self.batch.cell_word,
            column_indptr=self.sums.column_indptr,
            column_topic=self.sums.column_topic,
            values=self.sums.values,
            fixed=self.sums.fixed,
            rows=self.topics.rows,
            prior=self.prior,
            n_sweeps=self.n_sweeps,
            lists=self.topics.lists,
        )


def sweep_sparsely(batch, topics, prior, chains, sweeps, workers):
    """SampledCounts by draws that go over the topics a document has; writes to z of the chains."""
    settings = {"cumulative": topics.cumulative, "lists": topics.lists, "prior": prior, "sweeps": sweeps}
    found = sweep(_sweep, batch, topics, chains, workers, **settings)
    indptr, *sums = zip(*found)
    sums = SparseSums(joined_indptr(indptr), *map(joined, sums))
    return SampledCounts(batch, topics, prior, sweeps.n_sweeps, sums)


def _sweep(clump_indptr, **arguments):
    """The kernel for some documents; it finds where clumps are by itself."""
    return sweep_documents(**arguments)


def joined_indptr(bounds):
    """Bounds of each document's columns, given those of consecutive documents, which all begin at 0."""
    if len(bounds) == 1:
        return bounds[0]
    first = np.cumsum([0, *(each[-1] for each in bounds)])
    return np.concatenate([[0], *(each[1:] + start for each, start in zip(bounds, first))])
