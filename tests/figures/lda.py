"""Figures in sentences of doc/guide/lda.rst."""

from .tables import over_default

PAGE = "doc/guide/lda.rst"


SENTENCES = [
    ("on arXiv abstracts it took {} times as long as sampling.", over_default, "V-OEM++"),
    ("On arXiv abstracts it took {} times as long as :class:`OnlineEMLDA`", over_default, "SPLDA"),
]
