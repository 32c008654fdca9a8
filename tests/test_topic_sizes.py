"""Sizes of topics: their order, their shares, and how many have half or most of the words."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import name_topics, plot_topic_sizes, topic_sizes, topic_table
from sktopic.lda import LangevinLDA, OnlineEMLDA
from sktopic.moment_matching import MomentMatchingLDA

from .conftest import assert_raises
from .registry import defaults, each, is_filter, new

X = make_bars(60, random_state=0).data
RNG = np.random.default_rng(0)


class Fitted(BaseEstimator):
    """A model whose topics have the given numbers of tokens."""

    def __init__(self, tokens=()):
        self.components_ = RNG.dirichlet(np.ones(5), len(tokens))
        self.topic_word_counts_ = np.zeros((len(tokens), 5))
        self.topic_word_counts_[:, 2] = tokens

    def fit(self, X):
        return self


def test_numbers_of_a_model_by_hand():
    """Half of 200 words are in the topics of 80 and 60 words, and 90% in four topics."""
    sizes = topic_sizes(Fitted([20, 60, 10, 80, 30]))
    assert sizes.topics.tolist() == [3, 1, 4, 0, 2]
    assert_allclose(sizes.tokens, [80, 60, 30, 20, 10])
    assert_allclose(sizes.shares, [0.4, 0.3, 0.15, 0.1, 0.05])
    assert_allclose(sizes.cumulative_shares, [0.4, 0.7, 0.85, 0.95, 1])
    shares = [1e-9, 0.4, 0.41, 0.5, 0.7, 0.9, 0.95, 0.96, 1]
    assert [sizes.n_topics(share) for share in shares] == [1, 1, 2, 2, 2, 4, 4, 5, 5]
    assert repr(sizes) == "TopicSizes(2 topics have half of the words, 4 have 90%, 5 have all)"


@pytest.mark.parametrize("n", [1, 3, 10, 20, 300])
def test_rounding_does_not_add_a_topic(n):
    """Of equal topics, a share has as many as exact fractions say."""
    for tokens in np.full(n, 0.1), np.full(n, 1 / 3):
        sizes = topic_sizes(Fitted(tokens))
        assert_array_equal(sizes.topics, np.arange(n))  # ties are broken by number
        assert [sizes.n_topics(i / n) for i in range(1, n + 1)] == list(range(1, n + 1))
        assert sizes.cumulative_shares[-1] == 1


def test_renumbered_topics_have_the_same_sizes():
    model, other = Fitted(RNG.pareto(1.0, 50)), Fitted([1])
    order = RNG.permutation(50)
    other.components_, other.topic_word_counts_ = model.components_[order], model.topic_word_counts_[order]
    one, two = topic_sizes(model), topic_sizes(other)
    assert_array_equal(one.tokens, two.tokens)
    assert_array_equal(one.topics, order[two.topics])
    assert one.words == two.words and repr(one) == repr(two)


def test_topics_without_words_are_last_and_not_needed_for_all():
    sizes = topic_sizes(Fitted([0, 3, 0, 1]))
    assert sizes.topics.tolist() == [1, 3, 0, 2]
    assert_allclose(sizes.cumulative_shares, [0.75, 1, 1, 1])
    assert repr(sizes) == "TopicSizes(1 topic has half of the words, 2 have all)"
    assert repr(topic_sizes(Fitted([7]))) == "TopicSizes(1 topic has all of the words)"


def test_the_table_has_names_and_words_of_the_pipeline():
    texts = ["apple pear apple", "pear plum", "apple apple", "plum pear"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    name_topics(pipe, {1: "second"})
    sizes, described = topic_sizes(pipe, texts), topic_table(pipe, texts, n_words=3)
    expected = described.sort_values("share", ascending=False, kind="stable").reset_index()
    table = sizes.table
    assert table[["topic", "name", "words"]].equals(expected[["topic", "name", "words"]])
    assert_allclose(table["share"], expected["share"])
    assert_allclose(table["cumulative_share"], expected["share"].cumsum())
    assert sizes.tokens.sum() == pytest.approx(45)
    counted = topic_sizes(pipe)
    assert_array_equal(counted.tokens, pipe[-1].topic_word_counts_.sum(axis=1)[counted.topics])
    assert set(counted.names) == {"Topic 0", "second"} and set(counted.words) == set(sizes.words)


@each(defaults())
def test_sizes_of_every_model(estimator):
    model = new(estimator).fit(X)
    sizes = [topic_sizes(model, X)]
    if isinstance(model, LangevinLDA) or is_filter(model):
        assert_raises(TypeError, "has no topic_word_counts_. Pass X", topic_sizes, model)
    else:
        sizes.append(topic_sizes(model))
        assert_allclose(sizes[1].tokens.sum(), model.topic_word_counts_.sum())
    for each_size in sizes:
        assert sorted(each_size.topics) == list(range(model.n_components_))
        assert (np.diff(each_size.tokens) <= 0).all() and each_size.tokens[-1] >= 0
    assert sizes[0].tokens.sum() == pytest.approx(X.sum())


@pytest.mark.parametrize(
    ("tokens", "texts"),
    [
        ([20, 60, 10, 80, 30], ["5 have all", "4 have 90%", "2 topics have half of the words"]),
        ([3, 0, 1], ["2 have all", "1 topic has half of the words"]),
        ([4], ["1 topic has all of the words"]),
        (4.0 ** -np.arange(9), ["9 have all", "4 have 99%", "2 have 90%", "1 topic has half of the words"]),
    ],
)
def test_the_plot_marks_the_numbers_on_the_curve(plt, tokens, texts):
    from matplotlib.text import Text

    ax = plot_topic_sizes(Fitted(tokens))
    ax.figure.canvas.draw()
    curve, marks = ax.lines
    x, y = curve.get_data()
    assert_array_equal(x, np.arange(len(tokens) + 1))
    assert_allclose(y, [0, *topic_sizes(Fitted(tokens)).cumulative_shares])
    assert [text.get_text() for text in ax.texts] == texts
    numbers = [int(text.split()[0]) for text in reversed(texts)]
    assert_array_equal(marks.get_xdata(), numbers)
    assert_allclose(marks.get_ydata(), y[numbers])
    assert [text.xy for text in reversed(ax.texts)] == list(zip(numbers, y[numbers]))
    assert ax.get_xlim() == (0, len(tokens)) and ax.get_ylim() == (0, 1)
    # Labels are right of the axes, in the figure, and do not overlap.
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without lines to the curve
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert min(box.x0 for box in boxes) > ax.bbox.x1
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.x1


def test_the_plot_takes_axes_and_documents(plt):
    ax = plt.figure().subplots()
    model = LangevinLDA(4, random_state=0).fit(X)
    assert plot_topic_sizes(model, X, ax=ax) is ax
    assert_array_equal(ax.lines[0].get_ydata()[1:], topic_sizes(model, X).cumulative_shares)


def test_bad_input_is_refused():
    sizes = topic_sizes(Fitted([1, 2]))
    theirs = LatentDirichletAllocation(2, max_iter=1).fit(X)
    assert topic_sizes(theirs, X).tokens.sum() == pytest.approx(X.sum())
    for error, message, function, *arguments in [
        (NotFittedError, "not fitted", topic_sizes, OnlineEMLDA()),
        (NotFittedError, "not fitted", topic_sizes, MomentMatchingLDA()),
        (TypeError, "is a LatentDirichletAllocation, .*Pass X", topic_sizes, theirs),
        (TypeError, "is a ndarray, which has no topic_word_counts_", topic_sizes, theirs.components_),
        (TypeError, "is a ndarray; only a fitted estimator", topic_sizes, theirs.components_, X),
        (ValueError, "no words in its topics", topic_sizes, Fitted([0, 0])),
        (ValueError, "X has no document with words", topic_sizes, theirs, 0 * X),
        *(
            (ValueError, f"share={share} is invalid: must be above 0 and at most 1", sizes.n_topics, share)
            for share in (0, -0.1, 1.1, float("nan"))
        ),
    ]:
        assert_raises(error, message, function, *arguments)


def test_a_bad_axes_is_refused(plt):
    assert_raises(TypeError, "ax is a str", plot_topic_sizes, Fitted([1]), ax="x")
