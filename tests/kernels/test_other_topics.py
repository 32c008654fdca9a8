"""Tokens of a topic in the other topics against the NumPy twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels._groups import WindowTokens
from sktopic._kernels.hdp._other_topics import compare_with_others, token_likelihoods
from tests.reference import other_topics as reference

ETA, N_FEATURES, N_TOPICS = 0.3, 9, 6


def window(seed=0, n=90, n_documents=7, whole=False):
    """document, word, topic, size, document_weight."""
    rng = np.random.default_rng(seed)
    document = np.sort(np.append(np.arange(n_documents), rng.integers(0, n_documents, n - n_documents)))
    word, topic = rng.integers(0, N_FEATURES, n), rng.integers(0, N_TOPICS, n)
    size = np.ones(n) if whole else rng.choice([0.25, 1.0, 3.0], n)
    weight = np.ones(n_documents) if whole else rng.choice([0.5, 1.0, 2.0], n_documents)
    return document, word, topic, size, weight


def grouped(document, word, topic, size, weight):
    first = np.searchsorted(document, np.arange(len(weight) + 1))
    types = word.astype(np.int32), topic.astype(np.int32)
    return WindowTokens(first, *types, size, weight, np.minimum(weight, 1.0))


def parameters(seed):
    rng = np.random.default_rng(seed)
    return rng.random(N_TOPICS), rng.dirichlet(np.ones(N_FEATURES), N_TOPICS).T.copy()


def likelihoods(given, prior, phi, ranges):
    found = np.empty(len(given[0]))
    for first, last in ranges:
        token_likelihoods(grouped(*given), prior, phi, found, first, last)
    return found


def test_likelihoods_of_tokens_are_sums_over_topics():
    given, (prior, phi) = window(2), parameters(3)
    document, word, topic, size, _ = given
    found = likelihoods(given, prior, phi, [(3, 7), (0, 3)])
    weights = reference.token_weights(document, topic, size, prior)
    assert_allclose(found, (weights[document] * phi[word]).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e-130])
def test_a_topic_is_compared_with_others_as_in_the_reference(whole, scale):
    """Also if the topic is more probable by factors whose product is too large for a float."""
    given, (prior, phi) = window(1, whole=whole), parameters(4)
    document, word, topic, size, weight = given
    k, there = 2, np.array([True, True, False, True, False, True])
    phi *= scale
    found = sum(
        compare_with_others(
            documents=some,
            tokens=grouped(*given),
            number=k,
            prior=prior[k],
            words=np.bincount(word, (topic == k) * size * weight[document], N_FEATURES),
            other_prior=prior * there,
            phi=phi,
            likelihood=likelihoods(given, prior, phi, [(0, 7)]),
            topic_word_prior=ETA,
        )
        for some in np.split(np.unique(document[topic == k]), [2])
    )
    assert found == pytest.approx(reference.compare_with_others(*given, k, prior, there, phi, ETA), rel=1e-10)
