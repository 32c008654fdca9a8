"""Online EM for the HDP: its updates, the law of a new topic, and births."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic._kernels._groups import CountsTarget
from sktopic._kernels.random._rng import combine_keys, position_keys, uniforms
from sktopic._kernels.topics._dirichlet import fit_dirichlet
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import MAX_ITER, PRIOR_INERTIA, TOL
from sktopic._topics._word_counts import N_PARTS, no_average
from sktopic.hdp import OnlineEMHDP, _online_em_method
from sktopic.hdp._online_em_method import GrowingOnlineEM
from tests.reference import online_em_hdp as reference

from .conftest import next_update
from .lda_models import X, batch_of, watched


def make_model(**params):
    return OnlineEMHDP(**{"batch_size": 30, "max_iter": 2, "random_state": 0, **params})


def tokens_of(counts, words):
    """What a document step adds to all words and topics, those to come last."""
    n_topics = len(counts.prior)
    tokens = np.zeros((25, n_topics))
    target = CountsTarget(tokens, np.zeros((N_PARTS, n_topics)), *no_average(n_topics))
    with Workers(1) as workers:
        counts.add_to(target, words, 1.0, workers)
    return tokens


def read(model):
    """Topics (n_topics, n_features) in training, without those to come."""
    words = model._state.words
    counts = words.store[:, : len(alpha_of(model))].T * (model.total_samples_ * words.scale)
    counts += model.topic_word_prior_
    return counts / counts.sum(axis=1, keepdims=True)


def alpha_of(model):
    """The prior of topics in training, without those to come."""
    return model._state.proportions.alpha


# Documents


@pytest.mark.parametrize("max_births", [0, 1, 3, None])
def test_single_tokens_have_the_conditional_in_print(max_births):
    """Several topics to come break sticks off what a new one has; with none it is left out."""
    model = make_model(doc_concentration=3.0, max_births=max_births, topic_concentration=2.0).fit(X)
    batch, update = batch_of(np.eye(25)), next_update(model, model.total_samples_)
    with Workers(1) as workers:
        keys = position_keys(0, 0, 25)
        added = tokens_of(model._method().infer(model._state, batch, keys, update, workers), batch.words)
    alpha, phi = alpha_of(model), read(model)
    n = len(alpha)
    expected = np.array([reference.conditional(0, alpha, 3.0, phi[:, w], 25) for w in range(25)])
    if max_births == 0:
        expected[:, n] = 0.0
        expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(added[:, :n], expected[:, :n], rtol=2e-5)
    n_spare = 16 if max_births is None else max_births
    assert added.shape[1] == n + n_spare
    if n_spare:
        shares = reference.shares(1.0, uniforms(birth_key(model._state), n_spare), 2.0)
        shares[-1] = 1.0 - shares[:-1].sum()  # all behind the last one
        assert_allclose(added[:, n:], expected[:, n:] * shares, rtol=2e-5, atol=1e-10)
        assert added[:, n:].max() > 1e-4


def birth_key(state):
    """The key of the sticks of the next update."""
    return combine_keys(state.seed, _online_em_method.BIRTH_KEY, state.n_updates)


# Updates and births


@pytest.mark.parametrize(
    ("max_births", "gamma", "tokens"),
    [(0, 5.0, 0.0), (1, 0.5, 0.0), (1, 5.0, 1.0), (4, 5.0, 0.0), (None, 0.5, 1.0), (None, 5.0, 0.0)],
)
def test_topics_move_as_printed_and_are_born_when_tokens_are_drawn_to_them(
    monkeypatch, gamma, max_births, tokens
):
    settings = {"topic_concentration": gamma, "max_births": max_births, "min_birth_tokens": tokens}
    model, born = make_model(**settings).partial_fit(sp.csr_array((1, 25))), []
    seen = watched(monkeypatch, GrowingOnlineEM, "infer", lambda counts, *_: counts)
    for i in range(0, 60, 3):
        key, n, prior = birth_key(model._state), len(alpha_of(model)), model._state.proportions
        before = model._state.words.store * model._state.words.scale
        state, found = model.partial_fit(X[i : i + 3])._state, seen[-1]
        b, alpha, average = state.doc_concentration, alpha_of(model), state.proportions.log_theta
        added, drawn, t = tokens_of(found, found.batch.words), found.drawn_topics(), state.n_topic_updates
        rho, store = model._method().steps(t), state.words.store * state.words.scale
        assert_allclose(found.prior[:n], prior.alpha)
        if t == 1:  # topics were random
            assert_array_equal(alpha[:n], prior.alpha)
        else:
            assert_allclose(store[:, :n], (1 - rho) * before[:, :n] + rho * added[:, :n] / 3, rtol=1e-5)
            gains = found.prior_statistics().topic_gains[:n] / prior.alpha / 3 + digamma(prior.alpha)
            told = gains - digamma(prior.alpha.sum() + found.batch.lengths).mean()
            step = model._method().steps(PRIOR_INERTIA + t - 1)
            assert_allclose(average[:n], (1 - step) * prior.log_theta + step * told, rtol=1e-10)
            fitted = prior.alpha.copy()
            fit_dirichlet(average[:n], fitted, MAX_ITER, TOL)
            most = b * state.n_samples_seen / (state.n_samples_seen + gamma)
            assert_allclose(alpha[:n], fitted * min(1.0, most / fitted.sum()), rtol=1e-8)
        left = max(b - alpha[:n].sum(), 0.0)
        shares = reference.shares(left, uniforms(key, added.shape[1] - n), gamma)
        places = drawn[(drawn >= n) & (left > 0.0) & (added[:, drawn].sum(axis=0) >= tokens)]
        born.append(len(places))
        assert_allclose(alpha[n:], np.maximum(shares[places - n], 1e-6), rtol=1e-9)
        # Averages of new topics leave alpha as it is.
        assert_allclose(average[n:], digamma(alpha[n:]) - digamma(alpha.sum()), rtol=1e-12)
        assert_allclose(store[:, n : len(alpha)], rho * added[:, places] / 3, rtol=1e-5, atol=1e-12)
        assert not np.any(store[:, len(alpha) :])  # those to come have nothing
        if max_births is not None:
            assert store.shape[1] == len(alpha) + max_births
    assert max_births is None or max(born) <= max_births
    assert (max(born) > 0) == (max_births != 0)
    assert min(born) == 0
    assert len(alpha) == 2 + sum(born)
    assert np.all(np.diff(model.topic_ids_) > 0) and model.topic_ids_[-1] < len(alpha)
    assert alpha.sum() <= model.doc_concentration and np.all(model.doc_topic_prior_ > 0)
    assert_allclose(model.topic_weights_, model.doc_topic_prior_ / model.doc_concentration)


def test_a_batch_has_as_many_births_as_it_needs():
    """With thin sticks and hardly any weight on topics that there are, most tokens are drawn to new ones."""
    settings = {"topic_concentration": 30.0, "doc_concentration": 1e6, "min_birth_tokens": 0.0, "max_iter": 1}
    model = make_model(n_components=1, batch_size=90, **settings).fit(X)
    assert len(alpha_of(model)) > 17
    assert 16 < model._state.n_spare < 1000


def test_max_births_may_change_in_a_stream():
    model = make_model(max_births=0).partial_fit(X)
    assert len(alpha_of(model)) == 2
    model.set_params(max_births=5).partial_fit(X)
    n = len(alpha_of(model))
    assert n > 2
    model.set_params(max_births=0).partial_fit(X)
    assert len(alpha_of(model)) == n == model._state.words.n_topics
