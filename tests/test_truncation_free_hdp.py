"""Truncation-free inference: its updates, the exact law of its batches, and topics that come and go."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta

from sktopic._documents._matrices import DocumentReader
from sktopic._kernels._groups import SweepSettings
from sktopic._topics._word_count_views import expected_counts
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.hdp import TruncationFreeHDP, _truncation_free_method
from sktopic.hdp._restaurants import SAMPLERS
from sktopic.hdp._truncation_free_method import BatchChain, TruncationFree, best_sticks
from tests.kernels.test_hdp_gibbs import EXACT
from tests.kernels.tools import assert_within, for_each_seed
from tests.reference import truncation_free as reference

X = sp.csr_array(
    make_lda_documents(90, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)


def make_model(**params):
    return TruncationFreeHDP(**{"n_components": 4, "batch_size": 30, "random_state": 0, **params})


def chain_of(dense, counts=None, sticks=None, gamma=0.7, alpha=1.3, eta=0.2, totals=None):
    """A chain over dense documents, beside topics of a corpus."""
    dense = np.asarray(dense, dtype=np.float64)
    batch = DocumentReader(sp.csr_array(dense)).batch(np.arange(len(dense)))
    counts = np.zeros((batch.n_words, 0)) if counts is None else np.asarray(counts, dtype=np.float64)
    sticks = np.zeros((2, counts.shape[1])) if sticks is None else np.asarray(sticks, dtype=np.float64)
    totals = counts.sum(axis=0) if totals is None else np.asarray(totals, dtype=np.float64)
    settings = SweepSettings(
        sampler=SAMPLERS["direct_assignment"],
        common=0,
        topic_concentration=gamma,
        doc_concentration=alpha,
        topic_word_prior=eta,
        n_features=dense.shape[1],
    )
    return BatchChain(batch, counts, totals, sticks, settings)


# Updates


def test_updates_are_those_in_print(monkeypatch):
    """Posteriors after every batch, from the tokens and tables that it drew."""
    seen = []
    original, step = TruncationFree.infer, TruncationFree.absorb

    def infer(self, *arguments):
        counts = original(self, *arguments)
        seen.append(counts)
        return counts

    def posterior(state):
        """Dirichlet parameters of topics, which all are in use."""
        return expected_counts(state.words, state.total_samples).T + 0.05

    def absorb(self, state, batch_counts, update, workers):
        first = state.n_topic_updates == 0
        lam, (a, b) = posterior(state), state.sticks
        if first:
            lam, a, b = lam[:0], a[:0], b[:0]
        after = step(self, state, batch_counts, update, workers)
        if batch_counts.n_tokens == 0:
            return after
        counts = batch_counts.expected
        tokens = np.zeros((len(counts.tables), 25))
        tokens[:, batch_counts.words] = counts.counts.T / 3
        rho = 1.0 if first else self.steps(after.n_topic_updates)
        given = rho, update.total_samples / batch_counts.n_documents, 0.05, 50.0
        lam, a, b = reference.update(lam, a, b, tokens, counts.tables, *given)
        kept = (lam - 0.05).sum(axis=1) >= 1.0
        assert_array_equal(after.in_use, np.arange(len(after.ids)))
        assert_allclose(posterior(after), lam[kept], rtol=1e-10)
        assert_allclose(after.sticks, [a[kept], b[kept]], rtol=1e-12)
        weights = reference.mean_weights(a[kept], b[kept])
        assert_allclose(after.topic_weights, weights, rtol=1e-12)
        assert_allclose(after.doc_topic_prior, 5.0 * weights, rtol=1e-12)
        return after

    monkeypatch.setattr(TruncationFree, "infer", infer)
    monkeypatch.setattr(TruncationFree, "absorb", absorb)
    padded = sp.csr_array(sp.vstack([sp.csr_array((2, 25)), X]))
    model = make_model(topic_concentration=50.0).fit(padded)
    assert_allclose(model.topic_word_posterior_, posterior(model._state), rtol=1e-10)
    means = model.topic_word_posterior_ / model.topic_word_posterior_.sum(axis=1, keepdims=True)
    assert_allclose(model.components_, means, rtol=1e-10)
    assert len({len(counts.tables) for counts in seen}) > 2
    share = sum(counts.counts.sum() for counts in seen) / (3 * 5 * X.sum())
    assert 0.9 < share <= 1.0  # but for topics that end with their batch


# What a batch is drawn from


@pytest.mark.law
@for_each_seed
def test_batch_without_a_past_has_the_exact_posterior(seed):
    """Enumerated: assignments and tables of the golden corpus."""
    dense = np.zeros((2, 3))
    np.add.at(dense, (EXACT["batch_doc_id"], EXACT["batch_word"]), 1)
    gamma, alpha, eta = (float(EXACT[f"batch_{name}"]) for name in ("b0", "b1", "beta"))
    chain = chain_of(dense, gamma=gamma, alpha=alpha, eta=eta)
    documents = chain.documents
    n = np.diff(documents.cell_start)
    tokens = list(zip(documents.cell_document.repeat(n), documents.cell_word.repeat(n)))
    place = []
    for pair in zip(EXACT["batch_doc_id"], EXACT["batch_word"]):
        place.append(next(i for i, t in enumerate(tokens) if t == pair and i not in place))
    chain.assign_at_random(2, seed)
    pairs, n = np.triu_indices(6, 1), 6000  # shares off by three hundredths are seen
    seen = np.empty((n, 4 + 15 + 1))
    for i in range(n):
        chain.sweep((seed << 32) + i, counted=False)
        z = documents.z[place]
        n_topics = [chain.live().sum() == k for k in range(1, 5)]
        seen[i] = [*n_topics, *(z[pairs[0]] == z[pairs[1]]), chain.tables.sum()]
    together = EXACT["batch_coassign"][pairs]
    expected = np.concatenate([EXACT["batch_K_prob"][1:5], together, [EXACT["batch_E_tables"]]])
    assert_within(seen.reshape(50, -1, 20).mean(axis=1), expected, 4)


def law_of_two_tokens(a, b, gamma, alpha, eta, counts, n_features):
    """Of two tokens of one word in a document, beside one topic of the corpus with a stick of Beta(a, b):
    both in that, one, both in one new topic, in two."""
    share = partial(beta.pdf, a=a, b=b)

    def mean(function):
        return quad(lambda v: share(v) * function(v), 0, 1)[0]

    count, total = counts
    known = (count + eta) / (total + n_features * eta)
    again = (count + 1 + eta) / (total + 1 + n_features * eta)
    new, new_again = 1 / n_features, (1 + eta) / (1 + n_features * eta)
    both = mean(lambda v: v * (alpha * v + 1)) / (alpha + 1)
    one = 2 * mean(lambda v: v * alpha * (1 - v)) / (alpha + 1)
    same_table = mean(lambda v: 1 - v) / (alpha + 1)
    tables = mean(lambda v: alpha * (1 - v) ** 2) / (alpha + 1)
    same = same_table + tables / (1 + gamma)
    law = both * known * again, one * known * new, same * new * new_again
    law = np.array([*law, tables * gamma / (1 + gamma) * new * new])
    return law / law.sum()


@pytest.mark.law
@for_each_seed
def test_batch_beside_a_corpus_has_the_exact_law(seed):
    gamma, alpha, eta, sticks = 0.7, 1.3, 0.2, (1.5, 0.6)
    dense = np.zeros((1, 5))
    dense[0, 3] = 2
    chain = chain_of(dense, [[0.4]], np.transpose([sticks]), gamma, alpha, eta, totals=[4.0])
    n = 5000  # shares off by three hundredths are seen
    seen = np.empty((n, 2), dtype=int)
    for i in range(n):
        chain.sweep((seed << 32) + i, counted=False)
        seen[i] = chain.documents.z
    known = (seen == 0).sum(axis=1)
    kinds = np.column_stack([known == 2, known == 1, (known == 0) & (seen[:, 0] == seen[:, 1]), known == 0])
    kinds[:, 3] &= ~kinds[:, 2]
    batches = kinds.reshape(25, -1, 4).mean(axis=1)
    law = law_of_two_tokens(*sticks, gamma, alpha, eta, (0.4, 4.0), 5)
    assert np.all(batches.std(axis=0) < 0.1)
    assert_within(batches, law, 4)


def test_sticks_have_their_beta_laws():
    """Of two known topics and two new ones, given tables."""
    chain = chain_of(np.ones((1, 3)), np.ones((3, 2)), [[2.0, 3.0], [5.0, 4.0]])
    chain.assign_at_random(2, 0)
    chain.tables[:5] = [4.0, 0.0, 2.0, 0.0, 1.0]
    rng = np.random.RandomState(0)
    drawn = [chain.draw_weights(rng) for _ in range(4000)]
    weights = np.array([np.append(w[[0, 1, 2, 4]], rest) for w, rest in drawn]) / 1.3
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.any(np.array([w for w, _ in drawn])[:, [3, *range(5, len(chain.tables))]])
    sticks = weights[:, :4] / (1.0 - np.cumsum(weights, axis=1)[:, :4] + weights[:, :4])
    a, b = np.array([6.0, 3.0, 2.0, 1.0]), np.array([8.0, 7.0, 1.7, 0.7])
    assert_within(sticks, a / (a + b), 4)
    assert_within(sticks**2, a * (a + 1) / (a + b) / (a + b + 1), 4)


def test_topics_that_end_in_a_batch_leave_nothing():
    chain = chain_of(make_bars(20, random_state=0).data.toarray(), gamma=20.0)
    chain.assign_at_random(30, 0)
    sizes = []
    for key in range(12):
        chain.sweep(key, counted=key >= 6)
        live = chain.live()
        tokens = np.bincount(chain.documents.z, minlength=len(live))
        assert_array_equal(tokens > 0, live)
        assert_array_equal(chain.topics.totals, tokens)
        assert_array_equal(chain.topics.counts.sum(axis=0), tokens)
        assert not np.any(chain.summed[:, ~live])
        sizes.append(live.sum())
    result = chain.result(6)
    assert result.counts.shape[1] == len(result.tables) == sizes[-1]
    assert len(set(sizes)) > 1
    assert np.all(result.tables > 0)


# The model


def test_a_batch_weighs_its_tables_against_those_of_as_many_documents(monkeypatch):
    """However large the corpus is, new topics have what sticks left them in a batch before."""
    seen = []

    def watched(tables, concentration):
        seen.append(tables)
        return best_sticks(tables, concentration)

    monkeypatch.setattr(_truncation_free_method, "best_sticks", watched)
    for total in (60, 1e8):
        model = make_model(total_samples=total, topic_concentration=3.0).partial_fit(X[:30])
        tables = seen[-1] * 30 / total
        sticks = []

        def chain(*arguments, seen=sticks, **named):
            seen.append(named["sticks"])
            return BatchChain(*arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(_truncation_free_method, "BatchChain", chain)
            model.partial_fit(X[30:60])
        assert_allclose(sticks, [best_sticks(tables, 3.0)], rtol=1e-6)


def test_topics_are_born_and_keep_their_identity():
    bars = make_bars(400, random_state=0).data
    model = TruncationFreeHDP(2, topic_concentration=20.0, batch_size=20, random_state=0)
    ids = []
    for first in range(0, 400, 40):
        model.partial_fit(bars[first : first + 40])
        ids.append(model.topic_ids_)
        assert np.all(np.diff(model.topic_ids_) > 0)
        assert model.topic_weights_.sum() < 1
    assert len(ids[-1]) > 2
    assert len(set(np.concatenate(ids)) - set(ids[-1])) > 0  # some have gone
    assert model.components_.shape == (len(ids[-1]), 25)
