"""Figures in sentences of doc/research/seed_words.rst."""

import json

import numpy as np

from .tables import ROOT, rows, span, values

PAGE = "doc/research/seed_words.rst"


def seeded_topics():
    """Topics at all, those with an area of 0.85 and more, and StreamingVariationalLDA's of the others."""
    with (ROOT / "benchmarks" / "runs" / "seeds_runs.jsonl").open() as file:
        runs = [row for row in map(json.loads, file) if not row["run"].startswith("weight")]
    areas = [(area, row["run"].split()[1]) for row in runs for area in row["auc"]]
    small = [name for area, name in areas if area < 0.85]
    return [f"{n}" for n in (len(areas) - len(small), len(areas), small.count("StreamingVariationalLDA"))]


def losses_not_excluded():
    least = values("seeds", "95 percent interval of that from")
    return [f"{sum(x < -0.01 for x in least)}", f"{len(least)}"]


def areas():
    return span(values("seeds", "AUC, mean"))


def changes_of_the_score():
    return span(values("seeds", "score less that without seeds"), 3)


def moved_by_the_weight():
    """Most, over the estimators, from 25 to 300."""
    by_estimator = {}
    for row in rows("seeds_weights"):
        if int(row["weight"]) <= 300:
            by_estimator.setdefault(row["estimator"], []).append(float(row["AUC, mean"]))
    return [f"{max(np.ptp(found) for found in by_estimator.values()):.2f}"]


SENTENCES = [
    ("is {} to {} on average over the groups.", areas),
    ("change the score by {} to {} nats per hidden word,", changes_of_the_score),
    ("from 25 to 300, the area changes by at most {}.", moved_by_the_weight),
    ("at least 0.85 in {} of {} topics, and {} of the others belong to", seeded_topics),
    ("0.01 is not excluded in {} of the {} rows,", losses_not_excluded),
]
