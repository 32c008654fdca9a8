"""Figures in sentences of doc/guide/hdp.rst."""

import re

from .tables import rows
from .which_hdp import chains_on_kos

PAGE = "doc/guide/hdp.rst"


def topics_of_two_starts():
    (row,) = rows("hdp_models_topics", "DirectAssignmentHDP")
    return row["kos"].split(" / ")


def moves_with_the_defaults():
    """Of KOS: what they gain, and seconds with and without."""
    cells = [rows("hdp_models", model=name)[0]["kos"] for name in ("HybridHDP, moves", "HybridHDP")]
    (moved, slow), (still, fast) = (re.fullmatch(r"(\S+).* \((\S+) s\)", cell).groups() for cell in cells)
    return [f"{float(moved) - float(still):.2f}", slow, fast]


SENTENCES = [
    ("with its defaults finds {} and {} topics from two starts.", topics_of_two_starts),
    ("``topic_word_prior``, end with {} and {} topics.", chains_on_kos),
    (
        "With the defaults on KOS it gains {} nats and takes {} s instead of {} s.",
        moves_with_the_defaults,
    ),
]
