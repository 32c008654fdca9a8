"""Topics of words as lists: rows, draws and sums of dense topics, and counts that enter the right lists."""

from copy import copy, deepcopy
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import Chains, SparseTarget, Sweeps, WordCells
from sktopic._kernels.inference._proportions import sampled_proportions
from sktopic._kernels.inference._sparse_gibbs import sweep_documents
from sktopic._kernels.inference._word_topics import draw_word_topics
from sktopic._kernels.topics._sparse_rows import add_sparse_counts
from sktopic._topics._sparse_word_counts import SparseTopics, SparseWordCounts
from tests.kernels.tools import (
    ALONE,
    assert_distributed,
    assert_teams_agree,
    for_both_precisions,
    for_each_seed,
    random_corpus,
    repeated,
)
from tests.reference import gibbs, proportions
from tests.reference import sparse_rows as reference

N_FEATURES, FACTOR = 45, 0.37
# Lists are in single precision, whatever the rows are in.
RTOL = 3e-6
# Of topics and of a list: buckets of one topic and of several, and lists that overflow at once.
for_each_size = pytest.mark.parametrize(("n_topics", "n_entries"), [(1, 1), (20, 3), (300, 8), (300, 60)])


def random_counts(rng, n_topics, n_entries, n_features=N_FEATURES):
    """Lists of any length; the first three words have no list, nothing at all, and a full list alone."""
    counts = SparseWordCounts.even(n_features, n_topics, n_entries)
    counts.length[:] = rng.integers(0, n_entries + 1, n_features)
    counts.length[:3] = 0, 0, n_entries
    for w, n in enumerate(counts.length):
        counts.topic[w, :n] = np.sort(rng.permutation(n_topics)[:n])
        counts.value[w, :n] = rng.gamma(0.5, 1.0, n)
        counts.listed[counts.topic[w, :n]] += counts.value[w, :n]
    counts.rest[:] = rng.gamma(0.5, 1.0, n_features)
    counts.rest[1:3] = 0.0
    counts.least[:] = rng.choice([0.0, 0.2], n_features)
    return replace(counts, rest_total=float(counts.rest.sum()))


class Case:
    """Lists of a vocabulary, and a corpus of some of its words."""

    def __init__(self, dtype, n_topics, n_entries, seed=0, weighted=False, smoothed=True, forgotten=False):
        rng = np.random.default_rng(seed)
        corpus = random_corpus(seed, 25, n_topics=n_topics, counts="small", dtype=dtype)
        self.counts, n_words = random_counts(rng, n_topics, n_entries), len(corpus.phi)
        if forgotten:
            self.counts = self.counts.decayed(0.0)
        self.words = np.append([1, 2, 0], rng.permutation(np.arange(3, N_FEATURES))[: n_words - 3]).astype(
            np.int32
        )
        scale, offset = rng.gamma(2.0, 1.0, n_topics), smoothed * rng.gamma(1.0, 0.01, n_topics)
        self.topics = SparseTopics(self.counts, scale, offset, scale)
        self.gathered = self.gather(corpus.prior, dtype)
        given = scale, offset, self.counts.shares, corpus.prior
        self.rows, self.log_norm, self.cumulative = reference.gather(self.counts, self.words, *given)
        self.corpus = replace(corpus, phi=self.rows)
        weights = rng.gamma(1.0, 1.0, 25)[self.corpus.cell_document] if weighted else np.empty(0)
        word_cell = np.argsort(corpus.cell_word, kind="stable")
        word_indptr = np.searchsorted(corpus.cell_word[word_cell], np.arange(n_words + 1))
        bounds = np.arange(6, dtype=np.int64) * n_words // 5
        self.cells = WordCells(bounds, word_indptr, word_cell, weights, self.words)

    def gather(self, prior, dtype, team=ALONE):
        return self.topics.gather(self.words, prior, SimpleNamespace(team=team), dtype)

    def sweep(self, sweeps, z=None, team=ALONE):
        """z after the sweeps, and sums."""
        corpus, none = self.corpus, self.gathered.rows
        z = corpus.unassigned() if z is None else z.copy()
        given = none, none, corpus.prior, Chains(corpus.keys, z), sweeps, team, None, self.gathered.lists
        return z, sweep_documents(corpus.documents, *given)

    def add(self, sums, team=ALONE):
        """The target after the sums have entered."""
        lists = deepcopy(self.counts).lists()
        target = SparseTarget(lists, np.zeros((5, self.counts.n_topics)), np.zeros(5))
        given = self.corpus.indptr, sums, self.gathered.lists, FACTOR, target, team
        add_sparse_counts(self.cells, *given)
        return target


@for_both_precisions
@for_each_size
@pytest.mark.parametrize("smoothed", [True, False])
def test_rows_are_those_of_the_reference(n_topics, n_entries, smoothed, dtype):
    """Without smoothing there is a word that no topic has."""
    case = Case(dtype, n_topics, n_entries, smoothed=smoothed)
    assert np.isneginf(case.log_norm[0]) != smoothed
    assert case.gathered.lists.value.dtype == case.gathered.lists.cumulative.dtype == dtype
    assert_allclose(case.gathered.dense_rows(), case.rows, rtol=RTOL)
    assert_allclose(case.gathered.log_norm, case.log_norm, rtol=RTOL, atol=RTOL)
    assert_allclose(case.gathered.lists.cumulative, case.cumulative, rtol=RTOL)
    with pytest.raises(ValueError, match="do not fit"):
        case.gather(np.ones(n_topics + 1), dtype)


@for_both_precisions
@for_each_size
@pytest.mark.parametrize(("weighted", "forgotten"), [(False, False), (True, False), (False, True)])
def test_counts_enter_lists_and_rests(n_topics, n_entries, weighted, forgotten, dtype):
    """If all counts are forgotten, topics of equal counts compete for the room."""
    case = Case(dtype, n_topics, n_entries, weighted=weighted, forgotten=forgotten)
    corpus, counts = case.corpus, deepcopy(case.counts)
    _, sums = case.sweep(Sweeps(2, 3))
    target = case.add(sums)
    weight = FACTOR * (case.cells.cell_weight if weighted else np.ones(len(corpus.cell_word)))[:, None]
    given, lists = np.zeros((2, len(case.words), n_topics)), case.gathered.lists
    of_documents = gibbs.dense(corpus, *sums[:3])[0]
    np.add.at(given[0], corpus.cell_word, weight * of_documents)
    share = np.bincount(corpus.cell_word, weight[:, 0] * sums.fixed, len(case.words))
    alone = lists._replace(rest=0.0 * lists.rest, even=0.0 * lists.even)
    given[1] = share[:, None] * corpus.prior * replace(case.gathered, lists=alone).dense_rows()
    expected = counts.lists()
    reference.add(expected, case.words, *given, share - given[1].sum(axis=1))
    for w, entries in enumerate(reference.listed(expected)):
        found = reference.listed(target.counts)[w]
        assert list(found) == sorted(entries)
        assert_allclose([*found.values()], [*entries.values()], rtol=10 * RTOL, atol=RTOL)
    assert_array_equal(target.counts.length, expected.length)
    assert_allclose(target.counts.least, expected.least, rtol=10 * RTOL)
    assert_allclose(target.counts.rest, expected.rest, rtol=10 * RTOL, atol=10 * RTOL)
    # Nothing is lost, and totals know what has entered.
    before = [sum(entries.values()) for entries in reference.listed(case.counts)] + case.counts.rest
    after = [sum(entries.values()) for entries in reference.listed(target.counts)] + target.counts.rest
    before[case.words] += given[0].sum(axis=1) + share
    assert_allclose(after, before, rtol=10 * RTOL)
    assert_allclose(target.rest_gain.sum(), (target.counts.rest - case.counts.rest).sum(), rtol=1e-9)
    lists = [
        SimpleNamespace(**{**each._asdict(), "rest": 0 * each.rest})
        for each in (case.counts.lists(), target.counts)
    ]
    gains = [reference.dense(each, np.zeros(n_topics)).sum(axis=0) for each in lists]
    assert_allclose(target.totals.sum(axis=0), gains[1] - gains[0], rtol=1e-9, atol=1e-9)


def test_a_full_list_keeps_its_largest_counts_and_refuses_smaller_ones():
    """And a document of weight zero leaves no trace."""
    case = Case(np.float64, 300, 8)
    counts, (_, sums) = case.counts, case.sweep(Sweeps(2, 3))
    full = case.add(sums).counts
    overflowed = np.flatnonzero(full.least != counts.least)
    assert len(overflowed) > 10 and np.all(full.length[overflowed] == 6)
    smallest = [min(entries.values(), default=0.0) for entries in reference.listed(full)]
    assert_array_equal(full.least[overflowed], np.array(smallest)[overflowed])
    weightless = copy(case)
    weightless.cells = case.cells._replace(cell_weight=np.zeros(len(sums.fixed)))
    for array, other in zip(weightless.add(sums).counts, counts.lists()):
        assert_array_equal(array, other)
    counts.least[:] = 1e9  # larger than all counts
    after = case.add(sums).counts
    assert_array_equal(after.length, counts.length)
    assert_array_equal(after.topic, counts.topic)


def test_any_number_of_threads_gives_the_same():
    case = Case(np.float32, 300, 8, weighted=True)
    assert_teams_agree(lambda team: case.gather(case.corpus.prior, np.float32, team).lists)
    assert_teams_agree(lambda team: case.sweep(Sweeps(1, 2), team=team)[1])
    sums = case.sweep(Sweeps(1, 2))[1]
    assert_teams_agree(lambda team: (*(target := case.add(sums, team)).counts, *target[1:]))


@for_both_precisions
@for_each_size
@pytest.mark.parametrize("is_start", [False, True])
def test_sums_are_the_conditionals_of_the_draws(n_topics, n_entries, is_start, dtype):
    """In a single sweep, the draws before a token and the assignments after it give its conditional."""
    case = Case(dtype, n_topics, n_entries)
    case.corpus = corpus = replace(case.corpus, cell_count=np.ones(len(case.corpus.cell_word)))
    rng, before = np.random.default_rng(1), corpus.unassigned()
    if is_start:
        before = rng.integers(0, n_topics, len(before)).astype(np.int32)
    z, sums = case.sweep(Sweeps(0, 1), before)
    found = gibbs.dense(corpus, *sums[:4])[0]
    expected = np.empty_like(found)
    for first, last in pairwise(corpus.indptr):
        for i in range(first, last):
            others = np.concatenate([z[first:i], before[i + 1 : last]])
            n = np.bincount(others[others >= 0], minlength=n_topics)
            p = gibbs.conditional(case.rows[corpus.cell_word[i]], corpus.prior, n)
            expected[i] = p / p.sum()
    assert_allclose(found, expected, rtol=100 * RTOL, atol=1e-9)
    cells = corpus.indptr, corpus.cell_word
    theta = sampled_proportions(*cells, *sums[:4], case.gathered.rows, corpus.prior, 1, case.gathered.lists)
    expected = proportions.sampled_proportions(corpus.indptr, found, corpus.prior, 1)
    assert_allclose(theta, expected, rtol=10 * RTOL)


@for_both_precisions
def test_lists_of_all_topics_draw_as_dense_topics_do(dtype):
    """Without a rest and smoothing, both lay topics out in their order."""
    case = Case(dtype, 20, 20, smoothed=False)
    case.words[:] = 2
    case.counts.value[2] += 0.1
    case.gathered = case.gather(case.corpus.prior, dtype)
    case.corpus = corpus = replace(case.corpus, phi=case.topics.rows(case.words))
    z, sums = case.sweep(Sweeps(2, 3))
    expected = corpus.unassigned()
    given = corpus.rows, corpus.cumulative, corpus.prior, Chains(corpus.keys, expected), Sweeps(2, 3), ALONE
    dense = sweep_documents(corpus.documents, *given)
    assert_array_equal(z, expected)
    assert_array_equal(sums.column_topic, dense.column_topic)
    assert_allclose(sums.values, dense.values, rtol=1e-4)


@pytest.mark.law
@for_both_precisions
@for_each_seed
def test_draws_by_words_alone_have_the_exact_distribution(seed, dtype):
    """Chi-square of 20,000 draws: no list, nothing at all, a list alone, and lists with a rest."""
    for smoothed in (True, False):
        case = Case(dtype, 40, 6, smoothed=smoothed)
        corpus = repeated(np.ones(5), case.rows[:5], case.corpus.prior, 20_000, dtype, key=seed)
        z, none = corpus.unassigned(), case.gathered.rows
        chains = Chains(corpus.keys, z)
        given = corpus.clump_indptr, none, none, corpus.prior, chains, ALONE, case.gathered.lists
        draw_word_topics(corpus.documents, *given)
        for w, drawn in enumerate(z.reshape(-1, 5).T):
            assert_distributed(np.bincount(drawn, minlength=40), case.rows[w] * corpus.prior)
