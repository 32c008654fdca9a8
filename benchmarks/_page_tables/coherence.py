"""Coherence of topics."""

from .formats import fixed, plus_minus, significant
from .shapes import columns, plain, select

NUMBER = (
    plain("topics")
    | columns(fixed, "NPMI, training = npmi, training", "NPMI, held-out = npmi, held-out")
    | columns(fixed, "share of a top word", "diversity", "stability", "score = document completion")
)
# Four columns of it for readers
GUIDE = (
    plain("topics")
    | columns(fixed, "coherence (NPMI) = npmi, training", "diversity", "stability")
    | columns(fixed, "held-out score = document completion")
)
DIFFERENCES = columns(plus_minus, "NPMI", "diversity", "score")

TABLES = {
    "coherence_number": select("coherence_k", NUMBER),
    "coherence_guide": select("coherence_k", GUIDE),
    "coherence_tomotopy": select(
        "coherence_peers_less",
        plain("corpus", "topics", "less tomotopy's LDA = model")
        | DIFFERENCES
        | columns(significant, "times as fast"),
        lambda row: row["model"] in ("OnlineEMLDA", "CollapsedGibbsLDA"),
    ),
    "coherence_gensim": select(
        "coherence_gensim",
        plain("measure")
        | columns(fixed, "gensim", "ours = sktopic", digits=3)
        | columns(fixed, "ours, exact windows = sktopic, window_counts='exact'", digits=3)
        | columns(significant, "gensim, seconds = seconds, gensim", "ours, seconds = seconds, sktopic"),
    ),
}

for _name in ("shares", "first_sweep", "chain"):
    TABLES[f"coherence_{_name}"] = select(f"coherence_peers_{_name}", plain("corpus", "topics") | DIFFERENCES)
