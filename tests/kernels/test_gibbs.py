"""The document step by Gibbs sampling: draw by draw that of the reference, from the exact conditionals.

Both kernels are here: the dense one, and the sparse one, which draws over the topics of a document.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._inference._pieces import prior_of
from sktopic._kernels._groups import Chains, DenseSums, LeftOut, Sweeps
from sktopic._kernels.inference import _dense_gibbs, _sparse_gibbs
from sktopic._kernels.inference._word_topics import draw_word_topics
from tests.kernels.tools import (
    ALONE,
    ROUNDING,
    TINY,
    TINY_COUNTS,
    TINY_TOKENS,
    Corpus,
    assert_distributed,
    assert_teams_agree,
    assert_within,
    for_both_precisions,
    for_each_seed,
    joined,
    random_corpus,
    random_topics,
    repeated,
    with_zeros,
)
from tests.reference import gibbs as reference
from tests.reference.documents import clump_weights
from tests.reference.enumeration import Enumeration


def chains(corpus, z, own):
    """Documents, chains and own tokens of the pieces of a corpus; z is that of all, and changed in place."""
    for first, last in corpus.pieces:
        some = own and own._replace(often=own.often[first:last])
        given = Chains(corpus.keys[first:last], z[corpus.clumps(first, last)])
        yield corpus.piece(first, last), given, some, (first, last)


def run_sparse(corpus, sweeps, z=None, own=None, team=ALONE):
    """z after the sweeps, and what the kernel returns."""
    z = corpus.unassigned() if z is None else z.copy()
    given, results = (corpus.rows, corpus.cumulative, corpus.prior), []
    for documents, chain, some, _ in chains(corpus, z, own):
        indptr, *found = _sparse_gibbs.sweep_documents(documents, *given, chain, sweeps, team, some)
        results.append((np.diff(indptr), *found))
    sizes, *rest = joined(results)
    return z, np.append(0, np.cumsum(sizes)), *rest


def run_dense(corpus, sweeps, z=None, own=None, team=ALONE):
    """z after the sweeps, sums of cells, log_theta, and sums of documents."""
    n_topics, n_cells, n_documents = corpus.prior.shape[-1], len(corpus.cell_word), corpus.n_documents
    n_padded = -(-n_topics // _dense_gibbs.PADDING) * _dense_gibbs.PADDING
    runs = []
    for by_document in (False, True):
        after = corpus.unassigned() if z is None else z.copy()
        counts = np.full((0 if by_document else n_cells, n_padded), np.nan, dtype=corpus.dtype)
        sums = np.full((n_documents * by_document, n_topics), np.nan)
        log_theta = np.zeros((n_documents, n_topics))
        for documents, chain, some, (first, last) in chains(corpus, after, own):
            cells = slice(corpus.indptr[first], corpus.indptr[last])
            target = DenseSums(counts[cells], sums[first:last], log_theta[first:last])
            prior = prior_of(corpus.prior, slice(first, last))
            given = corpus.clump_indptr[first : last + 1], corpus.rows, prior
            _dense_gibbs.sweep_documents(documents, *given, chain, sweeps, target, team, some)
        assert not np.any(counts[:, n_topics:])
        runs.append((after, counts[:, :n_topics], log_theta, sums))
    for array, other in zip(runs[0][::2], runs[1][::2]):
        assert_array_equal(array, other)
    return *runs[0][:3], runs[1][3]


def run(kernel, corpus, *given):
    """z, sums of cells and log_theta by either kernel."""
    if kernel == "dense":
        return run_dense(corpus, *given)[:3]
    z, *result = run_sparse(corpus, *given)
    return z, *reference.dense(corpus, *result)


for_both_kernels = pytest.mark.parametrize("kernel", ["sparse", "dense"])


def run_reference(corpus, sweeps, z, own=None, by_lanes=False):
    """z, sums of cells, fixed parts, log_theta, and the topics of columns."""
    z, chain = z.copy(), (corpus.rows, corpus.prior, corpus.keys)
    return z, *reference.sweep_documents(corpus.documents, *chain, z, sweeps, by_lanes, own)


def corpus_and_start(n_topics, case, dtype):
    """A corpus, the topics from which chains start, and own tokens."""
    counts = "mixed" if case in ("mixed", "continued") else "unit" if case == "unit" else "small"
    corpus = random_corpus(n_topics, n_topics=n_topics, counts=counts, dtype=dtype)
    rng, z, own = np.random.default_rng(0), corpus.unassigned(), None
    if case == "continued":  # some not assigned yet
        z = np.where(rng.random(len(z)) < 0.2, -1, rng.integers(0, n_topics, len(z))).astype(np.int32)
    elif case == "own tokens":
        own = corpus.own_tokens(n_topics)
    elif case == "impossible words":
        corpus = Corpus(*corpus.documents, with_zeros(rng, corpus.phi), corpus.prior, dtype, n_topics)
    elif case in WIDE:  # flat topics and a large prior: 300 tokens come to use nearly all of 200 topics
        sizes = np.array([0, 1, 100, 3])
        cell_word = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
        cells = np.append(0, np.cumsum(sizes)), cell_word, np.full(sizes.sum(), 3.0)
        corpus = Corpus(*cells, np.full((100, n_topics), 0.01), np.full(n_topics, 5.0), dtype)
        z = corpus.unassigned()
        if case == "wide from the start":
            z, own = rng.integers(0, n_topics, len(z)).astype(np.int32), corpus.own_tokens(n_topics)
    if case.startswith("own priors"):  # a prior for each document
        own = corpus.own_tokens(n_topics)
        corpus.prior = rng.gamma(0.5, 1.0, (corpus.n_documents, n_topics)) + 1e-6
    return corpus, z, own


# Rows of a document's topics become wider twice.
WIDE = "wide", "wide from the start"
CASES = "unit", "impossible words", "mixed", "continued", "own tokens", "small"


@pytest.mark.parametrize("drawn", [False, True], ids=["probabilities", "draws"])
@pytest.mark.parametrize(
    ("case", "n_topics", "n_burn_in", "n_sweeps", "dtype"),
    [
        *((case, 7, 1, 2, dtype) for case, dtype in zip(CASES, [np.float32, np.float64] * 3)),
        ("small", 1, 0, 1, np.float32),
        ("mixed", 40, 0, 3, np.float64),
        ("own tokens", 40, 2, 1, np.float64),
        *((case, 200, n, 2, dtype) for n, dtype in ((0, np.float64), (2, np.float32)) for case in WIDE),
    ],
)
def test_sparse_draws_and_sums_are_those_of_the_reference(case, n_topics, n_burn_in, n_sweeps, dtype, drawn):
    corpus, start, own = corpus_and_start(n_topics, case, dtype)
    sweeps = Sweeps(n_burn_in, n_sweeps, drawn, with_log_theta=True)
    z, *result = run_sparse(corpus, sweeps, start, own)
    expected_z, *expected, orders = run_reference(corpus, sweeps, start, own)
    assert_array_equal(z, expected_z)
    column_indptr, column_topic, values, fixed, log_theta = result
    assert_array_equal(column_topic, np.concatenate(orders))
    assert_array_equal(np.diff(column_indptr), [len(order) for order in orders])
    assert values.dtype == dtype and fixed.dtype == log_theta.dtype == np.float64
    # Entries far below a cell's count carry the rounding of the largest ones; draws are sums of clumps.
    cells, sums = reference.dense(corpus, *result)
    atol = 0 if drawn else ROUNDING[dtype] * n_sweeps * corpus.cell_count.max() * 1e-3
    rtol = max(256 * np.finfo(dtype).eps, ROUNDING[dtype]) if drawn else 10 * ROUNDING[dtype]
    if case in WIDE:
        assert len(orders[2]) > 128
        atol, rtol = 0, ROUNDING[dtype]
    assert_allclose(cells, expected[0], rtol=rtol, atol=atol)
    assert_allclose(fixed, 0.0 if drawn else expected[1], rtol=ROUNDING[dtype])
    assert_allclose(sums, expected[2], rtol=1e-12, atol=1e-10)
    *without, nothing = run_sparse(corpus, sweeps._replace(with_log_theta=False), start, own)
    assert len(nothing) == 0
    for array, other in zip(without, (z, *result)):
        assert_array_equal(array, other)


@pytest.mark.parametrize(
    ("case", "n_topics", "sweeps"),
    [
        *((case, 17, Sweeps(1, 2)) for case in CASES),
        ("small", 1, Sweeps(0, 1)),
        ("mixed", 16, Sweeps(0, 3)),
        ("own tokens", 200, Sweeps(2, 1)),
        ("own priors", 17, Sweeps(1, 2, with_log_theta=True)),
    ],
)
def test_dense_draws_and_sums_are_those_of_the_reference(case, n_topics, sweeps):
    corpus, start, own = corpus_and_start(n_topics, case, np.float64)
    z, cells, log_theta, sums = run_dense(corpus, sweeps, start, own)
    expected_z, *expected, _ = run_reference(corpus, sweeps, start, own, by_lanes=True)
    assert_array_equal(z, expected_z)
    atol = ROUNDING[np.float64] * sweeps.n_sweeps * corpus.cell_count.max() * 1e-3
    assert_allclose(cells, expected[0], rtol=1e-10, atol=atol)
    assert_allclose(log_theta, expected[2], rtol=1e-12, atol=1e-10)
    by_document = np.zeros_like(sums)
    np.add.at(by_document, corpus.cell_document, expected[0])
    assert_allclose(sums, by_document, rtol=1e-10, atol=10 * atol)


def test_single_precision_changes_sums_of_the_dense_kernel_by_little():
    """Where no draw is decided by a rounding, as in this corpus."""
    corpora = [random_corpus(2, 20, n_topics=18, counts="small", dtype=dtype) for dtype in ROUNDING]
    single, double = (run_dense(corpus, Sweeps(2, 3)) for corpus in corpora)
    assert_array_equal(single[0], double[0])
    for array, other in zip(single[1:], double[1:]):
        assert_allclose(array, other, rtol=1e-4, atol=1e-5)


def run_word_topics(corpus, team=ALONE):
    """The topics of all clumps, drawn by their words alone."""
    z = np.full(corpus.clump_indptr[-1], -2, dtype=np.int32)
    for documents, chain, _, (first, last) in chains(corpus, z, None):
        bounds = corpus.clump_indptr[first : last + 1]
        prior = prior_of(corpus.prior, slice(first, last))
        draw_word_topics(documents, bounds, corpus.rows, corpus.cumulative, prior, chain, team)
    return z


@pytest.mark.parametrize(
    ("case", "n_topics", "dtype"),
    [
        ("mixed", 7, np.float32),
        ("impossible words", 7, np.float64),
        ("small", 1, np.float64),
        ("unit", 200, np.float32),
        ("own priors", 17, np.float32),
        ("own priors", 40, np.float64),
    ],
)
def test_topics_by_words_alone_are_those_of_the_reference(case, n_topics, dtype):
    corpus, *_ = corpus_and_start(n_topics, case, dtype)
    expected = reference.draw_word_topics(corpus.documents, corpus.rows, corpus.prior, corpus.keys)
    assert_array_equal(run_word_topics(corpus), expected)


def test_any_number_of_threads_gives_the_same():
    corpus = random_corpus(9, 20, n_topics=18, counts="mixed", dtype=np.float32)
    assert_teams_agree(lambda team: (run_word_topics(corpus, team),))
    assert_teams_agree(lambda team: run_dense(corpus, Sweeps(2, 3), team=team))
    for drawn in (False, True):
        sweeps = Sweeps(2, 3, drawn, with_log_theta=True)
        assert_teams_agree(lambda team, sweeps=sweeps: run_sparse(corpus, sweeps, team=team))


@for_both_kernels
@for_both_precisions
def test_counts_of_any_size_are_conserved(dtype, kernel):
    for count in (1e-30, 0.999, 64.0001, 1e30):
        corpus = repeated([count, 1.0, count], *TINY[3], 20, dtype)
        z, expected, log_theta = run(kernel, corpus, Sweeps(2, 2, with_log_theta=True))
        assert_allclose(expected.sum(axis=1), 2 * corpus.cell_count, rtol=2 * 64 * np.finfo(dtype).eps)
        assert np.all(np.isfinite(log_theta)) and np.all(log_theta >= 0), count
        assert z.min() >= 0 and z.max() < 3, count


@pytest.mark.slow
def test_sums_of_many_tokens_lose_no_small_shares():
    """Two million tokens in float32, of which one topic has a millionth each."""
    phi = np.tile([1.0, 1e-6], (40_000, 1))
    corpus = repeated(np.full(40_000, 64.0), phi, [1e12, 1e12], 1, np.float32)
    assert_allclose(run_dense(corpus, Sweeps(0, 1))[3][0, 1], 64 * 40_000 * 1e-6, rtol=1e-4)


@for_both_kernels
def test_a_word_of_one_document_alone_says_nothing_of_topics(kernel):
    """Its token was added by the document itself: without it the word is as probable in all topics."""
    smoothing, weights = np.full(3, 0.1), np.array([0.3, 0.7, 1.0]) + [1.0, 2.0, 3.0]
    phi = np.array([[0.12, 0.1, 0.1], [0.88, 0.9, 0.9]])
    corpus = repeated([1.0, 6.0], phi, [0.3, 0.7, 1.0], 5)
    own = LeftOut(np.ones(5), np.full(3, 0.02), smoothing, np.exp(-corpus.log_norm))
    start = np.tile(np.array([0, 0, 1, 1, 2, 2, 2], dtype=np.int32), 5)
    _, sums, _ = run(kernel, corpus, Sweeps(0, 1), start, own)
    assert_allclose(sums[::2], np.tile(weights / weights.sum(), (5, 1)), rtol=1e-12)


@pytest.mark.law
@for_both_kernels
@for_each_seed
def test_assignments_and_sums_have_the_posterior_distribution(seed, kernel):
    """20,000 independent chains: states by chi-square, means of five kept sweeps within 5 standard errors.

    So many tell a law from one that is 0.03 away in total variation.
    """
    phi, prior = TINY[3]
    corpus = repeated(TINY_COUNTS, phi, prior, 20_000, np.float32, key=1000 + seed)
    z, expected, log_theta = run(kernel, corpus, Sweeps(10, 5, with_log_theta=True))
    exact = Enumeration(TINY_TOKENS, phi, prior)
    states = z.reshape(-1, 5) @ 3 ** np.arange(5)[::-1]  # the order in which they are enumerated
    assert_distributed(np.bincount(states, minlength=3**5), exact.posterior)
    by_word = np.zeros((3, 3))
    np.add.at(by_word, TINY_TOKENS, exact.expected_counts())
    assert_within(expected.reshape(-1, 3, 3) / 5, by_word, 5)
    assert_within(log_theta / 5, exact.mean_psi() - psi(prior), 5)


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize(
    ("counts", "topics", "n_topics"),  # the first token is drawn again
    [
        ([1.0], [3], 16),
        ([1.0], [-1], 17),
        ([3.0, 2.0, 4.0], [0, 7, 7, 3, 0, 0, 3, 7, 3], 9),
        ([2.0, 2.0], [99, 98, 97, -1], 100),
        ([2.5, 70.0], [1, 2, 3] + [4] * 64, 6),
    ],
)
def test_one_draw_has_the_dense_conditional(counts, topics, n_topics, seed):
    """Chi-square of 20,000 draws in single precision, in which the dense kernel has no twin.

    So many tell a law from one that is 0.02 away in total variation.
    """
    rng = np.random.default_rng(n_topics)
    phi = random_topics(rng, max(len(counts), 2), n_topics, 1.0)
    phi[0, 1] = 0.0
    corpus = repeated(counts, phi, rng.gamma(1.0, 0.5, n_topics) + 0.02, 20_000, np.float32, key=seed)
    z, *_ = run_dense(corpus, Sweeps(0, 1), np.tile(np.array(topics, dtype=np.int32), 20_000))
    weights = np.concatenate([clump_weights(c) for c in counts])
    others = [(k, w) for k, w in zip(topics[1:], weights[1:]) if k >= 0]
    n = np.bincount([k for k, _ in others], [w for _, w in others], n_topics) if others else 0
    p = reference.conditional(phi[0], corpus.prior, n)
    drawn = z.reshape(20_000, -1)[:, 0]
    assert_distributed(np.bincount(drawn, minlength=n_topics), p / p.sum())
