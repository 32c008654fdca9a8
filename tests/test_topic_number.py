"""Criteria for the number of topics against their definitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktopic.lda import OnlineEMLDA
from sktopic.metrics import arun_2010, cao_juan_2009

from .conftest import assert_raises

RNG = np.random.RandomState(0)
COMPONENTS = RNG.dirichlet(np.full(12, 0.3), size=4)
X = RNG.poisson(2.0, size=(9, 12))
PROPORTIONS = RNG.dirichlet(np.full(4, 0.5), size=9)


def arun_by_definition(components, X, proportions):
    """As Arun et al. define it: singular values are roots of the eigenvalues of the products of topics."""
    values = np.sqrt(np.linalg.eigvalsh(components @ components.T))
    p, q = (np.sort(parts) / parts.sum() for parts in (values, X.sum(axis=1) @ proportions))
    return (p * np.log(p / q) + q * np.log(q / p)).sum()


def cao_juan_by_definition(components):
    pairs = combinations([row / math.sqrt(row @ row) for row in components], 2)
    return np.mean([a @ b for a, b in pairs])


def test_criteria_are_their_definitions():
    expected = arun_by_definition(COMPONENTS, X, PROPORTIONS)
    assert arun_2010(COMPONENTS, X, proportions=PROPORTIONS) == pytest.approx(expected, rel=1e-9)
    scaled = arun_2010(COMPONENTS * 7, [X[:5], X[5:]], proportions=PROPORTIONS * X.sum(axis=1)[:, None])
    assert scaled == pytest.approx(expected, rel=1e-9)
    assert cao_juan_2009(COMPONENTS) == pytest.approx(cao_juan_by_definition(COMPONENTS), rel=1e-12)
    texts = ["cat dog cat", "dog cat", "sun sky sky", "sky sun"]
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    theta, counts, topics = pipe.transform(texts), pipe[0].transform(texts), pipe[-1].components_
    expected = arun_by_definition(topics, counts.toarray(), theta)
    assert arun_2010(pipe, texts, proportions=theta) == pytest.approx(expected)
    assert cao_juan_2009(pipe) == pytest.approx(cao_juan_by_definition(topics))
    # Topics without common words, all as long: equal singular values, and equal tokens
    assert arun_2010(np.eye(3), np.eye(3), proportions=np.eye(3)) == 0.0
    assert cao_juan_2009(np.eye(3)) == 0.0
    assert cao_juan_2009(np.ones((3, 5))) == pytest.approx(1.0)


def test_arun_is_infinite_where_a_topic_has_no_tokens_or_no_singular_value():
    """Topics that depend on each other have none, in any order of words."""
    only_two = np.eye(3)[[0, 1, 1]]
    assert arun_2010(np.eye(3), np.eye(3), proportions=only_two) == math.inf
    assert arun_2010(np.ones((3, 2)), np.ones((3, 2)), proportions=np.eye(3)) == math.inf
    # As many of both: nothing differs
    assert arun_2010(np.ones((2, 2)), np.eye(2), proportions=np.eye(2)[[0, 0]]) == 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        counts, order = rng.integers(1, 9, size=(6, 30)), rng.permutation(30)
        topics, theta = rng.dirichlet(np.ones(30), size=3), rng.dirichlet(np.ones(3), size=6)
        assert np.isfinite(arun_2010(topics, counts, proportions=theta))
        topics[2] = topics[0]
        for dependent in topics, np.ones((3, 30)):
            for columns in slice(None), order:
                assert arun_2010(dependent[:, columns], counts[:, columns], proportions=theta) == math.inf


def test_criteria_are_no_scorers():
    """Lower is better, so a search would choose the worst model."""
    for criterion in arun_2010, cao_juan_2009:
        search = GridSearchCV(OnlineEMLDA(2), {"max_iter": [1]}, scoring=criterion, error_score="raise")
        assert_raises(TypeError, criterion.__name__, search.fit, X)


def test_what_the_criteria_refuse():
    for components, counts, proportions, message in (
        (COMPONENTS[:1], X, PROPORTIONS[:, :1], "at least two topics"),
        (-COMPONENTS, X, PROPORTIONS, "Negative values in data passed to model_or_components"),
        (COMPONENTS, X, PROPORTIONS.T, r"so \(9, 4\) is allowed"),
        (COMPONENTS, X, PROPORTIONS[0], "Expected 2D array"),
        (COMPONENTS, X, -PROPORTIONS, "Negative values .* proportions"),
        (COMPONENTS, X, PROPORTIONS * np.nan, "proportions contains NaN"),
        (COMPONENTS, 0 * X, PROPORTIONS, "no document with both"),
        (COMPONENTS, X, 0 * PROPORTIONS, "no document with both"),
        (COMPONENTS, X[:, 1:], PROPORTIONS, "X has 11 features"),
        (COMPONENTS, -X, PROPORTIONS, "Negative values in data passed to"),
    ):
        assert_raises(ValueError, message, arun_2010, components, counts, proportions=proportions)
        if components is not COMPONENTS:
            assert_raises(ValueError, message, cao_juan_2009, components)
