"""Tables and plots of topics, and the arrays for pyLDAvis."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import sktopic
from sktopic.datasets import make_bars
from sktopic.inspection import (
    explore,
    name_topics,
    plot_n_components,
    plot_scores,
    plot_topic_dendrogram,
    plot_topic_similarity,
    plot_topics,
    pyldavis_data,
    top_documents,
    top_words,
    topic_table,
)
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.moment_matching import DegenerateDirichletLDA

from .conftest import assert_raises

COMPONENTS = np.array([[0.1, 0.4, 0.1, 0.4], [0.25, 0.25, 0.25, 0.25], [0.7, 0.0, 0.2, 0.1]])
NAMES = ["a", "b", "c", "d"]
TEXTS = ["apple pear apple", "pear plum", "apple apple", "plum pear"] * 5


@pytest.fixture(scope="module")
def bars():
    return make_bars(60, random_state=0).data


@pytest.fixture(scope="module")
def lda(bars):
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(bars)


@pytest.fixture(scope="module")
def pipe():
    return make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(TEXTS)


# Tables


def test_top_words_are_the_most_probable_and_ties_go_by_column():
    words = top_words(COMPONENTS, NAMES, n_words=3)
    assert words.dtype == object and words.tolist() == [["b", "d", "a"], ["a", "b", "c"], ["a", "c", "d"]]
    scaled = (COMPONENTS * [[10], [3], [0.1]]).tolist()
    again, weights = top_words(scaled, np.array(NAMES), n_words=np.uint64(3), return_weights=True)
    assert_array_equal(again, words)
    assert_allclose(weights, [[0.4, 0.4, 0.1], [0.25, 0.25, 0.25], [0.7, 0.2, 0.1]])
    assert top_words(COMPONENTS, NAMES, n_words=10).shape == (3, 4)  # of a small vocabulary all
    assert top_words(COMPONENTS[:, :1] + 1).tolist() == [["x0"], ["x0"], ["x0"]]
    values = np.random.RandomState(0).randint(8, size=(50, 30)).astype(float)
    order = np.argsort(-values, axis=1, kind="stable")
    for n_words in (1, 2, 7, 29, 30):
        words = top_words(values, n_words=n_words)
        assert_array_equal(words, np.vectorize("x{}".format)(order[:, :n_words]))


def test_words_of_models_have_the_names_of_their_columns(lda, pipe, bars):
    expected = top_words(lda.components_)
    assert_array_equal(top_words(lda), expected)
    names = [f"pixel{i}" for i in range(bars.shape[1])]
    frame = pd.DataFrame(bars.toarray(), columns=names)
    framed = clone(lda).fit(frame)
    assert_array_equal(top_words(framed), [[f"pixel{word[1:]}" for word in topic] for topic in expected])
    assert pyldavis_data(framed, frame)["vocab"].tolist() == names
    assert_array_equal(top_words(framed, [f"x{i}" for i in range(bars.shape[1])]), expected)
    assert_array_equal(top_words(pipe), top_words(pipe[-1], pipe[0].get_feature_names_out()))
    theirs = LatentDirichletAllocation(n_components=3, max_iter=1, random_state=0).fit(bars)
    assert_array_equal(top_words(theirs), top_words(theirs.components_))


def test_top_documents_have_the_largest_proportions_and_ties_go_by_row(lda, bars, pipe):
    theta = lda.transform(bars)
    documents, proportions = top_documents(lda, bars, n_documents=np.int8(3))
    assert_array_equal(documents, np.argsort(-theta, axis=0, kind="stable")[:3].T)
    assert_array_equal(proportions, np.take_along_axis(theta.T, documents, axis=1))
    same = sparse.vstack([bars[:1]] * 3).tocsr()
    documents, proportions = top_documents(lda, same, n_documents=10)
    assert_array_equal(documents, [[0, 1, 2]] * 4)
    assert proportions.dtype == np.float64
    assert_array_equal(top_documents(pipe, TEXTS), top_documents(pipe[-1], pipe[0].transform(TEXTS)))


# pyLDAvis


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pyldavis_data_has_the_arguments_of_prepare_without_empty_documents(lda, bars, pipe, dtype):
    names, X = [f"w{i}" for i in range(bars.shape[1])], bars.toarray().astype(dtype)
    X[[0, 7, 59]] = 0
    data, left = pyldavis_data(lda, X, names), np.delete(np.arange(60), [0, 7, 59])
    assert list(data) == ["topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency"]
    assert_array_equal(data["topic_term_dists"], lda.components_)
    assert_allclose(data["doc_topic_dists"], lda.transform(X)[left], rtol=1e-6)
    assert_array_equal(data["doc_lengths"], np.full(57, 100))
    assert_array_equal(data["term_frequency"], X.sum(axis=0))
    assert data["vocab"].tolist() == names
    for name in ("topic_term_dists", "doc_topic_dists"):
        assert data[name].dtype == np.float64
        assert_allclose(data[name].sum(axis=1), 1, rtol=1e-14)
    with pytest.raises(ValueError, match="X has no document with words"):
        pyldavis_data(lda, X[:1])
    opened, counts = pyldavis_data(pipe, TEXTS), pipe[0].transform(TEXTS)
    for name, given in pyldavis_data(pipe[-1], counts, pipe[0].get_feature_names_out()).items():
        assert_array_equal(opened[name], given)


# Plots


def bars_of(ax, n_topics):
    """Left and right end and middle of each bar of plot_topics, in pixels: (n_topics, n_words, 3)."""
    ax.figure.canvas.draw()
    corners = np.array([path.vertices[:4] for path in ax.collections[0].get_paths()])
    corners = ax.transData.transform(corners.reshape(-1, 2)).reshape(n_topics, -1, 4, 2)
    return np.stack(
        [corners[..., 0].min(axis=2), corners[..., 0].max(axis=2), corners[..., 1].mean(axis=2)], 2
    )


@pytest.mark.slow
def test_plot_topics_shows_words_beside_bars_of_their_probabilities(plt):
    names = ["ä", "Ög", "Å|", "lp"]
    ax = plot_topics(COMPONENTS, names, topics=[2, "Topic 0", 1], titles=["two", "zero", "1"], n_columns=2)
    words, weights = top_words(COMPONENTS[[2, 0, 1]], names, return_weights=True)
    bars = bars_of(ax, 3)
    lengths = bars[..., 1] - bars[..., 0]
    assert_allclose(lengths / lengths[:, :1], weights / weights[:, :1], rtol=1e-6)
    texts = [text.get_text() for text in ax.texts]
    assert texts[:3] == ["two", "zero", "1"] and texts[3:15] == words.ravel().tolist()
    assert texts[15:] == ["0", "70%", "0", "40%", "0", "25%"]
    boxes = [text.get_window_extent() for text in ax.texts]
    for word, (start, _, middle) in zip(boxes[3:15], bars.reshape(-1, 3)):
        assert word.y0 < middle < word.y1 and start - 20 < word.x1 < start
    assert (np.diff(bars[..., 2], axis=1) < 0).all()  # the first is on top
    # Titles are above, and numbers below, where bars of their lengths end.
    for title, topic, (zero, most) in zip(boxes, bars, zip(boxes[15::2], boxes[16::2])):
        assert title.y0 > topic[0, 2] and max(zero.y1, most.y1) < topic[-1, 2]
        assert abs((zero.x0 + zero.x1) / 2 - topic[0, 0]) < 1 > abs((most.x0 + most.x1) / 2 - topic[0, 1])
    # Two columns: the second topic is right of the first, the third below it.
    assert bars[1, 0, 0] > bars[0, 0, 1] and bars[1, 0, 2] == pytest.approx(bars[0, 0, 2])
    assert bars[2, 0, 0] < bars[0, 0, 1] and bars[2, 0, 2] < bars[0, -1, 2]
    plt.close("all")
    whole = plt.figure(layout="constrained")
    part = whole.subfigures(1, 2)[1]
    ax = plot_topics(COMPONENTS, fig=part)
    assert part.axes == [ax] and plt.get_fignums() == [whole.number]


@pytest.mark.slow
@pytest.mark.parametrize("n_topics", [1, 5])
def test_labels_of_plotted_topics_do_not_overlap(plt, n_topics):
    rng = np.random.RandomState(0)
    components = rng.dirichlet(np.full(50, 0.1), size=n_topics)
    names = [("long" * (i % 6)) + f"word{i}" for i in range(50)]
    titles = [("long " * (7 * (i % 3 == 1))) + f"title {i}" for i in range(n_topics)]
    ax = plot_topics(components, names, titles=titles)
    fig = ax.figure
    fig.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == n_topics * (10 + 2 + 1)
    inside = fig.bbox.padded(1)
    for i, box in enumerate(boxes):
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
        assert box.count_overlaps(boxes[:i]) == 0


@pytest.mark.slow
def test_lone_surrogates_are_shown_as_replacement_characters(plt, tmp_path):
    """No picture, page or column of text can have them; a vectorizer finds them in texts as others."""
    texts = ["a\ud800b c d e", "c d \udfffe d"] * 20
    counter = CountVectorizer(token_pattern=r"\S+", lowercase=False)
    pipeline = make_pipeline(counter, OnlineEMLDA(2, max_iter=2, random_state=0)).fit(texts)
    words = pipeline[:-1].get_feature_names_out()
    known, expected = words.tolist(), {"a\ufffdb", "c", "d", "e", "\ufffde"}
    assert set(top_words(pipeline, n_words=5)[0]) == expected
    assert set(topic_table(pipeline, n_words=5)["words"][0].split(", ")) == expected
    assert set(pyldavis_data(pipeline, texts)["vocab"]) == expected
    plot_topics(pipeline).figure.savefig(tmp_path / "topics.png")
    plot_topic_similarity(pipeline).figure.savefig(tmp_path / "topics.svg")
    explore(pipeline, texts, texts=texts, title="a\ud800b").save(tmp_path / "topics.html")
    assert "<title>a\ufffdb" in (tmp_path / "topics.html").read_text(encoding="utf-8")
    assert words.tolist() == known


@pytest.mark.slow
def test_words_and_names_are_no_formulas_and_long_ones_are_cut_and_leave_room(plt):
    address, formula = "https://example.org/" + "a" * 5000, "$\\nonsense{$"
    model = OnlineEMLDA(n_components=2, max_iter=1, random_state=0).fit(np.eye(3))
    name_topics(model, {0: formula, 1: address})
    ax = plot_topics(model, [address, formula, "a_b$"])
    ax.figure.canvas.draw()
    texts, cut = [text.get_text() for text in ax.texts], f"{address[:39]}\N{HORIZONTAL ELLIPSIS}"
    assert texts[:2] == [formula, cut] and sorted(texts[2:8]) == sorted(2 * [formula, "a_b$", cut])
    assert ax.figure.get_figwidth() < 12
    for plot in plot_topic_dendrogram, plot_topic_similarity:
        ax = plot(model, [address, formula, "a_b$"])
        ax.figure.canvas.draw()
        labels = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert min(box.x0 for box in labels) >= 0 and ax.bbox.width > 100


@pytest.mark.slow
def test_plot_scores_draws_one_curve_or_several(plt):
    ax = plot_scores([1, 2, 3], [-3.0, -2.0, -1.5])
    assert_array_equal(ax.lines[0].get_xydata(), [[1, -3], [2, -2], [3, -1.5]])
    assert len(ax.lines) == 1 and ax.get_legend() is None
    ax = plt.figure().subplots()
    assert plot_scores([10, 2000], [[-3, -2], [-4, -1]], labels=["A", "B"], ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    plot_scores([[1, 2], [5]], [[-3, -2], [-4]], ax=ax)
    plot_scores(np.array([1, 2]), np.array([-3, -2]), labels="C", ax=ax)
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert drawn == [
        *([[10, -3], [2000, -2]], [[10, -4], [2000, -1]]),
        *([[1, -3], [2, -2]], [[5, -4]]),
        [[1, -3], [2, -2]],
    ]
    assert [ax.lines[line].get_label() for line in (0, 1, 4)] == ["A", "B", "C"]


def test_plot_scores_draws_what_a_model_keeps(bars, plt):
    stopping = OnlineEMLDA(4, early_stopping=True, max_iter=3, random_state=0).fit(bars).partial_fit(bars)
    sampler = CollapsedGibbsLDA(4, max_iter=20, evaluate_every=5, random_state=0)
    passes, sweeps = plot_scores(stopping, labels="EM"), plot_scores(make_pipeline(sampler).fit(bars))
    expected = np.arange(1, stopping.n_iter_ + 1), stopping.validation_scores_
    assert_array_equal(passes.lines[0].get_data(), expected)
    assert_array_equal(sweeps.lines[0].get_data(), [[5, 10, 15, 20], sampler.log_likelihood_])
    assert (passes.get_xlabel(), passes.get_ylabel()) == ("pass", "held-out nats per word")
    assert sweeps.get_xlabel() == "sweep"
    for model in (OnlineEMLDA(4, max_iter=1), CollapsedGibbsLDA(4, max_iter=1, evaluate_every=0)):
        message = r"has kept no scores: .*early_stopping=True"
        assert_raises(TypeError, message, plot_scores, model.fit(bars))


def test_plot_n_components_draws_the_posterior_and_the_trace(plt, bars):
    model = DegenerateDirichletLDA(n_components=8, random_state=0).fit(bars)
    figure = plt.figure(layout="constrained")
    posterior, trace = axes = plot_n_components(make_pipeline(model), fig=figure)
    assert axes.tolist() == figure.axes
    heights = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in posterior.patches}
    assert heights == pytest.approx(dict(enumerate(model.n_components_posterior_, start=1)))
    assert posterior.get_xlim() == (0.5, 8.5)
    (line,) = trace.lines
    assert_array_equal(line.get_xdata(), model.n_tokens_trace_)
    assert_array_equal(line.get_ydata(), model.n_components_trace_)
    assert trace.get_xscale() == "log" and trace.get_ylim() == (0, 8.5)
    assert line.get_drawstyle() == "steps-post"
    assert plot_n_components(clone(model).fit([[0.0, 0.0]]))[1].lines[0].get_xdata().size == 0


def test_matplotlib_is_imported_only_when_it_is_needed_and_a_missing_one_is_reported(monkeypatch):
    """Imports in functions, and those for type checkers, are indented."""
    for path in Path(sktopic.__file__).parent.rglob("*.py"):
        imports = re.search(r"^(import|from) (matplotlib|pandas|dask)", path.read_text("utf-8"), re.M)
        assert not imports or path.parent.name == "dask", path
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot, *given in (plot_topics, COMPONENTS), (plot_scores, [1], [-1]):
        assert_raises(ImportError, r"pip install sktopic\[plot\]", plot, *given)


# Errors


@pytest.mark.usefixtures("plt")
def test_errors_name_the_parameter_and_what_is_allowed():
    for call, error, message in (
        (lambda: top_words(COMPONENTS, n_words=0), ValueError, "'n_words' .* range .* Got 0"),
        (lambda: top_words(COMPONENTS, ["a"]), ValueError, r"feature_names has shape \(1,\).*\(4,\)"),
        (lambda: top_words(COMPONENTS, "abcd"), TypeError, "is a str; must be a list of the 4 words"),
        (lambda: top_words(COMPONENTS, {"a": 0}), TypeError, r"is a dict;.*get_feature_names_out\(\)"),
        (lambda: top_words(COMPONENTS * [[1], [0], [1]]), ValueError, "only zeros in row 1"),
        (lambda: top_words(OnlineEMLDA()), NotFittedError, "not fitted"),
        (lambda: top_documents(COMPONENTS, [[1, 0, 0, 0]]), TypeError, "model is a ndarray.*transform"),
        (lambda: top_documents(pd.DataFrame(COMPONENTS), [[1, 0, 0, 0]]), TypeError, "model is a DataFrame"),
        (lambda: plot_topics(COMPONENTS, sparse.csr_array(np.eye(4))), TypeError, "is a csr_array"),
        (lambda: plot_topics(COMPONENTS, n_columns=0), ValueError, "'n_columns' .* Got 0"),
        (lambda: plot_topics(COMPONENTS, topics=[]), ValueError, r"topics=\[\] .* at least one"),
        (lambda: plot_topics(COMPONENTS, topics=1), TypeError, "topics=1 is invalid: must be a list"),
        (lambda: plot_topics(COMPONENTS, titles=3), ValueError, "'titles' .* Got 3"),
        (lambda: plot_topics(COMPONENTS, titles=["a"]), ValueError, "titles has 1 entries; 3 are needed"),
        (lambda: plot_topics(COMPONENTS, titles=np.array("a")), TypeError, "titles is a ndarray; a list or"),
        (lambda: plot_topics(COMPONENTS, titles={"a", "b", "c"}), TypeError, "titles is a set; a list or"),
        (lambda: plot_topic_dendrogram(COMPONENTS, ax="x"), TypeError, "ax is a str"),
        (
            lambda: plot_topic_dendrogram(COMPONENTS[:1]),
            ValueError,
            "has 1 topic; must have at least two",
        ),
        (lambda: plot_scores([1], 3), TypeError, "scores=3 is invalid"),
        (lambda: plot_scores([1], [1], labels=3), ValueError, "'labels' .* Got 3"),
        (lambda: plot_scores([], []), ValueError, "scores is empty"),
        (lambda: plot_scores([1, 2], [-1]), ValueError, r"shape \(2,\) and scores \(1,\) in curve 0"),
        (lambda: plot_scores([[1], [2]], [[-1]]), ValueError, "2 curves, but scores has 1"),
        (lambda: plot_scores([1], [-1], labels=["a", "b"]), ValueError, "labels has 2 entries; 1 are"),
        (lambda: plot_scores([1, 2]), TypeError, "scores is missing"),
        (lambda: plot_n_components(DegenerateDirichletLDA()), NotFittedError, "not fitted"),
        (lambda: plot_n_components(OnlineEMLDA(2).fit([[1, 2]])), TypeError, "no n_components_posterior_"),
        (lambda: plot_n_components(DegenerateDirichletLDA(2).fit([[1, 2]]), fig="x"), TypeError, "is a str"),
    ):
        assert_raises(error, message, call)
