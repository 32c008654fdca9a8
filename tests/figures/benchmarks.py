"""Figures in sentences of doc/research/benchmarks.rst."""

import numpy as np

from .tables import rounded, rows

PAGE = "doc/research/benchmarks.rst"


def sweeps(corpus):
    """Rows of a corpus: burn-in, sweeps, documents/s, times as fast, change of score, its lowest value."""
    for row in rows("transform_sweeps", corpus):
        burn_in, averaged, rate, faster, change, lowest, _ = list(row.values())[1:]
        yield burn_in, averaged, int(rate), float(faster), float(change), float(lowest)


def with_sweeps(*settings):
    """How fast each setting is, and the least and largest change of score over the corpora."""
    figures = []
    for setting in settings:
        found = [row for c in ("arxiv_0", "kos", "20news") for row in sweeps(c) if row[:2] == setting]
        changes = sorted(abs(row[4]) for row in found)
        faster = np.median([row[3] for row in found])
        figures += [rounded(faster), f"{changes[0]:.3f}", f"{changes[-1]:.3f}"]
    return figures


def with_more_sweeps():
    faster, least, most = with_sweeps(("10", "20"))
    return [least, most, faster]


def change_with_copies_that_draw_alike():
    """The largest one on pairs, where none is significantly lower."""
    found = rows("document_streams", "pairs of words")
    assert all(float(row["to"]) >= 0.0 for row in found)
    return [f"{max(float(row['difference']) for row in found):.2f}"]


def copies_on_corpora():
    """The largest share of copies in a batch, in percent, where no change is significant."""
    found = [row for row in rows("document_streams") if row["corpus"] != "pairs of words"]
    assert all(float(row["95 percent interval from"]) <= 0.0 <= float(row["to"]) for row in found)
    most = max(float(row["share of documents that are repeated in a batch"]) for row in found)
    return [f"{np.ceil(1000 * most) / 10:.1f}"]


def peer(measure, name, column, topics="100"):
    """The peer's figure, ours, or their ratio."""
    found = [row for row in rows("peers", topics=topics, peer=name) if row["measure"] == measure]
    (row,) = (row for row in found if row["corpus"] == ("kos" if "median" in measure else "arxiv_0"))
    return float(row[column])


def time_to_the_score_of_tomotopy():
    of = "seconds to it, median of 5", "tomotopy 400 sweeps"
    ours, theirs = (peer(*of, column) for column in ("sktopic's", "peer's"))
    return [f"{ours:.2f}", f"{theirs:.0f}", f"{peer(*of, 'ratio or difference'):.0f}"]


def one_pass_over_abstracts():
    of = "seconds of one pass", "scikit-learn online"
    ours, theirs = (peer(*of, column) for column in ("sktopic's", "peer's"))
    lower = peer("score after one pass", "scikit-learn online", "ratio or difference")
    return [f"{ours:.1f}", f"{theirs:.0f}", f"{lower:.2f}"]


def best_accuracy_and_all_words():
    return [rows("classifier", name)[0]["accuracy"] for name in ("OnlineEMLDA", "tf-idf of all words")]


SENTENCES = [
    (
        "the score is up to {} nats higher than with independent draws, and for no method significantly "
        "lower.",
        change_with_copies_that_draw_alike,
    ),
    (
        "at most {} percent of the documents of a batch have a copy, and no change of score is significant.",
        copies_on_corpora,
    ),
    (
        "needs {} seconds to reach the score of 400 sweeps of tomotopy's LDA. tomotopy takes {} seconds, "
        "which is {} times as long.",
        time_to_the_score_of_tomotopy,
    ),
    (
        "One pass over 98,000 abstracts of arXiv takes {} seconds. scikit-learn's online LDA takes {} "
        "seconds, "
        "and its score is {} nats per hidden word lower.",
        one_pass_over_abstracts,
    ),
    (
        "have the best accuracy, {}. The tf-idf weights of all words have {}.",
        best_accuracy_and_all_words,
    ),
    (
        "two sweeps are {} times as fast and lose {} to {} nats. One sweep is {} times as fast and loses "
        "{} to {}.",
        with_sweeps,
        ("4", "2"),
        ("4", "1"),
    ),
    ("10 and 20 gain {} to {} nats, at {} times the speed.", with_more_sweeps),
]
