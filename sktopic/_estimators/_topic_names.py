"""Names that users give to topics.

They are stored as pairs of a topic's identity and its name. If topics come and go, numbers change but
identities do not, so a name stays with its topic.
"""

from collections.abc import Mapping
from numbers import Integral

from sktopic._runtime._surrogates import encoded


def default_name(prefix, topic):
    """Return the feature name of a topic without a given name, as in scikit-learn."""
    return f"{prefix}{topic}"


def renamed(pairs, names, identities, prefix):
    """Return the pairs of identity and name after some topics got names.

    Parameters
    ----------
    pairs : tuple of (int, str), the earlier pairs
    names : sequence of str, one for each topic, or dict of str by topic number
    identities : list of int, of the topics by number
    prefix : str, prefix of default names

    Raises
    ------
    TypeError, ValueError
        If a name is invalid or repeated.
    """
    new = _by_number(names, len(identities), prefix)
    by_identity = dict(pairs)
    for topic, name in new.items():
        by_identity.pop(identities[topic], None)
        if name != default_name(prefix, topic):
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


def _by_number(names, n_topics, prefix):
    """Return the given names, a dict of str by the number of a topic."""
    if isinstance(names, Mapping):
        for topic in names:
            if not isinstance(topic, Integral) or isinstance(topic, bool) or not 0 <= topic < n_topics:
                raise ValueError(
                    f"names has a name for topic {topic!r}; the model has topics 0 to {n_topics - 1}."
                )
        by_number = {int(topic): name for topic, name in names.items()}
    else:
        if isinstance(names, str) or not hasattr(names, "__iter__"):
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


def _check_name(name, topic, prefix):
    if not isinstance(name, str):
        raise TypeError(f"names has {name!r:.40} for topic {topic}; must be a string.")
    if not name.strip():
        raise ValueError(f"names has {name!r} for topic {topic}; a name needs visible characters.")
    encoded(name, "names")
    number = name.removeprefix(prefix)
    is_default = number != name and number.isdecimal()
    if is_default and name != default_name(prefix, topic):
        raise ValueError(
            f"names has {name!r} for topic {topic}, but this is the default name of topic {number}."
        )


def _check_distinct(names):
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"names has {name!r:.80} for two topics; names must be distinct.")
        seen.add(name)
