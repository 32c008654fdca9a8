"""Figures in sentences of doc/research/coherence.rst."""

from .tables import first, rows

PAGE = "doc/research/coherence.rst"


def beside_tomotopy(corpus, topics, model):
    """How far it is behind in coherence and diversity, and ahead in the score."""
    (row,) = rows("coherence_peers_less", corpus=corpus, topics=topics, model=model)
    behind = [f"{-float(first(row[name])):.3f}" for name in ("NPMI", "diversity")]
    return [*behind, f"{float(first(row['score'])):.3f}"]


def fixed_beside_tomotopy(corpus, topics, model):
    """The same, and how much faster it is."""
    (row,) = rows("coherence_peers_less", corpus=corpus, topics=topics, model=model)
    return [*beside_tomotopy(corpus, topics, model), row["times as fast"]]


def passes_from_chain(corpus, topics):
    """NPMI and diversity of the chain, and after 30 passes of EM from its topics."""
    models = "CollapsedGibbsLDA", "CollapsedGibbsLDA, then 30 passes of EM"
    found = [rows("coherence_peers", corpus=corpus, topics=topics, model=model)[0] for model in models]
    return [first(row[name]) for name in ("diversity", "NPMI") for row in found]


def gains_in_diversity_and_score(corpus, topics, table):
    (row,) = rows(f"coherence_peers_{table}", corpus=corpus, topics=topics)
    return [f"{float(first(row[name])):.3f}" for name in ("diversity", "score")]


def shares_of_top_words():
    return [rows("coherence_k", topics=n)[0]["share of a top word"] for n in ("5", "300")]


def times_as_fast_as_tomotopy():
    return [rows("coherence_peers_less", corpus="kos", topics="50", model="OnlineEMLDA")[0]["times as fast"]]


SENTENCES = [
    ("trains about {} times as fast. On corpora", times_as_fast_as_tomotopy),
    (
        "On 20 Newsgroups with 50 topics, diversity rises by {} and the score by {}.",
        gains_in_diversity_and_score,
        "20news",
        "50",
        "shares",
    ),
    (
        "On KOS with 50 topics, tomotopy's NPMI is higher by {} than that of the default, and its "
        "diversity by {}. The score of the default is higher by {}.",
        beside_tomotopy,
        "kos",
        "50",
        "OnlineEMLDA",
    ),
    (
        "With a fixed prior, these differences are {}, {} and {}, and ``OnlineEMLDA`` trains {} times "
        "as fast.",
        fixed_beside_tomotopy,
        "kos",
        "50",
        "OnlineEMLDA, a fixed prior",
    ),
    (
        "On KOS with 50 topics, thirty passes take diversity from {} to {} and NPMI from {} to {}.",
        passes_from_chain,
        "kos",
        "50",
    ),
    (
        "With 100 topics on NIPS, diversity rises by {} and the score by {}.",
        gains_in_diversity_and_score,
        "nips1740",
        "100",
        "first_sweep",
    ),
    (
        "half of the top words are in at least {} of all documents. With 300 topics, half are in at "
        "least {}.",
        shares_of_top_words,
    ),
]
