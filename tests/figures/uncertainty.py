"""Figures in sentences of doc/research/uncertainty.rst."""

from .tables import rows

PAGE = "doc/research/uncertainty.rst"


def coverages(question, *lengths):
    """From means and from draws, with so many words a document."""
    return [
        row["coverage"]
        for length in lengths
        for row in rows("uncertainty", question, length)
        if row["proportions"] != "true"
    ]


def rounded_coverages(question, *lengths):
    return [f"{float(coverage):.2f}" for coverage in coverages(question, *lengths)]


def estimates(question, length, *proportions):
    return [rows("uncertainty", question, length, each)[0]["estimate"] for each in proportions]


SENTENCES = [
    (
        "the true slope in {} of the replicates and those from draws in {}; with 20 words, {} and {}.",
        rounded_coverages,
        "proportion as response",
        "10",
        "20",
    ),
    (
        "too small either way, {} of the truth with 10 words.",
        estimates,
        "proportion as response",
        "10",
        "draws",
    ),
    (
        "the true coefficient in {} of the replicates with 10 words, those from draws in {}.",
        rounded_coverages,
        "proportion as predictor",
        "10",
    ),
    (
        "comes out at {} of the truth from means, at {} from draws.",
        estimates,
        "share of documents",
        "10",
        "means",
        "draws",
    ),
    (
        "contain it in {} of the replicates from means, in {} from draws.",
        rounded_coverages,
        "share of documents",
        "10",
    ),
]
