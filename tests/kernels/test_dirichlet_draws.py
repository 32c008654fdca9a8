"""Draws from Dirichlet distributions: the reference's, and of the right distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
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
    parameters[:2] = [1e-6, 1e-3, 0.999, 1.0, 1.001, 1e4, 1e20], [0.0, 1.0] * 3 + [0.0]
    parameters[2:10] = 1e-6
    keys = np.arange(50, dtype=np.uint64)
    theta = drawn(parameters, keys)
    assert_allclose(theta, reference.draw_dirichlets(parameters, keys), rtol=1e-9)
    assert np.all(theta[2:10].max(axis=1) > 0.99)  # tiny parameters leave one topic


@for_each_seed
@pytest.mark.parametrize("parameters", [[0.05, 0.3, 0.6], [1.0, 1.0], [0.5, 3.0, 40.0]], ids=str)
def test_entries_have_beta_distributions(parameters, seed):
    keys = np.arange(20_000, dtype=np.uint64) + np.uint64(seed << 32)
    theta = drawn(np.tile(parameters, (len(keys), 1)), keys)
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-14)
    for k, a in enumerate(parameters):
        assert kstest(theta[:, k], beta(a, sum(parameters) - a).cdf).pvalue > 1e-4
