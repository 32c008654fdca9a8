"""A self-contained HTML page to explore topics in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from numbers import Integral
from os import PathLike
from string import Template

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import normalize

from sktopic._documents._groups import check_groups
from sktopic._estimators._plug_in import column_names, in_one_state, plug_in_topics, topic_labels, word_names
from sktopic._runtime._arrays import largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._files import write_file
from sktopic._runtime._surrogates import shown
from sktopic._runtime._texts import one_for_each
from sktopic.inspection._explorer_data import (
    coherences_of,
    documents_with_topics,
    few_periods,
    first_topic,
    relevant_words,
    rounded,
    shares_by,
    shares_by_group,
    topics_of_words,
    with_texts,
    with_words,
    words_in_page,
)
from sktopic.inspection._related import topic_similarity
from sktopic.inspection._tables import infer_documents, typical_documents
from sktopic.inspection._text_marks import text_marker
from sktopic.inspection._topic_map import topic_map

# Parts of the script of the page, in this order.
SCRIPTS = "elements", "topics", "map", "list", "words", "documents", "shares", "search", "main"
# Height of the page in a notebook, in pixels.
HEIGHT = 860
RELATED_TOPICS = 3

# Characters that must be escaped in the data: an HTML parser could read them as tags, or they are unpaired
# surrogates, which no file can hold.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


class Explorer:
    """HTML page on the topics of a model, made by `explore`.

    A notebook displays it in a frame. The page is one HTML file; its content security policy forbids network
    access.

    Parameters
    ----------
    data : dict
        Content of the page.

    Attributes
    ----------
    html : str
        Source of the page.
    """

    html: str

    def __init__(self, data: dict[str, object]) -> None:
        self.html = _page(data)
        self._n_topics = len(data["topics"])  # type: ignore[arg-type]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, which any browser can open.

        Parameters
        ----------
        path : str or path-like
            Path such as "topics.html". An existing file is replaced atomically.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        page = self.html.encode()
        write_file(path, lambda file: file.write(page))

    def __repr__(self) -> str:
        megabytes = len(self.html.encode()) / 1e6
        return f"<Explorer of {self._n_topics} topics, {megabytes:.1f} MB: save(path) writes the page>"

    def _repr_html_(self) -> str:
        # The frame may run its script only: it cannot access the page around it.
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return (
            f'<iframe title="Topics" sandbox="allow-scripts" srcdoc="{page}" width="100%" height="{HEIGHT}" '
            'style="border: 0; border-radius: 8px"></iframe>'
        )


@validate_params(
    {
        "title": [str],
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "n_documents": [Interval(Integral, 0, None, closed="left")],
        "n_characters": [Interval(Integral, 0, None, closed="left")],
        "word_of": [callable, None],
    }
)
def explore(
    model: object,
    X: object,
    feature_names: ArrayLike | None = None,
    texts: Sequence[str] | None = None,
    dates: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    freq: object = None,
    title: str = "Topics",
    n_words: int = 30,
    n_documents: int = 10,
    n_characters: int = 3000,
    word_of: Callable[[str], str] | None = None,
) -> Explorer:
    """Explore the topics of a model in a browser: words, documents, a map, trends and groups.

    The page shows a map of topics. For the selected topic, it shows words by relevance, similar topics, its
    documents, and its shares by date or group. Words in documents have the color of their most probable
    topic. You can search words, topics and documents. The page supports keyboards, screen readers, phones
    and dark mode. It opens on a coherent topic.

    Read more on the guide page "Look at topics".

    Parameters
    ----------
    model : fitted estimator
        An estimator with ``components_`` and ``transform``, or a pipeline or search that ends in one. Topics
        have the names given by `name_topics`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts (or pipeline input) that determine the sizes of topics, usually the training documents.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns, as in `top_words`.
    texts : sequence of str of length n_samples, default=None
        Original texts of the documents. If None, the page shows the words and counts of documents.
    dates : array-like of shape (n_samples,), default=None
        Date of each document, as in `topics_over_time`. Needs pandas.
    groups : array-like of shape (n_samples,), default=None
        Group of each document, such as its source or label: numbers or strings.
    freq : str or pandas DateOffset, default=None
        Length of a period, as in `topics_over_time`. If None, each distinct integer or date is a period. More
        than 60 dates are grouped by the shortest of days, weeks, months, quarters, years and decades that
        gives at most 60 periods.
    title : str, default="Topics"
        Title of the page.
    n_words : int, default=30
        Number of words per topic, at most the vocabulary size.
    n_documents : int, default=10
        Number of documents per topic, those with the largest proportions.
    n_characters : int, default=3000
        Maximum number of characters shown of each text.
    word_of : function of str that returns str, default=None
        Function that maps a word in a text to its name in feature_names, such as a stemmer. If None and a
        pipeline begins with a vectorizer, the page marks the tokens of this vectorizer. Otherwise, it marks
        words that occur in feature_names, as written or in lower case.

    Returns
    -------
    explorer : Explorer
        Page that a notebook displays. ``save("topics.html")`` writes it to a file.

    Raises
    ------
    ImportError
        If dates are given and pandas is not installed.
    ValueError
        If no document has words, if texts, dates or groups do not have one entry per document, or if dates or
        groups have missing values.

    See Also
    --------
    pyldavis_data : The arrays that pyLDAvis takes.

    Notes
    -----
    - The page opens on the topic with the highest coherence (NPMI of its ten most probable words over X).
      Only topics of at least half the average size are considered. If the vocabulary has one word, the page
      opens on the largest topic.
    - The name of a topic is the one given by `name_topics`, or else its three most relevant words. Labels on
      the map are left out if they would cover a circle or another label. Point at a circle to see its name.
    - No words are marked if the vocabulary is unknown, a vectorizer counts character n-grams, or the texts
      contain no counted word. The page then shows the reason.
    - The relevance of word w in topic k is lambda log p(w|k) + (1 - lambda) log(p(w|k) / p(w)). p(w) is the
      mean of p(w|k) over topics, weighted by their shares of tokens. A slider sets lambda.
    - The map approximates the Hellinger distances of `topic_similarity` by metric multidimensional scaling.
      It starts from the classical solution; overlapping circles are then pushed apart.
    - The most probable topic of a word in a document has the largest product of topic proportion and word
      probability.
    - The page holds up to n_documents documents per topic and the 60 groups with the most tokens. The search
      covers 20,000 words with up to three topics each. Without texts, the page holds the most frequent words
      of each document: 300 for up to 150 documents, 45 for 1000, and at least 20. The size for 100 topics,
      20,000 words and 1000 documents is 1.5 MB without texts and 3.5 MB with texts.

    References
    ----------
    C. Sievert and K. Shirley, "LDAvis: a method for visualizing and interpreting topics", Workshop on
    Interactive Language Learning, Visualization, and Interfaces, 2014.

    J. de Leeuw, "Applications of convex analysis to multidimensional scaling", Recent Developments in
    Statistics, 1977.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.inspection import explore
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(100, random_state=0).data
    >>> explorer = explore(OnlineEMLDA(n_components=10, random_state=0).fit(X), X)
    >>> explorer.save("topics.html")  # doctest: +SKIP
    """
    model = in_one_state(model)
    components = plug_in_topics(model, "model").components()
    documents = infer_documents(model, X)
    known = column_names(model)
    names = word_names(known, feature_names, components.shape[1])
    labels = topic_labels(model, len(components))
    lengths, proportions = documents.lengths, documents.proportions
    if proportions.shape[1] != len(components):
        raise ValueError(
            f"transform of the model returns {proportions.shape[1]} proportions a document, but it has "
            f"{len(components)} topics."
        )
    proportions = normalize(proportions.astype(np.float64), norm="l1", copy=False)
    texts = one_for_each(texts, "texts", len(lengths), "document of X")
    grouping = None if groups is None else check_groups(groups, len(lengths))

    n_tokens = lengths.sum()
    shares = lengths @ proportions / n_tokens
    expected = shares @ components
    relevant = relevant_words(components, shares, n_words)
    typical = typical_documents(lengths, proportions, n_documents)
    kept = np.unique(typical)
    found = documents_with_topics(documents.counts, proportions, components, kept)
    unmarked = None
    if texts is None:
        entries = with_words(found, expected, len(kept))
    else:
        is_named = known is not None or feature_names is not None
        find, spelled, reason = text_marker(model, X, names if is_named else None, word_of, n_characters)
        entries = with_texts(found, texts, n_characters, spelled, find)
        if not any(entry["marks"] for entry in entries):
            unmarked = reason
    words = words_in_page(expected, relevant, entries)
    numbers = np.zeros(len(names), dtype=int)
    numbers[words] = np.arange(len(words))
    for entry in entries:
        if "words" in entry:
            entry["words"][::3] = numbers[entry["words"][::3]].tolist()

    coherences = coherences_of(components, documents.counts)
    similarity = topic_similarity(model)
    centers, radii = topic_map(1 - similarity, shares)
    related = largest(similarity - 2 * np.eye(len(labels)), min(RELATED_TOPICS, len(labels) - 1))
    data = {
        "title": title,
        "n_documents": len(lengths),
        "n_tokens": float(n_tokens),
        "n_words": len(names),
        "words_shown": n_words,
        "first": first_topic(coherences, shares),
        "unmarked": unmarked,
        "topics": [
            {
                "name": labels[k],
                "share": rounded(shares[k]),
                "coherence": None if coherences is None else rounded(coherences[k], 3),
                "x": rounded(centers[k, 0]),
                "y": rounded(centers[k, 1]),
                "radius": rounded(radii[k]),
                "words": numbers[relevant[k]].tolist(),
                "probabilities": rounded(components[k, relevant[k]]),
                "related": related[k].tolist(),
                "documents": np.searchsorted(kept, typical[k]).tolist(),
            }
            for k in range(len(components))
        ],
        "words": {
            "names": [str(name) for name in names[words]],
            "tokens": rounded(n_tokens * expected[words]),
            "topics": topics_of_words(components, shares, words),
        },
        "documents": entries,
    }
    if dates is not None:
        periods, codes = few_periods(dates, freq, len(lengths))
        data["time"] = shares_by(codes, periods, lengths, proportions)
        for entry in entries:
            entry["period"] = periods[codes[entry["row"]]]
    if grouping is not None:
        group_names, codes = list(map(str, grouping[0])), grouping[1]
        data["groups"] = shares_by_group(group_names, codes, lengths, proportions)
        for entry in entries:
            entry["group"] = group_names[codes[entry["row"]]]
    return Explorer(data)


def _page(data):
    """Return the HTML of the page with its style, script and data."""
    folder = files("sktopic.inspection") / "explorer"
    style = (folder / "style.css").read_text(encoding="utf-8")
    script = "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        policy=f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=html.escape(shown(data["title"])),
        style=style,
        script=script,
        data=as_json(data),
    )


def _digest(content):
    """Return the source expression of a content security policy that allows only this content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def as_json(data):
    """Return JSON that is safe in a script element of an HTML page in UTF-8."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
