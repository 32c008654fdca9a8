"""The plug-in model: topics, and the prior of their proportions, from any source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_non_negative

from sktopic._documents._corpus import Corpus
from sktopic._documents._feature_names import check_same_names, text_columns
from sktopic._documents._input_messages import checked_documents, explaining
from sktopic._documents._sources import documents_of
from sktopic._estimators._topic_model import TopicModel
from sktopic._estimators._topic_names import default_label
from sktopic._runtime._arrays import real_numbers
from sktopic._runtime._surrogates import shown
from sktopic._topics._prior import check_prior
from sktopic._topics._topic_rows import TopicProbabilities


@dataclass
class OneState:
    """A snapshot of a topic model, and the steps before it in pipelines and searches, as pipelines."""

    before: list
    model: TopicModel


def is_estimator(value):
    """Whether an object has a fit method and is not a table with a column of that name."""
    return hasattr(value, "fit") and not hasattr(value, "__array__")


def _opened(model):
    """Return the steps before the model in fitted pipelines and searches, as pipelines, and the model.

    A DaskTopicModel is opened, too: its model is in `estimator_`.
    """
    before = []
    while True:
        if isinstance(model, OneState):
            return model.before, model.model
        if isinstance(model, Pipeline):
            if len(model) > 1:
                before.append(model[:-1])
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(getattr(model, "estimator_", None), TopicModel):
            model = model.estimator_
        else:
            return before, model


def last_step(model):
    """Return the model in fitted pipelines, searches and DaskTopicModel, or the argument itself."""
    return _opened(model)[1]


def in_one_state(model):
    """Return the OneState of a topic model, pipeline or search, which training in other threads leaves alone.

    Anything that is not a topic model of ours, and does not end in one, is returned as it is.
    """
    before, last = _opened(model)
    return OneState(before, last._read()) if isinstance(last, TopicModel) else model


def pipelines_before(model):
    """Return the steps before the model in fitted pipelines and searches, a list of pipelines."""
    return _opened(model)[0]


def after_pipeline(model, X):
    """Return the result of `last_step`, and X as input of that step."""
    before, model = _opened(model)
    for steps in before:
        if hasattr(steps[0], "build_analyzer") and hasattr(X, "shape") and len(X.shape) == 2:
            raise ValueError(
                f"X is a matrix ({type(X).__name__}), but the pipeline begins with a "
                f"{type(steps[0]).__name__}, which takes texts. Pass texts, or use the model "
                "alone: pipeline[-1]."
            )
        X = steps.transform(X)
    return model, X


def column_names(model_or_components):
    """Return the words of the topics' columns, an object array (n_features,), or None if unknown."""
    before, model = _opened(model_or_components)
    if before:
        try:
            return np.asarray(before[-1].get_feature_names_out(), dtype=object)
        except (AttributeError, ValueError):  # a step without names
            pass
    return getattr(model, "feature_names_in_", None) if is_estimator(model) else text_columns(model)


def word_names(known_names, feature_names, n_features):
    """Return names of the columns, an object array (n_features,); known names if none are given."""
    if feature_names is None:
        feature_names = known_names
    if feature_names is None:
        feature_names = [f"x{column}" for column in range(n_features)]
    names = np.asarray(feature_names, dtype=object)
    if names.ndim == 0:  # for example a vectorizer, its vocabulary_ or X
        raise TypeError(
            f"feature_names is a {type(feature_names).__name__}; must be a list of the "
            f"{n_features} words in the order of the columns, such as "
            "vectorizer.get_feature_names_out()."
        )
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names has shape {names.shape}; must be ({n_features},), because the topics have "
            f"{n_features} words. Give the words of the columns, get_feature_names_out() of the vectorizer."
        )
    return names


def shown_words(model_or_components, feature_names, n_features):
    """Return given or known names of the columns for tables, without lone surrogates."""
    names = word_names(column_names(model_or_components), feature_names, n_features)
    texts = [(i, name) for i, name in enumerate(names) if isinstance(name, str) and not name.isascii()]
    if texts:
        names = names.copy()
    for i, name in texts:
        names[i] = shown(name)
    return names


def given_topic_names(model_or_components):
    """Return the names that users gave to topics, dict of str by number."""
    return getattr(last_step(model_or_components), "_given_topic_names", dict)()


def topic_labels(model_or_components, n_components):
    """Return the given names of topics, and "Topic 0" and so on for the others, list of str."""
    names = given_topic_names(model_or_components)
    return [names.get(topic, default_label(topic)) for topic in range(n_components)]


def plug_in_topics(model_or_components, name="model_or_components"):
    """Return the topics of a fitted estimator or of an array of components, a TopicProbabilities.

    A pipeline or search gives the topics of its last model. Rows of components are normalized, so
    pseudo-counts such as those of scikit-learn's LDA are allowed. Errors name the argument `name`.
    """
    model_or_components = last_step(model_or_components)
    if isinstance(model_or_components, TopicModel):
        return _topics_of(model_or_components._read())
    components = model_or_components
    if is_estimator(model_or_components):
        check_is_fitted(model_or_components)
        if not hasattr(model_or_components, "components_"):
            raise TypeError(
                f"{name} is a {type(model_or_components).__name__}, which has no components_. "
                "Give a topic model, a pipeline that ends in one, or an array of components. If a pipeline "
                "has more steps after the topic model, leave them out: pipeline[:-1]."
            )
        components = model_or_components.components_
    elif isinstance(components, str) or not (
        hasattr(components, "__array__") or isinstance(components, Sequence)
    ):
        raise TypeError(
            f"{name} is a {type(components).__name__}. Give a fitted scikit-learn estimator, or "
            "the topics as an array of shape (n_components, n_features). sktopic.load(path) reads a saved "
            "model."
        )
    # Lists of words may differ in length, so only the first row becomes an array.
    rows = components if isinstance(components, Sequence) else np.atleast_1d(components)
    first = np.asarray(rows[:1]).ravel()[:1].tolist()
    if first and isinstance(first[0], (str, bytes)):
        raise TypeError(
            f"{name} has {first[0]!r:.40} in place of a number. Give the topics as numbers, in "
            "an array of shape (n_components, n_features). The guide page "
            '"Topic coherence, diversity and stability" makes one from lists of words.'
        )
    try:
        components = real_numbers(components)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} has rows of different lengths, or entries that are no real numbers; must be an array of "
            "shape (n_components, n_features)."
        ) from None
    if components.ndim != 2 or components.size == 0:
        raise ValueError(
            f"{name} has shape {components.shape}; must be an array of shape (n_components, n_features)."
        )
    check_array(components, input_name=name)  # for NaN
    check_non_negative(components, name)
    with np.errstate(over="ignore"):
        sums = components.sum(axis=1)
    if np.any(sums == 0):
        raise ValueError(
            f"{name} has only zeros in row {int(np.argmin(sums))}; a topic needs at least one word."
        )
    if not np.isfinite(sums).all():
        raise ValueError(
            f"{name} has numbers in row {int(np.argmax(sums))} whose sum is infinite; rescale the row."
        )
    return TopicProbabilities.from_components(components / sums[:, None])


def _topics_of(snapshot):
    """Return the topics of a model's snapshot. They keep the snapshot alive."""
    topics = snapshot._topic_probabilities()
    topics.owner = snapshot
    return topics


def plug_in_model(model_or_components, doc_topic_prior):
    """Return (TopicProbabilities, prior of shape (n_components,)).

    A fitted estimator has both, as ``components_`` and ``doc_topic_prior_``. For an array of components, the
    prior must be given.
    """
    if isinstance(model_or_components, TopicModel):
        model_or_components = model_or_components._read()
        topics = _topics_of(model_or_components)
    else:
        topics = plug_in_topics(model_or_components)
    if doc_topic_prior is None and is_estimator(model_or_components):
        doc_topic_prior = getattr(model_or_components, "doc_topic_prior_", None)
    return topics, _prior(doc_topic_prior, len(topics.scale))


def _prior(value, n_components):
    if value is None:
        raise ValueError(
            "doc_topic_prior=None is allowed only with a fitted model that has doc_topic_prior_. "
            "Pass a positive number or an array of shape (n_components,)."
        )
    if isinstance(value, str):
        raise ValueError(f"doc_topic_prior={value!r} is invalid: must be a positive number or an array.")
    return np.array(check_prior(value, n_components))


def check_documents(X, topics, names=None):
    """Return the Documents of X over the vocabulary of the topics; names: those of its words, if known."""
    if names is not None and isinstance(X, Corpus):
        check_same_names(names, X.feature_names, "X")
    return documents_of(X, lambda block: _check_matrix(block, topics, names))


def _check_matrix(X, topics, names):
    """Return a matrix as_documents over the vocabulary of the topics."""
    check_same_names(names, text_columns(X), "X")
    owner, n_words = "the topic model", len(topics.store)
    X = checked_documents(X, owner, n_words)
    with explaining(X, owner, n_words):
        if X.shape[1] != n_words:
            raise ValueError(f"X has {X.shape[1]} features, but the topics have {n_words} words.")
    return X
