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
X = sparse.csr_array(make_bars(20, random_state=0).data)


@pytest.fixture(scope="module")
def lda():
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(X)


def test_rows_are_those_of_word_topics(lda):
    table = word_topic_table(lda, X, n_topics=2)
    topics, probabilities = lda.word_topics(X, n_topics=2)
    rows, columns = X.nonzero()
    assert_array_equal(table["document"], rows.repeat(2))
    assert_array_equal(table["word"], [f"x{column}" for column in columns.repeat(2)])
    assert_array_equal(table["count"], X.data.repeat(2))
    assert_array_equal(table["topic"], topics.ravel())
    assert_array_equal(table["probability"], probabilities.ravel())
    # All topics of a word in a document have the sum one, and there are no more.
    sums = (
        word_topic_table(lda, X, n_topics=9).groupby(["document", "word"])["probability"].agg(["sum", "size"])
    )
    np.testing.assert_allclose(sums["sum"], 1.0, rtol=1e-6)
    assert (sums["size"] == 4).all()


def test_containers_and_the_order_of_entries_do_not_matter(lda):
    expected = word_topic_table(lda, X)
    parts = np.append(X.data, [0, 0]), np.append(X.indices, [3, 7]), [*X.indptr[:-1], X.nnz + 2]
    with_zeros = sparse.csr_array(parts, X.shape)  # which are no words
    for documents in (X.toarray(), X.tocsc(), [X[:7], X[7:]], with_zeros):
        pd.testing.assert_frame_equal(word_topic_table(lda, documents), expected, check_dtype=False)


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


def test_models_of_other_libraries_are_refused():
    with pytest.raises(TypeError, match="model is a LatentDirichletAllocation; a fitted topic model"):
        word_topic_table(LatentDirichletAllocation(2).fit(X), X)
