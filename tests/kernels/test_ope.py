"""Stochastic Frank-Wolfe steps: golden vertices, the whole gradient, the law of the draws, the limit."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.lda._ope import draw_choices, maximise_documents
from tests.kernels.tools import for_both_precisions, random_corpus, repeated
from tests.reference import ope as reference

GOLDEN = Path(__file__).parent.parent / "golden" / "ope_golden.npz"
# Entries of rows that float32 rounds; the vertices of the tests below are further apart.
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-11}


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


def golden_run(golden, case, draws, n_iter=50, dtype=np.float64):
    """theta of a golden case after n_iter iterations."""
    words = np.flatnonzero(golden["doc"])
    rows = np.ascontiguousarray(golden["beta"][:, words].T, dtype=dtype)
    theta, _ = maximise_documents(
        np.array([0, len(words)]),
        np.arange(len(words), dtype=np.int32),
        golden["doc"][words].astype(np.float64),
        rows,
        np.full(6, golden["alpha"][case]),
        golden["theta1"][None].copy(),
        golden[draws][case, :n_iter].astype(np.uint8)[None],
        float(golden["p"][case]),
    )
    return theta[0]


def vertices(trace, start):
    """What was added to (t + 1) theta_t in each iteration."""
    numerators = np.vstack([start, trace * np.arange(2, len(trace) + 2)[:, None]])
    return np.diff(numerators, axis=0).argmax(axis=1)


@pytest.mark.parametrize("case", range(5))
def test_golden_vertices_exactly_and_theta(golden, case):
    trace = np.array([golden_run(golden, case, "bern_lik_first", t) for t in range(1, 51)])
    assert_array_equal(vertices(trace, golden["theta1"]), golden["vertices"][case])
    assert_allclose(trace, golden["theta_trace"][case], rtol=0, atol=1e-12)
    assert_allclose(trace[-1], golden["theta_T"][case], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", range(5))
def test_golden_vertices_where_the_prior_is_drawn_first(golden, case):
    """One of the cases starts with a tie of all topics."""
    trace = np.array([golden_run(golden, case, "bern_prior_first", t) for t in range(1, 51)])
    assert_array_equal(vertices(trace, golden["theta1"]), golden["vertices_prior_first"][case])
    assert_allclose(trace[-1], golden["theta_T_prior_first"][case], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", range(5))
def test_golden_vertices_with_float32_rows(golden, case):
    theta = golden_run(golden, case, "bern_lik_first", dtype=np.float32)
    assert_allclose(theta, golden["theta_T"][case], rtol=0, atol=1e-12)


@for_both_precisions
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_topics", [1, 2, 15, 16, 17, 120])
def test_vertices_are_those_of_the_whole_gradient(n_topics, p, alpha, dtype):
    """Though most of the gradient is not computed."""
    prior = alpha * np.linspace(1.0, 1.2, n_topics)
    corpus = random_corpus(n_topics, 16, 60, n_topics, n_cells=40, counts="small", dtype=dtype, prior=prior)
    start, choices = draw_choices(corpus.keys, n_topics, 50, p)
    theta, share = maximise_documents(*corpus.documents, corpus.rows, prior, start.copy(), choices, p)
    for d in range(corpus.n_documents):
        cells = slice(corpus.indptr[d], corpus.indptr[d + 1])
        if cells.start == cells.stop:
            assert_allclose(theta[d], prior / prior.sum(), rtol=1e-14)
            continue
        words = corpus.rows[corpus.cell_word[cells]].astype(np.float64)
        expected, _ = reference.maximize(words, corpus.cell_count[cells], prior, start[d], choices[d], p)
        assert_allclose(theta[d], expected, rtol=TOLERANCE[dtype], atol=0)
        assert_allclose(share[cells], corpus.cell_count[cells] / (words @ expected), rtol=1e-6)


@for_both_precisions
@pytest.mark.parametrize("seed", range(20))
def test_topics_that_are_left_out_change_nothing(seed, dtype):
    """Bit for bit, with topics that are nearly or exactly alike among others, and weights of all sizes."""
    rng = np.random.default_rng(seed)
    n_topics = int(rng.choice([2, 17, 60, 130]))
    alpha = rng.choice([0.01, 0.3, 1.0, 1.5, 50.0])
    corpus = random_corpus(seed, 40, 50, n_topics, n_cells=30, counts="mixed", prior=np.full(n_topics, alpha))
    rows = corpus.rows.copy()
    rows[:, n_topics // 2 :] = rows[:, : n_topics - n_topics // 2]
    rows[:, -1] *= 1 + 1e-15
    rows = rows.astype(dtype)
    p = rng.choice([1e-3, 0.2, 0.5, 0.9])
    start, choices = draw_choices(corpus.keys, n_topics, 120, p)
    given = *corpus.documents, rows, corpus.prior, start, choices, p
    for lazy, full in zip(maximise_documents(*given), maximise_documents(*given, lazy=False)):
        assert_array_equal(lazy, full)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.5])
def test_the_first_of_equal_topics_is_chosen(alpha, lazy):
    """Twenty topics, of which five are distinct, from a start that is the same for all."""
    rng = np.random.default_rng(0)
    for seed in range(100):
        rows = np.ascontiguousarray(rng.random((4, 5))[:, rng.integers(0, 5, 20)])
        counts, prior = rng.integers(1, 5, 4).astype(float), np.full(20, alpha)
        start = np.full((1, 20), 0.05)
        _, choices = draw_choices(np.array([seed], dtype=np.uint64), 20, 30, 0.5)
        document = np.array([0, 4]), np.arange(4, dtype=np.int32), counts
        theta, _ = maximise_documents(*document, rows, prior, start, choices, 0.5, lazy)
        chosen = start[0].copy()  # counts: those of topics that are alike stay exactly alike
        for t, n_likelihood in enumerate(np.cumsum(choices[0], dtype=float), start=1):
            pull = ((counts / (rows @ chosen))[:, None] * rows).sum(axis=0)
            chosen[np.argmax(n_likelihood * pull + (t - n_likelihood) * (prior - 1) / chosen)] += 1
        assert_allclose(theta[0], chosen / 31, rtol=1e-9)


@for_both_precisions
@pytest.mark.parametrize("counts", ["unit", "mixed"])
def test_expected_counts_of_a_cell_sum_to_its_count_and_theta_stays_inside(counts, dtype):
    corpus = random_corpus(3, 40, n_topics=11, counts=counts, dtype=dtype)
    for n_iter in (1, 7, 50):
        start, choices = draw_choices(corpus.keys, 11, n_iter, 0.5)
        theta, share = maximise_documents(*corpus.documents, corpus.rows, corpus.prior, start, choices, 0.5)
        assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
        lengths = corpus.lengths > 0
        assert np.all(theta[lengths] >= start[lengths] / (n_iter + 1) * (1 - 1e-12))
        expected = share[:, None] * theta[corpus.cell_document] * corpus.rows[corpus.cell_word]
        assert_allclose(expected.sum(axis=1), corpus.cell_count, rtol=1e-5)


def test_alpha_two_converges_to_the_fixed_point_of_em():
    """theta_k proportional to alpha - 1 + theta_k (B (c / x))_k has the maximum of a concave objective."""
    corpus = random_corpus(5, 12, n_topics=5, counts="small", prior=np.full(5, 2.0))
    start, choices = draw_choices(corpus.keys, 5, 20_000, 0.5)
    theta, _ = maximise_documents(*corpus.documents, corpus.rows, corpus.prior, start, choices, 0.5)
    for d in np.flatnonzero(corpus.lengths):
        cells = slice(corpus.indptr[d], corpus.indptr[d + 1])
        words, counts = corpus.rows[corpus.cell_word[cells]], corpus.cell_count[cells]
        best = np.full(5, 0.2)
        for _ in range(5000):
            best = 1.0 + best * (counts / (words @ best) @ words)
            best /= best.sum()
        gap = reference.objective(words, counts, corpus.prior, best) - reference.objective(
            words, counts, corpus.prior, theta[d]
        )
        assert 0 <= gap < 1e-3


def test_draws_are_those_of_the_reference_and_have_its_law():
    keys = np.arange(4000, dtype=np.uint64)
    start, choices = draw_choices(keys, 3, 40, 0.3)
    expected_start, expected_choices = reference.draw_choices(keys[:20], 3, 40, 0.3)
    assert_allclose(start[:20], expected_start, rtol=1e-14)
    assert_array_equal(choices[:20], expected_choices)
    assert_allclose(start.sum(axis=1), 1.0)
    assert start.min() >= 1 / 5 and start.max() <= 2 / 4  # 1 / (1 + 2 + 2) and 2 / (2 + 1 + 1)
    assert np.all(choices[:, 0] == 1)
    assert choices[:, 1:].mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / (4000 * 39)))


def test_a_document_does_not_depend_on_its_neighbours():
    corpus = random_corpus(8, 20, n_topics=9, counts="small", dtype=np.float32)
    start, choices = draw_choices(corpus.keys, 9, 30, 0.5)
    given = corpus.rows, corpus.prior
    whole, share = maximise_documents(*corpus.documents, *given, start, choices, 0.5)
    for first, last in ((0, 1), (5, 12), (12, 20)):
        cells = slice(corpus.indptr[first], corpus.indptr[last])
        theta, part = maximise_documents(
            *corpus.piece(first, last), *given, start[first:last], choices[first:last], 0.5
        )
        assert_array_equal(theta, whole[first:last])
        assert_array_equal(part, share[cells])


def test_huge_counts_and_extreme_priors_stay_finite():
    phi = np.array([[0.9, 0.05], [0.1, 0.95]])
    for prior, p, scale in product((1e-12, 1e12), (5e-324, 1e-310, 0.5, 1 - 2**-53), (1.0, 1e-60)):
        corpus = repeated([1e20 * scale, scale], phi, [prior, prior], 5, dtype=np.float32)
        start, choices = draw_choices(corpus.keys, 2, 50, p)
        theta, share = maximise_documents(*corpus.documents, corpus.rows, corpus.prior, start, choices, p)
        assert np.isfinite(theta).all() and np.isfinite(share).all()
        assert_allclose(theta.sum(axis=1), 1.0)
