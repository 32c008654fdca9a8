"""Collapsed Gibbs sampling: draw by draw that of the reference, and with the exact posterior as its law."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._documents._matrices import DocumentReader
from sktopic._kernels._groups import CellsByWord
from sktopic._kernels.lda._collapsed_gibbs import transfer_counts
from sktopic._kernels.random._rng import position_keys
from sktopic._topics._topic_word_prior import PriorEntries
from sktopic.lda._shards import TopicLists, TopicRows, topic_prior_of
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import collapsed_gibbs as reference
from tests.reference.documents import clumps

SMOOTHING = 0.07

# Each has a kernel of its own. Rows hold whole counts exactly.
for_each_kernel = pytest.mark.parametrize("kernel", [TopicLists, TopicRows])


class Chain:
    """Documents word by word, with a state that starts without assignments.

    dense (n_documents, n_features) are the documents; counts (n_features, n_topics) may hold others.
    kernel is TopicLists or TopicRows; beta is a number, or of the shape of counts.
    """

    def __init__(self, kernel, dense, prior, counts, beta=SMOOTHING):
        batch = DocumentReader(sp.csr_array(dense)).batch(np.arange(len(dense)))
        document, count = batch.cell_document()[batch.word_cell], batch.cell_count[batch.word_cell]
        self.cells = CellsByWord(batch.word_indptr, batch.words, document, count)
        self.topics, self.z = kernel.of(self.cells, batch, len(prior)), batch.unassigned()
        cell, self.token_weight = clumps(count)
        self.token_document = document[cell]
        self.token_word = np.repeat(batch.words, np.diff(batch.word_indptr))[cell]
        self.prior, self.beta, self.counts, self.others = prior, beta, counts, counts.copy()
        self.totals, self.n_documents = counts.sum(axis=0), len(dense)
        matrix = np.broadcast_to(beta, counts.shape)
        own = PriorEntries.of_matrix(sp.csc_array(np.where(matrix == matrix[0, 0], 0.0, matrix).T))
        self.topic_prior = topic_prior_of(*counts.shape, float(matrix[0, 0]), own)

    @property
    def moved(self):
        """The cells as transfer_counts takes them."""
        return self.cells.word_indptr, self.cells.words, self.cells.cell_count

    def sweep(self, key, update_counts=True):
        given = {"counts": self.counts, "prior": self.prior, "topic_prior": self.topic_prior}
        self.topics.sweep(self.z, update_counts=update_counts, totals=self.totals, key=key, **given)

    def assign(self, z):
        """Start from assignments."""
        z = np.asarray(z, dtype=np.int32)
        transfer_counts(*self.moved, self.z, z, self.counts)
        self.z[:] = z
        self.totals = self.counts.sum(axis=0)
        self.topics.fill(self.z)

    def weights(self):
        """Weights of topics in documents (n_documents, n_topics)."""
        document, topic, weight = self.topics.used()
        found = np.zeros((self.n_documents, len(self.prior)))
        found[document, topic] = weight
        return found

    def check_counts(self, rtol=1e-12):
        """Counts and totals are those of the others and of z."""
        atol = rtol * max(1.0, self.cells.cell_count.max())
        expected = self.others.copy()
        np.add.at(expected, (self.token_word, self.z), self.token_weight)
        assert_allclose(self.counts, expected, rtol=rtol, atol=atol)
        assert_allclose(self.totals, expected.sum(axis=0), rtol=rtol, atol=10 * atol)


class Twin:
    """The same state, moved by the reference."""

    def __init__(self, chain):
        self.chain, self.z = chain, chain.z.copy()
        self.counts, self.totals = chain.counts.copy(), chain.totals.copy()
        self.lists = reference.list_topics(*chain.cells, chain.n_documents, len(chain.prior), self.z)

    def sweep(self, key, update_counts=True):
        chain = self.chain
        given = self.counts, update_counts, self.totals, chain.prior, chain.beta, self.lists
        by_lanes = isinstance(chain.topics, TopicRows)
        reference.sweep_words(chain.cells, *given, self.z, key, by_lanes=by_lanes)

    def check(self, rtol=1e-12):
        chain = self.chain
        assert_array_equal(chain.z, self.z)
        assert_allclose(chain.counts, self.counts, rtol=rtol)
        assert_allclose(chain.totals, self.totals, rtol=rtol)
        assert_allclose(chain.weights(), [topics.n for topics in self.lists], rtol=rtol)
        if isinstance(chain.topics, TopicRows):
            return
        start, entries, weight, n_entries = chain.topics.lists
        for d, expected in enumerate(self.lists):
            used, rest = np.split(np.arange(start[d], start[d + 1]), [n_entries[d]])
            assert entries["topic"][used].tolist() == expected.order
            assert_array_equal(entries["clumps"][used], expected.members[expected.order])
            assert not np.any(weight[rest])  # they are read in fours


# Fractional, exactly 64, above 64; the same rounded.
MIXED = np.array([1.0, 3.0, 2.75, 0.3, 64.0, 63.5, 70.1, 1000.0])


def random_chain(kernel, seed, n_topics, counts="small", others=True, matrix=False):
    """Documents among words of a larger vocabulary, some of them empty; other documents may be counted."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((9, 17)) < 0.3).astype(float)
    if counts == "small":
        dense *= rng.integers(1, 6, dense.shape)
    elif counts == "mixed":
        dense *= rng.choice(MIXED if kernel is TopicLists else np.ceil(MIXED), dense.shape)
    dense[[0, 4]] = dense[:, [3, 9]] = 0.0
    statistics = rng.integers(0, 4, (17, n_topics)).astype(float) * others
    own = (rng.random(statistics.shape) < 0.2) & (rng.random((17, 1)) < 0.7) & matrix
    beta = np.where(own, rng.choice([1e-9, 0.01, 3.0, 500.0], own.shape), SMOOTHING) if matrix else SMOOTHING
    return Chain(kernel, dense, rng.gamma(1.0, 0.5, n_topics) + 0.02, statistics, beta)


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
            twin.counts[:] = chain.counts
        chain.check_counts()
    assert n_topics == 1 or len(set(chain.z.tolist())) > 1
    transfer_counts(*chain.moved, chain.z, np.full_like(chain.z, -1), chain.counts)
    assert_allclose(chain.counts, chain.others, atol=1e-10)


@pytest.mark.parametrize("largest", [3, 2**31 - 1])
def test_hints_save_time_and_nothing_else(largest):
    rng = np.random.default_rng(0)
    plain, misled = (random_chain(TopicLists, 7, 9, "mixed") for _ in range(2))
    for key in range(3):
        misled.topics.hint[:] = rng.integers(0, largest, len(misled.z), endpoint=True)
        for chain in (plain, misled):
            chain.sweep(key)
        assert_array_equal(plain.z, misled.z)
        for array, other in zip(plain.topics.lists, misled.topics.lists):
            assert_array_equal(array, other)


@for_each_kernel
def test_long_runs_do_not_drift(kernel):
    """Fractional counts enter and leave a thousand times; sums kept up to date are still sums."""
    chain = random_chain(kernel, 4, 5, "mixed")
    for key in range(1000):
        chain.sweep(key)
    chain.check_counts(rtol=1e-10)
    expected = [topics.n for topics in Twin(chain).lists]
    assert_allclose(chain.weights(), expected, rtol=1e-10, atol=1e-7)


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
    chain = Chain(kernel, dense, prior, counts, beta)
    _, p = reference.posterior(chain.token_document, chain.token_word, *dense.shape, prior, beta)
    start = np.full(len(chain.z), np.argmin(prior))
    drawn = np.empty(4000, dtype=int)
    for i, key in enumerate(position_keys(100 * seed, 0, len(drawn)).tolist()):
        chain.assign(start)
        chain.sweep(key)
        drawn[i] = chain.z @ len(prior) ** np.arange(len(start))[::-1]  # the order of the enumeration
    law = law_of_a_sweep(start, p, len(prior))
    assert_distributed(np.bincount(drawn, minlength=len(law)), law)
