"""Stochastic gradient Riemannian Langevin dynamics: the step, its size, and the posterior it samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sktopic._inference import DenseCounts
from sktopic._kernels.lda._langevin import normals
from sktopic._kernels.random._rng import combine_keys
from sktopic._training import _minibatches
from sktopic._training._minibatches import FIT_KEY
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import LangevinLDA
from sktopic.lda._langevin import NOISE_KEY
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.metrics import document_completion

ETA, ALPHA = 0.07, 0.3
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "learning_rate": 0.5,
        "learning_offset": 2.0,
        "learning_decay": 0.7,
        "batch_size": 15,
        "shuffle": False,
        "random_state": 0,
    }
    return LangevinLDA(n_components, **{**settings, **params})


def chain_state(model):
    """theta of shape (n_features, n_components), unnormalized."""
    return np.array(model._state.words.store)


def recorded_counts(monkeypatch):
    """The list of what batches count, (n_features, n_components) each, filled as a model trains."""
    recorded = []
    original = MinibatchLDA.absorb

    def absorb(method, state, counts, update, workers):
        dense = DenseCounts(state.words.n_features, state.words.n_topics, with_prior_statistics=False)
        dense.include(counts.expected, counts.words, workers)
        recorded.append(dense.counts)
        return original(method, state, counts, update, workers)

    monkeypatch.setattr(MinibatchLDA, "absorb", absorb)
    return recorded


@pytest.mark.parametrize("n_components", [1, 4, 5])
def test_each_update_is_the_step_of_the_paper_with_its_size(monkeypatch, n_components):
    """theta <- |theta + eps / 2 (eta + n - theta (1 + n_k / theta_k)) + sqrt(eps theta) xi|.

    n is the batch's count scaled to the corpus, and eps = a (b + t)^-c for t = 1, 2, ...; words that the
    batch does not have move too.
    """
    recorded = recorded_counts(monkeypatch)
    model = make_model(n_components, total_samples=200)
    model.partial_fit(sp.csr_array((1, 25)))  # sets the start; without words it is no step
    for t, batch in enumerate([X[:15], X[15:20], X[20:21], X[30:45]], start=1):
        theta = chain_state(model)
        key = combine_keys(model._state.seed, FIT_KEY, model.n_batch_iter_, NOISE_KEY)
        half = (n_components + 1) // 2
        xi = np.array([normals(combine_keys(key, word), half)[:n_components] for word in range(25)])
        epsilon = 0.5 * (2.0 + t) ** -0.7
        model.partial_fit(batch)
        n = recorded[-1] * (200 / batch.shape[0])
        assert recorded[-1].sum() == pytest.approx(batch.sum(), rel=1e-6)
        pull = theta * (1 + n.sum(axis=0) / theta.sum(axis=0))
        expected = np.abs(theta + epsilon / 2 * (ETA + n - pull) + np.sqrt(epsilon * theta) * xi)
        assert_allclose(chain_state(model), expected, rtol=1e-9, atol=1e-12)
        assert_allclose(model.components_, (expected / expected.sum(axis=0)).T, rtol=1e-9, atol=1e-12)
    assert model.n_batch_iter_ == 5


def test_batches_beyond_one_group_make_the_same_step(monkeypatch):
    """A batch counted group by group, to rounding of float32 counts."""
    counts = make_lda_documents(1500, n_features=25, n_components=4, mean_length=6, random_state=0).data
    whole = make_model(batch_size=1500, max_iter=2).fit(counts)
    monkeypatch.setattr(_minibatches, "GROUP_SIZE", 300)
    grouped = make_model(batch_size=1500, max_iter=2).fit(counts)
    assert_allclose(grouped.components_, whole.components_, rtol=1e-6)


@pytest.mark.parametrize("learning_decay", [0.0, 0.6])
@pytest.mark.parametrize("learning_rate", [1e-6, 1e-3, 1.0, 1e3])
def test_state_stays_finite_and_positive(learning_rate, learning_decay):
    model = make_model(
        learning_rate=learning_rate, learning_decay=learning_decay, learning_offset=0.0, max_iter=30
    ).fit(X)
    theta = chain_state(model)
    assert np.isfinite(theta).all() and theta.min() > 0
    assert_allclose(model._state.words.totals, theta.sum(axis=0), rtol=1e-9)
    assert np.isfinite(model.score(X))
    assert_allclose(model.components_.sum(axis=1), 1.0)


def test_tiny_steps_move_next_to_nothing():
    model = make_model(learning_rate=1e-12).partial_fit(X[:15])
    before = model.components_
    for _ in range(5):
        model.partial_fit(X)
    after = model.components_
    assert np.abs(after - before).max() > 0
    assert_allclose(after, before, rtol=1e-3)


def test_steps_shrink_by_the_schedule():
    """With the same noise, the first moves of two chains differ by the square root of their step sizes."""
    moves = []
    for rate in (1e-10, 4e-10):
        model = make_model(learning_rate=rate)
        start = chain_state(make_model(learning_rate=rate).partial_fit(sp.csr_array((1, 25))))
        model.partial_fit(X[:15])
        moves.append(chain_state(model) - start)
    assert_allclose(moves[1], 2 * moves[0], rtol=1e-2, atol=1e-9)


def test_chain_starts_around_the_mean_of_its_prior():
    theta = chain_state(make_model(50).partial_fit(sp.csr_array((1, 25))))
    assert theta.mean() == pytest.approx(ETA, rel=0.02)
    assert theta.min() > 0


def run_chain(monkeypatch, model, counts, n_burn_in):
    """components_ after every update of fit but the first ones."""
    states = []
    original = MinibatchLDA.absorb

    def absorb(method, *arguments):
        state = original(method, *arguments)
        states.append(state.words.store.copy())
        return state

    with monkeypatch.context() as patch:
        patch.setattr(MinibatchLDA, "absorb", absorb)
        model.fit(counts)
    theta = np.array(states[n_burn_in:])
    return theta / theta.sum(axis=1, keepdims=True)


def test_one_topic_is_sampled_from_its_dirichlet_posterior(monkeypatch):
    """Mean and spread of eta plus the counts' Dirichlet, with small constant steps.

    About a hundred independent samples: the mean within five standard errors, the deviation within a third.
    """
    counts = np.array([[1, 4, 0, 7], [0, 2, 1, 9], [3, 2, 0, 11]])
    model = make_model(
        1, topic_word_prior=2.0, learning_rate=0.015, learning_decay=0.0, max_iter=6000, batch_size=3
    )
    phi = run_chain(monkeypatch, model, counts, 300)[:, :, 0]
    posterior = 2.0 + counts.sum(axis=0)
    mean = posterior / posterior.sum()
    deviation = np.sqrt(mean * (1 - mean) / (posterior.sum() + 1))
    assert np.all(np.abs(phi.mean(axis=0) - mean) < 5 * deviation / np.sqrt(100))
    assert np.abs(np.log(phi.std(axis=0) / deviation)).max() < np.log(4 / 3)


def test_without_words_the_prior_is_sampled(monkeypatch):
    """Documents of one word in a vocabulary of four: the others keep to their prior."""
    model = make_model(
        1, topic_word_prior=3.0, learning_rate=0.05, learning_decay=0.0, max_iter=5000, batch_size=1
    )
    phi = run_chain(monkeypatch, model, np.array([[1, 0, 0, 0]]), 500)[:, :, 0]
    assert_allclose(phi.mean(axis=0), np.array([4, 3, 3, 3]) / 13, atol=0.04)


def test_mini_batches_are_scaled_to_the_corpus(monkeypatch):
    """Batches of one of three documents with the same words: the posterior of the whole corpus.

    The state swings about it more, but not beside it.
    """
    counts = np.tile([4, 8, 1, 12], (3, 1))
    model = make_model(
        1, topic_word_prior=2.0, learning_rate=0.01, learning_decay=0.0, max_iter=1500, batch_size=1
    )
    phi = run_chain(monkeypatch, model, counts, 300)[:, :, 0]
    posterior = 2.0 + counts.sum(axis=0)
    assert_allclose(phi.mean(axis=0), posterior / posterior.sum(), atol=0.03)


def test_noise_does_not_depend_on_workers_or_on_the_words_of_a_batch():
    """A word's noise is its own: the same whichever documents the batch has."""
    models = [make_model(learning_rate=1e-10) for _ in range(2)]
    start = chain_state(make_model().partial_fit(sp.csr_array((1, 25))))
    moves = [
        chain_state(model.partial_fit(batch)) - start for model, batch in zip(models, (X[:15], X[30:45]))
    ]
    assert_allclose(moves[0], moves[1], rtol=1e-2, atol=1e-8)
    assert np.abs(moves[0]).max() > 1e-6


def test_no_counts_are_kept():
    """The state is a sample of topics, not of counts."""
    model = make_model().fit(X)
    assert not hasattr(model, "topic_word_counts_")
    assert not hasattr(model, "topic_word_posterior_")


def test_bars_are_learned_to_near_the_score_of_the_truth():
    """Within 0.1 nats per hidden word of the bars themselves, by each of two chains."""
    bars, more_bars = make_bars(500, random_state=0), make_bars(200, random_state=1)
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    for seed in (0, 1):
        model = LangevinLDA(15, doc_topic_prior=0.1, random_state=seed, max_iter=10, learning_rate=0.1)
        model.fit(bars.data)
        assert best - 0.1 < document_completion(model, more_bars.data) < best + 0.01
        assert best - 0.1 < model.score(more_bars.data) < best + 0.01
