"""Lanes: mini-batches side by side, merged into what plain updates make of them."""

import copy
import pickle
import re
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sktopic import load
from sktopic._documents._matrices import DocumentReader
from sktopic._estimators import _lanes
from sktopic._estimators._fitted_state import fitted_of
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import MAX_ITER, PRIOR_INERTIA, TOL
from sktopic._topics._word_counts import WordCounts
from sktopic._training._minibatches import counts_of_batch
from sktopic.datasets import make_bars
from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.hdp import HybridHDP, OnlineVariationalHDP
from sktopic.inspection import name_topics
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
from sktopic.lda._estimator import MinibatchLDAEstimator

from . import conftest
from .conftest import assert_raises
from .reference.dirichlet import fit_dirichlet
from .registry import defaults, has_lanes

N_DOCUMENTS, N_LANES, SIZE = 300, 3, 10
bars = sp.lil_array(make_bars(N_DOCUMENTS, random_state=1).data, dtype=float)
bars[[0, 7, 41, 42]] = 0.0  # documents without words
X = sp.csr_array(bars)
N_WORDS = X.shape[1]

RANDOM = {"components_init": None}  # the start of lanes
BOUNDED = {"total_samples": 500.0, "random_state": 3}
MODELS = {
    "gibbs": OnlineEMLDA(5, **BOUNDED),
    "variational": OnlineEMLDA(5, inference="variational", prior_update="fixed-point", **BOUNDED),
    "gamma": OnlineEMLDA(5, doc_topic_prior="auto-symmetric", prior_update="gamma", **BOUNDED),
    "hybrid": HybridLDA(5, doc_topic_prior="auto", **BOUNDED),
    "variational Bayes": OnlineVariationalLDA(
        5, topic_word_prior="auto", doc_topic_prior="auto-symmetric", **RANDOM, **BOUNDED
    ),
    "gradient": OnlineVariationalLDA(
        5, topic_word_prior="auto", doc_topic_prior="auto", prior_update="gradient", **RANDOM, **BOUNDED
    ),
    "cvb0": OnlineCVB0LDA(5, **BOUNDED),
    "ope": OnlineOPELDA(5, **BOUNDED),
    "hdp": HybridHDP(8, **BOUNDED),
    "hdp with tables": HybridHDP(8, sampler="sparse_table_indicator", root_weight="paper", **BOUNDED),
    "streaming variational": StreamingVariationalLDA(5, doc_topic_prior="auto", random_state=3, **RANDOM),
    "streaming gibbs": StreamingGibbsLDA(5, decay=0.9, random_state=3),
}
named = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


class Rounds:
    """Rounds of lanes in shards of words, on documents dealt in order: batch by batch, lane by lane."""

    def __init__(self, model, n_shards=1, n_lanes=N_LANES):
        self.start = _lanes.begin(model, N_WORDS, N_DOCUMENTS)
        self.bounds = _lanes.word_bounds(N_WORDS, n_shards)
        self.rows, sums = zip(*(_lanes.initial_rows(self.start, *shard) for shard in self.bounds))
        self.start = _lanes.set_initial_totals(self.start, sums)
        self.n_lanes, self.n_read = n_lanes, 0

    def deal(self, n_updates, sizes=None):
        """The batches of all lanes, documents of the lanes of one step next to each other."""
        sizes = sizes or [SIZE] * self.n_lanes
        lanes = [[] for _ in sizes]
        for _ in range(n_updates):
            for lane, size in zip(lanes, sizes):
                lane.append(X[self.n_read : self.n_read + size])
                self.n_read += size
        return lanes

    def run(self, n_updates=1, sizes=None, dtype="float64", through=lambda updates: updates):
        updates, rows = [], np.concatenate(self.rows)
        for lane, batches in enumerate(self.deal(n_updates, sizes)):
            words, batches = _lanes.narrowed(batches)
            updates.append(_lanes.local_update(self.start, words, rows[words], batches, lane, dtype))
        updates = through(updates)
        self.start, merge = _lanes.merge_lanes(self.start, [update.summary for update in updates])
        self.rows = [
            _lanes.merge_rows(rows, merge, [update.part_for(*shard) for update in updates])
            for rows, shard in zip(self.rows, self.bounds)
        ]
        sums = [_lanes.row_sums(self.start, *shard, rows) for rows, shard in zip(self.rows, self.bounds)]
        self.start = _lanes.learn_from_rows(self.start, merge, sums)
        return self

    @property
    def model(self):
        return _lanes.finish(self.start, self.rows)


def state_of(model):
    """All that training has set, with the scale in the store."""
    state = fitted_of(model)
    scale = state.pop("_state.words.scale")
    for name in ("_state.words.store", "_state.words.totals"):
        state[name] = state[name] * scale
    for name in ("_state.corpus_size", "_state.is_corpus"):  # not counted by lanes, which know the number
        del state[name]
    if model.total_samples is None:
        del state["_state.total_samples"]
    return state


def assert_same_state(found, wanted, rtol):
    found, wanted = state_of(found), state_of(wanted)
    for name, value in wanted.items():
        if isinstance(value, (np.ndarray, float)):
            assert_allclose(found[name], value, rtol=rtol, atol=1e-300, err_msg=name)
        else:
            assert found[name] == value, name


def assert_same_bits(found, wanted):
    conftest.assert_same_state(conftest.all_attributes(found), conftest.all_attributes(wanted))


@named
def test_rounds_of_one_update_are_plain_updates_by_the_documents_of_all_lanes(model):
    rounds, plain = Rounds(model, n_shards=2), clone(model).set_params(batch_size=N_LANES * SIZE)
    for sizes in ([10, 10, 10], [10, 10, 10], [10, 10, 10], [10, 8, 0], [7, 0, 0]):
        first = rounds.n_read
        rounds.run(1, sizes)
        plain.partial_fit(X[first : rounds.n_read])
        assert_same_state(rounds.model, plain, 1e-10)


@pytest.mark.parametrize("name", ["gibbs", "hybrid", "variational Bayes", "ope", "streaming gibbs"])
def test_rounds_of_one_lane_are_plain_updates(name):
    """Where nothing is learned but topics: all else moves at merges alone."""
    fixed = {"doc_topic_prior": None, "topic_word_prior": None}
    model = clone(MODELS[name]).set_params(**fixed)
    rounds, plain = Rounds(model, n_lanes=1), clone(model).set_params(batch_size=SIZE)
    for n_updates in (1, 2, 7, 3):
        first = rounds.n_read
        rounds.run(n_updates)
        plain.partial_fit(X[first : rounds.n_read])
        assert_same_state(rounds.model, plain, 1e-9)


@pytest.mark.parametrize(
    ("name", "learning_decay"),
    [("variational", 0.65), ("variational", 0.0), ("variational", None), ("cvb0", 0.75)],
)
def test_a_round_follows_the_formula(name, learning_decay, monkeypatch):
    """With learning_decay=0, each update forgets all before it; steps of None here bend from the first on.

    Where statistics are averages over tokens, tokens weigh lanes.
    """
    monkeypatch.setattr("sktopic.lda._online_em.MOST_OVER_T", 1.0)

    def step_size(t):
        return min((1.0 + t) ** -0.65, 1.0 / t) if learning_decay is None else (1.0 + t) ** -learning_decay

    n_updates, model = 4, clone(MODELS[name]).set_params(learning_decay=learning_decay)
    rounds = Rounds(model).run().run()
    before, start, told = rounds.model, rounds.start, []

    def expected(s, batch, step):
        """Counts of a batch that is read with statistics s, over its documents or tokens."""
        state, update = replace(before._state, words=WordCounts.of(s)), start.update(step)
        with Workers(None) as workers:
            rows = np.arange(SIZE)
            found = counts_of_batch(before._method(), state, DocumentReader(batch), rows, update, workers)
            empty = WordCounts.empty(N_WORDS, 5)
            empty.add(found.expected, found.words, 1.0, workers)
        told.append(found.expected)
        return empty.store / size_of(batch)

    # s <- prod(1 - rho) s + the mean over lanes, by size, of what they add.
    size_of = sp.csr_array.sum if name == "cvb0" else lambda batch: batch.shape[0]
    lanes = rounds.deal(n_updates)
    rounds.n_read -= n_updates * N_LANES * SIZE
    step_sizes = [step_size(3 + step) for step in range(n_updates)]
    first, sizes = before._state.words.store, [sum(map(size_of, batches)) for batches in lanes]
    wanted = np.prod(1.0 - np.array(step_sizes)) * first
    for batches, size in zip(lanes, sizes):
        own, added = first, np.zeros_like(first)
        for step, (batch, rho) in enumerate(zip(batches, step_sizes)):
            found = expected(own, batch, step)
            own, added = ((1.0 - rho) * array + rho * found for array in (own, added))
        wanted += size / sum(sizes) * added
    rounds.run(n_updates)
    assert_allclose(rounds.model._state.words.store, wanted, rtol=1e-10)
    assert_allclose(rounds.model._state.words.totals, wanted.sum(axis=0), rtol=1e-10)
    assert rounds.model._state.n_tokens_seen == X[: rounds.n_read].sum()
    if name == "cvb0":
        return
    # The prior, learned once from the sums of the round, by the step that its updates make together.
    statistics = [each.prior_statistics() for each in told]
    kept = np.prod([1.0 - step_size(PRIOR_INERTIA + 2 + step) for step in range(n_updates)])
    log_theta = sum(each.log_theta for each in statistics) / sum(each.n_documents for each in statistics)
    prior = before.doc_topic_prior_.copy()
    fit_dirichlet(kept * before._state.prior_averages + (1.0 - kept) * log_theta, prior, MAX_ITER, TOL)
    assert_allclose(rounds.model.doc_topic_prior_, prior, rtol=1e-9)
    assert (rounds.start.state.n_topic_updates, rounds.start.state.n_prior_updates) == (6, 5)


@named
def test_bits_depend_on_nothing_but_the_lanes_and_the_model_is_a_plain_one(model, tmp_path):
    """Neither on shards, nor on the order of updates, nor on processes that they go through."""
    finished = Rounds(model).run().run(2).model

    def sent(updates):
        return pickle.loads(pickle.dumps(updates[::-1]))

    rounds = Rounds(model, n_shards=5).run(through=sent)
    rounds.start = pickle.loads(pickle.dumps(rounds.start))
    assert_same_bits(rounds.run(2, through=sent).model, finished)
    # The public functions make the same of whole models, whose arrays may be mapped from a file.
    dealt, found = Rounds(model), start_model(model, N_WORDS, N_DOCUMENTS)
    assert_same_bits(found, dealt.model)
    for n_updates in (1, 2):
        joblib.dump(found, tmp_path / "pickle")
        mapped = joblib.load(tmp_path / "pickle", mmap_mode="r")
        lanes = [sp.vstack(batches, format="csr") for batches in dealt.deal(n_updates)]
        given = {"n_updates": n_updates, "batch_size": SIZE}
        updates = [local_update(mapped, own, lane=lane, **given) for lane, own in enumerate(lanes)]
        found, before = merge_updates(mapped, sent(updates)), found
        assert_same_bits(mapped, before)
    assert_same_bits(found, finished)
    # Plain updates and lanes go on with it.
    finished.save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model").partial_fit(X[:20]), copy.copy(finished).partial_fit(X[:20]))
    assert_allclose(_lanes.rows_of(finished), finished._state.words.store * finished._state.words.scale)
    assert _lanes.start_of(finished).state.n_updates == finished.n_batch_iter_ == 3


@pytest.mark.slow
def test_batches_that_are_summed_in_groups_have_keys_of_their_own():
    """Those of more documents than are treated at once."""
    many = make_bars(2400, random_state=2).data
    model = OnlineEMLDA(5, batch_size=1200, **BOUNDED)
    start = start_model(model, N_WORDS, 2400)
    updates = [local_update(start, many[1200 * lane :][:1200], lane=lane) for lane in range(2)]
    plain = clone(model).set_params(batch_size=2400).partial_fit(many)
    assert_same_state(merge_updates(start, updates), plain, 1e-10)


def test_the_start_is_that_of_fit_and_names_and_attributes_stay():
    names = [f"w{i}" for i in range(N_WORDS)]
    model = start_model(OnlineEMLDA(5, random_state=3), N_WORDS, N_DOCUMENTS, feature_names=names)
    plain = OnlineEMLDA(5, random_state=3).partial_fit(sp.csr_array((1, N_WORDS)))
    assert_array_equal(model._state.words.store, plain._state.words.store)
    counts = pd.DataFrame(X[:30].toarray(), columns=names)
    name_topics(model.partial_fit(counts), {2: "mine"})
    model.note = "of the user"
    merged = merge_updates(model, [local_update(model, counts, lane=0)])
    assert list(merged.topic_names_) == list(model.topic_names_)
    assert list(merged.feature_names_in_) == names
    assert merged.note == model.note


def test_a_round_without_words_changes_nothing_but_numbers():
    before = Rounds(MODELS["streaming gibbs"]).run().run(2).model
    empty = [local_update(before, sp.csr_array((2, N_WORDS)), lane=lane, batch_size=2) for lane in range(2)]
    after = merge_updates(before, empty)
    assert (after.n_batch_iter_, after.n_samples_seen_) == (before.n_batch_iter_ + 1, 90 + 4)
    for array in (_lanes.rows_of, lambda model: model._state.words.totals * model._state.words.scale):
        assert_array_equal(array(after), array(before))


@pytest.mark.parametrize("name", ["variational", "streaming variational", "variational Bayes", "cvb0"])
def test_single_precision_rounds_what_is_added(name):
    """By 2 ** -24 of it in a round; later rounds see the difference, and do not enlarge it."""
    rounds = [Rounds(MODELS[name]).run(dtype=dtype) for dtype in "fd"]
    assert_allclose(*(each.rows[0] for each in rounds), rtol=2.0**-24)
    single, double = (each.run(3, dtype=dtype).rows[0] for each, dtype in zip(rounds, "fd"))
    assert_allclose(single, double, rtol=1e-5, atol=1e-30)
    assert (single != double).any()


def test_an_update_is_sparse_where_that_is_smaller():
    """The sums of single precision, by which updates are checked, are of double precision."""
    rng = np.random.RandomState(0)
    many = sp.csr_array(rng.poisson(0.02, (40, 20_000)) * (1 + rng.rand(40, 20_000)))
    start = start_model(StreamingGibbsLDA(8, random_state=0, batch_size=40), many.shape[1], 40)
    update = local_update(start, many, lane=0, dtype="float32")
    assert sp.issparse(update.added) and update.added.nnz <= np.ceil(many.data).sum()
    assert update.nbytes < 8 * update.added.nnz + 12 * (len(update.words) + 1) + 1000
    assert_allclose(merge_updates(start, [update])._state.words.store.sum(), many.sum(), rtol=1e-6)
    dense = local_update(start_model(MODELS["variational"], N_WORDS, 40), X[:10], lane=0)
    assert isinstance(dense.added, np.ndarray)


FITTING = N_WORDS, N_DOCUMENTS


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OnlineEMLDA(boost=True), "boost=True does not support lanes"),
        (OnlineEMLDA(average=True), "average=True does not support lanes"),
        (OnlineEMLDA(early_stopping=True), "early_stopping=True does not support.* score after"),
        (OnlineEMLDA(components_init=np.ones((1, 25))), "components_init does not .*partial_fit"),
        (OnlineEMLDA(topic_word_prior=np.ones((10, 25))), "as a matrix does not support"),
        (OnlineVariationalLDA(learning_method="batch"), "learning_method='batch' does not support"),
        (LangevinLDA(), "LangevinLDA does not support lanes.*Use HybridLDA"),
        (SinglePassLDA(), "SinglePassLDA does not support lanes.*OnlineEMLDA"),
        (CollapsedGibbsLDA(), "CollapsedGibbsLDA does not support lanes.*Use OnlineEMLDA instead"),
        (OnlineVariationalHDP(), "OnlineVariationalHDP does not .*Use HybridHDP instead"),
        (OnlineEMLDA(n_components=0), "n_components"),
        (LinearRegression(), "is not a topic model"),
    ],
)
def test_models_without_lanes_are_refused(model, message):
    with pytest.raises(TypeError if "is not a" in message else ValueError, match=message):
        start_model(model, N_WORDS, N_DOCUMENTS)


def test_wrong_sizes_and_names_of_words_are_refused():
    cases = [((*FITTING, ["a"]), "feature_names has 1 names, but there are 25")]
    for names in ([1] * 25, "a", [np.zeros((2, 2)), np.zeros((2, 3))]):
        cases.append(((*FITTING, names), "feature_names is invalid: must be a list with one string"))
    for n in (0, 2**31, 2.5, "2", True):
        cases.append(((n, N_DOCUMENTS), f"n_features={n!r} is invalid: must be an integer from 1 to 21"))
    for n in (np.nan, -1, 0, 1e-13, 1e15, True, "2", None, 10**400):
        cases.append(((N_WORDS, n), f"total_samples={n!r:.20}.* is invalid: must be a number from"))
    for given, message in cases:
        assert_raises(ValueError, message, start_model, OnlineEMLDA(), *given)


def test_the_estimators_that_messages_name_are_those_that_can_be_trained():
    with_lanes = {type(estimator).__name__ for estimator in defaults(has_lanes)}
    missing = with_lanes - {type(model).__name__ for model in MODELS.values()}
    assert not missing, f"add {missing} to MODELS"
    assert set(re.findall(r"\w+(?:LDA|HDP)", _lanes.WITH_LANES)) == with_lanes
    assert MinibatchLDAEstimator._check_lanes is None  # a class has lanes if its own body says so


def test_wrong_arguments_of_rounds_are_refused():
    model = start_model(clone(MODELS["gibbs"]).set_params(batch_size=SIZE), N_WORDS, N_DOCUMENTS)

    refuses = partial(assert_raises, ValueError)
    for n, named, message in (
        (20, {"n_updates": 2}, "n_updates=2 is invalid in the first round"),
        (11, {}, "X has 11 samples; n_updates=1 with batch_size=10 are for 10"),
        (10, {"lane": -1}, "lane=-1 is invalid: must be an integer from 0 on"),
        (10, {"dtype": "float16"}, "dtype='float16'"),
    ):
        refuses(message, local_update, model, X[:n], **{"lane": 0, **named})
    updates = [local_update(model, X[10 * lane :][:10], lane=lane) for lane in range(3)]
    for some in ([], updates[1:], [*updates, updates[0]]):
        refuses("are not a round", merge_updates, model, some)
    merged = merge_updates(model, updates)
    refuses("its number of updates is 0, but this model has 1", merge_updates, merged, updates)
    updates = [local_update(merged, X[:20], lane=i, n_updates=n) for i, n in enumerate((2, 3))]
    refuses("to different rounds: lane 1 has n_updates=3", merge_updates, merged, updates)
    refuses("must be an integer from 1 to 65536", local_update, merged, X[:8], lane=0, n_updates=10**9)
    refuses("frozen topics do not support", local_update, merged.freeze_topics([0]), X[:10], lane=0)
    left = merged.drop_topics([0])  # nothing is frozen any more
    assert len(merge_updates(left, [local_update(left, X[:10], lane=0)]).components_) == len(left.components_)


def test_updates_of_another_model_are_refused():
    def model_and_update(documents=0, cls=OnlineEMLDA, n_features=N_WORDS, feature_names=None, **params):
        given = {"n_components": 5, "random_state": 3, "batch_size": 300, **params}
        start = start_model(cls(**given), n_features, N_DOCUMENTS, feature_names)
        counts = sp.csr_array(X[documents:])
        counts.resize(counts.shape[0], n_features)
        with warnings.catch_warnings(action="ignore"):  # of scikit-learn, that counts have no names
            model = merge_updates(start, [local_update(start, counts, lane=0)])
            return model, local_update(model, counts, lane=0)

    model, own = model_and_update()
    before = pickle.dumps(model)
    for change, message in (
        ({"random_state": 4}, "seed is"),
        ({"n_components": 6}, "number of topics is 6, but this model has 5"),
        ({"learning_offset": 9.0}, "learning_offset is 9.0, but this model has 1.0"),
        ({"cls": HybridLDA}, "class is 'HybridLDA', but this model has 'OnlineEMLDA'"),
        ({"n_features": 30}, "n_features is 30, but this model has 25"),
        ({"feature_names": [f"w{i}" for i in range(25)]}, "feature_names_in_ is"),
        ({"documents": 7}, "fitted state is"),
    ):
        _, other = model_and_update(**change)
        message = f"lane 0 was .* from another model or state: its {message}"
        assert_raises(ValueError, message, merge_updates, model, [other])
        assert pickle.dumps(model) == before, change
    names = [f"w{i}" for i in range(N_WORDS)]
    named, (_, other) = model_and_update(feature_names=names)[0], model_and_update(feature_names=names[::-1])
    assert_raises(ValueError, "feature_names_in_ is", merge_updates, named, [other])
    # These parameters say nothing of the model.
    elsewhere = pickle.loads(before)
    elsewhere.set_params(
        **{"n_jobs": 2, "batch_size": 7, "max_iter": 9, "n_iter_no_change": 3, "shuffle": False, "tol": 0.5},
        **{"transform_burn_in": 1, "transform_sweeps": 2, "validation_fraction": 0.3, "verbose": 1},
    )
    assert_same_bits(
        merge_updates(elsewhere, [own]).set_params(**model.get_params()), merge_updates(model, [own])
    )


def with_sums(update, **sums):
    return replace(update, summary=replace(update.summary, **sums))


def test_updates_that_changed_are_refused():
    """Numbers that a mask hides included."""

    def hidden(array, at, value):
        array = np.ma.array(array, copy=True)
        array[at] = np.ma.masked
        array.data[at] = value
        return array

    model = Rounds(MODELS["gibbs"]).run().model
    update = local_update(model, X[:10], lane=0)
    words, totals, added = update.words, update.summary.totals, hidden(update.added, (0, 0), 1e200)
    for damaged in (
        with_sums(update, n_documents=np.int64(2**63 - 1)),
        with_sums(update, lane=1),
        replace(update, words=hidden(words, -1, 10**9)),
        replace(update, words=hidden(words, 3, words[2])),
        with_sums(update, totals=hidden(totals, 0, 1e30)),
        with_sums(replace(update, added=added), totals=added.filled(0.0).sum(axis=0)),
        replace(update, added=None),
        replace(update, digest=""),
    ):
        message = f"the update of lane {damaged.summary.lane} is damaged: its digest is wrong"
        assert_raises(ValueError, message, merge_updates, model, [damaged])
    assert_raises(ValueError, "is damaged", merge_updates, model, [replace(update, summary=None)])


def test_arrays_of_updates_may_be_in_any_memory_order():
    def strided(array):
        return np.repeat(array, 2, axis=-1)[..., ::2]

    model = Rounds(MODELS["gibbs"]).run().model
    update = local_update(model, X[:10], lane=0)
    merged = merge_updates(model, [update])
    for added in (strided(update.added), np.asfortranarray(update.added)):
        words, totals = strided(update.words), strided(update.summary.totals)
        laid_out = with_sums(replace(update, added=added, words=words), totals=totals)
        assert_same_bits(merge_updates(model, [laid_out]), merged)


@pytest.mark.slow
def test_total_samples_may_be_a_number_of_any_type(tmp_path):
    for total in (Fraction(200, 3), np.float16(65000)):
        models = [start_model(MODELS["gibbs"], N_WORDS, n) for n in (total, float(total))]
        for i, start in enumerate(models):
            models[i] = merge_updates(start, [local_update(start, X[:10], lane=0)]).partial_fit(X)
        models[0].save(tmp_path / "model")
        assert_same_bits(load(tmp_path / "model"), models[1])


@pytest.mark.slow
def test_updates_without_documents_only_forget():
    """And soon: at most ten seconds for as many as are allowed."""
    model, n_updates = Rounds(MODELS["streaming gibbs"]).run().model, 65536 // 8
    begin = time.process_time()
    merged = merge_updates(model, [local_update(model, X[:8], lane=0, n_updates=n_updates)])
    assert time.process_time() - begin < 10.0 / 8
    assert merged.n_batch_iter_ == model.n_batch_iter_ + n_updates
    assert_allclose(merged._state.words.store, 0.0, atol=1e-300)  # decay=0.9


def test_concentrations_are_learned_from_documents_that_are_new():
    model = start_model(MODELS["hdp"], N_WORDS, N_DOCUMENTS)
    for first in (0, 30):
        model = merge_updates(model, [local_update(model, X[first : first + 30], lane=0)])
    again = [local_update(model, X[:30], lane=0)]
    assert merge_updates(model, again, is_first_visit=False).doc_concentration_ == model.doc_concentration_
    assert merge_updates(model, again).doc_concentration_ != model.doc_concentration_
