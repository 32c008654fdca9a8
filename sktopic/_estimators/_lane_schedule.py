"""When lanes are merged: how many mini-batches each of them runs in a round."""

from collections.abc import Iterator

# The choice "auto": as many mini-batches as a share of those before, so that lanes stay close to each other
# while topics form and seldom wait for each other later (benchmarks/lanes.py).
GROWTH = 16
MOST_STEPS = 128


def rounds(n_steps: int, merge_every: int | str, n_done: int) -> Iterator[int]:
    """Cut steps, in each of which every lane has a mini-batch, into rounds.

    Parameters
    ----------
    n_steps : int
    merge_every : int or "auto"
        The most steps of a round.
    n_done : int
        Steps before these, since training began. The first of all is a round of its own.

    Yields
    ------
    n : int
        The steps of a round.
    """
    end = n_done + n_steps
    while n_done < end:
        n = min(round_length(merge_every, n_done), end - n_done)
        yield n
        n_done += n


def round_length(merge_every: int | str, n_done: int) -> int:
    """The most steps of the round that begins after n_done steps."""
    if n_done == 0:
        return 1
    if merge_every == "auto":
        return max(1, min(MOST_STEPS, n_done // GROWTH))
    return int(merge_every)
