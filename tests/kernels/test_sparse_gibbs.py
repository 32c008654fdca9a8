"""Draws over the topics of a document: their order, the columns of the counts, draws that are counted."""

from itertools import pairwise

import numpy as np
import pytest

from sktopic._kernels._groups import Chains, Sweeps
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
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
from tests.reference.enumeration import Enumeration


def run(corpus, n_burn_in, n_sweeps, z=None, with_log_theta=True, keys=None, drawn=False, team=ALONE):
    """z after the sweeps and what the kernel returns."""
    z = corpus.unassigned() if z is None else z.copy()
    keys = corpus.keys if keys is None else keys
    sweeps = Sweeps(n_burn_in, n_sweeps, drawn, with_log_theta)
    return z, *sweep_documents(
        corpus.documents, corpus.rows, corpus.cumulative, corpus.prior, Chains(keys, z), sweeps, team
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


@pytest.mark.law
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


@pytest.mark.law
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
            corpus.piece(first, last),
            corpus.rows,
            corpus.cumulative,
            corpus.prior,
            Chains(corpus.keys[first:last], continued[clumps]),
            Sweeps(2, 3, drawn, with_log_theta=True),
            ALONE,
        )
        pieces.append(piece)
        sizes.append(np.diff(piece_indptr))
    np.testing.assert_array_equal(continued, z)
    np.testing.assert_array_equal(np.concatenate(sizes), np.diff(column_indptr))
    for i, array in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([piece[i] for piece in pieces]), array)


@for_teams
@pytest.mark.parametrize("drawn", [False, True], ids=["probabilities", "draws"])
def test_any_number_of_threads_gives_the_same(drawn, n_helpers):
    corpus = random_corpus(9, 20, n_topics=18, counts="mixed", dtype=np.float32)
    alone = run(corpus, 2, 3, drawn=drawn)
    for _ in range(20):
        for array, other in zip(run(corpus, 2, 3, drawn=drawn, team=Team(n_helpers)), alone):
            np.testing.assert_array_equal(array, other)


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
