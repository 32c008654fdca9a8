"""Stick-breaking processes: the posterior of a corpus, and mean-field inference of documents."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference._pieces import joined_results
from sktopic._inference._protocol import CellwiseStep
from sktopic._kernels.hdp._variational import (
    add_atom_counts,
    gather_log_topics,
    start_documents,
    update_documents,
)
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_rows import GeometricTopics, check_finite
from sktopic._topics._word_counts import N_PARTS, word_cells

# Iterations of LDA's mean-field inference that choose the initial topics of a document's atoms.
START_ITERATIONS = 10
# Share of the prior that is added, so that proportions exist if topics in use have no tokens.
TRACE = 1e-200


def sticks_bound(taken, left, concentration):
    """Return E[log p(v)] - E[log q(v)] of sticks with the prior Beta(1, concentration)."""
    total = digamma(taken + left)
    gains = (1.0 - taken) * (digamma(taken) - total) + (concentration - left) * (digamma(left) - total)
    return float((gains + betaln(taken, left) - betaln(1.0, concentration)).sum())


@dataclass
class CorpusSticks:
    """Beta posteriors of the sticks of a corpus.

    Attributes
    ----------
    topics : (n_topics,) topic of each stick, those with most atoms first, and of the rest after the sticks
    taken, left : (n_topics - 1,) Beta parameters
    """

    topics: np.ndarray
    taken: np.ndarray
    left: np.ndarray

    @classmethod
    def of(cls, atoms, n_documents, concentration):
        """Return the sticks for the mean number of atoms of each topic in a document."""
        topics = np.argsort(-atoms, kind="stable")
        atoms = n_documents * atoms[topics]
        after = np.cumsum(atoms[::-1])[::-1]
        return cls(topics, 1.0 + atoms[:-1], concentration + after[1:])

    def weights(self):
        """E[sigma] of each topic."""
        share = self.taken / (self.taken + self.left)
        return self._by_topic(np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)]))

    def log_weights(self):
        """E[log sigma] of each topic."""
        total = digamma(self.taken + self.left)
        log_left = np.cumsum(digamma(self.left) - total)
        log_share = np.append(digamma(self.taken) - total, 0.0)
        return self._by_topic(log_share + np.concatenate([[0.0], log_left]))

    def _by_topic(self, values):
        out = np.empty(len(values))
        out[self.topics] = values
        return out


class LogTopics(NamedTuple):
    """Topic rows of some words (see _kernels.hdp._variational.gather_log_topics), and the topics' weights.

    Attributes
    ----------
    log_rows, rows : (n_words, n_topics) E[log phi], and its exponential divided by the largest of each word
    log_weights, weights : (n_topics,) E[log sigma] and E[sigma]
    lowest : lower bound of log_rows
    """

    log_rows: np.ndarray
    rows: np.ndarray
    log_weights: np.ndarray
    weights: np.ndarray
    lowest: float


@dataclass
class CorpusPosterior:
    """The posterior of topics and sticks of the corpus, for the inference of documents."""

    topics: GeometricTopics
    sticks: CorpusSticks

    @property
    def store(self):
        return self.topics.store

    def gather(self, words, prior, workers):
        """Return LogTopics of the words. The prior of proportions is not used."""
        store, norm = self.topics.store, self.topics.norm
        if len(words) and words.max() >= len(store):
            # Kernels do not check their input.
            raise ValueError(f"topics of shape {store.shape} do not fit the documents.")
        weight, offset = float(self.topics.scale[0]), float(self.topics.offset[0])
        shape = len(words), store.shape[1]
        log_rows, rows = np.empty(shape), np.empty(shape, dtype=np.float32)
        pieces = [
            (store, words[a:b], weight, offset, norm, log_rows[a:b], rows[a:b])
            for a, b in workers.ranges(shape[0])
        ]
        workers.map_here(gather_log_topics, pieces)
        check_finite(log_rows.max(initial=-np.inf) < np.inf)
        lowest = float(digamma(offset) - norm.max())
        return LogTopics(log_rows, rows, self.sticks.log_weights(), self.sticks.weights(), lowest)


@dataclass
class AtomCounts:
    """Results of the inference of documents (see _kernels.hdp._variational.update_documents)."""

    batch: DocumentBatch
    prior: np.ndarray
    used: np.ndarray
    zeta: np.ndarray
    varphi: np.ndarray
    sticks: np.ndarray
    theta: np.ndarray
    bounds: np.ndarray
    n_iter: np.ndarray

    def work(self):
        return 2 * len(self.zeta) * self.varphi.shape[2]

    def add_to(self, target, words, factor, workers):
        """Add to target, which must have no average: topics are not averaged over updates."""
        batch = self.batch
        add = partial(
            add_atom_counts,
            words=word_cells(batch, words)._replace(cell_weight=batch.weighted_counts()),
            cell_document=batch.cell_document(),
            zeta=self.zeta,
            varphi=self.varphi,
            factor=factor,
            target=target,
        )
        workers.map_here(add, workers.ranges(N_PARTS))

    def prior_statistics(self):
        """Return the expected number of atoms of each topic as topic_gains (numbers of tables)."""
        weights = self.batch.sample_weight
        by_document = self.varphi if weights is None else self.varphi * weights[:, None, None]
        atoms = by_document.sum(axis=(0, 1))
        n_documents = self.batch.sum((self.batch.lengths > 0).astype(np.float64))
        return PriorStatistics(np.zeros_like(atoms), atoms, 0.0, n_documents)

    def proportions(self):
        """Return proportions over the topics in use; documents without words have the prior mean."""
        theta = np.maximum(np.take(self.theta, self.used, axis=1), 0.0) + TRACE * self.prior
        return theta / theta.sum(axis=1, keepdims=True)

    def topic_weights(self, document):
        """Return topic weights over the topics in use."""
        atoms = np.take(self.varphi[document], self.used, axis=1)
        with np.errstate(under="ignore"):  # TRACE of the prior exceeds values that underflow
            return self.zeta[self.batch.cells_of(document)] @ atoms + TRACE * self.prior


@dataclass
class AtomStep(CellwiseStep):
    """Mean-field inference of each document, with atoms that stand for topics.

    Attributes
    ----------
    used : topics of the proportions
    n_atoms, concentration : of the documents' stick-breaking processes
    max_iter, tol : limits of the coordinate ascent
    """

    used: np.ndarray
    n_atoms: int
    concentration: float
    max_iter: int
    tol: float

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False):
        """Infer documents. keys and with_prior_statistics are unused; proportions use prior."""
        start = {"rows": topics.rows, "prior": self.concentration * topics.weights, "n_atoms": self.n_atoms}
        ascent = {
            "log_rows": topics.log_rows,
            "log_weights": topics.log_weights,
            "lowest": topics.lowest,
            "concentration": self.concentration,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }
        infer = partial(_infer, start=start, ascent=ascent)
        return AtomCounts(batch, prior, self.used, *joined_results(infer, batch, workers))


def _infer(cells, start, ascent):
    """Run the kernels for some documents."""
    zeta = start_documents(*cells, n_iter=START_ITERATIONS, **start)
    return zeta, *update_documents(*cells, zeta=zeta, **ascent)
