"""Topics and table indicators: golden conditionals, the draws of the twin, the law of many draws."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._kernels._groups import AliasTables
from sktopic._kernels.hdp._table_indicators import sweep_tables, token_conditional
from sktopic._kernels.random._alias import build_alias_tables
from tests.kernels.tools import (
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    joined,
    random_corpus,
    repeated,
)
from tests.reference import table_indicators as reference

GOLDEN = Path(__file__).parent.parent / "golden"

for_each_sampler = pytest.mark.parametrize("sampler", ["dense", "tables", "sums"])
for_both_root_weights = pytest.mark.parametrize("root", ["mean", "paper"])


@pytest.fixture(scope="module")
def conditionals():
    with np.load(GOLDEN / "hdp_token_conditional_golden.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def posterior():
    with np.load(GOLDEN / "hdp_exact_posterior_golden.npz") as arrays:
        return dict(arrays)


def root_weights(g, b0, root):
    return (g if root == "mean" else g**2 / (g + 1)) / (g.sum() + b0)


def golden_state(golden, state, root):
    """customers, tables, row, alpha and the probabilities (n_topics, 3) of a golden state."""
    alpha = golden["b1"][state] * root_weights(golden["gamma_tilde"][state], golden["b0"][state], root)
    n, m = (golden[name][state].astype(np.int32) for name in "nm")
    return n, m, golden["phi"][state].copy(), alpha, golden[f"prob_{root}"][state]


def words_with_table(corpus, sampler):
    """With "tables" two in three, so that there are documents with words of both kinds."""
    return (np.arange(len(corpus.rows)) % 3 < 2) & (sampler == "tables")


def alias_tables(corpus, sampler):
    """AliasTables of the words that have one."""
    words = np.flatnonzero(words_with_table(corpus, sampler)).astype(np.int32)
    of_word = np.full(len(corpus.rows), -1, dtype=np.int32)
    of_word[words] = np.arange(len(words))
    shape = len(words), len(corpus.prior)
    threshold, alias = np.empty(shape), np.empty(shape, dtype=np.int32)
    build_alias_tables(words, corpus.rows, corpus.prior, threshold, alias)
    return AliasTables(of_word, threshold, alias)


def run(corpus, n_burn_in, n_sweeps, sampler, weights=None, pieces=None):
    """Bounds and topics of columns, values, and the tables (n_pieces, n_topics) of the pieces."""
    tables = None if sampler == "dense" else alias_tables(corpus, sampler)
    given = corpus.rows, corpus.cumulative, corpus.prior
    results = []
    for first, last in pieces or corpus.pieces:
        weight = np.empty(0) if weights is None else weights[first:last]
        own = *given, corpus.keys[first:last], weight, n_burn_in, n_sweeps, tables
        indptr, topic, values, found = sweep_tables(corpus.piece(first, last), *own)
        results.append((np.diff(indptr), topic, values, found[None]))
    sizes, *rest = joined(results)
    return np.append(0, np.cumsum(sizes)), *rest


def run_reference(corpus, n_burn_in, n_sweeps, sampler):
    given = corpus.rows, corpus.prior, corpus.keys, n_burn_in, n_sweeps, sampler != "dense"
    return reference.sweep_tables(*corpus.documents, *given, words_with_table(corpus, sampler))


def drawn(corpus, column_indptr, column_topic, values):
    """Sums of draws (n_cells, n_topics)."""
    width = np.diff(column_indptr)[corpus.cell_document]
    cell = np.repeat(np.arange(len(width)), width)
    offset = np.arange(len(values)) - np.repeat(np.cumsum(width) - width, width)
    sums = np.zeros((len(width), len(corpus.prior)))
    sums[cell, column_topic[column_indptr[corpus.cell_document[cell]] + offset]] = values
    return sums


@for_both_root_weights
@pytest.mark.parametrize("state", range(6))
def test_golden_conditionals_of_one_token(conditionals, state, root):
    n, m, row, alpha, probability = golden_state(conditionals, state, root)
    opens, joins = token_conditional(n, m, row, alpha)
    total = opens.sum() + joins.sum()
    assert_array_equal(probability[:, 0], 0.0)
    assert_allclose(opens / total, probability[:, 1], rtol=1e-12)
    assert_allclose(joins / total, probability[:, 2], rtol=1e-12)
    # The golden sums include one over the customers and the concentration.
    mass = conditionals[f"mass_{root}"][state] * (conditionals["b1"][state] + n.sum())
    assert total == pytest.approx(mass, rel=1e-12)


@for_both_precisions
def test_conditional_is_that_of_exact_integers(dtype):
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = (rng.integers(0, 120, 9) * rng.integers(0, 2, 9)).astype(np.int32)
        m = np.array([rng.integers(1, c + 1) if c else 0 for c in n], dtype=np.int32)
        row, alpha = rng.random(9).astype(dtype), rng.gamma(0.5, 1.0, 9) + 1e-6
        opens, joins = token_conditional(n, m, row, alpha)
        expected = reference.token_conditional(n, m, row.astype(np.float64), alpha)
        assert_allclose(opens, expected[0], rtol=1e-12)
        assert_allclose(joins, expected[1], rtol=1e-9)  # what is left of a sum of the two


def twin_corpus(kind, n_topics, dtype):
    rng = np.random.default_rng(n_topics)
    if kind == "few absent":  # alpha is nearly all in two topics: many tries, and remainders near zero
        prior = np.full(n_topics, 1e-4)
        prior[rng.permutation(n_topics)[:2]] = 3.0
        base = random_corpus(7, 6, counts="small")
        return Corpus(*base.documents, rng.random((30, n_topics)) + 0.5, prior, dtype, 7)
    if kind == "zeros":
        base = random_corpus(8, 6, n_topics=n_topics, counts="small")
        phi = base.phi * (rng.random(base.phi.shape) < 0.3)
        phi[:, n_topics // 2] += 0.01
        return Corpus(*base.documents, phi, base.prior, dtype, 8)
    if kind == "flat":  # and a large alpha: documents come to use most of the topics
        base = random_corpus(4, 6, 50, n_topics, 50, "small")
        phi = np.full((50, n_topics), 1 / 50)
        return Corpus(*base.documents, phi, np.full(n_topics, 1.0), dtype, 4)
    return random_corpus(n_topics, 6, n_topics=n_topics, n_cells=8, counts=kind, dtype=dtype)


@for_both_precisions
@for_each_sampler
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (1, 3)])
@pytest.mark.parametrize(
    ("kind", "n_topics"),
    [*product(["unit", "small", "mixed", "few absent", "zeros"], [2, 7, 40]), ("small", 1), ("flat", 120)],
)
def test_every_draw_is_that_of_the_reference(kind, n_topics, n_burn_in, n_sweeps, sampler, dtype):
    corpus = twin_corpus(kind, n_topics, dtype)
    weights = np.arange(6) / 4 if n_sweeps == 1 else None  # which multiply tables alone; sums are exact
    *blocks, tables = run(corpus, n_burn_in, n_sweeps, sampler, weights)
    expected, expected_tables, orders = run_reference(corpus, n_burn_in, n_sweeps, sampler)
    assert blocks[2].dtype == dtype
    assert_array_equal(blocks[1], np.concatenate(orders))
    assert_array_equal(np.diff(blocks[0]), [len(order) for order in orders])
    assert kind != "flat" or max(map(len, orders)) >= 64
    assert_array_equal(tables.sum(axis=0), (np.ones(6) if weights is None else weights) @ expected_tables)
    sums = drawn(corpus, *blocks)
    rtol = 4 * 64 * np.finfo(dtype).eps
    assert_allclose(sums, expected, rtol=rtol)
    assert_allclose(sums.sum(axis=1), n_sweeps * corpus.cell_count, rtol=rtol)


@for_each_sampler
def test_nothing_is_kept(sampler):
    *blocks, tables = run(random_corpus(12, 8, counts="small"), 3, 0, sampler)
    assert not any(np.any(array) for array in (*blocks, tables))


@pytest.mark.law
@for_each_seed
@for_each_sampler
@for_both_root_weights
@pytest.mark.parametrize(("n_burn_in", "n_sweeps", "dtype"), [(0, 1, np.float64), (20, 5, np.float32)])
def test_long_run_means_are_those_of_the_posterior(
    posterior, n_burn_in, n_sweeps, dtype, root, sampler, seed
):
    golden = {name[4:]: value for name, value in posterior.items() if name.startswith("hyb_")}
    alpha = golden["b1"] * root_weights(golden["gamma_tilde"], golden["b0"], root)
    words, counts = np.unique(golden["doc"], return_counts=True)
    n_copies, n_groups = 20_000, 100
    corpus = repeated(counts, golden["phi"].T[words], alpha, n_copies, dtype, key=2000 + seed)
    each = n_copies // n_groups
    groups = [(i, i + each) for i in range(0, n_copies, each)]
    *blocks, tables = run(corpus, n_burn_in, n_sweeps, sampler, pieces=groups)
    customers = drawn(corpus, *blocks).reshape(n_copies, len(words), 3).sum(axis=1)
    # Tables are right for the topics in any sweep, the topics only after some.
    if n_sweeps == 1:
        of_topics = alpha * (psi(alpha + customers) - psi(alpha))
        of_topics = of_topics.reshape(n_groups, each, 3).mean(axis=1)
        assert_within(tables / each - of_topics, 0.0, 5)
    else:
        assert_within(customers / n_sweeps, golden[f"EN_{root}"], 5)
        assert_within(tables / each / n_sweeps, golden[f"Etables_{root}"], 5)


def fixed_but_one(n, row, alpha, n_copies, dtype, key):
    """Documents with n_k tokens that only topic k has, then one of the word that is given."""
    others = np.flatnonzero(n)
    phi = np.vstack([*np.eye(len(n))[others], row])
    return repeated([*n[others].astype(float), 1.0], phi, alpha, n_copies, dtype, key)


def last_topics(corpus, n_topics, blocks):
    n_copies = corpus.n_documents
    return drawn(corpus, *blocks).reshape(n_copies, -1, n_topics)[:, -1].sum(axis=0)


@pytest.mark.law
@for_each_seed
@for_each_sampler
@pytest.mark.parametrize(("n_burn_in", "dtype"), [(0, np.float32), (1, np.float64)])
@pytest.mark.parametrize("state", range(6))
def test_one_free_token_has_its_law(conditionals, state, n_burn_in, dtype, sampler, seed):
    """The others have the golden states' topics; with tables summed out the weights are phi (alpha + n).

    So they are in the first sweep and, as tables are then right for the topics, in all others.
    """
    n, _, row, alpha, _ = golden_state(conditionals, state, "mean")
    n_copies = 20_000
    corpus = fixed_but_one(n, row, alpha, n_copies, dtype, key=3000 + seed)
    *blocks, tables = run(corpus, n_burn_in, 1, sampler)
    observed = last_topics(corpus, len(n), blocks)
    p = row * (alpha + n)
    p /= p.sum()
    assert_distributed(observed, p)
    # Tables: sums of independent ones, each opened with probability alpha / (alpha + customers before).
    customers = n + np.eye(len(n), dtype=int)  # by the free token's topic
    mean = alpha * (psi(alpha + customers) - psi(alpha))
    opened = [[a / (a + np.arange(c)) for a, c in zip(alpha, option)] for option in customers]
    variance = np.array([[(q * (1 - q)).sum() for q in options] for options in opened])
    expected = p @ mean
    spread = p @ (variance + mean**2) - expected**2
    assert np.all(np.abs(tables.sum(axis=0) / n_copies - expected) <= 5 * np.sqrt(spread / n_copies) + 1e-12)
