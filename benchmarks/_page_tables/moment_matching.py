"""Moment matching, and the most probable proportions."""

from .formats import change, fixed, significant, supported, whole
from .shapes import CORPUS_NAMES, cell, columns, pivot, plain, read, read_lists, select, with_cells

GIVEN, SCORE = "topics given (or at most)", "log predictive probability"
TEXT_MODELS = ["basic", "OnlineEM, 1 pass", "OnlineEM, 5 passes", "DDM", "TDM"]
ORDERS = {
    "document": "one document after the other",
    "corpus": "tokens of all mixed",
    "None": "word by word",
}


def settings_of_two():
    """Mini-batches and kappa: those of the paper, and small batches with larger steps."""
    rows = [row for row in read("g_ope_methods") if row["mini-batch"] + row["kappa"] in ("50000.9", "5000.7")]
    return [{**row, "name": f"{CORPUS_NAMES[row['corpus']]}, {row['mini-batch']}"} for row in rows]


def evidence():
    """Of numbers of topics that are not the true one, three."""
    rows = []
    for true, assumed, *pairs, _ in read_lists("moment_matching_evidence"):
        if assumed != "3":
            means = zip(pairs[::2], pairs[1::2], strict=True)
            rows.append((true, assumed, *(supported(m, *i.split(" to "), sign=True) for m, i in means)))
    head = ["true topics", "assumed topics", "gain over 3, exactly", "gain over 3, by the filter"]
    return [*head, "lost by the filter"], rows


def of_most_topics(table):
    """Rows of the largest number of topics that was given, for each corpus."""
    most, rows = {}, read(table)
    for row in rows:
        if row["model"] == "basic":
            most[row["corpus"]] = max(int(row[GIVEN]), most.get(row["corpus"], 0))
    return [row for row in rows if int(row[GIVEN]) == most[row["corpus"]]]


def score_topics_seconds(row):
    found = row["topics found"] if row["model"] in ("DDM", "TDM") else row[GIVEN]
    seconds = significant(row["seconds of training"])
    return f"{fixed(row['own inference'])} ({found}, {seconds}\N{NO-BREAK SPACE}s)"


TABLES = {
    "map_kernel": select(
        "ope_kernel",
        plain("corpus", "words = distinct words a document")
        | columns(whole, "topics")
        | plain("doc_topic_prior")
        | columns(
            significant, "microseconds = 50 iterations", "whole gradient = 50 iterations, whole gradient"
        )
        | columns(significant, "times as fast = ratio"),
    ),
    "map_methods": pivot(
        settings_of_two,
        plain("score by size of batch = method"),
        "name",
        cell(fixed, SCORE),
        [f"{name}, {size}" for name in ("NIPS", "Enron", "arXiv") for size in (5000, 500)],
    ),
    "map_seconds": pivot(
        "g_ope_methods",
        plain("seconds of training = method"),
        "corpus",
        cell(significant, "seconds of training"),
        ["NIPS", "Enron", "arXiv"],
        with_cells(**{"mini-batch": "5000", "kappa": "0.9"}),
    ),
    "matching_evidence": evidence,
    "matching_rates": pivot(
        "moment_matching_rates",
        plain("model", "rate c = c"),
        "true topics",
        cell(significant, "mean found"),
        {n: f"of {n}" for n in ("1", "2", "3", "5", "10")},
        by=lambda row: row["model"],
    ),
    "matching_text": pivot(
        lambda: of_most_topics("moment_matching_text"),
        plain("score (topics, seconds) = model"),
        "corpus",
        score_topics_seconds,
        ["Reuters", "20 Newsgroups", "arXiv", "NIPS"],
        lambda row: row["settings"] == "default" and row["model"] in TEXT_MODELS,
    ),
    "matching_order": pivot(
        "moment_matching_order",
        plain("Reuters: score (topics) = model"),
        "shuffle",
        lambda row: f"{fixed(row['own inference'])} ({row['topics found']})",
        ORDERS,
        with_cells(corpus="reuters21578", settings="default"),
    ),
    "matching_alpha": select(
        lambda: of_most_topics("moment_matching_alpha"),
        plain("corpus", "model", f"topics, or at most = {GIVEN}")
        | columns(change, "learned, over 1 (paper) = gain of paper, auto over paper")
        | columns(change, "learned, over 1 (defaults) = gain of default, auto over default, 1")
        | columns(change, "learned, over the default = gain of default, auto over default"),
        with_cells(inference="own inference"),
    ),
}
