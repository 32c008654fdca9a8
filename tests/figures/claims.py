"""Figures in sentences of doc/research/claims.rst."""

from .lda_comparison import FEW, GAIN, LOSS, moved
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
    ("V-OEM++ gains {} and {} nats on KOS and Reuters", moved, ("V-OEM++", "learning_decay=1.0", GAIN)),
    (
        "costs SPLDA {} and {} nats on KOS and Reuters, and G-OEM {} and {}.",
        moved,
        *((method, "doc_topic_prior=G-OEM", LOSS) for method in ("SPLDA", "G-OEM")),
    ),
    ("SPLDA is then ahead by {} and {} nats,", lead_of_splda),
    ("Topics that start from documents add {} and {} nats to it.", moved, ("SPLDA", "start=documents", LOSS)),
    (
        "fixed, G-OEM loses {} and {} nats on KOS and Reuters, and stays as far ahead "
        "(:download:`table </benchmarks/online_em_common.csv>`). OLDA loses {} and {},",
        moved,
        ("G-OEM", "doc_topic_prior=G-OEM", LOSS),
        ("OLDA", "doc_topic_prior=G-OEM", LOSS),
    ),
]
