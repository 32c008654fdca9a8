"""Topic proportions of sampled documents, and their predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels._groups import Chains, Sweeps
from sktopic._kernels.inference._proportions import log_predictive, sampled_proportions
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from tests.kernels.tools import (
    ALONE,
    ROUNDING,
    TINY,
    TINY_TOKENS,
    assert_within,
    for_both_precisions,
    for_each_seed,
    joined,
    random_corpus,
    tiny,
)
from tests.reference import proportions as reference
from tests.reference.enumeration import Enumeration
from tests.reference.gibbs import dense


def proportions(corpus, n_burn_in, n_sweeps):
    """What a document step sums, and the proportions."""
    given = corpus.rows, corpus.cumulative, corpus.prior, Chains(corpus.keys, corpus.unassigned())
    *sums, _ = sweep_documents(corpus.documents, *given, Sweeps(n_burn_in, n_sweeps), ALONE)
    cells = corpus.indptr, corpus.cell_word
    return sums, sampled_proportions(*cells, *sums, corpus.rows, corpus.prior, n_sweeps)


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 2, 33])
def test_proportions_are_those_of_the_reference(n_topics, counts, dtype):
    """Documents without words get the mean of the prior."""
    corpus = random_corpus(n_topics, 20, n_topics=n_topics, counts=counts, dtype=dtype)
    sums, theta = proportions(corpus, 2, 3)
    expected, _ = dense(corpus.indptr, corpus.cell_word, corpus.rows, corpus.prior, *sums)
    expected = reference.sampled_proportions(corpus.indptr, expected, corpus.prior, 3)
    assert_allclose(theta, expected, rtol=ROUNDING[dtype])
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-13)
    assert theta.dtype == np.float64 and np.all(theta > 0)


@pytest.mark.law
@for_each_seed
@for_both_precisions
def test_proportions_have_the_posterior_mean(dtype, seed):
    """20,000 independent chains: three means within 5 standard errors."""
    _, theta = proportions(tiny(3, seed, dtype), 20, 10)
    assert_within(theta, Enumeration(TINY_TOKENS, *TINY[3]).mean_theta(), 5)


@pytest.mark.parametrize("n_topics", [1, 2, 33])
def test_log_predictive_is_that_of_the_reference(n_topics):
    """With a document without words, and an impossible word."""
    corpus = random_corpus(n_topics, 20, n_topics=n_topics)
    theta = np.random.default_rng(0).dirichlet(np.ones(n_topics), 20)
    corpus.phi[corpus.cell_word[-1]] = 0.0

    def predict(first, last):
        return [log_predictive(*corpus.piece(first, last), theta[first:last], corpus.phi)]

    (found,) = joined(predict(*piece) for piece in corpus.pieces)
    with np.errstate(divide="ignore"):
        expected = reference.log_predictive(*corpus.documents, theta, corpus.phi)
    assert_allclose(found, expected, rtol=1e-12)
    assert found[1] == 0.0 and np.any(found == -np.inf)
