"""What topics are called: names that users give them, and those in tables and pictures."""

from collections.abc import Mapping, Sequence

from sktopic._estimators._plug_in import last_step
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._surrogates import shown

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
    given = getattr(last_step(model_or_components), "_given_topic_names", dict)()
    return [given.get(topic, f"Topic {topic}") for topic in range(n_components)]


def shortened(label):
    """The label as pictures show it, str."""
    label = shown(str(label))
    return (
        label if len(label) <= MOST_CHARACTERS else f"{label[: MOST_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
