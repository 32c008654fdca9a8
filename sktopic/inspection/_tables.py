"""The words and the documents that say most about each topic."""

from numbers import Integral
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sktopic._estimators._plug_in import plug_in_topics, shown_words
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._typing import FloatArray, FloatingArray, IntArray
from sktopic.inspection._inferred import proportions


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
@validate_params(
    {
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "return_weights": ["boolean"],
    }
)
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
