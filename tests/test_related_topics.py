"""Which topics are like each other: similarities, their order, and the tree."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.inspection import plot_topic_dendrogram, plot_topic_similarity, topic_similarity
from sktopic.metrics import match_topics

RNG = np.random.default_rng(0)
GROUPS = RNG.dirichlet(np.full(200, 0.05), 3)
# Topic k is a variant of group k % 3.
COMPONENTS = np.array([0.7 * GROUPS[k % 3] + 0.3 * RNG.dirichlet(np.full(200, 0.05)) for k in range(9)])


@pytest.mark.parametrize("metric", ["hellinger", "cosine", "average_jaccard"])
def test_similarity_is_that_of_match_topics(metric):
    similarity = topic_similarity(COMPONENTS, metric=metric)
    assert_array_equal(similarity, similarity.T)
    assert_array_equal(similarity.diagonal(), 1)
    matches = match_topics(COMPONENTS[::2], COMPONENTS[1::2], metric=metric)
    assert_allclose(matches.similarity, similarity[::2, 1::2][matches.first, matches.second])
    assert topic_similarity(COMPONENTS[:1], metric=metric).tolist() == [[1.0]]


def test_few_words_are_all_compared():
    similarity = topic_similarity([[3, 2, 1], [2, 3, 1]], metric="average_jaccard")
    assert_allclose(similarity[0, 1], (0 + 1 + 1) / 3)


def test_brackets_of_three_topics_by_hand(plt):
    """Topics 0 and 2 meet at their distance, and topic 1 meets them at the mean of its distances to both."""
    ax = plot_topic_dendrogram([[1, 0], [0, 1], [3, 1]], ["one", "other"], n_words=1, metric="cosine")
    ax.figure.canvas.draw()
    labels = {label.get_text(): label.get_position()[1] for label in ax.get_yticklabels()}
    row = [labels[label] for label in ("Topic 0: one", "Topic 1: other", "Topic 2: one")]
    assert row in ([0, 2, 1], [2, 0, 1])  # related topics are side by side
    near, far = 1 - 3 / math.sqrt(10), 1 - (0 + 1 / math.sqrt(10)) / 2
    middle = (row[0] + row[2]) / 2
    expected = [
        [[0, row[0]], [near, row[0]], [near, row[2]], [0, row[2]]],
        [[0, row[1]], [far, row[1]], [far, middle], [near, middle]],
    ]
    segments = ax.collections[0].get_segments()
    assert len(segments) == 2
    for lines, by_hand in zip(segments, expected):
        # A bracket may be drawn from either end.
        lines, by_hand = (part if part[0][1] < part[-1][1] else part[::-1] for part in (lines, by_hand))
        assert_allclose(lines, by_hand, atol=1e-12)
    assert ax.get_ylim() == (2.5, -0.5)  # from top to bottom
    assert 0 == ax.get_xlim()[0] < far < ax.get_xlim()[1]


def test_plots_put_related_topics_side_by_side(plt):
    tree, matrix = plot_topic_dendrogram(COMPONENTS), plot_topic_similarity(COMPONENTS)
    labels = [label.get_text() for label in tree.get_yticklabels()]
    order = [int(label.split()[1].rstrip(":")) for label in labels]
    assert all(len({topic % 3 for topic in order[first : first + 3]}) == 1 for first in (0, 3, 6))
    assert [label.get_text() for label in matrix.get_xticklabels()] == list(map(str, order))
    assert [label.get_text() for label in matrix.get_yticklabels()] == labels
    assert matrix.get_xticks().tolist() == matrix.get_yticks().tolist() == list(range(9))
    shown = topic_similarity(COMPONENTS)[np.ix_(order, order)]
    (image,) = matrix.images
    assert_allclose(image.get_array(), shown)
    # Colors tell the similarities of different topics apart.
    assert image.get_clim() == (0, np.sort(shown[np.triu_indices(9, 1)])[-1])
    assert matrix.get_ylim()[0] > matrix.get_ylim()[1]
    ax = plt.figure().subplots()
    assert plot_topic_dendrogram(COMPONENTS[[0, 0]], ax=ax) is ax  # which are not apart
