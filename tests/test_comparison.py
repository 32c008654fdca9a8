"""Matching of topics against brute force; stability."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import match_topics, stability

from .conftest import assert_raises

FIRST, SECOND = (np.random.RandomState(seed).dirichlet(np.full(20, 0.3), size=4) for seed in (0, 1))


def average_jaccard(p, q, n_words=10):
    one, other = top_words([p, q], n_words=n_words)
    shares = [
        len({*one[:depth]} & {*other[:depth]}) / len({*one[:depth]} | {*other[:depth]})
        for depth in range(1, n_words + 1)
    ]
    return np.mean(shares)


# Similarities of two topics as the literature writes them
NAIVE = {
    "cosine": lambda p, q: p @ q / np.sqrt((p @ p) * (q @ q)),
    "hellinger": lambda p, q: 1 - np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) / 2),
    "average_jaccard": average_jaccard,
}
every_metric = pytest.mark.parametrize("metric", NAIVE)


@every_metric
def test_assignment_is_the_best_of_all_and_similarities_those_of_the_definition(metric):
    """Also where numbers of topics differ: topics without a partner are left out."""
    for second in (SECOND, SECOND[:3], np.vstack([SECOND, FIRST[2:3] * 7])):
        table = np.array([[NAIVE[metric](p, q / q.sum()) for q in second] for p in FIRST])
        short = table if len(FIRST) <= len(second) else table.T
        rows = np.arange(len(short))
        orders = itertools.permutations(range(short.shape[1]), len(short))
        best = max(short[rows, order].sum() for order in orders)
        matches = match_topics(FIRST, second, metric=metric)
        assert_array_equal(matches.first, np.sort(matches.first))
        assert matches.similarity.sum() == pytest.approx(best)
        assert_allclose(matches.similarity, table[matches.first, matches.second], rtol=1e-10)
        assert len({*matches.second}) == len(matches.first) == len(short)


def test_average_jaccard_takes_the_top_words_asked_for():
    for n_words in (1, 3, 20):
        options = {"metric": "average_jaccard", "n_words": n_words}
        _, _, similarity = match_topics(FIRST[:1], SECOND[:1], **options)
        assert similarity == pytest.approx([average_jaccard(FIRST[0], SECOND[0], n_words)])
    # By hand, of top words a b c and b a d: 0 of 2, 2 of 2, 2 of 4 in common.
    similarity = match_topics([[4, 3, 2, 1]], [[3, 4, 1, 2]], metric="average_jaccard", n_words=3).similarity
    assert similarity == pytest.approx([(0 + 1 + 1 / 2) / 3])


@every_metric
def test_equal_topics_have_similarity_one_and_disjoint_ones_zero(metric):
    order = [2, 0, 3, 1]
    same = match_topics(FIRST[order], FIRST * [[2], [3], [0.1], [1]], metric=metric)
    assert_array_equal(same.second, order)
    assert_allclose(same.similarity, 1.0, atol=1e-7)
    itself = match_topics(FIRST, FIRST, metric=metric)
    assert_allclose(itself.similarity, 1.0, rtol=0.0, atol=1e-15)
    halves = np.zeros((2, 20))
    halves[0, :10] = halves[1, 10:] = 1
    assert match_topics(halves[:1], halves[1:], metric=metric).similarity == pytest.approx([0.0])
    for models in ((FIRST, FIRST[order]), np.array([FIRST, FIRST])):
        assert stability(models, metric=metric) == pytest.approx(1.0, abs=1e-7)
    assert stability([np.ones((1, 1))] * 2, metric=metric, n_words=1) == 1.0


def test_stability_is_the_mean_over_pairs_of_models():
    texts = ["one two two three", "three four five one", "one five five two", "four four one"] * 3
    pipes = [make_pipeline(CountVectorizer(), OnlineEMLDA(3, random_state=i)).fit(texts) for i in range(3)]
    arrays = [pipe[-1].components_ for pipe in pipes]
    search = GridSearchCV(pipes[1][-1], {"max_iter": [1]}, cv=2).fit(pipes[1][0].transform(texts))
    search.best_estimator_ = pipes[1][-1]
    for metric in NAIVE:
        options = {"metric": metric, "n_words": 2}
        pairs = [match_topics(*pair, **options).similarity for pair in itertools.combinations(arrays, 2)]
        value = stability(arrays, **options)
        assert type(value) is float and value < 1
        assert value == pytest.approx(np.mean(pairs), rel=1e-12)
        for models in (arrays[::-1], pipes, [pipes[0][-1], search, arrays[2]]):
            assert stability(models, **options) == pytest.approx(value, rel=1e-12)


# Errors


def compared(models, **given):
    return match_topics(*models, **given)


def test_what_cannot_be_compared_is_refused():
    for models, given, message in (
        ([FIRST, SECOND[:, :19]], {}, "20 words, those of another 19"),
        ([FIRST, SECOND], {"metric": "kl"}, "metric"),
        ([FIRST, SECOND], {"n_words": 0}, "n_words"),
        ([FIRST, SECOND], {"n_words": 2.5}, "n_words"),
        ([FIRST, SECOND], {"metric": "average_jaccard", "n_words": 21}, "n_words=21; the topics have 20"),
    ):
        for compare in (compared, stability):
            assert_raises(ValueError, message, compare, models, **given)
    assert_raises(ValueError, "data passed to second", match_topics, FIRST, -SECOND)
    assert_raises(ValueError, r"models\[2\] has shape \(20,\)", stability, [FIRST, SECOND, FIRST[0]])
    for models in ([], [FIRST], OnlineEMLDA(2)):
        assert_raises(ValueError, "models", stability, models)


def test_models_over_other_words_are_refused():
    names = [f"w{i}" for i in range(25)]
    model, same, other = (
        OnlineEMLDA(5, max_iter=1, random_state=0).fit(pd.DataFrame(np.eye(25), columns=columns))
        for columns in (names, names, names[::-1])
    )
    for compare in (compared, stability):
        assert_raises(ValueError, "'w24' in column 0, but the topics have 'w0'", compare, [model, other])
        compare([model, same])
        compare([model, other.components_])  # names that are not known are not compared
