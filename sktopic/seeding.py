"""Priors from lists of words, and initial topics from documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sktopic._documents._feature_names import check_distinct
from sktopic._documents._input_messages import checked_documents
from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._constraints import MOST_TOPICS, checked_integer, checked_number
from sktopic._topics._prior import LARGEST, SMALLEST
from sktopic._topics._word_counts import DOCUMENT_SHARE
from sktopic._typing import FloatArray, MatrixLike

__all__ = ["document_components", "seed_prior"]


def document_components(
    X: MatrixLike,
    n_components: int,
    *,
    share: float = DOCUMENT_SHARE,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Return initial topics, each of which leans toward one document.

    Use them as ``components_init`` of a mini-batch method. Random topics are all nearly alike. Topics from
    documents differ from the start, so fewer of them stay empty. `OnlineVariationalLDA` and
    `StreamingVariationalLDA` start from such topics by default, with a share of 0.1.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the corpus or a part of it, >= 0.
    n_components : int
        Number of topics.
    share : float, default=0.1
        Weight of the document in its topic, in [0, 1]. The rest is the word frequencies of X.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of documents.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        Rows sum to one. Documents are drawn without replacement if enough documents have words.

    Raises
    ------
    ValueError
        If a parameter is out of range, or X has no words.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineVariationalLDA
    >>> from sktopic.seeding import document_components
    >>> bars = make_bars(500, random_state=0)
    >>> start = document_components(bars.data, 10, random_state=0)
    >>> lda = OnlineVariationalLDA(10, components_init=start, random_state=0).fit(bars.data)
    """
    n_components = checked_integer("n_components", n_components, 1, MOST_TOPICS)
    share = checked_number("share", share, 1.0)
    counts = canonical_counts(checked_documents(X, "document_components", dtype=np.float64))
    lengths = counts.sum(axis=1)
    with_words = np.flatnonzero(lengths > 0.0)
    if len(with_words) == 0:
        raise ValueError("X has no words; at least one is needed.")
    rng, again = check_random_state(random_state), len(with_words) < n_components
    chosen = rng.choice(with_words, n_components, replace=again)
    frequencies = counts.sum(axis=0) / lengths.sum()
    return share * counts[chosen].toarray() / lengths[chosen, None] + (1.0 - share) * frequencies


def seed_prior(
    groups: Mapping[Any, Iterable[Any]],
    feature_names: Iterable[Any],
    n_components: int,
    *,
    weight: float = 150.0,
    base: float | None = None,
    missing: Literal["error", "ignore"] = "error",
) -> sp.csr_array | NDArray[np.float64]:
    """Return a topic-word prior that gives some topics seed words.

    Use it as ``topic_word_prior`` of `OnlineEMLDA`, `OnlineVariationalLDA`, `StreamingVariationalLDA`,
    `HybridLDA` or `CollapsedGibbsLDA`. A prior acts during all of training, so seeds do not wash out as
    initial topics would. Mini-batch methods also start from topics that lean toward the prior.

    Read more on the guide page "Seed words".

    Parameters
    ----------
    groups : mapping of names or topics to words
        Groups of words. Each key is a name or the number of a topic. Named groups take the lowest topic
        numbers that are not keys, in the order of the mapping. A word may be in several groups.
    feature_names : sequence of str
        Words of the columns, such as ``vectorizer.get_feature_names_out()``.
    n_components : int
        Number of topics, at least one per group. Topics without a group are learned as usual.
    weight : float, default=150.0
        Dirichlet parameter of a word in the topic of its group, > 0, added to base if base is given. It acts
        like this number of tokens of the word in the topic. With small weights, frequent words may move to
        other topics. Large weights crowd out the other words of the topic.
    base : float or None, default=None
        Dirichlet parameter of all other entries, > 0. If None, the default of the estimator.
    missing : {'error', 'ignore'}, default='error'
        Whether to raise an error for words that are not in feature_names, or to ignore them.

    Returns
    -------
    prior : csr_array or ndarray of shape (n_components, n_features)
        If base is None, a sparse array with weight at the seeds. Estimators use their default for entries
        that are not stored. If base is given, an ndarray of base, with base + weight at the seeds.

    Raises
    ------
    ValueError
        If words are unknown (the message names them), feature names are repeated, a group has no words, there
        are more groups than topics, or a topic or parameter is out of range.
    TypeError
        If groups is not a mapping of names or numbers to words, or feature_names not a sequence of words.

    Examples
    --------
    >>> from sktopic.seeding import seed_prior
    >>> words = ["moon", "sea", "star", "sun"]
    >>> seed_prior({"sky": ["star", "moon"], 2: ["sea"]}, words, n_components=3).toarray()
    array([[150.,   0., 150.,   0.],
           [  0.,   0.,   0.,   0.],
           [  0., 150.,   0.,   0.]])

    Words can be pixels of an image. Here a topic gets three pixels of the first row:

    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineEMLDA
    >>> bars = make_bars(500, random_state=0)
    >>> prior = seed_prior({"first row": [0, 1, 2]}, range(25), n_components=10)
    >>> lda = OnlineEMLDA(n_components=10, topic_word_prior=prior, random_state=0).fit(bars.data)
    >>> sorted(lda.components_[0].argsort()[::-1][:5].tolist())
    [0, 1, 2, 3, 4]
    """
    n_components = checked_integer("n_components", n_components, 1, MOST_TOPICS)
    weight = checked_number("weight", weight, LARGEST, SMALLEST)
    if base is not None:
        base = checked_number("base", base, LARGEST, SMALLEST)
    if missing not in ("error", "ignore"):
        raise ValueError(f"missing={missing!r}: 'error' or 'ignore' is allowed.")
    # Mappings such as `vocabulary_` and sets are rejected: their order is not the order of columns.
    names = _checked_words(feature_names, "feature_names", "a sequence of words", (Mapping, Set))
    column = {name: i for i, name in enumerate(names)}
    check_distinct(names, "feature_names")
    topics = _topics(groups, n_components)
    words = {
        name: _checked_words(group, f"groups[{name!r}]", "a list of words") for name, group in groups.items()
    }
    unknown = sorted({word for group in words.values() for word in group if word not in column}, key=str)
    if unknown and missing == "error":
        raise ValueError(
            f"groups have words that feature_names lack: {', '.join(map(repr, unknown))}. Leave them out, or "
            "use missing='ignore'."
        )
    seeds = {
        (topics[name], column[word]) for name, group in words.items() for word in group if word in column
    }
    empty = [name for name in groups if not any(topic == topics[name] for topic, _ in seeds)]
    if empty:
        raise ValueError(
            f"groups {', '.join(map(repr, empty))} have no words of feature_names; at least one is needed."
        )
    rows, columns = np.array(sorted(seeds)).reshape(-1, 2).T
    shape = n_components, len(column)
    if base is None:
        return sp.csr_array((np.full(len(rows), weight), (rows, columns)), shape=shape)
    prior = np.full(shape, base)
    prior[rows, columns] += weight
    return prior


def _topics(groups, n_components):
    """Return the topic of each group."""
    if not isinstance(groups, Mapping):
        raise TypeError(
            f"groups is a {type(groups).__name__}; a mapping of names, or of numbers of topics, to words is "
            "allowed."
        )
    wrong = [name for name in groups if not isinstance(name, str) and not _is_number(name)]
    if wrong:
        raise TypeError(f"groups has the key {wrong[0]!r}; names and numbers of topics are allowed.")
    claimed = {int(name) for name in groups if _is_number(name)}
    outside = sorted(topic for topic in claimed if not 0 <= topic < n_components)
    if outside:
        raise ValueError(
            f"groups claim topics {', '.join(map(str, outside))}; with n_components={n_components}, 0 to "
            f"{n_components - 1} are allowed."
        )
    if len(groups) > n_components:
        raise ValueError(
            f"there are {len(groups)} groups; with n_components={n_components}, {n_components} are allowed."
        )
    free = (topic for topic in range(n_components) if topic not in claimed)
    return {name: int(name) if _is_number(name) else next(free) for name in groups}


def _is_number(value):
    return isinstance(value, Integral) and not isinstance(value, bool)


def _checked_words(words, owner, allowed, unordered=()):
    """Return the words as a list; TypeError if they are not given one by one."""
    if isinstance(words, (str, bytes, *unordered)) or not isinstance(words, Iterable):
        raise TypeError(f"{owner} is a {type(words).__name__}; {allowed} is allowed.")
    words = list(words)
    for word in words:
        try:
            hash(word)
        except TypeError:
            raise TypeError(f"{owner} has {word!r:.40}; words are allowed.") from None
    return words
