"""A table that summarizes each topic."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._plug_in import in_one_state, last_step, plug_in_topics, shown_words, topic_labels
from sktopic._estimators._topic_names import joined
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pandas
from sktopic.inspection._tables import infer_documents, typical_documents
from sktopic.metrics._coherence import coherence

if TYPE_CHECKING:
    from pandas import DataFrame

# Words of a topic that are ranked at first, for each that is wanted, to find those with the largest FREX.
FREQUENT = 16
WEIGHT = Interval(Real, 0, 1, closed="both")


@validate_params(
    {
        "n_words": [Interval(Integral, 2, None, closed="left")],
        "n_documents": [Interval(Integral, 1, None, closed="left")],
        "relevance_weight": [WEIGHT],
        "frex_weight": [WEIGHT],
    }
)
def topic_table(
    model: object,
    X: object = None,
    feature_names: ArrayLike | None = None,
    *,
    n_words: int = 10,
    n_documents: int = 3,
    relevance_weight: float = 0.6,
    frex_weight: float = 0.5,
) -> DataFrame:
    """Return a table of size, words, coherence and typical documents of each topic.

    Read more on the guide page "Look at topics".

    Parameters
    ----------
    model : fitted estimator or array-like of shape (n_components, n_features)
        As in `top_words`. If X is given, the model must be an estimator with ``transform``, or a pipeline or
        search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features), default=None
        Word counts (or pipeline input) that determine the sizes of topics, usually the training documents.
        Documents without words are left out. If None, the table lacks the columns that need X.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns, as in `top_words`.
    n_words : int, default=10
        Number of words listed in an entry and used for the coherence, at most the vocabulary size.
    n_documents : int, default=3
        Number of typical documents per topic, at most the number of documents with words.
    relevance_weight : float, default=0.6
        Weight lambda of log probability in the relevance of a word (see Notes), from 0 to 1. If 1, words are
        ordered by probability.
    frex_weight : float, default=0.5
        Weight of frequency in FREX (see Notes), from 0 to 1. The rest is the weight of exclusivity.

    Returns
    -------
    table : DataFrame
        One row per topic, ordered by number, with the columns

        - topic: number of the topic;
        - name: name given by `name_topics`, or "Topic 0" and so on;
        - share: share of the topic in the tokens of X; sums to one. Needs X;
        - n_documents: number of documents in which the topic is the largest. Needs X;
        - words: most probable words, separated by commas;
        - relevant_words: most relevant words. Needs X;
        - frex_words: words that are both frequent and exclusive;
        - coherence: NPMI of the most probable words over the documents, as in `sktopic.metrics.coherence`;
          NaN if the vocabulary has one word.
          Needs X;
        - typical_documents: rows of X with the largest proportions of the topic, separated by commas. Needs
          X.

        Each entry is a number or a string, so ``to_csv`` saves the whole table. To get words and documents as
        arrays, use `top_words` and `top_documents`.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If no document has words.

    See Also
    --------
    top_words, top_documents : Return words and documents as arrays, with their weights.
    topics_over_time : Compute shares of topics in each period.

    Notes
    -----
    Let phi_kw be the probability of word w in topic k and lambda the `relevance_weight`. The relevance is

        lambda log phi_kw + (1 - lambda) log(phi_kw / p_w)   where p_w = sum_k share_k phi_kw.

    FREX is the harmonic mean of the ranks of a word by frequency and by exclusivity,

        1 / (f / F_k(phi_kw) + (1 - f) / E_k(phi_kw / sum_j phi_jw)),

    where f is the `frex_weight`. F_k(x) is the share of words with a probability of at most x in topic k, and
    E_k is the same for exclusivity.

    References
    ----------
    J. M. Bischof and E. M. Airoldi, "Summarizing topical content with word frequency and exclusivity", ICML
    2012, section 2.3: FREX.

    C. Sievert and K. Shirley, "LDAvis: a method for visualizing and interpreting topics", Workshop on
    Interactive Language Learning, Visualization, and Interfaces, 2014, section 3.1: relevance.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import topic_table
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> table = topic_table(OnlineEMLDA(n_components=10, random_state=0).fit(X), X)
    >>> table.shape
    (10, 9)
    """
    pandas, model = import_pandas(), in_one_state(model)
    components = plug_in_topics(model, "model").components()
    n_components, n_features = components.shape
    names = shown_words(model, feature_names, n_features)
    n_words = min(n_words, n_features)
    table = {
        "topic": np.arange(n_components),
        "name": topic_labels(model, n_components),
        "words": list(map(joined, names[largest(components, n_words)])),
        "frex_words": list(map(joined, names[largest_frex(components, frex_weight, n_words)])),
    }
    if X is None:
        return pandas.DataFrame(table)
    documents = infer_documents(model, X)
    with_words = np.flatnonzero(documents.lengths)
    theta = documents.proportions[with_words]
    tokens = documents.lengths[with_words] @ theta
    share = tokens / tokens.sum()
    relevant = most_relevant(components, share, relevance_weight, n_words)
    typical = typical_documents(documents.lengths, documents.proportions, n_documents)
    coherences: object = np.nan  # of a vocabulary of one word
    if n_words > 1:
        coherences = coherence(last_step(model), documents.counts, n_words=n_words, per_topic=True)
    of_documents = {
        "share": share,
        "n_documents": np.bincount(theta.argmax(axis=1), minlength=n_components),
        "relevant_words": list(map(joined, names[relevant])),
        "coherence": coherences,
        "typical_documents": list(map(joined, typical)),
    }
    order = ["topic", "name", "share", "n_documents", "words", "relevant_words", "frex_words", "coherence"]
    return pandas.DataFrame({**table, **of_documents})[[*order, "typical_documents"]]


def most_relevant(components, share, weight, n):
    """Return columns of the n most relevant words of each topic, ndarray of shape (n_components, n).

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Word probabilities.
    share : ndarray of shape (n_components,)
        Shares of topics in all tokens.
    weight : float
        Weight of the probability.
    n : int
    """
    lift = relevance_factors(share @ components, weight)
    return np.array([largest((row * lift)[None], n)[0] for row in components])


def relevance_factors(p, weight):
    """Return factors that turn word probabilities into exp(relevance); zero for words in no topic.

    p : ndarray of shape (n_features,), word probabilities over all topics
    """
    return np.divide(1.0, p ** (1 - weight), out=np.zeros_like(p), where=p >= np.finfo(float).tiny)


def largest_frex(components, weight, n):
    """Return columns of the n words of each topic with the largest FREX; see `most_relevant`."""
    totals = components.sum(axis=0)
    totals[totals == 0] = 1  # words that are in no topic
    return np.array([_largest_frex(row, row / totals, weight, n) for row in components])


def _largest_frex(frequency, exclusivity, weight, n):
    """The same of one topic, without the ranks of all words: only frequent ones can have a large FREX."""
    n_features, n_frequent = len(frequency), FREQUENT * n
    exclusivities = np.sort(exclusivity)
    while True:
        n_frequent = min(n_frequent, n_features)
        smallest = np.partition(frequency, -n_frequent)[-n_frequent]
        words = np.flatnonzero(frequency >= smallest)
        # The ranks by frequency begin behind the words that are less frequent than these.
        n_less = n_features - len(words)
        by_frequency = (n_less + _ranks(frequency[words], np.sort(frequency[words]))) / n_features
        by_exclusivity = _ranks(exclusivity[words], exclusivities) / n_features
        frex = 1 / (weight / by_frequency + (1 - weight) / by_exclusivity)
        found = largest(frex[None], n)[0]
        # What it could be for a less frequent word that no topic shares.
        if n_less == 0 or frex[found[-1]] > 1 / (weight * n_features / n_less + 1 - weight):
            return words[found]
        n_frequent *= 4


def _ranks(values, ordered):
    """How many of the values in ascending order are not larger than each of some."""
    return np.searchsorted(ordered, values, side="right")
