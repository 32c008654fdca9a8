"""Figures in sentences of doc/guide/coming_from_tomotopy.rst."""

from .tables import seconds_and_scores

PAGE = "doc/guide/coming_from_tomotopy.rst"

SENTENCES = [
    (
        "``LDAModel`` took {} seconds for 400 sweeps and reached a held-out score of {} nats per word. "
        ":class:`OnlineEMLDA` took {} seconds and reached {}",
        seconds_and_scores,
        "tomotopy LDAModel, 400 sweeps",
        "OnlineEMLDA",
    ),
]
