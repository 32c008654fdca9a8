"""Coherence against formulas written as loops, hand-computed cases and gensim; diversity."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence, topic_diversity

from .conftest import assert_raises

MEASURES = ["npmi", "u_mass", "c_v", "c_npmi", "c_uci"]
WINDOWED = ["c_v", "c_npmi", "c_uci"]

NAMES = [f"w{j:02d}" for j in range(20)]


def make_texts(lengths, seed, names=NAMES):
    """Texts with frequent and rare words, many repeated, and some that are no column."""
    rng = np.random.RandomState(seed)
    ranks = [rng.exponential(len(names) / 4, size=length).astype(int) for length in lengths]
    return [[names[rank] if rank < len(names) else "other" for rank in text] for text in ranks]


def count(texts, names=NAMES):
    return np.array([[text.count(name) for name in names] for text in texts])


# 150 and 130 exceed both windows, 0 to 9 are below both, 10 is one of them.
TEXTS = make_texts([150, 12, 0, 1, 9, 10, 11, 40, 25, 130, 30, 3] * 2, seed=0)
X = count(TEXTS)
COMPONENTS = np.random.RandomState(0).dirichlet(np.full(20, 0.3), size=6) + 1e-6
GIVEN = {"texts": TEXTS, "feature_names": NAMES}


def options(measure):
    return {"measure": measure, **(GIVEN if measure in WINDOWED else {})}


# Formulas as loops. `units` are the documents or windows that each word is in, and how many there are.


def units_of(sets):
    return {name: {i for i, words in enumerate(sets) if name in words} for name in NAMES}, len(sets)


def share(units, *words):
    return len(set.intersection(*(units[0][word] for word in words))) / units[1]


def naive_npmi(one, other, units):
    both = share(units, one, other)
    if both in (0, 1):
        return both - 1.0
    return np.log(both / (share(units, one) * share(units, other))) / -np.log(both)


def naive_u_mass(above, below, units):
    given = share(units, above)
    return np.log((share(units, above, below) + 1e-12) / given) if given else 0.0


def naive_c_uci(one, other, units):
    return np.log((share(units, one, other) + 1e-12) / (share(units, one) * share(units, other)))


def naive_c_npmi(one, other, units):
    return naive_c_uci(one, other, units) / -np.log(share(units, one, other) + 1e-12)


OF_PAIRS = {"npmi": naive_npmi, "u_mass": naive_u_mass, "c_npmi": naive_c_npmi, "c_uci": naive_c_uci}


def naive(measure, words, units):
    if measure in OF_PAIRS:
        return np.mean([OF_PAIRS[measure](*pair, units) for pair in itertools.combinations(words, 2)])
    vectors = np.array([[naive_c_npmi(one, other, units) for other in words] for one in words])
    whole = vectors.sum(axis=0)
    return np.mean(vectors @ whole / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)))


def windows(texts, size):
    return [
        set(text[first : first + size]) for text in texts for first in range(max(len(text) - size + 1, 1))
    ]


def gensim_windows(texts, size):
    """The windows as gensim counts them: the word that leaves is taken out, though it may be repeated."""
    units = []
    for text in texts:
        present = set(text[:size])
        units.append(set(present))
        for first in range(1, len(text) - size + 1):
            present.discard(text[first - 1])
            present.add(text[first + size - 1])
            units.append(set(present))
    return units


@pytest.mark.parametrize("measure", ["npmi", "u_mass"])
def test_documents_against_loops(measure):
    documents = units_of([set(text) for text in TEXTS])
    for n_words in (2, 7):
        settings = {"measure": measure, "n_words": n_words}
        words = top_words(COMPONENTS, NAMES, n_words=n_words)
        each = coherence(COMPONENTS, X, **settings, per_topic=True)
        assert_allclose(each, [naive(measure, row, documents) for row in words], rtol=1e-12)
    # Documents are read in parts of 32,768.
    many = sp.vstack([sp.csr_array(X)] * 1400)
    assert_allclose(coherence(COMPONENTS, many, **settings), each.mean(), rtol=1e-12)
    # Topics are counted in groups of 50.
    topics, settings = np.random.RandomState(1).rand(120, 20), {**settings, "per_topic": True}
    parts = [coherence(topics[first : first + 40], X, **settings) for first in (0, 40, 80)]
    assert_allclose(coherence(topics, X, **settings), np.concatenate(parts), rtol=1e-14)


@pytest.mark.parametrize("counts", ["exact", "gensim"])
def test_windows_against_loops(counts):
    words = top_words(COMPONENTS, NAMES, n_words=5)
    for measure, size in itertools.product(WINDOWED, (1, 2, 30, 1000, None)):
        default = 110 if measure == "c_v" else 10
        units = units_of({"exact": windows, "gensim": gensim_windows}[counts](TEXTS, size or default))
        settings = {**options(measure), "n_words": 5, "window_size": size, "window_counts": counts}
        each = coherence(COMPONENTS, **settings, per_topic=True)
        expected = [naive(measure, row, units) for row in words]
        assert_allclose(each, expected, rtol=1e-11, err_msg=f"{measure} {size}")


# By hand

LOG = np.log
ABSENT = [[1, 1, 0], [1, 1, 0], [0, 0, 0]]  # column 2 is in no document
IN_ALL = [[1, 1, 1], [1, 1, 0]]  # columns 0 and 1 are in all


def test_values_by_hand():
    """Of as many words as have a probability; texts are those of the documents."""
    for measure, topic, documents, expected in (
        ("npmi", [2, 1], [[1, 1], [1, 1], [1, 0], [0, 1]], LOG((2 / 4) / (3 / 4) ** 2) / -LOG(2 / 4)),
        # Under the condition of the more probable word
        ("u_mass", [2, 1], [[1, 1], [1, 0], [1, 0], [1, 0]], LOG(1 / 4)),
        ("u_mass", [1, 2], [[1, 1], [1, 0], [1, 0], [1, 0]], 0.0),
        ("npmi", [3, 2, 1], ABSENT, (1 - 1 - 1) / 3),
        ("c_npmi", [3, 2, 1], ABSENT, (1 - 1 - 1) / 3),
        ("c_v", [3, 2, 1], ABSENT, (1 + 1 + 0) / 3),
        ("c_uci", [3, 2, 1], ABSENT, (LOG(3 / 2) + 2 * LOG(1e-12)) / 3),
        ("u_mass", [1, 0, 3], ABSENT, 0.0),
        ("u_mass", [3, 0, 1], ABSENT, LOG(1e-12 / (2 / 3))),
        ("npmi", [3, 2, 0], IN_ALL, 0.0),
        ("npmi", [3, 0, 2], IN_ALL, 0.0),
        ("npmi", [3, 2, 1], IN_ALL[:1], 0.0),
        ("u_mass", [3, 2, 0], IN_ALL, 0.0),
        ("c_npmi", [3, 2, 0], IN_ALL, -1.0),
    ):
        names = list("abc")[: len(topic)]
        texts = [[name for name, n in zip(names, row) for _ in range(n)] for row in documents]
        given = {"texts": texts, "feature_names": names} if measure in WINDOWED else {}
        value = coherence([topic], documents, measure=measure, n_words=np.count_nonzero(topic), **given)
        assert value == pytest.approx(expected, abs=1e-10), (measure, topic, documents)


def test_golden_values_of_gensim():
    """Means of gensim 4.4, computed once."""
    for measure, mean in (
        ("u_mass", -0.486257012561),
        ("c_v", 0.5610671609765),
        ("c_npmi", -0.02463163664479),
        ("c_uci", -0.4213812378103),
    ):
        assert coherence(COMPONENTS, X, n_words=5, **options(measure)) == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("measure", MEASURES)
def test_never_nan(measure):
    """Empty and full columns, empty documents, ties at zero probability, words that are nowhere."""
    rng = np.random.RandomState(0)
    texts = [[*text, NAMES[7]] for text in make_texts([0, 0, 1, 2, 15, 200], seed=3, names=NAMES[:6])] + [[]]
    few = rng.rand(4, 20) * (rng.rand(4, 20) < 0.2) + np.eye(20)[:4]
    for documents, n_words in itertools.product((texts, texts[:1], texts[-2:]), (2, 20)):
        given = {**options(measure), **({"texts": documents} if measure in WINDOWED else {})}
        each = coherence(few, count(documents), n_words=n_words, per_topic=True, **given)
        assert each.shape == (4,) and np.isfinite(each).all()
    nowhere = COMPONENTS * (np.arange(20) != 19)
    given = {**options(measure), **({"texts": [["x"], ["y", NAMES[19]]]} if measure in WINDOWED else {})}
    value = coherence(nowhere, np.zeros((3, 20)), n_words=4, **given)
    assert value == {"u_mass": 0.0, "c_v": 0.0, "c_uci": np.log(1e-12)}.get(measure, -1.0)


# What is accepted


@pytest.mark.parametrize("measure", ["npmi", "c_v"])
def test_the_form_and_the_order_of_what_is_given_do_not_matter(measure):
    settings, with_zeros = options(measure), sp.csr_array(np.ones(X.shape))
    with_zeros.data[:] = X.ravel()
    value = coherence(COMPONENTS, X, **settings)
    each = coherence(COMPONENTS, X, per_topic=True, **settings)
    assert type(value) is float and each.dtype == np.float64
    assert value == pytest.approx(each.mean(), rel=1e-15)
    order = np.random.RandomState(0).permutation(len(X))
    given = dict(settings)
    if measure in WINDOWED:
        given["texts"] = tuple(np.array(TEXTS[i], dtype=object) for i in order)
        given["feature_names"] = np.array(NAMES)
    blocks = [X[:5], sp.csr_array(X[5:])]
    for counts in (X[order], X.tolist(), with_zeros, sp.csc_matrix(X), sp.coo_array(X), X * 0.37, blocks):
        assert coherence(COMPONENTS.tolist(), counts, **given) == value
    # Words that are equally probable are taken in the order of columns.
    equal, descending = np.ones((1, 20)), np.arange(20, 0, -1.0)[None]
    assert coherence(equal, X, n_words=6, **settings) == coherence(descending, X, n_words=6, **settings)


def test_models_are_measured_by_their_topics_words_and_documents():
    texts = ["one two two three", "three four five one", "one five five two", "four four one"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    counts, names = pipe[0].transform(texts), pipe[0].get_feature_names_out()
    components = pipe[-1].components_
    value = coherence(components, counts, n_words=3)
    assert coherence(pipe, texts, n_words=3) == coherence(pipe[-1], counts, n_words=3) == value
    assert topic_diversity(pipe, texts, n_words=3) == topic_diversity(components, n_words=3)
    given = {"measure": "c_v", "texts": [text.split() for text in texts], "n_words": 3}
    value = coherence(components, feature_names=names, **given)
    framed = OnlineEMLDA(2, random_state=0).fit(pd.DataFrame(counts.toarray(), columns=names))
    assert_array_equal(framed.components_, components)
    table = pd.DataFrame(counts.toarray(), columns=names)
    assert coherence(components, table, feature_names=names, n_words=3) == coherence(pipe, texts, n_words=3)
    with pytest.raises(ValueError, match="'five' in column 0, but the topics have 'two'"):
        coherence(components, table, feature_names=names[::-1], n_words=3)
    for model, documents in ((pipe, None), (pipe, texts), (framed, None)):
        assert coherence(model, documents, **given) == value
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    pipe = make_pipeline(hashing, OnlineEMLDA(2, random_state=0)).fit(texts)
    with pytest.raises(ValueError, match="feature_names=None"):
        coherence(pipe, **given)


# Errors


def test_bad_parameters_are_named():
    for given, message in (
        ({"n_words": 1}, "n_words"),
        ({"n_words": 21}, "n_words=21; the topics have 20 words"),
        ({"window_size": 0, "measure": "c_v", **GIVEN}, "window_size"),
        ({"window_size": 10}, "window_size is given, but measure='npmi'"),
        ({"window_counts": "exact"}, "window_counts is given, but measure='npmi'"),
        ({"texts": TEXTS}, "texts is given, but measure='npmi'"),
        ({"measure": "c_v"}, "texts=None; measure='c_v'"),
        ({"measure": "c_npmi", "texts": TEXTS}, "feature_names"),
        ({"measure": "c_v", "texts": TEXTS, "feature_names": NAMES[:3]}, "feature_names"),
        ({"measure": "c_v", "texts": ["a b c"], "feature_names": NAMES}, r"texts\[0\] is a str;"),
        ({"measure": "c_v", "texts": [["a"], None], "feature_names": NAMES}, r"texts\[1\] is a NoneType"),
        ({"measure": "c_v", "texts": [[["a"]]], "feature_names": NAMES}, r"texts\[0\] has lists in place"),
        ({"measure": "c_v", "texts": [["no", "such"]], "feature_names": NAMES}, "none of the 20 words"),
        ({"measure": "c_v", "texts": TEXTS, "feature_names": [*NAMES[:19], NAMES[0]]}, "more than once"),
        ({"measure": "c_v", "texts": [[], []], "feature_names": NAMES}, "texts has no tokens"),
        ({"X": None}, "X=None; measure='npmi'"),
        ({"X": np.zeros((0, 20))}, "X has 0 documents"),
    ):
        assert_raises(ValueError, message, coherence, COMPONENTS, **{"X": X, **given})


# Diversity


def test_diversity_by_hand():
    assert topic_diversity(np.eye(3), n_words=1) == 1.0
    assert topic_diversity(np.ones((4, 6)), n_words=3) == 0.25
    assert topic_diversity([[3, 2, 1, 0], [0, 3, 2, 1]], n_words=2) == 0.75
    assert topic_diversity(np.ones((1, 30))) == 1.0
    for n_words in (0, 5, 1.5):
        assert_raises(ValueError, "n_words", topic_diversity, np.ones((2, 4)), n_words=n_words)
