"""The experiments of Burkhardt and Kramer (2017) again, and hierarchical Dirichlet processes by other ways.

    python benchmarks/hybrid_hdp_paper.py [--short] [--jobs 2] [--parts batch truncation time starts steps]
                                          [--corpora kos nips_uci enron_inbox arxiv_0] [--seeds 3]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped; tables and
pictures are drawn from the runs. All of it goes to benchmarks/output/, or with --update to doc/benchmarks/
and benchmarks/runs/. --short takes some minutes with few documents, to see that all works.

batch       figure 1: held-out score against the batch size, 100 topics at most
truncation  figure 2: held-out score against the largest number of topics, batches of 100 and 1000 documents
time        figure 3: held-out score against processor time, at most 100 and 1000 topics, with the HDPs of
            tomotopy and gensim beside ours
starts      CollapsedGibbsHDP on KOS from 1, 5, 20 and 100 topics, half an hour of processor time each
steps       token draws per second of the three samplers of documents, on KOS, one core

The first three have several seeds of the models, the others one. "paper" are the settings of the paper: both
concentrations 1, learning_decay 0.6, beta 0.01, batches of 100 documents, 5 sweeps of burn-in and 5 kept.
Where nothing is said, methods run with their defaults.

Departures from the paper: all methods see the same documents, which for its first two figures are at most
5000 a corpus, twice; in the paper it is 1000 batches, whatever their size. Enron is that of the inboxes,
and arXiv takes the place of PubMed and New York Times. A batch sampler of HDPs has no truncation; its runs
start from as many topics.

Scores are those of document_completion: one Gibbs fold-in for all, a fifth of the words hidden of at most
500 test documents. tomotopy's topics get a prior in proportion to their tokens times its concentration,
gensim's the better of its learned prior (hdp_to_lda) and 1 / topics. Beside the scores, in the first two
figures, is what the paper reports (equation 26): the likelihood of all words of these documents, with
proportions inferred from the same words in 5 + 5 sweeps. Times are processor time of training in a process of
one thread, without scoring.
"""

import json
import time
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, finish, interval, new_parser, note_seeds, panels, styles
from _traces import PEER_TRACES, SEED, completion, trace_of, trace_of_sweeps

from sktopic import OnlineEMLDA
from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference import FixedTopics, GibbsInference, GibbsStep, infer_proportions
from sktopic._kernels.random._rng import position_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._topics._word_count_views import probabilities
from sktopic.hdp import CollapsedGibbsHDP, HybridHDP, OnlineVariationalHDP
from sktopic.hdp._table_step import TableStep

LARGEST = 5000  # documents in the first two figures
PASSES = 2
BATCH_SIZES = (10, 20, 50, 100, 200, 500, 1000)
TRUNCATIONS = (50, 100, 200, 500, 1000)
TRUNCATION_BATCHES = (100, 1000)
PAPER = {
    "topic_concentration": 1.0,
    "doc_concentration": 1.0,
    "learning_decay": 0.6,
    "topic_word_prior": 0.01,
    "batch_size": 100,
    "doc_burn_in": 5,
    "doc_sweeps": 5,
}
ONLINE = {
    "HybridHDP": (HybridHDP, {}),
    "HybridHDP, paper": (HybridHDP, {**PAPER, "sampler": "sparse_table_indicator", "root_weight": "paper"}),
    "HybridHDP, sparse": (HybridHDP, {"sampler": "sparse_table_indicator"}),
    "HybridHDP, dense": (HybridHDP, {"sampler": "table_indicator"}),
    "OnlineVariationalHDP": (OnlineVariationalHDP, {}),
    "OnlineEMLDA": (OnlineEMLDA, {}),
}
GIBBS = {
    "table indicators": "table_indicator",
    "sparse table indicators": "sparse_table_indicator",
    "direct assignment": "direct_assignment",
}
MOST_SEEDS = 10
# What figures 1 and 2 measure, and what the titles of panels add for it.
MEASURES = {"score": "", "likelihood": ", eq. 26"}
# Methods of figures 1 and 2, cheap ones first.
ENDS = ("HybridHDP", "HybridHDP, paper", "OnlineEMLDA", "OnlineVariationalHDP")
# Figure 3: names, in the order of the legend.
COMPARED = ("HybridHDP", "HybridHDP, sparse", "HybridHDP, dense", "HybridHDP, paper", "OnlineVariationalHDP")
PEERS = ("tomotopy", "gensim")
N_TOPICS = (100, 1000)
STARTS = (1, 5, 20, 100)
# Passes of the hybrid and the variational methods over the corpus, beside the limit on time.
MOST_PASSES = 5


# Seconds of processor time for a run of figure 3.
CORPORA = {"kos": 60, "nips_uci": 40, "enron_inbox": 60, "arxiv_0": 60}
START_SECONDS = 1800


def key_of(run):
    return json.dumps(run)


def documents_of(corpus, short, limit=None):
    train, test, _ = load(corpus)
    return train[: 300 if short else limit], test[: 50 if short else N_TEST]


# The runs.


def measure(run, short):
    """One run: a row of the cache."""
    start = time.process_time()
    row = PARTS[run[0]](short, *run[1:])
    return {"run": key_of(run), "seconds": round(time.process_time() - start, 2), **row}


def likelihood(model, test):
    """Equation 26: nats per word of documents, with proportions inferred from the same words."""
    phi, prior, counts = model.components_, model.doc_topic_prior_, canonical_counts(test.astype(float))
    topics, step = TopicProbabilities.from_components(phi), GibbsInference(5, 5)
    with Workers(1) as workers:
        theta = infer_proportions(counts, FixedTopics(topics, prior, step, SEED), workers)
    each = [row.data @ np.log(of_row @ phi[:, row.indices]) for row, of_row in zip(counts, theta)]
    return round(float(sum(each) / counts.sum()), 4)


def measure_end(short, seed, corpus, method, n_components, batch_size):
    """A run of figures 1 and 2."""
    train, test = documents_of(corpus, short, LARGEST)
    kind, settings = ONLINE[method]
    settings = {**settings, "batch_size": batch_size, "max_iter": PASSES, "random_state": seed}
    start = time.process_time()
    model = kind(n_components, **settings).fit(train)
    seconds = time.process_time() - start
    found = {"score": completion(model, test), "likelihood": likelihood(model, test)}
    return {**found, "topics": int(model.n_components_), "fit": round(seconds, 2)}


def measure_time(short, seed, corpus, method, n_components):
    """A run of figure 3."""
    train, test = documents_of(corpus, short)
    seconds = 10 if short else CORPORA[corpus]
    if method in ONLINE:
        kind, settings = ONLINE[method]
        model = kind(n_components, **{**settings, "max_iter": MOST_PASSES, "random_state": seed})
        return {"trace": trace_of(model, train, test, seconds)}
    if method in GIBBS:
        model = new_gibbs(method, n_components, seed)
        return {"trace": trace_of_sweeps(model, train, test, seconds)}
    most = None if corpus == "kos" else seconds
    return {"trace": PEER_TRACES[method](train, test, 10 if short else most, seed)}


def new_gibbs(method, n_components, seed=SEED):
    settings = {"sampler": GIBBS[method], "max_iter": 10**6, "evaluate_every": 0, "random_state": seed}
    return CollapsedGibbsHDP(n_components, **settings)


def measure_start(short, n_components):
    """The batch sampler from some number of topics."""
    train, test = documents_of("kos", short)
    seconds = 10 if short else START_SECONDS
    model = new_gibbs("table indicators", n_components)
    return {"trace": trace_of_sweeps(model, train, test, seconds)}


STEPS = {"collapsed": GibbsStep(5, 5), "sparse": TableStep(5, 5, True), "dense": TableStep(5, 5, False)}


def measure_steps(short, n_components):
    """Nanoseconds of a token draw in each of the samplers, and of those what goes into alias tables; the
    medians of five."""
    train, _ = documents_of("kos", short, 1000)
    model = HybridHDP(n_components, max_iter=2, random_state=SEED).fit(train)
    prior = model.doc_concentration_ * model._root_weights(model.total_samples_)
    unit = model._unit(model.total_samples_)
    means = probabilities(model._statistics, unit, model.topic_word_prior_)
    reader = DocumentReader(canonical_counts(train.astype(float)))
    times = {name: [] for name in (*STEPS, "sparse, tables")}
    with Workers(1) as workers:
        for _ in range(5):
            sums, n_draws = dict.fromkeys(times, 0.0), 0
            for first in range(0, train.shape[0], 100):
                batch = reader.batch(np.arange(first, min(first + 100, train.shape[0])))
                topics = means.gather(batch.words, prior, workers)
                keys = position_keys(SEED, first, batch.n_documents)
                n_draws += 10 * batch.n_clumps
                for name, step in STEPS.items():
                    sums[name] += seconds_of(step, batch, topics, prior, keys, workers, True)
                tables = STEPS["sparse"].alias_tables
                sums["sparse, tables"] += seconds_of(tables, batch, topics, prior, workers)
            for name, total in sums.items():
                times[name].append(1e9 * total / n_draws)
    return {"nanoseconds": {name: round(float(np.median(values)), 2) for name, values in times.items()}}


def seconds_of(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


PARTS = {
    "batch": measure_end,
    "truncation": measure_end,
    "time": measure_time,
    "starts": measure_start,
    "steps": measure_steps,
}


def runs_of(part, corpora, seeds):
    """What there is to measure for a part, cheap ones first."""
    if part == "batch":
        cells = product(range(seeds), corpora, ENDS, BATCH_SIZES)
        yield from ((part, seed, c, m, 100, size) for seed, c, m, size in cells)
    if part == "truncation":
        cells = product(range(seeds), corpora, ENDS, TRUNCATIONS, TRUNCATION_BATCHES)
        yield from ((part, *cell) for cell in cells)
    if part == "time":
        for seed, corpus in product(range(seeds), corpora):
            yield from ((part, seed, corpus, method, None) for method in PEERS)
            yield from ((part, seed, corpus, m, n) for n, m in product(N_TOPICS, (*COMPARED, *GIBBS)))
    if part == "starts":
        yield from ((part, n) for n in STARTS)
    if part == "steps":
        yield from ((part, n) for n in N_TOPICS)


# Tables and pictures, from what the cache has.


def row_of(cache, *run):
    return cache.rows.get(key_of(run))


def is_measured(cache, run):
    """Some rows of figures 1 and 2 are from before they had all measures."""
    key, measures = key_of(run), MEASURES if run[0] in ("batch", "truncation") else ()
    return key in cache and all(measure in cache.rows[key] for measure in measures)


def by_seed(cache, part, *run):
    """The rows of a run with each of the seeds."""
    found = (row_of(cache, part, seed, *run) for seed in range(MOST_SEEDS))
    return [row for row in found if row]


def draw_band(axis, x, values, label, look):
    """Means over seeds as a line, from the lowest to the highest as a shade."""
    axis.plot(x, [np.mean(each) for each in values], label=label, **look)
    low, high = [min(each) for each in values], [max(each) for each in values]
    axis.fill_between(x, low, high, alpha=0.15, color=look["color"], linewidth=0)
    note_seeds(axis, max(map(len, values)))


def ends(cache, corpus, part, runs):
    """Method -> numbers of topics and sizes of batches -> rows of all seeds, where there are some."""
    found = {method: {run: by_seed(cache, part, corpus, method, *run) for run in runs} for method in ENDS}
    found = {method: {run: rows for run, rows in each.items() if rows} for method, each in found.items()}
    return {method: each for method, each in found.items() if each}


def draw_ends(study, part, corpora):
    """Figure 1 or 2, a panel for each corpus, size of batches where it does not vary, and measure."""
    if part == "batch":
        name, varies, sizes = "batch size", 1, BATCH_SIZES
        sets = {"": [(100, size) for size in BATCH_SIZES]}
    else:
        name, varies, sizes = "largest number of topics", 0, TRUNCATIONS
        sets = {f", batches of {size}": [(n, size) for n in TRUNCATIONS] for size in TRUNCATION_BATCHES}
    cells, table, looks = {}, [], styles(ENDS)
    for corpus, (where, runs) in product(corpora, sets.items()):
        found = ends(study.cache, corpus, part, runs)
        table += [[corpus, method, *cell] for method in found for cell in end_cells(found[method])]
        for measure, what in MEASURES.items():
            if any(values_of(rows, measure) for each in found.values() for rows in each.values()):
                cells[f"{corpus}{where}{what}"] = measure, found
    figure, axes = panels(list(cells), 2)
    for title, (measure, found) in cells.items():
        for method, each in found.items():
            values = {run[varies]: values_of(rows, measure) for run, rows in each.items()}
            values = {size: of_size for size, of_size in values.items() if of_size}
            if values:
                draw_band(axes[title], list(values), list(values.values()), method, looks[method])
        axes[title].set(xlabel=name, ylabel="nats per word", xscale="log")
        axes[title].set_xticks(sizes, sizes)
        axes[title].minorticks_off()
    finish(figure, study.path(f"_{part}.svg"))
    head = ["corpus", "method", "largest number of topics", "batch size", "seeds", "score", "from", "to"]
    head += ["equation 26", "its from", "its to", "topics in use", "seconds of training"]
    study.write(part, head, table)


def end_cells(found):
    """What the table has of a method in a corpus."""
    for run, rows in found.items():
        values = [values_of(rows, measure) or [np.nan] for measure in MEASURES]
        cells = [cell for each in values for cell in interval_cells(each)]
        topics, seconds = (np.mean([row[name] for row in rows]) for name in ("topics", "fit"))
        yield *run, len(rows), *cells, f"{topics:.0f}", f"{seconds:.2f}"


def values_of(rows, measure):
    return [row[measure] for row in rows if measure in row]


def interval_cells(values):
    """Mean and interval; empty where there is none."""
    return ["" if np.isnan(x) else f"{x:.4f}" for x in interval(values)]


def traces(cache, corpus, n_components):
    """Method -> traces of all seeds, where there are some."""
    runs = {**{method: None for method in PEERS}, **{m: n_components for m in (*COMPARED, *GIBBS)}}
    found = {method: by_seed(cache, "time", corpus, method, n) for method, n in runs.items()}
    return {method: [row["trace"] for row in rows] for method, rows in found.items() if rows}


def draw_time(study, corpora):
    """Figure 3, a panel for each corpus and number of topics."""
    cells = {}
    for corpus, n in product(corpora, N_TOPICS):
        found = traces(study.cache, corpus, n)
        if found:
            cells[f"{corpus}, {n} topics"] = corpus, n, found
    figure, axes = panels(list(cells), 2)
    looks, table = styles((*COMPARED, *GIBBS, *PEERS)), []
    for title, (corpus, n, found) in cells.items():
        for method, seeds in found.items():
            x = common_times(seeds)
            values = [[score_at(trace, seconds) for trace in seeds] for seconds in x]
            draw_band(axes[title], x, values, method, {**looks[method], "marker": ""})
            table.append([corpus, method, "" if method in PEERS else n, len(seeds), *time_cells(seeds)])
        high = axes[title].get_ylim()[1]
        axes[title].set(
            xlabel="seconds of training", ylabel="nats per hidden word", xscale="log", ylim=(high - 1.2, high)
        )
    finish(figure, study.path("_time.svg"))
    head = ["corpus", "method", "topics given (or at most)", "seeds", "score after 1 s", "10 s", "100 s"]
    head += ["at the end", "from", "to", "seconds", "topics in use", "best score", "seconds to it"]
    study.write("time", head, [row for i, row in enumerate(table) if row not in table[:i]])


def common_times(seeds):
    """The times of the first trace at which all traces have begun and go on."""
    first, last = max(trace[0]["seconds"] for trace in seeds), min(trace[-1]["seconds"] for trace in seeds)
    inside = [row["seconds"] for row in seeds[0] if first < row["seconds"] < last]
    return [first, *inside, last] if first < last else [first]


def time_cells(seeds):
    """Means over seeds: scores at some times and at the end, with its seconds and topics, and the best."""
    cells = []
    for seconds in (1, 10, 100):
        begun = all(trace[0]["seconds"] <= seconds <= trace[-1]["seconds"] for trace in seeds)
        cells.append(f"{np.mean([score_at(t, seconds) for t in seeds]):.4f}" if begun else "")
    last = [trace[-1] for trace in seeds]
    best = [max(trace, key=lambda row: row["score"]) for trace in seeds]
    cells += interval_cells([row["score"] for row in last])
    cells.append(f"{np.mean([row['seconds'] for row in last]):.3f}")
    cells.append(f"{np.mean([row['topics'] for row in last]):.0f}" if "topics" in last[0] else "")
    return [*cells, *(f"{np.mean([row[name] for row in best]):.4f}" for name in ("score", "seconds"))]


def score_at(trace, seconds):
    """The score of the last note by then."""
    return [row["score"] for row in trace if row["seconds"] <= seconds][-1]


def write_race(study, corpora):
    """Seconds until a hybrid passes the score that a peer ends with; medians over seeds."""
    table = []
    for corpus, peer, n in product(corpora, PEERS, N_TOPICS):
        found = traces(study.cache, corpus, n)
        if peer not in found or "HybridHDP" not in found:
            continue
        ends = [trace[-1] for trace in found[peer]]
        goal, seconds = (np.median([end[name] for end in ends]) for name in ("score", "seconds"))
        passed = [[row["seconds"] for row in trace if row["score"] >= goal] for trace in found["HybridHDP"]]
        own = np.median([each[0] if each else np.inf for each in passed])
        cells = [f"{goal:.4f}", f"{seconds:.1f}", f"{own:.3f}", f"{seconds / own:.0f}"]
        table.append([corpus, peer, n, *cells])
    head = ["corpus", "peer", "HybridHDP's largest number of topics", "peer's last score", "its seconds"]
    study.write("race", [*head, "HybridHDP's seconds to it", "ratio"], table)


def draw_starts(study):
    """Scores and numbers of topics of the batch sampler from different starts."""
    found = {n: row_of(study.cache, "starts", n) for n in STARTS}
    found = {n: row["trace"] for n, row in found.items() if row}
    titles = {"score": "kos", "topics": "kos, number of topics"}
    figure, axes = panels(list(titles.values()))
    axes, table = {name: axes[title] for name, title in titles.items()}, []
    for n, look in zip(found, styles(found).values()):
        x = [row["seconds"] for row in found[n]]
        for name, axis in axes.items():
            axis.plot(x, [row[name] for row in found[n]], label=f"table indicators, from {n}", **look)
        for seconds in (10, 100, 1000, np.inf):
            row = [row for row in found[n] if row["seconds"] <= seconds][-1]
            table.append([n, row["seconds"], f"{row['score']:.4f}", row["topics"]])
    for name, axis in axes.items():
        axis.set(xlabel="seconds", ylabel=name, xscale="log")
        note_seeds(axis, 1)
    axes["score"].set_ylabel("nats per hidden word")
    finish(figure, study.path("_starts.svg"))
    study.write("starts", ["topics at the start", "seconds", "score", "topics"], table)


def write_steps(study):
    table = []
    for n in N_TOPICS:
        row = row_of(study.cache, "steps", n)
        if row:
            times = row["nanoseconds"]
            for name in STEPS:
                building = times["sparse, tables"] if name == "sparse" else 0.0
                speeds = [f"{1e3 / (times[name] - x):.1f}" for x in (0.0, building)]
                table.append([n, name, *speeds, building, f"{times['dense'] / times[name]:.1f}"])
    head = ["topics", "sampler", "million draws a second", "without building alias tables"]
    study.write("steps", [*head, "nanoseconds a draw for these", "times as fast as dense"], table)


def draw_all(study, corpora):
    import matplotlib

    matplotlib.use("Agg")
    for part in ("batch", "truncation"):
        draw_ends(study, part, corpora)
    draw_time(study, corpora)
    write_race(study, corpora)
    draw_starts(study)
    write_steps(study)


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3, choices=range(1, MOST_SEEDS + 1))
    arguments = parser.parse_args()
    corpora = arguments.corpora
    study = Study("hybrid_hdp", arguments)
    if not arguments.draw_only:
        runs = [run for part in arguments.parts for run in runs_of(part, corpora, arguments.seeds)]
        todo = [run for run in runs if not is_measured(study.cache, run)]
        with Pool(study, arguments.jobs, len(todo)) as pool:
            pool.measure(measure, [(run, study.short) for run in todo])
    draw_all(study, corpora)


if __name__ == "__main__":
    main()
