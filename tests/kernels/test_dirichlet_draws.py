"""Draws from Dirichlet distributions: the reference's, and of the right distribution."""

import numpy as np
import pytest
from scipy.stats import beta, kstest

from sktopic._kernels.random._dirichlet_draws import draw_dirichlets
from tests.kernels.tools import for_each_seed
from tests.reference import dirichlet_draws as reference


def drawn(parameters, keys):
    theta = np.empty(parameters.shape)
    draw_dirichlets(parameters, keys, theta)
    return theta


def test_draws_are_those_of_the_reference():
    parameters = np.random.default_rng(0).gamma(0.3, 3.0, (50, 7)) + 1e-6
    parameters[0] = [1e-6, 1e-3, 0.999, 1.0, 1.001, 1e4, 1e20]
    parameters[1, ::2] = 0.0
    keys = np.arange(50, dtype=np.uint64)
    np.testing.assert_allclose(
        drawn(parameters, keys), reference.draw_dirichlets(parameters, keys), rtol=1e-9
    )


@for_each_seed
@pytest.mark.parametrize("parameters", [[0.05, 0.3, 0.6], [1.0, 1.0], [0.5, 3.0, 40.0]], ids=str)
def test_entries_have_beta_distributions(parameters, seed):
    keys = np.arange(20_000, dtype=np.uint64) + np.uint64(seed << 32)
    theta = drawn(np.tile(parameters, (len(keys), 1)), keys)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-14)
    for k, a in enumerate(parameters):
        assert kstest(theta[:, k], beta(a, sum(parameters) - a).cdf).pvalue > 1e-4


def test_tiny_parameters_leave_one_topic():
    theta = drawn(np.full((100, 3), 1e-6), np.arange(100, dtype=np.uint64))
    assert np.all(np.isfinite(theta)) and np.all(theta.max(axis=1) > 0.99)
