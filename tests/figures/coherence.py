"""Figures in sentences of doc/research/coherence.rst."""

from .tables import first, rows

PAGE = "doc/research/coherence.rst"


def beside_tomotopy(corpus, topics, model):
    """How far it is behind in coherence and diversity, and ahead in the score."""
    (row,) = rows("coherence_peers_less", corpus=corpus, topics=topics, model=model)
    behind = [f"{-float(first(row[name])):.3f}" for name in ("NPMI", "diversity")]
    return [*behind, f"{float(first(row['score'])):.3f}"]


def shares_of_top_words():
    return [rows("coherence_k", topics=n)[0]["share of a top word"] for n in ("5", "300")]


def times_as_fast_as_tomotopy():
    return [rows("coherence_peers_less", corpus="kos", topics="50", model="OnlineEMLDA")[0]["times as fast"]]


SENTENCES = [
    ("trains about {} times as fast. On corpora", times_as_fast_as_tomotopy),
    (
        "On KOS with 50 topics, tomotopy's NPMI is higher by {} than that of the default, and its "
        "diversity by {}. The score of the default is higher by {}.",
        beside_tomotopy,
        "kos",
        "50",
        "OnlineEMLDA",
    ),
    (
        "half of the top words are in at least {} of all documents. With 300 topics, half are in at "
        "least {}.",
        shares_of_top_words,
    ),
]
