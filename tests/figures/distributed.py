"""Figures in sentences of doc/guide/distributed.rst."""

from .tables import rows

PAGE = "doc/guide/distributed.rst"


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


SENTENCES = [
    (
        "Up to 8 lanes lose at most {} with any of these seeds. 32 lose {} in one pass and {} in five:",
        lost_by_lanes,
    ),
    ("of a fixed length cost up to {} nats,", lost_by_long_rounds),
]
