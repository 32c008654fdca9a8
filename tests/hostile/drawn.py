"""Random programs, drawn by hypothesis, which shrinks one that fails. SKTOPIC_HOSTILE_SEED chooses others."""

import os

from hypothesis import HealthCheck, Phase, given, reject, seed, settings

from .tools import Child

SEED = os.environ.get("SKTOPIC_HOSTILE_SEED")
# What a program returns of which it turns out that there can be no such program; it is not counted.
CANNOT_RUN = "cannot run"


def run_drawn(programs, n_programs, name=""):
    """Run programs of a strategy in a child process, since some may crash. The name is part of the seed."""
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
        if child.call(program.run) == CANNOT_RUN:
            reject()
        n_run += 1

    with Child() as child:
        (run if SEED is None else seed(f"{SEED} {name}".rstrip())(run))()
    assert n_run >= n_programs
