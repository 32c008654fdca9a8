"""What users are told on their first day: about X that holds no word counts, or hardly any."""

import pickle
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import sktopic
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.distributed import local_update
from sktopic.exceptions import CountsWarning, TopicLimitWarning
from sktopic.inspection import explore, top_documents, top_words
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.metrics import document_completion, left_to_right, perplexity, relative_score, stability
from sktopic.seeding import document_components

from .conftest import assert_raises
from .registry import LOOPS, defaults, each, new

TEXTS = ["the cat sat on the mat", "dogs chase cats", "", "models of topics of texts", "cats and mats"] * 20
TOKENS = [text.split() for text in TEXTS]
COUNTS = CountVectorizer().fit_transform(TEXTS)
every_loop = each(LOOPS)


def message_of(function, X):
    """The message that X is refused with, of which a user is to see all."""
    with pytest.raises(ValueError, match=r"\bX\b") as caught:
        function(X)
    assert len(str(caught.value)) < 300
    assert caught.value.__cause__ is None and (
        caught.value.__suppress_context__ or not caught.value.__context__
    )
    return str(caught.value)


# Errors


class Backed:
    """What anndata reads from a file: a matrix that is no array."""

    shape, dtype = COUNTS.shape, COUNTS.dtype

    def to_memory(self):
        return COUNTS


class Cells(Backed):
    """As an AnnData object."""

    X, layers = COUNTS, {}


REFUSED = {
    "AnnData": (Cells(), "X has cells of AnnData", "adata.X or adata.layers"),
    "backed matrix": (Backed(), "X has rows in a file", "X.to_memory()"),
    "texts": (TEXTS, "X has texts", "make_pipeline(CountVectorizer(), model)"),
    "a text": (TEXTS[0], "X has texts", "make_pipeline(CountVectorizer(), model)"),
    "objects": (np.array(TEXTS, dtype=object), "X has texts", "make_pipeline(CountVectorizer(), model)"),
    "empty texts": (["", ""], "X has texts", "make_pipeline(CountVectorizer(), model)"),
    "tokens": (TOKENS, "X has words", "CountVectorizer(analyzer=list)"),
    "equally many tokens": ([["a", "b"], ["b", "c"]], "X has words", "CountVectorizer(analyzer=list)"),
    "dicts": ([{"cat": 2}, {"dog": 1}], "X has dicts", "DictVectorizer()"),
    "bags of words": ([[], [(0, 1), (3, 2)], [(1, 1)]], "X has (word, count) pairs", "corpus2csc(X"),
    "equal bags": ([[(0, 1)], [(1, 1)]], "X has (word, count) pairs", "corpus2csc(X"),
    "word numbers": ([[1, 2, 3], [4]], "X has rows of different lengths", "each column is a word"),
    "their arrays": ([np.arange(3), np.arange(2)], "X has rows of different lengths", "each column"),
    "column of texts": (np.array(TEXTS)[:, None], "X has a column of texts", "give that column alone"),
    "generator": ((text for text in TEXTS), "X is an iterator (generator)", "partial_fit"),
    "NaN": (np.array([[1.0, np.nan], [1.0, 2.0]]), "X contains NaN", "X.fillna(0)"),
    "NaN, sparse": (sp.csr_array([[1.0, np.nan], [1.0, 2.0]]), "X contains NaN", "X.fillna(0)"),
    "None": (np.array([[1, None], [1, 2]], dtype=object), "X contains NaN", "X.fillna(0)"),
    "hashed": (
        HashingVectorizer(n_features=32).fit_transform(TEXTS),
        "Negative values in data",
        "HashingVectorizer gives counts with alternate_sign=False, norm=None",
    ),
    "infinite": (np.array([[1.0, np.inf], [1.0, 2.0]]), "X contains infinity", "finite"),
    "masked": (np.ma.masked_equal([[1, 9], [2, 0]], 9), "X has masked values", "X.filled(0)"),
    "path": ([Path("one.txt")], "X has paths", "CountVectorizer(input='filename')"),
}
SPARSE_ROWS = [sp.coo_array([1, 0]), sp.coo_array([0, 1])]
if SPARSE_ROWS[0].ndim == 1:  # in old versions of SciPy they have two dimensions, and are blocks
    REFUSED["sparse rows"] = SPARSE_ROWS, "X has sparse rows", "sparse.vstack(X)"


def test_message_says_what_was_given_and_what_to_do():
    for X, what, to_do in REFUSED.values():
        message = message_of(OnlineEMLDA().fit, X)
        assert what in message and "OnlineEMLDA" in message and to_do in message
        assert not {"cat", "mat"} & set(message.split())  # none of the texts
    for dtype in (object, str):
        assert_raises(ValueError, r"0 sample\(s\)", OnlineEMLDA().fit, np.empty((0, 1), dtype=dtype))


def test_what_is_recommended_works():
    model = OnlineEMLDA(2, max_iter=1, random_state=0)
    for vectorizer, texts in (
        (CountVectorizer(), TEXTS),
        (CountVectorizer(analyzer=list), TOKENS),
        (HashingVectorizer(n_features=32, alternate_sign=False, norm=None), TEXTS),
    ):
        pickle.dumps(pipeline := make_pipeline(vectorizer, model))
        assert not warnings_of(pipeline.fit, texts)
    for metric in (document_completion, left_to_right):
        assert "X has texts" in message_of(partial(metric, pipeline[-1]), TEXTS)


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")  # which old pandas calls
def test_data_frames_with_texts_are_told_from_counts():
    fit = OnlineEMLDA(2).fit
    assert "X has texts" in message_of(fit, pd.Series(TEXTS))
    assert "X has a column of texts" in message_of(fit, pd.DataFrame({"text": TEXTS}))
    assert "X has a column of texts" in message_of(fit, pd.DataFrame({"n": 1, "text": TEXTS}))
    with_dates = pd.DataFrame({"n": 1, "day": pd.Timestamp("2020-01-01")}, index=range(3))
    assert message_of(fit, with_dates).endswith("a row for each document: leave that column out.")
    assert "X contains NaN" in message_of(fit, pd.DataFrame({"cat": [1.0, None], "dog": [1.0, 2.0]}))
    words = [f"w{i}" for i in range(COUNTS.shape[1] - 1)] + ["_mask"]  # which masked arrays have
    assert fit(pd.DataFrame(COUNTS.toarray(), columns=words))


def test_paths_are_told_what_opens_them(tmp_path):
    fitted = OnlineEMLDA(2, random_state=0).fit(COUNTS)
    for function, verb in ((OnlineEMLDA(2).fit, "train on"), (fitted.transform, "use")):
        advice = f"to {verb} a corpus on disk, pass sktopic.datasets.open_corpus(path)."
        for X in (tmp_path, str(tmp_path)):
            message = message_of(function, X)
            assert message.startswith("X is the path of a folder") and message.endswith(advice)
        message = message_of(function, tmp_path / "missing")
        assert message.startswith("X is a path, but no folder is there") and message.endswith(advice)


def test_transposed_matrix_is_recognised_where_the_number_of_words_is_known():
    fitted = OnlineEMLDA(2, random_state=0).fit(COUNTS)
    n_documents, n_words = COUNTS.shape
    expected = f"X has {n_documents} features, .*It has {n_words} rows: .*X.T"
    completion = partial(document_completion, fitted)
    for function in (fitted.transform, fitted.score, fitted.partial_fit, completion):
        assert_raises(ValueError, expected, function, COUNTS.T)
    expected = r"as input\. Count words with .* sktopic\.features\.align_features\.$"
    assert_raises(ValueError, expected, fitted.transform, COUNTS[:, 1:])
    frame = pd.DataFrame(COUNTS.toarray(), columns=[f"w{i}" for i in range(n_words)])
    expected = r"(?s)same order as they were in fit\. sktopic\.features\.align_features brings a data frame"
    assert_raises(ValueError, expected, OnlineEMLDA(2).fit(frame).transform, frame[frame.columns[::-1]])


# Warnings


def warnings_of(function, X, category=CountsWarning):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(X)
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, category)]
    assert all(len(message) < 300 for message in messages)
    return messages


@every_loop
def test_every_kind_of_training_looks_at_what_it_is_given(estimator):
    """Texts are refused; scaled rows, and rows without counts, are warned of once a fit."""
    X, zeros, model = TfidfVectorizer().fit_transform(TEXTS), np.zeros((3, 5)), new(estimator, n_components=2)
    for method in (clone(model).partial_fit, model.fit):
        (message,) = warnings_of(method, X)
        assert "rows have length 1, as those of a TfidfVectorizer" in message
        assert type(estimator).__name__ in message and "norm=None" in message
    assert not warnings_of(model.partial_fit, X) and not warnings_of(model.transform, X)
    for function in (clone(model).fit, clone(model).partial_fit, model.transform, model.score):
        message = message_of(function, TEXTS)
        assert "X has texts" in message and type(estimator).__name__ in message
    (message,) = warnings_of(clone(model).fit, zeros)
    assert "X of shape (3, 5) has no count above 0" in message and "vocabulary" in message
    assert not warnings_of(clone(model).partial_fit, zeros)  # more may follow


def test_rows_of_sum_one_and_of_any_precision_are_scaled():
    kinds = (np.float32, "l2", "length"), (np.float32, "l1", "sum"), (np.float64, "l1", "sum")
    for dtype, norm, name in kinds:
        X = TfidfVectorizer(norm=norm, dtype=dtype).fit_transform(TEXTS)
        (message,) = warnings_of(OnlineEMLDA(2, max_iter=1).fit, X)
        assert f"rows have {name} 1" in message


def test_weights_that_are_not_scaled_and_counts_that_seem_so_are_welcome():
    one_word_each = sp.csr_array((np.ones(400), (np.arange(400), np.arange(400) % 12)))
    rng = np.random.RandomState(0)
    for X in (
        COUNTS,
        0.5 * COUNTS,
        TfidfVectorizer(norm=None).fit_transform(TEXTS),
        TfidfVectorizer().fit_transform(TEXTS) * 30,
        one_word_each,
        sp.csr_array(rng.dirichlet(np.ones(12), 100) * rng.uniform(3, 30, size=(100, 1))),
        # All rows but the last have length one.
        sp.vstack([TfidfVectorizer().fit_transform(TEXTS), 20 * np.ones((1, 14))]),
    ):
        assert not warnings_of(OnlineEMLDA(1, max_iter=1).fit, X)


def test_a_hundred_words_per_topic_are_needed():
    quick = OnlineEMLDA(max_iter=1)
    (message,) = warnings_of(quick.fit, np.eye(20, dtype=int))
    assert "n_components=10, but X has 20 documents of 20 words" in message
    assert message.endswith("With fewer than 200 documents, use CollapsedGibbsLDA or max_iter=200.")
    for model in (OnlineEMLDA(max_iter=200), CollapsedGibbsLDA(max_iter=200)):
        (message,) = warnings_of(model.fit, np.eye(20, dtype=int))
        assert message.endswith("fewer than 100 for each topic: use fewer topics or more documents.")
    (message,) = warnings_of(quick.fit, np.eye(999, dtype=int))
    assert "max_iter" not in message
    assert not warnings_of(quick.fit, np.eye(1000, dtype=int))
    for name, words in (("text", "1 word"), ("all my texts", "3 words")):  # the columns of a frame
        (message,) = warnings_of(make_pipeline(CountVectorizer(), quick).fit, {name: TEXTS})
        assert f"1 document of {words} in all" in message
        assert message.endswith("Did you pass a DataFrame instead of its column of texts?")
    assert not warnings_of(OnlineEMLDA(1, max_iter=1).fit, [[1, 2]])  # of a single topic there is no other


def documents_of(n_words, n_documents=1001):
    """Documents of so many different words."""
    rows = np.repeat(np.arange(n_documents), n_words)
    return sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size) % 97)), shape=(n_documents, 97))


def test_learned_shares_do_not_suit_few_documents_of_a_few_words():
    quick = OnlineEMLDA(20, max_iter=1)
    short, long = documents_of(7), documents_of(8)
    (message,) = warnings_of(quick.fit, sp.vstack([short, long[:999]]))
    assert message.startswith(
        "Half of the documents have at most 7 different words, and there are fewer than"
    )
    assert "OnlineEMLDA" in message and "doc_topic_prior=0.05" in message
    assert warnings_of(quick.fit, sp.vstack([short] * 34)) == [message]
    for X in long, short[:1000], sp.vstack([short[:999], long]), sp.vstack([short] * 58):
        assert not warnings_of(quick.fit, X)
    for settings in {"doc_topic_prior": 0.05}, {"doc_topic_prior": np.ones(20)}, {"prior_update": "gamma"}:
        assert not warnings_of(clone(quick).set_params(**settings).fit, short)
    assert not warnings_of(clone(quick).partial_fit, short)
    assert not warnings_of(CollapsedGibbsLDA(20, max_iter=1).fit, short)


def zipf_documents(lengths, exponent=1.0, n_words=3000):
    """Documents of these lengths in one language: the probability of a word is a power of its rank."""
    lengths = lengths.astype(int)
    rng, probabilities = np.random.default_rng(0), np.arange(1.0, n_words + 1) ** -exponent
    words = rng.choice(n_words, int(lengths.sum()), p=probabilities / probabilities.sum())
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return sp.csr_array((np.ones(len(words)), (rows, words)), shape=(len(lengths), n_words))


@pytest.mark.slow
def test_words_in_rows_are_warned_of():
    X = zipf_documents(1 + np.random.default_rng(1).lognormal(3.5, 1.0, 2000))
    model = OnlineEMLDA(2, max_iter=1)
    assert not warnings_of(model.fit, X)
    for method, transposed in (
        (model.fit, X.T.toarray().astype(int)),
        (clone(model).partial_fit, X.T.tocsr()),
    ):
        (message,) = warnings_of(method, transposed)
        assert message.startswith("X seems to be transposed") and message.endswith("give X.T.")
        assert "OnlineEMLDA expects" in message
    assert not warnings_of(model.partial_fit, transposed)


@pytest.mark.slow
def test_documents_of_any_kind_are_not_taken_for_words():
    rng = np.random.default_rng(1)
    drawn = make_lda_documents(2000, n_features=1500, n_components=20, mean_length=50, random_state=0)
    for kind, X in {
        "short texts": zipf_documents(np.full(5000, 2)),
        "lengths and words that differ much": zipf_documents(1 + rng.lognormal(3.5, 1.2, 3000), 0.7, 1000),
        "lengths that differ most": zipf_documents(1 + rng.lognormal(3.5, 1.6, 3000), 0.0, 1000),
        "a few long ones": zipf_documents(10 * np.exp(0.6 * rng.exponential(size=2000)), 0.0, 1000),
        "drawn": drawn.data,
        "drawn, transposed": drawn.data.T,
        "bars": make_bars(2000, random_state=0).data,
        "one word": np.eye(1500),
    }.items():
        assert not warnings_of(OnlineEMLDA(2, doc_topic_prior=None, max_iter=1).fit, X), kind


def test_embeddings_are_warned_of():
    fit, rng = OnlineEMLDA(2, max_iter=1).fit, np.random.default_rng(0)
    embeddings = MinMaxScaler().fit_transform(rng.normal(size=(200, 64)))
    for X in (embeddings, embeddings.astype(np.float32), sp.csr_array(embeddings)):
        (message,) = warnings_of(fit, X)
        assert message.startswith("Most entries of X are fractions from 0 to 1, as those of embeddings")
        assert "OnlineEMLDA is" in message and "CountVectorizer" in message
    shares = embeddings / embeddings.sum(axis=1, keepdims=True)  # for which one warning is enough
    (message,) = warnings_of(fit, shares)
    assert "rows have sum 1" in message
    for X in (
        embeddings > 0.5,  # which words are in a document
        30 * embeddings,
        embeddings[:, :10],  # may be anything
        np.where(embeddings > 0.6, embeddings, 0),  # weights of a few words
    ):
        assert not warnings_of(fit, X)


@each([estimator for estimator in LOOPS if not estimator._infers_number_of_topics])
def test_more_topics_than_the_corpus_can_tell_apart_are_warned_of(estimator):
    n_documents, n_tokens = 5, int(COUNTS[:5].sum())
    (message,) = warnings_of(new(estimator, n_components=20).fit, COUNTS[:5])
    # One of the documents is empty.
    assert f"n_components=20, but X has {n_documents - 1} documents of {n_tokens} words" in message
    assert not warnings_of(new(estimator, n_components=20).partial_fit, COUNTS[:5])  # more may follow
    assert not warnings_of(new(estimator, n_components=1).fit, COUNTS[:5])
    # A few long documents are enough.
    assert not warnings_of(new(estimator, n_components=20).fit, 1000 * COUNTS[:5])


@each(defaults(lambda estimator: hasattr(estimator, "n_components_prior")))
def test_a_number_of_topics_that_is_inferred_is_compared_with_its_limit_alone(estimator):
    assert not warnings_of(new(estimator, n_components=20).fit, COUNTS[:5])
    bars = make_bars(200, random_state=0).data
    limited = new(estimator, n_components=3)
    (message,) = warnings_of(limited.fit, bars, TopicLimitWarning)
    expected = f"{type(estimator).__name__} finds that the largest possible number of topics, n_components=3,"
    assert expected in message
    assert limited.n_components_ == 3
    # One topic is no question; nor are three where the posterior is of fewer.
    assert not warnings_of(new(estimator, n_components=1).fit, bars, TopicLimitWarning)
    few = new(estimator, n_components=3, n_components_prior=[1.0, 1.0, 0.0])
    assert not warnings_of(few.fit, bars, TopicLimitWarning)
    assert few.n_components_ == 2


# Pipelines where models belong, and the reverse

PIPELINE = make_pipeline(CountVectorizer(), OnlineEMLDA(2, max_iter=1, random_state=0)).fit(TEXTS)
CLASSIFIER = make_pipeline(*PIPELINE, MultinomialNB()).fit(TEXTS, [0, 1] * 50)
MISTAKES = {
    "texts for a model": (lambda: explore(PIPELINE[-1], TEXTS), r"vectorizer\.transform\(X\).*the pipeline"),
    "texts to measure": (lambda: perplexity(PIPELINE[-1], TEXTS), r"vectorizer\.transform\(X\).*the pip"),
    "counts for a pipeline": (lambda: top_documents(PIPELINE, COUNTS), r"takes texts.*pipeline\[-1\]"),
    "texts as names": (lambda: explore(PIPELINE[-1], COUNTS, TEXTS), "words of the columns, get"),
    "a classifier at the end": (lambda: top_words(CLASSIFIER), r"MultinomialNB.*pipeline\[:-1\]"),
    "a path for a model": (lambda: top_words("topics.zip"), r"is a str.*sktopic\.load\(path\)"),
    "a pipeline to load": (lambda: sktopic.load(PIPELINE), "path is a Pipeline.*path of a file"),
    "a lane of a pipeline": (lambda: local_update(PIPELINE, TEXTS, lane=0), r"give .*pipeline\[-1\]"),
    "texts to start from": (lambda: document_components(TEXTS, 2), "X has texts.*expects counts"),
    "no documents": (lambda: explore(PIPELINE), r"explore\(\): missing.*'X'"),
    "models one by one": (lambda: stability(PIPELINE, PIPELINE), r"stability\(\): too many"),
}


def test_a_pipeline_or_a_model_in_the_wrong_place_is_told_what_to_give():
    for mistake, advice in MISTAKES.values():
        assert_raises((TypeError, ValueError), advice, mistake)


# Scores of documents without words


def test_metric_of_empty_documents_is_undefined():
    """But the log likelihood of each of them is 0."""
    fitted, nothing = OnlineEMLDA(2, random_state=0).fit(COUNTS), np.zeros((3, COUNTS.shape[1]))
    some = sp.vstack([COUNTS[:9], nothing])
    for metric in (document_completion, left_to_right, perplexity, relative_score):
        with pytest.warns(UndefinedMetricWarning, match="no words to predict"):
            assert np.isnan(metric(fitted, nothing))
        if metric is not relative_score:  # which is for each document
            assert metric(fitted, some) == metric(fitted, COUNTS[:9])
    assert left_to_right(fitted, nothing, per_document=True).tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("ignore")
def test_search_ranks_last_what_leaves_no_words():
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(2, max_iter=2, random_state=0))
    grid = {"countvectorizer__vocabulary": [["xyzzy", "plugh"], ["cat", "cats", "dogs", "mat", "mats"]]}
    for scoring in (None, relative_score):
        search = GridSearchCV(pipeline, grid, cv=2, scoring=scoring).fit(TEXTS)
        assert search.cv_results_["rank_test_score"].tolist() == [2, 1], scoring


@pytest.mark.filterwarnings("ignore")
def test_early_stopping_without_words_to_score_makes_all_passes():
    """Of two documents one is held out: the empty one, for some seed."""
    X = sp.vstack([COUNTS[0], sp.csr_array((1, COUNTS.shape[1]))])
    settings = {"early_stopping": True, "n_iter_no_change": 1, "max_iter": 6}
    models = [OnlineEMLDA(1, random_state=seed, **settings).fit(X) for seed in range(8)]
    passes = [model.n_iter_ for model in models if np.isnan(model.validation_scores_).all()]
    assert passes and set(passes) == {6}
