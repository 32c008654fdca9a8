"""The plug-in model: topics and the prior of their proportions, wherever they come from."""

from collections.abc import Sequence

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_non_negative

from sktopic._base import TopicModel
from sktopic._documents import canonical_counts, check_counts
from sktopic._prior import check_prior
from sktopic._topic_word import TopicProbabilities


def _is_estimator(value):
    """Whether it has a fit method, and is not a table with a column of that name."""
    return hasattr(value, "fit") and not hasattr(value, "__array__")


def after_pipeline(model, X):
    """Return the last step of a fitted pipeline and X as that step sees it; others as they are."""
    if isinstance(model, Pipeline) and len(model) > 1:
        return model[-1], model[:-1].transform(X)
    return model, X


def plug_in_topics(model_or_components):
    """Return the topics of a fitted estimator or of an array of components, a TopicProbabilities.

    Rows of components are normalised, so pseudo-counts will do (scikit-learn's LDA has those).
    """
    if isinstance(model_or_components, TopicModel):
        check_is_fitted(model_or_components)
        return model_or_components._topic_probabilities()
    components = model_or_components
    if _is_estimator(model_or_components):
        if not isinstance(model_or_components, Pipeline):
            check_is_fitted(model_or_components)
        if not hasattr(model_or_components, "components_"):
            raise TypeError(
                f"model_or_components is a {type(model_or_components).__name__}, which has no components_; "
                "give a topic model (of a pipeline: its last step) or an array of components."
            )
        components = model_or_components.components_
    elif not hasattr(components, "__array__") and not isinstance(components, Sequence):
        raise TypeError(
            f"model_or_components is a {type(components).__name__}; give a fitted scikit-learn estimator, or "
            "the topics as an array of shape (n_components, n_features) and doc_topic_prior."
        )
    components = check_array(components, dtype=np.float64, input_name="components")
    check_non_negative(components, "components")
    sums = components.sum(axis=1)
    if np.any(sums == 0):
        raise ValueError(f"components has only zeros in row {int(np.argmin(sums))}; a topic needs some word.")
    return TopicProbabilities.from_components(components / sums[:, None])


def plug_in_model(model_or_components, doc_topic_prior):
    """Return (TopicProbabilities, prior of shape (n_components,)).

    A fitted estimator brings both, under scikit-learn's names ``components_`` and ``doc_topic_prior_``;
    for an array of components the prior must be given.
    """
    topics = plug_in_topics(model_or_components)
    if doc_topic_prior is None and _is_estimator(model_or_components):
        doc_topic_prior = getattr(model_or_components, "doc_topic_prior_", None)
    return topics, _prior(doc_topic_prior, len(topics.scale))


def _prior(value, n_components):
    if value is None:
        raise ValueError(
            "doc_topic_prior=None is allowed only with a fitted model that has doc_topic_prior_; "
            "give a positive number or an array of shape (n_components,)."
        )
    if isinstance(value, str):
        raise ValueError(f"doc_topic_prior={value!r}: a positive number or an array is allowed.")
    return check_prior(value, n_components)


def check_documents(X, topics):
    """Return X as canonical counts over the vocabulary of the topics."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    check_counts(X, "X")
    if X.shape[1] != len(topics.store):
        raise ValueError(f"X has {X.shape[1]} features, but the topics have {len(topics.store)} words.")
    return canonical_counts(X)
