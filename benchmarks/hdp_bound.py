"""What the lower bound says of the number of topics: DirectAssignmentHDP by memoized inference.

    python benchmarks/hdp_bound.py [--short] [--jobs 2] [--parts fixed moving bars ranks brief] [--estimate]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped. All of it goes
to benchmarks/output/, or with --update to doc/benchmarks/ and benchmarks/runs/. --short takes some minutes
with few documents, to see that all works; --estimate tries each kind of run for some passes and
prints how long all would take.

fixed   bound and held-out score without moves, with 2 to 300 topics, three seeds
moving  the same with moves, from 5, 20, 100 and 300 topics, three seeds
bars    2000 documents of 20 bars, from eight numbers of topics, five corpora and seeds, online and memoized
ranks   2000 documents of 50 bars whose shares fall as 1 / rank, from 20 and 100 topics, ten seeds each
brief   10 000 documents of 20 words of 20 bars, the same

fixed and moving are on KOS and NIPS, each with concentrations and topic_word_prior learned, and with given
ones (PRIORS). Bounds are those of all training documents, inferred anew, a word; "gap" is what the bound is
below the best of all runs with the same prior, in percent. Scores are those of document_completion. Intervals
are of 95 percent over seeds (Student's t).
"""

import functools
import json
import time
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, finish, interval, new_parser, panels, print_estimates, styles
from _traces import completion

from sktopic.datasets import make_bars
from sktopic.hdp import DirectAssignmentHDP

CORPORA = ("kos", "nips1740")
PASSES, BARS_PASSES = 50, 20
SEEDS = range(3)
FIXED = (2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
STARTS = (5, 20, 100, 300)
# Of documents, and of words in topics.
PRIORS = {
    "learned": ("auto", "auto"),
    "alpha 1, eta 0.05": (1.0, 0.05),
    "alpha 3, eta 0.3": (3.0, 0.3),
}
BARS_STARTS = (2, 5, 10, 20, 40, 50, 80, 100)
BARS_SEEDS, OTHER_BARS_SEEDS = range(5), range(10)
OTHER_BARS_STARTS = (20, 100)
METHODS = {
    "online": {},
    "memoized": {"learning_method": "memoized", "max_iter": BARS_PASSES},
}
# Part -> documents, words of each, side of the grid, numbers of topics that count, and in which share of runs
BARS = {
    "bars": (2000, 250, 10, (20, 20), 1.0),
    "ranks": (2000, 250, 25, (45, 52), 0.8),
    "brief": (10_000, 20, 10, (19, 22), 0.8),
}
# A range of numbers of topics whose bound is that near to the best, in percent.
NEAR = 0.1


def key_of(run):
    return json.dumps(run)


# The runs.


def measure(run, short):
    """One run: a row of the cache."""
    start = time.process_time()
    measured = measure_bars if run[0] in BARS else measure_text
    return {"run": key_of(run), **measured(run, short), "seconds": round(time.process_time() - start, 2)}


def text_model(run, max_iter):
    part, _, prior, n_components, seed = run
    alpha, eta = PRIORS[prior]
    return DirectAssignmentHDP(
        n_components,
        learning_method="memoized",
        split_merge=part == "moving",
        doc_concentration=alpha,
        topic_word_prior=eta,
        max_iter=max_iter,
        random_state=seed,
    )


def documents_of(corpus, short):
    train, test, _ = load(corpus)
    return train[: 300 if short else None], test[: 50 if short else N_TEST]


def measure_text(run, short):
    train, test = documents_of(run[1], short)
    model = text_model(run, 2 if short else PASSES)
    start = time.process_time()
    model.fit(train)
    fit = time.process_time() - start
    return {
        "fit": round(fit, 2),
        "bound": float(model.elbo(train) / train.sum()),
        "score": completion(model, test),
        "topics": int(model.n_components_),
        "doc_concentration": float(model.doc_concentration_),
        "topic_concentration": float(model.topic_concentration_),
        "topic_word_prior": float(model.topic_word_prior_),
    }


def bars_of(part, short, seed):
    n, length, size, _, _ = BARS[part]
    prior = 0.1
    if part == "ranks":
        shares = 1 / np.arange(1, 2 * size + 1)
        prior = 0.1 * 2 * size * np.random.RandomState(seed).permutation(shares) / shares.sum()
    n = 300 if short else n
    return make_bars(n + 200, size=size, doc_length=length, doc_topic_prior=prior, random_state=seed), n


def measure_bars(run, short):
    part, method, n_components, seed = run
    bars, n = bars_of(part, short, seed)
    train, test = bars.data[:n], bars.data[n:]
    model = DirectAssignmentHDP(n_components, **METHODS[method], random_state=seed)
    start = time.process_time()
    model.fit(train)
    return {
        "fit": round(time.process_time() - start, 2),
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
        starts = FIXED if part == "fixed" else STARTS
        yield from ((part, *run) for run in product(CORPORA, PRIORS, starts, SEEDS))


TRIAL_PASSES = 2


def expected_seconds(run):
    """Of processor time, from a trial with few passes, or few documents."""
    if run[0] in BARS:
        return trial(*run[:3])
    part, corpus, _, n_components, _ = run
    return trial(part, corpus, n_components)


@functools.cache
def trial(part, what, n_components):
    """For all seeds and priors."""
    if part in BARS:
        return measure((part, what, n_components, 0), short=True)["seconds"] * BARS[part][0] / 300
    train, _ = documents_of(what, short=False)
    start = time.process_time()
    text_model((part, what, "learned", n_components, 0), TRIAL_PASSES).fit(train)
    return (time.process_time() - start) * (PASSES + 1) / TRIAL_PASSES


# Tables and pictures, from what the cache has.


def found(cache, part):
    """(run without its part, row) of the runs that are there."""
    rows = [(run[1:], cache.rows.get(key_of(run))) for run in runs_of(part)]
    return [(run, row) for run, row in rows if row]


def on_text(cache, corpus, prior, part):
    """(topics given, seed, row) of the runs of a part."""
    return [(n, seed, row) for (*what, n, seed), row in found(cache, part) if what == [corpus, prior]]


def cells_with_runs(cache):
    """(corpus, prior) of which there are runs, with the best bound."""
    for cell in product(CORPORA, PRIORS):
        runs = [run for part in ("fixed", "moving") for run in on_text(cache, *cell, part)]
        if runs:
            yield *cell, max(row["bound"] for *_, row in runs)


def by_topics(runs):
    """Topics given -> rows of all seeds."""
    groups = {}
    for n, _, row in runs:
        groups.setdefault(n, []).append(row)
    return groups


def mean_of(rows, name):
    return np.mean([row[name] for row in rows])


def gap(row, best):
    """Percent that its bound is below the best."""
    return 100 * (best - row["bound"]) / abs(best)


def write_fixed(study):
    """A row for each prior and number of topics."""
    table = []
    for corpus, prior, best in cells_with_runs(study.cache):
        for n, rows in by_topics(on_text(study.cache, corpus, prior, "fixed")).items():
            gaps = [gap(row, best) for row in rows]
            cells = [f"{mean_of(rows, 'bound'):.4f}", f"{min(gaps):.3f}", f"{max(gaps):.3f}"]
            cells += [f"{x:.4f}" for x in interval([row["score"] for row in rows])]
            cells += [f"{mean_of(rows, 'doc_concentration'):.2f}", f"{mean_of(rows, 'topic_word_prior'):.3f}"]
            table.append([corpus, prior, n, len(rows), *cells])
    head = ["corpus", "prior", "topics given", "seeds", "bound, nats per word", "least gap, percent", "most"]
    head += ["held-out score", "95 percent interval from", "to", "alpha", "eta"]
    study.write("fixed", head, table)


def write_moving(study):
    """A row for each run with moves."""
    table = []
    for corpus, prior, best in cells_with_runs(study.cache):
        fixed = by_topics(on_text(study.cache, corpus, prior, "fixed"))
        highest = max((mean_of(rows, "score") for rows in fixed.values()), default=np.nan)
        for n, seed, row in on_text(study.cache, corpus, prior, "moving"):
            cells = [f"{row['bound']:.4f}", f"{gap(row, best):.3f}", f"{row['score']:.4f}"]
            cells += [f"{highest - row['score']:.4f}", f"{row['doc_concentration']:.2f}"]
            cells += [f"{row['topic_word_prior']:.3f}", row["fit"]]
            table.append([corpus, prior, n, seed, row["topics"], *cells])
    head = ["corpus", "prior", "topics at the start", "seed", "topics at the end", "bound, nats per word"]
    head += ["gap, percent", "held-out score", "best number given, less that", "alpha", "eta", "seconds"]
    study.write("moving", head, table)


def write_ranges(study):
    """The numbers of topics that the bound does not tell apart, that which predicts best, and those found."""
    table = []
    for corpus, prior, best in cells_with_runs(study.cache):
        fixed = by_topics(on_text(study.cache, corpus, prior, "fixed"))
        near = [n for n, rows in fixed.items() if min(gap(row, best) for row in rows) <= NEAR]
        cells = [min(near, default=""), max(near, default="")]
        for name in ("bound", "score"):
            cells.append(max(fixed, key=lambda n, name=name: mean_of(fixed[n], name), default=""))
        ends = [row for *_, row in on_text(study.cache, corpus, prior, "moving")]
        numbers = [row["topics"] for row in ends]
        cells += [min(numbers, default=""), max(numbers, default="")]
        table.append([corpus, prior, *cells, f"{max(gap(row, best) for row in ends):.3f}" if ends else ""])
    head = ["corpus", "prior", f"fewest topics given within {NEAR} percent of the best bound", "most"]
    head += ["topics of the highest bound", "topics of the best score", "fewest topics with moves", "most"]
    study.write("ranges", [*head, "widest gap with moves, percent"], table)


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
    head = ["documents", "method", "runs", "fewest topics", "most", "counts as found", "runs that find it"]
    head += ["share that should", "lowest score less the truth's", "highest", "median seconds"]
    study.write("bars", head, table)


def draw(study):
    """Bounds and scores by the number of topics."""
    cells = [cell[:2] for cell in cells_with_runs(study.cache)]
    titles = [f"{', '.join(cell)}: {what}" for cell in cells for what in ("bound", "score")]
    if not titles:
        return
    figure, axes = panels(titles, 2)
    looks = styles(("no moves", "with moves"))
    for cell, what in product(cells, ("bound", "score")):
        axis = axes[f"{', '.join(cell)}: {what}"]
        fixed = by_topics(on_text(study.cache, *cell, "fixed"))
        axis.plot(
            list(fixed),
            [mean_of(rows, what) for rows in fixed.values()],
            label="no moves",
            **looks["no moves"],
        )
        ends = [row for *_, row in on_text(study.cache, *cell, "moving")]
        points = [row["topics"] for row in ends], [row[what] for row in ends]
        axis.plot(*points, label="with moves", **{**looks["with moves"], "linestyle": "", "marker": "o"})
        axis.set(xlabel="topics", ylabel="nats per word", xscale="log")
    finish(figure, study.path(".png"))


def write_tables(study):
    for write in (write_fixed, write_moving, write_ranges, write_bars):
        write(study)


def main():
    parser = new_parser(__doc__, long=True)
    parts = ["fixed", "moving", *BARS]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--estimate", action="store_true", help="print how long the runs take, and stop")
    arguments = parser.parse_args()
    study = Study("hdp_bound", arguments)
    if not arguments.draw_only:
        runs = [run for part in arguments.parts for run in runs_of(part)]
        todo = [run for run in runs if key_of(run) not in study.cache.rows]
        if arguments.estimate:
            print_estimates(todo, expected_seconds, arguments.jobs)
            return
        with Pool(study, arguments.jobs, len(todo)) as pool:
            pool.measure(measure, [(run, study.short) for run in todo])
    import matplotlib

    matplotlib.use("Agg")
    write_tables(study)
    draw(study)


if __name__ == "__main__":
    main()
