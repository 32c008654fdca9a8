"""The table of topics, whose words are those of the formulas, and the long table of words."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic._runtime._arrays import largest
from sktopic.datasets import make_bars
from sktopic.inspection import (
    estimate_effect,
    name_topics,
    top_documents,
    top_words,
    topic_table,
    topics_over_time,
    word_topic_table,
)
from sktopic.inspection._topic_table import largest_frex, most_relevant
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence

X = make_bars(60, random_state=0).data


@pytest.fixture(scope="module")
def lda():
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(X)


def joined(rows):
    """Rows as strings, as in columns of the table."""
    return [", ".join(map(str, row)) for row in rows]


@pytest.mark.parametrize("shape", [(1, 30), (7, 500), (3, 4000)])
def test_words_of_largest_frex_are_those_of_the_formula(shape):
    """Many words of a topic have equal probabilities, as those that no document has."""
    components = np.floor(np.random.default_rng(3).pareto(1.0, shape) * 3)
    components[:, 0] = 1
    components /= components.sum(axis=1, keepdims=True)
    totals = components.sum(axis=0)
    exclusivity = np.divide(components, totals, out=np.zeros_like(components), where=totals > 0)
    ranks = [rankdata(values, "max", axis=1) / shape[1] for values in (components, exclusivity)]
    for weight in (0.0, 0.3, 0.5, 1.0):
        expected = largest(1 / (weight / ranks[0] + (1 - weight) / ranks[1]), 5)
        assert_array_equal(largest_frex(components, weight, 5), expected, err_msg=f"{weight}")


def test_words_of_most_relevance_are_those_of_the_formula():
    components = np.random.default_rng(0).dirichlet(np.full(300, 0.2), 5)
    share = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    for weight in (0.0, 0.6, 1.0):
        values = weight * np.log(components) + (1 - weight) * np.log(components / (share @ components))
        assert_array_equal(most_relevant(components, share, weight, 20), largest(values, 20))


def test_table_has_what_the_single_functions_say(lda):
    table = topic_table(lda, X, n_words=5, n_documents=2)
    assert table["topic"].tolist() == [0, 1, 2, 3]
    assert table["words"].tolist() == joined(top_words(lda, n_words=5))
    assert_allclose(table["coherence"], coherence(lda, X, n_words=5, per_topic=True))
    assert table["typical_documents"].tolist() == joined(top_documents(lda, X, n_documents=2)[0])
    theta = lda.transform(X)
    tokens = np.asarray(X.sum(axis=1)).ravel() @ theta
    assert_allclose(table["share"], tokens / tokens.sum())
    assert table["n_documents"].tolist() == np.bincount(theta.argmax(axis=1), minlength=4).tolist()
    relevant = topic_table(lda, X, n_words=5, relevance_weight=1)["relevant_words"]
    assert relevant.tolist() == table["words"].tolist()


def test_without_documents_there_are_no_columns_that_need_them_and_empty_ones_are_left_out(lda):
    full = topic_table(lda, X)
    for model in (lda, lda.components_):
        assert topic_table(model).equals(full[["topic", "name", "words", "frex_words"]])
    with pytest.raises(TypeError, match="only a fitted estimator with transform"):
        topic_table(lda.components_, X)
    padded = sparse.vstack([sparse.csr_array((3, X.shape[1]), dtype=X.dtype), X]).tocsr()
    table = topic_table(lda, padded)
    first = [[int(row) - 3 for row in rows.split(", ")] for rows in table.pop("typical_documents")]
    assert joined(first) == full.pop("typical_documents").tolist()
    assert_allclose(table.pop("coherence"), coherence(lda, padded, per_topic=True))  # for which they count
    del full["coherence"]
    assert table.equals(full)


def test_pipelines_bring_their_words_and_models_their_names():
    texts = ["cat dog cat", "", "sun sky"]
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    name_topics(pipeline, {1: "other"})
    table = topic_table(pipeline, texts, n_words=10)
    assert {*table["words"][0].split(", ")} == {"cat", "dog", "sky", "sun"}
    assert table["name"].tolist() == ["Topic 0", "other"]
    named = topic_table(pipeline, texts, [*"abcd"])
    assert {*named["frex_words"][0].split(", ")} == {*"abcd"}
    table = word_topic_table(pipeline, texts, n_topics=1)
    assert table["document"].tolist() == [0, 0, 2, 2]
    assert table["word"].tolist() == ["cat", "dog", "sky", "sun"]
    assert table["count"].tolist() == [2, 1, 1, 1]
    counts = pipeline[0].fit_transform(texts)  # whose words are in no order
    assert word_topic_table(pipeline[-1], counts)["count"].dtype == table["count"].dtype == np.int64
    assert_array_equal(table["name"], np.where(table["topic"] == 0, "Topic 0", "other"))
    assert word_topic_table(pipeline, texts, [*"abcd"])["word"][0] == "a"


def test_a_vocabulary_of_one_word_has_no_coherence():
    counts = np.full((3, 1), 2)
    table = topic_table(OnlineEMLDA(1, random_state=0).fit(counts), counts)
    assert table["words"].tolist() == ["x0"] and table["coherence"].isna().all()


def test_rows_of_words_are_those_of_word_topics_for_any_container(lda):
    counts = sparse.csr_array(X[:20])
    for n_topics in (2, 9):  # of four
        table = word_topic_table(lda, counts, n_topics=n_topics)
        topics, probabilities = lda.word_topics(counts, n_topics=n_topics)
        n, (rows, columns) = min(n_topics, 4), counts.nonzero()
        assert_array_equal(table["document"], rows.repeat(n))
        assert_array_equal(table["word"], [f"x{column}" for column in columns.repeat(n)])
        assert_array_equal(table["count"], counts.data.repeat(n))
        assert_array_equal(table["topic"], topics.ravel())
        assert_array_equal(table["probability"], probabilities.ravel())
    sums = table.groupby(["document", "word"])["probability"].sum()
    assert_allclose(sums, 1.0, rtol=1e-6)
    parts = np.append(counts.data, [0, 0]), np.append(counts.indices, [3, 7]), counts.indptr.copy()
    parts[2][-1] += 2
    with_zeros = sparse.csr_array(parts, counts.shape)  # which are no words
    for documents in (counts.toarray(), counts.tocsc(), [counts[:7], counts[7:]], with_zeros):
        found = word_topic_table(lda, documents, n_topics=9)
        pd.testing.assert_frame_equal(found, table, check_dtype=False)
    with pytest.raises(TypeError, match="model is a LatentDirichletAllocation; a fitted topic model"):
        word_topic_table(LatentDirichletAllocation(2).fit(counts), counts)


def test_files_of_tables_have_plain_numbers_and_strings(lda):
    years = np.arange(60) % 3
    tables = [
        topic_table(lda, X),
        word_topic_table(lda, X),
        topics_over_time(lda, X, years),
        estimate_effect(lda, X, pd.cut(years, [-1, 0, 2]), n_samples=2),
    ]
    for table in tables:
        for name, column in table.items():
            assert column.dtype.kind in "if" or {type(value) for value in column} == {str}, name
        assert not {*"[]{}'"} & {*table.drop(columns="covariate", errors="ignore").to_csv()}
        read = pd.read_csv(io.StringIO(table.to_csv(index=False)))
        pd.testing.assert_frame_equal(read, table, check_dtype=False)
