"""The size of the corpus that `partial_fit` expects without total_samples."""

import pytest

from sktopic.datasets import make_bars
from sktopic.distributed import local_update, merge_updates, start_model

from .conftest import assert_same_state, press_ctrl_c, state
from .registry import each, has_lanes, new, takes_weights, variants

X = make_bars(60, random_state=0).data
# Models whose topics are Dirichlet posteriors, and documents read exp(E[log phi]).
POSTERIORS = {"HybridLDA", "OnlineVariationalLDA", "OnlineVariationalHDP", "DirectAssignmentHDP"}
DOUBLED = {"OnlineEMLDA", "OnlineCVB0LDA", "OnlineOPELDA", "SinglePassLDA", "OnlineEMHDP"}


def learns_from_streams(estimator):
    """Whether the size of the corpus is a parameter. Sums over all documents need none."""
    params = estimator.get_params()
    return "total_samples" in params and params.get("learning_method") != "memoized"


def expects_growth(estimator):
    return learns_from_streams(estimator) and type(estimator).__name__ in POSTERIORS | DOUBLED


def expected(estimator, size):
    """The size of the corpus that is expected after so many documents."""
    if not expects_growth(estimator):
        return size
    return size * (max(2.0, size ** (1 / 3)) if type(estimator).__name__ in POSTERIORS else 2.0)


@each(variants(learns_from_streams))
def test_the_expected_size_is_that_of_the_documents_seen_or_grows_faster(estimator):
    model = new(estimator)
    assert model.partial_fit(X[:10]).total_samples_ == expected(model, 10)
    assert model.partial_fit(X[10:45]).total_samples_ == expected(model, 45)
    assert model.set_params(total_samples=50).partial_fit(X[45:]).total_samples_ == 50
    if takes_weights(estimator):
        model.set_params(total_samples=None).partial_fit(X[:10], sample_weight=0.5)
        assert model.total_samples_ == expected(model, 65)
    assert model.set_params(total_samples=None).fit(X[:40]).total_samples_ == 40


@each(variants(expects_growth))
def test_an_update_is_that_of_a_corpus_of_the_expected_size(estimator):
    # The start is random, because one call would take its topics from other documents than three.
    stream, given, whole = (new(estimator, components_init=None) for _ in range(3))
    for first in range(0, 48, 16):
        batch = X[first : first + 16]
        given.set_params(total_samples=expected(given, first + 16)).partial_fit(batch)
        stream.partial_fit(batch)
    assert_same_state(state(stream), state(given.set_params(total_samples=None)))
    assert_same_state(state(stream), state(whole.partial_fit(X[:48])))


@each(variants(expects_growth))
def test_after_fit_the_corpus_is_known(estimator):
    model = new(estimator).fit(X[:40])
    assert model.partial_fit(X[40:]).total_samples_ == 60
    assert model.fit(X).total_samples_ == 60


@each(variants(expects_growth))
def test_after_an_interrupted_fit_the_corpus_is_known(estimator, monkeypatch):
    model, method = new(estimator, batch_size=10), type(estimator._method())

    def absorb(*arguments):
        press_ctrl_c()
        return original(*arguments)

    original = method.absorb
    with monkeypatch.context() as patch:
        patch.setattr(method, "absorb", absorb)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:40])
    assert model.n_iter_ == 0
    assert model.partial_fit(X[40:]).total_samples_ == 60


def in_lanes(estimator):
    return expects_growth(estimator) and has_lanes(estimator)


@each(variants(in_lanes))
def test_after_lanes_the_corpus_is_known(estimator):
    model = start_model(new(estimator), X.shape[1], total_samples=40)
    for lane_documents in (X[:10], X[10:20]):
        model = merge_updates(model, [local_update(model, lane_documents, lane=0)])
    assert model.total_samples_ == 40
    assert model.partial_fit(X[40:]).total_samples_ == 60


@each(variants(in_lanes))
def test_lanes_continue_a_stream(estimator):
    model = new(estimator).partial_fit(X[:10])
    assert merge_updates(model, [local_update(model, X[10:20], lane=0)]).total_samples_ == expected(model, 10)
