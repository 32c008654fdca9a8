"""Figures in sentences of doc/guide/uncertainty.rst."""

from .uncertainty import coverages

PAGE = "doc/guide/uncertainty.rst"

SENTENCES = [
    (
        "the true slope in {} of the cases from means and in {} from draws;",
        coverages,
        "proportion as response",
        "10",
    ),
    (
        "with proportions as predictors, in {} from means and in {} from draws",
        coverages,
        "proportion as predictor",
        "10",
    ),
]
