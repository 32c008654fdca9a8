"""Numbers at the edge: bools that pass for numbers, counts that vanish beside others."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sktopic
from sktopic.hdp import DirectAssignmentHDP, HybridHDP
from sktopic.lda import OnlineEMLDA, OnlineVariationalLDA, SinglePassLDA

NAMES = [name for name in sktopic.__all__ if hasattr(getattr(sktopic, name), "partial_fit")]


@pytest.mark.parametrize("name", NAMES)
def test_bool_is_not_a_number(name):
    estimator = getattr(sktopic, name)()
    for parameter, constraints in estimator._parameter_constraints.items():
        if parameter not in estimator.get_params() or {"boolean", "verbose"} & {str(c) for c in constraints}:
            continue
        for value in (True, np.True_):
            changed = getattr(sktopic, name)(**{parameter: value})
            with pytest.raises(ValueError, match=parameter):
                changed.fit([[1, 2], [3, 4]])


def test_bool_is_not_a_concentration_prior():
    with pytest.raises(ValueError, match=r"doc_concentration_prior=\(True"):
        HybridHDP(doc_concentration_prior=(True, 1.0)).fit([[1, 2]])


@pytest.mark.parametrize("sampler", ["collapsed", "sparse", "dense"])
def test_topics_that_no_token_speaks_for_do_not_end_in_nan(sampler):
    X = [[0.0, 1e-300]]
    model = HybridHDP(n_components=3, revive=False, sampler=sampler, random_state=0).fit(X)
    assert_allclose(model.transform(X).sum(), 1.0)
    assert_allclose(model.components_.sum(axis=1), 1.0)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("kind", ["auto", "auto-symmetric"])
@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_prior_learned_from_documents_that_say_nothing_stays_in_its_range(kind, shape):
    X = np.array([[1e-150, 0.0], [0.0, 1e-150], [1e-150, 1e-150]])
    settings = {"prior_shape": shape, "prior_rate": 0.0, "doc_topic_prior": kind, "random_state": 0}
    online = OnlineEMLDA(prior_update="gamma", learning_decay=0.0, batch_size=1, **settings)
    for model in (online, SinglePassLDA(batch_size=1, **settings)):
        model.fit(X)
        assert ((model.doc_topic_prior_ >= 1e-6) & (model.doc_topic_prior_ <= 1e4)).all()
    assert_allclose(online.doc_topic_prior_, 10**-0.55)  # as it was before


def test_bound_of_counts_that_vanish_is_that_of_no_counts():
    """The share of a token of 1e-323 is below what a float64 can hold."""
    X = np.array([[1e-323, 1e-310], [1e-323, 0.0]])
    for kind, prior in itertools.product((OnlineVariationalLDA, DirectAssignmentHDP), (1e-12, 1.0, 1e12)):
        model = kind(n_components=3, topic_word_prior=prior, random_state=0).fit(X)
        assert_allclose(model.elbo(X), model.elbo(np.zeros_like(X)), rtol=1e-12, atol=1e-290)
