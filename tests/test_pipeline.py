"""Estimators as parts of scikit-learn's pipelines, searches and unions."""

from functools import partial

import numpy as np
import pandas as pd
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

from sktopic.datasets import make_bars
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

from .conftest import assert_raises

# What LogisticRegression of an older scikit-learn meets in a newer SciPy.
pytestmark = pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp`:DeprecationWarning")


@pytest.fixture(scope="module")
def bars():
    return make_bars(160, size=4, doc_length=40, random_state=0)


@pytest.fixture(scope="module")
def texts(bars):
    """Texts of 16 words on eight topics, of which each word has two."""
    words = np.array([f"word{i}" for i in range(16)])
    return [" ".join(words.repeat(row)) for row in bars.data.toarray().astype(int)]


def make_model(n_components=8, **params):
    settings = {"doc_topic_prior": 0.1, "max_iter": 3, "batch_size": 20, "doc_sweeps": 4, "random_state": 0}
    return OnlineEMLDA(n_components, **{**settings, **params})


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_perplexity_is_refused_as_a_scorer(bars):
    """By an error, or where scikit-learn turns errors into scores, by a warning and NaN."""
    advice = r"Give scoring=sktopic\.metrics\.neg_perplexity_scorer"
    for scoring in (perplexity, partial(perplexity, n_repeats=2), {"score": perplexity}):
        search = GridSearchCV(make_model(), {"max_iter": [1]}, scoring=scoring, cv=2, refit=False)
        with pytest.warns(UserWarning, match=advice):
            search.fit(bars.data)
        assert np.isnan(search.cv_results_["mean_test_score"]).all()
        assert_raises(TypeError, advice, search.set_params(error_score="raise").fit, bars.data, case=scoring)


def test_perplexity_is_refused_by_permutation_importance_and_not_in_a_parallel_loop(bars):
    model, X = make_model().fit(bars.data), bars.data[:20].toarray()
    with pytest.raises(TypeError, match="scoring=perplexity is invalid"):
        permutation_importance(model, X, None, scoring=perplexity, n_repeats=1)
    calls = (delayed(perplexity)(model, X) for _ in range(2))
    assert Parallel(2, backend="threading")(calls) == 2 * [perplexity(model, X)]


@pytest.mark.slow
def test_grid_search_over_a_pipeline_that_counts(texts):
    """One topic is the best for no scorer; the best model is refitted, and scores as its scorer says."""
    pipeline, grid = make_pipeline(CountVectorizer(), make_model()), {"onlineemlda__n_components": [1, 8]}
    scorers = [document_completion, left_to_right, neg_perplexity_scorer, relative_score, coherence]
    scorers = {str(number): scorer for number, scorer in enumerate(scorers)}
    search = GridSearchCV(pipeline, grid, scoring=scorers, refit="4", cv=2, error_score="raise").fit(texts)
    for name in scorers:
        one, eight = search.cv_results_[f"mean_test_{name}"]
        assert one < eight, scorers[name]
    assert search.best_estimator_[-1].n_components_ == 8
    assert search.score(texts) == coherence(search.best_estimator_, texts)
    own = GridSearchCV(pipeline, grid, cv=2, refit=False, error_score="raise").fit(texts)
    assert own.best_params_ == {"onlineemlda__n_components": 8}


def test_topics_beside_columns_of_numbers(texts, bars):
    """The names of topics are those of columns, also for a classifier that is trained already."""
    table = pd.DataFrame({"text": texts, "length": np.arange(160.0)})
    is_on_word0 = bars.data.toarray()[:, 0] > 0
    topics = make_pipeline(CountVectorizer(), make_model())
    columns = make_column_transformer(
        (topics, "text"), (StandardScaler(), ["length"]), verbose_feature_names_out=False
    )
    model = make_pipeline(columns, LogisticRegression(C=10.0)).fit(table, is_on_word0)
    names = [f"onlineemlda{i}" for i in range(8)]
    assert model[:-1].get_feature_names_out().tolist() == [*names, "length"]
    fitted = columns.named_transformers_["pipeline"]
    names = [" ".join(words) for words in top_words(fitted, n_words=3)]
    name_topics(fitted, names)
    with config_context(transform_output="pandas"):
        found = columns.transform(table)
    assert found.columns.tolist() == model[:-1].get_feature_names_out().tolist() == [*names, "length"]
    assert_array_equal(found[names], fitted.transform(texts))
    # Far better than always the more frequent class.
    frequent = max(is_on_word0.mean(), 1 - is_on_word0.mean())
    assert model.score(table, is_on_word0) > (1 + frequent) / 2
