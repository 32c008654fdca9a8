"""Coherence against formulas written as loops, hand-computed cases and gensim; diversity."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_lda_documents
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence, topic_diversity

MEASURES = ["npmi", "u_mass", "c_v", "c_npmi", "c_uci"]
every_measure = pytest.mark.parametrize("measure", MEASURES)
WINDOWED = ["c_v", "c_npmi", "c_uci"]
windowed = pytest.mark.parametrize("measure", WINDOWED)

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
    return GIVEN if measure in WINDOWED else {}


# Formulas as loops. `units` is a list of sets of words: documents, or windows.


def share(units, *words):
    return sum(all(word in unit for word in words) for unit in units) / len(units)


def naive_npmi(words, units):
    values = []
    for one, other in itertools.combinations(words, 2):
        both = share(units, one, other)
        if both == 0:
            values.append(-1.0)
        elif both == 1:
            values.append(0.0)
        else:
            values.append(np.log(both / (share(units, one) * share(units, other))) / -np.log(both))
    return np.mean(values)


def naive_u_mass(words, units):
    values = []
    for above, below in itertools.combinations(words, 2):
        given = share(units, above)
        values.append(np.log((share(units, above, below) + 1e-12) / given) if given else 0.0)
    return np.mean(values)


def smoothed_npmi(one, other, units):
    both = share(units, one, other) + 1e-12
    return np.log(both / (share(units, one) * share(units, other))) / -np.log(both)


def naive_c_npmi(words, units):
    return np.mean([smoothed_npmi(*pair, units) for pair in itertools.combinations(words, 2)])


def naive_c_uci(words, units):
    pairs = itertools.combinations(words, 2)
    return np.mean(
        [np.log((share(units, i, j) + 1e-12) / (share(units, i) * share(units, j))) for i, j in pairs]
    )


def naive_c_v(words, units):
    vectors = np.array([[smoothed_npmi(one, other, units) for other in words] for one in words])
    whole = vectors.sum(axis=0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return np.mean(vectors @ whole / norms)


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


@pytest.mark.parametrize("n_words", [2, 3, 7])
@pytest.mark.parametrize(("measure", "naive"), [("npmi", naive_npmi), ("u_mass", naive_u_mass)])
def test_documents_against_loops(measure, naive, n_words):
    documents = [set(text) for text in TEXTS]
    expected = [naive(words, documents) for words in top_words(COMPONENTS, NAMES, n_words=n_words)]
    each = coherence(COMPONENTS, X, measure=measure, n_words=n_words, per_topic=True)
    assert_allclose(each, expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 10, 30, 110, 1000, None])
@pytest.mark.parametrize("counts", ["exact", "gensim"])
@pytest.mark.parametrize(
    ("measure", "naive"), [("c_v", naive_c_v), ("c_npmi", naive_c_npmi), ("c_uci", naive_c_uci)]
)
def test_windows_against_loops(measure, naive, counts, size):
    units = {"exact": windows, "gensim": gensim_windows}[counts](TEXTS, size or {"c_v": 110}.get(measure, 10))
    expected = [naive(words, units) for words in top_words(COMPONENTS, NAMES, n_words=5)]
    settings = {"measure": measure, "n_words": 5, "window_size": size, "window_counts": counts}
    assert_allclose(coherence(COMPONENTS, **GIVEN, **settings, per_topic=True), expected, rtol=1e-11)


@windowed
def test_counts_of_gensim_are_the_exact_ones_where_no_word_is_repeated(measure):
    rng = np.random.RandomState(0)
    texts = [rng.permutation(NAMES)[: rng.randint(1, 21)].tolist() for _ in range(40)]
    settings = {"texts": texts, "feature_names": NAMES, "measure": measure, "window_size": 4, "n_words": 5}
    exact = coherence(COMPONENTS, **settings, window_counts="exact", per_topic=True)
    assert_array_equal(coherence(COMPONENTS, **settings, window_counts="gensim", per_topic=True), exact)


def test_a_window_longer_than_all_texts_counts_documents():
    """c_npmi is then npmi but for the 1e-12, where all pairs meet."""
    names = NAMES[:5]
    components = np.random.RandomState(0).rand(3, 5)
    texts = make_texts([12] * 60, seed=1, names=names)
    settings = {"texts": texts, "feature_names": names, "window_size": 12, "n_words": 4}
    expected = coherence(components, count(texts, names), n_words=4)
    assert coherence(components, measure="c_npmi", **settings) == pytest.approx(expected, abs=1e-9)


def test_many_topics_are_counted_in_groups_without_a_trace():
    many = np.random.RandomState(1).rand(120, 20)
    each = coherence(many, X, n_words=4, per_topic=True)
    alone = [coherence(topic[None], X, n_words=4) for topic in many]
    assert_allclose(each, alone, rtol=1e-14)


# By hand


def test_npmi_by_hand():
    """Words in 2, 2 and 1 of 4 documents: a and b twice together, the others never."""
    documents = [[1, 1, 0], [5, 2, 0], [0, 0, 3], [0, 0, 0]]
    assert coherence([[3, 2, 1]], documents, n_words=2) == pytest.approx(1.0)
    assert coherence([[3, 2, 1]], documents, n_words=3) == pytest.approx((1 - 1 - 1) / 3)
    documents = [[1, 1], [1, 0], [0, 1], [0, 0]]
    assert coherence([[2, 1]], documents, n_words=2) == pytest.approx(0.0, abs=1e-15)
    documents = [[1, 1], [1, 1], [1, 0], [0, 1]]
    expected = np.log((2 / 4) / (3 / 4) ** 2) / -np.log(2 / 4)
    assert coherence([[2, 1]], documents, n_words=2) == pytest.approx(expected)


def test_u_mass_by_hand_is_conditioned_on_the_more_probable_word():
    documents = [[1, 1], [1, 0], [1, 0], [1, 0]]
    assert coherence([[2, 1]], documents, measure="u_mass", n_words=2) == pytest.approx(np.log(1 / 4))
    assert coherence([[1, 2]], documents, measure="u_mass", n_words=2) == pytest.approx(0.0, abs=1e-11)


def test_windows_by_hand():
    """Of a b b c there are three windows of two tokens: ab, bb and bc."""
    given = {"texts": [list("abbc")], "feature_names": list("abc"), "measure": "c_npmi", "window_size": 2}
    expected = np.log((1 / 3) / (1 / 3 * 3 / 3)) / -np.log(1 / 3)
    value = coherence([[3, 2, 1]], **given, n_words=2, window_counts="exact")
    assert value == pytest.approx(expected, abs=1e-10)


def test_a_repeated_word_is_gone_for_gensim_once_its_first_occurrence_has_left():
    """Windows of b a b x x: bab, abx, bxx. To gensim the second has no b, nor the third."""
    given = {"texts": [list("babxx")], "feature_names": list("ab"), "measure": "c_npmi", "window_size": 3}
    exact = coherence([[2, 1]], **given, n_words=2, window_counts="exact")
    assert exact == pytest.approx(0.0, abs=1e-10)  # P(a) = 2/3, P(b) = 1, together 2/3
    as_gensim = coherence([[2, 1]], **given, n_words=2)
    assert as_gensim == pytest.approx(np.log((1 / 3) / (2 / 3 * 1 / 3)) / -np.log(1 / 3))


# gensim 4.4, of COMPONENTS on TEXTS with 5 words, computed once

GOLDEN = {
    ("u_mass", None): [
        -0.8910856430552,
        -0.5911508302128,
        -0.2402451658726,
        -0.1941855878671,
        -0.6763174050107,
        -0.3245574433474,
    ],
    ("c_v", None): [
        0.4946470258345,
        0.6187487004965,
        0.6604417141749,
        0.4992302839096,
        0.6118798572338,
        0.4814553842095,
    ],
    ("c_v", 20): [
        0.3519542050035,
        0.4279006714778,
        0.3900311297057,
        0.5755377170966,
        0.5075202182843,
        0.4805397317582,
    ],
    ("c_npmi", None): [
        -0.08606966552671,
        -0.07688723568464,
        -0.04286489935424,
        0.04192122611093,
        0.01056161457287,
        0.005549140013039,
    ],
    ("c_npmi", 3): [
        -0.1990687434018,
        -0.1218062501532,
        -0.1658689572852,
        -0.09710200481342,
        -0.2013436703962,
        -0.1044607368048,
    ],
    ("c_uci", None): [
        -2.395607114216,
        -0.2389336233045,
        -0.1512950802805,
        0.1795339709037,
        0.06985474169431,
        0.008159678341027,
    ],
}


@pytest.mark.parametrize(("measure", "size"), list(GOLDEN))
def test_golden_values_of_gensim(measure, size):
    given = {} if measure == "u_mass" else {**GIVEN, "window_size": size}
    each = coherence(COMPONENTS, X, measure=measure, n_words=5, per_topic=True, **given)
    assert_allclose(each, GOLDEN[measure, size], rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("measure", "size"), [("u_mass", None), ("c_v", None), ("c_npmi", None), ("c_uci", None), ("c_v", 7)]
)
def test_equals_gensim_wherever_that_is_finite(measure, size, seed):
    models = pytest.importorskip("gensim.models")
    dictionary = pytest.importorskip("gensim.corpora").Dictionary([[*NAMES, "other"]])
    rng = np.random.RandomState(seed)
    texts = make_texts(rng.choice([0, 1, 8, 10, 11, 50, 110, 200], size=30), seed=seed)
    components = rng.dirichlet(np.full(20, 0.2), size=8) + 1e-6
    n_words = rng.randint(2, 12)
    given = {"topics": top_words(components, NAMES, n_words=n_words).tolist(), "topn": n_words}
    if measure == "u_mass":
        given["corpus"] = [dictionary.doc2bow(text) for text in texts]
        ours = coherence(components, count(texts), measure=measure, n_words=n_words, per_topic=True)
    else:
        given.update(texts=texts, window_size=size, processes=1)
        settings = {"texts": texts, "feature_names": NAMES, "window_size": size, "n_words": n_words}
        ours = coherence(components, measure=measure, per_topic=True, **settings)
    with np.errstate(all="ignore"):
        theirs = models.CoherenceModel(dictionary=dictionary, coherence=measure, **given)
        theirs = np.array(theirs.get_coherence_per_topic())
    finite = np.isfinite(theirs)
    assert finite.any() and np.isfinite(ours).all()
    assert_allclose(ours[finite], theirs[finite], rtol=1e-10)


# Limits


def test_a_word_that_is_nowhere():
    """Column 2 is in no document: no value is NaN, and each is the one documented."""
    names, texts = list("abc"), [list("ab"), list("ba"), ["d"]]
    components, documents = [[3, 2, 1]], count(texts, names)
    given = {"texts": texts, "feature_names": names}
    assert coherence(components, documents, n_words=3) == pytest.approx((1 - 1 - 1) / 3)
    assert coherence(components, measure="c_npmi", n_words=3, **given) == pytest.approx((1 - 1 - 1) / 3)
    assert coherence(components, measure="c_v", n_words=3, **given) == pytest.approx((1 + 1 + 0) / 3)
    expected = (np.log(3 / 2) + 2 * np.log(1e-12)) / 3
    assert coherence(components, measure="c_uci", n_words=3, **given) == pytest.approx(expected)
    above = coherence([[1, 0, 3]], documents, measure="u_mass", n_words=2)
    below = coherence([[3, 0, 1]], documents, measure="u_mass", n_words=2)
    assert above == 0.0
    assert below == pytest.approx(np.log(1e-12 / (2 / 3)))


@every_measure
def test_words_that_are_all_nowhere(measure):
    components = COMPONENTS * (np.arange(20) != 19)
    given = {"texts": [["x"], ["y", NAMES[19]]], "feature_names": NAMES} if measure in WINDOWED else {}
    value = coherence(components, np.zeros((3, 20)), measure=measure, n_words=4, **given)
    assert value == {"u_mass": 0.0, "c_v": 0.0, "c_uci": np.log(1e-12)}.get(measure, -1.0)


def test_words_in_all_documents_are_independent():
    documents = [[1, 1, 1], [1, 1, 0]]
    assert coherence([[3, 2, 1]], documents, n_words=2) == 0.0
    assert coherence([[3, 1, 2]], documents, n_words=2) == 0.0
    assert coherence([[3, 2, 1]], documents[:1], n_words=3) == 0.0
    assert coherence([[3, 2, 1]], documents, measure="u_mass", n_words=2) == pytest.approx(0.0, abs=1e-11)
    given = {"texts": [["a", "b", "c"], ["a", "b"]], "feature_names": list("abc")}
    assert coherence([[3, 2, 1]], measure="c_npmi", n_words=2, **given) == pytest.approx(-1.0)
    assert np.isfinite(coherence([[3, 2, 1]], measure="c_v", n_words=3, **given))


@pytest.mark.parametrize("n_words", [2, 5, 20])
@every_measure
def test_never_nan(measure, n_words):
    """Empty and full columns, empty documents, ties at zero probability, one topic of one word."""
    rng = np.random.RandomState(0)
    texts = make_texts([0, 0, 1, 2, 15, 200], seed=3, names=NAMES[:6])
    texts = [[*text, NAMES[7]] for text in texts] + [[]]
    for components in (
        np.eye(20)[:1],
        np.ones((3, 20)),
        rng.rand(4, 20) * (rng.rand(4, 20) < 0.2) + np.eye(20)[:4],
    ):
        for documents in (texts, texts[:1], texts[-2:]):
            given = {"texts": documents, "feature_names": NAMES} if measure in WINDOWED else {}
            each = coherence(
                components, count(documents), measure=measure, n_words=n_words, per_topic=True, **given
            )
            assert each.shape == (len(components),)
            assert np.isfinite(each).all()


# What is accepted


@pytest.fixture(scope="module")
def corpus():
    return make_lda_documents(150, n_features=40, n_components=4, mean_length=25, random_state=0)


@pytest.fixture(scope="module")
def model(corpus):
    return OnlineEMLDA(4, max_iter=3, random_state=0).fit(corpus.data)


@every_measure
def test_default_is_the_mean_over_topics(measure):
    value = coherence(COMPONENTS, X, measure=measure, **options(measure))
    assert type(value) is float
    each = coherence(COMPONENTS, X, measure=measure, per_topic=True, **options(measure))
    assert each.shape == (6,) and each.dtype == np.float64
    assert value == pytest.approx(each.mean(), rel=1e-15)


def test_estimators_and_their_arrays_give_the_same(corpus, model):
    assert coherence(model, corpus.data) == coherence(model.components_, corpus.data)
    theirs = LatentDirichletAllocation(4, max_iter=2, random_state=0).fit(corpus.data)
    assert coherence(theirs, corpus.data) == coherence(theirs.components_, corpus.data)
    assert topic_diversity(theirs, n_words=5) == topic_diversity(theirs.components_, n_words=5)
    assert coherence(COMPONENTS.tolist(), X.tolist()) == coherence(COMPONENTS, X)


@pytest.mark.parametrize(
    "container",
    [sp.csr_array, sp.csc_matrix, sp.coo_array, lambda X: X * 0.37, lambda X: X.astype(np.float32)],
    ids=["csr_array", "csc_matrix", "coo_array", "fractions", "float32"],
)
@pytest.mark.parametrize("measure", ["npmi", "u_mass"])
def test_invariant_to_the_container_and_to_the_size_of_counts(measure, container):
    assert coherence(COMPONENTS, container(X), measure=measure) == coherence(COMPONENTS, X, measure=measure)


def test_zeros_that_are_stored_are_no_occurrences():
    stored = sp.csr_array(np.ones((len(X), 20)))
    stored.data[:] = X.ravel()
    assert coherence(COMPONENTS, stored) == coherence(COMPONENTS, X)


@every_measure
def test_order_of_documents_does_not_matter(measure):
    order = np.random.RandomState(0).permutation(len(X))
    given = {**GIVEN, "texts": [TEXTS[i] for i in order]} if measure in WINDOWED else {}
    expected = coherence(COMPONENTS, X, measure=measure, **options(measure))
    assert coherence(COMPONENTS, X[order], measure=measure, **given) == expected


@every_measure
def test_inputs_are_not_changed(measure):
    components, counts, texts = COMPONENTS.copy(), sp.csr_array(X), [text.copy() for text in TEXTS]
    given = {**GIVEN, "texts": texts} if measure in WINDOWED else {}
    coherence(components, counts, measure=measure, **given)
    assert_array_equal(components, COMPONENTS)
    assert_array_equal(counts.toarray(), X)
    assert texts == TEXTS


def test_equally_probable_words_are_taken_in_the_order_of_columns():
    flat = np.ones((1, 20))
    ordered = np.arange(20, 0, -1.0)[None]
    for measure in MEASURES:
        expected = coherence(ordered, X, measure=measure, n_words=6, **options(measure))
        assert coherence(flat, X, measure=measure, n_words=6, **options(measure)) == expected


PLAIN_TEXTS = ["one two two three", "three four five one", "one five five two", "four four one"] * 5


def test_pipelines_are_measured_on_what_their_last_step_sees():
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(PLAIN_TEXTS)
    counts, names = pipe[0].transform(PLAIN_TEXTS), pipe[0].get_feature_names_out()
    assert coherence(pipe, PLAIN_TEXTS, n_words=3) == coherence(pipe[-1], counts, n_words=3)
    assert topic_diversity(pipe, PLAIN_TEXTS, n_words=3) == topic_diversity(pipe[-1], n_words=3)
    tokens = [text.split() for text in PLAIN_TEXTS]
    named = coherence(pipe[-1], measure="c_v", texts=tokens, feature_names=names, n_words=3)
    assert coherence(pipe, measure="c_v", texts=tokens, n_words=3) == named
    assert coherence(pipe, PLAIN_TEXTS, measure="c_v", texts=tokens, n_words=3) == named


def test_words_are_named_as_the_estimator_names_its_columns():
    pandas = pytest.importorskip("pandas")
    model = OnlineEMLDA(2, random_state=0).fit(pandas.DataFrame(X, columns=NAMES))
    assert coherence(model, measure="c_v", texts=TEXTS) == coherence(model, measure="c_v", **GIVEN)


def test_texts_may_be_tuples_and_arrays():
    expected = coherence(COMPONENTS, measure="c_npmi", **GIVEN)
    texts = [tuple(text) for text in TEXTS]
    assert coherence(COMPONENTS, measure="c_npmi", texts=texts, feature_names=np.array(NAMES)) == expected
    texts = tuple(np.array(text, dtype=object) for text in TEXTS)
    assert coherence(COMPONENTS, measure="c_npmi", texts=texts, feature_names=NAMES) == expected


SCORERS = {
    "npmi": partial(coherence, n_words=3),
    "c_v": partial(coherence, measure="c_v", n_words=3, texts=[text.split() for text in PLAIN_TEXTS]),
    "diversity": partial(topic_diversity, n_words=3),
}


@pytest.mark.parametrize("name", list(SCORERS))
def test_usable_as_scoring(name):
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(random_state=0))
    grid = {"onlineemlda__n_components": [1, 2, 3]}
    search = GridSearchCV(pipe, grid, scoring=SCORERS[name], cv=2, error_score="raise").fit(PLAIN_TEXTS)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and search.best_score_ == scores.max()


def test_the_functions_themselves_are_usable_as_scoring(corpus):
    for scoring in (coherence, topic_diversity):
        assert np.isfinite(
            cross_val_score(OnlineEMLDA(3, random_state=0), corpus.data, scoring=scoring)
        ).all()


def test_true_topics_are_more_coherent_than_their_words_in_disorder(corpus):
    shuffled = corpus.components[:, np.random.RandomState(0).permutation(40)]
    for measure in ("npmi", "u_mass"):
        true = coherence(corpus.components, corpus.data, measure=measure, n_words=5)
        assert true > coherence(shuffled, corpus.data, measure=measure, n_words=5)


# Errors


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": "c_uci"}, "measure"),
        ({"n_words": 1}, "n_words"),
        ({"n_words": 21}, "n_words=21; the topics have 20 words"),
        ({"n_words": 2.0}, "n_words"),
        ({"window_size": 0, "measure": "c_v", **GIVEN}, "window_size"),
        ({"window_size": 10}, "window_size"),
        ({"window_counts": "paper"}, "window_counts"),
        ({"texts": TEXTS}, "texts is given, but measure='npmi'"),
        ({"measure": "c_v"}, "texts=None; measure='c_v'"),
        ({"measure": "c_npmi", "texts": TEXTS}, "feature_names"),
        ({"measure": "c_v", "texts": TEXTS, "feature_names": NAMES[:3]}, "feature_names"),
        ({"measure": "c_v", "texts": ["a b c"], "feature_names": NAMES}, r"texts\[0\] is a str;"),
        ({"measure": "c_v", "texts": [["a"], None], "feature_names": NAMES}, r"texts\[1\] is a NoneType"),
        ({"measure": "c_v", "texts": [["no", "such"]], "feature_names": NAMES}, "none of the 20 words"),
        ({"measure": "c_v", "texts": TEXTS, "feature_names": [*NAMES[:19], NAMES[0]]}, "more than once"),
        ({"measure": "c_v", "texts": [], "feature_names": NAMES}, "texts has no tokens"),
        ({"measure": "c_v", "texts": [[], []], "feature_names": NAMES}, "texts has no tokens"),
        ({"measure": "c_v", "texts": "a b c", "feature_names": NAMES}, "texts"),
        ({"per_topic": "yes"}, "per_topic"),
    ],
)
def test_bad_parameters_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        coherence(COMPONENTS, X, **given)


def test_bad_documents_and_topics_are_refused():
    with pytest.raises(ValueError, match="X=None; measure='npmi'"):
        coherence(COMPONENTS)
    with pytest.raises(ValueError, match="X has 0 documents"):
        coherence(COMPONENTS, np.zeros((0, 20)))
    with pytest.raises(ValueError, match="X has 19 features"):
        coherence(COMPONENTS, X[:, :19])
    with pytest.raises(ValueError, match="Negative"):
        coherence(COMPONENTS, -X)
    with pytest.raises(TypeError, match="n_components, n_features"):
        coherence(object(), X)


def test_a_pipeline_that_cannot_name_its_columns_needs_feature_names():
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    pipe = make_pipeline(hashing, OnlineEMLDA(2, random_state=0)).fit(PLAIN_TEXTS)
    with pytest.raises(ValueError, match="feature_names=None"):
        coherence(pipe, measure="c_v", texts=TEXTS)


# Diversity


def test_diversity_by_hand():
    assert topic_diversity(np.eye(3), n_words=1) == 1.0
    assert topic_diversity(np.ones((4, 6)), n_words=3) == 0.25
    assert topic_diversity([[3, 2, 1, 0], [0, 3, 2, 1]], n_words=2) == 0.75
    assert topic_diversity(np.ones((1, 30))) == 1.0


def test_topics_that_repeat_lower_diversity_and_leave_coherence():
    repeated = np.repeat(COMPONENTS, 2, axis=0)
    assert coherence(repeated, X) == pytest.approx(coherence(COMPONENTS, X), rel=1e-12)
    expected = topic_diversity(COMPONENTS, n_words=5) / 2
    assert topic_diversity(repeated, n_words=5) == pytest.approx(expected)


@pytest.mark.parametrize("n_words", [0, 21, 1.5])
def test_diversity_of_bad_n_words(n_words):
    with pytest.raises(ValueError, match="n_words"):
        topic_diversity(COMPONENTS, n_words=n_words)
