"""Collapsed Gibbs sampling: draw by draw that of the reference, and with the exact posterior as its law."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels._groups import CellsByWord, ClumpLists, TokensByWord, TopicPrior
from sktopic._kernels.documents._topic_lists import TOPIC_CLUMPS
from sktopic._kernels.lda import _dense_collapsed_gibbs as dense_kernel
from sktopic._kernels.lda._collapsed_gibbs import list_topics, sweep_words, transfer_counts
from sktopic._kernels.random._rng import position_keys
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import collapsed_gibbs as reference
from tests.reference.documents import clumps

SMOOTHING = 0.07


class Lists:
    """The topics of a chain's documents in lists."""

    def __init__(self, chain):
        n_topics = len(chain.prior)
        n_tokens = np.bincount(chain.token_document, minlength=len(chain.dense))
        capacity = (np.minimum(n_tokens, n_topics) + 1 + 3) // 4 * 4
        self.list_start = np.concatenate([[0], np.cumsum(capacity)]).astype(np.int64)
        self.entries = np.zeros(self.list_start[-1], dtype=TOPIC_CLUMPS)
        self.entry_weight = np.zeros(self.list_start[-1])
        self.n_entries = np.zeros(len(chain.dense), dtype=np.int32)
        self.hint = np.zeros_like(chain.z)

    @property
    def lists(self):
        return ClumpLists(self.list_start, self.entries, self.entry_weight, self.n_entries)

    def sweep(self, chain, given, key):
        sweep_words(CellsByWord(*chain.cells), *given, self.lists, chain.z, self.hint, key)

    def fill(self, chain):
        for array in self.lists[1:]:
            array.fill(0)
        list_topics(chain.cell_document, chain.cell_count, self.lists, chain.z)

    def weights(self, n_topics):
        found = np.zeros((len(self.n_entries), n_topics))
        for row, start, n in zip(found, self.list_start, self.n_entries):
            row[self.entries["topic"][start : start + n]] = self.entry_weight[start : start + n]
        return found

    def check(self, chain, twin, rtol):
        """The lists are those of the twin, and say what z says."""
        for d, expected in enumerate(twin.lists):
            used = slice(self.list_start[d], self.list_start[d] + self.n_entries[d])
            assert used.stop <= self.list_start[d + 1]
            assert not np.any(self.entry_weight[used.stop : self.list_start[d + 1]])  # they are read in fours
            topics, own = self.entries["topic"][used].tolist(), chain.z[chain.token_document == d]
            assert topics == expected.order
            assert_array_equal(self.entries["clumps"][used], [np.sum(own == k) for k in topics])
            assert_allclose(self.entry_weight[used], expected.n[topics], rtol=rtol)


class Rows:
    """The topics of a chain's documents in rows of all topics, which hold whole counts exactly."""

    def __init__(self, chain):
        padded = -(-len(chain.prior) // dense_kernel.PADDING) * dense_kernel.PADDING
        self.rows = np.zeros((len(chain.dense), padded), dtype=np.float32)
        self.token_indptr = np.empty_like(chain.word_indptr)
        self.document = np.empty_like(chain.z)
        self.size = np.empty(len(chain.z), dtype=np.float32)
        given = chain.word_indptr, chain.cell_document, chain.cell_count
        dense_kernel.list_tokens(*given, self.token_indptr, self.document, self.size)
        assert_array_equal(self.document, chain.token_document)
        assert_array_equal(self.size, chain.token_weight.astype(np.float32))

    def sweep(self, chain, given, key):
        tokens = TokensByWord(self.token_indptr, chain.words, self.document, self.size)
        dense_kernel.sweep_words(tokens, *given, self.rows, chain.z, key)

    def fill(self, chain):
        self.rows.fill(0.0)
        dense_kernel.count_topics(self.document, self.size, chain.z, self.rows)

    def weights(self, n_topics):
        return self.rows[:, :n_topics]

    def check(self, chain, twin, rtol):
        n_topics = len(chain.prior)
        assert_array_equal(self.rows[:, :n_topics], [x.n for x in twin.lists])
        assert not np.any(self.rows[:, n_topics:])


for_each_kernel = pytest.mark.parametrize("kernel", [Lists, Rows])


@dataclass
class Chain:
    """Documents as the kernels see them, word by word, with a state that starts without assignments.

    dense (n_documents, n_words) are the documents; words names their rows in counts (n_features, n_topics),
    which may hold tokens of others. kernel is Lists or Rows; beta is a number, or of the shape of counts.
    """

    kernel: type
    dense: np.ndarray
    prior: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    beta: float | np.ndarray = SMOOTHING
    totals: np.ndarray = field(init=False)

    def __post_init__(self):
        self.words = np.asarray(self.words, dtype=np.int32)
        by_word, document = np.nonzero(self.dense.T)
        self.cell_document = document.astype(np.int32)
        self.cell_count = self.dense.T[by_word, document].astype(np.float64)
        self.word_indptr = np.searchsorted(by_word, np.arange(len(self.words) + 1)).astype(np.int64)
        cell, self.token_weight = clumps(self.cell_count)
        self.token_document, self.token_word = document[cell], self.words[by_word][cell]
        self.z = np.full(len(self.token_word), -1, dtype=np.int32)
        self.totals, self.others = self.counts.sum(axis=0), self.counts.copy()
        self.topics = self.kernel(self)

    @property
    def cells(self):
        return self.word_indptr, self.words, self.cell_document, self.cell_count

    @property
    def moved(self):
        """The cells as transfer_counts takes them."""
        return self.word_indptr, self.words, self.cell_count

    def priors_of_words(self):
        """The prior of topics as kernels take it."""
        beta = np.broadcast_to(self.beta, self.counts.shape)
        word, topic = np.nonzero(beta != beta[0, 0])
        own_indptr = np.searchsorted(word, np.arange(len(beta) + 1))
        own = own_indptr, topic.astype(np.int32), beta[word, topic]
        return TopicPrior(float(beta[0, 0]), *own, beta.sum(axis=0))

    def sweep(self, key, update_counts=True):
        given = self.counts, update_counts, self.totals, self.prior, self.priors_of_words()
        self.topics.sweep(self, given, key)

    def assign(self, z):
        """Start from assignments."""
        z = np.asarray(z, dtype=np.int32)
        transfer_counts(*self.moved, self.z, z, self.counts)
        self.z[:] = z
        self.totals = self.counts.sum(axis=0)
        self.topics.fill(self)

    def check_counts(self, rtol=1e-12):
        """Counts and totals are those of the others and of z."""
        atol = rtol * max(1.0, self.cell_count.max())
        expected = self.others.copy()
        np.add.at(expected, (self.token_word, self.z), self.token_weight)
        assert_allclose(self.counts, expected, rtol=rtol, atol=atol)
        assert_allclose(self.totals, expected.sum(axis=0), rtol=rtol, atol=10 * atol)


class Twin:
    """The same state, moved by the reference."""

    def __init__(self, chain):
        self.chain, self.z = chain, chain.z.copy()
        self.counts, self.totals = chain.counts.copy(), chain.totals.copy()
        self.lists = reference.list_topics(*chain.cells, len(chain.dense), len(chain.prior), self.z)

    def sweep(self, key, update_counts=True):
        chain = self.chain
        given = self.counts, update_counts, self.totals, chain.prior, chain.beta, self.lists
        reference.sweep_words(chain.cells, *given, self.z, key, by_lanes=chain.kernel is Rows)

    def check(self, rtol=1e-12):
        assert_array_equal(self.chain.z, self.z)
        assert_allclose(self.chain.counts, self.counts, rtol=rtol)
        assert_allclose(self.chain.totals, self.totals, rtol=rtol)
        self.chain.topics.check(self.chain, self, rtol)


# Fractional, exactly 64, above 64; the same rounded.
MIXED = np.array([1.0, 3.0, 2.75, 0.3, 64.0, 63.5, 70.1, 1000.0])


def random_chain(kernel, seed, n_topics, counts="small", others=True, matrix=False):
    """Documents among words of a larger vocabulary, some of them empty; other documents may be counted."""
    rng, n_words = np.random.default_rng(seed), 12
    dense = (rng.random((9, n_words)) < 0.4).astype(float)
    if counts == "small":
        dense *= rng.integers(1, 6, dense.shape)
    elif counts == "mixed":
        dense *= rng.choice(MIXED if kernel is Lists else np.ceil(MIXED), dense.shape)
    dense[[0, 4]] = 0.0
    words = rng.permutation(n_words + 5)[:n_words]
    statistics = rng.integers(0, 4, (n_words + 5, n_topics)).astype(float) * others
    own = (rng.random(statistics.shape) < 0.2) & (rng.random((len(statistics), 1)) < 0.7) & matrix
    beta = np.where(own, rng.choice([1e-9, 0.01, 3.0, 500.0], own.shape), SMOOTHING) if matrix else SMOOTHING
    return Chain(kernel, dense, rng.gamma(1.0, 0.5, n_topics) + 0.02, words, statistics, beta)


@for_each_kernel
@pytest.mark.parametrize(
    ("n_topics", "counts", "others", "matrix", "assigned", "update_counts"),
    [
        (1, "mixed", True, True, True, False),
        (5, "unit", False, False, False, False),
        (16, "small", True, True, True, True),
        (17, "mixed", True, False, False, False),
        (17, "mixed", True, True, True, False),
        (40, "mixed", False, False, True, True),
    ],
)
def test_every_draw_is_that_of_the_reference(
    n_topics, counts, others, matrix, assigned, update_counts, kernel
):
    """A shard draws against counts that stay as they are, until transfer_counts takes them along."""
    chain = random_chain(kernel, n_topics, n_topics, counts, others, matrix)
    if assigned:
        chain.assign(np.random.default_rng(0).integers(0, n_topics, len(chain.z)))
        chain.check_counts()
    twin = Twin(chain)
    for key in range(2):  # the first sweep assigns
        before, counts_before = chain.z.copy(), chain.counts.copy()
        chain.sweep(key, update_counts)
        twin.sweep(key, update_counts)
        twin.check()
        if not update_counts:
            assert_array_equal(chain.counts, counts_before)
            transfer_counts(*chain.moved, before, chain.z, chain.counts)
            reference.transfer_counts(*chain.moved, before, twin.z, twin.counts)
            twin.check()
        chain.check_counts()
    assert n_topics == 1 or len(set(chain.z.tolist())) > 1
    transfer_counts(*chain.moved, chain.z, np.full_like(chain.z, -1), chain.counts)
    assert_allclose(chain.counts, chain.others, atol=1e-10)


@pytest.mark.parametrize("largest", [3, 2**31 - 1])
def test_hints_save_time_and_nothing_else(largest):
    rng = np.random.default_rng(0)
    plain, misled = random_chain(Lists, 7, 9, "mixed"), random_chain(Lists, 7, 9, "mixed")
    for key in range(3):
        misled.topics.hint[:] = rng.integers(0, largest, len(misled.z), endpoint=True)
        for chain in (plain, misled):
            chain.sweep(key)
        assert_array_equal(plain.z, misled.z)
        assert_array_equal(plain.topics.entries, misled.topics.entries)
        assert_array_equal(plain.topics.entry_weight, misled.topics.entry_weight)


@for_each_kernel
def test_long_runs_do_not_drift(kernel):
    """Fractional counts enter and leave a thousand times; sums kept up to date are still sums."""
    chain = random_chain(kernel, 4, 5, "mixed")
    for key in range(1000):
        chain.sweep(key)
    chain.check_counts(rtol=1e-10)
    expected = [topics.n for topics in Twin(chain).lists]
    assert_allclose(chain.topics.weights(5), expected, rtol=1e-10, atol=1e-7)


# Five tokens: counts of documents by words, and both priors.
TINY = {
    "a number": ([[1, 1], [2, 0], [0, 1]], [0.15, 0.05, 0.6], 0.2),
    "a matrix": ([[2, 1], [1, 1]], [0.4, 1.3], [[0.5, 0.05], [0.5, 2.0]]),
}


def law_of_a_sweep(start, posterior, n_topics):
    """The law of states after tokens were drawn in turn, each given all others by ratios of posterior."""
    law = np.zeros((n_topics,) * len(start))
    law[tuple(start)] = 1.0
    posterior = posterior.reshape(law.shape)
    for token in range(len(start)):
        law = law.sum(axis=token, keepdims=True) * posterior / posterior.sum(axis=token, keepdims=True)
    return law.ravel()


@pytest.mark.law
@for_each_kernel
@for_each_seed
@pytest.mark.parametrize("name", TINY)
def test_one_sweep_has_the_law_of_gibbs_sampling(kernel, name, seed):
    """From any state: so the posterior, and nothing else, stays as it is.

    Chi-square of 4000 draws from the state in which all tokens are in the rarest topic. Laws of independent
    tokens and of equal priors are over 0.05 away in total variation, which takes a thousand draws.
    """
    dense, prior, beta = (np.array(x, dtype=float) for x in TINY[name])
    counts = np.zeros((dense.shape[1], len(prior)))
    chain = Chain(kernel, dense, prior, np.arange(len(counts)), counts, beta)
    _, p = reference.posterior(chain.token_document, chain.token_word, *dense.shape, prior, beta)
    start = np.full(len(chain.z), np.argmin(prior))
    drawn = np.empty(4000, dtype=int)
    for i, key in enumerate(position_keys(100 * seed, 0, len(drawn)).tolist()):
        chain.assign(start)
        chain.sweep(key)
        drawn[i] = chain.z @ len(prior) ** np.arange(len(start))[::-1]  # the order of the enumeration
    law = law_of_a_sweep(start, p, len(prior))
    assert_distributed(np.bincount(drawn, minlength=len(law)), law)
