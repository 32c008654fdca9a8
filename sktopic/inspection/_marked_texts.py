"""Finding the words of a vocabulary in the texts that they were counted in."""

import re

# A run of letters, digits and underscores, or one other character that is no white space.
_PIECE = re.compile(r"\w+|[^\w\s]")
_BEYOND_16_BITS = re.compile(r"[\U00010000-\U0010ffff]")


def find_words(text, features, word_of):
    """Yield (start, end, feature) of the features that occur in a text, from left to right.

    A feature of several words is found where these follow each other; of features that begin at the same
    place, the longest is taken.

    Parameters
    ----------
    text : str
    features : dict
        The names that are looked for.
    word_of : function
        What a word of a text is called in the names of features, unless these have it as it is.
    """
    by_first = {}
    for feature in features:
        pieces = _PIECE.findall(feature)
        if pieces:
            by_first.setdefault(pieces[0], []).append((pieces, feature))
    for candidates in by_first.values():
        candidates.sort(key=lambda candidate: len(candidate[0]), reverse=True)
    found = list(_PIECE.finditer(text))
    as_written = [match[0] for match in found]
    as_called = [word_of(piece) for piece in as_written]
    i = 0
    while i < len(found):
        for pieces in as_written, as_called:
            feature, n = _longest(by_first, pieces, i)
            if n:
                yield found[i].start(), found[i + n - 1].end(), feature
                break
        i += n or 1


def _longest(by_first, pieces, i):
    """Return the feature of most pieces that begins at the i-th, and how many these are; or None and 0."""
    for candidate, feature in by_first.get(pieces[i], ()):
        if pieces[i : i + len(candidate)] == candidate:
            return feature, len(candidate)
    return None, 0


def units(text):
    """The length of a text as JavaScript counts it, in units of UTF-16."""
    return len(text) + len(_BEYOND_16_BITS.findall(text))
