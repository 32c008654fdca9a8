"""Sums as kernels take them, term by term: the built-in sum compensates errors since Python 3.12."""

from functools import reduce
from operator import add


def sum_in_order(terms):
    return reduce(add, terms, 0.0)
