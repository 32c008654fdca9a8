"""Sums of floats without rounding, whose bits do not depend on order or on how the terms were grouped."""

import math

import numpy as np

# Every finite float64 is an integer times 2 ** -SHIFT.
SHIFT = 1074
# Bits of the integer that a float64 is, times a power of two;
# and of the lower part: int64 holds sums of both.
BITS, LOW_BITS = 53, 27


class ExactSum:
    """The sum of all numbers that were added, exactly.

    It is kept as an integer in units of the smallest float64, some hundred bytes. Infinities and NaN are
    counted beside it.
    """

    def __init__(self):
        self._units = 0
        # What is not finite, as the sum of it.
        self._not_finite = 0.0

    def add(self, values):
        """Add the numbers of an array; returns self."""
        values = np.asarray(values, dtype=np.float64).ravel()
        are_finite = np.isfinite(values)
        if not are_finite.all():
            with np.errstate(invalid="ignore"):
                self._not_finite += float(values[~are_finite].sum())
            values = values[are_finite]
        mantissas, exponents = np.frexp(values)
        integers = np.ldexp(mantissas, BITS).astype(np.int64)
        smallest = int(exponents.min(initial=0))
        places = exponents - smallest
        sums = np.zeros((2, int(places.max(initial=0)) + 1), dtype=np.int64)
        for parts, part in zip(sums, (integers >> LOW_BITS, integers & ((1 << LOW_BITS) - 1))):
            np.add.at(parts, places, part)
        for place in np.flatnonzero(sums.any(axis=0)).tolist():
            high, low = sums[:, place].tolist()
            shift = place + smallest - BITS + SHIFT
            units = (high << LOW_BITS) + low
            # Subnormal numbers have zeros in the bits that are shifted out.
            self._units += units << shift if shift >= 0 else units >> -shift
        return self

    def merge(self, other):
        """Add what another ExactSum has; returns self."""
        self._units += other._units
        self._not_finite += other._not_finite
        return self

    def value(self):
        """The sum, correctly rounded, as `math.fsum` has it; NaN of infinities of both signs."""
        if self._not_finite or math.isnan(self._not_finite):
            return self._not_finite
        return self._units / (1 << SHIFT)
