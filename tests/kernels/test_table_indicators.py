"""Topics and table indicators: golden conditionals, the draws of the twin, the law of many draws."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._kernels._groups import AliasTables, DocumentCells
from sktopic._kernels.hdp._table_indicators import sweep_tables, token_conditional
from sktopic._kernels.random._alias import build_alias_tables
from tests.kernels.tools import (
    ROUNDING,
    Corpus,
    assert_distributed,
    assert_within,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    repeated,
)
from tests.reference import table_indicators as reference

NO_WEIGHTS = np.empty(0)
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


def run(corpus, n_burn_in, n_sweeps, sampler, first=0, last=None, weights=NO_WEIGHTS):
    """What the kernel returns of some of the documents."""
    last = corpus.n_documents if last is None else last
    documents = corpus.piece(first, last)
    return run_documents(corpus, documents, corpus.keys[first:last], n_burn_in, n_sweeps, sampler, weights)


def run_documents(corpus, documents, keys, n_burn_in, n_sweeps, sampler, weights=NO_WEIGHTS):
    given = corpus.rows, corpus.cumulative, corpus.prior, keys, weights
    tables = None if sampler == "dense" else alias_tables(corpus, sampler)
    return sweep_tables(documents, *given, n_burn_in, n_sweeps, tables)


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
        phi = rng.random((30, n_topics)) + 0.5
        base = random_corpus(7, 6, counts="small")
        return Corpus(*base.documents, phi, prior, dtype, 7)
    if kind == "zeros":
        base = random_corpus(8, 6, n_topics=n_topics, counts="small")
        phi = base.phi * (rng.random(base.phi.shape) < 0.3)
        phi[:, n_topics // 2] += 0.01
        return Corpus(*base.documents, phi, base.prior, dtype, 8)
    return random_corpus(n_topics, 6, n_topics=n_topics, n_cells=8, counts=kind, dtype=dtype)


@for_both_precisions
@for_each_sampler
@pytest.mark.parametrize("kind", ["unit", "small", "mixed", "few absent", "zeros"])
@pytest.mark.parametrize(("n_burn_in", "n_sweeps"), [(0, 1), (1, 3)])
@pytest.mark.parametrize("n_topics", [2, 7, 40])
def test_every_draw_is_that_of_the_reference(n_topics, n_burn_in, n_sweeps, kind, sampler, dtype):
    corpus = twin_corpus(kind, n_topics, dtype)
    column_indptr, column_topic, values, tables = run(corpus, n_burn_in, n_sweeps, sampler)
    expected, expected_tables, orders = run_reference(corpus, n_burn_in, n_sweeps, sampler)
    assert values.dtype == dtype
    assert_array_equal(column_topic, np.concatenate(orders))
    assert_array_equal(np.diff(column_indptr), [len(order) for order in orders])
    assert_array_equal(tables, expected_tables.sum(axis=0))
    sums = drawn(corpus, column_indptr, column_topic, values)
    rtol = 4 * 64 * np.finfo(dtype).eps
    assert_allclose(sums, expected, rtol=rtol)
    assert_allclose(sums.sum(axis=1), n_sweeps * corpus.cell_count, rtol=rtol)
    assert np.all(sums[corpus.rows[corpus.cell_word] == 0] == 0)


@for_both_precisions
@for_each_sampler
def test_blocks_widen_as_topics_appear_in_counted_sweeps(sampler, dtype):
    """Flat topics and a large alpha: documents come to use most of 120 topics."""
    n_topics, sizes = 120, np.array([0, 1, 50, 2, 50, 30])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    cell_word = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    phi, prior = np.full((50, n_topics), 1 / 50), np.full(n_topics, 1.0)
    corpus = Corpus(indptr, cell_word, np.full(indptr[-1], 2.0), phi, prior, dtype, 4)
    *blocks, tables = run(corpus, 0, 3, sampler)
    expected, expected_tables, orders = run_reference(corpus, 0, 3, sampler)
    assert max(map(len, orders)) > 64
    assert_array_equal(blocks[1], np.concatenate(orders))
    assert_array_equal(drawn(corpus, *blocks), expected)
    assert_array_equal(tables, expected_tables.sum(axis=0))


@for_each_sampler
def test_weights_multiply_the_tables_of_documents_and_change_no_draw(sampler):
    corpus = twin_corpus("small", 7, np.float64)
    weights = np.arange(corpus.n_documents) / 4  # sums are exact
    *blocks, tables = run(corpus, 1, 3, sampler, weights=weights)
    for array, other in zip(blocks, run(corpus, 1, 3, sampler)):
        assert_array_equal(array, other)
    assert_array_equal(tables, weights @ run_reference(corpus, 1, 3, sampler)[1])


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
    groups = [run(corpus, n_burn_in, n_sweeps, sampler, i, i + each) for i in range(0, n_copies, each)]
    indptr, topics, values, tables = zip(*groups)
    indptr = np.concatenate([[0], np.cumsum([np.diff(of_group) for of_group in indptr])])
    customers = (
        drawn(corpus, indptr, np.concatenate(topics), np.concatenate(values))
        .reshape(n_copies, len(words), 3)
        .sum(axis=1)
    )
    # Tables are right for the topics in any sweep, the topics only after some.
    if n_sweeps == 1:
        of_topics = alpha * (psi(alpha + customers) - psi(alpha))
        of_topics = of_topics.reshape(n_groups, each, 3).mean(axis=1)
        assert_within(np.array(tables) / each - of_topics, 0.0, 5)
    else:
        assert_within(customers / n_sweeps, golden[f"EN_{root}"], 5)
        assert_within(np.array(tables) / each / n_sweeps, golden[f"Etables_{root}"], 5)


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
@for_both_precisions
@for_each_sampler
@pytest.mark.parametrize("n_burn_in", [0, 1])
@pytest.mark.parametrize("state", range(6))
def test_one_free_token_has_its_law(conditionals, state, n_burn_in, sampler, dtype, seed):
    """The others have the golden states' topics; with tables summed out the weights are phi (alpha + n).

    So they are in the first sweep and, as tables are then right for the topics, in all others.
    """
    n, _, row, alpha, _ = golden_state(conditionals, state, "mean")
    n_copies = 100_000 if n.sum() < 10 and sampler != "dense" else 20_000
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
    assert np.all(np.abs(tables / n_copies - expected) <= 5 * np.sqrt(spread / n_copies) + 1e-12)


@pytest.mark.law
@for_each_seed
@for_each_sampler
@for_both_root_weights
@pytest.mark.parametrize("n_burn_in", [0, 2])
def test_every_topic_present_with_one_customer(conditionals, n_burn_in, root, sampler, seed):
    """Their tables are known (one each), so that the options of the free token can be counted.

    Nothing remains for the topics that the document lacks: there are none.
    """
    n, _, row, alpha, _ = golden_state(conditionals, 2, root)
    assert np.all(n == 1)
    corpus = fixed_but_one(n, row, alpha, 100_000, np.float64, key=4000 + seed)
    *blocks, tables = run(corpus, n_burn_in, 1, sampler)
    opens = tables - 100_000
    joins = last_topics(corpus, len(n), blocks) - opens
    assert np.all(joins >= 0)
    p = np.concatenate([row * alpha, row])
    assert_distributed(np.concatenate([opens, joins]), p / p.sum())


@pytest.mark.law
@for_each_seed
@for_both_precisions
@for_each_sampler
@pytest.mark.parametrize("n_burn_in", [0, 1])
@pytest.mark.parametrize("absent", [0.02, 5e-4], ids=["many tries", "small remainder"])
def test_topics_that_a_document_lacks_are_drawn_by_their_weights(absent, n_burn_in, sampler, dtype, seed):
    """Nearly all of alpha is in the topics of the document, so that the alias table proposes these."""
    rng = np.random.default_rng(6)
    n = np.zeros(20, dtype=int)
    n[[3, 11]] = 1
    alpha, row = rng.random(20) + 0.2, rng.random(20) + 0.2
    lacks = n == 0
    alpha[lacks] *= absent * 60.0 / (alpha * row)[lacks].sum()
    alpha[~lacks] *= (1 - absent) * 60.0 / (alpha * row)[~lacks].sum()
    n_copies = 100_000
    corpus = fixed_but_one(n, row, alpha, n_copies, dtype, key=5000 + seed)
    *blocks, _ = run(corpus, n_burn_in, 1, sampler)
    p = row * (alpha + n)
    assert_distributed(last_topics(corpus, 20, blocks), p / p.sum())


@pytest.mark.law
@for_each_seed
@for_both_precisions
@for_each_sampler
def test_documents_of_one_token(sampler, dtype, seed):
    rng = np.random.default_rng(3)
    row, alpha = rng.random(30) * (rng.random(30) < 0.7), rng.gamma(0.5, 1.0, 30) + 0.01
    corpus = repeated([1.0], row[None], alpha, 50_000, dtype, key=6000 + seed)
    for n_burn_in in (0, 2):
        *blocks, tables = run(corpus, n_burn_in, 1, sampler)
        observed = drawn(corpus, *blocks).sum(axis=0)
        assert_distributed(observed, row * alpha / (row @ alpha))
        assert_array_equal(tables, observed)


@for_each_seed
@for_both_precisions
@for_each_sampler
def test_one_topic(sampler, dtype, seed):
    """Everything is in it; tables are those of a Chinese restaurant, their number known in closed form."""
    alpha, n_copies = 1.7, 5000
    corpus = repeated(
        [3.0, 0.5, 80.0], np.array([[0.2], [0.3], [0.5]]), [alpha], n_copies, dtype, 7000 + seed
    )
    *blocks, tables = run(corpus, 2, 3, sampler)
    assert_array_equal(blocks[1], 0)
    assert_allclose(drawn(corpus, *blocks)[:, 0], 3 * corpus.cell_count, rtol=ROUNDING[dtype])
    n = 3 + 1 + 64
    q = alpha / (alpha + np.arange(n))
    # Kept sweeps of a document go together: no closer than one of them alone.
    error = tables[0] / 3 / n_copies - q.sum()
    assert abs(error) <= 5 * np.sqrt((q * (1 - q)).sum() / n_copies)


@for_both_precisions
@for_each_sampler
def test_chunks_of_documents_give_what_the_whole_gives(sampler, dtype):
    corpus = random_corpus(9, 40, n_topics=12, counts="mixed", dtype=dtype)
    whole = run(corpus, 2, 3, sampler)
    for cuts in ([0, 1, 2, 17, 17, 40], [*range(41)]):
        pieces = [run(corpus, 2, 3, sampler, *cut) for cut in pairwise(cuts)]
        assert_array_equal(np.concatenate([np.diff(piece[0]) for piece in pieces]), np.diff(whole[0]))
        for i in (1, 2):
            assert_array_equal(np.concatenate([piece[i] for piece in pieces]), whole[i])
        assert_array_equal(np.sum([piece[3] for piece in pieces], axis=0), whole[3])


@for_each_sampler
def test_documents_do_not_depend_on_their_order(sampler):
    corpus = random_corpus(10, 20, n_topics=12, counts="small")
    order = np.random.default_rng(0).permutation(20)
    pieces = [run(corpus, 2, 2, sampler, d, d + 1) for d in order]
    cells = np.concatenate([np.arange(corpus.indptr[d], corpus.indptr[d + 1]) for d in order])
    indptr = np.concatenate([[0], np.cumsum(np.diff(corpus.indptr)[order])])
    documents = DocumentCells(indptr, corpus.cell_word[cells], corpus.cell_count[cells])
    shuffled = run_documents(corpus, documents, corpus.keys[order], 2, 2, sampler)
    for i in (1, 2):
        assert_array_equal(shuffled[i], np.concatenate([piece[i] for piece in pieces]))
    assert_array_equal(shuffled[3], np.sum([piece[3] for piece in pieces], axis=0))


@for_each_sampler
def test_streams_decide_the_draws(sampler):
    corpus = random_corpus(11, 20, counts="small")
    results = [run(corpus, 2, 1, sampler) for _ in range(2)]
    for array, again in zip(*results):
        assert_array_equal(array, again)
    corpus.keys = corpus.keys + np.uint64(1)
    other = run(corpus, 2, 1, sampler)
    assert len(other[1]) != len(results[0][1]) or np.any(other[1] != results[0][1])


@for_each_sampler
def test_nothing_is_kept_or_there(sampler):
    corpus = random_corpus(12, 8, counts="small")
    column_indptr, column_topic, values, tables = run(corpus, 3, 0, sampler)
    assert_array_equal(column_indptr, 0)
    assert len(column_topic) == len(values) == 0
    assert_array_equal(tables, 0.0)
    column_indptr, column_topic, values, tables = run(corpus, 3, 1, sampler, 1, 2)  # an empty document
    assert_array_equal(column_indptr, [0, 0])
    assert len(column_topic) == len(values) == 0
    assert_array_equal(tables, 0.0)
