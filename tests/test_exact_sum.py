"""Exact sums equal math.fsum, whatever the order and the parts."""

import math
import pickle

import numpy as np
import pytest

from sktopic._runtime._exact_sum import ExactSum


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 30, 1000])
def test_the_sum_is_correctly_rounded_whatever_the_parts(spread):
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.ldexp(rng.standard_normal(300), rng.integers(-spread - 1, spread + 1, size=300))
        values = np.append(values, -values[:100])
        assert ExactSum().add(values).value() == math.fsum(values)
        total = ExactSum()
        for part in np.split(rng.permutation(values), [3, 3, 150]):
            total.merge(pickle.loads(pickle.dumps(ExactSum().add(part))))
        assert total.value() == math.fsum(values)
        assert len(pickle.dumps(total)) < 2500  # fewer terms than were added


def test_sums_of_numbers_at_the_edge():
    values = np.array([5e-324, -1.5e-320, 2.0**-1022, 1.7e308, -1.7e308, 1e-310])
    assert ExactSum().add(values).value() == math.fsum(values)
    assert ExactSum().add(5e-324).value() == 5e-324
    assert ExactSum().value() == 0.0
    # More terms than an integer of 64 bits could hold of one size
    assert ExactSum().add(np.full(1 << 16, 1.0 - 2.0**-53)).value() == (1 << 16) * (1.0 - 2.0**-53)
    with pytest.raises(OverflowError):
        ExactSum().add([1.7e308, 1.7e308]).value()
    for n in (1, 100):
        assert ExactSum().add(np.full(n, -np.inf)).add([2.0]).value() == -math.inf
    assert math.isnan(ExactSum().add([np.inf]).merge(ExactSum().add([-np.inf])).value())
    assert math.isnan(ExactSum().add([np.nan, 1.0]).value())
