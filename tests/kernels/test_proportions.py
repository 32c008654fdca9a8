"""Topic proportions of sampled documents, their predictions, and the most probable topics of cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import Chains, Sweeps
from sktopic._kernels.inference._proportions import log_predictive, sampled_proportions
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from sktopic._kernels.inference._top_topics import choose_topics
from tests.kernels.tools import ALONE, ROUNDING, for_both_precisions, joined, random_corpus
from tests.reference import proportions as reference
from tests.reference.gibbs import dense

for_each_size = pytest.mark.parametrize("n_topics", [1, 2, 33])


@for_both_precisions
@for_each_size
def test_proportions_are_those_of_the_reference(n_topics, dtype):
    """Documents without words get the mean of the prior."""
    corpus = random_corpus(n_topics, 20, n_topics=n_topics, dtype=dtype)
    given = corpus.rows, corpus.cumulative, corpus.prior, Chains(corpus.keys, corpus.unassigned())
    *sums, _ = sweep_documents(corpus.documents, *given, Sweeps(2, 3), ALONE)
    cells = corpus.indptr, corpus.cell_word
    theta = sampled_proportions(*cells, *sums, corpus.rows, corpus.prior, 3)
    expected, _ = dense(corpus, *sums)
    expected = reference.sampled_proportions(corpus.indptr, expected, corpus.prior, 3)
    assert_allclose(theta, expected, rtol=ROUNDING[dtype])
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-13)
    assert theta.dtype == np.float64 and np.all(theta > 0)


@for_each_size
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


@for_both_precisions
@pytest.mark.parametrize("n_chosen", [1, 3, 6])
def test_choice_of_topics_is_that_of_the_reference(n_chosen, dtype):
    weights = np.random.default_rng(0).integers(0, 5, (200, 6)).astype(dtype)  # with many ties
    weights[:, 2] += dtype(0.1)
    wider = np.concatenate([weights, np.zeros((200, 10), dtype)], axis=1)
    topics, probabilities = np.empty((200, n_chosen), np.int32), np.empty((200, n_chosen))
    choose_topics(wider[:, :6], topics, probabilities)
    expected = reference.choose_topics(weights, n_chosen)
    assert_array_equal(topics, expected[0])
    assert_allclose(probabilities, expected[1], rtol=1e-14)
