"""The sweep from which the chains of documents start."""

import numpy as np
import pytest
import scipy.sparse as sp

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference import _gibbs
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._kernels._groups import Chains
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


every_kernel = pytest.mark.parametrize("n_topics", [4, _gibbs.DENSE_TOPICS + 1], ids=["dense", "sparse"])


def documents_and_topics(n_topics):
    counts = np.random.default_rng(0).poisson(0.6, (30, 20)).astype(np.float64)
    batch = DocumentReader(canonical_counts(sp.csr_array(counts))).batch(np.arange(30))
    topics = np.random.default_rng(1).dirichlet(np.full(20, 0.3), n_topics)
    return batch, TopicProbabilities.from_components(topics)


@every_kernel
def test_the_first_of_the_discarded_sweeps_is_a_draw_by_words_alone(n_topics, workers):
    prior, (batch, topics) = np.full(n_topics, 0.1), documents_and_topics(n_topics)
    keys, z = batch.content_keys(0), batch.unassigned()
    gathered = topics.gather(batch.words, prior, workers)
    _gibbs.assign_by_words(batch, gathered, prior, Chains(keys, z), workers)
    expected = GibbsStep(2, 3)(batch, gathered, prior, keys, workers, assignments=z)
    counts = GibbsStep(3, 3, by_words=True)(batch, gathered, prior, keys, workers)
    for d in range(30):
        np.testing.assert_array_equal(counts.topic_weights(d), expected.topic_weights(d))


@every_kernel
def test_inference_samples_as_training_does(n_topics, workers):
    prior, (batch, topics) = np.linspace(0.02, 0.4, n_topics), documents_and_topics(n_topics)
    given = batch, topics.gather(batch.words, prior, workers), prior, batch.content_keys(0), workers
    inference = GibbsInference(3, 3, by_words=True)
    counts, by_cell = GibbsStep(3, 3, by_words=True)(*given), inference.by_cell(*given)
    expected = prior + np.array([counts.topic_weights(d).sum(axis=0) / 3 for d in range(30)])
    for d in range(30):
        np.testing.assert_array_equal(by_cell.topic_weights(d), counts.topic_weights(d))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(inference(*given).proportions(), expected, rtol=1e-5)
