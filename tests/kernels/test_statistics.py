"""Expected counts are added to the right rows, and only to those, whatever the parts."""

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


class Case:
    """A corpus, statistics of a larger vocabulary, and where the corpus' words are in it."""

    def __init__(self, dtype, n_topics, n_parts, averages, weighted=False):
        self.corpus = corpus = random_corpus(n_topics, 25, n_topics=n_topics, counts="small", dtype=dtype)
        rng = np.random.default_rng(0)
        n_words = len(corpus.phi)
        self.target_row = rng.permutation(N_FEATURES)[:n_words].astype(np.int32)
        self.target = rng.random((N_FEATURES, n_topics))
        self.totals = rng.random((n_parts, n_topics))
        self.averaged = rng.random((N_FEATURES if averages else 0, n_topics))
        self.average_weight = rng.random(n_topics if averages else 0)
        weights = rng.gamma(1.0, 1.0, corpus.n_documents)
        self.cell_weight = weights[corpus.cell_document] if weighted else np.empty(0)
        self.part_bounds = np.arange(n_parts + 1, dtype=np.int64) * n_words // n_parts
        self.word_cell = np.argsort(corpus.cell_word, kind="stable")
        sizes = np.bincount(corpus.cell_word, minlength=n_words)
        self.word_indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.before = self.state()

    def state(self):
        return self.target.copy(), self.totals.copy(), self.averaged.copy()

    @property
    def words(self):
        given = self.part_bounds, self.word_indptr, self.word_cell, self.cell_weight, self.target_row
        return WordCells(*given)

    @property
    def statistics(self):
        return CountsTarget(self.target, self.totals, self.averaged, self.average_weight)

    def check(self, expected):
        """The statistics are as before plus the expected counts (n_cells, n_topics) of the cells."""
        weighted = reference.weighted(expected, self.cell_weight)
        sums = reference.sums_by_word(weighted, self.corpus.cell_word, len(self.corpus.phi))
        target, totals, averaged = self.before
        reference.add_counts(
            sums, self.part_bounds, FACTOR, self.target_row, target, totals, averaged, self.average_weight
        )
        rounding = ROUNDING[self.corpus.dtype]
        for array, other in zip(self.state(), (target, totals, averaged)):
            assert_allclose(array, other, rtol=rounding)


def sampled_arguments(case, drawn=False):
    """drawn: blocks full of zeros, and nothing in the fixed parts."""
    corpus = case.corpus
    sums = sweep_documents(
        corpus.documents,
        corpus.rows,
        corpus.cumulative,
        corpus.prior,
        Chains(corpus.keys, corpus.unassigned()),
        Sweeps(2, N_KEPT, drawn),
        ALONE,
    )
    expected = dense(corpus.indptr, corpus.cell_word, corpus.rows, corpus.prior, *sums[:4])[0]
    given = corpus.indptr, sums, corpus.rows, corpus.prior, FACTOR / N_KEPT
    return (case.words, *given, case.statistics), expected / N_KEPT


def variational_arguments(case):
    corpus = case.corpus
    rng = np.random.default_rng(1)
    expectation = rng.random((corpus.n_documents, len(corpus.prior))).astype(corpus.dtype)
    share = rng.gamma(1.0, 2.0, len(corpus.cell_word))
    expected = reference.variational_counts(
        corpus.cell_word, corpus.cell_document, expectation, share, corpus.rows
    )
    given = corpus.cell_document, expectation, share, corpus.rows, FACTOR
    return (case.words, *given, case.statistics), expected


def cell_arguments(case):
    corpus = case.corpus
    n_topics = len(corpus.prior)
    counts = np.random.default_rng(2).random((len(corpus.cell_word), n_topics + 5)).astype(corpus.dtype)
    return (case.words, counts, FACTOR, case.statistics), counts[:, :n_topics]


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
@pytest.mark.parametrize("averages", [False, True], ids=["plain", "averaging"])
@pytest.mark.parametrize(
    ("n_topics", "n_parts", "weighted"),
    [(1, 1, False), (3, 16, False), (20, 5, False), (17, 50, False), (17, 16, True)],
)
def test_counts_are_added_where_they_belong(kernel, arguments, n_topics, n_parts, weighted, averages, dtype):
    case = Case(dtype, n_topics, n_parts, averages, weighted)
    given, expected = arguments(case)
    kernel(*given, ALONE)
    case.check(expected)
    # Rows of other words are not touched.
    others = np.setdiff1d(np.arange(N_FEATURES), case.target_row)
    assert_array_equal(case.target[others], case.before[0][others])
    # Totals have, to the last bits, what was added to the store.
    change = [(after - before).sum(axis=0) for after, before in zip(case.state(), case.before)]
    assert_allclose(change[0], change[1], rtol=1e-11, atol=1e-11)


@KERNELS
def test_any_number_of_threads_adds_the_same(kernel, arguments):
    def run(team):
        case = Case(np.float32, 6, 16, True)
        kernel(*arguments(case)[0], team)
        return case.state()

    assert_teams_agree(run)


@pytest.mark.parametrize("averages", [False, True], ids=["plain", "averaging"])
def test_rows_are_added_row_by_row(averages):
    case = Case(np.float64, 6, 16, averages)
    source = np.random.default_rng(2).random((len(case.target_row), 6))
    given = source, FACTOR, case.target_row, case.target, case.averaged, case.average_weight
    for first, last in ((5, len(source)), (0, 5), (3, 3)):
        add_rows(first, last, *given)
    target, _, averaged = case.before
    target[case.target_row] += FACTOR * source
    assert_array_equal(case.target, target)
    if averages:
        averaged[case.target_row] += FACTOR * source * case.average_weight
        assert_allclose(case.averaged, averaged, rtol=1e-15)


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
