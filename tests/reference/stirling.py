"""Stirling numbers of the first kind in Python integers (the twin of _kernels.numbers._stirling)."""

from functools import cache

ROWS = [[1]]


def stirling(n, m):
    """S(n, m), from S(n + 1, m) = n S(n, m) + S(n, m - 1)."""
    while len(ROWS) <= n:
        last, size = ROWS[-1], len(ROWS) - 1
        ROWS.append([size * a + b for a, b in zip([*last, 0], [0, *last])])
    return ROWS[n][m] if m <= n else 0


@cache
def ratio_old(n, m):
    """S(n + 1, m) / S(n, m), rounded once: Python divides integers exactly."""
    return stirling(n + 1, m) / stirling(n, m)


@cache
def ratio_new(n, m):
    return stirling(n + 1, m + 1) / stirling(n, m)
