"""Collapsed Gibbs sampling: draw by draw that of the reference, and with the exact posterior as its law."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest

from sktopic._kernels._groups import CellsByWord, ClumpLists, TokensByWord, TopicPrior
from sktopic._kernels.documents._topic_lists import TOPIC_CLUMPS
from sktopic._kernels.lda import _dense_collapsed_gibbs as dense_kernel
from sktopic._kernels.lda._collapsed_gibbs import list_topics, sweep_words, transfer_counts
from sktopic._kernels.random._rng import position_keys
from tests.kernels.tools import assert_distributed, for_each_seed
from tests.reference import collapsed_gibbs as reference
from tests.reference.documents import clump_weights

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

    def of(self, d):
        """Topics of document d, their members and weights."""
        used = slice(self.list_start[d], self.list_start[d] + self.n_entries[d])
        assert used.stop <= self.list_start[d + 1]
        assert not np.any(self.entry_weight[used.stop : self.list_start[d + 1]])  # they are read in fours
        return self.entries["topic"][used].tolist(), self.entries["clumps"][used], self.entry_weight[used]

    def check(self, chain, weights, rtol, atol):
        for d in range(len(chain.dense)):
            topics, members, mass = self.of(d)
            own = chain.z[chain.token_document == d]
            assert sorted(topics) == sorted(set(own.tolist()))
            np.testing.assert_array_equal(members, [np.sum(own == k) for k in topics])
            np.testing.assert_allclose(mass, weights[d, topics], rtol=rtol, atol=atol)

    def check_twin(self, twin, rtol):
        for d, expected in enumerate(twin.lists):
            topics, members, mass = self.of(d)
            assert topics == expected.order
            np.testing.assert_array_equal(members, expected.members[topics])
            np.testing.assert_allclose(mass, expected.n[topics], rtol=rtol)


class Rows:
    """The topics of a chain's documents in rows of all topics, which hold whole counts exactly."""

    def __init__(self, chain):
        padded = -(-len(chain.prior) // dense_kernel.PADDING) * dense_kernel.PADDING
        self.rows = np.zeros((len(chain.dense), padded), dtype=np.float32)
        self.token_indptr = np.empty_like(chain.word_indptr)
        self.document = np.empty_like(chain.z)
        self.size = np.empty(len(chain.z), dtype=np.float32)
        dense_kernel.list_tokens(
            chain.word_indptr, chain.cell_document, chain.cell_count, *self.tokens, self.size
        )
        np.testing.assert_array_equal(self.document, chain.token_document)
        np.testing.assert_array_equal(self.size, chain.token_weight.astype(np.float32))

    @property
    def tokens(self):
        return self.token_indptr, self.document

    def sweep(self, chain, given, key):
        tokens = TokensByWord(self.token_indptr, chain.words, self.document, self.size)
        dense_kernel.sweep_words(tokens, *given, self.rows, chain.z, key)

    def fill(self, chain):
        self.rows.fill(0.0)
        dense_kernel.count_topics(self.document, self.size, chain.z, self.rows)

    def check(self, chain, weights, rtol, atol):
        n_topics = weights.shape[1]
        np.testing.assert_array_equal(self.rows[:, :n_topics], weights)
        assert not np.any(self.rows[:, n_topics:])

    def check_twin(self, twin, rtol):
        np.testing.assert_array_equal(self.rows[:, : twin.counts.shape[1]], [x.n for x in twin.lists])


for_each_kernel = pytest.mark.parametrize("kernel", [Lists, Rows])


@dataclass
class Chain:
    """Documents as the kernels see them, word by word, with a state that starts without assignments.

    dense (n_documents, n_words) are the documents; words names their rows in counts (n_features, n_topics),
    which may hold tokens of others. kernel is Lists or Rows;
    topic_word_prior is a number, or of the shape of counts.
    """

    kernel: type
    dense: np.ndarray
    prior: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    topic_word_prior: float | np.ndarray = SMOOTHING
    totals: np.ndarray = field(init=False)

    def __post_init__(self):
        self.words = np.asarray(self.words, dtype=np.int32)
        by_word, document = np.nonzero(self.dense.T)
        self.cell_document = document.astype(np.int32)
        self.cell_count = self.dense.T[by_word, document].astype(np.float64)
        self.word_indptr = np.searchsorted(by_word, np.arange(len(self.words) + 1)).astype(np.int64)
        n_clumps = [len(clump_weights(c)) for c in self.cell_count]
        self.token_document = np.repeat(document, n_clumps)
        self.token_word = np.repeat(self.words[by_word], n_clumps)
        self.token_weight = np.concatenate([clump_weights(c) for c in self.cell_count])
        self.z = np.full(len(self.token_word), -1, dtype=np.int32)
        self.totals = self.counts.sum(axis=0)
        self.topics = self.kernel(self)

    @property
    def cells(self):
        return self.word_indptr, self.words, self.cell_document, self.cell_count

    @cached_property
    def priors_of_words(self):
        """The prior of topics as kernels take it."""
        beta = np.broadcast_to(self.topic_word_prior, self.counts.shape)
        base = float(beta[0, 0])
        word, topic = np.nonzero(beta != base)
        own_indptr = np.searchsorted(word, np.arange(len(beta) + 1))
        own = own_indptr, topic.astype(np.int32), beta[word, topic]
        return TopicPrior(base, *own, beta.sum(axis=0))

    def sweep(self, key, update_counts=True):
        given = self.counts, update_counts, self.totals, self.prior, self.priors_of_words
        self.topics.sweep(self, given, key)

    def assign(self, z):
        """Start from assignments."""
        z = np.asarray(z, dtype=np.int32)
        transfer_counts(self.word_indptr, self.words, self.cell_count, self.z, z, self.counts)
        self.z[:] = z
        self.totals = self.counts.sum(axis=0)
        self.topics.fill(self)

    def recount(self, index, size):
        """Weights of tokens in topics by what the index names: (size, n_topics)."""
        sums = np.zeros((size, len(self.prior)))
        np.add.at(sums, (index, self.z), self.token_weight)
        return sums

    def check(self, others, rtol=1e-12):
        """Counts, totals and the documents' topics say what z says; others are counts of other documents."""
        atol = rtol * max(1.0, self.cell_count.max())
        by_word = others + self.recount(self.token_word, len(self.counts))
        np.testing.assert_allclose(self.counts, by_word, rtol=rtol, atol=atol)
        np.testing.assert_allclose(self.totals, by_word.sum(axis=0), rtol=rtol, atol=10 * atol)
        by_document = self.recount(self.token_document, len(self.dense))
        self.topics.check(self, by_document, rtol, atol)


class Twin:
    """The same state, moved by the reference."""

    def __init__(self, chain):
        self.chain = chain
        self.counts, self.totals, self.z = chain.counts.copy(), chain.totals.copy(), chain.z.copy()
        n_documents, n_topics = len(chain.dense), len(chain.prior)
        self.lists = [reference.TopicList(n_topics) for _ in range(n_documents)]

    def sweep(self, key, update_counts=True):
        chain = self.chain
        given = self.counts, update_counts, self.totals, chain.prior, chain.topic_word_prior, self.lists
        by_lanes = chain.kernel is Rows
        reference.sweep_words(*chain.cells, *given, self.z, key, by_lanes=by_lanes)

    def check(self, rtol=1e-12):
        np.testing.assert_array_equal(self.chain.z, self.z)
        self.chain.topics.check_twin(self, rtol)
        np.testing.assert_allclose(self.chain.counts, self.counts, rtol=rtol)
        np.testing.assert_allclose(self.chain.totals, self.totals, rtol=rtol)


# Fractional, exactly 64, above 64; the same rounded.
MIXED = np.array([1.0, 3.0, 2.75, 0.3, 64.0, 63.5, 70.1, 1000.0])


def random_chain(kernel, seed, n_topics, counts="small", n_documents=9, n_words=12, others=False):
    """Documents among words of a larger vocabulary, some of them empty; other documents may be counted."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((n_documents, n_words)) < 0.4).astype(float)
    if counts == "small":
        dense *= rng.integers(1, 6, dense.shape)
    elif counts == "mixed":
        dense *= rng.choice(MIXED if kernel is Lists else np.ceil(MIXED), dense.shape)
    dense[[0, 4]] = 0.0
    words = rng.permutation(n_words + 5)[:n_words]
    statistics = rng.integers(0, 4, (n_words + 5, n_topics)).astype(float) * others
    return Chain(kernel, dense, rng.gamma(1.0, 0.5, n_topics) + 0.02, words, statistics)


@for_each_kernel
@pytest.mark.parametrize("others", [False, True], ids=["first", "after others"])
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 2, 5, 16, 17, 40])
def test_every_draw_is_that_of_the_reference(kernel, n_topics, counts, others):
    chain = random_chain(kernel, n_topics, n_topics, counts, others=others)
    before = chain.counts.copy()
    twin = Twin(chain)
    for key in range(4):  # the first sweep assigns
        chain.sweep(key)
        twin.sweep(key)
        twin.check()
        chain.check(before)
    assert n_topics == 1 or len(set(chain.z.tolist())) > 1


@for_each_kernel
@pytest.mark.parametrize(("update_counts", "n_sweeps"), [(True, 3), (False, 1)])
@pytest.mark.parametrize("n_topics", [1, 5, 17, 40])
def test_every_draw_under_a_matrix_is_that_of_the_reference(kernel, n_topics, update_counts, n_sweeps):
    chain = random_chain(kernel, n_topics, n_topics, others=True)
    rng = np.random.default_rng(n_topics)
    own = (rng.random(chain.counts.shape) < 0.2) & (rng.random((len(chain.counts), 1)) < 0.7)
    chain.topic_word_prior = np.where(own, rng.choice([1e-9, 0.01, 3.0, 500.0], own.shape), SMOOTHING)
    twin = Twin(chain)
    for key in range(n_sweeps):
        chain.sweep(key, update_counts)
        twin.sweep(key, update_counts)
        twin.check()


@for_each_kernel
@pytest.mark.parametrize("counts", ["unit", "small", "mixed"])
@pytest.mark.parametrize("n_topics", [1, 3, 40])
def test_shards_draw_against_counts_that_wait(kernel, n_topics, counts):
    """Not alone, a sweep leaves the counts as they are, and transfer_counts takes them along afterwards."""
    chain = random_chain(kernel, n_topics + 50, n_topics, counts, others=True)
    others = chain.counts.copy()
    twin = Twin(chain)
    for key in range(3):
        counts_before, z_before = chain.counts.copy(), chain.z.copy()
        chain.sweep(key, update_counts=False)
        twin.sweep(key, update_counts=False)
        np.testing.assert_array_equal(chain.counts, counts_before)
        twin.check()
        cells = chain.word_indptr, chain.words, chain.cell_count
        transfer_counts(*cells, z_before, chain.z, chain.counts)
        reference.transfer_counts(*cells, z_before, twin.z, twin.counts)
        twin.check()
        chain.check(others)


@for_each_kernel
def test_one_shard_that_moves_its_counts_is_the_sampler_alone(kernel):
    """Words are visited once a sweep: counts are needed up to date only after it."""
    alone, shard = random_chain(kernel, 1, 6), random_chain(kernel, 1, 6)
    for key in range(5):
        before = shard.z.copy()
        alone.sweep(key)
        shard.sweep(key, update_counts=False)
        transfer_counts(shard.word_indptr, shard.words, shard.cell_count, before, shard.z, shard.counts)
        np.testing.assert_array_equal(alone.z, shard.z)
        np.testing.assert_array_equal(alone.counts, shard.counts)


@for_each_kernel
@pytest.mark.parametrize("counts", ["small", "mixed"])
def test_sweeps_start_from_assignments_given(kernel, counts):
    chain = random_chain(kernel, 2, 7, counts)
    z = np.random.default_rng(0).integers(0, 7, len(chain.z))
    twin = Twin(chain)
    chain.assign(z)
    twin.z[:] = z
    cells = chain.word_indptr, chain.words, chain.cell_count
    reference.transfer_counts(*cells, np.full(len(z), -1), z, twin.counts)
    twin.totals = twin.counts.sum(axis=0)
    twin.lists = reference.list_topics(*chain.cells, len(chain.dense), 7, z)
    twin.check()
    chain.check(0.0)
    for key in range(3):
        chain.sweep(key)
        twin.sweep(key)
        twin.check()


@pytest.mark.parametrize("largest", [3, 2**31 - 1])
def test_hints_save_time_and_nothing_else(largest):
    rng = np.random.default_rng(0)
    plain, misled = random_chain(Lists, 7, 9, "mixed"), random_chain(Lists, 7, 9, "mixed")
    for key in range(5):
        misled.topics.hint[:] = rng.integers(0, largest, len(misled.z), endpoint=True)
        for chain in (plain, misled):
            chain.sweep(key)
        np.testing.assert_array_equal(plain.z, misled.z)
        np.testing.assert_array_equal(plain.topics.entries, misled.topics.entries)
        np.testing.assert_array_equal(plain.topics.entry_weight, misled.topics.entry_weight)


@for_each_kernel
def test_counts_can_be_moved_away_again(kernel):
    chain = random_chain(kernel, 3, 6, "mixed", others=True)
    before = chain.counts.copy()
    chain.sweep(0)
    assert np.any(chain.counts != before)
    nowhere = np.full_like(chain.z, -1)
    transfer_counts(chain.word_indptr, chain.words, chain.cell_count, chain.z, nowhere, chain.counts)
    np.testing.assert_allclose(chain.counts, before, atol=1e-10)


@for_each_kernel
def test_long_runs_do_not_drift(kernel):
    """Fractional counts enter and leave two thousand times; sums kept up to date are still sums."""
    chain = random_chain(kernel, 4, 5, "mixed", others=True)
    before = chain.counts.copy()
    for key in position_keys(5, 0, 2000).tolist():
        chain.sweep(key)
    chain.check(before, rtol=1e-10)


@for_each_kernel
def test_words_draw_from_streams_of_their_own(kernel):
    """Words are visited in another order, with each word alone in its document: nothing else changes."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (8, 20)).astype(float)
    # So many tokens elsewhere that the totals hardly move.
    counts[7] = 1e15
    forward = Chain(kernel, np.eye(6) * 5, np.full(20, 0.3), np.arange(6), counts.copy())
    backward = Chain(kernel, np.eye(6) * 5, np.full(20, 0.3), np.arange(6)[::-1], counts.copy())
    for key in range(3):
        forward.sweep(key)
        backward.sweep(key)
    np.testing.assert_array_equal(forward.z.reshape(6, 5), backward.z.reshape(6, 5)[::-1])
    assert len(np.unique(forward.z.reshape(6, 5), axis=0)) == 6


@for_each_kernel
def test_keys_decide_the_draws(kernel):
    one, again, other = (random_chain(kernel, 6, 8) for _ in range(3))
    for chain, key in ((one, 1), (again, 1), (other, 2)):
        chain.sweep(key)
    np.testing.assert_array_equal(one.z, again.z)
    assert np.any(one.z != other.z)


# Five tokens: counts of documents by words, and both priors. The posterior of the second is spread over
# states with a topic of its own each, that of the third has words in common to all documents.
TINY = {
    "two documents, K = 2": ([[2, 1], [1, 1]], [0.4, 1.3], 0.5),
    "three documents, K = 2": ([[1, 1, 0], [0, 1, 1], [1, 0, 0]], [0.2, 0.9], 0.1),
    "two documents, K = 3": ([[2, 0, 1], [0, 2, 0]], [0.1, 0.3, 0.9], 0.1),
    "three documents, K = 3": ([[1, 1], [2, 0], [0, 1]], [0.15, 0.05, 0.6], 0.2),
    "a matrix": ([[2, 1], [1, 1]], [0.4, 1.3], [[0.5, 0.05], [0.5, 2.0]]),
}


def tiny(kernel, name):
    """A chain of the documents of that name; its states and their posterior probabilities."""
    dense, prior, topic_word_prior = TINY[name]
    dense, prior, topic_word_prior = np.array(dense, dtype=float), np.array(prior), np.array(topic_word_prior)
    counts = np.zeros((dense.shape[1], len(prior)))
    chain = Chain(kernel, dense, prior, np.arange(len(counts)), counts, topic_word_prior)
    return chain, *posterior(chain, prior, topic_word_prior)


def posterior(chain, prior, topic_word_prior):
    tokens = chain.token_document, chain.token_word
    return reference.posterior(*tokens, *chain.dense.shape, prior, topic_word_prior)


def numbers(z, n_topics):
    """The numbers of states (..., n_tokens), in the order of the enumeration."""
    return z @ n_topics ** np.arange(z.shape[-1])[::-1]


def law_of_a_sweep(start, posterior, n_topics):
    """The law of states after tokens were drawn in turn, each given all others by ratios of posterior."""
    law = np.zeros((n_topics,) * len(start))
    law[tuple(start)] = 1.0
    posterior = posterior.reshape(law.shape)
    for token in range(len(start)):
        law = law.sum(axis=token, keepdims=True) * posterior / posterior.sum(axis=token, keepdims=True)
    return law.ravel()


@pytest.mark.parametrize("name", TINY)
def test_conditionals_of_the_reference_are_ratios_of_the_joint(name):
    chain, states, p = tiny(Lists, name)
    n_topics = len(chain.prior)
    beta = np.broadcast_to(chain.topic_word_prior, chain.counts.shape)
    p = p.reshape((n_topics,) * len(chain.z))
    for z in states:
        one_hot = np.eye(n_topics)[z]
        for token, (d, w) in enumerate(zip(chain.token_document, chain.token_word)):
            one_hot[token] = 0.0
            n = one_hot[chain.token_document == d].sum(axis=0)
            n_w = one_hot[chain.token_word == w].sum(axis=0)
            conditional, _ = reference.conditional(n_w, one_hot.sum(axis=0), chain.prior, beta, w, n)
            expected = p[(*z[:token], slice(None), *z[token + 1 :])]
            np.testing.assert_allclose(conditional / conditional.sum(), expected / expected.sum(), rtol=1e-12)
            one_hot[token, z[token]] = 1.0


@pytest.mark.law
@for_each_kernel
@for_each_seed
@pytest.mark.parametrize("name", TINY)
def test_one_sweep_has_the_law_of_gibbs_sampling(kernel, name, seed):
    """From any state: so the posterior, and nothing else, stays as it is. Draws are independent."""
    chain, states, p = tiny(kernel, name)
    n_topics, n_sweeps = len(chain.prior), 4000
    rng = np.random.default_rng(seed)
    # All tokens in the rarest topic and in the most frequent one, and two draws from the posterior
    alike = np.tile([[np.argmin(chain.prior)], [np.argmax(chain.prior)]], len(chain.z))
    for i, start in enumerate([*alike, *states[rng.choice(len(p), 2, p=p)]]):
        z = np.empty((n_sweeps, len(start)), dtype=np.int32)
        for row, key in zip(z, position_keys(100 * seed + i, 0, n_sweeps).tolist()):
            chain.assign(start)
            chain.sweep(key)
            row[:] = chain.z
        law = law_of_a_sweep(start, p, n_topics)
        assert_distributed(np.bincount(numbers(z, n_topics), minlength=len(law)), law)


@pytest.mark.law
@for_each_kernel
@pytest.mark.parametrize("name", ["two documents, K = 2", "a matrix"])
def test_assignments_have_the_posterior_distribution(kernel, name):
    """In the long run, from no assignments."""
    chain, _, p = tiny(kernel, name)
    z = np.empty((40_000, len(chain.z)), dtype=np.int32)
    keys = position_keys(5, 0, 100 + len(z)).tolist()
    for key in keys[:100]:
        chain.sweep(key)
    for row, key in zip(z, keys[100:]):
        chain.sweep(key)
        row[:] = chain.z
    law = np.bincount(numbers(z, 2), minlength=len(p)) / len(z)
    assert 0.5 * np.abs(law - p).sum() < 0.03  # of independent draws: 0.01


@pytest.mark.parametrize("name", TINY)
def test_other_laws_are_far_away(name):
    """Of independent tokens, of a prior equal for all topics, of a pseudo-count equal for all words."""
    chain, states, p = tiny(Lists, name)
    one_hot = states[:, :, None] == np.arange(len(chain.prior))
    marginals = np.tensordot(p, one_hot, axes=1)
    independent = np.prod((one_hot * marginals).sum(axis=2), axis=1)
    _, equal = posterior(chain, np.full(len(chain.prior), chain.prior.mean()), chain.topic_word_prior)
    assert 0.5 * np.abs(independent - p).sum() > 0.05
    assert 0.5 * np.abs(equal - p).sum() > 0.05
    if chain.topic_word_prior.ndim:
        _, symmetric = posterior(chain, chain.prior, chain.topic_word_prior[0, 0])
        assert 0.5 * np.abs(symmetric - p).sum() > 0.1


class Model:
    """A small LDA model, whose joint law of topics and words two simulators have to agree upon."""

    LENGTHS, N_WORDS, PRIOR, SMOOTHING = (6, 3, 4), 4, np.array([0.3, 0.8, 1.4]), 0.4

    def __init__(self, kernel, seed):
        self.kernel = kernel
        self.rng = np.random.default_rng(seed)
        self.document = np.repeat(np.arange(3), self.LENGTHS)

    def draw(self, p):
        """A number from each row of probabilities."""
        return (self.rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)

    def draw_words(self, z):
        """w given z: phi from its prior, then words from phi."""
        phi = self.rng.dirichlet(np.full(self.N_WORDS, self.SMOOTHING), len(self.PRIOR))
        return self.draw(phi[z])

    def draw_topics(self):
        """z from its prior."""
        theta = self.rng.dirichlet(self.PRIOR, 3)
        return self.draw(theta[self.document])

    def change_topics(self, z, w, key):
        """A sweep of the kernel over z given w; tokens are sorted as the kernel has them, and back."""
        order = np.lexsort((self.document, w))
        dense = np.zeros((3, self.N_WORDS))
        np.add.at(dense, (self.document, w), 1.0)
        words = np.flatnonzero(dense.any(axis=0))
        counts = np.zeros((self.N_WORDS, len(self.PRIOR)))
        chain = Chain(self.kernel, dense[:, words], self.PRIOR, words, counts, self.SMOOTHING)
        chain.assign(z[order])
        chain.sweep(key)
        changed = np.empty_like(z)
        changed[order] = chain.z
        return changed

    def statistics(self, z, w):
        n_topics = len(self.PRIOR)
        n_dk = np.bincount(self.document * n_topics + z, minlength=3 * n_topics)
        n_wk = np.bincount(w * n_topics + z, minlength=self.N_WORDS * n_topics)
        n_k = np.bincount(z, minlength=n_topics)
        return np.array(
            [
                n_dk @ n_dk,
                n_wk @ n_wk,
                n_k @ n_k,
                n_k[0],
                n_k[2],
                z[0] == z[1],
                z[0] == z[-1],
                w[0] == w[1],
                (z[0] == z[6]) * (w[0] == w[6]),
                n_wk @ n_wk * n_k[0],
            ],
            dtype=float,
        )


@pytest.mark.law
@for_each_kernel
@for_each_seed
def test_topics_and_words_have_the_joint_law_of_the_model(kernel, seed):
    """Geweke (2004): z and w from the model, against sweeps over z alternating with draws of w given z."""
    model, n_draws, n_batches = Model(kernel, seed), 8000, 40
    independent = []
    for _ in range(n_draws):
        z = model.draw_topics()
        independent.append(model.statistics(z, model.draw_words(z)))
    z = model.draw_topics()
    w = model.draw_words(z)
    successive = []
    for key in position_keys(500 + seed, 0, n_draws).tolist():
        z = model.change_topics(z, w, key)
        w = model.draw_words(z)
        successive.append(model.statistics(z, w))
    independent = np.array(independent)
    batches = np.array(successive).reshape(n_batches, n_draws // n_batches, -1).mean(axis=1)
    difference = independent.mean(axis=0) - batches.mean(axis=0)
    variance = independent.var(axis=0) / n_draws + batches.var(axis=0, ddof=1) / n_batches
    scores = difference / variance**0.5
    assert np.all(np.abs(scores) < 4), scores
