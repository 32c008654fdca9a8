"""Topic proportions of documents by a step, with all else held fixed."""

import math

import numpy as np

from sktopic._documents import answer_dtype, document_groups
from sktopic._progress import NOT_SHOWN


def infer_proportions(X, topics, prior, step, key, workers, progress=NOT_SHOWN):
    """theta of documents X, ndarray of shape (n_documents, n_components), float32 where X is.

    Each document is treated by the step with the topics (TopicProbabilities) and prior held fixed; its
    stream is named by the key and its own content, so the result does not depend on other documents.
    """
    theta = np.empty((X.shape[0], len(prior)), dtype=answer_dtype(X))
    for first, last, batch in document_groups(X):
        gathered = topics.gather(batch.words, prior, workers)
        theta[first:last] = step(batch, gathered, prior, batch.content_keys(key), workers).proportions()
        if not math.isfinite(theta[first:last].sum()):
            raise ValueError("the fitted state gives proportions that are not finite; call fit.")
        progress.advance(last - first)
    return theta
