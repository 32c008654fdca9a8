"""Figures in sentences of doc/guide/scaling.rst."""

from .scaling import borders

PAGE = "doc/guide/scaling.rst"

SENTENCES = [
    (
        "above some {} million tokens if each worker has its own 10 Gbit/s link, and above some {} million",
        borders,
        "128",
    ),
]
