"""Figures in sentences of doc/guide/hdp.rst."""

from .tables import rows
from .which_hdp import chains_on_kos

PAGE = "doc/guide/hdp.rst"


def topics_of_two_starts():
    (row,) = rows("hdp_models_topics", "DirectAssignmentHDP")
    return row["kos"].split(" / ")


SENTENCES = [
    (":class:`DirectAssignmentHDP` finds {} and {} topics from two starts,", topics_of_two_starts),
    ("and chains of :class:`CollapsedGibbsHDP` end with {} and {}.", chains_on_kos),
]
