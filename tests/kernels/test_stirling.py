"""Ratios of Stirling numbers are those of exact integers, however the table came to grow."""

from math import comb, factorial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.numbers._stirling import stirling_ratios
from tests.reference import stirling as reference

GOLDEN = Path(__file__).parent.parent / "golden" / "stirling_golden.npz"


def ratios(pairs):
    n, m = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return stirling_ratios(np.ascontiguousarray(n), np.ascontiguousarray(m))


def pairs_up_to(most):
    return [(n, m) for n in range(1, most + 1) for m in range(1, n + 1)]


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


def test_reference_counts_permutations_by_cycles():
    for n in range(1, 20):
        assert sum(reference.stirling(n, m) for m in range(n + 1)) == factorial(n)
        assert reference.stirling(n, 1) == factorial(n - 1)
        assert reference.stirling(n, n) == 1
        assert reference.stirling(n, n - 1) == comb(n, 2)


def test_ratios_are_those_of_exact_integers():
    pairs = pairs_up_to(40)
    old, new = ratios(pairs)
    assert_allclose(old, [reference.ratio_old(n, m) for n, m in pairs], rtol=1e-13)
    assert_allclose(new, [reference.ratio_new(n, m) for n, m in pairs], rtol=1e-13)


def test_ratios_of_hundreds_of_customers():
    """Across the sizes at which the table is made anew."""
    pairs = [(n, m) for n in (63, 64, 65, 127, 128, 129, 255, 256, 257, 300) for m in range(1, n + 1, 7)]
    pairs += [(n, n) for n, _ in pairs] + [(n, n - 1) for n, _ in pairs]
    old, new = ratios(pairs)
    assert_allclose(old, [reference.ratio_old(n, m) for n, m in pairs], rtol=1e-13)
    assert_allclose(new, [reference.ratio_new(n, m) for n, m in pairs], rtol=1e-13)


def test_golden_ratios(golden):
    pairs = pairs_up_to(60)
    n, m = np.array(pairs).T
    old, new = ratios(pairs)
    # A logarithm of size up to 5 is itself rounded at the 16th digit.
    assert_allclose(old, np.exp(golden["log_ratio_old"][n, m]), rtol=1e-13)
    assert_allclose(new, np.exp(golden["log_ratio_new"][n, m]), rtol=1e-13)


def test_golden_ratios_of_thousands_of_customers(golden):
    n, m = np.meshgrid(golden["big_n"], golden["big_m"], indexing="ij")
    old, new = ratios(np.stack([n.ravel(), m.ravel()], axis=1))
    assert_allclose(old.reshape(n.shape), np.exp(golden["big_log_ratio_old"]), rtol=1e-13)
    assert_allclose(new.reshape(n.shape), np.exp(golden["big_log_ratio_new"]), rtol=1e-13)


@pytest.mark.parametrize("order", ["ascending", "descending", "by tables", "shuffled", "one at a time"])
def test_order_of_requests_does_not_change_the_numbers(order):
    pairs = [
        *pairs_up_to(30),
        (64, 3),
        (64, 64),
        (65, 1),
        (200, 2),
        (200, 150),
        (1000, 9),
        (1025, 12),
        (1, 1),
    ]
    whole = np.array(ratios(pairs))
    rank = {
        "ascending": np.arange(len(pairs)),
        "descending": np.arange(len(pairs))[::-1],
        "by tables": np.argsort([-m for _, m in pairs], kind="stable"),
        "shuffled": np.random.default_rng(0).permutation(len(pairs)),
    }
    if order == "one at a time":
        again = np.concatenate([ratios([pair]) for pair in pairs], axis=1)
        assert_array_equal(again, whole)
    else:
        again = np.array(ratios([pairs[i] for i in rank[order]]))
        assert_array_equal(again, whole[:, rank[order]])


def test_nothing_is_asked_for():
    old, new = ratios([])
    assert len(old) == len(new) == 0
