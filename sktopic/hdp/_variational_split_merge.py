"""Splits and merges of topics: their changes of the evidence lower bound of a batch.

All formulas compare one topic with two whose tokens, weights and posteriors add up to its own. A merge gains
the result, and a split loses it.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sktopic._kernels._groups import DocumentCells
from sktopic._kernels.hdp._variational_split_merge import dirichlet_terms, list_cells, pairs_mixing
from sktopic._runtime._parallel import one_blas_thread
from sktopic.hdp._moves import LEAST_GAIN, nearest_pairs

# Smaller numbers of tokens of a topic in a document are ignored.
FEWEST_TOKENS = 1e-12
# Multiplications in one matrix product, which takes some tenths of a second.
PRODUCT_WORK = 4_000_000_000


@dataclass
class Part:
    """A topic in a batch.

    Attributes
    ----------
    weight : beta of the topic
    documents : (n_documents,) its tokens in each document
    words : (n_words,) its tokens of each word of the batch, with documents by weight
    column : (n_features,) its expected tokens of each word in the corpus
    """

    weight: float
    documents: np.ndarray
    words: np.ndarray
    column: np.ndarray

    def joined(self, other):
        return Part(
            self.weight + other.weight,
            self.documents + other.documents,
            self.words + other.words,
            self.column + other.column,
        )


@dataclass
class Cells:
    """The cells of a batch that have a topic (see _kernels.hdp._variational_split_merge.list_cells)."""

    cell: np.ndarray
    document: np.ndarray
    word: np.ndarray
    tokens: np.ndarray


@dataclass
class BatchTopics:
    """The topics of a batch after mean-field inference.

    Attributes
    ----------
    counts : VariationalCounts of the batch
    concentration, topic_word_prior : alpha and eta
    scale : number of corpus documents per document of the batch, by weight
    confidence : number of standard errors by which a gain must exceed zero
    """

    counts: object
    concentration: float
    topic_word_prior: float
    scale: float
    confidence: float

    @property
    def batch(self):
        return self.counts.batch

    @cached_property
    def tokens(self):
        """Tokens of each document and topic, (n_documents, n_topics)."""
        return self.counts.tokens

    def cells(self, k):
        counts, batch = self.counts, self.batch
        present = (self.tokens[:, k] > FEWEST_TOKENS).astype(np.int8)
        cell, document, tokens = list_cells(
            batch.indptr,
            batch.cell_word,
            batch.cell_count,
            counts.share,
            counts.expectation,
            counts.topics.rows,
            k,
            present,
        )
        return Cells(cell, document, batch.cell_word[cell], tokens)

    def posterior(self, column):
        """Return three terms of the posterior of a topic.

        These are E[log p(phi)] - E[log q(phi)], E[log phi] of the words of the batch, and the sum of E[log
        phi] over the column's tokens.
        """
        psi, n, eta = np.empty_like(column), len(column), self.topic_word_prior
        terms, total = dirichlet_terms(column, eta, psi), column.sum()
        psi_total = digamma(total + n * eta)
        bound = terms + total * psi_total - gammaln(total + n * eta) + gammaln(n * eta) - n * gammaln(eta)
        tokens = float((column * psi).sum() - total * psi_total)
        return float(bound), psi[self.batch.words] - psi_total, tokens

    def proportions_change(self, first, second):
        """Return the change of each document's bound by its proportions when two topics become one."""
        alpha = self.concentration
        change = np.zeros(self.batch.n_documents)
        some = (first.documents > 0) | (second.documents > 0)
        for sign, part in ((1, first.joined(second)), (-1, first), (-1, second)):
            prior = alpha * part.weight
            change[some] += sign * (gammaln(prior + part.documents[some]) - gammaln(prior))
        return change

    def estimate(self, change, tokens=None, total=None):
        """Estimate the sum of the documents' changes over the corpus, and its standard error.

        tokens, total : (n_documents,) values to which the changes are roughly proportional, and their sum
            over the corpus. The ratio varies less than the changes do. If None, documents, of which the
            corpus has scale times as many.
        """
        batch, n = self.batch, self.batch.total_weight
        tokens, total = (np.ones(len(change)), self.scale * n) if tokens is None else (tokens, total)
        factor = total / batch.sum(tokens)
        gain = factor * float(batch.sum(change))
        if self.scale <= 1.0:
            return gain, 0.0
        if n < 2:
            return gain, math.inf
        squares = batch.sum((change - gain / total * tokens) ** 2)
        return gain, factor * math.sqrt(n * (squares / (n - 1)) * (1.0 - 1.0 / self.scale))

    def least_gain(self, error):
        """Return the value that a gain with this standard error must exceed."""
        return LEAST_GAIN + self.confidence * error if math.isfinite(error) else math.inf

    def part(self, cells, weight, column, tokens=None):
        """Return the Part of all or given tokens of some cells."""
        batch, tokens = self.batch, cells.tokens if tokens is None else tokens
        documents = np.bincount(cells.document, weights=tokens, minlength=batch.n_documents)
        if batch.sample_weight is not None:
            tokens = tokens * batch.sample_weight[cells.document]
        words = np.bincount(cells.word, weights=tokens, minlength=batch.n_words)
        return Part(weight, documents, words, column)


@dataclass
class Split:
    """A topic divided in two.

    Attributes
    ----------
    tokens : (n_cells, 2) tokens of the parts in the topic's cells
    first, second : the parts
    gain, error : gain of the bound, and its standard error
    """

    tokens: np.ndarray
    first: Part
    second: Part
    gain: float
    error: float


@dataclass
class TopicUpdate:
    """The update of a topic by a batch.

    Attributes
    ----------
    column : (n_features,) expected tokens before the update
    weight, best_weight : beta before the update, and the best one for the batch
    rho : step size
    key : key of the random numbers for the topic
    """

    column: np.ndarray
    weight: float
    best_weight: float
    rho: float
    key: int

    @property
    def new_weight(self):
        return (1.0 - self.rho) * self.weight + self.rho * self.best_weight


@dataclass
class Topic:
    """A topic of the batch: the sums over its cells, and the terms of its posterior."""

    part: Part
    bound: float
    log_words: np.ndarray
    log_tokens: float


def topic_of(topics, k, weight, column):
    return Topic(topics.part(topics.cells(k), weight, column), *topics.posterior(column))


def merge_gain(topics, one, other, mixing):
    """Return the gain of the bound when two topics become one, if the corpus is the batch times its scale.

    Parameters
    ----------
    topics : BatchTopics
    one, other : the two topics, each a Topic
    mixing : (n_documents,) loss of the entropy of the tokens' topics

    Returns
    -------
    gain : in nats
    unseen : correction for other tokens of the topics in the corpus. Without it, a topic that the batch lacks
        would seem superfluous.
    error : standard error of both together
    """
    union = one.part.joined(other.part)
    bound, log_words, log_tokens = topics.posterior(union.column)
    words = 0.0
    for topic in (one, other):
        words += float((topic.part.words * (log_words - topic.log_words)).sum())
    change, error = topics.estimate(topics.proportions_change(one.part, other.part) - mixing)
    gain = change + topics.scale * words + bound - one.bound - other.bound
    unseen = log_tokens - one.log_tokens - other.log_tokens - topics.scale * words
    return gain, unseen, error


def documents_mixing(topics, pairs, first, last):
    """Return the loss of entropy of the tokens' topics when pairs of topics merge, (last - first, n_pairs).

    It covers documents first to last - 1.
    """
    counts, batch = topics.counts, topics.batch
    return pairs_mixing(
        cells=DocumentCells(batch.indptr, batch.cell_word, batch.cell_count),
        share=counts.share,
        expectation=counts.expectation,
        rows=counts.topics.rows,
        tokens=topics.tokens,
        fewest=FEWEST_TOKENS,
        pairs=pairs,
        first=first,
        last=last,
    )


def candidate_pairs(topics, sizes, free, due, partners):
    """Return pairs of topics by the estimated gain of their union, the most promising first, (n_pairs, 2).

    Parameters
    ----------
    topics : BatchTopics
    sizes : (n_topics,) expected tokens in the corpus
    free : (n_topics,) bool, topics that may be merged
    due : (n_topics,) bool, topics that need partners
    partners : number of pairs for each topic that is due
    """
    estimates = merge_estimates(topics, sizes)
    estimates[:, ~free] = estimates[~free] = -np.inf
    pairs = nearest_pairs(estimates, partners, np.flatnonzero(free & due).tolist())
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return pairs[np.argsort(-estimates[tuple(pairs.T)], kind="stable")]


def merge_estimates(topics, sizes):
    """Return approximate gains of the bound when two topics become one, (n_topics, n_topics).

    To separate the tokens of two topics takes h = (n + m) log(n + m) - n log n - m log m nats. A merge loses
    the part of h by which their words differ, and saves the part by which their documents agree: h (B_words -
    1 + B_documents). B = sum sqrt(p q) of two distributions is one if they are equal, and zero if they do not
    overlap.
    """
    counts, weights = topics.counts, topics.batch.sample_weight
    rows, documents = counts.topics.rows, np.sqrt(topics.tokens)
    with np.errstate(under="ignore"):  # words without topics
        words = np.sqrt(rows) * np.exp(0.5 * counts.topics.log_norm)[:, None].astype(rows.dtype)
    if weights is not None:
        documents *= np.sqrt(weights)[:, None]
    both = sizes[:, None] + sizes
    told = xlogy(both, both) - xlogy(sizes, sizes)[:, None] - xlogy(sizes, sizes)
    return told * (overlaps(words) + overlaps(documents) - 1.0)


def overlaps(x):
    """Return cosines of the columns of x; zero for columns of zeros."""
    with np.errstate(under="ignore"):  # products of tiny values
        inner = products(x).astype(np.float64)
    norms = np.sqrt(inner.diagonal())
    norms = np.outer(norms, norms)
    return np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0.0)


def products(x):
    """Return x.T @ x, symmetric to the last bit.

    Large products are computed in parts, because NumPy does not check for Ctrl-C in a matrix product.
    """
    n_rows, n_columns = x.shape
    width = max(1, PRODUCT_WORK // max(1, n_rows * n_columns))
    out = np.empty((n_columns, n_columns), dtype=x.dtype)
    for first in range(0, n_columns, width):
        columns = slice(first, first + width)
        with one_blas_thread():
            out[columns, first:] = x[:, columns].T @ x[:, first:]
    return np.triu(out) + np.triu(out, 1).T


def updated_topic(topics, cells, update):
    """Return the Topic after the update by the batch, in which it has some cells."""
    part = topics.part(cells, update.new_weight, (1.0 - update.rho) * update.column)
    part.column[topics.batch.words] += update.rho * topics.scale * part.words
    return Topic(part, *topics.posterior(part.column))


def split_of(topics, cells, whole, parts, divided, known=()):
    """Return the Split of a topic into given parts, with its gain of the bound.

    Parameters
    ----------
    topics : BatchTopics
    cells : of the topic
    whole, parts : the topic and its two parts after the update, each a Topic
    divided : tokens and mixing, as divide_cells returns them
    known : as tokens and total of BatchTopics.estimate
    """
    (tokens, mixing), (first, second) = divided, parts
    log_words = np.array([first.log_words, second.log_words])
    gains = (tokens * log_words[:, cells.word].T).sum(axis=1) - cells.tokens * whole.log_words[cells.word]
    change = mixing - topics.proportions_change(first.part, second.part)
    change += np.bincount(cells.document, weights=gains, minlength=topics.batch.n_documents)
    gain, error = topics.estimate(change, *known)
    gain += first.bound + second.bound - whole.bound
    return Split(tokens, first.part, second.part, gain, error)


def divided_columns(column, words, parts, topic_word_prior):
    """Divide tokens of all words among parts that have tokens of some words.

    A part gets a share of a token proportional to its number of tokens times the word's probability in its
    mean.

    Parameters
    ----------
    column : (n_features,) tokens to divide
    words : (n_words,) words for which the tokens of parts are known
    parts : (n_parts, n_words) tokens of the parts
    topic_word_prior : eta

    Returns
    -------
    columns : (n_parts, n_features)
    """
    totals = parts.sum(axis=1)
    rates = totals / (totals + len(column) * topic_word_prior)
    shares = np.empty((len(parts), len(column)))
    shares[:] = (rates / rates.sum())[:, None]
    found = rates[:, None] * (parts + topic_word_prior)
    shares[:, words] = found / found.sum(axis=0)
    columns = shares * column
    columns[0] = column - columns[1:].sum(axis=0)
    return columns
