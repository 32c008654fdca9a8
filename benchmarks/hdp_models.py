"""All HDPs of the library side by side, and those of tomotopy and gensim.

    python benchmarks/hdp_models.py

Each model has its defaults and is trained on six corpora with two seeds, for 30 seconds of processor time or
until it ends before; once more from another number of topics (STARTS). Of longer runs the first note after 30
seconds counts. Scores are document completion of at most 500 test documents. tomotopy's topics get a prior in
proportion to their tokens times its concentration, gensim's the better of its learned prior (hdp_to_lda) and
1 / topics. Times are processor time of training in one thread, without scoring.
"""

from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Study, new_parser
from _traces import PEER_STARTS, PEER_TRACES, SEED, trace_of, trace_of_sweeps

from sktopic import hdp

CORPORA = ("kos", "nips1740", "reuters21578", "20news", "enron_inbox", "arxiv_0")
SEEDS = range(2)
SECONDS = 30
# Class and settings; without the numbers of topics.
DIRECT = "DirectAssignmentHDP"
MODELS = {
    "HybridHDP": ("HybridHDP", {}),
    "HybridHDP, moves": ("HybridHDP", {"split_merge": True}),
    "CollapsedGibbsHDP": ("CollapsedGibbsHDP", {}),
    DIRECT: (DIRECT, {}),
    f"{DIRECT}, means": (DIRECT, {"topic_expectation": "mean"}),
    f"{DIRECT}, memoized": (DIRECT, {"learning_method": "memoized"}),
    **{name: (name, {}) for name in ("OnlineVariationalHDP", "OnlineEMHDP", "TruncationFreeHDP")},
}
# Topics at the start, or at most, for a second trial: the first is by default.
STARTS = {**dict.fromkeys(MODELS, 100), "tomotopy": 100}
STARTS |= {"HybridHDP": 300, "HybridHDP, moves": 5, "CollapsedGibbsHDP": 300, "TruncationFreeHDP": 20}
STARTS |= {"gensim": 300}


def default_start(method):
    if method in PEER_STARTS:
        return PEER_STARTS[method]
    return getattr(hdp, MODELS[method][0])().n_components or 20  # as None means


def measure(corpus, method, start, seed):
    """The row of a run."""
    train, test, _ = load(corpus)
    test = test[:N_TEST]
    if method in PEER_TRACES:
        return {"trace": PEER_TRACES[method](train, test, SECONDS, seed, start, first=np.inf)}
    name, settings = MODELS[method]
    model = getattr(hdp, name)(start, **settings, random_state=seed)
    trace = trace_of_sweeps if name == "CollapsedGibbsHDP" else trace_of
    return {"trace": trace(model, train, test, SECONDS, first=np.inf)}


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
    return [(run, end_of(cache.rows[run]["trace"])) for run in runs_of() if run in cache.rows]


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
    study = Study("hdp_models", new_parser(__doc__, runs=True).parse_args())
    study.measure(measure, runs_of())
    write_tables(study)


if __name__ == "__main__":
    main()
