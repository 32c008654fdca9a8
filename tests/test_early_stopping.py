"""When training stops early."""

import math

import pytest

from sktopic._training._monitor import FitMonitor
from sktopic.lda import OnlineEMLDA


@pytest.mark.parametrize(
    ("scores", "tol", "n_passes"),
    [
        ([-5, -3, -4, -3.5], 0.0, 4),  # a dip and part of a recovery
        ([-5, -3, -4, -2.9, -3, -3], 0.0, 6),  # a whole one
        ([-5, -4.95, -4.9, -4.8], 0.2, 3),  # gains that are too small
        ([-5, math.nan, -6, -6], 0.0, 4),  # held-out documents without words
        ([-5, -5, -4, -4, -4.0], 0.0, 5),
    ],
)
def test_fits_stop_when_the_best_score_has_not_improved_for_two_passes(scores, tol, n_passes):
    given = iter([*scores, *[0.0] * 3])
    monitor = FitMonitor(OnlineEMLDA(tol=tol, n_iter_no_change=2))
    monitor.begin(10, evaluate=lambda: next(given))
    stops = [monitor.after_epoch() for _ in range(n_passes)]
    assert stops == [False] * (n_passes - 1) + [True]
    assert monitor.scores == pytest.approx(scores[:n_passes], nan_ok=True)
