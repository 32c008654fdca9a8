"""Stochastic Frank-Wolfe steps: golden vertices, the whole gradient, the law of the draws, the limit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.lda._ope import draw_choices, maximise_documents
from tests.kernels.tools import for_both_precisions, golden, joined, random_corpus
from tests.reference import ope as reference

GOLDEN = golden("ope")
# Entries of rows that float32 rounds; the vertices of the tests below are further apart.
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-11}


def maximise(corpus, start, choices, p, rows=None, **settings):
    """theta of the documents, and shares of their cells; documents come in pieces."""
    given = corpus.rows if rows is None else rows, corpus.prior
    pieces = []
    for first, last in corpus.pieces:
        own = *given, start[first:last], choices[first:last], p
        pieces.append(maximise_documents(*corpus.piece(first, last), *own, **settings))
    return joined(pieces)


@pytest.mark.parametrize("case", range(5))
@pytest.mark.parametrize(("draws", "suffix"), [("bern_lik_first", ""), ("bern_prior_first", "_prior_first")])
def test_golden_vertices_exactly_and_theta(draws, suffix, case):
    """One of the cases in which the prior is drawn first starts with a tie of all topics."""
    words = np.flatnonzero(GOLDEN["doc"])
    rows, counts = GOLDEN["beta"][:, words].T, GOLDEN["doc"][words].astype(np.float64)
    document = np.array([0, len(words)]), np.arange(len(words), dtype=np.int32), counts
    prior, choices = np.full(6, GOLDEN["alpha"][case]), GOLDEN[draws][case].astype(np.uint8)

    def theta(n_iter, dtype=np.float64):
        given = np.ascontiguousarray(rows, dtype=dtype), prior, GOLDEN["theta1"][None].copy()
        return maximise_documents(*document, *given, choices[None, :n_iter], float(GOLDEN["p"][case]))[0][0]

    trace = np.array([theta(t) for t in range(1, 51)])
    # What was added to (t + 1) theta_t in each iteration
    numerators = np.vstack([GOLDEN["theta1"], trace * np.arange(2, 52)[:, None]])
    assert_array_equal(np.diff(numerators, axis=0).argmax(axis=1), GOLDEN[f"vertices{suffix}"][case])
    for last in (trace[-1], theta(50, np.float32)):
        assert_allclose(last, GOLDEN[f"theta_T{suffix}"][case], rtol=0, atol=1e-12)


@for_both_precisions
@pytest.mark.parametrize(
    ("n_topics", "alpha", "p"),
    [(1, 0.5, 0.1), (2, 0.01, 0.5), (16, 1.0, 0.5), (17, 2.0, 0.9), (120, 0.01, 0.5), (120, 2.0, 0.9)],
)
def test_vertices_are_those_of_the_whole_gradient(n_topics, alpha, p, dtype):
    """Though most of the gradient is not computed."""
    prior = alpha * np.linspace(1.0, 1.2, n_topics)
    corpus = random_corpus(n_topics, 6, 60, n_topics, n_cells=40, counts="small", dtype=dtype, prior=prior)
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


@pytest.mark.parametrize("seed", range(6))
def test_topics_that_are_left_out_change_nothing(seed):
    """Bit for bit, with topics that are nearly or exactly alike among others, and weights of all sizes."""
    rng = np.random.default_rng(seed)
    n_topics = int(rng.choice([2, 17, 60, 130]))
    prior = np.full(n_topics, rng.choice([0.01, 0.3, 1.0, 1.5, 50.0]))
    corpus = random_corpus(seed, 40, 50, n_topics, n_cells=30, counts="mixed", prior=prior)
    rows = corpus.rows.copy()
    rows[:, n_topics // 2 :] = rows[:, : n_topics - n_topics // 2]
    rows[:, -1] *= 1 + 1e-15
    p = rng.choice([1e-3, 0.2, 0.5, 0.9])
    for dtype in (np.float32, np.float64):
        given = corpus, *draw_choices(corpus.keys, n_topics, 120, p), p, rows.astype(dtype)
        for lazy, full in zip(maximise(*given), maximise(*given, lazy=False)):
            assert_array_equal(lazy, full)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.5])
def test_the_first_of_equal_topics_is_chosen(alpha):
    """Twenty topics, of which five are distinct, from a start that is the same for all."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        rows = np.ascontiguousarray(rng.random((4, 5))[:, rng.integers(0, 5, 20)])
        counts, prior = rng.integers(1, 5, 4).astype(float), np.full(20, alpha)
        start = np.full((1, 20), 0.05)
        _, choices = draw_choices(np.array([seed], dtype=np.uint64), 20, 30, 0.5)
        document = np.array([0, 4]), np.arange(4, dtype=np.int32), counts
        theta, _ = maximise_documents(*document, rows, prior, start, choices, 0.5)
        chosen = start[0].copy()  # counts: those of topics that are alike stay exactly alike
        for t, n_likelihood in enumerate(np.cumsum(choices[0], dtype=float), start=1):
            pull = ((counts / (rows @ chosen))[:, None] * rows).sum(axis=0)
            chosen[np.argmax(n_likelihood * pull + (t - n_likelihood) * (prior - 1) / chosen)] += 1
        assert_allclose(theta[0], chosen / 31, rtol=1e-9)


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
