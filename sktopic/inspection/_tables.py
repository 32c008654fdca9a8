"""Names, words and documents of topics, shared by other tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._plug_in import (
    after_pipeline,
    check_documents,
    column_names,
    given_topic_names,
    in_one_state,
    is_estimator,
    last_step,
    plug_in_topics,
    shown_words,
)
from sktopic._estimators._topic_model import TopicModel
from sktopic._estimators._topic_names import handles, joined, topic_numbers
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._surrogates import shown
from sktopic._runtime._texts import plain_texts
from sktopic._typing import FloatArray, FloatingArray, IntArray

# Number of words that stand for a topic beside its name.
N_LABEL_WORDS = 3
# Maximum length of a name or word in a plot: long words such as addresses would fill it.
MOST_CHARACTERS = 40


def name_topics(
    model: object,
    names: Sequence[str] | Mapping[Any, str] | Callable[..., str],
    *,
    documents: Sequence[Sequence[str]] | NDArray[Any] | None = None,
) -> None:
    """Give topics names that appear in feature names, tables and plots.

    Read more on the guide page "Look at topics".

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a pipeline or search that ends in one. It is changed in place.
    names : sequence of str of shape (n_components,), dict of {int or str: str}, or callable
        One name per topic, or a dict from topic numbers (or present names) to names; other topics keep their
        names. A pandas Series is read as a dict, unless its index is 0, 1, 2 and so on. To remove a name,
        pass a default name, "onlineemlda3" or "Topic 3" for topic 3. A callable gets a tuple of the ten most
        probable words of a topic, most probable first, and returns its name. It may ask a language model.
    documents : sequence of sequences of str, one for each topic, default=None
        Texts of typical documents of each topic. Only with a callable, which then gets two tuples: the words
        and the texts.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError, ValueError
        If the model is not from this library, or if names are empty, repeated, not strings, do not match its
        topics, or are default names of other topics, or if a callable is given and the words are unknown. The
        old names are kept.
    RuntimeError
        If the model is trained while a callable names its topics.

    See Also
    --------
    plot_topics : Plot topics chosen by name or number.

    Notes
    -----
    - Functions and methods that take topics, such as ``model.drop_topics(["left"])``, take names or numbers.
      Refer to unnamed topics as in tables ("Topic 3") or as in ``get_feature_names_out``.
    - The names appear in ``model.topic_names_``, ``get_feature_names_out`` and the columns of
      ``set_output(transform="pandas")``.
    - ``partial_fit``, ``save``, pickles and copies keep the names, even if topics are renumbered. The name
      of a dropped topic never passes to another topic. Merged topics take the name of the first.
    - ``fit`` and ``sklearn.base.clone`` start without names.
    - Training may change what a topic is about. Check the names afterwards.
    - If a callable raises an error, a note names the topic. ``functools.cache`` keeps the answers that it has
      given, so you can correct repeated names and call again.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import name_topics
    >>> from sktopic.lda import OnlineEMLDA
    >>> lda = OnlineEMLDA(n_components=4, random_state=0).fit(make_bars(100, random_state=0).data)
    >>> name_topics(lda, {0: "left", 3: "top"})
    >>> lda.topic_names_
    array(['left', 'onlineemlda1', 'onlineemlda2', 'top'], dtype=object)
    >>> lda.merge_topics([["left", "top"]]).n_components_
    3
    """
    estimator = last_step(model)
    if isinstance(last_step(getattr(estimator, "estimator", None)), TopicModel):
        check_is_fitted(estimator)  # a search or DaskTopicModel
    if not isinstance(estimator, TopicModel):
        raise TypeError(
            f"model is a {type(estimator).__name__}; a fitted topic model of sktopic, or a pipeline that "
            "ends in one, is allowed."
        )
    if callable(names):
        read = in_one_state(model)
        names = _asked_names(read, names, documents)
        if last_step(read)._state is not estimator._state:
            raise RuntimeError(
                f"this {type(estimator).__name__} was trained while the function named its topics. Call "
                "name_topics again."
            )
    elif documents is not None:
        raise ValueError("documents is invalid: must be None unless names is a function.")
    estimator._give_topic_names(names)


def _asked_names(model, ask, documents):
    """Return the answers of a function to the top words, and documents if given, of each topic, list."""
    words = top_words(model)
    if column_names(model) is None:
        raise ValueError(
            "names is a function of words, but the model does not know its words. Call its set_feature_names "
            "with get_feature_names_out() of the vectorizer."
        )
    given = [words]
    if documents is not None:
        given.append([plain_texts(each, f"documents[{topic}]") for topic, each in enumerate(documents)])
        if len(given[1]) != len(words):
            raise ValueError(f"documents has {len(given[1])} entries, but the model has {len(words)} topics.")
    names = []
    for topic, shown_to in enumerate(zip(*given)):
        try:
            names.append(ask(*map(tuple, shown_to)))
        except Exception as error:
            error.add_note(f"This error was raised by the function given as names, for topic {topic}.")
            raise
    return names


def handles_of_topics(model_or_components, n_components):
    """Return the names by which topics can be chosen (see `handles`)."""
    prefix = type(last_step(model_or_components)).__name__.lower()
    return handles(given_topic_names(model_or_components), n_components, prefix)


def names_in_table(table):
    """Return the names by which the topics of a table can be chosen (see `handles`), in ascending order."""
    missing = table.loc[table["name"].isna(), "topic"]
    if len(missing):
        raise ValueError(
            f"name=nan of topic {missing.iloc[0]} is invalid: must be a str. pandas.read_csv reads names "
            "such as 'NA' or 'null' as missing; pass it keep_default_na=False, na_values=['']."
        )
    return {int(topic): (name,) for topic, name in sorted(set(zip(table["topic"], table["name"])))}


def chosen_topics(topics, names):
    """Return topics to plot, given by number or name, as a list of int; all if topics is None.

    names : dict of tuples of str by the number of a topic, as `handles_of_topics` returns
    """
    chosen = list(names) if topics is None else topic_numbers(topics, names)
    if not chosen:
        raise ValueError(f"topics={topics!r} is invalid: must have at least one topic.")
    return chosen


def check_table(table, columns, source):
    """Raise TypeError if a table lacks columns; source: the function that returns such tables."""
    missing = [name for name in columns if name not in getattr(table, "columns", ())]
    if missing:
        raise TypeError(
            f"the table is a {type(table).__name__} without columns {joined(missing)}; a table returned by "
            f"{source} is allowed."
        )


def label_of(name, words):
    """Return how plots call a topic: by its name and its first words, as one string."""
    return f"{shortened(name)}: {words}"


def label_words(model_or_components):
    """Return the first words of each topic, an object array of str (n_components,)."""
    words = top_words(model_or_components, n_words=N_LABEL_WORDS)
    return np.array([joined(some) for some in words], dtype=object)


def shortened(label, most=MOST_CHARACTERS):
    """Return the label as plots show it, str. most : number of characters"""
    label = shown(str(label))
    return label if len(label) <= most else f"{label[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


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
    """Return the most probable words of each topic.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        An estimator with ``components_`` (of this library, or scikit-learn's LatentDirichletAllocation), a
        pipeline or search that ends in one, or the topics of another library. Rows are normalized.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns. If None, the words known to the pipeline or ``feature_names_in_`` of the
        estimator; without these, "x0", "x1" and so on.
    n_words : int, default=10
        Number of words per topic, at most the vocabulary size.
    return_weights : bool, default=False
        Whether to also return the probabilities.

    Returns
    -------
    words : ndarray of str of shape (n_components, n_words), dtype object
        Words of each topic, most probable first. Ties are broken by column order.
    weights : ndarray of shape (n_components, n_words)
        Their probabilities. Only with ``return_weights=True``.

    See Also
    --------
    plot_topics : Plot these words.

    Examples
    --------
    >>> from sktopic.inspection import top_words
    >>> components = [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]
    >>> top_words(components, ["apple", "pear", "plum"], n_words=2)
    array([['apple', 'plum'],
           ['pear', 'plum']], dtype=object)
    """
    model_or_components = in_one_state(model_or_components)
    components = plug_in_topics(model_or_components).components()
    names = shown_words(model_or_components, feature_names, components.shape[1])
    order = largest(components, n_words)
    if return_weights:
        return names[order], np.take_along_axis(components, order, axis=1)
    return names[order]


@validate_params({"n_documents": [Interval(Integral, 1, None, closed="left")]})
def top_documents(model: object, X: object, *, n_documents: int = 5) -> tuple[IntArray, FloatingArray]:
    """Return the documents with the largest proportions of each topic.

    Parameters
    ----------
    model : fitted estimator
        An estimator whose ``transform`` returns topic proportions, or a pipeline that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, or the input of the pipeline.
    n_documents : int, default=5
        Number of documents per topic, at most the number of rows of X.

    Returns
    -------
    documents : ndarray of shape (n_components, n_documents), dtype int
        Rows of X, largest proportion first. Ties are broken by row order.
    proportions : ndarray of shape (n_components, n_documents)
        Proportions of the topic in these documents.

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
    """Return the arguments of ``pyLDAvis.prepare``, for an interactive map of topics in a browser.

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``components_`` and ``transform``, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts (or pipeline input) that determine the sizes of topics, usually the training documents.
        Documents without words are left out.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns, as in `top_words`.

    Returns
    -------
    data : dict
        topic_term_dists : ndarray of shape (n_components, n_features)
            Topic-word probabilities; rows sum to one.
        doc_topic_dists : ndarray of shape (n_documents, n_components)
            Topic proportions of documents with words; rows sum to one.
        doc_lengths : ndarray of shape (n_documents,)
            Number of tokens of each of these documents.
        vocab : ndarray of str of shape (n_features,), dtype object
            The words.
        term_frequency : ndarray of shape (n_features,)
            Number of tokens of each word.

    Notes
    -----
    pyLDAvis numbers topics from 1 by frequency. Pass ``sort_topics=False`` and ``start_index=0`` to keep the
    order and numbers of ``components_``.

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
    model = in_one_state(model)
    documents = infer_documents(model, X)
    with_words = documents.lengths > 0
    return {
        "topic_term_dists": plug_in_topics(model, "model").components(),
        "doc_topic_dists": normalize(documents.proportions[with_words].astype(np.float64), norm="l1"),
        "doc_lengths": documents.lengths[with_words],
        "vocab": shown_words(model, feature_names, documents.counts.shape[1]),
        "term_frequency": np.asarray(documents.counts.sum(axis=0, dtype=np.float64)).ravel(),
    }


class InferredCorpus(NamedTuple):
    """Documents with their inferred topic proportions.

    Attributes
    ----------
    counts : CSR array of shape (n_documents, n_features)
        Word counts, sorted and without duplicates.
    lengths : ndarray of shape (n_documents,)
        Number of tokens of each document.
    proportions : ndarray of shape (n_documents, n_components)
        Topic proportions.
    """

    counts: object
    lengths: np.ndarray
    proportions: np.ndarray


def infer_documents(model, X):
    """Return the InferredCorpus of X, the input of a pipeline; ValueError if no document has words."""
    topics, names = plug_in_topics(model, "model"), column_names(model)
    model, X = after_pipeline(model, X)
    theta = proportions(model, X)
    counts = canonical_counts(check_documents(X, topics, names).matrix())
    lengths = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()
    if not lengths.any():
        raise ValueError("X has no document with words; at least one is needed.")
    return InferredCorpus(counts, lengths, theta)


def typical_documents(lengths, proportions, n_documents):
    """Return non-empty documents with the largest proportions, int of shape (n_components, n_documents)."""
    with_words = np.flatnonzero(lengths)
    return with_words[largest(np.ascontiguousarray(proportions[with_words].T), n_documents)]


def proportions(model, X):
    """Return topic proportions of documents, ndarray of shape (n_samples, n_components)."""
    estimator, X = after_pipeline(model, X)
    if not (is_estimator(estimator) and hasattr(estimator, "transform")):  # data frames have one, too
        raise TypeError(
            f"model is a {type(estimator).__name__}; only a fitted estimator with transform can infer the "
            "topic proportions of documents."
        )
    return np.asarray(estimator.transform(X))
