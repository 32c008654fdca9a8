"""Names of the columns of documents: the words."""

from collections import Counter

import numpy as np

# Names that an error message lists.
LISTED = 5


def text_columns(table):
    """Return the columns of a data frame if all have names, else None."""
    columns = getattr(table, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def check_same_names(names, others, whose, known="the topics have"):
    """Raise ValueError if both names of columns are known and differ."""
    if names is None or others is None or len(names) != len(others):
        return
    differ = np.flatnonzero(np.asarray(names) != np.asarray(others))
    if len(differ):
        i = differ[0]
        raise ValueError(
            f"{whose} has {others[i]!r} in column {i}, but {known} {names[i]!r}; must be "
            "the same words in the same order."
        )


def check_distinct(names, parameter):
    """Raise ValueError that lists repeated names."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{parameter} is invalid: must be distinct names. Repeated: {listed(twice)}.")


def listed(names):
    """Return the first names, for a message."""
    names = [f"{name!r:.80}" for name in names]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
