"""Expected counts are added to the right rows, and only to those, whatever the parts."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import Chains, CountsTarget, Sweeps, WordCells
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from sktopic._kernels.topics._statistics import (
    add_cell_counts,
    add_factored_counts,
    add_rows,
    add_sampled_counts,
    take_changes,
)
from tests.kernels.tools import ALONE, ROUNDING, assert_teams_agree, for_both_precisions, random_corpus
from tests.reference import statistics as reference
from tests.reference.gibbs import dense

N_FEATURES, FACTOR, N_KEPT = 45, 0.37, 3
for_averages = pytest.mark.parametrize("averages", [False, True], ids=["plain", "averaging"])


class Case:
    """A corpus, statistics of a larger vocabulary, and where the corpus' words are in it."""

    def __init__(self, dtype, n_topics, n_parts, averages, weighted=False):
        self.corpus = corpus = random_corpus(n_topics, 25, n_topics=n_topics, counts="small", dtype=dtype)
        rng = np.random.default_rng(0)
        n_words = len(corpus.phi)
        target_row = rng.permutation(N_FEATURES)[:n_words].astype(np.int32)
        shapes = (N_FEATURES, n_topics), (n_parts, n_topics), (N_FEATURES * averages, n_topics)
        self.statistics = CountsTarget(*map(rng.random, shapes), rng.random(n_topics * averages))
        weights = rng.gamma(1.0, 1.0, corpus.n_documents)
        cell_weight = weights[corpus.cell_document] if weighted else np.empty(0)
        part_bounds = np.arange(n_parts + 1, dtype=np.int64) * n_words // n_parts
        word_cell = np.argsort(corpus.cell_word, kind="stable")
        word_indptr = np.searchsorted(corpus.cell_word[word_cell], np.arange(n_words + 1))
        self.words = WordCells(part_bounds, word_indptr, word_cell, cell_weight, target_row)


def sampled_arguments(case, drawn=False):
    """What a kernel takes after the words, before the statistics, and the expected counts of the cells.

    drawn: blocks full of zeros, and nothing in the fixed parts.
    """
    corpus = case.corpus
    given = corpus.rows, corpus.cumulative, corpus.prior, Chains(corpus.keys, corpus.unassigned())
    sums = sweep_documents(corpus.documents, *given, Sweeps(2, N_KEPT, drawn), ALONE)
    expected = dense(corpus, *sums[:4])[0]
    return (corpus.indptr, sums, corpus.rows, corpus.prior, FACTOR / N_KEPT), expected / N_KEPT


def variational_arguments(case):
    corpus, rng = case.corpus, np.random.default_rng(1)
    expectation = rng.random((corpus.n_documents, len(corpus.prior))).astype(corpus.dtype)
    share = rng.gamma(1.0, 2.0, len(corpus.cell_word))
    factors = expectation, share, corpus.rows
    expected = reference.variational_counts(corpus.cell_word, corpus.cell_document, *factors)
    return (corpus.cell_document, *factors, FACTOR), expected


def cell_arguments(case):
    shape = len(case.corpus.cell_word), len(case.corpus.prior) + 5
    counts = np.random.default_rng(2).random(shape).astype(case.corpus.dtype)
    return (counts, FACTOR), counts[:, :-5]


KERNELS = pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (add_sampled_counts, sampled_arguments),
        (add_sampled_counts, partial(sampled_arguments, drawn=True)),
        (add_factored_counts, variational_arguments),
        (add_cell_counts, cell_arguments),
    ],
    ids=["sampled", "drawn", "variational", "cells"],
)


@for_both_precisions
@KERNELS
@for_averages
@pytest.mark.parametrize(
    ("n_topics", "n_parts", "weighted"), [(1, 1, False), (20, 50, False), (17, 16, True)]
)
def test_counts_are_added_where_they_belong(kernel, arguments, n_topics, n_parts, weighted, averages, dtype):
    case = Case(dtype, n_topics, n_parts, averages, weighted)
    given, counts = arguments(case)
    before, expected = deepcopy(case.statistics), deepcopy(case.statistics)
    kernel(case.words, *given, case.statistics, ALONE)
    reference.add_counts(case.words, counts, FACTOR, expected)
    for array, other in zip(case.statistics, expected):
        assert_allclose(array, other, rtol=ROUNDING[dtype])
    # Rows of other words are not touched.
    others = np.setdiff1d(np.arange(N_FEATURES), case.words.target_row)
    assert_array_equal(case.statistics.store[others], before.store[others])
    # Totals have, to the last bits, what was added to the store.
    change = [(after - earlier).sum(axis=0) for after, earlier in zip(case.statistics[:2], before)]
    assert_allclose(*change, rtol=1e-11, atol=1e-11)


@KERNELS
def test_any_number_of_threads_adds_the_same(kernel, arguments):
    def run(team):
        case = Case(np.float32, 6, 16, True)
        kernel(case.words, *arguments(case)[0], case.statistics, team)
        return case.statistics

    assert_teams_agree(run)


@for_averages
def test_rows_are_added_row_by_row(averages):
    case = Case(np.float64, 6, 16, averages)
    row, (store, _, averaged, weight) = case.words.target_row, case.statistics
    source, expected = np.random.default_rng(2).random((len(row), 6)), deepcopy(case.statistics)
    for first, last in ((5, len(source)), (0, 5), (3, 3)):
        add_rows(first, last, source, FACTOR, row, store, averaged, weight)
    expected.store[row] += FACTOR * source
    assert_array_equal(store, expected.store)
    if averages:
        expected.averaged[row] += FACTOR * source * weight
        assert_allclose(averaged, expected.averaged, rtol=1e-15)


@pytest.mark.parametrize("n_topics", [1, 5, 64])
def test_changes_are_taken_row_by_row(n_topics):
    generator = np.random.default_rng(3)
    before, row = generator.random((9, n_topics)), np.array([7, 0, 3, 8])
    after = 0.5 * before[row]
    after[[0, 3], 0] += 1.0
    totals, expected = np.full(n_topics, np.nan), (after - 0.5 * before[row]) * 3.0
    assert take_changes(before, row, 0.5, 3.0, after, totals) == 2
    assert_array_equal(after, expected)
    assert_array_equal(totals, expected.sum(axis=0))
