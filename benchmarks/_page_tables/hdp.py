"""Hierarchical Dirichlet processes."""

import inspect
import re

import sktopic.hdp
import sktopic.lda

from .formats import NONE, bracketed, fixed, significant, spread, whole
from .shapes import cell, columns, pivot, plain, read, select, wide

START = "topics at the start (or at most)"
BOUND = "bound, nats per word"
# Of DirectAssignmentHDP, as the paper has it
BARS = {"oHDP-SM": "default", "oHDP-SM, paper": "choices of the paper", "oHDP": "no moves"}


def models_with_topics():
    """The models with a corpus: score and seconds on KOS, and topics in use from two starts."""
    topics = {row["model"]: row for row in read("hdp_models_topics")}
    rows = []
    for row in read("hdp_models"):
        if row["model"] in ("tomotopy", "gensim") or "," not in row["model"]:
            found = topics[row["model"]]
            score, seconds = re.fullmatch(r"(\S+) \(([\d.]+).*", bracketed(row["kos"])).groups()
            rows.append({**found, "score": score, "seconds": seconds})
    return rows


def texts():
    """Two files of one study."""
    return [{"corpus": name, **row} for name in ("nips", "arxiv") for row in read(f"split_merge_hdp_{name}")]


def passes(name):
    """By default."""
    estimator = getattr(sktopic.lda, name, None) or getattr(sktopic.hdp, name)
    return inspect.signature(estimator).parameters["max_iter"].default


def models():
    """Of this library, for LDA and HDPs: score and seconds on KOS; HDPs with topics of their first start."""
    lda = [
        {
            "model": row["model"],
            "score": fixed(row["score, nats per word"]),
            "seconds": significant(row["seconds of training"]),
            "topics": "100",
        }
        for row in read("peers_family")
        if " " not in row["model"]
    ]
    hdp = [{**row, "topics": row["kos"].split(" / ")[0]} for row in models_with_topics()]
    ours = lda + [row for row in hdp if row["model"].endswith("HDP")]
    return [{**row, "passes": passes(row["model"])} for row in ours]


def highest_bounds():
    """Of the two seeds, the one with the higher bound."""
    best = {}
    for row in sorted(read("hdp_bound_texts"), key=lambda row: -float(row[BOUND])):
        best.setdefault((row["topics"], row["number at the start"]), row)
    return [row for row in read("hdp_bound_texts") if row in best.values()]


TABLES = {
    "hdp_models": wide("hdp_models", plain("score (seconds) = model"), bracketed),
    "hdp_models_topics": wide(
        "hdp_models_topics",
        plain("model", f"start = {START}"),
        lambda found: re.sub(r" / -$", f" / {NONE}", found) or NONE,
    ),
    "hdp_guide": select(
        models_with_topics,
        plain("model", "score", "seconds")
        | plain(f"topics at the start, or at most = {START}", "topics in the end = kos"),
        by=lambda row: -float(row["score"]),
    ),
    "choose": select(
        models,
        plain(
            "model",
            "score, nats per word = score",
            "passes or sweeps = passes",
            "seconds of training = seconds",
            "topics",
        ),
        by=lambda row: -float(row["score"]),
    ),
    "hdp_samplers": select(
        "hybrid_hdp_steps",
        columns(whole, "topics")
        | plain("sampler")
        | columns(
            significant, "million draws a second", "times as fast as the dense one = times as fast as dense"
        ),
    ),
    "hdp_online_em": pivot(
        "online_em_hdp",
        plain("log-perplexity (topics) = method"),
        "corpus",
        lambda row: f"{fixed(row['log-perplexity, nats per word'])} ({spread(row['topics at the end'])})",
        ["synthetic", "KOS", "Reuters", "20 Newsgroups", "NIPS", "arXiv"],
    ),
    "hdp_bars": pivot(
        "split_merge_hdp_bars",
        plain("topics at the start"),
        "method",
        cell(spread, "at the end, by seed"),
        BARS,
    ),
    "hdp_texts": select(
        texts,
        plain("corpus", "method")
        | columns(whole, "topics at the start, or at most = topics at the start (or at most)")
        | columns(fixed, "score")
        | plain("topics in use = topics in use, by seed", "seconds")
        | columns(significant, "documents read = documents seen"),
    ),
    "hdp_bound_texts": select(
        highest_bounds,
        plain("topics", "at the start = number at the start", "in the end = at the end")
        | columns(fixed, f"bound = {BOUND}", digits=3)
        | columns(fixed, "held-out score")
        | columns(significant, "seconds"),
    ),
}

TABLES["hdp_topics_learned"] = wide("hdp_topics_learned", columns(whole, "topics at most"), bracketed)
