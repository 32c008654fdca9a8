"""Topics and table indicators: golden conditionals, the draws of the twin, the law of many draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import AliasTables
from sktopic._kernels.hdp._table_indicators import sweep_tables, token_conditional
from sktopic._kernels.random._alias import build_alias_tables
from tests.kernels.tools import (
    Corpus,
    assert_within,
    for_both_precisions,
    for_each_seed,
    golden,
    joined,
    random_corpus,
    repeated,
    with_zeros,
)
from tests.reference import table_indicators as reference
from tests.reference.gibbs import dense

for_each_sampler = pytest.mark.parametrize("sampler", ["dense", "tables", "sums"])
CONDITIONALS = golden("hdp_token_conditional")
POSTERIOR = golden("hdp_exact_posterior")


def root_weights(g, b0, root):
    return (g if root == "mean" else g**2 / (g + 1)) / (g.sum() + b0)


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


@pytest.mark.parametrize("root", ["mean", "paper"])
def test_golden_conditionals_of_one_token(root):
    for b0, b1, g, n, m, phi, probability, mass in zip(
        *(CONDITIONALS[name] for name in ("b0", "b1", "gamma_tilde", "n", "m", "phi")),
        CONDITIONALS[f"prob_{root}"],
        CONDITIONALS[f"mass_{root}"],
    ):
        given = n.astype(np.int32), m.astype(np.int32), phi.copy(), b1 * root_weights(g, b0, root)
        opens, joins = token_conditional(*given)
        # The golden sums include one over the customers and the concentration.
        total = mass * (b1 + n.sum())
        assert_array_equal(probability[:, 0], 0.0)
        assert_allclose(opens / total, probability[:, 1], rtol=1e-12)
        assert_allclose(joins / total, probability[:, 2], rtol=1e-12)


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
    if kind == "few absent":  # alpha is nearly all in two topics: all tries may fail, or little remains
        prior = np.full(n_topics, 1e-2 if n_topics < 10 else 1e-4)
        prior[rng.permutation(n_topics)[:2]] = 3.0
        base = random_corpus(7, 6, counts="small")
        return Corpus(*base.documents, rng.random((30, n_topics)) + 0.5, prior, dtype, 7)
    if kind == "zeros":
        base = random_corpus(8, 6, n_topics=n_topics, counts="small")
        return Corpus(*base.documents, with_zeros(rng, base.phi), base.prior, dtype, 8)
    if kind == "flat":  # and a large alpha: documents come to use most of the topics
        base = random_corpus(4, 6, 50, n_topics, 50, "small")
        phi = np.full((50, n_topics), 1 / 50)
        return Corpus(*base.documents, phi, np.full(n_topics, 1.0), dtype, 4)
    return random_corpus(n_topics, 6, n_topics=n_topics, n_cells=8, counts=kind, dtype=dtype)


@for_each_sampler
@pytest.mark.parametrize(
    ("kind", "n_topics", "dtype"),
    [
        ("small", 1, np.float32),
        ("unit", 7, np.float64),
        *((kind, 7, np.float32) for kind in ("mixed", "few absent", "zeros")),
        *((kind, 20, np.float64) for kind in ("mixed", "few absent", "zeros")),
        ("flat", 100, np.float32),
    ],
)
def test_every_draw_is_that_of_the_reference(kind, n_topics, dtype, sampler):
    """Also with weights of documents, which multiply tables alone; sums are exact."""
    n_burn_in, n_sweeps, weights = (0, 1, np.arange(6) / 4) if dtype is np.float32 else (1, 2, None)
    corpus = twin_corpus(kind, n_topics, dtype)
    *blocks, tables = run(corpus, n_burn_in, n_sweeps, sampler, weights)
    expected, expected_tables, orders = run_reference(corpus, n_burn_in, n_sweeps, sampler)
    assert blocks[2].dtype == dtype
    assert_array_equal(blocks[1], np.concatenate(orders))
    assert_array_equal(np.diff(blocks[0]), [len(order) for order in orders])
    assert kind != "flat" or max(map(len, orders)) >= 50
    assert_array_equal(tables.sum(axis=0), (np.ones(6) if weights is None else weights) @ expected_tables)
    sums, _ = dense(corpus, *blocks)
    rtol = 4 * 64 * np.finfo(dtype).eps
    assert_allclose(sums, expected, rtol=rtol)
    assert_allclose(sums.sum(axis=1), n_sweeps * corpus.cell_count, rtol=rtol)


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize(("sampler", "root"), [("dense", "mean"), ("tables", "paper"), ("sums", "mean")])
def test_means_are_those_of_the_posterior(root, sampler, seed):
    """Five sweeps of 20,000 documents, within 5 standard errors, each below a hundredth."""
    exact = {name[4:]: value for name, value in POSTERIOR.items() if name.startswith("hyb_")}
    alpha = exact["b1"] * root_weights(exact["gamma_tilde"], exact["b0"], root)
    words, counts = np.unique(exact["doc"], return_counts=True)
    corpus = repeated(counts, exact["phi"].T[words], alpha, 20_000, np.float32, key=2000 + seed)
    groups = [(i, i + 200) for i in range(0, 20_000, 200)]
    *blocks, tables = run(corpus, 20, 5, sampler, pieces=groups)
    customers = dense(corpus, *blocks)[0].reshape(20_000, len(words), 3).sum(axis=1)
    assert_within(customers / 5, exact[f"EN_{root}"], 5)
    assert_within(tables / 200 / 5, exact[f"Etables_{root}"], 5)
