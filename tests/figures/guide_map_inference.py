"""Figures in sentences of doc/guide/map_inference.rst."""

from .tables import rows

PAGE = "doc/guide/map_inference.rst"


def microseconds_of_a_document():
    found = [float(row["50 iterations"]) for row in rows("ope_kernel", "kos", topics="100")]
    return [f"{of(found):.0f}" for of in (min, max)]


SENTENCES = [
    ("over a document of 100 distinct words take {} to {} microseconds", microseconds_of_a_document),
]
