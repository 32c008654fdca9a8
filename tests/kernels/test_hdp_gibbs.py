"""Gibbs sampling for the HDP: draw by draw that of the reference, and with the exact posterior as its law."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._documents._matrices import DocumentReader
from sktopic._kernels._groups import RootTopics, SweepSettings
from sktopic._kernels.documents._topic_lists import TOPIC_TABLES
from sktopic._kernels.hdp._gibbs import draw_tables, log_seatings, seat_weights, sweep_cells
from sktopic._kernels.hdp._gibbs_split_merge import split_merge
from sktopic._kernels.random._rng import position_keys
from sktopic.hdp._restaurants import Restaurants
from tests.kernels.tools import for_each_seed, golden
from tests.reference import gibbs_split_merge
from tests.reference import hdp_gibbs as reference
from tests.reference.documents import Seating, clumps
from tests.reference.hdp_gibbs import DIRECT, INDICATORS, SPARSE


class Chain:
    """Documents (n_documents, n_words) word by word, with columns for size topics."""

    def __init__(self, dense, size, sampler, b0=0.7, b1=1.3, topic_word_prior=0.2, common=0):
        batch = DocumentReader(sp.csr_array(dense)).batch(np.arange(len(dense)))
        self.restaurants, self.sampler = Restaurants.of(batch), sampler
        self.cells, self.lists, self.z = (getattr(self.restaurants, name) for name in ("cells", "lists", "z"))
        cell, self.token_weight = clumps(self.cells.cell_count)
        self.token_word, self.token_document = self.cells.cell_word[cell], self.cells.cell_document[cell]
        self.counts, self.size = np.zeros((dense.shape[1], size)), size
        self.totals, self.root = np.zeros(size), np.zeros(size)
        self.ids = np.zeros(size, dtype=np.int64)
        self.settings = SweepSettings(sampler, common, b0, b1, topic_word_prior, dense.shape[1])
        self.b0, self.b1, self.topic_word_prior = b0, b1, topic_word_prior
        self.rest = 0.5 if sampler == DIRECT else b0

    def topics(self, root):
        return RootTopics(self.counts, self.totals, root, self.ids)

    def assign(self, z):
        self.restaurants.assign(z)
        self.counts[:], self.totals[:] = self.recount(), self.recount().sum(axis=0)
        self.root = self.restaurants.tables(self.size)

    def recount(self):
        counts = np.zeros_like(self.counts)
        np.add.at(counts, (self.token_word, self.z), self.token_weight)
        return counts

    def listed(self):
        """The entries of each document."""
        start, entries, n_entries = self.lists
        return [entries[first : first + n] for first, n in zip(start, n_entries)]

    def sweep(self, key, cell=0):
        """Returns the cell at which there was no capacity."""
        self.restaurants.weigh(self.sampler != DIRECT)
        state = self.topics(self.root), self.rest, self.settings, self.lists, self.restaurants.ratios, self.z
        cell, self.rest = sweep_cells(cell, self.cells, *state, int(key))
        return cell

    def draw_weights(self, rng):
        """Root weights given tables, times b1."""
        root, rest = rng.standard_gamma(self.root), rng.standard_gamma(self.b0)
        factor = self.b1 / (root.sum() + rest)
        return root * factor, rest * factor

    def seat(self, weight, key):
        tables = np.zeros(self.size)
        draw_tables(self.lists, weight, tables, int(key))
        return tables

    def check(self):
        """Counts and lists say what z says."""
        atol = 1e-12 * max(1.0, self.cells.cell_count.max())
        assert_allclose(self.counts, self.recount(), rtol=1e-12, atol=atol)
        assert_allclose(self.totals, self.recount().sum(axis=0), rtol=1e-12, atol=10 * atol)
        for d, entries in enumerate(self.listed()):
            topic, n, m = (entries[name] for name in TOPIC_TABLES.names)
            own = self.z[self.token_document == d]
            assert sorted(topic) == sorted(set(own.tolist()))
            assert_array_equal(n, [np.sum(own == k) for k in topic])
            if self.sampler != DIRECT:
                assert np.all((m >= 1) & (m <= n))
        if self.sampler != DIRECT:
            assert_array_equal(self.root, self.restaurants.tables(self.size))


class Twin:
    """The same state, moved by the reference."""

    def __init__(self, chain):
        self.chain = chain
        documents = [Seating() for _ in chain.lists.n_entries]
        for token, d in enumerate(chain.token_document):
            if chain.z[token] >= 0:
                documents[d].put(int(chain.z[token]), chain.z[token] not in documents[d].order)
        arrays = chain.counts.copy(), chain.totals.copy(), chain.root.copy()
        self.state = reference.State(*arrays, chain.rest, documents, chain.z.copy())

    def sweep(self, key):
        reference.sweep_cells(self.chain.cells, self.state, self.chain.settings, key)

    def check(self):
        assert_array_equal(self.chain.z, self.state.z)
        for entries, document in zip(self.chain.listed(), self.state.documents, strict=True):
            topic, n, m = (entries[name] for name in TOPIC_TABLES.names)
            assert topic.tolist() == document.order
            assert n.tolist() == [document.n[k] for k in document.order]
            if self.chain.sampler != DIRECT:
                assert m.tolist() == [document.m[k] for k in document.order]
        assert_allclose(self.chain.root, self.state.root, rtol=1e-12)
        assert_allclose(self.chain.rest, self.state.rest, rtol=1e-12)
        assert_allclose(self.chain.counts, self.state.counts, rtol=1e-9, atol=1e-9)


def random_chain(seed, sampler, counts="small", size=160, **settings):
    rng = np.random.default_rng(seed)
    dense = (rng.random((9, 12)) < 0.4).astype(float)
    if counts == "small":
        dense *= rng.integers(1, 5, dense.shape)
    else:
        share = [0.5, 0.2, 0.1, 0.1, 0.04, 0.03, 0.03]
        dense *= rng.choice([1.0, 3.0, 2.75, 0.3, 12.0, 9.5, 70.1], dense.shape, p=share)
    dense[[0, 4]] = 0.0
    return Chain(dense, size, sampler, **settings)


def test_weights_are_those_of_the_golden_conditionals():
    arrays = golden("hdp_token_conditional")
    names = "n", "m", "gamma_tilde", "phi", "b0", "b1", "prob_mean"
    for n, m, *given, expected in zip(*(arrays[name] for name in names)):
        w = seat_weights(n.astype(np.int32), m.astype(np.int32), *given)
        assert_allclose(w / w.sum(), expected[:, 1:], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("start", "counts", "sampler", "common"),  # words with fewer cells are drawn without alias tables
    [
        *(("nowhere", "small", sampler, 0) for sampler in (DIRECT, INDICATORS, SPARSE)),
        *(("one topic", "mixed", sampler, 0) for sampler in (DIRECT, INDICATORS, SPARSE)),
        *(("many topics", "mixed", sampler, 0) for sampler in (DIRECT, INDICATORS, SPARSE)),
        ("nowhere", "mixed", SPARSE, 3),
        ("a batch", "small", DIRECT, 0),
    ],
)
def test_every_draw_is_that_of_the_reference(start, counts, sampler, common):
    """A batch has the counts of some words, of other documents too, beside topics that none of its documents
    has yet."""
    chain, rng = random_chain(3, sampler, counts, common=common), np.random.default_rng(0)
    if start == "a batch":
        chain.settings = chain.settings._replace(n_features=50)
        chain.counts[:, :5] = 30.0 * rng.random((12, 5))
        chain.totals[:5] = chain.counts[:, :5].sum(axis=0) + 60.0 * rng.random(5)
        chain.root[:5] = rng.random(5)
    elif start != "nowhere":
        chain.assign(rng.integers(0, 1 if start == "one topic" else 20, len(chain.z)))
        if sampler == DIRECT:
            chain.root = chain.root * 0.01
    twin = Twin(chain)
    for key in range(4):
        assert chain.sweep(key) == len(chain.cells[0])
        twin.sweep(key)
        twin.check()
        if start != "a batch":
            chain.check()
    assert len(set(chain.z.tolist())) > 1


@pytest.mark.parametrize("sampler", [DIRECT, INDICATORS, SPARSE], ids=["direct", "tables", "sparse"])
def test_sweep_stops_where_there_may_be_no_capacity_and_goes_on(sampler):
    """With capacity made in between, draws are those of a chain that had it from the start; alias tables of
    another size make other draws of the same law."""
    small, large = (random_chain(5, sampler, size=size, b0=20.0, b1=5.0) for size in (16, 160))
    for chain in (small, large):
        chain.assign(np.arange(len(chain.z)) % 12)
        if sampler == DIRECT:
            chain.root *= 0.01
    stops = 0
    for key in range(3):
        large.sweep(key)
        cell = small.sweep(key)
        while cell < len(small.cells[0]):
            stops += 1
            for name in ("counts", "totals", "root", "ids"):
                array = getattr(small, name)
                setattr(small, name, np.concatenate([array, np.zeros_like(array)[..., :8]], axis=-1))
            small.size += 8
            cell = small.sweep(key, cell)
        small.check()
        if sampler != SPARSE:
            assert_array_equal(small.z, large.z)
            assert_allclose(small.root, large.root[: small.size], rtol=1e-12)
    assert stops > 0


def test_tables_are_those_of_the_reference():
    chain = random_chain(6, DIRECT)
    chain.assign(np.random.default_rng(0).integers(0, 5, len(chain.z)))
    documents = Twin(chain).state.documents
    weight = np.random.default_rng(1).gamma(1.0, 1.0, chain.size)
    assert_array_equal(chain.seat(weight, 7), reference.draw_tables(documents, weight, 7))
    assert_array_equal(chain.restaurants.tables(chain.size), chain.seat(weight, 7))
    assert_allclose(log_seatings(chain.lists), reference.log_seatings(documents), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("counts", ["small", "mixed"])
def test_every_split_and_merge_is_that_of_the_reference(counts):
    """Half of the proposals are made without scans."""
    chain = random_chain(7, DIRECT, counts, topic_word_prior=0.1)
    chain.assign(np.random.default_rng(0).integers(0, 3, len(chain.z)))
    chain.root[:3] = 0.5, 0.3, 0.9
    tokens = gibbs_split_merge.Tokens(chain.token_document, chain.token_word, chain.token_weight)
    z, weight, fixed = chain.z.copy(), chain.root.copy(), np.zeros(chain.size, dtype=np.uint8)
    fixed[2] = 1
    total = np.zeros(2)
    for key in range(8):
        given = chain.topics(chain.root), fixed, 0.7, 0.1
        accepted = split_merge(chain.cells, *given, chain.lists, chain.z, 20, 1 + key % 3, key)
        given = 0.7, 0.1, len(chain.counts), z, 20, 1 + key % 3, key
        assert accepted == gibbs_split_merge.split_merge(tokens, weight, fixed, *given)
        assert_array_equal(chain.z, z)
        assert_allclose(chain.root, weight, rtol=1e-9)
        chain.check()
        total += accepted
    assert np.all(total > 0)
    assert_array_equal(chain.z == 2, np.random.default_rng(0).integers(0, 3, len(z)) == 2)


# The law

EXACT = golden("hdp_exact_posterior")


def tiny(sampler):
    """The chain of the golden posterior, and the places of its tokens in ours."""
    dense = np.zeros((2, 3))
    np.add.at(dense, (EXACT["batch_doc_id"], EXACT["batch_word"]), 1)
    settings = (float(EXACT[f"batch_{name}"]) for name in ("b0", "b1", "beta"))
    chain = Chain(dense, 16, sampler, *settings)
    document, word = EXACT["batch_doc_id"], EXACT["batch_word"]
    order = np.lexsort((document, [chain.token_word.tolist().index(w) for w in word]))
    assert_array_equal((document[order], word[order]), (chain.token_document, chain.token_word))
    chain.assign(np.zeros(6))
    return chain, np.argsort(order)


@pytest.mark.law
@for_each_seed
@pytest.mark.parametrize("moves", ["direct", "tables", "sparse", "splits"])
def test_assignments_have_the_posterior_distribution(moves, seed):
    """Of a sampler, or of splits and merges alone with weights drawn given tables, and back.

    P(K), co-assignment and E[tables] within four standard errors, those of the means of fifty batches.
    """
    splits = moves == "splits"
    chain, place = tiny({"tables": INDICATORS, "sparse": SPARSE}.get(moves, DIRECT))
    rng, n = np.random.default_rng(seed), 40_000 if moves == "direct" else 20_000  # so many it takes
    z, tables = np.empty((n, 6), dtype=int), np.empty(n)
    for i, key in enumerate(position_keys(seed, 0, n).tolist()):
        if splits:
            weight, _ = chain.draw_weights(rng)
            given = chain.topics(weight), np.zeros(chain.size, np.uint8), chain.b0, chain.topic_word_prior
            split_merge(chain.cells, *given, chain.lists, chain.z, 3, 3, key)
            chain.root = chain.seat(weight, key)
        elif moves == "direct":
            chain.root, chain.rest = chain.draw_weights(rng)
            chain.sweep(key // 2)
            chain.root = chain.seat(chain.root, key // 2 + 1)
        else:
            chain.sweep(key // 2)
        z[i], tables[i] = chain.z[place], chain.root.sum()
    first, second = np.triu_indices(6, 1)
    n_topics = np.array([len(set(row)) for row in z.tolist()])
    seen = np.column_stack([*(n_topics == k for k in range(1, 5)), z[:, first] == z[:, second], tables])
    coassigned = EXACT["batch_coassign"][first, second]
    expected = np.concatenate([EXACT["batch_K_prob"][1:5], coassigned, [EXACT["batch_E_tables"]]])
    batches = seen.reshape(50, -1, seen.shape[1]).mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(50)
    assert np.all(errors[:4] < 0.006)  # it says something
    assert np.all(np.abs(batches.mean(axis=0) - expected) < 4 * errors), (batches.mean(0) - expected) / errors
    if splits:
        chain.check()
