"""Compare the topics of two or more models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from numbers import Integral
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.pairwise import cosine_similarity

from sktopic._documents._feature_names import check_same_names
from sktopic._estimators._plug_in import column_names, plug_in_topics
from sktopic._runtime._compat import Interval, StrOptions, validate_params
from sktopic.metrics._coherence import top_columns


class TopicMatches(NamedTuple):
    """Pairs of topics of two models, returned by `match_topics`.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,), dtype int
        Topics of the first model, ascending, and their partners in the second.
    similarity : ndarray of shape (n_pairs,)
        Similarity of each pair, 1 for equal topics.
    """

    first: np.ndarray
    second: np.ndarray
    similarity: np.ndarray


# Squared Hellinger distances below are rounding errors.
EQUAL_TOPICS = 1e-14

COMPARISON = {
    "metric": [StrOptions({"cosine", "hellinger", "average_jaccard"})],
    "n_words": [Interval(Integral, 1, None, closed="left")],
}


@validate_params(COMPARISON)
def match_topics(
    first: object,
    second: object,
    *,
    metric: Literal["cosine", "hellinger", "average_jaccard"] = "cosine",
    n_words: int = 10,
) -> TopicMatches:
    """Pair the topics of two models so that the sum of similarities is maximal.

    Parameters
    ----------
    first, second : fitted estimator or array-like of shape (n_components, n_features)
        Two models over the same words in the same order, as in `coherence`. Rows are normalized. The numbers
        of topics may differ.
    metric : {'cosine', 'hellinger', 'average_jaccard'}, default='cosine'
        Similarity of two topics, in [0, 1]:

        - 'cosine': cosine of their word probabilities; the most probable words dominate.
        - 'hellinger': 1 minus the Hellinger distance, sqrt(1 - sum of sqrt(p q)); rare words count more.
        - 'average_jaccard': Jaccard coefficient (intersection over union) of the two sets of top words,
          averaged over the top 1, 2, ..., n_words; agreement near the top counts more.
    n_words : int, default=10
        Number of words per topic for 'average_jaccard', from 1 to n_features. Ties are broken by column
        order. The other metrics use all words.

    Returns
    -------
    matches : TopicMatches
        Named tuple of arrays (first, second, similarity), each of shape (n_pairs,); n_pairs is the smaller
        number of topics. ``first`` is ascending. If it contains all topics of the first model,
        ``second[i]`` is the partner of topic i.

    Raises
    ------
    ValueError
        If the models differ in their words (if known) or number of words, or have fewer than n_words words.

    See Also
    --------
    stability : Mean similarity over pairs of models.

    Notes
    -----
    The assignment is optimal. Time is at most cubic in the number of topics.

    References
    ----------
    H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2,
    1955.

    Examples
    --------
    >>> from sktopic.metrics import match_topics
    >>> first = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]
    >>> second = [[0.0, 0.1, 0.9], [0.2, 0.6, 0.2], [0.8, 0.1, 0.1]]
    >>> matches = match_topics(first, second)
    >>> matches.second
    array([2, 0])
    >>> matches.similarity.round(2)
    array([0.99, 0.99])
    """
    check_same_names(column_names(first), column_names(second), "second")
    topics = plug_in_topics(first, "first"), plug_in_topics(second, "second")
    first, second = (word_profiles(each, metric, n_words) for each in topics)
    return _match(first, second, metric)


@validate_params({"models": ["array-like"], **COMPARISON})
def stability(
    models: Sequence[object],
    *,
    metric: Literal["cosine", "hellinger", "average_jaccard"] = "average_jaccard",
    n_words: int = 10,
) -> float:
    """Compute the mean similarity of matched topics over all pairs of models; higher is better.

    Compare models that differ in seed or sample of documents, to see how much topics depend on chance.

    Parameters
    ----------
    models : sequence of fitted estimators or array-likes of shape (n_components, n_features)
        At least two, each as in `match_topics`.
    metric : {'cosine', 'hellinger', 'average_jaccard'}, default='average_jaccard'
        Similarity of two topics, as in `match_topics`.
    n_words : int, default=10
        Number of words per topic for 'average_jaccard'.

    Returns
    -------
    stability : float
        In [0, 1]; 1 if all models have the same topics. Topics without a partner are ignored.

    Raises
    ------
    ValueError
        If there are fewer than two models, or as in `match_topics`.

    Notes
    -----
    With the default metric, the agreement of two models is that of Greene et al. They compare models of
    samples with one model of all documents. This function compares all pairs of models.

    References
    ----------
    D. Greene, D. O'Callaghan and P. Cunningham, "How many topics? Stability analysis for topic models",
    ECML PKDD 2014, section 3.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineEMLDA
    >>> from sktopic.metrics import stability
    >>> X = make_bars(200, random_state=0).data
    >>> models = [OnlineEMLDA(10, random_state=seed).fit(X) for seed in range(3)]
    >>> 0 < stability(models, n_words=5) <= 1
    True
    """
    if len(models) < 2:
        raise ValueError(f"models has length {len(models)}; at least two models are needed.")
    names = [column_names(model) for model in models]
    for i, (first, second) in enumerate(pairwise(names), start=1):
        check_same_names(first, second, f"models[{i}]")
    topics = [plug_in_topics(model, f"models[{i}]") for i, model in enumerate(models)]
    profiles = [word_profiles(each, metric, n_words) for each in topics]
    return _mean_similarity(profiles, metric)


def top_word_stability(models):
    """Return the `stability` of models from their top words; NaN for a single model.

    Parameters
    ----------
    models : list of array-like of shape (n_components, n_words)
        Top words of each topic, or their columns, most probable first.
    """
    if len(models) < 2:
        return math.nan
    models = [np.asarray(top_words) for top_words in models]
    words = np.unique(np.concatenate([top_words.ravel() for top_words in models]))
    profiles = [_ranks(np.searchsorted(words, top_words), len(words)) for top_words in models]
    return _mean_similarity(profiles, "average_jaccard")


def _mean_similarity(profiles, metric):
    means = [_match(first, second, metric).similarity.mean() for first, second in combinations(profiles, 2)]
    return float(np.mean(means))


def _match(first, second, metric):
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"The topics of one model have {first.shape[1]} words, those of another {second.shape[1]}; only "
            "models over the same words can be compared."
        )
    similarity = METRICS[metric](first, second)
    pairs = linear_sum_assignment(similarity, maximize=True)
    return TopicMatches(*pairs, similarity[pairs])


def word_profiles(topics, metric, n_words):
    """Return what the metric compares of TopicProbabilities: one row per topic, one column per word."""
    if metric == "average_jaccard":
        return _ranks(top_columns(topics, n_words), len(topics.store))
    components = topics.components()
    return np.sqrt(components) if metric == "hellinger" else components


def _ranks(top, n_features):
    """Return ranks of the top words of each topic from 1, csr_array of shape (n_components, n_features)."""
    n_components, n_words = top.shape
    ranks = np.tile(np.arange(1, n_words + 1), n_components)
    indptr = np.arange(n_components + 1) * n_words
    return sp.csr_array((ranks, top.ravel(), indptr), shape=(n_components, n_features))


# Metrics: similarity of each topic of the first model with each topic of the second


def _cosine(first, second):
    with np.errstate(under="ignore"):  # words with negligible probability in both topics
        return np.clip(cosine_similarity(first, second), 0.0, 1.0)


def _hellinger(first, second):
    distances = np.clip(1.0 - first @ second.T, 0.0, 1.0)  # squared
    distances[distances < EQUAL_TOPICS] = 0.0
    return 1.0 - np.sqrt(distances)


def _average_jaccard(first, second):
    n_words = first.data.max()
    total = np.zeros((first.shape[0], second.shape[0]))
    for depth in range(1, n_words + 1):
        common = (_at_most(first, depth) @ _at_most(second, depth).T).toarray()
        total += common / (2 * depth - common)
    return total / n_words


def _at_most(ranks, depth):
    """Return an indicator of the first `depth` words of each topic."""
    return sp.csr_array(((ranks.data <= depth).astype(np.int64), ranks.indices, ranks.indptr), ranks.shape)


METRICS = {"cosine": _cosine, "hellinger": _hellinger, "average_jaccard": _average_jaccard}
