"""Left-to-right estimates: unbiased where they claim it, exact in the limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels.inference._left_to_right import left_to_right
from tests.kernels.tools import (
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    joined,
    random_corpus,
    random_topics,
    repeated,
)
from tests.reference import left_to_right as reference
from tests.reference.enumeration import Enumeration
from tests.reference.rng import Stream


def run(corpus, *settings):
    """Nats of the documents, which come in pieces; settings: n_particles, n_resampling, product_inside."""
    given = corpus.rows, corpus.cumulative, corpus.log_norm, corpus.prior
    pieces = (
        [left_to_right(corpus.piece(first, last), *given, corpus.keys[first:last], *settings)]
        for first, last in corpus.pieces
    )
    return joined(pieces)[0]


for_both_estimates = pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])


@for_both_estimates
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(
    ("n_topics", "n_particles", "n_resampling"), [(1, 1, 1), (3, 4, 0), (20, 2, 1), (5, 1, 2)]
)
def test_estimates_are_those_of_the_reference(n_topics, n_particles, n_resampling, counts, product_inside):
    given = {"n_topics": n_topics, "n_cells": {"unit": 12, "small": 6, "mixed": 2}[counts], "counts": counts}
    corpus, single = (random_corpus(n_topics, 7, dtype=dtype, **given) for dtype in (np.float64, np.float32))
    settings = n_particles, n_resampling, product_inside
    expected = reference.left_to_right(*corpus.documents, corpus.phi, corpus.prior, corpus.keys, *settings)
    assert_allclose(run(corpus, *settings), expected, rtol=1e-10)
    if counts != "mixed":
        assert_allclose(run(single, *settings), expected, rtol=1e-5)
    assert np.all(expected[np.diff(corpus.indptr) == 0] == 0)
    if n_topics == 1:  # the likelihood of unigrams
        unigrams = np.zeros(7)
        np.add.at(unigrams, corpus.cell_document, corpus.cell_count * np.log(corpus.phi[corpus.cell_word, 0]))
        assert_allclose(expected, unigrams, rtol=1e-10)


# Tokens, topics and prior with a strong dependence between positions.
PHI = np.array([[0.7, 0.1, 0.1], [0.2, 0.8, 0.1], [0.1, 0.1, 0.8]])
PRIOR = np.array([0.3, 0.2, 0.1])
TINY = {"five tokens": [2, 2, 1], "four tokens": [1, 3], "three of a kind": [3]}


def tiny(name, n_copies, dtype, seed):
    counts = TINY[name]
    corpus = repeated(counts, PHI[: len(counts)], PRIOR, n_copies, dtype, key=seed)
    return corpus, Enumeration(np.repeat(np.arange(len(counts)), counts), PHI, PRIOR).evidence


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize("n_particles", [1, 4])
@pytest.mark.parametrize("name", TINY)
def test_mean_of_unbiased_estimates_is_the_probability_of_the_document(name, n_particles, seed):
    corpus, evidence = tiny(name, 40_000, np.float32, 100 + seed)
    ratio = np.exp(run(corpus, n_particles, 0, True)) / evidence
    assert_within(ratio, 1.0, 3 if seed == 0 else 5)
    # What that says: below half a per cent.
    assert ratio.std() / 40_000**0.5 < 0.005


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize("name", TINY)
def test_wallach_estimates_converge_as_resampling_grows(name, seed):
    corpus, evidence = tiny(name, 30, np.float64, 200 + seed)
    error = run(corpus, 3000, 12, False) - np.log(evidence)
    assert_within(error, 0.0, 5)
    assert abs(error.mean()) < 0.02
    if name == "three of a kind":  # without resampling, the bias is four per cent: twenty standard errors
        error = run(corpus, 3000, 0, False) - np.log(evidence)
        once = run(corpus, 3000, 1, False) - np.log(evidence)
        assert error.mean() < -0.02
        assert abs(once.mean()) < 0.5 * abs(error.mean())


@for_both_precisions
@for_both_estimates
def test_one_token_is_exact(product_inside, dtype):
    """Also one of a weight, and one that is impossible."""
    phi = np.vstack([PHI, np.zeros(3)])
    corpus = Corpus(
        np.arange(5), np.arange(4, dtype=np.int32), np.array([1.0, 1.0, 0.4, 1.0]), phi, PRIOR, dtype
    )
    with np.errstate(divide="ignore"):
        log_p = np.log(phi @ PRIOR / PRIOR.sum()) * corpus.cell_count
    for n_particles in (1, 7):
        assert_allclose(run(corpus, n_particles, 2, product_inside), log_p, rtol=1e-6)


@for_both_estimates
def test_long_documents_stay_finite(product_inside):
    topics = random_topics(np.random.default_rng(0), 300, 10, 0.05)
    result = run(repeated(np.full(300, 4.0), topics, np.full(10, 0.1), 1), 2, 0, product_inside)
    assert np.all(np.isfinite(result)) and np.all(result < -745)  # its exponential is not


def test_orders_of_the_tokens_are_equally_likely():
    orders = [tuple(reference.shuffled(range(4), Stream(key))) for key in range(10_000)]
    _, observed = np.unique(orders, axis=0, return_counts=True)
    assert_distributed(observed, np.full(24, 1 / 24))
