"""The document step by Gibbs sampling draws from the exact conditionals and adds them up, by both kernels."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import psi

from sktopic._kernels._groups import Chains, DenseSums, LeftOut, Sweeps
from sktopic._kernels.inference import _dense_gibbs, _sparse_gibbs
from sktopic._kernels.threads._team import Team
from tests.kernels.tools import (
    ALONE,
    ROUNDING,
    TINY,
    TINY_TOKENS,
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    for_teams,
    random_corpus,
    random_topics,
    repeated,
    tiny,
)
from tests.reference import gibbs as reference
from tests.reference.documents import clump_weights, clumps_of
from tests.reference.enumeration import Enumeration


def run_sparse(corpus, n_burn_in, n_sweeps, z=None, own=None):
    """z after the sweeps, sums of probabilities (n_cells, n_topics), log_theta (n_documents, n_topics)."""
    z = corpus.unassigned() if z is None else z.copy()
    result = _sparse_gibbs.sweep_documents(
        corpus.documents,
        corpus.rows,
        corpus.cumulative,
        corpus.prior,
        Chains(corpus.keys, z),
        Sweeps(n_burn_in, n_sweeps, with_log_theta=True),
        ALONE,
        own,
    )
    given = corpus.indptr, corpus.cell_word, corpus.rows, corpus.prior
    return z, *reference.dense(*given, *result)


def run_dense(corpus, n_burn_in, n_sweeps, z=None, own=None, by_document=False, team=ALONE):
    """The same; by_document: sums of probabilities are (n_documents, n_topics)."""
    z = corpus.unassigned() if z is None else z.copy()
    n_documents, n_topics = corpus.n_documents, len(corpus.prior)
    n_padded = -(-n_topics // _dense_gibbs.PADDING) * _dense_gibbs.PADDING
    counts = np.full((0 if by_document else len(corpus.cell_word), n_padded), np.nan, dtype=corpus.dtype)
    sums, log_theta = (
        np.full((n_documents * by_document, n_topics), np.nan),
        np.zeros((n_documents, n_topics)),
    )
    _dense_gibbs.sweep_documents(
        corpus.documents,
        corpus.clump_indptr,
        corpus.rows,
        corpus.prior,
        Chains(corpus.keys, z),
        Sweeps(n_burn_in, n_sweeps),
        DenseSums(counts, sums, log_theta),
        team,
        own,
    )
    assert not np.any(counts[:, n_topics:])
    return z, sums if by_document else counts[:, :n_topics], log_theta


def run_reference(corpus, run, n_burn_in, n_sweeps, z=None, own=None):
    z = corpus.unassigned() if z is None else z.copy()
    given = corpus.rows, corpus.prior, corpus.keys, z, n_burn_in, n_sweeps
    expected, _, log_theta, _ = reference.sweep_documents(
        *corpus.documents, *given, False, run is run_dense, *(own or ())
    )
    return z, expected, log_theta


for_both_kernels = pytest.mark.parametrize("run", [run_sparse, run_dense], ids=["sparse", "dense"])


@pytest.mark.law
@for_both_kernels
@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [2, 3])
def test_expected_counts_are_those_of_the_posterior(n_topics, dtype, seed, run):
    corpus = tiny(n_topics, seed, dtype)
    _, expected, log_theta = run(corpus, 20, 10)
    exact = Enumeration(TINY_TOKENS, *TINY[n_topics])
    by_word = np.zeros((3, n_topics))
    np.add.at(by_word, TINY_TOKENS, exact.expected_counts())
    # 20,000 independent chains of ten kept sweeps; the 12 to 18 means within 5 standard errors.
    assert_within(expected.reshape(-1, 3, n_topics) / 10, by_word, 5)
    assert_within(log_theta / 10, exact.mean_psi() - psi(corpus.prior), 5)


@pytest.mark.law
@for_both_kernels
@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [2, 3])
def test_assignments_have_the_posterior_distribution(n_topics, dtype, seed, run):
    corpus = tiny(n_topics, seed, dtype)
    z, *_ = run(corpus, 20, 1)
    exact = Enumeration(TINY_TOKENS, *TINY[n_topics])
    states = z.reshape(-1, 5) @ n_topics ** np.arange(5)[::-1]  # the order in which they are enumerated
    assert_distributed(np.bincount(states, minlength=n_topics**5), exact.posterior)


# Documents of tokens with given topics, the first of which is drawn again: (counts, topics, K).
STATES = {
    "alone": ([1.0], [5], 40),
    "alone, not assigned": ([1.0], [-1], 40),
    "alone, one full block": ([1.0], [3], 16),
    "alone, one topic in the last block": ([1.0], [3], 17),
    "all others together": ([4.0, 3.0], [2] * 7, 5),
    "three topics": ([3.0, 2.0, 4.0], [0, 7, 7, 3, 0, 0, 3, 7, 3], 9),
    "many topics": ([1.0] * 30, list(range(30)), 100),
    "few of many topics": ([2.0, 2.0], [99, 98, 97, 99], 100),
    "others not assigned": ([2.0, 2.0], [1, -1, -1, -1], 12),
    "weights": ([2.5, 70.0], [1, 2, 3] + [4] * 64, 6),
}


@pytest.mark.law
@for_both_kernels
@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("state", STATES)
def test_one_draw_has_the_dense_conditional(state, dtype, seed, run):
    counts, topics, n_topics = STATES[state]
    rng = np.random.default_rng(len(state))
    phi = random_topics(rng, max(len(counts), 2), n_topics, 1.0)
    phi[0, 1] = 0.0
    prior = rng.gamma(1.0, 0.5, n_topics) + 0.02
    n_copies = 20_000
    corpus = repeated(counts, phi, prior, n_copies, dtype, key=seed)
    z, *_ = run(corpus, 0, 1, np.tile(np.array(topics, dtype=np.int32), n_copies))
    weights = np.concatenate([clump_weights(c) for c in counts])
    n = np.zeros(n_topics)
    for k, w in zip(topics[1:], weights[1:]):
        if k >= 0:
            n[k] += w
    p = reference.conditional(phi[0], prior, n)
    drawn = z.reshape(n_copies, -1)[:, 0]
    assert_distributed(np.bincount(drawn, minlength=n_topics), p / p.sum())


@for_both_kernels
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (3, 4)])
@pytest.mark.parametrize("n_topics", [1, 7, 16, 17, 40, 200])
def test_draws_and_sums_are_those_of_the_reference(n_topics, n_burn_in, n_sweeps, counts, run):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts)
    z, sums, log_theta = run(corpus, n_burn_in, n_sweeps)
    expected_z, expected_sums, expected_log_theta = run_reference(corpus, run, n_burn_in, n_sweeps)
    np.testing.assert_array_equal(z, expected_z)
    # Entries far below a cell's count carry the rounding of the largest ones.
    atol = ROUNDING[np.float64] * n_sweeps * corpus.cell_count.max(initial=0) * 1e-3
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-11, atol=atol)
    np.testing.assert_allclose(log_theta, expected_log_theta, rtol=1e-12, atol=1e-10)


@for_both_kernels
@for_both_precisions
@pytest.mark.parametrize("count", [1e-30, 1e-6, 0.999, 64.0, 64.0001, 1e9, 1e15, 1e30])
def test_counts_of_any_size_are_conserved(count, dtype, run):
    phi = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3], [0.2, 0.5, 0.6]])
    corpus = repeated([count, 1.0, count], phi, [0.1, 0.5, 1.0], 20, dtype)
    z, expected, log_theta = run(corpus, 2, 2)
    np.testing.assert_allclose(expected.sum(axis=1), 2 * corpus.cell_count, rtol=2 * 64 * np.finfo(dtype).eps)
    assert np.all(np.isfinite(log_theta)) and np.all(log_theta >= 0)
    assert z.min() >= 0 and z.max() < 3


@for_both_kernels
@for_both_precisions
def test_topics_that_exclude_a_word_get_none_of_it(dtype, run):
    corpus = random_corpus(3, 40, n_topics=20, counts="small", dtype=dtype)
    phi = corpus.phi * (np.random.default_rng(0).random(corpus.phi.shape) < 0.3)
    phi[:, 0] += 0.01
    corpus = Corpus(*corpus.documents, phi, corpus.prior, dtype, 3)
    z, expected, _ = run(corpus, 3, 3)
    assert np.all(expected[phi[corpus.cell_word] == 0] == 0)
    words = np.concatenate(
        [
            [corpus.cell_word[cell] for cell, _ in clumps_of(corpus.indptr, corpus.cell_count, d)]
            for d in range(corpus.n_documents)
        ]
    ).astype(int)
    assert np.all(phi[words, z] > 0)


@for_both_kernels
def test_continued_sweeps_are_those_of_the_reference(run):
    corpus = random_corpus(6, 20, n_topics=12, counts="mixed")
    rng = np.random.default_rng(0)
    z = rng.integers(0, 12, corpus.clump_indptr[-1], dtype=np.int32)
    z[rng.random(len(z)) < 0.2] = -1  # some not assigned yet
    after, sums, log_theta = run(corpus, 1, 2, z)
    expected_after, *expected = run_reference(corpus, run, 1, 2, z)
    np.testing.assert_array_equal(after, expected_after)
    np.testing.assert_allclose(sums, expected[0], rtol=1e-12, atol=1e-5 * ROUNDING[np.float64] * 1e9)
    np.testing.assert_allclose(log_theta, expected[1], rtol=1e-12, atol=1e-10)


@for_both_kernels
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 7, 40])
def test_own_tokens_are_left_out_as_in_the_reference(n_topics, counts, run):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts)
    own = corpus.own_tokens(n_topics)
    z, sums, log_theta = run(corpus, 2, 3, own=own)
    expected_z, expected_sums, expected_log_theta = run_reference(corpus, run, 2, 3, own=own)
    np.testing.assert_array_equal(z, expected_z)
    atol = ROUNDING[np.float64] * 3 * corpus.cell_count.max(initial=0) * 1e-3
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-10, atol=atol)
    np.testing.assert_allclose(log_theta, expected_log_theta, rtol=1e-12, atol=1e-10)


@for_both_kernels
def test_a_word_of_one_document_alone_says_nothing_of_topics(run):
    """Its token was added by the document itself: without it the word is as probable in all topics."""
    smoothing, prior, others = np.full(3, 0.1), np.array([0.3, 0.7, 1.0]), [1.0, 2.0, 3.0]
    phi = np.array([[0.12, 0.1, 0.1], [0.88, 0.9, 0.9]])
    corpus = repeated([1.0, 6.0], phi, prior, 5)
    own = LeftOut(np.ones(5), np.full(3, 0.02), smoothing, np.exp(-corpus.log_norm))
    start = np.tile(np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.int32), 5)
    _, sums, _ = run(corpus, 0, 1, start, own=own)
    np.testing.assert_allclose(
        sums[::2], np.tile((prior + others) / (prior + others).sum(), (5, 1)), rtol=1e-12
    )


@pytest.mark.law
@for_both_kernels
@for_each_seed
def test_one_sweep_leaves_the_posterior_as_it_is(seed, run):
    """Start from exact posterior draws: after a sweep of other streams they are posterior draws still."""
    phi, prior = TINY[3]
    exact = Enumeration(TINY_TOKENS, phi, prior)
    rng = np.random.default_rng(seed)
    start = exact.z[rng.choice(len(exact.z), 20_000, p=exact.posterior)].astype(np.int32).ravel()
    z, *_ = run(tiny(3, seed, np.float32), 0, 1, start)
    assert np.mean(z == start) < 0.9
    assert_distributed(
        np.bincount(z.reshape(-1, 5) @ 3 ** np.arange(5)[::-1], minlength=3**5), exact.posterior
    )


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 16, 33])
def test_sums_of_a_document_are_those_of_its_cells(n_topics, counts, dtype):
    corpus = random_corpus(4, 20, n_cells=30, n_topics=n_topics, counts=counts, dtype=dtype)
    z, by_cell, log_theta = run_dense(corpus, 2, 3)
    other_z, by_document, other_log_theta = run_dense(corpus, 2, 3, by_document=True)
    np.testing.assert_array_equal(other_z, z)
    np.testing.assert_array_equal(other_log_theta, log_theta)
    expected = np.zeros(by_document.shape)
    np.add.at(expected, corpus.cell_document, by_cell)
    np.testing.assert_allclose(by_document, expected, rtol=100 * np.finfo(dtype).eps)


def test_sums_of_many_tokens_lose_no_small_shares():
    """Two million tokens in float32, of which one topic has a millionth each."""
    phi = np.tile([1.0, 1e-6], (40_000, 1))
    corpus = repeated(np.full(40_000, 64.0), phi, [1e12, 1e12], 1, np.float32)
    _, sums, _ = run_dense(corpus, 0, 1, by_document=True)
    np.testing.assert_allclose(sums[0, 1], 64 * 40_000 * 1e-6, rtol=1e-4)


@for_teams
@pytest.mark.parametrize("by_document", [False, True])
def test_any_number_of_threads_gives_the_same(n_helpers, by_document):
    corpus = random_corpus(9, 20, n_topics=18, counts="mixed", dtype=np.float32)
    alone = run_dense(corpus, 2, 3, by_document=by_document)
    for _ in range(20):
        shared = run_dense(corpus, 2, 3, by_document=by_document, team=Team(n_helpers))
        for array, other in zip(shared, alone):
            np.testing.assert_array_equal(array, other)


@for_both_precisions
@pytest.mark.parametrize("n_pieces", [2, 20])
def test_slices_of_the_documents_give_the_same_as_the_whole(n_pieces, dtype):
    corpus = random_corpus(9, 20, n_topics=18, counts="mixed", dtype=dtype)
    z, counts, log_theta = run_dense(corpus, 2, 3)
    bounds = np.arange(n_pieces + 1) * 20 // n_pieces
    for first, last in pairwise(bounds):
        cells = slice(corpus.indptr[first], corpus.indptr[last])
        clumps = slice(corpus.clump_indptr[first], corpus.clump_indptr[last])
        some_z, some, logs = (
            corpus.unassigned()[clumps],
            np.zeros((cells.stop - cells.start, 32), dtype),
            log_theta[:0],
        )
        _dense_gibbs.sweep_documents(
            corpus.piece(first, last),
            corpus.clump_indptr[first : last + 1],
            corpus.rows,
            corpus.prior,
            Chains(corpus.keys[first:last], some_z),
            Sweeps(2, 3),
            DenseSums(some, np.empty((0, 18)), logs),
            ALONE,
        )
        np.testing.assert_array_equal(some_z, z[clumps])
        np.testing.assert_array_equal(some[:, :18], counts[cells])
