"""Document steps shared by the models: what each makes of a batch, and how it enters the statistics.

A step is called with a batch, the gathered topic rows of its words, the prior and one stream key a
document; it returns an object with

- ``add_to(target, rows, factor, totals, averaged, average_weight, workers)``: add factor times the
  expected counts of topics and words;
- ``work()``: about how many operations that takes;
- ``prior_evidence()``: what the documents say about the prior of theta, a PriorEvidence;
- ``proportions()``: the posterior mean of theta.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._documents import DocumentBatch, document_groups
from sktopic._kernels._cvb0 import collapse_documents
from sktopic._kernels._gibbs import sweep_documents
from sktopic._kernels._moment_matching import TRIANGULAR, infer_documents, list_tokens
from sktopic._kernels._ope import draw_choices, maximise_documents
from sktopic._kernels._proportions import sampled_proportions
from sktopic._kernels._statistics import add_factored_counts, add_rows, add_sampled_counts
from sktopic._kernels._table_indicators import build_tables, sweep_tables
from sktopic._kernels._variational import update_documents
from sktopic._prior import PriorEvidence
from sktopic._topic_word import N_PARTS, GatheredTopics, by_blocks, part_bounds

# Draws of a word from which on an alias table saves more than it costs, for any number of topics.
MANY_DRAWS = 300
# Numbers below this are stored with fewer digits.
SMALLEST_SHARE = np.finfo(np.float64).tiny
# Clumps below which cutting a batch finer than one chunk a worker costs more than it evens out.
SMALL_BATCH = 50_000


def chunks(batch, workers):
    """Ranges of documents (first, last) for the workers to treat side by side."""
    finer = 4 if workers.n_jobs > 1 and batch.n_clumps > SMALL_BATCH else 1
    return batch.chunks(finer * workers.n_jobs)


def _add_by_parts(kernel, workers, *arguments):
    workers.map_here(kernel, [(first, last, *arguments) for first, last in workers.ranges(N_PARTS)])


def _join(arrays):
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


@dataclass
class SampledCounts:
    """Sums over kept sweeps of the conditional probabilities of topics, or of draws (see _kernels._gibbs)."""

    batch: DocumentBatch
    topics: GatheredTopics
    prior: np.ndarray
    n_kept: int
    column_indptr: np.ndarray
    column_topic: np.ndarray
    values: np.ndarray
    fixed: np.ndarray
    log_theta: np.ndarray

    def work(self):
        return len(self.values) + self.topics.rows.size

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        value_indptr = np.zeros(self.batch.n_documents + 1, dtype=np.int64)
        np.cumsum(np.diff(self.batch.indptr) * np.diff(self.column_indptr), out=value_indptr[1:])
        _add_by_parts(
            add_sampled_counts,
            workers,
            part_bounds(self.batch.n_words),
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

    def prior_evidence(self):
        lengths = self.batch.lengths[self.batch.lengths > 0]
        gains = np.bincount(self.column_topic, weights=self.log_theta, minlength=len(self.prior))
        return PriorEvidence.from_gains(self.prior, gains / self.n_kept, lengths)

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
    """Gibbs sampling of each document's topics.

    Attributes
    ----------
    burn_in, sweeps : sweeps thrown away, then sweeps counted
    drawn : whether draws are counted, not the conditional probabilities they are made from
    """

    burn_in: int
    sweeps: int
    drawn: bool = False

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False, assignments=None):
        """assignments: (n_clumps,) int32, the topic of each clump, continued from and written to."""
        if assignments is None:
            assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
        given = topics.rows, topics.cumulative, prior
        settings = self.burn_in, self.sweeps, self.drawn, with_evidence
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
class TableCounts(SampledCounts):
    """Sums over kept sweeps of draws of topics, and of the tables that documents have for each topic."""

    tables: np.ndarray

    def prior_evidence(self):
        """The tables in the place of their expectation (see PriorEvidence.topic_gains)."""
        lengths = self.batch.lengths[self.batch.lengths > 0]
        return PriorEvidence.from_gains(self.prior, self.tables / self.n_kept / self.prior, lengths)


@dataclass
class TableStep:
    """Gibbs sampling of each document's topics and table indicators (see _kernels._table_indicators)."""

    burn_in: int
    sweeps: int
    sparse: bool

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False):
        given = topics.rows, topics.cumulative, prior
        settings = self.burn_in, self.sweeps, self.sparse, *self.alias_tables(batch, topics, prior, workers)
        pieces = [
            (*batch.cells(first, last), *given, keys[first:last], *settings)
            for first, last in chunks(batch, workers)
        ]
        parts = workers.map(sweep_tables, pieces)
        bounds = np.cumsum([0, *(len(part[1]) for part in parts)])
        column_indptr = np.concatenate([[0], *(part[0][1:] + bound for part, bound in zip(parts, bounds))])
        column_topic, values = (_join([part[i] for part in parts]) for i in (1, 2))
        none = np.zeros(len(batch.cell_word)), np.empty(0)
        tables = np.sum([part[3] for part in parts], axis=0)
        drawn = column_indptr, column_topic, values, *none
        return TableCounts(batch, topics, prior, self.sweeps, *drawn, tables)

    def alias_tables(self, batch, topics, prior, workers):
        """Tables of the words that are drawn so often that they pay for one: their numbers and parts."""
        n_words, n_topics = topics.rows.shape
        of_word = np.full(n_words, -1, dtype=np.int32)
        n_draws = (self.burn_in + self.sweeps) * np.diff(batch.word_indptr)
        words = np.flatnonzero(self.sparse & (n_draws >= MANY_DRAWS)).astype(np.int32)
        of_word[words] = np.arange(len(words))
        parts = np.empty((len(words), n_topics)), np.empty((len(words), n_topics), dtype=np.int32)
        workers.map_here(
            build_tables,
            [
                (words[a:b], topics.rows, prior, *(part[a:b] for part in parts))
                for a, b in workers.ranges(len(words))
            ],
        )
        return of_word, *parts


@dataclass
class FactoredCounts:
    """Expected counts share[cell] * expectation[document, k] * rows[word, k] of the cells."""

    batch: DocumentBatch
    topics: GatheredTopics
    expectation: np.ndarray
    share: np.ndarray

    def work(self):
        return len(self.share) * self.expectation.shape[1]

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        _add_by_parts(
            add_factored_counts,
            workers,
            part_bounds(self.batch.n_words),
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
            np.empty((N_PARTS, self.expectation.shape[1])),
        )


@dataclass
class VariationalCounts(FactoredCounts):
    """Expected counts under variational inference (see _kernels._variational).

    Attributes
    ----------
    prior, gamma : Dirichlet parameters of proportions, before and after
    rest : parameter of a topic that no word has
    """

    prior: np.ndarray
    gamma: np.ndarray
    changes: np.ndarray
    rest: float = 0.0

    def prior_evidence(self):
        present = self.batch.lengths > 0
        gamma, lengths = self.gamma[present], self.batch.lengths[present]
        gains = by_blocks(digamma, gamma).sum(axis=0) - len(gamma) * digamma(self.prior)
        return PriorEvidence.from_gains(self.prior, gains, lengths)

    def proportions(self):
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)

    def bound(self):
        """The documents' part of the evidence lower bound in nats, given exp E[log phi] as topics."""
        return float(self.bounds().sum())

    def bounds(self):
        """That of each document."""
        batch, gamma, prior = self.batch, self.gamma, self.prior
        totals = gamma.sum(axis=1) + self.rest
        log_theta = by_blocks(digamma, gamma) - digamma(totals)[:, None]
        document = batch.cell_document()
        # share is count / (expectation @ row), where expectation is exp(log theta) over its largest entry.
        tiny = self.share < SMALLEST_SHARE  # has lost its digits
        norm = np.divide(batch.cell_count, self.share, out=np.empty_like(self.share), where=~tiny)
        rows = self.topics.rows[batch.cell_word[tiny]]
        norm[tiny] = np.einsum("ij,ij->i", self.expectation[document[tiny]], rows, dtype=np.float64)
        log_evidence = np.log(norm) + self.topics.log_evidence[batch.cell_word]
        log_evidence += log_theta.max(axis=1)[document]
        words = np.bincount(document, weights=batch.cell_count * log_evidence, minlength=len(gamma))
        theta = ((prior - gamma) * log_theta + by_blocks(gammaln, gamma) - gammaln(prior)).sum(axis=1)
        return words + theta + gammaln(prior.sum() + self.rest) - gammaln(totals)


@dataclass
class VariationalStep:
    """Mean-field inference of each document until its gamma settles."""

    max_iter: int
    tol: float
    rest: float = 0.0

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False, gamma=None):
        """keys and with_evidence are not needed here; gamma (n_documents, n_components): the start."""
        if gamma is None:
            gamma = prior + batch.lengths[:, None] / len(prior)
        return self.run(batch, topics, prior, gamma, self.max_iter, workers)

    def better(self, first, second, workers):
        """For each document the one of two results that has the higher bound."""
        ahead = first.bounds() >= second.bounds()
        gamma = np.where(ahead[:, None], first.gamma, second.gamma)
        return self.run(first.batch, first.topics, first.prior, gamma, 0, workers)

    def run(self, batch, topics, prior, gamma, max_iter, workers):
        pieces = [
            (*batch.cells(first, last), topics.rows, prior, gamma[first:last], max_iter, self.tol)
            for first, last in chunks(batch, workers)
        ]
        parts = workers.map(_vary, pieces)
        gamma, expectation, share, changes = (_join([part[i] for part in parts]) for i in range(4))
        return VariationalCounts(batch, topics, expectation, share, prior, gamma, changes, self.rest)


def _vary(indptr, cell_word, cell_count, rows, prior, gamma, max_iter, tol):
    """The kernel for one chunk, on a copy of gamma."""
    gamma = np.array(gamma, order="C")
    return gamma, *update_documents(indptr, cell_word, cell_count, rows, prior, gamma, max_iter, tol)


@dataclass
class WeightedCounts(FactoredCounts):
    """Expected counts given one weight of each topic in each document, whose sums are kept apart."""

    weights: np.ndarray

    @classmethod
    def of(cls, batch, topics, parts):
        """From weights and shares of consecutive documents."""
        weights, share = (_join([part[i] for part in parts]) for i in range(2))
        return cls(batch, topics, weights.astype(topics.rows.dtype), share, weights)

    def proportions(self):
        return self.weights / self.weights.sum(axis=1, keepdims=True)


@dataclass
class OPEStep:
    """Maximum a posteriori estimation of each document's proportions (see _kernels._ope)."""

    bernoulli_p: float
    n_iter: int

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False):
        given = topics.rows, prior, self.bernoulli_p, self.n_iter
        pieces = [(batch.cells(a, b), *given, keys[a:b]) for a, b in chunks(batch, workers)]
        return WeightedCounts.of(batch, topics, workers.map(_maximise, pieces))


def _maximise(cells, rows, prior, p, n_iter, keys):
    """The kernels for one chunk."""
    start, choices = draw_choices(keys, len(prior), n_iter, p)
    return maximise_documents(*cells, rows, prior, start, choices, p)


@dataclass
class CVB0Step:
    """Collapsed variational inference of each document (see _kernels._cvb0); nothing is drawn."""

    n_passes: int
    offset: float
    decay: float

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False):
        given = topics.rows, prior, self.n_passes, self.offset, self.decay
        pieces = [(*batch.cells(a, b), *given) for a, b in chunks(batch, workers)]
        return WeightedCounts.of(batch, topics, workers.map(collapse_documents, pieces))


@dataclass
class FilteredProportions:
    """Topic proportions that a filter arrived at; alpha (n_documents, size): their Dirichlet parameters."""

    theta: np.ndarray
    alpha: np.ndarray

    def proportions(self):
        return self.theta


@dataclass
class MomentMatchingStep:
    """Bayesian moment matching with topics held fixed (see _kernels._moment_matching).

    Attributes
    ----------
    model : FIXED, DEGENERATE or TRIANGULAR
    sum_match : whether second moments are matched in sum
    shuffled : whether tokens come in random order, not in that of the words
    gamma : (n_components,) the probability of each number of topics; not FIXED
    """

    model: int
    sum_match: bool
    shuffled: bool
    gamma: np.ndarray

    def start(self, prior):
        """The parameters of the proportions of a document without tokens: those of each number of topics."""
        if self.model != TRIANGULAR:
            return prior
        return np.concatenate([prior[: k + 1] for k in range(len(prior))])

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False):
        """with_evidence: keep the parameters of all documents."""
        start, settings = self.start(prior), (self.model, self.sum_match, self.gamma, with_evidence)
        pieces = [
            (batch.cells(a, b), topics.rows, start, keys[a:b] if self.shuffled else keys[:0], *settings)
            for a, b in chunks(batch, workers)
        ]
        parts = workers.map(_filter, pieces)
        return FilteredProportions(*(_join([part[i] for part in parts]) for i in range(2)))


def _filter(cells, rows, start, keys, model, sum_match, gamma, with_alpha):
    """The kernels for one chunk."""
    n_documents = len(cells[0]) - 1
    document, word, weight = list_tokens(*cells, keys)
    indptr = np.searchsorted(document, np.arange(n_documents + 1)).astype(np.int64)
    alpha = np.empty((n_documents if with_alpha else 1, len(start)))
    return infer_documents(model, sum_match, indptr, word, weight, rows, gamma, start, alpha), alpha


class DenseCounts:
    """Expected counts of a batch summed into one array: over groups of its documents, or over repeats.

    Parameters
    ----------
    n_features, n_components : shape of the array
    with_evidence : whether prior_evidence will be asked for
    n_repeats : how often each document is included; results are divided by it

    Attributes
    ----------
    counts : ndarray of shape (n_features, n_components), the sums
    totals : ndarray of shape (N_PARTS, n_components), whose rows add up to those of the columns
    """

    def __init__(self, n_features, n_components, with_evidence, n_repeats=1):
        self.n_repeats = n_repeats
        self.counts = np.zeros((n_features, n_components))
        self.totals = np.zeros((N_PARTS, n_components))
        self._with_evidence = with_evidence
        self._evidence = PriorEvidence.none(n_components)

    def include(self, counts, words, workers):
        """Take in the counts of some documents whose local words are these rows of the array."""
        none = np.empty((0, self.counts.shape[1]))
        counts.add_to(self.counts, words, 1.0, self.totals, none, none[:, 0], workers)
        if self._with_evidence:
            self._evidence = self._evidence.plus(counts.prior_evidence())

    def work(self):
        return 2 * self.counts.size

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        factor = factor / self.n_repeats
        totals += self.totals * factor
        ranges = workers.ranges(len(self.counts))
        settings = self.counts, factor, rows, target, averaged, average_weight
        workers.map_here(add_rows, [(*piece, *settings) for piece in ranges])

    def prior_evidence(self):
        return self._evidence  # sums whose ratios matter: repeats need no division


def infer_proportions(counts, topics, prior, step, key, workers, dtype=np.float64):
    """theta of canonical counts, ndarray of shape (n_documents, n_components).

    Each document is treated by the step with the topics (TopicProbabilities) and prior held fixed; its
    stream is named by the key and its own content, so other rows leave no trace.
    """
    theta = np.empty((counts.shape[0], len(prior)), dtype=dtype)
    for first, last, batch in document_groups(counts):
        gathered = topics.gather(batch.words, prior, workers)
        theta[first:last] = step(batch, gathered, prior, batch.content_keys(key), workers).proportions()
        if not np.isfinite(theta[first:last]).all():
            raise ValueError("the fitted state gives proportions that are not finite; call fit.")
    return theta
