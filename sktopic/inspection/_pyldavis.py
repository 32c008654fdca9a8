"""The arrays that pyLDAvis takes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sktopic._estimators._plug_in import plug_in_topics, shown_words
from sktopic.inspection._inferred import infer_documents


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
    names = shown_words(model, feature_names, documents.counts.shape[1])
    with_words = documents.lengths > 0
    theta = documents.proportions[with_words].astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    return {
        "topic_term_dists": plug_in_topics(model).components(),
        "doc_topic_dists": theta,
        "doc_lengths": documents.lengths[with_words],
        "vocab": names,
        "term_frequency": np.asarray(documents.counts.sum(axis=0, dtype=np.float64)).ravel(),
    }
