"""Texts that users give."""

from collections.abc import Iterable


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
