"""Boosting: every iteration of the document step is followed by a global step from before the batch."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import digamma
from sklearn.base import clone

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference._dense import DenseCounts
from sktopic._inference._gibbs import GibbsStep
from sktopic._kernels.random._rng import combine_each, combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import MAX_ITER, TOL
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._training._minibatches import FIT_KEY
from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA, _minibatch_method

from .lda_models import mean_logs, smoothed, start_of
from .reference.dirichlet import fit_dirichlet
from .reference.variational import mean_field

X = make_bars(24, size=4, doc_length=30, random_state=0).data.toarray().astype(float)
N_TOPICS, N_WORDS, SIZE, CORPUS, ETA = 3, 16, 8, 500.0, 0.01


def make_model(**settings):
    common = {"boost": True, "topic_word_prior": ETA, "total_samples": CORPUS, "batch_size": SIZE}
    common |= {"max_iter": 1, "shuffle": False, "random_state": 3, "learning_decay": 0.65}
    common |= {"doc_topic_prior": 0.3, "prior_update": "fixed-point"}
    return OnlineEMLDA(N_TOPICS, **(common | settings))


def learned(mean_log, prior):
    """The prior of greatest likelihood given E[log theta], as far as one update goes."""
    prior = prior.copy()
    fit_dirichlet(mean_log, prior, MAX_ITER, TOL)
    return prior


@pytest.mark.parametrize("prior", [0.3, "auto"])
def test_boosted_variational_updates_equal_their_numpy_twin(monkeypatch, prior):
    monkeypatch.setattr(_minibatch_method, "PRIOR_INERTIA", 0)  # a start that counts for more hides the rest
    n_iterations = 4
    model = make_model(
        inference="variational", max_doc_update_iter=n_iterations, mean_change_tol=0.0, doc_topic_prior=prior
    )
    s = start_of(model, N_WORDS)
    alpha = clone(model).partial_fit(sp.csr_array((1, N_WORDS))).doc_topic_prior_
    mean_log = digamma(alpha) - digamma(alpha.sum())
    for t, first in enumerate(range(0, len(X), SIZE), start=1):
        batch, rho = X[first : first + SIZE], (1.0 + t) ** -model.learning_decay
        if t == 1:
            before_scaling, s = s, s * batch.sum() / SIZE / s.sum()
            present = before_scaling / CORPUS  # what the first iteration sees
        else:
            present = s
        gamma, provisional = None, alpha
        for _ in range(n_iterations):
            topics = smoothed(CORPUS * present, ETA)
            gamma, s_hat = mean_field(batch, topics, provisional, 1, gamma=gamma)
            present = (1 - rho) * s + rho * s_hat / SIZE
            if prior == "auto" and t > 1:  # the first batch is read with random topics
                elog = mean_logs(gamma).mean(axis=0)
                share = (1.0 + t - 1) ** -model.learning_decay  # steps are counted from the first that learns
                updated = (1 - share) * mean_log + share * elog
                provisional = learned(updated, provisional)
        s = present
        if prior == "auto" and t > 1:
            mean_log, alpha = updated, learned(updated, alpha)
    model.fit(X)
    assert_allclose(model.topic_word_counts_, CORPUS * s, rtol=1e-4, atol=1e-5)
    assert_allclose(model.doc_topic_prior_, alpha, rtol=1e-4)


@pytest.mark.parametrize("boost", [True, "mean"])
def test_boosted_gibbs_updates_equal_single_sweeps_with_steps_between(boost):
    """The counts that stay are the mean over the kept sweeps; "mean" also averages sweeps of the burn-in."""
    burn_in, sweeps = 3, 2
    model = make_model(boost=boost, doc_burn_in=burn_in, doc_sweeps=sweeps)
    begins = {burn_in, *(range(burn_in) if boost is True else [0])}
    s, alpha = start_of(model, N_WORDS), np.full(N_TOPICS, 0.3)
    reader = DocumentReader(canonical_counts(sp.csr_array(X)))
    seed = clone(model).partial_fit(X[:1])._seed
    with Workers(1) as workers:
        for t, first in enumerate(range(0, len(X), SIZE), start=1):
            batch, rho = reader.batch(np.arange(first, first + SIZE)), (1.0 + t) ** -model.learning_decay
            keys = batch.content_keys(combine_keys(seed, FIT_KEY, t - 1))
            present = s / CORPUS if t == 1 else s
            if t == 1:
                s = s * batch.lengths.mean() / s.sum()
            assignments = np.full(batch.n_clumps, -1, dtype=np.int32)
            kept = []
            for iteration in range(burn_in + sweeps):
                topics = TopicProbabilities.from_components(smoothed(CORPUS * present, ETA))
                gathered = topics.gather(batch.words, alpha, workers)
                step_keys = combine_each(keys, iteration)
                counts = GibbsStep(0, 1)(batch, gathered, alpha, step_keys, workers, assignments=assignments)
                dense = DenseCounts(N_WORDS, N_TOPICS, with_prior_statistics=False)
                dense.include(counts, batch.words, workers)
                dense = dense.counts.T
                kept = [dense] if iteration in begins else [*kept, dense]
                present = (1 - rho) * s + rho * np.mean(kept, axis=0) / SIZE
            s = present
    model.fit(X)
    assert_allclose(model.topic_word_counts_, CORPUS * s, rtol=1e-4, atol=1e-4)


def test_mean_field_inference_has_no_sweeps_to_average():
    with pytest.raises(ValueError, match="boost='mean' is invalid with inference='variational'"):
        make_model(inference="variational", boost="mean").fit(X)
