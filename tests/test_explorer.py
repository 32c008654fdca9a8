"""The explorer's page: its numbers, what is kept out of it, and that its text cannot leave its place."""

import html.parser
import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import sktopic
from sktopic.datasets import make_bars
from sktopic.inspection import _explorer_data, _topic_map, explore, name_topics, topic_similarity
from sktopic.inspection._explorer_data import first_topic, units
from sktopic.inspection._text_marks import find_words
from sktopic.inspection._topic_map import scaled, topic_map
from sktopic.lda import OnlineEMLDA

from .conftest import assert_raises

# What a corpus can have that a page must show and nothing else.
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"quoted\" 'and' `so` ${window.hacked = 1} &amp; &lt;",
    "\u202eright to left\u202c שלום עולם مرحبا",
    "👩‍🔬 emoji 🎉 \U0001d4b3",
    "nul\x00bell\x07escape\x1b",
    "half \ud83d and \ude00 characters",
    "line\u2028paragraph\u2029",
    "__proto__",
    "constructor",
    "toString",
    "`template ${(() => { window.hacked = 1 })()} {{ 7 * 7 }} %s $title",
    "]]> --> <svg onload=window.hacked=1> javascript:window.hacked=1",
    "</style></textarea></title><a href='javascript:window.hacked = 1'>",
    "\u200f\u2066isolated\u2069 e\u0301\u0327\u0302 zero\u200bwidth \ufeffmark \uffff",
    "x" * 10_000,
]


ANY_TOPICS = OnlineEMLDA(n_components=2, max_iter=1, random_state=0)


class ScriptReader(html.parser.HTMLParser):
    """Collects the elements of a page, and what stands in scripts."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.script = [], [], [], None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag == "script":
            self.script = len(self.scripts)
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.script = None

    def handle_data(self, data):
        if self.script is not None:
            self.scripts[self.script] += data


def read(explorer):
    """The elements of the page and its data."""
    reader = ScriptReader()
    reader.feed(explorer.html)
    return reader, json.loads(reader.scripts[0])


def data_of(explorer):
    return read(explorer)[1]


@pytest.fixture(scope="module")
def bars():
    return make_bars(60, random_state=0).data


@pytest.fixture(scope="module")
def lda(bars):
    return OnlineEMLDA(n_components=5, max_iter=2, random_state=0).fit(bars)


def test_words_are_those_most_relevant_at_any_position_of_the_slider(lda, bars):
    data = data_of(explore(lda, bars, n_words=3))
    theta, lengths = lda.transform(bars), np.asarray(bars.sum(axis=1)).ravel()
    shares = lengths @ theta / lengths.sum()
    for topic, components in zip(data["topics"], lda.components_):
        columns = [int(data["words"]["names"][word][1:]) for word in topic["words"]]
        wanted = set()
        for weight in np.linspace(0, 1, 21):
            relevance = np.log(components) - (1 - weight) * np.log(shares @ lda.components_)
            wanted |= {*np.argsort(-relevance, kind="stable")[:3]}
        assert {*columns} == wanted
        assert_allclose(topic["probabilities"], components[columns], rtol=1e-3)
    centers, radii = topic_map(1 - topic_similarity(lda), shares)
    circles = [[topic["x"], topic["y"], topic["radius"]] for topic in data["topics"]]
    assert_allclose(circles, np.column_stack([centers, radii]), rtol=1e-3)


class Given(BaseEstimator):
    """A model of these topics, whose transform returns these proportions."""

    def __init__(self, components, proportions):
        self.components_, self.proportions = np.array(components), proportions

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array(self.proportions)


def test_data_by_hand_with_ties_and_an_empty_group():
    """Of 16 tokens, topics have 7, 3 and 6; words a and b have 4.6 and c and d 3.4 of them."""
    components = [[0.1, 0.4, 0.1, 0.4], [0.4, 0.1, 0.4, 0.1], [0.25, 0.25, 0.25, 0.25]]
    model = Given(components, [[0.75, 0.25, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    X = [[2, 2, 2, 2], [0, 1, 1, 0], [0, 0, 0, 0], [3, 0, 3, 0]]
    given = {"groups": ["z", "m", "empty", "m"], "dates": [2001, 2002, 1999, 2002]}
    data = data_of(explore(model, X, [*"cadb"], n_words=2, n_documents=2, **given))
    words, topics, documents = data["words"], data["topics"], data["documents"]
    assert words["names"] == [*"abcd"] and words["tokens"] == [4.6, 4.6, 3.4, 3.4]
    assert words["topics"] == 2 * [[0, 61, 2, 33, 1, 7]] + 2 * [[2, 44, 1, 35, 0, 21]]
    assert [topic["share"] for topic in topics] == [0.4375, 0.1875, 0.375]
    # All are as probable in the last topic, so the first columns, c and a; by lift, c and d
    assert [topic["words"] for topic in topics] == [[0, 1], [2, 3], [2, 0, 3]]
    assert [topic["related"] for topic in topics] == [[2, 1], [2, 0], [0, 1]]
    assert [topic["documents"] for topic in topics] == [[0, 1], [1, 0], [2, 0]]
    assert [entry["row"] for entry in documents] == [0, 1, 3]
    assert [entry["topics"] for entry in documents[:2]] == [[[0, 0.75], [1, 0.25]], [[0, 0.5], [1, 0.5]]]
    # Rare words first among those that occur as often: triples of word, count and topic
    shown = [np.reshape(entry["words"], (-1, 3)).tolist() for entry in documents]
    assert shown[0] == [[2, 2, 1], [3, 2, 1], [0, 2, 0], [1, 2, 0]]
    assert shown[1:] == [[[3, 1, 1], [0, 1, 0]], [[2, 3, 2], [3, 3, 2]]]
    for name, order in (("groups", ["m", "z"]), ("time", ["2001", "2002"])):
        found, step = data[name], -1 if name == "time" else 1
        assert found["names"] == order
        assert found["n_documents"] == [2, 1][::step]
        assert found["shares"] == [pair[::step] for pair in ([0.125, 0.75], [0.125, 0.25], [0.75, 0])]
        assert [pair[::step][1] for pair in found["low"]] == 3 * [None]  # of one document
    assert data["groups"]["omitted"] == 0
    assert [entry["group"] for entry in documents] == ["z", "m", "m"]
    assert [entry["period"] for entry in documents] == ["2001", "2002", "2002"]


def test_the_page_has_limits(monkeypatch):
    """Of words to search for, and of words of documents; numbers have four digits. One word is enough."""
    one_word = OnlineEMLDA(n_components=1, random_state=0).fit([[3]])
    data = data_of(explore(one_word, [[2]]))
    assert data["topics"][0]["share"] == 1 and data["documents"][0]["words"] == [0, 2, 0]
    assert data_of(explore(one_word, [[2]], n_documents=0))["documents"] == []
    monkeypatch.setattr(_explorer_data, "MOST_WORDS", 600)
    components = np.random.default_rng(0).dirichlet(np.full(1000, 0.5), 2)
    X = np.zeros((3, 1000), dtype=int)
    X[0, :400] = 1
    X[1, :7] = 2
    explorer = explore(Given(components, np.full((3, 2), 0.5)), X, n_words=1)
    data = data_of(explorer)
    shown = [(len(entry["words"]) // 3, entry["omitted"]) for entry in data["documents"]]
    assert shown == [(300, 100), (7, 0)]
    names, frequent = data["words"]["names"], np.argsort(-components.sum(axis=0))[:600]
    assert {f"x{word}" for word in frequent} <= {*names}
    assert len(names) <= 902  # to search for, in documents and of topics
    assert not re.search(r"\d\.\d{9}", explorer.html)
    # Some documents of many are shown by fewer words.
    monkeypatch.setattr(_explorer_data, "MOST_CELLS", 900)
    many = Given(components[:, :60], np.full((20, 2), 0.5))
    data = data_of(explore(many, np.ones((20, 60)), n_documents=20))
    assert {(len(entry["words"]) // 3, entry["omitted"]) for entry in data["documents"]} == {(45, 15)}


def test_pipelines_searches_and_other_libraries():
    texts = ["space orbit moon", "orbit space rocket", "ice puck goal", "goal puck team"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, max_iter=2, random_state=0))
    search = GridSearchCV(pipe, {"onlineemlda__n_components": [2, 3]}, cv=2).fit(texts)
    name_topics(search, {1: "left <b>"})
    data = data_of(explore(search, texts, texts=texts))
    assert [topic["name"] for topic in data["topics"]][:2] == ["Topic 0", "left <b>"]
    assert set(data["words"]["names"]) == {*" ".join(texts).split()}
    for entry in data["documents"]:
        assert entry["text"] == texts[entry["row"]] and len(entry["marks"]) == 9
    X = CountVectorizer().fit_transform(texts)
    theirs = LatentDirichletAllocation(n_components=2, random_state=0).fit(X)
    assert len(data_of(explore(theirs, X))["topics"]) == 2


def test_the_page_opens_on_the_most_coherent_of_large_topics(lda, bars):
    data = data_of(explore(lda, bars))
    npmi = sktopic.metrics.coherence(lda, bars, per_topic=True)
    assert_allclose([topic["coherence"] for topic in data["topics"]], npmi, rtol=0.01)
    assert data["first"] == npmi.argmax()  # all are of average size
    shares = np.array([0.5, 0.34, 0.16])
    assert first_topic(np.array([0.1, 0.2, 0.9]), shares) == 1
    assert first_topic(np.array([0.1, 0.2, 0.9]), np.array([0.5, 0.33, 0.17])) == 2
    assert first_topic(None, shares) == 0


def marked_words(explorer):
    """Words that are marked in each text, in the order of rows, and what the page says if there are none."""
    data = data_of(explorer)
    marked = {}
    for entry in data["documents"]:
        units_of_text, at = entry["text"].encode("utf-16-le"), 0
        marked[entry["row"]] = words = []
        for before, length, _ in zip(*[iter(entry["marks"])] * 3):
            words.append(units_of_text[2 * (at + before) : 2 * (at + before + length)].decode("utf-16-le"))
            at += before + length
    return [marked[row] for row in sorted(marked)], data["unmarked"]


def segment(text):
    """Words of two characters, and single characters, without 的: as a segmenter of Chinese returns them."""
    return re.findall("北京|上海|公园|[我爱去]", text)


def stems(text):
    return [re.sub("(ies|y|ing|s)$", "", word) for word in re.findall("[a-z]+", text.lower())]


CHINESE = ["我爱北京的公园。我去🎉上海", "上海的公园,北京"]
SEGMENTED = [["我", "爱", "北京", "公园", "我", "去", "上海"], ["上海", "公园", "北京"]]
MARKUP = ["<a cat> A cat sat <a dog>", "the dog <the cat> sat"]
ENGLISH = ["Ponies running: the Pony-rides", "Runs of a (pony)"]


def test_texts_are_marked_by_the_tokens_of_the_vectorizer():
    for vectorizer, texts, found in (
        (CountVectorizer(analyzer=segment), CHINESE, SEGMENTED),
        (CountVectorizer(tokenizer=segment, token_pattern=None), CHINESE, SEGMENTED),
        (
            CountVectorizer(tokenizer=segment, token_pattern=None, ngram_range=(2, 2)),
            CHINESE,
            [["我爱", "北京的公园", "我去"], ["上海的公园"]],
        ),
        (
            CountVectorizer(analyzer=stems),
            ENGLISH,
            [["Ponies", "running", "the", "Pony", "rides"], ["Runs", "of", "a", "pony"]],
        ),
        (
            CountVectorizer(strip_accents="unicode", stop_words=["of"], ngram_range=(1, 2)),
            ["Café of York", "The cafes"],
            [["Café of York"], ["The cafes"]],
        ),
        (
            CountVectorizer(preprocessor=lambda text: re.sub("<.*?>", "", text).lower()),
            MARKUP,
            [["cat", "sat"], ["the", "dog", "sat"]],
        ),
        (CountVectorizer(token_pattern=r"[a-z][a-z ]*"), ["red cat. sun", "cat"], [["sun"], ["cat"]]),
        (CountVectorizer(token_pattern=r"\S+"), ["C++ don't", "#tag"], [["C++", "don't"], ["#tag"]]),
    ):
        pipe = make_pipeline(vectorizer, ANY_TOPICS).fit(texts)
        assert marked_words(explore(pipe, texts, texts=texts)) == (found, None)


def test_a_word_that_the_page_cuts_is_not_marked():
    texts = ["Under understanding under"]
    pipe = make_pipeline(CountVectorizer(), ANY_TOPICS).fit(texts)
    for model, X in ((pipe, texts), (pipe[-1], pipe[0].transform(texts))):
        for n, found in ((0, []), (12, ["Under"]), (19, ["Under", "understanding"])):
            page = explore(model, X, pipe[0].get_feature_names_out(), texts, n_characters=n)
            assert marked_words(page)[0] == [found]


def test_what_cannot_be_marked_is_said():
    texts = ["new york", "york of old"]
    tokens = [["new", "york"], ["York", "old"]]
    pipe = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)), ANY_TOPICS).fit(texts)
    marked, reason = marked_words(explore(pipe, texts, texts=texts))
    assert marked == [[], []] and "character n-grams (analyzer='char_wb')" in reason
    counter = CountVectorizer(token_pattern=r"[^,]+")
    pipe = make_pipeline(counter, ANY_TOPICS).fit(["new york,old york", "york"])
    phrases = ["new york", "old york"]
    marked, reason = marked_words(explore(pipe, phrases, texts=phrases))
    assert marked == [[], []] and "only words that depend on text beyond a space" in reason
    # Documents that are tokens already: the words are found in the texts by their names.
    pipe = make_pipeline(CountVectorizer(analyzer=lambda document: document), ANY_TOPICS).fit(tokens)
    assert marked_words(explore(pipe, tokens, texts=texts)) == ([["new", "york"], ["old"]], None)
    # So are those of a model alone, also in Chinese.
    vectorizer = CountVectorizer(analyzer=segment)
    X = vectorizer.fit_transform(CHINESE)
    model, names = clone(ANY_TOPICS).fit(X), vectorizer.get_feature_names_out()
    assert marked_words(explore(model, X, names, CHINESE)) == (SEGMENTED, None)
    marked, reason = marked_words(explore(model, X, names, ["x0", "x1"]))
    assert marked == [[], []] and "none of the counted words was found" in reason
    marked, reason = marked_words(explore(model, X, texts=["x0 x1 x2 x3 x4 x5 x6"] * 2))
    assert marked == [[], []] and reason.endswith("no names of words: pass feature_names or a pipeline.")


def test_periods_are_few_unless_freq_says_otherwise(lda, bars):
    days = np.datetime64("2020-01-30") + 20 * np.arange(60)
    names = data_of(explore(lda, bars[np.arange(120) % 60], dates=np.repeat(days, 2)))["time"]["names"]
    assert len(names) == 60
    days = np.concatenate([days, [np.datetime64("2024-02-01")]])
    names = data_of(explore(lda, bars[np.arange(61) % 60], dates=days))["time"]["names"]
    assert names[:2] == ["2020-01-01", "2020-02-01"] and names[-1] == "2024-02-01"
    years = data_of(explore(lda, bars, dates=days[:60], freq="YS"))["time"]["names"]
    assert years == ["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"]
    hours = np.repeat(np.datetime64("2020-01-30T00") + np.timedelta64(12, "h") * np.arange(2), 30)
    names = data_of(explore(lda, bars[:60], dates=hours))["time"]["names"]
    assert names == ["2020-01-30 00:00:00", "2020-01-30 12:00:00"]
    days = pd.DatetimeIndex(["2018-11-04 12:00", "2018-11-05"]).tz_localize("America/Sao_Paulo").repeat(30)
    names = data_of(explore(lda, bars[:60], dates=days))["time"]["names"]  # the first day has no midnight
    assert names == ["2018-11-04 12:00:00-02:00", "2018-11-05 00:00:00-02:00"]


def test_groups_of_most_tokens_are_kept(lda, bars):
    groups = [f"g{i}" for i in range(60)] + ["large"] * 60 + ["small"]
    X = np.concatenate([bars.toarray(), bars.toarray(), np.eye(2, bars.shape[1], k=-1)[::-1]])
    shown = data_of(explore(lda, X, groups=[*groups, "empty"]))["groups"]
    # Those of as many tokens in the order of their names
    assert shown["names"] == ["large", *sorted(groups[:60])[:59]]
    assert shown["omitted"] == 2 and shown["n_documents"] == [60] + 59 * [1]


def test_no_group_is_made_of_missing_values(lda, bars):
    numbered = data_of(explore(lda, bars, groups=np.arange(60) % 2))["groups"]
    assert numbered["names"] == ["0", "1"] and numbered["n_documents"] == [30, 30]
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="groups has a missing value for document 1"):
            explore(lda, bars, groups=["a", missing, "b"] * 20)


def test_the_page_loads_nothing_and_its_text_stays_text(tmp_path):
    texts = [f"word {text}" for text in HOSTILE]
    names = ["word", *HOSTILE]
    X = np.eye(len(texts), len(names), k=1, dtype=int) + (np.arange(len(names)) == 0)
    model = OnlineEMLDA(n_components=2, random_state=0).fit(X)
    name_topics(model, HOSTILE[:2])
    explorer = explore(model, X, names, texts=texts, groups=HOSTILE, title=HOSTILE[0])
    page, data = read(explorer)
    assert page.tags.count("script") == 2 and "img" not in page.tags
    assert not {"src", "href", "style"} & {name for name, _ in page.attributes}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "http" not in explorer.html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    shown = {entry["row"]: entry["text"] for entry in data["documents"]}
    assert shown == {row: text.strip()[:3000] for row, text in enumerate(texts)}
    assert [data["title"], *(topic["name"] for topic in data["topics"])] == [HOSTILE[0], *HOSTILE[:2]]
    assert set(data["words"]["names"]) == set(names) and set(data["groups"]["names"]) == set(HOSTILE)
    explorer.save(tmp_path / "topics.html")
    assert (tmp_path / "topics.html").read_text(encoding="utf-8") == explorer.html
    frame = ScriptReader()
    frame.feed(explorer._repr_html_())
    assert frame.tags == ["iframe"] and dict(frame.attributes)["srcdoc"] == explorer.html
    assert dict(frame.attributes)["sandbox"] == "allow-scripts"
    assert re.match(r"<Explorer of 2 topics, 0\.1 MB", repr(explorer))


def test_words_are_found_in_texts():
    for text, features, found in (
        ("The NASA shuttle", ["nasa", "the"], ["The", "NASA"]),
        ("The NASA shuttle, nasa", ["NASA"], ["NASA"]),
        ("new york, New York City", ["new", "new york", "new york city"], ["new york", "New York City"]),
        ("C++ and C", ["c", "c++"], ["C++", "C"]),
        ("don't e-mail", ["don't", "mail"], ["don't", "mail"]),
        ("🎉 x 🎉🎉", ["🎉"], ["🎉", "🎉", "🎉"]),
        ("a b", [], []),
        ("", ["a"], []),
        (" ", ["", " "], []),
    ):
        places = list(find_words(text, dict.fromkeys(features, 0), str.lower))
        assert [text[start:end] for start, end, _ in places] == found
        assert all(feature in features for *_, feature in places)
    assert units("a🎉\ud83d") == 4


def lowered(points, distances):
    """300 steps of SMACOF (Borg and Groenen, 2005, section 8.6), or fewer, from their definition."""
    n, stresses = len(points), []
    for step in range(301):
        d = np.linalg.norm(points[:, None] - points, axis=2)
        stresses.append(((d - distances) ** 2).sum() / (d**2).sum())
        if step == 300 or (step > 1 and (stresses[-2] - stresses[-1]) < 1e-6):
            return points
        ratio = distances / (d + np.eye(n))
        points = (ratio.sum(axis=1, keepdims=True) * points - ratio @ points) / n


@pytest.mark.slow
def test_the_map_of_many_topics_is_made_in_a_second():
    distances = 1 - topic_similarity(np.random.default_rng(0).dirichlet(np.full(500, 0.05), 400))
    with threadpool_limits(1, "blas"):  # threads that wait for each other would count, too
        start = time.process_time()
        topic_map(distances, np.full(400, 1 / 400))
        assert time.process_time() - start < 1


def test_the_map_has_the_distances_of_topics_as_far_as_stress_falls():
    for n_topics in (3, 33):
        components = np.random.default_rng(0).dirichlet(np.full(500, 0.05), n_topics)
        distances, points = 1 - topic_similarity(components), np.random.default_rng(1).random((n_topics, 2))
        assert_allclose(scaled(points, distances), lowered(points, distances), rtol=0, atol=1e-9)
    distances = 1 - topic_similarity([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    centers, _ = topic_map(distances, np.full(3, 1e-4))
    on_map = np.sqrt(((centers[:, None] - centers) ** 2).sum(axis=2))
    assert_allclose(on_map / on_map.max(), distances / distances.max(), atol=1e-3)


def test_the_map_starts_from_the_classical_solution(monkeypatch):
    """Which has the distances of points on a plane exactly, and the widest axis first, in one direction."""
    monkeypatch.setattr(_topic_map, "MOST_STEPS", 0)
    points = np.random.default_rng(0).random((9, 2)) * [3.0, 1.0]
    found = _topic_map.plane(cdist(points, points))
    assert_allclose(cdist(found, found), cdist(points, points), rtol=1e-9)
    assert found[:, 0].std() > found[:, 1].std()
    assert np.all(found.max(axis=0) > -found.min(axis=0))


def test_circles_do_not_overlap():
    """Areas are those of a fifth of the map, within limits."""
    rng = np.random.RandomState(0)
    for n_topics in (1, 2, 3, 40):
        for components in (np.full((n_topics, 50), 0.02), rng.dirichlet(np.full(50, 0.1), n_topics)):
            shares = rng.dirichlet(np.full(n_topics, 0.5))
            centers, radii = topic_map(1 - topic_similarity(components), shares)
            distances = np.linalg.norm(centers[:, None] - centers, axis=2)
            assert np.all(distances + np.diag(np.full(n_topics, np.inf)) > radii[:, None] + radii)
            assert_allclose(np.pi * radii**2, (0.2 * shares).clip(np.pi * 0.008**2, np.pi * 0.13**2))


def test_errors_say_what_is_allowed():
    given = {"model": clone(ANY_TOPICS).fit(np.eye(2)), "X": np.eye(2)}
    for arguments, error, message in (
        ({"texts": ["a"]}, ValueError, "texts has 1 entries; 2 are needed, one for each document"),
        ({"texts": "ab"}, TypeError, "texts is a str; a list or one-dimensional array"),
        ({"texts": np.array("ab")}, TypeError, "texts is a ndarray; a list or one-dim"),
        ({"texts": np.array([["a"], ["b"]])}, TypeError, "texts is a ndarray; a list or one-dim"),
        ({"texts": ["a", None]}, TypeError, "texts has a NoneType for document 1; str is allowed"),
        ({"groups": [1]}, ValueError, r"groups has shape \(1,\); X has 2 documents"),
        ({"dates": [1]}, ValueError, "dates has 1 entries, but X has 2 documents"),
        ({"n_words": 0}, ValueError, "n_words"),
        ({"title": None}, ValueError, "title"),
        ({"model": Given(np.eye(3, 2) + 1, np.eye(2))}, ValueError, "returns 2 proportions .* has 3 topics"),
    ):
        assert_raises(error, message, explore, **given | arguments)
