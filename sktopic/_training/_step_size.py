"""Step sizes: how far update t = 1, 2, ... of a mini-batch method moves averages towards those of its batch.

A step size is any function of t, and of whether it is in the first pass over the corpus, that returns a
number in [0, 1]; a new schedule is a class or function here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StepSize:
    """rho_t = (offset + t) ** -decay (Robbins and Monro's conditions hold for decay in (0.5, 1])."""

    offset: float
    decay: float

    def __call__(self, t: float, first_pass: bool = False) -> float:
        return (float(self.offset) + t) ** -float(self.decay)


@dataclass(frozen=True)
class StreamStep:
    """In the first pass, or of a stream, the smaller of another step size and n / t; then the other.

    With n / t, update s <= t has a weight proportional to about (s / t) ** (n - 1): those of a fixed share of
    the stream count, however long it is, while step sizes with a decay below one forget all but the last few.
    """

    other: Callable[..., float]
    n: float

    def __call__(self, t: float, first_pass: bool = False) -> float:
        other = self.other(t, first_pass)
        return min(other, self.n / t) if first_pass else other


def mean_of_all(t: float, first_pass: bool = False) -> float:
    """rho_t = 1 / t: the average is the plain mean of all batches."""
    return 1.0 / t


def step_size(steps: Callable[..., float], state: Any, update: Any, t: float | None = None) -> float:
    """How far an Update moves averages; one that stands for several goes as far as these: 1 - prod(1 - rho).

    steps : step size, a function of the number of the update and of whether it is in the first pass
    t : that number, if not one more than the updates so far that had words
    """
    if update.is_whole_corpus:
        return 1.0
    t = state.n_topic_updates + 1 if t is None else t
    first_pass = state.n_samples_seen < update.total_samples
    rho = steps(t, first_pass)
    for i in range(1, update.n_updates):
        rho += (1.0 - rho) * steps(t + i, first_pass)
    return rho
