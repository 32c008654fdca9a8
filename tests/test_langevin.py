"""Stochastic gradient Riemannian Langevin dynamics: the step, its size, and the state that it moves."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sktopic._inference._dense import DenseCounts
from sktopic._kernels.lda._langevin import normals
from sktopic._kernels.random._rng import combine_keys
from sktopic._training._minibatches import FIT_KEY
from sktopic.lda import LangevinLDA
from sktopic.lda._langevin import NOISE_KEY
from sktopic.lda._minibatch_method import MinibatchLDA

from .lda_models import ETA, X, new


def make_model(n_components=4, **params):
    settings = {"learning_rate": 0.5, "learning_offset": 2.0, "learning_decay": 0.7, "batch_size": 15}
    return new(LangevinLDA, n_components, **settings | params)


def chain_state(model):
    """theta of shape (n_features, n_components), unnormalized, whose sums are kept."""
    words = model._state.words
    assert_allclose(words.totals, words.store.sum(axis=0), rtol=1e-12)
    return words.store.copy()


@pytest.fixture
def recorded(monkeypatch):
    """The list of what batches count, (n_features, n_components) each, filled as a model trains."""
    recorded, original = [], MinibatchLDA.absorb

    def absorb(method, state, counts, update, workers):
        dense = DenseCounts(state.words.n_features, state.words.n_topics, with_prior_statistics=False)
        dense.include(counts.expected, counts.words, workers)
        recorded.append(dense.counts)
        return original(method, state, counts, update, workers)

    monkeypatch.setattr(MinibatchLDA, "absorb", absorb)
    return recorded


@pytest.mark.parametrize("n_components", [1, 5])
def test_each_update_is_the_step_of_the_paper_with_its_size(recorded, n_components):
    """theta <- |theta + eps / 2 (eta + n - theta (1 + n_k / theta_k)) + sqrt(eps theta) xi|.

    n is the batch's count scaled to the corpus, and eps = a (b + t)^-c for t = 1, 2, ...; words that the
    batch does not have move too. Words that are added start from their mean under the prior.
    """
    model = make_model(n_components, total_samples=200)
    model.partial_fit(sp.csr_array((1, 25)))  # sets the start; without words it is no step
    more = sp.csr_array(sp.hstack([X, 2 * X[:, :3]]))
    for t, batch in enumerate([X[:15], X[15:20], X[20:21], more[30:45], more[:7]], start=1):
        theta, added = chain_state(model), batch.shape[1] - model.n_features_in_
        if added:
            theta = np.vstack([theta, np.full((added, n_components), ETA)])
            assert_allclose(chain_state(model.add_features(added)), theta, rtol=1e-15)
        key = combine_keys(model._state.seed, FIT_KEY, model.n_batch_iter_, NOISE_KEY)
        half = (n_components + 1) // 2
        xi = [normals(combine_keys(key, word), half)[:n_components] for word in range(len(theta))]
        epsilon = 0.5 * (2.0 + t) ** -0.7
        model.partial_fit(batch)
        n = recorded[-1] * (200 / batch.shape[0])
        assert recorded[-1].sum() == pytest.approx(batch.sum(), rel=1e-6)
        pull = theta * (1 + n.sum(axis=0) / theta.sum(axis=0))
        expected = np.abs(theta + epsilon / 2 * (ETA + n - pull) + np.sqrt(epsilon * theta) * np.array(xi))
        assert_allclose(chain_state(model), expected, rtol=1e-9, atol=1e-12)
        assert_allclose(model.components_, (expected / expected.sum(axis=0)).T, rtol=1e-9, atol=1e-12)
    assert model.n_batch_iter_ == 6


def test_chain_starts_around_the_mean_of_its_prior():
    model = make_model(50).partial_fit(sp.csr_array((1, 25)))
    theta = chain_state(model)
    assert theta.mean() == pytest.approx(ETA, rel=0.02)
    assert theta.min() > 0
    # It is a sample of topics, not of counts.
    assert not hasattr(model, "topic_word_counts_") and not hasattr(model, "topic_word_posterior_")
