"""The deterministic single-pass algorithm: what it equals, and the equation its prior solves."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import OnlineEMLDA, SinglePassLDA
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.metrics import document_completion

X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)
SETTINGS = {
    "batch_size": 15,
    "topic_word_prior": 0.05,
    "max_doc_update_iter": 30,
    "random_state": 0,
    "shuffle": False,
}
CONVERGED = {"max_doc_update_iter": 3000, "mean_change_tol": 1e-7}


def make_model(n_components=4, **params):
    return SinglePassLDA(n_components, **{**SETTINGS, **params})


def captured(monkeypatch):
    """The list of what document steps return, filled as a model trains."""
    steps = []
    original = MinibatchLDA.infer

    def infer(method, *arguments):
        steps.append(original(method, *arguments))
        return steps[-1]

    monkeypatch.setattr(MinibatchLDA, "infer", infer)
    return steps


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shuffle": True, "max_iter": 3},
        {"doc_topic_prior": 0.3},
        {"doc_topic_prior": "auto-symmetric", "prior_shape": 2.0, "prior_rate": 0.5},
        {"total_samples": 500, "batch_size": 7},
        {"early_stopping": True, "max_iter": 4},
    ],
    ids=repr,
)
def test_single_pass_is_online_em_with_its_choices_made(settings):
    """Bit for bit, topics, prior and answers."""
    settings = {**SETTINGS, "doc_topic_prior": "auto", "max_iter": 1, **settings}
    choices = {
        "inference": "variational",
        "boost": True,
        "prior_update": "gamma",
        "learning_decay": 1.0,
        "learning_offset": 0.0,
    }
    one, other = SinglePassLDA(4, **settings).fit(X), OnlineEMLDA(4, **choices, **settings).fit(X)
    for model in (one, other):
        model.partial_fit(X[:20])
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.topic_word_counts_, other.topic_word_counts_)
    assert_array_equal(one.doc_topic_prior_, other.doc_topic_prior_)
    assert_array_equal(one.transform(X), other.transform(X))
    assert one.score(X) == other.score(X)


def test_choices_are_no_parameters():
    names = SinglePassLDA().get_params().keys()
    fixed = {"inference", "boost", "prior_update", "learning_decay", "learning_offset", "average"}
    assert not fixed & names
    assert names <= OnlineEMLDA().get_params().keys()


def expected_counts(step, n_features):
    """What a document step adds to the statistics, dense: (n_components, n_features)."""
    counts = np.zeros((n_features, step.gamma.shape[1]))
    rows, document = step.batch.words[step.batch.cell_word], step.batch.cell_document()
    weights = step.expectation[document] * step.topics.rows[step.batch.cell_word] * step.share[:, None]
    np.add.at(counts, rows, weights)
    return counts.T


def test_statistics_are_the_plain_average_of_the_batches(monkeypatch):
    """Steps of 1 / t: the mean over batches of the mean over a batch's documents, and no initial noise."""
    steps = captured(monkeypatch)
    model = make_model(total_samples=60)
    batches = [X[:15], X[15:22], X[22:23], X[23:60]]
    for t, batch in enumerate(batches, start=1):
        model.set_params(batch_size=batch.shape[0]).partial_fit(batch)
        assert model.n_batch_iter_ == t == len(steps)
        means = [expected_counts(step, 25) / step.batch.n_documents for step in steps]
        assert_allclose(model.topic_word_counts_, 60 * np.mean(means, axis=0), rtol=1e-6, atol=1e-9)
        # All of a batch's tokens are in its counts.
        assert means[-1].sum() * batch.shape[0] == pytest.approx(batch.sum(), rel=1e-6)


def test_batches_without_words_do_not_count():
    """Neither before the first words, when topics are still noise, nor in between."""
    nothing = sp.csr_array((3, 25))
    settings = {"total_samples": 60, "topic_word_prior": 0.0, "batch_size": 20}
    plain, broken = make_model(**settings), make_model(**settings)
    broken.partial_fit(nothing)
    for batch in (X[:20], X[20:40], X[40:60]):
        plain.partial_fit(batch)
        broken.partial_fit(batch).partial_fit(nothing)
    assert_allclose(broken.topic_word_counts_, plain.topic_word_counts_, rtol=1e-9)
    assert_allclose(plain.topic_word_counts_.sum(axis=0), X.sum(axis=0), rtol=1e-5)


def gamma_averages(steps):
    """Averages over batches of a_k and b (see below), from the Dirichlet parameters of documents.

    The first batch is read with random topics and says nothing about the prior; instead of it the starting
    value counts like ten batches.
    """
    averages = [np.append(steps[0].prior, 1.0)] * 10
    for step in steps[1:]:
        gamma, prior = step.gamma[step.batch.lengths > 0], step.prior
        a = prior * (digamma(gamma) - digamma(prior)).mean(axis=0)
        b = (digamma(gamma.sum(axis=1)) - digamma(prior.sum())).mean()
        averages.append(np.append(a, b))
    return np.mean(averages, axis=0)


@pytest.mark.parametrize("kind", ["auto", "auto-symmetric"])
@pytest.mark.parametrize(("shape", "rate"), [(1.0, 1.0), (3.0, 20.0), (1.0, 0.0)])
def test_prior_follows_from_averages_over_all_batches(monkeypatch, shape, rate, kind):
    """alpha_k = (shape - 1 + D a_k) / (rate + D b), with total_samples for D.

    a_k is the average of alpha_k (psi(gamma_k) - psi(alpha_k)) over documents and batches, b that of
    psi(sum gamma) - psi(sum alpha).
    """
    steps = captured(monkeypatch)
    prior = {"doc_topic_prior": kind, "prior_shape": shape, "prior_rate": rate}
    model = make_model(**prior, total_samples=400, batch_size=65)
    # Documents without words say nothing.
    counts = sp.csr_array(sp.vstack([X[:20], sp.csr_array((5, 25)), X[20:]]))
    model.partial_fit(counts[:13])
    assert_array_equal(model.doc_topic_prior_, np.full(4, 4**-0.55))
    for first in range(13, 65, 6):
        model.partial_fit(counts[first : first + 6])
        *a, b = gamma_averages(steps)
        above = shape - 1 + 400 * np.array(a)
        if kind == "auto-symmetric":
            above = np.full(4, above.mean())
        assert_allclose(model.doc_topic_prior_, above / (rate + 400 * b), rtol=1e-6)
    assert np.abs(np.log(model.doc_topic_prior_ / 4**-0.55)).max() > 0.1


def test_prior_of_a_batch_is_iterated_with_its_topics(monkeypatch):
    """The alpha that follows from a batch is the one its documents were inferred with: both sides agree."""
    steps = captured(monkeypatch)
    model = make_model(batch_size=20, max_iter=12, **CONVERGED).fit(X[:20])
    assert_allclose(steps[-1].prior, model.doc_topic_prior_, rtol=1e-3)
    assert np.abs(np.log(steps[-1].prior / 4**-0.55)).max() > 0.1


def test_strong_gamma_prior_rules():
    """Its mode (shape - 1) / rate, where it weighs more than all documents."""
    model = make_model(prior_shape=1e9 + 1, prior_rate=2e9, batch_size=5).fit(X)
    assert_allclose(model.doc_topic_prior_, 0.5, rtol=1e-4)


def test_nothing_but_the_initial_topics_is_random():
    """Documents of a batch may come in any order."""
    order = np.random.RandomState(0).permutation(60)
    one = make_model(batch_size=60).fit(X)
    other = make_model(batch_size=60).fit(X[order])
    assert_allclose(other.components_, one.components_, rtol=1e-3, atol=1e-6)


def test_bars_are_learned_to_near_the_score_of_the_truth():
    """Within 0.15 nats per hidden word of the bars themselves, by the best of three starts."""
    bars, more_bars = make_bars(800, random_state=0), make_bars(200, random_state=1)
    models = [
        SinglePassLDA(15, random_state=seed, max_iter=4, max_doc_update_iter=30).fit(bars.data)
        for seed in range(3)
    ]
    model = max(models, key=lambda model: model.score(bars.data))
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.15 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.15 < model.score(more_bars.data) < best + 0.01
