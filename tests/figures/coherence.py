"""Figures in sentences of doc/coherence.rst."""

from .tables import first, rows

PAGE = "doc/coherence.rst"


def beside_tomotopy(corpus, topics):
    """Of OnlineEMLDA: how far behind in coherence and diversity, ahead in the score, and how much faster."""
    (row,) = rows("coherence_peers_less", corpus=corpus, topics=topics, model="OnlineEMLDA")
    behind = [f"{-float(first(row[name])):.3f}" for name in ("NPMI", "diversity")]
    return [*behind, f"{float(first(row['score'])):.3f}", row["times as fast"]]


def passes_from_chain(corpus, topics):
    """NPMI and diversity of the chain, and after 30 passes of EM from its topics."""
    models = "CollapsedGibbsLDA", "CollapsedGibbsLDA, then 30 passes of EM"
    found = [rows("coherence_peers", corpus=corpus, topics=topics, model=model)[0] for model in models]
    return [first(row[name]) for name in ("diversity", "NPMI") for row in found]


def gains_of_first_sweep(corpus, topics):
    (row,) = rows("coherence_peers_first_sweep", corpus=corpus, topics=topics)
    return [f"{float(first(row[name])):.3f}" for name in ("diversity", "score")]


def shares_of_top_words():
    return [rows("coherence_k", topics=n)[0]["share of a top word"] for n in ("5", "300")]


SENTENCES = [
    (
        "On KOS with 50 topics tomotopy's NPMI is higher by {} and its diversity by {}; the score of "
        "``OnlineEMLDA`` is higher by {}, and it trains {} times as fast.",
        beside_tomotopy,
        "kos",
        "50",
    ),
    (
        "lose them: on KOS with 50 topics, thirty passes take diversity from {} to {} and NPMI from {} to "
        "{}.",
        passes_from_chain,
        "kos",
        "50",
    ),
    (
        "With 100 topics on NIPS, diversity rises by {} and the score by {}.",
        gains_of_first_sweep,
        "nips1740",
        "100",
    ),
    ("half of them are in {} of all documents or more; with 300 topics, in {}.", shares_of_top_words),
]
