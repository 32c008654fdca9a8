"""What the explorer's page shows, as lists, numbers and strings that become JSON."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sktopic._estimators._plug_in import column_names, plug_in_topics, word_names
from sktopic._runtime._arrays import largest
from sktopic._runtime._optional import import_pandas
from sktopic.inspection._inferred import infer_documents
from sktopic.inspection._marked_texts import find_words, units
from sktopic.inspection._names import topic_labels
from sktopic.inspection._related import topic_similarity
from sktopic.inspection._time import interval_of_share, periods_of, share_of_tokens
from sktopic.inspection._topic_map import topic_map
from sktopic.inspection._topic_table import relevance_factors

# Positions of the slider of relevance: 0, 0.05, ..., 1.
LAMBDAS = np.linspace(0, 1, 21)
EVERY = 5  # position that is looked at first
MOST_WORDS = 20_000  # that can be searched for
WORDS_AT_A_TIME = 1000
TOPICS_OF_A_WORD = 3
LEAST_PERCENTAGE = 2  # of a word's tokens, in a topic that is shown with it
TOPICS_OF_A_DOCUMENT = 8
RELATED_TOPICS = 3
# Cells of documents without texts: of all of them, and of each.
MOST_CELLS = 45_000
FEWEST_CELLS, MOST_CELLS_OF_A_DOCUMENT = 20, 300
MOST_GROUPS = 60
MOST_PERIODS = 60
FREQUENCIES = "D", "W", "MS", "QS", "YS", "10YS"


class PageSettings(NamedTuple):
    """Parameters of `explore` that say what its page shows."""

    freq: object
    title: str
    n_words: int
    n_documents: int
    n_characters: int
    word_of: Callable[[str], str]


def explorer_data(model, X, feature_names, texts, dates, groups, settings):
    """Return the dict whose entries the scripts in the folder ``explorer`` read.

    settings : PageSettings; the other parameters are those of `explore`
    """
    components = plug_in_topics(model).components()
    inferred = infer_documents(model, X)
    names = word_names(column_names(model), feature_names, components.shape[1])
    labels = topic_labels(model, len(components))
    lengths, proportions = inferred.lengths, _normalised(inferred.proportions)
    if proportions.shape[1] != len(components):
        raise ValueError(
            f"transform of the model returns {proportions.shape[1]} proportions a document, but it has "
            f"{len(components)} topics."
        )
    texts = _one_for_each(texts, "texts", len(lengths))
    groups = _one_for_each(groups, "groups", len(lengths))

    n_tokens = lengths.sum()
    shares = lengths @ proportions / n_tokens
    expected = shares @ components
    relevant = _relevant_words(components, shares, settings.n_words)
    shown = _documents_by_topic(proportions, lengths, settings.n_documents)
    kept = sorted({document for documents in shown for document in documents})
    documents = ShownDocuments(inferred.counts, proportions, components, kept)
    if texts is None:
        cells = documents.by_words(expected)
    else:
        cells = documents.by_texts(texts, names, settings.n_characters, settings.word_of)
    words = _words_in_page(expected, relevant, cells)
    number_of_word = {word: number for number, word in enumerate(words)}
    for entry in cells:
        if "words" in entry:
            entry["words"] = [n for word, *rest in entry["words"] for n in (number_of_word[word], *rest)]

    similarity = topic_similarity(model)
    centres, radii = topic_map(1 - similarity, shares)
    related = largest(similarity - 2 * np.eye(len(labels)), min(RELATED_TOPICS, len(labels) - 1))
    number_of_document = {document: number for number, document in enumerate(kept)}
    data = {
        "title": settings.title,
        "n_documents": len(lengths),
        "n_tokens": float(n_tokens),
        "n_words": len(names),
        "words_shown": settings.n_words,
        "topics": [
            {
                "name": labels[k],
                "share": _rounded(shares[k]),
                "x": _rounded(centres[k, 0]),
                "y": _rounded(centres[k, 1]),
                "radius": _rounded(radii[k]),
                "words": [number_of_word[word] for word in relevant[k]],
                "probabilities": [_rounded(p) for p in components[k, relevant[k]]],
                "related": related[k].tolist(),
                "documents": [number_of_document[document] for document in shown[k]],
            }
            for k in range(len(components))
        ],
        "words": {
            "names": [str(name) for name in names[words]],
            "tokens": [_rounded(n_tokens * p) for p in expected[words]],
            "topics": _topics_of_words(components, shares, words),
        },
        "documents": cells,
    }
    if dates is not None:
        periods, codes = _few_periods(dates, settings.freq, len(lengths))
        data["time"] = _shares_by(codes, [_period_name(period) for period in periods], lengths, proportions)
        for entry in cells:
            entry["period"] = _period_name(periods[codes[entry["row"]]])
    if groups is not None:
        groups = [str(group) for group in groups]
        for entry in cells:
            entry["group"] = groups[entry["row"]]
        data["groups"] = _shares_by_group(groups, lengths, proportions)
    return data


class ShownDocuments:
    """The documents of the page with the most probable topic of each of their words.

    Parameters
    ----------
    counts : CSR array of shape (n_documents, n_features)
    proportions : ndarray of shape (n_documents, n_components)
    components : ndarray of shape (n_components, n_features)
    kept : list of int
        The documents of the page, rows of the matrix.
    """

    def __init__(self, counts, proportions, components, kept):
        self.counts = counts
        self.proportions = proportions
        self.components = components
        self.kept = kept

    def by_words(self, expected):
        """What is shown of documents without texts: their most frequent words, of equal ones the rarest."""
        n_cells = np.clip(MOST_CELLS // max(len(self.kept), 1), FEWEST_CELLS, MOST_CELLS_OF_A_DOCUMENT)
        entries = []
        for document in self.kept:
            entry, words, counts, topics = self._begin(document)
            first = np.lexsort((expected[words], -counts))[:n_cells]
            # Triples of a word, its count and its topic.
            entry["words"] = [(words[i], _rounded(counts[i]), int(topics[i])) for i in first]
            entry["omitted"] = len(words) - len(first)
            entries.append(entry)
        return entries

    def by_texts(self, texts, names, n_characters, word_of):
        """What is shown of documents with texts: their beginning, and where in it words of a topic are."""
        entries = []
        for document in self.kept:
            entry, words, _, topics = self._begin(document)
            text = texts[document]
            if not isinstance(text, str):
                raise TypeError(f"texts has a {type(text).__name__} for document {document}; str is allowed.")
            text = text.strip()
            topic_of = {str(names[word]): int(topic) for word, topic in zip(words, topics)}
            entry["omitted"] = max(len(text) - n_characters, 0)
            entry["text"] = text = text[:n_characters]
            # Triples of how much text comes before a word, how long it is, and its topic.
            entry["marks"], end = [], 0
            for start, stop, feature in find_words(text, topic_of, word_of):
                entry["marks"] += units(text[end:start]), units(text[start:stop]), topic_of[feature]
                end = stop
            entries.append(entry)
        return entries

    def _begin(self, document):
        """Return what is shown of any document, and its words, their counts and their topics."""
        own = slice(*self.counts.indptr[document : document + 2])
        words, counts = self.counts.indices[own], self.counts.data[own]
        theta = self.proportions[document]
        topics = np.argmax(self.components[:, words] * theta[:, None], axis=0)
        largest_first = np.argsort(-theta, kind="stable")[:TOPICS_OF_A_DOCUMENT]
        entry = {
            "row": int(document),
            "tokens": _rounded(counts.sum(dtype=np.float64)),
            "topics": [[int(k), _rounded(theta[k])] for k in largest_first if theta[k] >= 0.01],
        }
        return entry, words, counts, topics


def _normalised(proportions):
    """Rows that sum to one, or to zero if they are that, float64."""
    proportions = proportions.astype(np.float64)
    sums = proportions.sum(axis=1, keepdims=True)
    return np.divide(proportions, sums, out=np.zeros_like(proportions), where=sums > 0)


def _one_for_each(values, name, n_documents):
    """The values as a sequence, of which there must be one for each document; None without."""
    if values is None:
        return None
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} is a {type(values).__name__}; a list or array is allowed.")
    if len(values) != n_documents:
        raise ValueError(f"{name} has {len(values)} entries, but X has {n_documents} documents.")
    return values if isinstance(values, Sequence) else np.asarray(values, dtype=object)


def _relevant_words(components, shares, n_words):
    """The n_words most relevant words of each topic at any position of the slider, most probable first."""
    p = shares @ components
    factors = np.array([relevance_factors(p, weight) for weight in LAMBDAS])
    relevant = []
    for topic in components:
        words = np.flatnonzero(_may_be_relevant(topic, factors[::EVERY], n_words))
        with np.errstate(under="ignore"):  # of words that the topic has next to nothing of
            words = np.unique(words[largest(topic[words] * factors[:, words], n_words)])
        words = words[topic[words] > 0]
        relevant.append(words[np.argsort(-topic[words], kind="stable")])
    return relevant


def _may_be_relevant(topic, factors, n_words):
    """Whether each word may be one of the n_words most relevant ones at any position of the slider.

    Between two positions the logarithm of the relevance is linear, and so between its values at both. It
    stays linear where the relevance is divided by its largest value at each position, which changes no order.

    topic : (n_features,) probabilities; factors : (n_positions, n_features), see relevance_factors
    """
    with np.errstate(under="ignore"):
        relevance = topic * factors
        most = relevance.max(axis=1, keepdims=True)
        relevance /= np.where(most > 0.0, most, 1.0)
    low, high = np.minimum(relevance[:-1], relevance[1:]), np.maximum(relevance[:-1], relevance[1:])
    n_words = min(n_words, len(topic))
    enough = np.partition(low, -n_words, axis=1)[:, [-n_words]]
    return (high >= (1.0 - 1e-9) * enough).any(axis=0)


def _documents_by_topic(proportions, lengths, n_documents):
    """Documents with words of the largest proportions of each topic, lists of int."""
    if n_documents == 0:
        return [[]] * proportions.shape[1]
    with_words = np.flatnonzero(lengths)
    best = largest(np.ascontiguousarray(proportions[with_words].T), n_documents)
    return with_words[best].tolist()


def _words_in_page(expected, relevant, cells):
    """Words that can be searched for or are shown, the most frequent first, ndarray of int."""
    searched = largest(expected[None], MOST_WORDS)[0]
    shown = [word for entry in cells for word, *_ in entry.get("words", ())]
    words = np.unique(np.concatenate([searched, *relevant, np.asarray(shown, dtype=searched.dtype)]))
    return words[np.argsort(-expected[words], kind="stable")]


def _topics_of_words(components, shares, words):
    """The most probable topics of each word: lists that alternate topic and percentage."""
    lists = []
    for first in range(0, len(words), WORDS_AT_A_TIME):
        given = components[:, words[first : first + WORDS_AT_A_TIME]].T * shares
        sums = given.sum(axis=1, keepdims=True)
        given = np.divide(given, sums, out=np.zeros_like(given), where=sums > 0)
        topics = largest(given, TOPICS_OF_A_WORD)
        percentages = np.rint(100 * np.take_along_axis(given, topics, axis=1)).astype(int)
        pairs = np.stack([topics, percentages], axis=2)
        lists += [row[row[:, 1] >= LEAST_PERCENTAGE].ravel().tolist() for row in pairs]
    return lists


def _few_periods(dates, freq, n_documents):
    """Return the periods of the documents and the number of the period of each.

    Without freq, those of dates are the shortest of which there are few.
    """
    periods, codes = periods_of(import_pandas(), dates, freq, n_documents)
    if freq is None and periods.dtype.kind == "M":
        for candidate in FREQUENCIES:
            if len(periods) <= MOST_PERIODS:
                break
            periods, codes = periods_of(import_pandas(), dates, candidate, n_documents)
    return periods, codes


def _period_name(period):
    """A period as the page calls it: a number, or the day on which it begins."""
    return str(period.date()) if hasattr(period, "date") else str(period)


def _shares_by(codes, names, lengths, proportions):
    """Shares of topics in periods or groups, with intervals, of those that have words."""
    used = np.flatnonzero(lengths)
    kept, codes = np.unique(codes[used], return_inverse=True)
    share, error, n_documents = share_of_tokens(lengths[used], proportions[used], codes)
    low, high = interval_of_share(share, error, n_documents, 0.95)
    return {
        "names": [names[i] for i in kept],
        "n_documents": n_documents.tolist(),
        **{
            name: [[_rounded(value, 3) for value in topic] for topic in table.T]
            for name, table in (("shares", share), ("low", low), ("high", high))
        },
    }


def _shares_by_group(groups, lengths, proportions):
    """Shares of topics in groups, those of most tokens first, and how many groups are left out."""
    names, codes = np.unique(np.asarray(groups, dtype=object), return_inverse=True)
    tokens = np.bincount(codes, weights=lengths)
    order = np.argsort(-tokens, kind="stable")
    order = order[tokens[order] > 0]
    kept = order[:MOST_GROUPS]
    number = np.full(len(names), -1)
    number[kept] = np.arange(len(kept))
    codes = number[codes]
    inside = codes >= 0
    shares = _shares_by(codes[inside], names[kept], lengths[inside], proportions[inside])
    return {**shares, "omitted": len(order) - len(kept)}


def _rounded(value, n_digits=4):
    """A number of few digits, which JSON writes in few characters; None for what is no number."""
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.{n_digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
