"""Figures in sentences of doc/guide/large_corpora.rst."""

from .corpora import of_corpora_on_disk
from .tables import rows

PAGE = "doc/guide/large_corpora.rst"


def beside_the_topics_and_by_blocks():
    least_and_most = of_corpora_on_disk("", "MB beside it")
    return [*least_and_most, rows("corpora_on_disk_order", order="by blocks")[0]["times as slow"]]


SENTENCES = [
    (
        "training then needs {} to {} MB of memory, for any number of documents. If the system keeps no "
        "part of "
        "the files in memory, training is {} times as slow",
        beside_the_topics_and_by_blocks,
    ),
    (
        "and the topics of all tokens: {} to {} bytes per token",
        of_corpora_on_disk,
        "_samplers",
        "bytes a token",
    ),
]
