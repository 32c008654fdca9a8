"""Figures in sentences of doc/research/other_tests.rst."""

from .tables import rows

PAGE = "doc/research/other_tests.rst"


def counts():
    """Tests, those that apply, and how many of these pass, pass with mapped results, and differ."""
    results = [row["result"] for row in rows("other_tests")]
    n, *others = map(results.count, ("not applicable", "passes", "passes, results mapped", "differs"))
    return len(results), len(results) - n, *others


SENTENCES = [
    (
        "{} tests and examples were considered. {} apply: {} pass, {} pass once results "
        "are mapped, and {} differ.",
        counts,
    ),
]
