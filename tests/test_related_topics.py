"""Which topics are like each other: similarities, their order, and the tree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import squareform

from sktopic.inspection import plot_topic_dendrogram, plot_topic_similarity, topic_similarity
from sktopic.inspection._related import _brackets, _joined
from sktopic.metrics import match_topics

RNG = np.random.default_rng(0)
GROUPS = RNG.dirichlet(np.full(200, 0.05), 3)
# Topic k is a variant of group k % 3.
COMPONENTS = np.array([0.7 * GROUPS[k % 3] + 0.3 * RNG.dirichlet(np.full(200, 0.05)) for k in range(9)])


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("metric", ["hellinger", "cosine", "average_jaccard"])
def test_similarity_is_that_of_match_topics(metric):
    similarity = topic_similarity(COMPONENTS, metric=metric)
    assert_array_equal(similarity, similarity.T)
    assert_array_equal(similarity.diagonal(), 1)
    matches = match_topics(COMPONENTS[::2], COMPONENTS[1::2], metric=metric)
    assert_allclose(matches.similarity, similarity[::2, 1::2][matches.first, matches.second])


def test_tree_joins_topics_at_their_mean_distances():
    similarity = topic_similarity(COMPONENTS)
    joined = _joined(similarity)
    groups = np.arange(9) % 3
    together = squareform(cophenet(joined))
    # Within groups all are joined before any is with one of another group.
    same = groups[:, None] == groups
    assert together[same].max() < together[~same].min()
    brackets = _brackets(joined)
    across, up_and_down = brackets[:, 1:3, 0], brackets[:, [0, 3], 0]
    assert_array_equal(across[:, 0], across[:, 1])
    assert (up_and_down <= across).all()
    first, second = joined[0, :2].astype(int)
    assert_allclose(across[0], 1 - similarity[first, second])
    leaves = brackets[:, [0, 3], 1][up_and_down == 0]
    assert sorted(leaves) == list(range(9))


def test_plots_put_related_topics_side_by_side(plt):
    tree, matrix = plot_topic_dendrogram(COMPONENTS), plot_topic_similarity(COMPONENTS, n_words=1)
    labels = [label.get_text() for label in tree.get_yticklabels()]
    order = [int(label.split()[1].rstrip(":")) for label in labels]
    assert all(len({topic % 3 for topic in order[first : first + 3]}) == 1 for first in (0, 3, 6))
    assert [label.get_text() for label in matrix.get_xticklabels()] == list(map(str, order))
    assert_allclose(matrix.images[0].get_array(), topic_similarity(COMPONENTS)[np.ix_(order, order)])
    ax = plt.figure().subplots()
    assert plot_topic_dendrogram(COMPONENTS[[0, 0]], ax=ax) is ax  # which are not apart


def test_one_topic_has_no_relations():
    assert topic_similarity(COMPONENTS[:1]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match="has 1 topic; a tree needs at least two"):
        plot_topic_dendrogram(COMPONENTS[:1])
