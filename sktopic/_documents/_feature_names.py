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


def names_array(names, parameter):
    """Return names as an object array; ValueError unless they are a list of strings, one per column."""
    try:
        array = np.array(names, dtype=object)
    except ValueError:  # of sequences of different sizes
        array = np.empty(())
    if array.ndim != 1 or not all(isinstance(name, str) for name in array):
        raise ValueError(f"{parameter} is invalid: must be a list with one string for each feature.")
    return array


def distinct_names(names, parameter):
    """Return names as names_array; ValueError also for repeated names."""
    array = names_array(names, parameter)
    check_distinct(array, parameter)
    return array


def series_index(values):
    """Return the index of a Series of pandas as a list, or None if it is 0, 1, 2 and so on."""
    if not hasattr(values, "iloc"):
        return None
    index = list(values.index)
    return None if index == list(range(len(index))) else index


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
