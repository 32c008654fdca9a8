"""Sums of floats without rounding, whose bits do not depend on order or on how the terms were grouped."""

import math

import numpy as np

# Terms above which a sum is kept as fewer.
MANY = 64


class ExactSum:
    """The sum of all numbers that were added, exactly: it is kept as floats that have the same sum."""

    def __init__(self):
        self._terms = []

    def add(self, values):
        """Add the numbers of an array; returns self."""
        self._terms += np.asarray(values, dtype=np.float64).ravel().tolist()
        if len(self._terms) > MANY:
            self._terms = _condensed(self._terms)
        return self

    def merge(self, other):
        """Add what another ExactSum has; returns self."""
        return self.add(other._terms)

    def value(self):
        """The sum, correctly rounded, as `math.fsum` has it; NaN of infinities of both signs."""
        return _rounded(self._terms)


def _rounded(terms):
    try:
        return math.fsum(terms)
    except ValueError:  # infinities of both signs
        return math.nan


def _condensed(terms):
    """Few floats that have the same sum: it rounded, then what is left rounded, until nothing is left."""
    few = []
    while rest := _rounded([*terms, *(-term for term in few)]):
        if not math.isfinite(rest):
            return [rest]
        few.append(rest)
    return few
