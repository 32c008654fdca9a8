"""Random programs, drawn by hypothesis, which shrinks one that fails. SKTOPIC_HOSTILE_SEED chooses others."""

import os

from hypothesis import HealthCheck, Phase, given, reject, seed, settings

from .tools import note

SEED = os.environ.get("SKTOPIC_HOSTILE_SEED")


class CannotRun(Exception):
    """Raised by a program of which it turns out that there can be no such program; it is not counted."""


def run_drawn(programs, n_programs, name=""):
    """Run programs of a strategy; returns how many were run. The name is part of the seed."""
    n_run = 0

    @settings(
        max_examples=n_programs,
        database=None,
        deadline=None,
        derandomize=SEED is None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs)
    def run(program):
        nonlocal n_run
        note(program)
        try:
            program.run()
        except CannotRun:
            reject()
        n_run += 1

    (run if SEED is None else seed(f"{SEED} {name}".rstrip())(run))()
    return n_run
