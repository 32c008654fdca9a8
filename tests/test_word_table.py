"""The long table of words, documents and topics: its rows against word_topics, and its words."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import name_topics, word_topic_table
from sktopic.lda import OnlineEMLDA

pd = pytest.importorskip("pandas")


def test_rows_are_those_of_word_topics_for_any_container():
    X = sparse.csr_array(make_bars(20, random_state=0).data)
    lda = OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(X)
    for n_topics in (2, 9):  # of four
        table = word_topic_table(lda, X, n_topics=n_topics)
        topics, probabilities = lda.word_topics(X, n_topics=n_topics)
        n, (rows, columns) = min(n_topics, 4), X.nonzero()
        assert_array_equal(table["document"], rows.repeat(n))
        assert_array_equal(table["word"], [f"x{column}" for column in columns.repeat(n)])
        assert_array_equal(table["count"], X.data.repeat(n))
        assert_array_equal(table["topic"], topics.ravel())
        assert_array_equal(table["probability"], probabilities.ravel())
    sums = table.groupby(["document", "word"])["probability"].sum()
    np.testing.assert_allclose(sums, 1.0, rtol=1e-6)
    parts = np.append(X.data, [0, 0]), np.append(X.indices, [3, 7]), [*X.indptr[:-1], X.nnz + 2]
    with_zeros = sparse.csr_array(parts, X.shape)  # which are no words
    for documents in (X.toarray(), X.tocsc(), [X[:7], X[7:]], with_zeros):
        found = word_topic_table(lda, documents, n_topics=9)
        pd.testing.assert_frame_equal(found, table, check_dtype=False)
    with pytest.raises(TypeError, match="model is a LatentDirichletAllocation; a fitted topic model"):
        word_topic_table(LatentDirichletAllocation(2).fit(X), X)


def test_pipelines_bring_their_words_and_models_their_names():
    texts = ["cat dog cat", "", "sun sky"]
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    name_topics(pipeline, {0: "first"})
    table = word_topic_table(pipeline, texts, n_topics=1)
    assert table["document"].tolist() == [0, 0, 2, 2]
    assert table["word"].tolist() == ["cat", "dog", "sky", "sun"]
    assert table["count"].tolist() == [2, 1, 1, 1]
    assert_array_equal(table["name"], np.where(table["topic"] == 0, "first", "Topic 1"))
    assert word_topic_table(pipeline, texts, [*"abcd"])["word"][0] == "a"
