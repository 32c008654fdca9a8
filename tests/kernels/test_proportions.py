"""Topic proportions of sampled documents, and their predictions."""

import numpy as np
import pytest

from sktopic._kernels._groups import Chains, Sweeps
from sktopic._kernels.inference._proportions import log_predictive, sampled_proportions
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from tests.kernels.tools import (
    ALONE,
    ROUNDING,
    assert_within,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    repeated,
)
from tests.reference import proportions as reference
from tests.reference.enumeration import Enumeration
from tests.reference.gibbs import dense


def sampled(corpus, n_burn_in, n_sweeps):
    """column_indptr, column_topic, values, fixed."""
    given = corpus.rows, corpus.cumulative, corpus.prior, Chains(corpus.keys, corpus.unassigned())
    return sweep_documents(corpus.documents, *given, Sweeps(n_burn_in, n_sweeps), ALONE)[:-1]


def proportions(corpus, result, n_sweeps):
    return sampled_proportions(corpus.indptr, corpus.cell_word, *result, corpus.rows, corpus.prior, n_sweeps)


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 2, 33])
def test_proportions_are_those_of_the_reference(n_topics, counts, dtype):
    corpus = random_corpus(n_topics, 20, n_topics=n_topics, counts=counts, dtype=dtype)
    result = sampled(corpus, 2, 3)
    theta = proportions(corpus, result, 3)
    expected, _ = dense(corpus.indptr, corpus.cell_word, corpus.rows, corpus.prior, *result)
    np.testing.assert_allclose(
        theta, reference.sampled_proportions(corpus.indptr, expected, corpus.prior, 3), rtol=ROUNDING[dtype]
    )
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-13)
    assert theta.dtype == np.float64 and np.all(theta > 0)
    # Normalizing changes next to nothing, as expected counts sum to the document's length.
    lengths = corpus.prior.sum() + corpus.lengths
    unnormalized = theta * lengths[:, None] - corpus.prior
    np.testing.assert_allclose(
        unnormalized.sum(axis=1), corpus.lengths, rtol=100 * ROUNDING[dtype], atol=1e-12
    )


@for_both_precisions
def test_empty_document_gets_the_prior_mean(dtype):
    corpus = random_corpus(0, 12, dtype=dtype)
    theta = proportions(corpus, sampled(corpus, 1, 1), 1)
    empty = corpus.lengths == 0
    assert np.any(empty)
    mean = corpus.prior / corpus.prior.sum()
    np.testing.assert_allclose(theta[empty], np.tile(mean, (empty.sum(), 1)), rtol=1e-14)


@for_each_seed
@for_both_precisions
def test_proportions_have_the_posterior_mean(dtype, seed):
    phi, prior = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3], [0.2, 0.5, 0.6]]), np.array([0.2, 0.7, 1.5])
    corpus = repeated([3.0, 1.0, 1.0], phi, prior, 20_000, dtype, key=seed)
    theta = proportions(corpus, sampled(corpus, 20, 10), 10)
    # 20,000 independent chains: three means within 5 standard errors.
    assert_within(theta, Enumeration([0, 0, 0, 1, 2], phi, prior).mean_theta(), 5)


@pytest.mark.parametrize("n_topics", [1, 2, 33])
def test_log_predictive_is_that_of_the_reference(n_topics):
    corpus = random_corpus(n_topics, 20, n_topics=n_topics)
    theta = np.random.default_rng(0).dirichlet(np.ones(n_topics), 20)
    expected = reference.log_predictive(*corpus.documents, theta, corpus.phi)
    np.testing.assert_allclose(log_predictive(*corpus.documents, theta, corpus.phi), expected, rtol=1e-12)
    piece = log_predictive(*corpus.piece(5, 13), theta[5:13], corpus.phi)
    np.testing.assert_allclose(piece, expected[5:13], rtol=1e-12)


def test_log_predictive_of_an_impossible_word_is_minus_infinity_and_of_no_words_zero():
    indptr = np.array([0, 1, 1, 2])
    result = log_predictive(
        indptr,
        np.array([0, 1], np.int32),
        np.ones(2),
        np.full((3, 2), 0.5),
        np.array([[0.0, 0.0], [0.5, 0.5]]),
    )
    np.testing.assert_array_equal(result, [-np.inf, 0.0, np.log(0.5)])
