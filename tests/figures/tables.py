"""How figures are read from the tables in doc/benchmarks/."""

import csv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TABLES = ROOT / "doc" / "benchmarks"


def rows(table, *cells, **columns):
    """The rows that have all of these cells, some in columns of these names (_ for a space), as dicts."""
    known = {name.replace("_", " "): cell for name, cell in columns.items()}
    with (TABLES / f"{table}.csv").open(newline="") as file:
        table = [row for row in csv.DictReader(file) if set(cells) <= set(row.values())]
    return [row for row in table if known.items() <= row.items()]


def entry(table, column, *cells, **columns):
    (row,) = rows(table, *cells, **columns)
    return float(row[column])


def values(table, column, *cells):
    """Of the rows that have all of these cells."""
    return [float(row[column]) for row in rows(table, *cells) if row[column]]


def span(numbers, digits=2):
    """The least and the most."""
    return [f"{of(numbers):.{digits}f}" for of in (min, max)]


def first(cell):
    """Without the interval."""
    return cell.split(" ")[0]


def rounded(x):
    """Two digits; whole numbers from ten on."""
    return f"{x:.0f}" if x >= 9.95 else f"{x:.1f}"


def seconds_of(method, corpus="arxiv_0"):
    return entry("online_em_time", corpus, method)


def moment_matching(*models):
    """Least and most microseconds a token with 100 topics and the defaults; one figure if they are equal.

    Of the corpora that were measured while nothing else ran.
    """
    figures = []
    for model in models:
        with_defaults = rows("moment_matching_text", model, "100", "default")
        with_defaults = [row for row in with_defaults if row["corpus"] != "20news"]
        times = [float(row["microseconds a token"]) for row in with_defaults]
        figures += dict.fromkeys([rounded(min(times)), rounded(max(times))])
    return figures


def in_time(corpus, method, topics, column="at the end"):
    return entry("hybrid_hdp_time", column, corpus, method, **{"topics_given_(or_at_most)": topics})


def lost_by_table_indicators():
    return [f"{in_time('kos', 'HybridHDP', '100') - in_time('kos', 'HybridHDP, sparse', '100'):.2f}"]


def seconds_and_scores(*models):
    """Of training on KOS with 100 topics, and of its held-out words."""
    return _seconds_and_scores(rows("peers_family", "kos", model)[0] for model in models)


def seconds_and_scores_beside_gibbs_peers(*models):
    """The same, of the libraries in Rust and of ours beside them."""
    return _seconds_and_scores(rows("gibbs_peers_text", model)[0] for model in models)


def _seconds_and_scores(found):
    return [
        figure
        for row in found
        for figure in (
            f"{float(row['seconds of training']):.1f}",
            f"{float(row['score, nats per word']):.2f}",
        )
    ]
