"""Names of topics: who shows them, who keeps and takes them, and that they stay with their topics."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sktopic
from sktopic._estimators._topic_names import renamed, topic_numbers
from sktopic.dask import DaskTopicModel
from sktopic.datasets import make_bars
from sktopic.hdp import (
    HybridHDP,
    OnlineVariationalHDP,
    _hybrid_topics,
    _online_variational_method,
)
from sktopic.inspection import (
    estimate_effect,
    name_topics,
    plot_effects,
    plot_posterior_predictive_check,
    plot_topics,
    plot_topics_over_time,
    top_documents,
    top_words,
    topics_over_time,
)
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import posterior_predictive_check

from .conftest import assert_raises
from .registry import LOOPS, defaults, each, is_unbounded, new
from .test_docstrings import public_functions

X = make_bars(120, random_state=0).data
NAMES = ["left", "right", "top", "bottom"]


@pytest.fixture
def lda():
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(X)


def test_names_are_those_of_the_columns_of_transform(lda):
    assert not hasattr(lda, "topic_names_")
    name_topics(lda, NAMES)
    assert lda.get_feature_names_out().tolist() == NAMES
    assert lda.topic_names_.dtype == object and lda.topic_names_.tolist() == NAMES
    columns = lda.set_output(transform="pandas").transform(X).columns
    assert columns.tolist() == NAMES
    assert topics_over_time(lda, X, [2001] * X.shape[0])["name"].tolist() == NAMES
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2)).fit(["cat dog", "sun sky"])
    name_topics(pipeline, pd.Series(["animals", "weather"]))
    assert pipeline.get_feature_names_out().tolist() == ["animals", "weather"]
    expected = lda.components_[[2, 3]]
    assert_array_equal(lda.drop_topics(columns[:2]).components_, expected)


def test_a_dict_or_a_series_names_some_topics_and_leaves_the_others(lda):
    default = [f"onlineemlda{topic}" for topic in range(4)]
    for names, expected in (
        ({1: "right"}, [default[0], "right", *default[2:]]),
        ({np.int64(3): np.str_("bottom")}, [default[0], "right", default[2], "bottom"]),
        ({1: "bottom", 3: "right"}, [default[0], "bottom", default[2], "right"]),
        (np.array([default[0], "bottom", default[2], "right"]), [default[0], "bottom", default[2], "right"]),
        (pd.Series(NAMES)[::-1], NAMES),
        (pd.Series(NAMES[::-1]), NAMES[::-1]),
        (pd.Series(["new"], index=["left"]), ["bottom", "top", "right", "new"]),
        (dict.fromkeys(NAMES).keys(), NAMES),
    ):
        name_topics(lda, names)
        assert lda.topic_names_.tolist() == expected
    for none in (default, [f"Topic {topic}" for topic in range(4)]):
        name_topics(lda, NAMES)
        name_topics(lda, none)
        assert not hasattr(lda, "topic_names_")


def test_names_that_cannot_be_are_refused_and_those_before_stay(lda):
    name_topics(lda, NAMES)
    for names, error, message in (
        (NAMES[:3], ValueError, "names has 3 entries, but the model has 4 topics. Pass a dict"),
        ([*NAMES[:3], "left"], ValueError, "names has 'left' for two topics"),
        ({0: "bottom"}, ValueError, "names has 'bottom' for two topics"),
        (
            {0: "Topic 1"},
            ValueError,
            "names has 'Topic 1' for topic 0, but this is the default name of topic 1",
        ),
        ([*NAMES[:3], " "], ValueError, "names has ' ' for topic 3; a name needs visible characters"),
        ([*NAMES[:3], None], TypeError, "names has None for topic 3; must be a string"),
        ({0: "more", "left": "east"}, ValueError, "names has topic 0 twice"),
        ("left", TypeError, "names is a str"),
        (None, TypeError, "names is a NoneType"),
        (set(NAMES), TypeError, r"names is a set; must be a list with one"),
        (frozenset(NAMES), TypeError, r"names is a frozenset; must be a list with one"),
        ({0: "onlineemlda3"}, ValueError, "the default name of topic 3"),
        ({0: "a\ud800"}, ValueError, r"names has 'a\\ud800', which contains a lone surrogate"),
    ):
        assert_raises(error, message, name_topics, lda, names)
    assert lda.topic_names_.tolist() == NAMES


def test_a_function_names_topics_from_their_words_and_documents(lda):
    asked = []

    def ask(*shown):
        asked.append(shown)
        return f"topic of {shown[0][0]}"

    assert_raises(ValueError, "the model does not know its words", name_topics, lda, ask)
    words = top_words(lda.set_feature_names([f"w{j}" for j in range(X.shape[1])]))
    name_topics(lda, ask)
    assert asked == [(tuple(row),) for row in words] and words.shape == (4, 10)
    assert lda.topic_names_.tolist() == [f"topic of {row[0]}" for row in words]
    texts = np.array([f"text {i}" for i in range(120)])
    typical = texts[top_documents(lda, X, n_documents=2)[0]]
    asked.clear()
    name_topics(lda, ask, documents=typical)
    assert asked == [(tuple(row), tuple(some)) for row, some in zip(words, typical)]
    assert "np.str_" not in repr(asked)  # texts go into prompts


def test_names_by_a_function_are_checked_and_its_errors_name_the_topic(lda):
    lda.set_feature_names([f"w{j}" for j in range(X.shape[1])])
    name_topics(lda, NAMES)

    def fails(words):
        if words == tuple(top_words(lda)[2]):
            raise KeyError("no reply")
        return words[0]

    with pytest.raises(KeyError, match="no reply") as caught:
        name_topics(lda, fails)
    assert caught.value.__notes__ == ["This error was raised by the function given as names, for topic 2."]
    for names, documents, error, message in (
        (lambda words: "same", None, ValueError, "names has 'same' for two topics; names must be distinct"),
        (lambda words: None, None, TypeError, "names has None for topic 0; must be a string"),
        (lambda words: "", None, ValueError, "names has '' for topic 0"),
        (lambda _, texts: "new", [["text"]] * 3, ValueError, "documents has 3 entries, but the model has 4"),
        (lambda _, texts: "new", NAMES, TypeError, r"documents\[0\] is a str; a sequence of str is allowed"),
        (lambda _, texts: "new", [[7]] * 4, TypeError, r"documents\[0\] has a int for document 0; str is"),
        (NAMES, [["text"]] * 4, ValueError, "documents is invalid: must be None unless names is a function"),
    ):
        assert_raises(error, message, name_topics, lda, names, documents=documents)
    assert lda.topic_names_.tolist() == NAMES
    assert_raises(NotFittedError, "OnlineEMLDA", name_topics, OnlineEMLDA(), fails)


def test_models_without_topics_or_of_other_libraries_are_refused():
    search = GridSearchCV(make_pipeline(CountVectorizer(), OnlineEMLDA()), {})
    for model in (OnlineEMLDA(), DaskTopicModel(OnlineEMLDA(n_components=4)), search):
        assert_raises(NotFittedError, type(model).__name__, name_topics, model, NAMES)
    theirs = LatentDirichletAllocation(2, max_iter=1).fit(X)
    assert_raises(TypeError, "model is a LatentDirichletAllocation", name_topics, theirs, NAMES)


@each(LOOPS)
def test_names_are_kept_by_all_but_fit_and_clone(estimator, tmp_path):
    model = new(estimator).fit(X)
    name_topics(model, {0: "first"})
    model.save(tmp_path / "model.zip")
    loaded = sktopic.load(tmp_path / "model.zip")
    copies = [loaded, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for kept in (*copies, model.partial_fit(X[:10])):
        assert kept.topic_names_[0] == "first"
    name_topics(loaded, {0: "other"})
    assert model.topic_names_[0] == "first"
    assert not hasattr(clone(model), "topic_names_")
    assert_raises(ValueError, "expects", model.fit, ["text"])
    assert model.topic_names_[0] == "first"
    assert not hasattr(model.fit(X), "topic_names_")


@each(defaults(is_unbounded))
def test_names_stay_with_topics_where_others_are_added(estimator):
    model = new(estimator, n_components=2, max_iter=10, batch_size=20).partial_fit(X[:20])
    named = [f"topic {identity}" for identity in model.topic_ids_]
    before, default = model.topic_ids_, type(model).__name__.lower()
    name_topics(model, named)
    for seed in range(4):
        model.partial_fit(make_bars(30, random_state=seed).data)
        assert len(set(model.topic_ids_)) == model.n_components_
        expected = [
            f"topic {identity}" if identity in before else f"{default}{topic}"
            for topic, identity in enumerate(model.topic_ids_)
        ]
        assert model.get_feature_names_out().tolist() == expected
    assert model.topic_ids_.tolist() != before.tolist()  # else this test shows nothing


@pytest.mark.parametrize(
    ("cls", "after"),
    [
        (OnlineVariationalHDP, ["left", "east", "top", "bottom"]),
        # A topic that comes back is another one in the same column.
        (HybridHDP, ["hybridhdp0", "east", "hybridhdp2", "bottom"]),
    ],
)
def test_names_stay_with_topics_that_come_and_go(monkeypatch, cls, after):
    model = cls(n_components=4, random_state=0).fit(X)
    name_topics(model, NAMES)

    def let_be_in_use(columns):
        for module in (_online_variational_method, _hybrid_topics):
            monkeypatch.setattr(module, "columns_in_use", lambda state: np.array(columns))
        model._state = model._method().reported(model._state)

    let_be_in_use([1, 3])
    assert model.topic_names_.tolist() == ["right", "bottom"]
    name_topics(model, {0: "east"})
    let_be_in_use([0, 1, 2, 3])
    assert model.topic_names_.tolist() == after


@each([estimator for estimator in LOOPS if hasattr(estimator, "merge_topics")])
def test_names_stay_with_topics_while_others_are_merged_and_dropped(estimator):
    model = new(estimator, n_components=6).fit(X)
    names = [f"was {topic}" for topic in range(model.n_components_)]
    name_topics(model, names)
    model.merge_topics([[3, 1], [0, 2]])
    left = [0, 3, *range(4, len(names))]
    assert model.topic_names_.tolist() == [names[topic] for topic in left]
    model.drop_topics([0])
    assert model.topic_names_.tolist() == [names[topic] for topic in left[1:]]
    name_topics(model, {0: names[1]})
    assert model.partial_fit(X[:20]).topic_names_[0] == names[1]


def test_a_name_goes_to_another_topic_only_while_its_own_is_not_there():
    pairs = ((7, "left"), (9, "right"))
    assert renamed(pairs, {0: "left"}, [9, 11], "hdp") == ((9, "left"),)
    assert renamed(pairs, {1: "top"}, [9, 11], "hdp") == (*pairs, (11, "top"))
    assert_raises(ValueError, "'right' for two topics", renamed, pairs, {1: "right"}, [9, 11], "hdp")


# Functions that take topics

# Names of parameters of topics, and those of these names that are something else.
TOPICS = {"groups", "into", "keep", "names", "topic", "topics"}
OTHERS = {
    *(("explore", "groups"), ("posterior_predictive_check", "groups")),
    *(("seed_prior", "groups"), ("set_feature_names", "names")),
}
YEARS = np.arange(X.shape[0]) % 2


def titles_over_time(lda, topics):
    axes = plot_topics_over_time(topics_over_time(lda, X, YEARS), topics=topics)
    return [ax.get_title(loc="left") for ax in axes]


def labels_of_effects(lda, topics):
    ax = plot_effects(estimate_effect(lda, X, YEARS, n_samples=2), topics=topics)
    return [label.get_text() for label in ax.get_yticklabels()]


def labels_of_check(lda, topics):
    check = posterior_predictive_check(lda, X, n_replications=2)
    ax = plot_posterior_predictive_check(check, topics=topics)
    return [label.get_text() for label in ax.get_yticklabels()]


# What depends on the chosen topics, by function and parameter.
TAKE_TOPICS = {
    ("merge_topics", "groups"): lambda lda, topics: lda.merge_topics([topics]).components_,
    ("drop_topics", "topics"): lambda lda, topics: lda.drop_topics(topics).components_,
    ("freeze_topics", "topics"): lambda lda, topics: lda.freeze_topics(topics)._state.words.frozen_columns,
    ("name_topics", "names"): lambda lda, topics: (
        name_topics(lda, dict(zip(topics, ["new", "newer"]))) or lda.topic_names_
    ),
    ("plot_topics", "topics"): lambda lda, topics: [
        text.get_text() for text in plot_topics(lda, topics=topics).texts
    ],
    ("plot_topics_over_time", "topics"): titles_over_time,
    ("plot_effects", "topics"): labels_of_effects,
    ("plot_posterior_predictive_check", "topics"): labels_of_check,
}


def test_a_name_that_two_rows_of_a_table_share_is_refused():
    message = "topics has 'left', which is invalid: topics 1, 3 have this name. Give the number"
    assert_raises(ValueError, message, topic_numbers, ["left"], {1: ("left",), 2: ("top",), 3: ("left",)})


def test_every_function_that_takes_topics_is_tested():
    found = set()
    for function in public_functions():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in TOPICS or "TopicsLike" in str(parameter.annotation):
                found.add((function.__name__, parameter.name))
    assert found - OTHERS == TAKE_TOPICS.keys()


@pytest.mark.usefixtures("plt")
@pytest.mark.parametrize("function", TAKE_TOPICS.values(), ids=map(".".join, TAKE_TOPICS))
def test_topics_are_taken_by_number_and_by_name(lda, function):
    name_topics(lda, {0: "left", 3: "right"})
    expected = function(copy.copy(lda), [0, 2])
    for topics in (np.array(["left", "Topic 2"]), [np.str_("left"), np.uint8(2)]):
        assert_array_equal(function(copy.copy(lda), topics), expected)
    names = lda.topic_names_
    for topics, error, message in [
        (["lft", 2], ValueError, "'lft', which is invalid: no topic has this name. Similar names: 'left'"),
        (["zebra", 2], ValueError, r"no topic has this name. get_feature_names_out\(\) of the model"),
        ([4, 2], ValueError, "4, which is invalid: must be a number from 0 to 3, or the name"),
        ([-1, 2], ValueError, "-1, which is invalid"),
        ([True, 2], TypeError, "True, which is invalid"),
        ([0.0, 2], TypeError, "0.0, which is invalid"),
    ]:
        assert_raises(error, message, function, lda, topics)
    assert_array_equal(lda.topic_names_, names)
