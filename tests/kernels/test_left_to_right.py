"""Left-to-right estimates: unbiased where they claim it, exact in the limits."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels.inference._left_to_right import left_to_right
from tests.kernels.tools import (
    Corpus,
    assert_within,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    random_topics,
    repeated,
)
from tests.reference import left_to_right as reference
from tests.reference import moment_matching
from tests.reference.enumeration import Enumeration


def run(corpus, *settings):
    """Nats of the documents, which come in pieces; settings: n_particles, n_resampling, product_inside."""
    given = corpus.rows, corpus.cumulative, corpus.log_norm, corpus.prior
    keys = [corpus.keys[slice(*piece)] for piece in corpus.pieces]
    given = [(corpus.piece(*piece), *given, key) for piece, key in zip(corpus.pieces, keys)]
    return np.concatenate([left_to_right(*each, *settings) for each in given])


for_both_estimates = pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])


@for_both_estimates
@pytest.mark.parametrize(
    ("n_topics", "n_particles", "n_resampling", "counts", "n_cells"),
    [(1, 1, 1, "small", 6), (3, 4, 0, "mixed", 2), (20, 2, 1, "small", 6), (5, 1, 2, "unit", 12)],
)
def test_estimates_are_those_of_the_reference(
    n_topics, n_particles, n_resampling, counts, n_cells, product_inside
):
    given = {"n_topics": n_topics, "n_cells": n_cells, "counts": counts}
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


def tiny(counts, n_copies, dtype, seed):
    corpus = repeated(counts, PHI[: len(counts)], PRIOR, n_copies, dtype, key=seed)
    return corpus, Enumeration(np.repeat(np.arange(len(counts)), counts), PHI, PRIOR).evidence


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize(("counts", "n_particles"), [([2, 2, 1], 1), ([2, 2, 1], 4), ([3], 4)])
def test_mean_of_unbiased_estimates_is_the_probability_of_the_document(counts, n_particles, seed):
    """To half a per cent, by 40,000 documents."""
    corpus, evidence = tiny(counts, 40_000, np.float32, 100 + seed)
    ratio = np.exp(run(corpus, n_particles, 0, True)) / evidence
    assert_within(ratio, 1.0, 3 if seed == 0 else 5)
    assert ratio.std() / 40_000**0.5 < 0.005


@pytest.mark.law
@for_each_seed
def test_wallach_estimates_converge_as_resampling_grows(seed):
    """Without resampling, the bias is four per cent: twenty standard errors."""
    corpus, evidence = tiny([3], 30, np.float64, 200 + seed)
    error, once, never = (run(corpus, 3000, n, False) - np.log(evidence) for n in (12, 1, 0))
    assert_within(error, 0.0, 5)
    assert abs(error.mean()) < 0.02
    assert never.mean() < -0.02
    assert abs(once.mean()) < 0.5 * abs(never.mean())


@for_both_precisions
@for_both_estimates
def test_one_token_is_exact(product_inside, dtype):
    """Also one of a weight, and one that is impossible."""
    phi = np.vstack([PHI, np.zeros(3)])
    cells = np.arange(5), np.arange(4, dtype=np.int32), np.array([1.0, 1.0, 0.4, 1.0])
    corpus = Corpus(*cells, phi, PRIOR, dtype)
    with np.errstate(divide="ignore"):
        log_p = np.log(phi @ PRIOR / PRIOR.sum()) * corpus.cell_count
    for n_particles in (1, 7):
        assert_allclose(run(corpus, n_particles, 2, product_inside), log_p, rtol=1e-6)


@for_both_estimates
def test_long_documents_stay_finite(product_inside):
    topics = random_topics(np.random.default_rng(0), 300, 10, 0.05)
    result = run(repeated(np.full(300, 4.0), topics, np.full(10, 0.1), 1), 2, 0, product_inside)
    assert np.all(np.isfinite(result)) and np.all(result < -745)  # its exponential is not


def stream_of(numbers):
    numbers = iter(numbers)
    return SimpleNamespace(below=lambda n: next(numbers))


def test_each_order_of_tokens_comes_from_as_many_numbers_as_any_other():
    """In the references, whose draws are those of the kernels."""
    orders = {tuple(reference.shuffled(range(4), stream_of(x))) for x in product([0], *map(range, (2, 3, 4)))}
    others = [list(range(4)) for _ in range(24)]
    for order, numbers in zip(others, product(*map(range, (4, 3, 2)))):
        moment_matching.shuffle(order, stream_of(numbers))
    assert len(orders) == len(set(map(tuple, others))) == 24
