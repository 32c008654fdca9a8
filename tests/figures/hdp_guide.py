"""Figures in sentences of doc/guide/hdp.rst."""

from .tables import rows
from .which_hdp import chains_on_kos, moves_against_none

PAGE = "doc/guide/hdp.rst"


def topics_of_two_starts():
    (row,) = rows("hdp_models_topics", "DirectAssignmentHDP")
    return row["kos"].split(" / ")


def gains_by_moves():
    return moves_against_none()[:2]


SENTENCES = [
    (":class:`DirectAssignmentHDP` finds {} and {} topics from two starts,", topics_of_two_starts),
    ("It predicts better, by {} to {} nats over as many topics without,", gains_by_moves),
    ("and chains of :class:`CollapsedGibbsHDP` end with {} and {}.", chains_on_kos),
]
