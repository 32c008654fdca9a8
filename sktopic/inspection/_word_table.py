"""A long table of the topics of words in documents."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._plug_in import after_pipeline, in_one_state, shown_words, topic_labels
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


@validate_params({"n_topics": [Interval(Integral, 1, None, closed="left")]})
def word_topic_table(
    model: object,
    X: object,
    feature_names: ArrayLike | None = None,
    *,
    n_topics: int = 3,
) -> DataFrame:
    """Return a long table of the topics of each word in each document, with their probabilities.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, or the input of the pipeline.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns, as in `top_words`.
    n_topics : int, default=3
        Number of most probable topics of each word. If the model has fewer topics, all.

    Returns
    -------
    table : DataFrame
        One row per document, word of the document and topic: documents in the order of X, words in the order
        of columns, the most probable topics first. The columns are

        - document: row of X;
        - word: the word;
        - count: tokens of the word in the document;
        - topic: number of the topic;
        - name: name given by `name_topics`, or "Topic 0" and so on;
        - probability: probability that a token of this word in this document belongs to the topic.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError
        If the model is not from this library.

    See Also
    --------
    sktopic.OnlineEMLDA.word_topics : The same topics and probabilities as arrays.
    sktopic.OnlineEMLDA.iter_word_topics : The same, some documents at a time.

    Notes
    -----
    The table has n_topics rows for each stored entry of X, about 50 bytes each. For large corpora, pass some
    of the documents at a time.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import word_topic_table
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(X)
    >>> table = word_topic_table(lda, X, n_topics=1)
    >>> list(table.columns)
    ['document', 'word', 'count', 'topic', 'name', 'probability']
    """
    pandas, model = import_pandas(), in_one_state(model)
    estimator, X = after_pipeline(model, X)
    if not isinstance(estimator, TopicModel):
        raise TypeError(
            f"model is a {type(estimator).__name__}; a fitted topic model of sktopic, or a pipeline that "
            "ends in one, is allowed."
        )

    def word_topics(inference, documents, workers, progress):
        matrix = documents.matrix()
        counts = canonical_counts(matrix)
        shown = counts.astype(np.int64) if matrix.dtype.kind in "iu" else counts
        return shown, *inference.word_topics(counts, n_topics, workers, progress)

    counts, topics, probabilities = estimator._answer(X, word_topics, "word_topics")
    words = shown_words(model, feature_names, counts.shape[1])
    names = np.array(topic_labels(estimator, estimator.n_components_), dtype=object)
    columns = {
        "document": np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)),
        "word": words[counts.indices],
        "count": counts.data,
    }
    n_topics = topics.shape[1]
    return pandas.DataFrame(
        {
            **{column: values.repeat(n_topics) for column, values in columns.items()},
            "topic": topics.ravel().astype(np.int64),
            "name": names[topics.ravel()],
            "probability": probabilities.ravel(),
        }
    )
