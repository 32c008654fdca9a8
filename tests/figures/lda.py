"""Figures in sentences of doc/research/lda_methods.rst."""

from .tables import over_default

PAGE = "doc/research/lda_methods.rst"


SENTENCES = [
    ("on arXiv abstracts it took {} times as long as sampling.", over_default, "V-OEM++"),
    ("On arXiv abstracts it took {} times as long as :class:`OnlineEMLDA`", over_default, "SPLDA"),
]
