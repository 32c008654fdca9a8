"""Figures in sentences of doc/guide/scaling.rst."""

from .tables import rows, span, values

PAGE = "doc/guide/scaling.rst"


def borders(*workers):
    """Millions of tokens, with a link for each worker and with one for 16."""
    table = rows("scale_plan_border", words="100000", topics="1000")
    return [f"{float(row['tokens']) / 1e6:.0f}" for n in workers for row in table if row["workers"] == n]


def efficiencies(*tokens):
    """Of 128 workers."""
    table = rows("scale_plan", words="100000", topics="1000", workers="128")
    return [row["efficiency"] for n in tokens for row in table if row["tokens"] == n]


def predicted_over_simulated():
    return span(values("scale_plan_simulation", "ratio"))


SENTENCES = [
    (
        "from some {} million tokens on; where 16 workers share a link, from some {} million. "
        "With 32 workers these are {} and {} million.",
        borders,
        "128",
        "32",
    ),
    (
        "128 workers have an efficiency of {} on 1000 million tokens, of {} on 10000 million and of {} on "
        "100000 million.",
        efficiencies,
        "1e+09",
        "1e+10",
        "1e+11",
    ),
    ("The formula gives {} to {} of the simulated time", predicted_over_simulated),
]
