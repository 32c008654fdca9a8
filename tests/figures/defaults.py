"""Figures in sentences of doc/research/defaults.rst."""

import numpy as np

from .tables import rows, span, values

PAGE = "doc/research/defaults.rst"


def most_gained_by_one_parameter():
    changes = [float(c) for row in rows("defaults_summary") for c in list(row.values())[2:] if c]
    return [f"{max(changes):.2f}"]


def lost_by_one_over_the_number():
    (row,) = rows("defaults_summary", value="1 / n_components")
    return [f"{-float(row[f'{n} topics, 1 pass']):.2f}" for n in (100, 1000)]


ALL_PASSES = "root of all passes"


def gained_over_passes(method, one, other, n):
    """By corpus, the first less the second of two versions after so many passes."""
    scores, rest = (
        {row["corpus"]: float(row[f"{n} passes"]) for row in rows("passes", method, version)}
        for version in (one, other)
    )
    return [score - rest[corpus] for corpus, score in scores.items() if corpus in rest]


def gained_by_first_visits():
    return span(gained_over_passes("HybridHDP", "after", ALL_PASSES, 30), 3)


def most_lost_by_thirty_passes():
    for version in ("after", "before"):
        for method in ("OnlineEMLDA", "HybridHDP"):
            yield f"{max(float(row['lost by 30']) for row in rows('passes', method, version)):.3f}"


def empty_topics():
    for start in ("noise", "documents"):
        yield f"{np.mean([float(row['empty topics']) for row in rows('passes_starts', start)]):.2f}"
    gained = [float(row["score gained"]) for row in rows("passes_starts", "documents")]
    yield from (f"{value:.3f}" for value in (min(gained), max(gained)))


def gained_by_a_start_from_documents():
    return span(values("passes_starts", "score gained"))


def lost_after_thirty():
    return [f"{float(max(most_lost_by_thirty_passes_now())):.2f}"]


def most_lost_by_thirty_passes_now():
    return list(most_lost_by_thirty_passes())[:2]


SENTENCES = [
    ("gains more than {} nats per word on average over five corpora.", most_gained_by_one_parameter),
    ("loses {} with 100 topics and {} with 1,000.", lost_by_one_over_the_number),
    ("the score is within {} nats of the best number of passes,", lost_after_thirty),
    ("fewer topics stay empty, and the score is {} to {} nats higher.", gained_by_a_start_from_documents),
    ("Thirty passes then score {} to {} nats per word higher", gained_by_first_visits),
    (
        "Thirty passes now lose at most {} nats against the best number of passes with "
        ":class:`~sktopic.lda.OnlineEMLDA`, and {} with :class:`~sktopic.hdp.HybridHDP`. "
        "While own tokens were counted, they lost up to {} and {}.",
        most_lost_by_thirty_passes,
    ),
    (
        "the share of empty topics falls from {} to {} on average over the rows of the table. "
        "The score changes by {} to {} nats per word.",
        empty_topics,
    ),
]
