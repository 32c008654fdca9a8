"""Figures in sentences of README.md, which begins as doc/index.rst does."""

import re

from .tables import TABLES, entry, rounded, rows

PAGE = "README.md"
# As peers_family.csv and peers.csv name what the columns of the table are.
FAMILY = [
    "OnlineEMLDA",
    "scikit-learn, batch, 10 passes",
    "gensim LdaModel, 5 passes",
    "tomotopy LDAModel, 400 sweeps",
]
PEERS = ["scikit-learn batch 60 iterations", "gensim 5 passes", "tomotopy 400 sweeps"]


def seconds():
    return [rounded(entry("peers_family", "seconds of training", model)) for model in FAMILY]


def scores():
    return [f"{entry('peers_family', 'score, nats per word', model):.2f}" for model in FAMILY]


def times_as_long():
    """To the score that each of them ends with, rounded to two digits."""
    measure = "seconds to it, median of 5"
    ratios = [entry("peers", "ratio or difference", "kos", "100", measure, peer) for peer in PEERS]
    return [f"{float(f'{ratio:.2g}'):.0f}" for ratio in ratios]


def against_scikit_learn():
    (row,) = rows("speed", "arxiv_0", "training", "scikit-learn")
    gain = entry("peers", "ratio or difference", "score after one pass")
    return [rounded(float(row["times as fast"])), f"{gain:.2f}"]


def day():
    """Of the measurements of peers, as three figures."""
    text = (TABLES / "peers_environment.txt").read_text()
    year, month, day = re.search(r"(\d{4})(-\d\d)(-\d\d)$", text.strip()).groups()
    return [year, month, day]


# What both pages say below the table.
BELOW = [
    ("blog entries (KOS) on one core, {}{}{};", day),
    (
        "On 98,000 abstracts from arXiv, training is {} times as fast as with scikit-learn's online LDA, and "
        "one pass scores {} nats per word better.",
        against_scikit_learn,
    ),
]
# Cells of the table; test_figures.py compares the tables of both pages.
SENTENCES = [
    ("| Training with 100 topics, seconds | {} | {} | {} | {} |", seconds),
    ("| Held-out score of that, nats per word | {} | {} | {} | {} |", scores),
    ("| Time to that library's score | 1 | {} times | {} times | {} times |", times_as_long),
    *BELOW,
]
