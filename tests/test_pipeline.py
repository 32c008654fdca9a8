"""Estimators as parts of scikit-learn's pipelines, searches and unions."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from sktopic.datasets import load_docstrings, make_bars
from sktopic.inspection import name_topics, top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import (
    coherence,
    document_completion,
    left_to_right,
    neg_perplexity_scorer,
    perplexity,
    relative_score,
)

# What LogisticRegression of an older scikit-learn meets in a newer SciPy.
pytestmark = pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp`:DeprecationWarning")


@pytest.fixture(scope="module")
def texts():
    """Docstrings of three subpackages: texts to train on, their labels, and others to test on."""
    docs = load_docstrings()
    data, target = [], []
    for label in ("scipy.stats", "sklearn.linear_model", "numpy"):
        chosen = np.flatnonzero(docs.target == docs.target_names.index(label))[:80]
        data += [docs.data[i] for i in chosen]
        target += [label] * len(chosen)
    order = np.random.RandomState(0).permutation(len(data))
    data, target = np.array(data, dtype=object)[order], np.array(target)[order]
    cut = 2 * len(data) // 3
    return data[:cut], target[:cut], data[cut:], target[cut:]


@pytest.fixture(scope="module")
def bars():
    return make_bars(240, size=4, doc_length=60, random_state=0)


def make_model(n_components=8, **params):
    settings = {
        "doc_topic_prior": 0.1,
        "learning_decay": 0.6,
        "learning_offset": 1.0,
        "max_iter": 3,
        "batch_size": 20,
        "doc_burn_in": 4,
        "doc_sweeps": 4,
        "random_state": 0,
    }
    return OnlineEMLDA(n_components, **{**settings, **params})


def make_vectorizer():
    return CountVectorizer(stop_words="english", min_df=3, max_features=1500)


@pytest.mark.slow
def test_counting_topics_and_a_classifier_in_a_pipeline(texts):
    """Topics tell three subpackages apart far better than chance, which is a third."""
    train, y_train, test, y_test = texts
    pipeline = make_pipeline(make_vectorizer(), make_model(15, max_iter=10), LogisticRegression(C=10.0))
    pipeline.fit(train, y_train)
    assert pipeline.score(test, y_test) > 0.7
    assert pipeline[:-1].transform(test).shape == (len(test), 15)
    assert_array_equal(pipeline.predict(test[:3]), pipeline.predict(test)[:3])


def test_pipeline_that_ends_in_a_topic_model(texts):
    train, _, test, _ = texts
    pipeline = make_pipeline(make_vectorizer(), make_model(8))
    theta = pipeline.fit_transform(train)
    assert_array_equal(theta, pipeline.transform(train))
    assert pipeline.score(test) == pipeline[-1].score(pipeline[0].transform(test))
    assert pipeline.get_feature_names_out().tolist() == [f"onlineemlda{i}" for i in range(8)]


def test_counts_in_the_place_of_texts_are_named(texts):
    train, *_ = texts
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, max_iter=1, random_state=0)).fit(train)
    with pytest.raises(
        ValueError, match=r"begins with a CountVectorizer, which takes texts. .* pipeline\[-1\]"
    ):
        perplexity(pipe, pipe[0].transform(train))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring",
    [None, document_completion, left_to_right, neg_perplexity_scorer],
    ids=["own", "completion", "left to right", "perplexity"],
)
def test_grid_search(bars, scoring):
    """One topic is never the best for the bars, and the refitted model is usable."""
    grid = {"n_components": [1, 8], "learning_decay": [0.5, 0.9]}
    search = GridSearchCV(make_model(), grid, scoring=scoring, cv=2).fit(bars.data)
    assert search.best_params_["n_components"] == 8
    assert search.best_estimator_.learning_decay == search.best_params_["learning_decay"]
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all() and (scores < 0).all()
    assert search.transform(bars.data).shape == (240, 8)
    assert search.score(bars.data) > scores.min()


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("scoring", [perplexity, partial(perplexity, n_repeats=2), {"score": perplexity}])
def test_perplexity_is_refused_as_a_scorer(bars, scoring):
    """By an error, or where scikit-learn turns errors into scores, by a warning and NaN."""
    advice = r"Give scoring=sktopic\.metrics\.neg_perplexity_scorer"
    search = GridSearchCV(make_model(), {"max_iter": [1]}, scoring=scoring, cv=2, refit=False)
    with pytest.warns(UserWarning, match=advice):
        search.fit(bars.data)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(TypeError, match=advice):
        search.set_params(error_score="raise").fit(bars.data)


@pytest.mark.slow
def test_perplexity_is_refused_by_permutation_importance_and_not_in_a_parallel_loop(bars):
    model, X = make_model().fit(bars.data), bars.data[:20].toarray()
    with pytest.raises(TypeError, match="scoring=perplexity is invalid"):
        permutation_importance(model, X, None, scoring=perplexity, n_repeats=1)
    assert Parallel(2)(delayed(perplexity)(model, X) for _ in range(2)) == 2 * [perplexity(model, X)]


@pytest.mark.parametrize("scoring", [neg_perplexity_scorer, document_completion, relative_score, coherence])
def test_grid_search_over_a_pipeline_that_counts(texts, scoring):
    """The best model is refitted, and scores as the scorer says."""
    pipeline = make_pipeline(make_vectorizer(), make_model())
    grid = {"onlineemlda__n_components": [1, 12]}
    search = GridSearchCV(pipeline, grid, scoring=scoring, cv=2).fit(texts[0])
    assert search.best_params_ == {"onlineemlda__n_components": 12}
    assert search.best_estimator_[-1].n_components_ == 12
    assert search.score(texts[2]) == scoring(search.best_estimator_, texts[2])


def test_topics_beside_columns_of_numbers(texts):
    """The names of topics are those of columns, also for a classifier that is trained already."""
    pandas = pytest.importorskip("pandas")
    train, y_train, *_ = texts
    table = pandas.DataFrame({"text": train, "length": [float(len(text)) for text in train]})
    topics = make_pipeline(make_vectorizer(), make_model(5))
    columns = make_column_transformer(
        (topics, "text"), (StandardScaler(), ["length"]), verbose_feature_names_out=False
    )
    model = make_pipeline(columns, LogisticRegression()).fit(table, y_train)
    names = [f"onlineemlda{i}" for i in range(5)]
    assert model[:-1].get_feature_names_out().tolist() == [*names, "length"]
    fitted = columns.named_transformers_["pipeline"]
    names = [" ".join(words) for words in top_words(fitted, n_words=3)]
    name_topics(fitted, names)
    with config_context(transform_output="pandas"):
        found = columns.transform(table)
    assert found.columns.tolist() == model[:-1].get_feature_names_out().tolist() == [*names, "length"]
    assert_array_equal(found[names], fitted.transform(train))
    assert model.score(table, y_train) > 0.5
