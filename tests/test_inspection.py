"""Properties of the tables and plots of topics, and of the arrays for pyLDAvis."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic import inspection
from sktopic._runtime._arrays import largest
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

COMPONENTS = np.array([[0.1, 0.4, 0.1, 0.4], [0.25, 0.25, 0.25, 0.25], [0.7, 0.0, 0.2, 0.1]])
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def bars():
    return make_bars(60, random_state=0).data


@pytest.fixture(scope="module")
def lda(bars):
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(bars)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


# Tables


def test_top_words_are_the_most_probable_and_ties_go_by_column():
    expected = [["b", "d", "a"], ["a", "b", "c"], ["a", "c", "d"]]
    words = top_words(COMPONENTS, NAMES, n_words=3)
    assert words.dtype == object and words.tolist() == expected
    words, weights = top_words(COMPONENTS.tolist(), np.array(NAMES), n_words=3, return_weights=True)
    assert words.tolist() == expected
    np.testing.assert_allclose(weights, [[0.4, 0.4, 0.1], [0.25, 0.25, 0.25], [0.7, 0.2, 0.1]])


def test_top_words_are_all_words_of_a_small_vocabulary():
    assert top_words(COMPONENTS, NAMES, n_words=10).shape == (3, 4)
    assert top_words(COMPONENTS[:, :1] + 1, n_words=10).tolist() == [["x0"], ["x0"], ["x0"]]


def test_rows_of_components_need_not_be_normalized():
    scaled = COMPONENTS * [[10], [3], [0.1]]
    words, weights = top_words(scaled, NAMES, return_weights=True)
    expected, expected_weights = top_words(COMPONENTS, NAMES, return_weights=True)
    np.testing.assert_array_equal(words, expected)
    np.testing.assert_allclose(weights, expected_weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_an_estimator_and_its_components_have_the_same_words(lda):
    words, weights = top_words(lda, return_weights=True)
    from_array = top_words(lda.components_, return_weights=True)
    np.testing.assert_array_equal(words, from_array[0])
    np.testing.assert_allclose(weights, from_array[1], rtol=1e-12)


def test_words_are_named_as_the_estimator_names_its_columns(bars):
    pandas = pytest.importorskip("pandas")
    names = [f"pixel{i}" for i in range(bars.shape[1])]
    frame = pandas.DataFrame(bars.toarray(), columns=names)
    lda = OnlineEMLDA(n_components=3, max_iter=1, random_state=0).fit(frame)
    assert all(word.startswith("pixel") for word in top_words(lda).ravel())
    upper = [name.upper() for name in names]
    np.testing.assert_array_equal(top_words(lda, upper), np.char.upper(top_words(lda).astype(str)))
    data = pyldavis_data(lda, frame)
    assert data["vocab"].tolist() == names


def test_scikit_learns_own_estimator_is_accepted(bars, plt):
    lda = LatentDirichletAllocation(n_components=3, max_iter=2, random_state=0).fit(bars)
    weights = top_words(lda, n_words=25, return_weights=True)[1]
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert top_documents(lda, bars)[0].shape == (3, 5)
    np.testing.assert_allclose(pyldavis_data(lda, bars)["topic_term_dists"].sum(axis=1), 1)
    assert len(panels_of(plot_topics(lda), n_words=10)) == 3


def test_largest_agrees_with_a_stable_sort():
    values = np.random.RandomState(0).randint(0, 8, size=(50, 30)).astype(float)
    expected = np.argsort(-values, axis=1, kind="stable")
    for n in (1, 2, 7, 29, 30, 31):
        np.testing.assert_array_equal(largest(values, n), expected[:, :n])


@pytest.mark.parametrize("number", [np.uint64(3), np.int8(3)], ids=type)
def test_numbers_of_numpy_are_numbers_like_others(number, lda, bars):
    assert top_words(lda, n_words=number).tolist() == top_words(lda, n_words=3).tolist()
    assert np.array_equal(
        top_documents(lda, bars, n_documents=number), top_documents(lda, bars, n_documents=3)
    )
    page = explore(lda, bars, n_words=number, n_documents=number, n_characters=number)
    assert page._repr_html_() == explore(lda, bars, n_words=3, n_documents=3, n_characters=3)._repr_html_()


def test_top_documents_have_the_largest_proportions(lda, bars):
    theta = lda.transform(bars)
    documents, proportions = top_documents(lda, bars, n_documents=3)
    assert documents.shape == proportions.shape == (4, 3)
    for topic in range(4):
        np.testing.assert_array_equal(proportions[topic], np.sort(theta[:, topic])[::-1][:3])
        np.testing.assert_array_equal(theta[documents[topic], topic], proportions[topic])


def test_top_documents_are_all_documents_of_a_small_corpus_and_ties_go_by_row(lda, bars):
    same = sparse.vstack([bars[:1]] * 3).tocsr()
    documents, proportions = top_documents(lda, same, n_documents=10)
    np.testing.assert_array_equal(documents, [[0, 1, 2]] * 4)
    assert proportions.dtype == np.float64


def test_functions_open_a_pipeline_and_name_its_words():
    texts = ["apple pear apple", "pear plum", "apple apple", "plum pear"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    names, counts = pipe[0].get_feature_names_out(), pipe[0].transform(texts)
    assert_array_equal(top_words(pipe), top_words(pipe[-1], names))
    panels = panels_of(plot_topics(pipe), n_words=len(names))
    assert_array_equal([panel["words"] for panel in panels], top_words(pipe))
    opened, given = pyldavis_data(pipe, texts), pyldavis_data(pipe[-1], counts, names)
    for name in given:
        assert_array_equal(opened[name], given[name])


def test_top_documents_of_a_pipeline_are_texts():
    texts = ["red blue red", "cat dog dog", "blue red blue", "dog cat cat"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    documents, _ = top_documents(pipe, texts, n_documents=2)
    np.testing.assert_array_equal(
        documents, top_documents(pipe[-1], pipe[0].transform(texts), n_documents=2)[0]
    )


# pyLDAvis


def test_pyldavis_data_has_the_arguments_of_prepare(lda, bars):
    names = [f"w{i}" for i in range(bars.shape[1])]
    data = pyldavis_data(lda, bars, names)
    assert list(data) == ["topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency"]
    np.testing.assert_array_equal(data["topic_term_dists"], lda.components_)
    np.testing.assert_allclose(data["doc_topic_dists"], lda.transform(bars), rtol=1e-12)
    np.testing.assert_array_equal(data["doc_lengths"], np.full(60, 100))
    np.testing.assert_array_equal(data["term_frequency"], bars.toarray().sum(axis=0))
    assert data["vocab"].tolist() == names


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pyldavis_data_leaves_out_documents_without_words(lda, bars, dtype):
    X = bars.toarray().astype(dtype)
    X[[0, 7, 59]] = 0
    data = pyldavis_data(lda, X)
    assert data["doc_lengths"].shape == (57,) and data["doc_lengths"].min() > 0
    for name in ("topic_term_dists", "doc_topic_dists"):
        assert data[name].dtype == np.float64
        np.testing.assert_allclose(data[name].sum(axis=1), 1, rtol=1e-14)
    assert data["doc_lengths"].sum() == data["term_frequency"].sum() == 5700
    with pytest.raises(ValueError, match="X has no document with words"):
        pyldavis_data(lda, X[:1])


def test_pyldavis_takes_the_data(lda, bars):
    pyldavis = pytest.importorskip("pyLDAvis")
    prepared = pyldavis.prepare(**pyldavis_data(lda, bars), n_jobs=1)
    assert sorted(prepared.topic_order) == [1, 2, 3, 4]


# Plots


def panels_of(ax, n_words):
    """What stands in each panel of plot_topics: title, words, numbers, parts of the longest bar."""
    texts = [text.get_text() for text in ax.texts]
    n_topics = len(texts) // (1 + n_words + 2)
    titles, texts = texts[:n_topics], texts[n_topics:]
    words, numbers = np.split(np.array(texts, dtype=object), [n_topics * n_words])
    corners = np.array([path.vertices[:4] for path in ax.collections[0].get_paths()])
    lengths = np.ptp(corners[..., 0], axis=1).reshape(n_topics, n_words)
    parts = lengths / lengths[:, :1]
    return [
        {"title": title, "words": some.tolist(), "numbers": two.tolist(), "bars": bars}
        for title, some, two, bars in zip(
            titles, words.reshape(n_topics, n_words), numbers.reshape(n_topics, 2), parts
        )
    ]


def test_plots_return_axes_or_an_array_of_them(plt, bars, lda):
    pytest.importorskip("pandas")
    filtered = DegenerateDirichletLDA(n_components=3, random_state=0).fit(bars)
    late = np.arange(60) % 2
    of_panels = {  # several of them
        "plot_n_components": lambda: plot_n_components(filtered),
        "plot_topics_over_time": lambda: inspection.plot_topics_over_time(
            inspection.topics_over_time(lda, bars, late)
        ),
    }
    of_one = {
        "plot_effects": lambda: inspection.plot_effects(
            inspection.estimate_effect(lda, bars, late, n_samples=2)
        ),
        "plot_scores": lambda: plot_scores([1], [-1]),
        "plot_topic_dendrogram": lambda: plot_topic_dendrogram(lda),
        "plot_topic_similarity": lambda: plot_topic_similarity(lda),
        "plot_topics": lambda: plot_topics(lda),
    }
    assert {name for name in inspection.__all__ if name.startswith("plot_")} == of_panels.keys() | of_one
    assert all(isinstance(plot(), plt.Axes) for plot in of_one.values())
    for plot in of_panels.values():
        axes = plot()
        assert axes.ndim == 1 and all(isinstance(ax, plt.Axes) for ax in axes)


def test_plot_topics_shows_the_words_and_their_probabilities(plt):
    panels = panels_of(plot_topics(COMPONENTS, NAMES, n_words=2, n_columns=2), n_words=2)
    words, weights = top_words(COMPONENTS, NAMES, n_words=2, return_weights=True)
    assert len(panels) == 3
    for topic, panel in enumerate(panels):
        assert panel["title"] == f"Topic {topic}" and panel["words"] == words[topic].tolist()
        assert panel["numbers"] == ["0", f"{100 * weights[topic, 0]:.3g}%"]
        np.testing.assert_allclose(panel["bars"], weights[topic] / weights[topic, 0])


def test_words_stand_beside_their_bars_and_the_first_is_on_top(plt):
    ax = plot_topics(COMPONENTS, ["ä", "Ög", "Å|", "lp"], n_words=4, n_columns=2)
    ax.figure.canvas.draw()
    words = [text for text in ax.texts if text.get_ha() == "right"]
    corners = np.array([path.vertices[:4] for path in ax.collections[0].get_paths()])
    middles = ax.transData.transform(corners.mean(axis=1))[:, 1]
    starts = ax.transData.transform(corners[:, 0])[:, 0]
    for word, middle, start in zip(words, middles, starts):
        box = word.get_window_extent()
        assert box.y0 < middle < box.y1 and start - 20 < box.x1 < start
    assert (np.diff(middles.reshape(3, 4), axis=1) < 0).all()


def test_plot_topics_draws_chosen_topics_where_it_is_told_to(plt):
    whole = plt.figure(layout="constrained")
    part = whole.subfigures(1, 2)[1]
    ax = plot_topics(COMPONENTS, NAMES, topics=[2, "Topic 0"], titles=["two", "zero"], fig=part)
    assert part.axes == [ax]
    panels = panels_of(ax, n_words=4)
    assert [panel["title"] for panel in panels] == ["two", "zero"]
    assert panels[0]["words"][0] == "a"
    assert plt.get_fignums() == [whole.number]


@pytest.mark.parametrize("n_topics", [1, 7])
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


def test_words_and_names_with_dollar_signs_are_plotted_as_they_are(plt, bars):
    ax = plot_topics([[0.6, 0.4]], ["$\\nonsense{$", "a_b$"])
    ax.figure.canvas.draw()
    assert panels_of(ax, n_words=2)[0]["words"] == ["$\\nonsense{$", "a_b$"]
    lda = OnlineEMLDA(n_components=2, random_state=0).fit(bars)
    name_topics(lda, {1: "$\\nonsense{$"})
    ax = plot_topics(lda)
    ax.figure.canvas.draw()
    assert [panel["title"] for panel in panels_of(ax, n_words=10)] == ["Topic 0", "$\\nonsense{$"]


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
    for figure in (plot_topics(pipeline).figure, plot_topic_similarity(pipeline).figure):
        figure.savefig(tmp_path / "topics.png")
        figure.savefig(tmp_path / "topics.svg")
        plt.close(figure)
    explore(pipeline, texts, texts=texts, title="a\ud800b").save(tmp_path / "topics.html")
    assert "<title>a\ufffdb" in (tmp_path / "topics.html").read_text(encoding="utf-8")
    assert words.tolist() == known


def test_long_words_and_names_are_cut_and_leave_room(plt, bars):
    address = "https://example.org/" + "a" * 5000
    lda = OnlineEMLDA(n_components=2, random_state=0).fit(bars)
    name_topics(lda, {1: address})
    names = [address, *map(str, range(1, bars.shape[1]))]
    ax = plot_topics(lda, names, n_words=bars.shape[1])
    (panel, named) = panels_of(ax, n_words=bars.shape[1])
    cut = f"{address[:39]}\N{HORIZONTAL ELLIPSIS}"
    assert named["title"] == cut and cut in panel["words"] and address not in panel["words"]
    assert ax.figure.get_figwidth() < 12
    for plot in plot_topic_dendrogram, plot_topic_similarity:
        ax = plot(lda, names, n_words=bars.shape[1])
        ax.figure.canvas.draw()
        labels = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert min(box.x0 for box in labels) >= 0 and ax.bbox.width > 100


def test_plot_scores_draws_one_curve_or_several(plt):
    ax = plot_scores([1, 2, 3], [-3.0, -2.0, -1.5])
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), [[1, -3], [2, -2], [3, -1.5]])
    assert ax.get_legend() is None

    ax = plt.figure().subplots()
    assert plot_scores([10, 2000], [[-3, -2], [-4, -1]], labels=["A", "B"], ax=ax) is ax
    assert [line.get_label() for line in ax.lines] == ["A", "B"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[10, -4], [2000, -1]])
    plot_scores([[1, 2], [5]], [[-3, -2], [-4]], ax=ax)
    plot_scores(np.array([1, 2]), np.array([-3, -2]), labels="C", ax=ax)
    assert [len(line.get_xdata()) for line in ax.lines] == [2, 2, 2, 1, 2]
    ax.figure.canvas.draw()


def test_plot_scores_draws_what_a_model_keeps(bars, plt):
    stopping = OnlineEMLDA(4, early_stopping=True, max_iter=3, random_state=0).fit(bars).partial_fit(bars)
    ax = plot_scores(stopping, labels="EM")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, stopping.n_iter_ + 1))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), stopping.validation_scores_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pass", "held-out nats per word")

    sampler = CollapsedGibbsLDA(4, max_iter=20, evaluate_every=5, random_state=0)
    ax = plot_scores(make_pipeline(sampler).fit(bars))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [5, 10, 15, 20])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), sampler.log_likelihood_)
    assert ax.get_xlabel() == "sweep"

    for model in (OnlineEMLDA(4).fit(bars), CollapsedGibbsLDA(4, max_iter=2, evaluate_every=0).fit(bars)):
        with pytest.raises(TypeError, match=r"has kept no scores: .*early_stopping=True"):
            plot_scores(model)
    with pytest.raises(TypeError, match="scores is missing"):
        plot_scores([1, 2])
    with pytest.raises(NotFittedError):
        plot_scores(OnlineEMLDA())


def test_matplotlib_is_imported_only_when_it_is_needed():
    code = "import sys, sktopic.inspection; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_matplotlib_is_reported_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (lambda: plot_topics(COMPONENTS), lambda: plot_scores([1], [-1])):
        with pytest.raises(ImportError, match=r"pip install sktopic\[plot\]"):
            plot()


# Errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: top_words(COMPONENTS, n_words=0), ValueError, "'n_words' .* range .* Got 0"),
        (lambda: top_words(COMPONENTS, n_words=True), ValueError, "n_words=True is invalid"),
        (lambda: plot_topics(COMPONENTS, titles=3), ValueError, "'titles' .* Got 3"),
        (lambda: plot_scores([1], 3), TypeError, "scores=3 is invalid"),
        (lambda: plot_scores([1], [1], labels=3), ValueError, "'labels' .* Got 3"),
        (lambda: top_words(COMPONENTS, ["a"]), ValueError, r"feature_names has shape \(1,\).*\(4,\)"),
        (
            lambda: top_words(COMPONENTS, "abcd"),
            TypeError,
            "feature_names is a str; must be a list of the 4 words",
        ),
        (lambda: top_words(COMPONENTS, {"a": 0}), TypeError, r"is a dict;.*get_feature_names_out\(\)"),
        (lambda: plot_topics(COMPONENTS, sparse.csr_array(np.eye(4))), TypeError, "is a csr_array"),
        (lambda: top_words(-COMPONENTS), ValueError, "Negative values in data passed to components"),
        (lambda: top_words(COMPONENTS * [[1], [0], [1]]), ValueError, "only zeros in row 1"),
        (lambda: top_words(OnlineEMLDA()), NotFittedError, "not fitted"),
        (lambda: top_words(make_pipeline(OnlineEMLDA())), NotFittedError, "not fitted"),
        (lambda: top_documents(COMPONENTS, [[1, 0, 0, 0]]), TypeError, "model is a ndarray.*transform"),
        (lambda: pyldavis_data(COMPONENTS, [[1, 0, 0, 0]]), TypeError, "model is a ndarray.*transform"),
        (lambda: plot_topics(COMPONENTS, n_columns=0), ValueError, "'n_columns' .* Got 0"),
        (lambda: plot_topics(COMPONENTS, topics=[3]), ValueError, "topics has 3, .* from 0 to 2"),
        (lambda: plot_topics(COMPONENTS, topics=[]), ValueError, r"topics=\[\] .* at least one"),
        (lambda: plot_topics(COMPONENTS, topics=1), TypeError, "topics=1 is invalid: must be a list"),
        (lambda: plot_topics(COMPONENTS, topics=[0.5]), TypeError, "topics has 0.5"),
        (lambda: plot_topic_dendrogram(COMPONENTS, ax="x"), TypeError, "ax is a str"),
        (lambda: plot_topics(COMPONENTS, titles=["a"]), ValueError, "titles has 1 entries; 3 are needed"),
        (lambda: plot_scores([], []), ValueError, "scores is empty"),
        (lambda: plot_scores([1, 2], [-1]), ValueError, r"shape \(2,\) and scores \(1,\) in curve 0"),
        (lambda: plot_scores([[1], [2]], [[-1]]), ValueError, "2 curves, but scores has 1"),
        (lambda: plot_scores([1], [-1], labels=["a", "b"]), ValueError, "labels has 2 entries; 1 are"),
    ],
)
@pytest.mark.usefixtures("plt")
def test_errors_name_the_parameter_and_what_is_allowed(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_plot_n_components_draws_the_posterior_and_the_trace(plt):
    model = DegenerateDirichletLDA(n_components=8, random_state=0).fit(make_bars(60, random_state=0).data)
    posterior, trace = plot_n_components(make_pipeline(model))
    assert [bar.get_height() for bar in posterior.patches] == pytest.approx(model.n_components_posterior_)
    (line,) = trace.lines
    np.testing.assert_array_equal(line.get_xdata(), model.n_tokens_trace_)
    np.testing.assert_array_equal(line.get_ydata(), model.n_components_trace_)

    figure = plt.figure(layout="constrained")
    assert plot_n_components(model, fig=figure).tolist() == figure.axes
    assert plot_n_components(clone(model).fit([[0.0, 0.0]]))[1].lines[0].get_xdata().size == 0


def test_plot_n_components_says_what_it_needs(plt):
    with pytest.raises(NotFittedError):
        plot_n_components(DegenerateDirichletLDA())
    model = OnlineEMLDA(n_components=2).fit([[1.0, 2.0]])
    with pytest.raises(TypeError, match="model is a OnlineEMLDA, which has no n_components_posterior_"):
        plot_n_components(model)
    model = DegenerateDirichletLDA(n_components=2).fit([[1.0, 2.0]])
    with pytest.raises(TypeError, match="fig is a str"):
        plot_n_components(model, fig="x")
