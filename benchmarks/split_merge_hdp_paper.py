"""The experiments of Bryant and Sudderth (2012) again, and all HDPs side by side.

    python benchmarks/split_merge_hdp_paper.py [--short] [--jobs 2]
                                               [--parts bars nips arxiv bound moves steps weights models]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped; tables and
pictures are drawn from the runs. All of it goes to benchmarks/output/, or with --update to doc/benchmarks/
and benchmarks/runs/. --short takes some minutes with few documents, to see that all works.

bars    figure 2 (a, d, g): 2000 documents of 20 bars, from eight numbers of topics, five corpora and seeds
nips    figure 2 (b, e, h): 1392 papers, twenty passes
arxiv   figure 2 (c, f, i): 490 000 abstracts as a stream, in the place of the New York Times
bound   the bound and the held-out score, with moves and without, ten passes
moves   what share of a pass over the papers split and merge moves take
steps   the document step against vectorised NumPy
weights the maximisation over weights of topics, by a fixed point and by L-BFGS
models  all HDPs of the library on five corpora with their defaults, and those of tomotopy and gensim

oHDP-SM is DirectAssignmentHDP, oHDP the same without moves, bHDP that with learning_method='batch', oHDP-CRF
is OnlineVariationalHDP. Concentrations are learned, learning_decay is 0.5, batches have 200 documents and
2000 in the stream (the paper's have 10 000). Methods for batches see the first of five parts of arXiv only.

Scores are those of document_completion: one Gibbs fold-in for all, a fifth of the words hidden of at most
500 test documents. tomotopy's topics get a prior in proportion to their tokens times its concentration,
gensim's the better of its learned prior (hdp_to_lda) and 1 / topics. Times are processor time of training in
a process of one thread, without scoring.
"""

import json
import time
from contextlib import ExitStack, suppress
from itertools import product
from unittest import mock

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, finish, new_parser, panels, styles
from _traces import PEER_TRACES, SEED, Stop, Trace, completion, note, trace_of, traced
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, logit

from sktopic import hdp
from sktopic._document_steps import VariationalStep
from sktopic._documents import DocumentReader, canonical_counts
from sktopic._parallel import Workers
from sktopic.datasets import make_bars
from sktopic.hdp import _direct_assignment
from sktopic.hdp._corpus_topics import fit_weights
from sktopic.hdp._moves import Moves

BARS_STARTS = (2, 5, 10, 20, 40, 50, 80, 100)
BARS_FIXED = (20, 50)
BARS_SEEDS = range(5)
NIPS_PASSES, BOUND_PASSES = 20, 10
BOUND_RUNS = ((True, 100), (False, 100), (False, 300))
ARXIV_FILES = tuple(f"arxiv_{i}" for i in range(5))
# Seconds of processor time for a run.
SECONDS = {"nips": 400, "arxiv": 600, "models": 200}
FIXED_NUMBER = {"split_merge": False}
LEARNED = {"topic_word_prior": "auto"}
METHODS = {
    "oHDP-SM": (hdp.DirectAssignmentHDP, {}),
    "oHDP": (hdp.DirectAssignmentHDP, FIXED_NUMBER),
    "bHDP": (hdp.DirectAssignmentHDP, {**FIXED_NUMBER, "learning_method": "batch"}),
    "oHDP-SM, learned eta": (hdp.DirectAssignmentHDP, LEARNED),
    "oHDP-CRF": (hdp.OnlineVariationalHDP, {}),
    "HybridHDP": (hdp.HybridHDP, {}),
    "CGS": (hdp.CollapsedGibbsHDP, {"max_iter": 10**6, "evaluate_every": 0}),
}
NIPS_RUNS = (
    ("oHDP-SM", 100),
    ("oHDP-SM", 300),
    ("oHDP-SM, learned eta", 100),
    ("oHDP", 300),
    ("oHDP", 1000),
    ("bHDP", 300),
    ("bHDP", 1000),
    ("oHDP-CRF", 300),
    ("HybridHDP", 300),
    ("CGS", 300),
)
ARXIV_RUNS = (
    ("oHDP-SM", 200),
    ("oHDP-SM, learned eta", 200),
    ("oHDP", 300),
    ("oHDP", 500),
    ("oHDP-CRF", 300),
    ("HybridHDP", 300),
    ("bHDP", 300),
    ("CGS", 300),
)
BATCH_METHODS = ("bHDP", "CGS")
MODELS = (
    "HybridHDP",
    "CollapsedGibbsHDP",
    "DirectAssignmentHDP",
    "OnlineVariationalHDP",
    "OnlineEMHDP",
    "TruncationFreeHDP",
)
PEERS = ("tomotopy", "gensim")
CORPORA = ("kos", "nips1740", "reuters21578", "20news", "arxiv_0")
STEP_ITERATIONS = 20


def key_of(run):
    return json.dumps(run)


def documents_of(corpus, short):
    train, test, _ = load(corpus)
    return train[: 300 if short else None], test[: 50 if short else N_TEST]


def hook_of(method):
    """The method that a trace is taken behind: of an update, or a sweep."""
    return "_after_sweep" if method in ("CGS", "CollapsedGibbsHDP") else "_update"


# The runs.


def measure(run, short):
    """One run: a row of the cache."""
    start = time.process_time()
    row = PARTS[run[0]](short, *run[1:])
    return {"run": key_of(run), "seconds": round(time.process_time() - start, 2), **row}


def measure_bars(short, method, n_components, seed):
    """A run on bars, and the score of the topics that they were made of."""
    n = 300 if short else 2000
    bars = make_bars(n + 200, size=10, doc_length=250, random_state=seed)
    train, test = bars.data[:n], bars.data[n:]
    kind, settings = METHODS[method]
    model = kind(n_components, **settings, random_state=seed)
    trace = trace_of(model, "_update", train, test, np.inf, first=0.005, factor=1.02)
    return {"trace": trace, "truth": completion(bars.components + 1e-12, test, bars.doc_topic_prior)}


def measure_nips(short, method, n_components):
    train, test = documents_of("nips1740", short)
    kind, settings = METHODS[method]
    if method != "CGS":
        settings = {**settings, "max_iter": 2 if short else NIPS_PASSES}
    model = kind(n_components, **settings, random_state=SEED)
    return {"trace": trace_of(model, hook_of(method), train, test, 10 if short else SECONDS["nips"])}


def measure_arxiv(short, method, n_components):
    _, test = documents_of(ARXIV_FILES[0], short)
    kind, settings = METHODS[method]
    seconds = 10 if short else SECONDS["arxiv"]
    if method in BATCH_METHODS:
        train, _ = documents_of(ARXIV_FILES[0], short)
        if method == "bHDP":
            settings = {**settings, "max_iter": NIPS_PASSES}
        model = kind(n_components, **settings, random_state=SEED)
        return {"trace": trace_of(model, hook_of(method), train, test, seconds)}
    trace = Trace(seconds)
    settings = {**settings, "batch_size": 100 if short else 2000, "random_state": SEED}
    model = traced(kind(n_components, **settings), trace, test, hook_of(method))
    with suppress(Stop):
        for name in ARXIV_FILES:
            model.partial_fit(documents_of(name, short)[0])
    note(trace, model, test)
    return {"trace": trace.rows}


def measure_bound(short, corpus, eta, moves, n_components):
    """The bound of the training documents, and the score of the others."""
    train, test = documents_of(corpus, short)
    model = hdp.DirectAssignmentHDP(
        n_components,
        split_merge=moves,
        topic_word_prior=eta,
        max_iter=2 if short else BOUND_PASSES,
        random_state=SEED,
    ).fit(train)
    bound = model.elbo(train) / train.sum()
    return {"bound": bound, "score": completion(model, test), "topics": int(model.n_components_)}


def measure_moves(short, n_components, max_iter):
    """Seconds of training and of what moves take of them, on two cores."""
    train, _ = documents_of("nips1740", short)
    start = time.perf_counter()
    model = hdp.DirectAssignmentHDP(n_components, max_iter=max_iter, n_jobs=2, random_state=SEED)
    model.fit(train)
    wall = time.perf_counter() - start
    start = time.perf_counter()
    with Clock(MOVING) as clock:
        model.fit(train)
    timed = time.perf_counter() - start
    return {
        "wall": round(wall, 2),
        "share": round(clock.seconds / timed, 3),
        "topics": int(model.n_components_),
    }


# What moves topics and their weights; none of it calls another.
MOVING = (
    *((Moves, name) for name in ("merge", "_drop", "propose_splits", "split")),
    (_direct_assignment, "fit_weights"),
)


class Clock:
    """Adds up the wall time of some functions (place, name), as long as it is entered."""

    def __init__(self, functions):
        self.seconds, self._functions, self._patches = 0.0, functions, ExitStack()

    def __enter__(self):
        for place, name in self._functions:
            timed = self._timed(getattr(place, name))
            self._patches.enter_context(mock.patch.object(place, name, timed))
        return self

    def __exit__(self, *_):
        self._patches.close()

    def _timed(self, function):
        def run(*arguments, **keywords):
            start = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.seconds += time.perf_counter() - start

        return run


def measure_steps(short, corpus, n_components):
    """Seconds of the document step and of NumPy's for the same iterations, medians of batches."""
    train, _ = documents_of(corpus, short)
    model = hdp.DirectAssignmentHDP(n_components, split_merge=False, max_iter=1, random_state=SEED)
    model.fit(train[:2000])
    corpus_topics = model._corpus_topics(model.total_samples_)
    prior, topics, times = corpus_topics.prior(), corpus_topics.geometric(), []
    reader = DocumentReader(canonical_counts(train.astype(float)))
    step = VariationalStep(STEP_ITERATIONS, 0.0, corpus_topics.rest())
    with Workers(1) as workers:
        for first in range(0, min(1000, train.shape[0]), 200):
            batch = reader.batch(np.arange(first, min(first + 200, train.shape[0])))
            times.append(
                compare_steps(step, batch, topics.gather(batch.words, prior, workers), prior, workers)
            )
    ours, dense, sparse = np.median(times, axis=0)
    return {"ours": ours, "dense": dense, "sparse": sparse}


def compare_steps(step, batch, topics, prior, workers):
    """Seconds of our document step and of two in NumPy, which have to come to the same."""
    dense = np.zeros((batch.n_documents, batch.n_words), dtype=np.float32)
    dense[batch.cell_document(), batch.cell_word] = batch.cell_count
    given = dense, topics.rows, prior, batch.lengths
    seconds, gamma = zip(
        seconds_of(lambda: step(batch, topics, prior, None, workers).gamma),
        seconds_of(lambda: numpy_step(*given, dense_sums)),
        seconds_of(lambda: numpy_step(*given, sparse_sums(batch))),
    )
    for other in gamma[1:]:
        np.testing.assert_allclose(other, gamma[0], rtol=0.02, atol=0.02 * batch.lengths.max())
    return seconds


def measure_weights(short, corpus, n_components):
    """Seconds, and bound per document that is reached, of two ways to maximise over the weights of topics."""
    train, _ = documents_of(corpus, short)
    model = hdp.DirectAssignmentHDP(n_components, split_merge=False, max_iter=1, random_state=SEED)
    model.fit(train[:2000])
    reader = DocumentReader(canonical_counts(train.astype(float)))
    batch = reader.batch(np.arange(200))
    with Workers(1) as workers:
        counts = model._inference()(batch, model._corpus_topics(model.total_samples_), workers)
    tokens = np.maximum(counts.gamma - counts.prior, 0.0)
    start = np.full(n_components, 0.9 / n_components)
    given = model.doc_concentration_, model.topic_concentration_, train.shape[0] / 200
    row = {}
    for name, function in (("fixed point", fit_weights), ("L-BFGS", fit_weights_by_gradient)):
        seconds, weights = seconds_of(lambda function=function: function(tokens, start, *given))
        row[name] = [seconds, -weights_objective(weights, tokens, *given) / train.shape[0]]
    return row


def weights_objective(weights, tokens, alpha, gamma, scale):
    """Minus what the bound has of the weights."""
    prior = alpha * weights
    gains = scale * (gammaln(prior + tokens) - gammaln(prior)).sum()
    return -gains - (gamma - 1.0) * np.log(max(1.0 - weights.sum(), 1e-300))


def fit_weights_by_gradient(tokens, weights, alpha, gamma, scale):
    """The maximum over logits of the sticks, with the analytic gradient."""

    def weights_of(logits):
        v = expit(logits)
        return v, v * np.concatenate([[1.0], np.cumprod(1.0 - v)[:-1]])

    def objective(logits):
        v, weights = weights_of(logits)
        prior = alpha * weights
        g = scale * alpha * (digamma(prior + tokens) - digamma(prior)).sum(axis=0)
        after = (weights * g)[::-1].cumsum()[::-1] - weights * g
        slope = (1.0 - v) * weights * g - v * after - (gamma - 1.0) * v
        gains = scale * (gammaln(prior + tokens) - gammaln(prior)).sum()
        value = gains + (gamma - 1.0) * np.log1p(-v).sum()
        return -value / (scale * len(tokens)), -slope / (scale * len(tokens))

    left = 1.0 - np.concatenate([[0.0], np.cumsum(weights)[:-1]])
    bounds = [(-25.0, 25.0)] * len(weights)
    found = minimize(objective, logit(weights / left), jac=True, method="L-BFGS-B", bounds=bounds)
    return weights_of(found.x)[1]


def seconds_of(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def numpy_step(dense, rows, prior, lengths, sums):
    """Mean-field inference of a batch by vectorised NumPy, single precision as ours."""
    gamma = prior + lengths[:, None] / len(prior)
    for _ in range(STEP_ITERATIONS):
        log_theta = digamma(gamma)
        theta = np.exp(log_theta - log_theta.max(axis=1, keepdims=True)).astype(np.float32)
        gamma = prior + theta * sums(dense, theta, rows)
    return gamma


def dense_sums(dense, theta, rows):
    return (dense / np.maximum(theta @ rows.T, 1e-30)) @ rows


def sparse_sums(batch):
    """The same over the words that documents have."""
    import scipy.sparse as sp

    document, word = batch.cell_document(), batch.cell_word

    def sums(dense, theta, rows):
        norm = np.einsum("ck,ck->c", theta[document], rows[word])
        share = (batch.cell_count / np.maximum(norm, 1e-30)).astype(np.float32)
        return sp.csr_matrix((share, word, batch.indptr), shape=dense.shape) @ rows

    return sums


def measure_models(short, corpus, method):
    train, test = documents_of(corpus, short)
    seconds = 10 if short else SECONDS["models"]
    if method in PEERS:
        return {"trace": PEER_TRACES[method](train, test, seconds)}
    model = getattr(hdp, method)(random_state=SEED)
    return {"trace": trace_of(model, hook_of(method), train, test, seconds)}


PARTS = {
    "bars": measure_bars,
    "nips": measure_nips,
    "arxiv": measure_arxiv,
    "bound": measure_bound,
    "moves": measure_moves,
    "steps": measure_steps,
    "weights": measure_weights,
    "models": measure_models,
}


def runs_of(part):
    """What there is to measure for a part."""
    if part == "bars":
        yield from ((part, "oHDP-SM", n, seed) for n, seed in product(BARS_STARTS, BARS_SEEDS))
        yield from ((part, "oHDP", n, seed) for n, seed in product(BARS_FIXED, BARS_SEEDS))
    if part == "nips":
        yield from ((part, *run) for run in NIPS_RUNS)
    if part == "arxiv":
        yield from ((part, *run) for run in ARXIV_RUNS)
    if part == "bound":
        yield from (
            (part, c, eta, *run) for c, eta, run in product(("kos", "nips1740"), (0.1, 0.02), BOUND_RUNS)
        )
    if part == "moves":
        yield from ((part, 300, passes) for passes in (1, 5))
    if part == "steps":
        yield from ((part, corpus, n) for corpus, n in product(("arxiv_0", "nips1740"), (100, 300)))
    if part == "weights":
        yield from ((part, corpus, n) for corpus, n in product(("arxiv_0", "nips1740"), (100, 300)))
    if part == "models":
        yield from ((part, corpus, method) for corpus, method in product(CORPORA, (*MODELS, *PEERS)))


# Tables and pictures, from what the cache has.


def found(cache, part):
    """(run without its part, row) of the runs that are there."""
    rows = [(run[1:], cache.rows.get(key_of(run))) for run in runs_of(part)]
    return [(run, row) for run, row in rows if row]


def draw_figure(study):
    """Figure 2: a column for each corpus."""
    titles = [f"{corpus}: {what}" for what in ("score", "topics", "score by topics") for corpus in FIGURE]
    figure, axes = panels(titles)
    looks = styles(METHODS)
    for corpus, (axis, label) in FIGURE.items():
        seen = set()
        for run, row in found(study.cache, corpus):
            method, trace = run[0], row["trace"]
            x = [point[axis] for point in trace]
            y, topics = ([point[name] for point in trace] for name in ("score", "topics"))
            look = {**looks[method], "marker": "", "linewidth": 0.9, "label": method}
            if method in seen:
                look["label"] = None
            seen.add(method)
            axes[f"{corpus}: score"].plot(x, y, **look)
            axes[f"{corpus}: topics"].plot(x, topics, **look)
            axes[f"{corpus}: score by topics"].plot(topics, y, **{**look, "label": None})
        top = axes[f"{corpus}: score"].get_ylim()[1]
        low = top - (1.0 if corpus == "bars" else 1.2)
        scale = "linear" if corpus == "bars" else "log"
        axes[f"{corpus}: score"].set(
            xlabel=label, ylabel="nats per hidden word", xscale=scale, ylim=(low, top)
        )
        axes[f"{corpus}: topics"].set(xlabel=label, ylabel="topics in use", xscale=scale, yscale="log")
        axes[f"{corpus}: score by topics"].set(
            xlabel="topics in use", ylabel="nats per hidden word", xscale="log", ylim=(low, top)
        )
    finish(figure, study.path("_paper.png"), 7)


FIGURE = {
    "bars": ("documents", "documents seen"),
    "nips": ("seconds", "seconds of training"),
    "arxiv": ("seconds", "seconds of training"),
}


def write_bars(study):
    """Where runs on bars end, by their start."""
    table = []
    rows = found(study.cache, "bars")
    for method, starts in (("oHDP-SM", BARS_STARTS), ("oHDP", BARS_FIXED)):
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
    """Where runs on text end, best first."""
    table = []
    for (method, n), row in found(study.cache, part):
        end = row["trace"][-1]
        table.append([method, n, f"{end['score']:.4f}", end["topics"], end["seconds"], end["documents"]])
    table.sort(key=lambda line: -float(line[2]))
    head = ["method", "topics at the start (or at most)", "score", "topics in use", "seconds"]
    study.write(part, [*head, "documents seen"], table)


def write_small(study):
    table = []
    for (corpus, eta, with_moves, n), row in found(study.cache, "bound"):
        name = "with moves" if with_moves else "without"
        table.append([corpus, eta, name, n, f"{row['bound']:.4f}", f"{row['score']:.4f}", row["topics"]])
    head = ["corpus", "topic_word_prior", "moves", "topics at the start", "bound, nats per word"]
    study.write("bound", [*head, "held-out score, nats per word", "topics in use"], table)
    moves = [[*run, row["wall"], row["share"], row["topics"]] for run, row in found(study.cache, "moves")]
    head = ["topics at the start", "passes", "seconds on two cores", "share of moves", "topics at the end"]
    study.write("moves", head, moves)
    table = []
    for (corpus, n), row in found(study.cache, "steps"):
        ratios = [f"{row[name] / row['ours']:.2f}" for name in ("dense", "sparse")]
        table.append([corpus, n, f"{1e3 * row['ours']:.1f}", *ratios])
    head = ["corpus", "topics", "milliseconds for 200 documents", "NumPy, dense, over that"]
    study.write("steps", [*head, "NumPy, sparse, over that"], table)
    table = []
    for (corpus, n), row in found(study.cache, "weights"):
        for name in ("fixed point", "L-BFGS"):
            seconds, bound = row[name]
            table.append([corpus, n, name, f"{1e3 * seconds:.0f}", f"{bound:.5f}"])
    head = ["corpus", "topics", "method", "milliseconds", "bound of weights, nats per document"]
    study.write("weights", head, table)


def cell_of(end):
    return f"{end['score']:.3f} ({end.get('topics', 150)}, {end['seconds']:.0f} s)"


def write_models(study):
    """A row for each model, and for each corpus its score, topics and seconds."""
    rows = {run: row["trace"][-1] for run, row in found(study.cache, "models")}
    table = []
    for method in (*MODELS, *PEERS):
        cells = []
        for corpus in CORPORA:
            end = rows.get((corpus, method))
            cells.append(cell_of(end) if end else "")
        table.append([method, *cells])
    study.write("models", ["model", *CORPORA], table)


def draw_all(study):
    import matplotlib

    matplotlib.use("Agg")
    draw_figure(study)
    write_bars(study)
    write_ends(study, "nips")
    write_ends(study, "arxiv")
    write_small(study)
    write_models(study)


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    study = Study("split_merge_hdp", arguments)
    if not arguments.draw_only:
        runs = [run for part in arguments.parts for run in runs_of(part)]
        todo = [run for run in runs if key_of(run) not in study.cache.rows]
        with Pool(study, arguments.jobs, len(todo)) as pool:
            pool.measure(measure, [(run, study.short) for run in todo])
    draw_all(study)


if __name__ == "__main__":
    main()
