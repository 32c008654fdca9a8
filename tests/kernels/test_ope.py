"""Stochastic Frank-Wolfe steps: golden vertices, the whole gradient, the law of the draws, the limit."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.lda._ope import draw_choices, maximise_documents
from tests.kernels.tools import for_both_precisions, joined, random_corpus, repeated
from tests.reference import ope as reference

GOLDEN = Path(__file__).parent.parent / "golden" / "ope_golden.npz"
# Entries of rows that float32 rounds; the vertices of the tests below are further apart.
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-11}


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


def maximise(corpus, start, choices, p, rows=None, **settings):
    """theta of the documents, and shares of their cells; documents come in pieces."""
    rows = corpus.rows if rows is None else rows
    return joined(
        maximise_documents(
            *corpus.piece(first, last),
            rows,
            corpus.prior,
            start[first:last],
            choices[first:last],
            p,
            **settings,
        )
        for first, last in corpus.pieces
    )


@pytest.mark.parametrize("case", range(5))
@pytest.mark.parametrize(
    ("draws", "suffix"),
    [("bern_lik_first", ""), ("bern_prior_first", "_prior_first")],
    ids=["likelihood", "prior"],
)
def test_golden_vertices_exactly_and_theta(golden, draws, suffix, case):
    """One of the cases in which the prior is drawn first starts with a tie of all topics."""
    words = np.flatnonzero(golden["doc"])

    def theta(n_iter, dtype=np.float64):
        found, _ = maximise_documents(
            np.array([0, len(words)]),
            np.arange(len(words), dtype=np.int32),
            golden["doc"][words].astype(np.float64),
            np.ascontiguousarray(golden["beta"][:, words].T, dtype=dtype),
            np.full(6, golden["alpha"][case]),
            golden["theta1"][None].copy(),
            golden[draws][case, :n_iter].astype(np.uint8)[None],
            float(golden["p"][case]),
        )
        return found[0]

    trace = np.array([theta(t) for t in range(1, 51)])
    # What was added to (t + 1) theta_t in each iteration
    numerators = np.vstack([golden["theta1"], trace * np.arange(2, 52)[:, None]])
    assert_array_equal(np.diff(numerators, axis=0).argmax(axis=1), golden[f"vertices{suffix}"][case])
    for last in (trace[-1], theta(50, np.float32)):
        assert_allclose(last, golden[f"theta_T{suffix}"][case], rtol=0, atol=1e-12)
    if not suffix:
        assert_allclose(trace, golden["theta_trace"][case], rtol=0, atol=1e-12)


@for_both_precisions
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_topics", [1, 2, 15, 16, 17, 120])
def test_vertices_are_those_of_the_whole_gradient(n_topics, p, alpha, dtype):
    """Though most of the gradient is not computed."""
    prior = alpha * np.linspace(1.0, 1.2, n_topics)
    corpus = random_corpus(n_topics, 16, 60, n_topics, n_cells=40, counts="small", dtype=dtype, prior=prior)
    start, choices = draw_choices(corpus.keys, n_topics, 50, p)
    theta, share = maximise(corpus, start.copy(), choices, p)
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
@pytest.mark.parametrize("seed", range(12))
def test_topics_that_are_left_out_change_nothing(seed, dtype):
    """Bit for bit, with topics that are nearly or exactly alike among others, and weights of all sizes."""
    rng = np.random.default_rng(seed)
    n_topics = int(rng.choice([2, 17, 60, 130]))
    prior = np.full(n_topics, rng.choice([0.01, 0.3, 1.0, 1.5, 50.0]))
    corpus = random_corpus(seed, 40, 50, n_topics, n_cells=30, counts="mixed", prior=prior)
    rows = corpus.rows.copy()
    rows[:, n_topics // 2 :] = rows[:, : n_topics - n_topics // 2]
    rows[:, -1] *= 1 + 1e-15
    p = rng.choice([1e-3, 0.2, 0.5, 0.9])
    given = corpus, *draw_choices(corpus.keys, n_topics, 120, p), p, rows.astype(dtype)
    for lazy, full in zip(maximise(*given), maximise(*given, lazy=False)):
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


def test_alpha_two_converges_to_the_fixed_point_of_em():
    """theta_k proportional to alpha - 1 + theta_k (B (c / x))_k has the maximum of a concave objective."""
    corpus = random_corpus(5, 12, n_topics=5, counts="small", prior=np.full(5, 2.0))
    theta, _ = maximise(corpus, *draw_choices(corpus.keys, 5, 20_000, 0.5), 0.5)
    for d in np.flatnonzero(corpus.lengths):
        cells = slice(corpus.indptr[d], corpus.indptr[d + 1])
        given = words, counts, prior = (
            corpus.rows[corpus.cell_word[cells]],
            corpus.cell_count[cells],
            corpus.prior,
        )
        best = np.full(5, 0.2)
        for _ in range(5000):
            best = prior - 1.0 + best * (counts / (words @ best) @ words)
            best /= best.sum()
        assert 0 <= reference.objective(*given, best) - reference.objective(*given, theta[d]) < 1e-3


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


def test_huge_counts_and_extreme_priors_stay_finite():
    phi = np.array([[0.9, 0.05], [0.1, 0.95]])
    for prior, p, scale in product((1e-12, 1e12), (5e-324, 1e-310, 0.5, 1 - 2**-53), (1.0, 1e-60)):
        corpus = repeated([1e20 * scale, scale], phi, [prior, prior], 5, dtype=np.float32)
        theta, share = maximise(corpus, *draw_choices(corpus.keys, 2, 50, p), p)
        assert np.isfinite(theta).all() and np.isfinite(share).all()
        assert_allclose(theta.sum(axis=1), 1.0)
