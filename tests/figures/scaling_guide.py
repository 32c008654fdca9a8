"""Figures in sentences of doc/guide/scaling.rst."""

from .scaling import borders

PAGE = "doc/guide/scaling.rst"

SENTENCES = [
    (
        "from some {} million tokens if each worker has its own link of 10 Gbit/s, and from some {} million",
        borders,
        "128",
    ),
]
