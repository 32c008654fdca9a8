"""Posterior predictive checks: exact values, the law of p-values, planted violations, tables and plots."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_lda_documents
from sktopic.inspection import name_topics, plot_posterior_predictive_check
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import PosteriorPredictiveCheck, posterior_predictive_check
from tests.kernels.tools import assert_distributed, for_each_seed

from .conftest import assert_raises
from .registry import defaults, each, new

# Topics without common words, so that the topic of each token is known.
APART = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.0, 0.0, 0.0, 0.4, 0.6]])
COUNTS = np.array([[2, 1, 0, 4, 0], [0, 3, 1, 0, 2], [1, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
FIELDS = PosteriorPredictiveCheck.__dataclass_fields__


def entropy(shares):
    return -sum(share * np.log(share) for share in shares if share > 0)


def by_definition(table):
    """Mutual information of a table of counts (words, documents), and the instantaneous one of its words."""
    p = table / table.sum()
    of_words, of_documents = p.sum(axis=1), p.sum(axis=0)
    total = sum(
        p[w, d] * np.log(p[w, d] / (of_words[w] * of_documents[d])) for w, d in np.argwhere(table > 0)
    )

    each_word = [entropy(of_documents) - entropy(row / row.sum() if row.any() else row) for row in table]
    return total, np.array(each_word)


@pytest.mark.parametrize("scale", [1.0, 0.7, 1e6])
def test_information_is_that_of_its_definition(scale):
    check = posterior_predictive_check(APART, scale * COUNTS, doc_topic_prior=0.5, n_words=3)
    assert_array_equal(check.words, [["x0", "x1", "x2"], ["x4", "x3", "x0"]])
    assert_allclose(check.tokens, scale * np.array([8, 8]))
    tables = COUNTS[:, :3].T, COUNTS[:, [4, 3]].T
    for k, table in enumerate(tables):
        total, of_words = by_definition(table)
        assert check.mutual_information[k] == pytest.approx(total, abs=1e-10)
        assert_allclose(check.word_information[k, : len(table)], of_words, atol=1e-10)
        # Their mean over tokens is the mutual information.
        assert total == pytest.approx(of_words @ table.sum(axis=1) / table.sum(), abs=1e-12)
    # A word that the topic does not have, and one that has one token in it
    expected = [entropy([3 / 8, 4 / 8, 1 / 8]), entropy([4 / 8, 2 / 8, 2 / 8])]
    assert_allclose(check.word_information[[0, 1], [2, 2]], expected)


def test_groups_take_the_place_of_documents():
    groups = ["b", "a", "b", "c"]
    check = posterior_predictive_check(APART, COUNTS, doc_topic_prior=0.5, groups=groups)
    table = np.array([COUNTS[1], COUNTS[0] + COUNTS[2]]).T
    for k, words in enumerate((slice(0, 3), slice(3, 5))):
        assert check.mutual_information[k] == pytest.approx(by_definition(table[words])[0], abs=1e-10)
    alone = posterior_predictive_check(APART, COUNTS, doc_topic_prior=0.5)
    own_groups = posterior_predictive_check(APART, COUNTS, doc_topic_prior=0.5, groups=[3, 2, 1, 0])
    assert_array_equal(alone.mutual_information, own_groups.mutual_information)
    assert_array_equal(alone.replicated, own_groups.replicated)


@pytest.mark.law
@for_each_seed
def test_replications_have_the_law_of_words_given_topics(seed):
    """By all words of four tokens in two documents, for the whole and for the most probable word."""
    X, topic = np.array([[1, 1, 0], [2, 0, 0]]), np.array([[0.5, 0.3, 0.2]])
    check = posterior_predictive_check(
        topic, X, doc_topic_prior=0.5, n_replications=40_000, n_words=1, random_state=seed
    )
    expected = {}
    for words in product(range(3), repeat=4):
        table = np.zeros((3, 2))
        np.add.at(table, (words, [0, 0, 1, 1]), 1)
        total, of_words = by_definition(table)
        value = round(total, 8) + 0.0, round(of_words[0], 8) + 0.0
        expected[value] = expected.get(value, 0.0) + topic[0, list(words)].prod()
    found = np.column_stack([check.replicated[:, 0], check.replicated_word_information[:, 0, 0]])
    observed = dict.fromkeys(expected, 0)
    for pair in map(tuple, found.round(8) + 0.0):
        observed[pair] += 1
    assert_distributed(list(observed.values()), np.array(list(expected.values())))


@pytest.mark.law
@for_each_seed
def test_p_values_are_uniform_if_documents_come_from_the_model(seed):
    """Those of 400 corpora and three topics, which are independent, in 20 bins."""
    p_values = []
    for i in range(400):
        corpus = make_lda_documents(
            15, n_features=20, n_components=3, mean_length=25, random_state=1000 * seed + i
        )
        check = posterior_predictive_check(
            corpus.components,
            corpus.data,
            doc_topic_prior=corpus.doc_topic_prior,
            n_replications=19,
            random_state=i,
        )
        p_values.append(check.p_values)
    bins = np.bincount((20 * np.concatenate(p_values)).round().astype(int), minlength=21)
    assert bins[0] == 0
    assert_distributed(bins[1:], np.full(20, 0.05))


@pytest.mark.law
@for_each_seed
def test_p_values_are_uniform_for_large_counts(seed):
    """Those of 200 corpora of one topic with counts above 64, in 20 bins."""
    rng, topic = np.random.default_rng(seed), np.array([[0.1, 0.1, 0.2, 0.2, 0.4]])
    bins = np.zeros(21, dtype=int)
    for i in range(200):
        X = rng.multinomial(400, topic[0], size=4)
        check = posterior_predictive_check(topic, X, doc_topic_prior=1.0, n_replications=19, random_state=i)
        bins[round(20 * check.p_values[0])] += 1
    assert bins[0] == 0
    assert_distributed(bins[1:], np.full(20, 0.05))


def planted(seed, n_documents=80):
    """Topics and documents. In documents with odd numbers, topic 2 uses the second half of its words only."""
    rng = np.random.default_rng(seed)
    topics = np.hstack([np.kron(np.eye(4), np.ones((1, 10))), np.full((4, 5), 0.5)]) / 12.5  # five in common
    halves = np.array([topics, topics])
    for i, used, unused in ((0, slice(20, 25), slice(25, 30)), (1, slice(25, 30), slice(20, 25))):
        halves[i, 2, used] *= 2
        halves[i, 2, unused] = 0
    theta = rng.dirichlet(np.full(4, 0.5), n_documents)
    X = np.array([rng.multinomial(100, theta[d] @ halves[d % 2]) for d in range(n_documents)])
    return topics, X, np.arange(n_documents) % 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_group", [False, True])
def test_a_topic_whose_words_depend_on_the_document_is_found(by_group, seed):
    topics, X, group = planted(seed)
    check = posterior_predictive_check(
        topics, X, doc_topic_prior=0.5, groups=group if by_group else None, n_replications=199
    )
    others = [0, 1, 3]
    assert check.p_values[2] == 1 / 200
    assert check.deviances[2] > 5 + np.abs(check.deviances[others]).max()
    assert check.p_values[others].min() > 0.01
    assert (check.word_p_values[2] == 1 / 200).mean() >= 0.9
    assert (check.word_p_values[others] > 0.02).mean() > 0.9


CORPUS = make_lda_documents(60, n_features=30, n_components=4, mean_length=30, random_state=0)
GIVEN = {"doc_topic_prior": CORPUS.doc_topic_prior, "n_replications": 9}


def assert_same_check(first, second):
    for name in FIELDS:
        assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def test_threads_and_the_form_of_documents_do_not_matter_and_seeds_do():
    check = posterior_predictive_check(CORPUS.components, CORPUS.data, **GIVEN)
    for n_jobs, X in ((2, CORPUS.data), (3, CORPUS.data.toarray()), (1, sp.csc_array(CORPUS.data))):
        assert_same_check(check, posterior_predictive_check(CORPUS.components, X, n_jobs=n_jobs, **GIVEN))
    blocks = [CORPUS.data[:25], CORPUS.data[25:]]
    assert_same_check(check, posterior_predictive_check(CORPUS.components, blocks, **GIVEN))
    seeds = [
        posterior_predictive_check(CORPUS.components, CORPUS.data, random_state=seed, **GIVEN)
        for seed in (1, np.int64(1), 2)
    ]
    assert_same_check(*seeds[:2])
    assert (seeds[0].replicated != seeds[2].replicated).mean() > 0.9
    assert (seeds[0].tokens != seeds[2].tokens).any()


def test_equal_documents_have_topics_of_their_own():
    """Otherwise their topics would be drawn once, and replications would differ from them."""
    same = np.full((2, 2), 0.5)
    X = np.tile([1, 0], (400, 1))
    check = posterior_predictive_check(same, X, doc_topic_prior=1.0, n_replications=1)
    assert 150 < check.tokens[0] < 250


def test_models_pipelines_and_arrays_are_checked_alike():
    texts = ["one two two three", "three four five", "one five five two", "four four one"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, max_iter=2, random_state=0)).fit(texts)
    name_topics(pipe, {1: "numbers"})
    check = posterior_predictive_check(pipe, texts, n_words=2)
    assert check.names == ["Topic 0", "numbers"]
    assert set(check.words.ravel()) <= {"one", "two", "three", "four", "five"}
    X = pipe[0].transform(texts)
    arrays = posterior_predictive_check(
        pipe[-1].components_, X, doc_topic_prior=pipe[-1].doc_topic_prior_, n_words=2
    )
    assert_allclose(arrays.tokens, check.tokens)
    assert_allclose(arrays.mutual_information, check.mutual_information)
    theirs = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    assert posterior_predictive_check(theirs, X).tokens.sum() == X.sum()


@each(defaults())
def test_every_estimator_can_be_checked(estimator):
    model = new(estimator).fit(CORPUS.data)
    check = posterior_predictive_check(model, CORPUS.data, n_replications=3)
    assert check.tokens.sum() == pytest.approx(CORPUS.data.sum())
    assert check.replicated.shape == (3, model.n_components_)
    assert np.all((check.mutual_information >= 0) & np.isfinite(check.mutual_information))
    assert np.isfinite(check.replicated_word_information).all()


def test_a_topic_without_tokens_and_invalid_input():
    topics = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    check = posterior_predictive_check(topics, [[3, 0, 0], [5, 0, 0]], doc_topic_prior=1.0)
    assert check.tokens.tolist() == [8, 0]
    assert_array_equal(check.mutual_information, 0)
    assert_array_equal(check.p_values, 1)
    assert np.isnan(check.deviances).all()
    for message, X, groups in [
        ("X has no document with words", [[0, 0, 0]], None),
        (r"groups has shape \(1,\); X has 2 documents", [[3, 0, 0], [5, 0, 0]], ["a"]),
        ("groups is invalid: must be an array of numbers", [[3, 0, 0], [5, 0, 0]], ["1", 1]),
        ("groups is invalid: must be an array of numbers", [[3, 0, 0], [5, 0, 0]], [{}, {}]),
        ("groups has a missing value for document 1", [[3, 0, 0], [5, 0, 0]], ["a", None]),
        ("groups has a missing value for document 0", [[3, 0, 0], [5, 0, 0]], [np.nan, "a"]),
        ("groups has a missing value for document 1", [[3, 0, 0], [5, 0, 0]], [1.0, np.nan]),
        ("groups has a missing value", [[3, 0, 0], [5, 0, 0]], np.array(["", "2020"], "M8[D]")),
    ]:
        given = {"doc_topic_prior": 1.0, "groups": groups}
        assert_raises(ValueError, message, posterior_predictive_check, topics, X, **given)
    message, given = "X has word 1, which has probability 0 in every topic", {"doc_topic_prior": 1.0}
    assert_raises(ValueError, message, posterior_predictive_check, [[1.0, 0.0]], [[1, 2], [3, 0]], **given)


def made(**changed):
    """A result with chosen numbers."""
    fields = {
        "names": ["Topic 0", "law"],
        "words": np.array([["a", "b"], ["c", "a"]], dtype=object),
        "tokens": np.array([10.0, 20.0]),
        "mutual_information": np.array([0.5, 0.3]),
        "replicated": np.array([[0.1, 0.3], [0.3, 0.4], [0.5, 0.2]]),
        "word_information": np.array([[0.1, 0.2], [0.3, 0.5]]),
        "replicated_word_information": np.arange(12.0).reshape(3, 2, 2) / 10,
    }
    return PosteriorPredictiveCheck(**{**fields, **changed})


def test_p_values_deviances_and_tables_by_hand():
    check = made()
    assert_allclose(check.p_values, [2 / 4, 3 / 4])
    spread = np.std([0.1, 0.3, 0.5])
    assert_allclose(check.deviances, [0.2 / spread, 0], atol=1e-12)
    assert_allclose(check.word_p_values, [[3 / 4, 3 / 4], [3 / 4, 3 / 4]])
    low = made(replicated=np.tile([0.4, 0.3], (99, 1)))
    assert_allclose(low.p_values, [0.01, 1.0])
    assert repr(low) == "PosteriorPredictiveCheck(1 of 2 topics have p < 0.05)"
    columns = ["observed", "expected", "low", "high", "deviance", "p_value"]
    assert list(check.table.columns) == ["topic", "name", "words", "tokens", *columns]
    assert check.table["words"].tolist() == ["a, b", "c, a"]
    assert_allclose(check.table["low"], [0.11, 0.205])
    assert_allclose(check.table["high"], [0.49, 0.395])
    words = check.word_table
    assert list(words.columns) == ["topic", "name", "word", *columns]
    assert words["word"].tolist() == ["a", "b", "c", "a"] and words["topic"].tolist() == [0, 0, 1, 1]
    assert_allclose(words["observed"], [0.1, 0.2, 0.3, 0.5])
    assert_allclose(words["expected"], [0.4, 0.5, 0.6, 0.7])
    assert_array_equal(words["p_value"], check.word_p_values.ravel())
    assert_allclose(words["deviance"].iloc[0], -0.3 / np.std([0.0, 0.4, 0.8]))


def texts_of(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_the_plot_shows_observed_and_replicated_values(plt):
    check = made()
    ax = plot_posterior_predictive_check(check)
    assert texts_of(ax) == ["law: c, a", "Topic 0: a, b"] and ax.get_xlabel().startswith("Mutual")
    dots = ax.lines[-1]
    assert_allclose(dots.get_xdata(), [0.0, 0.2], atol=1e-12)
    (bars,) = ax.collections
    assert_allclose([segment[:, 0] for segment in bars.get_segments()], [[-0.095, 0.095], [-0.19, 0.19]])
    ax = plot_posterior_predictive_check(check, words_of="law", ax=plt.figure().subplots())
    assert texts_of(ax) == ["c", "a"] and ax.get_title(loc="left") == "law"
    assert ax.get_xlabel().startswith("Instantaneous")
    assert_allclose(ax.lines[-1].get_xdata(), [-0.3, -0.2])
    assert texts_of(plot_posterior_predictive_check(check, topics=[1])) == ["law: c, a"]


def test_the_plot_refuses_what_it_cannot_show(plt):
    for error, message, *given in [
        (TypeError, "check is a DataFrame; the result", made().table, {}),
        (TypeError, "ax is a str", made(), {"ax": "x"}),
        (ValueError, "topics has 'other', which is invalid", made(), {"topics": ["other"]}),
        (ValueError, "words_of=1 is invalid: must be None", made(), {"topics": [0], "words_of": 1}),
    ]:
        check, options = given
        assert_raises(error, message, plot_posterior_predictive_check, check, **options)
