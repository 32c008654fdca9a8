"""Topics as documents see them: gathered for the words of a batch."""

import numpy as np
import pytest

from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts

N_FEATURES, N_TOPICS = 30, 4


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


def test_given_components_are_gathered_as_they_are(workers):
    components = np.random.default_rng(0).dirichlet(np.ones(N_FEATURES), N_TOPICS)
    topics = TopicProbabilities.from_components(components)
    np.testing.assert_allclose(topics.components(), components, rtol=1e-13)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    gathered = topics.gather(np.array([3, 0], dtype=np.int32), prior, workers)
    assert gathered.rows.dtype == np.float32
    np.testing.assert_allclose(np.exp(gathered.log_norm), prior @ components[:, [3, 0]], rtol=1e-6)
    np.testing.assert_allclose(
        gathered.rows * np.exp(gathered.log_norm)[:, None], components[:, [3, 0]].T, rtol=1e-6
    )


def test_gathering_does_not_depend_on_the_number_of_workers(workers):
    topics = probabilities(WordCounts.random(N_FEATURES, N_TOPICS, 5), 10, 0.1)
    words, prior = np.arange(N_FEATURES, dtype=np.int32), np.full(N_TOPICS, 0.2)
    one = topics.gather(words, prior, workers)
    with Workers(3) as team:
        three = topics.gather(words, prior, team)
    for name in ("rows", "cumulative", "log_norm"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_some_topics_are_those_of_all():
    statistics = WordCounts.random(N_FEATURES, N_TOPICS, 5)
    topics = probabilities(statistics, 10, 0.1)
    phi = topics.rows(np.arange(N_FEATURES))
    np.testing.assert_allclose(phi, topics.components().T, rtol=1e-13)
    for k in range(N_TOPICS):
        np.testing.assert_array_equal(topics.topic(k), phi[:, k])
    weights = np.array([0.1, 0.5, 0.0, 0.3])
    np.testing.assert_allclose(topics.mixture(weights), phi @ weights, rtol=1e-13)
    some = topics.of_topics(np.array([3, 1]))
    np.testing.assert_array_equal(some.rows(np.arange(N_FEATURES)), phi[:, [3, 1]])
    assert not np.shares_memory(some.store, topics.store)
