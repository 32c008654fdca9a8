"""What every estimator promises: scikit-learn's checks, and the invariances these cannot see.

scikit-learn's invariance checks run with one topic, where every document has the proportions [1.0]; here they
are repeated with four.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import sktopic
from sktopic._state._fields import DECLARED, PartField
from sktopic.datasets import make_lda_documents
from sktopic.hdp import (
    CollapsedGibbsHDP,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMHDP,
    OnlineVariationalHDP,
    TruncationFreeHDP,
)
from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
)
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA

from .conftest import all_attributes, assert_same_state, fingerprint, fitted_state, state

# Every estimator, in each of its variants: one line, the first of a class is its defaults.
ESTIMATORS = [
    OnlineEMLDA(),
    OnlineEMLDA(boost=True),
    OnlineEMLDA(inference="variational"),
    OnlineEMLDA(inference="variational", boost=True),
    OnlineVariationalLDA(),
    OnlineVariationalLDA(learning_method="batch"),
    StreamingVariationalLDA(),
    SinglePassLDA(),
    HybridLDA(),
    StreamingGibbsLDA(),
    LangevinLDA(),
    OnlineOPELDA(),
    OnlineOPELDA(bernoulli_p=0.3, doc_topic_prior=1.5),
    OnlineCVB0LDA(),
    CollapsedGibbsLDA(max_iter=20),
    CollapsedGibbsLDA(max_iter=20, n_shards=2),
    MomentMatchingLDA(),
    MomentMatchingLDA(second_moment="first", shuffle="corpus"),
    MomentMatchingLDA(shuffle=None, doc_topic_prior="auto"),
    DegenerateDirichletLDA(),
    DegenerateDirichletLDA(second_moment="first", shuffle="corpus"),
    DegenerateDirichletLDA(shuffle=None, doc_topic_prior="auto"),
    TriangularDirichletLDA(),
    TriangularDirichletLDA(second_moment="first", shuffle="document"),
    TriangularDirichletLDA(shuffle=None),
    TriangularDirichletLDA(doc_topic_prior="auto"),
    OnlineVariationalHDP(),
    DirectAssignmentHDP(),
    DirectAssignmentHDP(learning_method="batch", topic_word_prior="auto"),
    OnlineEMHDP(),
    TruncationFreeHDP(),
    HybridHDP(),
    HybridHDP(sampler="sparse_table_indicator", reuse_topics=False, topic_concentration=1.0),
    HybridHDP(sampler="table_indicator", root_weight="paper", doc_concentration=2.0),
    # On so few documents 'sparse_table_indicator' does what the default does.
    CollapsedGibbsHDP(max_iter=20),
    CollapsedGibbsHDP(max_iter=20, sampler="direct_assignment"),
]
# Each of the estimators once: what their variants share is tested on these ...
CLASSES = [
    variant
    for n, variant in enumerate(ESTIMATORS)
    if type(variant) not in [type(earlier) for earlier in ESTIMATORS[:n]]
]
# ... and what the estimators share on one of each kind of training loop.
LOOPS = [
    estimator
    for estimator in CLASSES
    if type(estimator)
    in (OnlineEMLDA, DirectAssignmentHDP, MomentMatchingLDA, CollapsedGibbsLDA, CollapsedGibbsHDP)
]
# The number of topics tells them apart, not noise: where no tokens are shuffled there is nothing to draw.
SEEDLESS = [
    estimator
    for estimator in ESTIMATORS
    if isinstance(estimator, (DegenerateDirichletLDA, TriangularDirichletLDA)) and estimator.shuffle is None
]
SEEDED = [estimator for estimator in ESTIMATORS if estimator not in SEEDLESS]
# n_components is the number of topics, or the largest number.
NUMBER_INFERRED = [
    estimator
    for estimator in ESTIMATORS
    if "n_components_prior" in estimator.get_params()
    or isinstance(estimator, (HybridHDP, OnlineVariationalHDP))
]
# It is the number of topics at the start, without a bound on what it becomes.
NUMBER_UNBOUNDED = [
    estimator
    for estimator in ESTIMATORS
    if isinstance(estimator, (CollapsedGibbsHDP, DirectAssignmentHDP, OnlineEMHDP, TruncationFreeHDP))
]
NUMBER_GIVEN = [estimator for estimator in ESTIMATORS if estimator not in NUMBER_INFERRED + NUMBER_UNBOUNDED]

# What the tests below set where an estimator has it: they do not depend on defaults.
SETTINGS = {"n_components": 4, "max_iter": 2, "batch_size": 16, "random_state": 0, "max_doc_update_iter": 20}
# With these, fit makes the same updates as partial_fit.
AS_STREAM = {"max_iter": 1, "shuffle": False, "early_stopping": False}

CORPUS = make_lda_documents(40, n_features=30, n_components=4, mean_length=20, random_state=0)
# Float counts, with a document that has no words.
X = sp.csr_array(sp.vstack([CORPUS.data, sp.csr_matrix((1, 30))]), dtype=np.float64)
EMPTY = X.shape[0] - 1
HELD_OUT = sp.csr_array(
    make_lda_documents(25, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)

STREAMS = [estimator for estimator in ESTIMATORS if hasattr(estimator, "partial_fit")]
# Trained on mini-batches by fit as by partial_fit, which then make the same updates
MINIBATCH = [
    estimator
    for estimator in STREAMS
    if "batch_size" in estimator.get_params() and estimator.get_params().get("learning_method") != "batch"
]
# (of these, the ones that can learn the prior of topic proportions) ...
LEARNERS = [
    estimator
    for estimator in MINIBATCH
    if "doc_topic_prior" in estimator.get_params()
    and not isinstance(estimator, (OnlineOPELDA, OnlineCVB0LDA))
]
# ... or by fit on the whole corpus at once, and by partial_fit on mini-batches ...
WHOLE_THEN_MINIBATCH = [
    estimator for estimator in STREAMS if estimator.get_params().get("learning_method") == "batch"
]
# ... or filters that take in one token after the other, once ...
FILTERS = [estimator for estimator in STREAMS if "second_moment" in estimator.get_params()]
FILTER_CLASSES = [estimator for estimator in FILTERS if estimator in CLASSES]
# ... or samplers that sweep over all documents of a call, and never again over those of earlier calls.
SAMPLERS = [
    estimator
    for estimator in STREAMS
    if "batch_size" not in estimator.get_params() and estimator not in FILTERS
]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
every_class = pytest.mark.parametrize("estimator", CLASSES, ids=repr)
every_loop = pytest.mark.parametrize("estimator", LOOPS, ids=repr)
every_seeded = pytest.mark.parametrize("estimator", SEEDED, ids=repr)
every_seedless = pytest.mark.parametrize("estimator", SEEDLESS, ids=repr)
every_number_given = pytest.mark.parametrize("estimator", NUMBER_GIVEN, ids=repr)
every_number_inferred = pytest.mark.parametrize("estimator", NUMBER_INFERRED, ids=repr)
every_number_unbounded = pytest.mark.parametrize("estimator", NUMBER_UNBOUNDED, ids=repr)
every_stream = pytest.mark.parametrize("estimator", STREAMS, ids=repr)
every_minibatch_method = pytest.mark.parametrize("estimator", MINIBATCH, ids=repr)
every_learner = pytest.mark.parametrize("estimator", LEARNERS, ids=repr)
every_whole_corpus_method = pytest.mark.parametrize("estimator", WHOLE_THEN_MINIBATCH, ids=repr)
every_filter = pytest.mark.parametrize("estimator", FILTER_CLASSES, ids=repr)
every_sampler = pytest.mark.parametrize("estimator", SAMPLERS, ids=repr)
every_learned_prior = pytest.mark.parametrize("prior", ["auto", "auto-symmetric"])


def new(estimator, **params):
    """A clone with the settings above and the given ones, as far as it has them."""
    known = estimator.get_params()
    wanted = {**SETTINGS, **params}
    return clone(estimator).set_params(**{name: wanted[name] for name in wanted if name in known})


_FITTED = {}


def fitted(estimator):
    """The estimator fitted to X, shared between tests that do not change it."""
    if id(estimator) not in _FITTED:
        _FITTED[id(estimator)] = new(estimator).fit(X)
    return _FITTED[id(estimator)]


def assert_same_model(one, other):
    """The same topics, prior and answers, bit for bit."""
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.doc_topic_prior_, other.doc_topic_prior_)
    assert_array_equal(one.transform(HELD_OUT), other.transform(HELD_OUT))
    assert one.score(HELD_OUT) == other.score(HELD_OUT)


def largest_difference(components, others):
    """Between topics of two models; infinite where one has more, which only models that infer the
    number may."""
    return np.abs(components - others).max() if components.shape == others.shape else np.inf


# scikit-learn's own checks


# Three settings of each estimator beside its defaults, in which it computes something else.
CHECKED = {
    OnlineEMLDA: [
        {"boost": True},
        {"inference": "variational", "average": True, "doc_topic_prior": 0.5},
        {"n_components": 300, "prior_update": "gamma", "learning_decay": 0.5},
    ],
    OnlineVariationalLDA: [
        {"learning_method": "batch", "doc_topic_prior": "auto", "topic_word_prior": "auto"},
        {"prior_update": "gradient", "doc_topic_prior": "auto-symmetric"},
        {"n_components": 3, "n_jobs": 2},
    ],
    StreamingVariationalLDA: [
        {"doc_topic_prior": "auto"},
        {"n_components": 50, "topic_word_prior": 1.0},
        {"max_iter": 1},
    ],
    SinglePassLDA: [{"doc_topic_prior": 1.0}, {"n_components": 50}, {"topic_word_prior": 1.0, "n_jobs": 2}],
    HybridLDA: [
        {"doc_topic_prior": "auto"},
        {"n_components": 300},
        {"doc_burn_in": 0, "doc_sweeps": 1, "n_jobs": 2},
    ],
    StreamingGibbsLDA: [{"doc_topic_prior": "auto"}, {"n_components": 300}, {"max_iter": 1, "n_jobs": 2}],
    LangevinLDA: [{"doc_topic_prior": "auto"}, {"n_components": 300}, {"learning_rate": 0.01, "n_jobs": 2}],
    OnlineOPELDA: [
        {"bernoulli_p": 0.3, "doc_topic_prior": 1.5},
        {"n_components": 50},
        {"bernoulli_p": 0.9, "n_jobs": 2},
    ],
    OnlineCVB0LDA: [{"doc_topic_prior": 1.0}, {"n_components": 50}, {"max_iter": 1, "n_jobs": 2}],
    CollapsedGibbsLDA: [{"n_shards": 2}, {"doc_topic_prior": "auto"}, {"n_components": 300, "max_iter": 5}],
    MomentMatchingLDA: [
        {"second_moment": "first", "shuffle": "corpus"},
        {"shuffle": None, "doc_topic_prior": "auto"},
        {"n_components": 3},
    ],
    DegenerateDirichletLDA: [
        {"second_moment": "first", "shuffle": "corpus"},
        {"shuffle": None, "doc_topic_prior": "auto"},
        {"n_components": 3},
    ],
    TriangularDirichletLDA: [
        {"second_moment": "first", "shuffle": "document"},
        {"shuffle": None, "doc_topic_prior": "auto"},
        {"n_components": 3},
    ],
    OnlineVariationalHDP: [{"n_components": 5}, {"topic_word_prior": 1.0}, {"n_jobs": 2}],
    DirectAssignmentHDP: [
        {"learning_method": "batch", "topic_word_prior": "auto"},
        {"learning_method": "memoized"},
        {"n_components": 5, "doc_concentration": 1.0},
    ],
    OnlineEMHDP: [{"max_births": 3}, {"min_birth_tokens": 0.0}, {"n_components": 20, "n_jobs": 2}],
    TruncationFreeHDP: [{"n_components": 10}, {"topic_word_prior": 1.0}, {"doc_concentration": 0.1}],
    HybridHDP: [
        {"sampler": "sparse_table_indicator", "reuse_topics": False},
        {"sampler": "table_indicator", "root_weight": "paper", "doc_concentration": 2.0},
        {"n_components": 300, "n_jobs": 2},
    ],
    CollapsedGibbsHDP: [
        {"sampler": "direct_assignment", "max_iter": 20},
        {"sampler": "sparse_table_indicator", "max_iter": 20},
        {"split_merge": True, "max_iter": 20},
    ],
}


@pytest.mark.parametrize(
    "estimator",
    [kind(**params) for kind, settings in CHECKED.items() for params in [{}, *settings]],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator):
    """By the plain call, as users and other projects make it: no check is expected to fail."""
    check_estimator(estimator)


def test_scikit_learn_checks_are_made_of_every_estimator_in_four_settings():
    assert list(CHECKED) == list(map(type, CLASSES))
    assert {len(settings) for settings in CHECKED.values()} == {3}


@pytest.mark.parametrize("sparse_interface", ["sparray"], indirect=True)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_class
def test_scikit_learn_checks_with_sparse_arrays(estimator, sparse_interface):
    check_estimator(estimator)


# Users' settings of NumPy and scikit-learn


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 2},
        {"n_components": 400},
        {"topic_word_prior": 1e-9, "topic_concentration": 1e-6, "doc_concentration": 1e-6},
    ],
    ids=str,
)
@every_estimator
def test_numpy_may_raise_for_any_floating_point_error(estimator, settings):
    """Underflow that is harmless is none to users, whatever they let NumPy do about it."""
    counts = make_lda_documents(
        30, n_features=200, n_components=4, topic_word_prior=0.01, random_state=0
    ).data
    with np.errstate(all="raise"):
        model = new(estimator, **settings).fit(counts).partial_fit(counts)
        _, probabilities = model.word_topics(counts)
        for answer in (model.transform(counts), model.score(counts), model.components_, probabilities):
            assert np.isfinite(answer).all()


# Repetition


@every_estimator
def test_clone_is_unfitted_and_fits_the_same_from_the_same_seed(estimator):
    """Whatever NumPy's global generator does, which is not touched."""
    before = np.random.get_state()[1].copy()
    copied = clone(fitted(estimator))
    assert not hasattr(copied, "components_")
    assert_same_model(copied.fit(X), fitted(estimator))
    assert_array_equal(np.random.get_state()[1], before)


@every_estimator
def test_transform_and_score_change_nothing(estimator):
    """The model is as it was, and gives the same answer again."""
    model = new(estimator).fit(X)
    before = state(model)
    theta, score = model.transform(HELD_OUT), model.score(HELD_OUT)
    model.perplexity(HELD_OUT)
    _ = model.components_
    assert_same_state(state(model), before)
    assert_array_equal(model.transform(HELD_OUT), theta)
    assert model.score(HELD_OUT) == score


@every_seeded
def test_another_seed_gives_another_model(estimator):
    other = new(estimator, random_state=1).fit(X)
    assert largest_difference(other.components_, fitted(estimator).components_) > 1e-6


@every_seedless
def test_without_anything_to_draw_the_seed_does_not_matter(estimator):
    for seed in (1, None):
        assert_same_model(new(estimator, random_state=seed).fit(X), fitted(estimator))


@every_loop
def test_random_state_instance_is_read_once_a_fit(estimator):
    """Equal generators give equal models; transform draws nothing from them."""
    generator = np.random.RandomState(5)
    model = new(estimator, random_state=generator).fit(X)
    state = generator.get_state()[1].copy()
    theta = model.transform(HELD_OUT)
    assert_array_equal(model.transform(HELD_OUT), theta)
    assert_array_equal(generator.get_state()[1], state)
    assert_same_model(new(estimator, random_state=np.random.RandomState(5)).fit(X), model)


@every_estimator
def test_refit_forgets_the_earlier_fit(estimator):
    """And fit_transform is fit, then transform."""
    model = new(estimator).fit(HELD_OUT[:, :20])
    theta = model.fit_transform(X)
    assert_same_model(model, fitted(estimator))
    assert_array_equal(theta, fitted(estimator).transform(X))


# What is learned and returned


@every_estimator
def test_proportions_are_distributions_of_their_own(estimator):
    """They differ, which guards the invariances below against a transform that is constant."""
    theta = fitted(estimator).transform(HELD_OUT)
    assert theta.shape == (25, fitted(estimator).n_components_)
    assert np.all(theta >= 0)
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    assert len(np.unique(theta.round(6), axis=0)) > 15


@every_estimator
def test_rows_of_components_are_distributions(estimator):
    components = fitted(estimator).components_
    assert components.shape == (fitted(estimator).n_components_, 30)
    assert components.dtype == np.float64
    assert np.all(components >= 0)
    assert_allclose(components.sum(axis=1), 1.0, rtol=1e-12)


@every_number_given
def test_number_of_topics_is_the_one_given(estimator):
    assert fitted(estimator).n_components_ == 4


@every_number_inferred
def test_number_of_topics_is_inferred_up_to_the_one_given(estimator):
    assert 1 < fitted(estimator).n_components_ <= 4
    # Averages forget topics by and by.
    averaged = isinstance(estimator, (HybridHDP, OnlineVariationalHDP))
    settings = {"n_components": 20, "max_iter": 40 if averaged else 2}
    assert new(estimator, **settings).fit(X).n_components_ < 20


@every_number_unbounded
def test_number_of_topics_is_inferred_from_a_start_at_either_side(estimator):
    """One topic becomes several, and of forty most vanish where topics can."""
    found = [new(estimator, n_components=n, max_iter=40).fit(X).n_components_ for n in (1, 40)]
    assert min(found) > 1
    if not isinstance(estimator, OnlineEMHDP):
        assert max(found) < 20


@every_estimator
def test_empty_document_gets_the_mean_of_a_positive_prior(estimator):
    model = fitted(estimator)
    prior = model.doc_topic_prior_
    assert prior.shape == (model.n_components_,)
    assert np.all(prior > 0)
    assert_allclose(model.transform(X)[EMPTY], prior / prior.sum(), rtol=1e-12)


@every_estimator
def test_score_is_a_mean_per_word_and_perplexity_its_exponential(estimator):
    model = fitted(estimator)
    assert np.log(1 / 30) - 2 < model.score(HELD_OUT) < 0
    assert model.perplexity(HELD_OUT) == pytest.approx(np.exp(-model.score(HELD_OUT)), rel=1e-12)


@every_class
def test_pandas_in_and_out(estimator):
    """Topics are named by the class and their number."""
    pd = pytest.importorskip("pandas")
    words = [f"word{i}" for i in range(30)]
    documents = [f"document {i}" for i in range(25)]
    model = new(estimator).set_output(transform="pandas")
    model.fit(pd.DataFrame(X.toarray(), columns=words))
    assert model.feature_names_in_.tolist() == words
    theta = model.transform(pd.DataFrame(HELD_OUT.toarray(), columns=words, index=documents))
    assert theta.index.tolist() == documents
    name = type(estimator).__name__.lower()
    assert theta.columns.tolist() == [f"{name}{i}" for i in range(model.n_components_)]
    assert theta.columns.tolist() == model.get_feature_names_out().tolist()
    assert_array_equal(theta.to_numpy(), fitted(estimator).transform(HELD_OUT))


# Documents are treated one by one


@every_estimator
def test_transform_is_invariant_to_row_order_and_to_batch_mates(estimator):
    """Alone, in any order, and among more documents than are treated together."""
    model = fitted(estimator)
    theta = model.transform(HELD_OUT)
    order = np.random.RandomState(0).permutation(25)
    assert_array_equal(model.transform(HELD_OUT[order]), theta[order])
    alone = [model.transform(HELD_OUT[[row]]) for row in range(25)]
    assert_array_equal(np.concatenate(alone), theta)
    many = np.arange(1100) % 25
    assert_array_equal(model.transform(HELD_OUT[many]), theta[many])


@every_class
def test_score_is_the_mean_of_its_parts(estimator):
    """A document's share does not depend on the others; each weighs its number of hidden words."""

    def n_hidden(documents):
        return sum(n if n < 2 else max(1, round(0.2 * n)) for n in documents.sum(axis=1))

    model = fitted(estimator)
    score = model.score(HELD_OUT)
    parts = [HELD_OUT[:10], HELD_OUT[10:11], HELD_OUT[11:]]
    total = sum(model.score(part) * n_hidden(part) for part in parts)
    assert score == pytest.approx(total / n_hidden(HELD_OUT), rel=1e-12)
    order = np.random.RandomState(0).permutation(25)
    assert model.score(HELD_OUT[order]) == score
    # Beyond one group of documents
    assert model.score(HELD_OUT[np.arange(1100) % 25]) == pytest.approx(score, rel=1e-12)


# Containers and dtypes


def rebuilt(counts, data, indices, indptr):
    """A CSR array of exactly these parts."""
    result = sp.csr_array(counts.shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, indices, indptr
    return result


def with_index_dtype(counts, dtype):
    return rebuilt(counts, counts.data, counts.indices.astype(dtype), counts.indptr.astype(dtype))


def unsorted(counts):
    """Entries of each row in descending order."""
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(counts.indptr[:-1], counts.indptr[1:])] + [[]]
    ).astype(int)
    return rebuilt(counts, counts.data[order], counts.indices[order], counts.indptr.copy())


def duplicated(counts):
    """Every entry twice: all but a quarter of it, and the quarter."""
    data = np.column_stack([counts.data * 0.75, counts.data * 0.25]).ravel()
    return rebuilt(counts, data.astype(counts.dtype), counts.indices.repeat(2), counts.indptr * 2)


def with_explicit_zeros(counts):
    """A zero is stored wherever nothing was in the first columns."""
    dense = counts.toarray()
    rows, columns = np.nonzero((dense != 0) | (np.arange(counts.shape[1]) < 10))
    indptr = np.searchsorted(rows, np.arange(counts.shape[0] + 1)).astype(np.int32)
    return rebuilt(counts, dense[rows, columns], columns.astype(np.int32), indptr)


def with_tail(counts):
    """Behind the last row, what an array that was made too long may have: neither counts nor columns."""
    tail = np.full((1, *counts.data.shape[1:]), np.nan), np.array([-7], dtype=counts.indices.dtype)
    result = counts.copy()
    result.data, result.indices = np.append(counts.data, tail[0], 0), np.append(counts.indices, tail[1])
    return result


def read_only(counts):
    result = counts.copy()
    parts = (result,) if isinstance(result, np.ndarray) else (result.data, result.indices, result.indptr)
    for part in parts:
        part.flags.writeable = False
    return result


def memory_mapped(counts, folder):
    """The same on disk, opened for reading."""
    path = folder / "counts.joblib"
    joblib.dump(counts, path)
    return joblib.load(path, mmap_mode="r")


SPARSE = {
    "unsorted": unsorted,
    "duplicated": duplicated,
    "explicit zeros": with_explicit_zeros,
    "unsorted duplicates": lambda counts: unsorted(duplicated(counts)),
    "int64 indices": lambda counts: with_index_dtype(counts, np.int64),
    "unsorted int64 indices": lambda counts: with_index_dtype(unsorted(counts), np.int64),
    "longer arrays": with_tail,
    "unsorted longer arrays": lambda counts: with_tail(unsorted(counts)),
    "longer arrays of csc": lambda counts: with_tail(counts.tocsc()),
    "longer arrays of bsr": lambda counts: with_tail(counts.tobsr((1, 2))),
    "read-only": read_only,
    "read-only unsorted": lambda counts: read_only(unsorted(counts)),
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_array": sp.lil_array,
}
CONTAINERS = {
    **SPARSE,
    "ndarray": lambda counts: counts.toarray(),
    "Fortran order": lambda counts: np.asfortranarray(counts.toarray()),
    "strided": lambda counts: np.repeat(np.repeat(counts.toarray(), 2, axis=0), 3, axis=1)[::2, ::3],
    "read-only ndarray": lambda counts: read_only(counts.toarray()),
    "lists": lambda counts: counts.toarray().tolist(),
}


@pytest.mark.parametrize(
    ("estimator", "containers"),
    [
        *((ESTIMATORS[0], [container]) for container in CONTAINERS),
        # They share what makes counts of a container.
        *(
            (estimator, ["unsorted int64 indices", "read-only", "longer arrays", "ndarray"])
            for estimator in CLASSES[1:]
        ),
    ],
    ids=repr,
)
def test_fit_transform_and_score_are_invariant_to_the_container(estimator, containers):
    for container in containers:
        make = CONTAINERS[container]
        model = fitted(estimator)
        assert_array_equal(model.transform(make(HELD_OUT)), model.transform(HELD_OUT), err_msg=container)
        assert model.score(make(HELD_OUT)) == model.score(HELD_OUT), container
        assert_same_model(new(estimator).fit(make(X)), model)


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
@every_loop
def test_memory_mapped_counts_are_accepted(estimator, dense, tmp_path):
    counts = X.toarray() if dense else X
    held_out = HELD_OUT.toarray() if dense else HELD_OUT
    model = new(estimator).fit(memory_mapped(counts, tmp_path))
    assert_same_model(model, fitted(estimator))
    assert_array_equal(model.transform(memory_mapped(held_out, tmp_path)), model.transform(HELD_OUT))


@pytest.mark.parametrize(
    ("estimator", "dtype"),
    [
        *((ESTIMATORS[0], dtype) for dtype in (np.float32, np.int64, np.int32, np.int16, np.uint8)),
        *((estimator, np.float32) for estimator in CLASSES[1:]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else repr(value),
)
def test_dtype_of_counts(estimator, dtype):
    """theta is float32 where the counts are, else float64, and the same to that precision."""
    model = fitted(estimator)
    held_out = HELD_OUT.astype(dtype)
    for counts in (held_out, held_out.toarray()):
        theta = model.transform(counts)
        assert theta.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert_allclose(theta, model.transform(HELD_OUT), rtol=1e-6)
    assert model.score(held_out) == pytest.approx(model.score(HELD_OUT), rel=1e-6)
    refitted = new(estimator).fit(X.astype(dtype))
    assert refitted.components_.dtype == np.float64
    assert_allclose(refitted.components_, model.components_, rtol=1e-6)


@every_class
def test_fractional_counts_agree_between_float32_and_float64(estimator):
    model = new(estimator).fit(X * 0.375)
    theta = model.transform(HELD_OUT * 0.375)
    assert_allclose(model.transform((HELD_OUT * 0.375).astype(np.float32)), theta, rtol=1e-6)
    other = new(estimator).fit((X * 0.375).astype(np.float32))
    assert_allclose(other.components_, model.components_, rtol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "container"),
    [
        *((ESTIMATORS[0], container) for container in [*SPARSE, "ndarray"]),
        *((estimator, "unsorted duplicates") for estimator in CLASSES[1:]),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_counts_of_the_caller_are_not_changed(estimator, container, dtype):
    # Quarters of entries are whole numbers.
    counts = CONTAINERS[container]((X[:20] * 4).astype(dtype))

    def parts(counts):
        if isinstance(counts, np.ndarray):
            return {"array": counts}
        return {
            name: np.array(value) for name, value in vars(counts).items() if isinstance(value, np.ndarray)
        }

    before = pickle.loads(pickle.dumps(parts(counts)))
    model = new(estimator).fit(counts)
    model.transform(counts)
    model.score(counts)
    if hasattr(model, "partial_fit"):
        model.partial_fit(counts)
    after = parts(counts)
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert after[name].dtype == value.dtype
        assert_array_equal(after[name], value)
    if hasattr(counts, "has_sorted_indices"):
        fresh = type(counts)((counts.data, counts.indices, counts.indptr), shape=counts.shape)
        assert counts.has_sorted_indices == fresh.has_sorted_indices
        assert counts.has_canonical_format == fresh.has_canonical_format


# Workers


def assert_same_model_with(estimator, backend, **settings):
    """That of two workers of joblib."""
    with joblib.parallel_config(backend, n_jobs=2, **settings):
        model = new(estimator).fit(X)
        theta = model.transform(HELD_OUT)
        score = model.score(HELD_OUT)
    assert_same_model(model, fitted(estimator))
    assert_array_equal(theta, fitted(estimator).transform(HELD_OUT))
    assert score == fitted(estimator).score(HELD_OUT)


@every_estimator
def test_fit_transform_and_score_do_not_depend_on_n_jobs(estimator):
    for n_jobs in (3, -1) if estimator in LOOPS else (3,):
        assert_same_model(new(estimator, n_jobs=n_jobs).fit(X), fitted(estimator))


@every_class
def test_fit_transform_and_score_do_not_depend_on_the_backend(estimator):
    """Processes get what is large memory-mapped, and therefore read-only."""
    assert_same_model_with(estimator, "loky", max_nbytes=100)


@every_loop
def test_fit_transform_and_score_do_not_depend_on_the_kind_of_workers(estimator):
    assert_same_model_with(estimator, "threading")


@every_estimator
def test_long_documents_do_not_depend_on_n_jobs(estimator):
    """Batches of so many words that they are cut finer than into one piece a worker."""
    long = make_lda_documents(48, n_features=200, n_components=4, mean_length=1200, random_state=2).data
    settings = {"batch_size": 48, "max_iter": 1, "max_doc_update_iter": 5}
    one, other = (new(estimator, n_jobs=n_jobs, **settings).fit(long) for n_jobs in (1, 3))
    assert_array_equal(other.components_, one.components_)
    assert_array_equal(other.transform(long), one.transform(long))
    assert other.score(long) == one.score(long)


@every_loop
def test_verbosity_does_not_change_the_result(estimator, capsys):
    for n_jobs in (1, 2):
        assert_same_model(new(estimator, verbose=1, n_jobs=n_jobs).fit(X), fitted(estimator))
    assert capsys.readouterr().err


@every_class
def test_one_model_can_transform_in_several_threads_at_once(estimator):
    model = fitted(estimator)
    expected = model.transform(HELD_OUT)
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(model.transform, [HELD_OUT] * 12))
    for answer in answers:
        assert_array_equal(answer, expected)


# Keeping models


@every_class
def test_pickling_round_trip(estimator):
    model = fitted(estimator)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert_same_model(pickle.loads(pickle.dumps(model, protocol)), model)


@every_class
def test_model_loaded_as_memory_map_transforms(estimator, tmp_path):
    """As happens when joblib hands a large fitted model to other processes."""
    joblib.dump(fitted(estimator), tmp_path / "model.joblib")
    assert_same_model(joblib.load(tmp_path / "model.joblib", mmap_mode="r"), fitted(estimator))


@every_estimator
@pytest.mark.parametrize("how", [{}, {"mmap_mode": "r"}, {"mmap_mode": "r", "verify": False}], ids=str)
def test_saved_model_is_loaded_to_the_last_bit(estimator, how, tmp_path):
    model = fitted(estimator)
    model.save(tmp_path / "model.zip")
    loaded = sktopic.load(tmp_path / "model.zip", **how)
    assert type(loaded) is type(model)
    assert fingerprint(vars(loaded)) == fingerprint(vars(model))
    assert_same_model(loaded, model)
    assert_array_equal(loaded.transform(HELD_OUT[:1]), model.transform(HELD_OUT[:1]))


@every_stream
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_training_of_a_saved_model_goes_on_to_the_last_bit(estimator, mmap_mode, tmp_path):
    model = new(estimator, random_state=np.random.RandomState(5)).partial_fit(X)
    model.save(tmp_path / "model.zip")
    content = (tmp_path / "model.zip").read_bytes()
    loaded = sktopic.load(tmp_path / "model.zip", mmap_mode=mmap_mode)
    for counts in (HELD_OUT, X):
        model.partial_fit(counts)
        loaded.partial_fit(counts)
        assert fingerprint(fitted_state(loaded)) == fingerprint(fitted_state(model))
        assert_same_model(loaded, model)
    assert_same_model(loaded.fit(HELD_OUT), model.fit(HELD_OUT))  # which goes on drawing from random_state
    assert (tmp_path / "model.zip").read_bytes() == content


@every_class
def test_skops_round_trip_needs_no_trust_but_in_the_class_and_its_states(estimator):
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(fitted(estimator))
    kinds, states = {type(estimator)}, [estimator._state_class]
    while states:
        kinds.add(kind := states.pop())
        declared = [each.metadata.get(DECLARED) for each in fields(kind)]
        states += [part.kind for part in declared if isinstance(part, PartField)]
    own = {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds}
    assert set(skops.get_untrusted_types(data=stored)) <= own
    assert_same_model(skops.loads(stored, trusted=sorted(own)), fitted(estimator))


@every_estimator
def test_fitted_state_is_plain(estimator):
    """Arrays, numbers and strings only: nothing that another version could not read."""
    parameters = estimator.get_params()
    for name, value in all_attributes(fitted(estimator)).items():
        # Parameters may be tuples of numbers.
        for part in value if name in parameters and isinstance(value, tuple) else [value]:
            plain = isinstance(part, (np.ndarray, np.number, int, float, str, bool, type(None)))
            assert plain, f"{name} is a {type(part).__name__}"
        assert not (isinstance(value, np.ndarray) and value.dtype == object), name


# Continuation


def documents(n_documents):
    """Short documents on the topics of CORPUS."""
    return make_lda_documents(n_documents, components=CORPUS.components, mean_length=6, random_state=3).data


def check_stream_of_batches(estimator, n_documents, batch_size):
    """fit makes the updates of partial_fit with the same batches, whether in one call or in many."""
    counts = documents(n_documents)
    settings = {**AS_STREAM, "batch_size": batch_size, "total_samples": n_documents, "max_doc_update_iter": 5}
    whole = new(estimator, **settings).fit(counts)
    stream = new(estimator, **settings)
    for first in range(0, n_documents, batch_size):
        stream.partial_fit(counts[first : first + batch_size])
    assert_same_model(stream, whole)
    assert stream.n_batch_iter_ == whole.n_batch_iter_ == -(-n_documents // batch_size)
    assert stream.n_samples_seen_ == whole.n_samples_seen_ == n_documents
    # One call cuts its documents into the same batches.
    assert_same_model(new(estimator, **settings).partial_fit(counts), whole)


@every_minibatch_method
def test_fit_equals_partial_fit_of_equal_batches(estimator):
    """Also where a batch is more than one group of documents."""
    check_stream_of_batches(estimator, 30, 7)
    check_stream_of_batches(estimator, 1500, 1100)


@pytest.mark.parametrize(("n_documents", "batch_size"), [(30, 5), (30, 30), (30, 100), (1500, 1500)])
def test_fit_equals_partial_fit_for_any_size_of_batches(n_documents, batch_size):
    check_stream_of_batches(OnlineEMLDA(), n_documents, batch_size)


@pytest.mark.parametrize(
    ("estimator", "prior"),
    [
        *((estimator, "auto") for estimator in LEARNERS),
        (OnlineEMLDA(prior_update="fixed-point"), "auto"),
        (OnlineEMLDA(prior_update="fixed-point"), "auto-symmetric"),
    ],
    ids=repr,
)
def test_fit_equals_partial_fit_with_a_learned_prior(estimator, prior):
    counts = documents(30)
    settings = {**AS_STREAM, "batch_size": 7, "total_samples": 30, "doc_topic_prior": prior}
    whole = new(estimator, **settings).fit(counts)
    stream = new(estimator, **settings)
    for first in range(0, 30, 7):
        stream.partial_fit(counts[first : first + 7])
    assert_same_model(stream, whole)
    assert np.all(whole.doc_topic_prior_ != 4**-0.55)
    assert_same_model(new(estimator, **settings, n_jobs=3).fit(counts), whole)


@every_learned_prior
@every_whole_corpus_method
def test_fit_of_the_whole_corpus_makes_one_update_a_pass(estimator, prior):
    """Beyond one group of documents; partial_fit makes one for every batch_size documents instead."""
    model = new(estimator, max_iter=3, batch_size=16, max_doc_update_iter=5, doc_topic_prior=prior)
    counts = documents(1100)
    assert model.fit(counts).n_batch_iter_ == 3
    assert model.n_samples_seen_ == 3300
    assert model.partial_fit(counts[:40]).n_batch_iter_ == 6
    # It is the stream of the same settings without the choice.
    online = clone(model).set_params(learning_method="online")
    assert_same_model(clone(model).partial_fit(X), online.partial_fit(X))


def priors_of(estimator):
    """None, and what else its doc_topic_prior may be."""
    return [None, "auto", "auto-symmetric"] if "doc_topic_prior" in estimator.get_params() else [None]


@pytest.mark.parametrize(
    ("estimator", "prior"),
    [
        pytest.param(estimator, prior, id=f"{estimator!r}-{prior}")
        for estimator in SAMPLERS
        for prior in priors_of(estimator)
    ],
)
def test_first_partial_fit_of_a_sampler_equals_fit(estimator, prior):
    """Also where the priors are learned and where samples are averaged."""
    for counts in (X, documents(1500)):
        settings = {"max_iter": 12, "prior_interval": 5, "n_draws": 2, "doc_topic_prior": prior}
        whole, stream = new(estimator, **settings).fit(counts), new(estimator, **settings).partial_fit(counts)
        assert_same_model(stream, whole)
        assert_array_equal(stream.log_likelihood_, whole.log_likelihood_)
        assert stream.n_samples_seen_ == whole.n_samples_seen_ == counts.shape[0]


def topic_ids(model):
    """Identities of topics, ascending: their numbers where all stay in use."""
    return getattr(model, "topic_ids_", np.arange(model.n_components_))


@pytest.mark.parametrize("n_draws", [1, 3])
@every_sampler
def test_partial_fit_of_a_sampler_never_moves_earlier_documents(estimator, n_draws):
    """No count falls, and each word's counts grow by its tokens in the new documents."""
    model = new(estimator, n_draws=n_draws, max_iter=12).fit(X)
    for counts in (HELD_OUT, X, HELD_OUT[:1]):
        before, known = model.topic_word_counts_, topic_ids(model)
        added = model.partial_fit(counts).topic_word_counts_
        # Where the number is inferred, topics may be born; none that earlier documents have goes.
        assert np.isin(known, topic_ids(model)).all()
        added[np.searchsorted(topic_ids(model), known)] -= before
        assert added.min() >= (0.0 if n_draws == 1 else -1e-9)
        assert_allclose(added.sum(axis=0), counts.sum(axis=0), rtol=1e-9, atol=1e-9)
    assert model.n_samples_seen_ == 2 * X.shape[0] + HELD_OUT.shape[0] + 1


# Four groups of documents after which a prior is learned, the last one cut off; some have no words.
FILTERED = make_lda_documents(200, components=CORPUS.components, mean_length=20, random_state=3).data
FILTERED = sp.csr_array(FILTERED.multiply(np.arange(200)[:, None] % 9 != 4))
CUTS = {
    "every document": range(1, 130),  # of two groups; then the rest
    "in the middle of groups": [1, 63, 65, 100, 101, 190],
    "between groups": [64, 128, 192],
    "before and after a document without words": [4, 5],
}


@pytest.mark.parametrize(
    ("shuffle", "prior"), [("document", None), ("document", "auto"), (None, "auto-symmetric")]
)
@pytest.mark.parametrize("second_moment", ["first", "sum"])
@every_filter
def test_fit_of_a_filter_equals_partial_fit_over_any_cuts(estimator, second_moment, shuffle, prior):
    """All of the state, bit for bit: topics, prior, evidence, trace and what a group has told so far."""
    settings = {"second_moment": second_moment, "shuffle": shuffle, "doc_topic_prior": prior}
    whole = new(estimator, **settings).fit(FILTERED)
    assert np.any(whole.doc_topic_prior_ != 4**-0.55) == (prior is not None)
    for cuts in CUTS.values():
        stream = new(estimator, **settings)
        for first, last in zip([0, *cuts], [*cuts, 200]):
            stream.partial_fit(FILTERED[first:last])
        assert_same_state(state(stream), state(whole))
        assert_same_model(stream, whole)
    assert whole.n_samples_seen_ == 200
    assert whole.n_tokens_seen_ == FILTERED.sum()


@pytest.mark.parametrize("prior", [None, "auto", "auto-symmetric"])
@pytest.mark.parametrize("shuffle", ["corpus", "document"])
@every_filter
def test_first_partial_fit_of_a_filter_equals_fit(estimator, shuffle, prior):
    settings = {"shuffle": shuffle, "doc_topic_prior": prior}
    whole, stream = (getattr(new(estimator, **settings), name)(FILTERED) for name in ("fit", "partial_fit"))
    assert_same_state(state(stream), state(whole))
    assert_same_model(stream, whole)


@every_filter
def test_a_filter_that_mixes_the_documents_of_a_call_depends_on_the_cuts(estimator):
    whole, stream = (new(estimator, shuffle="corpus").partial_fit(FILTERED[:n]) for n in (200, 100))
    assert largest_difference(stream.partial_fit(FILTERED[100:]).components_, whole.components_) > 1e-6
    assert stream.n_tokens_seen_ == whole.n_tokens_seen_ == FILTERED.sum()


@pytest.mark.parametrize("shuffle", ["corpus", "document"])
@every_filter
def test_learned_prior_of_a_filter_does_not_depend_on_n_jobs(estimator, shuffle):
    """That of 'corpus' is learned by inferring all documents of a call again."""
    settings = {"shuffle": shuffle, "doc_topic_prior": "auto"}
    one, other = new(estimator, **settings), new(estimator, n_jobs=3, **settings)
    for counts in (FILTERED[:150], FILTERED[150:]):
        assert_same_model(other.partial_fit(counts), one.partial_fit(counts))
    assert_same_state(state(other.set_params(n_jobs=None)), state(one))


@pytest.mark.parametrize("shuffle", ["corpus", "document"])
@every_filter
def test_filter_kept_in_the_middle_of_a_group_goes_on_identically(estimator, shuffle, tmp_path):
    """Also where its arrays come back read-only, from a memory map."""
    skops = pytest.importorskip("skops.io")
    model = new(estimator, shuffle=shuffle, doc_topic_prior="auto").partial_fit(FILTERED[:100])
    stored = skops.dumps(model)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [
        pickle.loads(pickle.dumps(model)),
        skops.loads(stored, trusted=skops.get_untrusted_types(data=stored)),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ]
    model.partial_fit(FILTERED[100:])
    for copied in copies:
        assert_same_state(state(copied.partial_fit(FILTERED[100:])), state(model))
        assert_same_model(copied, model)


@every_stream
def test_partial_fit_does_not_depend_on_n_jobs(estimator):
    one, other = (new(estimator, n_jobs=n).partial_fit(X).partial_fit(HELD_OUT) for n in (1, 3))
    assert_same_model(other, one)


@every_stream
def test_kept_models_continue_identically_and_on_their_own(estimator):
    """After pickle and skops; a copy that trains changes nothing of its original."""
    skops = pytest.importorskip("skops.io")
    model = new(estimator).partial_fit(X)
    before = state(model)
    stored = skops.dumps(model)
    copies = [
        pickle.loads(pickle.dumps(model)),
        skops.loads(stored, trusted=skops.get_untrusted_types(data=stored)),
    ]
    for copied in copies:
        copied.partial_fit(HELD_OUT)
    assert_same_state(state(model), before)
    model.partial_fit(HELD_OUT)
    for copied in copies:
        assert_same_model(copied, model)


class Failing:
    """Blocks whose last one fails, by an error of its own or of its counts, in a pass of this number."""

    def __init__(self, n_pass, is_bad):
        self.n_pass, self.is_bad = n_pass, is_bad

    def __iter__(self):
        self.n_pass -= 1
        yield X[:20]
        if self.n_pass == 0 and not self.is_bad:
            raise OSError("the disk is gone")
        yield X[20:] * (np.nan if self.n_pass == 0 else 1.0)


class Raising:
    """A callback of scikit-learn that raises an exception after an update."""

    def __init__(self, error):
        self.error = error

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "update":
            raise self.error


@pytest.mark.parametrize("how", ["error", "bad block", "callback"])
@pytest.mark.parametrize("is_fitted", [False, True])
@every_class
def test_a_fit_that_fails_in_training_leaves_the_earlier_one(estimator, is_fitted, how):
    # In their order, so that there are updates before the last block.
    model, given = new(estimator, shuffle=None if estimator in FILTERS else False), X
    if is_fitted:
        model.fit(HELD_OUT)
    before = {name: np.copy(value) for name, value in fitted_state(model).items()}
    if how == "callback":
        pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
        model.set_callbacks(Raising(OSError("the disk is gone")))
    else:
        given = Failing(2, how == "bad block")  # the first pass looks at them alone
    with pytest.raises((OSError, ValueError), match=r"the disk is gone|block 1 of X: X contains NaN"):
        model.fit(given)
    after = fitted_state(model)
    after.pop("_skl_callbacks", None)
    assert_same_state(after, before)


@every_loop
def test_a_fit_that_is_interrupted_keeps_what_it_has_learned(estimator):
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    model = new(estimator, batch_size=16).fit(HELD_OUT).set_callbacks(Raising(KeyboardInterrupt()))
    before = model.components_
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert largest_difference(model.components_, before) > 0


@every_stream
def test_partial_fit_after_fit_goes_on(estimator):
    model = new(estimator).fit(X)
    seen, updates, before = model.n_samples_seen_, getattr(model, "n_batch_iter_", None), model.components_
    model.partial_fit(HELD_OUT)
    assert model.n_samples_seen_ == seen + 25
    if "batch_size" in model.get_params():
        assert model.n_batch_iter_ == updates + 2  # 25 documents in batches of 16
    assert np.isfinite(model.components_).all()
    assert largest_difference(model.components_, before) > 0
    # It is a continuation, not a new start.
    started = new(estimator).partial_fit(HELD_OUT)
    assert largest_difference(model.components_, started.components_) > 0


@every_stream
def test_transform_between_partial_fits_does_not_disturb_training(estimator):
    model = new(estimator).partial_fit(X)
    model.transform(HELD_OUT)
    model.score(HELD_OUT)
    assert_same_model(model.partial_fit(HELD_OUT), new(estimator).partial_fit(X).partial_fit(HELD_OUT))
