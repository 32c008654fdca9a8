"""Matching of topics against brute force and known permutations; stability."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import match_topics, stability

METRICS = ["cosine", "hellinger", "average_jaccard"]
every_metric = pytest.mark.parametrize("metric", METRICS)

FIRST, SECOND = (np.random.RandomState(seed).dirichlet(np.full(20, 0.3), size=4) for seed in (0, 1))


# Similarities of two topics as the literature writes them


def cosine(p, q):
    return p @ q / np.sqrt((p @ p) * (q @ q))


def hellinger(p, q):
    return 1 - np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) / 2)


def average_jaccard(p, q, n_words=10):
    one, other = top_words([p, q], n_words=n_words)
    shares = [
        len({*one[:depth]} & {*other[:depth]}) / len({*one[:depth]} | {*other[:depth]})
        for depth in range(1, n_words + 1)
    ]
    return np.mean(shares)


NAIVE = {"cosine": cosine, "hellinger": hellinger, "average_jaccard": average_jaccard}


@every_metric
def test_similarity_against_its_definition(metric):
    for p, q in itertools.product(FIRST, SECOND):
        matches = match_topics([p], [q], metric=metric)
        assert matches.similarity == pytest.approx([NAIVE[metric](p, q)], rel=1e-10)


@pytest.mark.parametrize("n_words", [1, 3, 20])
def test_average_jaccard_takes_the_top_words_asked_for(n_words):
    similarity = match_topics(FIRST[:1], SECOND[:1], metric="average_jaccard", n_words=n_words).similarity
    assert similarity == pytest.approx([average_jaccard(FIRST[0], SECOND[0], n_words)])


def test_average_jaccard_by_hand():
    """Top words a b c and b a d: 0 of 2, 2 of 2, 2 of 4 in common."""
    similarity = match_topics([[4, 3, 2, 1]], [[3, 4, 1, 2]], metric="average_jaccard", n_words=3).similarity
    assert similarity == pytest.approx([(0 + 1 + 1 / 2) / 3])


@every_metric
def test_assignment_is_the_best_of_all(metric):
    table = np.array([[NAIVE[metric](p, q) for q in SECOND] for p in FIRST])
    best = max(table[range(4), order].sum() for order in itertools.permutations(range(4)))
    matches = match_topics(FIRST, SECOND, metric=metric)
    assert matches.similarity.sum() == pytest.approx(best)
    assert_allclose(matches.similarity, table[matches.first, matches.second], rtol=1e-10)


@every_metric
def test_a_permutation_is_recovered(metric):
    order = np.random.RandomState(0).permutation(40)
    topics = np.random.RandomState(1).dirichlet(np.full(50, 0.1), size=40)
    noise = np.random.RandomState(2).dirichlet(np.full(50, 0.1), size=40)
    matches = match_topics(topics[order], 0.95 * topics + 0.05 * noise, metric=metric)
    assert_array_equal(matches.first, np.arange(40))
    assert_array_equal(matches.second, order)


@every_metric
def test_equal_topics_have_similarity_one_and_disjoint_ones_zero(metric):
    same = match_topics(FIRST, FIRST * [[2], [3], [0.1], [1]], metric=metric)
    assert_array_equal(same.second, np.arange(4))
    assert_allclose(same.similarity, 1.0, atol=1e-7)
    halves = np.zeros((2, 20))
    halves[0, :10] = halves[1, 10:] = 1
    assert match_topics(halves[:1], halves[1:], metric=metric).similarity == pytest.approx([0.0])


@every_metric
def test_numbers_of_topics_may_differ(metric):
    three, five = FIRST[:3], np.vstack([SECOND[:2], FIRST[[2, 0, 1]]])
    matches = match_topics(three, five, metric=metric)
    assert_array_equal(matches.first, [0, 1, 2])
    assert_array_equal(matches.second, [3, 4, 2])
    matches = match_topics(five, three, metric=metric)
    assert_array_equal(matches.first, [2, 3, 4])
    assert_array_equal(matches.second, [2, 0, 1])
    assert matches.similarity.shape == (3,)


def test_result_unpacks_into_three_arrays():
    first, second, similarity = match_topics(FIRST, SECOND)
    assert first.shape == second.shape == similarity.shape == (4,)


@pytest.fixture(scope="module")
def models():
    X = make_bars(200, random_state=0).data
    return [OnlineEMLDA(10, max_iter=2, random_state=seed).fit(X) for seed in range(3)]


@every_metric
def test_estimators_and_their_arrays_give_the_same(metric, models):
    arrays = [model.components_ for model in models]
    assert_allclose(
        match_topics(*models[:2], metric=metric).similarity,
        match_topics(*arrays[:2], metric=metric).similarity,
    )
    assert stability(models, metric=metric) == pytest.approx(stability(arrays, metric=metric), rel=1e-12)


@every_metric
def test_stability_is_the_mean_over_pairs_of_models(metric, models):
    pairs = itertools.combinations(models, 2)
    expected = np.mean([match_topics(*pair, metric=metric, n_words=5).similarity.mean() for pair in pairs])
    value = stability(models, metric=metric, n_words=5)
    assert type(value) is float and 0 < value < 1
    assert value == pytest.approx(expected, rel=1e-12)
    assert stability(models[::-1], metric=metric, n_words=5) == pytest.approx(value, rel=1e-12)


@every_metric
def test_stability_of_identical_models_is_one(metric, models):
    assert stability([models[0]] * 3, metric=metric) == pytest.approx(1.0, abs=1e-7)
    order = np.random.RandomState(0).permutation(4)
    assert stability((FIRST, FIRST[order]), metric=metric) == pytest.approx(1.0, abs=1e-7)
    assert stability(np.array([FIRST, FIRST]), metric=metric) == pytest.approx(1.0, abs=1e-7)


def test_pipelines_are_compared_by_their_last_steps():
    texts = ["one two two three", "three four five one", "one five five two", "four four one"] * 3
    pipes = [make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=i)).fit(texts) for i in range(2)]
    steps = [pipe[-1] for pipe in pipes]
    assert_array_equal(match_topics(*pipes).similarity, match_topics(*steps).similarity)
    assert stability(pipes, n_words=3) == stability(steps, n_words=3)


def test_single_topics_of_few_words():
    assert stability([np.ones((1, 1))] * 2, n_words=1) == 1.0
    assert match_topics([[1.0, 0.0]], [[0.0, 1.0]]).similarity == pytest.approx([0.0])


# Errors


def test_models_over_different_words_are_refused():
    with pytest.raises(ValueError, match="20 words, those of another 19"):
        match_topics(FIRST, SECOND[:, :19])
    with pytest.raises(ValueError, match="20 words, those of another 19"):
        stability([FIRST, SECOND[:, :19]])


@pytest.mark.parametrize("models", [[], [FIRST]])
def test_stability_needs_two_models(models):
    with pytest.raises(ValueError, match=f"models has length {len(models)}"):
        stability(models)


@pytest.mark.parametrize("given", [{"metric": "kl"}, {"n_words": 0}, {"n_words": 2.5}])
def test_bad_parameters_are_named(given):
    (name,) = given
    with pytest.raises(ValueError, match=name):
        match_topics(FIRST, SECOND, **given)
    with pytest.raises(ValueError, match=name):
        stability([FIRST, SECOND], **given)


def test_more_words_than_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match="n_words=21; the topics have 20 words"):
        match_topics(FIRST, SECOND, metric="average_jaccard", n_words=21)


def test_one_model_is_not_a_sequence_of_models(models):
    with pytest.raises(ValueError, match="models"):
        stability(models[0])


# Words with names


def named_model(names, seed=0):
    pandas = pytest.importorskip("pandas")
    counts = make_bars(60, random_state=seed).data.toarray()
    return OnlineEMLDA(5, random_state=0).fit(pandas.DataFrame(counts, columns=names))


@pytest.mark.parametrize("compare", [match_topics, lambda *models: stability(models)])
def test_models_over_other_words_are_refused(compare):
    names = [f"w{i}" for i in range(25)]
    model = named_model(names)
    with pytest.raises(ValueError, match="'w24' in column 0, but the topics have 'w0'"):
        compare(model, named_model(names[::-1]))
    compare(model, named_model(names))
    compare(model, model.components_)  # names that are not known are not compared


def test_models_at_the_end_of_searches_are_found():
    counts = make_bars(60, random_state=0).data
    search = GridSearchCV(OnlineEMLDA(5, random_state=0), {"max_iter": [1, 2]}, cv=2).fit(counts)
    assert stability([search, search.best_estimator_]) == 1.0
