"""Names that users give to topics, and topics that users choose by number or name.

Names are stored as pairs of a topic's identity and its name. If topics come and go, numbers change but
identities do not, so a name stays with its topic.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from numbers import Integral

import numpy as np

from sktopic._documents._feature_names import series_index
from sktopic._runtime._surrogates import encoded


def default_name(prefix, topic):
    """Return the feature name of a topic without a given name, as in scikit-learn."""
    return f"{prefix}{topic}"


def default_label(topic):
    """Return the label of a topic without a given name in tables and plots."""
    return f"Topic {topic}"


def handles(given, n_topics, prefix):
    """Return the names by which each topic can be chosen, dict of tuples of str by the number of the topic.

    Parameters
    ----------
    given : dict of str by number, the names given by users
    n_topics : int
    prefix : str, prefix of default names
    """
    return {
        topic: (given[topic],) if topic in given else (default_label(topic), default_name(prefix, topic))
        for topic in range(n_topics)
    }


def handles_of(model):
    """Return the handles of the topics of a fitted TopicModel."""
    return handles(model._given_topic_names(), model.n_components_, type(model).__name__.lower())


def topic_numbers(topics, names, parameter="topics"):
    """Return topics that are given by number or name, a list of int.

    Parameters
    ----------
    topics : iterable of int or str
    names : dict of tuples of str by the number of a topic, as `handles` returns
    parameter : str, for messages

    Raises
    ------
    TypeError, ValueError
        If topics are not a list of numbers and names, or one of them belongs to no topic or to two.
    """
    if isinstance(topics, str) or not np.iterable(topics):
        raise TypeError(
            f"{parameter}={topics!r:.80} is invalid: must be a list of numbers or names of topics."
        )
    return [_topic_number(topic, names, parameter) for topic in topics]


def joined(words):
    """Return words or numbers as one string, as in messages and tables."""
    return ", ".join(map(str, words))


def _topic_number(topic, names, parameter):
    invalid = f"{parameter} has {topic!r:.80}, which is invalid"
    if isinstance(topic, str):
        found = [number for number, own in names.items() if topic in own]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"{invalid}: topics {joined(found)} have this name. Give the number.")
        near = get_close_matches(topic, [name for own in names.values() for name in own])
        advice = (
            f"Similar names: {joined(map(repr, near))}."
            if near
            else 'get_feature_names_out() of the model and the column "name" of tables list the names.'
        )
        raise ValueError(f"{invalid}: no topic has this name. {advice}")
    if not isinstance(topic, Integral) or isinstance(topic, bool):
        raise TypeError(f"{invalid}: must be the number or the name of a topic.")
    if topic not in names:
        first, last = min(names), max(names)
        without_gaps = len(names) == last - first + 1
        numbers = f"a number from {first} to {last}" if without_gaps else f"one of {joined(names)}"
        raise ValueError(f"{invalid}: must be {numbers}, or the name of a topic.")
    return int(topic)


def renamed(pairs, names, identities, prefix):
    """Return the pairs of identity and name after some topics got names.

    Parameters
    ----------
    pairs : tuple of (int, str), the earlier pairs
    names : sequence of str, one for each topic, or dict of str by number or present name of a topic
    identities : list of int, of the topics by number
    prefix : str, prefix of default names

    Raises
    ------
    TypeError, ValueError
        If a name is invalid or repeated.
    """
    by_identity = dict(pairs)
    given = {k: by_identity[identity] for k, identity in enumerate(identities) if identity in by_identity}
    new = _by_number(names, handles(given, len(identities), prefix), prefix)
    for topic, name in new.items():
        by_identity.pop(identities[topic], None)
        if name not in (default_name(prefix, topic), default_label(topic)):
            by_identity[identities[topic]] = name
    # The name of a topic that is absent at present may be reused.
    taken, present = set(new.values()), set(identities)
    by_identity = {
        identity: name for identity, name in by_identity.items() if identity in present or name not in taken
    }
    _check_distinct(by_identity.values())
    return tuple(by_identity.items())


def check_pairs(pairs):
    """Return pairs of identity and name from a file as a tuple; ValueError if they are invalid."""
    if type(pairs) is not list or not all(map(_is_pair, pairs)):
        raise ValueError("its topic names are not pairs of an identity and a name")
    if len({identity for identity, _ in pairs}) < len(pairs):
        raise ValueError("its topic names have two names for one topic")
    _check_distinct([name for _, name in pairs])
    return tuple((identity, name) for identity, name in pairs)


def _is_pair(pair):
    if type(pair) is not list or len(pair) != 2:
        return False
    identity, name = pair
    return type(identity) is int and abs(identity) < 2**63 and type(name) is str and bool(name.strip())


def _by_number(names, present, prefix):
    """Return the given names, a dict of str by the number of a topic; present: the handles of the topics."""
    topics = names if isinstance(names, Mapping) else series_index(names)
    if topics is not None:
        numbers = topic_numbers(topics, present, "names")
        check_distinct_topics(numbers, "names")
        by_number = dict(zip(numbers, names.values() if topics is names else names))
    else:
        n_topics = len(present)
        unordered = isinstance(names, (set, frozenset))
        if isinstance(names, str) or unordered or not hasattr(names, "__iter__"):
            raise TypeError(
                f"names is a {type(names).__name__}; must be a list with one name per topic, or a "
                "dict of names by topic number."
            )
        by_number = dict(enumerate(names))
        if len(by_number) != n_topics:
            raise ValueError(
                f"names has {len(by_number)} entries, but the model has {n_topics} topics. Pass a "
                "dict to name some of them."
            )
    for topic, name in by_number.items():
        _check_name(name, topic, prefix)
    return {topic: str(name) for topic, name in by_number.items()}


def check_distinct_topics(numbers, parameter="topics"):
    """Raise ValueError if a topic is repeated."""
    for i, topic in enumerate(numbers):
        if topic in numbers[:i]:
            raise ValueError(f"{parameter} has topic {topic} twice; each topic is allowed once.")


def _check_name(name, topic, prefix):
    if not isinstance(name, str):
        raise TypeError(f"names has {name!r:.40} for topic {topic}; must be a string.")
    if not name.strip():
        raise ValueError(f"names has {name!r} for topic {topic}; a name needs visible characters.")
    encoded(name, "names")
    for default in (default_name(prefix, ""), default_label("")):
        number = name.removeprefix(default)
        if number != name and number.isdecimal() and number != str(topic):
            raise ValueError(
                f"names has {name!r} for topic {topic}, but this is the default name of topic {number}."
            )


def _check_distinct(names):
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"names has {name!r:.80} for two topics; names must be distinct.")
        seen.add(name)
