"""Figures in sentences of doc/guide/coming_from_sklearn.rst."""

from .tables import seconds_and_scores

PAGE = "doc/guide/coming_from_sklearn.rst"

SENTENCES = [
    (
        "scikit-learn's online LDA took {} seconds for five passes and reached a held-out score "
        "of {} nats per word. :class:`OnlineEMLDA` took {} seconds and reached {}",
        seconds_and_scores,
        "scikit-learn, online, 5 passes",
        "OnlineEMLDA",
    ),
]
