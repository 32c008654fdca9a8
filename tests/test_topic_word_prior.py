"""Matrices of Dirichlet parameters as topic_word_prior, and those that seed_prior makes."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma, gammaln
from sklearn.base import clone

import sktopic
from sktopic._estimators._model_files import PARTS
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_word_prior import TopicWordPrior, WordPrior, split_topic_word_prior
from sktopic._topics._word_count_views import geometric as geometric_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts
from sktopic.datasets import make_bars
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA, OnlineVariationalLDA
from sktopic.seeding import seed_prior

from .conftest import assert_raises
from .reference import topics as reference
from .reference.variational import mean_field
from .registry import CLASSES, STEPS, allows
from .test_saving import content_of, saved_and_loaded, write

X = make_bars(60, random_state=0).data
K, V = 4, X.shape[1]
RNG = np.random.default_rng(0)
# Most entries are 0.1; others are far below and far above.
MATRIX = np.where(RNG.random((K, V)) < 0.2, RNG.choice([1e-9, 0.7, 50.0], (K, V)), 0.1)
MATRIX[[1, 3], 5] = 0.7, 50.0
MATRIX[[2, 3], 0] = 0.1, 0.7
QUICK = {"n_components": K, "random_state": 0, "max_iter": 2}
SEEDABLE = [kind for kind in CLASSES.values() if allows(kind, "topic_word_prior", MATRIX)]
for_each_class = pytest.mark.parametrize("cls", [kind for kind in map(type, STEPS) if kind in SEEDABLE])


def entries_of(model):
    """The PriorEntries of a model, or None."""
    state = model._state
    return (state.prior if isinstance(model, CollapsedGibbsLDA) else state.word_prior).entries


# Models


@for_each_class
def test_a_constant_matrix_is_the_number_bit_for_bit(cls):
    number = cls(topic_word_prior=0.3, **QUICK).fit(X).partial_fit(X[:20])
    matrix = np.full((K, V), 0.3)
    for given in (matrix.tolist(), np.asfortranarray(matrix)):
        model = cls(topic_word_prior=given, **QUICK).fit(X).partial_fit(X[:20])
        assert_array_equal(model.components_, number.components_)
        assert_array_equal(model.transform(X), number.transform(X))
        assert model.topic_word_prior_ == 0.3


@pytest.mark.parametrize(
    "model",
    [
        *(cls(**QUICK) for cls in SEEDABLE),
        OnlineEMLDA(inference="variational", boost=True, **QUICK),
        OnlineEMLDA(average=True, **QUICK),
        CollapsedGibbsLDA(n_shards=2, doc_topic_prior="auto", **QUICK),
    ],
    ids=lambda model: re.sub(r"\s+", " ", str(model)),
)
def test_topics_are_counts_and_prior(model):
    matrix = np.resize(MATRIX, (model.n_components, V))
    model = clone(model).set_params(topic_word_prior=matrix).fit(X)
    assert model.topic_word_prior_ == 0.1
    if not getattr(model, "average", False):
        posterior = model.topic_word_counts_ + matrix
        assert_allclose(model.components_, posterior / posterior.sum(axis=1, keepdims=True), rtol=1e-12)
        if hasattr(model, "topic_word_posterior_"):
            assert_allclose(model.topic_word_posterior_, posterior, rtol=1e-14)
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert_array_equal(model.transform(X[3:5]), model.transform(X)[3:5])
    # A sparse matrix that stores all of its entries is the same.
    sparse = clone(model).set_params(topic_word_prior=sp.coo_array(matrix)).fit(X)
    assert_array_equal(sparse.components_, model.components_)
    assert 4 * entries_of(sparse).values.size < matrix.size


def test_rows_of_words_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(1)
    statistics = WordCounts.of(store := rng.gamma(0.3, size=(V, K)), store.sum(axis=0))
    base, entries = split_topic_word_prior(MATRIX, K, V, None)
    prior, words = rng.gamma(1.0, size=K) + 0.1, np.array([3, 3, 0, V - 1, 7, 11], dtype=np.int32)
    posterior = 7.0 * store + MATRIX.T
    phi = posterior / posterior.sum(axis=0)
    ones, zeros, log_totals = np.ones(K), np.zeros(K), digamma(posterior.sum(axis=0))
    means, geometric = (read(statistics, 7.0, base, entries) for read in (probabilities, geometric_topics))
    assert_allclose(means.rows(words), phi[words], rtol=1e-13)
    assert_allclose(means.components(), phi.T, rtol=1e-13)
    with Workers(1) as workers:
        for topics, expected in (
            (means, reference.gather_topics(phi, words, ones, zeros, prior)),
            (geometric, reference.gather_geometric(posterior, words, ones, zeros, log_totals, prior)),
        ):
            gathered = topics.gather(words, prior, workers, np.float64)
            for array, other in zip((gathered.rows, gathered.cumulative, gathered.log_norm), expected):
                assert_allclose(array, other, rtol=1e-9, atol=1e-30)
            assert_raises(ValueError, "do not fit the prior", topics.gather, words, prior[1:], workers)


def test_documents_are_read_with_the_matrix_in_training():
    """One step of size one, from the topics of the start."""
    settings = {"learning_decay": 0.0, "max_doc_update_iter": 50, "mean_change_tol": 0.0, "total_samples": 60}
    model = OnlineEMLDA(inference="variational", doc_topic_prior=0.3, topic_word_prior=MATRIX, batch_size=60)
    topics = model.set_params(**settings, **QUICK).partial_fit(0 * X[:1]).components_
    expected = mean_field(X.toarray(), topics, 0.3, 50, 0.0)[1]
    assert_allclose(model.partial_fit(X).topic_word_counts_, expected, rtol=1e-4, atol=1e-4)


def test_bound_is_that_of_the_whole_matrix():
    model = OnlineVariationalLDA(topic_word_prior=MATRIX, **QUICK).fit(X)
    lambda_ = model.topic_word_posterior_
    log_phi = digamma(lambda_) - digamma(lambda_.sum(axis=1, keepdims=True))
    log_norms = [gammaln(x).sum(axis=1) - gammaln(x.sum(axis=1)) for x in (lambda_, MATRIX)]
    expected = ((MATRIX - lambda_) * log_phi).sum() + (log_norms[0] - log_norms[1]).sum()
    assert_allclose(sum(model._method().topic_bounds(model._state)), expected, rtol=1e-12)


@for_each_class
def test_training_goes_on_with_another_matrix_or_number(cls, tmp_path):
    sparse = sp.csc_matrix(np.where(MATRIX > 1.0, MATRIX, 0.0))
    model = cls(topic_word_prior=sparse, **QUICK).fit(X)
    assert model.topic_word_prior_ == cls(**QUICK).fit(X).topic_word_prior_
    assert_array_equal(entries_of(model).values, sparse.data)
    loaded = saved_and_loaded(model, tmp_path / "model.zip").partial_fit(X[:9])
    assert_array_equal(model.partial_fit(X[:9]).components_, loaded.components_)
    model.set_params(topic_word_prior=0.2).partial_fit(X[:9])
    assert model.topic_word_prior_ == 0.2 and entries_of(model) is None
    model.set_params(topic_word_prior=MATRIX).partial_fit(X[:9])
    assert entries_of(model) is not None
    if cls in (CollapsedGibbsLDA, OnlineVariationalLDA):  # learning goes on from the number alone
        model.set_params(topic_word_prior="auto", **{"prior_interval": 1} if cls is CollapsedGibbsLDA else {})
        assert model.partial_fit(X).topic_word_prior_ != 0.1 and entries_of(model) is None
    model.set_params(topic_word_prior=None).fit(X)
    assert_array_equal(model.components_, cls(**QUICK).fit(X).components_)


@pytest.mark.parametrize("cls", [CollapsedGibbsLDA, OnlineVariationalLDA])
def test_learning_goes_on_from_the_prior_in_use_unless_it_is_0(cls):
    model, prior = cls(**QUICK).fit(X), WordPrior("auto", default=0.1)
    words = model._state.words
    assert prior.adopted(TopicWordPrior(base=1e-8), K, words, goes_on=True).base == 1e-8
    name = "prior" if cls is CollapsedGibbsLDA else "word_prior"
    model.set_params(topic_word_prior="auto")._state = replace(
        model._state, **{name: TopicWordPrior(base=0.0)}
    )
    assert_raises(ValueError, "topic_word_prior must be positive to be learned", model.partial_fit, X)


def test_sparse_parameters_are_stored(tmp_path):
    model = OnlineEMLDA(**QUICK)
    for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        matrix = kind(np.where(MATRIX > 1.0, MATRIX, 0.0))
        model.set_params(topic_word_prior=matrix).fit(X)
        loaded = saved_and_loaded(model, tmp_path / "model.zip")
        name = kind.__name__
        assert_array_equal(loaded.topic_word_prior.toarray(), matrix.toarray(), err_msg=name)
        assert isinstance(loaded.topic_word_prior, kind if kind is not sp.coo_array else sp.csr_array), name
        assert_array_equal(loaded.components_, model.components_, err_msg=name)
    assert split_topic_word_prior(sp.csr_array([[1e12, 0.0]]), 1, 2, 0.1)[0] == 0.1


def test_forged_matrices_are_refused(tmp_path):
    """Files whose header or arrays were changed, with digests that fit."""
    original, path, parameter = (
        tmp_path / "model.zip",
        tmp_path / "forged.zip",
        "parameters/topic_word_prior/",
    )
    entries = "fitted/_state.prior.entries."
    CollapsedGibbsLDA(topic_word_prior=sp.csr_array(MATRIX), **QUICK).fit(X).save(original)
    for name, change in (
        *((parameter + part, None) for part in PARTS),
        *(("header", {"sparse": sparse}) for sparse in (["dok_array", [K, V]], ["csr_array", [K, -V]], None)),
        ("header", None),
        (parameter + "indices", (0, V)),
        (parameter + "indptr", (1, 99)),
        (parameter + "data", (0, -1.0)),
        (entries + "topics", (0, K)),
        (entries + "indptr", (0, 1)),
        (entries + "values", (0, np.nan)),
        (entries + "values", None),
    ):
        header, arrays = content_of(original)
        if name == "header":
            header["parameters"]["topic_word_prior"] = change
        elif change is None:
            del arrays[name]
        else:
            arrays[name][change[0]] = change[1]
        write(path, header, arrays)
        assert_raises(ValueError, "cannot be loaded", sktopic.load, path, case=(name, change))


# Errors


NO_NUMBERS = "topic_word_prior has entries that are no real numbers"
DAMAGED = sp.csr_array(MATRIX)
DAMAGED.indices[0] = V + 3


@pytest.mark.parametrize("cls", [CollapsedGibbsLDA, OnlineEMLDA])
def test_errors_name_the_parameter(cls):
    model = cls(topic_word_prior=MATRIX, **QUICK | {"max_iter": 1}).fit(X)
    before = model.components_
    for matrix, message in (
        (np.ones((K, V + 1)), rf"topic_word_prior has shape \({K}, {V + 1}\).*of shape \({K}, {V}\)"),
        (np.ones((K + 1, V)), r"topic_word_prior has shape \(5, 25\)"),
        (sp.csr_array(np.ones((V, K))), r"topic_word_prior has shape \(25, 4\)"),
        (np.ones(V), r"topic_word_prior has shape \(25,\)"),
        (np.array("auto"), r"topic_word_prior has shape \(\)"),
        ([[0.1] * V, [0.1]], "topic_word_prior has rows of different lengths"),
        (np.where(MATRIX > 1, 0.0, MATRIX), "topic_word_prior has the value 0: values must be positive"),
        (np.where(MATRIX > 1, np.nan, 1e-12), "topic_word_prior has the value nan"),
        (sp.csr_array(np.where(MATRIX > 1, -1.0, MATRIX)), "topic_word_prior has the value -1"),
        (np.where(MATRIX > 1, np.inf, MATRIX), "topic_word_prior has the value inf"),
        (np.full((K, V), "x"), NO_NUMBERS),
        (np.full((K, V), "1", dtype=object), NO_NUMBERS),
        (np.full((K, V), 10**400), NO_NUMBERS),
        (np.full((K, V), 1j), NO_NUMBERS),
        (sp.csr_array(np.full((K, V), 1j)), NO_NUMBERS),
        (sp.csr_array(MATRIX > 1), NO_NUMBERS),
        (MATRIX > 1, NO_NUMBERS),
        ({0: ["w1"]}, r"topic_word_prior is a dict; .*seed_prior\(groups, feature_names, n_components\)"),
        (DAMAGED, "topic_word_prior has column indices"),
    ):
        error = TypeError if isinstance(matrix, dict) else ValueError
        assert_raises(error, message, cls(topic_word_prior=matrix, **QUICK).fit, X)
        assert_raises(error, message, model.set_params(topic_word_prior=matrix).partial_fit, X)
    assert_array_equal(model.set_params(topic_word_prior=MATRIX).components_, before)


# Seeds

WORDS = [f"w{i}" for i in range(V)]


def test_names_get_the_topics_that_no_number_claims():
    groups = {"a": ["w1", "w2"], 0: ["w3"], "b": ["w2", "w2"], np.int64(2): ["w4"]}
    prior = seed_prior(groups, WORDS, 4, weight=7.0)
    assert prior.shape == (4, V)
    found = {(topic, word): value for topic, word, value in zip(*sp.find(prior))}
    assert found == {(1, 1): 7.0, (1, 2): 7.0, (0, 3): 7.0, (3, 2): 7.0, (2, 4): 7.0}
    dense = seed_prior(groups, WORDS, 4, weight=7.0, base=0.5)
    assert_array_equal(dense, prior.toarray() + 0.5)
    some = seed_prior({"a": ["x", "w1"]}, WORDS, 4, missing="ignore")
    assert_array_equal(some.nonzero(), [[0], [1]])


def test_what_is_wrong_with_seeds_is_said():
    for changes, error, message in (
        ({"groups": {"a": ["x", "w1"], "b": ["y"]}}, ValueError, "lack: 'x', 'y'"),
        ({"groups": {"a": ["x"], "b": ["w1"]}, "missing": "ignore"}, ValueError, "'a' have no words"),
        ({"groups": {"a": []}}, ValueError, "'a' have no words"),
        ({"groups": {4: ["w1"], -1: ["w1"]}}, ValueError, "topics -1, 4; with n_components=4, 0 to 3"),
        ({"groups": {name: ["w1"] for name in "abcde"}}, ValueError, "5 groups; with n_components=4"),
        ({"groups": {"a": "w1"}}, TypeError, "groups\\['a'\\] is a str"),
        ({"groups": ["w1"]}, TypeError, "groups is a list"),
        ({"groups": {"a": [["w1"]]}}, TypeError, "groups\\['a'\\] has \\['w1'\\]; words"),
        ({"groups": {"a": [("w1", [])]}}, TypeError, "groups\\['a'\\] has \\('w1', \\[\\]\\); words"),
        ({"groups": {1.5: ["w1"]}}, TypeError, "key 1.5"),
        ({"feature_names": [*WORDS, "w3"]}, ValueError, "feature_names is invalid: .* Repeated: 'w3'"),
        ({"feature_names": [["w1"]]}, TypeError, "feature_names has \\['w1'\\]; words"),
        ({"feature_names": "w1"}, TypeError, "feature_names is a str"),
        ({"feature_names": {"w1": 1, "w0": 0}}, TypeError, "feature_names is a dict"),
        ({"feature_names": {"w1", "w0"}}, TypeError, "feature_names is a set"),
        ({"weight": 0.0}, ValueError, "weight=0.0"),
        ({"base": np.nan}, ValueError, "base=nan"),
        ({"n_components": 2.0}, ValueError, "n_components=2.0"),
        ({"missing": "drop"}, ValueError, "missing='drop'"),
    ):
        given = {"groups": {"a": ["w1"]}, "feature_names": WORDS, "n_components": 4, **changes}
        assert_raises(error, message, seed_prior, **given)


def test_topics_lean_towards_their_priors_but_for_those_given():
    """A word of large prior gets a share of its topic at most, a half or a tenth, beside all words."""
    nothing, prior, start = sp.csr_matrix((1, V)), np.full((K, V), 0.1), np.ones((1, V))
    prior[[0, 3], 5] = 10.0
    for cls, share in ((OnlineEMLDA, 0.5), (OnlineVariationalLDA, 0.1)):
        seeded, expected = cls(topic_word_prior=prior, **QUICK), np.ones((V, K))
        even, leaning = (m.partial_fit(nothing)._state.words.store for m in (cls(**QUICK), clone(seeded)))
        expected[5, [0, 3]] += V * share / (1.0 - share)
        assert_allclose(leaning / even, expected, rtol=1e-12)
        given = clone(seeded).set_params(components_init=start).partial_fit(nothing)._state.words
        assert_array_equal(given.store[:, 0], np.ones(V))
        assert_array_equal(given.store[:, 1:], leaning[:, 1:])
        assert_allclose(given.totals, given.store.sum(axis=0))


@for_each_class
def test_frozen_topics_keep_their_priors(cls):
    other = np.where(MATRIX == 0.1, 0.2, 3.0 * MATRIX)[:, ::-1]
    for before, after in ((MATRIX, 0.3), (MATRIX, other), (0.3, MATRIX)):
        model = cls(topic_word_prior=before, **QUICK).fit(X)
        model.freeze_topics([1, 2])
        frozen, number = model.components_[[1, 2]], model.topic_word_counts_
        model.set_params(topic_word_prior=after).partial_fit(X[:20])
        assert_array_equal(model.components_[[1, 2]], frozen)
        free = model.topic_word_counts_[[0, 3]] + np.broadcast_to(after, (K, V))[[0, 3]]
        assert_allclose(model.components_[[0, 3]], free / free.sum(axis=1, keepdims=True), rtol=1e-12)
        assert not np.array_equal(model.topic_word_counts_, number)


# Edits


def parameters_of(model):
    """The Dirichlet parameters of all words in all topics."""
    parameters = np.full((model.n_components_, model.n_features_in_), model.topic_word_prior_)
    word, topic, values = entries_of(model).at(np.arange(model.n_features_in_))
    parameters[topic, word] = values
    return parameters


@pytest.mark.parametrize(
    ("cls", "form"),
    [(OnlineEMLDA, np.array), (OnlineVariationalLDA, sp.csr_array), (CollapsedGibbsLDA, sp.csr_array)],
)
def test_matrix_follows_edits_and_new_words(cls, form, tmp_path):
    """Merged topics have the excess over most entries of all; new words have what most entries are."""
    matrix = form(MATRIX if form is np.array else np.where(MATRIX == 0.1, 0.0, MATRIX))
    model = cls(topic_word_prior=matrix, **QUICK).fit(X)
    base, start = model.topic_word_prior_, parameters_of(model)
    wanted = np.vstack([start[2], np.clip(start[3] + start[1] - base, 1e-12, None)])
    model.merge_topics([[3, 1]]).drop_topics([0])
    assert_allclose(parameters_of(model), wanted, rtol=1e-12)
    model.add_features(2)
    wanted = np.hstack([wanted, np.full((2, 2), base)])
    assert_allclose(parameters_of(model), wanted, rtol=1e-12)
    posterior = model.topic_word_counts_ + wanted
    assert_allclose(model.components_, posterior / posterior.sum(axis=1, keepdims=True), rtol=1e-12)
    wider = sp.hstack([X, X[:, :2]]).tocsr()
    model.partial_fit(wider).freeze_topics([1])
    frozen = model.components_[1]
    model.save(tmp_path / "model.zip")
    model = sktopic.load(tmp_path / "model.zip").partial_fit(wider).partial_fit(wider[:9])
    assert_array_equal(model.components_[1], frozen)
    assert_allclose(parameters_of(model), wanted, rtol=1e-12)
    whole = np.hstack([start, np.full((K, 2), 0.3)])
    model.set_params(topic_word_prior=whole).freeze_topics([]).partial_fit(wider)
    assert_allclose(parameters_of(model)[0], whole[2], rtol=1e-12)
    with pytest.raises(ValueError, match="topic_word_prior has shape"):
        model.set_params(topic_word_prior=whole[:, :-1]).partial_fit(wider)
    assert_allclose(parameters_of(model.set_params(topic_word_prior=matrix).fit(X)), start)
