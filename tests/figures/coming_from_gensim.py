"""Figures in sentences of doc/guide/coming_from_gensim.rst."""

from .tables import seconds_and_scores

PAGE = "doc/guide/coming_from_gensim.rst"

SENTENCES = [
    (
        "``LdaModel`` took {} seconds for five passes and reached a held-out score of {} nats per word. "
        ":class:`OnlineEMLDA` took {} seconds and reached {}",
        seconds_and_scores,
        "gensim LdaModel, 5 passes",
        "OnlineEMLDA",
    ),
]
