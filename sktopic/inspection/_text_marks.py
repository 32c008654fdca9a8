"""Places of counted words in texts: by the tokens of a vectorizer, or by the names of words."""

import copy
import math
import re
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import takewhile

from sklearn.pipeline import Pipeline

from sktopic._estimators._plug_in import column_names, pipelines_before

# A run of letters, digits and underscores, or one other character that is not white space. Chinese and
# Japanese have no spaces between words, so each of their characters is a piece.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+|[^\w\s]")
_CHUNK = re.compile(r"\S+")
_RUN = re.compile(r"\w+")

OVERLAP = "Words are not marked: the vectorizer counts character n-grams (analyzer={!r}), which overlap."
ACROSS_SPACES = (
    "Words are not marked: the vectorizer finds no words in these texts, or only words that depend on text "
    "beyond a space (see its preprocessor and token_pattern)."
)
NO_NAMES = "The model has no names of words: pass feature_names or a pipeline."
NOT_FOUND = "Words are not marked: none of the counted words was found in these texts."


def text_marker(model, X, feature_names, word_of, end):
    """Return a function that finds the counted words in texts.

    Parameters
    ----------
    model : fitted estimator
    X : input of the model
    feature_names : ndarray of str of shape (n_features,) or None
        Words of the columns; None if they are unknown.
    word_of : function or None
        Function that maps a word in a text to its name. If None and a pipeline begins with a vectorizer, the
        tokens of this vectorizer are found. Otherwise, `str.lower`.
    end : int
        Number of characters at the beginning of a text. Only words that begin there are found.

    Returns
    -------
    find : function or None
        ``find(text, words)`` yields (start, end, word) for these words in a text, from left to right. None if
        words cannot be located.
    spelled : ndarray of str of shape (n_features,)
        Words as `find` spells them; None if they are unknown.
    reason : str
        Reason to show if `find` is None or finds no words.
    """
    if feature_names is None:
        return None, None, NO_NAMES
    vectorizer = _vectorizer(model) if word_of is None and _are_texts(X) else None
    known = column_names(model)
    if vectorizer is None or known is None:
        return partial(find_words, word_of=word_of or str.lower, end=end), feature_names, NOT_FOUND
    if not callable(vectorizer.analyzer) and vectorizer.analyzer != "word":
        return None, known, OVERLAP.format(vectorizer.analyzer)
    longest = 1 if callable(vectorizer.analyzer) else vectorizer.ngram_range[1]
    # A copy that analyzes texts, not files, and returns single tokens, of which n-grams are made here.
    single = copy.copy(vectorizer)
    single.input, single.ngram_range = "content", (1, 1)
    analyzer = single.build_analyzer()

    def analyze(text):
        return [str(token) for token in analyzer(text)]

    places_in = cache(partial(token_places, analyze=cache(analyze)))
    find = partial(find_tokens, places_in=places_in, analyze=analyze, longest=longest, end=end)
    return find, known, ACROSS_SPACES


def _vectorizer(model):
    """Return the vectorizer of texts at the beginning of a pipeline, or None."""
    before = pipelines_before(model)
    step = before[0] if before else None
    while isinstance(step, Pipeline):
        step = step[0]
    return step if hasattr(step, "build_analyzer") else None


def _are_texts(X):
    """Whether the documents are texts, names of files or files, and not tokens or tables of the user."""
    first = None if hasattr(X, "__next__") or not hasattr(X, "__iter__") else next(iter(X), None)
    return isinstance(first, str | bytes) or hasattr(first, "__fspath__") or hasattr(first, "read")


def find_words(text, features, word_of, end=math.inf):
    """Yield (start, end, feature) of the features that occur in a text, from left to right.

    A feature of several words matches these words in sequence. The longest of the features that begin at the
    same position is taken.

    Parameters
    ----------
    text : str
    features : dict
        Names to find.
    word_of : function
        Maps a word of the text to its name, if the features do not contain the word itself.
    end : int, default=inf
        Number of characters of the text in which words may begin.
    """
    by_first = {}
    for feature in features:
        pieces = _PIECE.findall(feature)
        if pieces:
            by_first.setdefault(pieces[0], []).append((pieces, feature))
    for candidates in by_first.values():
        candidates.sort(key=lambda candidate: len(candidate[0]), reverse=True)
    found = list(_beginning(_PIECE, text, end))
    as_written = [match[0] for match in found]
    as_called = [word_of(piece) for piece in as_written]
    i = 0
    while i < len(found):
        for words in as_written, as_called:
            candidates = by_first.get(words[i], ())
            matches = (match for match in candidates if words[i : i + len(match[0])] == match[0])
            pieces, feature = next(matches, ((), None))  # the longest
            n = len(pieces)
            if n:
                yield found[i].start(), found[i + n - 1].end(), feature
                break
        i += n or 1


def find_tokens(text, features, places_in, analyze, longest=1, end=math.inf):
    """Yield (start, end, feature) of the tokens of a vectorizer that are features, from left to right.

    Parameters
    ----------
    text : str
    features : container of str
    places_in : function
        Returns the tokens in a part of a text without white space, as `token_places`.
    analyze : function
        Returns the tokens of a whole text. Tokens of a part that are not among these are left out.
    longest : int, default=1
        Maximum number of consecutive tokens in a feature, joined by spaces. The longest are taken.
    end : int, default=inf
        Number of characters of the text in which a part without white space may begin.
    """
    places = [
        (chunk.start() + start, chunk.start() + end, token)
        for chunk in _beginning(_CHUNK, text, end)
        for start, end, token in places_in(chunk[0])
    ]
    places = _agreeing(places, analyze(text))
    i = 0
    while i < len(places):
        for n in range(min(longest, len(places) - i), 0, -1):
            feature = " ".join(token for *_, token in places[i : i + n])
            if feature in features:
                yield places[i][0], places[i + n - 1][1], feature
                break
        else:
            n = 1
        i += n


def token_places(text, analyze):
    """Return (start, end, token) of the tokens of a text without white space, a list."""
    tokens = analyze(text)
    found = list(_in_order(text, tokens))
    if len(found) == len(tokens) and all(is_whole for *_, is_whole in found):
        return [(start, end, token) for start, end, token, _ in found]
    # The analyzer changes words, for example to their stems: it is asked about each word.
    places = []
    for run in _RUN.finditer(text):
        tokens = analyze(run[0])
        found = list(_in_order(run[0], tokens))
        if len(tokens) == 1 and not (found and found[0][3]):
            found = [(0, len(run[0]), tokens[0], True)]
        places += [(run.start() + start, run.start() + end, token) for start, end, token, _ in found]
    return places


def _agreeing(places, tokens):
    """Return the places whose tokens are also tokens of the whole text, in the same order."""
    found = [token for *_, token in places]
    if found == tokens[: len(found)]:
        return places
    nearby = tokens[: 4 * len(found)]  # the time of a match is the product of the lengths
    blocks = SequenceMatcher(None, found, nearby, autojunk=False).get_matching_blocks()
    return [place for first, _, n in blocks for place in places[first : first + n]]


def _in_order(text, tokens):
    """Yield (start, end, token, whether it is a whole word) of the tokens that occur in this order."""
    at = 0
    # As long as the text, so that positions are those in the text.
    lowered = "".join(character.lower()[:1] for character in text)
    for token in tokens:
        starts = [start for start in (text.find(token, at), lowered.find(token, at)) if token and start >= 0]
        if starts:
            start = min(starts)
            at = start + len(token)
            is_whole = not _inside_word(text, start) and not _inside_word(text, at)
            yield start, at, token, is_whole


def _beginning(pattern, text, end):
    """Return the matches that begin in the first characters of a text, an iterator."""
    return takewhile(lambda match: match.start() < end, pattern.finditer(text))


def _inside_word(text, at):
    """Whether a position is between two letters or digits of a script with spaces between words."""
    around = text[at - 1 : at + 1] if at else ""
    return len(around) == 2 and all(_is_spaced(character) for character in around)


def _is_spaced(character):
    return character == "_" or character.isdigit() or character.lower() != character.upper()
