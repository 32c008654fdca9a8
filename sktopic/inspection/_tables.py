"""Names, words and documents of topics, and what other tables and pictures are computed from."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize

from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._plug_in import (
    after_pipeline,
    check_documents,
    column_names,
    last_step,
    plug_in_topics,
    shown_words,
)
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._surrogates import shown
from sktopic._typing import FloatArray, FloatingArray, IntArray

# Characters of a name or word in a picture, which an address among the words would fill.
MOST_CHARACTERS = 40


def name_topics(model: object, names: Sequence[str] | Mapping[int, str]) -> None:
    """Give topics names, which then stand in the names of features, in tables and in plots.

    Read more in :doc:`/guide/inspection`.

    Parameters
    ----------
    model : fitted estimator
        One of this library, or a pipeline or search that ends in one. It is changed.
    names : sequence of str of shape (n_components,), or dict of {int: str}
        A name for each topic, or names by the numbers of topics; topics that the dict lacks keep the names
        they have. The name that ``get_feature_names_out`` has for a topic without one, such as "onlineemlda3"
        for topic 3, takes its name away.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError, ValueError
        If it is none of this library; if names are not strings, empty, not distinct, or not those of its
        topics. The names before stay then.

    Notes
    -----
    ``model.topic_names_`` is then what ``get_feature_names_out`` returns, and the columns of
    ``set_output(transform="pandas")`` are called so.

    Names stay with topics: ``partial_fit``, ``save``, pickles and copies keep them, also where topics come
    and go and their numbers change; the name of a topic that is dropped never goes to another, and topics
    that are merged have the name of the first. ``fit`` and ``sklearn.base.clone`` start without names, since
    they start without topics. After training that changes topics much, look at the names again: they are not
    taken back where a topic has drifted.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import name_topics
    >>> from sktopic.lda import OnlineEMLDA
    >>> lda = OnlineEMLDA(n_components=4, random_state=0).fit(make_bars(100, random_state=0).data)
    >>> name_topics(lda, {0: "left", 3: "top"})
    >>> lda.topic_names_
    array(['left', 'onlineemlda1', 'onlineemlda2', 'top'], dtype=object)
    """
    estimator = last_step(model)
    if not isinstance(estimator, TopicModel):
        raise TypeError(
            f"model is a {type(estimator).__name__}; a fitted topic model of sktopic, or a pipeline that "
            "ends in one, is allowed."
        )
    estimator._give_topic_names(names)


def topic_labels(model_or_components, n_components):
    """The names that topics were given, and "Topic 0" and so on for the others, list of str."""
    names = getattr(last_step(model_or_components), "_given_topic_names", dict)()
    return [names.get(topic, f"Topic {topic}") for topic in range(n_components)]


def shortened(label):
    """The label as pictures show it, str."""
    label = shown(str(label))
    return (
        label if len(label) <= MOST_CHARACTERS else f"{label[: MOST_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    )


@overload
def top_words(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    n_words: int = 10,
    return_weights: Literal[False] = False,
) -> NDArray[np.object_]: ...
@overload
def top_words(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    n_words: int = 10,
    return_weights: Literal[True],
) -> tuple[NDArray[np.object_], FloatArray]: ...
@validate_params({"n_words": [Interval(Integral, 1, None, closed="left")], "return_weights": ["boolean"]})
def top_words(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    n_words: int = 10,
    return_weights: bool = False,
) -> NDArray[np.object_] | tuple[NDArray[np.object_], FloatArray]:
    """The most probable words of each topic.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        An estimator with ``components_`` (any of this library, or scikit-learn's
        LatentDirichletAllocation), a pipeline or search that ends in one, or the topics of any other
        library. Rows are normalised.
    feature_names : array-like of str of shape (n_features,), default=None
        The words. None: those that the steps of a pipeline know, or ``feature_names_in_`` of the
        estimator, and where there are none, "x0", "x1" and so on.
    n_words : int, default=10
        Words of each topic; all where the vocabulary has fewer.
    return_weights : bool, default=False
        Whether to return the probabilities too.

    Returns
    -------
    words : ndarray of str of shape (n_components, n_words), dtype object
        The words of each topic, the most probable first; equally probable ones in the order of the
        columns.
    weights : ndarray of shape (n_components, n_words)
        Their probabilities. Only with ``return_weights=True``.

    See Also
    --------
    plot_topics : The same as a picture.

    Examples
    --------
    >>> from sktopic.inspection import top_words
    >>> components = [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]
    >>> top_words(components, ["apple", "pear", "plum"], n_words=2)
    array([['apple', 'plum'],
           ['pear', 'plum']], dtype=object)
    """
    components = plug_in_topics(model_or_components).components()
    names = shown_words(model_or_components, feature_names, components.shape[1])
    order = largest(components, n_words)
    if return_weights:
        return names[order], np.take_along_axis(components, order, axis=1)
    return names[order]


@validate_params({"n_documents": [Interval(Integral, 1, None, closed="left")]})
def top_documents(model: object, X: object, *, n_documents: int = 5) -> tuple[IntArray, FloatingArray]:
    """The documents with the largest proportion of each topic.

    Parameters
    ----------
    model : fitted estimator
        An estimator whose ``transform`` returns topic proportions, or a pipeline that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, or whatever else ``model.transform`` takes.
    n_documents : int, default=5
        Documents of each topic; all where there are fewer.

    Returns
    -------
    documents : ndarray of shape (n_components, n_documents), dtype int
        Rows of X, the one with the largest proportion first; of equal ones the first in X.
    proportions : ndarray of shape (n_components, n_documents)
        The proportions of the topic in these documents.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import top_documents
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> documents, proportions = top_documents(lda, X, n_documents=3)
    >>> documents.shape
    (10, 3)
    """
    by_topic = proportions(model, X).T
    documents = largest(by_topic, n_documents)
    return documents, np.take_along_axis(by_topic, documents, axis=1)


def pyldavis_data(
    model: object, X: object, feature_names: ArrayLike | None = None
) -> dict[str, NDArray[Any]]:
    """The arguments of ``pyLDAvis.prepare``, for an interactive map of topics in a browser.

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``components_`` and ``transform``, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts (or what else the pipeline takes) of the documents that say how frequent topics are,
        usually those of training. Documents without words say nothing of it and are left out.
    feature_names : array-like of str of shape (n_features,), default=None
        The words, as in `top_words`.

    Returns
    -------
    data : dict
        topic_term_dists : ndarray of shape (n_components, n_features)
            Topic-word probabilities; rows sum to one.
        doc_topic_dists : ndarray of shape (n_documents, n_components)
            Topic proportions of the documents that have words; rows sum to one.
        doc_lengths : ndarray of shape (n_documents,)
            Tokens of these documents.
        vocab : ndarray of str of shape (n_features,), dtype object
            The words.
        term_frequency : ndarray of shape (n_features,)
            Tokens of each word.

    Notes
    -----
    pyLDAvis numbers topics from 1, in the order of their frequency. With ``sort_topics=False`` and
    ``start_index=0`` it keeps the numbers of the rows of ``components_``.

    References
    ----------
    C. Sievert and K. Shirley, "LDAvis: a method for visualizing and interpreting topics", Workshop on
    Interactive Language Learning, Visualization, and Interfaces, 2014.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import pyldavis_data
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> data = pyldavis_data(OnlineEMLDA(n_components=10, random_state=0).fit(X), X)
    >>> data["doc_topic_dists"].shape
    (100, 10)
    >>> import pyLDAvis  # doctest: +SKIP
    >>> pyLDAvis.save_html(pyLDAvis.prepare(**data), "topics.html")  # doctest: +SKIP
    """
    documents = infer_documents(model, X)
    with_words = documents.lengths > 0
    return {
        "topic_term_dists": plug_in_topics(model).components(),
        "doc_topic_dists": normalize(documents.proportions[with_words].astype(np.float64), norm="l1"),
        "doc_lengths": documents.lengths[with_words],
        "vocab": shown_words(model, feature_names, documents.counts.shape[1]),
        "term_frequency": np.asarray(documents.counts.sum(axis=0, dtype=np.float64)).ravel(),
    }


class InferredCorpus(NamedTuple):
    """Documents with the topics that a model infers.

    Attributes
    ----------
    counts : CSR array of shape (n_documents, n_features)
        Word counts, sorted and without duplicates.
    lengths : ndarray of shape (n_documents,)
        Tokens of each document.
    proportions : ndarray of shape (n_documents, n_components)
        Topic proportions.
    """

    counts: object
    lengths: np.ndarray
    proportions: np.ndarray


def infer_documents(model, X):
    """Return the InferredCorpus of X, of which at least one has words; X is what a pipeline takes."""
    topics, names = plug_in_topics(model), column_names(model)
    model, X = after_pipeline(model, X)
    theta = proportions(model, X)
    counts = canonical_counts(check_documents(X, topics, names).matrix())
    lengths = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()
    if not lengths.any():
        raise ValueError("X has no document with words; at least one is needed.")
    return InferredCorpus(counts, lengths, theta)


def typical_documents(lengths, proportions, n_documents):
    """Documents with words of the largest proportions of each topic, (n_components, n_documents) of int."""
    with_words = np.flatnonzero(lengths)
    return with_words[largest(np.ascontiguousarray(proportions[with_words].T), n_documents)]


def proportions(model, X):
    """Topic proportions of documents, ndarray of shape (n_samples, n_components)."""
    if not hasattr(model, "transform"):
        raise TypeError(
            f"model is a {type(model).__name__}; only a fitted estimator with transform can infer the topic "
            "proportions of documents."
        )
    return np.asarray(model.transform(X))
