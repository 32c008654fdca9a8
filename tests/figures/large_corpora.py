"""Figures in sentences of doc/guide/large_corpora.rst."""

from .corpora import of_corpora_on_disk
from .tables import rows

PAGE = "doc/guide/large_corpora.rst"


def beside_the_topics_and_by_blocks():
    least_and_most = of_corpora_on_disk("", "MB beside it")
    return [*least_and_most, rows("corpora_on_disk_order", order="by blocks")[0]["times as slow"]]


SENTENCES = [
    (
        "the memory of the topics and {} to {} MB, whatever the number of documents, and is {} times as slow",
        beside_the_topics_and_by_blocks,
    ),
    (
        "with the topics of their tokens: {} to {} bytes a token",
        of_corpora_on_disk,
        "_samplers",
        "bytes a token",
    ),
]
