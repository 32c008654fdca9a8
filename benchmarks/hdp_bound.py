"""What the lower bound says of the number of topics: DirectAssignmentHDP by memoized inference.

    python benchmarks/hdp_bound.py [--parts fixed moving bars ranks brief]

fixed   bound and held-out score without moves, with 5 to 300 topics, three seeds
moving  the same with moves, given 5, 20, 100 and 300 topics, which does not matter, three seeds
bars    2000 documents of 20 bars, from eight numbers of topics, five corpora and seeds, online and memoized
ranks   2000 documents of 50 bars whose shares fall as 1 / rank, from 20 and 100 topics, ten seeds each
brief   10 000 documents of 20 words of 20 bars, the same

fixed and moving are on KOS, with concentrations and topic_word_prior learned. Bounds are those of the
training documents where training ends, a word; "gap" is what one is below the best of all runs, in percent.
Without moves the bound rises by less than 0.04 percent from 25 to 60 passes. Scores are document completion.
"""

from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, panels, styles
from _study import Study, grouped, new_parser, seconds_of
from _traces import completion

from sktopic.datasets import make_bars
from sktopic.hdp import DirectAssignmentHDP

CORPUS = "kos"
# Part -> numbers of topics at the start, and passes.
TEXTS = {"fixed": ((5, 10, 20, 50, 100, 200, 300), 25), "moving": ((5, 20, 100, 300), 60)}
SEEDS = range(3)
BARS_PASSES = 20
BARS_STARTS = (2, 5, 10, 20, 40, 50, 80, 100)
BARS_SEEDS, OTHER_BARS_SEEDS = range(5), range(10)
OTHER_BARS_STARTS = (20, 100)
METHODS = {"online": {}, "memoized": {"learning_method": "memoized", "max_iter": BARS_PASSES}}
# Part -> documents, words of each, side of the grid, numbers of topics that count, and in which share of runs
BARS = {
    "bars": (2000, 250, 10, (20, 20), 1.0),
    "ranks": (2000, 250, 25, (45, 52), 0.8),
    "brief": (10_000, 20, 10, (19, 22), 0.8),
}
LABELS = {"fixed": "given, no moves", "moving": "splits, merges and drops"}
# A range of numbers of topics whose bound is that near to the best, in percent.
NEAR = 0.1


def measure(part, *run):
    """The row of a run."""
    return measure_bars(part, *run) if part in BARS else measure_text(part, *run)


def measure_text(part, n_components, seed):
    train, test, _ = load(CORPUS)
    settings = {"learning_method": "memoized", "split_merge": part == "moving", "max_iter": TEXTS[part][1]}
    seconds, model = seconds_of(DirectAssignmentHDP(n_components, **settings, random_state=seed).fit, train)
    return {
        "fit": round(seconds, 2),
        "bound": float(model.training_history_["elbo"][-1] / train.sum()),
        "score": completion(model, test[:N_TEST]),
        "topics": int(model.n_components_),
        "doc_concentration": float(model.doc_concentration_),
        "topic_concentration": float(model.topic_concentration_),
        "topic_word_prior": float(model.topic_word_prior_),
    }


def measure_bars(part, method, n_components, seed):
    n, length, size, _, _ = BARS[part]
    prior = 0.1
    if part == "ranks":
        shares = 1 / np.arange(1, 2 * size + 1)
        prior = 0.1 * 2 * size * np.random.RandomState(seed).permutation(shares) / shares.sum()
    bars = make_bars(n + 200, size=size, doc_length=length, doc_topic_prior=prior, random_state=seed)
    model = DirectAssignmentHDP(n_components, **METHODS[method], random_state=seed)
    seconds, _ = seconds_of(model.fit, bars.data[:n])
    test = bars.data[n:]
    return {
        "fit": round(seconds, 2),
        "topics": int(model.n_components_),
        "score": completion(model, test),
        "truth": completion(bars.components + 1e-12, test, bars.doc_topic_prior),
    }


def runs_of(part):
    """What there is to measure for a part."""
    if part in BARS:
        starts = BARS_STARTS if part == "bars" else OTHER_BARS_STARTS
        seeds = BARS_SEEDS if part == "bars" else OTHER_BARS_SEEDS
        yield from ((part, *run) for run in product(METHODS, starts, seeds))
    else:
        yield from ((part, *run) for run in product(TEXTS[part][0], SEEDS))


# Tables and pictures, from what the cache has.


def found(cache, part):
    """(run without its part, row) of the runs that are there."""
    return [(run[1:], cache.rows[run]) for run in runs_of(part) if run in cache.rows]


def by_topics(cache, part):
    """Topics given -> rows of all seeds."""
    return grouped((n, row) for (n, _), row in found(cache, part))


def best_bound(cache):
    """Of all runs on texts; None where there are none."""
    return max((row["bound"] for part in TEXTS for _, row in found(cache, part)), default=None)


def gap(row, best):
    """Percent that its bound is below the best."""
    return 100 * (best - row["bound"]) / abs(best)


def write_texts(study):
    """A row for each run: the bound, the score and the parameters that are learned."""
    table, best = [], best_bound(study.cache)
    for part in TEXTS:
        for (n, seed), row in found(study.cache, part):
            cells = [f"{row['bound']:.4f}", f"{gap(row, best):.3f}", f"{row['score']:.4f}"]
            cells += [f"{row['doc_concentration']:.2f}", f"{row['topic_word_prior']:.3f}", row["fit"]]
            table.append([LABELS[part], n, seed, row["topics"], *cells])
    head = ["topics", "number at the start", "seed", "at the end", "bound, nats per word", "gap, percent"]
    study.write("texts", [*head, "held-out score", "alpha", "eta", "seconds"], table)


def write_ranges(study):
    """The numbers of topics that the bound does not tell apart, and those that predict best."""
    table, best = [], best_bound(study.cache)
    for part in TEXTS:
        rows = [row for _, row in found(study.cache, part)]
        if rows:
            highest = max(row["bound"] for row in rows)
            gaps = [gap(row, highest) for row in rows]
            near = [row["topics"] for row, each in zip(rows, gaps) if each <= NEAR]
            first = max(rows, key=lambda row: row["score"])
            cells = [f"{gap(max(rows, key=lambda row: row['bound']), best):.3f}", f"{max(gaps):.3f}"]
            cells += [min(near), max(near), first["topics"], f"{first['score']:.4f}"]
            table.append([LABELS[part], len(rows), f"{highest:.4f}", *cells])
    head = ["topics", "runs", "highest bound", "below the best of all, percent", "widest gap, percent"]
    head += [f"fewest topics within {NEAR} percent of the highest bound", "most", "topics of the best score"]
    study.write("ranges", [*head, "best score"], table)


def write_bars(study):
    """How often the number of bars is found."""
    table = []
    for part, (_, _, _, (low, high), share) in BARS.items():
        for method in METHODS:
            rows = [row for run, row in found(study.cache, part) if run[0] == method]
            if rows:
                numbers = [row["topics"] for row in rows]
                hits = sum(low <= n <= high for n in numbers)
                gaps = [row["score"] - row["truth"] for row in rows]
                counts = [min(numbers), max(numbers), f"{low} to {high}", hits, f"{share:.0%}"]
                spread = [f"{min(gaps):.4f}", f"{max(gaps):.4f}"]
                seconds = f"{np.median([row['fit'] for row in rows]):.1f}"
                table.append([part, method, len(rows), *counts, *spread, seconds])
    if not table:
        return
    head = ["documents", "method", "runs", "fewest topics", "most", "counts as found", "runs that find it"]
    head += ["share that should", "lowest score less the truth's", "highest", "median seconds"]
    study.write("bars", head, table)


def draw(study):
    """Bounds and scores by the number of topics."""
    titles = {"bound": "bound of KOS", "score": "held-out score"}
    figure, axes = panels(list(titles.values()), 2)
    looks = styles(list(LABELS.values()))
    for what, title in titles.items():
        axis = axes[title]
        for part, look in zip(TEXTS, looks.values()):
            groups = by_topics(study.cache, part)
            rows = [row for group in groups.values() for row in group]
            if part == "fixed":
                means = [np.mean([row[what] for row in group]) for group in groups.values()]
                axis.plot(list(groups), means, **look)
            pairs = [(n, row) for n, group in groups.items() for row in group]
            points = [row["topics"] if part == "moving" else n for n, row in pairs]
            dots = {**look, "linestyle": "", "marker": "o"}
            axis.plot(points, [row[what] for row in rows], label=LABELS[part], **dots)
        axis.set(xlabel="topics", ylabel="nats per word", xscale="log")
    finish(figure, study.path(".svg"))


def write_tables(study):
    for write in (write_texts, write_ranges, write_bars):
        write(study)


def main():
    parser = new_parser(__doc__, runs=True)
    parser.add_argument("--parts", nargs="+", choices=[*TEXTS, *BARS], default=[*TEXTS, *BARS])
    arguments = parser.parse_args()
    study = Study("hdp_bound", arguments)
    study.measure(measure, [run for part in arguments.parts for run in runs_of(part)])
    write_tables(study)
    draw(study)


if __name__ == "__main__":
    main()
