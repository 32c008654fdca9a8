"""Digamma and its relatives, and the maximum-likelihood Dirichlet."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import polygamma, psi

from sktopic._kernels.topics._dirichlet import (
    fit_dirichlet,
    fit_symmetric_dirichlet,
    special_functions,
    sum_digamma,
)
from tests.reference import dirichlet as reference

ARGUMENTS = np.concatenate(
    [np.logspace(-6, 6, 1001), [0.5, 1.0, 2.0, 5.999999999, 6.0, 6.000000001, 1.4616321449683622]]
)


def of_kernels(values, which):
    return np.array([special_functions(x)[which] for x in values])


def test_special_functions_are_those_of_scipy():
    # The first term left out of the series is 1.6e-13 at 6, where the series begins to be used.
    assert_allclose(of_kernels(ARGUMENTS, 0), psi(ARGUMENTS), rtol=1e-15, atol=2e-13)
    assert_allclose(of_kernels(ARGUMENTS, 1), polygamma(1, ARGUMENTS), rtol=3e-12)
    # The inverse is as well conditioned as psi(x) / (x psi'(x)) says: about log(x) for large x.
    conditioning = np.maximum(1.0, np.abs(psi(ARGUMENTS) / (ARGUMENTS * polygamma(1, ARGUMENTS))))
    inverted = of_kernels(psi(ARGUMENTS), 2)
    assert np.all(np.abs(inverted - ARGUMENTS) <= 1e-12 * conditioning * ARGUMENTS)
    around = -2.22 + np.linspace(-1e-6, 1e-6, 101)  # where the start of the inversion changes
    inverted = of_kernels(around, 2)
    assert_allclose(psi(inverted), around, rtol=1e-13)
    assert np.all(np.diff(inverted) > 0)


def mean_log_of(alpha):
    """What mean logarithms of infinitely many draws are."""
    return psi(alpha) - psi(alpha.sum())


CASES = [[0.2, 0.7], [3.0, 3.0, 3.0], [0.05, 0.1, 2.0, 9.0], [40.0, 1.0, 0.3], [0.01] * 10]


@pytest.mark.parametrize("alpha", CASES, ids=str)
def test_fixed_points_maximise_the_likelihood(alpha):
    alpha, fitted = np.array(alpha), np.ones(len(alpha))
    mean_log = mean_log_of(alpha) - np.random.default_rng(0).gamma(1.0, 0.02, len(alpha))  # of no Dirichlet
    assert fit_dirichlet(mean_log, fitted, 100_000, 1e-13) < 100_000
    assert_allclose(mean_log_of(fitted), mean_log, rtol=1e-9, atol=1e-9)
    equal = np.full(len(alpha), alpha[0])
    symmetric = fit_symmetric_dirichlet(mean_log_of(equal).mean(), len(alpha), 1.0, 100_000, 1e-13)
    assert_allclose(symmetric, alpha[0], rtol=1e-8)


@pytest.mark.parametrize("max_iter", [0, 1, 7, 500])
def test_iterations_are_those_of_the_reference(max_iter):
    for alpha in CASES:
        mean_log = mean_log_of(np.array(alpha)) * 1.1
        fitted, expected = np.full(len(alpha), 0.5), np.full(len(alpha), 0.5)
        given = max_iter, 1e-5
        assert fit_dirichlet(mean_log, fitted, *given) == reference.fit_dirichlet(mean_log, expected, *given)
        assert_allclose(fitted, expected, rtol=1e-11, err_msg=str(alpha))
        given = mean_log.mean(), len(alpha), 0.5, *given
        found, wanted = fit_symmetric_dirichlet(*given), reference.fit_symmetric_dirichlet(*given)
        assert_allclose(found, wanted, rtol=2e-5, err_msg=str(alpha))


@pytest.mark.parametrize("start", [1e-6, 1.0, 1e4])
def test_entries_stay_inside_the_bounds(start):
    """Above, there is hardly any spread, and less than any three topics can have; below, all draws are at the
    corners."""
    for mean_log, bounds in ((-1e-12, 1e4), (-1e-3, 1e4), (-1e3, None), (-1e8, 1e-6), (-1e300, 1e-6)):
        alpha = np.full(3, start)
        fit_dirichlet(np.full(3, mean_log), alpha, 2000, 1e-10)
        both = np.append(alpha, fit_symmetric_dirichlet(mean_log, 3, start, 2000, 1e-10))
        assert_array_equal(both, bounds or np.clip(both, 1e-6, 1e4), err_msg=str(mean_log))


@pytest.mark.parametrize(
    ("n_topics", "smallest", "largest", "offset"),
    [
        (37, 1e-6, 1e12, 1e-12),
        (9, 1e-6, 1e-3, 1e-6),
        (8, 1e11, 1e12, 1.0),
        (1, 1e20, 1e33, 0.1),
        (9, 0.0, 0.0, 1e-6),
    ],
)
def test_sum_of_digammas_is_that_of_the_reference(smallest, largest, offset, n_topics):
    rng = np.random.default_rng(n_topics)
    store = np.zeros((12, n_topics))
    if smallest:
        store = smallest * (largest / smallest) ** rng.random(store.shape)
    scale = rng.gamma(1.0, 1.0, n_topics) + 0.1
    size = np.abs(psi(store * scale + offset)).sum()  # terms of both signs may cancel
    for first, last in ((0, 12), (3, 4), (5, 11), (7, 7)):
        total = sum_digamma(first, last, store, scale, offset)
        assert abs(total - reference.sum_digamma(first, last, store, scale, offset)) <= 1e-12 * size


def test_sum_of_digammas_is_precise_entry_by_entry():
    store = ARGUMENTS[:, None].copy()
    sums = [sum_digamma(i, i + 1, store, np.ones(1), 0.0) for i in range(len(store))]
    assert_allclose(sums, psi(ARGUMENTS), rtol=1e-12, atol=2e-12)
