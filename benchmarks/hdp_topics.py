"""How many topics the samplers of the HDP find, from few topics and from many, and how well they predict.

    python benchmarks/hdp_topics.py [--chain-seconds 3600]

chain   the truth: CollapsedGibbsHDP from 20 and 300 topics, on KOS also without its split and merge moves
fixed   HybridHDP with at most 5 to 1000 topics, three seeds
learned the same with its defaults, by which it learns its concentrations
moving  HybridHDP(split_merge=True) from 1, 5, 20, 100 and 300 topics, three seeds
beside  HybridHDP with at most as many topics as a moving one has found, the same seed and passes

On a corpus all but "learned" have the same concentrations (CONCENTRATIONS: near those that a chain draws) and
the same topic_word_prior, the default of CollapsedGibbsHDP. A topic is in use if it has a token; the topics
that hold 99 percent of the tokens are counted beside. Scores are document completion on 500 test documents at
most; seconds are processor time of training in one thread, without scoring. Intervals are of 95 percent over
seeds (Student's t).
"""

from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, line, panels, styles
from _study import Study, extremes, grouped, interval, new_parser, seconds_of
from _traces import SEED, completion, trace_of_sweeps

from sktopic.hdp import CollapsedGibbsHDP, HybridHDP

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
MOVING_STARTS = {True: (1, 5, 20, 100, 300), False: (5, 100)}
METHODS = {"fixed": "HybridHDP", "learned": "HybridHDP, concentrations learned", "moving": "HybridHDP, moves"}
PASSES = 20
# Share of the tokens that the topics counted hold.
HELD = 0.99


def holding(model, share=HELD):
    """How many of the largest topics hold that share of the tokens."""
    totals = np.sort(model.topic_word_counts_.sum(axis=1))[::-1].cumsum()
    return int(np.searchsorted(totals, share * totals[-1])) + 1


def note(trace, model, test):
    counted = {"topics": int(model.n_components_), "holding": holding(model), "passes": int(model.n_iter_)}
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
    n_components, seed = reversed(run[1:]) if part == "beside" else run
    settings = {} if part == "learned" else {**given(corpus), "max_iter": PASSES}
    if part == "moving":
        settings["split_merge"] = True
    train, test, _ = load(corpus)
    seconds, model = seconds_of(HybridHDP(n_components, **settings, random_state=seed).fit, train)
    end = {"seconds": round(seconds, 3), "score": completion(model, test[:N_TEST])}
    counted = {"topics": int(model.n_components_), "holding": holding(model), "passes": model.n_iter_}
    return {"trace": [{**end, **counted}]}


def given(corpus):
    root, documents = CONCENTRATIONS[corpus]
    return {"topic_concentration": root, "doc_concentration": documents, "topic_word_prior": TOPIC_WORD_PRIOR}


def measure_chain(corpus, method, start, seed, seconds):
    train, test, _ = load(corpus)
    settings = {**CHAINS[method], **given(corpus), "max_iter": 10**6, "evaluate_every": 0}
    model = CollapsedGibbsHDP(start, **settings, random_state=seed)
    aloud = noted_aloud((corpus, method, start))
    return {"trace": trace_of_sweeps(model, train, test[:N_TEST], seconds, aloud, first=1, factor=1.2)}


PARTS = ("chain", "fixed", "learned", "moving", "beside")


def runs_of(part, cache):
    """What there is to measure for a part, cheap corpora first."""
    if part == "beside":
        yield from ((part, *run, end["topics"]) for run, end in ends(cache, "moving"))
        return
    for corpus in CORPORA if part == "learned" else CONCENTRATIONS:
        if part == "chain":
            methods = list(CHAINS) if corpus == "kos" else list(CHAINS)[:1]
            yield from ((part, corpus, method, n, SEED) for method, n in product(methods, CHAIN_STARTS))
        else:
            numbers = MOVING_STARTS if part == "moving" else TRUNCATIONS
            yield from ((part, corpus, n, s) for n, s in product(numbers[corpus in IN_FULL], SEEDS))


# Tables and a picture, from what the cache has.


def ends(cache, part):
    """(run without its part, last note) of the runs that are there."""
    runs = [run for run in runs_of(part, cache) if run in cache.rows]
    return [(run[1:], cache.rows[run]["trace"][-1]) for run in runs]


def all_ends(cache):
    """(corpus, method, start, seed), last note."""
    yield from ends(cache, "chain")
    for part, method in METHODS.items():
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


def write_agreement(study):
    """What starts and seeds leave of a difference, by corpus and method."""
    table = []
    for corpus, method in product(CONCENTRATIONS, (*CHAINS, METHODS["moving"])):
        found = [(run, end) for run, end in all_ends(study.cache) if run[:2] == (corpus, method)]
        if len(found) > 1:
            counts, scores = ([end[name] for _, end in found] for name in ("holding", "score"))
            cells = [min(counts), max(counts), f"{max(counts) / min(counts):.2f}"]
            cells += [f"{min(scores):.4f}", f"{max(scores):.4f}", f"{max(scores) - min(scores):.4f}"]
            table.append([corpus, method, len(found), *cells])
    head = ["corpus", "method", "runs", "fewest topics that hold 99 %", "most", "ratio", "lowest score"]
    study.write("agreement", [*head, "highest", "difference"], table)


def write_beside(study):
    """Moving topics against as many that are given."""
    moving, groups = dict(ends(study.cache, "moving")), {}
    for (corpus, start, seed, _), end in ends(study.cache, "beside"):
        own = moving[corpus, start, seed]
        pair = own["score"] - end["score"], own["seconds"] / end["seconds"], own["topics"]
        groups.setdefault((corpus, start), []).append(pair)
    table = []
    for what, pairs in groups.items():
        gains, times, topics = zip(*pairs)
        cells = [cell_of(topics, 0), cell_of(gains, 4), f"{np.median(times):.2f}"]
        table.append([*what, len(pairs), *cells])
    head = ["corpus", "topics at the start", "seeds", "topics found", "score less that with so many given"]
    study.write("beside", [*head, "seconds over its seconds"], table)


def draw_curve(study):
    """Scores by the number of topics allowed, and how many there are by chains and by moves."""
    found = list(all_ends(study.cache))
    corpora = [corpus for corpus in CORPORA if any(run[0] == corpus for run, _ in found)]
    figure, axes = panels(corpora, 2)
    allowed, free = [METHODS["fixed"], METHODS["learned"]], [*CHAINS, METHODS["moving"]]
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
    for write in (write_ends, write_intervals, write_curves, write_agreement, write_beside):
        write(study)


def main():
    parser = new_parser(__doc__, runs=True)
    parser.add_argument("--chain-seconds", type=float, default=3600.0, help="processor time of each chain")
    arguments = parser.parse_args()
    study = Study("hdp_topics", arguments)
    for part in PARTS:
        more = (arguments.chain_seconds,) if part == "chain" else ()
        study.measure(measure, list(runs_of(part, study.cache)), lambda _, more=more: more)
    write_tables(study)
    draw_curve(study)


if __name__ == "__main__":
    main()
