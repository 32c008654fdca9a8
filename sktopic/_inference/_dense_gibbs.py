"""Gibbs sampling of documents by draws that go over all topics."""

from dataclasses import dataclass

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._kernels._dense_gibbs import PADDING, sweep_documents
from sktopic._kernels._groups import Chains, DenseSums
from sktopic._kernels._statistics import add_cell_counts
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_rows import part_of
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
        gains = self.batch.sum(self.log_theta)
        return PriorStatistics.from_gains(self.prior, gains / self.n_sweeps, *self.batch.with_words())

    def topic_weights(self, document):
        return self.counts[self.batch.cells_of(document), : len(self.prior)]

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
    n_documents, n_topics = batch.n_documents, len(prior)
    n_padded = -(-n_topics // PADDING) * PADDING
    found = DenseSums(
        np.empty((len(batch.cell_word) if by_cell else 0, n_padded), dtype=topics.rows.dtype),
        np.empty((0 if by_cell else n_documents, n_topics)),
        np.empty((n_documents if sweeps.with_log_theta else 0, n_topics)),
    )
    settings = {"rows": topics.rows, "prior": prior, "sweeps": sweeps, "team": workers.team}
    left_out, pieces = topics.left_out(), []
    for first, last in batch.chunks(workers.n_processes):
        bounds, documents = batch.clump_indptr[first : last + 1], slice(first, last)
        clumps, cells = slice(bounds[0], bounds[-1]), slice(batch.indptr[first], batch.indptr[last])
        pieces.append(
            {
                "cells": batch.cells(first, last),
                "clump_indptr": bounds,
                "chains": Chains(chains.keys[documents], chains.z[clumps]),
                "found": DenseSums(found.counts[cells], found.sums[documents], found.log_theta[documents]),
                "left_out": part_of(left_out, documents),
                **settings,
            }
        )
    if workers.share_memory:
        workers.map(_sweep, [(piece,) for piece in pieces])
        return found
    # Arrays that are empty yet are made in the other process, and not sent to it.
    sent = [({**piece, "found": [(a.shape, a.dtype) for a in piece["found"]]},) for piece in pieces]
    for piece, (z, *sums) in zip(pieces, workers.map(_sweep_elsewhere, sent)):
        piece["chains"].z[...] = z
        for array, other in zip(piece["found"], sums):
            array[...] = other
    return found


def _sweep(piece):
    """The kernel for some documents, which writes to their arrays."""
    sweep_documents(**piece)


def _sweep_elsewhere(piece):
    """The kernel for some documents, on arrays of its own, which it returns: z and sums."""
    chains = piece["chains"]._replace(z=piece["chains"].z.copy())
    found = DenseSums(*(np.empty(shape, dtype) for shape, dtype in piece["found"]))
    sweep_documents(**{**piece, "chains": chains, "found": found})
    return chains.z, *found
