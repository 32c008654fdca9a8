"""Document steps shared by the models: what each makes of a batch, and how it enters the statistics.

A step is called with a batch, the gathered topic rows of its words, the prior and one stream key a
document; it returns an object with

- ``add_to(target, rows, factor, totals, averaged, average_weight, workers)``: add factor times the
  expected counts of topics and words;
- ``log_theta_sum()``: the sum of E[log theta] over documents with words, and their number;
- ``proportions()``: the posterior mean of theta.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sktopic._documents import DocumentBatch, document_groups
from sktopic._kernels._gibbs import sweep_documents
from sktopic._kernels._proportions import sampled_proportions
from sktopic._kernels._statistics import add_rows, add_sampled_counts, add_variational_counts
from sktopic._kernels._variational import update_documents
from sktopic._topic_word import N_PARTS, GatheredTopics

# Clumps below which cutting a batch finer than one chunk a worker costs more than it evens out.
SMALL_BATCH = 50_000


def chunks(batch, workers):
    """Ranges of documents (first, last) for the workers to treat side by side."""
    finer = 4 if workers.n_jobs > 1 and batch.n_clumps > SMALL_BATCH else 1
    return batch.chunks(finer * workers.n_jobs)


def _part_bounds(n_words):
    return np.arange(N_PARTS + 1, dtype=np.int64) * n_words // N_PARTS


def _add_by_parts(kernel, workers, *arguments):
    workers.map_here(kernel, [(first, last, *arguments) for first, last in workers.ranges(N_PARTS)])


def _join(arrays):
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


@dataclass
class SampledCounts:
    """Sums over kept sweeps of the conditional probabilities of topics (see _kernels._gibbs)."""

    batch: DocumentBatch
    topics: GatheredTopics
    prior: np.ndarray
    n_kept: int
    column_indptr: np.ndarray
    column_topic: np.ndarray
    values: np.ndarray
    fixed: np.ndarray
    log_theta: np.ndarray

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        value_indptr = np.zeros(self.batch.n_documents + 1, dtype=np.int64)
        np.cumsum(np.diff(self.batch.indptr) * np.diff(self.column_indptr), out=value_indptr[1:])
        _add_by_parts(
            add_sampled_counts,
            workers,
            _part_bounds(self.batch.n_words),
            self.batch.word_indptr,
            self.batch.word_cell,
            self.batch.cell_document(),
            self.batch.indptr,
            self.column_indptr,
            self.column_topic,
            value_indptr,
            self.values,
            self.fixed,
            self.topics.rows,
            self.prior,
            factor / self.n_kept,
            rows,
            target,
            totals,
            averaged,
            average_weight,
        )

    def log_theta_sum(self):
        lengths = self.batch.lengths[self.batch.lengths > 0]
        present = np.bincount(self.column_topic, weights=self.log_theta, minlength=len(self.prior))
        absent = len(lengths) * digamma(self.prior) - digamma(self.prior.sum() + lengths).sum()
        return absent + present / self.n_kept, len(lengths)

    def proportions(self):
        return sampled_proportions(
            self.batch.indptr,
            self.batch.cell_word,
            self.column_indptr,
            self.column_topic,
            self.values,
            self.fixed,
            self.topics.rows,
            self.prior,
            self.n_kept,
        )


@dataclass
class GibbsStep:
    """Gibbs sampling of each document's topics; the first burn_in sweeps are not counted."""

    burn_in: int
    sweeps: int

    def __call__(self, batch, topics, prior, keys, workers, with_log_theta=False, assignments=None):
        """assignments: (n_clumps,) int32, the topic of each clump, continued from and written to."""
        if assignments is None:
            assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
        given = topics.rows, topics.cumulative, prior
        settings = self.burn_in, self.sweeps, with_log_theta
        pieces = []
        for first, last in chunks(batch, workers):
            clumps = slice(batch.clump_indptr[first], batch.clump_indptr[last])
            pieces.append((batch.cells(first, last), given, keys[first:last], assignments[clumps], settings))
        parts = workers.map(_sweep, pieces)
        assignments[:] = np.concatenate([part[0] for part in parts])
        bounds = np.cumsum([0, *(len(part[2]) for part in parts)])
        column_indptr = np.concatenate([[0], *(part[1][1:] + bound for part, bound in zip(parts, bounds))])
        joined = (_join([part[i] for part in parts]) for i in range(2, 6))
        return SampledCounts(batch, topics, prior, self.sweeps, column_indptr, *joined)


def _sweep(cells, given, keys, assignments, settings):
    """The kernel for one chunk; returns new assignments, since another process cannot write ours."""
    assignments = assignments.copy()
    return assignments, *sweep_documents(*cells, *given, keys, assignments, *settings)


@dataclass
class VariationalCounts:
    """Factors of the expected counts under variational inference (see _kernels._variational)."""

    batch: DocumentBatch
    topics: GatheredTopics
    gamma: np.ndarray
    expectation: np.ndarray
    share: np.ndarray
    changes: np.ndarray

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        _add_by_parts(
            add_variational_counts,
            workers,
            _part_bounds(self.batch.n_words),
            self.batch.word_indptr,
            self.batch.word_cell,
            self.batch.cell_document(),
            self.expectation,
            self.share,
            self.topics.rows,
            factor,
            rows,
            target,
            totals,
            averaged,
            average_weight,
            np.empty((N_PARTS, self.gamma.shape[1])),
        )

    def log_theta_sum(self):
        gamma = self.gamma[self.batch.lengths > 0]
        return digamma(gamma).sum(axis=0) - digamma(gamma.sum(axis=1)).sum(), len(gamma)

    def proportions(self):
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)


@dataclass
class VariationalStep:
    """Mean-field inference of each document until its gamma settles."""

    max_iter: int
    tol: float

    def __call__(self, batch, topics, prior, keys, workers, with_log_theta=False, gamma=None):
        """keys and with_log_theta are not needed here; gamma (n_documents, n_components): the start."""
        if gamma is None:
            gamma = prior + batch.lengths[:, None] / len(prior)
        pieces = [
            (*batch.cells(first, last), topics.rows, prior, gamma[first:last], self.max_iter, self.tol)
            for first, last in chunks(batch, workers)
        ]
        parts = workers.map(_vary, pieces)
        gamma, *joined = (_join([part[i] for part in parts]) for i in range(4))
        return VariationalCounts(batch, topics, gamma, *joined)


def _vary(indptr, cell_word, cell_count, rows, prior, gamma, max_iter, tol):
    """The kernel for one chunk, on a copy of gamma."""
    gamma = np.array(gamma)
    return gamma, *update_documents(indptr, cell_word, cell_count, rows, prior, gamma, max_iter, tol)


class DenseCounts:
    """Expected counts of a batch summed into one array: over groups of its documents, or over repeats.

    Parameters
    ----------
    n_features, n_components : shape of the array
    with_log_theta : whether log_theta_sum will be asked for
    n_repeats : how often each document is included; results are divided by it
    """

    def __init__(self, n_features, n_components, with_log_theta, n_repeats=1):
        self.n_repeats = n_repeats
        self._counts = np.zeros((n_features, n_components))
        self._totals = np.zeros((N_PARTS, n_components))
        self._with_log_theta = with_log_theta
        self._log_theta = np.zeros(n_components)
        self._n_documents = 0

    def include(self, counts, words, workers):
        """Take in the counts of some documents whose local words are these rows of the array."""
        none = np.empty((0, self._counts.shape[1]))
        counts.add_to(self._counts, words, 1.0, self._totals, none, none[:, 0], workers)
        if self._with_log_theta:
            log_theta, n_documents = counts.log_theta_sum()
            self._log_theta += log_theta
            self._n_documents += n_documents

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        factor = factor / self.n_repeats
        totals += self._totals * factor
        ranges = workers.ranges(len(self._counts))
        settings = self._counts, factor, rows, target, averaged, average_weight
        workers.map_here(add_rows, [(*piece, *settings) for piece in ranges])

    def log_theta_sum(self):
        return self._log_theta / self.n_repeats, self._n_documents // self.n_repeats


def infer_proportions(counts, topics, prior, step, key, workers, dtype=np.float64):
    """theta of canonical counts, ndarray of shape (n_documents, n_components).

    Each document is treated by the step with the topics (TopicProbabilities) and prior held fixed; its
    stream is named by the key and its own content, so other rows leave no trace.
    """
    theta = np.empty((counts.shape[0], len(prior)), dtype=dtype)
    for first, last, batch in document_groups(counts):
        gathered = topics.gather(batch.words, prior, workers)
        theta[first:last] = step(batch, gathered, prior, batch.content_keys(key), workers).proportions()
    return theta
