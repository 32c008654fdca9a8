"""All HDPs of the library side by side, and those of tomotopy and gensim.

    python benchmarks/hdp_models.py [--short] [--jobs 2] [--estimate] [--corpora kos ...]
                                    [--models HybridHDP ...] [--seeds 1]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped. All of it goes
to benchmarks/output/, or with --update to doc/benchmarks/ and benchmarks/runs/. --short takes some minutes
with few documents, to see that all works; --estimate only prints how long the runs may take.

Each model has its defaults and is trained on six corpora with two seeds, for 30 seconds of processor time, or
until it ends before; once more from another number of topics (STARTS), to see whether the number that it ends
with depends on it. Of runs that went on for longer, the first note after 30 seconds counts. Scores are those
of document_completion: one Gibbs fold-in for all, a fifth of the words hidden of at most 500 test documents.
tomotopy's topics get a prior in proportion to their tokens times its concentration, gensim's the better of
its learned prior (hdp_to_lda) and 1 / topics. Times are processor time of training in a process of one
thread, without scoring.
"""

import json
import time
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, new_parser, print_estimates
from _traces import PEER_STARTS, PEER_TRACES, SEED, trace_of, trace_of_sweeps

from sktopic import hdp

CORPORA = ("kos", "nips1740", "reuters21578", "20news", "enron_inbox", "arxiv_0")
SEEDS = range(2)
SECONDS = 30
# Class and settings; without the numbers of topics.
MODELS = {
    "HybridHDP": ("HybridHDP", {}),
    "HybridHDP, moves": ("HybridHDP", {"split_merge": True}),
    "CollapsedGibbsHDP": ("CollapsedGibbsHDP", {}),
    "DirectAssignmentHDP": ("DirectAssignmentHDP", {}),
    "DirectAssignmentHDP, means": ("DirectAssignmentHDP", {"topic_expectation": "mean"}),
    "DirectAssignmentHDP, memoized": ("DirectAssignmentHDP", {"learning_method": "memoized"}),
    "OnlineVariationalHDP": ("OnlineVariationalHDP", {}),
    "OnlineEMHDP": ("OnlineEMHDP", {}),
    "TruncationFreeHDP": ("TruncationFreeHDP", {}),
}
# Topics at the start, or at most, for a second trial: the first is by default.
STARTS = {
    "HybridHDP": 300,
    "HybridHDP, moves": 5,
    "CollapsedGibbsHDP": 300,
    "DirectAssignmentHDP": 100,
    "DirectAssignmentHDP, means": 100,
    "DirectAssignmentHDP, memoized": 100,
    "OnlineVariationalHDP": 100,
    "OnlineEMHDP": 100,
    "TruncationFreeHDP": 20,
    "tomotopy": 100,
    "gensim": 300,
}


def key_of(run):
    return json.dumps(run)


def default_start(method):
    if method in PEER_STARTS:
        return PEER_STARTS[method]
    return getattr(hdp, MODELS[method][0])().n_components


def measure(run, short):
    """One run: a row of the cache."""
    corpus, method, start, seed = run
    begin = time.process_time()
    train, test, _ = load(corpus)
    train, test = train[: 300 if short else None], test[: 50 if short else N_TEST]
    seconds = 10 if short else SECONDS
    if method in PEER_TRACES:
        trace = PEER_TRACES[method](train, test, seconds, seed, start, first=np.inf)
    else:
        name, settings = MODELS[method]
        model = getattr(hdp, name)(start, **settings, random_state=seed)
        if name == "CollapsedGibbsHDP":
            trace = trace_of_sweeps(model, train, test, seconds, first=np.inf)
        else:
            trace = trace_of(model, train, test, seconds, first=np.inf)
    return {"run": key_of(run), "seconds": round(time.process_time() - begin, 2), "trace": trace}


def runs_of():
    """What there is to measure: defaults with one seed, then the other start, then more seeds."""
    models = list(product(CORPORA, STARTS))
    for seed in SEEDS:
        yield from ((corpus, method, default_start(method), seed) for corpus, method in models)
        if seed == SEED:
            yield from ((corpus, method, STARTS[method], seed) for corpus, method in models)


def end_of(trace):
    return next((note for note in trace if note["seconds"] >= SECONDS), trace[-1])


def ends(cache):
    """(run, note at its end) of the runs that are there."""
    rows = [(run, cache.rows.get(key_of(run))) for run in runs_of()]
    return [(run, end_of(row["trace"])) for run, row in rows if row]


def write_scores(study):
    """A row for each model: its mean score on a corpus, half the range of the seeds, and seconds."""
    found = ends(study.cache)
    table = []
    for method in STARTS:
        cells = []
        for corpus in CORPORA:
            default = default_start(method)
            of_seeds = [end for run, end in found if run[:3] == (corpus, method, default)]
            cells.append(score_cell(of_seeds) if of_seeds else "")
        table.append([method, *cells])
    study.write("", ["model", *CORPORA], [row for row in table if any(row[1:])])


def score_cell(found):
    scores, seconds = ([end[name] for end in found] for name in ("score", "seconds"))
    spread = f" ± {np.ptp(scores) / 2:.3f}" if len(found) > 1 else ""
    middle = np.median(seconds)
    return f"{np.mean(scores):.3f}{spread} ({middle:.{0 if middle >= 9.95 else 1}f} s)"


def write_topics(study):
    """A row for each model: the topics in use from the default and from the other start."""
    found, table = dict(ends(study.cache)), []
    for method, other in STARTS.items():
        default, cells = default_start(method), []
        for corpus in CORPORA:
            both = [found.get((corpus, method, start, SEED)) for start in (default, other)]
            cells.append(" / ".join(str(end["topics"]) if end else "-" for end in both) if any(both) else "")
        table.append([method, f"{default} / {other}", *cells])
    rows = [row for row in table if any(row[2:])]
    study.write("topics", ["model", "topics at the start (or at most)", *CORPORA], rows)


def write_tables(study):
    write_scores(study)
    write_topics(study)


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--models", nargs="+", choices=STARTS, default=list(STARTS))
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many of the seeds")
    parser.add_argument("--estimate", action="store_true", help="print how long the runs may take, and stop")
    arguments = parser.parse_args()
    study = Study("hdp_models", arguments)
    if not arguments.draw_only:
        chosen = arguments.corpora, arguments.models, SEEDS[: arguments.seeds]
        runs = [run for run in runs_of() if all(part in of for part, of in zip((*run[:2], run[3]), chosen))]
        todo = [run for run in runs if key_of(run) not in study.cache]
        if arguments.estimate:
            print_estimates(todo, lambda run: SECONDS, arguments.jobs)
            return
        with Pool(study, arguments.jobs, len(todo)) as pool:
            pool.measure(measure, [(run, study.short) for run in todo])
    write_tables(study)


if __name__ == "__main__":
    main()
