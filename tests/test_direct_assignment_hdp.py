"""The direct-assignment HDP: its bound, coordinate ascent, moves, and the number of topics it finds."""

import tracemalloc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from threadpoolctl import threadpool_limits

from sktopic._runtime._parallel import Workers
from sktopic._topics._word_count_views import posterior_bound
from sktopic._training._statistics_updates import BatchCounts
from sktopic.datasets import make_bars
from sktopic.hdp import DirectAssignmentHDP
from sktopic.hdp._batch_moves import BatchMoves
from sktopic.hdp._batch_proposals import AscentProposals, RestrictedProposals
from sktopic.hdp._direct_assignment_state import column_of, postponed, weights_bound, with_kept, with_merged
from sktopic.hdp._document_inference import start_without
from sktopic.hdp._final_moves import FinalMoves, documents_change, words_change
from sktopic.hdp._moves import Move
from sktopic.hdp._shared_parameters import DocumentTopics, best_concentration, best_weights
from sktopic.hdp._variational_split_merge import (
    BatchTopics,
    TopicUpdate,
    candidate_pairs,
    divided_columns,
    documents_mixing,
    merge_gain,
    topic_of,
)
from tests.conftest import fingerprint
from tests.lda_models import X, batch_of, smoothed
from tests.reference import direct_assignment as reference


def make_model(n_components=5, **params):
    return DirectAssignmentHDP(n_components, **{"random_state": 0, "batch_size": 20, **params})


# The bound


def test_twin_of_the_bound_is_golden():
    with np.load(Path(__file__).parent / "golden" / "ohdp_elbo_golden.npz") as arrays:
        g = dict(arrays)
    alpha, gamma, eta = (float(g[name]) for name in ("alpha", "gamma", "eta"))
    state = g["X"], g["phi"], g["theta"], g["lam"], g["beta"]
    assert_allclose(reference.doc_terms(*state, alpha), g["doc_terms"], rtol=1e-9)
    assert_allclose(reference.topic_terms(g["lam"], eta), g["topic_terms"], rtol=1e-9)
    tokens = (g["X"][..., None] * g["phi"]).sum(axis=1)
    for size, scale in (("batch", 1.0), ("mini", g["D_total"] / len(g["X"]))):
        assert_allclose(reference.elbo(*state, alpha, gamma, eta, scale), g[f"elbo_stick_{size}"], rtol=1e-9)
        gradient = reference.gradient_profile(tokens, g["beta"], alpha, scale)
        assert_allclose(gradient, g[f"grad_beta_profile_{size}"], rtol=1e-9)
        logits = reference.logit_gradient(gradient, g["beta"], gamma)
        assert_allclose(logits, g[f"grad_logit_profile_stick_{size}"], rtol=1e-9, atol=1e-9)


def state_of(model):
    """lambda, beta with its rest, alpha, gamma and eta of all topics."""
    words, weights = model._state.words, model._state.weights
    lam = words.store.T * (model.total_samples_ * words.scale) + model.topic_word_prior_
    beta = np.append(weights, 1.0 - weights.sum())
    return lam, beta, model.doc_concentration_, model.topic_concentration_, model.topic_word_prior_


@pytest.mark.parametrize(("learned", "expectation"), [(True, "geometric"), (False, "mean")])
def test_elbo_is_that_of_its_terms(learned, expectation):
    """And documents settle where they should, under the topics that they read."""
    given = {} if learned else {"doc_concentration": 2.0, "topic_concentration": 3.0}
    settings = {"topic_expectation": expectation, "mean_change_tol": 0.0, "max_doc_update_iter": 1000}
    model = make_model(max_iter=2, **settings, **given).fit(X[:25])
    counts, (lam, beta, alpha, gamma, eta) = X[:25].toarray(), state_of(model)
    phi, theta = reference.best_documents(counts, reference.log_topics(lam), beta, alpha)
    for total_samples in (None, 250):
        scale = 1.0 if total_samples is None else 10.0
        expected = reference.elbo(counts, phi, theta, lam, beta, alpha, gamma, eta, scale)
        assert model.elbo(X[:25], total_samples=total_samples) == pytest.approx(expected, rel=1e-9)
    if expectation == "mean":
        _, theta = reference.best_documents(counts, np.log(model.components_), beta, alpha)
        proportions = theta[:, :-1] / theta[:, :-1].sum(axis=1, keepdims=True)
        assert_allclose(model.transform(X[:25]), proportions, rtol=1e-4, atol=1e-6)


def test_weights_have_no_slope_left():
    """Where the fixed point has settled, the gradient in the logits of the sticks vanishes."""
    rng = np.random.default_rng(0)
    tokens = rng.gamma(0.3, 10.0, (80, 6))
    for gamma in (1.5, 4.0):
        weights = np.full(6, 1 / 7)
        for _ in range(40):
            weights = best_weights(DocumentTopics.of_batch(tokens, 3.0), weights, 2.0, gamma)
        beta = np.append(weights, 1 - weights.sum())
        slope = reference.logit_gradient(reference.gradient_profile(tokens, beta, 2.0, 3.0), beta, gamma)
        assert_allclose(slope, 0.0, atol=1e-3)


def test_concentration_is_where_the_bound_is_highest():
    rng = np.random.default_rng(1)
    tokens, weights = rng.gamma(0.3, 10.0, (50, 4)), np.array([0.5, 0.3, 0.1, 0.05])
    lengths = tokens.sum(axis=1)

    def objective(a):
        prior = a * weights
        data = gammaln(a) - gammaln(a + lengths) + (gammaln(prior + tokens) - gammaln(prior)).sum(axis=1)
        return 2.0 * data.sum() + 0.5 * np.log(a) - 0.5 * a + np.log(a)  # a density of log a

    for value in (0.01, 1.0, 100.0):
        found = best_concentration(DocumentTopics.of_batch(tokens, 2.0), weights, value, (1.5, 0.5))
        grid = found * np.exp(np.linspace(-0.1, 0.1, 41))
        assert objective(found) >= max(map(objective, grid)) - 1e-9


@pytest.mark.parametrize("prior", [(3.0, 0.5), (0.2, 2.0)])
def test_topic_concentration_is_learned_by_its_formula(prior):
    """The mode of log gamma: K + shape over rate - log(what the weights leave); steps are in gamma."""
    given = {"learning_decay": 0.7, "learning_offset": 2.0, "topic_concentration_prior": prior}
    model = make_model(split_merge=False, total_samples=60, **given).partial_fit(X[:20])
    before = model.topic_concentration_
    left = np.log(1.0 - model.partial_fit(X[20:40])._state.weights.sum())
    rho = (2.0 + 2) ** -0.7
    expected = (1 - rho) * before + rho * (5 + prior[0]) / (prior[1] - left)
    assert model.topic_concentration_ == pytest.approx(expected, rel=1e-9)
    memoized = make_model(7, learning_method="memoized", split_merge=False, topic_concentration_prior=prior)
    left = np.log(1.0 - memoized.fit(X)._state.weights.sum())
    # The weights have moved a little since, as passes end before they are settled.
    assert memoized.topic_concentration_ == pytest.approx((7 + prior[0]) / (prior[1] - left), rel=1e-5)


# Moves

ASCENT, RESTRICTED = AscentProposals(), RestrictedProposals()


def batch_topics(model, documents=X, scale=3.0, sample_weight=None):
    """The topics of documents under a model, as of a corpus so many times as large."""
    with Workers(None) as workers:
        counts = model._method().inference(batch_of(documents, sample_weight), model._state, workers)
        moves = BatchMoves(ASCENT, model._method().inference, scale, 0, workers)
        return moves.batch_topics(model._state, counts)


def update_of(state, k, rho, best=None):
    """The update of a topic by a batch, whose best weights are by default those before."""
    weights = state.weights, state.weights if best is None else best
    return TopicUpdate(column_of(state, k), *(float(each[k]) for each in weights), rho, key=7)


def phi_of(topics):
    """Shares (n_documents, n_features, n_topics) of the words' tokens."""
    counts, batch = topics.counts, topics.batch
    phi = np.zeros((batch.n_documents, X.shape[1], counts.gamma.shape[1]))
    document = batch.cell_document()
    tokens = counts.share[:, None] * counts.expectation[document] * counts.topics.rows[batch.cell_word]
    phi[document, batch.words[batch.cell_word]] = tokens / batch.cell_count[:, None]
    return phi


def whole_bound(phi, lam, beta, alpha, eta, scale):
    """The bound but for the density of the sticks, theta being its best."""
    tokens = (X.toarray()[..., None] * phi).sum(axis=1)
    theta = np.hstack([alpha * beta[:-1] + tokens, np.full((len(tokens), 1), alpha * beta[-1])])
    documents = reference.doc_terms(X.toarray(), phi, theta, lam, beta, alpha).sum()
    return scale * documents + reference.topic_terms(lam, eta).sum()


def bounds_of_merge(phi, lam, beta, pair, *given):
    """The whole bound before and after the second topic of a pair becomes part of the first."""
    (first, second), kept = pair, np.delete(np.arange(len(lam)), pair[1])
    merged = phi.copy(), lam.copy(), beta.copy()
    merged[0][..., first] += phi[..., second]
    merged[1][first] += lam[second] - given[1]
    merged[2][first] += beta[second]
    after = merged[0][..., kept], merged[1][kept], np.append(merged[2][kept], beta[-1])
    return whole_bound(phi, lam, beta, *given), whole_bound(*after, *given)


@pytest.mark.parametrize(("pair", "expectation"), [((0, 1), "geometric"), ((2, 4), "mean")])
def test_gain_of_a_merge_is_that_of_the_whole_bound(pair, expectation):
    model = make_model(5, split_merge=False, topic_expectation=expectation).fit(X)
    topics, (lam, beta, alpha, _, eta) = batch_topics(model), state_of(model)
    one, other = (topic_of(topics, k, model._state.weights[k], column_of(model._state, k)) for k in pair)
    mixing = documents_mixing(topics, np.array([pair]), 0, 60)[:, 0]
    gain, _, _ = merge_gain(topics, one, other, mixing)
    before, after = bounds_of_merge(phi_of(topics), lam, beta, pair, alpha, eta, topics.scale)
    assert gain == pytest.approx(after - before, rel=1e-8, abs=1e-12 * abs(before))


def bounds_of_split(phi, lam, beta, k, parts, *given):
    """The whole bound before and after topic k is two parts; parts : phi (2, ...), lambda and beta."""
    kept = np.arange(len(lam)) != k
    after = [np.concatenate([phi[..., kept], np.moveaxis(parts[0], 0, -1)], axis=-1)]
    after += [np.vstack([lam[kept], parts[1]]), np.concatenate([beta[:-1][kept], parts[2], beta[-1:]])]
    return whole_bound(phi, lam, beta, *given), whole_bound(*after, *given)


def parts_of(topics, split, k):
    """Shares, lambda and beta of the parts of topic k."""
    shares = np.tile(phi_of(topics)[..., k] / 2, (2, 1, 1))  # of traces, too
    cells, batch = topics.cells(k), topics.batch
    of_cells = split.tokens / batch.cell_count[cells.cell][:, None]
    shares[:, cells.document, batch.words[cells.word]] = of_cells.T
    columns, weights = zip(*((part.column, part.weight) for part in (split.first, split.second)))
    return shares, topics.topic_word_prior + np.array(columns), np.array(weights)


@pytest.mark.parametrize(
    ("proposals", "rho", "scale", "rank", "expectation"),
    [
        (ASCENT, 0.3, 3.0, 0, "geometric"),
        (ASCENT, 0.3, 1.0, 1, "mean"),
        (ASCENT, 1.0, 1.0, 1, "geometric"),
        (ASCENT, 0.3, 3.0, 1, "mean"),
        (RESTRICTED, 0.3, 3.0, 0, "geometric"),
        (RESTRICTED, 0.6, 1.0, 1, "mean"),
    ],
)
def test_gain_of_a_split_is_that_of_the_whole_bound(proposals, rank, rho, scale, expectation):
    """The restricted one takes the corpus for the batch times the scale, the other for the topic's tokens."""
    model = make_model(2, split_merge=False, topic_expectation=expectation).fit(X)
    k = int(np.argsort(-model._state.weights)[rank])
    topics = batch_topics(model, scale=scale)
    lam, beta, alpha, _, eta = state_of(model)
    split = proposals.split(topics, k, update_of(model._state, k, rho))
    phi, words = phi_of(topics), (X.toarray()[..., None] * phi_of(topics)).sum(axis=0)
    lam = eta + (1 - rho) * (lam - eta) + rho * scale * words.T
    parts = parts_of(topics, split, k)
    assert_allclose((parts[1] - eta).sum(axis=0), lam[k] - eta, rtol=1e-12, atol=1e-11)
    assert parts[2].sum() == pytest.approx(beta[k])
    times = scale if proposals is RESTRICTED else (lam[k] - eta).sum() / words[:, k].sum()
    before, after = bounds_of_split(phi, lam, beta, k, parts, alpha, eta, times)
    assert split.gain == pytest.approx(after - before, rel=1e-8, abs=1e-12 * abs(before))


def precise_cells(monkeypatch):
    """Let the E-step of splits converge."""
    monkeypatch.setattr("sktopic.hdp._split_proposals.DIVIDE_ITERATIONS", 10_000)
    monkeypatch.setattr("sktopic.hdp._split_proposals.DIVIDE_TOL", 1e-13)


def frozen_state(model, k):
    """The state in which topic k, of all columns, is frozen."""
    frozen = model._method().frozen(model._state, np.array([k]))
    assert np.flatnonzero(frozen.are_frozen).tolist() == [k]
    return frozen


def weights_for(topics, state):
    alpha, gamma = state.doc_concentration, state.topic_concentration
    return best_weights(DocumentTopics.of_batch(topics.tokens, topics.scale), state.weights, alpha, gamma)


@pytest.mark.parametrize(("rho", "scale"), [(0.3, 3.0), (0.7, 1.0)])
def test_restricted_split_is_that_of_its_twin(monkeypatch, rho, scale):
    precise_cells(monkeypatch)
    model = make_model(3, split_merge=False).fit(X[30:])
    topics, state, (lam, beta, alpha, _, eta) = (
        batch_topics(model, scale=scale),
        model._state,
        state_of(model),
    )
    best = weights_for(topics, state)
    for k in range(3):
        split = RESTRICTED.split(topics, k, update_of(state, k, rho, best))
        shares, lam_parts, weights = parts_of(topics, split, k)
        twin = reference.restricted_split(
            X.toarray(), phi_of(topics), lam, beta, best, k, rho, alpha, eta, scale
        )
        assert_allclose(X.toarray() * shares, X.toarray() * twin[0], atol=1e-6)
        assert_allclose(lam_parts, twin[1], rtol=1e-6)
        assert_allclose(weights, twin[2], rtol=1e-4)
        assert min(weights) > 1e-6 and min(lam_parts.sum(axis=1)) > 1.0


def test_restricted_split_needs_tokens_of_the_batch_and_of_earlier_ones():
    model = make_model(2, split_merge=False).fit(X)
    topics = batch_topics(model)
    for rho in (1e-9, 0.999):
        assert RESTRICTED.split(topics, 0, update_of(model._state, 0, rho)) is not None
    for rho in (0.0, 1e-300, 1.0):
        assert RESTRICTED.split(topics, 0, update_of(model._state, 0, rho)) is None
    topics.tokens[:, 0] = 0.0
    assert RESTRICTED.split(topics, 0, update_of(model._state, 0, 0.3)) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_positive_covariance_are_merged_if_the_bound_rises(weighted):
    """All pairs, the largest covariance first, each topic in one merge at most."""
    weight = np.random.default_rng(0).integers(1, 4, X.shape[0]) if weighted else None
    model = make_model(12, split_merge=False, doc_concentration=20.0).fit(X)
    topics, state = batch_topics(model, sample_weight=None if weight is None else weight * 1.0), model._state
    covariance = np.cov(topics.counts.gamma.T, fweights=weight, bias=True)
    expected = [(a, b) for a in range(12) for b in range(a + 1, 12) if covariance[a, b] > 1e-12]
    expected.sort(key=lambda pair: -covariance[pair])
    assert [tuple(pair) for pair in RESTRICTED.pairs(topics, state).tolist()] == expected
    assert 5 < len(expected) < 60
    frozen = frozen_state(model, expected[0][0])
    others = [pair for pair in expected if expected[0][0] not in pair]
    assert [tuple(pair) for pair in RESTRICTED.pairs(topics, frozen).tolist()] == others
    if weighted:
        return
    phi, (lam, beta, alpha, _, eta) = phi_of(topics), state_of(model)
    gains, joined = {}, set()
    for pair in expected:
        if joined.isdisjoint(pair):
            before, after = bounds_of_merge(phi, lam, beta, pair, alpha, eta, topics.scale)
            if after - before > 1e-3:
                gains[pair] = after - before
                joined.update(pair)
    with Workers(1) as workers:
        moves = BatchMoves(RESTRICTED, model._method().inference, topics.scale, 0, workers)
        after, _, made = moves.merge(state, topics.counts)
    ids = [tuple(sorted(np.flatnonzero(np.isin(state.ids, move[1:3])))) for move in made]
    assert ids == list(gains) and len(gains) >= 2
    assert_allclose([move[3] for move in made], list(gains.values()), rtol=1e-6)
    assert after.n_topics == 12 - len(gains)


def test_restricted_splits_are_the_heaviest_that_raise_the_bound(monkeypatch):
    """Recomputed from the topics before and after. Frozen topics stay."""
    precise_cells(monkeypatch)
    model = make_model(4, split_merge=False).fit(X[:20])
    topics, state, (lam, beta, alpha, _, eta) = batch_topics(model), model._state, state_of(model)
    best, rho, counts = weights_for(topics, state), 0.4, X.toarray()
    phi, new = phi_of(topics), (1 - rho) * beta + rho * np.append(best, 1.0 - best.sum())
    lam_hat = eta + topics.scale * np.einsum("dw,dwk->kw", counts, phi)
    given, gains = (phi, (1 - rho) * lam + rho * lam_hat, new), np.empty(4)
    for k in range(4):
        parts = reference.restricted_split(counts, phi, lam, beta, best, k, rho, alpha, eta, topics.scale)
        before, after = bounds_of_split(*given, k, parts, alpha, eta, topics.scale)
        gains[k] = after - before
    order = [k for k in np.argsort(-new[:-1]) if gains[k] > 1e-3]
    assert 1 < len(order) < 4
    with Workers(1) as workers:
        for most in (1, 4):
            proposals = RestrictedProposals(max_splits=most)
            moves = BatchMoves(proposals, model._method().inference, topics.scale, 0, workers)
            made = moves.propose_splits(state, topics.counts, best, rho)[1]
            assert [move.topics[0] for move in made] == order[:most]
            assert_allclose([move.gain for move in made], gains[order[:most]], rtol=1e-4)
    frozen = frozen_state(model, order[0])
    assert sorted(RESTRICTED.topics_to_split(frozen, new[:-1])) == [k for k in range(4) if k != order[0]]


def test_gains_do_not_depend_on_threads_of_matrix_products():
    column, words = 1e3 * np.random.default_rng(0).random(300_000), np.arange(3)
    topics = BatchTopics(SimpleNamespace(batch=SimpleNamespace(words=words)), 1.0, 0.1, 1.0, 2.0)
    found = []
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(topics.posterior(column)[2])
    assert len(set(found)) == 1


def test_tokens_of_earlier_batches_are_divided_as_the_parts_share_their_words():
    parts, eta = np.array([[4.0, 0.0, 1.0], [0.0, 2.0, 1.0]]), 0.1
    column, words = np.array([10.0, 3.0, 7.0, 5.0, 0.0]), np.array([0, 3, 2])
    columns = divided_columns(column, words, parts, eta)
    assert_allclose(columns.sum(axis=0), column, rtol=1e-15)
    known = np.zeros((2, 5))
    known[:, words] = parts
    shares = known.sum(axis=1)[:, None] * smoothed(known, eta)
    assert_allclose(columns, column * shares / shares.sum(axis=0), rtol=1e-12)


def test_final_moves_gain_what_the_whole_bound_does():
    """At the documents' present state and the best topics for it, over three batches."""
    precise = {"max_doc_update_iter": 2000, "mean_change_tol": 1e-12}
    model = make_model(5, split_merge=False, max_iter=1, total_samples=120, **precise).fit(X)
    topics = batch_topics(model)
    phi, (_, beta, alpha, _, eta) = phi_of(topics), state_of(model)
    final = FinalMoves(model._state, model._method().inference)
    with Workers(2) as workers:
        pairs = np.column_stack(np.triu_indices(5, 1))
        changes = 2.0 * documents_change(topics, model._state.weights, pairs, workers)
        for first in range(0, 60, 20):
            batch = batch_of(X[first : first + 20])
            counts = model._method().inference(batch, model._state, workers)
            final.add(BatchCounts(counts, batch.words, 20.0, batch.cell_count.sum()), workers)
        final._dropped[:] = -np.inf
        after_pass, made = final.make(model._state, workers)
        words = replace(final._sums, scale=1.0 / final._n_documents)
        gains = changes + words_change(replace(model._state, words=words), pairs, workers)
    lam, pairs = eta + 2.0 * np.einsum("dw,dwk->kw", X.toarray(), phi), pairs.tolist()
    before, after = np.transpose([bounds_of_merge(phi, lam, beta, pair, alpha, eta, 2.0) for pair in pairs])
    assert_allclose(gains, after - before, rtol=1e-6, atol=1e-7)
    best, joined = [], set()
    for i in np.argsort(-gains):
        if gains[i] > 0 and joined.isdisjoint(pairs[i]):
            best.append(gains[i])
            joined.update(pairs[i])
    assert_allclose(sorted(gain for *_, gain in made), sorted(best), rtol=1e-6)
    # Topics are those of the pass.
    assert after_pass.tokens.sum() == pytest.approx(2.0 * X.sum(), rel=1e-6)


def bound_of(state, documents):
    """The bound of a state and its documents, as far as topics have a part in it."""
    topics = posterior_bound(state.words, state.total_samples, state.topic_word_prior)
    return documents.bound() + topics + weights_bound(state)


def test_gain_of_drops_is_that_of_the_whole_bound():
    model = make_model(6, split_merge=False, topic_concentration=3.0, max_iter=3).fit(X)
    counts = batch_topics(model).counts
    final = FinalMoves(model._state, model._method().inference)
    with Workers(1) as workers:
        final.add(BatchCounts(counts, counts.batch.words, 60.0, X.sum()), workers)
        assert final._numbers[:3] == [1, 2, 3]
        for n in (1, 2, 3):
            kept = ~np.isin(np.arange(6), np.argsort(model._state.tokens)[:n])
            after = with_kept(model._state, kept)
            without = model._method().inference.without(counts, kept, workers)
            before = bound_of(model._state, counts)
            expected = bound_of(after, without) - before + n * np.log(3.0)  # their number has no part in it
            gain = final._dropped[n - 1] + final._topics_change(n)
            assert gain == pytest.approx(expected, rel=1e-8, abs=1e-12 * abs(before))
        final._dropped[1] = 1e9
        after, made = final.make(model._state, workers)
    gone = np.setdiff1d(model._state.ids, after.ids).tolist()
    assert sorted(move[:3] for move in made) == [("drop", k, -1) for k in gone] and len(gone) == 2


def test_candidates_are_topics_of_the_same_words_and_documents():
    model = make_model(4, split_merge=False).fit(X)
    state, words = model._state, model._state.words
    words.store[:, :2] = words.store[:, :1] / 2  # one topic twice
    words.totals[:] = words.store.sum(axis=0)
    state.weights[:2] = state.weights[:2].mean()
    topics, every, sizes = batch_topics(model), np.ones(4, dtype=bool), state.tokens
    pairs = candidate_pairs(topics, sizes, every, every, 3)
    assert pairs[0].tolist() == [0, 1]
    assert len(pairs) == 6
    assert len(candidate_pairs(topics, sizes, every, every & False, 3)) == 0
    assert candidate_pairs(topics, sizes, every, np.arange(4) == 1, 1).tolist() == [[0, 1]]
    assert 0 not in candidate_pairs(topics, sizes, np.arange(4) > 0, every, 3)


def test_merged_topics_have_the_sums_and_the_state_before_stays():
    state = make_model(4, split_merge=False, max_iter=1).fit(X)._state
    before = fingerprint(state)
    for pair in ((0, 2), (1, 0), (2, 1), (3, 2), (0, 3)):
        large, small = sorted(pair, key=lambda k: -state.words.totals[k])
        after, kept, into, made = with_merged(state, [Move(kind="merge", topics=pair, gain=1.5)])
        assert made == [("merge", state.ids[large], state.ids[small], 1.5)], pair
        assert kept.tolist() == [k != small for k in range(4)], pair
        assert into.tolist() == [large if k == small else k for k in range(4)], pair
        assert_array_equal(after.ids, state.ids[kept], err_msg=f"{pair}")
        for part in (lambda s: s.words.store.T, lambda s: s.words.totals, lambda s: s.weights):
            expected = part(state).copy()
            expected[large] += expected[small]
            assert_array_equal(part(after), expected[kept], err_msg=f"{pair}")
    assert fingerprint(state) == before


def test_refused_moves_wait_longer_each_time():
    state = make_model(4, split_merge=False).fit(X)._state
    before = state.trials
    for t, refused in ((10, [0, 2]), (12, [2]), (16, [2, 3])):
        state = postponed(state, "split", refused, t)
    assert state.trials["split_due"].tolist() == [12, 0, 24, 18]
    assert state.trials["merge_due"].tolist() == before["split_due"].tolist() == [0] * 4


def test_a_topic_that_the_batch_lacks_is_needed_all_the_same():
    """Two topics of other documents: the batch alone would merge them, alike or not."""
    model = make_model(4, split_merge=False).fit(X)
    state, words, eta = model._state, model._state.words, model.topic_word_prior_
    words.store[:, :2] = 0.0
    words.store[:4, 0] = words.store[5:9, 1] = 1.0 / words.scale
    words.totals[:] = words.store.sum(axis=0)
    for source, is_gain in ((1, False), (0, True)):
        words.store[:, 1] = words.store[:, source]
        topics = batch_topics(model, X[:3])
        one, other = (topic_of(topics, k, state.weights[k], column_of(state, k)) for k in (0, 1))
        for topic in (one, other):  # as if no document had it
            topic.part.documents[:] = topic.part.words[:] = 0.0
        gain, unseen, error = merge_gain(topics, one, other, np.zeros(3))
        assert gain > 0
        assert (gain + unseen > 0) == is_gain
        assert error == 0.0
        # The tokens' change of the bound is that of the topics' marginal likelihood.
        lam = np.array([t.part.column for t in (one, other)]) + eta
        lam = np.vstack([lam, lam.sum(axis=0) - eta])
        likelihood = (
            gammaln(lam).sum(axis=1) - gammaln(lam.sum(axis=1)) + gammaln(25 * eta) - 25 * gammaln(eta)
        )
        assert gain + unseen == pytest.approx(likelihood[2] - likelihood[:2].sum(), rel=1e-8)


# What is found


@pytest.mark.slow
def test_last_pass_is_repeated_until_no_move_raises_the_bound():
    """Too many topics are merged by pairs, each in one at most: short documents leave many.

    Where training stops early, the passes from then on are repetitions of the last.
    """
    bars = make_bars(400, doc_length=15, random_state=0).data
    stopping = {"max_iter": 50, "early_stopping": True, "n_iter_no_change": 1, "tol": 1e-2}
    for n_samples, settings in ((400, {"max_iter": 3}), (360, stopping)):
        model = make_model(60, batch_size=100, **settings).fit(bars)
        passes = model.move_history_["n_samples"] / n_samples
        last = 3 if n_samples == 400 else int(min(passes))
        assert set(passes[passes >= last]) == set(range(last, model.n_iter_))
        assert last + 2 <= model.n_iter_ < 50
        assert model.n_batch_iter_ == 4 * model.n_iter_
        assert n_samples == 400 or model.n_iter_ == len(model.validation_scores_)
        assert n_samples == 360 or model.n_components_ == 10
    still = make_model(40, batch_size=100, split_merge=False, **stopping).fit(bars)
    assert still.n_iter_ == len(still.validation_scores_) < 50
    assert len(still.move_history_) == 0


def test_history_tells_where_topics_are_from():
    model = make_model(3, batch_size=50, max_iter=4).fit(make_bars(200, random_state=0).data)
    there = set(range(3))
    for _, kind, topic, other, _, n_components, elbo in model.move_history_.tolist():
        assert topic in there
        if kind == "split":
            assert other not in there
            there.add(other)
        else:
            there.remove(topic if kind == "drop" else other)
        assert n_components == len(there) and np.isnan(elbo)
    assert set(model.topic_ids_) <= there
    n_samples, kind, gain = (model.move_history_[name] for name in ("n_samples", "kind", "gain"))
    assert np.all(np.diff(n_samples) >= 0) and gain.min() > 0
    assert (kind == "split").sum() >= 5 and n_samples[kind == "split"].max() < 600  # none in the last pass


def test_moves_raise_the_bound_by_more_than_their_error_allows():
    """None is known of a sample of one document; of the whole corpus there is none."""
    states = [make_model(2, split_merge=False).fit(X)._state for _ in range(2)]
    words = states[1].words
    words.store[:, :2] = words.store[:, :1] / 2  # one topic twice
    states[1].weights[:] = states[1].weights.mean()
    to_split, to_merge = (replace(state, births=state.births - 1000) for state in states)
    infer = make_model()._method().inference
    for n, scale, confidence, is_moved in (
        (60, 1.0, 1e9, True),
        (60, 3.0, 0.0, True),
        (60, 3.0, 1e9, False),
        (1, 60.0, 0.0, False),
    ):
        with Workers(1) as workers:
            proposals, batch = AscentProposals(confidence=confidence), batch_of(X[:n])
            moves = BatchMoves(proposals, infer, scale, 0, workers)
            counts, best = infer(batch, to_split, workers), to_split.weights
            splits = moves.propose_splits(to_split, counts, best, 1.0)[1]
            merges = moves.merge(to_merge, infer(batch, to_merge, workers))[2]
        assert bool(splits) == bool(merges) == is_moved, (n, scale, confidence)


def test_only_topics_that_are_due_are_divided():
    """The error that is allowed for refuses all divisions, so that what was tried waits longer."""
    state = make_model(4, split_merge=False).fit(X)._state
    infer, batch = make_model()._method().inference, batch_of(X)
    for due in ([0], [1, 3], [2]):
        trials = np.zeros_like(state.trials)
        trials["split_due"] = state.n_topic_updates + 1
        trials["split_due"][due] -= 1
        waiting = replace(state, trials=trials)
        with Workers(1) as workers:
            moves = BatchMoves(AscentProposals(confidence=1e9), infer, 3.0, 0, workers)
            counts = infer(batch, waiting, workers)
            after, made = moves.propose_splits(waiting, counts, waiting.weights, 1.0)
        assert not made
        assert np.flatnonzero(after.trials["splits"]).tolist() == due


def test_larger_part_of_a_split_keeps_its_identity_and_both_are_new():
    """Earlier trials of a topic do not count for its parts, and it waits for merges as a new one."""
    model = make_model(4, split_merge=False).fit(X)
    state, topics = model._state, batch_topics(model, scale=1.0)
    state.trials["splits"] = state.trials["merges"] = 3
    splits = []
    for k, larger in ((2, "first"), (0, "second")):
        parts = ASCENT.split(topics, k, update_of(state, k, 0.0))
        smaller, largest = sorted([parts.first, parts.second], key=lambda part: part.column.sum())
        named = {"first": smaller, "second": smaller, larger: largest}
        splits.append(Move(kind="split", topics=(k,), gain=1.5, proposal=replace(parts, **named)))
    with Workers(1) as workers:
        moves = BatchMoves(ASCENT, model._method().inference, 1.0, 0, workers)
        after, tokens, made = moves.split(state, splits, topics.counts)
    old, new = state.ids.tolist(), [state.next_id, state.next_id + 1]
    assert made == [("split", old[2], new[0], 1.5), ("split", old[0], new[1], 1.5)]
    assert after.ids.tolist() == [new[1], old[1], old[2], old[3], new[0], old[0]]
    assert after.next_id == state.next_id + 2
    for i, k in ((0, 2), (1, 0)):
        parts = splits[i].proposal.first, splits[i].proposal.second
        assert_allclose(after.tokens[[k, 4 + i]], [part.column.sum() for part in parts], rtol=1e-8)
        assert_allclose(after.weights[[k, 4 + i]], [part.weight for part in parts])
        assert_array_equal(tokens[:, [k, 4 + i]].T, [part.documents for part in parts])
    assert not after.trials[[0, 2, 4, 5]].view("i8").any()
    assert_array_equal(after.births[[0, 2, 4, 5]], state.n_topic_updates)
    for part in ("trials", "births", "weights", "tokens"):
        assert_array_equal(getattr(after, part)[[1, 3]], getattr(state, part)[[1, 3]])


@pytest.mark.slow
def test_memory_is_a_few_times_that_of_the_statistics():
    n_features, n_topics = 5000, 60
    counts = sp.random(8, n_features, density=0.01, random_state=0, format="csr", data_rvs=np.ones)
    tracemalloc.start()
    make_model(n_topics, batch_size=4, max_iter=2).fit(counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * 8 * n_features * n_topics


def test_documents_that_lose_all_topics_of_a_word_start_anew():
    """Their other topics may be so far from the word that single precision does not reach."""
    counts = np.array([[3.0, 1.0], [4.0, 0.0], [0.0, 0.0]])
    tokens = np.array([[3.0, 0.4, 0.6], [3.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    start = start_without(batch_of(counts), tokens, np.array([True, True, False]))
    assert_allclose(start, [[2.0, 2.0], [3.0, 0.0], [0.0, 0.0]])


def test_settings_that_contradict_the_learning_method_are_refused():
    memoized = {"learning_method": "memoized", "max_iter": 1}
    with pytest.raises(ValueError, match="total_samples=9 is invalid with learning_method='memoized'"):
        make_model(total_samples=9, **memoized).fit(X)
    with pytest.raises(ValueError, match="move_proposals='restricted' is invalid with learning_method='mem"):
        make_model(move_proposals="restricted", **memoized).fit(X)
    for before, after in ("memoized", "online"), ("online", "memoized"):
        model = make_model(**memoized | {"learning_method": before}).fit(X).set_params(learning_method=after)
        with pytest.raises(ValueError, match=f"learning_method='{after}' is .* from or to 'memoized'"):
            model.partial_fit(X)


@pytest.mark.slow
def test_error_of_a_gain_is_that_of_a_sample_without_replacement():
    """Sums over the corpus, estimated from samples of 40 of 100 documents, scatter as much as said."""
    rng = np.random.default_rng(0)
    changes = rng.normal(3.0, 2.0, 100)

    def of_batch(n_documents, scale, sample_weight=None):
        batch = batch_of(np.ones((n_documents, 1)), sample_weight)
        return BatchTopics(SimpleNamespace(batch=batch), 1.0, 0.1, scale, 2.0)

    topics, chosen = of_batch(40, 2.5), [rng.permutation(100)[:40] for _ in range(2000)]
    # In proportion to something of which the sum is known, they scatter less.
    tokens = rng.gamma(2.0, 10.0, 100)
    gains = 0.3 * tokens + 0.5 * rng.normal(size=100)
    for values, known in ((changes, ()), (gains, (tokens,))):
        given = [[part[i] for part in (values, *known)] + [part.sum() for part in known] for i in chosen]
        estimates, said = zip(*(topics.estimate(*each) for each in given))
        assert np.mean(estimates) == pytest.approx(values.sum(), rel=0.01)
        assert np.mean(said) == pytest.approx(np.std(estimates), rel=0.05)
    assert np.std(estimates) < 0.2 * np.std([topics.estimate(gains[i])[0] for i in chosen])
    assert of_batch(100, 1.0).estimate(changes) == (pytest.approx(changes.sum()), 0.0)
    assert of_batch(1, 2.5).estimate(changes[:1])[1] == np.inf
    weights = rng.integers(1, 4, 40)
    repeated = of_batch(weights.sum(), 2.5).estimate(changes[:40].repeat(weights))
    assert of_batch(40, 2.5, weights.astype(float)).estimate(changes[:40]) == pytest.approx(repeated)
