"""Figures in sentences of doc/research/claims.rst."""

from .tables import rows

PAGE = "doc/research/claims.rst"


def verdicts():
    summary = [list(map(int, list(row.values())[1:])) for row in rows("claims_summary")]
    confirmed, refuted, undecided, not_measured = map(sum, zip(*summary, strict=True))
    return [sum(map(sum, summary)), confirmed, refuted, undecided, not_measured]


SENTENCES = [
    (
        "Five papers make {} claims: {} are confirmed here, {} refuted, {} undecided and {} not measured.",
        verdicts,
    ),
]
