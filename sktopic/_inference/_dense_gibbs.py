"""Gibbs sampling of documents by draws that go over all topics."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._kernels._dense_gibbs import PADDING, sweep_documents
from sktopic._kernels._statistics import add_cell_counts
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._word_counts import part_bounds


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
            part_bounds=part_bounds(self.batch.n_words),
            word_indptr=self.batch.word_indptr,
            word_cell=self.batch.word_cell,
            counts=self.counts,
            cell_weight=self.batch.cell_weight(),
            factor=factor / self.n_sweeps,
            target_row=words,
            target=target.store,
            totals=target.totals,
            averaged=target.averaged,
            average_weight=target.average_weight,
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


class Swept(NamedTuple):
    """What the kernel writes to: assignments, and what it sums."""

    assignments: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    log_theta: np.ndarray


def sweep_densely(batch, topics, prior, keys, assignments, burn_in, sweeps, by_cell, with_log_theta, workers):
    """Swept of all documents: counts (by_cell) or sums, and log_theta (n_documents or 0, n_topics)."""
    settings = {
        "rows": topics.rows,
        "prior": prior,
        **topics.own_settings(),
        "n_burn_in": burn_in,
        "n_sweeps": sweeps,
        "team": workers.team,
    }
    n_documents, n_topics = batch.n_documents, len(prior)
    n_padded = -(-n_topics // PADDING) * PADDING
    swept = Swept(
        assignments,
        np.empty((len(batch.cell_word) if by_cell else 0, n_padded), dtype=topics.rows.dtype),
        np.empty((0 if by_cell else n_documents, n_topics)),
        np.empty((n_documents if with_log_theta else 0, n_topics)),
    )
    pieces = []
    for first, last in batch.chunks(workers.n_processes):
        bounds, documents = batch.clump_indptr[first : last + 1], slice(first, last)
        clumps, cells = slice(bounds[0], bounds[-1]), slice(batch.indptr[first], batch.indptr[last])
        piece = Swept(
            assignments[clumps], swept.counts[cells], swept.sums[documents], swept.log_theta[documents]
        )
        own = topics.own_of(documents)
        pieces.append((batch.cells(first, last), bounds, keys[documents], own, piece, settings))
    if workers.share_memory:
        workers.map(_sweep, pieces)
        return swept
    # Arrays that are empty yet are made in the other process, and not sent to it.
    sent = [(*given, [(a.shape, a.dtype) for a in piece[1:]], piece[0], x) for *given, piece, x in pieces]
    for (*_, piece, _), result in zip(pieces, workers.map(_sweep_elsewhere, sent)):
        for array, other in zip(piece, result):
            array[...] = other
    return swept


def _sweep_elsewhere(cells, clump_indptr, keys, own, empty, assignments, settings):
    """The kernel for some documents, on arrays of its own, which it returns."""
    piece = Swept(assignments.copy(), *(np.empty(shape, dtype) for shape, dtype in empty))
    _sweep(cells, clump_indptr, keys, own, piece, settings)
    return piece


def _sweep(cells, clump_indptr, keys, own, piece, settings):
    """The kernel for some documents, which writes to the arrays of a piece."""
    sweep_documents(
        *cells,
        clump_indptr=clump_indptr,
        keys=keys,
        own=own,
        z=piece.assignments,
        counts=piece.counts,
        sums=piece.sums,
        log_theta=piece.log_theta,
        **settings,
    )
