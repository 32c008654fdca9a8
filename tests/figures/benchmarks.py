"""Figures in sentences of doc/research/benchmarks.rst."""

import json

import numpy as np

from .tables import ROOT, rounded, rows, span, values

PAGE = "doc/research/benchmarks.rst"


def sweeps(corpus):
    """Rows of a corpus: burn-in, sweeps, documents/s, times as fast, change of score, its lowest value."""
    for row in rows("transform_sweeps", corpus):
        burn_in, averaged, rate, faster, change, lowest, _ = list(row.values())[1:]
        yield burn_in, averaged, int(rate), float(faster), float(change), float(lowest)


def fastest_near_the_defaults():
    near = (row for row in sweeps("arxiv_0") if row[5] >= -0.003)
    burn_in, averaged, rate, faster, *_ = max(near, key=lambda row: row[2])
    return [burn_in, averaged, rounded(faster), f"{round(rate, -3):,}"]


def best_of_50_000_documents_a_second():
    fast = (row for row in sweeps("arxiv_0") if row[2] >= 50_000)
    burn_in, averaged, *_, change, _ = max(fast, key=lambda row: row[4])
    return [f"{-change:.3f}", burn_in, averaged]


def with_sweeps(*settings):
    """How fast each setting is, and the least and largest change of score over the corpora."""
    figures = []
    for setting in settings:
        found = [row for c in ("arxiv_0", "kos", "20news") for row in sweeps(c) if row[:2] == setting]
        changes = sorted(abs(row[4]) for row in found)
        faster = np.median([row[3] for row in found])
        figures += [rounded(faster), f"{changes[0]:.3f}", f"{changes[-1]:.3f}"]
    return figures


def with_more_sweeps():
    faster, least, most = with_sweeps(("10", "20"))
    return [least, most, faster]


def of_features(*columns):
    """Of each kind, in the order of the sentence."""
    kinds = "OnlineEMLDA", "TruncatedSVD of tf-idf", "NMF of tf-idf", "scikit-learn's LDA, online"
    return [rows("classifier", kind)[0][column] for kind in kinds for column in columns]


def of_all_words():
    (row,) = rows("classifier", "tf-idf of all words")
    return [row["accuracy"], row["log loss"]]


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


ALL_PASSES = "root of all passes"


def gained_over_passes(method, one, other, n):
    """By corpus, the first less the second of two versions after so many passes."""
    scores, rest = (
        {row["corpus"]: float(row[f"{n} passes"]) for row in rows("passes", method, version)}
        for version in (one, other)
    )
    return [score - rest[corpus] for corpus, score in scores.items() if corpus in rest]


def gained_by_leaving_out():
    for n in (3, 30):
        for method, version in (("OnlineEMLDA", "after"), ("HybridHDP", ALL_PASSES)):
            yield from span(gained_over_passes(method, version, "before", n), 3)


def gained_by_first_visits():
    return span(gained_over_passes("HybridHDP", "after", ALL_PASSES, 30), 3)


def root_amounts_to(model):
    return span(values("passes_root", "topics that the root amounts to", model), 0)


def most_lost_by_thirty_passes():
    for method in ("OnlineEMLDA", "HybridHDP"):
        for version in ("after", "before"):
            yield f"{max(float(row['lost by 30']) for row in rows('passes', method, version)):.3f}"


def empty_topics():
    for start in ("noise", "documents"):
        yield f"{np.mean([float(row['empty topics']) for row in rows('passes_starts', start)]):.2f}"
    gained = [float(row["score gained"]) for row in rows("passes_starts", "documents")]
    yield from (f"{value:.3f}" for value in (min(gained), max(gained)))


SENTENCES = [
    (
        "is ``transform_burn_in={}`` and ``transform_sweeps={}``, {} times as fast at {} documents/s",
        fastest_near_the_defaults,
    ),
    (
        "50,000 documents/s cost {} nats there, with ``transform_burn_in={}`` and ``transform_sweeps={}``.",
        best_of_50_000_documents_a_second,
    ),
    (
        "2 is {} times as fast at {} to {} nats, 1 is {} times as fast at {} to {}.",
        with_sweeps,
        ("4", "2"),
        ("4", "1"),
    ),
    ("10 and 20 gain {} to {} nats, at {} times the speed.", with_more_sweeps),
    (
        "have the best accuracy, {}, and log loss, {}, against {} and {} for TruncatedSVD, {} and {} for NMF "
        "and {} and {} for scikit-learn's LDA trained online.",
        of_features,
        "accuracy",
        "log loss",
    ),
    ("have the better accuracy, {}, and about the same log loss, {}.", of_all_words),
    (
        "The topics took {} seconds, against {} for TruncatedSVD, {} for NMF and {} for scikit-learn's LDA.",
        of_features,
        "seconds of features",
    ),
    ("at least 0.85 in {} of {} topics, {} of the others being of", seeded_topics),
    ("0.01 is not excluded in {} of the {} rows:", losses_not_excluded),
    (
        "After three passes the scores of :class:`~sktopic.lda.OnlineEMLDA` differ from those without it"
        " by {} to {} nats per word, those of :class:`~sktopic.hdp.HybridHDP` by {} to {}; after thirty,"
        " by {} to {} and {} to {}.",
        gained_by_leaving_out,
    ),
    (
        "With 100 topics it amounts to {} to {} after thirty passes",
        root_amounts_to,
        f"HybridHDP, {ALL_PASSES}",
    ),
    (
        "Chains of :class:`~sktopic.hdp.CollapsedGibbsHDP` end with {} to {} as well",
        root_amounts_to,
        "CollapsedGibbsHDP",
    ),
    (
        'in the first 100 updates ("after"): it amounts to {} to {} topics',
        root_amounts_to,
        "HybridHDP, after",
    ),
    ("thirty passes score {} to {} nats per word higher", gained_by_first_visits),
    (
        "Against the best of these numbers of passes, thirty lose {} nats at most with "
        ":class:`~sktopic.lda.OnlineEMLDA`, where they lost up to {}, and {} with "
        ":class:`~sktopic.hdp.HybridHDP`, where they lost up to {}.",
        most_lost_by_thirty_passes,
    ),
    (
        "the share of topics that are empty falls from {} to {} on average over the rows of the table, "
        "and the score changes by {} to {} nats per word.",
        empty_topics,
    ),
]
