"""Figures in sentences of doc/guide/uncertainty.rst."""

from .uncertainty import coverages

PAGE = "doc/guide/uncertainty.rst"


def percentages(question):
    """From means and from draws, with 10 words a document."""
    return [f"{100 * float(coverage):.0f}" for coverage in coverages(question, "10")]


SENTENCES = [
    (
        "Proportions as the response: {} percent from means, {} percent from draws.",
        percentages,
        "proportion as response",
    ),
    (
        "Proportions as predictors: {} percent from means, {} percent from draws.",
        percentages,
        "proportion as predictor",
    ),
]
