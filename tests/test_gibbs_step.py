"""The sweep from which the chains of documents start."""

import numpy as np
import pytest
import scipy.sparse as sp

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference import GibbsInference, GibbsStep, _gibbs
from sktopic._kernels.random._rng import combine_each
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities

PRIOR = np.array([0.1, 0.2, 0.05, 0.4])


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


def documents_and_topics(n_topics=4):
    counts = np.random.default_rng(0).poisson(0.6, (30, 20)).astype(np.float64)
    batch = DocumentReader(canonical_counts(sp.csr_array(counts))).batch(np.arange(30))
    topics = np.random.default_rng(1).dirichlet(np.full(20, 0.3), n_topics)
    return batch, TopicProbabilities.from_components(topics)


@pytest.mark.parametrize("dense_bytes", [_gibbs.DENSE_BYTES, 0], ids=["dense", "sparse"])
def test_the_first_sweep_is_one_with_eight_times_the_prior(dense_bytes, workers, monkeypatch):
    batch, topics = documents_and_topics()
    monkeypatch.setattr(_gibbs, "DENSE_BYTES", dense_bytes)
    keys, z, larger = batch.content_keys(0), batch.unassigned(), 8.0 * PRIOR
    start = topics.gather(batch.words, larger, workers)
    GibbsStep(0, 1)(batch, start, larger, combine_each(keys, 0), workers, assignments=z)
    gathered = topics.gather(batch.words, PRIOR, workers)
    expected = GibbsStep(2, 3)(batch, gathered, PRIOR, keys, workers, assignments=z)
    counts = GibbsStep(3, 3, spread=True)(batch, gathered, PRIOR, keys, workers)
    for d in range(30):
        np.testing.assert_allclose(counts.topic_weights(d), expected.topic_weights(d), rtol=1e-6)


def test_inference_samples_as_training_does(workers):
    batch, topics = documents_and_topics()
    keys = batch.content_keys(0)
    given = batch, topics.gather(batch.words, PRIOR, workers), PRIOR, keys, workers
    inference = GibbsInference(3, 3, spread=True)
    counts, by_cell = GibbsStep(3, 3, spread=True)(*given), inference.by_cell(*given)
    expected = PRIOR + np.array([counts.topic_weights(d).sum(axis=0) / 3 for d in range(30)])
    for d in range(30):
        np.testing.assert_array_equal(by_cell.topic_weights(d), counts.topic_weights(d))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(inference(*given).proportions(), expected, rtol=1e-5)


def test_above_192_topics_the_first_sweep_is_like_others(workers):
    prior, (batch, topics) = np.full(193, 0.05), documents_and_topics(193)
    given = batch, topics.gather(batch.words, prior, workers), prior, batch.content_keys(0), workers
    counts = [GibbsStep(3, 3, spread=spread)(*given).topic_weights(0) for spread in (False, True)]
    np.testing.assert_array_equal(*counts)
