"""Left-to-right estimates: unbiased where they claim it, exact in the limits."""

import numpy as np
import pytest

from sktopic._kernels.inference._left_to_right import left_to_right
from tests.kernels.tools import (
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    random_topics,
    repeated,
)
from tests.reference import left_to_right as reference
from tests.reference.enumeration import Enumeration
from tests.reference.rng import Stream


def run(corpus, n_particles, n_resampling, product_inside):
    given = corpus.rows, corpus.cumulative, corpus.log_norm, corpus.prior, corpus.keys
    return left_to_right(corpus.documents, *given, n_particles, n_resampling, product_inside)


@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(
    ("n_topics", "n_particles", "n_resampling"), [(1, 1, 1), (3, 4, 0), (20, 2, 1), (5, 1, 2)]
)
def test_estimates_are_those_of_the_reference(n_topics, n_particles, n_resampling, counts, product_inside):
    n_cells = {"unit": 12, "small": 6, "mixed": 3}[counts]
    corpus = random_corpus(n_topics, 7, n_topics=n_topics, n_cells=n_cells, counts=counts)
    settings = n_particles, n_resampling, product_inside
    expected = reference.left_to_right(*corpus.documents, corpus.phi, corpus.prior, corpus.keys, *settings)
    np.testing.assert_allclose(run(corpus, *settings), expected, rtol=1e-10)
    assert np.all(expected[np.diff(corpus.indptr) == 0] == 0)


@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
@pytest.mark.parametrize("n_resampling", [0, 2])
def test_precisions_agree(n_resampling, product_inside):
    corpus = random_corpus(3, 12, counts="small")
    single = random_corpus(3, 12, counts="small", dtype=np.float32)
    settings = 5, n_resampling, product_inside
    np.testing.assert_allclose(run(single, *settings), run(corpus, *settings), rtol=1e-5)


@for_both_precisions
@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
def test_slices_of_the_documents_give_the_same_as_the_whole(product_inside, dtype):
    corpus = random_corpus(4, 16, n_topics=18, counts="small", dtype=dtype)
    whole = run(corpus, 3, 1, product_inside)
    pieces = []
    for first, last in ((0, 1), (1, 2), (2, 9), (9, 16)):
        given = corpus.rows, corpus.cumulative, corpus.log_norm, corpus.prior, corpus.keys[first:last]
        pieces.append(left_to_right(corpus.piece(first, last), *given, 3, 1, product_inside))
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


# Tokens, topics and prior with a strong dependence between positions.
PHI = np.array([[0.7, 0.1, 0.1], [0.2, 0.8, 0.1], [0.1, 0.1, 0.8]])
PRIOR = np.array([0.3, 0.2, 0.1])
TINY = {"five tokens": [2.0, 2.0, 1.0], "four tokens": [1.0, 3.0, 0.0], "three of a kind": [3.0]}


def tiny(name, n_copies, dtype, seed):
    counts = [c for c in TINY[name] if c > 0]
    tokens = np.repeat(np.arange(len(counts)), np.array(counts, dtype=int))
    corpus = repeated(counts, PHI[: len(counts)], PRIOR, n_copies, dtype, key=seed)
    return corpus, Enumeration(tokens, PHI, PRIOR).evidence


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_particles", [1, 4])
@pytest.mark.parametrize("name", TINY)
def test_mean_of_unbiased_estimates_is_the_probability_of_the_document(name, n_particles, dtype, seed):
    corpus, evidence = tiny(name, 40_000, dtype, 100 + seed)
    ratio = np.exp(run(corpus, n_particles, 0, True)) / evidence
    assert_within(ratio, 1.0, 3 if seed == 0 else 5)
    # What that says: below half a per cent.
    assert ratio.std() / 40_000**0.5 < 0.005


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("name", TINY)
def test_wallach_estimates_converge_as_resampling_grows(name, dtype, seed):
    corpus, evidence = tiny(name, 30, dtype, 200 + seed)
    error = run(corpus, 3000, 12, False) - np.log(evidence)
    assert_within(error, 0.0, 5)
    assert abs(error.mean()) < 0.02


@for_each_seed
def test_wallach_estimates_without_resampling_are_biased(seed):
    """The bias that resampling takes away: so the test above can tell."""
    corpus, evidence = tiny("three of a kind", 30, np.float64, 300 + seed)
    error = run(corpus, 3000, 0, False) - np.log(evidence)
    once = run(corpus, 3000, 1, False) - np.log(evidence)
    # Four per cent here, twenty standard errors.
    assert error.mean() < -0.02
    assert abs(once.mean()) < 0.5 * abs(error.mean())


@for_both_precisions
@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
@pytest.mark.parametrize("n_particles", [1, 7])
def test_one_token_is_exact(n_particles, product_inside, dtype):
    corpus = Corpus(np.arange(4), np.arange(3, dtype=np.int32), np.array([1.0, 1.0, 0.4]), PHI, PRIOR, dtype)
    log_p = np.log(PHI @ PRIOR / PRIOR.sum()) * corpus.cell_count
    np.testing.assert_allclose(run(corpus, n_particles, 2, product_inside), log_p, rtol=1e-6)


@for_both_precisions
@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
@pytest.mark.parametrize("counts", ["small", "mixed"])
def test_one_topic_is_the_unigram_likelihood(counts, product_inside, dtype):
    corpus = random_corpus(5, 8, n_topics=1, n_cells=3, counts=counts, dtype=dtype)
    expected = np.zeros(8)
    np.add.at(expected, corpus.cell_document, corpus.cell_count * np.log(corpus.phi[corpus.cell_word, 0]))
    np.testing.assert_allclose(run(corpus, 3, 1, product_inside), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
def test_impossible_word_makes_the_document_impossible(product_inside):
    phi = np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])
    corpus = Corpus(np.array([0, 2, 3]), np.array([0, 1, 2], np.int32), np.ones(3), phi, np.ones(2))
    np.testing.assert_array_equal(run(corpus, 4, 1, product_inside), [-np.inf, np.log(0.5)])


@pytest.mark.parametrize("product_inside", [False, True], ids=["wallach", "unbiased"])
def test_long_documents_stay_finite(product_inside):
    rng = np.random.default_rng(0)
    n_words = 300
    corpus = repeated(np.full(n_words, 4.0), random_topics(rng, n_words, 10, 0.05), np.full(10, 0.1), 1)
    result = run(corpus, 2, 0, product_inside)
    assert np.all(np.isfinite(result)) and np.all(result < -745)  # its exponential is not


@for_each_seed
def test_orders_of_the_tokens_are_equally_likely(seed):
    orders = [tuple(reference.shuffled(range(4), Stream(20_000 * seed + key))) for key in range(10_000)]
    _, observed = np.unique(orders, axis=0, return_counts=True)
    assert_distributed(observed, np.full(24, 1 / 24))
