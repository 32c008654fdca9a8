"""Topics as documents see them: gathered for the words of a batch."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts


def test_some_topics_are_those_of_all():
    topics, words = probabilities(WordCounts.random(30, 4, 5), 10, 0.1), np.arange(30)
    phi = topics.rows(words)
    assert_allclose(phi, topics.components().T, rtol=1e-13)
    for k in range(4):
        assert_array_equal(topics.topic(k), phi[:, k])
    weights = np.array([0.1, 0.5, 0.0, 0.3])
    assert_allclose(topics.mixture(weights), phi @ weights, rtol=1e-13)
    some = topics.of_topics(np.array([3, 1]))
    assert_array_equal(some.rows(words), phi[:, [3, 1]])
    assert not np.shares_memory(some.store, topics.store)


def test_each_given_topic_sums_to_one_whatever_its_size():
    given = np.array([[1.0, 3.0, 0.0], [2e300, 1e300, 1e300]])
    assert_array_equal(check_components_init(given, 3, most=2), [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
