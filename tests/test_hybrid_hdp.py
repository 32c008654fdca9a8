"""The hybrid HDP: its updates by hand, which topics live and die, and what is learned."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic import load
from sktopic._inference._dense import DenseCounts
from sktopic._topics._word_count_views import expected_counts
from sktopic.datasets import make_bars
from sktopic.hdp import HybridHDP
from sktopic.hdp._hybrid_topics import HybridTopics

from .lda_models import X as SMALL
from .lda_models import smoothed, watched


def make_model(n_components=6, **params):
    settings = {
        "topic_word_prior": 0.05,
        "learning_decay": 0.65,
        "learning_offset": 1.0,
        "max_iter": 2,
        "batch_size": 20,
        "doc_burn_in": 4,
        "doc_sweeps": 3,
        "random_state": 0,
    }
    return HybridHDP(n_components, **{**settings, **params})


# Updates by hand


def watched_steps(monkeypatch):
    """The list of the counts before each document step, what it finds, that of words, and lengths."""

    def look(found, method, state, batch, keys, update, workers):
        dense = DenseCounts(state.words.n_features, method.n_components, True)
        dense.include(found, batch.words, workers)
        return expected_counts(state.words, 1.0), found, dense.counts, batch.lengths

    return watched(monkeypatch, HybridTopics, "infer", look)


def root_weights(tables, b0, root_weight, reuse_topics):
    """Of topics with these numbers of tables in the corpus."""
    weights = tables if root_weight == "mean" else tables**2 / (tables + 1)
    return (weights + reuse_topics * b0 / len(tables)) / (tables.sum() + b0)


OPTIONS = list(product(("mean", "paper"), (True, False), (1, 500)))


@pytest.mark.parametrize(
    ("sampler", "options"),
    [
        ("collapsed", OPTIONS),
        ("sparse_table_indicator", OPTIONS[:2]),
        ("table_indicator", OPTIONS[-2:]),
    ],
    ids=["collapsed", "sparse", "tables"],
)
def test_updates_are_those_by_hand(monkeypatch, sampler, options):
    """Statistics, tables and concentrations after each of three batches.

    In a corpus of one document, topics with less than a table count by this part.
    """
    seen = watched_steps(monkeypatch)
    priors = {"topic_concentration_prior": (1.7, 0.2), "doc_concentration_prior": (2.5, 0.3)}
    for root_weight, reuse_topics, total in options:
        settings = {"sampler": sampler, "root_weight": root_weight, "reuse_topics": reuse_topics}
        model = make_model(total_samples=total, doc_sweeps=1, **settings, **priors)
        b0, b1 = 1.0, 6 * 6**-0.55
        tables, n_tables = np.full(6, 1 / 6), []
        seen.clear()
        for t in range(3):
            model.partial_fit(SMALL[20 * t : 20 * t + 20])
            start, found, counts, lengths = seen[t]
            if t == 0:  # the start weighs what a document does
                statistics = start / start.sum() * lengths.mean()
            rho = (1 + t + 1) ** -0.65
            statistics = (1 - rho) * statistics + rho * counts / 20
            assert counts.sum() == pytest.approx(lengths.sum())
            if t > 0:  # the very first batch reads random topics
                weights = root_weights(total * tables, b0, root_weight, reuse_topics)
                alpha = b1 * weights
                if sampler == "collapsed":  # expected tables, given the prior
                    assert_allclose(found.prior, alpha, rtol=1e-5)
                    batch = found.prior_statistics().topic_gains / 20
                else:
                    batch = found.tables / 20
                gain = weights.sum() * (digamma(alpha.sum() + lengths) - digamma(alpha.sum())).mean()
                if t == 1:
                    tables, growth = tables / tables.sum() * batch.sum(), gain
                rho = (1 + t + 10) ** -0.65
                tables = (1 - rho) * tables + rho * batch
                growth = (1 - rho) * growth + rho * gain
                # Modes under Gamma priors
                b1 = (1.5 + total * tables.sum()) / (0.3 + total * growth)
                n_tables.append(total * tables)
                n_topics = np.minimum(n_tables[-1], 1).sum()
                b0 = (0.7 + n_topics) / (0.2 + digamma(b0 + total * tables.sum()) - digamma(b0))
            case = f"{root_weight}, {reuse_topics}, {total}"
            assert_array_equal(model.topic_ids_, np.arange(6))
            assert_allclose(model.topic_word_counts_, total * statistics.T, rtol=1e-5, err_msg=case)
            assert_allclose(model.components_, smoothed(total * statistics.T, 0.05), rtol=1e-5, err_msg=case)
            found = model.doc_concentration_, model.topic_concentration_
            assert_allclose(found, [b1, b0], rtol=1e-5, err_msg=case)
            expected = root_weights(total * tables, b0, root_weight, reuse_topics)
            assert_allclose(model.topic_weights_, expected, rtol=1e-5, err_msg=case)
            assert_allclose(model.doc_topic_prior_, b1 * expected, rtol=1e-5, err_msg=case)
        assert total == 500 or np.min(n_tables) < 0.9


# Concentrations


def test_given_concentrations_stay():
    model = make_model(topic_concentration=2.5, doc_concentration=0.7)
    for call in (model.fit, model.partial_fit):
        call(SMALL)
        assert (model.topic_concentration_, model.doc_concentration_) == (2.5, 0.7)
    # Changed ones hold from the next call on.
    model.set_params(topic_concentration=3.0, doc_concentration="auto").partial_fit(SMALL)
    assert model.topic_concentration_ == 3.0
    assert model.doc_concentration_ != 0.7
    model = make_model(10).fit(SMALL * 1e-12)
    assert min(model.topic_concentration_, model.doc_concentration_) >= 1e-12


@pytest.mark.slow
def test_updates_that_move_the_root(monkeypatch, tmp_path):
    """All but the first until the hundredth; then in a first pass, and in what partial_fit is given."""

    def look(result, method, state, tables, growth, update):
        return update.number + 1

    moved = watched(monkeypatch, HybridTopics, "_learned_root", look)
    model = make_model(batch_size=1, max_iter=3).fit(SMALL)  # 60 documents, all with words
    assert moved == list(range(2, 101))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model").partial_fit(SMALL[:5])
    assert moved[99:] == list(range(181, 186))
    assert loaded.doc_concentration_ != model.doc_concentration_
    blocks = [SMALL[:40], sp.vstack([SMALL[40:], SMALL])]
    stopping = {"early_stopping": True, "validation_fraction": 10 / 130}
    for X, parameters in ((blocks, {}), (sp.vstack([SMALL, SMALL, SMALL[:10]]), stopping)):
        moved.clear()
        model = make_model(batch_size=1, max_iter=2, **parameters).fit(X)
        assert model.n_batch_iter_ == 240
        assert moved == list(range(2, 121))


def test_the_concentration_of_documents_is_learned_from_first_visits():
    """The root goes on for a hundred updates; with moves always, as topics come and go between passes."""
    for split_merge in (False, True):
        once, twice = (make_model(split_merge=split_merge, max_iter=n).fit(SMALL) for n in (1, 2))
        assert once.doc_concentration_ == twice.doc_concentration_ != 6 * 6**-0.55
        assert once.topic_concentration_ != twice.topic_concentration_


# Topics


@pytest.mark.parametrize(
    ("sampler", "root_weight", "reuse_topics"),
    [
        ("collapsed", "mean", True),
        ("collapsed", "paper", False),
        ("table_indicator", "paper", True),
    ],
)
def test_weights_and_identities(sampler, root_weight, reuse_topics):
    """Of topics that die, and of those that words of which nothing was known make of dead ones."""
    settings = {"sampler": sampler, "root_weight": root_weight, "reuse_topics": reuse_topics}
    model = make_model(12, batch_size=5, learning_decay=0.6, **settings)
    known, before, n_born = np.arange(12), {}, 0
    first, second = (sp.csr_array(sp.hstack([SMALL * share, SMALL * (1 - share)])) for share in (1, 0))
    for X in [first] * 6 + [second] * 2:
        model.partial_fit(X)
        weights, ids, k = model.topic_weights_, model.topic_ids_, model.n_components_
        assert weights.shape == ids.shape == (k,) and weights.min() > 0
        assert model.topic_word_counts_.sum(axis=1).min() >= 1.0
        # All that is missing is left for topics out of use and new ones.
        whole = reuse_topics and root_weight == "mean" and k == 12
        assert weights.sum() == pytest.approx(1.0, rel=1e-12) if whole else weights.sum() < 1.0
        assert len(np.unique(ids)) == k
        # Numbers are not given twice: those that are new are larger than all before.
        born = np.setdiff1d(ids, known)
        assert born.size == 0 or born.min() > known.max()
        n_born, known = n_born + len(born), np.union1d(known, ids)
        # A topic that keeps its number keeps most of its words.
        topics = dict(zip(ids.tolist(), model.components_))
        changes = [0.5 * np.abs(topics[i] - before[i]).sum() for i in topics.keys() & before.keys()]
        assert not changes or np.median(changes) < 0.2
        before = topics
    assert n_born > 0


@pytest.mark.parametrize("sampler", ["table_indicator", "sparse_table_indicator"])
def test_tables_of_documents_with_fractional_weights_do_not_depend_on_the_threads(sampler):
    X, weights = make_bars(40, random_state=0).data, np.random.default_rng(0).random(40)
    models = [
        HybridHDP(5, sampler=sampler, n_jobs=n, random_state=0).fit(X, sample_weight=weights) for n in (1, 3)
    ]
    assert_array_equal(*(model._state.root.tables for model in models))
