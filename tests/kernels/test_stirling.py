"""Ratios of Stirling numbers are those of exact integers, however the table came to grow."""

from itertools import product

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.numbers._stirling import stirling_ratios
from tests.kernels.tools import golden
from tests.reference import stirling as reference


def ratios(pairs):
    n, m = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return np.array(stirling_ratios(np.ascontiguousarray(n), np.ascontiguousarray(m)))


def pairs_up_to(most):
    return [(n, m) for n in range(1, most + 1) for m in range(1, n + 1)]


def test_ratios_are_those_of_exact_integers():
    """Also of hundreds of customers, across the sizes at which the table is made anew."""
    sizes = 63, 64, 65, 127, 128, 129, 255, 256, 257, 300
    pairs = [*pairs_up_to(60), *((n, m) for n in sizes for m in [*range(1, n - 1, 7), n - 1, n])]
    old, new = ratios(pairs)
    assert_allclose(old, [reference.ratio_old(n, m) for n, m in pairs], rtol=1e-13)
    assert_allclose(new, [reference.ratio_new(n, m) for n, m in pairs], rtol=1e-13)


def test_golden_ratios_of_thousands_of_customers():
    exact = golden("stirling")
    pairs = list(product(exact["big_n"], exact["big_m"]))
    logs = [exact[f"big_log_ratio_{which}"].ravel() for which in ("old", "new")]
    # A logarithm of size up to 5 is itself rounded at the 16th digit.
    assert_allclose(ratios(pairs), np.exp(logs), rtol=1e-13)


def test_order_of_requests_does_not_change_the_numbers():
    large = [(64, 3), (64, 64), (65, 1), (200, 2), (200, 150), (1000, 9), (1025, 12), (1, 1)]
    pairs = [*pairs_up_to(30), *large]
    whole = ratios(pairs)
    assert_array_equal(ratios(pairs[::-1]), whole[:, ::-1])
    assert_array_equal(np.concatenate([ratios([pair]) for pair in pairs], axis=1), whole)
    assert ratios([]).shape == (2, 0)
