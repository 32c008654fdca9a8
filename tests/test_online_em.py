"""Online EM for LDA: what it recovers, what it equals, and how its loop behaves."""

import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma
from sklearn.base import clone

from sktopic import load
from sktopic._inference import GibbsStep
from sktopic._state._fields import arrays_of
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._topics._word_count_views import expected_counts
from sktopic._topics._word_counts import WordCounts
from sktopic._training import _minibatches
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import HybridLDA, OnlineEMLDA
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.metrics import document_completion

from .conftest import assert_same_state, fitted_state, state

VARIANTS = {
    "gibbs": {"inference": "gibbs"},
    "gibbs boosted": {"inference": "gibbs", "boost": True},
    "variational": {"inference": "variational"},
    "variational boosted": {"inference": "variational", "boost": True},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())

SMALL = sp.csr_array(
    make_lda_documents(40, n_features=25, n_components=3, mean_length=15, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=3, **params):
    settings = {
        "doc_topic_prior": 0.3,
        "topic_word_prior": 0.01,
        "learning_decay": 0.7,
        "learning_offset": 1.0,
        "max_iter": 2,
        "batch_size": 10,
        "doc_burn_in": 4,
        "doc_sweeps": 4,
        "transform_burn_in": 10,
        "transform_sweeps": 10,
        "max_doc_update_iter": 100,
        "mean_change_tol": 1e-3,
        "random_state": 0,
    }
    return OnlineEMLDA(n_components, **{**settings, **params})


def match_topics(components, truth):
    """Pair topics one to one; return their total variation distances and, for each true one, the partner."""
    distances = 0.5 * np.abs(truth[:, None] - components[None]).sum(axis=-1)
    true, found = linear_sum_assignment(distances)
    return distances[true, found], found


def best_of(n_starts, make, X, X_held_out):
    """The best of some random starts by held-out score: EM has local optima, two topics in one."""
    models = [make(seed).fit(X) for seed in range(n_starts)]
    return max(models, key=lambda model: model.score(X_held_out))


# Recovery


@pytest.fixture(scope="module")
def bars():
    return make_bars(800, random_state=0)


@pytest.fixture(scope="module")
def more_bars():
    return make_bars(300, random_state=1)


@pytest.fixture(scope="module")
def drawn():
    return make_lda_documents(1000, n_features=150, n_components=6, mean_length=60, random_state=0)


@pytest.fixture(scope="module")
def more_drawn(drawn):
    return make_lda_documents(300, components=drawn.components, mean_length=60, random_state=1)


def recovering(n_components, variant, seed):
    return make_model(
        n_components,
        doc_topic_prior=1 / n_components,
        learning_decay=0.6,
        batch_size=25,
        max_iter=6,
        max_doc_update_iter=20,
        random_state=seed,
        **variant,
    )


@every_variant
def test_bars_are_recovered(variant, bars, more_bars):
    """With topics to spare, each bar gets one: total variation below 0.1 on average and 0.25 at most.

    The score is within 0.05 nats of the one of the bars themselves.
    """
    model = best_of(2, lambda seed: recovering(20, variant, seed), bars.data, more_bars.data)
    distances, _ = match_topics(model.components_, bars.components)
    assert distances.mean() < 0.1
    assert distances.max() < 0.25
    best = document_completion(bars.components, more_bars.data, doc_topic_prior=bars.doc_topic_prior)
    assert best - 0.05 < document_completion(model, more_bars.data) < best + 0.01
    assert best - 0.05 < model.score(more_bars.data) < best + 0.01


@every_variant
def test_topics_of_drawn_documents_are_recovered(variant, drawn, more_drawn):
    """As for the bars, with topics that share words: total variation below 0.15 on average."""
    model = best_of(2, lambda seed: recovering(12, variant, seed), drawn.data, more_drawn.data)
    distances, _ = match_topics(model.components_, drawn.components)
    assert distances.mean() < 0.15
    assert distances.max() < 0.3
    best = document_completion(drawn.components, more_drawn.data, doc_topic_prior=drawn.doc_topic_prior)
    assert best - 0.05 < document_completion(model, more_drawn.data) < best + 0.01


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_proportions_of_documents_are_recovered(inference, drawn, more_drawn):
    """With as many topics as there are: mean total variation from the proportions drawn below 0.2."""
    variant = {"inference": inference}
    model = best_of(4, lambda seed: recovering(6, variant, seed), drawn.data, more_drawn.data)
    distances, found = match_topics(model.components_, drawn.components)
    assert distances.max() < 0.25
    theta = model.transform(more_drawn.data)[:, found]
    assert 0.5 * np.abs(theta - more_drawn.doc_topic_distr).sum(axis=1).mean() < 0.2


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_score_improves_over_epochs(inference, bars, more_bars):
    """Each of the first passes gains, up to 0.01 of noise; all together at least 0.03."""
    model = recovering(20, {"inference": inference}, 0).set_params(total_samples=800, learning_offset=50.0)
    scores = [model.partial_fit(bars.data).score(more_bars.data) for _ in range(6)]
    assert np.diff(scores).min() > -0.01
    assert scores[-1] - scores[0] > 0.03


def with_learned_prior(kind, inference, corpus):
    """The best of three starts, learned long enough for the prior to settle."""
    return best_of(
        3,
        lambda seed: make_model(
            3,
            doc_topic_prior=kind,
            prior_update="fixed-point",
            inference=inference,
            learning_decay=0.6,
            batch_size=50,
            max_iter=20,
            random_state=seed,
        ),
        corpus.data,
        corpus.data,
    )


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_auto_prior_recovers_an_asymmetric_prior(inference):
    """Each entry within a factor of 1.6 of the truth; the default it starts from is 0.58."""
    truth = np.array([0.1, 0.3, 0.9])
    corpus = make_lda_documents(
        800, n_features=60, n_components=3, mean_length=60, doc_topic_prior=truth, random_state=0
    )
    model = with_learned_prior("auto", inference, corpus)
    distances, found = match_topics(model.components_, corpus.components)
    assert distances.max() < 0.25
    assert np.abs(np.log(model.doc_topic_prior_[found] / truth)).max() < np.log(1.6)


@pytest.mark.parametrize("alpha", [0.05, 0.6])
@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_symmetric_auto_prior_recovers_the_scale(inference, alpha):
    """Within a factor of 1.6."""
    corpus = make_lda_documents(
        800, n_features=60, n_components=3, mean_length=60, doc_topic_prior=alpha, random_state=0
    )
    model = with_learned_prior("auto-symmetric", inference, corpus)
    assert len(np.unique(model.doc_topic_prior_)) == 1
    assert abs(np.log(model.doc_topic_prior_[0] / alpha)) < np.log(1.6)


@pytest.mark.parametrize("train", ["fit", "partial_fit"])
def test_one_prior_for_all_topics_has_no_shares_to_learn(train):
    model = OnlineEMLDA(3, doc_topic_prior="auto-symmetric")
    with pytest.raises(ValueError, match="doc_topic_prior='auto-symmetric' with prior_update='shares'"):
        getattr(model, train)(SMALL)
    prior = getattr(model.set_params(prior_update="gamma"), train)(SMALL).doc_topic_prior_
    assert np.ptp(prior) == 0.0


def test_the_default_learns_the_shares_of_topics_and_keeps_the_sum():
    model = OnlineEMLDA(3, batch_size=10, random_state=0).fit(SMALL)
    said = clone(model).set_params(doc_topic_prior="auto", prior_update="shares").fit(SMALL)
    assert_array_equal(model.doc_topic_prior_, said.doc_topic_prior_)
    assert np.ptp(model.doc_topic_prior_) > 0.0
    assert model.doc_topic_prior_.mean() == pytest.approx(3**-0.55)
    fixed = clone(model).set_params(doc_topic_prior=None).fit(SMALL)
    assert_array_equal(fixed.doc_topic_prior_, np.full(3, 3**-0.55))


def test_prior_stays_as_given_unless_learned():
    prior = np.array([0.1, 0.2, 0.7])
    model = make_model(doc_topic_prior=prior).fit(SMALL)
    assert_array_equal(model.doc_topic_prior_, prior)
    assert_array_equal(make_model(doc_topic_prior=0.4).fit(SMALL).doc_topic_prior_, np.full(3, 0.4))
    prior[:] = 5.0
    assert model.doc_topic_prior_[0] == 0.1


def test_default_prior_is_symmetric():
    for n_components in (1, 16):
        prior = make_model(n_components, doc_topic_prior=None).fit(SMALL).doc_topic_prior_
        assert prior.shape == (n_components,)
        assert np.all(prior == prior[0]) and prior[0] > 0


# Plain NumPy twins


def variational_counts(counts, topics, prior, max_iter=2000, tol=1e-9):
    """Expected counts (n_components, n_features) of all documents, and their gamma: equations 11 and 12."""
    total = np.zeros_like(topics)
    gammas = []
    for document in counts:
        words = np.flatnonzero(document)
        c = document[words]
        gamma = prior + c.sum() / len(prior)
        for _ in range(max_iter):
            weights = topics[:, words] * np.exp(digamma(gamma) - digamma(gamma.sum()))[:, None]
            responsibilities = weights / weights.sum(axis=0)
            updated = prior + responsibilities @ c
            change = np.abs(updated - gamma).mean()
            gamma = updated
            if change < tol:
                break
        weights = topics[:, words] * np.exp(digamma(gamma))[:, None]
        total[:, words] += weights / weights.sum(axis=0) * c
        gammas.append(gamma)
    return total, np.array(gammas)


def initial_topics(model, X):
    """The topics from which the first update starts: those after documents without words."""
    start = clone(model).set_params(total_samples=X.shape[0])
    return start.partial_fit(sp.csr_array((1, X.shape[1]))).components_


def smoothed(counts, smoothing):
    counts = counts + smoothing
    return counts / counts.sum(axis=1, keepdims=True)


EXACT = {
    "inference": "variational",
    "max_doc_update_iter": 2000,
    "mean_change_tol": 1e-9,
    "batch_size": 10**6,
}


def test_one_full_batch_update_equals_its_numpy_twin():
    """With learning_offset=0 the first step is 1: the statistics are those expected in the batch."""
    X = SMALL.toarray()
    prior = np.array([0.2, 0.5, 0.9])
    model = make_model(doc_topic_prior=prior, learning_offset=0.0, max_iter=1, **EXACT)
    expected, gamma = variational_counts(X, initial_topics(model, X), prior)
    model.fit(X)
    assert_allclose(model.topic_word_counts_, expected, rtol=1e-4, atol=1e-5)
    assert_allclose(model.components_, smoothed(expected, 0.01), rtol=1e-4, atol=1e-6)
    # transform is the same inference under the new topics.
    gamma = variational_counts(X, model.components_, prior)[1]
    assert_allclose(model.transform(X), gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-4)


def test_online_updates_equal_their_numpy_twin():
    """s <- (1 - rho_t) s + rho_t s_hat over mini-batches, rho_t = (offset + t)^-decay."""
    X = SMALL.toarray()
    model = make_model(learning_decay=0.6, learning_offset=2.0, max_iter=2, shuffle=False, **EXACT)
    model.set_params(batch_size=8, total_samples=500.0)
    topics = initial_topics(model, X)
    start = clone(model).partial_fit(sp.csr_array((1, 25)))
    s = start.topic_word_counts_ / 500.0
    prior, t = np.full(3, 0.3), 0
    for _ in range(2):
        for first in range(0, 40, 8):
            batch = X[first : first + 8]
            topics = smoothed(500.0 * s, 0.01)
            s_hat = variational_counts(batch, topics, prior)[0] / 8
            if t == 0:
                # The initial noise weighs what one document does.
                s *= batch.sum() / 8 / s.sum()
            t += 1
            rho = (2.0 + t) ** -0.6
            s = (1 - rho) * s + rho * s_hat
    model.fit(X)
    assert model.n_batch_iter_ == t == 10
    assert_allclose(model.topic_word_counts_, 500.0 * s, rtol=1e-3, atol=1e-4)
    assert_allclose(model.components_, smoothed(500.0 * s, 0.01), rtol=1e-3, atol=1e-6)


def test_step_one_on_everything_is_batch_em():
    """With learning_decay=0 every step is 1, and each pass over one batch of all documents is one EM step."""
    X = SMALL.toarray()
    model = make_model(learning_decay=0.0, max_iter=5, shuffle=False, **EXACT)
    topics = initial_topics(model, X)
    for _ in range(5):
        topics = smoothed(variational_counts(X, topics, np.full(3, 0.3))[0], 0.01)
    assert_allclose(model.fit(X).components_, topics, rtol=1e-3, atol=1e-6)


def test_batch_em_beyond_one_group_of_documents_equals_its_numpy_twin():
    X = make_lda_documents(1300, n_features=20, n_components=3, mean_length=6, random_state=0).data.toarray()
    model = make_model(learning_decay=0.0, max_iter=2, shuffle=False, **EXACT)
    model.set_params(max_doc_update_iter=10, mean_change_tol=0.0)
    topics = initial_topics(model, X)
    for _ in range(2):
        topics = smoothed(variational_counts(X, topics, np.full(3, 0.3), 10, 0.0)[0], 0.01)
    assert_allclose(model.fit(X).components_, topics, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("prior", [0.3, "auto"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_groups_of_a_batch_do_not_matter(monkeypatch, inference, average, prior):
    """A batch treated group by group, to bound memory, gives what it gives as a whole, to rounding."""
    model = make_model(inference=inference, average=average, doc_topic_prior=prior, batch_size=20, max_iter=3)
    whole = clone(model).fit(SMALL)
    monkeypatch.setattr(_minibatches, "GROUP_SIZE", 6)
    grouped = clone(model).fit(SMALL)
    assert_allclose(grouped.components_, whole.components_, rtol=1e-9)
    assert_allclose(grouped.doc_topic_prior_, whole.doc_topic_prior_, rtol=1e-9)


@every_variant
def test_averaged_topics_are_the_mean_over_updates(variant):
    """The mean of normalized statistics, with next to no smoothing; 40 updates fold the scale in between."""
    settings = {"topic_word_prior": 1e-12, "learning_decay": 0.5, "max_doc_update_iter": 20, **variant}
    plain, averaged = make_model(**settings), make_model(average=True, **settings)
    snapshots = []
    for update in range(40):
        batch = SMALL[np.arange(8) + 8 * (update % 5)]
        snapshots.append(plain.partial_fit(batch).components_)
        averaged.partial_fit(batch)
        assert_allclose(averaged.components_, np.mean(snapshots, axis=0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("average", [False, True])
def test_averaging_neither_begins_nor_ends_in_training(average):
    model = make_model(average=average).partial_fit(SMALL)
    before = state(model)
    with pytest.raises(ValueError, match=f"average={not average} differs from the value at the start"):
        model.set_params(average=not average).partial_fit(SMALL)
    assert_same_state(state(model.set_params(average=average)), before)


def test_averaged_topics_survive_steps_of_one():
    settings = {"topic_word_prior": 1e-12, "learning_decay": 0.0, "inference": "variational"}
    plain, averaged = make_model(**settings), make_model(average=True, **settings)
    snapshots = []
    for update in range(4):
        batch = SMALL[10 * update : 10 * update + 10]
        snapshots.append(plain.partial_fit(batch).components_)
        averaged.partial_fit(batch)
    assert_allclose(averaged.components_, np.mean(snapshots, axis=0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "n_components"), [(OnlineEMLDA, 2), (OnlineEMLDA, 200), (HybridLDA, 2)]
)
def test_sums_of_many_sweeps_lose_no_counts(estimator, n_components):
    """More draws of one word than float32 can count."""
    model = estimator(n_components, doc_sweeps=300_000, learning_decay=0.0, random_state=0)
    model.partial_fit([[64.0, 0.0]])
    assert_allclose(model.topic_word_counts_.sum(), 64.0, rtol=1e-6)


def test_statistics_survive_a_thousand_updates():
    """The scale of the statistics falls below any float, and they stay normalized."""
    model = make_model(learning_decay=0.1, batch_size=1, max_iter=30, total_samples=40).fit(SMALL)
    assert model.n_batch_iter_ == 1200
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert 0.3 < model.topic_word_counts_.sum() / SMALL.sum() < 3


# Limits


@every_variant
def test_huge_topic_prior_gives_uniform_topics(variant):
    model = make_model(topic_word_prior=1e12, **variant).fit(SMALL)
    assert_allclose(model.components_, 1 / 25, rtol=1e-6)


@every_variant
def test_one_topic_is_the_smoothed_unigram_model(variant):
    """One step of size one over everything, and equally steps 1/t over equal batches."""
    expected = smoothed(SMALL.sum(axis=0)[None], 0.5)
    settings = {"topic_word_prior": 0.5, "learning_offset": 0.0, "max_iter": 1, **variant}
    whole = make_model(1, batch_size=40, **settings).fit(SMALL)
    assert_allclose(whole.components_, expected, rtol=1e-6)
    batches = make_model(1, batch_size=10, learning_decay=1.0, **settings).fit(SMALL)
    assert_allclose(batches.components_, expected, rtol=1e-6)


@every_variant
def test_topic_word_counts_add_up_to_the_corpus(variant):
    """With steps 1/t over equal batches every document has the same weight."""
    settings = {"learning_offset": 0.0, "learning_decay": 1.0, "max_iter": 1, "batch_size": 10, **variant}
    model = make_model(**settings).fit(SMALL)
    assert model.topic_word_counts_.shape == (3, 25)
    assert_allclose(model.topic_word_counts_.sum(axis=0), SMALL.sum(axis=0), rtol=1e-6, atol=1e-9)


def test_total_samples_weighs_the_data_against_smoothing():
    """Four times the corpus with four times the pseudo-count is the same model."""
    one = make_model(total_samples=40, topic_word_prior=0.1).fit(SMALL)
    four = make_model(total_samples=160, topic_word_prior=0.4).fit(SMALL)
    assert_allclose(four.components_, one.components_, rtol=1e-9)
    assert one.total_samples_ == 40.0
    assert four.total_samples_ == 160.0


def test_total_samples_none_is_the_corpus_in_fit_and_documents_seen_in_partial_fit():
    assert make_model(total_samples=None).fit(SMALL).total_samples_ == 40
    stream = make_model(total_samples=None)
    assert stream.partial_fit(SMALL[:10]).total_samples_ == 10
    assert stream.partial_fit(SMALL[10:35]).total_samples_ == 35


def test_topic_word_prior_may_change_between_partial_fits():
    model = make_model().partial_fit(SMALL)
    model.set_params(topic_word_prior=1e12).partial_fit(SMALL)
    assert model.topic_word_prior_ == 1e12
    assert_allclose(model.components_, 1 / 25, rtol=1e-6)


@pytest.fixture
def steps(monkeypatch):
    """Step sizes of updates that have been made."""
    made, decayed = [], WordCounts.decayed

    def note(self, factor):
        made.append(1.0 - factor)
        return decayed(self, factor)

    monkeypatch.setattr(WordCounts, "decayed", note)
    return made


def power_steps(n, decay=0.65):
    return (1.0 + np.arange(1, n + 1)) ** -decay


def bent_steps(n):
    return np.minimum(power_steps(n), 4.0 / np.arange(1, n + 1))


def test_steps_bend_in_the_first_pass_alone(steps):
    OnlineEMLDA(2, batch_size=1, max_iter=2, random_state=0).fit(np.ones((80, 3)))
    assert_allclose(steps, [*bent_steps(80), *power_steps(160)[80:]])
    assert (bent_steps(80) < power_steps(80)).sum() > 20


def test_steps_of_a_stream_bend_until_it_has_the_size_of_the_corpus(steps):
    for total_samples, n_bent in ((None, 80), (60, 60), (1000, 80)):
        model = OnlineEMLDA(2, batch_size=1, total_samples=total_samples, random_state=0)
        for _ in range(2):
            model.partial_fit(np.ones((40, 3)))
        assert_allclose(steps, [*bent_steps(n_bent), *power_steps(80)[n_bent:]])
        steps.clear()


def test_steps_go_on_where_training_does(steps, tmp_path):
    """In a saved model; and after fit, in documents by weight, where more come than the corpus had."""
    model = OnlineEMLDA(2, batch_size=1, random_state=0).partial_fit(np.ones((70, 3)))
    model.save(tmp_path / "model")
    load(tmp_path / "model").partial_fit(np.ones((10, 3)))
    assert_allclose(steps, bent_steps(80))
    steps.clear()
    settings = {"batch_size": 1, "max_iter": 1, "total_samples": 180, "random_state": 0}
    model = OnlineEMLDA(2, **settings).fit(np.ones((80, 3)), sample_weight=2.0)
    model.partial_fit(np.ones((30, 3)))
    assert_allclose(steps, [*bent_steps(100), *power_steps(110)[100:]])


def test_steps_with_a_decay_that_is_given_do_not_bend(steps):
    OnlineEMLDA(2, batch_size=1, max_iter=1, learning_decay=0.65, random_state=0).fit(np.ones((80, 3)))
    assert_allclose(steps, power_steps(80))


def test_shuffling_visits_every_document_once_a_pass(monkeypatch):
    batches = []
    original = _minibatches.train_on_batch

    def train_on_batch(run, reader, rows, update, **given):
        batches.append(np.array(rows))
        return original(run, reader, rows, update, **given)

    monkeypatch.setattr(_minibatches, "train_on_batch", train_on_batch)
    make_model(shuffle=True, max_iter=3, batch_size=15).fit(SMALL)
    assert [len(batch) for batch in batches] == [15, 15, 10] * 3
    epochs = [np.concatenate(batches[i : i + 3]) for i in (0, 3, 6)]
    for epoch in epochs:
        assert_array_equal(np.sort(epoch), np.arange(40))
    assert np.any(epochs[0] != epochs[1]) and np.any(epochs[1] != epochs[2])
    batches.clear()
    make_model(shuffle=False, max_iter=2, batch_size=15).fit(SMALL)
    assert_array_equal(np.concatenate(batches), np.tile(np.arange(40), 2))


# Early stop and progress


def test_early_stopping_stops_and_reports_scores(bars):
    model = recovering(20, {}, 0).set_params(
        early_stopping=True, max_iter=60, tol=0.005, n_iter_no_change=2, validation_fraction=0.2
    )
    model.fit(bars.data)
    assert 3 <= model.n_iter_ < 60
    scores = model.validation_scores_
    assert scores.shape == (model.n_iter_,)
    # Neither of the last two passes improved on the best before it by more than tol.
    assert scores[-2] <= scores[:-2].max() + 0.005
    assert scores[-1] <= scores[:-1].max() + 0.005
    assert scores[-3] > scores[:-3].max() + 0.005
    assert model.n_samples_seen_ == model.n_iter_ * 640
    assert model.total_samples_ == 640


def test_without_early_stopping_all_passes_are_made():
    model = make_model(early_stopping=False, max_iter=4, tol=1e9, n_iter_no_change=1).fit(SMALL)
    assert model.n_iter_ == 4
    assert not hasattr(model, "validation_scores_")


def test_refit_without_early_stopping_has_no_validation_scores():
    model = make_model(early_stopping=True).fit(SMALL)
    assert hasattr(model, "validation_scores_")
    assert not hasattr(model.set_params(early_stopping=False).fit(SMALL), "validation_scores_")


def test_early_stopping_waits_for_n_iter_no_change():
    for patience in (1, 3):
        model = make_model(early_stopping=True, max_iter=20, tol=1e9, n_iter_no_change=patience).fit(SMALL)
        # The first score improves on nothing, whatever tol is.
        assert model.n_iter_ == 1 + patience


def test_silent_by_default(capsys):
    make_model(verbose=0, early_stopping=True).fit(SMALL).partial_fit(SMALL).transform(SMALL)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


# scikit-learn's callbacks


class Recorder:
    """Notes what is reported, and asks to stop after some task."""

    def __init__(self, stop_after=None):
        self.events = []
        self.models = []
        self.scores = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name} {context.task_id}")
        self.models.append(fitted_estimator)
        self.scores.append(fitted_estimator.score(X))
        return (context.task_name, context.task_id) == self.stop_after

    def ends(self, name):
        return [event for event in self.events if event.startswith(f"end {name}")]


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")


@pytest.mark.usefixtures("callbacks")
def test_callbacks_see_epochs_and_updates():
    recorder = Recorder()
    model = make_model(max_iter=2, batch_size=15).set_callbacks(recorder).fit(SMALL)
    epoch = [f"{when} update {i}" for i in range(3) for when in ("begin", "end")]
    expected = ["setup", "begin fit 0"]
    for i in range(2):
        expected += [f"begin epoch {i}", *epoch, f"end epoch {i}"]
    assert recorder.events == [*expected, "end fit 0", "teardown"]
    assert recorder.scores[-1] == model.score(SMALL)
    assert len(set(recorder.scores)) >= 6
    # Models that a callback keeps do not go on learning.
    assert [kept.score(SMALL) for kept in recorder.models] == recorder.scores


@pytest.mark.usefixtures("callbacks")
def test_callbacks_get_all_that_is_fitted_in_arrays_of_their_own():
    class Keeping(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.scores.append(estimator.components_.copy())
            self.models.append(fitted_estimator)

    recorder = Keeping()
    model = make_model(batch_size=15).set_callbacks(recorder).fit(SMALL)
    for components, kept in zip(recorder.scores, recorder.models):
        assert_array_equal(kept.components_, components)
    # The models differ in nothing that training sets, and can be trained apart.
    last = recorder.models[-1]
    found, wanted = (
        {name: value for name, value in fitted_state(each).items() if "callback" not in name}
        for each in (last, model)
    )
    assert_same_state(found, wanted)
    for name, own in arrays_of(model._state).items():
        assert not any(np.shares_memory(own, arrays_of(kept._state)[name]) for kept in recorder.models)
    before = model.components_
    last.partial_fit(SMALL)
    assert_array_equal(model.components_, before)


@pytest.mark.usefixtures("callbacks")
def test_callbacks_do_not_change_the_result():
    watched = make_model().set_callbacks(Recorder()).fit(SMALL)
    assert_array_equal(watched.components_, make_model().fit(SMALL).components_)


@pytest.mark.usefixtures("callbacks")
def test_callback_can_stop_the_fit_after_an_epoch():
    recorder = Recorder(stop_after=("epoch", 1))
    model = make_model(max_iter=10).set_callbacks(recorder).fit(SMALL)
    assert model.n_iter_ == len(recorder.ends("epoch")) == 2
    assert recorder.events[-2:] == ["end fit 0", "teardown"]
    assert_array_equal(model.components_, make_model(max_iter=2).fit(SMALL).components_)


@pytest.mark.usefixtures("callbacks")
def test_callback_that_stops_after_an_update_ends_that_level():
    """scikit-learn: a stop ends the present level of iterations, here the updates of one epoch."""
    recorder = Recorder(stop_after=("update", 1))
    model = make_model(max_iter=2, batch_size=10).set_callbacks(recorder).fit(SMALL)
    assert len(recorder.ends("update")) == 4
    assert model.n_batch_iter_ == 4
    assert np.isfinite(model.transform(SMALL)).all()


@pytest.mark.usefixtures("callbacks")
def test_callbacks_are_torn_down_when_fit_is_interrupted(monkeypatch):
    interrupt_at(monkeypatch, 3)
    recorder = Recorder()
    with pytest.raises(KeyboardInterrupt):
        make_model().set_callbacks(recorder).fit(SMALL)
    assert recorder.events[-1] == "teardown"


def test_scoring_monitor_logs_every_epoch(callbacks):
    monitor = callbacks.ScoringMonitor(scoring={"score": lambda model, X, y: model.score(X, y)})
    make_model(max_iter=3).set_callbacks(monitor).fit(SMALL, np.zeros(40))
    logs = monitor.get_logs()
    rows = (logs[0] if isinstance(logs, list) else logs).data
    epochs = [row["score"] for row in rows if row["task_name"] == "epoch"]
    assert len(epochs) == 3
    assert np.isfinite(epochs).all()


# Interrupts


def interrupt_at(monkeypatch, update):
    """Raise KeyboardInterrupt in the document step of some update, counted from 1."""
    calls = []
    original = MinibatchLDA.infer

    def infer(method, *arguments):
        calls.append(1)
        if len(calls) == update:
            raise KeyboardInterrupt
        return original(method, *arguments)

    monkeypatch.setattr(MinibatchLDA, "infer", infer)


@pytest.mark.parametrize("n_jobs", [1, 2])
@every_variant
def test_interrupt_keeps_the_last_complete_update(monkeypatch, variant, n_jobs):
    settings = {"shuffle": False, "batch_size": 5, "total_samples": 40, "n_jobs": n_jobs, **variant}
    expected = make_model(**settings).partial_fit(SMALL[:20])
    with monkeypatch.context() as patch:
        interrupt_at(patch, 5)
        model = make_model(**settings)
        with pytest.raises(KeyboardInterrupt):
            model.fit(SMALL)
    assert model.n_batch_iter_ == 4
    assert model.n_samples_seen_ == 20
    assert_array_equal(model.components_, expected.components_)
    assert np.isfinite(model.transform(SMALL)).all()
    # Training goes on as if nothing had happened.
    assert_array_equal(
        model.partial_fit(SMALL[20:]).components_, expected.partial_fit(SMALL[20:]).components_
    )


def test_interrupt_before_the_first_update_leaves_a_usable_model(monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 1)
        model = make_model()
        with pytest.raises(KeyboardInterrupt):
            model.fit(SMALL)
    assert model.n_batch_iter_ == 0
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.transform(SMALL)).all()
    assert np.isfinite(model.partial_fit(SMALL).score(SMALL))


def test_interrupted_partial_fit_keeps_the_last_complete_update(monkeypatch):
    settings = {"batch_size": 5, "total_samples": 40}
    expected = make_model(**settings).partial_fit(SMALL[:20])
    with monkeypatch.context() as patch:
        interrupt_at(patch, 5)
        model = make_model(**settings)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(SMALL)
    assert model.n_batch_iter_ == 4
    assert_array_equal(model.components_, expected.components_)


def signal_while_absorbing(monkeypatch, update):
    """Send ourselves SIGINT while some update, counted from 1, is being entered."""
    calls = []
    original = MinibatchLDA.absorb

    def absorb(method, *arguments):
        calls.append(1)
        if len(calls) == update:
            signal.raise_signal(signal.SIGINT)
        return original(method, *arguments)

    monkeypatch.setattr(MinibatchLDA, "absorb", absorb)


@pytest.fixture
def _interruptible():
    """Python's own handler of SIGINT, whatever the tests were started from."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_signal_during_an_update_is_delivered_after_it(monkeypatch):
    settings = {"shuffle": False, "batch_size": 5, "total_samples": 40, "average": True}
    expected = make_model(**settings).partial_fit(SMALL[:15])
    with monkeypatch.context() as patch:
        signal_while_absorbing(patch, 3)
        model = make_model(**settings)
        with pytest.raises(KeyboardInterrupt):
            model.fit(SMALL)
    assert model.n_batch_iter_ == 3
    assert model.n_samples_seen_ == 15
    assert_array_equal(model.components_, expected.components_)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signal_handler_of_the_user_is_called_and_kept(monkeypatch):
    arrived = []

    def handler(number, frame):
        arrived.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        with monkeypatch.context() as patch:
            signal_while_absorbing(patch, 3)
            model = make_model().fit(SMALL)
        assert arrived == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert_array_equal(model.components_, make_model().fit(SMALL).components_)


def test_fit_works_outside_the_main_thread():
    model = make_model(n_jobs=2)
    errors = []

    def run():
        try:
            model.fit(SMALL)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not errors
    assert_array_equal(model.components_, make_model().fit(SMALL).components_)


def test_later_passes_know_how_often_documents_are_in_the_topics(monkeypatch):
    """Of documents with a word of their own each, the statistics tell."""
    n = 400
    counts = sp.hstack([sp.csr_array(np.eye(n)), np.ones((n, 1))], format="csr")
    found, known = [], []
    infer, step = MinibatchLDA.infer, GibbsStep.__call__

    def counting(method, state, batch, keys, update, workers):
        own_words = batch.words[batch.words < n]
        tokens = expected_counts(state.words, method.unit(state, update.total_samples))[own_words]
        found.append(tokens.sum(axis=1).mean())
        return infer(method, state, batch, keys, update, workers)

    def knowing(inference, batch, topics, *arguments):
        known.append(topics.left_out.often.mean() if topics.left_out is not None else 0.0)
        return step(inference, batch, topics, *arguments)

    monkeypatch.setattr(MinibatchLDA, "infer", counting)
    monkeypatch.setattr(GibbsStep, "__call__", knowing)
    OnlineEMLDA(3, max_iter=12, batch_size=20, random_state=0).fit(counts)
    known, there = (np.reshape(each, (12, -1)) for each in (known, found))
    assert np.all(known[0] == 0.0)
    np.testing.assert_allclose(known[4:].mean(), there[4:].mean(), rtol=0.05)
    np.testing.assert_allclose(known[4:].mean(axis=0), there[4:].mean(axis=0), atol=0.15)


def in_several_passes(n_components, sample_weight=None):
    """A model without smoothing, and its counts, in which each document has a word of its own."""
    counts = sp.hstack([sp.csr_array(3 * np.eye(60)), np.ones((60, 3))], format="csr")
    model = OnlineEMLDA(n_components, topic_word_prior=0, max_iter=4, batch_size=7, random_state=0)
    return model.fit(counts, sample_weight=sample_weight), counts


@pytest.mark.parametrize("n_components", [1, 2])
def test_words_of_one_document_stay_in_topics_without_smoothing(n_components):
    """Where a document's own tokens are left out, nothing else would be there to draw from."""
    model, counts = in_several_passes(n_components)
    assert_allclose(model.topic_word_counts_.sum(), counts.sum(), rtol=0.01)
    assert np.isfinite(model.score(counts))


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
def test_of_own_tokens_a_millionth_is_left_or_the_smoothing(smoothing):
    token = np.array([0.1, 0.2])
    topics = TopicProbabilities(np.ones((4, 2)), token, np.full(2, smoothing), token=token)
    often = np.array([0.0, 0.5, 0.25])
    assert_allclose(topics.left_out(often, np.zeros(1)).smoothing, np.maximum(smoothing, 1e-6 * 0.5 * token))
    assert_array_equal(topics.left_out(often[:0], np.zeros(1)).smoothing, smoothing)


def test_own_tokens_are_left_out_whatever_all_documents_count():
    model, _ = in_several_passes(5)
    light, _ = in_several_passes(5, sample_weight=2.0**-30)
    assert_array_equal(light.components_, model.components_)
