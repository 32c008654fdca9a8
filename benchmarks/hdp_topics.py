"""How many topics the samplers of the HDP find, from few topics and from many, and how well they predict.

    python benchmarks/hdp_topics.py [--chain-seconds 3600]

chain     the truth: CollapsedGibbsHDP from 20 and 300 topics, on KOS also without its split and merge moves
fixed     HybridHDP with at most 5 to 1000 topics, three seeds
learned   the same with its defaults, by which it learns its concentrations
moves     HybridHDP(split_merge=True), three seeds
memoized  DirectAssignmentHDP(learning_method="memoized") from 1 topic, three seeds; on KOS also from 20, 100
          and 300, on Reuters from 300
bnpy      the same with the parameters of a run of bnpy on KOS, which was measured on another machine (BNPY)

"chain" and "fixed" have the same concentrations on a corpus (CONCENTRATIONS: near those that a chain draws)
and the same topic_word_prior, the default of CollapsedGibbsHDP; the others learn them. A topic is in use if
it has a token; the topics that hold 99 percent of the tokens are counted beside. Scores are document
completion on 500 test documents at most; bounds are in nats per token of training; seconds are processor
time of training in one thread, without scoring. Intervals are of 95 percent over seeds (Student's t).
"""

from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, line, panels, styles
from _study import Study, extremes, grouped, interval, new_parser, seconds_of
from _traces import SEED, completion, trace_of_sweeps

from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP
from sktopic.inspection import topic_sizes

# Of the root and of documents.
CONCENTRATIONS = {"kos": (45.0, 2.3), "nips1740": (45.0, 5.0), "reuters21578": (35.0, 0.75)}
TOPIC_WORD_PRIOR = 0.05
CORPORA = ("kos", "nips1740", "reuters21578", "20news", "enron_inbox")
IN_FULL = ("kos", "nips1740")
SEEDS = range(3)
CHAIN_STARTS = (20, 300)
CHAINS = {"CollapsedGibbsHDP": {}, "CollapsedGibbsHDP, no moves": {"split_merge": False}}
# By whether the corpus is tried in full.
TRUNCATIONS = {True: (5, 10, 20, 50, 100, 200, 300, 500, 1000), False: (20, 100, 300, 1000)}
# Numbers of topics that memoized inference starts from, if not 1 alone.
MEMOIZED_STARTS = {"kos": (1, 20, 100, 300), "reuters21578": (1, 300), "enron_inbox": ()}
METHODS = {"fixed": "HybridHDP", "learned": "HybridHDP, concentrations learned"}
FREE = {"moves": "HybridHDP, moves", "memoized": "DirectAssignmentHDP, memoized"}
PASSES = 20
# Memoized inference with births and merges from 10 topics, by bnpy at its last commit, on a core of a virtual
# Intel Sapphire Rapids machine (2026-11-24). Its deletes ended with an error.
BNPY = {"topics": 13, "bound": -7.6837, "score": -7.635, "seconds": 221}
BNPY_PARAMETERS = {"topic_concentration": 10.0, "doc_concentration": 0.5, "topic_word_prior": 0.1}
# Share of the tokens that the topics counted hold.
HELD = 0.99


def note(trace, model, test):
    counted = {
        "topics": int(model.n_components_),
        "holding": topic_sizes(model).n_topics(HELD),
        "passes": int(model.n_iter_),
    }
    trace.note(lambda: completion(model, test), **counted)


def noted_aloud(run):
    """A note that is printed, too: chains take long."""

    def both(trace, model, test):
        note(trace, model, test)
        print(run, trace.rows[-1], flush=True)

    return both


# The runs.


def measure(part, corpus, *run):
    """The row of a run; with the seconds of a chain."""
    if part == "chain":
        return measure_chain(corpus, *run)
    n_components, seed = run
    train, test, _ = load(corpus)
    model = MODELS[part](corpus, n_components).set_params(random_state=seed)
    seconds, _ = seconds_of(model.fit, train)
    end = {"seconds": round(seconds, 3), "score": completion(model, test[:N_TEST])}
    counted = {"topics": int(model.n_components_), "passes": model.n_iter_}
    counted["holding"] = topic_sizes(model).n_topics(HELD)
    if part in ("memoized", "bnpy"):
        counted["bound"] = model.training_history_["elbo"][-1] / train.sum()
    return {"trace": [{**end, **counted}]}


MODELS = {
    "fixed": lambda corpus, n: HybridHDP(n, **given(corpus), max_iter=PASSES),
    "learned": lambda corpus, n: HybridHDP(n),
    "moves": lambda corpus, n: HybridHDP(n, split_merge=True),
    "memoized": lambda corpus, n: DirectAssignmentHDP(n, learning_method="memoized"),
    "bnpy": lambda corpus, n: DirectAssignmentHDP(n, learning_method="memoized", **BNPY_PARAMETERS),
}


def given(corpus):
    root, documents = CONCENTRATIONS[corpus]
    return {"topic_concentration": root, "doc_concentration": documents, "topic_word_prior": TOPIC_WORD_PRIOR}


def measure_chain(corpus, method, start, seed, seconds):
    train, test, _ = load(corpus)
    settings = {**CHAINS[method], **given(corpus), "max_iter": 10**6, "evaluate_every": 0}
    model = CollapsedGibbsHDP(start, **settings, random_state=seed)
    aloud = noted_aloud((corpus, method, start))
    return {"trace": trace_of_sweeps(model, train, test[:N_TEST], seconds, aloud, first=1, factor=1.2)}


PARTS = ("chain", *MODELS)


def runs_of(part):
    """What there is to measure for a part, cheap corpora first."""
    if part == "bnpy":
        yield from ((part, "kos", 1, seed) for seed in SEEDS)
        return
    for corpus in CONCENTRATIONS if part in ("chain", "fixed") else CORPORA:
        if part == "chain":
            methods = list(CHAINS) if corpus == "kos" else list(CHAINS)[:1]
            yield from ((part, corpus, method, n, SEED) for method, n in product(methods, CHAIN_STARTS))
        else:
            truncations, starts = TRUNCATIONS[corpus in IN_FULL], MEMOIZED_STARTS.get(corpus, (1,))
            numbers = {"moves": (1,), "memoized": starts}.get(part, truncations)
            yield from ((part, corpus, n, s) for n, s in product(numbers, SEEDS))


# Tables and a picture, from what the cache has.


def ends(cache, part):
    """(run without its part, last note) of the runs that are there."""
    runs = [run for run in runs_of(part) if run in cache.rows]
    return [(run[1:], cache.rows[run]["trace"][-1]) for run in runs]


def all_ends(cache):
    """(corpus, method, start, seed), last note."""
    yield from ends(cache, "chain")
    for part, method in {**METHODS, **FREE}.items():
        for (corpus, start, seed), end in ends(cache, part):
            yield (corpus, method, start, seed), end


def write_ends(study):
    """A row for each run."""
    table = []
    for run, end in all_ends(study.cache):
        counts = end["topics"], end["holding"]
        table.append([*run, *counts, f"{end['score']:.4f}", f"{end['seconds']:.1f}", end["passes"]])
    head = ["corpus", "method", "topics at the start (or at most)", "seed", "topics in use"]
    head += ["topics that hold 99 %", "score", "seconds", "passes or sweeps"]
    study.write("", head, table)


def write_intervals(study):
    """A row for each start, with intervals over seeds."""
    groups = grouped((tuple(what), end) for (*what, _), end in all_ends(study.cache))
    table = []
    for what, found in groups.items():
        cells = [cell_of([end[name] for end in found], digits) for name, digits in COLUMNS]
        table.append([*what, len(found), *cells, f"{np.median([end['seconds'] for end in found]):.1f}"])
    head = ["corpus", "method", "topics at the start (or at most)", "seeds", "topics in use"]
    study.write("intervals", [*head, "topics that hold 99 %", "score", "median seconds"], table)


COLUMNS = (("topics", 0), ("holding", 0), ("score", 3))


def cell_of(values, digits):
    """A mean with its interval."""
    mean, low, high = interval(values)
    return f"{mean:.{digits}f}" + (f" ({low:.{digits}f} to {high:.{digits}f})" if len(values) > 1 else "")


def write_curves(study):
    """A row for each number of topics allowed: mean scores, and topics that hold 99 percent."""
    for part in ("fixed", "learned"):
        found = {}
        for (corpus, n, _), end in ends(study.cache, part):
            found.setdefault(n, {}).setdefault(corpus, []).append(end)
        corpora = [corpus for corpus in CORPORA if any(corpus in of for of in found.values())]
        table = [[n, *(curve_cell(found[n].get(corpus)) for corpus in corpora)] for n in sorted(found)]
        study.write(part, ["topics at most", *corpora], table)


def curve_cell(found):
    if not found:
        return ""
    scores, counts = ([end[name] for end in found] for name in ("score", "holding"))
    spread = f" ± {np.ptp(scores) / 2:.3f}" if len(found) > 1 else ""
    return f"{np.mean(scores):.3f}{spread} ({np.mean(counts):.0f})"


RANGES = (
    ("topics", 0, "fewest topics", "most topics"),
    ("holding", 0, "fewest that hold 99 %", "most that hold 99 %"),
    ("score", 4, "lowest score", "highest score"),
    ("bound", 4, "lowest bound", "highest bound"),
    ("seconds", 0, "least seconds", "most seconds"),
)


def write_agreement(study):
    """What starts and seeds leave of a difference, by corpus and method."""
    table = []
    for corpus, method in product(CORPORA, (*CHAINS, *FREE.values())):
        found = [end for run, end in all_ends(study.cache) if run[:2] == (corpus, method)]
        if len(found) > 1:
            cells = []
            for name, digits, *_ in RANGES:
                values = [end[name] for end in found if name in end]
                cells += [f"{each(values):.{digits}f}" if values else "" for each in (min, max)]
            table.append([corpus, method, len(found), *cells])
    head = [name for _, _, *names in RANGES for name in names]
    study.write("agreement", ["corpus", "method", "runs", *head], table)


def write_bnpy(study):
    """Equal parameters: bnpy, and a row for each seed."""
    found = [("bnpy", BNPY), *(("DirectAssignmentHDP", end) for _, end in ends(study.cache, "bnpy"))]
    forms = {"topics": "d", "bound": ".3f", "score": ".3f", "seconds": ".0f"}
    table = [[model, *(format(end[name], form) for name, form in forms.items())] for model, end in found]
    study.write("bnpy", ["model", *forms], table)


def draw_curve(study):
    """Scores by the number of topics allowed, and how many there are by chains and by moves."""
    found = list(all_ends(study.cache))
    corpora = [corpus for corpus in CORPORA if any(run[0] == corpus for run, _ in found)]
    figure, axes = panels(corpora, 2)
    allowed, free = [*METHODS.values()], [*CHAINS, *FREE.values()]
    looks = styles(allowed + free)
    for corpus, axis in axes.items():
        for method in allowed:
            mine = ((run[2], end["score"]) for run, end in found if run[:2] == (corpus, method))
            scores = grouped(mine)
            if scores:
                label = f"{method}: at most so many"
                line(axis, [*scores], [*scores.values()], label, looks[method], extremes)
        for method in free:
            points = [(end["topics"], end["score"]) for run, end in found if run[:2] == (corpus, method)]
            if points:
                look = {**looks[method], "linestyle": "", "marker": "o"}
                axis.plot(*zip(*points), label=f"{method}: found", **look)
        axis.set(xlabel="topics", ylabel="nats per hidden word", xscale="log")
    finish(figure, study.path(".svg"), 1)


def write_tables(study):
    for write in (write_ends, write_intervals, write_curves, write_agreement, write_bnpy):
        write(study)


def main():
    parser = new_parser(__doc__, runs=True)
    parser.add_argument("--chain-seconds", type=float, default=3600.0, help="processor time of each chain")
    arguments = parser.parse_args()
    study = Study("hdp_topics", arguments)
    for part in PARTS:
        more = (arguments.chain_seconds,) if part == "chain" else ()
        study.measure(measure, list(runs_of(part)), lambda _, more=more: more)
    write_tables(study)
    draw_curve(study)


if __name__ == "__main__":
    main()
