"""Coherence and diversity of topics, computed from their most probable words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from numbers import Integral
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.preprocessing import normalize

from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._plug_in import (
    after_pipeline,
    check_documents,
    column_names,
    plug_in_topics,
    word_names,
)
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, StrOptions, validate_params
from sktopic._typing import FloatArray

# Window sizes of Roeder et al. (2015), in tokens.
WINDOW_SIZES = {"c_v": 110, "c_npmi": 10, "c_uci": 10}
# Keeps the logarithm finite for pairs that never occur together, as in the paper and in gensim.
EPSILON = 1e-12
# Bounds the size of the word-by-word matrix.
TOPICS_AT_ONCE = 50
# Number of documents whose words are looked up at a time.
DOCUMENTS_AT_ONCE = 1 << 15


@validate_params(
    {
        "measure": [StrOptions({"npmi", "u_mass", "c_v", "c_npmi", "c_uci"})],
        "n_words": [Interval(Integral, 2, None, closed="left")],
        "texts": ["array-like", None],
        "feature_names": ["array-like", None],
        "window_size": [Interval(Integral, 1, None, closed="left"), None],
        "window_counts": [StrOptions({"gensim", "exact"}), None],
        "per_topic": ["boolean"],
    }
)
def coherence(
    model_or_components: object,
    X: object = None,
    y: object = None,
    *,
    measure: Literal["npmi", "u_mass", "c_v", "c_npmi", "c_uci"] = "npmi",
    n_words: int = 10,
    texts: Sequence[Sequence[str]] | None = None,
    feature_names: ArrayLike | None = None,
    window_size: int | None = None,
    window_counts: Literal["gensim", "exact"] | None = None,
    per_topic: bool = False,
) -> float | FloatArray:
    """Measure how often the most probable words of a topic occur together; higher is better.

    Read more on the guide page "Topic coherence, diversity and stability".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        An estimator with ``components_`` (of this library, or scikit-learn's LatentDirichletAllocation), a
        fitted pipeline or search that ends in one, or the topics of another library.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features), default=None
        Word counts of the reference documents, or the input of the pipeline. A document contains a word if
        its count is positive. Required by 'npmi' and 'u_mass'; the other measures ignore it.
    y : None
        Ignored, for use as a scorer.
    measure : {'npmi', 'u_mass', 'c_v', 'c_npmi', 'c_uci'}, default='npmi'
        P is the share of documents or windows that contain a word or both words.

        - 'npmi': mean over pairs of words of log(P(i, j) / (P(i) P(j))) / -log P(i, j) over documents, in
          [-1, 1]: 1 for words that always occur together, 0 for independent words, -1 for words that never
          do.
        - 'u_mass': mean over pairs of log((P(i, j) + 1e-12) / P(j)) over documents; word j is the more
          probable word in the topic. The best value is 0.
        - 'c_npmi': 'npmi' over windows of 10 tokens, with 1e-12 added to P(i, j).
        - 'c_uci': mean over pairs of log((P(i, j) + 1e-12) / (P(i) P(j))) over windows of 10 tokens.
        - 'c_v': each word has a vector of its NPMI with each word of the topic, itself included, over
          windows of 110 tokens. The measure is the mean cosine between a vector and the sum of all vectors.
    n_words : int, default=10
        Number of words per topic, from 2 to n_features. Ties are broken by column order.
    texts : sequence of sequences of str, default=None
        Tokens of each document in text order. Only for 'c_v', 'c_npmi' and 'c_uci'.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns, spelled as in the texts. If None, the words of the pipeline or
        ``feature_names_in_`` of the estimator.
    window_size : int, default=None
        Number of tokens per window. Only for 'c_v', 'c_npmi' and 'c_uci'. If None, 110 for 'c_v' and 10 for
        the others. A shorter text is one window.
    window_counts : {'gensim', 'exact'}, default=None
        Rule that decides whether a window contains a word. Only for 'c_v', 'c_npmi' and 'c_uci'. None means
        'gensim'. 'exact': the word is among its tokens. 'gensim': as 'exact', but a word that leaves the
        window counts as absent until it next enters, even if another occurrence is inside. Most published
        values use 'gensim'. The rules differ only for words repeated within a window.
    per_topic : bool, default=False
        Whether to return the coherence of each topic instead of the mean.

    Returns
    -------
    coherence : float or ndarray of shape (n_components,)
        Never NaN; see Notes.

    Raises
    ------
    ValueError
        If n_words exceeds the vocabulary size, a required argument is missing, or there are no documents or
        tokens.

    See Also
    --------
    topic_diversity : Measure repetition between topics, which coherence ignores.
    document_completion : Held-out likelihood.

    Notes
    -----
    - If a word occurs nowhere, its pairs score -1 in 'npmi' and 'c_npmi', and log 1e-12, the minimum, in
      'c_uci'. In 'u_mass' a pair scores 0 if word j occurs nowhere, as in gensim. In 'c_v' the word scores 0
      and does not affect the others.
    - A word in all documents is independent of all others and scores 0 in 'npmi'. In 'c_npmi' a pair in all
      windows scores -1, because only the added 1e-12 remains in both logarithms.
    - Empty documents and texts count. If a topic has fewer than n_words words of positive probability,
      others are added in column order.
    - Values agree with CoherenceModel of gensim where gensim's are finite. For 'u_mass', Mimno et al. add 1
      to the number of documents with both words; this function and gensim add 1e-12 to their share.
    - Cost grows with the number of occurrences of top words.

    References
    ----------
    G. Bouma, "Normalized (pointwise) mutual information in collocation extraction", GSCL 2009: NPMI.

    J. H. Lau, D. Newman and T. Baldwin, "Machine reading tea leaves: automatically evaluating topic
    coherence and topic model quality", EACL 2014: mean NPMI over pairs.

    D. Mimno, H. Wallach, E. Talley, M. Leenders and A. McCallum, "Optimizing semantic coherence in topic
    models", EMNLP 2011, equation 1: 'u_mass'.

    M. Röder, A. Both and A. Hinneburg, "Exploring the space of topic coherence measures", WSDM 2015: 'c_v',
    'c_npmi' and 'c_uci'.

    Examples
    --------
    >>> from sktopic.metrics import coherence
    >>> components = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.5, 0.1, 0.4]]
    >>> X = [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 3], [0, 0, 1, 1]]
    >>> coherence(components, X, n_words=2, per_topic=True)
    array([ 1., -1.])
    >>> texts = [["cat", "dog", "cat"], ["dog", "cat"], ["sun", "sky", "sky"], ["sky", "sun"]]
    >>> names = ["cat", "dog", "sun", "sky"]
    >>> options = {"texts": texts, "feature_names": names, "n_words": 2, "per_topic": True}
    >>> coherence(components, measure="c_v", **options).round(2)
    array([1.  , 0.03])
    """
    topics = plug_in_topics(model_or_components)
    top = top_columns(topics, n_words)
    if measure in WINDOW_SIZES:
        _check_texts(measure, texts)
        names = _names(model_or_components, feature_names, len(topics.store), measure)
        _check_spelling(texts, names)
        size = WINDOW_SIZES[measure] if window_size is None else window_size
        together, total = _windows_together(texts, names, top, size, window_counts == "exact")
    else:
        _check_no_texts(measure, X, texts, window_size, window_counts)
        model_or_components, X = after_pipeline(model_or_components, X)
        names = column_names(model_or_components)
        if feature_names is not None:
            names = word_names(None, feature_names, len(topics.store))
        together, total = _documents_together(check_documents(X, topics, names), top)
    values = MEASURES[measure](together, total)
    return values if per_topic else float(values.mean())


@validate_params({"n_words": [Interval(Integral, 1, None, closed="left")]})
def topic_diversity(
    model_or_components: object, X: object = None, y: object = None, *, n_words: int = 25
) -> float:
    """Measure the share of distinct words among the top words of all topics; higher is better.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `coherence`.
    X, y : None
        Ignored, for use as a scorer.
    n_words : int, default=25
        Number of words per topic, from 1 to n_features. Ties are broken by column order.

    Returns
    -------
    diversity : float
        1 if no word is shared; 1 / n_components if all topics have the same words.

    Raises
    ------
    ValueError
        If n_words exceeds the vocabulary size.

    See Also
    --------
    coherence : Measure how often these words occur together.

    Notes
    -----
    The maximum for K topics over V words is the smaller of 1 and V / (K * n_words).

    References
    ----------
    A. B. Dieng, F. J. R. Ruiz and D. M. Blei, "Topic modeling in embedding spaces", TACL 8, 2020,
    section 6.

    Examples
    --------
    >>> from sktopic.metrics import topic_diversity
    >>> topic_diversity([[0.5, 0.4, 0.1, 0.0], [0.0, 0.5, 0.1, 0.4]], n_words=2)
    0.75
    """
    top = top_columns(plug_in_topics(model_or_components), n_words)
    return len(np.unique(top)) / top.size


def top_columns(topics, n_words):
    """Return columns of the n_words most probable words, ndarray of shape (n_components, n_words).

    Parameters
    ----------
    topics : TopicProbabilities
    """
    n_features = len(topics.store)
    if n_words > n_features:
        raise ValueError(f"n_words={n_words}; the topics have {n_features} words, and no more are allowed.")
    return largest(topics.components(), n_words)


# Checks of the input


def _check_texts(measure, texts):
    if texts is None:
        raise ValueError(
            f"texts=None; measure={measure!r} counts windows of tokens and needs a list of tokens for each "
            "document. 'npmi' and 'u_mass' count documents of X instead."
        )
    for i, text in enumerate(texts):
        if isinstance(text, str | bytes) or not hasattr(text, "__len__"):
            raise ValueError(
                f"texts[{i}] is a {type(text).__name__}; a list of tokens is allowed, such as text.split()."
            )
        if isinstance(next(iter(text), None), (list, np.ndarray)):
            raise ValueError(f"texts[{i}] has lists in place of tokens; a list of tokens is allowed.")
    if not any(len(text) for text in texts):
        raise ValueError(f"texts has no tokens in {len(texts)} documents; at least one is needed.")


def _check_spelling(texts, names):
    words = set(names)
    if not any(token in words for text in texts for token in text):
        raise ValueError(
            f"texts has none of the {len(names)} words of the topics, such as {names[0]!r}; tokens must be "
            "spelled like the names of the columns."
        )


def _check_no_texts(measure, X, texts, window_size, window_counts):
    windows = {"texts": texts, "window_size": window_size, "window_counts": window_counts}
    for name, value in windows.items():
        if value is not None:
            raise ValueError(
                f"{name} is given, but measure={measure!r} counts documents of X; it is allowed with 'c_v', "
                "'c_npmi' and 'c_uci'."
            )
    if X is None:
        raise ValueError(f"X=None; measure={measure!r} counts documents and needs a matrix of word counts.")
    if (X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else None) == 0:
        raise ValueError(f"X has 0 documents; measure={measure!r} needs at least one.")


def _names(model_or_components, feature_names, n_features, measure):
    """Return the words of the columns, ndarray of shape (n_features,), dtype object."""
    known = column_names(model_or_components)
    if feature_names is None and known is None:
        raise ValueError(
            f"feature_names=None; measure={measure!r} looks for words in the texts by their names, and the "
            "model has none. Give get_feature_names_out() of the vectorizer."
        )
    names = word_names(None, known if feature_names is None else feature_names, n_features)
    distinct, counts = np.unique(names.astype(str), return_counts=True)
    if counts.max() > 1:
        raise ValueError(
            f"feature_names has {distinct[counts.argmax()]!r} more than once; distinct words are allowed."
        )
    return names


# Numbers of documents or windows that contain both words of a pair, for each topic. The diagonal holds the
# numbers for single words.


def _documents_together(documents, top):
    """Return (ndarray of shape (n_components, n_words, n_words), number of documents)."""
    words, top = _renumbered(top)
    together, n_documents = np.zeros((*top.shape, top.shape[1])), 0
    for X in documents.blocks():
        for first in range(0, X.shape[0], DOCUMENTS_AT_ONCE):
            rows = np.arange(first, min(first + DOCUMENTS_AT_ONCE, X.shape[0]))
            counts = canonical_counts(X, rows)
            presence = sp.csc_array(counts[:, words])
            presence.data = np.ones(presence.nnz, dtype=np.int64)
            _add_pairs(presence, top, together)
        n_documents += X.shape[0]
    return together, n_documents


def _add_pairs(presence, top, together):
    """Add the numbers of documents with both words of a pair; presence: documents by words."""
    for first in range(0, len(top), TOPICS_AT_ONCE):
        group = slice(first, first + TOPICS_AT_ONCE)
        columns, local = _renumbered(top[group])
        part = presence[:, columns]
        pairs = (part.T @ part).toarray()
        together[group] += pairs[local[:, :, None], local[:, None, :]]


def _windows_together(texts, names, top, size, exact):
    """Return (ndarray of shape (n_components, n_words, n_words), number of windows).

    Windows of all texts are numbered consecutively, so that each word occupies ranges of windows.
    """
    columns, top = _renumbered(top)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    size = min(size, int(lengths.max()))
    n_windows = np.maximum(lengths - size + 1, 1)
    total = int(n_windows.sum())
    word, text, position = _occurrences(texts, lengths, names[columns])
    offset = (np.cumsum(n_windows) - n_windows)[text]
    enters = offset + np.maximum(position - size + 1, 0)
    leaves = offset + np.minimum(position + 1, n_windows[text])
    if exact:
        # Windows shared by two occurrences of a word are assigned to the first.
        again, enters = np.flatnonzero(word[1:] == word[:-1]) + 1, enters.copy()
        enters[again] = np.maximum(enters[again], leaves[again - 1])
    else:
        word, enters, leaves = _gensim_ranges(word, enters, leaves, total)
    bounds = np.searchsorted(word, np.arange(len(columns) + 1))
    ranges = [(enters[i:j], leaves[i:j]) for i, j in pairwise(bounds)]
    return np.array([_lengths_in_common([ranges[w] for w in topic]) for topic in top]), total


def _occurrences(texts, lengths, words):
    """Return the index, text and position of each occurrence of the words, sorted in this order."""
    index = {word: i for i, word in enumerate(words)}
    tokens = chain.from_iterable(texts)
    found = np.fromiter((index.get(token, -1) for token in tokens), dtype=np.int64, count=lengths.sum())
    at = np.flatnonzero(found >= 0)
    at = at[np.argsort(found[at], kind="stable")]
    first = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(lengths)), lengths)[at]
    return found[at], text, at - first[text]


def _gensim_ranges(word, enters, leaves, total):
    """Return ranges of windows in which gensim counts a word: until the first occurrence inside leaves."""
    row = word * (total + 1)
    first = np.searchsorted(row + leaves, row + enters, side="right")
    kept = np.flatnonzero(np.diff(first, prepend=-1))
    return word[kept], enters[kept], leaves[first[kept]]


def _lengths_in_common(ranges):
    """Return the number of windows shared by each pair of words, ndarray of shape (n_words, n_words).

    Parameters
    ----------
    ranges : list of (starts, stops)
        Disjoint ranges of each word.
    """
    n_words = len(ranges)
    edges = np.concatenate([edge for pair in ranges for edge in pair])
    sizes = [len(starts) for starts, _ in ranges]
    which = np.repeat(np.arange(2 * n_words), np.repeat(sizes, 2))
    step = np.zeros((len(edges), n_words), dtype=np.int8)
    step[np.arange(len(edges)), which // 2] = 1 - 2 * (which % 2)
    order = np.argsort(edges, kind="stable")
    present = np.cumsum(step[order], axis=0, dtype=np.int8)[:-1].astype(np.float64)
    lengths = np.diff(edges[order])
    return present.T @ (present * lengths[:, None])


def _renumbered(values):
    """Return the distinct values in ascending order, and the index of each value among them."""
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, places.reshape(values.shape)


# Measures: ndarray of shape (n_components,) from the counts of pairs and the number of documents or windows


def _npmi(together, total):
    """Return the mean NPMI of pairs: -1 if they never occur together, 0 if they are in all documents."""
    npmi = np.where(together > 0, 0.0, -1.0)
    usual = (together > 0) & (together < total)
    both, chance = together[usual] / total, _chance(together / total)[usual]
    npmi[usual] = np.log(both / chance) / -np.log(both)
    return _mean_over_pairs(npmi)


def _c_npmi(together, total):
    """Return the mean NPMI of pairs with a smoothed joint probability."""
    return _mean_over_pairs(_smoothed_npmi(together, total, nowhere=-1.0))


def _c_uci(together, total):
    """Return the mean PMI of pairs with a smoothed joint probability."""
    both = together / total + EPSILON
    return _mean_over_pairs(_log_ratio(both, _chance(together / total), nowhere=np.log(EPSILON)))


def _c_v(together, total):
    """Return the mean cosine between the NPMI vector of each word and the sum of these vectors."""
    vectors = _smoothed_npmi(together, total, nowhere=0.0)
    units = normalize(vectors.reshape(-1, vectors.shape[2])).reshape(vectors.shape)
    return np.einsum("kij,kj->ki", units, normalize(vectors.sum(axis=1))).mean(axis=1)


def _u_mass(together, total):
    """Return the mean log-probability of a word given a higher-ranked word; 0 if that occurs nowhere."""
    above, below = np.triu_indices(together.shape[1], 1)
    both, above_alone = together[:, above, below] / total, together[:, above, above] / total
    ratio = np.divide(both + EPSILON, above_alone, out=np.ones_like(both), where=above_alone > 0)
    return np.log(ratio).mean(axis=1)


def _smoothed_npmi(together, total, nowhere):
    """Return NPMI of all pairs, shape of `together`; `nowhere` if a word of the pair occurs nowhere."""
    both = together / total + EPSILON
    # If a word occurs nowhere, log(both) is log(EPSILON).
    return _log_ratio(both, _chance(together / total), nowhere * -np.log(EPSILON)) / -np.log(both)


def _log_ratio(both, chance, nowhere):
    ratio = np.divide(both, chance, out=np.ones_like(both), where=chance > 0)
    return np.where(chance > 0, np.log(ratio), nowhere)


def _chance(both):
    """Return the joint probabilities if words were independent, from the actual joint probabilities."""
    alone = np.diagonal(both, axis1=1, axis2=2)
    return alone[:, :, None] * alone[:, None, :]


def _mean_over_pairs(values):
    first, second = np.triu_indices(values.shape[1], 1)
    return values[:, first, second].mean(axis=1)


MEASURES = {"npmi": _npmi, "u_mass": _u_mass, "c_v": _c_v, "c_npmi": _c_npmi, "c_uci": _c_uci}
