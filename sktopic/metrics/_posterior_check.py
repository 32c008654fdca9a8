"""Posterior predictive checks: whether words and documents are independent given the topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from sktopic._documents._groups import check_groups
from sktopic._documents._matrices import DocumentReader
from sktopic._estimators._constraints import ANY_SWEEPS, AT_LEAST_ONE, N_JOBS, SOME_SWEEPS
from sktopic._estimators._plug_in import (
    after_pipeline,
    check_documents,
    column_names,
    plug_in_model,
    shown_words,
    topic_labels,
)
from sktopic._inference._gibbs import draw_topics
from sktopic._kernels._groups import Chains
from sktopic._kernels.random._rng import combine_keys, position_keys, uniforms
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import validate_params
from sktopic._runtime._optional import import_pandas
from sktopic._runtime._parallel import Workers
from sktopic._typing import FloatArray, RandomState
from sktopic.metrics._held_out import seed_of

if TYPE_CHECKING:
    from pandas import DataFrame

# Keys of the random streams of topics and of replicated words.
TOPICS_KEY = combine_keys(0, 0x63686563)
WORDS_KEY = combine_keys(0, 0x7265706C)
# Decimals of mutual information. Equal tables of counts then have equal values, in whatever order they are
# summed.
N_DECIMALS = 11
# Tokens that are due to rounding errors.
ROUNDING = 1e-6
# Quantiles of replications in tables and plots.
INTERVAL = 0.025, 0.975
# P-values below this are significant, for the printed form.
SIGNIFICANT = 0.05


@dataclass(frozen=True, repr=False, eq=False)
class PosteriorPredictiveCheck:
    """Observed and replicated mutual information, returned by `posterior_predictive_check`.

    Its printed form says how many topics have a p-value below 0.05.

    Attributes
    ----------
    names : list of str
        Names of the topics given by `sktopic.inspection.name_topics`, or "Topic 0" and so on.
    words : ndarray of str of shape (n_components, n_words), dtype object
        Most probable words of each topic.
    tokens : ndarray of shape (n_components,)
        Number of tokens drawn to each topic.
    mutual_information : ndarray of shape (n_components,)
        Mutual information of words and documents among the tokens of each topic, in nats.
    replicated : ndarray of shape (n_replications, n_components)
        The same for replicated words.
    word_information : ndarray of shape (n_components, n_words)
        Instantaneous mutual information of each of the most probable words, in nats: the entropy of documents
        among the tokens of the topic, minus their entropy among its tokens of this word.
    replicated_word_information : ndarray of shape (n_replications, n_components, n_words)
        The same for replicated words.
    """

    names: list[str]
    words: NDArray[np.object_]
    tokens: FloatArray
    mutual_information: FloatArray
    replicated: FloatArray
    word_information: FloatArray
    replicated_word_information: FloatArray

    def __repr__(self) -> str:
        number = np.count_nonzero(self.p_values < SIGNIFICANT)
        return f"PosteriorPredictiveCheck({number} of {len(self.tokens)} topics have p < {SIGNIFICANT})"

    @property
    def p_values(self) -> FloatArray:
        """Share of the replications with at least the observed value, the observation included, by topic."""
        return _p_values(self.mutual_information, self.replicated)

    @property
    def word_p_values(self) -> FloatArray:
        """The same for the most probable words, ndarray of shape (n_components, n_words)."""
        return _p_values(self.word_information, self.replicated_word_information)

    @property
    def deviances(self) -> FloatArray:
        """Observed value minus the mean of the replications, in their standard deviations, by topic.

        NaN if all replications are equal.
        """
        return _deviances(self.mutual_information, self.replicated)

    @property
    def table(self) -> DataFrame:
        """DataFrame with one row per topic, in their order; needs pandas.

        Its columns are topic, name, words (the most probable, as one string), tokens, observed, expected
        (mean of the replications), low and high (2.5 and 97.5 percent of the replications), deviance and
        p_value.
        """
        columns = {
            "topic": np.arange(len(self.names)),
            "name": self.names,
            "words": [", ".join(words) for words in self.words],
            "tokens": self.tokens,
            **_columns(self.mutual_information, self.replicated),
        }
        return import_pandas().DataFrame(columns)

    @property
    def word_table(self) -> DataFrame:
        """DataFrame with one row per topic and word; needs pandas.

        Its columns are topic, name, word, observed, expected, low, high, deviance and p_value, as in
        ``table``.
        """
        n_topics, n_words = self.words.shape
        replicated = self.replicated_word_information.reshape(-1, n_topics * n_words)
        columns = {
            "topic": np.repeat(np.arange(n_topics), n_words),
            "name": np.repeat(np.array(self.names, dtype=object), n_words),
            "word": self.words.ravel(),
            **_columns(self.word_information.ravel(), replicated),
        }
        return import_pandas().DataFrame(columns)


@validate_params(
    {
        "groups": ["array-like", None],
        "n_replications": [SOME_SWEEPS],
        "n_words": [AT_LEAST_ONE],
        "burn_in": [ANY_SWEEPS],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
)
def posterior_predictive_check(
    model_or_components: object,
    X: object,
    *,
    doc_topic_prior: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_replications: int = 100,
    n_words: int = 10,
    burn_in: int = 50,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> PosteriorPredictiveCheck:
    """Check whether words are independent of documents given the topic, as topic models assume.

    The topic of each token is drawn from its posterior. For each topic, the mutual information of words and
    documents is compared with that of replications. A replication draws all words anew from the topics of
    their tokens. If the observed value is larger than the replicated ones, documents differ in the words of
    the topic.

    Read more on the guide page "Evaluate and compare models".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `document_completion`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts of training or held-out documents, or the input of the pipeline.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet parameters of the topic proportions, > 0. If None, the prior of the estimator.
    groups : array-like of shape (n_samples,), default=None
        Group of each document, such as its author, source or year. It takes the place of the document in the
        mutual information. If None, each document is a group.
    n_replications : int, default=100
        Number of replications. The smallest p-value is 1 / (n_replications + 1).
    n_words : int, default=10
        Number of most probable words of each topic that are also checked, at most the vocabulary size.
    burn_in : int, default=50
        Number of Gibbs sweeps to discard before topics are drawn.
    random_state : int, RandomState instance or None, default=0
        Seed. Pass an int for the same result at each call.
    n_jobs : int or None, default=None
        Number of threads. It does not affect the result.

    Returns
    -------
    check : PosteriorPredictiveCheck
        Observed and replicated mutual information. ``check.p_values`` has one value per topic, and
        ``check.table`` is a DataFrame with one row per topic.

    Raises
    ------
    ValueError
        If groups do not match X or have missing values, if no document has words, or if X has a word that
        has probability 0 in every topic.

    See Also
    --------
    sktopic.inspection.plot_posterior_predictive_check : Plot the result.

    Notes
    -----
    - If documents come from the given topics and prior, p-values of topics are uniform up to ties, because
      topics are drawn once. Set random_state to compare several draws.
    - Documents repeat words, so many topics have the smallest p-value. ``deviances`` then rank the topics.
      Large negative deviances mean that documents are more alike than drawn words.
    - A topic with at most one token has mutual information 0 and p-value 1. A word with at most one token in
      the topic has the entropy of the documents of the topic.
    - Counts above 64 are 64 equal parts, as in all Gibbs sampling of this library.
    - Memory is about 60 bytes per token. Time is proportional to n_replications times
      the number of tokens.

    References
    ----------
    D. Mimno and D. Blei, "Bayesian checking for topic models", EMNLP 2011.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.metrics import posterior_predictive_check
    >>> bars = make_bars(50, random_state=0)
    >>> check = posterior_predictive_check(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior)
    >>> check.p_values.shape
    (10,)
    """
    model, names = model_or_components, column_names(model_or_components)
    model_or_components, X = after_pipeline(model_or_components, X)
    topics, prior = plug_in_model(model_or_components, doc_topic_prior)
    documents, key = check_documents(X, topics, names), seed_of(random_state)
    components = topics.components()
    possible = components.max(axis=0) > 0.0
    with Workers(n_jobs) as workers:
        tokens_key = combine_keys(TOPICS_KEY, key)
        tokens = _draw_tokens(documents, topics, prior, possible, burn_in, tokens_key, workers)
        if groups is not None:
            tokens = tokens._replace(group=check_groups(groups, tokens.n_documents)[1][tokens.group])
        top = largest(components, n_words)
        pieces = [
            (tokens.of_topic(k), components[k], top[k], n_replications, combine_keys(WORDS_KEY, key, k))
            for k in range(len(components))
        ]
        sizes, information, of_words = map(np.array, zip(*workers.map(_check_topic, pieces)))
    return PosteriorPredictiveCheck(
        names=topic_labels(model if topics.owner is None else topics.owner, len(components)),
        words=shown_words(model, None, components.shape[1])[top],
        tokens=sizes,
        mutual_information=information[:, 0],
        replicated=information[:, 1:].T,
        word_information=of_words[:, 0],
        replicated_word_information=of_words[:, 1:].swapaxes(0, 1),
    )


class Tokens(NamedTuple):
    """Tokens sorted by topic. A large count is few tokens of a larger weight.

    Attributes
    ----------
    word, group : (n_tokens,) columns of the words, and numbers of the documents or groups
    weight : (n_tokens,)
    bounds : (n_components + 1,) bounds of the tokens of each topic
    n_documents : int
    """

    word: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    bounds: np.ndarray
    n_documents: int

    def of_topic(self, k):
        """Return the words, groups and weights of the tokens of a topic."""
        own = slice(self.bounds[k], self.bounds[k + 1])
        return self.word[own], self.group[own], self.weight[own]


def _draw_tokens(documents, topics, prior, possible, burn_in, key, workers):
    """Draw the topic of each token from its posterior, and return the Tokens.

    Words that are not possible raise ValueError.

    The stream of a document is named by its row: equal documents have independent draws.
    """
    found, n_documents = [], 0
    for X, _ in documents.groups():
        batch = DocumentReader(X).batch(np.arange(X.shape[0]))
        if not possible[batch.words].all():
            word = batch.words[~possible[batch.words]].min()
            raise ValueError(
                f"X has word {word}, which has probability 0 in every topic; must be > 0 in one."
            )
        gathered = topics.gather(batch.words, prior, workers)
        keys, z = position_keys(key, n_documents, batch.n_documents), batch.unassigned()
        draw_topics(batch, gathered, prior, Chains(keys, z), burn_in + 1, workers)
        document, weight = batch.clumps()
        found.append((batch.clump_words(), n_documents + document, weight, z))
        n_documents += batch.n_documents
    word, document, weight, z = map(np.concatenate, zip(*found))
    if not len(z):
        raise ValueError("X has no document with words.")
    order = np.argsort(z, kind="stable")
    bounds = np.searchsorted(z[order], np.arange(len(prior) + 1))
    return Tokens(word[order], document[order], weight[order], bounds, n_documents)


def _check_topic(tokens, probabilities, top, n_replications, key):
    """Return the number of tokens of a topic, and its mutual information in the data and in replications.

    Returns
    -------
    n_tokens : float
    information : (n_replications + 1,) mutual information, first the observed one
    of_words : (n_replications + 1, n_words) instantaneous mutual information of the top words
    """
    word, group, weight = tokens
    # The groups of the topic alone, in the order of their tokens.
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[number]
    cumulative = np.cumsum(probabilities)
    cumulative /= cumulative[-1]
    information, of_words = np.zeros(n_replications + 1), np.zeros((n_replications + 1, len(top)))
    if not len(word):
        return 0.0, information, of_words
    information[0], of_words[0] = _information(word, group, weight, len(probabilities), top)
    # The parts of a large count have several tokens each, so groups with large counts are drawn as counts.
    total, sizes = weight.sum(), np.bincount(group, weight)
    large = np.flatnonzero(np.bincount(group, weight > 1.0))
    n_large = np.ceil(sizes[large] - ROUNDING).astype(np.int64)
    small = ~np.isin(group, large)
    group, weight, shares = group[small], weight[small], probabilities / probabilities.sum()
    for i in range(1, n_replications + 1):
        drawn = combine_keys(key, i)
        word = np.searchsorted(cumulative, uniforms(drawn, len(group)), side="right")
        cells = [(word, group, weight)]
        generator = np.random.RandomState([drawn >> 32, drawn & 0xFFFFFFFF])  # alike in all NumPy versions
        for g, n in zip(large.tolist(), n_large.tolist()):
            counts = generator.multinomial(n, shares)
            some = np.flatnonzero(counts)
            cells.append((some, np.full(len(some), g), counts[some] * (sizes[g] / n)))
        word, of_group, size = map(np.concatenate, zip(*cells))
        information[i], of_words[i] = _information(word, of_group, size, len(probabilities), top)
    return total, information, of_words


def _information(word, group, weight, n_features, top):
    """Return the mutual information of words and groups, and the instantaneous one of the top words."""
    n_groups = int(group.max()) + 1
    cells, cell_of_token = np.unique(word.astype(np.int64) * n_groups + group, return_inverse=True)
    # Sums of n log n, from which entropies follow: of a word and group, of a word, of a group, of all.
    of_cells = np.bincount(cells // n_groups, _n_log_n(np.bincount(cell_of_token, weight)), n_features)
    counts = np.bincount(word, weight, n_features)
    n, of_groups = weight.sum(), _n_log_n(np.bincount(group, weight)).sum()
    information = (of_cells.sum() - _n_log_n(counts).sum() - of_groups + _n_log_n(n)) / n
    within = np.divide(_n_log_n(counts) - of_cells, counts, out=np.zeros(n_features), where=counts > 0)[top]
    return np.round(information, N_DECIMALS), np.round((_n_log_n(n) - of_groups) / n - within, N_DECIMALS)


def _n_log_n(n):
    return xlogy(n, n)


def _p_values(observed, replicated):
    return (1 + np.count_nonzero(replicated >= observed, axis=0)) / (1 + len(replicated))


def _deviances(observed, replicated):
    spread = np.where(np.ptp(replicated, axis=0) > 0, replicated.std(axis=0), np.nan)
    return (observed - replicated.mean(axis=0)) / spread


def _columns(observed, replicated):
    """Return the columns of a table, one entry per topic or word."""
    low, high = np.quantile(replicated, INTERVAL, axis=0)
    return {
        "observed": observed,
        "expected": replicated.mean(axis=0),
        "low": low,
        "high": high,
        "deviance": _deviances(observed, replicated),
        "p_value": _p_values(observed, replicated),
    }
