"""What every estimator promises: scikit-learn's checks, and the invariances these cannot see.

scikit-learn's invariance checks run with one topic, where every document has the proportions [1.0]; here they
are repeated with four.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import sktopic
from sktopic._inference import _pieces
from sktopic._state._fields import State
from sktopic.datasets import make_lda_documents, save_corpus
from sktopic.hdp import DirectAssignmentHDP, HybridHDP
from sktopic.lda import OnlineEMLDA

from .conftest import assert_raises, assert_same_state, fingerprint, fitted_state, state
from .lda_models import Recorder
from .registry import (
    LOOPS,
    STEPS,
    allows,
    defaults,
    each,
    having,
    is_bounded,
    is_filter,
    is_minibatch,
    is_sampler,
    is_unbounded,
    methods_with_data,
    new,
    variants,
)

CORPUS = make_lda_documents(40, n_features=30, n_components=4, mean_length=20, random_state=0)
# Float counts, with a document that has no words.
X = sp.csr_array(sp.vstack([CORPUS.data, sp.csr_matrix((1, 30))]), dtype=np.float64)
EMPTY = X.shape[0] - 1
HELD_OUT = sp.csr_array(
    make_lda_documents(25, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)

every_variant = each(variants())
every_loop, every_step = each(LOOPS), each(STEPS)
_FITTED = {}


def fitted(estimator):
    """The estimator fitted to X, shared between tests that do not change it."""
    if repr(estimator) not in _FITTED:
        _FITTED[repr(estimator)] = new(estimator).fit(X)
    return _FITTED[repr(estimator)]


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@each([*defaults(), HybridHDP(split_merge=True), DirectAssignmentHDP(learning_method="memoized")])
def test_scikit_learn_checks(estimator):
    """By the plain call, as users and other projects make it: no check is expected to fail."""
    check_estimator(estimator)


@every_variant
def test_numpy_may_raise_for_any_floating_point_error(estimator):
    """Underflow that is harmless is none to users, whatever they let NumPy do about it."""
    counts = make_lda_documents(
        30, n_features=200, n_components=4, topic_word_prior=0.01, random_state=0
    ).data
    tiny = {"topic_word_prior": 1e-9, "topic_concentration": 1e-6, "doc_concentration": 1e-6}
    for settings in ({"n_components": 200}, {"n_components": 2, **tiny}):
        with np.errstate(all="raise"):
            model = new(estimator, **settings).fit(counts).partial_fit(counts)
            _, probabilities = model.word_topics(counts)
            for answer in (model.transform(counts), model.score(counts), model.components_, probabilities):
                assert np.isfinite(answer).all()


# What is learned and returned


@every_variant
def test_a_fit_depends_on_its_seed_alone_and_answers_change_nothing(estimator):
    """Neither on an earlier fit nor on NumPy's global generator; generators given are read once a fit."""
    known, before = fitted(estimator), np.random.get_state()[1].copy()
    model = new(estimator).fit(HELD_OUT[:, :20])
    assert_array_equal(model.fit_transform(X), known.transform(X))
    assert_same_model(model, known)
    assert not hasattr(clone(model), "components_")
    # Without tokens that are shuffled or topics that are drawn at the start there is nothing to draw.
    has_seed = getattr(estimator, "shuffle", True) is not None or not is_bounded(estimator)
    generators = np.random.RandomState(5), np.random.RandomState(5)
    one, other = (new(estimator, random_state=generator).fit(X) for generator in generators)
    assert (largest_difference(one.components_, known.components_) > 1e-6) == has_seed
    assert_same_model(one, other)
    fit = fingerprint(vars(one))
    theta, score = one.transform(HELD_OUT), one.score(HELD_OUT)
    one.perplexity(HELD_OUT)
    assert fingerprint(vars(one)) == fit
    assert_array_equal(one.transform(HELD_OUT), theta)
    assert one.score(HELD_OUT) == score
    assert_array_equal(np.random.get_state()[1], before)


@every_variant
def test_topics_proportions_and_scores_are_what_they_are_called(estimator):
    model = fitted(estimator)
    theta, components, n = model.transform(HELD_OUT), model.components_, model.n_components_
    for rows, shape in ((theta, (25, n)), (components, (n, 30))):
        assert rows.shape == shape and rows.dtype == np.float64
        assert np.all(rows >= 0)
        assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
    # Documents differ, which guards the invariances below against a transform that is constant.
    assert len(np.unique(theta.round(6), axis=0)) > 12
    assert n == 4 or (n > 1 and (is_unbounded(estimator) or (n < 4 and is_bounded(estimator))))
    prior = model.doc_topic_prior_
    assert prior.shape == (n,) and np.all(prior > 0)
    assert_allclose(model.transform(X)[EMPTY], prior / prior.sum(), rtol=1e-12)
    assert np.log(1 / 30) - 2 < model.score(HELD_OUT) < 0
    assert model.perplexity(HELD_OUT) == pytest.approx(np.exp(-model.score(HELD_OUT)), rel=1e-12)


@each(defaults())
def test_parameters_of_any_numeric_type_are_the_numbers_that_they_show(estimator):
    numbers = {"n_components": 4, "total_samples": 60000, "learning_rate": 0.25, "decay": 0.5}
    types = np.uint64, np.float16, np.float32, np.float16
    given = {name: kind(value) for kind, (name, value) in zip(types, numbers.items())}
    for name in ("topic_concentration_prior", "doc_concentration_prior"):
        numbers[name], given[name] = (127, 1), (np.int8(127), np.int8(1))  # whose sums with int8 overflow
    models = [new(estimator, **having(estimator, **each)).fit(X) for each in (numbers, given)]
    assert_array_equal(models[0].components_, models[1].components_)
    assert_array_equal(models[0].transform(HELD_OUT), models[1].transform(HELD_OUT))


def test_a_batch_may_be_larger_than_any_corpus(tmp_path):
    corpus = save_corpus(tmp_path / "corpus", X)
    settings = {"early_stopping": True, "validation_fraction": 0.3}
    models = [new(OnlineEMLDA, batch_size=size, **settings).fit(corpus) for size in (X.shape[0], 2**70)]
    assert_array_equal(models[0].components_, models[1].components_)


@each(defaults(is_bounded))
def test_number_of_topics_is_inferred_up_to_the_one_given(estimator):
    """Averages forget topics by and by."""
    model = new(estimator, n_components=20, max_iter=40 if is_minibatch(estimator) else 2)
    assert 1 < model.fit(X).n_components_ < 20


@pytest.mark.slow
@each(defaults(is_unbounded))
def test_number_of_topics_is_inferred_from_a_start_at_either_side(estimator):
    """One topic becomes several, and of forty most vanish, but where topics are only born."""
    found = [new(estimator, n_components=n, max_iter=40).fit(X).n_components_ for n in (1, 40)]
    assert min(found) > 1
    assert max(found) < 20 or hasattr(estimator, "max_births")


@every_step
def test_documents_are_answered_one_by_one(estimator):
    """Alone, in any order, among more documents than are treated together, and in several threads."""
    model = fitted(estimator)
    theta, score = model.transform(HELD_OUT), model.score(HELD_OUT)
    order, many = np.random.RandomState(0).permutation(25), np.arange(1050) % 25
    assert_array_equal(model.transform(HELD_OUT[order]), theta[order])
    assert_array_equal(np.concatenate([model.transform(HELD_OUT[[row]]) for row in range(25)]), theta)
    assert_array_equal(model.transform(HELD_OUT[many]), theta[many])
    assert model.score(HELD_OUT[order]) == score
    assert model.score(HELD_OUT[many]) == pytest.approx(score, rel=1e-12)

    def n_hidden(documents):  # by which each weighs
        return sum(n if n < 2 else max(1, round(0.2 * n)) for n in documents.sum(axis=1))

    parts = [HELD_OUT[:10], HELD_OUT[10:11], HELD_OUT[11:]]
    total = sum(model.score(part) * n_hidden(part) for part in parts)
    assert score == pytest.approx(total / n_hidden(HELD_OUT), rel=1e-12)
    with ThreadPoolExecutor(3) as pool:
        for answer in pool.map(model.transform, [HELD_OUT] * 6):
            assert_array_equal(answer, theta)


# Containers and dtypes


def rebuilt(counts, data, indices, indptr):
    """A CSR array of exactly these parts."""
    result = sp.csr_array(counts.shape, dtype=data.dtype)
    result.data, result.indices, result.indptr = data, indices, indptr
    return result


def parts(counts):
    """The arrays of a container by name."""
    if isinstance(counts, np.ndarray):
        return {"array": counts}
    return {name: value for name, value in getattr(counts, "__dict__", {}).items() if hasattr(value, "dtype")}


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
    """Behind the last row, what an array that was made too long may have: no counts, and no columns."""
    result, strange = counts.copy(), np.nan if counts.dtype.kind == "f" else -1
    tail = np.full((1, *counts.data.shape[1:]), strange, counts.dtype), np.array([-7], counts.indices.dtype)
    result.data, result.indices = np.append(counts.data, tail[0], 0), np.append(counts.indices, tail[1])
    return result


def read_only(counts):
    result = counts.copy()
    for part in parts(result).values():
        part.flags.writeable = False
    return result


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


FEW = ["unsorted duplicates", "read-only unsorted", "ndarray", "longer arrays", "strided", "csc_array"]


@pytest.mark.parametrize(
    ("estimator", "dtype", "containers"),
    [
        (LOOPS[0], np.float64, CONTAINERS),
        # They share what makes counts of a container.
        *((LOOPS[0], dtype, FEW) for dtype in (np.float32, np.int32)),
        *((each, np.float64, FEW[:3]) for each in LOOPS[1:]),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value) if hasattr(value, "fit") else ""),
)
def test_any_container_is_read_alike_and_left_as_it_was(estimator, dtype, containers):
    # Quarters of entries are whole numbers.
    train, held_out = ((counts * 4).astype(dtype) for counts in (X[:12], HELD_OUT[:8]))
    plain = new(estimator).fit(train)
    theta, score = plain.transform(held_out), plain.score(held_out)
    for container in containers:
        make = CONTAINERS[container]
        given = make(train)
        before = pickle.loads(pickle.dumps(parts(given)))
        model = new(estimator).fit(given)
        model.transform(given), model.score(given)
        assert_array_equal(model.components_, plain.components_, err_msg=container)
        assert model.transform(make(held_out)).dtype == theta.dtype
        assert_array_equal(model.transform(make(held_out)), theta, err_msg=container)
        assert model.score(make(held_out)) == score, container
        model.partial_fit(given)
        after = parts(given)
        assert after.keys() == before.keys()
        for name, value in before.items():
            assert after[name].dtype == value.dtype
            assert_array_equal(after[name], value, err_msg=f"{container} {name}")
        if hasattr(given, "has_sorted_indices"):
            fresh = type(given)((given.data, given.indices, given.indptr), shape=given.shape)
            assert given.has_sorted_indices == fresh.has_sorted_indices
            assert given.has_canonical_format == fresh.has_canonical_format


@every_step
def test_single_precision_counts(estimator):
    """theta is float32 where the counts are, and all is the same to that precision; topics are float64."""
    counts, held_out = X * 0.375, HELD_OUT * 0.375
    model, other = new(estimator).fit(counts), new(estimator).fit(counts.astype(np.float32))
    assert other.components_.dtype == np.float64
    assert_allclose(other.components_, model.components_, rtol=1e-6)
    assert model.score(held_out.astype(np.float32)) == pytest.approx(model.score(held_out), rel=1e-6)
    for single in (held_out.astype(np.float32), held_out.astype(np.float32).toarray()):
        theta = model.transform(single)
        assert theta.dtype == np.float32
        assert_allclose(theta, model.transform(held_out), rtol=1e-6)


# Workers


@every_variant
def test_nothing_depends_on_n_jobs_and_verbosity(estimator, capsys, monkeypatch):
    """Nor in batches that are cut finer than into one piece a worker, as those of many words are."""
    monkeypatch.setattr(_pieces, "SMALL_BATCH", 500)
    long = make_lda_documents(40, n_features=200, n_components=4, mean_length=80, random_state=2).data
    settings = {"batch_size": 40, "max_iter": 1, "max_doc_update_iter": 5}
    one, other = (new(estimator, n_jobs=n_jobs, **settings).fit(long) for n_jobs in (1, 3))
    assert_array_equal(other.components_, one.components_)
    assert_array_equal(other.transform(long), one.transform(long))
    assert other.score(long) == one.score(long)
    assert not capsys.readouterr().err
    assert_same_model(new(estimator, n_jobs=-1, verbose=1).fit(X), fitted(estimator))
    assert capsys.readouterr().err


@pytest.mark.slow
@every_loop
def test_nothing_depends_on_the_backend(estimator):
    """Processes get what is large memory-mapped, and therefore read-only."""
    with joblib.parallel_config("loky", n_jobs=2, max_nbytes=100):
        model = new(estimator).fit(X)
        theta, score = model.transform(HELD_OUT), model.score(HELD_OUT)
    assert_same_model(model, fitted(estimator))
    assert_array_equal(theta, model.transform(HELD_OUT))
    assert score == model.score(HELD_OUT)


# Keeping models


def classes_of_states(kind=State):
    return {kind}.union(*map(classes_of_states, kind.__subclasses__()))


@every_variant
def test_kept_models_are_the_same_and_continue_identically_and_on_their_own(estimator, tmp_path):
    """To the last bit, by any way to keep them, in memory maps too, and for filters in the middle of a
    group; a copy that trains changes nothing of its original."""
    skops = pytest.importorskip("skops.io")
    model = new(estimator, random_state=np.random.RandomState(5)).partial_fit(X)
    before = fingerprint(vars(model))
    model.save(tmp_path / "model.zip")
    joblib.dump(model, tmp_path / "model.joblib")
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    stored = skops.dumps(model)
    types = skops.get_untrusted_types(data=stored)
    assert {*types} <= {f"{kind.__module__}.{kind.__name__}" for kind in (type(model), *classes_of_states())}
    copies = {
        "pickle": pickle.loads(pickle.dumps(model, 2)),
        "skops": skops.loads(stored, trusted=types),
        "joblib": joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
        "file": sktopic.load(tmp_path / "model.zip"),
        "map": sktopic.load(tmp_path / "model.zip", mmap_mode="r"),
    }
    fresh, answers = fingerprint(fitted_state(model)), model.transform(HELD_OUT)
    for how, copied in copies.items():
        assert type(copied) is type(model)
        assert fingerprint(fitted_state(copied)) == fresh, how
        assert_array_equal(copied.transform(HELD_OUT), answers, err_msg=how)
        copied.partial_fit(HELD_OUT)
    assert fingerprint(vars(model)) == before
    expected = fingerprint(fitted_state(model.partial_fit(HELD_OUT)))
    for how, copied in copies.items():
        assert fingerprint(fitted_state(copied)) == expected, how
    assert_same_model(copies["map"], model)
    # They go on drawing from random_state.
    assert_same_model(copies["file"].fit(HELD_OUT), model.fit(HELD_OUT))
    assert files == {path: path.read_bytes() for path in files}


# Continuation

# With these, fit makes the same updates as partial_fit.
AS_STREAM = {"max_iter": 1, "shuffle": False, "early_stopping": False, "max_doc_update_iter": 5}


def documents(n_documents):
    """Short documents on the topics of CORPUS."""
    return make_lda_documents(n_documents, components=CORPUS.components, mean_length=6, random_state=3).data


def check_stream_of_batches(estimator, n_documents, batch_size, **params):
    """fit makes the updates of partial_fit with the same batches, whether in one call or in many."""
    counts = documents(n_documents)
    settings = {**AS_STREAM, "batch_size": batch_size, "total_samples": n_documents, **params}
    settings["components_init"] = None  # otherwise, topics may start from the documents of the first call
    whole = new(estimator, **settings).fit(counts)
    stream = new(estimator, **settings)
    for first in range(0, n_documents, batch_size):
        stream.partial_fit(counts[first : first + batch_size])
    assert_same_model(stream, whole)
    assert stream.n_batch_iter_ == whole.n_batch_iter_ == -(-n_documents // batch_size)
    assert stream.n_samples_seen_ == whole.n_samples_seen_ == n_documents
    # One call cuts its documents into the same batches.
    assert_same_model(new(estimator, **settings).partial_fit(counts), whole)


def learns_online(estimator):
    return is_minibatch(estimator) and getattr(estimator, "learning_method", "online") == "online"


@each(variants(learns_online))
def test_fit_equals_partial_fit_of_equal_batches(estimator):
    """Also where a prior is learned, and where a batch is more than one group of documents."""
    is_shared = getattr(estimator, "prior_update", None) == "shares"
    for prior in ("auto",) if is_shared else ("auto", "auto-symmetric"):
        if allows(estimator, "doc_topic_prior", prior):
            check_stream_of_batches(estimator, 29, 7, doc_topic_prior=prior)  # the last one alone
    if repr(estimator) in map(repr, LOOPS):
        check_stream_of_batches(estimator, 1060, 1030)
    for batch_size in (1, 5, 30, 100) if repr(estimator) == repr(LOOPS[0]) else ():
        check_stream_of_batches(estimator, 30, batch_size)


@each(variants(lambda estimator: getattr(estimator, "learning_method", None) == "batch"))
def test_fit_of_the_whole_corpus_makes_one_update_a_pass(estimator):
    """Beyond one group of documents; partial_fit makes one for every batch_size documents instead."""
    for prior in ("auto", "auto-symmetric"):
        model = new(estimator, max_iter=3, max_doc_update_iter=5, doc_topic_prior=prior)
        counts = documents(1100)
        assert model.fit(counts).n_batch_iter_ == 3
        assert model.n_samples_seen_ == 3300
        assert model.partial_fit(counts[:40]).n_batch_iter_ == 6
        # It is the stream of the same settings without the choice.
        online = clone(model).set_params(learning_method="online")
        assert_same_model(clone(model).partial_fit(X), online.partial_fit(X))


@each(variants(is_sampler))
def test_first_partial_fit_of_a_sampler_equals_fit(estimator):
    """Also where the priors are learned and where samples are averaged."""
    for prior in (None, "auto", "auto-symmetric"):
        for counts in (
            (X, documents(1100)) if prior is None or having(estimator, doc_topic_prior=prior) else ()
        ):
            settings = {"max_iter": 12, "prior_interval": 5, "n_draws": 2, "doc_topic_prior": prior}
            model = new(estimator, **settings)
            whole, stream = clone(model).fit(counts), model.partial_fit(counts)
            assert_same_model(stream, whole)
            assert_array_equal(stream.log_likelihood_, whole.log_likelihood_)
            assert stream.n_samples_seen_ == whole.n_samples_seen_ == counts.shape[0]


def topic_ids(model):
    """Identities of topics, ascending: their numbers where all stay in use."""
    return getattr(model, "topic_ids_", np.arange(model.n_components_))


@each(variants(is_sampler))
def test_partial_fit_of_a_sampler_never_moves_earlier_documents(estimator):
    """No count falls, and each word's counts grow by its tokens in the new documents."""
    for n_draws in (1, 3):
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


# Four groups of documents after which a prior is learned, the last one cut off; the fifth is empty.
FILTERED = make_lda_documents(200, components=CORPUS.components, mean_length=20, random_state=3).data
FILTERED = sp.csr_array(FILTERED.multiply(np.arange(200)[:, None] % 9 != 4))
# In a group, around a document without words, and around the ends of groups
CUTS = [0, 1, 2, 4, 5, 63, 64, 65, 100, 101, 128, 190, 200]


@each(defaults(is_filter))
def test_fit_of_a_filter_equals_partial_fit_over_any_cuts(estimator):
    """All of the state, bit for bit: topics, prior, evidence, trace and what a group has told so far."""
    for second_moment, shuffle, prior in (
        ("sum", "document", None),
        ("first", "document", "auto"),
        ("sum", None, "auto-symmetric"),
    ):
        settings = {"second_moment": second_moment, "shuffle": shuffle, "doc_topic_prior": prior}
        whole, stream = new(estimator, **settings).fit(FILTERED), new(estimator, **settings)
        assert np.any(whole.doc_topic_prior_ != 4**-0.55) == (prior is not None)
        for first, last in pairwise(CUTS):
            stream.partial_fit(FILTERED[first:last])
        assert_same_state(state(stream), state(whole))
        assert_same_model(stream, whole)
        assert whole.n_samples_seen_ == 200
        assert whole.n_tokens_seen_ == FILTERED.sum()


@pytest.mark.slow
@each(defaults(is_filter))
def test_a_filter_that_mixes_the_documents_of_a_call_depends_on_the_cuts_alone(estimator):
    """Not on n_jobs, with which documents of a call are inferred again to learn the prior."""
    for prior in (None, "auto", "auto-symmetric"):
        one, other, whole, stream = (
            new(estimator, shuffle="corpus", doc_topic_prior=prior, n_jobs=n_jobs)
            for n_jobs in (1, 3, None, None)
        )
        for model in (one, other):
            model.partial_fit(FILTERED[:100]).partial_fit(FILTERED[100:]).set_params(n_jobs=None)
        assert_same_state(state(one), state(other))
        assert_same_state(state(whole.fit(FILTERED)), state(stream.partial_fit(FILTERED)))
        assert largest_difference(one.components_, whole.components_) > 1e-6
        assert one.n_tokens_seen_ == whole.n_tokens_seen_ == FILTERED.sum()


@every_variant
def test_partial_fit_goes_on_whatever_is_read_between_and_with_any_n_jobs(estimator):
    model, other = new(estimator).partial_fit(X), new(estimator, n_jobs=3).partial_fit(X)
    before, seen, updates = model.components_, model.n_samples_seen_, getattr(model, "n_batch_iter_", 0)
    for method in methods_with_data(estimator):
        if method in ("transform", "score", "elbo", "predict_mixture"):
            getattr(model, method)(HELD_OUT)
    assert_same_model(model.partial_fit(HELD_OUT), other.partial_fit(HELD_OUT))
    assert model.n_samples_seen_ == seen + 25
    assert getattr(model, "n_batch_iter_", 2) == updates + 2  # 25 documents in batches of 16
    # It is a continuation, not a new start, and after fit too.
    assert largest_difference(model.components_, before) > 0
    assert largest_difference(model.components_, new(estimator).partial_fit(HELD_OUT).components_) > 0
    model = clone(model).fit(X)
    seen, before = model.n_samples_seen_, model.components_
    assert model.partial_fit(HELD_OUT).n_samples_seen_ == seen + 25
    assert largest_difference(model.components_, before) > 0


class Failing:
    """Blocks whose last one fails in the second pass, by an error of its own or of its counts."""

    def __init__(self, is_bad):
        self.n_pass, self.is_bad = 0, is_bad

    def __iter__(self):
        self.n_pass += 1
        yield X[:20]
        if self.n_pass == 2 and not self.is_bad:
            raise OSError("the disk is gone")
        yield X[20:] * (np.nan if self.n_pass == 2 else 1.0)


@pytest.mark.parametrize("how", ["error", "bad block", "callback"])
@every_loop
def test_a_fit_that_fails_in_training_leaves_the_earlier_one(estimator, how):
    # In their order, so that there are updates before the last block
    unfitted = new(estimator, shuffle=None if is_filter(estimator) else False)
    for model in (clone(unfitted), clone(unfitted).fit(HELD_OUT)):
        before, given = {name: np.copy(value) for name, value in fitted_state(model).items()}, X
        if how == "callback":
            pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
            model.set_callbacks(Recorder(OSError("the disk is gone")))
        else:
            given = Failing(how == "bad block")
        message = "block 1 of X: X contains NaN" if how == "bad block" else "the disk is gone"
        assert_raises((OSError, ValueError), message, model.fit, given)
        after = fitted_state(model)
        after.pop("_skl_callbacks", None)
        assert_same_state(after, before)


@every_loop
def test_a_fit_that_is_interrupted_keeps_what_it_has_learned(estimator):
    pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    model = new(estimator).fit(HELD_OUT).set_callbacks(Recorder(KeyboardInterrupt()))
    before = model.components_
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert largest_difference(model.components_, before) > 0
