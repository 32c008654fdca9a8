"""The document step by Gibbs sampling draws from the exact conditionals and adds them up exactly."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import psi

from sktopic._kernels._gibbs import sweep_documents
from tests.kernels.tools import (
    ROUNDING,
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    random_topics,
    repeated,
)
from tests.reference import gibbs as reference
from tests.reference.documents import clump_weights, clumps_of
from tests.reference.enumeration import Enumeration


def run(corpus, n_burn_in, n_sweeps, z=None, with_log_theta=True, keys=None, drawn=False):
    """z after the sweeps and what the kernel returns."""
    z = corpus.unassigned() if z is None else z.copy()
    keys = corpus.keys if keys is None else keys
    settings = n_burn_in, n_sweeps, drawn, with_log_theta
    return z, *sweep_documents(
        *corpus.documents, corpus.rows, corpus.cumulative, corpus.prior, keys, z, *settings
    )


def dense(corpus, column_indptr, column_topic, values, fixed, log_theta=()):
    return reference.dense(
        corpus.indptr,
        corpus.cell_word,
        corpus.rows,
        corpus.prior,
        column_indptr,
        column_topic,
        values,
        fixed,
        log_theta,
    )


def run_reference(corpus, n_burn_in, n_sweeps, z=None, drawn=False):
    z = corpus.unassigned() if z is None else z.copy()
    return z, *reference.sweep_documents(
        *corpus.documents, corpus.rows, corpus.prior, corpus.keys, z, n_burn_in, n_sweeps, drawn
    )


# Five tokens, one word three times; K = 2 and K = 3; priors that favour one topic.
TINY_COUNTS = [3.0, 1.0, 1.0]
TINY_TOKENS = [0, 0, 0, 1, 2]
TINY = {
    2: (np.array([[0.6, 0.2], [0.3, 0.3], [0.1, 0.5]]), np.array([0.3, 1.1])),
    3: (np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3], [0.2, 0.5, 0.6]]), np.array([0.2, 0.7, 1.5])),
}


def tiny(n_topics, seed, dtype, n_copies=20_000):
    phi, prior = TINY[n_topics]
    return repeated(TINY_COUNTS, phi, prior, n_copies, dtype, key=1000 + seed)


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [2, 3])
def test_expected_counts_are_those_of_the_posterior(n_topics, dtype, seed):
    corpus = tiny(n_topics, seed, dtype)
    _, *result = run(corpus, 20, 10)
    expected, log_theta = dense(corpus, *result)
    exact = Enumeration(TINY_TOKENS, *TINY[n_topics])
    by_word = np.zeros((3, n_topics))
    np.add.at(by_word, TINY_TOKENS, exact.expected_counts())
    # 20,000 independent chains of ten kept sweeps; the 12 to 18 means within 5 standard errors.
    assert_within(expected.reshape(-1, 3, n_topics) / 10, by_word, 5)
    assert_within(log_theta / 10, exact.mean_psi() - psi(corpus.prior), 5)


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [2, 3])
def test_assignments_have_the_posterior_distribution(n_topics, dtype, seed):
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


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("state", STATES)
def test_one_draw_has_the_dense_conditional(state, dtype, seed):
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


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [1, 2, 15, 16, 17, 33, 100, 200])
def test_fixed_part_is_drawn_by_the_prior_times_the_topics(n_topics, dtype, seed):
    rng = np.random.default_rng(n_topics)
    phi = random_topics(rng, 4, n_topics, 1.0)
    phi[0, n_topics // 2 : n_topics // 2 + 3] = 0.0
    phi[0, n_topics - 1] = 0.2
    prior = rng.gamma(1.0, 0.5, n_topics) + 0.02
    corpus = repeated([1.0], phi, prior, 50_000, dtype, key=seed)
    z, *_ = run(corpus, 0, 1)
    p = phi[0] * prior / (phi[0] @ prior)
    if n_topics == 1:
        assert np.all(z == 0)
    else:
        assert_distributed(np.bincount(z, minlength=n_topics), p)


@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (0, 4), (3, 1), (4, 3)])
@pytest.mark.parametrize("n_topics", [1, 2, 7, 40])
def test_every_draw_is_that_of_the_reference(n_topics, n_burn_in, n_sweeps, counts):
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts)
    z, column_indptr, column_topic, *_ = run(corpus, n_burn_in, n_sweeps)
    expected_z, *_, orders = run_reference(corpus, n_burn_in, n_sweeps)
    np.testing.assert_array_equal(z, expected_z)
    np.testing.assert_array_equal(column_topic, np.concatenate(orders))
    np.testing.assert_array_equal(np.diff(column_indptr), [len(order) for order in orders])


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (2, 1), (3, 4)])
@pytest.mark.parametrize("n_topics", [1, 3, 33])
def test_sums_are_those_of_the_dense_conditionals_of_the_same_draws(
    n_topics, n_burn_in, n_sweeps, counts, dtype
):
    corpus = random_corpus(n_topics + 100, n_topics=n_topics, counts=counts, dtype=dtype)
    z, *result = run(corpus, n_burn_in, n_sweeps)
    expected_z, *reference_sums, _ = run_reference(corpus, n_burn_in, n_sweeps)
    np.testing.assert_array_equal(z, expected_z)
    expected, log_theta = dense(corpus, *result)
    fixed = result[3]
    assert result[2].dtype == dtype and fixed.dtype == np.float64 and result[4].dtype == np.float64
    # Entries far below a cell's count carry the rounding of the largest ones.
    atol = ROUNDING[dtype] * n_sweeps * corpus.cell_count.max(initial=0) * 1e-3
    np.testing.assert_allclose(expected, reference_sums[0], rtol=ROUNDING[dtype], atol=atol)
    np.testing.assert_allclose(fixed, reference_sums[1], rtol=ROUNDING[dtype])
    np.testing.assert_allclose(log_theta, reference_sums[2], rtol=1e-12, atol=1e-10)


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 5, 100])
def test_expected_counts_of_a_cell_sum_to_its_count(n_topics, counts, dtype):
    corpus = random_corpus(7, 60, n_topics=n_topics, counts=counts, dtype=dtype)
    _, column_indptr, column_topic, values, fixed, _ = run(corpus, 3, 4)
    assert np.all(values >= 0)
    assert np.all(fixed > 0)
    expected, _ = dense(corpus, column_indptr, column_topic, values, fixed)
    # A cell has up to 64 clumps in each of the four sweeps: as many additions, each rounded once.
    rtol = 4 * 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(expected.sum(axis=1), 4 * corpus.cell_count, rtol=rtol)
    # rows @ prior = 1: the fixed part adds its one number to the sum of the cell's block.
    blocks = (expected - fixed[:, None] * corpus.prior * corpus.rows[corpus.cell_word]).sum(axis=1)
    np.testing.assert_allclose(blocks + fixed, 4 * corpus.cell_count, rtol=rtol)


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (2, 1), (3, 4)])
@pytest.mark.parametrize("n_topics", [1, 3, 33])
def test_draws_are_counted_where_they_fell(n_topics, n_burn_in, n_sweeps, counts, dtype):
    corpus = random_corpus(n_topics + 200, n_topics=n_topics, counts=counts, dtype=dtype)
    z, *result = run(corpus, n_burn_in, n_sweeps, drawn=True)
    expected_z, *reference_sums, orders = run_reference(corpus, n_burn_in, n_sweeps, drawn=True)
    np.testing.assert_array_equal(z, expected_z)
    np.testing.assert_array_equal(result[1], np.concatenate(orders))
    np.testing.assert_array_equal(result[3], 0.0)
    expected, log_theta = dense(corpus, *result)
    # Sums of a cell's clumps; of integer counts they are exact.
    np.testing.assert_allclose(expected, reference_sums[0], rtol=4 * 64 * np.finfo(dtype).eps)
    np.testing.assert_allclose(log_theta, reference_sums[2], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(
        expected.sum(axis=1), n_sweeps * corpus.cell_count, rtol=4 * 64 * np.finfo(dtype).eps
    )
    if counts == "unit" and n_sweeps == 1:  # the draws of the only kept sweep are those left in z
        np.testing.assert_array_equal(expected, np.arange(n_topics) == z[:, None])


@for_both_precisions
def test_counting_draws_does_not_change_them(dtype):
    corpus = random_corpus(12, 30, n_topics=9, counts="mixed", dtype=dtype)
    summed, counted = run(corpus, 3, 2), run(corpus, 3, 2, drawn=True)
    for i in (0, 1, 2, 5):  # z, the columns and log_theta
        np.testing.assert_array_equal(summed[i], counted[i])


@for_each_seed
@for_both_precisions
@pytest.mark.parametrize("n_topics", [2, 3])
def test_counted_draws_have_the_mean_of_the_posterior(n_topics, dtype, seed):
    corpus = tiny(n_topics, seed, dtype)
    _, *result = run(corpus, 20, 4, drawn=True)
    expected, _ = dense(corpus, *result)
    by_word = np.zeros((3, n_topics))
    np.add.at(by_word, TINY_TOKENS, Enumeration(TINY_TOKENS, *TINY[n_topics]).expected_counts())
    assert_within(expected.reshape(-1, 3, n_topics) / 4, by_word, 5)


@for_both_precisions
@pytest.mark.parametrize("count", [1e-30, 1e-6, 0.999, 64.0, 64.0001, 1e9, 1e15, 1e30])
def test_counts_of_any_size_are_conserved(count, dtype):
    phi = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3], [0.2, 0.5, 0.6]])
    corpus = repeated([count, 1.0, count], phi, [0.1, 0.5, 1.0], 20, dtype)
    z, *result = run(corpus, 2, 2)
    expected, log_theta = dense(corpus, *result)
    np.testing.assert_allclose(expected.sum(axis=1), 2 * corpus.cell_count, rtol=2 * 64 * np.finfo(dtype).eps)
    assert np.all(np.isfinite(log_theta)) and np.all(log_theta >= 0)
    assert z.min() >= 0 and z.max() < 3


@for_both_precisions
def test_topics_that_exclude_a_word_get_none_of_it(dtype):
    corpus = random_corpus(3, 40, n_topics=20, counts="small", dtype=dtype)
    phi = corpus.phi * (np.random.default_rng(0).random(corpus.phi.shape) < 0.3)
    phi[:, 0] += 0.01
    corpus = Corpus(*corpus.documents, phi, corpus.prior, dtype, 3)
    z, *result = run(corpus, 3, 3)
    expected, _ = dense(corpus, *result)
    assert np.all(expected[phi[corpus.cell_word] == 0] == 0)
    words = np.concatenate(
        [
            [corpus.cell_word[cell] for cell, _ in clumps_of(corpus.indptr, corpus.cell_count, d)]
            for d in range(corpus.n_documents)
        ]
    ).astype(int)
    assert np.all(phi[words, z] > 0)


@for_both_precisions
@pytest.mark.parametrize("counts", ["small", "mixed"])
def test_sweeps_continue_from_the_assignments_given(counts, dtype):
    corpus = random_corpus(5, 20, n_topics=12, counts=counts, dtype=dtype)
    z = corpus.unassigned()
    for step in range(4):
        before = z
        keys = corpus.keys + np.uint64(1000 * step)
        z, column_indptr, column_topic, values, fixed, log_theta = run(corpus, 0, 1, before, keys=keys)
        for d in range(corpus.n_documents):
            clumps = slice(corpus.clump_indptr[d], corpus.clump_indptr[d + 1])
            topics = column_topic[column_indptr[d] : column_indptr[d + 1]]
            assert len(set(topics)) == len(topics)
            assert set(z[clumps]) <= set(topics)
            # Topics the document had come first, in the order in which its clumps show them.
            had = [k for k in dict.fromkeys(before[clumps].tolist()) if k >= 0]
            assert topics[: len(had)].tolist() == had
        expected, _ = dense(corpus, column_indptr, column_topic, values, fixed, log_theta)
        np.testing.assert_allclose(expected.sum(axis=1), corpus.cell_count, rtol=ROUNDING[dtype])


def test_continued_sweeps_are_those_of_the_reference():
    corpus = random_corpus(6, 20, n_topics=12, counts="mixed")
    rng = np.random.default_rng(0)
    z = rng.integers(0, 12, corpus.clump_indptr[-1], dtype=np.int32)
    z[rng.random(len(z)) < 0.2] = -1  # some not assigned yet
    after, *result = run(corpus, 1, 2, z)
    expected_after, *expected, _ = run_reference(corpus, 1, 2, z)
    np.testing.assert_array_equal(after, expected_after)
    sums, log_theta = dense(corpus, *result)
    np.testing.assert_allclose(sums, expected[0], rtol=1e-12, atol=1e-5 * ROUNDING[np.float64] * 1e9)
    np.testing.assert_allclose(log_theta, expected[2], rtol=1e-12, atol=1e-10)


@for_each_seed
def test_one_sweep_leaves_the_posterior_as_it_is(seed):
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
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (0, 3), (1, 2)])
def test_blocks_widen_as_topics_appear_in_counted_sweeps(n_burn_in, n_sweeps, dtype):
    """Flat topics and a large prior: a document of 300 tokens comes to use nearly all of 200 topics."""
    n_topics, n_words = 200, 100
    sizes = np.array([0, 1, 100, 3, 100, 60])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    cell_word = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    cell_count = np.full(indptr[-1], 3.0)
    phi = np.full((n_words, n_topics), 1 / n_words)
    corpus = Corpus(indptr, cell_word, cell_count, phi, np.full(n_topics, 5.0), dtype)
    z, *result = run(corpus, n_burn_in, n_sweeps)
    assert np.diff(result[0])[2] > 128
    expected_z, *expected, _ = run_reference(corpus, n_burn_in, n_sweeps)
    sums, log_theta = dense(corpus, *result)
    np.testing.assert_array_equal(z, expected_z)
    np.testing.assert_allclose(sums, expected[0], rtol=ROUNDING[dtype])
    np.testing.assert_allclose(log_theta, expected[2], rtol=1e-12)


@for_both_precisions
def test_empty_documents_leave_the_others_as_they_are(dtype):
    corpus = random_corpus(8, 20, n_topics=6, counts="mixed", dtype=dtype)
    sizes = np.diff(corpus.indptr)
    assert np.any(sizes[1:-1] == 0)
    z, column_indptr, *result = run(corpus, 2, 2)
    assert np.all(np.diff(column_indptr)[sizes == 0] == 0)
    kept = np.flatnonzero(sizes)
    without = Corpus(
        np.concatenate([[0], np.cumsum(sizes[kept])]),
        corpus.cell_word,
        corpus.cell_count,
        corpus.phi,
        corpus.prior,
    )
    without.rows, without.cumulative = corpus.rows, corpus.cumulative
    other_z, other_column_indptr, *other = run(without, 2, 2, keys=corpus.keys[kept])
    np.testing.assert_array_equal(z, other_z)
    np.testing.assert_array_equal(np.diff(column_indptr)[kept], np.diff(other_column_indptr))
    for array, expected in zip(result, other):
        np.testing.assert_array_equal(array, expected)


def test_documents_without_any_words_are_fine():
    corpus = Corpus(
        np.zeros(4, dtype=np.int64), np.empty(0, np.int32), np.empty(0), np.ones((1, 2)), np.ones(2)
    )
    z, column_indptr, *arrays = run(corpus, 2, 2)
    np.testing.assert_array_equal(column_indptr, 0)
    assert len(z) == 0 and all(len(array) == 0 for array in arrays)


@for_both_precisions
@pytest.mark.parametrize("drawn", [False, True], ids=["probabilities", "draws"])
@pytest.mark.parametrize("bounds", [[0, 1, 20], [0, 7, 7, 13, 20], list(range(21))], ids=str)
def test_slices_of_the_documents_give_the_same_as_the_whole(bounds, drawn, dtype):
    corpus = random_corpus(9, 20, n_topics=18, counts="mixed", dtype=dtype)
    z, column_indptr, *whole = run(corpus, 2, 3, drawn=drawn)
    pieces, sizes, continued = [], [], corpus.unassigned()
    for first, last in pairwise(bounds):
        clumps = slice(corpus.clump_indptr[first], corpus.clump_indptr[last])
        piece_indptr, *piece = sweep_documents(
            *corpus.piece(first, last),
            corpus.rows,
            corpus.cumulative,
            corpus.prior,
            corpus.keys[first:last],
            continued[clumps],
            2,
            3,
            drawn,
            True,
        )
        pieces.append(piece)
        sizes.append(np.diff(piece_indptr))
    np.testing.assert_array_equal(continued, z)
    np.testing.assert_array_equal(np.concatenate(sizes), np.diff(column_indptr))
    for i, array in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([piece[i] for piece in pieces]), array)


def test_log_theta_is_left_out_when_not_wanted():
    corpus = random_corpus(10)
    z, *whole, _ = run(corpus, 2, 2)
    other_z, *without, log_theta = run(corpus, 2, 2, with_log_theta=False)
    assert len(log_theta) == 0
    np.testing.assert_array_equal(z, other_z)
    for array, other in zip(whole, without):
        np.testing.assert_array_equal(array, other)


def test_streams_decide_the_draws():
    corpus = random_corpus(11, counts="small")
    z, *_ = run(corpus, 2, 1)
    again, *_ = run(corpus, 2, 1)
    other, *_ = run(corpus, 2, 1, keys=corpus.keys + np.uint64(1))
    np.testing.assert_array_equal(z, again)
    assert np.any(z != other)
