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
        "the true slope in {} of the replicates, and intervals from draws in {}. With 20 words, the shares "
        "are {} and {}.",
        rounded_coverages,
        "proportion as response",
        "10",
        "20",
    ),
    (
        "with 10 words, both estimates are {} of the truth.",
        estimates,
        "proportion as response",
        "10",
        "draws",
    ),
    (
        "the true coefficient in {} of the replicates, and intervals from draws in {}.",
        rounded_coverages,
        "proportion as predictor",
        "10",
    ),
    (
        "the estimated share of documents with one topic above one half is {} of the truth from means "
        "and {} from draws.",
        estimates,
        "share of documents",
        "10",
        "means",
        "draws",
    ),
    (
        "contain the true share in {} of the replicates from means and in {} from draws,",
        rounded_coverages,
        "share of documents",
        "10",
    ),
]
