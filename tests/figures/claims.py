"""Figures in sentences of doc/research/claims.rst."""

from .lda_comparison import FEW
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
    ("SPLDA is ahead by {} and {} nats,", lead_of_splda),
]
