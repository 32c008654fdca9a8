"""The experiments of Bryant and Sudderth (2012) again.

    python benchmarks/split_merge_hdp_paper.py

bars    figure 2 (a, d, g): 2000 documents of 20 bars, from eight numbers of topics, corpora and seeds
nips    figure 2 (b, e, h): 1392 papers, the same seconds for each method
splits  nips with the moves of the paper, but without merges
arxiv   figure 2 (c, f, i): 490 000 abstracts as a stream, in the place of the New York Times, as nips
stream  arxiv to the end of the stream, with the moves of the paper, which take longer than the others
rates   NIPS, RATE_PASSES passes with several values of learning_decay
bound   the bound and the held-out score, with moves and without, ten passes

oHDP-SM is DirectAssignmentHDP with its defaults, on the papers with OUR_PASSES; "oHDP-SM, paper" makes the
choices of the paper (PAPER). oHDP has no moves, bHDP is that by memoized training in one batch, oHDP-CRF is
OnlineVariationalHDP ("gensim": its HdpModel, a port of the authors' program), and CGS is CollapsedGibbsHDP
without moves. Concentrations are learned where the model can, and but for oHDP-SM also topic_word_prior.
learning_decay is 0.5 and learning_offset 1. Batches have 200 documents, 10 000 in the stream, whose length is
given, as in the paper. Methods for batches see the first of five parts of arXiv only. Batch inference ends
when its bound has risen by less than BOUND_RISE while the time grew by two fifths. A run of nips or arxiv
ends after SECONDS of processor time if not before.

Scores are document completion of at most 500 test documents. Times are processor time of training in one
thread, without scoring. Intervals are of 95 percent over seeds (Student's t).
"""

from collections import Counter
from itertools import product
from unittest import mock

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, note_seeds, panels, styles
from _study import Study, grouped, interval, new_parser, shown
from _traces import SEED, Trace, completion, gensim_trace, trace_of, trace_of_sweeps, traced

from sktopic import hdp
from sktopic.datasets import make_bars
from sktopic.hdp import _batch_proposals

BARS_STARTS = (2, 5, 10, 20, 40, 50, 80, 100)
# 400 updates, as in figure 2.
BARS_PASSES = 40
BARS_RUNS = {"oHDP-SM": BARS_STARTS, "oHDP-SM, paper": BARS_STARTS, "oHDP": (20, 50)}
BOUND_PASSES = 10
BOUND_RUNS = ((True, 100), (False, 100), (False, 300))
# Of each part. Runs of MORE_SEEDS have more.
SEEDS = {
    "bars": range(10),
    "rates": range(10),
    "nips": range(3),
    "splits": range(3),
    "arxiv": range(3),
    "stream": range(3),
}
# As many as the paper's runs on NIPS saw.
NIPS_DOCUMENTS = 1_500_000
# Of methods that see one part of the stream again and again.
LEAST_PASSES = 100
# Of oHDP-SM, whose last passes are others than those before.
OUR_PASSES = 20
# Documents of the stream and of a batch.
STREAM, STREAM_BATCH = 490_000, 10_000
ARXIV_FILES = tuple(f"arxiv_{i}" for i in range(5))
# The paper's learning_decay, and slower ones.
DECAYS, RATE_PASSES = (0.5, 0.7, 0.9), 20
# Most seconds of processor time for a run.
SECONDS = {"nips": 120, "arxiv": 200}
# Of the notes of a run on text: a score takes some seconds.
SELDOM = {"first": 0.5, "factor": 1.6}
# Nats a token, of batch inference.
BOUND_RISE = 1e-4
LEARNED = {"topic_word_prior": "auto"}
PAPER = {**LEARNED, "move_proposals": "restricted", "final_moves": False}
FIXED_NUMBER = {**LEARNED, "split_merge": False}
BATCH = {**FIXED_NUMBER, "learning_method": "memoized", "batch_size": 1_000_000}  # more than documents
METHODS = {
    "oHDP-SM": (hdp.DirectAssignmentHDP, {}),
    "oHDP-SM, paper": (hdp.DirectAssignmentHDP, PAPER),
    "oHDP": (hdp.DirectAssignmentHDP, FIXED_NUMBER),
    "bHDP": (hdp.DirectAssignmentHDP, BATCH),
    "oHDP-CRF": (hdp.OnlineVariationalHDP, {}),
    "HybridHDP": (hdp.HybridHDP, {}),
    "CGS": (hdp.CollapsedGibbsHDP, {"split_merge": False, "evaluate_every": 0}),
    "oHDP-CRF, gensim": (gensim_trace, {"chunksize": 200, "kappa": 0.5, "tau": 2.0, "K": 20}),
}
# Those of figure 2, and ours.
SM = "oHDP-SM, paper"
NIPS_RUNS = ((SM, 100), ("oHDP", 300), ("oHDP", 1000), (SM, 300), ("bHDP", 300))
NIPS_RUNS += (("CGS", 300), ("oHDP-SM", 100), ("oHDP-CRF", 300), ("HybridHDP", 300), ("bHDP", 1000))
# And one with as many topics as are left with moves.
NIPS_RUNS += (("oHDP-CRF, gensim", 300), ("oHDP", 10))
ARXIV_RUNS = ((SM, 200), ("oHDP", 300), ("oHDP", 500), ("oHDP-SM", 200), ("oHDP-CRF", 300))
ARXIV_RUNS += (("HybridHDP", 300), ("bHDP", 300), ("CGS", 300))
SPLITS_RUNS = ((SM, 100), (SM, 300))
RUNS_ON_TEXT = {"nips": NIPS_RUNS, "splits": SPLITS_RUNS, "arxiv": ARXIV_RUNS, "stream": ((SM, 200),)}
# Numbers of seeds, where the interval of a claim from three crosses a margin.
MORE_SEEDS = {
    "splits": dict.fromkeys(SPLITS_RUNS, 5),
    "stream": {(SM, 200): 10},
    "arxiv": dict.fromkeys((("oHDP", 300), ("oHDP", 500), (SM, 200)), 10),
    "nips": dict.fromkeys((("oHDP", 300), ("oHDP-CRF", 300), ("bHDP", 1000)), 5)
    | dict.fromkeys((*NIPS_RUNS[2:5], (SM, 100), ("oHDP", 10)), 10),
}
BATCH_METHODS = ("bHDP", "CGS")
PARAMETERS = ("topic_concentration", "doc_concentration", "topic_word_prior")


def documents_of(corpus):
    train, test, _ = load(corpus)
    return train, test[:N_TEST]


def note(trace, model, test, **more):
    """Let a trace have score, topics, documents seen, and parameters as they are now."""
    batch = isinstance(model, hdp.CollapsedGibbsHDP)
    seen = model.n_samples_seen_ * (model.n_iter_ if batch else 1)
    parameters = {name: float(value) for name in PARAMETERS if (value := getattr(model, f"{name}_", None))}
    more |= {"topics": int(model.n_components_), "documents": int(seen), **parameters}
    trace.note(lambda: completion(model, test), **more)


def noting_bound(train):
    """A note that has the bound of the corpus too, and ends the run when that no longer rises."""

    def noting(trace, model, test):
        note(trace, model, test, bound=lambda: float(model.elbo(train) / train.sum()))
        bounds = [row["bound"] for row in trace.rows[-2:]]
        if len(bounds) == 2 and bounds[1] - bounds[0] < BOUND_RISE:
            trace.end()

    return noting


# The runs.


def measure_bars(method, n_components, seed):
    """A run on bars, and the score of the topics that they were made of."""
    bars = make_bars(2200, size=10, doc_length=250, random_state=seed)
    train, test = bars.data[:2000], bars.data[2000:]
    kind, settings = METHODS[method]
    model = kind(n_components, **settings, max_iter=BARS_PASSES, random_state=seed)
    trace = trace_of(model, train, test, np.inf, first=0.005, factor=1.2)
    truth = completion(bars.components + 1e-12, test, bars.doc_topic_prior)
    return {"trace": trace, "truth": truth, "moves": moves_by_quarter(model, model.n_iter_ * train.shape[0])}


def moves_by_quarter(model, n_samples):
    """Numbers of moves in the first, second, third and last quarter of the documents seen."""
    if not model.split_merge:
        return [0, 0, 0, 0]
    return np.histogram(model.move_history_["n_samples"], 4, (0, n_samples))[0].tolist()


def whole_trace(method, n_components, seed, train, test, seconds):
    """The trace of a run whose corpus is in memory."""
    kind, settings = METHODS[method]
    if kind is gensim_trace:
        return gensim_trace(train, test, seconds, seed, n_components, settings, **SELDOM)
    passes = max(-(-NIPS_DOCUMENTS // train.shape[0]), LEAST_PASSES)
    passes = OUR_PASSES if method == "oHDP-SM" else passes
    model = kind(n_components, **settings, max_iter=passes, random_state=seed)
    noting = noting_bound(train) if method == "bHDP" else note
    rhythm = {"factor": 1.4} if method == "bHDP" else SELDOM
    if method == "CGS":
        return trace_of_sweeps(model, train, test, seconds, noting, **rhythm)
    return trace_of(model, train, test, seconds, noting, **rhythm)


def measure_nips(method, n_components, seed):
    train, test = documents_of("nips1740")
    return {"trace": whole_trace(method, n_components, seed, train, test, SECONDS["nips"])}


def measure_splits(method, n_components, seed):
    """As `measure_nips`, without merges: no covariance is above infinity."""
    with mock.patch.object(_batch_proposals, "LEAST_COVARIANCE", np.inf):
        return measure_nips(method, n_components, seed)


def measure_rates(method, n_components, decay, seed):
    """The score after some passes over NIPS."""
    train, test = documents_of("nips1740")
    kind, settings = METHODS[method]
    settings = {**settings, "learning_decay": decay, "max_iter": RATE_PASSES, "random_state": seed}
    model = kind(n_components, **settings).fit(train)
    return {"score": completion(model, test), "topics": int(model.n_components_)}


def measure_arxiv(method, n_components, seed):
    if method in BATCH_METHODS:
        train, test = documents_of(ARXIV_FILES[0])
        return {"trace": whole_trace(method, n_components, seed, train, test, SECONDS["arxiv"])}
    return measure_stream(method, n_components, seed, SECONDS["arxiv"])


def measure_stream(method, n_components, seed, seconds=np.inf):
    _, test = documents_of(ARXIV_FILES[0])
    kind, settings = METHODS[method]
    settings = {**settings, "total_samples": STREAM, "batch_size": STREAM_BATCH, "random_state": seed}
    order, trace = np.random.RandomState(seed), Trace(seconds, **SELDOM)
    model = kind(n_components, **settings)
    with traced(trace, test):
        for name in order.permutation(ARXIV_FILES):
            train, _ = documents_of(name)
            model.partial_fit(train[order.permutation(train.shape[0])])
    note(trace, model, test)
    return {"trace": trace.rows}


def measure_bound(corpus, eta, moves, n_components):
    """The bound of the training documents, and the score of the others."""
    train, test = documents_of(corpus)
    settings = {"split_merge": moves, "topic_word_prior": eta, "max_iter": BOUND_PASSES, "random_state": SEED}
    model = hdp.DirectAssignmentHDP(n_components, **settings).fit(train)
    bound = model.elbo(train) / train.sum()
    return {"bound": bound, "score": completion(model, test), "topics": int(model.n_components_)}


PARTS = {
    "bars": measure_bars,
    "nips": measure_nips,
    "splits": measure_splits,
    "arxiv": measure_arxiv,
    "stream": measure_stream,
    "rates": measure_rates,
    "bound": measure_bound,
}


def runs_of(part):
    """What there is to measure for a part, seed by seed."""
    if part == "bound":
        return [(part, c, eta, *run) for c, eta, run in product(("kos", "nips1740"), (0.1, 0.02), BOUND_RUNS)]
    runs = {
        "bars": [(method, n) for method, starts in BARS_RUNS.items() for n in starts],
        "rates": [(*run, decay) for run, decay in product(NIPS_RUNS[:2], DECAYS)],
        **RUNS_ON_TEXT,
    }[part]
    n_seeds = {run: len(SEEDS[part]) for run in runs} | MORE_SEEDS.get(part, {})
    return [(part, *run, s) for s in range(max(n_seeds.values())) for run in runs if s < n_seeds[run]]


# Tables and pictures, from what the cache has.


def found(cache, part):
    """(run without its part, row) of the runs that are there."""
    return [(run[1:], cache.rows[run]) for run in runs_of(part) if run in cache.rows]


def draw_figure(study):
    """Figure 2: a column for each part; a line for the middle of the seeds, a shade from least to most.

    By documents, as in the paper, or by time where all methods have the same. There the first row has the
    number of topics at the start of a line, where its method has several.
    """
    corpora = [corpus for corpus in FIGURE if found(study.cache, corpus)]
    titles = [f"{corpus}: {what}" for what in ("score", "topics", "score by topics") for corpus in corpora]
    figure, axes = panels(titles, max(len(corpora), 1))
    looks = styles(METHODS)
    for corpus in corpora:
        named, rows = set(), found(study.cache, corpus)
        clock = "seconds" if corpus in SECONDS else "documents"
        groups = grouped((tuple(what), row["trace"]) for (*what, _), row in rows)
        several, starts = Counter(method for method, _ in groups), []
        for (method, start), traces in groups.items():
            look = {**looks[method], "marker": "", "linewidth": 0.9}
            label = method if method not in named else None
            named.add(method)
            grid = common_grid(traces, clock)
            values = {name: on_grid(traces, name, grid, clock) for name in ("score", "topics")}
            for name, of_seeds in values.items():
                middle = np.median(of_seeds, axis=0)
                axis = axes[f"{corpus}: {name}"]
                axis.plot(grid, middle, **look, label=label)
                low, high = of_seeds.min(axis=0), of_seeds.max(axis=0)
                axis.fill_between(grid, low, high, alpha=0.2, color=look["color"], linewidth=0)
                note_seeds(axis, len(traces))
                if name == "score" and corpus in SECONDS and several[method] > 1:
                    starts.append((f"{start} ", grid, middle, look["color"]))
            axis = axes[f"{corpus}: score by topics"]
            note_seeds(axis, len(traces))
            for topics, score in zip(values["topics"], values["score"]):
                axis.plot(topics, score, **look)
        top = 0.05 + max(note["score"] for traces in groups.values() for trace in traces for note in trace)
        low = top - (1.0 if corpus == "bars" else 1.2)
        scale = "linear" if corpus == "bars" else "log"
        across = {"xlabel": f"{clock} {'of training' if corpus in SECONDS else 'seen'}", "xscale": scale}
        axes[f"{corpus}: score"].set(**across, ylabel="nats per hidden word", ylim=(low, top))
        for i, (text, x, y, color) in enumerate(starts):
            first = np.argmax(y > low)  # where the line enters the panel
            place = {"horizontalalignment": "right", "verticalalignment": ("bottom", "top")[i % 2]}
            axes[f"{corpus}: score"].text(x[first], y[first], text, fontsize=7, color=color, **place)
        axes[f"{corpus}: topics"].set(**across, ylabel="topics in use", yscale="log")
        axis = axes[f"{corpus}: score by topics"]
        axis.set(xlabel="topics in use", ylabel="nats per hidden word", xscale="log", ylim=(low, top))
    finish(figure, study.path("_paper.svg"), 7)


def common_grid(traces, clock):
    """Seconds, or documents seen, at which all traces have values."""
    first = max(trace[0][clock] for trace in traces)
    last = min(trace[-1][clock] for trace in traces)
    return np.geomspace(first, max(last, first), 30)


def on_grid(traces, name, grid, clock):
    """The values of traces (n_traces, n_places), between notes by straight lines."""
    series = ([[row[each] for row in trace] for each in (clock, name)] for trace in traces)
    return np.array([np.interp(grid, *each) for each in series])


FIGURE = ("bars", "nips", "arxiv")


def write_bars(study):
    """Where runs on bars end, by their start."""
    table = []
    rows = found(study.cache, "bars")
    for method, starts in BARS_RUNS.items():
        for n in starts:
            ends = [(row["trace"][-1], row["truth"]) for run, row in rows if run[:2] == (method, n)]
            if ends:
                counts = " ".join(str(end["topics"]) for end, _ in ends)
                gaps = [end["score"] - truth for end, truth in ends]
                seconds = np.median([end["seconds"] for end, _ in ends])
                table.append([method, n, counts, f"{min(gaps):.4f}", f"{max(gaps):.4f}", f"{seconds:.1f}"])
    head = ["method", "topics at the start", "at the end, by seed", "lowest score less the truth's"]
    study.write("bars", [*head, "highest", "median seconds"], table)


def write_ends(study, part):
    """Where runs on text end, best first: means over seeds."""
    table, rows = [], found(study.cache, part)
    if part == "stream":  # with those that see all documents in the time of arxiv
        rows += [(run, row) for run, row in found(study.cache, "arxiv") if sees_stream(row)]
    groups = grouped((tuple(what), row["trace"][-1]) for (*what, _), row in rows)
    for (method, n), ends in groups.items():
        scores = shown(interval([end["score"] for end in ends]))
        topics = [str(end["topics"]) for end in ends]
        learned = shown([np.mean([end.get(name, np.nan) for end in ends]) for name in PARAMETERS], ".3g")
        means = [f"{np.mean([end[name] for end in ends]):.0f}" for name in ("seconds", "documents")]
        table.append([method, n, len(ends), *scores, " ".join(topics), *learned, *means])
    table.sort(key=lambda line: -float(line[3]))
    head = ["method", "topics at the start (or at most)", "seeds", "score", "95 percent interval from", "to"]
    head += ["topics in use, by seed", "gamma", "alpha", "eta", "seconds", "documents seen"]
    study.write(part, head, table)


def sees_stream(row):
    return row["trace"][-1]["documents"] == STREAM


def write_small(study):
    table = []
    for (corpus, eta, with_moves, n), row in found(study.cache, "bound"):
        name = "with moves" if with_moves else "without"
        table.append([corpus, eta, name, n, f"{row['bound']:.4f}", f"{row['score']:.4f}", row["topics"]])
    head = ["corpus", "topic_word_prior", "moves", "topics at the start", "bound, nats per word"]
    study.write("bound", [*head, "held-out score, nats per word", "topics in use"], table)


def write_rates(study):
    """What slower learning rates end with, on NIPS."""
    table = []
    groups = grouped((tuple(what), row) for (*what, _), row in found(study.cache, "rates"))
    for what, rows in groups.items():
        topics = " ".join(str(row["topics"]) for row in rows)
        table.append([*what, len(rows), *shown(interval([row["score"] for row in rows])), topics])
    head = ["method", "topics at the start", "learning_decay", "seeds", "score", "95 percent interval from"]
    study.write("rates", [*head, "to", "topics in use, by seed"], table)


def write_texts(study):
    """The tables of runs on text, once there are any."""
    parts = [part for part in RUNS_ON_TEXT if found(study.cache, part)]
    for part in parts:
        write_ends(study, part)


def main():
    study = Study("split_merge_hdp", new_parser(__doc__, runs=True).parse_args())
    study.measure(PARTS, [run for part in PARTS for run in runs_of(part)])
    write_tables(study)


def write_tables(study):
    for write in (draw_figure, write_bars, write_rates, write_small, write_texts):
        write(study)


if __name__ == "__main__":
    main()
