"""Moment matching, and the most probable proportions."""

from .formats import change, fixed, significant, supported, whole
from .shapes import CORPUS_NAMES, cell, columns, pivot, plain, read, read_lists, select, with_cells

GIVEN, SCORE = "topics given (or at most)", "log predictive probability"
ORDERS = {
    "document": "one document after the other",
    "corpus": "tokens of all mixed",
    "None": "word by word",
}
# Mini-batches and kappa: those of the paper, and small batches with larger steps
SETTINGS = {("5000", "0.9"): "large", ("500", "0.7"): "small"}


def map_methods():
    found = {}
    for row in read("g_ope_methods"):
        size = SETTINGS.get((row["mini-batch"], row["kappa"]))
        if size:
            found.setdefault((CORPUS_NAMES[row["corpus"]], row["method"]), {})[size] = row
    head = ["corpus", "method", "score, batches of 5000", "score, batches of 500", "NPMI, batches of 5000"]
    return [*head, "seconds, batches of 5000"], [
        (
            *key,
            fixed(of["large"][SCORE]),
            fixed(of["small"][SCORE]),
            fixed(of["large"]["NPMI"]),
            significant(of["large"]["seconds of training"]),
        )
        for key, of in found.items()
    ]


def evidence():
    """Of numbers of topics that are not the true one, three."""
    rows = []
    for true, assumed, *pairs, _ in read_lists("moment_matching_evidence"):
        if assumed != "3":
            means = zip(pairs[::2], pairs[1::2], strict=True)
            rows.append((true, assumed, *(supported(m, *i.split(" to "), sign=True) for m, i in means)))
    head = ["true topics", "assumed topics", "gain over 3, exactly", "gain over 3, by the filter"]
    return [*head, "lost by the filter"], rows


def largest_topics():
    """The five largest topics of DDM with the defaults."""
    return [
        row
        for name in ("reuters21578", "nips_uci")
        for row in read("moment_matching_words", {"corpus": name, "model": "DDM", "settings": "default"})[:5]
    ]


def matching_text():
    """With the defaults: the three models, and online EM."""
    rows = []
    for name in ("reuters21578", "20news", "arxiv_0", "nips_uci"):
        of = {"corpus": name, "settings": "default"}
        most = max(int(row[GIVEN]) for row in read("moment_matching_text", {**of, "model": "basic"}))
        for model in ("basic", "OnlineEM, 1 pass", "OnlineEM, 5 passes", "DDM", "TDM"):
            (row,) = read("moment_matching_text", {**of, "model": model, GIVEN: str(most)})
            found = row["topics found"] if model in ("DDM", "TDM") else most
            seconds = significant(row["seconds of training"])
            rows.append((CORPUS_NAMES[name], model, found, fixed(row["own inference"]), seconds))
    return ["corpus", "model", "topics", "score", "seconds of training"], rows


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
    "map_methods": map_methods,
    "matching_evidence": evidence,
    "matching_rates": pivot(
        "moment_matching_rates",
        plain("model", "rate c = c"),
        "true topics",
        cell(significant, "mean found"),
        {n: f"of {n}" for n in ("1", "2", "3", "5", "10")},
        by=lambda row: row["model"],
    ),
    "matching_kernel": select(
        "moment_matching_kernel",
        plain("model", "second moment")
        | columns(significant, "microseconds a token", "NumPy in place", "NumPy by moments"),
        with_cells(words="Reuters, after 300000 tokens"),
    ),
    "matching_words": select(largest_topics, plain("corpus") | columns(fixed, "share") | plain("words")),
    "matching_text": matching_text,
    "matching_order": pivot(
        "moment_matching_order",
        plain("Reuters: score (topics) = model"),
        "shuffle",
        lambda row: f"{fixed(row['own inference'])} ({row['topics found']})",
        ORDERS,
        with_cells(corpus="reuters21578", settings="default"),
    ),
    "matching_alpha": select(
        "moment_matching_alpha",
        plain("corpus", "model", f"topics, or at most = {GIVEN}")
        | columns(change, "learned, over 1 (paper) = gain of paper, auto over paper")
        | columns(change, "learned, over 1 (defaults) = gain of default, auto over default, 1")
        | columns(change, "learned, over the default = gain of default, auto over default"),
        with_cells(inference="own inference"),
    ),
}
