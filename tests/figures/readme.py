"""Figures in sentences of README.md, and what doc/index.rst has of it too."""

import math
import re

from .tables import TABLES, entry

PAGE = "README.md"
# As peers.csv names what the columns of the table are.
PEERS = ["scikit-learn batch 60 iterations", "gensim 5 passes", "tomotopy 400 sweeps"]
SECONDS = "seconds to it, median of 5"


def of_peers(column, measure, form):
    """On KOS with 100 topics: a peer's seconds and score, and sktopic's seconds to that score."""
    return [form.format(entry("peers", column, "kos", "100", measure, peer)) for peer in PEERS]


def training_of_peers():
    """Seconds and passes of each."""
    seconds = of_peers("peer's", SECONDS, "{:.0f}")
    passes = [re.search(r"(\d+) (?:iterations|passes|sweeps)", peer)[1] for peer in PEERS]
    return [figure for pair in zip(seconds, passes) for figure in pair]


def times_as_fast():
    """To the score that each of them ends with: the least and the most, rounded down to one digit."""
    ratios = [entry("peers", "ratio or difference", "kos", "100", SECONDS, peer) for peer in PEERS]
    units = [10 ** math.floor(math.log10(of(ratios))) for of in (min, max)]
    return [str(int(of(ratios) / unit) * unit) for of, unit in zip((min, max), units)]


def day():
    """Of the measurements of peers, as three figures."""
    text = (TABLES / "peers_environment.txt").read_text()
    year, month, day = re.search(r"(\d{4})(-\d\d)(-\d\d)$", text.strip()).groups()
    return [year, month, day]


# Cells of the table, which has quotes and commas on the front page.
ROWS = [
    (
        "Training time, 100 topics | | {} s, {} passes | {} s, {} passes | {} s, {} passes |",
        training_of_peers,
    ),
    ("Score reached, nats per word | | {} | {} | {} |", of_peers, "peer's", "score", "{:.2f}"),
    (
        "Time until sktopic reaches this score | | {} s | {} s | {} s |",
        of_peers,
        "sktopic's",
        SECONDS,
        "{:.2f}",
    ),
]
# What both pages say below the table.
BELOW = [
    ("were measured on one core on {}{}{}, with", day),
    ("the score of each library {} to {} times as fast.", times_as_fast),
]
SENTENCES = [*ROWS, *BELOW]
