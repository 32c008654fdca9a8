"""The plug-in model: topics and the prior of their proportions, wherever they come from."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_non_negative

from sktopic._base import TopicModel
from sktopic._documents import canonical_counts
from sktopic._prior import check_prior
from sktopic._topic_word import TopicProbabilities


def plug_in_model(model_or_components, doc_topic_prior):
    """Return (TopicProbabilities, prior of shape (n_components,)).

    A fitted estimator brings both, under scikit-learn's names ``components_`` and ``doc_topic_prior_``;
    for an array of components the prior must be given. Rows of components are normalised.
    """
    if hasattr(model_or_components, "fit"):
        model = model_or_components
        check_is_fitted(model)
        given = getattr(model, "doc_topic_prior_", None) if doc_topic_prior is None else doc_topic_prior
        if isinstance(model, TopicModel):
            return model._topic_probabilities(), _prior(given, model.n_components_)
        components = model.components_
    else:
        components, given = model_or_components, doc_topic_prior
    components = check_array(components, dtype=np.float64, input_name="components")
    check_non_negative(components, "components")
    sums = components.sum(axis=1)
    if np.any(sums == 0):
        raise ValueError(f"components has only zeros in row {int(np.argmin(sums))}; a topic needs some word.")
    prior = _prior(given, len(components))
    return TopicProbabilities.from_components(components / sums[:, None]), prior


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
    check_non_negative(X, "X")
    if X.shape[1] != len(topics.store):
        raise ValueError(f"X has {X.shape[1]} features, but the topics have {len(topics.store)} words.")
    return canonical_counts(X)
