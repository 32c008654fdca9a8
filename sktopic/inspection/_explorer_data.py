"""Content of the explorer page as lists, numbers and strings that can be written as JSON."""

import numpy as np
from sklearn.preprocessing import normalize

from sktopic._runtime._arrays import largest
from sktopic.inspection._time import periods_of, shares_of_periods
from sktopic.inspection._topic_table import relevance_factors
from sktopic.metrics._coherence import coherence

# Positions of the relevance slider: 0, 0.05, ..., 1.
LAMBDAS = np.linspace(0, 1, 21)
MOST_WORDS = 20_000  # words that can be searched for
TOPICS_OF_A_WORD = 3
WORDS_AT_A_TIME = 1000
LEAST_PERCENTAGE = 2  # smallest share of a word's tokens for which a topic is shown
TOPICS_OF_A_DOCUMENT = 8
COHERENT_WORDS = 10  # words of a topic in its coherence
# Numbers of words in documents without texts: total, and per document.
MOST_CELLS = 45_000
FEWEST_CELLS, MOST_CELLS_OF_A_DOCUMENT = 20, 300
MOST_GROUPS = 60
MOST_PERIODS = 60
FREQUENCIES = "D", "W", "MS", "QS", "YS", "10YS"


def coherences_of(components, counts):
    """Return the NPMI of each topic over the documents; None for a vocabulary of one word, without pairs."""
    n_words = min(components.shape[1], COHERENT_WORDS)
    return None if n_words < 2 else coherence(components, counts, n_words=n_words, per_topic=True)


def first_topic(coherences, shares):
    """Return the most coherent topic of at least half the average size; the largest without coherences, int.

    A few documents that repeat their words can give a small topic any coherence.
    """
    if coherences is None:
        return int(np.argmax(shares))
    is_large = shares >= shares.mean() / 2
    return int(np.argmax(np.where(is_large, coherences, -np.inf)))


def relevant_words(components, shares, n_words):
    """Return the n_words most relevant words of each topic at any slider position, most probable first."""
    p = shares @ components
    factors = np.array([relevance_factors(p, weight) for weight in LAMBDAS])
    relevant = []
    for topic in components:
        with np.errstate(under="ignore"):  # words with negligible probability in the topic
            words = np.unique(largest(topic * factors, n_words))
        words = words[topic[words] > 0]
        relevant.append(words[np.argsort(-topic[words], kind="stable")])
    return relevant


def documents_with_topics(counts, proportions, components, kept):
    """Yield the data of each document, its words, their counts and their most probable topics.

    counts : CSR array of shape (n_documents, n_features)
    kept : ndarray of int, the documents of the page
    """
    for document in kept:
        own = slice(*counts.indptr[document : document + 2])
        words, n_tokens, theta = counts.indices[own], counts.data[own], proportions[document]
        largest_first = np.argsort(-theta, kind="stable")[:TOPICS_OF_A_DOCUMENT]
        entry = {
            "row": int(document),
            "tokens": rounded(n_tokens.sum(dtype=np.float64)),
            "topics": [[int(k), rounded(theta[k])] for k in largest_first if theta[k] >= 0.01],
        }
        yield entry, words, n_tokens, np.argmax(components[:, words] * theta[:, None], axis=0)


def with_words(documents, expected, n_documents):
    """Return the data of documents without texts: their most frequent words; ties go to the rarest."""
    n_cells = np.clip(MOST_CELLS // max(n_documents, 1), FEWEST_CELLS, MOST_CELLS_OF_A_DOCUMENT)
    entries = []
    for entry, words, counts, topics in documents:
        first = np.lexsort((expected[words], -counts))[:n_cells]
        # Triples of a word, its count and its topic.
        entry["words"] = [n for i in first for n in (int(words[i]), rounded(counts[i]), int(topics[i]))]
        entry["omitted"] = len(words) - len(first)
        entries.append(entry)
    return entries


def with_texts(documents, texts, n_characters, spelled, find):
    """Return the data of documents with texts: the beginning of the text, and the positions of words.

    spelled, find : as `text_marker` returns them for this n_characters
    """
    entries = []
    for entry, words, _, topics in documents:
        text = texts[entry["row"]]
        if not isinstance(text, str):
            raise TypeError(f"texts has a {type(text).__name__} for document {entry['row']}; str is allowed.")
        text = text.strip()
        topic_of = {str(name): int(topic) for name, topic in zip(spelled[words], topics)} if find else {}
        entry["omitted"] = max(len(text) - n_characters, 0)
        entry["text"] = text[:n_characters]
        # Triples: length of the text before a word, length of the word, and its topic.
        entry["marks"], end = [], 0
        for start, stop, feature in find(text, topic_of) if find else ():
            if stop > n_characters:  # the end of the text on the page would be another word
                break
            entry["marks"] += units(text[end:start]), units(text[start:stop]), topic_of[feature]
            end = stop
        entries.append(entry)
    return entries


def units(text):
    """Return the length of a text in UTF-16 code units, as in JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def words_in_page(expected, relevant, entries):
    """Return the words that are searchable or shown, most frequent first, ndarray of int."""
    searched = largest(expected[None], MOST_WORDS)[0]
    shown = [np.array(entry.get("words", ())[::3], dtype=int) for entry in entries]
    words = np.unique(np.concatenate([searched, *relevant, *shown]))
    return words[np.argsort(-expected[words], kind="stable")]


def topics_of_words(components, shares, words):
    """The most probable topics of each word: lists that alternate topic and percentage."""
    lists = []
    for first in range(0, len(words), WORDS_AT_A_TIME):
        by_word = normalize(components[:, words[first : first + WORDS_AT_A_TIME]].T * shares, norm="l1")
        topics = largest(by_word, TOPICS_OF_A_WORD)
        percentages = np.rint(100 * np.take_along_axis(by_word, topics, axis=1)).astype(int)
        pairs = np.stack([topics, percentages], axis=2)
        lists += [row[row[:, 1] >= LEAST_PERCENTAGE].ravel().tolist() for row in pairs]
    return lists


def few_periods(dates, freq, n_documents):
    """Return the names of the periods, and the period of each document.

    If freq is None, dates are grouped into the shortest periods of which there are few.
    """
    periods, codes = periods_of(dates, freq, n_documents)
    if freq is None and periods.dtype.kind == "M":
        for candidate in FREQUENCIES:
            if len(periods) <= MOST_PERIODS:
                break
            periods, codes = periods_of(dates, candidate, n_documents)
    are_days = periods.dtype.kind == "M" and _are_midnights(periods.tz_localize(None))
    return [str(period.date() if are_days else period) for period in periods], codes


def _are_midnights(times):
    return (times == times.normalize()).all()


def shares_by(codes, names, lengths, proportions):
    """Return shares of topics, with intervals, in periods or groups that have words."""
    kept, tables, n_documents = shares_of_periods(lengths, proportions, codes, 0.95)
    return {
        "names": [names[i] for i in kept],
        "n_documents": n_documents.tolist(),
        "shares": rounded(tables["share"].T, 3),
        "low": rounded(tables["low"].T, 3),
        "high": rounded(tables["high"].T, 3),
    }


def shares_by_group(names, codes, lengths, proportions):
    """Return shares of topics in groups, those with most tokens first, and the number of omitted groups."""
    tokens = np.bincount(codes, weights=lengths)
    order = np.argsort(-tokens, kind="stable")
    codes = np.argsort(order)[codes]
    kept = codes < MOST_GROUPS
    shares = shares_by(codes[kept], [names[group] for group in order], lengths[kept], proportions[kept])
    return {**shares, "omitted": max(0, int(np.count_nonzero(tokens)) - MOST_GROUPS)}


def rounded(values, n_digits=4):
    """Round numbers to few digits, for short JSON; replace numbers that are not finite by None."""
    if np.ndim(values):
        return [rounded(value, n_digits) for value in values]
    if not np.isfinite(values):
        return None
    value = float(f"{values:.{n_digits}g}")
    return int(value) if value.is_integer() else value
