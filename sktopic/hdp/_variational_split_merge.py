"""Splits and merges of topics, by what they change in the evidence lower bound of a batch.

All formulas are those of one topic against two whose tokens, weights and posteriors add up to its own: a
merge gains what they say, a split loses it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._kernels._variational_split_merge import dirichlet_terms, divide_cells, list_cells, pair_mixing
from sktopic._sample_weight import weighted_sum

# Tokens of a topic in a document below which there is nothing to look at.
FEWEST_TOKENS = 1e-12
# Coordinate ascent over the two halves of a topic.
DIVIDE_ITERATIONS = 20
DIVIDE_TOL = 1e-3
# ... and updates of the halves' topics by it.
ROUNDS = 5
# Standard errors by which a gain has to be above zero.
CONFIDENCE = 2.0
# ... and nats, which rounding does not make.
LEAST_GAIN = 1e-3
# Topics that a batch tries to split, and pairs that it tries to merge.
TRIED = 30
# Multiplications of one product of matrices: some tenths of a second.
PRODUCT_WORK = 4_000_000_000
# Topics that workers divide at a time; those behind the last that is accepted are divided in vain.
SIDE_BY_SIDE = 6
WEIGHT_ITERATIONS, WEIGHT_TOL = 10, 1e-4
SMALLEST_SHARE = 1e-10


@dataclass
class Part:
    """A topic in a batch.

    Attributes
    ----------
    weight : beta of the topic
    documents : (n_documents,) its tokens in each document
    words : (n_words,) its tokens of each word of the batch, each document as often as its weight says
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
    """The cells of a batch that have a topic (see _kernels._variational_split_merge.list_cells)."""

    cell: np.ndarray
    document: np.ndarray
    word: np.ndarray
    tokens: np.ndarray

    def sums(self, tokens, batch):
        """Sums of tokens by document, and by word of the batch with the documents' weights."""
        by_document = np.bincount(self.document, weights=tokens, minlength=batch.n_documents)
        if batch.sample_weight is not None:
            tokens = tokens * batch.sample_weight[self.document]
        return by_document, np.bincount(self.word, weights=tokens, minlength=batch.n_words)


@dataclass
class BatchTopics:
    """The topics of a batch as mean-field inference has left them.

    Attributes
    ----------
    counts : VariationalCounts of the batch
    concentration, topic_word_prior : alpha and eta
    scale : documents of the corpus for each of the batch, both by weight
    """

    counts: object
    concentration: float
    topic_word_prior: float
    scale: float

    @property
    def batch(self):
        return self.counts.batch

    @cached_property
    def tokens(self):
        """Of each document and topic, (n_documents, n_topics)."""
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

    @cached_property
    def proportions(self):
        """E[pi] of each document."""
        lengths = self.batch.lengths[:, None]
        return (self.tokens + self.counts.prior) / (self.concentration + lengths)

    def posterior(self, column):
        """E[log p(phi)] - E[log q(phi)] of a topic, E[log phi] of the words of the batch, and the sum of that
        over the column's tokens."""
        psi, n, eta = np.empty_like(column), len(column), self.topic_word_prior
        terms, total = dirichlet_terms(column, eta, psi), column.sum()
        psi_total = digamma(total + n * eta)
        bound = terms + total * psi_total - gammaln(total + n * eta) + gammaln(n * eta) - n * gammaln(eta)
        tokens = float(column @ psi - total * psi_total)
        return float(bound), psi[self.batch.words] - psi_total, tokens

    def proportions_change(self, first, second):
        """What each document's part of the bound gains by its proportions when two topics become one."""
        alpha = self.concentration
        change = np.zeros(self.batch.n_documents)
        some = (first.documents > 0) | (second.documents > 0)
        for sign, part in ((1, first.joined(second)), (-1, first), (-1, second)):
            prior = alpha * part.weight
            change[some] += sign * (gammaln(prior + part.documents[some]) - gammaln(prior))
        return change

    def error(self, change):
        """Standard error of the sum of changes over the corpus, of which these documents are a sample."""
        n = self.batch.total_weight
        if self.scale <= 1.0:
            return 0.0
        if n < 2:
            return np.inf
        squares = self.batch.sum((change - self.batch.sum(change) / n) ** 2)
        return self.scale * float(np.sqrt(n * (squares / (n - 1)) * (1.0 - 1.0 / self.scale)))

    def part(self, cells, weight, column, tokens=None):
        """The Part of all tokens of some cells, or of given ones."""
        documents, words = cells.sums(cells.tokens if tokens is None else tokens, self.batch)
        return Part(weight, documents, words, column)


@dataclass
class Split:
    """A topic and what it is to be divided into.

    Attributes
    ----------
    topic : its number
    tokens : those of the first part in the topic's cells
    first, second : the parts
    gain, error : what the bound gains, and the standard error of that
    """

    topic: int
    tokens: np.ndarray
    first: Part
    second: Part
    gain: float
    error: float


@dataclass
class Topic:
    """A topic of the batch: its cells, the sums over them, and the terms of its posterior."""

    cells: Cells
    part: Part
    bound: float
    log_words: np.ndarray
    log_tokens: float


def topic_of(topics, k, weight, column):
    cells = topics.cells(k)
    return Topic(cells, topics.part(cells, weight, column), *topics.posterior(column))


def is_significant(gain, error):
    """Whether a gain is one."""
    return gain > LEAST_GAIN + CONFIDENCE * error


def merge_gain(topics, one, other):
    """What the bound gains when two topics become one, if the corpus is the batch times its scale.

    Returns
    -------
    gain : in nats
    unseen : what has to be added since the corpus has other tokens of the topics than that; a topic which the
        batch lacks would else seem to be needed by no document
    error : standard error of both together
    """
    union = one.part.joined(other.part)
    bound, log_words, log_tokens = topics.posterior(union.column)
    change, words = topics.proportions_change(one.part, other.part), 0.0
    for topic in (one, other):
        words += float(topic.part.words @ (log_words - topic.log_words))
    mixing = np.zeros(len(change))
    a, b = one.cells, other.cells
    pair_mixing(a.cell, a.tokens, b.cell, b.tokens, a.document, mixing)
    change -= mixing
    gain = topics.scale * (float(topics.batch.sum(change)) + words) + bound - one.bound - other.bound
    unseen = log_tokens - one.log_tokens - other.log_tokens - topics.scale * words
    return gain, unseen, topics.error(change)


def unseen_loss(part, topics, phi, others):
    """What the bound loses without a topic in the tokens that the corpus has of it and the batch has not, at
    most: if their documents have nothing but the topic, and take what others are on average.

    Parameters
    ----------
    part : Part of the topic
    topics : BatchTopics
    phi, others : (n_features,) probabilities of words in the topic, and in the mixture of the others
    """
    tokens = part.column.copy()
    tokens[topics.batch.words] -= topics.scale * part.words
    return float(np.maximum(tokens, 0.0) @ np.maximum(np.log(phi / others), 0.0))


def propose_merges(topics, weights, column, young, most):
    """Disjoint pairs of topics whose union raises the bound, as (first, second, gain).

    Parameters
    ----------
    topics : BatchTopics
    weights : (n_topics,) beta
    column : function that gives the expected tokens of topic k in the corpus, (n_features,)
    young : (n_topics,) bool, topics that are not merged, or not yet
    most : pairs to try
    """
    known, merges, taken = {}, [], set()
    for pair in correlated_pairs(topics.proportions, most, topics.batch.sample_weight):
        if taken.isdisjoint(pair) and not young[list(pair)].any():
            for k in pair:
                if k not in known:
                    known[k] = topic_of(topics, k, float(weights[k]), column(k))
            gain, unseen, error = merge_gain(topics, *(known[k] for k in pair))
            if is_significant(gain + unseen, error):
                merges.append((*pair, gain + unseen))
                taken.update(pair)
    return merges


def propose_splits(topics, old, hat, rho, column, frozen, most, cursor, workers):
    """Topics whose division raises the bound, and where to go on next time.

    Topics are tried in descending order of weight, TRIED of them from the cursor on.

    Parameters
    ----------
    topics : BatchTopics, before the update by the batch
    old, hat : (n_topics,) beta before, and the best for the batch
    rho : step size of the update
    column : as in propose_merges
    frozen : (n_topics,) bool, topics that are not split
    most : splits to return, > 0
    cursor : number of topics tried already
    workers : Workers
    """
    order, splits = np.argsort(-((1.0 - rho) * old + rho * hat), kind="stable"), []
    order = order[~frozen[order]]
    tried = [int(order[(cursor + i) % len(order)]) for i in range(min(len(order), TRIED))]

    def divided(k):
        return divide(topics, k, float(old[k]), float(hat[k]), rho, column(k))

    for first in range(0, len(tried), SIDE_BY_SIDE):
        for split in workers.map_here(divided, [(k,) for k in tried[first : first + SIDE_BY_SIDE]]):
            if split is not None and is_significant(split.gain, split.error):
                splits.append(split)
            if len(splits) == most:
                return splits, 0
    return splits, cursor + TRIED if cursor + TRIED < len(order) else 0


def divide(topics, k, old, hat, rho, column):
    """Divide topic k: the batch's share of the update against what was there; None if the batch lacks it."""
    cells, scale, alpha, words = topics.cells(k), topics.scale, topics.concentration, topics.batch.words
    whole = topics.part(cells, (1.0 - rho) * old + rho * hat, (1.0 - rho) * column)
    if not len(cells.tokens) or hat <= 0.0:
        return None
    whole.column[words] += rho * scale * whole.words
    seen = np.zeros_like(column)
    if rho < 1.0:
        seen[words] = scale * whole.words
    else:  # what was there is what the batch has: every other document against the rest
        half = shares_of_every_other(topics.batch)[cells.document] * cells.tokens
        seen[words] = scale * topics.part(cells, 0.0, column, half).words
        column = whole.column - seen
    share = max((1.0 - rho) * old / whole.weight, 0.5 if rho == 1.0 else 0.0)
    share = min(share, 1.0 - SMALLEST_SHARE)
    starts = column, seen
    for _ in range(ROUNDS):
        mixing = np.zeros(topics.batch.n_documents)
        tokens = divide_cells(
            cells.document,
            cells.word,
            cells.tokens,
            topics.posterior(starts[0])[1] - topics.posterior(starts[1])[1],
            alpha * whole.weight * share,
            alpha * whole.weight * (1.0 - share),
            share,
            DIVIDE_ITERATIONS,
            DIVIDE_TOL,
            mixing,
        )
        second = topics.part(cells, 0.0, np.zeros_like(column), cells.tokens - tokens)
        second.column[words] = rho * scale * second.words
        first = topics.part(cells, 0.0, whole.column - second.column, tokens)
        starts = first.column, second.column
    first.weight = divide_weight(
        topics.batch, first, second, whole.weight * share, whole.weight, (1.0 - rho) * old, rho * hat, alpha
    )
    second.weight = whole.weight - first.weight
    bounds, change = 0.0, mixing - topics.proportions_change(first, second)
    for sign, part, c in ((1, first, tokens), (1, second, cells.tokens - tokens), (-1, whole, cells.tokens)):
        bound, log_words, _ = topics.posterior(part.column)
        bounds += sign * bound
        gains = c * log_words[cells.word]
        change += sign * np.bincount(cells.document, weights=gains, minlength=len(change))
    gain = scale * float(topics.batch.sum(change)) + bounds
    return Split(k, tokens, first, second, gain, topics.error(change))


def shares_of_every_other(batch):
    """What of each document is in every other of the documents, where one counts as several."""
    if batch.sample_weight is None:
        return np.arange(batch.n_documents) % 2 == 0
    bounds = np.append(0.0, np.cumsum(batch.sample_weight))
    return np.diff(bounds // 2 + np.minimum(bounds % 2, 1.0)) / batch.sample_weight


def divide_weight(batch, first, second, start, total, kept, moved, alpha):
    """beta of the first of two halves, by the fixed point that weights are found by.

    kept stays with it; moved is divided as the expected tables are.
    """
    weight = start
    for _ in range(WEIGHT_ITERATIONS):
        gains = [
            alpha * b * batch.sum(digamma(alpha * b + part.documents) - digamma(alpha * b))
            for part, b in ((first, weight), (second, total - weight))
        ]
        updated = kept + moved * gains[0] / max(sum(gains), 1e-300)
        updated = min(max(updated, SMALLEST_SHARE * total), (1.0 - SMALLEST_SHARE) * total)
        if abs(updated - weight) < WEIGHT_TOL * total:
            break
        weight = updated
    return weight


def correlated_pairs(proportions, most, sample_weight=None):
    """Pairs of columns with positive covariance, largest first, at most ``most``; rows may have weights."""
    if sample_weight is None:
        deviations = proportions - proportions.mean(axis=0)
    else:
        mean = weighted_sum(proportions, sample_weight) / sample_weight.sum()
        deviations = (proportions - mean) * np.sqrt(sample_weight)[:, None]
    covariance = np.triu(products(deviations), 1)
    places = np.flatnonzero(covariance > 0)
    values = covariance.ravel()[places]
    if len(places) > most:  # all that are as large as the last one wanted: many equal ones keep their order
        chosen = values >= np.partition(values, len(values) - most)[len(values) - most]
        places, values = places[chosen], values[chosen]
    order = places[np.argsort(-values, kind="stable")[:most]]
    rows, columns = np.unravel_index(order, covariance.shape)
    return list(zip(rows.tolist(), columns.tolist()))


def products(x):
    """x.T @ x; a large one in parts, since NumPy does not look for Ctrl-C in a product of matrices."""
    n_rows, n_columns = x.shape
    width = max(1, PRODUCT_WORK // max(1, n_rows * n_columns))
    if width >= n_columns:
        return x.T @ x
    out = np.empty((n_columns, n_columns))
    for first in range(0, n_columns, width):
        columns = slice(first, first + width)
        out[columns, first:] = x[:, columns].T @ x[:, first:]
    return np.triu(out)
