"""The experiments of Hsu and Poupart (2016) again: how many topics moment matching finds, and how good.

    python benchmarks/moment_matching_paper.py [--short] [--jobs 2] [--estimate] [--parts number text words]
                                               [--corpora reuters21578 arxiv_0 20news nips_uci]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped; tables and
pictures are drawn from the runs. All of it goes to benchmarks/output/, or with --update to doc/benchmarks/
and benchmarks/runs/. --short takes some minutes with few documents, to see that all works. --estimate prints
how long the runs that are missing would take, by those that there are. The parts are

number   figure 2: topics that DDM and TDM find in synthetic data, against the true number; 100 data sets with
         the settings of the paper, 20 with the others, and with priors exp(-c T) of other rates c
text     figures 3a and 4: per-word log-likelihood of half of each test document given the other half and the
         training documents, against the number of topics; from the same runs
trace    figure 3b: topics found against tokens seen
alpha    what learning the prior of the proportions gains, which is the paper's open problem
order    the order of the tokens
words    the supplement's samples of topics: the most probable words of the largest ones

The supplement's classification of texts is benchmarks/classifier.py.

Settings: "paper" has alpha = 1, matches the second moment of the first coordinate and mixes the tokens of all
documents; "program" matches that of the second topic and takes documents one after the other, as the authors'
public program does (which is an earlier one, without a prior of the number of topics as in the paper);
"default" is what the library does by default but for the prior of the number of topics, which is that of the
paper; with "rate 2" this is the default of TDM, too. "..., auto" learns alpha, and "default, 1" has the 1 of
the paper. beta is V^-1/2 in all. TDM on arXiv takes the tokens document by document, since it would keep
4 GB of proportions otherwise; the table of orders has it with the tokens of 10,000 documents mixed at a time.

Departures from the paper: counts have no order, so that a random half of a test document's tokens is hidden,
not the second. Reuters has the paper's split (LEWISSPLIT), but neither a stemmer nor its choice of words;
NIPS is that of the UCI repository, with a random split; arXiv (with the uniform prior) and 20 Newsgroups
(with the exponential one) take the place of Yelp.

Scores come from each model's own inference: predict_mixture of DDM and TDM, transform of the others.
Beside it is one Gibbs fold-in for all, document_completion. HDP is gensim's, with its default parameters but
for the top-level truncation (its T); only the fold-in scores it, given its topics and its learned alpha
(hdp_to_lda), or alpha = 1. Times are processor time of training, in a process of one thread.
"""

import json
import time
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _study import (
    Pool,
    Study,
    finish,
    interval,
    line,
    new_parser,
    note_seeds,
    panels,
    print_estimates,
    spread,
    styles,
    with_deciles,
)

from sktopic import OnlineEMLDA
from sktopic._documents._matrices import canonical_counts
from sktopic._documents._sources import MatrixDocuments
from sktopic._inference._completion import mean_log_predictive
from sktopic._runtime._parallel import Workers
from sktopic.metrics import document_completion
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA

HIDDEN_FRACTION = 0.5
MODELS = {"basic": MomentMatchingLDA, "DDM": DegenerateDirichletLDA, "TDM": TriangularDirichletLDA}
PASSES = {"OnlineEM, 1 pass": 1, "OnlineEM, 5 passes": 5}
PAPER = {"doc_topic_prior": 1.0, "second_moment": "first", "shuffle": "corpus"}
PROGRAM = {"doc_topic_prior": 1.0, "second_moment": "second", "shuffle": "document"}
SETTINGS = {
    "paper": PAPER,
    "program": PROGRAM,
    "paper, auto": {**PAPER, "doc_topic_prior": "auto"},
    "default": {},
    "default, 1": {"doc_topic_prior": 1.0},
    "default, auto": {"doc_topic_prior": "auto"},
    "default, rate 2": {"n_components_prior": 2.0},  # TDM only
}
ALPHA_SETTINGS = ("paper", "paper, auto", "default", "default, 1", "default, auto")
ORDERS = ("corpus", "document", None)
# Documents whose tokens are mixed in this order.
CALL, IN_CALLS = 10_000, "corpus, 10,000 documents a call"
# Whose traces are shown and kept: of their notes one in this number, from some tokens on. After the first
# ones all numbers of topics are about equally probable.
TRACE_SETTINGS, KEPT_NOTES, FIRST_SHOWN = ("paper", "default"), 4, 1000


class Corpus(NamedTuple):
    limit: int  # the largest number of topics
    prior: str  # of the number of topics
    topics: tuple  # numbers that are given to the models that need one
    focus: tuple  # those of them for which the ways to set alpha are compared
    n_test: int
    seeds: range


CORPORA = {
    "reuters21578": Corpus(100, "uniform", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500, range(3)),
    "arxiv_0": Corpus(100, "uniform", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500, range(3)),
    "20news": Corpus(100, "exponential", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500, range(3)),
    "nips_uci": Corpus(400, "exponential", (10, 25, 50, 100, 200, 400), (100, 400), 150, range(3)),
}
ORDER_CORPUS, LARGE_CORPUS = "reuters21578", "arxiv_0"
# Whose topics are shown, how many of them, and by how many words.
WORD_CORPORA, WORD_SETTINGS, N_SHOWN, N_TOP_WORDS = ("reuters21578", "nips_uci"), ("paper", "default"), 10, 10

# Figure 2.
N_DOCUMENTS, N_WORDS, LENGTH, LIMIT = 100, 200, 1000, 20
TRUE_NUMBERS, SOME_NUMBERS = range(1, 11), (1, 2, 3, 5, 10)
NUMBER_PRIORS = ("uniform", "exponential")
NUMBER_SETTINGS = {
    "paper": PAPER,
    "sum": {**PAPER, "second_moment": "sum"},
    "document": {**PAPER, "shuffle": "document"},
    "sum, document": {**PAPER, "second_moment": "sum", "shuffle": "document"},
    "default": {},
}
NUMBER_MODELS = ("DDM", "TDM")
# Rates of the exponential prior of the number; the uniform one has 0, that of the paper 1.
RATES = (0.25, 0.5, 2.0, 3.0)


class NumberPart(NamedTuple):
    cells: tuple  # prior, model and settings of each fit
    numbers: tuple  # true ones
    seeds: range  # of data sets


NUMBER_PARTS = {
    "synthetic": NumberPart(
        tuple(product(NUMBER_PRIORS, NUMBER_MODELS, NUMBER_SETTINGS)), tuple(TRUE_NUMBERS), range(20)
    ),
    "synthetic rates": NumberPart(
        tuple(product(RATES, NUMBER_MODELS, ("default",))), SOME_NUMBERS, range(20)
    ),
    "synthetic program": NumberPart(
        tuple(product(NUMBER_PRIORS, NUMBER_MODELS, ("program",))), SOME_NUMBERS, range(20)
    ),
    "synthetic paper": NumberPart(
        tuple(product(NUMBER_PRIORS, NUMBER_MODELS, ("paper",))), tuple(TRUE_NUMBERS), range(20, 100)
    ),
}


def key_of(run):
    return json.dumps(run)


def measure(run, short):
    """One run: a row of the cache."""
    if run[0] in NUMBER_PARTS:
        return measure_number(run)
    return measure_words(run, short) if run[0] == "words" else measure_text(run, short)


# Synthetic data.


def synthetic(n_topics, seed):
    rng = np.random.RandomState([n_topics, seed])
    theta = rng.dirichlet(np.full(n_topics, 0.05), size=N_DOCUMENTS)
    phi = rng.dirichlet(np.full(N_WORDS, 0.1), size=n_topics)
    return np.array([rng.multinomial(LENGTH, row / row.sum()) for row in theta @ phi])


def measure_number(run):
    """The number of topics under each of the settings in the same data set."""
    part, n_topics, seed = run
    counts, found, start = synthetic(n_topics, seed), [], time.process_time()
    for prior, name, settings in NUMBER_PARTS[part].cells:
        chosen = PROGRAM if settings == "program" else NUMBER_SETTINGS[settings]
        options = {"n_components_prior": prior, "random_state": seed, **chosen}
        found.append(MODELS[name](LIMIT, **options).fit(counts).n_components_)
    return {"run": key_of(run), "found": found, "seconds": round(time.process_time() - start, 2)}


def found_by_cell(part, row):
    """Prior, model and settings -> the number of topics, of the row of a run."""
    return dict(zip(NUMBER_PARTS[part].cells, row["found"], strict=True))


def number_runs(short):
    for name, part in NUMBER_PARTS.items():
        numbers = part.numbers[:: len(part.numbers) - 1] if short else part.numbers
        for seed, n_topics in product(part.seeds[:2] if short else part.seeds, numbers):
            yield name, n_topics, seed


# Text.


def documents_of(corpus, short):
    """Training and test counts."""
    train, test, _ = load(corpus)
    chosen = np.random.RandomState(0).permutation(test.shape[0])[: CORPORA[corpus].n_test]
    if short:
        return train[: 50 if corpus == "nips_uci" else 1000], test[chosen[:20]]
    return train, test[chosen]


def new_model(corpus, seed, method, n_components, settings, order):
    if method in PASSES:
        return OnlineEMLDA(n_components, max_iter=PASSES[method], random_state=seed)
    shuffle = "corpus" if order == IN_CALLS else order
    options = {"random_state": seed, **SETTINGS[settings], "shuffle": shuffle}
    if method != "basic":
        options.setdefault("n_components_prior", CORPORA[corpus].prior)
    return MODELS[method](n_components, **options)


def measure_text(run, short):
    corpus, seed, method, n_components, settings, order = run
    train, test = documents_of(corpus, short)
    if method == "HDP":
        row = measure_hdp(train, test, n_components, seed)
    else:
        start = time.process_time()
        model = new_model(corpus, seed, method, n_components, settings, order)
        if order == IN_CALLS:
            for first in range(0, train.shape[0], CALL):
                model.partial_fit(train[first : first + CALL])
        else:
            model.fit(train)
        row = {
            "seconds": time.process_time() - start,
            **scores_of(model, test),
            "topics": model.n_components_,
        }
        if has_trace(corpus, method, settings, order):
            row["trace"] = trace_of(model)
    row["microseconds"] = round(1e6 * row["seconds"] / float(train.sum()), 3)
    return {"run": key_of(run), **row, "seconds": round(row["seconds"], 2)}


def scores_of(model, test):
    fold_in = document_completion(model, test, hidden_fraction=HIDDEN_FRACTION)
    return {"own": round(own_completion(model, test), 4), "fold-in": round(fold_in, 4)}


def own_completion(model, test):
    """The same halves by the inference of the model."""
    mixture = hasattr(model, "predict_mixture")
    n_topics = model.n_components if mixture else model.n_components_
    topics = model._state.topics.leading(n_topics)
    proportions = model.predict_mixture if mixture else model.transform
    counts = canonical_counts(sp.csr_array(test, dtype=np.float64))
    with Workers(1) as workers:
        groups = MatrixDocuments(counts).groups()
        return mean_log_predictive(groups, topics, proportions, workers, HIDDEN_FRACTION).value()


def has_trace(corpus, method, settings, order):
    """Whether the trace of a run is shown."""
    shown = method in NUMBER_MODELS and settings in TRACE_SETTINGS
    return shown and order == own_order(corpus, method, settings)


def trace_of(model):
    """Some notes, the last among them."""
    tokens, topics = (a[::-KEPT_NOTES][::-1] for a in (model.n_tokens_trace_, model.n_components_trace_))
    shown = tokens >= FIRST_SHOWN
    return [tokens[shown].tolist(), topics[shown].tolist()]


def measure_words(run, short):
    """The largest topics of the most probable number, by their most probable words."""
    _, corpus, method, settings = run
    vocabulary, start = load(corpus)[2], time.process_time()
    order = own_order(corpus, method, settings)
    model = new_model(corpus, 0, method, CORPORA[corpus].limit, settings, order)
    proportions = model.fit_transform(documents_of(corpus, short)[0]).mean(axis=0)
    largest = np.argsort(-proportions, kind="stable")[:N_SHOWN]
    words = np.argsort(-model.components_[largest], axis=1, kind="stable")[:, :N_TOP_WORDS]
    return {
        "run": key_of(run),
        "topics": model.n_components_,
        "shares": [round(float(proportions[t]), 4) for t in largest],
        "words": [[str(vocabulary[w]) for w in row] for row in words],
        "seconds": round(time.process_time() - start, 2),
    }


def word_runs(corpora):
    chosen = [corpus for corpus in WORD_CORPORA if corpus in corpora]
    yield from (("words", *cell) for cell in product(chosen, NUMBER_MODELS, WORD_SETTINGS))


def measure_hdp(train, test, n_components, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    names, start = {i: str(i) for i in range(train.shape[1])}, time.process_time()
    model = HdpModel(Sparse2Corpus(train, documents_columns=False), names, T=n_components, random_state=seed)
    row, topics = {"seconds": time.process_time() - start}, model.get_topics()
    learned = np.maximum(model.hdp_to_lda()[0], 1e-10)  # of topics that are not in use it underflows
    for name, alpha in (("fold-in", learned), ("fold-in, 1", 1.0)):
        score = document_completion(topics, test, doc_topic_prior=alpha, hidden_fraction=HIDDEN_FRACTION)
        row[name] = round(score, 4)
    return row


def own_order(corpus, method, settings):
    """The order of tokens that goes with settings; None of models that have none."""
    if method not in MODELS:
        return None
    if settings == "program":
        return "document"
    if method == "TDM" and corpus == LARGE_CORPUS:
        return "document"
    return "corpus" if method == "TDM" or settings.startswith("paper") else "document"


def topics_of(corpus, settings, short):
    """Numbers of topics that the basic model is given."""
    parts = CORPORA[corpus]
    topics = parts.topics if settings in ("paper", "default", "default, auto") else parts.focus
    return topics[:: len(topics) - 1] if short else topics


def seeds_of(corpus, method, settings, short):
    """One seed is enough where TDM takes minutes for what is only compared with another run of that seed."""
    long = corpus == "nips_uci" and method == "TDM" and settings not in ("paper", "default")
    return range(1) if short or long else CORPORA[corpus].seeds


def runs_of(corpus, method, settings, order, short, n_components=None):
    """All seeds of a model, with each number of topics that it is given."""
    limit = CORPORA[corpus].limit
    if n_components is not None:
        topics = (n_components,)
    elif method in ("DDM", "TDM", "HDP"):
        topics = (limit,)
    else:
        topics = topics_of(corpus, settings, short)
    for n, seed in product(topics, seeds_of(corpus, method, settings, short)):
        yield corpus, seed, method, n, settings, order


def text_runs(corpora, short):
    """Cheap ones first."""
    runs = []
    for corpus in corpora:
        for method, settings in product(MODELS, SETTINGS):
            runs.extend(runs_of(corpus, method, settings, own_order(corpus, method, settings), short))
        for method in (*PASSES, "HDP"):
            runs.extend(runs_of(corpus, method, "default", None, short))
    for corpus, method, settings, order in order_cells(corpora):
        runs.extend(runs_of(corpus, method, settings, order, short, order_topics(corpus, method)))
    runs = [run for run in runs if run[4] != "default, rate 2" or run[2] == "TDM"]
    names = list(CORPORA)
    return sorted(runs, key=lambda run: (names.index(run[0]), run[2] == "TDM", run[1]))


def order_cells(corpora):
    """corpus, model, settings and order: all of them on one corpus, and what TDM could do on arXiv."""
    compared = ("paper", "default")
    if ORDER_CORPUS in corpora:
        yield from product((ORDER_CORPUS,), MODELS, compared, ORDERS)
    if LARGE_CORPUS in corpora:
        yield from product((LARGE_CORPUS,), ("TDM",), compared, ("document", IN_CALLS))


def order_topics(corpus, method):
    parts = CORPORA[corpus]
    return parts.focus[0] if method == "basic" else parts.limit


def missing(runs, cache):
    """Those that the cache does not have, once each."""
    return [run for key, run in {key_of(run): run for run in runs}.items() if key not in cache]


def expected_seconds(run, cache, short):
    """By the median of runs of the same kind: a fit of synthetic data, or a token of the model on text."""
    rows = {tuple(json.loads(key)): row for key, row in cache.rows.items()}
    if run[0] in NUMBER_PARTS:
        each = [row["seconds"] / len(row["found"]) for key, row in rows.items() if key[0] in NUMBER_PARTS]
        return len(NUMBER_PARTS[run[0]].cells) * np.median(each)
    corpus, _, method, n_components, *_ = (
        (run[1], 0, run[2], CORPORA[run[1]].limit) if run[0] == "words" else run
    )
    known = [
        (key[3], row["microseconds"]) for key, row in rows.items() if key[0] in CORPORA and key[2] == method
    ]
    nearest = min((n for n, _ in known), key=lambda n: abs(n - n_components))
    a_token = np.median([each for n, each in known if n == nearest])
    return 1e-6 * a_token * float(documents_of(corpus, short)[0].sum())


def run_all(runs, study, jobs):
    """Measure what the cache does not have."""
    todo = missing(runs, study.cache)
    with Pool(study, jobs, len(todo)) as pool:
        pool.measure(measure, [(run, study.short) for run in todo])


# Tables and pictures, from what the cache has.


def rows_of(cache, runs):
    return [cache.rows[key] for key in map(key_of, runs) if key in cache.rows]


def found_numbers(cache, prior, name, settings, short):
    """True number of topics -> those found in each data set."""
    found, cell = {}, (prior, name, settings)
    for run in number_runs(short):
        if cell in NUMBER_PARTS[run[0]].cells:
            rows = rows_of(cache, [run])
            found.setdefault(run[1], []).extend(found_by_cell(run[0], row)[cell] for row in rows)
    return {n: values for n, values in found.items() if values}


def number_row(prior, name, settings, n, found):
    mean, low, high = interval(found)
    cells = f"{mean:.2f}", f"{low:.2f} to {high:.2f}", f"{np.std(found):.2f}", len(found)
    return [prior, name, settings, n, *cells]


NUMBER_HEAD = [
    "prior",
    "model",
    "settings",
    "true topics",
    "mean found",
    "its 95 percent interval",
    "standard deviation",
    "data sets",
]


def write_rates(study, short):
    """The defaults under priors exp(-c T), which the uniform and the exponential one are among."""
    rates = {"uniform": 0.0, "exponential": 1.0, **{rate: rate for rate in RATES}}
    table = []
    for name, prior in product(NUMBER_MODELS, sorted(rates, key=rates.get)):
        for n, found in found_numbers(study.cache, prior, name, "default", short).items():
            if n in SOME_NUMBERS:
                table.append(number_row(rates[prior], name, "default", n, found))
    study.write("rates", ["c", *NUMBER_HEAD[1:]], table)


def write_number(study, short):
    table = []
    for prior, name, settings in product(NUMBER_PRIORS, NUMBER_MODELS, (*NUMBER_SETTINGS, "program")):
        found = found_numbers(study.cache, prior, name, settings, short)
        table.extend(number_row(prior, name, settings, n, values) for n, values in found.items())
    study.write("number", NUMBER_HEAD, table)


def draw_number(study, short):
    """Figure 2, a panel for each model and prior."""
    titles = {cell: "{1}, {0} prior".format(*cell) for cell in product(NUMBER_PRIORS, NUMBER_MODELS)}
    figure, axes = panels(list(titles.values()), 2)
    looks = styles(NUMBER_SETTINGS)
    for cell, (i, settings) in product(titles, enumerate(NUMBER_SETTINGS)):
        found = found_numbers(study.cache, *cell, settings, short)
        means, deviations = zip(*((np.mean(v), np.std(v)) for v in found.values()))
        x = [n + 0.12 * (i - 2) for n in found]  # so that bars stand side by side
        axes[titles[cell]].errorbar(x, means, deviations, label=settings, **looks[settings])
    for axis in axes.values():
        axis.plot([0, 10.5], [0, 10.5], color="gray", linewidth=1)
        axis.set(xlabel="true number of topics", ylabel="topics found", ylim=(0, LIMIT + 0.5))
    finish(figure, study.path("_number.png"))


MEASURES = {"own": "own inference", "fold-in": "one fold-in for all"}
# Lines of the pictures: label, method, settings.
PAPER_LINES = [(method, method, "paper") for method in MODELS]
DEFAULT_LINES = [
    *((method, method, "default") for method in MODELS),
    *((f"{method}, auto", method, "default, auto") for method in MODELS),
    *((method, method, "default") for method in PASSES),
]
HDP_LINES = {"HDP, alpha learned": "fold-in", "HDP, alpha 1": "fold-in, 1"}


def found_by(cache, corpus, method, settings, short):
    """Number of topics given -> rows of all seeds."""
    order = own_order(corpus, method, settings) if method in MODELS else None
    found = {}
    for run in runs_of(corpus, method, settings, order, short):
        found.setdefault(run[3], []).extend(rows_of(cache, [run]))
    return {n: rows for n, rows in found.items() if rows}


def draw_text(study, corpora, short, name, lines, hdp_lines):
    """Figures 3a and 4: models that are given a number of topics as lines, the others where they end."""
    figure, axes = panels([f"{corpus}: {title}" for title in MEASURES.values() for corpus in corpora])
    looks = styles([label for label, *_ in lines] + list(hdp_lines))
    for corpus, (measured, title) in product(corpora, MEASURES.items()):
        axis = axes[f"{corpus}: {title}"]
        axis.set(xlabel="topics", ylabel="nats per hidden word")
        for label, method, settings in lines:
            found = found_by(study.cache, corpus, method, settings, short)
            if found and method in NUMBER_MODELS:
                rows = found[CORPORA[corpus].limit]
                x, y = [row["topics"] for row in rows], [row[measured] for row in rows]
                axis.plot(x, y, label=label, color=looks[label]["color"], linestyle="none", marker="D")
            elif found:
                values = [[row[measured] for row in rows] for rows in found.values()]
                line(axis, list(found), values, label, looks[label])
        for label in hdp_lines:
            rows = found_by(study.cache, corpus, "HDP", "default", short).get(CORPORA[corpus].limit)
            if rows:
                ends = CORPORA[corpus].topics[:: len(CORPORA[corpus].topics) - 1]
                values = [[row[HDP_LINES[label]] for row in rows]] * 2
                line(axis, ends, values, label, {**looks[label], "marker": "", "linestyle": ":"})
    finish(figure, study.path(f"_{name}.png"))


def text_cells(corpora):
    """corpus, method and settings of all lines of the table."""
    for corpus in corpora:
        yield from ((corpus, method, settings) for method, settings in product(MODELS, SETTINGS))
        yield from ((corpus, method, "default") for method in (*PASSES, "HDP"))


def write_text(study, corpora, short):
    table = []
    for corpus, method, settings in text_cells(corpora):
        order = own_order(corpus, method, settings) if method in MODELS else ""
        for n, rows in found_by(study.cache, corpus, method, settings, short).items():
            times = [f"{np.median([row[name] for row in rows]):.3g}" for name in ("seconds", "microseconds")]
            if method == "HDP":
                for label, name in HDP_LINES.items():
                    cells = ["", "", "", *score_cells(rows, name), "", "", "", *times, len(rows)]
                    table.append([corpus, label, n, "", "", *cells])
            else:
                cells = [*score_cells(rows, "own"), *score_cells(rows, "fold-in"), *topic_cells(rows), *times]
                table.append([corpus, method, n, settings, order, *cells, len(rows)])
    head = ["corpus", "model", "topics given (or at most)", "settings", "order", *SCORE_HEAD, *TOPIC_HEAD]
    study.write("text", [*head, "seconds of training", "microseconds a token", "seeds"], table)


SCORE_HEAD = with_deciles(MEASURES.values())
TOPIC_HEAD = ["topics found", "least", "most"]


def score_cells(rows, name):
    return [f"{value:.4f}" for value in spread([row[name] for row in rows])]


def seed_of(row):
    return json.loads(row["run"])[1]


def topic_cells(rows):
    topics = [row["topics"] for row in rows]
    return [f"{np.median(topics):.0f}", min(topics), max(topics)]


def write_alpha(study, corpora, short):
    """Medians; a gain is the median of the differences between runs of one seed."""
    gains = (("paper, auto", "paper"), ("default, auto", "default, 1"), ("default, auto", "default"))
    table = []
    for corpus, method, (name, title) in product(corpora, MODELS, MEASURES.items()):
        found = {s: found_by(study.cache, corpus, method, s, short) for s in ALPHA_SETTINGS}
        for n in found["default, 1"]:
            by_seed = {s: {seed_of(row): row[name] for row in rows.get(n, ())} for s, rows in found.items()}
            seeds = set.intersection(*map(set, by_seed.values()))
            if not seeds:
                continue
            cells = [f"{np.median(list(values.values())):.4f}" for values in by_seed.values()]
            differences = ([by_seed[a][seed] - by_seed[b][seed] for seed in seeds] for a, b in gains)
            cells.extend(f"{np.median(values):+.4f}" for values in differences)
            table.append([corpus, method, n, title, *cells, len(by_seed["default, auto"])])
    head = ["corpus", "model", "topics given (or at most)", "inference", *ALPHA_SETTINGS]
    study.write("alpha", [*head, *(f"gain of {a} over {b}" for a, b in gains), "seeds"], table)


def write_order(study, corpora, short):
    table = []
    for corpus, method, settings, order in order_cells(corpora):
        topics = order_topics(corpus, method)
        rows = rows_of(study.cache, runs_of(corpus, method, settings, order, short, topics))
        if rows:
            cells = [*score_cells(rows, "own"), *score_cells(rows, "fold-in"), *topic_cells(rows), len(rows)]
            table.append([corpus, method, topics, settings, str(order), *cells])
    head = ["corpus", "model", "topics given (or at most)", "settings", "shuffle", *SCORE_HEAD, *TOPIC_HEAD]
    study.write("order", [*head, "seeds"], table)


def draw_trace(study, corpora, short):
    """Figure 3b, of all seeds."""
    figure, axes = panels(corpora)
    cells = list(product(NUMBER_MODELS, TRACE_SETTINGS))
    looks = styles(cells)
    for corpus, (method, settings) in product(corpora, cells):
        rows = found_by(study.cache, corpus, method, settings, short).get(CORPORA[corpus].limit, ())
        note_seeds(axes[corpus], len(rows))
        for i, row in enumerate(rows):
            style = {**looks[method, settings], "marker": "", "linewidth": 1}
            label = f"{method}, {settings}" if i == 0 else None
            axes[corpus].plot(*row["trace"], label=label, **style)
    for axis in axes.values():
        axis.set(xlabel="tokens seen", ylabel="most probable number of topics", xscale="log")
    finish(figure, study.path("_trace.png"))


def write_words(study, corpora):
    table = []
    for run in word_runs(corpora):
        for row in rows_of(study.cache, [run]):
            for share, words in zip(row["shares"], row["words"]):
                table.append([*run[1:], row["topics"], f"{share:.3f}", " ".join(words)])
    study.write("words", ["corpus", "model", "settings", "topics found", "share", "words"], table)


def draw_all(study, corpora, short):
    import matplotlib

    matplotlib.use("Agg")
    cache = study.cache
    if rows_of(cache, number_runs(short)):
        draw_number(study, short)
        write_number(study, short)
        write_rates(study, short)
    draw_text(study, corpora, short, "text_paper", PAPER_LINES, list(HDP_LINES))
    draw_text(study, corpora, short, "text_default", DEFAULT_LINES, list(HDP_LINES)[:1])
    write_text(study, corpora, short)
    write_alpha(study, corpora, short)
    write_order(study, corpora, short)
    write_words(study, corpora)
    draw_trace(study, corpora, short)


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument(
        "--parts", nargs="+", choices=["number", "text", "words"], default=["number", "text", "words"]
    )
    parser.add_argument("--estimate", action="store_true", help="print how long missing runs take, and stop")
    arguments = parser.parse_args()
    corpora, short = arguments.corpora, arguments.short
    study = Study("moment_matching", arguments)
    if not arguments.draw_only:
        parts = {
            "number": number_runs(short),
            "text": text_runs(corpora, short),
            "words": word_runs(corpora),
        }
        runs = [run for part in arguments.parts for run in parts[part]]
        if arguments.estimate:
            cache = study.known_runs()
            seconds_of = partial(expected_seconds, cache=cache, short=short)
            print_estimates(missing(runs, cache), seconds_of, arguments.jobs)
            return
        if find_spec("gensim") is None:
            print("gensim is not installed: the runs of HDP are left out")
            runs = [run for run in runs if run[2] != "HDP"]
        run_all(runs, study, arguments.jobs)
    draw_all(study, corpora, short)


if __name__ == "__main__":
    main()
