"""Figures in sentences of doc/research/hdp.rst on numbers of topics."""

import numpy as np

from .tables import first, rows

PAGE = "doc/research/hdp.rst"


def topics_of_chains(corpus):
    """From 20 and from 300 topics: topics, those that hold 99 percent, and scores."""
    chains = [rows("hdp_topics_intervals", corpus, "CollapsedGibbsHDP", start)[0] for start in ("20", "300")]
    names = "topics in use", "topics that hold 99 %", "score"
    return [chain[name] for name in names for chain in chains]


def scores_by_topics(corpus, *numbers):
    """Means of HybridHDP with so many topics at most, concentrations learned."""
    table = rows("hdp_topics_intervals", corpus, "HybridHDP, concentrations learned")
    scores = {row["topics at the start (or at most)"]: first(row["score"]) for row in table}
    return [scores[number] for number in numbers]


def scores_of_learned_concentrations():
    return [
        score for corpus in ("kos", "nips1740") for score in scores_by_topics(corpus, "100", "300", "1000")
    ]


def bounds_of_numbers():
    """Of KOS: how far seeds and numbers given differ, in percent; bounds and topics with moves."""
    by_number = {}
    for row in rows("hdp_bound_texts", "given, no moves"):
        by_number.setdefault(int(row["number at the start"]), []).append(float(row["bound, nats per word"]))
    seeds = max(np.ptp(bounds) for bounds in by_number.values())
    numbers = np.ptp([np.mean(bounds) for n, bounds in by_number.items() if n >= 10])
    best = abs(max(max(bounds) for bounds in by_number.values()))
    figures = [f"{100 * x / best:.2f}" for x in (seeds, numbers)]
    moved = rows("hdp_bound_texts", "splits, merges and drops")
    bounds, topics = ([float(row[name]) for row in moved] for name in ("bound, nats per word", "at the end"))
    return [*figures, f"{min(bounds):.3f}", f"{max(bounds):.3f}", f"{min(topics):.0f}", f"{max(topics):.0f}"]


def chains_on_kos():
    return topics_of_chains("kos")[:2]


SENTENCES = [
    ("on KOS chains from 20 and from 300 topics end with {} and {}.", chains_on_kos),
    (
        "scores {}, {} and {} on KOS with at most 100, 300 and 1,000 topics, and {}, {} and {} on NIPS.",
        scores_of_learned_concentrations,
    ),
    (
        "seeds with the same number of topics differ by up to {} percent. From ten topics on, averages over "
        "seeds differ less ({} percent). With moves the bound is from {} to {}, equal to the best without "
        "moves or higher. Starts from 5 to 300 topics end with {} to {} topics.",
        bounds_of_numbers,
    ),
]
