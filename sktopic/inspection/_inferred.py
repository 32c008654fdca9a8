"""What the tables and pictures of topics in documents are computed from."""

from typing import NamedTuple

import numpy as np

from sktopic._documents._matrices import canonical_counts
from sktopic._estimators._plug_in import after_pipeline, check_documents, column_names, plug_in_topics


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


def proportions(model, X):
    """Topic proportions of documents, ndarray of shape (n_samples, n_components)."""
    if not hasattr(model, "transform"):
        raise TypeError(
            f"model is a {type(model).__name__}; only a fitted estimator with transform can infer the topic "
            "proportions of documents."
        )
    return np.asarray(model.transform(X))
