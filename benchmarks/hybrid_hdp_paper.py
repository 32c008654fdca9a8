"""The experiments of Burkhardt and Kramer (2017) again, and hierarchical Dirichlet processes by other ways.

    python benchmarks/hybrid_hdp_paper.py

updates     figures 1 and 2: held-out score after 1000 updates, against the batch size with 100 topics, and
            against the largest number of topics (batches of 1000: arXiv, with the paper's settings). With
            gensim's port of the authors' program for mean field, 100 topics in small batches
time        figure 3: held-out score against processor time, KOS and NIPS, at most 100 and 1000 topics. Online
            methods stop after five passes with the defaults
long        Chen's sampler of figure 3 with the paper's settings, for the 1000 seconds that the paper plots;
            and the hybrid, where equation 26 still rises when its shorter run ends
starts      CollapsedGibbsHDP on KOS from 1, 5, 20 and 100 topics, half an hour of processor time each
steps       token draws per second of the three samplers of documents, on KOS, one core

"starts" has one seed, the others have three to ten. "paper" are the settings of the paper: both
concentrations 1, learning_decay 0.6, beta 0.01, batches of 100 documents, 5 sweeps of burn-in and 5 kept. The
documents are a stream of random orders: each batch updates the root, whose steps have the size of those of
the topics. Where nothing is said, methods run with their defaults.

Departures from the paper: the first batch, whose topics are random, does not update the root, and all topics
exist at the root (no equation 17). Enron is that of the inboxes; arXiv takes the place of BioASQ. A batch
sampler of HDPs has no truncation; its runs start from as many topics. benchmarks/hdp_models.py compares more
HDPs, on more corpora.

Scores are document completion of at most 500 test documents; gensim's topics get the better of its learned
prior (hdp_to_lda) and 1 / topics. Figures 1 and 2, and figure 3 with the paper's settings, also have the
likelihood of equation 26. Times are processor time of training in one thread, without scoring.
"""

from functools import partial
from itertools import product
from types import SimpleNamespace
from unittest import mock

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, line, note_seeds, panels, styles
from _study import Study, extremes, grouped, interval, new_parser, seconds_of, shown
from _traces import SEED, completion, gensim_best, gensim_model, note, trace_of, trace_of_sweeps

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._inference._prediction import FixedTopics, infer_proportions
from sktopic._kernels.random._rng import position_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._topics._word_count_views import probabilities
from sktopic.hdp import CollapsedGibbsHDP, HybridHDP, OnlineVariationalHDP, _hybrid_topics
from sktopic.hdp._table_step import TableStep

UPDATES = 1000
LARGE_CORPORA = ("enron_inbox", "nips_uci", "arxiv_0")
BATCH_SIZES = (10, 100, 1000)
TRUNCATIONS = (50, 100, 200, 500, 1000)
TRUNCATION_BATCHES = (100, 1000)
PORT = {"K": 20, "kappa": 0.6, "tau": 2.0}
FIXED = {"topic_concentration": 1.0, "doc_concentration": 1.0, "topic_word_prior": 0.01}
PAPER = {**FIXED, "learning_decay": 0.6, "batch_size": 100, "doc_burn_in": 5, "doc_sweeps": 5}
PAPER |= {"root_weight": "paper"}
ONLINE = {
    "HybridHDP": (HybridHDP, {}),
    "HybridHDP, paper": (HybridHDP, {**PAPER, "sampler": "sparse_table_indicator"}),
    "HybridHDP, dense, paper": (HybridHDP, {**PAPER, "sampler": "table_indicator"}),
    "HybridHDP, sparse": (HybridHDP, {"sampler": "sparse_table_indicator"}),
    "HybridHDP, dense": (HybridHDP, {"sampler": "table_indicator"}),
    "OnlineVariationalHDP": (OnlineVariationalHDP, {}),
}
# Chen's sampler, which does not stop by itself.
ENDLESS = {"sampler": "table_indicator", "max_iter": 10**6, "evaluate_every": 0}
CHEN = "table indicators, paper"
GIBBS = {"table indicators": ENDLESS, CHEN: {**ENDLESS, **FIXED, "split_merge": False}}
# What figures 1 and 2 measure, and what the titles of panels add for it.
MEASURES = {"score": "", "likelihood": ", eq. 26"}
# Methods of figures 1 and 2, cheap ones first.
ENDS = ("HybridHDP", "HybridHDP, paper", "OnlineVariationalHDP", "gensim")
# Figure 3: names, in the order of the legend.
COMPARED = ("HybridHDP", "HybridHDP, sparse", "HybridHDP, dense", "HybridHDP, paper", "OnlineVariationalHDP")
TIMED = (*COMPARED, "HybridHDP, dense, paper", *GIBBS)
TIMED_AS_IN_PAPER = [method for method in TIMED if method.endswith("paper")]
N_TOPICS = (100, 1000)
STARTS = (1, 5, 20, 100)
# Passes of the hybrid and the variational methods over the corpus, beside the limit on time.
MOST_PASSES = 5


# Processor time of a run of figure 3, in seconds. With the paper's settings, most scores of the hybrid stop
# rising halfway. Those of the Gibbs sampler still rise.
CORPORA = {"kos": 60, "nips_uci": 40}
LONG_SECONDS, LONG = 1000, [*product(CORPORA, [CHEN], N_TOPICS)]
LONG += [("nips_uci", "HybridHDP, paper", 1000)]
START_SECONDS = 1800

SEEDS, MANY_SEEDS = range(3), range(10)
COMPARED_IN_PAPER = ["HybridHDP, paper", "OnlineVariationalHDP"]
# Runs that have more seeds than three, since the interval of a claim crossed a margin. A run of figures 1 and
# 2 is named by corpus, method, largest number of topics and batch size, one of figure 3 by all but the last.
MORE_SEEDS = {
    5: [
        *product(["arxiv_0"], ["HybridHDP, paper", "gensim"], [100], [10]),
        *product(["enron_inbox"], ["HybridHDP", "OnlineVariationalHDP"], [100], [100]),
        *product(["enron_inbox"], COMPARED_IN_PAPER, [100], [10]),
        *product(["arxiv_0"], ["OnlineVariationalHDP"], [200, 1000], [100]),
        *product(CORPORA, TIMED_AS_IN_PAPER, N_TOPICS),
    ],
    8: [*product(["nips_uci"], COMPARED_IN_PAPER, [500], [100])],
    10: [
        *product(LARGE_CORPORA, ["HybridHDP, paper"], [50, 200, 1000], TRUNCATION_BATCHES),
        *product(["enron_inbox"], ["HybridHDP, paper", "gensim"], [100], [10, 100]),
        *product(["enron_inbox"], ["OnlineVariationalHDP"], [50, 100], [100]),
        *product(["kos"], ["HybridHDP, dense, paper"], [100]),
        *product(["kos"], ["HybridHDP, paper", CHEN], N_TOPICS),
        *product(["enron_inbox"], COMPARED_IN_PAPER, [100], [1000]),
        *product(["enron_inbox"], COMPARED_IN_PAPER, [200, 500], [100]),
        *product(["arxiv_0"], COMPARED_IN_PAPER, [50, 100], [100]),
        *product(["arxiv_0"], ["HybridHDP"], [100], [100]),
        *product(["nips_uci"], COMPARED_IN_PAPER, [100], BATCH_SIZES),
        *product(["nips_uci"], ["OnlineVariationalHDP"], [50, 200, 1000], [100]),
        *product(["nips_uci"], ["HybridHDP, paper", CHEN], N_TOPICS),
    ],
}
N_SEEDS = {cell: n_seeds for n_seeds, cells in MORE_SEEDS.items() for cell in cells}


def documents_of(corpus):
    train, test, _ = load(corpus)
    return train, test[:N_TEST]


# The runs.


def likelihood(model, test):
    """Equation 26: nats per word of documents, with proportions inferred from the same words."""
    phi, prior, counts = model.components_, model.doc_topic_prior_, canonical_counts(test.astype(float))
    topics, step = TopicProbabilities.from_components(phi), GibbsInference(5, 5)
    with Workers(1) as workers:
        theta = infer_proportions(counts, FixedTopics(topics, prior, step, SEED), workers)
    each = [row.data @ np.log(of_row @ phi[:, row.indices]) for row, of_row in zip(counts, theta)]
    return round(float(sum(each) / counts.sum()), 4)


def training_of(method, model, passes=10**6):
    """The function that trains: on documents, or as in the paper on a stream of them in random orders."""
    order = np.random.RandomState(model.random_state)

    def on_stream(train):  # later passes of `fit` would not update the root, and leave out earlier counts
        with mock.patch.object(_hybrid_topics, "PRIOR_INERTIA", 1):  # steps of the root are those of topics
            for _ in range(passes):
                model.partial_fit(train[order.permutation(train.shape[0])])

    return on_stream if method.endswith("paper") else model.fit


def measure_updates(seed, corpus, method, n_components, batch_size):
    """A run of figures 1 and 2: one pass over as many documents as the updates take, or several over all."""
    train, test = documents_of(corpus)
    n_documents, order = train.shape[0], np.random.RandomState(seed)
    train = train[order.permutation(n_documents)[: UPDATES * batch_size]]
    passes = -(-UPDATES // -(-train.shape[0] // batch_size))
    if method == "gensim":
        parts = [train[first : first + batch_size] for first in range(0, train.shape[0], batch_size)]
        settings = {**PORT, "chunksize": batch_size, "T": n_components, "random_state": seed}
        seconds, port = seconds_of(gensim_model, parts * passes, n_documents, **settings)
        _, topics, prior = gensim_best(port, test)
        in_use = np.count_nonzero(port.m_lambda.sum(axis=1) >= 1.0)
        model = SimpleNamespace(components_=topics, doc_topic_prior_=prior, n_components_=in_use)
    else:
        kind, settings = ONLINE[method]
        settings = {**settings, "batch_size": batch_size, "max_iter": passes, "random_state": seed}
        model = kind(n_components, **settings, total_samples=n_documents)
        seconds, _ = seconds_of(training_of(method, model, passes), train)
    score = completion(model.components_, test, model.doc_topic_prior_)
    found = {"score": score, "likelihood": likelihood(model, test), "topics": int(model.n_components_)}
    return {**found, "fit": round(seconds, 2)}


def note_both(trace, model, test):
    """Let a trace have both measures of a model."""
    measures = {"score": lambda: completion(model, test), "likelihood": lambda: likelihood(model, test)}
    trace.note(**measures, topics=int(model.n_components_))


def measure_time(seed, corpus, method, n_components, seconds=None):
    """A run of figure 3."""
    (train, test), seconds = documents_of(corpus), seconds or CORPORA[corpus]
    noting = note_both if method.endswith("paper") else note
    if method in ONLINE:
        kind, settings = ONLINE[method]
        settings = {**settings, "max_iter": MOST_PASSES, "total_samples": train.shape[0]}
        model = kind(n_components, **settings, random_state=seed)
        return {"trace": trace_of(model, train, test, seconds, noting, fit=training_of(method, model))}
    model = CollapsedGibbsHDP(n_components, **GIBBS[method], random_state=seed)
    return {"trace": trace_of_sweeps(model, train, test, seconds, noting)}


def measure_start(n_components):
    """The batch sampler from some number of topics."""
    model = CollapsedGibbsHDP(n_components, **ENDLESS, random_state=SEED)
    return {"trace": trace_of_sweeps(model, *documents_of("kos"), START_SECONDS)}


STEPS = {"collapsed": GibbsStep(5, 5), "sparse": TableStep(5, 5, True), "dense": TableStep(5, 5, False)}


def measure_steps(seed, n_components):
    """Nanoseconds of a token draw in each of the samplers, and of those what goes into alias tables; the
    medians of five."""
    train = documents_of("kos")[0][:1000]
    model = HybridHDP(n_components, max_iter=2, random_state=seed).fit(train)
    state, method, total = model._state, model._method(), model.total_samples_
    prior = method.doc_topic_prior(state, method.root_weights(state, total))
    means = probabilities(state.words, total, state.topic_word_prior)
    reader = DocumentReader(canonical_counts(train.astype(float)))
    times = {name: [] for name in (*STEPS, "sparse, tables")}
    with Workers(1) as workers:
        for _ in range(5):
            sums, n_draws = dict.fromkeys(times, 0.0), 0
            for first in range(0, train.shape[0], 100):
                batch = reader.batch(np.arange(first, min(first + 100, train.shape[0])))
                topics = means.gather(batch.words, prior, workers)
                keys = position_keys(seed, first, batch.n_documents)
                n_draws += 10 * batch.n_clumps
                for name, step in STEPS.items():
                    sums[name] += seconds_of(step, batch, topics, prior, keys, workers, True)[0]
                tables = STEPS["sparse"].alias_tables
                sums["sparse, tables"] += seconds_of(tables, batch, topics, prior, workers)[0]
            for name, total in sums.items():
                times[name].append(1e9 * total / n_draws)
    return {"nanoseconds": {name: round(float(np.median(values)), 2) for name, values in times.items()}}


PARTS = {
    "updates": measure_updates,
    "time": measure_time,
    "long": partial(measure_time, seconds=LONG_SECONDS),
    "starts": measure_start,
    "steps": measure_steps,
}


def truncation_batches(corpus):
    """The batch sizes of figure 2."""
    return TRUNCATION_BATCHES if corpus == "arxiv_0" else TRUNCATION_BATCHES[:1]


def update_cells(corpus):
    """Largest number of topics, and batch size, of figures 1 and 2."""
    of_second = product(TRUNCATIONS, truncation_batches(corpus))
    return dict.fromkeys((*product([100], BATCH_SIZES), *of_second))


def is_affordable(method, n_components, batch_size):
    """Whether there is a run of figures 1 and 2: others than the paper's take too long in large batches."""
    if method == "gensim":
        return n_components == 100 and batch_size <= 100
    return method == "HybridHDP, paper" or n_components == 100 or batch_size <= 100


def runs_of(part):
    """What there is to measure for a part, cheap ones first."""
    if part == "updates":
        cells = (
            (seed, corpus, method, n, size)
            for seed, corpus, method in product(MANY_SEEDS, LARGE_CORPORA, ENDS)
            for n, size in update_cells(corpus)
            if seed < N_SEEDS.get((corpus, method, n, size), len(SEEDS))
            if is_affordable(method, n, size)
        )
    elif part == "time":
        cells = (
            (seed, corpus, method, n)
            for seed, corpus, n, method in product(MANY_SEEDS, CORPORA, N_TOPICS, TIMED)
            if seed < N_SEEDS.get((corpus, method, n), len(SEEDS))
        )
    elif part == "long":
        cells = ((seed, *run) for seed, run in product(SEEDS, LONG))
    else:
        cells = product(STARTS) if part == "starts" else product(SEEDS, N_TOPICS)
    return [(part, *cell) for cell in cells]


# Tables and pictures, from what the cache has.


def by_seed(cache, part, *run):
    """The rows of a run with each of the seeds."""
    return cache.found((part, seed, *run) for seed in MANY_SEEDS)


def ends(cache, corpus, runs):
    """Method -> numbers of topics and sizes of batches -> rows of all seeds, where there are some."""
    found = {m: {run: by_seed(cache, "updates", corpus, m, *run) for run in runs} for m in ENDS}
    found = {method: {run: rows for run, rows in each.items() if rows} for method, each in found.items()}
    return {method: each for method, each in found.items() if each}


def draw_ends(study, figure_of):
    """Figure 1 or 2, a panel for each corpus, size of batches where it does not vary, and measure."""
    if figure_of == "batch":
        name, varies, sizes = "batch size", 1, BATCH_SIZES
        sets = {corpus: (corpus, [(100, size) for size in BATCH_SIZES]) for corpus in LARGE_CORPORA}
    else:
        name, varies, sizes = "largest number of topics", 0, TRUNCATIONS
        sets = {
            f"{corpus}, batches of {size}": (corpus, [(n, size) for n in TRUNCATIONS])
            for corpus in LARGE_CORPORA
            for size in truncation_batches(corpus)
        }
    cells, table, looks = {}, [], styles(ENDS)
    for where, (corpus, runs) in sets.items():
        found = ends(study.cache, corpus, runs)
        table += [[corpus, method, *cell] for method in found for cell in end_cells(found[method])]
        cells |= {f"{where}{what}": (measure, found) for measure, what in MEASURES.items() if found}
    head = ["corpus", "method", "largest number of topics", "batch size", "seeds", "score", "from", "to"]
    head += ["equation 26", "its from", "its to", "topics in use", "seconds of training"]
    study.write(figure_of, head, table)
    if not cells:
        return
    figure, axes = panels(list(cells), 2)
    for title, (measure, found) in cells.items():
        for method, each in found.items():
            values = {run[varies]: [row[measure] for row in rows] for run, rows in each.items()}
            line(axes[title], list(values), list(values.values()), method, looks[method], extremes)
        axes[title].set(xlabel=name, ylabel="nats per word", xscale="log")
        axes[title].set_xticks(sizes, sizes)
        axes[title].minorticks_off()
    finish(figure, study.path(f"_{figure_of}.svg"))


def end_cells(found):
    """What the table has of a method in a corpus."""
    for run, rows in found.items():
        cells = [cell for name in MEASURES for cell in shown(interval([row[name] for row in rows]))]
        topics, seconds = (np.mean([row[name] for row in rows]) for name in ("topics", "fit"))
        yield *run, len(rows), *cells, f"{topics:.0f}", f"{seconds:.2f}"


def traces(cache, corpus, n_components):
    """Method -> traces of all seeds, where there are some."""
    found = {method: by_seed(cache, "time", corpus, method, n_components) for method in TIMED}
    return {method: [row["trace"] for row in rows] for method, rows in found.items() if rows}


def draw_time(study):
    """Figure 3, a panel for each corpus and number of topics; where there are long runs, these."""
    cells = {}
    for corpus, n in product(CORPORA, N_TOPICS):
        found = traces(study.cache, corpus, n)
        if found:
            cells[f"{corpus}, {n} topics"] = corpus, n, found
    figure, axes = panels(list(cells), 2)
    looks, table, of_long = styles(TIMED), [], long_traces(study.cache)
    for title, (corpus, n, found) in cells.items():
        for method, seeds in found.items():
            drawn = of_long.get((corpus, method, n), seeds)
            x = common_times(drawn)
            values = [[score_at(trace, seconds) for trace in drawn] for seconds in x]
            line(axes[title], x, values, method, {**looks[method], "marker": ""}, extremes)
            table.append([corpus, method, n, *time_cells(seeds)])
        axes[title].set(xlabel="seconds of training", ylabel="nats per hidden word", xscale="log")
    finish(figure, study.path("_time.svg"))
    study.write("time", TIME_HEAD, table)
    study.write("long", TIME_HEAD, [[*run, *time_cells(seeds)] for run, seeds in of_long.items()])


def long_traces(cache):
    """(corpus, method, topics at most) -> traces of all seeds."""
    found = {run: by_seed(cache, "long", *run) for run in LONG}
    return {run: [row["trace"] for row in rows] for run, rows in found.items() if rows}


def common_times(seeds):
    """The times of the first trace at which all traces have begun and go on."""
    first, last = max(trace[0]["seconds"] for trace in seeds), min(trace[-1]["seconds"] for trace in seeds)
    inside = [row["seconds"] for row in seeds[0] if first < row["seconds"] < last]
    return [first, *inside, last] if first < last else [first]


TIME_HEAD = ["corpus", "method", "topics given (or at most)", "seeds", "score after 1 s", "10 s", "30 s"]
TIME_HEAD += ["at the end", "from", "to", "seconds", "topics in use", "equation 26"]
TIME_HEAD += ["best score", "seconds to it"]


def time_cells(seeds):
    """Means over seeds: scores at some times and at the end, with its seconds and topics, and the best."""
    cells = [len(seeds)]
    for seconds in (1, 10, 30):
        begun = all(trace[0]["seconds"] <= seconds <= trace[-1]["seconds"] for trace in seeds)
        cells.append(f"{np.mean([score_at(t, seconds) for t in seeds]):.4f}" if begun else "")
    last = [trace[-1] for trace in seeds]
    best = [max(trace, key=lambda row: row["score"]) for trace in seeds]
    cells += shown(interval([row["score"] for row in last]))
    cells.append(f"{np.mean([row['seconds'] for row in last]):.3f}")
    for name, digits in (("topics", 0), ("likelihood", 4)):
        cells.append(f"{np.mean([row[name] for row in last]):.{digits}f}" if name in last[0] else "")
    return [*cells, *(f"{np.mean([row[name] for row in best]):.4f}" for name in ("score", "seconds"))]


def score_at(trace, seconds):
    """The score of the last note by then."""
    return [row["score"] for row in trace if row["seconds"] <= seconds][-1]


def draw_starts(study):
    """Scores and numbers of topics of the batch sampler from different starts."""
    found = {row["n_components"]: row["trace"] for row in study.cache.found(runs_of("starts"))}
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
    for axis, what in zip(axes.values(), ("nats per hidden word", "topics")):
        axis.set(xlabel="seconds", ylabel=what, xscale="log")
        note_seeds(axis, 1)
    finish(figure, study.path("_starts.svg"))
    study.write("starts", ["topics at the start", "seconds", "score", "topics"], table)


def write_steps(study):
    """Medians over seeds."""
    table = []
    groups = grouped((row["n_components"], row["nanoseconds"]) for row in study.cache.found(runs_of("steps")))
    for (n, rows), name in product(groups.items(), STEPS):
        times = {each: float(np.median([row[each] for row in rows])) for each in rows[0]}
        building = times["sparse, tables"] if name == "sparse" else 0.0
        speeds = [f"{1e3 / (times[name] - x):.1f}" for x in (0.0, building)]
        table.append([n, name, *speeds, building, f"{times['dense'] / times[name]:.1f}", len(rows)])
    head = ["topics", "sampler", "million draws a second", "without building alias tables"]
    study.write("steps", [*head, "nanoseconds a draw for these", "times as fast as dense", "seeds"], table)


def write_tables(study):
    for figure_of in ("batch", "truncation"):
        draw_ends(study, figure_of)
    for write in (draw_time, draw_starts, write_steps):
        write(study)


def main():
    study = Study("hybrid_hdp", new_parser(__doc__, runs=True).parse_args())
    study.measure(PARTS, [run for part in PARTS for run in runs_of(part)])
    write_tables(study)


if __name__ == "__main__":
    main()
