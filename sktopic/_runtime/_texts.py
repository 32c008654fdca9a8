"""Texts and labels that users give."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np


def check_texts(texts):
    """Raise TypeError for what would give no texts: characters of a string, names of a data frame or dict."""
    named = hasattr(texts, "columns") or isinstance(texts, Mapping)
    if named or isinstance(texts, (str, bytes)) or not np.iterable(texts):
        raise TypeError(
            f"texts is a {type(texts).__name__}; an iterable of texts is allowed, such as a list or a column "
            "of a DataFrame."
        )


def plain_texts(texts, name):
    """Return the texts of several documents as a list of str; TypeError that names the parameter otherwise.

    NumPy's strings become plain ones, since their ``repr`` in a tuple, as in a prompt, shows their type.
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} is a {type(texts).__name__}; a sequence of str is allowed.")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name} has a {type(text).__name__} for document {i}; str is allowed.")
    return list(map(str, texts))


def one_for_each(values, name, n, of_what):
    """Return the values as a sequence, one for each of n documents or the like; None if values is None."""
    if values is None:
        return None
    is_sequence = isinstance(values, Sequence)
    sequence = values if is_sequence else np.asarray(values, dtype=object)
    if isinstance(values, str | bytes) or not (is_sequence or sequence.ndim == 1):
        raise TypeError(f"{name} is a {type(values).__name__}; a list or one-dimensional array is allowed.")
    if len(sequence) != n:
        raise ValueError(f"{name} has {len(sequence)} entries; {n} are needed, one for each {of_what}.")
    return sequence
