"""The topics of a corpus under direct assignment: their statistics, weights and identities."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, polygamma

from sktopic._documents._sample_weight import weighted_sum
from sktopic._inference import VariationalStep
from sktopic._runtime._arrays import by_blocks, columns_of
from sktopic._topics._prior import LARGEST, SMALLEST, learned_topic_word_prior
from sktopic._topics._word_count_edits import merged_topics, of_topics
from sktopic._topics._word_count_views import (
    expected_counts,
    expected_tokens,
    geometric,
    mean_log_probability,
    probabilities,
)
from sktopic._topics._word_counts import WordCounts
from sktopic.hdp._minibatch import are_in_use

# Least weight of a topic, and of all that are out of reach; and the largest of these.
SMALLEST_WEIGHT, LARGEST_REST = 1e-10, 1.0 - 1e-6
# Below a concentration of 1 the bound would have all weight on topics in use: these tables are the others'.
LEAST_REST = 0.1
WEIGHT_ITERATIONS, WEIGHT_TOL = 30, 1e-8
NEWTON_ITERATIONS, NEWTON_TOL = 50, 1e-6
# Part of a word's tokens, the loss of which lets a document start from equal shares of the topics left.
LARGE_LOSS = 0.5
# Of each topic: how many splits of it, and merges with its likeliest partners, have been refused since it
# became what it is, and the update from which on the next are tried.
TRIALS = np.dtype([("splits", "i8"), ("split_due", "i8"), ("merges", "i8"), ("merge_due", "i8")])
# A topic waits 2 ** refused updates, but no more than this power of two.
LONGEST_WAIT = 30


@dataclass
class CorpusTopics:
    """The topics that there are, one a column, under given concentrations.

    Attributes
    ----------
    statistics : the topic-word statistics
    weights : (n_topics,) beta
    ids : (n_topics,) identities
    births : (n_topics,) updates before the topic became what it is
    trials : (n_topics,) TRIALS
    next_id : of the next new topic
    total_samples : documents of the corpus, what a unit of the statistics stands for
    alpha, gamma, eta : concentrations of documents and of the weights, and topic_word_prior
    """

    statistics: WordCounts
    weights: np.ndarray
    ids: np.ndarray
    births: np.ndarray
    trials: np.ndarray
    next_id: int
    total_samples: float
    alpha: float
    gamma: float
    eta: float

    @property
    def n_topics(self):
        return len(self.weights)

    def weight_left(self):
        """What the weights leave to one."""
        return max(1.0 - float(self.weights.sum()), SMALLEST_WEIGHT)

    def rest(self):
        """The prior parameter of what no topic has."""
        return self.alpha * self.weight_left()

    def are_frozen(self):
        """Whether no move may change each topic, (n_topics,)."""
        frozen = np.zeros(self.n_topics, dtype=bool)
        frozen[self.statistics.frozen_columns] = True
        return frozen

    def prior(self):
        """Dirichlet parameters of proportions, (n_topics,)."""
        return np.maximum(self.alpha * self.weights, SMALLEST)

    def means(self):
        return probabilities(self.statistics, self.total_samples, self.eta)

    def as_read(self, expectation):
        """The topics as documents read them (see expected_topics)."""
        return expected_topics(expectation, self.statistics, self.total_samples, self.eta)

    def expected_counts(self, k):
        """Expected tokens of all words in topic k, (n_features,)."""
        return expected_counts(self.statistics, self.total_samples, k)

    def weights_bound(self):
        """log p(beta), the density of the sticks."""
        return self.n_topics * math.log(self.gamma) + (self.gamma - 1.0) * math.log(self.weight_left())

    def tokens(self):
        """Expected tokens of each topic, (n_topics,)."""
        return expected_tokens(self.statistics, self.total_samples)

    def in_use(self, totals):
        """Whether topics with these totals of the statistics are in use."""
        return are_in_use(expected_tokens(self.statistics, self.total_samples, totals))

    def learn(self, learned, priors, tokens, batch, scale, rho, workers):
        """Move the parameters that are learned towards their best values for a batch.

        learned : names of these, among "alpha", "gamma" and "eta"; priors : shape and rate of those of alpha
        and gamma; tokens, scale : of the batch, as of fit_concentration; rho : step size
        """
        if "alpha" in learned:
            lengths, sample_weight = batch.with_words()
            best = fit_concentration(
                tokens[batch.lengths > 0],
                self.weights,
                self.alpha,
                lengths=lengths,
                scale=scale,
                prior=priors["alpha"],
                sample_weight=sample_weight,
            )
            self.alpha = _between_logarithms(self.alpha, best, rho)
        if "gamma" in learned:
            shape, rate = priors["gamma"]
            best = (shape + self.n_topics) / (rate - math.log(self.weight_left()))
            self.gamma = (1.0 - rho) * self.gamma + rho * best
        if "eta" in learned:
            mean = mean_log_probability(self.statistics, self.total_samples, self.eta, workers)
            n_features = self.statistics.n_features
            best = learned_topic_word_prior("fixed-point", mean, n_features, self.eta, rho)
            self.eta = _between_logarithms(self.eta, best, rho)

    def keep(self, kept, statistics=None):
        """Give up the other topics; their weights are those of topics out of reach from now on."""
        self.statistics = of_topics(self.statistics, kept) if statistics is None else statistics
        for name in ("weights", "ids", "births", "trials"):
            setattr(self, name, getattr(self, name)[kept])

    def merge(self, merges):
        """Make topics of disjoint pairs one each, and give up those that are not in use.

        merges : list of (first, second, gain); the larger keeps its identity

        Returns
        -------
        kept : (n_topics,) bool, the topics that are left
        into : (n_topics,) the topic that each is now part of
        made : list of ("merge", identity kept, identity lost, gain)
        """
        totals, weights = self.statistics.totals.copy(), self.weights.copy()
        kept, into, made = np.ones(len(totals), dtype=bool), np.arange(len(totals)), []
        for first, second, gain in merges:
            large, small = (first, second) if totals[first] >= totals[second] else (second, first)
            totals[large] += totals[small]
            weights[large] += weights[small]
            kept[small], into[small] = False, large
            made.append(("merge", self.ids[large], self.ids[small], gain))
        kept &= self.in_use(totals)
        if not kept.all():
            self.weights = weights
            self.keep(kept, merged_topics(self.statistics, kept, into, totals))
        return kept, into, made

    def postpone(self, move, topics, t):
        """Let some topics wait with a move ("split" or "merge") that was refused in update t."""
        trials = self.trials.copy()
        trials[f"{move}s"][topics] += 1
        waits = 2 ** np.minimum(trials[f"{move}s"][topics], LONGEST_WAIT)
        trials[f"{move}_due"][topics] = t + waits
        self.trials = trials


def expected_topics(expectation, statistics, total_samples, eta):
    """Topics under their posteriors: "geometric" means, exp E[log phi], or "mean", E[phi]."""
    if expectation == "mean":
        return probabilities(statistics, total_samples, eta)
    return geometric(statistics, total_samples, eta)


@dataclass(frozen=True)
class DocumentInference:
    """Mean-field inference of the documents of a batch, given the topics of the corpus.

    Attributes
    ----------
    max_iter, tol : limits of the iterations
    expectation : of topics, "geometric" or "mean" (see expected_topics)
    """

    max_iter: int
    tol: float
    expectation: str = "geometric"

    def step(self, rest):
        return VariationalStep(self.max_iter, self.tol, rest)

    def with_bound(self):
        """The one whose results bound the evidence, under posteriors of topics."""
        return replace(self, expectation="geometric")

    def __call__(self, batch, topics, workers, tokens=None, dtype=np.float32):
        """VariationalCounts of a DocumentBatch, from equal shares or from tokens (n_documents, n_topics)."""
        prior = topics.prior()
        gathered = topics.as_read(self.expectation).gather(batch.words, prior, workers, dtype)
        start = None if tokens is None else prior + tokens
        return self.step(topics.rest())(batch, gathered, prior, None, workers, gamma=start)

    def without(self, counts, kept, workers):
        """Inference of the same documents with some of their topics only, from where they are."""
        # log_norm still tells how the rows were scaled; mean-field inference reads no cumulative sums.
        topics = replace(counts.topics, rows=columns_of(counts.topics.rows, kept))
        prior, rest = counts.prior[kept], counts.rest + counts.prior[~kept].sum()
        start = start_without(counts.batch, counts.tokens, kept)
        return self.step(rest)(counts.batch, topics, prior, None, workers, gamma=prior + start)

    def better(self, batch, topics, workers, tokens):
        """For each document the better of both starts."""
        warm, cold = self(batch, topics, workers, tokens), self(batch, topics, workers)
        return self.step(topics.rest()).better(warm, cold, workers)


def merged(tokens, into):
    """Tokens (n_documents, n_topics) after some topics became part of others (see CorpusTopics.merge)."""
    tokens = tokens.copy()
    for k in np.flatnonzero(into != np.arange(len(into))):
        tokens[:, into[k]] += tokens[:, k]
    return tokens


def start_without(batch, tokens, kept):
    """Tokens (n_documents, n_left) of some of the topics, for documents to start from without the others.

    Where what the others leave may be all tokens of a word, those kept start equal: from where they are,
    inference might be far from words that none of them has.
    """
    lost, smallest = tokens[:, ~kept].sum(axis=1), np.full(batch.n_documents, np.inf)
    np.minimum.at(smallest, batch.cell_document(), batch.cell_count)
    even = np.broadcast_to(batch.lengths[:, None] / kept.sum(), (batch.n_documents, kept.sum()))
    return np.where((lost > LARGE_LOSS * smallest)[:, None], even, tokens[:, kept])


def _between_logarithms(old, best, rho):
    return math.exp((1.0 - rho) * math.log(old) + rho * math.log(best))


def trigamma(x):
    return polygamma(1, x)


def fit_weights(tokens, weights, alpha, gamma, scale, sample_weight=None):
    """beta that maximises the bound, by Minka's fixed point; each iteration raises it.

    Parameters
    ----------
    tokens : (n_documents, n_topics) expected tokens of topics in documents
    weights : (n_topics,) the start
    alpha, gamma : concentrations of documents and root
    scale : documents of the corpus for each of these
    sample_weight : (n_documents,) as how many each of these counts; None: as one

    Returns
    -------
    weights : (n_topics,); what they leave to one belongs to all other topics.
    """

    def tables(prior):
        gains = by_blocks(lambda n: digamma(prior + n), tokens) - digamma(prior)
        gains = np.maximum(gains, 0.0)  # rounding
        return scale * prior * weighted_sum(gains, sample_weight)

    return fixed_point_weights(tables, weights, alpha, gamma)


def fixed_point_weights(tables_of, weights, alpha, gamma, max_iter=WEIGHT_ITERATIONS):
    """The same from a function of prior = alpha * beta that returns the expected tables of each topic."""
    rest = max(gamma - 1.0, LEAST_REST * gamma)
    for _ in range(max_iter):
        tables = tables_of(alpha * weights)
        left = min(max(rest / (tables.sum() + rest), SMALLEST_WEIGHT), LARGEST_REST)
        updated = np.maximum((1.0 - left) * tables / max(tables.sum(), 1e-300), SMALLEST_WEIGHT)
        updated *= (1.0 - left) / updated.sum()
        change = np.abs(updated - weights).max()
        weights = updated
        if change < WEIGHT_TOL:
            break
    return weights


def fit_concentration(tokens, weights, value, *, lengths, scale, prior, sample_weight=None):
    """alpha that maximises the bound under a Gamma prior, by Newton's method for its logarithm.

    Parameters
    ----------
    tokens, weights, scale, sample_weight : as of fit_weights
    value : the start
    lengths : (n_documents,) of the documents, > 0
    prior : (shape, rate) of the Gamma distribution
    """
    shape, rate = prior
    x, (document, topic) = math.log(value), np.nonzero(tokens > 0)
    tokens, b = tokens[document, topic], weights[topic]
    cell_weight = None if sample_weight is None else sample_weight[document]
    for _ in range(NEWTON_ITERATIONS):
        a = math.exp(x)
        expected = a * b
        gains = b * (by_blocks(digamma, expected + tokens) - by_blocks(digamma, expected))
        first = weighted_sum(gains, cell_weight)
        first -= weighted_sum(digamma(a + lengths) - digamma(a), sample_weight)
        gains = b * b * (by_blocks(trigamma, expected + tokens) - by_blocks(trigamma, expected))
        second = weighted_sum(gains, cell_weight)
        second -= weighted_sum(trigamma(a + lengths) - trigamma(a), sample_weight)
        slope = scale * a * first + shape - a * rate
        curvature = scale * (a * first + a * a * second) - a * rate
        step = -slope / curvature if curvature < 0 else math.copysign(1.0, slope)
        step = min(max(step, -1.0), 1.0)
        x = min(max(x + step, math.log(SMALLEST)), math.log(LARGEST))
        if abs(step) < NEWTON_TOL:
            break
    return math.exp(x)
