"""Figures in sentences of doc/research/corpora.rst."""

from .tables import rows

PAGE = "doc/research/corpora.rst"


def of_corpora_on_disk(table, column):
    """The least and the most of a column."""
    figures = [row[column] for row in rows(f"corpora_on_disk{table}")]
    return sorted((min(figures, key=float), max(figures, key=float)), key=float)


SENTENCES = [
    ("adds {} to {} MB to the anonymous memory", of_corpora_on_disk, "", "MB beside it"),
    (
        "by blocks is {} times as slow as with cached files. With all rows in random order, it is {} "
        "times as slow.",
        of_corpora_on_disk,
        "_order",
        "times as slow",
    ),
    ("they take {} to {} bytes per token", of_corpora_on_disk, "_samplers", "bytes a token"),
]
