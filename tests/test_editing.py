"""Topics that are merged, dropped, frozen or given at the start, and training that goes on with them."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sktopic
from sktopic._estimators import _concurrency
from sktopic._estimators._editing import TopicEdit
from sktopic._training import _swept_counts
from sktopic.datasets import make_bars
from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP, OnlineEMHDP, TruncationFreeHDP
from sktopic.hdp._restaurants import SAMPLERS
from sktopic.hdp._truncation_free_method import best_sticks, edited_sticks
from sktopic.inspection import name_topics
from sktopic.lda import (
    CollapsedGibbsLDA,
    LangevinLDA,
    OnlineEMLDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
)
from sktopic.lda._collapsed_method import CollapsedLDA

from .conftest import assert_raises, fingerprint, quick, set_attribute, words_of
from .registry import CLASSES

BARS = make_bars(60, random_state=0)
X, MORE = BARS.data, make_bars(60, random_state=1).data
EDITABLE = [kind for kind in CLASSES.values() if hasattr(kind, "merge_topics")]
ESTIMATORS = [kind(n_components=6, random_state=0) for kind in EDITABLE]
LEARNED = {"doc_topic_prior": "auto", "topic_word_prior": "auto"}


@pytest.fixture(scope="module", params=ESTIMATORS, ids=repr)
def fitted(request):
    return quick(request.param).fit(X)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def masses(model):
    """What is added up when topics are merged: expected counts, or the state of a Langevin chain."""
    return words_of(model).store.T.copy() if isinstance(model, LangevinLDA) else model.topic_word_counts_


def has_fixed_number(model):
    return not type(model)._infers_number_of_topics


# Merging and dropping


def test_merged_topics_have_the_sums_and_dropped_ones_are_gone(model):
    before, prior, n = masses(model), model.doc_topic_prior_, model.n_components_
    assert model.merge_topics([[3, 0], (1, 2)]) is model
    assert model.n_components_ == n - 2
    after, components = masses(model), model.components_
    # Topics 3 and 1 are in the place of the first of each group, but for numbers by identity.
    wanted = np.vstack([before[1] + before[2], before[3] + before[0], before[4:]])
    assert_allclose(after, wanted, rtol=1e-12)
    assert_allclose(after.sum(), before.sum(), rtol=1e-12)
    if has_fixed_number(model):
        prior = np.array([prior[1] + prior[2], prior[3] + prior[0], *prior[4:]])
        assert_allclose(model.doc_topic_prior_, prior, rtol=1e-12)
    model.drop_topics([2, 1])
    left = np.delete(np.arange(n - 2), [1, 2])
    assert_array_equal(masses(model), after[left])
    assert_allclose(model.components_, components[left], rtol=1e-12)
    if has_fixed_number(model):
        assert_allclose(model.doc_topic_prior_, prior[left], rtol=1e-12)
    assert model.transform(X).shape == (60, n - 4)
    assert np.isfinite(model.partial_fit(MORE).score(X))
    if has_fixed_number(model):
        exact = model.doc_topic_prior != "auto"
        assert_allclose(model.doc_topic_prior_, prior[left], rtol=1e-12 if exact else 0.5)


def test_files_and_edits_of_edits(model, fitted, tmp_path):
    model.drop_topics([2]).merge_topics([[0, 2]]).freeze_topics([1]).partial_fit(MORE)
    model.add_features(2).drop_topics([0])
    assert model.get_params() == fitted.get_params()
    model.save(tmp_path / "model")
    loaded = sktopic.load(tmp_path / "model", mmap_mode="r")
    before = model.components_
    model.freeze_topics([0, 1])
    assert_array_equal(loaded.freeze_topics([0, 1]).components_, before)
    wider = sp.csr_matrix(sp.hstack([X, sp.csr_matrix((60, 2))]))
    assert_array_equal(loaded.transform(wider), model.transform(wider))
    for each in model, loaded:
        each.freeze_topics([1]).partial_fit(wider).freeze_topics([]).partial_fit(wider)
    assert fingerprint(vars(loaded)) == fingerprint(vars(model))
    assert fingerprint(vars(model.fit(X))) == fingerprint(vars(fitted))


def test_topics_of_the_start_are_those_there_are():
    model = OnlineEMLDA(7, max_iter=1, random_state=0).fit(X).drop_topics([1]).drop_topics([2])
    assert_array_equal(model._state.word_prior.topic_of_start, [0, -1, 1, -1, 2, 3, 4])
    single = pickle.loads(pickle.dumps(copy.deepcopy(model).drop_topics([0, 1, 2, 4])))
    assert_array_equal(single._state.word_prior.topic_of_start, [-1, -1, -1, -1, -1, 0, -1])
    for topic in (-2, 5, 2**40):
        model._state.word_prior.topic_of_start[3] = topic
        stored, message = pickle.dumps(model), "topic_of_start has other topics than the 5"
        assert_raises(ValueError, message, pickle.loads, stored, case=topic)


def test_priors_learned_go_on_after_edits():
    for rule in ("gamma", "fixed-point", "shares"):
        model = OnlineEMLDA(6, doc_topic_prior="auto", random_state=0, prior_update=rule).fit(X)
        prior = model.doc_topic_prior_
        model.merge_topics([[1, 2]]).drop_topics([0])
        assert_allclose(model.doc_topic_prior_, [prior[1] + prior[2], *prior[3:]], rtol=1e-12, err_msg=rule)
        if rule == "fixed-point":  # at once nothing changes but by what was not settled
            rule, averages = model._method().doc_prior, model._state.prior_averages
            learned = rule._fixed_point(averages, model.doc_topic_prior_)
            assert_allclose(learned, prior[[1, 3, 4, 5]] + [prior[2], 0, 0, 0], rtol=0.02)
        assert np.isfinite(model.partial_fit(MORE).doc_topic_prior_).all()


@pytest.mark.parametrize(
    "documents",
    [X, X.toarray().sum(axis=0)[None], sp.vstack([sp.csr_array((300, X.shape[1])), 20 * X[:10]])],
    ids=["corpus", "one long document", "empty documents"],
)
def test_dropped_topics_tell_nothing_of_doc_concentration(documents, tmp_path):
    fixed = {"topic_concentration": 3.0, "topic_word_prior": 0.01, "doc_concentration_prior": (0.01, 1.0)}
    fitted = CollapsedGibbsHDP(n_components=10, max_iter=3, random_state=0, **fixed).fit(documents)
    no_words = X[:1] * 0
    for drops in ([[0]], [[1, 2]], [[0], [0], [0]]):
        model, edited = copy.deepcopy(fitted), copy.deepcopy(fitted)
        for topics in drops:
            edited.drop_topics(topics)
        edited.save(tmp_path / "model")
        edited = sktopic.load(tmp_path / "model").merge_topics([[0, 1]])
        for _ in range(3):  # draws of the concentration by the same random numbers
            model.partial_fit(no_words)
            edited.partial_fit(no_words)
            assert edited.doc_concentration_ == model.doc_concentration_


def test_sticks_are_those_of_the_tables_left():
    tables = np.array([5.0, 0.5, 3.0, 2.0, 0.0])
    for edit, wanted in [
        (TopicEdit.merging(5, [[0, 3]]), [7.0, 0.5, 3.0, 0.0]),
        (TopicEdit.merging(5, [[3, 1, 0]]), [3.0, 7.5, 0.0]),
        (TopicEdit.dropping(5, [2]), [5.0, 0.5, 2.0, 0.0]),
    ]:
        assert_allclose(edited_sticks(edit, best_sticks(tables, 1.5)), best_sticks(np.array(wanted), 1.5))


def test_averages_can_be_dropped_but_not_merged():
    model = OnlineEMLDA(n_components=5, average=True, random_state=0).fit(X)
    before = model.components_
    for edit in (lambda: model.merge_topics([[0, 1]]), lambda: model.freeze_topics([0])):
        assert_raises(ValueError, "average=True", edit, case=edit)
    assert_array_equal(model.drop_topics([1]).components_, before[[0, 2, 3, 4]])


def test_number_of_a_dropped_topic_is_not_given_again():
    model = OnlineEMHDP(4, random_state=0).fit(X)
    last = model.topic_ids_.max()
    model.drop_topics([model.n_components_ - 1]).partial_fit(MORE)
    assert last not in model.topic_ids_


@pytest.mark.parametrize("split_merge", [False, True])
def test_a_dropped_theme_returns_as_another_topic_unless_topics_are_not_used_again(split_merge):
    model = HybridHDP(30, split_merge=split_merge, random_state=0).fit(BARS.data)
    name_topics(model, {0: "dropped", 1: "kept"})
    dropped = model.topic_ids_[0]
    model.drop_topics(["dropped"])
    again, never = copy.deepcopy(model), copy.deepcopy(model).set_params(reuse_topics=False)
    for _ in range(5):
        again.partial_fit(BARS.data), never.partial_fit(BARS.data)
    new = set(again.topic_ids_.tolist()) - set(model.topic_ids_.tolist())
    assert new and dropped not in new
    assert "kept" in again.topic_names_ and "dropped" not in again.topic_names_
    assert set(never.topic_ids_.tolist()) <= set(model.topic_ids_.tolist())


# Freezing


@pytest.mark.parametrize(
    "estimator",
    [
        *ESTIMATORS,
        OnlineEMLDA(6, random_state=0, learning_decay=0.0),  # each update forgets all before
        OnlineVariationalLDA(6, random_state=0, batch_size=9, **LEARNED),
        SinglePassLDA(6, random_state=0, topic_word_prior=0),
        StreamingGibbsLDA(6, random_state=0, decay=1e-60),  # scales are folded in
        CollapsedGibbsLDA(6, random_state=0, prior_interval=1, **LEARNED),
        CollapsedGibbsLDA(6, random_state=0, n_shards=3),
        CollapsedGibbsLDA(200, random_state=0, n_draws=1),
        CollapsedGibbsHDP(6, random_state=0, sampler="direct_assignment"),
        CollapsedGibbsHDP(6, random_state=0, sampler="sparse_table_indicator"),
        DirectAssignmentHDP(6, random_state=0, topic_word_prior="auto"),
    ],
    ids=repr,
)
def test_frozen_topics_stay_to_the_last_bit(estimator):
    model = quick(estimator).fit(X)
    before, counts, n = model.components_, masses(model), model.n_components_
    model.freeze_topics([1, 3])
    assert_array_equal(model.components_, before)
    ids = model._topic_identities()
    more = MORE * 0.7 if "Collapsed" in type(model).__name__ else MORE
    for documents in (more, X[:30], more[:1]):
        model.partial_fit(documents)
    at = [model._topic_identities().index(ids[k]) for k in (1, 3)]
    assert_array_equal(model.components_[at], before[[1, 3]])
    assert_array_equal(masses(model)[at], counts[[1, 3]])
    others = np.delete(model.components_, at, axis=0)
    assert len(others) != n - 2 or not np.allclose(others, np.delete(before, [1, 3], axis=0))
    learned = masses(model)
    model.freeze_topics([])
    assert_allclose(masses(model), learned, rtol=1e-12)
    assert_allclose(words_of(model).totals, words_of(model).store.sum(axis=0), rtol=1e-9)
    exact = model.topic_word_prior != "auto"
    assert_allclose(model.components_[at], before[[1, 3]], rtol=1e-9 if exact else 0.5)
    model.partial_fit(MORE)
    assert words_of(model).frozen is None
    assert not np.allclose(masses(model)[at], counts[[1, 3]])


def test_posteriors_of_frozen_topics_stay():
    for cls in (OnlineVariationalLDA, DirectAssignmentHDP, TruncationFreeHDP):
        model = quick(cls(6, random_state=0)).fit(X)
        model.freeze_topics([1])
        before = model.topic_word_posterior_[1]
        model.set_params(topic_word_prior=0.7).partial_fit(MORE)
        posterior = model.topic_word_posterior_
        assert_array_equal(posterior[1], before)
        mean = posterior / posterior.sum(axis=1, keepdims=True)
        assert_allclose(mean, model.components_, rtol=1e-12)


def test_frozen_topics_are_not_moved():
    model = DirectAssignmentHDP(3, random_state=0, max_iter=1, batch_size=20).fit(X)
    ids = model.topic_ids_
    model.freeze_topics(range(len(ids)))
    n_moves = len(model.move_history_)
    for _ in range(3):
        model.partial_fit(MORE)
    moved = model.move_history_[n_moves:]
    assert not np.isin(ids, [moved["topic"], moved["other"]]).any()
    assert set(ids) <= set(model.topic_ids_)


@pytest.mark.law
@pytest.mark.parametrize(
    ("n_topics", "prior"),
    [(3, 0.1), (200, 0.1), (3, [[2.0, 0.1, 0.1], [0.1, 0.1, 1.0], [0.1, 0.5, 0.1]])],
    ids=["rows", "lists", "matrix"],
)
def test_sampler_with_a_frozen_topic_has_the_law_enumerated(n_topics, prior, monkeypatch):
    """All assignments of three tokens of a document: frozen topics have fixed words, others are collapsed."""
    first = np.array([[1, 0, 1], [0, 1, 0]])
    alpha, beta = np.full(n_topics, 1e-6), np.broadcast_to(prior, (n_topics, 3))
    alpha[:3] = 0.8, 0.5, 0.6
    given = {"doc_topic_prior": alpha, "topic_word_prior": prior, "n_draws": 1, "random_state": 0}
    model = CollapsedGibbsLDA(n_topics, max_iter=5, **given).fit(first).freeze_topics([0])
    counts, totals = model._state.words.store.copy(), model._state.words.totals.copy()
    original, states = CollapsedLDA.swept, []

    def swept(self, state, call, workers):
        state = original(self, state, call, workers)
        states.append(tuple(call.shards[0].z.tolist()))
        return state

    monkeypatch.setattr(CollapsedLDA, "swept", swept)
    model.set_params(max_iter=4000, evaluate_every=5).partial_fit(np.array([[2, 1, 0]]))
    assert_array_equal(model._state.words.store[:, 0], counts[:, 0])
    log_joint = {}
    for z in product(range(3), repeat=3):
        n_k = np.bincount(z, minlength=n_topics)
        value = (gammaln(alpha + n_k) - gammaln(alpha)).sum()
        value += gammaln(alpha.sum()) - gammaln(alpha.sum() + 3)
        n_kw, n = counts.copy(), totals.copy()
        for w, k in zip([0, 0, 1], z):
            value += np.log((n_kw[w, k] + beta[k, w]) / (n[k] + beta[k].sum()))
            if k != 0:
                n_kw[w, k] += 1
                n[k] += 1
        log_joint[z] = value
    probability = np.exp(np.array(list(log_joint.values())))
    found = np.array([states.count(z) for z in log_joint]) / len(states)
    # Over four standard errors; 0.05 and 0.14 where no topic is frozen.
    assert np.abs(found - probability / probability.sum()).max() < 0.03
    evaluated = states[4::5]
    known = [i for i, z in enumerate(evaluated) if z in log_joint]
    assert_allclose(model.log_likelihood_[known], [log_joint[evaluated[i]] for i in known], rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        CollapsedGibbsLDA(6, random_state=0),
        CollapsedGibbsLDA(200, random_state=0),
        *(CollapsedGibbsHDP(6, random_state=0, sampler=sampler) for sampler in SAMPLERS),
    ],
    ids=repr,
)
def test_factor_of_frozen_counts_cancels(estimator, monkeypatch):
    """Samplers read counts as shares alone: another power of two, beyond all tokens, changes no bit."""
    states = []
    for factor in (2.0**200, 2.0**150):
        monkeypatch.setattr(_swept_counts, "MANY", factor)
        model = quick(estimator).fit(X).freeze_topics([0, 2]).partial_fit(MORE)
        states.append(fingerprint(vars(model)))
    assert states[0] == states[1]


# Errors


def test_edits_that_cannot_be_leave_the_model():
    model = OnlineEMLDA(6, random_state=0)
    with pytest.raises(NotFittedError):
        model.drop_topics([0])
    model.partial_fit(sp.csr_matrix((1, X.shape[1])))
    with pytest.raises(ValueError, match="has seen no words"):
        model.drop_topics([0])
    model.fit(X).freeze_topics([5])
    state = fingerprint(vars(model))
    for edit, error, message in [
        (lambda: model.merge_topics([[0, 6]]), ValueError, r"groups\[0\] has 6, .* from 0 to 5"),
        (lambda: model.merge_topics([[0, 1], [2, 1]]), ValueError, "groups has topic 1 twice"),
        (lambda: model.merge_topics([[0]]), ValueError, "at least two topics"),
        (lambda: model.merge_topics([]), ValueError, "at least two topics"),
        (lambda: model.merge_topics(2), ValueError, "groups=2 is invalid: must be lists"),
        (lambda: model.merge_topics([2, 3]), ValueError, r"groups=\[2, 3\] is invalid: must be lists"),
        (lambda: model.merge_topics([[0, 5]]), ValueError, "topic 5 is frozen"),
        (lambda: model.drop_topics(range(6)), ValueError, "at least one topic must stay"),
        (lambda: model.drop_topics("01"), TypeError, "topics='01' is invalid: must be a list"),
        (lambda: model.freeze_topics([0, 0]), ValueError, "topics has topic 0 twice"),
        (lambda: model.set_params(n_components=5).partial_fit(X), ValueError, "differs from the 6 topics"),
    ]:
        assert_raises(error, message, edit)
        model.set_params(n_components=6)
        assert fingerprint(vars(model)) == state
    with _concurrency._guard_of(model).training, pytest.raises(RuntimeError, match="is being trained"):
        model.drop_topics([0])
    tiny = OnlineEMLDA(6, learning_decay=1e-16).fit(X)
    set_attribute(tiny, "_state.total_samples", 5e-324)  # 0 times the scale of the counts
    with pytest.raises(ValueError, match="counts are beyond the range of numbers"):
        tiny.freeze_topics([0])
    model.drop_topics([])
    model.drop_topics([0]).set_params(n_components=5)
    with pytest.raises(ValueError, match="differs from the 6 topics at the start, before some were"):
        model.partial_fit(X)


# Given topics

STARTING = [each for each in ESTIMATORS if "components_init" in each.get_params()]


@pytest.mark.parametrize("estimator", STARTING, ids=repr)
def test_training_starts_from_given_topics(estimator):
    corpus = make_bars(300, random_state=2)
    given = 7.0 * corpus.components  # rows are divided by their sums
    model = quick(estimator, n_components=10, max_iter=1, components_init=given, random_state=5)
    model.fit(corpus.data)
    likeness = [np.corrcoef(*pair)[0, 1] for pair in zip(model.components_, corpus.components)]
    assert min(likeness) > (0.7 if isinstance(model, LangevinLDA) else 0.95)
    for wrong in (-given, given * 0, given * np.nan):
        with pytest.raises(ValueError, match="components_init"):
            clone(model).set_params(components_init=wrong).fit(X)


@pytest.mark.parametrize("method", ["online", "memoized"])
def test_without_a_number_of_topics_there_are_as_many_as_are_given(method):
    given = np.random.default_rng(0).random((23, X.shape[1]))
    for components in (given, given.tolist()):
        model = DirectAssignmentHDP(components_init=components, learning_method=method, split_merge=False)
        assert quick(model, n_components=None).partial_fit(X)._state.n_topics == 23
    for wrong in ([], [[1.0], [1.0, 2.0]], 7.0 * given[0], np.float64(3.0)):
        with pytest.raises(ValueError, match="components_init"):
            clone(model).set_params(components_init=wrong).fit(X)


def test_given_topics_weigh_what_random_ones_do_and_others_are_random():
    nothing = sp.csr_matrix((1, X.shape[1]))
    given = OnlineEMLDA(6, components_init=BARS.components[:2], random_state=0).partial_fit(nothing)
    random = OnlineEMLDA(6, random_state=0).partial_fit(nothing)
    given, random = given._state.words, random._state.words
    assert_allclose(given.store[:, :2], X.shape[1] * BARS.components[:2].T)
    assert_array_equal(given.store[:, 2:], random.store[:, 2:])
    assert_allclose(given.totals, random.totals, rtol=0.1)


def test_tokens_start_from_given_topics():
    disjoint = np.kron(np.eye(5), np.ones(5))[[3, 0, 4, 1, 2]]  # a word has one topic
    for cls in (CollapsedGibbsLDA, CollapsedGibbsHDP):
        model = cls(5, components_init=disjoint, random_state=0)
        method = model._method()
        state = method.start(X.shape[1], seed=0)
        state = method.entered(state, method.begin(state, X))
        occurs = np.asarray(X.sum(axis=0)).ravel()[:, None] > 0
        assert_array_equal(state.words.store[:, :5] > 0, (disjoint.T > 0) & occurs)
        assert state.words.totals.sum() == X.sum()
