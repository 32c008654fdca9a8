"""Left-to-right estimates: unbiased where they claim it, exact in the limits."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels._groups import Particles
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


def run(corpus, n_particles, n_resampling, product_inside, burn_in=0, n_given=None):
    """Nats of the documents, which come in pieces, and their standard errors."""
    given = corpus.rows, corpus.cumulative, corpus.log_norm, corpus.prior
    n_given = np.zeros(corpus.n_documents, dtype=np.int64) if n_given is None else n_given
    particles = Particles(n_particles, burn_in, n_resampling, product_inside)
    found = []
    for piece in corpus.pieces:
        documents = slice(*piece)
        own = corpus.keys[documents], n_given[documents]
        found.append(left_to_right(corpus.piece(*piece), *given, *own, particles))
    return np.concatenate(found, axis=1)


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
    documents = *corpus.documents, corpus.phi, corpus.prior, corpus.keys
    n_cells = np.diff(corpus.indptr)
    # No cell is given, or some are, or all.
    for n_given, burn_in in ((0 * n_cells, 0), (n_cells // 2, 3), (n_cells, 1)):
        particles = Particles(n_particles, burn_in, n_resampling, product_inside)
        expected = reference.left_to_right(*documents, n_given, particles)
        found = run(corpus, *settings, burn_in, n_given)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        if counts != "mixed":
            assert_allclose(run(single, *settings, burn_in, n_given)[0], expected[0], rtol=1e-5)
        assert np.all(expected[0, n_cells == n_given] == 0)
        if n_topics == 1:  # the likelihood of unigrams
            is_given = np.arange(len(corpus.cell_word)) - corpus.indptr[corpus.cell_document]
            is_given = is_given < n_given[corpus.cell_document]
            logs = np.log(corpus.phi[corpus.cell_word, 0]) * corpus.cell_count * ~is_given
            assert_allclose(found[0], np.bincount(corpus.cell_document, logs, 7), rtol=1e-10)


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
    ratio = np.exp(run(corpus, n_particles, 0, True)[0]) / evidence
    assert_within(ratio, 1.0, 3 if seed == 0 else 5)
    assert ratio.std() / 40_000**0.5 < 0.005


@pytest.mark.law
@for_each_seed
def test_wallach_estimates_converge_as_resampling_grows(seed):
    """Without resampling, the bias is four per cent: twenty standard errors."""
    corpus, evidence = tiny([3], 30, np.float64, 200 + seed)
    error, once, never = (run(corpus, 3000, n, False)[0] - np.log(evidence) for n in (12, 1, 0))
    assert_within(error, 0.0, 5)
    assert abs(error.mean()) < 0.02
    assert never.mean() < -0.02
    assert abs(once.mean()) < 0.5 * abs(never.mean())


# Given tokens: words 0 and 1, twice. Hidden tokens: words 0, 1 and 2.
GIVEN, HIDDEN = [0, 0, 1, 1], [0, 1, 2]


def completion(n_copies, seed):
    """Copies of the document, its number of given cells, and the exact probability of the hidden tokens."""
    cells = np.tile(np.array([0, 1, 0, 1, 2], dtype=np.int32), n_copies)
    counts = np.tile([2.0, 2.0, 1.0, 1.0, 1.0], n_copies)
    corpus = Corpus(5 * np.arange(n_copies + 1), cells, counts, PHI, PRIOR, np.float64, seed)
    whole, part = (Enumeration(words, PHI, PRIOR).evidence for words in (GIVEN + HIDDEN, GIVEN))
    return corpus, np.full(n_copies, 2), whole / part


@pytest.mark.law
@for_each_seed
def test_hidden_tokens_have_their_joint_probability(seed):
    """Unbiased without resampling, if the burn-in is long; and within two per cent with much resampling.

    The product of the marginal probabilities is a third more.
    """
    corpus, n_given, expected = completion(20_000, 300 + seed)
    ratio = np.exp(run(corpus, 2, 0, True, 40, n_given)[0]) / expected
    assert_within(ratio, 1.0, 3 if seed == 0 else 5)
    assert ratio.std() / 20_000**0.5 < 0.01
    corpus, n_given, _ = completion(30, 400 + seed)
    error = run(corpus, 3000, 12, False, 40, n_given)[0] - np.log(expected)
    assert abs(error.mean()) < 0.02
    theta = Enumeration(GIVEN, PHI, PRIOR).mean_theta()
    assert np.log(PHI[HIDDEN] @ theta).sum() - np.log(expected) > 0.2


@pytest.mark.law
@for_each_seed
@for_both_estimates
def test_standard_errors_are_the_spread_of_estimates(product_inside, seed):
    """Of 2000 copies of a document, to five per cent; where nothing is random, they are zero.

    All hidden tokens have the same word, so that their order does not matter.
    """
    n_resampling = 0 if product_inside else 1
    for counts, given in (([4.0], 0), ([2.0, 1.0, 3.0], 2)):
        corpus = repeated(counts, PHI[: len(counts)], PRIOR, 2000, key=500 + seed)
        n_given = np.full(2000, given)
        estimates, errors = run(corpus, 500, n_resampling, product_inside, 10, n_given)
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(estimates.std(), rel=0.05)
    same = Corpus(*corpus.documents, np.full((3, 3), 1 / 3), PRIOR)
    assert_allclose(run(same, 5, n_resampling, product_inside)[1], 0, atol=1e-12)
    assert np.isnan(run(corpus, 1, n_resampling, product_inside)[1]).all()


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
        assert_allclose(run(corpus, n_particles, 2, product_inside)[0], log_p, rtol=1e-6)


@for_both_estimates
def test_long_documents_stay_finite(product_inside):
    topics = random_topics(np.random.default_rng(0), 300, 10, 0.05)
    result, error = run(repeated(np.full(300, 4.0), topics, np.full(10, 0.1), 1), 2, 0, product_inside)
    assert np.all(error > 0)
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
