"""Figures in sentences of doc/research/claims.rst."""

from .lda_comparison import FEW, LOSS, moved
from .tables import entry, rows

PAGE = "doc/research/claims.rst"


def lead_of_splda():
    return [f"{-entry('online_em_common', 'less G-OEM', corpus, 'SPLDA'):.3f}" for corpus in FEW]


def verdicts():
    summary = [list(map(int, list(row.values())[1:])) for row in rows("claims_summary")]
    confirmed, refuted, undecided, not_measured = map(sum, zip(*summary, strict=True))
    return [sum(map(sum, summary)), confirmed, refuted, undecided, not_measured]


SENTENCES = [
    (
        "Five papers make {} claims: {} are confirmed here, {} refuted, {} undecided and {} not measured.",
        verdicts,
    ),
    (
        "costs SPLDA {} and {} nats on KOS and Reuters, and G-OEM {} and {}.",
        moved,
        *((method, "doc_topic_prior=G-OEM", LOSS) for method in ("SPLDA", "G-OEM")),
    ),
    ("SPLDA is then ahead by {} and {} nats,", lead_of_splda),
    ("OLDA loses {} and {} nats by that prior,", moved, ("OLDA", "doc_topic_prior=G-OEM", LOSS)),
]
