"""Figures in sentences of doc/research/scaling.rst."""

import csv

from .tables import TABLES, rows, span, values

PAGE = "doc/research/scaling.rst"


def borders(*workers):
    """Millions of tokens, with a link for each worker and with one for 16."""
    table = rows("scale_plan_border", words="100000", topics="1000")
    return [f"{float(row['tokens']) / 1e6:,.0f}" for n in workers for row in table if row["workers"] == n]


def efficiencies(*tokens):
    """Of 128 workers."""
    table = rows("scale_plan", words="100000", topics="1000", workers="128")
    return [row["efficiency"] for n in tokens for row in table if row["tokens"] == n]


def predicted_over_simulated():
    return span(values("scale_plan_simulation", "ratio"))


def lost_by_lanes():
    """The most that up to 8 lanes lose with any seed; what 32 lose in one pass, and in five."""
    table = rows("dask_scaling_scores")
    few = max(float(row["at most"]) for row in table if row["lanes"] in ("1", "2", "8"))
    means = [float(row["less than plain fit"]) for row in table if row["lanes"] == "32"]
    return [f"{few:.4f}", *(f"{mean:.4f}" for mean in means)]


def lost_by_long_rounds():
    one, *longer = (rows("lanes", f"lanes, merged after {n}")[0] for n in ("1", "4", "16", "64"))
    lost = [float(one[name]) - float(row[name]) for row in longer for name in list(one)[1:]]
    return [f"{max(lost):.2f}"]


def seconds_with_dask():
    return [row["seconds"] for row in rows("dask_scaling_times")]


def growth(of):
    """The most MB by which the memory of a process grew."""
    before, after = (f"{of} before", "at most in fit")
    with (TABLES / "dask_scaling_memory.csv").open(newline="") as file:
        head, *table = csv.reader(file)
    column = head.index(before)
    assert head[column + 1] == after
    return [str(max(int(row[column + 1]) - int(row[column]) for row in table))]


def trials():
    table = rows("dask_faults")
    same = [row for row in table if row["same bits"] == "True"]
    return [
        str(len(table)),
        str(len(same)),
        str(max(int(row["merges repeated"]) for row in table)),
        table[0]["merges"],
    ]


SENTENCES = [
    (
        "from about {} million tokens on. If 16 workers share a link, this holds from about {} million.",
        borders,
        "128",
    ),
    (
        "the efficiency of 128 workers is {} on 1,000 million tokens, {} on 10,000 million and {} on "
        "100,000 million.",
        efficiencies,
        "1e+09",
        "1e+10",
        "1e+11",
    ),
    ("The formula gives {} to {} of the simulated time", predicted_over_simulated),
    (
        "Up to 8 lanes lose at most {} nats per held-out word with any of three seeds. "
        "32 lanes lose {} in one pass and {} in five",
        lost_by_lanes,
    ),
    ("of a fixed length cost up to {} nats.", lost_by_long_rounds),
    (
        "takes plain ``fit`` {} seconds. With 8 lanes, it takes one process {}, one worker of one thread {}, "
        "and two workers {}.",
        seconds_with_dask,
    ),
    ("The memory of the client grows by at most {} MB,", growth, "client"),
    (
        "were killed at random moments in {} fits. The result was bit-identical in {}, and at most "
        "{} of {} merges were repeated.",
        trials,
    ),
]
