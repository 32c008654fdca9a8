"""Figures in sentences of doc/guide/distributed.rst."""

from .scaling import lost_by_lanes

PAGE = "doc/guide/distributed.rst"


def lost_by_few_and_by_many():
    return lost_by_lanes()[:2]


SENTENCES = [
    (
        "Up to 8 lanes lose at most {} nats per held-out word against plain ``fit``, and 32 lose {} in "
        "one pass",
        lost_by_few_and_by_many,
    ),
]
