"""Figures in sentences of doc/guide/uncertainty.rst."""

from .uncertainty import coverages

PAGE = "doc/guide/uncertainty.rst"


def percentages(question):
    """From means and from draws, with 10 words a document."""
    return [f"{100 * float(coverage):.0f}" for coverage in coverages(question, "10")]


SENTENCES = [
    (
        "contain the true slope in {} percent of cases from means and {} percent from draws.",
        percentages,
        "proportion as response",
    ),
    (
        "predictors, this coverage is {} percent from means and {} percent from draws",
        percentages,
        "proportion as predictor",
    ),
]
