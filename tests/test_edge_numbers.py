"""Numbers at the edge: bools that pass for numbers, counts and priors at the ends of their range."""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sktopic.exceptions import CountsWarning
from sktopic.hdp import DirectAssignmentHDP, HybridHDP, OnlineEMHDP, OnlineVariationalHDP
from sktopic.lda import HybridLDA, OnlineEMLDA, OnlineVariationalLDA, SinglePassLDA

from .conftest import assert_raises
from .registry import LOOPS, defaults, each, having


def test_bool_is_not_a_number():
    """Of each parameter once for each of its constraints."""
    seen = set()
    for estimator in defaults():
        for name, constraints in having(estimator, **estimator._parameter_constraints).items():
            kinds = {str(constraint) for constraint in constraints}
            if (name, *sorted(kinds)) in seen or {"boolean", "verbose"} & kinds:
                continue
            seen.add((name, *sorted(kinds)))
            for value in (True, np.True_):
                changed = clone(estimator).set_params(**{name: value})
                assert_raises(ValueError, name, changed.fit, [[1, 2], [3, 4]])
    prior = HybridHDP(doc_concentration_prior=(True, 1.0))
    assert_raises(ValueError, r"doc_concentration_prior=\(True", prior.fit, [[1, 2]])


@each(LOOPS)
def test_integers_of_any_size_are_read_or_refused(estimator):
    """Small ones wrap around, where sizes are computed from them; large ones become no float."""
    X = np.arange(600).reshape(300, 2) % 3
    numbers = having(estimator, n_components=2, batch_size=200, max_iter=1, thinning=1)
    one, other = (
        clone(estimator).set_params(random_state=0, **{name: kind(n) for name, n in numbers.items()}).fit(X)
        for kind in (int, np.uint8)
    )
    assert_array_equal(one.transform(X), other.transform(X))
    for name in having(estimator, doc_topic_prior=0, learning_offset=0, mean_change_tol=0, tol=0):
        assert_raises(ValueError, name, clone(one).set_params(**{name: 10**400}).partial_fit, X)


def test_topics_that_no_token_speaks_for_do_not_end_in_nan():
    X = [[0.0, 1e-12]]
    for sampler in ("collapsed", "sparse_table_indicator", "table_indicator"):
        model = HybridHDP(n_components=3, reuse_topics=False, sampler=sampler, random_state=0).fit(X)
        assert_allclose(model.transform(X).sum(), 1.0)
        assert_allclose(model.components_.sum(axis=1), 1.0)
        assert np.isfinite(model.score(X))


def test_averages_of_counts_that_vanish_beside_others():
    """Statistics that enter the average are divided by their sum, and so is what is added to them later."""
    for large in (0.0, 1.0, 1e12):
        X = np.array([[1e-12, 1e-12], [1e-12, 0.0], [large, 1e-12], [1e-12, large]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CountsWarning)  # of so few words
            model = OnlineEMLDA(n_components=2, average=True, batch_size=1, random_state=0).fit(X)
            assert_allclose(model.components_.sum(axis=1), 1.0)
            assert_allclose(model.transform(X).sum(axis=1), 1.0)


def test_prior_learned_from_documents_that_say_next_to_nothing_stays_in_its_range():
    X = np.array([[1e-12, 0.0], [0.0, 1e-12], [1e-12, 1e-12]])
    for shape, kind in product((0.5, 1.0, 2.0), ("auto", "auto-symmetric")):
        settings = {"prior_shape": shape, "prior_rate": 0.0, "doc_topic_prior": kind, "random_state": 0}
        online = OnlineEMLDA(prior_update="gamma", learning_decay=0.0, batch_size=1, **settings)
        for model in (online, SinglePassLDA(batch_size=1, **settings)):
            prior = model.fit(X).doc_topic_prior_
            assert ((prior >= 1e-6) & (prior <= 1e4)).all(), model


def test_attributes_of_the_user_are_not_taken_for_parameters():
    model = OnlineEMLDA(n_components=2, random_state=0)
    model.my_number, model.my_flag = 10**400, True
    assert model.fit(np.ones((3, 4))).my_number == 10**400


def test_parameters_at_the_end_of_the_floats_overflow_nowhere():
    """And a fit with a given prior forgets one that was learned."""
    X, learned = np.arange(12).reshape(4, 3), {"doc_topic_prior": "auto", "prior_rate": 1e12, "batch_size": 1}
    model = SinglePassLDA(n_components=2, random_state=0, **learned).fit(X)
    assert_allclose(model.doc_topic_prior_, 1e-6)
    model.set_params(doc_topic_prior=0.5).fit(X)
    fresh = SinglePassLDA(n_components=2, doc_topic_prior=0.5, random_state=0).fit(X)
    assert vars(model).keys() == vars(fresh).keys()
    steps = {"learning_offset": 1e300, "learning_decay": np.float32(0.3), "random_state": 0}
    for kind in (OnlineEMLDA, OnlineVariationalHDP, DirectAssignmentHDP):
        assert np.isfinite(kind(n_components=2, **steps).fit(X).score(X))
    settings = {"n_components": 2, "topic_concentration": np.float32(0.5), "random_state": 0}
    assert OnlineEMHDP(**settings).fit(np.zeros((4, 3))).doc_topic_prior_.dtype == np.float64


@pytest.mark.parametrize("cls", [DirectAssignmentHDP, OnlineVariationalHDP, OnlineVariationalLDA])
def test_bounds_of_the_largest_corpora_are_finite(cls):
    X = [[1e12, 3, 0], [2, 1e12, 5]]
    model = cls(n_components=9, total_samples=1e14, random_state=0).partial_fit(X)
    assert np.isfinite(model.elbo(X)) and np.isfinite(model.score(X))
    with pytest.raises(ValueError, match="total_samples"):
        model.set_params(total_samples=1.1e14).partial_fit(X)


@pytest.mark.parametrize("cls", [DirectAssignmentHDP, HybridLDA, OnlineVariationalHDP, OnlineVariationalLDA])
def test_streams_are_expected_to_grow_no_longer_than_total_samples_may_be(cls):
    model, X = cls(n_components=2, random_state=0), [[1e12, 1, 0], [1e12, 0, 1]]
    assert model.partial_fit(X, sample_weight=1e12).total_samples_ == 1e14
    assert model.partial_fit(X, sample_weight=4.8e13).total_samples_ == 1e14
    if cls is not HybridLDA:
        assert np.isfinite(model.elbo(X, total_samples=model.total_samples_))
    assert OnlineEMLDA().partial_fit(X, sample_weight=4e13).total_samples_ == 1e14
