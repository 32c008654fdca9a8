"""Figures in sentences of doc/guide/scaling.rst."""

from .scaling import borders, efficiencies

PAGE = "doc/guide/scaling.rst"

SENTENCES = [
    (
        "from some {} million tokens if each worker has its own link of 10 Gbit/s, and from some {} million",
        borders,
        "128",
    ),
    (
        "128 workers have a predicted efficiency of {} on 1,000 million tokens, of {} on 10,000 million "
        "and of {} on 100,000 million.",
        efficiencies,
        "1e+09",
        "1e+10",
        "1e+11",
    ),
]
