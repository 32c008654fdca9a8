"""Figures in sentences of doc/guide/coming_from_topica.rst."""

from .tables import seconds_and_scores_beside_gibbs_peers

PAGE = "doc/guide/coming_from_topica.rst"

SENTENCES = [
    (
        "``LDA`` took {} seconds with its defaults and reached a held-out score of {} nats per word. "
        ":class:`OnlineEMLDA` took {} seconds and reached {}. :class:`CollapsedGibbsLDA` with learned priors "
        "and as many sweeps took {} seconds and reached {}.",
        seconds_and_scores_beside_gibbs_peers,
        "topica",
        "OnlineEMLDA",
        "CollapsedGibbsLDA",
    ),
]
