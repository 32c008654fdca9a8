"""The experiments of Hsu and Poupart (2016) again: how many topics moment matching finds, and how good.

    python benchmarks/moment_matching_paper.py

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
public program does; since the paper does not say in which order it reads, its settings are tried with both.
"default" has the library's defaults but the paper's prior of the number of topics; "rate 2" is the default of
TDM. "..., auto" learns alpha, and "default, 1" has the 1 of the paper. beta is V^-1/2 in all. At each token,
"all documents" applies equations 12 and 13 to the proportions of all documents, the others to those of its
own. TDM on arXiv takes the tokens document by document, since it would keep 4 GB of proportions otherwise.

Departures: a random half of a test document's tokens is hidden, not the second. Reuters has the paper's
split, but neither a stemmer nor its choice of words; NIPS is that of UCI with a random split; arXiv (uniform
prior) and 20 Newsgroups (exponential prior) take the place of Yelp.

Scores come from each model's own inference, and from one Gibbs fold-in for all. HDP is gensim's with its
defaults but for T; only the fold-in scores it, given its learned alpha (hdp_to_lda) or alpha = 1. "batch HDP"
is CollapsedGibbsHDP, scored likewise; with the settings "fixed", its concentrations are 1 and not learned.
Times are processor time of training in one thread.
"""

import time
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _literal_ddm import number_weights
from _pictures import finish, line, note_seeds, panels, styles
from _study import Study, grouped, interval, new_parser, seconds_of, shown, spread, with_deciles

from sktopic import OnlineEMLDA
from sktopic._documents._matrices import canonical_counts
from sktopic._documents._sources import MatrixDocuments
from sktopic._estimators._plug_in import plug_in_topics
from sktopic._inference._completion import mean_log_predictive
from sktopic._runtime._parallel import Workers
from sktopic.hdp import CollapsedGibbsHDP
from sktopic.metrics import document_completion
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA

HIDDEN_FRACTION = 0.5
MODELS = {"basic": MomentMatchingLDA, "DDM": DegenerateDirichletLDA, "TDM": TriangularDirichletLDA}
PASSES = {"OnlineEM, 1 pass": 1, "OnlineEM, 5 passes": 5}
# Scored by the fold-in alone.
HIERARCHICAL = ("HDP", "batch HDP")
PAPER = {"doc_topic_prior": 1.0, "second_moment": "first", "shuffle": "corpus"}
FIXED = {"topic_concentration": 1.0, "doc_concentration": 1.0}
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


CORPORA = {
    "reuters21578": Corpus(100, "uniform", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500),
    "arxiv_0": Corpus(100, "uniform", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500),
    "20news": Corpus(100, "exponential", (5, 10, 20, 40, 60, 80, 100), (40, 100), 500),
    "nips_uci": Corpus(400, "exponential", (10, 25, 50, 100, 200, 400), (100, 400), 150),
}
ORDER_CORPUS, LARGE_CORPUS = "reuters21578", "arxiv_0"
# A few seeds, some more, and as many as a verdict takes at most.
FEW, SOME, MANY = range(3), range(5), range(10)
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
OF_ALL = "all documents"
# Rates of the exponential prior of the number; the uniform one has 0, that of the paper 1.
RATES = (0.25, 0.5, 2.0, 3.0)


class NumberPart(NamedTuple):
    cells: tuple  # prior, model and settings of each fit
    numbers: tuple  # true ones
    seeds: range  # of data sets


def number_part(priors, settings, numbers, seeds):
    return NumberPart(tuple(product(priors, NUMBER_MODELS, settings)), tuple(numbers), seeds)


NUMBER_PARTS = {
    "synthetic": number_part(NUMBER_PRIORS, NUMBER_SETTINGS, TRUE_NUMBERS, range(20)),
    "synthetic rates": number_part(RATES, ["default"], SOME_NUMBERS, range(20)),
    "synthetic program": number_part(NUMBER_PRIORS, ["program"], SOME_NUMBERS, range(20)),
    "synthetic paper": number_part(NUMBER_PRIORS, ["paper"], TRUE_NUMBERS, range(20, 100)),
    "synthetic literal": NumberPart(tuple(product(NUMBER_PRIORS, ["DDM"], [OF_ALL])), SOME_NUMBERS, range(5)),
}


# Synthetic data.


def synthetic(n_topics, seed):
    rng = np.random.RandomState([n_topics, seed])
    theta = rng.dirichlet(np.full(n_topics, 0.05), size=N_DOCUMENTS)
    phi = rng.dirichlet(np.full(N_WORDS, 0.1), size=n_topics)
    return np.array([rng.multinomial(LENGTH, row / row.sum()) for row in theta @ phi])


def measure_number(part, n_topics, seed):
    """The number of topics under each of the settings in the same data set."""
    counts, found = synthetic(n_topics, seed), {}
    for prior, name, settings in NUMBER_PARTS[part].cells:
        number_of = number_if_literal if settings == OF_ALL else number_of_model
        found[f"{prior}, {name}, {settings}"] = int(number_of(counts, prior, name, settings, seed))
    return {"found": found}


def number_of_model(counts, prior, name, settings, seed):
    chosen = PROGRAM if settings == "program" else NUMBER_SETTINGS[settings]
    options = {"n_components_prior": prior, "random_state": seed, **chosen}
    return MODELS[name](LIMIT, **options).fit(counts).n_components_


def number_if_literal(counts, prior, name, settings, seed):
    """What DDM finds if each token changes the proportions of all documents."""
    tokens = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0)
    np.random.RandomState(seed).shuffle(tokens)
    before = np.exp(-float(prior == "exponential") * np.arange(LIMIT))
    return number_weights(tokens.tolist(), *counts.shape, before, of_all=True).argmax() + 1


def number_runs():
    for name, part in NUMBER_PARTS.items():
        yield from ((name, n_topics, seed) for seed, n_topics in product(part.seeds, part.numbers))


# Text.


def documents_of(corpus):
    """Training and test counts."""
    train, test, _ = load(corpus)
    return train, test[np.random.RandomState(0).permutation(test.shape[0])[: CORPORA[corpus].n_test]]


def new_model(corpus, seed, method, n_components, settings, order):
    if method in PASSES:
        return OnlineEMLDA(n_components, max_iter=PASSES[method], random_state=seed)
    shuffle = "corpus" if order == IN_CALLS else order
    options = {"random_state": seed, **SETTINGS[settings], "shuffle": shuffle}
    if method != "basic":
        options.setdefault("n_components_prior", CORPORA[corpus].prior)
    return MODELS[method](n_components, **options)


def measure_text(corpus, seed, method, n_components, settings, order):
    train, test = documents_of(corpus)
    if method in HIERARCHICAL:
        row = measure_hdp(method, train, test, n_components, seed, settings)
    else:
        start = time.process_time()
        model = new_model(corpus, seed, method, n_components, settings, order)
        if order == IN_CALLS:
            for first in range(0, train.shape[0], CALL):
                model.partial_fit(train[first : first + CALL])
        else:
            model.fit(train)
        seconds = time.process_time() - start
        row = {"seconds": seconds, **scores_of(model, test), "topics": model.n_components_}
        if has_trace(corpus, method, settings, order):
            row["trace"] = trace_of(model)
    microseconds = round(1e6 * row["seconds"] / float(train.sum()), 3)
    return {**row, "microseconds": microseconds, "seconds": round(row["seconds"], 2)}


def scores_of(model, test):
    fold_in = document_completion(model, test, hidden_fraction=HIDDEN_FRACTION)
    return {"own": round(own_completion(model, test), 4), "fold-in": round(fold_in, 4)}


def own_completion(model, test):
    """The same halves by the inference of the model."""
    mixture = hasattr(model, "predict_mixture")
    topics = model._state.topics.leading(model.n_components) if mixture else plug_in_topics(model)
    proportions = model.predict_mixture if mixture else model.transform
    counts = canonical_counts(sp.csr_array(test, dtype=np.float64))
    with Workers(1) as workers:
        groups = MatrixDocuments(counts).groups()
        return mean_log_predictive(groups, topics, proportions, workers, HIDDEN_FRACTION).value()


def has_trace(corpus, method, settings, order):
    """Whether the trace of a run is shown."""
    shown = method in NUMBER_MODELS and settings in TRACE_SETTINGS
    orders = (own_order(corpus, method, settings), *(["document"] if settings == "paper" else []))
    return shown and order in orders


def trace_of(model):
    """Some notes, the last among them."""
    tokens, topics = (a[::-KEPT_NOTES][::-1] for a in (model.n_tokens_trace_, model.n_components_trace_))
    shown = tokens >= FIRST_SHOWN
    return [tokens[shown].tolist(), topics[shown].tolist()]


def measure_words(corpus, method, settings):
    """The largest topics of the most probable number, by their most probable words."""
    vocabulary, order = load(corpus)[2], own_order(corpus, method, settings)
    model = new_model(corpus, 0, method, CORPORA[corpus].limit, settings, order)
    proportions = model.fit_transform(documents_of(corpus)[0]).mean(axis=0)
    largest = np.argsort(-proportions, kind="stable")[:N_SHOWN]
    words = np.argsort(-model.components_[largest], axis=1, kind="stable")[:, :N_TOP_WORDS]
    return {
        "topics": model.n_components_,
        "shares": [round(float(proportions[t]), 4) for t in largest],
        "words": [[str(vocabulary[w]) for w in row] for row in words],
    }


def word_runs():
    return [("words", *cell) for cell in product(WORD_CORPORA, NUMBER_MODELS, WORD_SETTINGS)]


def measure_hdp(method, train, test, n_components, seed, settings):
    row = {}
    if method == "batch HDP":
        model = CollapsedGibbsHDP(n_components, random_state=seed, **(FIXED if settings == "fixed" else {}))
        row["seconds"], _ = seconds_of(model.fit, train)
        row["topics"] = int(model.n_components_)
        topics, learned = model.components_, model.doc_topic_prior_
    else:
        row["seconds"], topics, learned = gensim_hdp(train, n_components, seed)
    for name, alpha in (("fold-in", learned), ("fold-in, 1", 1.0)):
        score = document_completion(topics, test, doc_topic_prior=alpha, hidden_fraction=HIDDEN_FRACTION)
        row[name] = round(score, 4)
    return row


def gensim_hdp(train, n_components, seed):
    """Seconds of training, topics, and the learned prior."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    names, counts = {i: str(i) for i in range(train.shape[1])}, Sparse2Corpus(train, documents_columns=False)
    seconds, model = seconds_of(HdpModel, counts, names, T=n_components, random_state=seed)
    learned = np.maximum(model.hdp_to_lda()[0], 1e-10)  # of topics that are not in use it underflows
    return seconds, model.get_topics(), learned


def own_order(corpus, method, settings):
    """The order of tokens that goes with settings; None of models that have none."""
    if method not in MODELS:
        return None
    if settings == "program":
        return "document"
    if method == "TDM" and corpus == LARGE_CORPUS:
        return "document"
    return "corpus" if method == "TDM" or settings.startswith("paper") else "document"


def topics_of(corpus, settings):
    """Numbers of topics that the basic model is given."""
    parts = CORPORA[corpus]
    return parts.topics if settings in ("paper", "default", "default, auto") else parts.focus


def seeds_of(corpus, method, settings, order):
    """Many where claims are judged, but fewer where runs take minutes; few elsewhere."""
    if (corpus, method) == (LARGE_CORPUS, "batch HDP"):
        return SOME if settings == "fixed" else FEW
    if (corpus, method) == ("nips_uci", "TDM") and order != "corpus":
        return FEW
    return MANY if method in HIERARCHICAL or (settings == "paper" and order != IN_CALLS) else FEW


def runs_of(corpus, method, settings, order, n_components=None):
    """All seeds of a model, with each number of topics that it is given."""
    if n_components is not None:
        topics = (n_components,)
    else:
        limited = method in (*NUMBER_MODELS, *HIERARCHICAL)
        topics = (CORPORA[corpus].limit,) if limited else topics_of(corpus, settings)
    for n, seed in product(topics, seeds_of(corpus, method, settings, order)):
        yield "text", corpus, seed, method, n, settings, order


def text_runs():
    """Cheap ones first."""
    runs = []
    for _, corpus, method, settings, order in text_cells():
        if settings != "default, rate 2" or method == "TDM":
            runs.extend(runs_of(corpus, method, settings, order))
    for corpus, method, settings, order in order_cells():
        runs.extend(runs_of(corpus, method, settings, order, order_topics(corpus, method)))
    names = list(CORPORA)
    return sorted(runs, key=lambda run: (names.index(run[1]), run[3] == "TDM", run[2]))


def text_cells():
    """A name for the settings, corpus, method, settings and order, of all lines of the table."""
    for corpus in CORPORA:
        for method, settings in product(MODELS, SETTINGS):
            yield settings, corpus, method, settings, own_order(corpus, method, settings)
        yield from (("paper, document", corpus, method, "paper", "document") for method in MODELS)
        yield from (("default", corpus, method, "default", None) for method in PASSES)
        yield from (("", corpus, method, "default", None) for method in HIERARCHICAL)
        yield "fixed", corpus, "batch HDP", "fixed", None


def order_cells():
    """corpus, model, settings and order: all of them on one corpus, and what TDM could do on arXiv."""
    compared = ("paper", "default")
    yield from product((ORDER_CORPUS,), MODELS, compared, ORDERS)
    yield from product((LARGE_CORPUS,), ("TDM",), compared, ("document", IN_CALLS))


def order_topics(corpus, method):
    parts = CORPORA[corpus]
    return parts.focus[0] if method == "basic" else parts.limit


# Tables and pictures, from what the cache has.


def found_numbers(cache, prior, name, settings):
    """True number of topics -> those found in each data set."""
    cell, rows = f"{prior}, {name}, {settings}", cache.found(number_runs())
    return grouped((row["true_topics"], row["found"][cell]) for row in rows if cell in row["found"])


def number_row(prior, name, settings, n, found):
    mean, low, high = interval(found)
    cells = f"{mean:.2f}", f"{low:.2f} to {high:.2f}", f"{np.std(found):.2f}", len(found)
    return [prior, name, settings, n, *cells]


NUMBER_HEAD = ["prior", "model", "settings", "true topics", "mean found", "its 95 percent interval"]
NUMBER_HEAD += ["standard deviation", "data sets"]


def write_rates(study):
    """The defaults under priors exp(-c T), which the uniform and the exponential one are among."""
    rates = {"uniform": 0.0, "exponential": 1.0, **{rate: rate for rate in RATES}}
    table = []
    for name, prior in product(NUMBER_MODELS, sorted(rates, key=rates.get)):
        for n, found in found_numbers(study.cache, prior, name, "default").items():
            if n in SOME_NUMBERS:
                table.append(number_row(rates[prior], name, "default", n, found))
    study.write("rates", ["c", *NUMBER_HEAD[1:]], table)


def write_number(study):
    table, all_settings = [], (*NUMBER_SETTINGS, "program", OF_ALL)
    for prior, name, settings in product(NUMBER_PRIORS, NUMBER_MODELS, all_settings):
        found = found_numbers(study.cache, prior, name, settings)
        table.extend(number_row(prior, name, settings, n, values) for n, values in found.items())
    study.write("number", NUMBER_HEAD, table)


def draw_number(study):
    """Figure 2, a panel for each model and prior."""
    titles = {cell: "{1}, {0} prior".format(*cell) for cell in product(NUMBER_PRIORS, NUMBER_MODELS)}
    figure, axes = panels(list(titles.values()), 2)
    looks = styles(NUMBER_SETTINGS)
    for cell, (i, settings) in product(titles, enumerate(NUMBER_SETTINGS)):
        found = found_numbers(study.cache, *cell, settings)
        means, deviations = zip(*((np.mean(v), np.std(v)) for v in found.values()))
        x = [n + 0.12 * (i - 2) for n in found]  # so that bars stand side by side
        axes[titles[cell]].errorbar(x, means, deviations, label=settings, **looks[settings])
    for axis in axes.values():
        axis.plot([0, 10.5], [0, 10.5], color="gray", linewidth=1)
        axis.set(xlabel="true number of topics", ylabel="topics found", ylim=(0, LIMIT + 0.5))
    finish(figure, study.path("_number.svg"))


MEASURES = {"own": "own inference", "fold-in": "one fold-in for all"}
# Lines of the pictures: label, method, settings.
DEFAULT_LINES = [
    *((method, method, "default") for method in MODELS),
    *((f"{method}, auto", method, "default, auto") for method in MODELS),
    *((method, method, "default") for method in PASSES),
]
HDP_LINES = {"HDP, alpha learned": "fold-in", "HDP, alpha 1": "fold-in, 1"}


def found_by(cache, corpus, method, settings, order="own"):
    """Number of topics given -> rows of all seeds."""
    order = own_order(corpus, method, settings) if order == "own" else order
    rows = cache.found(runs_of(corpus, method, settings, order))
    return grouped((row["n_components"], row) for row in rows)


def draw_text(study, lines, hdp_lines):
    """Figures 3a and 4: models that are given a number of topics as lines, the others where they end."""
    figure, axes = panels([f"{corpus}: {title}" for title in MEASURES.values() for corpus in CORPORA])
    looks = styles([label for label, *_ in lines] + list(hdp_lines))
    for corpus, (measured, title) in product(CORPORA, MEASURES.items()):
        axis = axes[f"{corpus}: {title}"]
        axis.set(xlabel="topics", ylabel="nats per hidden word")
        for label, method, settings in lines:
            found = found_by(study.cache, corpus, method, settings)
            if found and method in NUMBER_MODELS:
                rows = found[CORPORA[corpus].limit]
                x, y = [row["topics"] for row in rows], [row[measured] for row in rows]
                axis.plot(x, y, label=label, color=looks[label]["color"], linestyle="none", marker="D")
            elif found:
                values = [[row[measured] for row in rows] for rows in found.values()]
                line(axis, list(found), values, label, looks[label])
        for label in hdp_lines:
            rows = found_by(study.cache, corpus, "HDP", "default").get(CORPORA[corpus].limit)
            if rows:
                ends = CORPORA[corpus].topics[:: len(CORPORA[corpus].topics) - 1]
                values = [[row[HDP_LINES[label]] for row in rows]] * 2
                line(axis, ends, values, label, {**looks[label], "marker": "", "linestyle": ":"})
    finish(figure, study.path("_text_default.svg"))


def write_text(study):
    table = []
    for name, corpus, method, settings, order in text_cells():
        for n, rows in found_by(study.cache, corpus, method, settings, order).items():
            times = [f"{np.median([row[name] for row in rows]):.3g}" for name in ("seconds", "microseconds")]
            if method in HIERARCHICAL:
                found = topic_cells(rows) if "topics" in rows[0] else [""] * len(TOPIC_HEAD)
                for label, alpha in HDP_LINES.items():
                    cells = ["", "", "", *score_cells(rows, alpha), *found, *times, len(rows)]
                    label = label.replace("alpha learned", "its prior") if name == "fixed" else label
                    table.append([corpus, label.replace("HDP", method), n, name, "", *cells])
            else:
                cells = [*score_cells(rows, "own"), *score_cells(rows, "fold-in"), *topic_cells(rows), *times]
                table.append([corpus, method, n, name, order or "", *cells, len(rows)])
    head = ["corpus", "model", "topics given (or at most)", "settings", "order", *SCORE_HEAD, *TOPIC_HEAD]
    study.write("text", [*head, "seconds of training", "microseconds a token", "seeds"], table)


SCORE_HEAD = with_deciles(MEASURES.values())
TOPIC_HEAD = ["topics found", "least", "most"]


def score_cells(rows, name):
    return shown(spread([row[name] for row in rows]))


def topic_cells(rows):
    topics = [row["topics"] for row in rows]
    return [f"{np.median(topics):.0f}", min(topics), max(topics)]


def write_alpha(study):
    """Medians; a gain is the median of the differences between runs of one seed."""
    gains = (("paper, auto", "paper"), ("default, auto", "default, 1"), ("default, auto", "default"))
    table = []
    for corpus, method, (name, title) in product(CORPORA, MODELS, MEASURES.items()):
        found = {s: found_by(study.cache, corpus, method, s) for s in ALPHA_SETTINGS}
        for n in found["default, 1"]:
            by_seed = {s: {row["seed"]: row[name] for row in rows.get(n, ())} for s, rows in found.items()}
            seeds = set.intersection(*map(set, by_seed.values()))
            if not seeds:
                continue
            cells = [f"{np.median(list(values.values())):.4f}" for values in by_seed.values()]
            differences = ([by_seed[a][seed] - by_seed[b][seed] for seed in seeds] for a, b in gains)
            cells.extend(f"{np.median(values):+.4f}" for values in differences)
            table.append([corpus, method, n, title, *cells, len(by_seed["default, auto"])])
    head = ["corpus", "model", "topics given (or at most)", "inference", *ALPHA_SETTINGS]
    study.write("alpha", [*head, *(f"gain of {a} over {b}" for a, b in gains), "seeds"], table)


def write_order(study):
    table = []
    for corpus, method, settings, order in order_cells():
        topics = order_topics(corpus, method)
        rows = study.cache.found(runs_of(corpus, method, settings, order, topics))
        if rows:
            cells = [*score_cells(rows, "own"), *score_cells(rows, "fold-in"), *topic_cells(rows), len(rows)]
            table.append([corpus, method, topics, settings, str(order), *cells])
    head = ["corpus", "model", "topics given (or at most)", "settings", "shuffle", *SCORE_HEAD, *TOPIC_HEAD]
    study.write("order", [*head, "seeds"], table)


def draw_trace(study):
    """Figure 3b, of all seeds; with the settings of the paper, documents are read one after the other."""
    figure, axes = panels(list(CORPORA))
    cells = list(product(NUMBER_MODELS, TRACE_SETTINGS))
    looks = styles(cells)
    for corpus, (method, settings) in product(CORPORA, cells):
        order = "document" if settings == "paper" else "own"
        rows = found_by(study.cache, corpus, method, settings, order).get(CORPORA[corpus].limit, ())
        note_seeds(axes[corpus], len(rows))
        for i, row in enumerate(rows):
            style = {**looks[method, settings], "marker": "", "linewidth": 1}
            label = f"{method}, {settings}" if i == 0 else None
            axes[corpus].plot(*row["trace"], label=label, **style)
    for axis in axes.values():
        axis.set(xlabel="tokens seen", ylabel="most probable number of topics", xscale="log")
    finish(figure, study.path("_trace.svg"))


def write_words(study):
    table = []
    for row in study.cache.found(word_runs()):
        run = row["corpus"], row["method"], row["settings"], row["topics"]
        for share, words in zip(row["shares"], row["words"]):
            table.append([*run, f"{share:.3f}", " ".join(words)])
    study.write("words", ["corpus", "model", "settings", "topics found", "share", "words"], table)


def write_tables(study):
    if study.cache.found(number_runs()):
        for write in (draw_number, write_number, write_rates):
            write(study)
    draw_text(study, DEFAULT_LINES, list(HDP_LINES)[:1])
    for write in (write_text, write_alpha, write_order, write_words, draw_trace):
        write(study)


def main():
    study = Study("moment_matching", new_parser(__doc__, runs=True).parse_args())
    parts = {part: partial(measure_number, part) for part in NUMBER_PARTS}
    parts |= {"text": measure_text, "words": measure_words}
    study.measure(parts, [*number_runs(), *text_runs(), *word_runs()])
    write_tables(study)


if __name__ == "__main__":
    main()
